#!/usr/bin/env python3
"""Writes state8_numbers.h: the dynamic maps of bitsandbytes, what its quantize_blockwise makes of random blocks, and weights
after updates whose states go through its quantize_blockwise each time.

Numbers are given as float64: for those its code on the processor finds the nearest entry of the map, as its kernels on cards do.
For float32 it reads a table of 65,536 numbers from -1 to 1, so that a number close to the middle of two entries, or below 1e-5,
may get another one.

usage: make_state8_numbers.py > tests/grad/state8_numbers.h      (needs torch and bitsandbytes, on the processor)
"""
import bitsandbytes.functional as F
import torch


def text(values, form):
    lines, line = [], '   '
    for v in values:
        word = ' ' + form(v) + ','
        if len(line) + len(word) > 118:
            lines.append(line)
            line = '   '
        line += word
    return '\n'.join(lines + [line])


def quantize(x, code):
    return torch.ops.bitsandbytes.quantize_blockwise.default(x.double(), code, 256)


bits = lambda x: '0x%08xu' % (torch.tensor([x], dtype=torch.float32).view(torch.int32).item() & 0xffffffff)
torch.manual_seed(3)
signed = torch.cat([torch.randn(256), torch.randn(256) * torch.exp(4 * torch.randn(256)), torch.randn(100) * 1e-20])
unsigned = torch.cat([torch.rand(256) ** 2, torch.randn(256) ** 2 * torch.exp(4 * torch.randn(256)), torch.rand(100) * 1e-30])
print('/* Made by make_state8_numbers.py with bitsandbytes %s: do not edit. Floats as their bits. */' % __import__('bitsandbytes').__version__)
for name, x, sign in (('signed', signed, True), ('unsigned', unsigned, False)):
    code = F.create_dynamic_map(signed=sign)
    q, absmax = quantize(x, code)
    print('static const uint32_t %s_code[256] = {\n%s\n};' % (name, text(code.tolist(), bits)))
    print('static const uint32_t %s_numbers[%d] = {\n%s\n};' % (name, len(x), text(x.tolist(), bits)))
    print('static const uint8_t %s_codes[%d] = {\n%s\n};' % (name, len(x), text(q.flatten().tolist(), str)))
    print('static const uint32_t %s_scales[%d] = {\n%s\n};' % (name, len(absmax), text(absmax.tolist(), bits)))


COUNT, UPDATES, RATE = 5000, 12, 0.01
SAMPLES = list(range(0, COUNT, 79))
k = torch.arange(COUNT, dtype=torch.int64)


def number(values):  # the same in test_state8.c
    return values.to(torch.float32) / 500 - 1


def gradient(t):
    return number((k * 7919 + t * 104729 + k * k * (t + 1)) % 1000) * (1 + (k // 256 % 5).to(torch.float32))


class State:
    def __init__(self, sign):
        self.code, self.q, self.absmax = F.create_dynamic_map(signed=sign), None, None
        self.sign = sign

    def get(self):
        return torch.zeros(COUNT) if self.q is None else self.code[self.q.long()] * self.absmax.repeat_interleave(256)[:COUNT]

    def put(self, x):
        self.q, self.absmax = quantize(x, self.code)
        if not self.sign:  # ours: a second moment above 0 does not become 0
            self.q[(self.q == 0) & (x > 0)] = 1


def run(rule):
    x, m, v = number((k * 31) % 1000), State(True), State(False)
    for t in range(1, UPDATES + 1):
        g = gradient(t)
        if rule == 'adamw':
            x = x * (1 - RATE * 0.01)
            new_m, new_v = m.get() * 0.9 + 0.1 * g, v.get() * 0.999 + 0.001 * g * g
            m.put(new_m), v.put(new_v)
            x = x - RATE / (1 - 0.9 ** t) * new_m / (new_v.sqrt() / (1 - 0.999 ** t) ** 0.5 + 1e-8)
        elif rule == 'momentum':
            new_m = 0.9 * m.get() + g
            m.put(new_m)
            x = x - RATE * new_m
        elif rule == 'rmsprop':
            new_v = 0.99 * v.get() + 0.01 * g * g
            v.put(new_v)
            x = x - RATE * g / (new_v.sqrt() + 1e-8)
        else:
            old = m.get()
            x = x - RATE * torch.sign(0.9 * old + 0.1 * g)
            m.put(0.99 * old + 0.01 * g)
    return x[SAMPLES]


for rule in ('adamw', 'momentum', 'rmsprop', 'lion'):
    print('static const float %s_weights[%d] = {\n%s\n};' % (rule, len(SAMPLES), text(run(rule).tolist(), lambda x: '%.9gf' % x if '.' in '%.9g' % x or 'e' in '%.9g' % x else '%.9g.0f' % x)))
