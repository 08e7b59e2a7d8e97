#!/usr/bin/env python3
"""Writes the .npz archives of tests/data/files, stored and packed, without NumPy."""
import io, os, struct, zipfile

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


arrays = {
    "x_train": npy("<f8", "(4, 3)", struct.pack("<12d", *(i * 0.5 for i in range(12)))),
    "y_train": npy(">i4", "(4,)", struct.pack(">4i", 3, 2, 1, 0)),
    "x_test": npy("<f4", "(2, 3)", struct.pack("<6f", *range(100, 106))),
    "y_test": npy("|u1", "(2,)", bytes([1, 0])),
}
for name, method in (("split.npz", zipfile.ZIP_STORED), ("split-packed.npz", zipfile.ZIP_DEFLATED)):
    with zipfile.ZipFile(os.path.join(here, name), "w", method) as archive:
        for array, data in arrays.items():
            archive.writestr(zipfile.ZipInfo(array + ".npy"), data, compress_type=method)
