"""Predictions of Keras training steps beside the real TensorFlow on this machine.

    keras_fit.py [--program build/plimsoll] [--folder KEPT] [NAME ...]

For each model of keras_models.py, with an allocator that grows and with one that takes its limit at once:

- replayed: the step runs at its batch, and what it asked for goes through the simulated allocator; the most in use beside
  TensorFlow's own counter of that run. This is the allocator alone.
- predicted: the step is captured at two small batches and extrapolated (python/plimsoll/capture_keras.py); the most in use
  beside TensorFlow's counter in several runs at the batch, which differ, because the order of independent operators does.
- limit: the smallest one that the simulation finds for the prediction, and whether TensorFlow trains with 3 % more and with
  3 % less.

TensorFlow's allocator on the processor is the one of GPUs, but always grows; tensorflow_growth.c is preloaded to change that."""

import argparse
import json
import math
import os
import pickle
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "python"), HERE]

from plimsoll import capture_keras as keras_capture

# As it is on the processor. Without growth the limit is what the process gets for the measurement.
LIMIT = 4096
GROWS = "tensorflow:garbage_collection:False,falling_addresses:True"
WHOLE = "tensorflow:garbage_collection:False,allow_growth:False"
REAL_RUNS = 3


def replay(program, events, path, whole):
    keras_capture.write(events, path, os.path.basename(path))
    command = [program, "replay", path, "--allocator", WHOLE if whole else GROWS, "--memory", "%dMiB" % LIMIT, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found["stats"]["allocated_peak"], found["least"] / 2**20


def with_growth(whole, function, *args):
    """In a process of its own, whose allocator grows or is whole from the start."""
    def run():
        os.environ.pop("PLIM_TF_WHOLE", None)
        if whole:
            os.environ["PLIM_TF_WHOLE"] = "1"
        return function(*args)

    return keras_capture.in_child(run)


def record(make, batch):
    keras_capture.prepare(LIMIT)
    return keras_capture.record(make, batch)


def train(make, batch, limit):
    keras_capture.prepare(limit)
    keras_capture.one_order()
    step = make(batch)
    for _ in range(keras_capture.STEPS):
        step()
    return True


def trains(make, batch, limit, whole):
    try:
        return with_growth(whole, train, make, batch, limit)
    except RuntimeError:
        return False


def runs_of(name, make, batch, folder):
    """What was predicted from small batches, and real runs at the batch: with growth, without. Kept in the folder."""
    path = os.path.join(folder, name.replace(" ", "_") + ".pkl")
    if not os.path.exists(path):
        runs = [keras_capture.predict(make, batch)]
        runs += [[with_growth(whole, record, make, batch) for _ in range(REAL_RUNS)] for whole in (False, True)]
        with open(path + ".new", "wb") as file:
            pickle.dump(runs, file)
        os.rename(path + ".new", path)
    with open(path, "rb") as file:
        return pickle.load(file)


def compare(name, whole, options, make, batch):
    predicted, *real = runs_of(name, make, batch, options.folder)
    runs = real[whole]
    trace = os.path.join(options.folder, name.replace(" ", "_") + ".trace")
    replayed = [replay(options.program, run["events"], trace, whole)[0] / run["peak"] - 1 for run in runs]
    peak, least = replay(options.program, predicted, trace, whole)
    low, high = min(run["peak"] for run in runs), max(run["peak"] for run in runs)
    more, less = math.ceil(least * 1.03), math.floor(least * 0.97)
    print("%-15s %-6s %6.1f to %6.1f MiB %+6.2f %% %6.1f MiB %+6.2f %% %+6.2f %% %5.0f MiB, %s, %s" % (
        name, "whole" if whole else "grows", low / 2**20, high / 2**20, 100 * max(replayed, key=abs), peak / 2**20,
        100 * (peak / high - 1), 100 * min((peak / run["peak"] - 1 for run in runs), key=abs), least,
        "trains" if trains(make, batch, more, whole) else "DOES NOT TRAIN",
        "trains" if trains(make, batch, less, whole) else "does not"), flush=True)


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
    parser.add_argument("--program", default=os.path.join(HERE, "..", "build", "plimsoll"))
    parser.add_argument("--folder", default="/tmp/plimsoll-keras")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    if "LD_PRELOAD" not in os.environ:
        preload(options.folder)
    keras_capture.prepare()
    import keras_models

    print("model           region  real peaks            replayed  predicted, beside the highest and the nearest  "
          "limit; 3 % more, 3 % less")
    for name in options.names or keras_models.MODELS:
        for whole in (False, True):
            compare(name, whole, options, keras_models.make(name), keras_models.MODELS[name][3])
    return 0


if __name__ == "__main__":
    sys.exit(main())
