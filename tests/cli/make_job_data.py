"""Small data sets of every kind that a network learns in seconds, written without NumPy.

usage: make_job_data.py FOLDER
  flowers.csv          three classes by name and four columns; flowers-sorted.csv: the same rows, other order of rows and columns
  photos/CLASS/N.png   colour images of 8 x 8 pixels, a class by its colour; photos-less/: without the first class
  first.npz last.npz   the same images with channels first and last
"""
import os, random, struct, sys, zipfile, zlib
folder = sys.argv[1]
random.seed(5)

def npy(kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data

def png(pixels, size):
    rows = b"".join(b"\0" + bytes(v for pixel in row for v in pixel) for row in pixels)
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")

names, middles = ["virginica", "setosa", "versicolor"], [(6.5, 3, 5.5, 2), (5, 3.4, 1.5, 0.2), (5.9, 2.8, 4.3, 1.3)]
flowers = [(names[i % 3], [round(m + random.gauss(0, 0.2), 2) for m in middles[i % 3]]) for i in range(240)]
with open(f"{folder}/flowers.csv", "w") as file:
    print("sepal length,sepal width,petal length,petal width,species", file=file)
    for name, values in flowers: print(*values, name, sep=",", file=file)
with open(f"{folder}/flowers-sorted.csv", "w") as file:
    print("species,petal width,sepal length,number,sepal width,petal length", file=file)
    for i, (name, (a, b, c, d)) in enumerate(sorted(flowers)): print(name, d, a, i, b, c, sep=",", file=file)

size, colours = 8, [(200, 60, 60), (60, 200, 60), (60, 60, 200)]
classes, images = ["apple", "leaf", "sea"], []
for i in range(90):
    colour = colours[i % 3]
    pixels = [[tuple(min(255, max(0, c + random.randint(-50, 50))) for c in colour) for _ in range(size)] for _ in range(size)]
    images.append((i % 3, pixels))
    for place in ["photos"] + ["photos-less"] * (i % 3 > 0):
        os.makedirs(f"{folder}/{place}/{classes[i % 3]}", exist_ok=True)
        with open(f"{folder}/{place}/{classes[i % 3]}/{i}.png", "wb") as file: file.write(png(pixels, size))
labels = npy("<i8", (len(images),), struct.pack(f"<{len(images)}q", *(k for k, _ in images)))
last = bytes(v for _, pixels in images for row in pixels for pixel in row for v in pixel)
first = bytes(pixel[c] for _, pixels in images for c in range(3) for row in pixels for pixel in row)
for name, data, shape in ("first", first, (3, size, size)), ("last", last, (size, size, 3)):
    with zipfile.ZipFile(f"{folder}/{name}.npz", "w") as file:
        file.writestr("x.npy", npy("|u1", (len(images), *shape), data))
        file.writestr("y.npy", labels)
