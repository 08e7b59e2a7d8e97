"""The packer on real instances and on many buffers.

usage: packing.py PLIMSOLL FOLDER OUT.json

FOLDER holds MiniMalloc's instances; where it does not exist, they are fetched from its repository. Without a network only the
generated instance is measured, and that is said.
"""
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile


def pack(program, path, capacity=None):
    command = [program, "pack", path, "--json"] + (["--capacity", str(capacity)] if capacity else [])
    answer = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
    return {k: answer[k] for k in ("capacity", "height", "lower_bound", "seconds")}


def training_step(path, layers):
    """Buffers of a generated training step: activations that live into the backward pass, gradients and scratch that do not."""
    rng = random.Random(0)
    with open(path, "w") as f:
        f.write("id,lower,upper,size\n")
        for i in range(layers):
            back = 2 * layers - i
            f.write("a%d,%d,%d,%d\n" % (i, i, back + 1, rng.randrange(1, 4096) * 64))
            f.write("g%d,%d,%d,%d\n" % (i, back, back + 2, rng.randrange(1, 4096) * 64))
            f.write("w%d,%d,%d,%d\n" % (i, i, i + 1, rng.randrange(1, 1024) * 64))
            f.write("b%d,%d,%d,%d\n" % (i, back, back + 1, rng.randrange(1, 1024) * 64))


INSTANCES = "https://github.com/google/minimalloc"  # its benchmarks/challenging: NAME.CAPACITY.csv


def fetch(folder):
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(["git", "clone", "-q", "--depth", "1", INSTANCES, os.path.join(work, "minimalloc")], check=False)
        found = os.path.join(work, "minimalloc", "benchmarks", "challenging")
        if done.returncode == 0 and os.path.isdir(found):
            shutil.copytree(found, folder)
        else:
            print("no instances in %s, and none at %s: only the generated one is measured" % (folder, INSTANCES))


def main():
    program, folder, out = sys.argv[1:]
    if not os.path.isdir(folder):
        fetch(folder)
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
