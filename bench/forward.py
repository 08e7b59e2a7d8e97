"""Forward time against eager PyTorch, in one run: the same weights, inputs and threads, the two taking turns.

usage: forward.py PLIMSOLL OUT.json [--threads N] [--rounds N]
"""
import json
import os
import subprocess
import tempfile
import time

import numpy as np
import torch

import measure
import models

CASES = [("resnet50", 16, (3, 224, 224)), ("unet", 2, (3, 256, 256)), ("gpt2", 4, (256,)), ("mobilenet_v2", 16, (3, 224, 224))]


def torch_seconds(model, x, repeat):
    times = []
    with torch.no_grad():
        for _ in range(repeat):
            start = time.perf_counter()
            y = model(x)
            times.append(time.perf_counter() - start)
    return times, y


def main():
    args = measure.arguments(__doc__, rounds=5)
    torch.set_num_threads(args.threads)
    rng, rows = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        for name, batch, shape in CASES:
            if args.only and args.only != name:
                continue
            path, source, target = (os.path.join(folder, f) for f in ("model.onnx", "x.npy", "y.npy"))
            subprocess.run([args.plimsoll, "zoo", name, "-o", path], check=True, stdout=subprocess.DEVNULL)
            x = rng.integers(0, 50257, (batch,) + shape) if name == "gpt2" else rng.standard_normal((batch,) + shape, dtype=np.float32)
            np.save(source, x)
            model, tensor = models.load(name, path), torch.from_numpy(x)
            command = [args.plimsoll, "infer", path, "--input", source, "--output", target, "--threads", str(args.threads), "--repeat", "6", "--json"]
            torch_seconds(model, tensor, 2)
            ours, theirs = [], []
            for _ in range(args.rounds):
                answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                ours.append(answer["seconds"])
                times, y = torch_seconds(model, tensor, 4)
                theirs += times
            difference = float(np.abs(np.load(target) - y.numpy()).max() / np.abs(y.numpy()).max())
            inspected = json.loads(subprocess.run([args.plimsoll, "inspect", path, "--batch", str(batch), "--threads", str(args.threads), "--json"], check=True, stdout=subprocess.PIPE).stdout)
            row = {"model": name, "batch": batch, "plimsoll_seconds": float(np.median(ours)), "pytorch_seconds": float(np.median(theirs)), "difference": difference,
                   "arena_bytes": answer["arena_bytes"], "lower_bound_bytes": inspected["lower_bound_bytes"], "peak_resident_bytes": answer["peak_resident_bytes"],
                   "flops": inspected["flops"]}
            row["ratio"] = row["plimsoll_seconds"] / row["pytorch_seconds"]
            rows.append(row)
            print("%-13s %8.1f ms   PyTorch %8.1f ms   ratio %.2f   outputs differ by %.1e" % (name, row["plimsoll_seconds"] * 1e3, row["pytorch_seconds"] * 1e3, row["ratio"], difference), flush=True)
            del model
    with open(args.out, "w") as f:
        json.dump({"torch": torch.__version__, "threads": args.threads, "rows": rows}, f, indent=1)


main()
