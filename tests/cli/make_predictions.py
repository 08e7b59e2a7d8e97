"""What onnxruntime says about the data of make_job_data.py, as tests/cli/data/predictions.csv, and how it continues a prompt by the
rule of plimsoll/generate.h, as tests/cli/data/generated.txt; test_predict.sh compares with both.

usage: make_predictions.py PLIMSOLL      (needs numpy and onnxruntime; run again when the zoo or the data change)
"""
import os, subprocess, sys, tempfile
import numpy as np
import onnxruntime
here, program = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[1])
MASK = (1 << 64) - 1

def mix(x):
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & MASK
    return x ^ x >> 31

def choose(scores, temperature, top_k, top_p, seed, number):
    scores = scores.astype(np.float64) / (temperature or 1)
    order = np.lexsort((np.arange(len(scores)), -scores))[:top_k or len(scores)]
    if not temperature: return int(order[0])
    p = np.exp(scores[order] - scores[order[0]])
    p /= p.sum()
    stay = int(np.searchsorted(np.cumsum(p), top_p) + 1) if top_p < 1 else len(p)
    sums = np.cumsum(p[:stay])
    u = (mix(mix(mix(seed) ^ 0x67656e) ^ number) >> 11) * 2.0 ** -53
    return int(order[min(np.searchsorted(sums, u * sums[-1], side="right"), stay - 1)])

def open_model(*options):
    subprocess.run([program, "zoo", *options, "-o", "m.onnx"], check=True, stdout=subprocess.DEVNULL)
    return onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([sys.executable, f"{here}/make_job_data.py", "."], check=True)
    model = open_model("lenet", "--width", "4", "--image", "8", "--channels", "3", "--classes", "3", "--seed", "3")
    x = np.load("first.npz")["x"].astype(np.float32) / np.float32(255)
    scores = model.run(None, {"image": x})[0].astype(np.float64)
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    with open(f"{here}/data/predictions.csv", "w") as file:
        print("sample,class,probability,class2,probability2", file=file)
        for i, row in enumerate(p):
            best = np.argsort(-row)
            print(f"sample {i},{best[0]},{row[best[0]]:.6g},{best[1]},{row[best[1]]:.6g}", file=file)
    model = open_model("gpt2-tiny", "--seq", "16", "--width", "32", "--layers", "1", "--heads", "2", "--seed", "5")
    name = model.get_inputs()[0].name
    with open(f"{here}/data/generated.txt", "w") as file:
        for options in ((0, 0, 1, 0), (1, 0, 1, 1), (0.7, 20, 1, 2), (1.3, 0, 0.6, 3), (1, 40, 0.9, 123456789012345)):
            tokens = list(b"The load line")
            for n in range(24):
                window = tokens[-16:]
                feed = np.array([window + [0] * (16 - len(window))], np.int64)
                tokens.append(choose(model.run(None, {name: feed})[0][0, len(window) - 1], *options, n))
            print(*options, ":", *tokens[13:], file=file)
