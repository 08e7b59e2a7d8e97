"""A small ResNet that learns Fashion-MNIST from PyTorch's default export as it does in PyTorch: tests/run/exports/learns.*

usage: make_learning.py [FOLDER]        needs torch 2.13, onnx, onnxscript; FOLDER has the IDX files of the data set

learns.onnx is the export (evaluation mode, batch norms folded away), learns.json what PyTorch has after 150 updates by SGD (rate
0.1, batches of 32 in the order of the files): the mean loss of every ten updates, and the share of right answers on the test set
after 100 and 150 of them.
"""
import gzip
import json
import os
import sys
import warnings

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

import make_exports

BATCH, STEPS, RATE = 32, 150, 0.1


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


def main():
    warnings.filterwarnings("ignore")
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/datasets/fashion-mnist"
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = SmallResNet().eval()
    x, y = load(folder, "train", BATCH * STEPS)
    path = os.path.join(make_exports.HERE, "learns.onnx")
    torch.onnx.export(model, (x[:4],), path, dynamo=True, external_data=False, verbose=False, dynamic_shapes=({0: torch.export.Dim("batch")},))
    onnx.save(make_exports.strip(onnx.load(path)), path)
    optimizer, losses, told = torch.optim.SGD(model.parameters(), lr=RATE), [], {}
    tests = load(folder, "t10k", 10000)
    for s in range(STEPS):
        model.train()
        rows = slice(s * BATCH, (s + 1) * BATCH)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if s + 1 in (100, 150):
            told["accuracy%d" % (s + 1)] = share_right(model, *tests)
    told["losses"] = [round(float(np.mean(losses[i:i + 10])), 5) for i in range(0, STEPS, 10)]
    json.dump(told, open(os.path.join(make_exports.HERE, "learns.json"), "w"), indent=1)
    print(told)


if __name__ == "__main__":
    main()
