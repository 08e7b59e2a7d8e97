"""What onnxruntime asks its allocator for when whole models run, and what its own arena then holds: makes ort_requests.txt.

    ort_requests.py PLIMSOLL > ort_requests.txt

Every model runs twice: with an allocator of ours that writes down each request and give-back, and with onnxruntime's
arena, whose statistics are read after each run. Through the C interface of the library in the Python package; needs
onnxruntime 1.23 or later and NumPy. PLIMSOLL makes the models (`plimsoll zoo`)."""

import ctypes
import glob
import os
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

MODELS = ["mlp", "lenet", "tabular", "resnet18 --image 96", "resnet34 --image 64", "resnet50 --image 96",
          "mobilenet_v2 --image 96", "unet --image 64 --width 32", "gpt2-tiny", "gpt2 --seq 64 --width 192 --layers 3",
          "vit-tiny", "lstm"]
RUNS = 3
# Places in the table of functions, which never change.
PLACES = dict(GetErrorMessage=2, CreateEnv=3, CreateSession=7, Run=9, CreateSessionOptions=10, SetIntraOpNumThreads=24,
              CreateTensorWithDataAsOrtValue=49, CreateCpuMemoryInfo=69, ReleaseSession=95, ReleaseValue=96,
              AddSessionConfigEntry=130, CreateAllocator=131, RegisterAllocator=176, UnregisterAllocator=177,
              GetKeyValuePairs=298, AllocatorGetStats=319)
ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
INFO = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Allocator(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("Alloc", ALLOC), ("Free", FREE), ("Info", INFO), ("Reserve", ALLOC),
                ("GetStats", ctypes.c_void_p), ("AllocOnStream", ctypes.c_void_p), ("Shrink", ctypes.c_void_p)]


class Base(ctypes.Structure):
    _fields_ = [("GetApi", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)), ("GetVersionString", ctypes.c_void_p)]


class Library:
    def __init__(self):
        folder = os.path.join(os.path.dirname(onnxruntime.__file__), "capi")
        file = ctypes.CDLL(sorted(glob.glob(os.path.join(folder, "libonnxruntime.so*")))[0])
        file.OrtGetApiBase.restype = ctypes.POINTER(Base)
        self.table = ctypes.cast(file.OrtGetApiBase().contents.GetApi(23), ctypes.POINTER(ctypes.c_void_p))
        self.env = self.make("CreateEnv", 3, b"")
        self.info = self.make("CreateCpuMemoryInfo", 0, 0)  # an arena, the default memory

    def call(self, name, *args):
        kinds = [ctypes.c_int if isinstance(a, int) else ctypes.c_void_p for a in args]
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, *kinds)(self.table[PLACES[name]])
        status = function(*args)
        if status and not name.startswith("Release"):
            text = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(self.table[PLACES["GetErrorMessage"]])(status)
            raise RuntimeError("%s: %s" % (name, text.decode()))

    def make(self, name, *args):
        out = ctypes.c_void_p()
        self.call(name, *args, ctypes.byref(out))
        return out

    def stats(self, allocator):
        pairs = self.make("AllocatorGetStats", allocator)
        keys, values, count = (ctypes.POINTER(ctypes.c_char_p)(), ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_size_t())
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(self.table[PLACES["GetKeyValuePairs"]])
        function(pairs, ctypes.byref(keys), ctypes.byref(values), ctypes.byref(count))
        return {keys[i].decode(): int(values[i]) for i in range(count.value)}


class Recorder:
    """Requests as "a BYTES", "r BYTES" (reserved: before the first run, beside the arena) and "f NUMBER"."""

    def __init__(self, library):
        self.events, self.live, self.count, self.kept = [], {}, 0, {}
        self.table = Allocator(23, ALLOC(lambda _, size: self.take("a", size)), FREE(lambda _, at: self.give(at)),
                               INFO(lambda _: library.info.value), ALLOC(lambda _, size: self.take("r", size)))

    def take(self, kind, size):
        if not size:
            return None
        memory = ctypes.create_string_buffer(size + 256)
        address = (ctypes.addressof(memory) + 255) & ~255
        self.kept[address] = memory
        self.live[address] = self.count
        self.count += 1
        self.events.append("%s %d" % (kind, size))
        return address

    def give(self, address):
        if address:
            self.events.append("f %d" % self.live.pop(address))
            del self.kept[address]


def inputs_of(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": ("float32", 1), "tensor(int64)": ("int64", 7), "tensor(int32)": ("int32", 6)}
    found = []
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) else 2 for d in value.shape]
        kind, number = types[value.type]
        found.append((value.name.encode(), numpy.zeros(shape, kind), number))
    return found, [o.name.encode() for o in session.get_outputs()]


def run(library, path, recorded, told):
    """Runs the model; told(session) after it was made and after each run."""
    inputs, outputs = inputs_of(path)
    options = library.make("CreateSessionOptions")
    library.call("SetIntraOpNumThreads", options, 1)
    library.call("AddSessionConfigEntry", options, b"session.use_env_allocators", b"1" if recorded else b"0")
    session = library.make("CreateSession", library.env, path.encode(), options)
    told(session)
    for _ in range(RUNS):
        values = []
        for _, array, number in inputs:
            shape = (ctypes.c_int64 * array.ndim)(*array.shape)
            out = ctypes.c_void_p()
            function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
                                        ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
            function(library.table[PLACES["CreateTensorWithDataAsOrtValue"]])(
                library.info, array.ctypes.data, array.nbytes, shape, array.ndim, number, ctypes.byref(out))
            values.append(out.value)
        given, wanted = (ctypes.c_char_p * len(inputs))(*[i[0] for i in inputs]), (ctypes.c_char_p * len(outputs))(*outputs)
        made = (ctypes.c_void_p * len(outputs))()
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                                    ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        status = function(library.table[PLACES["Run"]])(session, None, given, (ctypes.c_void_p * len(values))(*values),
                                                        len(values), wanted, len(outputs), made)
        if status:
            raise RuntimeError("the model does not run")
        for value in list(made) + values:
            library.call("ReleaseValue", ctypes.c_void_p(value))
        told(session)
    library.call("ReleaseSession", session)


def write(library, name, path):
    recorder = Recorder(library)
    library.call("RegisterAllocator", library.env, ctypes.byref(recorder.table))
    marks = []
    run(library, path, True, lambda _: marks.append(len(recorder.events)))
    library.call("UnregisterAllocator", library.env, library.info)
    held = []
    run(library, path, False, lambda session: held.append(library.stats(library.make("CreateAllocator", session,
                                                                                     library.info))))
    print("model %s" % name)
    start = 0
    for mark, stats in zip(marks, held):
        print("\n".join(recorder.events[start:mark]))
        print("holds %d %d %d %d" % (stats["TotalAllocated"], stats["InUse"], stats["MaxInUse"],
                                     stats["NumArenaExtensions"]))
        start = mark


def main():
    library = Library()
    print("# made by ort_requests.py with onnxruntime %s" % onnxruntime.__version__)
    print("# a: asked for, r: reserved beside the arena, f: given back; holds: taken, in use, most in use, extensions")
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or MODELS:
            path = os.path.join(folder, name.split()[0] + ".onnx")
            subprocess.run([sys.argv[1], "zoo"] + name.split() + ["-o", path], check=True, stdout=subprocess.DEVNULL)
            write(library, name, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
