"""The allocations of Keras training steps in TensorFlow's graph mode, for any batch, without a GPU.

    def make(batch):                 # builds everything, returns what does one step
        model = keras.Sequential([...])
        model.compile(optimizer="adam", loss="mse")
        x, y = np.zeros((batch, 224, 224, 3), "float32"), np.zeros((batch, 10), "float32")
        return lambda: model.train_on_batch(x, y)

    from plimsoll.capture_keras import capture
    capture(make, "step.trace", batch=256)     # then: plimsoll fit step*.trace --framework tensorflow --gpu "RTX 3060"

The steps run for real on the processor, at two small batches, with the allocator that TensorFlow uses on a GPU; its own
profiler tells every request and when it was given back. Both runs ask for the same tensors in the same order; the size of
each is a constant and a share for each sample, so the requests of every other batch follow. Which of two independent operators
runs first differs from run to run, and the peak with it, at any batch: several runs are written, each to a trace of its own
(step.trace, step.2.trace, ...), and fit tells the middle of them and their range. Needs TensorFlow 2.16 or later.

Orders (--order). "processor": as TensorFlow schedules on the processor, where operators that took long so far are left to the
thread pool and so come later than others; which they are differs with the batch and from run to run. "gpu": as it schedules
on a GPU, where no operator counts as long. "fixed": the same, with TF_DETERMINISTIC_ORDER=1, TensorFlow's own switch that takes
the lowest-numbered operator that is ready: every run is the same, here and in a job that sets it.
"""

import argparse
import ctypes
import glob
import importlib.util
import mmap
import os
import platform
import pickle
import re
import sys
import tempfile

try:
    from plimsoll._trace import Writer
except ImportError:  # run as a script, without the package
    from _trace import Writer

STEPS = 3  # the first one makes the optimizer's state and compiles
RUNS = 8  # orders of independent operators
ORDERS = ("processor", "gpu", "fixed")
SMALL = (17, 23)  # primes: a size that is a multiple of one has the batch in it
STEP_NAME = "plimsoll_step"
# ONNX's numbers of TensorFlow's types.
DTYPES = {1: 1, 2: 11, 3: 6, 4: 2, 5: 5, 6: 3, 9: 7, 10: 9, 14: 16, 19: 10}


def prepare(limit_mib=1 << 20):
    """Before TensorFlow makes its first tensor: the allocator of GPUs for the processor, its own kernels, one order."""
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(limit_mib)
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # oneDNN's own copies of tensors are of the processor only
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def one_order(order=ORDERS[0]):
    import tensorflow as tf

    if order == "fixed":
        os.environ["TF_DETERMINISTIC_ORDER"] = "1"
    if order != "processor":
        no_operator_is_long(os.path.dirname(tf.__file__))
    batches_are_copied()
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)


def batches_are_copied():
    """TensorFlow takes over an array whose address is a multiple of 64, which is chance; a GPU gets a copy of every batch. So no
    array has such an address."""
    import numpy as np
    from tensorflow.python.framework import constant_op

    class Shifted(np.ndarray):
        def copy(self, order="C"):  # TensorFlow copies what it is given: once is enough
            return self

    convert = constant_op.convert_to_eager_tensor

    def convert_shifted(value, *args, **options):
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" and value.nbytes:
            room = np.empty(value.nbytes + 64, np.uint8)
            start = (16 - room.ctypes.data) % 64
            shifted = room[start:start + value.nbytes].view(value.dtype).reshape(value.shape).view(Shifted)
            shifted[...] = value
            value = shifted
        return convert(value, *args, **options)

    constant_op.convert_to_eager_tensor = convert_shifted


# return false;
RETURN_FALSE = {"x86_64": b"\x31\xc0\xc3", "aarch64": b"\x00\x00\x80\x52\xc0\x03\x5f\xd6"}


def no_operator_is_long(folder):
    """OpKernel::IsExpensive() says what kernels of a GPU say: no. There is no setting for it, so the function's first
    instructions are replaced, in this process alone."""
    code = RETURN_FALSE.get(platform.machine())
    if code is None or not sys.platform.startswith("linux"):
        raise RuntimeError("orders of a GPU: only on Linux, on x86-64 and arm64")
    libc = ctypes.CDLL(None, use_errno=True)
    for name in ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2"):
        library = ctypes.CDLL(os.path.join(folder, name), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        function = getattr(library, "_ZN10tensorflow8OpKernel11IsExpensiveEv")
        address = ctypes.cast(function, ctypes.c_void_p).value
        page = address // mmap.PAGESIZE * mmap.PAGESIZE
        span = ctypes.c_void_p(page), ctypes.c_size_t(address + len(code) - page)
        if libc.mprotect(*span, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) != 0:
            raise RuntimeError("the system does not let TensorFlow's code be changed: %s" % os.strerror(ctypes.get_errno()))
        ctypes.memmove(address, code, len(code))
        libc.mprotect(*span, mmap.PROT_READ | mmap.PROT_EXEC)


def stats_of(event, names):
    found = {}
    for stat in event.stats:
        which = stat.WhichOneof("value")
        value = getattr(stat, which)
        found[names[stat.metadata_id]] = names.get(value, "") if which == "ref_value" else value
    return found


def read_profile(folder):
    """(time, what, address, stats) of every request, give-back and step in the profile, in order."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space, events = xplane_pb2.XSpace(), []
    for path in glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True):
        with open(path, "rb") as file:
            space.ParseFromString(file.read())
    for plane in space.planes:
        kinds = {key: value.name for key, value in plane.event_metadata.items()}
        names = {key: value.name for key, value in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                kind = kinds[event.metadata_id]
                if kind in ("MemoryAllocation", "MemoryDeallocation"):
                    stats = stats_of(event, names)
                    if "bfc" in stats.get("allocator_name", ""):
                        events.append((line.timestamp_ns * 1000 + event.offset_ps, kind, stats["addr"], stats))
                elif kind == STEP_NAME:
                    events.append((line.timestamp_ns * 1000 + event.offset_ps, kind, 0, {}))
    return sorted(events, key=lambda e: e[0])


def record(make, batch, steps=STEPS, order=ORDERS[0]):
    """Runs make(batch) and the step that it returns; the events. TensorFlow must not have run anything yet."""
    import tensorflow as tf

    one_order(order)
    with tempfile.TemporaryDirectory() as folder:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3, python_tracer_level=0, device_tracer_level=0)
        tf.profiler.experimental.start(folder, options)
        step = make(batch)
        for _ in range(steps):
            with tf.profiler.experimental.Trace(STEP_NAME):
                step()
        peak = tf.config.experimental.get_memory_info("CPU:0")["peak"]
        tf.profiler.experimental.stop()
        events = read_profile(folder)
    list_, live, births = [], {}, 0
    for _, kind, address, stats in events:
        if kind == STEP_NAME:
            list_.append(("step",))
        elif kind == "MemoryAllocation":
            live[address] = births
            births += 1
            list_.append(("born", stats["requested_bytes"], stats.get("tf_op", ""), stats.get("shape", ""),
                          stats.get("data_type", 0), stats.get("region_type", "")))
        elif address in live:
            list_.append(("died", live.pop(address)))
    return {"events": list_, "peak": peak, "batch": batch}


def in_child(function, *args):
    """In a process of its own: an allocator cannot be emptied."""
    with tempfile.NamedTemporaryFile() as file:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                result = function(*args)
                with open(file.name, "wb") as out:
                    pickle.dump(result, out)
                code = 0
            except BaseException as error:  # noqa: BLE001  (told by the parent)
                sys.stderr.write("%s: %s\n" % (type(error).__name__, str(error).split("\n")[0][:300]))
            finally:
                sys.stderr.flush()
                os._exit(code)
        if os.waitpid(child, 0)[1] != 0:
            raise RuntimeError("the step did not run")
        return pickle.load(file)


def size_at(batch, small, large):
    """A constant and a share for each sample, from two batches."""
    (b1, s1), (b2, s2) = small, large
    return max(s1 + (s2 - s1) * (batch - b1) // (b2 - b1), 1)


def keys_of(births):
    """Each request by its operator, its part in it, and which one of these it is: the order of independent operators may
    differ between runs. None for what has no operator: data, and what Python holds."""
    seen, keys = {}, []
    for _, _, operator, shape, dtype, region in births:
        key = (operator, region, dtype, shape.count(","))
        seen[key] = seen.get(key, 0) + 1
        keys.append(key + (seen[key],) if shape and not operator.startswith("__") else None)
    return keys


def extrapolate(small, large, batch):
    """The events of another batch, in the order of the larger run. Which buffers an operator can reuse depends on the order,
    so a few requests are in one run only: these have the batch in their shape, or do not depend on it."""
    births = [[e for e in run["events"] if e[0] == "born"] for run in (small, large)]
    first = dict(zip(keys_of(births[0]), (e[1] for e in births[0])))
    sizes = []
    for key, event in zip(keys_of(births[1]), births[1]):
        size, shape = event[1], event[3]
        numbers = [int(d) for d in re.findall(r"\d+", shape)] if shape else [size]
        if key is not None and key in first:
            size = size_at(batch, (small["batch"], first[key]), (large["batch"], size))
        elif any(number and number % large["batch"] == 0 for number in numbers):
            size = size * batch // large["batch"]
        sizes.append(size)
    sizes.reverse()
    return [("born", sizes.pop()) + e[2:] if e[0] == "born" else e for e in large["events"]]


def predict(make, batch, small=SMALL, steps=STEPS, runs=RUNS, order=ORDERS[0]):
    """The events of `batch`, never run, in the orders of `runs` runs of a small batch."""
    first = in_child(record, make, small[0], steps, order)
    return [extrapolate(first, in_child(record, make, small[1], steps, order), batch) for _ in range(max(runs, 1))]


def write(events, path, title, facts=()):
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.record(8, 0, writer.text(title))
        for name, value in facts:
            writer.fact(name, value)
        numbers, steps = [], 0
        for event in events:
            if event[0] == "step":
                writer.event(19, identity=steps)
                steps += 1
            elif event[0] == "born":
                _, nbytes, operator, shape, dtype, region = event
                phase, kind = ("forward", "activation") if steps else ("load", "weight")
                kind = {"persist": "optimizer" if steps else "weight", "temp": "workspace"}.get(region, kind)
                shape = shape.strip("[]").replace(",", "x")
                numbers.append(writer.buffer((operator or "tensor", shape, "", operator), kind, phase,
                                             DTYPES.get(dtype, 0), nbytes))
                writer.event(16, identity=numbers[-1])
            else:
                writer.event(17, identity=numbers[event[1]])
        writer.event(31)


def path_of(path, index):
    """step.trace, step.2.trace, step.3.trace ..."""
    stem, end = os.path.splitext(path)
    return "%s.%d%s" % (stem, index + 1, end) if index else path


def capture(make, path, batch, small=SMALL, steps=STEPS, title="", runs=None, order=ORDERS[0]):
    """Writes the traces of `steps` steps at `batch`, one for each of `runs` runs, since orders differ; returns their paths.
    `small`: the two batches that really run, or None to run `batch`. `runs`: 8, or 1 where the order is fixed."""
    prepare()
    import tensorflow as tf

    runs = max(runs if runs else 1 if order == "fixed" else RUNS, 1)
    if small is None:
        orders = [in_child(record, make, batch, steps, order)["events"] for _ in range(runs)]
    else:
        orders = predict(make, batch, small, steps, runs, order)
    facts = [("framework", "tensorflow " + tf.__version__), ("batch", str(batch)), ("order", order)]
    paths = [path_of(path, index) for index in range(len(orders))]
    for events, name in zip(orders, paths):
        write(events, name, title or os.path.basename(path), facts)
    return paths


def main():
    parser = argparse.ArgumentParser(description="Write the allocations of Keras training steps for plimsoll fit.")
    parser.add_argument("program", help="a Python file with a function make(batch) that returns a function for one step")
    parser.add_argument("--batch", type=int, required=True, help="the batch to predict")
    parser.add_argument("--small", type=int, nargs=2, default=SMALL,
                        help="the two batches that really run (%d %d)" % SMALL)
    parser.add_argument("--whole", action="store_true", help="run the batch itself instead")
    parser.add_argument("--runs", type=int,
                        help="runs, each with its order of operators and its trace (%d; 1 where the order is fixed)" % RUNS)
    parser.add_argument("--order", choices=ORDERS, default=ORDERS[0],
                        help="as TensorFlow schedules on the processor or on a GPU, or fixed by TF_DETERMINISTIC_ORDER=1")
    parser.add_argument("-o", "--output", default="step.trace")
    options = parser.parse_args()
    prepare()
    if not os.path.isfile(options.program) or not options.program.endswith(".py"):
        parser.error("%s is no Python file that can be read" % options.program)
    spec = importlib.util.spec_from_file_location("program", options.program)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.program)))
    spec.loader.exec_module(module)
    if not hasattr(module, "make"):
        parser.error("%s has no function make(batch)" % options.program)
    small = None if options.whole else tuple(options.small)
    title = os.path.basename(options.program)
    try:
        paths = capture(module.make, options.output, options.batch, small, title=title, runs=options.runs, order=options.order)
    except RuntimeError as error:  # the reason was said by the process of the run
        sys.exit("%s: %s" % (options.program, error))
    print("wrote %s" % " ".join(paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
