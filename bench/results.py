"""Turns the measurements in a folder into Markdown on standard output."""
import datetime
import json
import math
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


def when(part):
    """The day, and a warning where other work ran beside the measurement."""
    return "Measured on %s%s." % (part["day"], "" if part["load"] < 1.5 * (os.cpu_count() or 1) else ", **with other work on the machine** (load %.0f)" % part["load"])


print("# Measured\n\n`make bench` wrote this on %s.\n\nMachine: %s. What earlier builds measured with AVX2 is in [RESULTS-AVX2.md](RESULTS-AVX2.md).\n" % (datetime.date.today().isoformat(), machine()))
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
parity = read("parity.json")
if parity:
    print("\n## Training computes what PyTorch computes\n\nFrom the same weights and batches: the largest relative difference of the losses of the first steps (at most 1e-3), and of any parameter's first gradient\n"
          "relative to its largest entry (at most 1e-4). \"PyTorch itself\": how far its losses move when its weights are disturbed by 1e-7 relative, and how far its gradients are from\n"
          "those it computes in float64. With ReLU and max pools the former grows with the learning rate, faster than rounding: at higher rates PyTorch does not repeat itself within 1e-3.\n\n"
          "The first batch is the first of those drawn (\"draw\") at which float32 can tell the gradients: in PyTorch's float64, no value that enters a ReLU is so near to 0, and no two that compete in a max\n"
          "pool so near to each other, that three standard deviations of its float32's errors in that channel reach across (\"near\": how many do). At other batches rounding decides which way a gradient\n"
          "goes, and PyTorch's own float32 can be far from its float64 (2.9e-2 for one batch of unet at 64×64). Plimsoll's answer has no part in the choice. unet is the zoo's, at full width, but on small images: at 64×64, batch 2,\n"
          "six of six draws left 11 to 22 values near. %s\n" % when(parity))
    print("| model | sample | batch | draw | near | optimizer, rate | steps | loss, first to last | losses differ by | PyTorch itself | first gradients differ by | PyTorch itself | |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for r in parity["rows"]:
        if "agrees" in r:
            own = ["%.1e" % r[k] if k in r else "" for k in ("noise_loss", "noise_gradient")]
            print("| %s | %s | %d | %d | %d | %s, %g | %d | %.4f to %.4f | %.1e | %s | %.1e (%s) | %s | %s |" % (
                r["model"], "×".join(map(str, r["sample"])), r["batch"], r["drawn"], r["undecided"], r["optimizer"], r["rate"], r["steps"], r["first_loss"], r["last_loss"], r["loss_difference"], own[0], r["gradient_difference"],
                r["worst_gradient"], own[1], "agrees" if r["agrees"] else "**too far**"))
race = read("race.json")
if race:
    loads = sorted({load for r in race["rows"] for load in r.get("loads", {})})
    names = {"0": "quiet", "1": "one busy process", "2": "two busy processes"}
    print("\n## The race\n\nA training step beside the fastest form of PyTorch (eager, channels_last, fused optimizer, torch.compile; warm-up not counted), float32, no budget, %d threads: the median step of processes\n"
          "that take turns, best of %d rounds where nothing else runs, the median of the rounds beside processes that do arithmetic without end. The slowest first. \"Slowdown\": our step beside two busy processes in\n"
          "terms of our quiet one. Memory is VmHWM above the idle process, of the quiet runs. Geometric means: %s. %s\n" % (
              race["threads"], race["rounds"], ", ".join("%s **%.2f**" % (names.get(n, n), m) for n, m in race["means"].items() if m), "Measured on %s." % race["day"]))  # the load is its own
    print("| model | batch | PyTorch's form |%s slowdown | memory: Plimsoll | PyTorch | ratio |\n|---|---|---|%s---|---|---|---|" % ("".join(" %s: Plimsoll | PyTorch | ratio |" % names.get(n, n) for n in loads), "---|---|---|" * len(loads)))
    for r in sorted(race["rows"], key=lambda r: -r["loads"]["0"]["ratio"] if "0" in r.get("loads", {}) else -math.inf):
        if "failed" in r:
            print("| %s | %d | %s | %s |" % (r["model"], r["batch"], r["failed"].replace("|", "/"), " |" * (3 * len(loads) + 3)))
            continue
        cells = "".join(" %.0f ms | %.0f ms | **%.2f** |" % (s["plimsoll"] * 1e3, s["pytorch"] * 1e3, s["ratio"]) if s else " | | |" for s in (r["loads"].get(n) for n in loads))
        both = r["loads"].get("0"), r["loads"].get("2")
        memory = r.get("memory")
        held = "%s | %s | **%.2f**" % (mib(memory["plimsoll"]), mib(memory["pytorch"]), memory["plimsoll"] / memory["pytorch"]) if memory else " | |"
        print("| %s | %d | %s |%s %s | %s |" % (r["model"], r["batch"], r["form"], cells, "%.1f" % (both[1]["plimsoll"] / both[0]["plimsoll"]) if all(both) else "", held))
epochs = read("epochs.json")
if epochs:
    print("\n## From data to accuracy\n\nlenet on Fashion-MNIST, %d epochs, batch %d, AdamW with a rate of %g that falls along a cosine, both sides, %d threads. Our time is that of the whole process; PyTorch's begins with the data in memory, and is the\n"
          "best of what was tried as workers of its DataLoader. %s\n" % (epochs["epochs"], epochs["batch"], epochs["rate"], epochs["threads"], when(epochs)))
    print("| | time | test accuracy |\n|---|---|---|")
    print("| Plimsoll | %.1f s | %.2f %% |" % (epochs["plimsoll"]["seconds"], 100 * epochs["plimsoll"]["accuracy"]))
    for t in epochs["tried"]:
        print("| PyTorch, %d workers | %.1f s | %.2f %% |" % (t["workers"], t["seconds"], 100 * t["accuracy"]))
    print("| ratio | **%.2f** | |" % epochs["ratio"])
learning = read("learning.json")
if learning:
    print("\n## Learning with fewer bits\n\nThe same weights, batches and order as in float32; means over %d orders of the data. lenet on Fashion-MNIST, five epochs: test accuracy in per cent, the bar is 0.3 points.\n"
          "gpt2-tiny on text, 1,000 updates: mean loss of the last 100, the bar is 1 %%. %s\n" % (learning["seeds"], when(learning)))
    print("| network | form | each order | mean | difference | updates skipped | |\n|---|---|---|---|---|---|---|")
    for network in ("lenet", "gpt2-tiny"):
        for r in learning.get(network, []):
            difference = "%+.2f points" % r["difference"] if network == "lenet" else "%+.2f %%" % (100 * r["difference"])
            print("| %s | %s | %s | %.4f | %s | %d | %s |" % (network, r["form"], ", ".join("%.4f" % v for v in r["each"]), r["mean"], difference, r["skipped_updates"], "" if r["holds"] else "**too far**"))


shapes = read("shapes.json")
if shapes:
    print("\n## Odd shapes\n\nThe time of one operation of a training step in terms of that of the next round shape, %d threads, best of %d rounds that take turns (`bench/shapes.py`); at most %.2f. The slowest first. %s\n" % (
        shapes["threads"], shapes["rounds"], shapes["limit"], when(shapes)))
    print("| model | odd | batch | step | round | batch | step | time of an operation |\n|---|---|---|---|---|---|---|---|")
    for r in sorted(shapes["rows"], key=lambda r: -r["ratio"]):
        print("| %s | %s | %d | %.1f ms | %s | %d | %.1f ms | **%.2f** |" % (
            r["model"], r["odd"], r["uneven_batch"], r["odd_seconds"] * 1e3, r["round"], r["round_batch"], r["round_seconds"] * 1e3, r["ratio"]))


def rounds(rows):
    counts = sorted({r.get("rounds", 1) for r in rows})
    if counts == [1]:
        return "Each point was measured in one process of its own, one after the other."
    return "The fastest of %s counts, on both sides." % ", ".join(
        "%d rounds (%s)" % (n, ", ".join(r["model"] for r in rows if r.get("rounds", 1) == n)) for n in counts)


budget = read("budget.json")
if budget:
    print("\n## Within a budget\n\nMemory above the idle process on both sides: a budget bounds our whole process, so a share of PyTorch's memory is asked for as our idle process + that\n"
          "share of PyTorch's peak. The headline's share is a quarter (transformers: a half), its limit %.2f of PyTorch's time. %s\n"
          "float32, %d threads on both sides, five steps each, the median after the first three. %s\n\n![Time against memory](frontier.svg)\n" % (
              budget["limit"], rounds(budget["rows"]), budget["threads"], when(budget)))
    apart = sorted({r["begun"] for r in budget["rows"]})
    if len(apart) > 1:
        print("Not all in one run: %s.\n" % "; ".join("%s in that of %s" % (", ".join(r["model"] for r in budget["rows"] if r["begun"] == b), b) for b in apart))
    print("| model | batch | | memory | of PyTorch's | time a step | of PyTorch's | how |\n|---|---|---|---|---|---|---|---|")
    for r in budget["rows"]:
        base = r["pytorch"][0]
        for p in r["pytorch"]:
            print("| %s | %d | PyTorch%s%s | %s | %.2f | %.2f s | %.2f | %s |" % (
                r["model"], r["batch"], ", " + r["variant"] if r["variant"] else "", ", checkpoint" if p["checkpoint"] else "", mib(p["bytes"]), p["bytes"] / base["bytes"], p["seconds"], p["seconds"] / base["seconds"],
                "%d blocks recomputed" % p["recomputed"] if p["checkpoint"] else ""))
        for p in r["plimsoll"]:
            label = "no budget" if p["share"] is None else "the least budget" if p["share"] == "least" else "budget %.3g" % p["share"]
            if p == r["headline"]:
                label = "**%s**" % label
            if "failed" in p:
                print("| %s | %d | Plimsoll, %s | | | | | %s |" % (r["model"], r["batch"], label, p["failed"].replace("|", "/")))
                continue
            how = "" if p["share"] is None else "%s, micro-batch %s × %s, %s recomputed, %s spilled; process %s, planned %s%s" % (
                p["class"], p["micro_batch"], p["accumulate"], p["recomputed"], mib(p["spilled_bytes"] or 0), mib(p["peak_resident_bytes"]), mib(p["planned_process_bytes"]), "" if p["held"] else "; **above its budget**")
            print("| %s | %d | Plimsoll, %s | %s | %.2f | %.2f s | **%.2f** | %s |" % (
                r["model"], r["batch"], label, mib(p["bytes"]), p["bytes"] / base["bytes"], p["seconds"], p["seconds"] / base["seconds"], how))
precision = read("precision.json")
if precision:
    print("\n## bfloat16\n\nMemory above the idle process and the median step, each form in a process of its own, %d threads, on a processor that %s bfloat16 itself; \"within\" is a budget of that share of our float32. %s\n" % (
        precision["threads"], "multiplies" if precision["processor_multiplies_bf16"] else "does not multiply", when(precision)))
    print("| model | batch | form | memory | of our float32 | time a step | of our float32 |\n|---|---|---|---|---|---|---|")
    for c in precision["costs"]:
        for r in c["rows"]:
            if "refused" in r:
                print("| %s | %d | %s | %s | | | |" % (c["model"], c["batch"], r["form"], r["refused"].replace("|", "/")))
                continue
            print("| %s | %d | %s | %s | **%.2f** | %.3f s | **%.2f** |" % (c["model"], c["batch"], r["form"], mib(r["above_idle_bytes"]), r["memory"], r["seconds_per_step"], r["time"]))
    print("\nLosses of 100 updates, and the gradients before the first of them, beside PyTorch's in float32: relative differences.\n")
    print("| model | | losses, at most | on average | gradients |\n|---|---|---|---|---|")
    for c in precision["numbers"]:
        for r in c["rows"]:
            print("| %s | %s | %.1e | %.1e | %.1e |" % (c["model"], r["form"], r["largest"], r["mean"], r["gradients"]))
lora = read("lora.json")
if lora:
    print("\n## Adapters\n\nLoRA of rank 8 on the LLaMA shape of 1.1 billion parameters, a sequence of 256, one sample an update, AdamW, %d threads: the whole process (VmHWM), and the median step without\n"
          "the first. Ours is given %s, and keeps frozen layers in 4 bits or in the model's file; PyTorch with PEFT keeps them in float32. %s\n" % (lora["threads"], lora["budget"], when(lora)))
    print("| | memory | | an update | | class |\n|---|---|---|---|---|---|")
    for r in lora["rows"]:
        print("| %s | %s | **%.2f** | %.2f s | **%.2f** | %s |" % (r["form"] if "PyTorch" in r["form"] else "Plimsoll, `--base %s`" % r["form"], mib(r["peak"]), r["memory_ratio"], r["seconds"], r["time_ratio"], r.get("class", "")))
recording = read("recording.json")
if recording:
    print("\n## What recording costs\n\nIn one run every other update is recorded whole (`--trace-every 2`), and compared with the two beside it, which are only sampled: the median, and where it lies in 95 of 100\n"
          "cases. A run recorded as usual has one whole update in a hundred. %d threads. %s\n" % (recording["threads"], when(recording)))
    print("| model | batch | an update | recorded whole | 95 % | updates | in the file |\n|---|---|---|---|---|---|---|")
    for r in recording["rows"]:
        print("| %s | %d | %.2f ms | **%+.2f %%** | %+.2f to %+.2f %% | %d | %.1f KiB |" % (
            r["model"], r["batch"], r["seconds"] * 1e3, *(100 * (r[k] - 1) for k in ("ratio", "low", "high")), r["updates"], r["bytes_per_update"] / 1024))
packing = read("packing.json")
if packing:
    print("\n## Packing\n\nReal instances of an accelerator compiler at their known capacity (units of the file), and a large generated training step.\n")
    print("| instance | capacity | height | lower bound | seconds |\n|---|---|---|---|---|")
    for r in packing:
        print("| %s | %s | %d | %d | %.3f |" % (r["name"], r["capacity"] or "", r["height"], r["lower_bound"], r["seconds"]))
