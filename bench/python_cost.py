"""What the Python package costs, in processor time: an update by plimsoll.Trainer beside the command's, and the hook.

usage: python_cost.py PLIMSOLL [--rounds N] [--steps N] [--starts N] [--models NAME:BATCH,...]

Runs are interleaved. An update is the difference between a long and a short run of the same program over the number of updates
between them, so that starting and planning do not count; both read the same arrays, with one thread. The median over rounds
is printed, with the share that the package adds. What the hook costs is measured at the start of a program, in blocks of
PyTorch's training steps with and without it by turns, and where an exception is caught. Needs NumPy and the package, and
PyTorch for the steps.
"""
import argparse
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np

TRAIN = """
import sys, numpy as np, plimsoll
path, data, batch, steps, kind = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
arrays = np.load(data)
x, y = arrays["image"], arrays["label"]
trainer = plimsoll.Trainer(path, optimizer="sgd", learning_rate=0.01, batch=batch, threads=1)
if kind == "batches":
    made = [(x[i:i + batch], y[i:i + batch]) for i in range(0, len(x), batch)]
    trainer.fit(made, epochs=10**6, steps=steps, verbose=0)
else:
    trainer.fit((x, y), epochs=10**6, steps=steps, verbose=0)
assert trainer.updates == steps
"""
RAISE = """
import sys, time
if sys.argv[1] == "hook": import plimsoll.hook
def fail(): raise MemoryError("no")
start = time.process_time()
for _ in range(200000):
    try: fail()
    except MemoryError: pass
print(time.process_time() - start)
"""
STEPS = """
import random, statistics, time, plimsoll, torch
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), 0.01)
x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
def block():
    start = time.process_time_ns()
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return (time.process_time_ns() - start) / 1e5
for _ in range(5): block()
made = {False: [], True: []}
for _ in range(ROUNDS):
    for hooked in random.sample([False, True], 2):
        (plimsoll.watch if hooked else plimsoll.unwatch)()
        made[hooked].append(block())
differences = sorted(b - a for a, b in zip(made[False], made[True]))
print("%.2f us without, %.2f with; median of the differences %+.2f us, the middle half of them %+.2f to %+.2f" % (
    statistics.median(made[False]), statistics.median(made[True]), statistics.median(differences),
    differences[len(differences) // 4], differences[3 * len(differences) // 4]))
"""


def seconds(command):
    """Processor time of a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = dict(os.environ, OMP_WAIT_POLICY="passive", PLIMSOLL_COSTS="default", OMP_NUM_THREADS="1")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True, check=False)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(command), done.stderr[-2000:]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def updates(program, name, batch, options, folder):
    """{how: milliseconds of each round}"""
    model, data = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".npz")
    seconds([program, "zoo", name, "-o", model])
    from plimsoll import _native
    shape = _native.Graph.load(model).inputs()[0][2][1:]
    generator = np.random.default_rng(0)
    np.savez(data, image=generator.normal(size=[8 * batch] + shape).astype("f4"), label=generator.integers(0, 10, 8 * batch))
    short, long = 10, 10 + options.steps
    command = [program, "train", model, "--data", data, "--batch", str(batch), "--optimizer", "sgd", "--lr", "0.01", "--threads",
               "1", "--quiet", "--steps"]
    ways = {"command": lambda steps: command + [str(steps)]}
    for kind in ("arrays", "batches"):
        ways[kind] = lambda steps, kind=kind: [sys.executable, "-c", TRAIN, model, data, str(batch), str(steps), kind]
    made = {how: [] for how in ways}
    for _ in range(options.rounds):
        for how, run in ways.items():
            made[how].append(1e3 * (seconds(run(long))[0] - seconds(run(short))[0]) / options.steps)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--models", default="lenet:64,mlp:128")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for entry in filter(None, options.models.split(",")):
            name, batch = entry.split(":")
            made = updates(options.program, name, int(batch), options, folder)
            base = statistics.median(made["command"])
            print("%-8s batch %-4s" % (name, batch) + "  ".join("%s %.3f ms (%+.1f %%; %.3f to %.3f)" % (
                how, statistics.median(v), 100 * (statistics.median(v) / base - 1), min(v), max(v)) for how, v in made.items()),
                  flush=True)
    starts = {"python": "pass", "import plimsoll.hook": "import plimsoll.hook", "import numpy": "import numpy",
              "import numpy, plimsoll.hook": "import numpy, plimsoll.hook"}
    times = {name: [] for name in starts}
    raised = {"plain": [], "hook": []}
    for _ in range(options.starts):
        for name, code in starts.items():
            times[name].append(1e3 * seconds([sys.executable, "-c", code])[0])
    for _ in range(options.rounds):
        for name in raised:
            raised[name].append(5e3 * float(seconds([sys.executable, "-c", RAISE, name])[1]))
    print("start: " + ", ".join("%s %.2f ms" % (name, statistics.median(v)) for name, v in times.items()), flush=True)
    print("an exception that is caught: " + ", ".join("%s %.0f ns" % (name, statistics.median(v)) for name, v in raised.items()))
    if importlib.util.find_spec("torch"):
        print("a step of PyTorch: " + seconds([sys.executable, "-c", STEPS.replace("ROUNDS", str(options.starts))])[1].strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
