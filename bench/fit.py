"""Predictions beside memory that others measured on real GPUs.

    fit.py PEAKS.csv [--source xMem] [--limit N] [--seconds N] [--program build/plimsoll]

The table has one row a job (see its README for the columns). Each job is captured on fake tensors
(python/plimsoll/capture.py), put through `plimsoll fit`, and compared with the measurement and with the estimates of
others in the same row. No GPU is needed and none was asked.

Traces and answers are kept in --folder, under a stamp of what they were made with (the programs and libraries), so that a
run that was stopped, or that stops itself after --seconds, goes on where it was; it reports on the rows that it has.
"""

import argparse
import csv
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "python"), HERE]

GPUS = {"A100-SXM4-40GB": "A100 40GB", "A100-40GB": "A100 40GB", "V100-SXM2-16GB": "V100 16GB"}
CAPABILITY = {"RTX 3060": 86, "RTX 4060": 89, "A100 40GB": 80, "V100 16GB": 70}
# What a source's counter holds beside the allocator's segments and the libraries: the context or not, and for whole
# processes on stacks that load every kernel one constant, taken from that source's smallest networks.
CONTEXT = {"xMem": None, "CARMA": "context", "GPUMemNet/MLP step1": 1418, "GPUMemNet/MLP step2": 1418,
           "GPUMemNet/FakeTensor": 1800}
SOURCES = ["xMem", "GPUMemNet/MLP step1", "GPUMemNet/MLP step2", "CARMA", "GPUMemNet/FakeTensor"]


def stamp_of(paths, *words):
    made_with = hashlib.sha256(" ".join(words).encode())
    for path in paths:
        with open(path, "rb") as file:
            made_with.update(file.read())
    return made_with.hexdigest()[:12]


def capture_stamp():
    """Of all that decides what a trace holds."""
    versions = [name + version(name) for name in ("torch", "torchvision", "timm", "transformers")]
    package = os.path.join(HERE, "..", "python", "plimsoll")
    paths = [os.path.join(package, name) for name in ("capture.py", "_capture_cuda.py", "_trace.py")]
    return stamp_of(paths + [os.path.join(HERE, "fit_models.py")], *versions)


class Answers:
    """What the program answered, by row: a file that grows by a line for each, so that nothing is asked twice."""

    def __init__(self, options):
        stamp = stamp_of([options.program], options.captures)
        self.path = os.path.join(options.folder, "answers-%s.jsonl" % stamp)
        self.known = {}
        if os.path.exists(self.path):
            with open(self.path) as file:
                for line in file:
                    if line.endswith("\n"):
                        answer = json.loads(line)
                        self.known[answer["id"]] = answer

    def add(self, answer):
        self.known[answer["id"]] = answer
        with open(self.path, "a") as file:
            file.write(json.dumps(answer) + "\n")


def trace_of(row, gpu, variant, options):
    import fit_models
    from plimsoll.capture import capture

    folder = os.path.join(options.folder, options.captures)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, row["id"].replace("/", "_") + (".%d" % variant if variant else "") + ".trace")
    if not os.path.exists(path):
        make = fit_models.job(row, variant=variant)
        if make is None:
            return None
        steps = 4 if variant else 3 if row["source"] == "xMem" else 2
        capture(make, path + ".new", steps=steps, capability=CAPABILITY.get(gpu, 80), assume=False)
        os.rename(path + ".new", path)
    return path


def simulate(row, variant, options):
    """MiB as the source's counter would show it: (the likely figure, the safe limit, whether it fits), or None."""
    gpu = GPUS.get(row["gpu"], row["gpu"])
    path = trace_of(row, gpu, variant, options)
    if path is None:
        return None
    done = subprocess.run([options.program, "fit", path, "--gpu", gpu, "--json"], capture_output=True, text=True)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    found = json.loads(done.stdout)
    if found["cut"]:
        raise RuntimeError("the capture is not whole: " + found["cut"])
    extra = CONTEXT.get(row["source"])
    outside = found["libraries"] + (found["context"] if extra == "context" else 0)
    if isinstance(extra, int):
        outside = extra * 2**20
    likely, limit = found["reserved_on_card"], found["range"]["limit"] - found["libraries"]
    return (likely + outside) / 2**20, (limit + outside) / 2**20, found["fits"]


def predict(row, options):
    """The likely figure and whether it fits, and the limit that holds for all versions of the job and the stack."""
    import fit_models

    first = simulate(row, 0, options)
    if first is None:
        return None
    limit = max([first[1]] + [simulate(row, i, options)[1] for i in range(1, fit_models.variants(row))])
    return first[0], limit, first[2]


def errors_of(rows, name):
    return [abs(r["others"][name] / r["measured"] - 1) for r in rows if r["others"].get(name)]


def summary(name, errors, low=None):
    if not errors:
        return None
    text = "%-12s %4d rows   median %6.2f %%   mean %6.2f %%" % (name, len(errors), 100 * statistics.median(errors),
                                                               100 * statistics.mean(errors))
    return text + ("   too low as a limit %5.1f %%" % (100 * low) if low is not None else "")


def by_group(rows):
    """Cards and kinds of network apart: what was chosen on one should hold for the other."""
    for group in sorted({r["group"] for r in rows}):
        part = [r for r in rows if r["group"] == group]
        errors = [r["predicted"] / r["measured"] - 1 for r in part]
        print("%-12s %-32s %3d rows: median %5.2f %%, from %+.1f to %+.1f %%, too low as a limit %d" % (
            "", group, len(part), 100 * statistics.median(map(abs, errors)), 100 * min(errors), 100 * max(errors),
            sum(r["limit"] < r["measured"] for r in part)))


def by_model(rows):
    """Each model left out in turn: how far the figures hang on one of them."""
    models = sorted({r["model"] for r in rows})
    if len(models) < 3:
        return
    medians, lows = [], []
    for model in models:
        rest = [r for r in rows if r["model"] != model]
        medians.append(100 * statistics.median(abs(r["predicted"] / r["measured"] - 1) for r in rest))
        lows.append(100 * sum(r["limit"] < r["measured"] for r in rest) / len(rest))
    print("%-12s without any one of %d models: median %.2f to %.2f %%, too low %.1f to %.1f %%" % (
        "", len(models), min(medians), max(medians), min(lows), max(lows)))


def needed_for_update(row, extra):
    """MiB of weights, gradients and Adam's two averages of a perceptron, with the constant of its source."""
    return CONTEXT[row["source"]] + 16 * extra["params"] / 2**20


def not_monotone(row, table):
    """The same model was measured with less at a larger batch."""
    same = [r for r in table if r["source"] == row["source"] and r["model"] == row["model"] and r["measured_mib"]]
    return any(int(r["batch"]) > int(row["batch"]) and float(r["measured_mib"]) < float(row["measured_mib"]) for r in same)


def reason_of(r, options):
    """Why a row is far off, from what the row and its source say; the same rules for all rows."""
    row, low = r["row"], r["predicted"] < r["measured"]
    extra = json.loads(row["extra"] or "{}")
    if "params" in extra and r["measured"] < needed_for_update(row, extra):
        return "measured is less than weights, gradients and state: the run ended before its first update"
    if row["source"] == "GPUMemNet/FakeTensor":
        if low and not_monotone(row, options.rows):
            return "a larger batch of it was measured with less: work spaces that cuDNN tried stayed cached"
        return "optimizer, image size and library versions are not published; Adam and timm %s are assumed" % version("timm")
    if "x" in row["input_shape_or_seq"]:
        return ("work spaces of cuDNN that the likely stack does not have" if low else
                "other work spaces split cached blocks at other places")
    if row["source"] == "xMem" and not version("transformers").startswith("4.49"):
        return "captured with transformers %s, measured with one like 4.49" % version("transformers")
    if row["source"] == "xMem" and int(row["batch"]) < 16:
        return "few lines: their length differs from step to step, which the limit covers"
    return "not explained"


def version(name):
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


def report(source, rows, options):
    done = [r for r in rows if r["status"] == "ok"]
    errors = [abs(r["predicted"] / r["measured"] - 1) for r in done]
    low = sum(r["limit"] < r["measured"] for r in done) / max(len(done), 1)
    right = sum(r["fits"] == (r["status"] == "ok") for r in rows) / max(len(rows), 1)
    print("\n## %s\n" % source)
    print(summary("Plimsoll", errors, low) or "no rows")
    print("%-12s fits or not right in %.1f %% of %d" % ("", 100 * right, len(rows)))
    if done:
        above = [r["limit"] / r["measured"] - 1 for r in done]
        print("%-12s the safe limit is above what was measured by %.1f %% in the median, %.1f %% at most" % (
            "", 100 * statistics.median(above), 100 * max(above)))
        print("%-12s the likely figure as a limit: too low in %.1f %%" % (
            "", 100 * sum(r["predicted"] < r["measured"] for r in done) / len(done)))
        by_model(done)
        by_group(done)
    for name in ("xmem", "dnnmem", "schedtune", "llmem", "faketensor", "horus"):
        line = summary(name, errors_of(done, name))
        if line:
            print(line)
    for r in done:
        if r["limit"] < r["measured"]:
            print("  too low: %-56s measured %6.0f, limit %6.0f (%+.1f %%): %s" % (
                r["id"], r["measured"], r["limit"], 100 * (r["limit"] / r["measured"] - 1), reason_of(r, options)))
    far = sorted((r for r in done if abs(r["predicted"] / r["measured"] - 1) > options.far),
                 key=lambda r: -abs(r["predicted"] / r["measured"] - 1))
    for r in far[:options.worst]:
        print("  far off: %-56s measured %6.0f, predicted %6.0f (%+.1f %%): %s" % (
            r["id"], r["measured"], r["predicted"], 100 * (r["predicted"] / r["measured"] - 1), reason_of(r, options)))
    if len(far) > options.worst:
        print("  far off: %d more (--worst)" % (len(far) - options.worst))


def account(rows, known):
    """Rows without a figure: a table must say what it leaves out."""
    reasons = [known[r["id"]]["skipped"] for r in rows if "skipped" in known.get(r["id"], {})]
    for reason in sorted(set(reasons)):
        print("  left out: %d rows: %s" % (reasons.count(reason), reason))
    missing = sum(r["id"] not in known for r in rows)
    if missing:
        print("  not asked yet: %d of %d rows" % (missing, len(rows)))


def warn_of_versions():
    """Language models keep other tensors in other versions: rows that were measured in early 2025 need that one."""
    if not version("transformers").startswith("4.49"):
        print("transformers %s: language models were measured with a version like 4.49; with others the errors are larger"
              % version("transformers"), file=sys.stderr)


def answer_for(row, options):
    """What a row gets: figures, or why there are none."""
    try:
        found = predict(row, options)
    except Exception as error:  # noqa: BLE001  (a model that this machine's libraries cannot build)
        return {"id": row["id"], "skipped": str(error).split("\n")[0][:120]}
    if found is None:
        return {"id": row["id"], "skipped": "the row does not say enough, or the library has no such model"}
    return {"id": row["id"], "predicted": found[0], "limit": found[1], "fits": found[2]}


def joined(row, answer):
    extra = json.loads(row["extra"] or "{}")
    kind = "images" if "x" in row["input_shape_or_seq"] else "other"
    return {**answer, "measured": float(row["measured_mib"]), "model": row["model"], "row": row,
            "group": "%s, %s" % (kind, row["gpu"]), "status": extra.get("status", "ok"),
            "others": json.loads(row["estimates_of_others"] or "{}")}


def rows_of(table, source, options):
    rows = [r for r in table if r["source"] == source and r["measured_mib"]]
    rows = [r for r in rows if json.loads(r["extra"] or "{}").get("status", "ok") in ("ok", "oom")]
    rows = sorted(rows, key=lambda r: zlib.crc32(r["id"].encode()[::-1]))  # so that any first part is spread over all
    return rows[:options.limit] if options.limit else rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table")
    parser.add_argument("--source", action="append", help="only these sources; default: all that can be rebuilt")
    parser.add_argument("--limit", type=int, default=0, help="of each source, this many rows, spread by their ids")
    parser.add_argument("--seconds", type=float, default=0, help="ask for no further rows after this long; go on another time")
    parser.add_argument("--program", default=os.path.join(HERE, "..", "build", "plimsoll"))
    parser.add_argument("--folder", default="/tmp/plimsoll-fit-traces")
    parser.add_argument("--far", type=float, default=0.1, help="list rows with a larger relative error")
    parser.add_argument("--worst", type=int, default=20)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    warn_of_versions()
    options.captures = capture_stamp()
    answers, start = Answers(options), time.monotonic()
    with open(options.table, newline="") as file:
        table = options.rows = list(csv.DictReader(file))
    for source in options.source or SOURCES:
        rows, found = rows_of(table, source, options), []
        for row in rows:
            if row["id"] not in answers.known and not (options.seconds and time.monotonic() - start > options.seconds):
                answers.add(answer_for(row, options))
            answer = answers.known.get(row["id"])
            if answer and "skipped" not in answer:
                found.append(joined(row, answer))
        report(source, found, options)
        account(rows, answers.known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
