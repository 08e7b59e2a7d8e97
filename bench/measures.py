#!/usr/bin/env python3
"""Measures, perplexity and generated text beside other programs, live: `plimsoll evaluate` against scikit-learn on the scores of
onnxruntime, `evaluate` and `predict` of a language model against PyTorch, whose module was exported.

usage: measures.py PLIMSOLL [SEED]      (needs numpy, onnxruntime, scikit-learn, torch and onnx)
Prints the largest difference of each figure; the exit code tells whether any is above 1e-4."""
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnxruntime
import torch
from sklearn import metrics

warnings.filterwarnings("ignore")
program, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
random = np.random.default_rng(seed)
worst = {}


def plimsoll(*arguments):
    run = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"plimsoll {' '.join(map(str, arguments))}: {run.stderr}")
    return run.stdout


def zoo(name, *options):
    plimsoll("zoo", name, *options, "--seed", seed, "-o", "m.onnx")


def scores(x):
    s = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    batch = s.get_inputs()[0].shape[0]
    step = batch if isinstance(batch, int) else len(x)
    return np.concatenate([s.run(None, {s.get_inputs()[0].name: x[i:i + step]})[0] for i in range(0, len(x), step)])


def compare(case, told, true):
    for key, value in true.items():
        difference = float(np.abs(np.asarray(told[key], float) - np.asarray(value, float)).max())
        worst[key] = max(worst.get(key, 0), difference)
        if not difference <= 1e-4:
            print(f"{case}: {key} is {told[key]}, not {value}")


def evaluate(x, y, *options):
    np.savez("d.npz", x=x, y=y)
    return json.loads(plimsoll("evaluate", "m.onnx", "--data", "d.npz", "--target", "y", "--json", *options))


def classes(case, model, x, count):
    zoo(*model, "--classes", count)
    s = scores(x)
    p = torch.softmax(torch.tensor(s).double(), 1).numpy()
    labels = np.where(random.random(len(x)) < 0.5, s.argmax(1), random.integers(0, count, len(x)))
    guess = s.argmax(1)
    q, r, f, support = metrics.precision_recall_fscore_support(labels, guess, labels=range(count), zero_division=0)
    told = evaluate(x, labels)
    macro = metrics.precision_recall_fscore_support(labels, guess, average="macro", zero_division=0)
    true = {"accuracy": metrics.accuracy_score(labels, guess), "precision": macro[0], "recall": macro[1], "f1": macro[2],
            "loss": torch.nn.functional.cross_entropy(torch.tensor(s).double(), torch.tensor(labels)).item(),
            "confusion": metrics.confusion_matrix(labels, guess, labels=range(count)),
            "auc": metrics.roc_auc_score(labels, p[:, 1] if count == 2 else p, **({} if count == 2 else {"multi_class": "ovr"}))}
    if count > 5:
        true["top5"] = metrics.top_k_accuracy_score(labels, s, k=5, labels=range(count))
    compare(case, told, true)
    rows = {key: [c[key] for c in told["classes"]] for key in ("precision", "recall", "f1", "support")}
    compare(case + ", by class", rows, {"precision": q, "recall": r, "f1": f, "support": support})


def numbers(columns):
    x = random.normal(size=(170, 9)).astype("f4")
    zoo("tabular", "--features", 9, "--classes", columns)
    s = scores(x)
    y = (s + random.normal(0, 0.3, s.shape)).astype("f4")
    compare(f"{columns} numbers", evaluate(x, y, "--loss", "mse"),
            {"mean_absolute_error": metrics.mean_absolute_error(y, s), "root_mean_square_error": metrics.root_mean_squared_error(y, s), "r2": metrics.r2_score(y, s)})


def pixels():
    x = random.normal(size=(4, 3, 32, 32)).astype("f4")
    zoo("unet", "--image", 32, "--width", 4, "--classes", 3)
    s = scores(x)
    y = np.where(random.random((4, 32, 32)) < 0.6, s.argmax(1), random.integers(0, 3, (4, 32, 32)))
    flat, guess = y.ravel(), s.argmax(1).ravel()
    compare("pixels", evaluate(x, y, "--batch", 2), {"accuracy": metrics.accuracy_score(flat, guess),
            "iou": metrics.jaccard_score(flat, guess, average="macro"), "f1": metrics.f1_score(flat, guess, average="macro")})


class Language(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.recur, self.out = torch.nn.Embedding(256, 24), torch.nn.GRU(24, 32, batch_first=True), torch.nn.Linear(32, 256)

    def forward(self, tokens):
        return 4 * self.out(self.recur(self.embed(tokens))[0])


MASK = (1 << 64) - 1


def mix(x):
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & MASK
    return x ^ x >> 31


def choose(row, temperature, top_k, top_p, own, number):
    """The rule of plimsoll/generate.h on PyTorch's scores."""
    values, order = torch.sort(row.double() / (temperature or 1), descending=True, stable=True)
    if not temperature:
        return int(order[0])
    p = torch.softmax(values[:top_k or len(values)], 0)
    sums = torch.cumsum(p, 0)
    stay = int(torch.searchsorted(sums, top_p) + 1) if top_p < 1 else len(p)
    u = (mix(mix(mix(own) ^ 0x67656e) ^ number) >> 11) * 2.0 ** -53
    return int(order[min(int(torch.searchsorted(sums[:stay], u * sums[stay - 1], right=True)), stay - 1)])


def language():
    torch.manual_seed(seed)
    model, length = Language().eval(), 16
    torch.onnx.export(model, (torch.zeros(1, length, dtype=torch.long),), "m.onnx", input_names=["tokens"], output_names=["logits"],
                      dynamic_axes={"tokens": {0: "batch"}, "logits": {0: "batch"}}, dynamo=False)
    text = bytes(random.integers(32, 127, 16 * 40 + 1).tolist())
    open("t.txt", "wb").write(text)
    tokens = torch.tensor(list(text))
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model(tokens[:-1].reshape(-1, length)).double().reshape(-1, 256), tokens[1:])
        told = json.loads(plimsoll("evaluate", "m.onnx", "--data", "t.txt", "--json"))
        compare("text", {"loss": told["loss"], "perplexity": told["perplexity"] / loss.exp().item()}, {"loss": loss.item(), "perplexity": 1})
        same = 0
        for options in ((0, 0, 1, 0), (1, 0, 1, 1), (0.7, 20, 1, 2), (1.3, 0, 0.6, 3), (1, 40, 0.9, 12345678901)):
            line = list(b"The load line")
            for n in range(24):
                window = line[-length:]
                line.append(choose(model(torch.tensor([window]))[0, -1], *options, n))
            t, k, p, own = options
            said = json.loads(plimsoll("predict", "m.onnx", "--prompt", "The load line", "--generate", 24, "--temperature", t, "--seed", own, "--json",
                                       *(["--top-k", k] if k else []), *(["--top-p", p] if p < 1 else [])))
            same += said["tokens"] == line[13:]
            if said["tokens"] != line[13:]:
                print(f"generated with {options}: {said['tokens']}, PyTorch {line[13:]}")
    worst["generated (5 ways, of which other)"] = 5 - same


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ.update(OMP_WAIT_POLICY="passive", XDG_CACHE_HOME=folder)
    classes("twelve classes", ("lenet", "--width", 4, "--image", 12), random.normal(size=(300, 1, 12, 12)).astype("f4"), 12)
    classes("two classes", ("tabular", "--features", 9), random.normal(size=(200, 9)).astype("f4"), 2)
    numbers(1)
    numbers(3)
    pixels()
    language()
for key, value in worst.items():
    print(f"{key:36} {value:.2g}")
sys.exit(any(not v <= 1e-4 for v in worst.values()))
