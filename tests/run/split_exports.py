"""Exports PyTorch modules with a batch of any size, trains them in one piece and in micro-batches, and compares the weights
after three updates with those of PyTorch.

usage: split_exports.py PLIMSOLL
Needs PyTorch; the newer exporter too where it is there.
"""
import inspect
import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
from torch import nn
from torch.nn import functional

older = {'dynamo': False} if 'dynamo' in inspect.signature(torch.onnx.export).parameters else {}
program, failed, compared, BATCH, STEPS, RATE = sys.argv[1], 0, 0, 12, 3, 0.05

def check(right, what):
    global failed
    if not right:
        print('FAILED:', what)
        failed = 1

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(16, 5)
    def forward(self, x):
        return self.out(self.layer(x).mean(1))

class GroupNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(8, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    def forward(self, x):
        return self.body(x)

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRU(16, 12, batch_first=True), nn.Linear(12, 5)
    def forward(self, x):
        return self.out(self.cell(x)[0][:, -1])

class Masked(nn.Module):
    """Causal attention written out, with a mask of the module's own."""
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 5)
        self.register_buffer('mask', torch.tril(torch.ones(6, 6)) == 0)
    def forward(self, x):
        q, k, v = (t.reshape(x.shape[0], 6, 2, 8).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        weights = (q @ k.transpose(-1, -2) / 8 ** 0.5).masked_fill(self.mask, float('-inf')).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape[0], 6, 16).mean(1))

class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.out = nn.Linear(16, 16), nn.BatchNorm1d(16), nn.Linear(16, 5)
    def forward(self, x):
        return self.out(torch.relu(self.norm(self.first(x.mean(1)))))

class Contrastive(nn.Module):
    """InfoNCE: its loss compares every sample with every other."""
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 8), nn.Linear(16, 8)
    def forward(self, x):
        a, b = functional.normalize(self.a(x[:, 0]), dim=1), functional.normalize(self.b(x[:, 1]), dim=1)
        scores = a @ b.t() * 5
        return -(torch.log_softmax(scores, 1) * torch.eye(x.shape[0])).sum() / x.shape[0]

class SumLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4))
    def forward(self, x):
        return (self.out(x) ** 2).sum() * 0.01

class MeanLoss(SumLoss):
    def forward(self, x):
        return (self.out(x) ** 2).mean(dim=(1, 2)).sum() / x.shape[0]

# module, shape of a sample, has its own loss, class of a split
CASES = [(Encoder, (6, 16), False, 'reordered'), (GroupNet, (3, 8, 8), False, 'reordered'), (Recurrent, (6, 16), False, 'reordered'),
         (Masked, (6, 16), False, 'reordered'), (SumLoss, (6, 16), True, 'reordered'), (MeanLoss, (6, 16), True, 'reordered'),
         (Contrastive, (6, 16), True, 'lossy'), (Normed, (6, 16), False, 'lossy')]

def learn(module, xs, ys, own):
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    for x, y in zip(xs, ys):
        optimizer.zero_grad()
        (module(x) if own else functional.cross_entropy(module(x), y)).backward()
        optimizer.step()
    return {name: p.detach().numpy() for name, p in module.named_parameters()}

def train(file, data, own, pieces, out):
    command = [program, 'train', file, '--data', data, '--batch', str(BATCH), '--accumulate', str(pieces), '--steps', str(STEPS), '--lr', str(RATE),
               '--optimizer', 'sgd', '--momentum', '0', '--no-shuffle', '--threads', '1', '--json', '--out', out]
    command += ['--loss', 'model'] if own else ['--target', 'y']
    if os.path.exists(out): os.remove(out)
    done = subprocess.run(command, capture_output=True, text=True)
    return done

def distance(weights, right, before):
    apart = sum(float(((weights[k] - right[k]) ** 2).sum()) for k in right) ** 0.5
    moved = sum(float(((before[k] - right[k]) ** 2).sum()) for k in right) ** 0.5
    return apart / moved

def load_file(path):
    with open(path, 'rb') as file:
        content = file.read()
    start = 8 + int.from_bytes(content[:8], 'little')
    return {name: numpy.frombuffer(content[start + t['data_offsets'][0]:start + t['data_offsets'][1]], numpy.float32).reshape(t['shape'])
            for name, t in json.loads(content[8:start]).items() if name != '__metadata__' and t['dtype'] == 'F32'}

with tempfile.TemporaryDirectory() as folder:
    for case, shape, own, expected in CASES:
        for dynamo in ([True, False] if older else [False]):
            torch.manual_seed(1)
            module = case().train()
            before = {name: p.detach().numpy().copy() for name, p in module.named_parameters()}
            x, y = torch.randn(STEPS * BATCH, *shape), torch.randint(0, 5, (STEPS * BATCH,))
            file, data, out = (os.path.join(folder, n) for n in ('model.onnx', 'data.npz', 'trained.safetensors'))
            numpy.savez(data, **({'x': x.numpy()} if own else {'x': x.numpy(), 'y': y.numpy()}))
            try:
                if dynamo:
                    torch.onnx.export(module, (x[:BATCH],), file, dynamo=True, input_names=['x'], dynamic_shapes=({0: torch.export.Dim('N', min=2)},),
                                      training=torch.onnx.TrainingMode.TRAINING, external_data=False, verbose=False, optimize=False, opset_version=18)
                else:
                    torch.onnx.export(module, (x[:BATCH],), file, **older, input_names=['x'], dynamic_axes={'x': {0: 'N'}}, opset_version=17,
                                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
            except Exception as error:
                print(f'{case.__name__}: not exported (dynamo {dynamo}): {str(error).splitlines()[0][:100]}')
                continue
            right = learn(module, x.split(BATCH), y.split(BATCH), own)
            for pieces in (1, 3, 5):
                done = train(file, data, own, pieces, out)
                if done.returncode:
                    if pieces > 1 or not dynamo: check(False, f'{case.__name__} in {pieces}: {done.stderr.strip()}')
                    print(f'{case.__name__}: not trained: {done.stderr.strip()[:140]}')
                    break
                noted = 'note: micro-batches' in done.stderr
                weights = load_file(out)
                missing = [k for k in right if k not in weights]
                if missing:
                    print(f'{case.__name__}: names {missing[:3]} not among {sorted(weights)[:6]}')
                    break
                d = distance(weights, right, before)
                compared += 1
                class_ = 'exact' if pieces == 1 else 'lossy' if noted else 'reordered'
                print(f'{case.__name__:12} {"dynamo" if dynamo else "script"} in {pieces}: {class_}, {d:.1e} of PyTorch\'s update apart' + (f' ({done.stderr.strip()[-120:]})' if noted else ''))
                if pieces > 1: check(class_ == expected, f'{case.__name__} is {class_}')
                if class_ != 'lossy': check(d < 1e-4, f'{case.__name__}: {d}')
check(compared >= 3 * len(CASES), f'only {compared} runs were compared')
sys.exit(failed)
