"""Small files that PyTorch exported, and what PyTorch computes with the modules: tests/run/exports/*.

usage: make_exports.py [NAME...]        needs torch 2.13, onnx, onnxscript, safetensors; without names all of them

NAME.onnx is the exported module (without the stack traces of its nodes, which are most of such a file), NAME.safetensors its
data (x, y: three batches of four samples), its state (start:NAME, of files that were made since that is written) and after three updates (after:NAME) by SGD, rate 0.05, mean square error, and
what it computes from x before them in evaluation mode (eval).
"""
import copy
import os
import re
import sys
import warnings

import numpy as np
import onnx
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional as F

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exports")
BATCH, STEPS, RATE = 4, 3, 0.05


class Merged(nn.Module):
    """Equal parameters, zero biases, a weight without a bias."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.b, self.m, self.c = nn.Linear(6, 6), nn.LayerNorm(6), nn.Linear(6, 6, bias=False), nn.LayerNorm(6), nn.Linear(6, 3)
        nn.init.zeros_(self.a.bias), nn.init.zeros_(self.c.bias)

    def forward(self, x):
        return self.c(self.m(torch.tanh(self.b(self.n(self.a(x))))))


class Apart(nn.Module):
    """A part without gradients, which the file shows by the stack traces of its nodes alone."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        with torch.no_grad():
            fixed = torch.tanh(self.a(x))
        return self.c(fixed + self.b(x))


class Copies(nn.Module):
    """Layers that start as copies, as those of nn.TransformerEncoder: what the exporter computes from them is merged, too."""

    def __init__(self):
        super().__init__()
        self.a, self.f = nn.Linear(4, 4), nn.Linear(4, 3)
        self.b = copy.deepcopy(self.a)

    def forward(self, x):
        return self.f(torch.tanh(self.b(torch.tanh(self.a(x)))))


class Norms(nn.Module):
    def __init__(self, trained):
        super().__init__()
        self.a, self.n, self.b, self.m, self.f = nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 3)
        for norm in (self.n, self.m) if trained else ():
            nn.init.uniform_(norm.weight, 0.5, 1.5), nn.init.normal_(norm.bias), nn.init.normal_(norm.running_mean), nn.init.uniform_(norm.running_var, 0.5, 1.5)

    def forward(self, x):
        return self.f(torch.sigmoid(self.m(self.b(torch.tanh(self.n(self.a(x)))))).mean((2, 3)))


class Views(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.g, self.p, self.n, self.f = nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.PReLU(4), nn.BatchNorm2d(4), nn.Linear(4, 3)

    def forward(self, x):
        return self.f(self.n(self.p(self.g(self.a(x)))).mean((2, 3)))


class Padded(nn.Module):
    """A row for padding, tied weights."""

    def __init__(self):
        super().__init__()
        self.e, self.p, self.h, self.out = nn.Embedding(7, 4), nn.Embedding(7, 4, padding_idx=2), nn.Linear(4, 4), nn.Linear(4, 7, bias=False)
        nn.init.normal_(self.p.weight)  # the row too
        self.out.weight = self.e.weight

    def forward(self, x):
        return self.out(torch.tanh(self.h(self.e(x) + self.p(x))))


class PaddedTied(nn.Module):
    """A row for padding in a table that is the last layer's weight too: that one changes the row."""

    def __init__(self):
        super().__init__()
        self.e, self.h, self.out = nn.Embedding(7, 4, padding_idx=2), nn.Linear(4, 4), nn.Linear(4, 7)
        nn.init.normal_(self.e.weight)
        self.out.weight = self.e.weight

    def forward(self, x):
        return self.out(torch.tanh(self.h(self.e(x))))


class Solid(nn.Module):
    """A convolution of three axes without a bias, for which PyTorch writes zeros of two axes."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.b, self.f = nn.Conv3d(1, 3, 3, bias=False), nn.BatchNorm3d(3), nn.Conv3d(3, 2, 2), nn.Linear(2, 3)

    def forward(self, x):
        return self.f(self.b(torch.tanh(self.n(self.a(x)))).mean((2, 3, 4)))


class Plain(nn.Module):
    """Norms without parameters, and a group norm: the ones and zeros that stand in for them are merged with another norm's parameters."""

    def __init__(self):
        super().__init__()
        self.a, self.g, self.n, self.m, self.f = nn.Conv1d(2, 4, 3), nn.GroupNorm(4, 4), nn.LayerNorm(4), nn.LayerNorm(4, elementwise_affine=False), nn.Linear(4, 3)

    def forward(self, x):
        return self.f(self.m(torch.tanh(self.n(torch.tanh(self.g(self.a(x))).transpose(1, 2)))))


class Bounded(nn.Module):
    """A constant that equals a parameter, and is merged with it."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.b = nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 2)

    def forward(self, x):
        return self.b(torch.minimum(self.n(self.a(x)), torch.ones(3)))


class Buffers(nn.Module):
    """A mask, a mean, a scalar parameter."""

    def __init__(self):
        super().__init__()
        self.qkv, self.scale = nn.Linear(4, 12), nn.Parameter(torch.tensor(0.7))
        self.register_buffer("centre", torch.randn(4)), self.register_buffer("mask", torch.full((3, 3), -3e38).triu(1))

    def forward(self, x):
        q, k, v = self.qkv(x - self.centre).split(4, -1)
        return torch.softmax(q @ k.transpose(1, 2) * self.scale + self.mask, -1) @ v


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.f = nn.Conv2d(1, 2, 3), nn.Linear(8, 3)

    def forward(self, x):
        return self.f(torch.tanh(self.a(x)).reshape(x.shape[0], 8))


class Stochastic(nn.Module):
    """Stochastic depth in the spellings of torchvision and timm, and of transformers; dropout of elements and of channels."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.f = (nn.Linear(6, 6) for _ in range(4))
        self.drop, self.drop_rows = nn.Dropout(0.5), nn.Dropout1d(0.3)

    def branch(self, x):
        keep = 0.7
        return x * x.new_empty((x.shape[0], 1, 1)).bernoulli_(keep).div_(keep) if self.training else x

    def floored(self, x):
        keep = 0.6
        return x.div(keep) * (keep + torch.rand((x.shape[0], 1, 1))).floor() if self.training else x

    def forward(self, x):
        x = x + self.branch(torch.tanh(self.a(x)))
        x = x + self.floored(torch.tanh(self.b(x)))
        return self.f(self.drop_rows(self.drop(torch.tanh(self.c(x)))))


class Open(nn.Module):
    """Sequences of any length."""

    def __init__(self):
        super().__init__()
        self.e, self.h, self.f = nn.Embedding(11, 6), nn.Linear(6, 6), nn.Linear(6, 11)

    def forward(self, x):
        h = torch.tanh(self.h(self.e(x)))
        return self.f(h - h.mean(1, keepdim=True))


class Recurrent(nn.Module):
    """Two layers, two directions; without biases, used twice; one gate."""

    def __init__(self):
        super().__init__()
        self.l, self.g, self.r, self.f = nn.LSTM(3, 2, 2, batch_first=True, bidirectional=True), nn.GRU(4, 4, bias=False, batch_first=True), nn.RNN(4, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.f(self.r(self.g(self.g(self.l(x)[0])[0])[0])[0][:, -1])


class Computed(nn.Module):
    """A layer of a table that does not change: its product is computed, its bias merged with an equal one."""

    def __init__(self):
        super().__init__()
        self.b, self.a, self.f = nn.Linear(3, 129), nn.Linear(2, 129), nn.Linear(129, 2)
        nn.init.zeros_(self.a.bias), nn.init.zeros_(self.b.bias)
        self.register_buffer("table", torch.randn(1, 64, 2))  # large enough that the exporter does not compute the sum

    def forward(self, x):
        return self.f(torch.tanh(self.b(x)) + torch.tanh(self.a(self.table)))


class Slow(nn.Module):
    """Batch norms that follow the data slowly, with an epsilon of their own."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.b, self.m, self.f = nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4, 1e-3, 0.0003), nn.Conv2d(4, 4, 3, bias=False), nn.BatchNorm2d(4, 1e-2, 0.03), nn.Linear(4, 3)

    def forward(self, x):
        return self.f(torch.sigmoid(self.m(self.b(torch.tanh(self.n(self.a(x)))))).mean((2, 3)))


class Twice(nn.Module):
    """Buffers with the names that the exporter gives to results."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
        self.register_buffer("mean", torch.randn(4)), self.register_buffer("sub", torch.rand(4) + 0.5)

    def forward(self, x):
        x = (x - self.mean) / self.sub
        return self.f(x.mean(1)) - self.mean * x.mean(1)


class Partly(nn.Module):
    """A table that is read as it is, and whose squares the exporter computes."""

    def __init__(self):
        super().__init__()
        self.f, self.book = nn.Linear(4, 3), nn.Parameter(torch.randn(5, 3))

    def forward(self, x):
        z = self.f(x)
        return torch.softmax(2 * z @ self.book.t() - (self.book * self.book).sum(-1), -1) @ self.book


class Pyramid(nn.Module):
    """A smaller image is made larger again, to sizes that are part of the file."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.f = nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 2, 3, 2, 1), nn.Conv2d(2, 1, 1)

    def forward(self, x):
        x = torch.tanh(self.a(x))
        return self.f(x + F.interpolate(self.b(x), size=x.shape[-2:], mode="nearest"))


class Stopped(nn.Module):
    """Gradients that stop: a gate, and rounding that they go past."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.f = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        h = self.a(x)
        h = h + (torch.round(4 * h) / 4 - h).detach()
        return self.f(h * torch.sigmoid(self.b(x)).detach())


class Again(nn.Module):
    """One batch norm that is called twice."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.f = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)

    def forward(self, x):
        return self.f(self.n(torch.tanh(self.n(self.a(x)))))


def spectral():
    """A buffer that each step moves, and that the weights are divided by."""
    return nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4), n_power_iterations=1), nn.Tanh(), nn.Linear(4, 3))


def run(module, x, y):
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    for s in range(STEPS):
        rows = slice(s * BATCH, (s + 1) * BATCH)
        optimizer.zero_grad()
        F.mse_loss(module(x[rows]), y[rows]).backward()
        optimizer.step()
    return {k: v for k, v in module.state_dict().items() if v.is_floating_point()}


def strip(model, everything=False):
    """Without stack traces; with `everything` without all that the exporter says."""
    traces = [p for n in model.graph.node for p in n.metadata_props if p.key.endswith("stack_trace")]
    apart = any("<eval_with_key>" in p.value for p in traces)  # then the beginning of each is kept
    for trace in traces:
        trace.value = re.match(r'\s*File "(<\w+>)?', trace.value).group()
    parts = [model.graph] + list(model.graph.node) + list(model.graph.value_info) + list(model.graph.input) + list(model.graph.output)
    for part in parts:
        keep = [p for p in part.metadata_props if not everything and re.search("signature|fx_node|rule_name|folded_from" + "|stack_trace" * apart, p.key)]
        del part.metadata_props[:]
        part.metadata_props.extend(keep)
    return model


def make(name, module, x, baked=False, **options):
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        expected = module.eval()(x)
    y = torch.randn(expected.shape, generator=generator)
    path = os.path.join(HERE, name + ".onnx")
    if not baked and "dynamic_shapes" not in options:
        options["dynamic_shapes"] = ({0: torch.export.Dim("batch")},)
    module.train(options.get("optimize") is False)
    torch.onnx.export(module, (x[:2] if baked else x,), path, dynamo=True, external_data=False, verbose=False, **options)
    onnx.save(strip(onnx.load(path)), path)
    tensors = {"start:" + k: v.numpy().copy() for k, v in module.state_dict().items() if v.is_floating_point()}
    tensors.update({"after:" + k: v.numpy().copy() for k, v in run(module, x, y).items()})
    save_file({"x": x.numpy().copy(), "y": y.numpy().copy(), "eval": expected.numpy(), **tensors}, os.path.join(HERE, name + ".safetensors"))


def lie():
    """A parameter that is a buffer elsewhere, one that is not there although a node's call names it, one that is no float, one of another shape."""
    model = onnx.load(os.path.join(HERE, "merged.onnx"))
    for part in model.graph.metadata_props:
        if part.key.endswith("graph_signature"):
            part.value = part.value.replace("# outputs", "p_ghost: PARAMETER target='ghost'\np_whole: PARAMETER target='whole'\n# outputs")
    for value in model.graph.value_info:
        for part in value.metadata_props:
            if value.name == "n.weight" and part.key.endswith("InputSpec.kind"):
                part.value = "BUFFER"
        if value.name == "c.weight":
            value.type.tensor_type.shape.dim[0].dim_value = 99
    for part in model.graph.node[0].metadata_props:
        if part.key.endswith("fx_node"):
            part.value = part.value.replace("(args = (", "(args = (%p_ghost, ")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(3, np.int64), "whole"))
    onnx.save(model, os.path.join(HERE, "lies.onnx"))


def lie_otherwise():
    """Calls that name parameters of other shapes, or one that is nowhere in the file; a list without two of the weights; one that is no list; a mask that is a parameter everywhere."""
    def write(source, name, listed=lambda text: text, kind=lambda text: text, call=lambda text: text):
        model = onnx.load(os.path.join(HERE, source + ".onnx"))
        for parts, change in ((model.graph, listed), *((v, kind) for v in model.graph.value_info), *((n, call) for n in model.graph.node)):
            for part in parts.metadata_props:
                part.value = change(part.value)
        onnx.save(model, os.path.join(HERE, name + ".onnx"))
    write("merged", "lies_calls", call=lambda text: text.replace("p_a_weight", "p_c_weight").replace("p_n_bias", "p_a_weight"))
    write("merged", "lies_names", call=lambda text: text.replace("p_a_weight", "p_ghost"), listed=lambda text: text.replace("# outputs", "p_ghost: PARAMETER target='ghost'\n# outputs"))
    write("merged", "lies_unlisted", listed=lambda text: "\n".join(line for line in text.split("\n") if "'c.weight'" not in line and "'a.weight'" not in line), kind=lambda text: "")
    write("merged", "lies_list", listed=lambda text: "garbage ' : PARAMETER target=\n" * 9)
    write("buffers", "lies_mask", listed=lambda text: text.replace("BUFFER", "PARAMETER"), kind=lambda text: "PARAMETER")


def cases():
    """name: a function that makes the arguments of make()"""
    count = BATCH * STEPS
    return {
        "merged": lambda: make("merged", Merged(), torch.randn(count, 6)),
        "norms_new": lambda: make("norms_new", Norms(False), torch.randn(count, 2, 6, 6)),
        "norms_trained": lambda: make("norms_trained", Norms(True), torch.randn(count, 2, 6, 6)),
        "norms_slow": lambda: make("norms_slow", Slow(), 2 * torch.randn(count, 2, 6, 6)),
        "norms_slow_kept": lambda: make("norms_slow_kept", Slow(), 2 * torch.randn(count, 2, 6, 6), optimize=False),
        "views": lambda: make("views", Views(), torch.randn(count, 2, 5, 5)),
        "padded": lambda: make("padded", Padded(), torch.randint(0, 7, (count, 5))),
        "padded_tied": lambda: make("padded_tied", PaddedTied(), torch.randint(0, 7, (count, 5))),
        "padded_tied_kept": lambda: make("padded_tied_kept", PaddedTied(), torch.randint(0, 7, (count, 5)), optimize=False),
        "solid": lambda: make("solid", Solid(), torch.randn(count, 1, 5, 5, 5), optimize=False),
        "plain": lambda: make("plain", Plain(), torch.randn(count, 2, 6)),
        "bounded": lambda: make("bounded", Bounded(), torch.randn(count, 4)),
        "buffers": lambda: make("buffers", Buffers(), torch.randn(count, 3, 4), optimize=False),
        "baked": lambda: make("baked", Flat(), torch.randn(count, 1, 4, 4), baked=True),
        "open": lambda: make("open", Open(), torch.randint(0, 11, (count, 7)), dynamic_shapes=({0: torch.export.Dim("batch"), 1: torch.export.Dim("seq")},)),
        "recurrent": lambda: make("recurrent", Recurrent(), torch.randn(count, 4, 3)),
        "computed": lambda: make("computed", Computed(), torch.randn(count, 64, 3)),
        "stochastic": lambda: make("stochastic", Stochastic(), torch.randn(count, 3, 6), optimize=False),
        "partly": lambda: make("partly", Partly(), torch.randn(count, 4)),
        "pyramid": lambda: make("pyramid", Pyramid(), torch.randn(count, 1, 6, 6), baked=True),
        "stopped": lambda: make("stopped", Stopped(), torch.randn(count, 4)),
        "stopped_kept": lambda: make("stopped_kept", Stopped(), torch.randn(count, 4), optimize=False),
        "norms_again": lambda: make("norms_again", Again(), torch.randn(count, 4), optimize=False),
        "spectral": lambda: make("spectral", spectral(), torch.randn(count, 4), optimize=False),
        "copies": lambda: make("copies", Copies(), torch.randn(count, 2, 4)),
        "apart": lambda: make("apart", Apart(), torch.randn(count, 4), optimize=False),
        "twice": lambda: make("twice", Twice(), torch.randn(count, 3, 4), optimize=False),
    }


def main():
    warnings.filterwarnings("ignore")
    os.makedirs(HERE, exist_ok=True)
    for name, build in cases().items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        torch.manual_seed(0)
        build()
    lie()
    lie_otherwise()
    onnx.save(strip(onnx.load(os.path.join(HERE, "buffers.onnx")), True), os.path.join(HERE, "stripped.onnx"))


if __name__ == "__main__":
    main()
