"""A small ResNet learns Fashion-MNIST from its exports as it does in PyTorch: accuracy after 150 updates, several seeds.

usage: export_learning.py PLIMSOLL [SEEDS]

Batch norms over few updates part any two runs that differ by a rounding, so one accuracy says little: each seed has other weights
and another order of samples, and PyTorch runs each again from weights that are off by one rounding. SGD at 0.05, batches of 32.
What Plimsoll trained goes back into the module by name (load_state_dict), and PyTorch counts on all of the test set. Needs torch, onnx,
onnxscript, and Debian's dataset-fashion-mnist.
"""
import logging
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from epochs import read_fashion  # noqa: E402
from exports import export, nudged, read_safetensors  # noqa: E402

BATCH, STEPS, RATE = 32, 150, 0.05


def accuracy(torch, model, x, y):
    model.eval()
    with torch.no_grad():
        return 100 * float(np.mean([(model(x[i:i + 500]).argmax(1) == y[i:i + 500]).float().mean() for i in range(0, len(x), 500)]))


def learned(torch, model, start, x, y):
    model.load_state_dict(start)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for i in range(0, BATCH * STEPS, BATCH):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[i:i + BATCH]), y[i:i + BATCH]).backward()
        optimizer.step()
    return model


def trained(torch, program, model, form, work, x):
    """The module with the weights that Plimsoll made of one of its exports."""
    path, out = os.path.join(work, form + ".onnx"), os.path.join(work, form + ".safetensors")
    export(torch, model, form, x[:4], path)
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([program, "train", path, "--data", os.path.join(work, "data.npz"), "--no-shuffle", "--loss", "cross_entropy", "--optimizer", "sgd", "--lr", str(RATE), "--batch", str(BATCH),
                    "--steps", str(STEPS), "--threads", "1", "--out", out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tensors = {k: torch.from_numpy(v.copy()) for k, v in read_safetensors(out).items()}
    wrong = [k for k in model.state_dict() if k not in tensors and not k.endswith("num_batches_tracked")]
    if wrong or model.load_state_dict(tensors, strict=False).unexpected_keys:
        sys.exit("export_learning.py: names of the %s form do not go back: %s" % (form, wrong))
    return model


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import copy

    import torch
    from export_models import SmallResNet
    torch.set_num_threads(1)
    (x, y), (test_x, test_y) = ([torch.from_numpy(a) for a in read_fashion(split)] for split in ("train", "t10k"))
    y, test_y, names, rows = y.long(), test_y.long(), ("PyTorch", "PyTorch, off by a rounding", "default export", "recommended export"), []
    print("| seed | %s |\n|---|---|---|---|---|" % " | ".join(names))
    with tempfile.TemporaryDirectory() as work:
        for seed in range(int(sys.argv[2]) if len(sys.argv) == 3 else 5):
            torch.manual_seed(seed)
            model, order = SmallResNet(), torch.randperm(len(x))[:BATCH * STEPS]
            start, sx, sy = copy.deepcopy(model.state_dict()), x[order], y[order]
            np.savez(os.path.join(work, "data.npz"), x=sx.numpy(), y=sy.numpy())
            row = [accuracy(torch, learned(torch, model, s, sx, sy), test_x, test_y) for s in (start, nudged(torch, start))]
            for form in ("default", "recommended"):
                model.load_state_dict(start)
                row.append(accuracy(torch, trained(torch, sys.argv[1], model, form, work, sx), test_x, test_y))
            rows.append(row)
            print("| %d | %s |" % (seed, " | ".join("%.1f" % v for v in row)), flush=True)
    print("| mean | %s |" % " | ".join("%.1f" % v for v in np.mean(rows, 0)))


if __name__ == "__main__":
    main()
