#!/usr/bin/env python3
"""make_perplexity.py PLIMSOLL: writes tests/cli/data/perplexity.txt, loss and perplexity of a language model of the zoo on a text: its
scores by onnxruntime, the loss by PyTorch's cross_entropy. (needs numpy, onnxruntime and torch; run again when the zoo changes)"""
import os, subprocess, sys, tempfile

import numpy as np
import onnxruntime
import torch

TEXT = "".join(f"line {i}: the ship carries {i * 7 % 31} tons of cargo.\n" for i in range(60))
SEQ = 16
with tempfile.TemporaryDirectory() as work:
    model = os.path.join(work, "m.onnx")
    subprocess.run([sys.argv[1], "zoo", "gpt2-tiny", "--seq", str(SEQ), "--width", "32", "--layers", "2", "--heads", "2", "--seed", "4",
                    "-o", model], check=True, stdout=subprocess.DEVNULL)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    tokens = np.frombuffer(TEXT.encode(), np.uint8).astype(np.int64)
    windows = (len(tokens) - 1) // SEQ
    inputs = tokens[:windows * SEQ].reshape(windows, SEQ)
    targets = tokens[1:windows * SEQ + 1].reshape(windows, SEQ)
    scores = np.concatenate([session.run(None, {session.get_inputs()[0].name: inputs[i:i + 1]})[0] for i in range(windows)])
loss = torch.nn.functional.cross_entropy(torch.tensor(scores).double().reshape(-1, scores.shape[-1]), torch.tensor(targets).reshape(-1))
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "perplexity.txt"), "w") as out:
    out.write(f"{loss.item():.8f} {loss.exp().item():.6f} {targets.size}\n")
