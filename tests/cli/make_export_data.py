"""Data of tests/run/exports/*.safetensors as NPY and NPZ files in this folder, whole and cut.

usage: make_export_data.py EXPORTS        needs nothing but Python itself
"""
import json
import struct
import sys
import zipfile


def array(kind, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (kind, ', '.join(map(str, shape)))
    head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + data


def tensor(name, kind, samples=12, file='open'):
    data = open('%s/%s.safetensors' % (sys.argv[1], file), 'rb').read()
    (length,) = struct.unpack('<Q', data[:8])
    entry = json.loads(data[8:8 + length])[name]
    begin, end = entry['data_offsets']
    used = (end - begin) * samples // 12
    return array(kind, [samples] + entry['shape'][1:], data[8 + length + begin:8 + length + begin + used])

open('x.npy', 'wb').write(tensor('x', '<i8'))
open('eval.npy', 'wb').write(tensor('eval', '<f4'))
with zipfile.ZipFile('data.npz', 'w') as z:
    z.writestr('x.npy', tensor('x', '<i8'))
    z.writestr('y.npy', tensor('y', '<f4'))
with zipfile.ZipFile('stochastic.npz', 'w') as z:
    z.writestr('x.npy', tensor('x', '<f4', file='stochastic'))
    z.writestr('y.npy', tensor('y', '<f4', file='stochastic'))
a, b = (struct.unpack('<216f', tensor(name, '<f4', file='stochastic')[-216 * 4:]) for name in ('eval', 'y'))
open('stochastic.loss', 'w').write('%.5f' % (sum((p - q) ** 2 for p, q in zip(a, b)) / 216))
for samples in (12, 5):
    with zipfile.ZipFile('fixed%d.npz' % samples, 'w') as z:
        z.writestr('x.npy', tensor('x', '<f4', samples, 'baked'))
        z.writestr('y.npy', tensor('y', '<f4', samples, 'baked'))
open('fixed-x.npy', 'wb').write(tensor('x', '<f4', file='baked'))
open('fixed.npy', 'wb').write(tensor('eval', '<f4', file='baked'))
for kind in ('float16', 'bfloat16', 'float64'):  # three samples, and PyTorch's outputs in float32
    for key, file in (('in.x', 'x'), ('out', 'y')):
        data = open('%s/../forms/%s.safetensors' % (sys.argv[1], kind), 'rb').read()
        (length,) = struct.unpack('<Q', data[:8])
        entry = json.loads(data[8:8 + length])[key]
        begin, end = entry['data_offsets']
        open('%s-%s.npy' % (kind, file), 'wb').write(array('<f4', entry['shape'], data[8 + length + begin:8 + length + end]))
