#!/usr/bin/env python3
"""Makes the reference outputs in tests/zoo/data with onnxruntime: small zoo models, an input that test_zoo.c makes too.

usage: make_zoo_data.py PLIMSOLL      (needs numpy and onnxruntime; run again when a zoo model changes)
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

MODELS = {  # name: options; the same as in test_zoo.c
    'mlp': '--width 16', 'lenet': '--width 4', 'resnet18': '--image 32 --width 8 --classes 10', 'resnet34': '--image 32 --width 8 --classes 10',
    'resnet50': '--image 32 --width 8 --classes 10', 'mobilenet_v2': '--image 32 --width 8 --classes 10', 'unet': '--image 16 --width 4',
    'gpt2': '--seq 8 --width 16 --layers 2 --heads 2 --classes 40', 'gpt2-tiny': '--seq 8 --width 16 --layers 2 --heads 2 --classes 40',
    'vit-tiny': '--image 16 --width 24 --layers 2 --heads 3', 'vit-b16': '--image 32 --width 24 --layers 2 --heads 3 --classes 10',
    'lstm': '--seq 6 --width 8 --classes 20', 'gru': '--seq 6 --width 8 --classes 20', 'tabular': '--features 5 --width 8',
    'llama': '--seq 8 --width 32 --layers 2 --heads 4 --kv-heads 2 --classes 40',
    'bert': '--seq 8 --width 16 --layers 2 --heads 2 --vocab 40',
}
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data')
os.makedirs(here, exist_ok=True)
for name, options in MODELS.items():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'm.onnx')
        subprocess.run([sys.argv[1], 'zoo', name, '-o', path] + options.split(), check=True, stdout=subprocess.DEVNULL)
        session = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider'])
        feeds = {}
        for given in session.get_inputs():
            shape = [2 if isinstance(d, str) else d for d in given.shape]
            count = np.arange(int(np.prod(shape)))
            if 'int64' in given.type:
                feeds[given.name] = (count * 7 % 19).astype(np.int64).reshape(shape)
            else:
                feeds[given.name] = ((count * 37 % 101).astype(np.float32) / np.float32(50) - np.float32(1)).reshape(shape)
        out = session.run(None, feeds)[0].astype(np.float32)
        np.save(os.path.join(here, name + '.npy'), out)
        print(name, out.shape, float(np.abs(out).max()))
