"""Training within a budget against PyTorch and its torch.utils.checkpoint: time against memory, for both.

usage: budget.py PLIMSOLL OUT.json FRONTIER.svg [--threads N] [--rounds N] [--only MODEL]

With --only the other models keep what OUT.json has of them, and when that was measured.

Memory is VmHWM above the idle process, on both sides. A budget of Plimsoll bounds its whole process, so a share of
PyTorch's memory is asked for as: our idle process + share x PyTorch's peak above its own. Where that does not fit, the
smallest budget that does is measured instead.
"""
import json
import os
import subprocess
import tempfile
import time

import frontier
import measure

STEPS, LIMIT = 5, 1.0
ROUNDS = 1  # over all points of a model; of several the faster time counts on both sides
SHARES = (1.0, 0.75, 0.5, 0.375, 0.25)  # of PyTorch's peak
CHECKPOINTS = (0.5, 1.0)                # of its blocks
# model, batch, optimizer, the share of PyTorch's memory in the headline, how PyTorch is fastest (race.py tries)
CASES = [("resnet50", 16, "sgd", 0.25, ["--channels-last"]), ("unet", 4, "sgd", 0.25, ["--fused"]), ("gpt2", 4, "adamw", 0.5, ["--fused"]),
         ("vit-b16", 8, "adamw", 0.5, ["--fused"])]


def smallest_budget(program, path, batch, optimizer, threads):
    command = [program, "plan", path, "--batch", str(batch), "--budget", "1GiB", "--threads", str(threads), "--json", *measure.rule(optimizer)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)["minimum_budget_bytes"]


def our_point(args, path, batch, optimizer, idle, share, bytes_above):
    budget = idle + int(bytes_above)
    answer, why = measure.plimsoll(args.plimsoll, path, batch, STEPS, optimizer, args.threads, "--budget", str(budget))
    if not answer:
        return {"share": share, "budget_bytes": budget, "failed": why}
    point = {"share": share, "budget_bytes": budget, "seconds": answer["seconds_per_step"], "bytes": answer["above_idle_bytes"], "held": answer["peak_resident_bytes"] <= budget}
    point.update({k: answer.get(k) for k in ("class", "micro_batch", "accumulate", "recomputed", "spilled_bytes", "peak_resident_bytes", "planned_process_bytes")})
    return point


def their_point(args, name, batch, optimizer, share, extra):
    answer = measure.pytorch(name, batch, STEPS, optimizer, args.threads, *extra, *(["--checkpoint", str(share)] if share else []))
    return {"checkpoint": share, "seconds": answer["seconds_per_step"], "bytes": answer["above_idle_bytes"], "recomputed": answer["recomputed"]}


def describe(point):
    if "failed" in point:
        return "budget %7.1f MiB  %s" % (measure.mib(point["budget_bytes"]), point["failed"])
    return "%8.2f s %8.1f MiB%s" % (point["seconds"], measure.mib(point["bytes"]), "" if point.get("held", True) else "  ABOVE ITS BUDGET")


def within_budgets(args, path, batch, optimizer, plain, peak):
    """Points of Plimsoll: without a budget, then with less and less."""
    idle = plain["idle_resident_bytes"]
    points = [{"share": None, "seconds": plain["seconds_per_step"], "bytes": plain["above_idle_bytes"]}]
    print("  Plimsoll without budget ", describe(points[0]), flush=True)
    for share in SHARES:
        if share * peak >= points[0]["bytes"]:
            continue  # the step without a budget fits: nothing to plan
        points.append(our_point(args, path, batch, optimizer, idle, share, share * peak))
        print("  Plimsoll, %3.0f %% of it    " % (100 * share), describe(points[-1]), flush=True)
        if "failed" in points[-1]:
            least = smallest_budget(args.plimsoll, path, batch, optimizer, args.threads)
            points.append(our_point(args, path, batch, optimizer, idle, "least", least - idle))
            print("  Plimsoll, the least     ", describe(points[-1]), flush=True)
            break
    return points


def one_round(args, name, batch, optimizer, extra, path, peak):
    plain, why = measure.plimsoll(args.plimsoll, path, batch, STEPS, optimizer, args.threads)
    if not plain:
        raise SystemExit("budget.py: %s: %s" % (name, why))
    theirs = []
    for share in (0, *CHECKPOINTS):
        theirs.append(their_point(args, name, batch, optimizer, share, extra))
        print("  PyTorch, %3.0f %% recomputed" % (100 * share), describe(theirs[-1]), flush=True)
    return theirs, within_budgets(args, path, batch, optimizer, plain, peak or theirs[0]["bytes"])


def merge(points, again):
    """The faster time, the larger memory; what did not hold or failed in any round did not."""
    for point, other in zip(points, again):
        if "failed" in other:
            point["failed"] = other["failed"]
        if "failed" in point:
            continue
        point["seconds"] = min(point["seconds"], other["seconds"])
        if "held" in point:
            point["held"] = point["held"] and other["held"]
        if other["bytes"] > point["bytes"]:
            point.update({k: other[k] for k in ("bytes", "peak_resident_bytes", "planned_process_bytes") if k in other})


def compare(args, name, batch, optimizer, wanted, extra, path):
    theirs, ours = [], []
    for round_ in range(args.rounds):
        print("%s, batch %d, %s, round %d" % (name, batch, optimizer, round_ + 1), flush=True)
        answers = one_round(args, name, batch, optimizer, extra, path, theirs[0]["bytes"] if theirs else 0)
        if not theirs:
            theirs, ours = answers
        merge(theirs, answers[0])
        merge(ours, answers[1])
    peak = theirs[0]["bytes"]
    headline = next((p for p in ours if p["share"] == wanted), None)
    if headline is None:  # without a budget it takes less already, or a larger budget failed before
        headline = ours[0] if ours[0]["bytes"] <= wanted * peak else ours[-1]
    row = {"model": name, "batch": batch, "optimizer": optimizer, "variant": {"--channels-last": "channels_last", "--fused": "fused optimizer"}[extra[0]], "wanted_share": wanted, "wanted_bytes": wanted * peak, "plimsoll": ours, "pytorch": theirs, "headline": headline, "rounds": args.rounds}
    if "seconds" in headline:
        row["time_ratio"] = headline["seconds"] / theirs[0]["seconds"]
        row["memory_ratio"] = headline["bytes"] / peak
    return row


def main():
    args = measure.arguments(__doc__, "svg", rounds=ROUNDS)
    begun, known = time.strftime("%Y-%m-%d %H:%M"), {}
    if args.only and os.path.exists(args.out):
        with open(args.out) as f:
            known = {row["model"]: row for row in json.load(f)["rows"]}
    with tempfile.TemporaryDirectory() as folder:
        for name, batch, optimizer, wanted, extra in CASES:
            if args.only in (None, name):
                path = measure.make_model(args.plimsoll, name, os.path.join(folder, name + ".onnx"))
                known[name] = dict(compare(args, name, batch, optimizer, wanted, extra, path), begun=begun)
                os.remove(path)
    rows = [known[case[0]] for case in CASES if case[0] in known]
    measure.write(args.out, {"threads": args.threads, "rows": rows, "limit": LIMIT})
    with open(args.svg, "w") as f:
        f.write(frontier.draw(rows, LIMIT))


if __name__ == "__main__":
    main()
