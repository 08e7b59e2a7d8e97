"""Five epochs of lenet on Fashion-MNIST, ours and PyTorch's with its own DataLoader: test accuracy and time.

usage: epochs.py PLIMSOLL OUT.json [--threads N] [--epochs N]

Plimsoll's time is that of the whole process, from reading the files to writing the weights. PyTorch's begins when its
tensors are in memory and the model is made; its DataLoader is tried with no workers and with two, and the better counts.
"""
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import measure

FASHION = "/usr/share/datasets/fashion-mnist"
BATCH, RATE = 256, 3e-3  # falls to 0 along a cosine


def read_fashion(split, count=None):
    """Images scaled to 0..1 as (N, 1, 28, 28), and their classes."""
    def idx(name, header):
        with gzip.open(os.path.join(FASHION, name)) as f:
            return np.frombuffer(f.read(), np.uint8, offset=header)
    y = idx(split + "-labels-idx1-ubyte.gz", 8)[:count]
    x = idx(split + "-images-idx3-ubyte.gz", 16)[:784 * len(y)].reshape(-1, 1, 28, 28)
    return x.astype(np.float32) / np.float32(255), y.astype(np.int64)


def pytorch_epochs(path, epochs, threads, workers):
    """In a process of its own: prints seconds and accuracy."""
    import torch
    from torch.nn import functional as F

    import models

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    x, y = (torch.from_numpy(a) for a in read_fashion("train"))
    test_x, test_y = (torch.from_numpy(a) for a in read_fashion("t10k"))
    model = models.load("lenet", path).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    steps = epochs * -(-len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5 + 0.5 * math.cos(math.pi * step / steps))
    start = time.perf_counter()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    for _ in range(epochs):
        for inputs, target in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), target).backward()
            optimizer.step()
            schedule.step()
    seconds = time.perf_counter() - start
    model.eval()
    with torch.no_grad():
        right = sum((model(a).argmax(1) == b).sum().item() for a, b in zip(test_x.split(1000), test_y.split(1000)))
    print(json.dumps({"seconds": seconds, "accuracy": right / len(test_y), "workers": workers}))


def our_epochs(program, path, epochs, threads):
    trained = path + ".trained.onnx"
    command = [program, "train", path, "--data", FASHION, "--loss", "cross_entropy", "--optimizer", "adamw", "--lr", str(RATE), "--schedule", "cosine", "--batch", str(BATCH), "--epochs", str(epochs),
               "--threads", str(threads), "--out", trained, "--json"]
    start = time.perf_counter()
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    seconds = time.perf_counter() - start
    tested = json.loads(subprocess.run([program, "evaluate", trained, "--data", FASHION, "--split", "test", "--batch", "250", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    return {"seconds": seconds, "accuracy": tested["accuracy"], "data_wait_share": answer["data_wait_share"], "seconds_per_step": answer["seconds_per_step"]}


def main():
    args = measure.arguments(__doc__, epochs=dict(type=int, default=5), workers=dict(type=int, nargs="+", default=[0, 2], help="of PyTorch's DataLoader, to be tried"), pytorch=dict(type=int, metavar="WORKERS", help="PyTorch's half, in a process of its own"))
    if args.pytorch is not None:
        return pytorch_epochs(args.plimsoll, args.epochs, args.threads, args.pytorch)
    if not os.path.isdir(FASHION):
        return print("epochs.py: there is no %s; install dataset-fashion-mnist" % FASHION)
    theirs = []
    with tempfile.TemporaryDirectory() as folder:
        path = measure.make_model(args.plimsoll, "lenet", os.path.join(folder, "lenet.onnx"))
        ours = our_epochs(args.plimsoll, path, args.epochs, args.threads)
        for workers in args.workers:
            command = [sys.executable, os.path.abspath(__file__), path, "-", "--threads", str(args.threads), "--epochs", str(args.epochs), "--pytorch", str(workers)]
            theirs.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    best = min(theirs, key=lambda t: t["seconds"])
    answer = {"threads": args.threads, "epochs": args.epochs, "batch": BATCH, "rate": RATE, "plimsoll": ours, "pytorch": best, "tried": theirs, "ratio": ours["seconds"] / best["seconds"]}
    print("lenet, %d epochs: Plimsoll %.1f s, %.2f %% right   PyTorch %.1f s (%d workers), %.2f %%   time %.2f" % (
        args.epochs, ours["seconds"], 100 * ours["accuracy"], best["seconds"], best["workers"], 100 * best["accuracy"], answer["ratio"]))
    measure.write(args.out, answer)
    return None


if __name__ == "__main__":
    main()
