#!/usr/bin/env python3
"""What onnxruntime predicts in the five journeys of examples/, from the files that they leave in the current folder: photos, a table
with texts and gaps, arrays with channels last, a prompt that is continued, a fine-tuned network. Data is read by NumPy and by the notes
in the models, without Plimsoll.

usage: journeys_onnxruntime.py OUT.json      (needs numpy and onnxruntime)
tests/cli/make_journeys.py records it; test_journeys.sh also runs it where onnxruntime is."""
import csv, glob, json, struct, sys, zlib

import numpy as np
import onnxruntime


def session(path):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def notes_of(s):
    notes = s.get_modelmeta().custom_metadata_map
    return json.loads(notes["plimsoll.job"]), json.loads(notes.get("plimsoll.classes", "[]"))


def probabilities(s, x):
    scores = s.run(None, {s.get_inputs()[0].name: x.astype(np.float32)})[0].astype(np.float64)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rows(names, classes, p):
    return [[name, classes[k.argmax()], float(k.max())] for name, k in zip(names, p)]


def read_png(path):
    """Height x width x 3 of a PNG without filters, as make_job_data.py writes them."""
    data, at, pixels = open(path, "rb").read(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR": width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT": pixels += body
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(pixels), np.uint8).reshape(height, 1 + 3 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)


def enlarge(x, size):
    """Bilinear, along the first axis, as Pillow and torchvision do for images that grow."""
    at = (np.arange(size) + 0.5) * len(x) / size - 0.5
    low = np.floor(at).astype(int)
    share = (at - low).reshape(-1, *[1] * (x.ndim - 1))
    return x[low.clip(0, len(x) - 1)] * (1 - share) + x[(low + 1).clip(0, len(x) - 1)] * share


def predict_photos(path):
    s = session(path)
    job, classes = notes_of(s)
    names = sorted(glob.glob("photos/*/*.png"))
    images = [read_png(name).astype(np.float64) / 255 for name in names]
    images = [enlarge(enlarge(x, job["height"]).swapaxes(0, 1), job["width"]).swapaxes(0, 1) for x in images]
    return rows(names, classes, probabilities(s, np.stack(images).transpose(0, 3, 1, 2)))


def predict_arrays():
    data = np.load("last.npz")
    x = data["x"].astype(np.float32) / 255
    p = probabilities(session("arrays-trained.onnx"), np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
    return rows([f"sample {i}" for i in range(len(p))], [str(i) for i in range(3)], p)


def predict_table():
    s = session("table-trained.onnx")
    job, classes = notes_of(s)
    inputs, names = [], []
    for path in "strangers.csv", "people.csv":
        for i, row in enumerate(csv.DictReader(open(path))):
            x = []
            for c in json.loads(job["table"])["columns"]:
                cell = row[c["name"]]
                missing = cell in ("", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "?")
                if c["kind"] == "number":
                    x.append(((c["fill"] if missing else float(cell)) - c["mean"]) / c["std"])
                else:
                    x += [float(not missing and cell == v) for v in c["values"]]
            inputs.append(x)
            names.append(f"{path} {i + 1}")
    return rows(names, classes, probabilities(s, np.array(inputs)))


MASK = (1 << 64) - 1


def mix(x):
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & MASK
    return x ^ x >> 31


def choose(scores, temperature, seed, number):
    """The rule of plimsoll/generate.h."""
    order = np.lexsort((np.arange(len(scores)), -scores))
    if not temperature: return int(order[0])
    p = np.exp((scores[order] - scores[order[0]]) / temperature)
    sums = np.cumsum(p)
    u = (mix(mix(mix(seed) ^ 0x67656e) ^ number) >> 11) * 2.0 ** -53
    return int(order[min(np.searchsorted(sums, u * sums[-1], side="right"), len(p) - 1)])


def continue_text(prompt, window=32):
    s, made = session("text-trained.onnx"), []
    for temperature, seed in (0, 0), (0.5, 1):
        tokens = list(prompt)
        for n in range(40):
            last = tokens[-window:]
            feed = np.array([last + [0] * (window - len(last))], np.int64)
            scores = s.run(None, {s.get_inputs()[0].name: feed})[0][0, len(last) - 1].astype(np.float64)
            tokens.append(choose(scores, temperature, seed, n))
        made.append(tokens[len(prompt):])
    return made


prompt = json.load(open("prompt.json"))
json.dump({"images": predict_photos("images-trained.onnx"), "table": predict_table(), "arrays": predict_arrays(),
           "text": continue_text(prompt), "fine_tune": predict_photos("tuned-trained.onnx")}, open(sys.argv[1], "w"), indent=0)
