"""Random networks on long rows: signals, wide images and flat volumes, as ONNX files, by nothing but Python.

Convolutions, norms, activations and pools over one to three axes, the last of them long and often a prime; then a mean and a
layer of classes. What a kernel keeps or writes for each column of a row shows here.
"""
import random
import struct


def number(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(key, value):
    """A field of a protocol buffer: numbers as varints, bytes and text by length."""
    if isinstance(value, int):
        return number(key << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(key << 3 | 2) + number(len(value)) + value


def attribute(name, value):
    many = isinstance(value, list)
    body = b"".join(field(8, v) for v in value) if many else field(3, value)
    return field(5, field(1, name) + body + field(20, 7 if many else 2))


def node(op, inputs, output, **attributes):
    return field(1, b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, op) +
                 b"".join(attribute(k, v) for k, v in attributes.items()))


def tensor(name, dims, draw):
    count = 1
    for d in dims:
        count *= d
    data = struct.pack("<%df" % count, *(draw() for _ in range(count)))
    return field(5, b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) + field(9, data))


def port(key, name, dims):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(key, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def draw_sizes():
    """One to three axes; at most 60,000 elements a channel."""
    axes = random.choice([1, 2, 2, 3])
    row = random.choice([random.randrange(600, 20000), random.choice([1021, 2039, 4093, 8191, 16381])])
    sizes = [random.choice([2, 3, 4, 8]) for _ in range(axes - 1)] + [row]
    while sizes[-1] > 700 and 1 < axes and sizes[-1] * sizes[0] * (sizes[1] if axes == 3 else 1) > 60000:
        sizes[-1] //= 2
    return sizes


def write(path):
    """Draws one; what it is, in words."""
    sizes, channels, classes = draw_sizes(), random.choice([1, 2, 3]), 4
    axes, words, nodes, weights, now = len(sizes), [], b"", b"", "x"
    start = "x".join(map(str, [channels, *sizes]))
    for i in range(random.randint(2, 7)):
        out, kernel = random.randint(2, 24), random.choice([3, 3, 5])
        window = [min(kernel, 2 * (s // 2) + 1) for s in sizes]
        weights += tensor(f"w{i}", [out, channels, *window], lambda: random.gauss(0, 0.2))
        nodes += node("Conv", [now, f"w{i}"], f"c{i}", pads=[w // 2 for w in window] * 2, kernel_shape=window)
        now, channels = f"c{i}", out
        if random.random() < 0.3:
            for part in "smbv":
                weights += tensor(f"{part}{i}", [out], lambda part=part: 0.0 if part in "mb" else 1.0)
            nodes += node("BatchNormalization", [now, f"s{i}", f"b{i}", f"m{i}", f"v{i}"], f"n{i}")
            now = f"n{i}"
        act = random.choice(["Relu", "Tanh", "Sigmoid", "Sin"])
        nodes += node(act, [now], f"a{i}")
        now = f"a{i}"
        words.append(f"{act.lower()}{out}")
        if random.random() < 0.4 and sizes[-1] > 100:
            pool, step = random.choice(["MaxPool", "AveragePool"]), [1] * (axes - 1) + [2]
            nodes += node(pool, [now], f"p{i}", kernel_shape=step, strides=step)
            now, sizes[-1] = f"p{i}", sizes[-1] // 2
            words.append(pool.lower())
    nodes += node("GlobalAveragePool", [now], "g") + node("Flatten", ["g"], "f") + node("Gemm", ["f", "wf"], "y")
    weights += tensor("wf", [channels, classes], lambda: random.gauss(0, 0.3))
    graph = nodes + field(2, "rows") + weights + port(11, "x", ["N", *map(int, start.split("x"))]) + port(12, "y", ["N", classes])
    with open(path, "wb") as file:
        file.write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
    return "rows %s %s" % (start, " ".join(words))
