"""What the training benchmarks share: one measured run of either side, each in a fresh process."""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 3  # first steps, which warm caches and make kernels


def arguments(usage, *places, rounds=None, **more):
    """What every benchmark is told: the program, where its answer goes (and other places), and what to run. `more` are
    further options, with what argparse wants to know of each."""
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    for place in ("plimsoll", "out", *places):
        parser.add_argument(place)
    parser.add_argument("--threads", type=int, default=2)
    if rounds:
        parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--only", metavar="MODEL")
    for name, kind in more.items():
        parser.add_argument("--" + name, **kind)
    return parser.parse_args()


def rule(optimizer):
    """The options of Plimsoll that do what torch_step.py's optimizers do."""
    return ["--optimizer", "sgd", "--momentum", "0.9", "--lr", "0.01"] if optimizer == "sgd" else ["--optimizer", "adamw", "--lr", "1e-4"]


def median_step(seconds):
    return statistics.median(seconds[SKIPPED:] or seconds[-1:])


def plimsoll(program, model, batch, steps, optimizer, threads, *extra):
    """Runs `train` on synthetic data. None, and why, when it does not run."""
    command = [program, "train", model, "--data", "synthetic", "--batch", str(batch), "--steps", str(steps), "--threads", str(threads), "--json", *rule(optimizer), *extra]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["exit %d" % done.returncode])[-1]
    answer = json.loads(done.stdout)
    answer["above_idle_bytes"] = answer["peak_resident_bytes"] - answer["idle_resident_bytes"]
    return answer, ""


def torch_command(name, batch, steps, optimizer, threads, *extra):
    return [sys.executable, os.path.join(HERE, "torch_step.py"), name, str(batch), "--steps", str(steps), "--optimizer", optimizer, "--threads", str(threads), *extra]


def pytorch(*what):
    """A process of PyTorch for this measurement alone; arguments as of torch_command."""
    lines = subprocess.run(torch_command(*what), check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    answer = json.loads(lines[-1])
    answer["seconds_per_step"] = median_step(answer["seconds"])
    return answer


class Waiting:
    """A process of PyTorch that has compiled and warmed up, and waits until it is asked for steps."""

    def __init__(self, *what):
        self.process = subprocess.Popen([*torch_command(*what), "--wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.answer()

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError("PyTorch ended: exit %s" % self.process.wait())

    def steps(self, count):
        self.process.stdin.write("%d\n" % count)
        self.process.stdin.flush()
        answer = self.answer()
        answer["seconds_per_step"] = statistics.median(answer["seconds"])
        return answer

    def close(self):
        self.process.kill()
        self.process.wait()


def make_model(program, name, path, *options):
    subprocess.run([program, "zoo", name, *options, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def mib(n):
    return n / 2**20


def write(path, answer):
    """With the day and how busy the machine was, which a reader has to know."""
    answer = {"day": datetime.date.today().isoformat(), "load": os.getloadavg()[0], **answer}
    with open(path, "w") as f:
        json.dump(answer, f, indent=1)
