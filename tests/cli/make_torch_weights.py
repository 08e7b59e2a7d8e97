#!/usr/bin/env python3
"""make_torch_weights.py PLIMSOLL: writes tests/cli/data/torch, weights of a small network as PyTorch saves them, well and badly."""
import os, subprocess, sys, tempfile
from collections import OrderedDict

import torch
from safetensors.torch import load_file, save_file

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "torch")
with tempfile.TemporaryDirectory() as work:
    model, weights = os.path.join(work, "m.onnx"), os.path.join(work, "w.safetensors")
    run = lambda *args: subprocess.run([sys.argv[1], *args], check=True, stdout=subprocess.DEVNULL, cwd=work)
    run("zoo", "mlp", "--image", "4", "--channels", "1", "--width", "4", "--classes", "3", "-o", model)
    run("train", model, "--data", "synthetic", "--optimizer", "sgd", "--lr", "0", "--steps", "1", "--out", weights, "-q")
    torch.manual_seed(1)
    state = OrderedDict((name, torch.randn_like(value)) for name, value in load_file(weights).items())
save_file(dict(state), os.path.join(here, "expected.safetensors"))
path = lambda name: os.path.join(here, name)
torch.save(state, path("plain.pt"))
parameters = [torch.nn.Parameter(v.clone()) for v in state.values()]
optimizer = torch.optim.AdamW(parameters)
sum(p.square().sum() for p in parameters).backward()
optimizer.step()
torch.save({"epoch": 3, "state_dict": OrderedDict(("module." + n, v) for n, v in state.items()), "optimizer": optimizer.state_dict()},
           path("checkpoint.pth"))
shared = torch.cat([v.reshape(-1) for v in state.values()])  # views of one storage
views, at = OrderedDict(), 0
for name, value in state.items():
    views[name] = shared[at:at + value.numel()].reshape(value.shape)
    at += value.numel()
torch.save(views, path("views.pt"))
matrix = next(n for n, v in state.items() if v.dim() == 2)
torch.save(OrderedDict(state, **{matrix: state[matrix].t().contiguous().t()}), path("transposed.pt"))
torch.save(OrderedDict(state, **{matrix: state[matrix].double()}), path("double.pt"))
torch.save(state, path("old.pt"), _use_new_zipfile_serialization=False)


class Hostile:
    def __reduce__(self):
        return os.system, ("touch executed",)


torch.save({"weights": state, "more": Hostile()}, path("hostile.pt"))
