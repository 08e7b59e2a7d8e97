#!/usr/bin/env python3
"""Random budgets: does the process stay within them, from the first byte?

usage: budgets.py PROGRAM [--kinds deep,images,zoo,rows|levers] [--count N] [--first N] [--seed N] [--busy N] [--threads N] [--out OUT.json] [--rows ROWS.jsonl]

The kinds take turns: deep networks of thin layers at the least budget that `plan` names, networks that learn from images of up to
200 megapixels, networks of the zoo at budgets between the least and what they take without one, and networks on long rows
(rows_model.py), half of them at the least. Each run is a
process of its own in a memory cgroup whose limit is the budget (where one can be made; else only its peak is read), beside
--busy processes that do nothing but compute. With --kinds levers, runs are networks whose weights are most of their memory, with
precisions, bits of optimizer state, adapters and budgets drawn at random, half of them the least. Told are:

    above      runs whose resident peak was above the budget
    killed     runs that a signal ended
    refused    runs that ended otherwise, though `plan` named the budget
    beyond     runs whose peak differs from the prediction of `train` by more than 1 %
    a MiB less networks that train within a MiB less than the least budget that was named
    not least  networks that train within two MiB less: the least that works is not the named one to 1 MiB
    other      networks for which `train` named another least budget than `plan`, when it refused

Needs nothing but the program and Python. The same seed gives the same runs. With --rows each run is written down when it ends, and
runs that are there already are not made again: a campaign can be stopped and gone on with.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

import rows_model

MIB = 1 << 20
DEEP = [("vit-tiny", ["--layers", (8, 28), "--width", (8, 24, 4), "--heads", "1"], (8, 64)),
        ("gpt2-tiny", ["--layers", (8, 28), "--width", (8, 32, 8), "--heads", "1", "--seq", (8, 32)], (8, 64)),
        ("resnet18", ["--width", (8, 16, 8), "--image", (32, 40), "--classes", "10"], (16, 64)),
        ("mobilenet_v2", ["--image", "32", "--classes", "10"], (8, 32))]
ZOO = [("lenet", ["--width", (16, 64)], (32, 256)), ("gpt2-tiny", ["--layers", (1, 4)], (4, 16)), ("vit-tiny", ["--layers", (1, 4)], (8, 32)),
       ("unet", ["--image", "64", "--width", (4, 16, 4)], (2, 8)), ("lstm", ["--width", (32, 128, 32)], (8, 32)),
       ("resnet18", ["--image", (48, 96), "--width", (16, 32, 8), "--classes", "10"], (8, 24))]
WIDE = [("gpt2-tiny", ["--layers", (2, 6), "--width", (256, 512, 64), "--heads", "4", "--seq", (16, 48)], (2, 6)), ("mlp", ["--width", (512, 2048, 256)], (8, 64)),
        ("resnet18", ["--width", (32, 64, 8), "--image", "32", "--classes", "10"], (4, 12)), ("vit-tiny", ["--layers", (2, 6), "--width", (256, 512, 64), "--heads", "4"], (2, 8)),
        ("lstm", ["--width", (256, 512, 128)], (4, 8))]
OPTIMIZERS = ["sgd", "adamw", "lion", "adafactor"]


def draw(options):
    """Ranges (least, most[, step]) become numbers."""
    return [str(random.randrange(o[0], o[1] + 1, *o[2:])) if isinstance(o, tuple) else o for o in options]


def write_png(path, width, height, interlaced):
    """Grey, each row like the one before it: any size in little time and memory."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)) if interlaced else ((0, 0, 1, 1),)
    pack, line, parts = zlib.compressobj(1), random.randbytes(256) * (width // 256 + 1), []
    for x, y, dx, dy in passes:
        row = b"\0" + line[x:width:dx]
        for _ in range(y, height, dy):
            if len(row) > 1:
                parts.append(pack.compress(row))
    parts.append(pack.flush())
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, int(interlaced))) +
                   chunk(b"IDAT", b"".join(parts)) + chunk(b"IEND", b""))


def write_images(folder):
    """A few small ones and a large one, in two classes."""
    shutil.rmtree(folder, ignore_errors=True)
    megapixels = random.uniform(0.5, 14) ** 2
    width = int((megapixels * 1e6) ** 0.5 * random.uniform(0.5, 2))
    sizes = [(random.randrange(40, 400), random.randrange(40, 400)) for _ in range(7)] + [(width, int(megapixels * 1e6 / width))]
    for i, size in enumerate(sizes):
        os.makedirs(f"{folder}/{i % 2}", exist_ok=True)
        write_png(f"{folder}/{i % 2}/{i}.png", *size, interlaced=random.random() < 0.3 and megapixels < 50)
    return "%.0f megapixels" % megapixels


class Group:
    """A memory cgroup, where one can be made."""
    def __init__(self):
        self.path = None
        for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            if os.access(f"{root}/{limit}" if limit != "memory.max" else f"{root}/cgroup.procs", os.W_OK):
                try:
                    path = f"{root}/plimsoll-budgets-{os.getpid()}"
                    os.mkdir(path)
                    if os.path.exists(f"{path}/{limit}"):
                        self.path, self.limit = path, limit
                        return
                    os.rmdir(path)
                except OSError:
                    pass

    def run(self, budget, command):
        if self.path:
            with open(f"{self.path}/{self.limit}", "w") as file:
                file.write(str(budget))
        def enter():
            if self.path:
                with open(f"{self.path}/cgroup.procs", "w") as file:
                    file.write(str(os.getpid()))
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=enter)

    def remove(self):
        if self.path:
            os.rmdir(self.path)


def draw_levers(name):
    """What makes numbers or models smaller."""
    levers = random.choice([[], [], ["--precision", "bf16"], ["--precision", "fp16"]])
    if random.random() < 0.2:
        levers = [*levers, "--optimizer-state", "8bit"]
    if name == "gpt2-tiny" and random.random() < 0.25:
        levers = [*levers, "--lora", "r=4", *random.choice([[], ["--base", "int8"], ["--base", "nf4"]])]
    return levers


def answer_of(done):
    return json.loads(done.stdout) if done.returncode == 0 else {"error": (done.stderr.strip().splitlines() or ["exit %d" % done.returncode])[-1]}


def one(program, kind, threads, group):
    if kind == "rows":
        name, batch = rows_model.write("model.onnx"), random.randint(1, 8)
        return measure(program, {"kind": kind, "model": name, "batch": batch}, [], threads, group)
    name, options, batches = random.choice(DEEP if kind == "deep" else ZOO if kind == "zoo" else WIDE if kind == "levers" else [("resnet18", ["--width", "8", "--image", "48", "--classes", "2", "--channels", "1"], (2, 6))])
    options, batch = draw(options), random.randint(*batches)
    case = {"kind": kind, "model": " ".join([name, *options]), "batch": batch}
    subprocess.run([program, "zoo", name, *options, "-o", "model.onnx"], stdout=subprocess.DEVNULL, check=True)
    if kind == "images":
        case["images"] = write_images("photos")
    return measure(program, case, draw_levers(name) if kind == "levers" else [], threads, group)


def measure(program, case, levers, threads, group):
    kind, batch = case["kind"], case["batch"]
    common = ["model.onnx", "--batch", str(batch), "--optimizer", random.choice(OPTIMIZERS), "--threads", str(threads), "--json",
              "--data", "photos" if kind == "images" else "synthetic", "--steps", "2", "--allow", random.choice(["exact", "reordered", "lossy"])]
    common += levers
    if "8bit" in levers:
        common[common.index("--optimizer") + 1] = random.choice(["adamw", "lion"])
    case["options"] = " ".join(common[1:])
    plan = answer_of(subprocess.run([program, "plan", *common], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False))
    if "error" in plan:
        return {**case, "verdict": "plan: " + plan["error"]}
    least, most = plan["minimum_budget_bytes"], plan["unconstrained"]["process_bytes"]
    budget = least if kind == "deep" or (kind in ("levers", "rows") and random.random() < 0.5) else random.randint(least, max(least, int(most * 1.05)))
    case.update(least=least, unconstrained=most, budget=budget)
    done = group.run(budget, [program, "train", *common, "--budget", str(budget)])
    run = answer_of(done)
    if "error" in run:
        case["verdict"] = "killed" if done.returncode < 0 else "refused"
        case["error"] = run["error"]
        return case
    case.update(streamed=run["streamed_bytes"], spilled=run["spilled_bytes"], peak=run["peak_resident_bytes"], planned=run["planned_process_bytes"], micro_batch=run["micro_batch"], recomputed=run["recomputed"])
    case["off"] = (case["planned"] - case["peak"]) / case["peak"]
    case["verdict"] = "above" if case["peak"] > budget else "beyond" if abs(case["off"]) > 0.01 else "held"
    if kind == "deep" or (kind == "rows" and budget == least):
        case.update(works_below=0, named=0)
        while case["works_below"] < 2:
            less = least - MIB * (case["works_below"] + 1)
            below = answer_of(subprocess.run([program, "train", *common, "--budget", str(less)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False))
            named = re.search(r"smallest budget that works is ([\d.]+) MiB", below.get("error", ""))
            if "peak_resident_bytes" not in below:
                case["named"] = int(float(named[1]) * MIB) if named else 0
                break
            case["works_below"] += 1
    return case


def differs(case):
    return "works_below" in case and case["works_below"] < 2 and case["named"] != case["least"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--kinds", default="deep,images,zoo,rows")
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--busy", type=int, default=2)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--out")
    p.add_argument("--rows")
    o = p.parse_args()
    kinds = o.kinds.split(",")
    program, out, rows = os.path.realpath(o.program), o.out and os.path.realpath(o.out), o.rows and os.path.realpath(o.rows)
    known = {}
    if rows and os.path.exists(rows):
        with open(rows) as file:
            known = {(c["seed"], c["number"]): c for c in map(json.loads, file)}
    os.environ.update(PLIMSOLL_COSTS="default", OMP_WAIT_POLICY="passive")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started ends, too
    group, cases = Group(), []
    print("in a memory cgroup" if group.path else "no memory cgroup can be made here: runs are not held inside one")
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(o.busy)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for i in range(o.first, o.first + o.count):
                random.seed(f"{o.seed} {i}")
                case = known.get((o.seed, i)) or {"seed": o.seed, "number": i, **one(program, kinds[i % len(kinds)], o.threads, group)}
                cases.append(case)
                if rows and (o.seed, i) not in known:
                    with open(rows, "a") as file:
                        file.write(json.dumps(case) + "\n")
                print("%3d %-8s %-60s %s" % (i, case["verdict"], f"{case['model']} b{case['batch']} {case.get('images', '')}",
                      "budget %.1f MiB, peak %.1f, planned %.1f (%+.2f %%)%s" % (case["budget"] / MIB, case["peak"] / MIB, case["planned"] / MIB, 100 * case["off"],
                      ", train names %d" % (case["named"] >> 20) if differs(case) else ", works with %d MiB less" % case["works_below"] if case.get("works_below") else "") if "peak" in case else case.get("error", "")), flush=True)
            os.chdir("/")
    finally:
        for process in busy:
            process.send_signal(signal.SIGTERM)
            process.wait()
        group.remove()
    ran = [c for c in cases if "peak" in c]
    told = {"runs": len(cases), "above": sum(c["verdict"] == "above" for c in cases), "killed": sum(c["verdict"] == "killed" for c in cases),
            "refused": sum(c["verdict"].startswith(("refused", "plan")) for c in cases), "beyond": sum(abs(c["off"]) > 0.01 for c in ran),
            "worst": max((abs(c["off"]) for c in ran), default=0), "a_mib_less": sum(c.get("works_below") == 1 for c in ran), "not_least": sum(c.get("works_below") == 2 for c in ran), "other": sum(map(differs, ran))}
    print("%(runs)d runs: %(above)d above, %(killed)d killed, %(refused)d refused, %(beyond)d beyond 1 %% (worst " % told + "%.2f %%), %d with a MiB less, %d not least, %d named otherwise by train" % (100 * told["worst"], told["a_mib_less"], told["not_least"], told["other"]))
    if out:
        with open(out, "w") as file:
            json.dump({**told, "cases": cases}, file, indent=1)
    return int(bool(told["above"] or told["killed"] or told["refused"] or told["beyond"] or told["not_least"] or told["other"]))


if __name__ == "__main__":
    sys.exit(main())
