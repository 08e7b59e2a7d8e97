"""Training computes what PyTorch computes: the same weights and batches, losses and first gradients side by side.

usage: parity.py PLIMSOLL [--out OUT.json] [--only MODEL] [--threads N] [--steps N] [--noise]

The losses of the first steps must agree within 1e-3 relative, the first gradient of every parameter within 1e-4 of its
largest entry; exits 1 when one does not. --noise shows beside them how far PyTorch's losses move when its weights are
disturbed by 1e-7 relative, and how far its first gradients are from those it computes in float64.

The first batch is one at which float32 can tell the gradients: no value that enters a ReLU is so near to 0, and no two
that compete in a max pool so near to each other, that rounding decides which way the gradient goes. In deep networks most
batches have such values. PyTorch alone is asked, its float32 beside its float64, before Plimsoll has run.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measure  # noqa: E402
import models  # noqa: E402
from torch_step import loss_of  # noqa: E402

LOSS_LIMIT, GRADIENT_LIMIT = 1e-3, 1e-4
NOISE = 1e-7
NEAR, MOST_DRAWN = 3, 300  # standard deviations of the rounding errors of a channel; batches

# model, options of the zoo, shape of a sample, batch, optimizer, learning rate. Networks of ReLU and max pools leap where a
# value crosses a kink: the rates of those are low enough for PyTorch to agree with itself when its weights are disturbed.
# unet has small images: at 64x64, six of six batches had 11 values or more so near to kinks that rounding decides.
CASES = [
    ("lenet", [], (1, 28, 28), 64, "sgd", 1e-3),
    ("resnet18", ["--image", "32"], (3, 32, 32), 32, "sgd", 1e-5),
    ("gpt2-tiny", [], (128,), 8, "adamw", 1e-3),
    ("unet", ["--image", "32"], (3, 32, 32), 2, "sgd", 1e-3),
    ("lstm", [], (64,), 8, "adamw", 1e-3),
    ("gru", [], (64,), 8, "adamw", 1e-3),
]


def make_images(rng, count, shape, pixels):
    """Noise with a pattern of the class in it; or, for a class a pixel, blobs and which of them are bright. Every third
    class is drawn at random, so that losses stay well above 0, where a relative difference would mean little."""
    x = rng.standard_normal((count,) + shape, dtype=np.float32)
    if pixels:
        coarse = rng.standard_normal((count, 1, shape[1] // 8, shape[2] // 8), dtype=np.float32)
        blobs = coarse.repeat(8, 2).repeat(8, 3)
        x, y, classes = x * np.float32(0.5) + blobs, (blobs[:, 0] > 0).astype(np.int64), 2
    else:
        y, classes = rng.integers(0, 10, count), 10
        x += rng.standard_normal((10,) + shape, dtype=np.float32)[y] * np.float32(0.5)
    return x, np.where(rng.random(y.shape) < 1 / 3, rng.integers(0, classes, y.shape), y)


def make_tokens(rng, count, seq, vocabulary):
    """A walk with few choices at each token: there is something to learn."""
    choices = rng.integers(0, vocabulary, (vocabulary, 4))
    walk = np.empty((count, seq + 1), np.int64)
    walk[:, 0] = rng.integers(0, vocabulary, count)
    for t in range(seq):
        walk[:, t + 1] = choices[walk[:, t], rng.integers(0, 4, count)]
    return walk[:, :-1].copy(), walk[:, 1:].copy()


def make_data(name, shape, samples, seed=0):
    rng = np.random.default_rng(seed)
    if len(shape) == 1:
        return make_tokens(rng, samples, shape[0], models.CLASSES[name])
    return make_images(rng, samples, shape, name == "unet")


def make_optimizer(kind, parameters, rate):
    if kind == "sgd":
        return torch.optim.SGD(parameters, lr=rate, momentum=0.9)
    return torch.optim.AdamW(parameters, lr=rate)


def torch_run(model, x, y, batch, steps, kind, rate):
    """Losses of all steps, and the first gradients by name."""
    model.train()
    optimizer, losses, gradients = make_optimizer(kind, model.parameters(), rate), [], None
    for s in range(steps):
        rows = slice(s * batch, (s + 1) * batch)
        optimizer.zero_grad()
        loss = loss_of(model(torch.from_numpy(x[rows])), torch.from_numpy(y[rows]))
        loss.backward()
        if s == 0:
            gradients = {k: p.grad.double().clone() for k, p in model.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses), gradients


def double_gradients(model, x, y, batch):
    model.double().train()
    inputs = torch.from_numpy(x[:batch])
    loss_of(model(inputs.double() if inputs.is_floating_point() else inputs), torch.from_numpy(y[:batch])).backward()
    return {k: p.grad for k, p in model.named_parameters()}


def disturbed(model):
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + NOISE * torch.randn_like(p))
    return model


class Kinked(TorchDispatchMode):
    """Keeps what enters each ReLU and max pool."""

    def __init__(self):
        super().__init__()
        self.entered = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in ("relu", "relu_", "max_pool2d_with_indices"):
            self.entered.append((name, args[0].clone(), args[1:]))
        return func(*args, **(kwargs or {}))


def entered_kinks(model, x):
    with torch.no_grad(), Kinked() as kinked:
        model.train()(x)
    return kinked.entered


def lead_in_window(x, kernel, stride=None, padding=(0, 0), *_):
    """By how much the largest of each window is above the next; infinite where it is 0, which a ReLU made: nothing flows
    back through it."""
    x = F.pad(x, (padding[-1], padding[-1], padding[0], padding[0]), value=-torch.inf)
    windows = x.unfold(2, kernel[0], (stride or kernel)[0]).unfold(3, kernel[-1], (stride or kernel)[-1])
    first, second = windows.flatten(4).topk(2, 4).values.unbind(4)
    return torch.where(first == 0, torch.inf, first - second)


def undecided(single, double, x):
    """How many values lie so near to a kink that float32 cannot tell on which side: nearer than NEAR times the error that is
    usual in their channel (of a difference: times the root of 2)."""
    count = 0
    for (name, rough, _), (_, exact, options) in zip(entered_kinks(single, x), entered_kinks(double, x.double())):
        wrong = NEAR * (rough - exact).square().mean([d for d in range(exact.dim()) if d != 1], keepdim=True).sqrt()
        near = exact.abs() <= wrong if name.startswith("relu") else lead_in_window(exact, *options) <= 2**0.5 * wrong
        count += int(near.sum())
    return count


def decided_batch(name, path, shape, batch):
    """The first batch of those drawn that leaves nothing undecided, else the one that leaves least; its number, and what it
    leaves undecided."""
    single, double, best = models.load(name, path), models.load(name, path).double(), None
    for drawn in range(1, MOST_DRAWN + 1):
        x, y = make_data(name, shape, batch, drawn)
        left = undecided(single, double, torch.from_numpy(x)) if x.dtype == np.float32 else 0  # tokens: no kinks there
        if best is None or left < best[3]:
            best = x, y, drawn, left
        if left == 0:
            break
    return best


def read_safetensors(path):
    data = open(path, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            assert entry["dtype"] == "F32", name
            tensors[name] = torch.from_numpy(np.frombuffer(data[8 + length + begin:8 + length + end], np.float32).reshape(entry["shape"]).copy())
    return tensors


def our_run(program, folder, path, x, y, batch, steps, kind, rate, threads, *extra):
    data, log, gradients = (os.path.join(folder, f) for f in ("data.npz", "log.jsonl", "gradients.safetensors"))
    np.savez(data, x=x, y=y)
    command = [program, "train", path, "--data", data, "--no-shuffle", "--loss", "cross_entropy", "--optimizer", kind, "--lr", str(rate), "--batch", str(batch),
               "--steps", str(steps), "--threads", str(threads), "--log", log, "--dump-gradients", gradients, "--json", *extra]
    if kind == "sgd":
        command += ["--momentum", "0.9"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    losses = [line["loss"] for line in map(json.loads, open(log)) if "loss" in line]  # lines of validations have none
    return np.array(losses), read_safetensors(gradients)


def farthest_loss(ours, theirs):
    return float((np.abs(ours - theirs) / np.abs(theirs)).max())


def farthest_gradient(ours, theirs):
    """The parameter whose gradient differs most, relative to its largest entry."""
    differences = {}
    for name, expected in theirs.items():
        if name not in ours:
            return float("inf"), name + " (missing)"
        differences[name] = float((ours[name].double() - expected).abs().max() / expected.abs().max().clamp_min(1e-30))
    name = max(differences, key=differences.get)
    return differences[name], name


def compare(args, case):
    name, options, shape, batch, kind, rate = case
    samples = batch * args.steps
    x, y = make_data(name, shape, samples)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        subprocess.run([args.plimsoll, "zoo", name, *options, "-o", path], check=True, stdout=subprocess.DEVNULL)
        torch.manual_seed(0)
        x[:batch], y[:batch], drawn, left = decided_batch(name, path, shape, batch)
        theirs, expected = torch_run(models.load(name, path), x, y, batch, args.steps, kind, rate)
        row = {"model": name, "drawn": drawn, "undecided": left, "sample": list(shape), "batch": batch, "optimizer": kind, "rate": rate, "steps": args.steps, "first_loss": float(theirs[0]), "last_loss": float(theirs[-1])}
        if args.noise:
            row["noise_loss"] = farthest_loss(torch_run(disturbed(models.load(name, path)), x, y, batch, args.steps, kind, rate)[0], theirs)
            row["noise_gradient"], row["noise_worst"] = farthest_gradient(expected, double_gradients(models.load(name, path), x, y, batch))
        if args.plimsoll_trains:
            ours, gradients = our_run(args.plimsoll, folder, path, x, y, batch, args.steps, kind, rate, args.threads)
            if len(ours) != len(theirs):
                raise SystemExit("parity.py: %s logged %d losses, not %d" % (name, len(ours), len(theirs)))
            model = models.load(name, path)
            if hasattr(model, "onnx_tensors"):
                gradients = model.onnx_tensors(gradients)
            row["loss_difference"] = farthest_loss(ours, theirs)
            row["gradient_difference"], row["worst_gradient"] = farthest_gradient(gradients, expected)
            row["agrees"] = row["loss_difference"] <= LOSS_LIMIT and row["gradient_difference"] <= GRADIENT_LIMIT
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("--out")
    parser.add_argument("--only")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--torch-alone", action="store_false", dest="plimsoll_trains", help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rows = []
    for case in CASES:
        if args.only in (None, case[0]):
            row = compare(args, case)
            rows.append(row)
            text = "%-10s batch %2d of those drawn, %d undecided   loss %.4f to %.4f" % (row["model"], row["drawn"], row["undecided"], row["first_loss"], row["last_loss"])
            if "agrees" in row:
                text += "   differ by %.1e   first gradients by %.1e (%s)" % (row["loss_difference"], row["gradient_difference"], row["worst_gradient"])
                text += "" if row["agrees"] else "   TOO FAR"
            if args.noise:
                text += "   PyTorch itself: %.1e, %.1e (%s)" % (row["noise_loss"], row["noise_gradient"], row["noise_worst"])
            print(text, flush=True)
    if args.out:
        measure.write(args.out, {"torch": torch.__version__, "threads": args.threads, "rows": rows})
    return 0 if all(row.get("agrees", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
