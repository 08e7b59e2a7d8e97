#!/usr/bin/env python3
"""Makes the files that the report's tests look at: traces as docs/trace-format.md describes them, and pickles
as PyTorch writes them. Standard library only.

  samples.py trace OUT [--steps N]        a training step of a residual network, packed into an arena
  samples.py million OUT                  a trace of a million events
  samples.py snapshot OUT [--protocol P] [--loop healthy|leaking|fragmenting] [--no-traces] [--old] [--oom]
  samples.py big-snapshot OUT BYTES       a snapshot of about that many bytes, written as a stream
  samples.py hostile-names OUT            names with markup, quotes and what is not UTF-8
"""
import argparse
import pickle
import random
import struct

KINDS = ["weight", "gradient", "optimizer", "activation", "workspace", "data", "process", "other"]
PHASES = ["", "load", "forward", "backward", "update", "data"]
NO_OFFSET = 2**64 - 1


class Trace:
    """Writes the trace format."""

    def __init__(self, path, source=1):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<8sIIQ", b"PLIMTRC\n", 1, source, 0))
        self.texts, self.buffers, self.operators, self.now = {}, 0, {}, 0

    def text(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        if not data:
            return 0
        if data not in self.texts:
            padded = data + b"\0" * (-len(data) % 8)
            self.file.write(struct.pack("<BBHI", 1, 0, 1 + len(padded) // 8, len(data)) + padded)
            self.texts[data] = len(self.texts) + 1
        return self.texts[data]

    def buffer(self, name, shape, layer, operator, kind, phase, nbytes, offset, dtype=1):
        ids = [self.text(t) for t in (name, "x".join(map(str, shape)), layer, operator)]
        self.file.write(struct.pack("<BBHIIIIBBHQQ", 2, KINDS.index(kind), 5, ids[0], ids[1], ids[2], ids[3],
                                    PHASES.index(phase), dtype, 0, nbytes, offset))
        self.buffers += 1
        return self.buffers - 1

    def number(self, which, value):
        self.file.write(struct.pack("<BBHIQ", 3, which, 2, 0, value))

    def fact(self, name, value):
        name, value = self.text(name), self.text(value)
        self.file.write(struct.pack("<BBHIII", 4, 0, 2, name, value, 0))

    def frontier(self, budget, peak, seconds, label, command, chosen):
        label, command = self.text(label), self.text(command)
        self.file.write(struct.pack("<BBHIQQdII", 5, int(chosen), 5, label, budget, peak, seconds, command, 0))

    def comparison(self, what, planned, measured):
        what = self.text(what)
        self.file.write(struct.pack("<BBHIQQ", 6, 0, 3, what, planned, measured))

    def named(self, kind, text):
        text = self.text(text)
        self.file.write(struct.pack("<BBHI", kind, 0, 1, text))

    def event(self, kind, number=0, argument=0, values=()):
        self.file.write(struct.pack("<BBHIQ", kind, argument, 2 + len(values), number, self.now)
                        + struct.pack("<%dQ" % len(values), *values))

    def close(self, whole=True):
        if whole:
            self.event(31)
        self.file.close()


def align(n):
    return (n + 63) // 64 * 64


def residual_network(batch):
    """(name, operator, output shape, parameters, workspace bytes) of each layer, in order."""
    layers, size, channels = [], 112, 64
    layers.append(("conv1", "Conv", (batch, 64, 112, 112), 64 * 3 * 49, 2 << 20))
    layers.append(("bn1", "BatchNormalization", (batch, 64, 112, 112), 128, 0))
    layers.append(("maxpool", "MaxPool", (batch, 64, 56, 56), 0, 0))
    size = 56
    for stage, blocks in enumerate((3, 4, 6, 3), 1):
        width = 64 << (stage - 1)
        for block in range(blocks):
            if stage > 1 and block == 0:
                size //= 2
            for part, (inside, outside, kernel) in enumerate(((channels, width, 1), (width, width, 3), (width, width * 4, 1)), 1):
                name = f"layer{stage}.{block}.conv{part}"
                shape = (batch, outside, size, size)
                layers.append((name, "Conv", shape, inside * outside * kernel * kernel, 1 << 20 if kernel == 3 else 1 << 18))
                layers.append((name.replace("conv", "bn"), "BatchNormalization", shape, 2 * outside, 0))
            if block == 0:
                layers.append((f"layer{stage}.{block}.downsample", "Conv", (batch, width * 4, size, size), channels * width * 4, 1 << 18))
            channels = width * 4
            layers.append((f"layer{stage}.{block}.add", "Add", (batch, channels, size, size), 0, 0))
    layers.append(("avgpool", "GlobalAveragePool", (batch, 2048, 1, 1), 0, 0))
    layers.append(("fc", "Gemm", (batch, 1000), 2048 * 1000 + 1000, 0))
    return layers


def pack(buffers):
    """Offsets by size, first fit: buffers that live at the same time do not overlap."""
    placed = []
    for b in sorted(buffers, key=lambda b: -b["bytes"]):
        at = 0
        for other in sorted((p for p in placed if p["born"] < b["died"] and b["born"] < p["died"]), key=lambda p: p["offset"]):
            if at + b["bytes"] <= other["offset"]:
                break
            at = max(at, other["offset"] + align(other["bytes"]))
        b["offset"] = at
        placed.append(b)


def elements(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def training_step(batch):
    layers = residual_network(batch)
    count, end = len(layers), 2 * len(layers) + 1
    buffers = [dict(name="input", shape=(batch, 3, 224, 224), layer="data", operator="Decode", kind="data", phase="data", born=0, died=end)]
    for i, (name, operator, shape, parameters, workspace) in enumerate(layers):
        back = end - 1 - i
        if parameters:
            common = dict(shape=(parameters,), layer=name, operator=operator, born=0, died=end, forever=True)
            buffers.append(dict(common, name=name + ".weight", kind="weight", phase="load"))
            buffers.append(dict(common, name=name + ".momentum", kind="optimizer", phase="load"))
            buffers.append(dict(name=name + ".weight.grad", shape=(parameters,), layer=name, operator=operator + "Grad", kind="gradient",
                                phase="backward", born=back, died=back + 1))
        last = back + 1 if operator != "Add" else i + 3
        buffers.append(dict(name=name + ".out", shape=shape, layer=name, operator=operator, kind="activation", phase="forward",
                            born=i + 1, died=max(last, i + 2)))
        buffers.append(dict(name=name + ".out.grad", shape=shape, layer=name, operator=operator + "Grad", kind="gradient", phase="backward",
                            born=back - 1 if i + 1 < count else back, died=back + 1))
        if workspace:
            for when, phase in ((i + 1, "forward"), (back, "backward")):
                buffers.append(dict(name=name + ".workspace", shape=(workspace // 4,), layer=name, operator=operator, kind="workspace",
                                    phase=phase, born=when, died=when + 1))
    for b in buffers:
        b["bytes"] = 4 * elements(b["shape"])
    pack(buffers)
    return layers, buffers, end


def peak_of(buffers, end):
    return max(sum(b["bytes"] for b in buffers if b["born"] <= t < b["died"]) for t in range(end))


def write_training(path, steps, batch=16, whole=True):
    layers, buffers, end = training_step(batch)
    peak = peak_of(buffers, end)
    trace = Trace(path)
    trace.named(8, "resnet50.onnx")
    for name, value in (("batch", str(batch)), ("optimizer", "SGD, momentum 0.9"), ("machine", "2 cores")):
        trace.fact(name, value)
    budget = 1500 << 20
    trace.number(1, budget)
    for mib, seconds, label in ((2200, 1.58, "keep everything"), (1500, 1.61, "recompute 9 normalisations"), (1200, 1.67, "recompute 31 normalisations"),
                                (900, 1.79, "recompute 52 tensors"), (760, 1.95, "recompute 74 tensors"), (640, 2.21, "2 micro-batches"),
                                (560, 2.74, "4 micro-batches, recompute 40 tensors"), (505, 3.6, "8 micro-batches, recompute 74 tensors")):
        trace.frontier(mib << 20, int((mib << 20) * 0.992), seconds, label, f"--budget {mib}MiB", mib == 1500)
    trace.comparison("arena", peak, peak)
    trace.comparison("process (VmHWM)", peak + (61 << 20), peak + (61 << 20) + 913408)
    trace.named(7, "resident, measured")
    ids = [trace.buffer(b["name"], b["shape"], b["layer"], b["operator"], b["kind"], b["phase"], b["bytes"], b["offset"]) for b in buffers]
    names = [l[0] for l in layers]
    for name in names + [n + " gradient" for n in names]:
        trace.named(9, name)
    for b, i in zip(buffers, ids):
        if b.get("forever"):
            trace.event(16, i)
    for step in range(1, steps + 1):
        trace.event(19, step)
        for tick in range(end):
            phase = 5 if tick == 0 else 2 if tick <= len(layers) else 3
            if tick in (0, 1, len(layers) + 1):
                trace.event(20, argument=phase)
            for b, i in zip(buffers, ids):
                if not b.get("forever") and b["died"] == tick:
                    trace.event(17, i)
            if tick:
                trace.event(21, tick - 1 if tick <= len(layers) else len(names) + (end - 1 - tick))
            for b, i in zip(buffers, ids):
                if not b.get("forever") and b["born"] == tick:
                    trace.event(16, i)
            live = sum(b["bytes"] for b in buffers if b["born"] <= tick < b["died"])
            trace.event(22, 0, values=(live + (61 << 20) + (tick * 7919 % 4096) * 64,))
            trace.now += 6_000_000 if phase == 2 else 10_500_000
        for b, i in zip(buffers, ids):
            if not b.get("forever") and b["died"] >= end:
                trace.event(17, i)
    trace.close(whole)
    print(peak)


def write_million(path, events=1_000_000):
    chance = random.Random(5)
    trace = Trace(path)
    trace.named(8, "a million events")
    trace.number(1, 3 << 30)
    buffers = []
    for i in range(2000):
        kind = KINDS[chance.choice((0, 1, 2, 3, 3, 3, 4, 5))]
        buffers.append(trace.buffer(f"block{i % 50}.tensor{i}", (1024, i + 1), f"block{i % 50}", "MatMul", kind, "forward", 4096 * (i % 97 + 1), NO_OFFSET))
    live, top, free = [], 0, {}
    done, step = 0, 0
    while done < events:
        if done % 20000 == 0:
            step += 1
            trace.event(19, step)
        trace.now += chance.randrange(400, 9000)
        wave = abs((done % 20000) - 10000) / 10000
        if live and (len(live) > 1500 * (1.1 - wave) + 100 or chance.random() < 0.4):
            at = chance.randrange(len(live))
            buffer, offset, size = live[at]
            live[at] = live[-1]
            live.pop()
            free.setdefault(size, []).append(offset)
            trace.event(17, buffer)
        else:
            i = chance.randrange(2000)
            size = 4096 * (i % 97 + 1)
            if free.get(size):
                offset = free[size].pop()
            else:
                offset, top = top, top + size
            live.append((buffers[i], offset, size))
            trace.event(18, buffers[i], values=(offset, size))
        done += 1
    trace.close()


# --- PyTorch ----------------------------------------------------------------------------------------------


class Allocator:
    """As much of a caching allocator as its snapshots show: segments, best fit, splitting, events."""

    def __init__(self, traces=True, limit=None):
        self.segments, self.events, self.next, self.clock = [], [], 0x7F5000000000, 1_700_000_000_000_000
        self.traces, self.limit = traces, limit

    def record(self, action, addr, size, frames):
        self.clock += 37
        if self.traces:
            self.events.append(dict(action=action, addr=addr, size=size, stream=0, time_us=self.clock, frames=frames))

    def alloc(self, size, frames):
        rounded = (size + 511) // 512 * 512
        best = None
        for segment in self.segments:
            for block in segment["blocks"]:
                if block["state"] == "inactive" and block["size"] >= rounded and (best is None or block["size"] < best[1]["size"]):
                    best = (segment, block)
        if best is None:
            whole = max(2 << 20, (rounded + (2 << 20) - 1) // (2 << 20) * (2 << 20))
            if self.limit and sum(s["total_size"] for s in self.segments) + whole > self.limit:
                self.clock += 1
                self.events.append(dict(action="oom", device_free=1 << 20, size=size, stream=0, time_us=self.clock, frames=frames))
                return None
            segment = dict(device=0, address=self.next, total_size=whole, allocated_size=0, active_size=0, requested_size=0, stream=0,
                           segment_type="large", segment_pool_id=(0, 0), is_expandable=False, frames=frames, blocks=[])
            block = dict(address=self.next, size=whole, requested_size=0, state="inactive", frames=[])
            segment["blocks"].append(block)
            self.segments.append(segment)
            self.record("segment_alloc", self.next, whole, frames)
            self.next += whole + (64 << 20)
            best = (segment, block)
        segment, block = best
        if block["size"] - rounded >= 512:
            rest = dict(address=block["address"] + rounded, size=block["size"] - rounded, requested_size=0, state="inactive", frames=[])
            segment["blocks"].insert(segment["blocks"].index(block) + 1, rest)
            block["size"] = rounded
        block.update(state="active_allocated", requested_size=size, frames=frames)
        segment["allocated_size"] += rounded
        segment["active_size"] += rounded
        self.record("alloc", block["address"], size, frames)
        return segment, block

    def free(self, handle):
        segment, block = handle
        self.record("free_requested", block["address"], block["requested_size"], block["frames"])
        self.record("free_completed", block["address"], block["requested_size"], block["frames"])
        segment["allocated_size"] -= block["size"]
        segment["active_size"] -= block["size"]
        block.update(state="inactive", requested_size=0, frames=[])
        merged = []
        for b in segment["blocks"]:
            if merged and merged[-1]["state"] == b["state"] == "inactive":
                merged[-1]["size"] += b["size"]
            else:
                merged.append(b)
        segment["blocks"] = merged

    def snapshot(self, old=False):
        if old:
            out = []
            for s in self.segments:
                s = dict(s, blocks=[dict(size=b["size"], state=b["state"],
                                         **({"history": [dict(addr=b["address"], real_size=b["requested_size"], frames=b["frames"])]}
                                            if b["state"] != "inactive" else {})) for b in s["blocks"]])
                out.append(s)
            return out
        return dict(segments=self.segments, device_traces=[self.events], allocator_settings=dict(PYTORCH_CUDA_ALLOC_CONF="", max_split_size=-1),
                    external_annotations=[])


def frames(*calls):
    return [dict(filename=f"/home/me/project/{f}", line=line, name=name) for f, line, name in calls] + [
        dict(filename="/home/me/project/train.py", line=88, name="<module>")]


def run_loop(kind, steps=12, traces=True, limit=None):
    memory = Allocator(traces, limit)
    for i in range(6):
        memory.alloc(4 << 20, frames(("model.py", 12 + i, "__init__")))
    sites = [frames(("model.py", 40 + i, "forward"), ("train.py", 61, "step")) for i in range(8)]
    kept = []
    for step in range(steps):
        batch = memory.alloc(3 << 20, frames(("data.py", 30, "to_device"), ("train.py", 60, "step")))
        acts = [memory.alloc((2 + i) << 20, site) for i, site in enumerate(sites)]
        loss = memory.alloc(1 << 10, frames(("train.py", 62, "step")))
        if kind == "leaking":
            kept.append(memory.alloc(768 << 10, frames(("metrics.py", 17, "remember"), ("train.py", 64, "step"))))
        for a in reversed(acts):
            if a:
                memory.free(a)
        for h in (loss, batch):
            if h:
                memory.free(h)
    return memory


def fragmenting(steps=14):
    """Each step needs a buffer a little larger than any hole that the steps before left."""
    memory = Allocator(True)
    kept = []
    for i in range(4):
        memory.alloc(4 << 20, frames(("model.py", 12 + i, "__init__")))
    for step in range(steps):
        batch = memory.alloc(1 << 20, frames(("data.py", 30, "to_device"), ("train.py", 60, "step")))
        long = memory.alloc((8 + step) << 20, frames(("model.py", 44, "attention"), ("train.py", 61, "step")))
        note = memory.alloc(64 << 10, frames(("metrics.py", 9, "update"), ("train.py", 64, "step")))
        kept.append(note)
        memory.free(long)
        memory.free(batch)
        if len(kept) > 4:
            memory.free(kept.pop(0))
    return memory


def write_snapshot(path, protocol, loop, traces, old, oom):
    memory = fragmenting() if loop == "fragmenting" else run_loop(loop, traces=traces, limit=(64 << 20) if oom else None)
    if not traces:
        memory.events = []
    with open(path, "wb") as out:
        pickle.dump(memory.snapshot(old), out, protocol=protocol)


def write_refusal(path):
    """Twelve blocks from one line and one of the backward pass; 96 MiB more are refused, then most is freed."""
    def frame(text, line, name):
        return {"filename": text, "line": line, "name": name}

    machinery = [frame("??", 0, "torch::unwind::unwind()"), frame("", 0, "c10::cuda::CUDACachingAllocator::malloc()")]
    own = machinery + [frame("/home/me/net.py", 7, "forward"), frame("/home/me/train.py", 30, "main")]
    backward = machinery + [frame("??", 0, "torch::autograd::generated::ReluBackward0::apply(std::vector<at::Tensor>&&)")]
    refused = machinery + [frame("/home/me/net.py", 9, "forward"), frame("/home/me/train.py", 30, "main")]
    base, mib, events, time = 0x7F0000000000, 1 << 20, [], 1_700_000_000_000_000

    def event(action, address, size, frames, **more):
        nonlocal time
        time += 50
        events.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "frames": frames, **more})

    event("segment_alloc", base, 200 * mib, own)
    for i in range(12):
        event("alloc", base + i * 10 * mib, 10 * mib, own)
    event("alloc", base + 120 * mib, 30 * mib, backward)
    event("oom", 0, 96 * mib, refused, device_free=20 * mib)
    for i in range(12):
        event("free_requested", base + i * 10 * mib, 10 * mib, own)
        event("free_completed", base + i * 10 * mib, 10 * mib, own)
    blocks = [{"size": 120 * mib, "requested_size": 0, "state": "inactive", "frames": []},
              {"size": 30 * mib, "requested_size": 30 * mib, "state": "active_allocated", "frames": backward},
              {"size": 50 * mib, "requested_size": 0, "state": "inactive", "frames": []}]
    segment = {"address": base, "total_size": 200 * mib, "stream": 0, "segment_type": "large", "device": 0, "blocks": blocks}
    with open(path, "wb") as out:
        pickle.dump({"segments": [segment], "device_traces": [events]}, out, protocol=4)


def write_big_snapshot(path, size):
    """A gigabyte of Python dicts would take many gigabytes, so one batch of events is pickled and repeated: MEMOIZE
    gives every repetition its own memo numbers, and what is shared (keys, stacks) has the numbers of the head."""
    memo = {}

    def once(key, data):
        if key in memo:
            return b"j" + struct.pack("<I", memo[key])
        out = data() if callable(data) else data
        memo[key] = memo.setdefault("count", 0)
        memo["count"] += 1
        return out + b"\x94"

    def text(t):
        return once(t, b"\x8c" + bytes([len(t)]) + t)

    def number(n):
        return b"K" + bytes([n]) if n < 256 else b"J" + struct.pack("<i", n) if n < 2**31 else b"\x8a\x07" + n.to_bytes(7, "little")

    def stack(i):
        # the list gets its number before its frames do, as CPython does it
        if ("stack", i) in memo:
            return once(("stack", i), b"")
        out = once(("stack", i), b"]") + b"("
        for f, name in ((b"model.py", b"forward"), (b"train.py", b"step"), (b"train.py", b"main")):
            out += once(("frame", i, f, name), b"}") + b"(" + text(b"filename") + text(b"/src/" + f) + text(b"line") + number(i + 10) + text(b"name") + text(name) + b"u"
        return out + b"e"

    def event(action, addr, n, time, i):
        memo["count"] += 1  # the dict itself
        return (b"}\x94(" + text(b"action") + text(action) + text(b"addr") + number(addr) + text(b"size") + number(n) + text(b"stream") + b"K\0"
                + text(b"time_us") + number(time) + text(b"frames") + stack(i) + b"u")

    def batch():
        """A thousand events that leave nothing behind."""
        chance, live, out, time = random.Random(11), [], [], 1_700_000_000_000_000
        while len(out) < 998 or live:
            time += 11
            if live and (len(out) + 2 * len(live) >= 998 or chance.random() < 0.45):
                addr, i, n = live.pop(chance.randrange(len(live)))
                out += [event(b"free_requested", addr, n, time, i), event(b"free_completed", addr, n, time + 3, i)]
            else:
                i = len(out) % 500
                live.append((0x7F0000000000 + len(out) * 2048000, i, 512 * chance.randrange(1, 4000)))
                out.append(event(b"alloc", *live[-1][::2], time, i))
        return b"(" + b"".join(out) + b"e"

    with open(path, "wb") as out:
        out.write(b"\x80\x04" + once("root", b"}") + b"(" + text(b"segments") + once("segments list", b"]") + text(b"device_traces") + once("traces", b"]")
                  + once("device 0", b"]"))
        head = batch()  # writes keys and stacks
        again = batch()
        out.write(head)
        for _ in range(max(0, size - len(head)) // len(again)):
            out.write(again)
        out.write(b"a" + text(b"allocator_settings") + b"}" + b"u.")


def write_hostile(path):
    trace = Trace(path)
    trace.named(8, "</script><script>window.broken=1</script>")
    trace.fact("<b>batch</b>", "\"'&amp;")
    names = ["<img src=x onerror=window.broken=2>", "</script><script>window.broken=3</script>", "\"quoted\" 'name'", b"not \xff\xfe utf-8", "日本語 テンソル", "a" * 4000,
             "line\nbreak\ttab", "__proto__", "=1+1,\"x\""]
    for i, name in enumerate(names):
        b = trace.buffer(name, (i + 1,), name, name, "activation", "forward", 1000 * (i + 1), 0)
        trace.event(18, b, values=(10000 * i, 1000 * (i + 1)))
    trace.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("out")
    parser.add_argument("size", nargs="?", type=int, default=1 << 30)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--protocol", type=int, default=4)
    parser.add_argument("--loop", default="healthy")
    parser.add_argument("--no-traces", action="store_true")
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--oom", action="store_true")
    parser.add_argument("--cut", action="store_true")
    a = parser.parse_args()
    if a.what == "trace":
        write_training(a.out, a.steps, whole=not a.cut)
    elif a.what == "million":
        write_million(a.out)
    elif a.what == "snapshot":
        write_snapshot(a.out, a.protocol, a.loop, not a.no_traces, a.old, a.oom)
    elif a.what == "big-snapshot":
        write_big_snapshot(a.out, a.size)
    elif a.what == "hostile-names":
        write_hostile(a.out)
    else:
        parser.error(a.what)


if __name__ == "__main__":
    main()
