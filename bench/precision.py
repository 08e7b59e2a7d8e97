"""Training in bfloat16 beside PyTorch's autocast: bytes and seconds of a step, and how far losses and gradients are from float32's.

usage: precision.py PLIMSOLL OUT.json [--threads N] [--only MODEL] [--steps N] [--numbers]

Costs: each form in a process of its own, VmHWM above the idle process, the median step, and the processor's seconds. "within 0.6" has
a budget of 0.6 of what our float32 took. --numbers leaves them out.
Numbers: 100 updates from the same weights over the same batches; PyTorch in float32 is what both are compared with, and our own
float32 shows how much of the distance is the order of sums. Gradients are compared before the first update, all parameters together:
|ours - theirs| / |theirs|.
"""
import os
import sys
import tempfile

import numpy as np
import torch

import measure
import models
import parity
from torch_step import loss_of

SHARE = 0.6
COSTS = [("resnet50", [], 16, "sgd"), ("gpt2", ["--seq", "256"], 4, "adamw"), ("vit-b16", [], 8, "adamw")]
NUMBERS = ["lenet", "resnet18", "gpt2-tiny"]
UPDATES = 100


def row_of(form, answer):
    row = {key: answer[key] for key in ("above_idle_bytes", "seconds_per_step") if key in answer}
    return {"form": form, **row}


def ours(args, path, batch, optimizer, *extra):
    answer, why = measure.plimsoll(args.plimsoll, path, batch, args.steps, optimizer, args.threads, *extra)
    return answer or {"refused": why}


def costs(args, case):
    name, options, batch, optimizer = case
    with tempfile.TemporaryDirectory() as folder:
        path = measure.make_model(args.plimsoll, name, os.path.join(folder, "model.onnx"), *options)
        wide = ours(args, path, batch, optimizer)
        rows = [row_of("fp32", wide), row_of("bf16", ours(args, path, batch, optimizer, "--precision", "bf16"))]
        budget = int(SHARE * wide["above_idle_bytes"]) + wide["idle_resident_bytes"]
        within = ours(args, path, batch, optimizer, "--precision", "bf16", "--budget", "%d" % budget)
        rows.append({**row_of("bf16 within %.1f" % SHARE, within), **({"refused": within["refused"]} if "refused" in within else {})})
    torched = (name, batch, args.steps, optimizer, args.threads)
    rows += [row_of("PyTorch fp32", measure.pytorch(*torched)), row_of("PyTorch autocast", measure.pytorch(*torched, "--autocast"))]
    for row in rows:
        row["memory"] = row.get("above_idle_bytes", 0) / rows[0]["above_idle_bytes"]
        row["time"] = row.get("seconds_per_step", 0) / rows[0]["seconds_per_step"]
        print("%-9s %-17s %s" % (name, row["form"], row["refused"] if "refused" in row else "%7.1f MiB %.2f   %8.3f s %.2f" % (
            measure.mib(row["above_idle_bytes"]), row["memory"], row["seconds_per_step"], row["time"])), flush=True)
    return {"model": name, "batch": batch, "optimizer": optimizer, "rows": rows}


def torch_run(model, x, y, batch, kind, rate, autocast):
    model.train()
    optimizer, losses, gradients = parity.make_optimizer(kind, model.parameters(), rate), [], None
    for start in range(0, len(x), batch):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = loss_of(model(torch.from_numpy(x[start:start + batch])), torch.from_numpy(y[start:start + batch]))
        loss.backward()
        if gradients is None:
            gradients = {k: p.grad.double().clone() for k, p in model.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses), gradients


def apart(some, wide):
    off = sum(float((some[name].double() - wide[name]).square().sum()) for name in wide)
    return (off / sum(float(g.square().sum()) for g in wide.values())) ** 0.5


def numbers(args, case):
    name, options, shape, batch, kind, rate = case
    x, y = parity.make_data(name, shape, batch * UPDATES)
    with tempfile.TemporaryDirectory() as folder:
        path = measure.make_model(args.plimsoll, name, os.path.join(folder, "model.onnx"), *options)
        wide, wide_gradients = torch_run(models.load(name, path), x, y, batch, kind, rate, False)
        found = {"autocast": torch_run(models.load(name, path), x, y, batch, kind, rate, True)}
        for form, precision in (("our fp32", "fp32"), ("our bf16", "bf16")):
            with tempfile.TemporaryDirectory() as own:
                losses, gradients = parity.our_run(args.plimsoll, own, path, x, y, batch, UPDATES, kind, rate, args.threads, "--precision", precision)
            model = models.load(name, path)
            found[form] = losses, model.onnx_tensors(gradients) if hasattr(model, "onnx_tensors") else gradients
    rows = []
    for form, (losses, gradients) in found.items():
        differ = np.abs(losses - wide) / np.abs(wide)
        rows.append({"form": form, "largest": float(differ.max()), "mean": float(differ.mean()), "gradients": apart(gradients, wide_gradients)})
        print("%-9s %-9s losses differ by %.2e at most, %.2e on average; first gradients by %.2e" % (name, form, rows[-1]["largest"], rows[-1]["mean"], rows[-1]["gradients"]), flush=True)
    return {"model": name, "batch": batch, "optimizer": kind, "updates": UPDATES, "rows": rows}


def main():
    args = measure.arguments(__doc__, steps=dict(type=int, default=8), numbers=dict(action="store_true"))
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    bf16 = any("avx512_bf16" in line for line in open("/proc/cpuinfo") if line.startswith("flags"))
    answer = {"torch": torch.__version__, "threads": args.threads, "processor_multiplies_bf16": bf16, "costs": [], "numbers": []}
    for case in COSTS:
        if args.only in (None, case[0]) and not args.numbers:
            answer["costs"].append(costs(args, case))
    for case in parity.CASES:
        if case[0] in NUMBERS and args.only in (None, case[0]):
            answer["numbers"].append(numbers(args, case))
    measure.write(args.out, answer)


if __name__ == "__main__":
    sys.exit(main())
