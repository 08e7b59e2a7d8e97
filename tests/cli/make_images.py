"""Images as an NPZ file, which Python writes without NumPy: x (N, C, H, W) of bytes, y (N) of classes.

usage: make_images.py OUT.npz COUNT CHANNELS SIZE
"""
import random, struct, sys, zipfile
path, count, channels, size = sys.argv[1], *map(int, sys.argv[2:])
def npy(kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data
random.seed(count)
with zipfile.ZipFile(path, "w") as file:
    file.writestr("x.npy", npy("|u1", (count, channels, size, size), random.randbytes(count * channels * size * size)))
    file.writestr("y.npy", npy("<i8", (count,), struct.pack(f"<{count}q", *(i % 10 for i in range(count)))))
