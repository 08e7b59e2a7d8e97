"""Small modules as PyTorch exports them, beside the most bytes that their training steps hold in PyTorch's own dispatcher and
autograd (python/plimsoll/capture.py): what tests/fit/test_exports.c compares predictions with.

    make_exports.py FOLDER-OF-THE-PACKAGE tests/fit/exports

Each has one thing that decides what autograd saves: GELU and attention as one kernel or spelled out, SiLU, RMS norm, axes that are swapped
before a reshape or a product."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])

import onnx
import torch
from torch import nn

from plimsoll import _export
from plimsoll.capture import capture

WIDTH, LENGTH, BATCH = 32, 24, 512


class Gelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


class Rms(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Attention(nn.Module):
    def __init__(self, width, heads, kernel):
        super().__init__()
        self.qkv, self.out, self.heads, self.kernel = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, kernel

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).split(c, -1))
        if self.kernel:
            y = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            y = torch.softmax(q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5, -1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Windows(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        y = x.view(b, t // 4, 4, c).permute(0, 2, 1, 3).reshape(b * 4, t // 4, c)
        return self.inner(y).view(b, 4, t // 4, c).transpose(1, 2).reshape(b, t, c)


class Mixer(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.over = nn.Linear(length, length)

    def forward(self, x):
        return x + self.over(x.transpose(1, 2)).transpose(1, 2)


def around(*middle):
    return lambda: nn.Sequential(nn.Linear(WIDTH, WIDTH), *[part() for part in middle], nn.Linear(WIDTH, WIDTH))


MODELS = {
    "gelu": around(lambda: nn.GELU(approximate="tanh")),
    "gelu_spelled": around(Gelu),
    "silu": around(nn.SiLU),
    "rms_spelled": around(lambda: Rms(WIDTH)),
    "attention": around(lambda: Attention(WIDTH, 4, True)),
    "attention_spelled": around(lambda: Attention(WIDTH, 4, False)),
    "windows": around(lambda: Windows(WIDTH)),
    "mixer": around(lambda: Mixer(LENGTH)),
}


def program(build):
    def make():
        model = build().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        held = {}

        def step():
            held["x"] = None
            held["x"] = torch.empty(BATCH, LENGTH, WIDTH, device="cuda")
            optimizer.zero_grad()
            held["y"] = model(held["x"]).flatten(0, 1)
            target = torch.zeros(BATCH * LENGTH, dtype=torch.long, device="cuda")
            held["loss"] = nn.functional.cross_entropy(held["y"], target)
            held["loss"].backward()
            optimizer.step()

        return step

    return make


def save(path, to):
    """One file, without where this machine keeps its sources."""
    model = onnx.load(path)
    for node in model.graph.node:
        kept = [p for p in node.metadata_props if p.key == "pkg.torch.onnx.fx_node"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, to)


def main():
    folder, peaks = sys.argv[2], []
    for name, build in MODELS.items():
        torch.manual_seed(1)
        with tempfile.TemporaryDirectory() as made:
            path = _export.export(build(), torch.zeros(2, LENGTH, WIDTH), made)
            save(path, os.path.join(folder, name + ".onnx"))
            trace = os.path.join(made, "step.trace")
            capture(program(build), trace, steps=2, capability=86)
            told = subprocess.run([os.path.join(sys.argv[1], "..", "plimsoll"), "fit", trace, "--json"], check=True,
                                  capture_output=True, text=True).stdout
        peaks.append("%s %d\n" % (name, json.loads(told)["requested"]))
        print(peaks[-1], end="", flush=True)
    with open(os.path.join(folder, "peaks.txt"), "w") as file:
        file.writelines(peaks)


main()
