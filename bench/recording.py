"""What recording a run costs: the time of a training step with --trace beside the same without, taking turns.

usage: recording.py PLIMSOLL OUT.json [--threads N] [--rounds N] [--only MODEL]

"all": every update is recorded whole (--trace-every 1), which is the most that recording can cost. "usual": as --trace
does it, all of the first three updates, then one in a hundred and the samples of all. Each round is one fresh process a
way, in an order that changes; a ratio is the median over the rounds of the ratios within a round.
"""
import os
import statistics
import tempfile

import measure

# model, options of the zoo, batch, steps of a run
CASES = [("lenet", [], 256, 43), ("lenet", [], 32, 303), ("resnet18", ["--image", "32", "--classes", "10"], 32, 33)]
WAYS = {"none": [], "usual": [], "all": ["--trace-every", "1"]}


def compare(args, name, batch, steps, model, trace):
    seconds, size = {way: [] for way in WAYS}, 0
    for turn in range(args.rounds):
        order = list(WAYS)
        order = order[turn % len(order):] + order[:turn % len(order)]
        for way in order:
            extra = [] if way == "none" else ["--trace", trace, *WAYS[way]]
            answer, why = measure.plimsoll(args.plimsoll, model, batch, steps, "adamw", args.threads, *extra)
            if not answer:
                raise SystemExit("recording.py: %s: %s" % (name, why))
            seconds[way].append(answer["seconds_per_step"])
            size = os.path.getsize(trace) if way == "all" else size
    ratio = {way: statistics.median(a / b for a, b in zip(seconds[way], seconds["none"])) for way in WAYS}
    return {"model": name, "batch": batch, "steps": steps, "seconds": {way: statistics.median(seconds[way]) for way in WAYS}, "all_ratio": ratio["all"], "usual_ratio": ratio["usual"],
            "rounds": seconds, "bytes_per_update": size / steps}


def main():
    args = measure.arguments(__doc__, rounds=7)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options, batch, steps in CASES:
            if args.only in (None, name):
                model = measure.make_model(args.plimsoll, name, os.path.join(folder, name + ".onnx"), *options)
                rows.append(compare(args, name, batch, steps, model, os.path.join(folder, "run.trace")))
                r = rows[-1]
                print("%-9s batch %3d: %8.3f ms a step, recorded as usual %+.2f %%, every update %+.2f %%, %.1f KiB an update" % (
                    name, batch, r["seconds"]["none"] * 1e3, 100 * (r["usual_ratio"] - 1), 100 * (r["all_ratio"] - 1), r["bytes_per_update"] / 1024), flush=True)
    measure.write(args.out, {"threads": args.threads, "turns": args.rounds, "rows": rows})


if __name__ == "__main__":
    main()
