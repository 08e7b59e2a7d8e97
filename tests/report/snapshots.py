#!/usr/bin/env python3
"""Snapshots and dumps in and out: snapshots.py PROGRAM OUT [--torch PYTHON]. CPython's pickle is the oracle for
reading, PyTorch's own _memory_viz.py (when a Python with torch is given) for what is written."""
import argparse
import csv
import io
import json
import os
import pickle
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import samples  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("out")
parser.add_argument("--torch")
arguments, rest = parser.parse_known_args()
program, out = arguments.program, arguments.out


def path(name):
    return os.path.join(out, name)


def run(*words):
    return subprocess.run([program, "report", *words], capture_output=True, text=True, timeout=300)


def report(*words):
    done = run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(name, *words):
    return json.loads(report(path(name), "--json", *words))


def oracle(snapshot):
    """Peak, reserved and allocated bytes, from the pickle itself."""
    live = {}
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                live[at] = block["requested_size"]
            at += block["size"]
    for event in reversed(snapshot["device_traces"][0]):
        if event["action"] == "alloc":
            live.pop(event["addr"], None)
        elif event["action"] == "free_completed":
            live[event["addr"]] = event["size"]
    now = peak = sum(live.values())
    for event in snapshot["device_traces"][0]:
        now += {"alloc": event["size"], "free_completed": -event["size"]}.get(event["action"], 0)
        peak = max(peak, now)
    blocks = [b for s in snapshot["segments"] for b in s["blocks"]]
    return dict(peak=peak, reserved=sum(s["total_size"] for s in snapshot["segments"]), allocated=sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
                unused=sum(b["size"] for b in blocks if b["state"] == "inactive"))


class Snapshots(unittest.TestCase):
    def check(self, name, snapshot):
        want, got = oracle(snapshot), read(name)
        self.assertEqual(got["peak"]["bytes"], want["peak"])
        self.assertEqual(got["allocator"]["reserved_bytes"], want["reserved"])
        self.assertEqual(got["allocator"]["allocated_bytes"], want["allocated"])
        self.assertEqual(got["allocator"]["unused_bytes"], want["unused"])
        return got

    def test_every_protocol_gives_the_same_report(self):
        for traces in (True, False):
            reports = []
            for protocol in range(6):
                samples.write_snapshot(path("s.pickle"), protocol, "leaking", traces, False, False)
                with open(path("s.pickle"), "rb") as f:
                    reports.append(self.check("s.pickle", pickle.load(f)))
            for other in reports[1:]:
                self.assertEqual(other, reports[0])

    def test_python_pickler_without_c_acceleration_gives_the_same(self):
        memory = samples.run_loop("healthy")
        with open(path("s.pickle"), "wb") as f:
            pickle._Pickler(f, 2).dump(memory.snapshot())
        self.check("s.pickle", memory.snapshot())

    def test_times_are_those_of_the_events(self):
        memory = samples.run_loop("healthy")
        with open(path("s.pickle"), "wb") as f:
            pickle.dump(memory.snapshot(), f)
        ticks = [e["time_us"] for e in memory.events if e["action"] in ("alloc", "free_completed")]
        got = read("s.pickle")
        self.assertAlmostEqual(got["seconds"], (ticks[-1] - ticks[0]) * 1e-6, places=9)
        self.assertAlmostEqual(got["peak"]["seconds"], (ticks[got["peak"]["tick"]] - ticks[0]) * 1e-6, places=9)

    def test_the_old_form_is_read(self):
        memory = samples.run_loop("leaking")
        with open(path("old.pickle"), "wb") as f:
            pickle.dump(memory.snapshot(old=True), f)
        got = read("old.pickle")
        self.assertEqual(got["allocator"]["reserved_bytes"], oracle(memory.snapshot())["reserved"])
        self.assertEqual(got["peak"]["bytes"], sum(b["requested_size"] for s in memory.segments for b in s["blocks"] if b["state"] != "inactive"))
        self.assertTrue(any("metrics.py:17" in f for h in got["peak"]["holders"] for f in h.get("stack", [])) or got["lifetimes"] > 10)

    def test_what_was_there_before_the_trace_is_counted(self):
        memory = samples.run_loop("healthy")
        snapshot = memory.snapshot()
        snapshot["device_traces"][0] = snapshot["device_traces"][0][60:]
        with open(path("ring.pickle"), "wb") as f:
            pickle.dump(snapshot, f)
        self.check("ring.pickle", snapshot)

    def test_out_of_memory_events_are_told(self):
        samples.write_snapshot(path("oom.pickle"), 4, "leaking", True, False, True)
        got = read("oom.pickle")
        self.assertGreater(len(got["out_of_memory"]), 0)
        self.assertEqual(got["out_of_memory"][0]["requested_bytes"] % (1 << 10), 0)
        self.assertIn("1.0 MiB free on the device", got["out_of_memory"][0]["text"])

    def test_devices_are_told_apart(self):
        one, two = samples.run_loop("healthy", steps=5), samples.run_loop("leaking", steps=9)
        for segment in two.segments:
            segment["device"] = 2
            segment["address"] += 1 << 44
            for block in segment["blocks"]:
                block["address"] += 1 << 44
        for event in two.events:
            event["addr"] = event.get("addr", 0) + (1 << 44)
        snapshot = one.snapshot()
        snapshot["segments"] = one.segments + two.segments
        snapshot["device_traces"] = [one.events, [], two.events]
        for protocol in (0, 4):
            with open(path("devices.pickle"), "wb") as f:
                pickle.dump(snapshot, f, protocol=protocol)
            for device, memory in ((0, one), (2, two)):
                self.assertEqual(read("devices.pickle", "--device", str(device))["peak"]["bytes"], oracle(memory.snapshot())["peak"])
        self.assertEqual(run(path("devices.pickle"), "--device", "7", "--json").returncode, 1)

    def test_loops_are_named_for_what_they_do(self):
        verdicts = {}
        for loop in ("healthy", "leaking", "fragmenting"):
            samples.write_snapshot(path(loop + ".pickle"), 4, loop, True, False, False)
            got = read(loop + ".pickle", "--budget", "1GiB")
            verdicts[loop] = (got["loop"]["leaking"], got["loop"]["fragmenting"])
            if loop == "leaking":
                leak = got["loop"]["leaks"][0]
                self.assertIn("metrics.py:17 remember", leak["stack"][0])
                self.assertEqual(leak["bytes_per_step"], 768 << 10)
                self.assertGreater(got["loop"]["runs_out_at_step"], 100)
        self.assertEqual(verdicts, {"healthy": (False, False), "leaking": (True, False), "fragmenting": (False, True)})
        text = report(path("fragmenting.pickle"), "--text")
        self.assertIn("fragmenting", text)
        self.assertNotIn("leaking", report(path("healthy.pickle"), "--text"))

    def test_hostile_pickles_are_refused(self):
        class Evil:
            def __reduce__(self):
                return os.system, ("touch " + path("owned"),)

        cyclic = []
        cyclic.append(cyclic)
        loop = {"segments": cyclic}
        loop["device_traces"] = loop
        for value in (Evil(), {"segments": [Evil()], "device_traces": [[Evil()]]}, cyclic, loop, {"segments": 5}, 7, "text", {"segments": [{"total_size": 2**70, "blocks": [{"state": "inactive", "size": -3}]}]},
                      {"segments": [{"address": 2**63, "total_size": 2**63, "blocks": [{"state": "active_allocated", "size": 2**62, "requested_size": 2**62}] * 8}]},
                      {"segments": [], "device_traces": [[{"action": "alloc", "addr": 2**63 - 1, "size": 2**62}] * 9]}):
            for protocol in (0, 2, 4):
                with open(path("hostile.pickle"), "wb") as f:
                    pickle.dump(value, f, protocol=protocol)
                done = run(path("hostile.pickle"), "--json")
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertEqual(done.returncode == 1, done.stdout == "")
                self.assertLessEqual(done.stderr.count("\n"), 1)
        self.assertFalse(os.path.exists(path("owned")))

    def test_an_allocation_of_an_impossible_size_is_refused_and_not_left_out(self):
        good = {"action": "alloc", "addr": 2**40, "size": 512, "stream": 0, "frames": []}
        for size in (-5, 2**63, 2**70, "many"):
            with open(path("impossible.pickle"), "wb") as f:
                pickle.dump({"segments": [], "device_traces": [[good, dict(good, addr=2**41, size=size)]]}, f)
            done = run(path("impossible.pickle"), "--json")
            self.assertEqual(done.returncode, 1, size)
            self.assertIn("event 1 allocates a size that no device has", done.stderr)

    def test_truncated_pickles_are_refused_with_one_line(self):
        samples.write_snapshot(path("whole.pickle"), 2, "leaking", True, False, False)
        with open(path("whole.pickle"), "rb") as f:
            whole = f.read()
        for cut in list(range(2, 200, 7)) + list(range(200, len(whole) - 1, len(whole) // 40)):
            with open(path("cut.pickle"), "wb") as f:
                f.write(whole[:cut])
            done = run(path("cut.pickle"), "--json")
            self.assertEqual((done.returncode, done.stdout), (1, ""), cut)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn("cut.pickle", done.stderr)

    def test_long_snapshots_take_little_memory(self):
        with open(program, "rb") as f:
            if b"__asan_init" in f.read():
                self.skipTest("sanitizers keep freed memory")
        samples.write_big_snapshot(path("big.pickle"), 100_000_000)
        done = subprocess.run([sys.executable, "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
                               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", program, "report", path("big.pickle"), "-o", path("big.html")],
                              capture_output=True, text=True, check=True)
        os.unlink(path("big.pickle"))
        # a tenth of the 400 MiB that a gigabyte may take, and what the program itself takes
        self.assertLess(int(done.stdout) << 10, 64 << 20)


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keep, sys.stdout = sys.stdout, io.StringIO()
        samples.write_training(path("run.trace"), 2)
        sys.stdout = keep
        cls.json = read("run.trace")
        report(path("run.trace"), "--export", "torch-snapshot", "-o", path("run.pickle"))

    def test_the_torch_export_holds_the_same_peak(self):
        with open(path("run.pickle"), "rb") as f:
            snapshot = pickle.load(f)
        self.assertEqual(oracle(snapshot)["peak"], self.json["peak"]["bytes"])
        for segment in snapshot["segments"]:
            self.assertEqual(sum(b["size"] for b in segment["blocks"]), segment["total_size"])
        again = read("run.pickle")
        self.assertEqual(again["peak"]["bytes"], self.json["peak"]["bytes"])
        self.assertEqual(again["arena_bytes"], self.json["arena_bytes"])
        self.assertEqual(again["held_at_end_bytes"], self.json["held_at_end_bytes"])

    def test_an_exported_snapshot_comes_back_with_its_stacks(self):
        samples.write_snapshot(path("in.pickle"), 4, "leaking", True, False, True)
        report(path("in.pickle"), "--export", "torch-snapshot", "-o", path("back.pickle"))
        first, second = read("in.pickle"), read("back.pickle")
        self.assertEqual(first["peak"]["holders"][0]["stack"], second["peak"]["holders"][0]["stack"])
        self.assertEqual(first["peak"]["bytes"], second["peak"]["bytes"])
        self.assertEqual(len(first["out_of_memory"]), len(second["out_of_memory"]))

    def check_with_pytorchs_tool(self, snapshot, *weights):
        """Its commands stats, trace and segments. The last one draws with a script that it downloads: a stand-in that
        passes the lines on is where it would be."""
        if not arguments.torch:
            self.skipTest("no Python with torch was given")
        find = "import importlib.util, os; print(os.path.join(os.path.dirname(importlib.util.find_spec('torch').origin), 'cuda', '_memory_viz.py'))"
        tool = subprocess.run([arguments.torch, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
        stats = subprocess.run([arguments.torch, tool, "stats", snapshot], capture_output=True, text=True)
        self.assertEqual(stats.returncode, 0, stats.stderr)
        self.assertIn("segments: 1", stats.stdout)
        trace = subprocess.run([arguments.torch, tool, "trace", snapshot], capture_output=True, text=True)
        self.assertEqual(trace.returncode, 0, trace.stderr)
        self.assertIn("cudaMalloc", trace.stdout)
        script = "import sys, importlib.util; s = importlib.util.spec_from_file_location('viz', sys.argv[1]); m = importlib.util.module_from_spec(s); s.loader.exec_module(m);" \
                 "import pickle; d = pickle.load(open(sys.argv[2], 'rb')); print(m.segments(d, lambda text: text)); print(len(m.trace_plot(d)), len(m.segment_plot(d)))"
        segments = subprocess.run([arguments.torch, "-c", script, tool, snapshot], capture_output=True, text=True)
        self.assertEqual(segments.returncode, 0, segments.stderr)
        self.assertIn("active_allocated;", segments.stdout)
        for name in weights:
            self.assertIn(name, segments.stdout)
        with open(snapshot, "rb") as f:
            self.assertIn("%d entries" % len(pickle.load(f)["device_traces"][0]), trace.stdout)
        with open(tool) as f:
            if 'expanduser("~/.cache/")' not in f.read():  # older versions keep it where all users would see it
                return
        cache = path("home/.cache")
        os.makedirs(cache, exist_ok=True)
        with open(os.path.join(cache, "flamegraph.pl"), "w") as f:
            f.write("#!/bin/sh\ncat\n")
        os.chmod(f.name, 0o755)
        drawn = subprocess.run([arguments.torch, tool, "segments", snapshot, "-o", path("segments.svg")], capture_output=True, text=True, env={**os.environ, "HOME": path("home")})
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        with open(path("segments.svg")) as f:
            self.assertIn("active_allocated;", f.read())

    def test_pytorchs_own_tool_reads_the_export(self):
        self.check_with_pytorchs_tool(path("run.pickle"), "conv1.weight")

    def test_pytorchs_own_tool_reads_the_export_of_a_training(self):
        subprocess.run([program, "zoo", "lenet", "-o", path("lenet.onnx")], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([program, "train", path("lenet.onnx"), "--data", "synthetic", "--batch", "8", "--steps", "5", "--threads", "1", "--trace", path("lenet.trace"), "--json"],
                       check=True, stdout=subprocess.DEVNULL)
        report(path("lenet.trace"), "--export", "torch-snapshot", "-o", path("lenet.pickle"))
        got = read("lenet.trace")
        with open(path("lenet.pickle"), "rb") as f:
            snapshot = pickle.load(f)
        self.assertEqual(oracle(snapshot)["peak"], got["peak"]["bytes"])
        weights = [h["name"] for h in got["peak"]["holders"] if h["kind"] == "weight"]
        self.assertGreater(len(weights), 0)
        self.check_with_pytorchs_tool(path("lenet.pickle"), *weights)

    def test_perfetto_is_json_with_the_same_peak(self):
        report(path("run.trace"), "--export", "perfetto", "-o", path("run.json"))
        with open(path("run.json")) as f:
            events = json.load(f)["traceEvents"]
        self.assertEqual(max(sum(e["args"].values()) for e in events if e["ph"] == "C"), self.json["peak"]["bytes"])
        self.assertEqual(sum(e["ph"] == "b" for e in events), self.json["lifetimes"])
        self.assertTrue(any(e["ph"] == "X" and e["name"] == "step 2" for e in events))

    def test_csv_is_csv_with_the_same_peak(self):
        samples.write_hostile(path("names.trace"))
        report(path("names.trace"), "--export", "csv", "-o", path("names.csv"))
        with open(path("names.csv"), newline="", encoding="utf-8") as f:
            names = [row["name"] for row in csv.DictReader(f)]
        self.assertIn("line\nbreak\ttab", names)
        self.assertIn("not \ufffd\ufffd utf-8", names)
        report(path("run.trace"), "--export", "csv", "-o", path("run.csv"))
        with open(path("run.csv"), newline="") as f:
            self.assertEqual(sum(int(r["bytes"]) for r in csv.DictReader(f) if r["at_peak"] == "1"), self.json["peak"]["bytes"])


class Dumps(unittest.TestCase):
    LOG = ("2021-01-10 02:12:34: W tensorflow/tsl/framework/bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)requested by op MatMul\n"
           "I tensorflow/core/common_runtime/bfc_allocator.cc:1046] BFCAllocator dump for GPU_0_bfc\n"
           "I bfc_allocator.cc:1083] Next region of size 4096\n"
           "\x1b[31mI bfc_allocator.cc:1090] InUse at 7ff901200000 of size 1280 by op ScratchBuffer action_count 1 step 0 next 1\x1b[0m\n"
           "I bfc_allocator.cc:1090] Free  at 7ff901200500 of size 768 by op UNUSED action_count 0 step 0 next 2\n"
           "I bfc_allocator.cc:1090] InUse at 7ff901200800 of size 2048 by op conv1/kernel action_count 3 step 0 next 18446744073709551615\n"
           "I bfc_allocator.cc:1083] Next region of size 8192\n"
           "I bfc_allocator.cc:1090] InUse at 7ff902000000 of size 8192 next 4\n"
           "I bfc_allocator.cc:1115] Stats: \nLimit:          1073741824\nInUse: 11520\n")

    def test_a_tensorflow_dump_becomes_map_and_table(self):
        with open(path("tf.log"), "w") as f:
            f.write("epoch 1\n" + self.LOG)
        got = read("tf.log")
        self.assertEqual(got["source"], "tensorflow-dump")
        self.assertEqual(got["peak"]["bytes"], 1280 + 2048 + 8192)
        self.assertEqual(got["allocator"]["segments"], 2)
        self.assertEqual(got["allocator"]["unused_bytes"], 768)
        self.assertEqual(got["capacity_bytes"], 1 << 30)
        self.assertEqual(got["out_of_memory"][0]["requested_bytes"], 1 << 20)
        self.assertEqual({h["name"]: h["offset"] for h in got["peak"]["holders"]}, {"ScratchBuffer": 0, "conv1/kernel": 2048, "chunk at 7ff902000000": 4096})
        report(path("tf.log"), "-o", path("tf.html"))

    def test_older_logs_and_several_dumps_are_read(self):
        with open(path("tf.log"), "w") as f:
            f.write("I Chunk at 0x10208800000 of size 256\nI Chunk at 0x10208800100 of size 512\nI Free at 0x10208800300 of size 256\n" + self.LOG)
        self.assertEqual(read("tf.log")["peak"]["bytes"], 1280 + 2048 + 8192)


class BadInput(unittest.TestCase):
    def refuse(self, words, *said, code=1):
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        for part in said:
            self.assertIn(part, done.stderr)
        if code == 1:
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_files_that_are_nothing_are_named(self):
        with open(path("empty"), "w"):
            pass
        with open(path("words.txt"), "w") as f:
            f.write("hello\n")
        with open(path("other.pickle"), "wb") as f:
            pickle.dump({"a": 1}, f)
        self.refuse([path("empty"), "--json"], "empty")
        self.refuse([path("words.txt"), "--json"], "words.txt")
        self.refuse([path("other.pickle"), "--json"], "not a PyTorch memory snapshot")
        self.refuse([path("missing.trace"), "--json"], "missing.trace", "No such file")
        self.refuse([out, "--json"], out)

    def test_a_report_that_cannot_be_written_leaves_nothing(self):
        samples.Trace(path("empty.trace")).close()
        self.refuse([path("empty.trace"), "-o", path("no/such/folder/x.html")], "no/such/folder/x.html")
        for format in ("torch-snapshot", "perfetto", "csv"):
            self.refuse([path("empty.trace"), "--export", format, "-o", path("no/such/folder/x")], "no/such/folder/x")
        self.assertFalse(os.path.exists(path("no")))

    def test_the_file_that_is_read_is_never_written_over(self):
        samples.Trace(path("only.trace")).close()
        samples.Trace(path("only.html")).close()  # without -o the page would have this very name
        with open(path("only.trace"), "rb") as f:
            before = f.read()
        self.refuse([path("only.trace"), "-o", path("only.trace")], "only.trace")
        self.refuse([path("only.trace"), "--export", "csv", "-o", os.path.join(out, ".", "only.trace")], "only.trace")
        here = os.getcwd()
        os.chdir(out)
        try:
            done = subprocess.run([os.path.join(here, program), "report", "only.html"], capture_output=True, text=True)
        finally:
            os.chdir(here)
        self.assertEqual(done.returncode, 1, done.stdout)
        for name in ("only.trace", "only.html"):
            with open(path(name), "rb") as f:
                self.assertEqual(f.read()[:8], before[:8])

    def test_wrong_command_lines_are_usage_errors(self):
        self.refuse([], "give one file", code=2)
        self.refuse([path("empty.trace"), "--export", "pdf", "-o", "x"], "torch-snapshot", code=2)
        self.refuse([path("empty.trace"), "--export", "csv"], "-o", code=2)

    def test_zero_events_export_too(self):
        samples.Trace(path("empty.trace")).close()
        self.assertIn("no buffer was recorded", report(path("empty.trace"), "--text"))
        self.assertEqual(read("empty.trace")["peak"]["bytes"], 0)
        for format in ("torch-snapshot", "perfetto", "csv"):
            report(path("empty.trace"), "--export", format, "-o", path("empty." + format))
        with open(path("empty.torch-snapshot"), "rb") as f:
            self.assertEqual(pickle.load(f)["segments"], [])
        self.assertEqual(read("empty.torch-snapshot")["events"], 0)

    def test_a_cut_trace_is_shown_and_says_so(self):
        keep, sys.stdout = sys.stdout, io.StringIO()
        samples.write_training(path("run.trace"), 1)
        sys.stdout = keep
        with open(path("run.trace"), "rb") as f:
            whole = f.read()
        with open(path("cut.trace"), "wb") as f:
            f.write(whole[: len(whole) * 3 // 4 + 3])
        got = read("cut.trace")
        self.assertIn("cut off", got["cut"])
        self.assertGreater(got["events"], 100)
        self.assertIn("everything up to there is shown", " ".join(report(path("cut.trace"), "--text").split()))


if __name__ == "__main__":
    os.makedirs(out, exist_ok=True)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)
