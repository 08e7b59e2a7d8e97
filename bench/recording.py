"""What recording a run costs, as a share of the time of a training step.

usage: recording.py PLIMSOLL OUT.json [--threads N] [--rounds N] [--only MODEL]

In one run every other update is recorded whole, each birth and death of a buffer, and the ones between are only sampled
(--trace-every 2). Each is compared with its neighbours, which leaves out what differs from process to process and from
minute to minute: those differences are a hundred times as large. A run recorded as usual (the first three updates whole,
then one in a hundred) costs less.
"""
import json
import os
import statistics
import tempfile

import measure

# model, options of the zoo, batch, updates of a run
CASES = [("lenet", [], 256, 168), ("lenet", [], 32, 908), ("lenet", [], 1, 4008), ("resnet18", ["--image", "32", "--classes", "10"], 32, 168)]
WARM = 8  # first updates, of which three are whole in any case


def whole_updates(args, model, batch, updates, folder):
    """Seconds of a whole update over those of its two sampled neighbours."""
    log, trace = os.path.join(folder, "log.jsonl"), os.path.join(folder, "run.trace")
    answer, why = measure.plimsoll(args.plimsoll, model, batch, updates, "adamw", args.threads, "--trace", trace, "--trace-every", "2", "--log", log)
    if not answer:
        raise SystemExit("recording.py: %s: %s" % (os.path.basename(model), why))
    with open(log) as f:
        seconds = [line["seconds"] for line in map(json.loads, f) if "loss" in line]
    os.remove(log)
    sampled, whole = seconds[WARM::2], seconds[WARM + 1::2]  # updates count from 1
    return [2 * w / (a + b) for a, w, b in zip(sampled, whole, sampled[1:])], statistics.median(sampled), 2 * os.path.getsize(trace) / updates


def interval(ratios):
    """The median and, from the ranks around it, where it lies in 95 of 100 cases."""
    ratios, n = sorted(ratios), len(ratios)
    away = int(0.98 * n ** 0.5) + 1
    return statistics.median(ratios), ratios[max(0, n // 2 - away)], ratios[min(n - 1, n // 2 + away)]


def compare(args, name, batch, updates, model, folder):
    ratios, seconds = [], []
    for _ in range(args.rounds):
        more, second, size = whole_updates(args, model, batch, updates, folder)
        ratios += more
        seconds.append(second)
    middle, low, high = interval(ratios)
    return {"model": name, "batch": batch, "updates": len(ratios), "seconds": statistics.median(seconds), "ratio": middle, "low": low, "high": high, "bytes_per_update": size}


def main():
    args = measure.arguments(__doc__, rounds=2)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options, batch, updates in CASES:
            if args.only in (None, name):
                model = measure.make_model(args.plimsoll, name, os.path.join(folder, name + ".onnx"), *options)
                rows.append(compare(args, name, batch, updates, model, folder))
                r = rows[-1]
                print("%-9s batch %3d: %8.3f ms an update; recorded whole %+.2f %% (%+.2f to %+.2f, %d of them); %.1f KiB an update" % (
                    name, batch, r["seconds"] * 1e3, *(100 * (r[k] - 1) for k in ("ratio", "low", "high")), r["updates"], r["bytes_per_update"] / 1024), flush=True)
    measure.write(args.out, {"threads": args.threads, "turns": args.rounds, "rows": rows})


if __name__ == "__main__":
    main()
