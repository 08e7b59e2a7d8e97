"""The packer on real instances (when they are beside the checkout) and on many buffers.

usage: packing.py PLIMSOLL FOLDER OUT.json
"""
import glob
import json
import os
import random
import subprocess
import sys
import tempfile


def pack(program, path, capacity=None):
    command = [program, "pack", path, "--json"] + (["--capacity", str(capacity)] if capacity else [])
    answer = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
    return {k: answer[k] for k in ("capacity", "height", "lower_bound", "seconds")}


def training_step(path, layers):
    """Buffers of a made-up training step: activations that live into the backward pass, gradients and scratch that do not."""
    rng = random.Random(0)
    with open(path, "w") as f:
        f.write("id,lower,upper,size\n")
        for i in range(layers):
            back = 2 * layers - i
            f.write("a%d,%d,%d,%d\n" % (i, i, back + 1, rng.randrange(1, 4096) * 64))
            f.write("g%d,%d,%d,%d\n" % (i, back, back + 2, rng.randrange(1, 4096) * 64))
            f.write("w%d,%d,%d,%d\n" % (i, i, i + 1, rng.randrange(1, 1024) * 64))
            f.write("b%d,%d,%d,%d\n" % (i, back, back + 1, rng.randrange(1, 1024) * 64))


def main():
    program, folder, out = sys.argv[1:]
    rows = []
    for path in sorted(glob.glob(os.path.join(folder, "*.csv"))):
        capacity = int(os.path.basename(path).split(".")[1])
        rows.append({"name": os.path.basename(path), **pack(program, path, capacity)})
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "step.csv")
        training_step(path, 5000)
        rows.append({"name": "20,000 buffers of a training step", **pack(program, path)})
    for row in rows:
        print("%-36s height %12d   lower bound %12d   %.3f s" % (row["name"], row["height"], row["lower_bound"], row["seconds"]))
    json.dump(rows, open(out, "w"))


main()
