"""Training within a budget against PyTorch and its torch.utils.checkpoint: time against memory, for both.

usage: budget.py PLIMSOLL OUT.json FRONTIER.svg [--threads N] [--only MODEL]

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

STEPS, LIMIT = 5, 1.15
SHARES = (1.0, 0.75, 0.5, 0.375, 0.25)  # of PyTorch's peak
CHECKPOINTS = (0.5, 1.0)                # of its blocks
# model, batch, optimizer, the share of PyTorch's memory in the headline, how PyTorch is fastest (train.py tries)
CASES = [("resnet50", 16, "sgd", 0.25, ["--channels-last"]), ("unet", 8, "sgd", 0.25, []), ("gpt2", 4, "adamw", 0.5, [])]


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


def compare(args, name, batch, optimizer, wanted, extra, path):
    print("%s, batch %d, %s" % (name, batch, optimizer), flush=True)
    plain, why = measure.plimsoll(args.plimsoll, path, batch, STEPS, optimizer, args.threads)
    if not plain:
        raise SystemExit("budget.py: %s: %s" % (name, why))
    idle = plain["idle_resident_bytes"]
    theirs = [their_point(args, name, batch, optimizer, 0, extra)]
    print("  PyTorch                 ", describe(theirs[0]), flush=True)
    ours = [{"share": None, "seconds": plain["seconds_per_step"], "bytes": plain["above_idle_bytes"]}]
    print("  Plimsoll without budget ", describe(ours[0]), flush=True)
    peak, headline = theirs[0]["bytes"], None
    for share in SHARES:
        if share * peak >= ours[0]["bytes"]:
            continue  # the step without a budget fits: nothing to plan
        point = our_point(args, path, batch, optimizer, idle, share, share * peak)
        print("  Plimsoll, %3.0f %% of it    " % (100 * share), describe(point), flush=True)
        ours.append(point)
        if share == wanted:
            headline = point
        if "failed" in point:
            break
    if "failed" in ours[-1]:
        least = smallest_budget(args.plimsoll, path, batch, optimizer, args.threads)
        point = our_point(args, path, batch, optimizer, idle, "least", least - idle)
        print("  Plimsoll, the least     ", describe(point), flush=True)
        ours.append(point)
    for share in CHECKPOINTS:
        theirs.append(their_point(args, name, batch, optimizer, share, extra))
        print("  PyTorch, %3.0f %% recomputed" % (100 * share), describe(theirs[-1]), flush=True)
    if headline is None:  # without a budget it takes less already, or a larger budget failed before
        headline = ours[0] if ours[0]["bytes"] <= wanted * peak else ours[-1]
    row = {"model": name, "batch": batch, "optimizer": optimizer, "variant": "channels_last" if extra else "", "wanted_share": wanted, "wanted_bytes": wanted * peak, "plimsoll": ours, "pytorch": theirs, "headline": headline}
    if "seconds" in headline:
        row["time_ratio"] = headline["seconds"] / theirs[0]["seconds"]
        row["memory_ratio"] = headline["bytes"] / peak
    return row


def main():
    args = measure.arguments(__doc__, "svg")
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
