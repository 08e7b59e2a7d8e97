"""Time and memory of one training step against PyTorch, in one run: fresh processes that take turns.

usage: train.py PLIMSOLL OUT.json [--threads N] [--rounds N] [--only MODEL]

PyTorch is tried plain, with channels_last and with its fused optimizer in the first round; the fastest of these is
what the later rounds, and the ratios, are against. Memory is VmHWM above the idle process, on both sides.
"""
import os
import statistics
import tempfile

import measure

# model, batch, optimizer, steps of a run
CASES = [("lenet", 256, "sgd", 23), ("resnet50", 16, "sgd", 7), ("unet", 2, "sgd", 7), ("gpt2", 4, "adamw", 7), ("mobilenet_v2", 16, "sgd", 9)]
VARIANTS = {"eager": [], "channels_last": ["--channels-last"], "fused optimizer": ["--fused"]}


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def our_kernel_share(program, path, batch, optimizer, threads):
    answer, _ = measure.plimsoll(program, path, batch, 5, optimizer, threads, "--profile")
    return answer["profile"]["kernel_share"] if answer else None


def compare(args, name, batch, optimizer, steps, path):
    ours, theirs, why = [], {}, ""
    variants = [v for v in VARIANTS if v != "channels_last" or name not in ("gpt2", "lstm")]
    for turn in range(args.rounds):
        answer, why = measure.plimsoll(args.plimsoll, path, batch, steps, optimizer, args.threads)
        if answer:
            ours.append(answer)
        for variant in variants:
            theirs.setdefault(variant, []).append(measure.pytorch(name, batch, steps, optimizer, args.threads, *VARIANTS[variant]))
        if turn == 0:
            variants = [min(variants, key=lambda v: theirs[v][0]["seconds_per_step"])]
    best = variants[0]
    row = {"model": name, "batch": batch, "optimizer": optimizer, "variant": best, "pytorch_seconds": median(theirs[best], "seconds_per_step"),
           "pytorch_bytes": median(theirs[best], "above_idle_bytes"), "pytorch_idle_bytes": median(theirs[best], "idle_bytes"),
           "tried": {v: {"seconds": theirs[v][0]["seconds_per_step"], "bytes": theirs[v][0]["above_idle_bytes"]} for v in theirs}}
    kernels, whole = measure.pytorch_kernels(name, batch, optimizer, args.threads, *VARIANTS[best])
    row["pytorch_kernel_share"] = kernels / whole
    if ours:
        row.update(plimsoll_seconds=median(ours, "seconds_per_step"), plimsoll_bytes=median(ours, "above_idle_bytes"), plimsoll_idle_bytes=median(ours, "idle_resident_bytes"),
                   arena_bytes=ours[0]["arena_bytes"])
        row["time_ratio"] = row["plimsoll_seconds"] / row["pytorch_seconds"]
        row["memory_ratio"] = row["plimsoll_bytes"] / row["pytorch_bytes"]
        row["plimsoll_kernel_share"] = our_kernel_share(args.plimsoll, path, batch, optimizer, args.threads)
    else:
        row["failed"] = why
    return row


def describe(row):
    text = "%-13s PyTorch (%s) %8.1f ms %7.1f MiB, kernels %2.0f %%" % (
        row["model"], row["variant"], row["pytorch_seconds"] * 1e3, measure.mib(row["pytorch_bytes"]), 100 * row["pytorch_kernel_share"])
    if "failed" in row:
        return text + "   Plimsoll: " + row["failed"]
    share = row["plimsoll_kernel_share"]
    return text + "   Plimsoll %8.1f ms %7.1f MiB%s   time %.2f   memory %.2f" % (
        row["plimsoll_seconds"] * 1e3, measure.mib(row["plimsoll_bytes"]), ", kernels %2.0f %%" % (100 * share) if share else "", row["time_ratio"], row["memory_ratio"])


def main():
    args = measure.arguments(__doc__, rounds=3)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, batch, optimizer, steps in CASES:
            if args.only in (None, name):
                path = measure.make_model(args.plimsoll, name, os.path.join(folder, name + ".onnx"))
                rows.append(compare(args, name, batch, optimizer, steps, path))
                print(describe(rows[-1]), flush=True)
                os.remove(path)
    measure.write(args.out, {"threads": args.threads, "rounds": args.rounds, "rows": rows})


if __name__ == "__main__":
    main()
