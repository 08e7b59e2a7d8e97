#!/usr/bin/env python3
"""Two builds of plimsoll beside each other: the same weights to the bit, and the time of a step.

usage: builds.py BEFORE AFTER [--out OUT.json] [--threads N] [--rounds N] [--steps N] [--only MODEL] [--limit X] [--bits|--times]

Bits: each model is trained by both for a few updates without a budget and at three budgets (the least that is
possible, and 40 % and 80 % of the way from there to its process without a budget); the files of weights must be the same. Costs are the built-in ones, so that both plan from
the same numbers. Near the edge of a budget plans may differ between two runs of one program, since resident pages do: where
the plans differ, both are run again, up to four times, and what is compared are weights of the same plan. Plans of the class
exact change nothing: where both are, weights are the same by whatever plan.
Times: fresh processes that take turns, the first of each pair changing. The ratio is that of a pair; given are the median and
where it lies in 95 of 100 cases (order statistics). A model is too slow when even the lower end is above the limit.

Needs nothing but the two programs and Python.
"""
import argparse
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

# model, options of the zoo, batch for times, batch for bits, options of the zoo for bits
CASES = [("resnet18", [], 8, 8, ["--image", "64"]), ("gpt2-tiny", [], 16, 6, []), ("unet", ["--image", "128"], 2, 3, ["--image", "64", "--width", "16"]),
         ("lstm", [], 32, 6, []), ("vit-tiny", [], 32, 8, [])]
SAME_PLAN = ("class", "micro_batch", "accumulate", "recomputed", "spilled_bytes", "arena_bytes")
TRIES = 4


def answer_of(command, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["exit %d" % done.returncode])[-1]
    return json.loads(done.stdout), ""


def train(program, model, batch, steps, threads, *extra, **environment):
    return answer_of([program, "train", model, "--data", "synthetic", "--batch", str(batch), "--steps", str(steps), "--threads", str(threads), "--json", *extra], **environment)


def weights_of(program, args, model, batch, budget, work):
    """The plan, and a hash of the weights after a few updates; or why not."""
    out = os.path.join(work, "weights.safetensors")
    if os.path.exists(out):
        os.unlink(out)
    extra = ["--budget", str(budget)] if budget else []
    answer, why = train(program, model, batch, 3, args.threads, "--out", out, *extra, PLIMSOLL_COSTS="default")
    if not answer:
        return None, why
    with open(out, "rb") as file:
        return tuple(answer.get(k) for k in SAME_PLAN), hashlib.sha256(file.read()).hexdigest()


def compare_bits(args, model, batch, budget, work):
    """'same', or what differs."""
    seen = ({}, {})  # of each program: plan -> hash of weights
    for _ in range(TRIES):
        for side, program in enumerate((args.before, args.after)):
            plan, weights = weights_of(program, args, model, batch, budget, work)
            if plan is None and budget is None:
                return "does not run: " + weights
            seen[side][plan] = weights if plan is not None else "refused"
        common = [plan for plan in seen[0] if plan in seen[1]]
        if common:
            return "same" if all(seen[0][plan] == seen[1][plan] for plan in common) else "WEIGHTS DIFFER"
        every = {weights for side in seen for weights in side.values()}
        if len(every) == 1 and all(plan and plan[0] == "exact" for side in seen for plan in side):
            return "same (by other plans, all exact)"
    return "PLANS DIFFER: %s / %s" % (list(seen[0]), list(seen[1]))


def budgets_of(args, model, batch):
    plan = [args.before, "plan", model, "--batch", str(batch), "--threads", str(args.threads), "--json"]
    free, why = answer_of(plan, PLIMSOLL_COSTS="default")
    least, _ = answer_of(plan + ["--budget", "60GiB"], PLIMSOLL_COSTS="default")
    if not free or not least:
        sys.exit("builds.py: %s cannot plan %s: %s" % (args.before, model, why))
    whole, least = free["process_bytes"], least["minimum_budget_bytes"]
    return [None, *(least + max(whole - least, 0) * share // 100 for share in (80, 40, 0))]


def median_interval(values):
    """The median, and the values that enclose the true one in at least 95 of 100 cases."""
    ordered, n = sorted(values), len(values)
    tail, k = 0.0, 0
    while k < n // 2:
        tail += math.comb(n, k) / 2**n
        if tail > 0.025:
            break
        k += 1
    return statistics.median(ordered), ordered[max(k - 1, 0)], ordered[min(n - k, n - 1)]


def compare_times(args, model, batch):
    """Ratios after / before of pairs of fresh processes."""
    programs, ratios, seconds = (args.before, args.after), [], ([], [])
    for turn in range(args.rounds):
        pair = [0.0, 0.0]
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            answer, why = train(programs[side], model, batch, args.steps, args.threads)
            if not answer:
                sys.exit("builds.py: %s: %s" % (programs[side], why))
            pair[side] = answer["seconds_per_step"]
            seconds[side].append(pair[side])
        ratios.append(pair[1] / pair[0])
    middle, low, high = median_interval(ratios)
    return {"ratio": middle, "low": low, "high": high, "before_seconds": statistics.median(seconds[0]), "after_seconds": statistics.median(seconds[1]), "ratios": ratios}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=os.path.realpath)
    parser.add_argument("after", type=os.path.realpath)
    parser.add_argument("--out")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9, help="pairs of processes for each model")
    parser.add_argument("--steps", type=int, default=12, help="updates of a process")
    parser.add_argument("--only", metavar="MODEL")
    parser.add_argument("--limit", type=float, default=1.02)
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--bits", action="store_true", help="only weights")
    part.add_argument("--times", action="store_true", help="only times")
    args = parser.parse_args()
    rows, bad = [], False
    with tempfile.TemporaryDirectory() as work:
        for name, sizes, batch, small_batch, small in CASES:
            if args.only and name != args.only:
                continue
            row, model = {"model": name, "batch": batch}, os.path.join(work, name + ".onnx")
            if not args.times:
                subprocess.run([args.before, "zoo", name, *small, "-o", model], check=True, stdout=subprocess.DEVNULL)
                row["bits"] = [{"budget_bytes": b, "answer": compare_bits(args, model, small_batch, b, work)} for b in budgets_of(args, model, small_batch)]
                bad = bad or any(b["answer"] != "same" for b in row["bits"])
                os.unlink(model)
                print("%-10s weights: %s" % (name, ", ".join("%s %s" % ("%.0f MiB" % (b["budget_bytes"] / 2**20) if b["budget_bytes"] else "no budget", b["answer"]) for b in row["bits"])), flush=True)
            if not args.bits:
                subprocess.run([args.before, "zoo", name, *sizes, "-o", model], check=True, stdout=subprocess.DEVNULL)
                row.update(compare_times(args, model, batch))
                slow = row["low"] > args.limit
                bad = bad or slow
                print("%-10s step: %.2f ms, then %.2f ms; ratio %.3f (%.3f to %.3f, %d pairs)%s" % (
                    name, row["before_seconds"] * 1e3, row["after_seconds"] * 1e3, row["ratio"], row["low"], row["high"], args.rounds, "  TOO SLOW" if slow else ""), flush=True)
            rows.append(row)
    if args.out:
        with open(args.out, "w") as file:
            json.dump({"load": os.getloadavg()[0], "threads": args.threads, "rows": rows}, file, indent=1)
    sys.exit(bad)


if __name__ == "__main__":
    main()
