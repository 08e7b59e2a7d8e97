"""Exports torchvision models as PyTorch does and compares the program's logits with PyTorch's.

usage: real_exports.py PLIMSOLL MODEL[:PIXELS[:OPSET]]...
Needs Debian's python3-torch and python3-torchvision.
"""
import os
import subprocess
import sys
import tempfile

import numpy
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import export_torchvision

program, failed = sys.argv[1], 0
torch.set_num_threads(2)
for word in sys.argv[2:]:
    name, size, opset = (word.split(':') + ['64', '16'])[:3] if ':' in word else (word, '64', '16')
    with tempfile.TemporaryDirectory() as folder:
        file, image, logits = (os.path.join(folder, n) for n in ('m.onnx', 'x.npy', 'y.npy'))
        export_torchvision.export(name, file, size=int(size), opset=int(opset), training=False)
        model = export_torchvision.create(name).eval()
        x = torch.randn(3, 3, int(size), int(size))
        with torch.no_grad():
            right = model(x).numpy()
        numpy.save(image, x.numpy())
        done = subprocess.run([program, 'infer', file, '--input', 'image=' + image, '--output', 'logits=' + logits], capture_output=True, text=True)
        if done.returncode != 0:
            print(f'FAILED: {name}: {done.stderr.strip()}')
            failed = 1
            continue
        got = numpy.load(logits)
        error = numpy.abs(got - right).max() / numpy.abs(right).max() if got.shape == right.shape else float('inf')
        print(f'{name} at {size}x{size}, opset {opset}: {error:.1e} of the largest logit')
        if not error <= 1e-4:
            print(f'FAILED: {name} differs from PyTorch')
            failed = 1
sys.exit(failed)
