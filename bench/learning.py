"""Whether fewer bits learn as much: five epochs of lenet on Fashion-MNIST, and 1,000 updates of gpt2-tiny on text, in float32 and with
bf16, fp16 and AdamW's state in 8 bits, from the same weights over the same batches.

usage: learning.py PLIMSOLL OUT.json [--threads N] [--seeds N] [--only lenet|gpt2-tiny]

The bars: test accuracy within 0.3 points, the mean loss of the last 100 updates within 1 %. Rounding makes another path of the same
descent, so each seed (order of the data) differs by chance as well; means over the seeds are compared, and every seed is shown. How
much is chance shows float32 itself with each batch in halves: the same sums in another order.
The text are the licences that Debian installs, as bytes.
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

import epochs
import measure

LICENCES = "/usr/share/common-licenses"
FORMS = {"fp32": [], "fp32 in halves": ["--accumulate", "2"], "bf16": ["--precision", "bf16"], "fp16": ["--precision", "fp16"], "8-bit AdamW": ["--optimizer-state", "8bit"]}
POINTS, SHARE = 0.3, 0.01
UPDATES, LAST = 1000, 100


def run(command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def lenet(args, folder, form, seed):
    """Per cent of the test split."""
    path, trained = os.path.join(folder, "lenet.onnx"), os.path.join(folder, "trained.onnx")
    measure.make_model(args.plimsoll, "lenet", path)
    said = run([args.plimsoll, "train", path, "--data", epochs.FASHION, "--optimizer", "adamw", "--lr", str(epochs.RATE), "--schedule", "cosine", "--batch", str(epochs.BATCH),
                "--epochs", "5", "--seed", str(seed), "--threads", str(args.threads), "--out", trained, "--json", *FORMS[form]])
    tested = run([args.plimsoll, "evaluate", trained, "--data", epochs.FASHION, "--split", "test", "--batch", "250", "--json"])
    return 100 * tested["accuracy"], said["skipped_updates"]


def gpt2_tiny(args, folder, form, seed):
    """The mean loss of the last updates."""
    path, text, log = (os.path.join(folder, name) for name in ("gpt2-tiny.onnx", "text.txt", "log.jsonl"))
    measure.make_model(args.plimsoll, "gpt2-tiny", path, "--seq", "64")
    with open(text, "wb") as file:
        for name in sorted(glob.glob(os.path.join(LICENCES, "*"))):
            if not os.path.islink(name):
                file.write(open(name, "rb").read())
    said = run([args.plimsoll, "train", path, "--data", text, "--optimizer", "adamw", "--lr", "1e-3", "--batch", "8", "--steps", str(UPDATES), "--seed", str(seed),
                "--threads", str(args.threads), "--log", log, "--out", path + ".trained.onnx", "--json", *FORMS[form]])
    losses = [row["loss"] for row in map(json.loads, open(log)) if "loss" in row]
    return statistics.mean(losses[-LAST:]), said["skipped_updates"]


def compare(args, name, learn, tell):
    """One row a form; `tell` says how far its mean is from float32's, and whether that is too far."""
    rows = []
    for form in FORMS:
        with tempfile.TemporaryDirectory() as folder:
            done = [learn(args, folder, form, seed) for seed in range(1, args.seeds + 1)]
        row = {"form": form, "each": [value for value, _ in done], "mean": statistics.mean(value for value, _ in done), "skipped_updates": sum(skipped for _, skipped in done)}
        row["difference"], row["holds"], words = tell(row["mean"], (rows[0] if rows else row)["mean"])
        rows.append(row)
        print("%s, %-14s %s   mean %.4f   %s%s" % (name, form, " ".join("%.4f" % value for value in row["each"]), row["mean"], words, "" if row["holds"] else "   TOO FAR"), flush=True)
    return rows


def by_points(mean, wide):
    return mean - wide, abs(mean - wide) <= POINTS, "%+.2f points" % (mean - wide)


def by_share(mean, wide):
    return mean / wide - 1, abs(mean / wide - 1) <= SHARE, "%+.2f %%" % (100 * (mean / wide - 1))


def main():
    args = measure.arguments(__doc__, seeds=dict(type=int, default=3))
    answer = {"threads": args.threads, "seeds": args.seeds}
    if args.only in (None, "lenet") and os.path.isdir(epochs.FASHION):
        answer["lenet"] = compare(args, "lenet", lenet, by_points)
    if args.only in (None, "gpt2-tiny"):
        answer["gpt2-tiny"] = compare(args, "gpt2-tiny", gpt2_tiny, by_share)
    measure.write(args.out, answer)
    return 0 if all(row["holds"] for rows in answer.values() if isinstance(rows, list) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
