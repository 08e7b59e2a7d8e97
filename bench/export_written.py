"""Loops, branches and local functions as exporters write them, for bench/exports.py: each module says itself how it is exported.

The old exporter keeps the control flow of scripted modules (Loop, If, sequences inside of loops); the new one writes torch.cond,
torch.while_loop and torch.scan as If, Loop and Scan, and functions of onnxscript as local functions.
"""
from typing import List

import onnx
import torch
from onnx import helper
from torch import nn

from export_models import images, model, rows, tokens

SYMBOLS = dict(dynamic_axes={"x": {0: "batch"}}, input_names=["x"], output_names=["y"])


class Written(nn.Module):
    """Written by the old exporter, of a scripted module: loops and branches stay."""

    def write(self, path, x, form):
        state = {name: t.clone() for name, t in self.state_dict().items()}
        script = torch.jit.script(self)
        with torch.no_grad():
            torch.onnx.export(script, (x[:2] if form == "baked" else x,), path, dynamo=False, opset_version=17, do_constant_folding=form != "recommended",
                              training=torch.onnx.TrainingMode.TRAINING if form == "recommended" else torch.onnx.TrainingMode.EVAL,
                              **({"input_names": ["x"], "output_names": ["y"]} if form == "baked" else SYMBOLS))
        self.load_state_dict(state)  # the exporter runs the module, which moves statistics of norms, and writes them as they are then
        made = onnx.load(path)
        for kept in made.graph.initializer:
            if "running" in kept.name:
                kept.raw_data = state[kept.name].numpy().tobytes()
        onnx.save(made, path)


class Steps(Written):
    """A state that goes through the steps of a sequence."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.f = nn.Linear(6, 10), nn.Linear(10, 10), nn.Linear(10, 3)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 10)
        for k in range(5):
            h = torch.tanh(self.a(x[:, k]) + self.b(h))
        return self.f(h)


class Lengths(Steps):
    """The same, with the count in the shape."""

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 10)
        for k in range(x.size(1)):
            h = torch.tanh(self.a(x[:, k]) + self.b(h))
        return self.f(h)


class Stacked(Steps):
    """Every state is kept in a list."""

    def forward(self, x):
        h, out = x.new_zeros(x.shape[0], 10), torch.jit.annotate(List[torch.Tensor], [])
        for k in range(x.size(1)):
            h = torch.tanh(self.a(x[:, k]) + self.b(h))
            out.append(self.f(h))
        return torch.stack(out, 1)


class Branches(Steps):
    """A branch inside of a loop that the count decides."""

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 10)
        for k in range(4):
            if k % 2 == 0:
                h = torch.tanh(self.a(x[:, k]) + h)
            else:
                h = torch.sigmoid(self.b(h)) + h
        return self.f(h)


class Until(Steps):
    """A loop that ends when a condition of the count is false."""

    def forward(self, x):
        h, k = x.new_zeros(x.shape[0], 10), 0
        while k < 3:
            h = torch.tanh(self.a(x[:, k]) + self.b(h))
            k += 1
        return self.f(h)


class Nested(Steps):
    """A loop in a loop, and two states."""

    def forward(self, x):
        h, s = x.new_zeros(x.shape[0], 10), x.new_zeros(x.shape[0], 10)
        for k in range(3):
            for i in range(2):
                h = torch.tanh(self.a(x[:, k + i]) + self.b(h))
            s = s + h
        return self.f(s)


class Shared(Written):
    """The same layers, again and again."""

    def __init__(self):
        super().__init__()
        self.e, self.n, self.l, self.f = nn.Embedding(30, 12), nn.LayerNorm(12), nn.Linear(12, 12), nn.Linear(12, 4)

    def forward(self, x):
        h = self.e(x)
        for _ in range(3):
            h = h + torch.relu(self.l(self.n(h)))
        return self.f(h.mean(1))


class ConvSteps(Written):
    def __init__(self):
        super().__init__()
        self.c, self.r, self.n, self.f = nn.Conv2d(2, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1), nn.BatchNorm2d(6), nn.Linear(6, 3)

    def forward(self, x):
        h = self.c(x)
        for _ in range(2):
            h = torch.relu(self.n(self.r(h))) + h
        return self.f(h.mean([2, 3]))


for name, kind, draw in (("loop_steps", Steps, rows(5, 6)), ("loop_lengths", Lengths, rows(5, 6)), ("loop_stacked", Stacked, rows(5, 6)), ("loop_branches", Branches, rows(5, 6)),
                         ("loop_until", Until, rows(5, 6)), ("loop_nested", Nested, rows(5, 6)), ("loop_shared", Shared, tokens(6, 30)), ("loop_conv_norm", ConvSteps, images(2, 6, 6))):
    model("written." + name)(lambda kind=kind, draw=draw: (kind(), draw))


# --- the new exporter: higher-order operators, functions of onnxscript ----------------------------------------------------


class Scanned(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.f = nn.Linear(6, 10), nn.Linear(10, 10), nn.Linear(10, 3)

    def forward(self, x):
        from torch._higher_order_ops.scan import scan
        step = lambda h, t: (torch.tanh(self.a(t) + self.b(h)), torch.tanh(h) + 1)  # noqa: E731
        last, kept = scan(step, x.new_zeros(x.shape[0], 10), x, dim=1)
        return self.f(last) + self.f(kept.mean(1))


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.b(torch.cond(torch.tensor(True), lambda t: torch.tanh(self.a(t)), lambda t: t * 2.0, (x,)))


model("written.scan")(lambda: (Scanned(), rows(5, 6)))
model("written.cond")(lambda: (Conditional(), rows(6)))


class Scripted(nn.Module):
    """A network in onnxscript, whose functions stay functions of the model."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = torch.nn.functional.silu(torch.nn.functional.silu(self.a(x)) * 0.5)
        return self.b(h)

    def write(self, path, x, form):
        import onnxscript
        from export_script import Net
        made = Net.to_model_proto(input_types=[onnxscript.FLOAT[2 if form == "baked" else "batch", 8], onnxscript.FLOAT[8, 8], onnxscript.FLOAT[8], onnxscript.FLOAT[3, 8], onnxscript.FLOAT[3]],
                                                 output_types=[onnxscript.FLOAT[2 if form == "baked" else "batch", 3]])
        for given in list(made.graph.input)[1:]:  # weights are arguments there
            name, t = given.name, self.state_dict()[given.name.replace("_", ".")]
            made.graph.input.remove(given)
            made.graph.initializer.append(helper.make_tensor(name.replace("_", "."), onnx.TensorProto.FLOAT, t.shape, t.numpy().tobytes(), raw=True))
            for node in made.graph.node:
                for k in range(len(node.input)):
                    node.input[k] = name.replace("_", ".") if node.input[k] == name else node.input[k]
        onnx.save(made, path)


model("written.onnxscript_functions")(lambda: (Scripted(), rows(8)))


class Functions(nn.Module):
    """Model-local functions that a tool wrote: layers as functions, with attributes that they hand on, one inside of another."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.b, self.f = nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = x + torch.nn.functional.leaky_relu(self.a(self.n(x)), 0.2)
        x = x + torch.nn.functional.leaky_relu(self.b(self.n(x)), 0.05)
        return self.f(x)

    def write(self, path, x, form):
        text = """
        <ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        net (float[%s, 8] x) => (float[%s, 3] y) {
            h = own.Block <slope = 0.2, axis = -1> (x, n.weight, n.bias, a.weight, a.bias)
            i = own.Block <slope = 0.05> (h, n.weight, n.bias, b.weight, b.bias)
            y = own.Dense (i, f.weight, f.bias)
        }
        <domain: "own", opset_import: ["" : 17]>
        Dense (x, w, b) => (y) { y = Gemm <transB = 1> (x, w, b) }
        <domain: "own", opset_import: ["" : 17, "own" : 1]>
        Block <axis: int = -1, slope: float> (x, s, o, w, b) => (y) {
            n = LayerNormalization <axis: int = @axis, epsilon = 1e-5> (x, s, o)
            d = own.Dense (n, w, b)
            l = LeakyRelu <alpha: float = @slope> (d)
            y = Add (x, l)
        }
        """ % ((2, 2) if form == "baked" else ("batch", "batch"))
        for name in dict(self.state_dict()):
            text = text.replace(name, name.replace(".", "__"))
        made = onnx.parser.parse_model(text)
        for name, t in self.state_dict().items():
            made.graph.initializer.append(helper.make_tensor(name, onnx.TensorProto.FLOAT, t.shape, t.numpy().tobytes(), raw=True))
        for node in made.graph.node:
            for k, name in enumerate(node.input):
                node.input[k] = name.replace("__", ".")
        onnx.save(made, path)


model("written.parsed_functions")(lambda: (Functions(), rows(8)))
