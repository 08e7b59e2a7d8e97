"""A small ResNet that learns Fashion-MNIST from PyTorch's default export as it does in PyTorch: tests/run/exports/learns.*

usage: make_learning.py [FOLDER]        needs torch 2.13, onnx, onnxscript; FOLDER has the IDX files of the data set

learns.onnx is the export (evaluation mode, batch norms folded away), learns.json what PyTorch has after 100 updates by SGD (rate
0.1, batches of 32 in the order of the files) in each of RUNS: the mean loss of every ten updates, and the share of right answers on
the test set. After some sixty updates rounding decides where a run goes, so there are several that differ in nothing else: the number of
threads, the order of the axes, double precision, weights off by one rounding, other instruction sets.
"""
import gzip
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

import make_exports

BATCH, STEPS, RATE = 32, 100, 0.1
OLD = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
RUNS = [("plain", {}), ("threads", {}), ("channels last", {}), ("double", {}), ("nudged", {}), ("plain", {"ONEDNN_MAX_CPU_ISA": "AVX2"}),
        ("plain", {"ONEDNN_MAX_CPU_ISA": "SSE41"}), ("plain", OLD)]


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.short = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.short(x))


class SmallResNet(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.blocks = nn.Sequential(Residual(width, width, 1), Residual(width, 2 * width, 2), Residual(2 * width, 4 * width, 2))
        self.fc = nn.Linear(4 * width, 10)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def read(folder, name):
    path = os.path.join(folder, name)
    data = gzip.open(path + ".gz").read() if os.path.exists(path + ".gz") else open(path, "rb").read()
    return data


def load(folder, part, count):
    images = np.frombuffer(read(folder, part + "-images-idx3-ubyte"), np.uint8, offset=16).reshape(-1, 1, 28, 28)[:count]
    labels = np.frombuffer(read(folder, part + "-labels-idx1-ubyte"), np.uint8, offset=8)[:count]
    return torch.tensor(images.astype(np.float32) / 255), torch.tensor(labels.astype(np.int64))


def share_right(model, x, y):
    model.eval()
    with torch.no_grad():
        return sum((model(x[s:s + 500]).argmax(1) == y[s:s + 500]).sum().item() for s in range(0, len(y), 500)) / len(y)


def learn(kind, folder):
    """Losses and the share of right answers, of one kind of run."""
    torch.set_num_threads(2 if kind == "threads" else 1)
    torch.manual_seed(0)
    model, (x, y), tests = SmallResNet(), load(folder, "train", BATCH * STEPS), load(folder, "t10k", 10000)
    if kind == "channels last":
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if kind == "double":
        model, x, tests = model.double(), x.double(), (tests[0].double(), tests[1])
    if kind == "nudged":
        generator = torch.Generator().manual_seed(2)
        with torch.no_grad():
            for p in model.parameters():
                p.mul_(1 + 6e-8 * torch.sign(torch.randn(p.shape, generator=generator)))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=RATE), []
    for s in range(STEPS):
        model.train()
        rows = slice(s * BATCH, (s + 1) * BATCH)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": [round(float(np.mean(losses[i:i + 10])), 5) for i in range(0, STEPS, 10)], "accuracy": share_right(model, *tests)}


def export(folder):
    torch.manual_seed(0)
    path = os.path.join(make_exports.HERE, "learns.onnx")
    x, _ = load(folder, "train", 4)
    torch.onnx.export(SmallResNet().eval(), (x,), path, dynamo=True, external_data=False, verbose=False, dynamic_shapes=({0: torch.export.Dim("batch")},))
    onnx.save(make_exports.strip(onnx.load(path)), path)


def main():
    warnings.filterwarnings("ignore")
    if len(sys.argv) > 2:  # one run, in a process that has its environment
        return print(json.dumps(learn(sys.argv[2], sys.argv[1])))
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/datasets/fashion-mnist"
    export(folder)
    runs = []
    for kind, environment in RUNS:
        done = subprocess.run([sys.executable, __file__, folder, kind], env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True)
        runs.append({"run": " ".join([kind, *environment.values()]), **json.loads(done.stdout.splitlines()[-1])})
        print(runs[-1])
    with open(os.path.join(make_exports.HERE, "learns.json"), "w") as file:
        json.dump(runs, file, indent=1)


if __name__ == "__main__":
    main()
