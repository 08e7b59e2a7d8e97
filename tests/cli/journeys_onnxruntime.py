#!/usr/bin/env python3
"""Whether onnxruntime agrees with the predictions of the examples in the current folder: arrays with channels last, a table with
texts and gaps read by the notes in its model, a prompt that is continued. Run by test_journeys.sh where numpy and onnxruntime are."""
import csv, json

import numpy as np
import onnxruntime


def session(path):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def scores(s, x):
    return s.run(None, {s.get_inputs()[0].name: x})[0]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def check_arrays():
    data = np.load("last.npz")
    x = next(data[k] for k in data.files if data[k].ndim == 4)
    x = x.astype(np.float32) / (255 if x.dtype == np.uint8 else 1)
    right = softmax(scores(session("arrays-trained.onnx"), np.ascontiguousarray(x.transpose(0, 3, 1, 2))))
    rows = [json.loads(line) for line in open("arrays-predictions.jsonl")]
    assert len(rows) == len(right)
    for row, p in zip(rows, right):
        assert int(row["class"]) == p.argmax() and abs(row["probability"] - p.max()) < 2e-5, (row, p)
    return len(rows)


def check_table():
    s = session("table-trained.onnx")
    notes = s.get_modelmeta().custom_metadata_map
    columns = json.loads(json.loads(notes["plimsoll.job"])["table"])["columns"]
    classes = json.loads(notes["plimsoll.classes"])
    inputs = []
    for row in csv.DictReader(open("strangers.csv")):
        x = []
        for c in columns:
            cell = row[c["name"]]
            missing = cell in ("", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "?")
            if c["kind"] == "number":
                x.append(((c["fill"] if missing else float(cell)) - c["mean"]) / c["std"])
            else:
                x += [float(not missing and cell == v) for v in c["values"]]
        inputs.append(x)
    right = softmax(scores(s, np.array(inputs, np.float32)))
    lines = [line.strip().split(",") for line in open("table.out").read().splitlines()[-len(right):]]
    for line, p in zip(lines, right):
        assert line[1] == classes[p.argmax()] and abs(float(line[2]) - p.max()) < 2e-5, (line, p)
    return len(right)


print(f"onnxruntime agrees: {check_arrays()} predictions of arrays, {check_table()} of a table")
