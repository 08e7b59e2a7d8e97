"""Odd shapes beside the next round ones: prime channels, widths, heads, lengths and batches must not fall off a cliff.

usage: shapes.py PLIMSOLL OUT.json [--threads N] [--rounds N] [--only NAME]

A training step of each pair in fresh processes that take turns, the first of each pair changing; the best of the rounds. What is
compared is the time of one operation: the step's time by the operations of the model's forward pass, as `inspect` counts them.
"""
import json
import os
import subprocess
import tempfile

import measure

LIMIT = 1.15
STEPS = 8
# what is odd, model, options and batch of the odd shape, options and batch of the next round one, optimizer
CASES = [
    ("channels 61", "resnet18", ["--width", "61", "--image", "112"], 8, ["--width", "64", "--image", "112"], 8, "sgd"),
    ("channels 67", "resnet18", ["--width", "67", "--image", "112"], 8, ["--width", "80", "--image", "112"], 8, "sgd"),
    ("image 239x239", "resnet18", ["--image", "239"], 4, ["--image", "240"], 4, "sgd"),
    ("image 113x113", "mobilenet_v2", ["--image", "113"], 8, ["--image", "128"], 8, "sgd"),
    ("batch 17", "resnet18", ["--image", "64"], 17, ["--image", "64"], 20, "sgd"),
    ("channels 31", "unet", ["--width", "31", "--image", "128"], 2, ["--width", "32", "--image", "128"], 2, "sgd"),
    ("channels 1x29", "lenet", ["--width", "29"], 64, ["--width", "32"], 64, "sgd"),
    ("width 247 = 13x19", "gpt2-tiny", ["--width", "247", "--heads", "13"], 8, ["--width", "256", "--heads", "16"], 8, "adamw"),
    ("sequence 127", "gpt2-tiny", ["--seq", "127"], 16, ["--seq", "128"], 16, "adamw"),
    ("sequence 67, batch 13", "gpt2-tiny", ["--seq", "67"], 13, ["--seq", "72"], 16, "adamw"),
    ("width 253 = 11x23", "bert", ["--width", "253", "--heads", "11", "--layers", "4", "--hidden", "1009", "--seq", "61"], 7,
     ["--width", "256", "--heads", "8", "--layers", "4", "--hidden", "1024", "--seq", "64"], 8, "adamw"),
    ("hidden 127", "lstm", ["--width", "127"], 32, ["--width", "128"], 32, "adamw"),
    ("hidden 251, batch 31", "lstm", ["--width", "251"], 31, ["--width", "256"], 32, "adamw"),
    ("hidden 127", "gru", ["--width", "127"], 32, ["--width", "128"], 32, "adamw"),
]


def operations(program, model, batch):
    answer = subprocess.run([program, "inspect", model, "--batch", str(batch), "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(answer)["flops"]


def step(args, model, batch, optimizer):
    answer, why = measure.plimsoll(args.plimsoll, model, batch, STEPS, optimizer, args.threads)
    if not answer:
        raise SystemExit("shapes.py: %s" % why)
    return answer["seconds_per_step"]


def compare(args, case, folder):
    odd_name, name, odd_options, uneven_batch, round_options, round_batch, optimizer = case
    sides = [(measure.make_model(args.plimsoll, name, os.path.join(folder, "odd.onnx"), *odd_options), uneven_batch),
             (measure.make_model(args.plimsoll, name, os.path.join(folder, "round.onnx"), *round_options), round_batch)]
    best = [float("inf")] * 2
    for turn in range(args.rounds):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            best[side] = min(best[side], step(args, *sides[side], optimizer))
    work = [operations(args.plimsoll, *side) for side in sides]
    rates = [w / s for w, s in zip(work, best)]
    return {"model": name, "odd": odd_name, "uneven_batch": uneven_batch, "round": " ".join(round_options), "round_batch": round_batch,
            "odd_seconds": best[0], "round_seconds": best[1], "ratio": rates[1] / rates[0]}


def main():
    args = measure.arguments(__doc__, rounds=3)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if args.only and args.only != case[1]:
                continue
            row = compare(args, case, folder)
            rows.append(row)
            print("%-12s %-22s %8.1f ms, round %8.1f ms, time of an operation %.2f of the round shape's%s" % (
                row["model"], row["odd"], row["odd_seconds"] * 1e3, row["round_seconds"] * 1e3, row["ratio"], "  ABOVE" if row["ratio"] > LIMIT else ""), flush=True)
    measure.write(args.out, {"threads": args.threads, "rounds": args.rounds, "limit": LIMIT, "rows": rows})


if __name__ == "__main__":
    main()
