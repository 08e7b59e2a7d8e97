"""The time of a training step beside the fastest form of PyTorch: quiet, and beside one and two busy processes.

usage: race.py PLIMSOLL OUT.json [--threads N] [--rounds N] [--busy-rounds N] [--only MODEL[,MODEL...]] [--loads 0,1,2] [--steps N]

PyTorch is tried as eager, with channels_last (images), with its fused optimizer, and with torch.compile; the fastest is what the rounds
are against. Each form is a process that compiles and warms up once and then waits for its turns; ours is a fresh process at each turn,
whose first steps are not counted. The turns of a pair change. A busy process does arithmetic without end at normal priority. A time is
the median of the steps of a turn, then the best of the rounds where nothing else runs, and their median beside busy processes; memory
is that of the quiet turns. float32 on both sides, no budget. Models with long steps are timed with fewer of them, those with short ones
with more. Rows that OUT.json has of this very program already are kept, so a race that was stopped goes on.
"""
import contextlib
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import measure

# model of bench/models.py, the zoo's name and options (None: exported), batch, optimizer
CASES = [
    ("lenet", ["lenet"], 256, "sgd"),
    ("resnet18", ["resnet18"], 16, "sgd"),
    ("resnet50", ["resnet50"], 8, "sgd"),
    ("mobilenet_v2", ["mobilenet_v2"], 16, "sgd"),
    ("unet", ["unet"], 1, "sgd"),
    ("densenet121", None, 8, "sgd"),
    ("vit-tiny", ["vit-tiny"], 32, "adamw"),
    ("vit-b16", ["vit-b16"], 2, "adamw"),
    ("gpt2-tiny", ["gpt2-tiny"], 16, "adamw"),
    ("gpt2", ["gpt2"], 1, "adamw"),
    ("bert-small", ["bert", "--width", "512", "--layers", "4", "--heads", "8", "--hidden", "2048"], 8, "adamw"),
    ("lstm", ["lstm"], 32, "adamw"),
    ("gru", ["gru"], 32, "adamw"),
]
LONG = {"resnet50", "unet", "densenet121", "vit-b16", "gpt2"}  # steps of half a second and more
MOST_OF_PYTORCH = 10  # its steps beside others can take seconds
SHORT = {"lenet", "gpt2-tiny", "lstm", "gru"}  # of hundredths: beside others a second passes before the system has settled
TRIED = 3  # steps that tell which form is the fastest
FORMS = {"eager": [], "channels_last": ["--channels-last"], "fused optimizer": ["--fused"], "compiled": ["--fused", "--compile"],
         "compiled, channels_last": ["--fused", "--compile", "--channels-last"]}


class Busy:
    """Processes that do arithmetic while the block runs."""

    def __init__(self, count):
        self.count, self.running = count, []

    def __enter__(self):
        self.running = [subprocess.Popen([sys.executable, "-c", "x = 0\nwhile True: x = (x * 5 + 1) % 1000003"]) for _ in range(self.count)]

    def __exit__(self, *failure):
        for process in self.running:
            process.kill()
            process.wait()


def export(name, path):
    """A model that the zoo does not have, as docs/exports.md recommends; in a process of its own."""
    script = ("import sys, torch, models\n"
              "model = models.MAKERS[sys.argv[1]]().train()\n"
              "x = torch.zeros((2,) + models.SHAPES[sys.argv[1]])\n"
              "torch.onnx.export(model, (x,), sys.argv[2], dynamic_shapes=({0: torch.export.Dim('batch')},), dynamo=True, optimize=False, external_data=False, verbose=False)\n")
    subprocess.run([sys.executable, "-c", script, name, path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": measure.HERE})


def forms_of(name):
    image = len(measure_shape(name)) == 3
    return [f for f in FORMS if image or "channels_last" not in f]


def measure_shape(name):
    sys.path.insert(0, measure.HERE)
    import models
    return models.SHAPES[name]


def fastest_form(args, name, batch, optimizer):
    """The process of the fastest form, which waits; the others have ended."""
    best, form, tried, failed = None, None, {}, {}
    for candidate in forms_of(name):
        try:
            torch = measure.Waiting(name, batch, measure.SKIPPED, optimizer, args.threads, *FORMS[candidate])
        except RuntimeError as failure:
            failed[candidate] = str(failure)
            continue
        tried[candidate] = torch.steps(TRIED)["seconds_per_step"]
        if best and tried[candidate] >= tried[form]:
            torch.close()
            continue
        if best:
            best.close()
        best, form = torch, candidate
    if not best:
        raise RuntimeError("PyTorch does not run: %s" % failed)
    return best, form, tried, failed


def pair(args, path, name, batch, optimizer, torch, ours_first):
    """What both measured, one after the other."""
    ours = theirs = None
    counted = args.steps_of(name)
    for own in (ours_first, not ours_first):
        if own:
            ours, why = measure.plimsoll(args.plimsoll, path, batch, measure.SKIPPED + counted, optimizer, args.threads)
            if not ours:
                raise RuntimeError(why)
        else:
            theirs = torch.steps(min(counted, MOST_OF_PYTORCH))
    return ours, theirs


def race(args, name, batch, optimizer, path):
    torch, form, tried, failed = fastest_form(args, name, batch, optimizer)
    row = {"model": name, "batch": batch, "optimizer": optimizer, "form": form, "tried": tried, "failed_forms": failed, "loads": {}}
    with contextlib.closing(torch):
        for load in args.loads:
            with Busy(load):
                runs = [pair(args, path, name, batch, optimizer, torch, turn % 2 == 0) for turn in range(args.rounds if load == 0 else args.busy_rounds)]
            best = min if load == 0 else statistics.median
            seconds = [(o["seconds_per_step"], t["seconds_per_step"]) for o, t in runs]
            ours, theirs = best(o for o, _ in seconds), best(t for _, t in seconds)
            row["loads"][str(load)] = {"plimsoll": ours, "pytorch": theirs, "ratio": ours / theirs, "runs": seconds}
            if load == 0:
                row["memory"] = {"plimsoll": statistics.median(o["above_idle_bytes"] for o, _ in runs), "pytorch": statistics.median(t["above_idle_bytes"] for _, t in runs)}
    return row


def describe(row):
    text = "%-13s beside %-24s" % (row["model"], row["form"])
    if "failed" in row:
        return text + row["failed"]
    for load, seen in row["loads"].items():
        text += "  %s busy: %7.1f / %7.1f ms = %.2f" % (load, seen["plimsoll"] * 1e3, seen["pytorch"] * 1e3, seen["ratio"])
    return text


def mean_ratio(rows, load):
    ratios = [r["loads"][load]["ratio"] for r in rows if load in r.get("loads", {})]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def hash_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def kept_rows(args, build):
    """What an earlier race of the same program measured in the same way."""
    if not os.path.exists(args.out):
        return []
    with open(args.out) as file:
        seen = json.load(file)
    if seen.get("build") != build or seen.get("threads") != args.threads or seen.get("rounds") != args.rounds:
        return []
    return [row for row in seen["rows"] if "failed" not in row and all(str(n) in row["loads"] for n in args.loads)]


def main():
    args = measure.arguments(__doc__, rounds=3, loads={"default": "0,1,2"}, steps={"type": int, "default": 0},
                             **{"busy-rounds": {"type": int, "default": 2}})
    args.loads = [int(n) for n in args.loads.split(",")]
    args.steps_of = lambda name: args.steps or (2 if name in LONG else 40 if name in SHORT else 5)
    only = args.only.split(",") if args.only else [case[0] for case in CASES]
    build = hash_of(args.plimsoll)
    rows = kept_rows(args, build)
    only = [name for name in only if name not in {row["model"] for row in rows}]
    with tempfile.TemporaryDirectory() as folder:
        for name, zoo, batch, optimizer in CASES:
            if name not in only:
                continue
            path = os.path.join(folder, name + ".onnx")
            try:
                measure.make_model(args.plimsoll, zoo[0], path, *zoo[1:]) if zoo else export(name, path)
                rows.append(race(args, name, batch, optimizer, path))
            except (RuntimeError, subprocess.CalledProcessError) as failure:
                rows.append({"model": name, "batch": batch, "form": "", "failed": str(failure)})
            print(describe(rows[-1]), flush=True)
            measure.write(args.out, {"build": build, "threads": args.threads, "rounds": args.rounds, "rows": rows, "means": {str(n): mean_ratio(rows, str(n)) for n in args.loads}})
            if os.path.exists(path):
                os.remove(path)


if __name__ == "__main__":
    main()
