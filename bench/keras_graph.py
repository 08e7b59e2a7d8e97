"""`plimsoll fit MODEL.onnx --framework tensorflow` beside the real TensorFlow: the most bytes that tensors of a training step hold.

    keras_graph.py [--program build/plimsoll] [--runs 3] [--folder KEPT] [NAME ...]

The models of keras_models.py are exported by plimsoll.export and trained for real on the processor, with operators in the order of a
GPU (capture_keras.py, --order gpu). Requests are counted as they were made. Work spaces that kernels of the processor take for
convolutions and poolings are left out of the first figure, since a GPU's kernels take others, and are in the second one."""

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "build", "python"), HERE]

import plimsoll
from plimsoll import capture_keras as keras_capture


def is_work_space(event):
    return event[5] == "temp" and ("onv" in event[2] or "MaxPool" in event[2])


def most_held(events, with_work):
    sizes, live, most = [], 0, 0
    for event in events:
        if event[0] == "born":
            sizes.append(0 if not with_work and is_work_space(event) else event[1])
            live += sizes[-1]
            most = max(most, live)
        elif event[0] == "died":
            live -= sizes[event[1]]
    return most


def export(name, path):
    import keras_models
    import numpy as np

    (build, shape, _, _), words = keras_models.find(name)
    model = build()
    model(np.zeros((2,) + shape, "int32" if words else "float32"))
    plimsoll.export(model, path)


def compare(name, options):
    import keras_models

    _, _, optimizer, batch = keras_models.find(name)[0]
    path = os.path.join(options.folder, name.replace(" ", "_"))
    if not os.path.exists(path + ".gpu.pkl"):
        runs = [keras_capture.in_child(keras_capture.record, keras_models.make(name), batch, keras_capture.STEPS, "gpu")["events"]
                for _ in range(options.runs)]
        with open(path + ".gpu.pkl", "wb") as file:
            pickle.dump([[most_held(events, work) for events in runs] for work in (False, True)], file)
    with open(path + ".gpu.pkl", "rb") as file:
        held = pickle.load(file)
    keras_capture.in_child(export, name, path + ".onnx")
    command = [options.program, "fit", path + ".onnx", "--framework", "tensorflow", "--optimizer", optimizer, "--batch", str(batch),
               "--json", "--no-cures"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    middle = statistics.median(held[0])
    error = 100 * (found["requested"] / middle - 1)
    print("%-15s %7.2f (%7.2f to %7.2f)  with work spaces %7.2f  predicted %7.2f  %+6.1f %%" % (
        name, middle / 2**20, min(held[0]) / 2**20, max(held[0]) / 2**20, statistics.median(held[1]) / 2**20,
        found["requested"] / 2**20, error), flush=True)
    return abs(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--program", default=os.path.join(HERE, "..", "build", "plimsoll"))
    parser.add_argument("--folder", default="/tmp/plimsoll-keras")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    keras_capture.prepare()
    import keras_models

    errors = [compare(name, options) for name in options.names or list(keras_models.MODELS) + list(keras_models.OTHERS)]
    print("%d models, median %.1f %%, within 2 %%: %d, within 5 %%: %d" % (
        len(errors), statistics.median(errors), sum(e <= 2 for e in errors), sum(e <= 5 for e in errors)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
