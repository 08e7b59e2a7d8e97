"""Trains models that PyTorch exported in training mode for a few steps.

usage: training_exports.py PLIMSOLL MODEL...
Needs Debian's python3-torch and python3-torchvision.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import export_torchvision

program, failed = sys.argv[1], 0

def check(right, what):
    global failed
    if not right:
        print('FAILED:', what)
        failed = 1

def train(file, data, steps):
    done = subprocess.run([program, 'train', file, '--data', data, '--target', 'y', '--batch', '8', '--steps', str(steps), '--lr', '1e-3', '--threads', '1', '--json'],
                          capture_output=True, text=True)
    check(done.returncode == 0, f'{os.path.basename(file)}: {done.stderr.strip()}')
    return json.loads(done.stdout) if done.returncode == 0 else {'loss': float('nan'), 'steps': 0}

with tempfile.TemporaryDirectory() as folder:
    numbers = numpy.random.RandomState(0)
    data = os.path.join(folder, 'data.npz')
    numpy.savez(data, x=numbers.randn(16, 3, 64, 64).astype(numpy.float32), y=numbers.randint(0, 10, 16).astype(numpy.int64))

    torch.manual_seed(0)
    small = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.3), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Dropout(0.2), nn.Linear(8, 10)).train()
    losses = {}
    for opset in (9, 11, 12, 13, 14, 16):
        file = os.path.join(folder, f'small-{opset}.onnx')
        torch.onnx.export(small, torch.randn(2, 3, 64, 64), file, opset_version=opset, training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, input_names=['image'], output_names=['y'], dynamic_axes={'image': {0: 'N'}, 'y': {0: 'N'}})
        losses[opset] = train(file, data, 3)['loss']
    print('loss after 3 steps by opset:', losses)
    check(len(set(losses.values())) == 1, f'the opsets differ: {losses}')

    for name in sys.argv[2:]:
        file = os.path.join(folder, name + '.onnx')
        export_torchvision.export(name, file, classes=10, size=64)
        result = train(file, data, 2)
        print(f'{name}: {result["steps"]} steps, loss {result["loss"]:.4f}')
        check(result['steps'] == 2 and numpy.isfinite(result['loss']), f'{name}: {result}')
sys.exit(failed)
