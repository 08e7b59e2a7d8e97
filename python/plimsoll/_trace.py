"""Writes Plimsoll's trace format, see docs/trace-format.md. Needs nothing."""

import struct
import time

KINDS = {"weight": 0, "gradient": 1, "optimizer": 2, "activation": 3, "workspace": 4, "data": 5, "process": 6, "other": 7}
PHASES = {"": 0, "load": 1, "forward": 2, "backward": 3, "update": 4, "data": 5, "recompute": 6}


class Writer:
    def __init__(self, file):
        self.file, self.texts, self.operators, self.buffers, self.time = file, {"": 0}, {}, 0, 0
        file.write(b"PLIMTRC\n" + struct.pack("<IIQ", 1, 1, time.time_ns()))

    def record(self, kind, argument, identity, body=b""):
        body += b"\0" * (-len(body) % 8)
        self.file.write(struct.pack("<BBHI", kind, argument, 1 + len(body) // 8, identity) + body)

    def text(self, text):
        text = text[:2000]
        if text not in self.texts:
            data = text.encode("utf-8", "replace")
            self.record(1, 0, len(data), data)
            self.texts[text] = len(self.texts)
        return self.texts[text]

    def fact(self, name, value):
        name, value = self.text(name), self.text(value)
        self.record(4, 0, name, struct.pack("<II", value, 0))

    def event(self, kind, argument=0, identity=0, body=b""):
        self.time += 1000
        self.record(kind, argument, identity, struct.pack("<Q", self.time) + body)

    def buffer(self, texts, kind, phase, dtype, nbytes):
        """`texts`: name, shape, layer, operator; `dtype` as ONNX numbers them. Returns the buffer's number."""
        ids = [self.text(t) for t in texts]
        self.record(2, KINDS[kind], ids[0], struct.pack("<IIIBBHQQ", *ids[1:], PHASES[phase], dtype, 0, nbytes, 2**64 - 1))
        self.buffers += 1
        return self.buffers - 1

    def operator(self, text):
        if text not in self.operators:
            self.record(9, 0, self.text(text))
            self.operators[text] = len(self.operators)
        return self.operators[text]
