"""Predictions of Keras training steps beside the real TensorFlow on this machine.

    keras_fit.py [--program build/plimsoll] [--folder KEPT] [NAME ...]

For each model of keras_models.py: its steps are captured at two small batches and extrapolated to its own batch
(python/plimsoll/capture_keras.py), and captured at that batch itself; both go through `plimsoll replay` with TensorFlow's
allocator. Beside them stands what TensorFlow's own counter shows at that batch, and whether it trains with a limit of 3 %
more and 3 % less than the smallest one that the simulation finds. TensorFlow's allocator on the processor is the one of
GPUs with growth; it cannot be told to take its limit at once."""

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

ALLOCATOR = "tensorflow:garbage_collection:False,falling_addresses:True"  # as it is on the processor


def replay(program, events, path):
    keras_capture.write(events, path, os.path.basename(path))
    done = subprocess.run([program, "replay", path, "--allocator", ALLOCATOR, "--json"], capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found["stats"]["allocated_peak"], found["least"] / 2**20


def trains(make, batch, limit):
    """In a process of its own: three steps within the limit."""
    def run():
        keras_capture.prepare(limit)
        keras_capture.one_order()
        step = make(batch)
        for _ in range(keras_capture.STEPS):
            step()
        return True

    try:
        return keras_capture.in_child(run)
    except RuntimeError:
        return False


def recorded(name, make, batch, folder):
    path = os.path.join(folder, name.replace(" ", "_") + ".pkl")
    if not os.path.exists(path):
        runs = [keras_capture.in_child(keras_capture.record, make, size) for size in keras_capture.SMALL + (batch,)]
        with open(path, "wb") as file:
            pickle.dump(runs, file)
    with open(path, "rb") as file:
        return pickle.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--program", default=os.path.join(HERE, "..", "build", "plimsoll"))
    parser.add_argument("--folder", default="/tmp/plimsoll-keras")
    options = parser.parse_args()
    keras_capture.prepare()
    import keras_models

    os.makedirs(options.folder, exist_ok=True)
    print("%-16s %14s %11s %13s %12s %12s" % ("model", "real peak", "replayed", "extrapolated", "least limit", "real limit"))
    for name in options.names or keras_models.MODELS:
        make, batch = keras_models.make(name), keras_models.MODELS[name][3]
        small, large, whole = recorded(name, make, batch, options.folder)
        trace = os.path.join(options.folder, name.replace(" ", "_") + ".trace")
        exact, _ = replay(options.program, whole["events"], trace)
        predicted, least = replay(options.program, keras_capture.extrapolate(small, large, batch), trace)
        more, less = math.ceil(least * 1.03), math.floor(least * 0.97)
        verdict = "trains with %d: %s, with %d: %s" % (more, trains(make, batch, more), less, trains(make, batch, less))
        print("%-16s %14d %+9.2f %% %+11.2f %% %8.0f MiB   %s" % (name, whole["peak"], 100 * (exact / whole["peak"] - 1),
                                                            100 * (predicted / whole["peak"] - 1), least, verdict), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
