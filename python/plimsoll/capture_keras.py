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
each is a constant and a share for each sample, so the requests of every other batch follow. For the batch itself the functions
are built, but not run: what TensorFlow folds into constants depends on the batch, and on that how it numbers its operators; the
second small batch is one for which it builds the same. Which of two independent operators
runs first differs from run to run, and the peak with it, at any batch: several runs are written, each to a trace of its own
(step.trace, step.2.trace, ...), and fit tells the middle of them and their range. Needs TensorFlow 2.16 or later.

Orders (--order). "processor": as TensorFlow schedules on the processor, where operators that took long so far are left to the
thread pool and so come later than others; which they are differs with the batch and from run to run. "gpu": as it schedules
on a GPU, where no operator counts as long. "fixed": the same, with TF_DETERMINISTIC_ORDER=1, TensorFlow's own switch that takes
the lowest-numbered operator that is ready: every run is the same, here and in a job that sets it.
"""

import argparse
import ctypes
import difflib
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
ALIKE = (23, 29, 31, 37, 43, 53, 61, 79, 97, 127)  # tried for the second one, until its functions are built as the batch's own
KINDS = 3  # of functions, where none are
STEP_NAME, APART, WITHIN = "plimsoll_step", "plimsoll_apart", "plimsoll_within"  # marks between requests
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
                elif kind in (STEP_NAME, APART, WITHIN):
                    events.append((line.timestamp_ns * 1000 + event.offset_ps, kind, 0, {}))
    return sorted(events, key=lambda e: e[0])


def mark(name):
    import tensorflow as tf

    with tf.profiler.experimental.Trace(name):
        pass


def empty_like(tensor):
    """For the handle of a variable one of the same type and shape that has no value; what else is given is left as it is."""
    import tensorflow as tf

    known = getattr(tensor, "_handle_data", None) if tensor.dtype == tf.resource else None
    if known is None or not known.is_set or not known.shape_and_type:
        return tensor
    kind = known.shape_and_type[0]
    return tf.raw_ops.VarHandleOp(dtype=kind.dtype, shape=tf.TensorShape(kind.shape), shared_name="plimsoll_%d" % id(tensor))


def functions_stop_early(batch):
    """Functions that get a batch are built, for that batch, and end where they read their first variable."""
    from tensorflow.python.eager import context

    call = context.Context.call_function

    def call_without_values(self, name, inputs, outputs):
        if any(tensor.shape.rank and tensor.shape[0] == batch for tensor in inputs):
            mark(APART)
            inputs = [empty_like(tensor) for tensor in inputs]
            mark(WITHIN)
        return call(self, name, inputs, outputs)

    context.Context.call_function = call_without_values


def half_of_the_memory():
    """MiB that this machine can give, halved; as good as no limit where that is not known."""
    try:
        with open("/proc/meminfo") as file:
            return max(int(re.search(r"MemAvailable:\s*(\d+)", file.read()).group(1)) >> 11, 64)
    except (OSError, AttributeError):
        return 1 << 20


def record_built(make, batch, order=ORDERS[0]):
    """The events until the first step's functions are built for this batch. Nothing of the step itself has to run, so no more
    memory is needed than for weights and a batch; a step that does not go through such a function runs, as far as the machine's
    memory goes."""
    import tensorflow as tf

    prepare(min(half_of_the_memory(), int(os.environ.get("TF_CPU_BFC_MEM_LIMIT_IN_MB", 1 << 20))))
    functions_stop_early(batch)

    def make_stopping(size):
        step = make(size)

        def stopping():
            try:
                step()
            except tf.errors.OpError:
                pass  # as meant: a variable without a value, or the memory that this may take
        return stopping

    return record(make_stopping, batch, 1, order)


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
    list_, live, births, apart = [], {}, 0, False
    for _, kind, address, stats in events:
        if kind == STEP_NAME:
            list_.append(("step",))
        elif kind in (APART, WITHIN):
            apart = kind == APART
        elif kind == "MemoryAllocation" and apart:
            live.pop(address, None)
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


def built_as(events):
    """The constants that the kernels of the first step made when they were created, in order: these have an operator but no shape.
    They tell how the graphs of the step were rewritten, and so in which order their operators are numbered and run."""
    names, steps = [], 0
    for event in events:
        steps += event[0] == "step"
        if steps == 1 and event[0] == "born" and event[2] and not event[2].startswith("__") and not event[3]:
            names.append(event[2])
    return names


def small_like(make, batch, order=ORDERS[0], tried=ALIKE):
    """[the first of the small batches whose functions are built as those of `batch`]. What is folded into constants depends on the
    batch, and the order of operators on what is folded: a reciprocal of 1000 is a learning rate of 0.001, and both are one. Where
    none is alike, one of each kind, most alike first."""
    try:
        wanted = built_as(in_child(record_built, make, batch, order)["events"])
    except RuntimeError:
        sys.stderr.write("batch %d cannot be built here: the order of its operators is taken from batch %d\n" % (batch, SMALL[1]))
        return [SMALL[1]]
    kinds = {}
    for small in tried:
        names = tuple(built_as(in_child(record_built, make, small, order)["events"]))
        if list(names) == wanted:
            return [small]
        kinds.setdefault(names, small)
    alike = sorted(kinds, key=lambda names: -difflib.SequenceMatcher(None, names, wanted, False).ratio())
    return [kinds[names] for names in alike[:KINDS]]


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


def predict(make, batch, small=None, steps=STEPS, runs=None, order=ORDERS[0]):
    """The events of `batch`, never run, in the orders of `runs` runs of a small batch. `small`: two small batches; by default such
    that the second one's functions are built as those of `batch`."""
    seconds = small[1:] if small else small_like(make, batch, order)
    first = in_child(record, make, small[0] if small else SMALL[0], steps, order)
    count = max(runs or 0, 0) or (len(seconds) if order == "fixed" else RUNS)
    return [extrapolate(first, in_child(record, make, seconds[index % len(seconds)], steps, order), batch)
            for index in range(count)]


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
    `small`: the two batches that really run (by default the second one is such that its functions are built as those of `batch`),
    or None to run `batch`. `runs`: 8, or where the order is fixed 1, but up to 3 where no small batch is built alike."""
    prepare()
    import tensorflow as tf

    if small is None:
        runs = max(runs or 0, 0) or (1 if order == "fixed" else RUNS)
        orders = [in_child(record, make, batch, steps, order)["events"] for _ in range(runs)]
    else:
        orders = predict(make, batch, None if small is SMALL else small, steps, runs, order)
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
                        help="the two batches that really run (%d and one whose functions are built as the batch's own)" % SMALL[0])
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
    small = None if options.whole else SMALL if options.small is SMALL else tuple(options.small)
    title = os.path.basename(options.program)
    try:
        paths = capture(module.make, options.output, options.batch, small, title=title, runs=options.runs, order=options.order)
    except RuntimeError as error:  # the reason was said by the process of the run
        sys.exit("%s: %s" % (options.program, error))
    print("wrote %s" % " ".join(paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
