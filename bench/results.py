"""Turns the measurements in a folder into Markdown on standard output."""
import datetime
import json
import os
import platform
import sys


def read(name):
    path = os.path.join(sys.argv[1], name)
    return json.load(open(path)) if os.path.exists(path) else None


def machine():
    names = {line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")}
    flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags"))
    best = "AVX-512" if " avx512f" in flags else "AVX2" if " avx2" in flags else "no AVX2"
    memory = int(open("/proc/meminfo").readline().split()[1]) / 2**20
    return "%s, %d cores, %s, %.0f GiB, Linux %s" % (", ".join(sorted(names)), os.cpu_count(), best, memory, platform.release())


def mib(n):
    return "%.1f MiB" % (n / 2**20)


print("# Measured\n\n`make bench` wrote this on %s.\n\nMachine: %s.\n" % (datetime.date.today().isoformat(), machine()))
forward = read("forward.json")
if forward:
    print("## Forward pass\n\nAgainst PyTorch %s, eager, `torch.no_grad`, %d threads each, the same weights and inputs, the two taking turns; medians. The last\n"
          "columns: the largest difference of the outputs relative to the largest output; the planned arena and how far it is above the\n"
          "least that any placement could use; the resident peak of the whole process, model file included.\n" % (forward["torch"], forward["threads"]))
    print("| model | batch | Plimsoll | PyTorch | ratio | GFLOP/s | difference | arena | above least | resident peak |\n|---|---|---|---|---|---|---|---|---|---|")
    for r in forward["rows"]:
        print("| %s | %d | %.0f ms | %.0f ms | **%.2f** | %.0f | %.0e | %s | %.2f %% | %s |" % (
            r["model"], r["batch"], r["plimsoll_seconds"] * 1e3, r["pytorch_seconds"] * 1e3, r["ratio"], r["flops"] / r["plimsoll_seconds"] * 1e-9, r["difference"],
            mib(r["arena_bytes"]), 100 * (r["arena_bytes"] / r["lower_bound_bytes"] - 1), mib(r["peak_resident_bytes"])))
packing = read("packing.json")
if packing:
    print("\n## Packing\n\nReal instances of an accelerator compiler at their known capacity (units of the file), and a large made-up training step.\n")
    print("| instance | capacity | height | lower bound | seconds |\n|---|---|---|---|---|")
    for r in packing:
        print("| %s | %s | %d | %d | %.3f |" % (r["name"], r["capacity"] or "", r["height"], r["lower_bound"], r["seconds"]))
