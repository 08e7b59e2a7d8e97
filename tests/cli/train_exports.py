"""Trains torchvision's networks, exported in training mode, on a folder of images for a few steps.

usage: train_exports.py PLIMSOLL
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import export_torchvision

program = sys.argv[1]
os.environ['OMP_WAIT_POLICY'] = 'passive'
failed = 0


def write_png(path, pixels):
    """pixels: uint8 (height, width, 3)"""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + row.tobytes() for row in pixels)
    header = struct.pack('>IIBBBBB', pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    with open(path, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


with tempfile.TemporaryDirectory() as folder:
    numbers = numpy.random.RandomState(0)
    for name, level in (('dark', 40), ('light', 180)):
        os.makedirs(os.path.join(folder, 'images', name))
        for i in range(16):
            pixels = (numbers.rand(72, 80, 3) * 60 + level).astype(numpy.uint8)
            write_png(os.path.join(folder, 'images', name, f'{i}.png'), pixels)
    for name, rate in (('resnet18', 1e-3), ('mobilenet_v2', 1e-3), ('squeezenet1_1', 3e-4), ('densenet121', 1e-3), ('shufflenet_v2_x0_5', 3e-3)):
        model, log = os.path.join(folder, name + '.onnx'), os.path.join(folder, name + '.jsonl')
        export_torchvision.export(name, model, classes=2, size=64)
        done = subprocess.run([program, 'train', model, '--data', os.path.join(folder, 'images'), '--batch', '8', '--steps', '12', '--lr', str(rate),
                               '--mean', '0.5', '--std', '0.25', '--log', log, '--quiet', '--json'], capture_output=True, text=True)
        if done.returncode != 0:
            print(f'FAILED: {name}: {done.stderr.strip()}')
            failed = 1
            continue
        losses = [row['loss'] for row in map(json.loads, open(log)) if 'loss' in row]  # epochs have rows too
        first, last = sum(losses[:3]) / 3, sum(losses[-3:]) / 3
        print(f'{name}: the loss falls from {first:.4f} to {last:.4f}')
        if not last < first:
            print(f'FAILED: {name}: {losses}')
            failed = 1
sys.exit(failed)
