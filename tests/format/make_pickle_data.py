"""Makes tests/format/data/pickle with CPython: the same value in every protocol, with everything that pickles
know, and small PyTorch-like memory snapshots in the old and the new form."""
import collections, decimal, pathlib, pickle

here = pathlib.Path(__file__).parent / "data" / "pickle"
here.mkdir(parents=True, exist_ok=True)


class Thing:
    def __init__(self):
        self.size = 7


Thing.__module__ = "nowhere.to.be.found"
import sys, types
module = types.ModuleType("nowhere.to.be.found")
module.Thing = Thing
for name in ("nowhere", "nowhere.to", "nowhere.to.be", "nowhere.to.be.found"):
    sys.modules[name] = module if name.endswith("found") else types.ModuleType(name)

shared = ["shared"]
everything = {
    "none": None, "true": True, "false": False,
    "ints": [0, 1, -1, 255, 256, 65535, 65536, 2**31 - 1, -2**31, 2**31, 2**62, -2**62, 2**63 - 1, -2**63],
    "big": [2**63, 2**64 - 1, 2**64, -2**63 - 1, 2**100, -2**100],
    "address": 0x7F3A_8000_0000, "high": 0xFFFF_FFFF_0000_0000,
    "floats": [0.0, -1.5, 1e300, float("inf")],
    "text": ["", "plain", "quote ' and \" and \\ and \n", "é", "日本語", "😀", "x" * 300, "nul\0inside"],
    "bytes": [b"", b"raw\x00\xff", b"y" * 300],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "set": {5}, "frozen": frozenset({6}),
    "first": shared, "second": shared,
    "ordered": collections.OrderedDict([("a", 1), ("b", 2)]),
    "counter": collections.defaultdict(list, {"k": [9]}),
    "thing": Thing(), "class": Thing, "decimal": decimal.Decimal("1.5"),
    "long list": list(range(1200)), "long dict": {i: -i for i in range(1200)},
}
for protocol in range(6):
    (here / f"everything-{protocol}.pickle").write_bytes(pickle.dumps(everything, protocol))

loop = ["loop"]
loop.append(loop)
(here / "cycle.pickle").write_bytes(pickle.dumps(loop, 4))


class Evil:
    def __reduce__(self):
        import os
        return os.system, ("touch /tmp/plimsoll-was-here",)


(here / "evil.pickle").write_bytes(pickle.dumps({"safe": 1, "evil": Evil()}, 4))

frames = [{"filename": f"file{i % 3}.py", "name": f"f{i}", "line": i} for i in range(5)]
stacks = [frames[:3], frames[1:], frames[::2]]
events = [{"action": "alloc" if i % 2 == 0 else "free_completed", "addr": 0x7F0000000000 + 512 * (i // 2), "size": 512,
           "stream": 0, "time_us": 1_700_000_000_000_000 + i, "frames": stacks[i // 2 % 3]} for i in range(300)]
segments = [{"device": 0, "address": 0x7F0000000000, "total_size": 2097152, "stream": 0, "segment_type": "small",
             "blocks": [{"size": 512, "state": "active_allocated", "address": 0x7F0000000000, "frames": stacks[0]}]}]
new = {"segments": segments, "device_traces": [events], "allocator_settings": {"expandable_segments": False}}
for protocol in range(6):
    (here / f"snapshot-{protocol}.pickle").write_bytes(pickle.dumps(new, protocol))
(here / "snapshot-old.pickle").write_bytes(pickle.dumps(segments, 4))
