"""What recording a run costs, as a share of the time of a training step.

usage: recording.py PLIMSOLL OUT.json [--threads N] [--rounds N] [--only MODEL]

"whole": an update of which every birth and death is recorded, beside one that is only sampled. Both are in one run
(--trace-every 2: every other update is whole), which leaves out what differs from process to process. "usual": a run with
--trace (the first three updates whole, then one in a hundred) beside one without, in fresh processes that take turns.
"""
import json
import os
import statistics
import tempfile

import measure

# model, options of the zoo, batch, steps of a run
CASES = [("lenet", [], 256, 43), ("lenet", [], 32, 303), ("resnet18", ["--image", "32", "--classes", "10"], 32, 33)]
WARM = 8  # first updates, of which three are whole in any case


def run(args, model, batch, steps, *extra):
    answer, why = measure.plimsoll(args.plimsoll, model, batch, steps, "adamw", args.threads, *extra)
    if not answer:
        raise SystemExit("recording.py: %s: %s" % (os.path.basename(model), why))
    return answer["seconds_per_step"]


def whole_ratio(args, model, batch, steps, folder):
    log = os.path.join(folder, "log.jsonl")
    run(args, model, batch, steps, "--trace", os.path.join(folder, "run.trace"), "--trace-every", "2", "--log", log)
    with open(log) as f:
        seconds = [line["seconds"] for line in map(json.loads, f) if "loss" in line]
    os.remove(log)
    return statistics.median(seconds[WARM + 1::2]) / statistics.median(seconds[WARM::2])  # updates count from 1


def compare(args, name, batch, steps, model, folder):
    trace, seconds, whole = os.path.join(folder, "run.trace"), {"none": [], "usual": []}, []
    for turn in range(args.rounds):
        for way in ("none", "usual")[::1 if turn % 2 else -1]:
            seconds[way].append(run(args, model, batch, steps, *([] if way == "none" else ["--trace", trace])))
        whole.append(whole_ratio(args, model, batch, steps, folder))
    run(args, model, batch, 20, "--trace", trace, "--trace-every", "1")
    return {"model": name, "batch": batch, "steps": steps, "seconds": statistics.median(seconds["none"]), "whole_ratio": statistics.median(whole), "wholes": whole,
            "usual_ratio": statistics.median(a / b for a, b in zip(seconds["usual"], seconds["none"])), "rounds": seconds, "bytes_per_update": os.path.getsize(trace) / 20}


def main():
    args = measure.arguments(__doc__, rounds=7)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options, batch, steps in CASES:
            if args.only in (None, name):
                model = measure.make_model(args.plimsoll, name, os.path.join(folder, name + ".onnx"), *options)
                rows.append(compare(args, name, batch, steps, model, folder))
                r = rows[-1]
                print("%-9s batch %3d: %8.3f ms a step; an update recorded whole takes %+.2f %%, a run recorded as usual %+.2f %%; %.1f KiB an update" % (
                    name, batch, r["seconds"] * 1e3, 100 * (r["whole_ratio"] - 1), 100 * (r["usual_ratio"] - 1), r["bytes_per_update"] / 1024), flush=True)
    measure.write(args.out, {"threads": args.threads, "turns": args.rounds, "rows": rows})


if __name__ == "__main__":
    main()
