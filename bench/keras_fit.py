"""Predictions of Keras training steps beside the real TensorFlow on this machine.

    keras_fit.py [--order processor|gpu|fixed] [--repeats] [--program build/plimsoll] [--folder KEPT] [--seconds N] [NAME ...]

For each model of keras_models.py, with an allocator that grows and with one that takes its limit at once. TensorFlow's own peak
differs from run to run, because the order of independent operators does; so several real runs at the batch stand beside
several predicted ones, and their middles are compared:

- replayed: what each real run asked for, through the simulated allocator; the most in use beside TensorFlow's own counter of
  that run, the worst of them. This is the allocator alone.
- predicted: the step is captured at two small batches and extrapolated (python/plimsoll/capture_keras.py), the second such that its
  functions are built as the batch's own; its size stands last in the line, several where none is alike.
- within: how many real runs are in the range of the predicted ones, 2 % more on either side.
- limit: the smallest one that trains, as simulated for the predicted and for the real runs; and how often TensorFlow trains
  with 3 % more than the largest predicted one, which should be always, and with 3 % less than the smallest. A limit below one
  that fails may still do, where chunks happen to be split in other places: "as simulated" counts the tries that ended as the
  simulation of most captures at that very limit says.

--order says in which order both the real runs and the captured ones take operators (python/plimsoll/capture_keras.py). With
"fixed", the default, every run is the same, so three real runs stand beside one captured one: what is left is the simulator's own
error. "processor" is what TensorFlow does here unasked.

--repeats asks how well TensorFlow repeats itself, with no prediction: five further real runs beside the first five, and their
middles compared in the same way. No prediction can be closer to a middle than that.

Runs are kept in --folder, one by one, so that a run that was stopped, or that stops itself after --seconds, goes on where it was.
TensorFlow's allocator on the processor is the one of GPUs, but always grows; tensorflow_growth.c is preloaded to change that."""

import argparse
import json
import math
import os
import pickle
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "python"), HERE]

from plimsoll import capture_keras as keras_capture

# As it is on the processor. Without growth the limit is what the process gets for the measurement.
LIMIT = 4096
GROWS = "tensorflow:garbage_collection:False,falling_addresses:True"
WHOLE = "tensorflow:garbage_collection:False,allow_growth:False"
TRIES = 2
REPEATED = 5
REAL_RUNS = {"fixed": 3}  # other orders: five


def replay(program, events, path, whole, limit=LIMIT):
    keras_capture.write(events, path, os.path.basename(path))
    command = [program, "replay", path, "--allocator", WHOLE if whole else GROWS, "--memory", "%dMiB" % limit, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found["stats"]["allocated_peak"], found["least"] / 2**20, found["fits"]


def with_growth(whole, function, *args):
    """In a process of its own, whose allocator grows or is whole from the start."""
    def run():
        os.environ.pop("PLIM_TF_WHOLE", None)
        if whole:
            os.environ["PLIM_TF_WHOLE"] = "1"
        return function(*args)

    return keras_capture.in_child(run)


def record(make, batch, order):
    keras_capture.prepare(LIMIT)
    return keras_capture.record(make, batch, order=order)


def train(make, batch, limit, order):
    keras_capture.prepare(limit)
    keras_capture.one_order(order)
    step = make(batch)
    for _ in range(keras_capture.STEPS):
        step()
    return True


def trains(make, batch, limit, whole, order):
    try:
        return with_growth(whole, train, make, batch, limit, order)
    except RuntimeError:
        return False


class Kept:
    """The runs of a model, kept in a file: each is made once."""

    def __init__(self, name, options):
        end = ".pkl" if options.order == "processor" else ".%s.pkl" % options.order
        self.path = os.path.join(options.folder, name.replace(" ", "_") + end)
        self.lists = {}
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:
                self.lists = pickle.load(file)

    def get(self, key, count, function, *args):
        runs = self.lists.setdefault(key, [])
        while len(runs) < count:
            if time.monotonic() > Kept.end:
                raise TimeoutError
            runs.append(function(*args))
            with open(self.path + ".new", "wb") as file:
                pickle.dump(self.lists, file)
            os.rename(self.path + ".new", self.path)
        return runs[:count]


def compare(name, whole, options, make, batch):
    kept, order = Kept(name, options), options.order
    first = kept.get("small", 1, keras_capture.in_child, record, make, keras_capture.SMALL[0], order)[0]
    seconds = kept.get("alike", 1, keras_capture.small_like, make, batch, order)[0]
    count = len(seconds) if order == "fixed" else keras_capture.RUNS
    orders = [kept.get("order of %d" % second, len(range(index, count, len(seconds))), keras_capture.in_child, record, make, second,
                       order) for index, second in enumerate(seconds)]
    orders = [run for runs in orders for run in runs]
    real = kept.get("whole" if whole else "grows", REAL_RUNS.get(order, REPEATED), with_growth, whole, record, make, batch, order)
    trace = os.path.join(options.folder, name.replace(" ", "_") + ".trace")
    streams = [keras_capture.extrapolate(first, run, batch) for run in orders]
    predicted = [replay(options.program, events, trace, whole) for events in streams]
    replayed = [replay(options.program, run["events"], trace, whole) for run in real]
    peaks, limits = ([p[i] for p in predicted] for i in (0, 1))
    counters = [run["peak"] for run in real]
    more, less = math.ceil(max(limits) * 1.03), math.floor(min(limits) * 0.97)
    tried = [kept.get((whole, limit), TRIES, trains, make, batch, limit, whole, order) for limit in (more, less)]
    expected = [sum(replay(options.program, events, trace, whole, limit)[2] for events in streams) * 2 > len(streams)
                for limit in (more, less)]
    middle = statistics.median
    print("%-15s %-6s %6.1f (%5.1f to %5.1f)  %+5.2f %%  %6.1f (%5.1f to %5.1f)  %+6.2f %%  %d of %d  %4.0f (%.0f to %.0f) %+6.2f %%"
          "  %d of %d, %d of %d  %d of %d  like %s" % (
              name, "whole" if whole else "grows", middle(counters) / 2**20, min(counters) / 2**20, max(counters) / 2**20,
              100 * max((r[0] / c - 1 for r, c in zip(replayed, counters)), key=abs),
              middle(peaks) / 2**20, min(peaks) / 2**20, max(peaks) / 2**20, 100 * (middle(peaks) / middle(counters) - 1),
              sum(0.98 * min(peaks) <= c <= 1.02 * max(peaks) for c in counters), len(counters), middle(limits), min(limits),
              max(limits), 100 * (middle(limits) / middle(r[1] for r in replayed) - 1), sum(tried[0]), TRIES, sum(tried[1]),
              TRIES, sum(t == e for ts, e in zip(tried, expected) for t in ts), 2 * TRIES,
              seconds), flush=True)


def repeats(name, whole, options, make, batch):
    """TensorFlow beside itself: the middle of five runs against the middle of five others."""
    kept, middle = Kept(name, options), statistics.median
    real = kept.get("whole" if whole else "grows", 2 * REPEATED, with_growth, whole, record, make, batch, options.order)
    trace = os.path.join(options.folder, name.replace(" ", "_") + ".trace")
    limits = [replay(options.program, run["events"], trace, whole)[1] for run in real]
    peaks = [run["peak"] / 2**20 for run in real]
    (p1, p2), (l1, l2) = ((middle(list_[:REPEATED]), middle(list_[REPEATED:])) for list_ in (peaks, limits))
    print("%-15s %-6s %6.1f and %6.1f (%5.1f to %5.1f)  %+6.2f %%   %4.0f and %4.0f (%.0f to %.0f)  %+6.2f %%" % (
        name, "whole" if whole else "grows", p1, p2, min(peaks), max(peaks), 100 * (p2 / p1 - 1), l1, l2, min(limits),
        max(limits), 100 * (l2 / l1 - 1)), flush=True)


def preload(folder):
    """Starts this program again with the allocator's growth under control."""
    library = os.path.join(folder, "growth.so")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", library,
                    os.path.join(HERE, "tensorflow_growth.c"), "-ldl"], check=True)
    os.environ["LD_PRELOAD"] = library
    os.execv(sys.executable, [sys.executable] + sys.argv)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--order", choices=keras_capture.ORDERS, default="fixed")
    parser.add_argument("--repeats", action="store_true", help="TensorFlow beside itself: five runs against five others")
    parser.add_argument("--program", default=os.path.join(HERE, "..", "build", "plimsoll"))
    parser.add_argument("--folder", default="/tmp/plimsoll-keras")
    parser.add_argument("--seconds", type=float, default=math.inf, help="make no further runs after this long")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    if "LD_PRELOAD" not in os.environ:
        preload(options.folder)
    keras_capture.prepare()
    import keras_models

    Kept.end = time.monotonic() + options.seconds
    if options.repeats:
        print("model           region  peak in use, MiB, middles of five runs    limit, MiB")
    else:
        print("model           region  real peak in use, MiB    replayed  predicted                error    within   limit, MiB"
              "           error    trains: 3 % more, 3 % less, as simulated")
    for name in options.names or keras_models.MODELS:
        for whole in (False, True):
            try:
                (repeats if options.repeats else compare)(name, whole, options, keras_models.make(name),
                                                          keras_models.MODELS[name][3])
            except TimeoutError:
                print("%-15s %-6s not all of its runs were made yet" % (name, "whole" if whole else "grows"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
