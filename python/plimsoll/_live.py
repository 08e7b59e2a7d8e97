"""What only the process that failed knows: its frames, the tensors in them, its allocator, its limits.

Nothing here may fail or take much memory: it runs when there is none. Frameworks are used only where they were imported.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import math
import os
import sys
import sysconfig

from . import _native
from ._text import safe, shape as shape_text, size, wrap

_MOST = 8  # tensors that are shown
_LIBRARY = tuple({os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
                 | {os.path.dirname(os.path.abspath(__file__))})


class Held:
    """Memory that a name of the program stands for."""

    def __init__(self, name, nbytes, what, dims=None, dtype="", kind="tensor"):
        self.name, self.bytes, self.what, self.dims, self.dtype, self.kind = name, nbytes, what, dims, dtype, kind


def _is_user(filename):
    if filename.startswith("<frozen"):
        return False
    if filename.startswith("<"):
        return True  # a cell of a notebook, or text given to exec
    real = os.path.realpath(filename)
    return "site-packages" not in real and "dist-packages" not in real and not real.startswith(_LIBRARY)


def _frames(error):
    """(frame, line, traceback entry) of the exception, the innermost last; of those it came from too."""
    found, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        trace, here = error.__traceback__, []
        while trace is not None:
            here.append((trace.tb_frame, trace.tb_lineno, trace))
            trace = trace.tb_next
        found = here + found if not found else found + here
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


_AFTERWARDS = (".backward(", ".step(")  # calls that tell the phase


def _statement(trace):
    """(the line, the part of it that failed) where a line holds several statements, or calls that were not reached: their words
    are not all of the failure."""
    code = trace.tb_frame.f_code
    line = linecache.getline(code.co_filename, trace.tb_lineno, trace.tb_frame.f_globals)
    if not any(word in line for word in (";",) + _AFTERWARDS) or not hasattr(code, "co_positions"):
        return None
    first, last, start, end = list(code.co_positions())[trace.tb_lasti // 2]
    if first != trace.tb_lineno or start is None:
        return None
    text, indent = line.strip(), len(line.encode()) - len(line.lstrip().encode())
    part = text
    for node in ast.walk(ast.parse(text)) if ";" in text else ():
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)) and (
                node.col_offset <= start - indent < node.end_col_offset):
            part = ast.get_source_segment(text, node)
            break
    done = line.encode()[:end].decode(errors="replace").strip() if last == first and end else text
    if part == text and any(word in text[len(done):] for word in _AFTERWARDS):
        part = done  # cross_entropy(model(x), y).backward(): the model failed, nothing went back
    return None if part == text else (text, part)


def one_statement(error, text):
    """The text of a traceback whose lines are the statements that failed."""
    for _, _, trace in _frames(error):
        try:
            found = _statement(trace)
            if found is not None:
                text = text.replace("\n    %s\n" % found[0], "\n    %s\n" % found[1])
        except Exception:  # pylint: disable=broad-except
            continue
    return text


def remote_text(error):
    """The traceback of another process that the exception brings along as text: of a pool, an executor, a worker of a loader."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        text = str(error) if isinstance(error, Exception) else ""
        if "Traceback (most recent call last)" in text:
            return text
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return ""


def cells():
    """{the file that a notebook's cell is compiled as: how the notebook calls it}"""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    known = getattr(getattr(shell, "compile", None), "_filename_map", None) or {}
    return {file: "In[%s]" % number for file, number in known.items()}


# --- what a value holds ------------------------------------------------------------------------------------------------

def _torch_held(name, value, torch):
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            held = value.untyped_storage().nbytes() if value.layout == torch.strided else value.element_size() * value.numel()
        return Held(name, held, "", tuple(value.shape), str(value.dtype).replace("torch.", "") + (
            "" if value.device.type == "cpu" else ", " + str(value.device)))
    if isinstance(value, torch.nn.Module):
        tensors = list(value.parameters()) + list(value.buffers())
        grads = sum(p.grad.element_size() * p.grad.numel() for p in value.parameters() if p.grad is not None)
        weights = sum(t.element_size() * t.numel() for t in tensors)
        return Held(name, weights + grads, "%s: %d tensors%s" % (type(value).__name__, len(tensors),
                                                                ", %s of gradients" % size(grads) if grads else ""),
                    kind="model")
    if isinstance(value, torch.optim.Optimizer):
        state = sum(t.element_size() * t.numel() for entry in value.state.values() for t in entry.values()
                    if isinstance(t, torch.Tensor))
        return Held(name, state, "%s: its state" % type(value).__name__, kind="optimizer")
    return None


def _array_held(name, value):
    """Arrays of NumPy, JAX, CuPy and TensorFlow have shape, dtype and a number of bytes."""
    dims, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if dims is None or dtype is None or isinstance(value, type):
        return None
    dims = tuple(int(d) for d in dims)
    count = 1
    for dim in dims:
        count *= dim
    nbytes = getattr(value, "nbytes", None)
    if not isinstance(nbytes, int):
        nbytes = count * int(getattr(dtype, "size", 0) or getattr(dtype, "itemsize", 4))
    base = getattr(value, "base", None)
    if base is not None and type(base) is type(value):
        nbytes = 0  # a view: its memory is the other one's
    return Held(name, nbytes, "", dims, str(getattr(dtype, "name", dtype)))


def _sized(name, value):
    """Lists, dictionaries and sets of Python's own, by some of their items."""
    count, some = len(value), list(itertools.islice(value.values() if isinstance(value, dict) else value, 64))
    if not some:
        return None
    each = sum(sys.getsizeof(item) for item in some) / len(some)
    held = sys.getsizeof(value) + int(each * count)
    return Held(name, held, "about, a %s of %d %s" % (type(value).__name__, count, type(some[0]).__name__),
                kind="list") if held >= 1 << 20 else None


_ARRAYS = ("numpy", "jax", "jaxlib", "cupy", "tensorflow", "keras")


def _held(name, value):
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "Tensor"):
        held = _torch_held(name, value, torch)
        if held is not None:
            return held
    module = type(value).__module__.split(".")[0]
    if module in _ARRAYS:
        if hasattr(value, "trainable_weights") and hasattr(value, "layers"):
            arrays = [_array_held("", w) for w in value.weights]
            return Held(name, sum(a.bytes for a in arrays if a), "%s: %d tensors" % (type(value).__name__, len(arrays)),
                        kind="model")
        return _array_held(name, value)
    if isinstance(value, (list, tuple)) and 0 < len(value) <= 100000 or isinstance(value, dict) and 0 < len(value) <= 10000:
        items = list(value.values()) if isinstance(value, dict) else value
        held = [h for h in (_held("", v) for v in items if not isinstance(v, (list, tuple, dict))) if h is not None]
        if held:
            return Held(name, sum(h.bytes for h in held), "%d %s in a %s" % (
                len(held), "tensors" if len(held) > 1 else "tensor", type(value).__name__), kind="list")
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return _sized(name, value)
    if isinstance(value, (bytes, bytearray)) and len(value) > 1 << 20:
        return Held(name, len(value), type(value).__name__)
    return None


def _in_scope(frames):
    """By name, the largest first; a tensor that several frames see counts once, under the outermost name of the user."""
    found, seen = [], set()
    scopes = []
    for frame, _, _ in frames:
        scopes.append(frame.f_locals)
    if frames:
        scopes.append({k: v for k, v in frames[0][0].f_globals.items() if not k.startswith("_")})
    for scope in scopes:
        for name, value in list(scope.items()):
            if id(value) in seen or name.startswith("__"):
                continue
            seen.add(id(value))
            try:
                held = _held(name, value)
            except Exception:  # pylint: disable=broad-except
                continue
            if held is not None and (held.bytes > 0 or held.dims is not None):
                found.append(held)
    return sorted(found, key=lambda h: -h.bytes)


def _batch(held):
    """The first axis that most tensors of the program share: what is not a weight comes in batches."""
    counts = {}
    for one in held:
        if one.dims and len(one.dims) > 1 and one.dims[0] > 1:
            counts.setdefault(one.dims[0], []).append(one)
    named = [one for one in held if one.dims and one.name.lower() in
             ("x", "xb", "inputs", "input", "batch", "images", "image", "data", "input_ids", "img", "features")]
    if named and named[0].dims:
        return named[0]
    return max(counts.values(), key=len)[0] if counts and max(map(len, counts.values())) > 1 else None


# --- the expression that failed, once more on tensors without contents ---------------------------------------------------

class _Unknown(Exception):
    """The expression is not one that can be evaluated without effects."""


def _expression(trace):
    """The failing part of the line, where this Python knows columns (3.11 and later)."""
    code = trace.tb_frame.f_code
    if not hasattr(code, "co_positions"):
        return None
    positions = list(code.co_positions())
    first, last, start, end = positions[trace.tb_lasti // 2]
    if None in (first, last, start, end) or last - first > 20:
        return None
    lines = [linecache.getline(code.co_filename, n, trace.tb_frame.f_globals) for n in range(first, last + 1)]
    if not lines or not lines[0]:
        return None
    data = [line.encode() for line in lines]
    data[-1] = data[-1][:end]
    data[0] = data[0][start:]
    return ast.parse(b"".join(data).decode().strip(), mode="eval").body


class _Meta:
    """Evaluates names, numbers, attributes and calls of PyTorch's functions, every tensor without contents."""

    def __init__(self, torch, frame):
        self.torch, self.frame = torch, frame

    def bare(self, value):
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return torch.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device="meta")
        if isinstance(value, torch.device):
            return torch.device("meta")
        if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
            return type(value)(self.bare(v) for v in value)
        return value

    def name(self, name):
        frame = self.frame
        for scope in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if name in scope:
                return scope[name]
        raise _Unknown

    def value(self, node):
        torch = self.torch
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.bare(self.name(node.id))
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            if isinstance(owner, (torch.nn.Module, torch.Tensor, torch.Size)) or type(owner) is type(ast):
                return self.bare(getattr(owner, node.attr))
            held = getattr(owner, "__dict__", {})
            if node.attr in held:
                return self.bare(held[node.attr])
            raise _Unknown
        if isinstance(node, ast.Subscript):
            return self.value(node.value)[self.value(node.slice)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.value(node.operand)
        if isinstance(node, ast.BinOp):
            return self.operate(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        raise _Unknown

    def operate(self, node):
        import operator
        known = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.MatMult: operator.matmul,
                 ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow}
        if type(node.op) not in known:
            raise _Unknown
        left, right = self.value(node.left), self.value(node.right)
        if not all(isinstance(v, (int, float, self.torch.Tensor)) for v in (left, right)):
            raise _Unknown
        return known[type(node.op)](left, right)

    def call(self, node):
        torch, function = self.torch, self.value(node.func)
        home = getattr(function, "__module__", None) or ""
        owner = getattr(function, "__self__", None)
        ours = isinstance(owner, torch.Tensor) or home.split(".")[0] == "torch" or function in vars(torch).values()
        if not ours or isinstance(owner, torch.nn.Module) or isinstance(function, torch.nn.Module):
            raise _Unknown
        args = [self.value(a) for a in node.args]
        kwargs = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        if "device" in kwargs:
            kwargs["device"] = "meta"
        return function(*args, **kwargs)


def _tensors_of(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors_of(torch, v)]
    return []


def _requested_shape(frames, requested):
    """The tensor of `requested` bytes that the innermost line asked for: (dims, dtype, how it is written), or None."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor") or not requested:
        return None
    for frame, _, trace in reversed(frames[-6:]):
        try:
            node = _expression(trace)
            if node is None:
                continue
            with torch.no_grad(), torch.device("meta"):
                made = _tensors_of(torch, _Meta(torch, frame).value(node))
            for tensor in made:
                if tensor.untyped_storage().nbytes() == requested:
                    return tuple(tensor.shape), str(tensor.dtype).replace("torch.", ""), ast.unparse(node)
        except Exception:  # pylint: disable=broad-except
            continue
    return None


_BYTES = {"float64": 8, "double": 8, "int64": 8, "long": 8, "complex64": 8, "float32": 4, "int32": 4, "float16": 2, "half": 2,
          "bfloat16": 2, "int16": 2, "uint8": 1, "int8": 1, "bool": 1}


def _written_shape(code, requested):
    """A shape that the line names in numbers, of as many bytes: (dims, dtype) or None. Of another process there is no more."""
    words = [word for word in _BYTES if word in code]
    for node in ast.walk(ast.parse(code.strip())):
        items = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
        dims = [item.value for item in items if isinstance(item, ast.Constant) and type(item.value) is int]
        count = math.prod(dims)
        if len(dims) < 2 or count <= 0 or requested % count:
            continue
        dtype = next((word for word in words if _BYTES[word] * count == requested), None)
        if dtype or not words and requested == 4 * count:
            return tuple(dims), dtype or "float32"
    return None


# --- allocators ----------------------------------------------------------------------------------------------------------

def _torch_stats():
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return {}
    stats = torch.cuda.memory_stats()
    free, total = torch.cuda.mem_get_info()
    blocks = [b for segment in torch.cuda.memory_snapshot() for b in segment["blocks"]]
    unused = [b["size"] for b in blocks if b["state"] == "inactive"]
    return {"largest free block": max(unused, default=0), "unused": sum(unused),
            "allocated": stats.get("allocated_bytes.all.current", 0), "peak": stats.get("allocated_bytes.all.peak", 0),
            "reserved": stats.get("reserved_bytes.all.current", 0),
            "inactive": stats.get("inactive_split_bytes.all.current", 0),
            "retries": stats.get("num_alloc_retries", 0), "ooms": stats.get("num_ooms", 0), "free": free, "total": total}


def _tensorflow_stats():
    tf = sys.modules.get("tensorflow")
    if tf is None or not hasattr(tf, "config"):
        return {}
    made = {}
    for device in [d.name.split("physical_device:")[-1] for d in tf.config.list_physical_devices("GPU")][:1]:
        info = tf.config.experimental.get_memory_info(device)
        made = {"allocated": info["current"], "peak": info["peak"]}
    if not made and os.environ.get("TF_CPU_ALLOCATOR_USE_BFC", "").lower() in ("1", "true"):
        made["total"] = int(os.environ.get("TF_CPU_BFC_MEM_LIMIT_IN_MB", "0") or 0) << 20
        made["allocated"] = _eager_bytes(tf)
    return made


def _eager_bytes(tf):
    """Tensors that Python holds: what TensorFlow's own operators hold in addition is not seen."""
    import gc
    kinds = (tf.Tensor, tf.Variable)
    total, seen = 0, set()
    for one in gc.get_objects():
        try:
            if isinstance(one, kinds) and id(one) not in seen:
                seen.add(id(one))
                total += int(one.shape.num_elements() or 0) * one.dtype.size
        except Exception:  # pylint: disable=broad-except
            continue
    return total


class Live:
    """Read once, when the error is explained."""

    def __init__(self, error):
        self.user, self.code, self.held, self.batch, self.line = None, "", [], None, 0
        self.stats, self.limits, self.resident, self.peak, self.made_by = {}, {}, 0, 0, ""
        self._frames, self.remote, self.least_free = [], remote_text(error), None
        for part in (self._read_process, lambda: self._read_frames(error), self._read_allocators):
            try:
                part()
            except Exception:  # pylint: disable=broad-except
                continue

    def _read_process(self):
        self.limits = _native.limits()
        self.resident, self.peak = _native.resident()
        limiter = self.limits.get("limiter", "")
        if limiter == "rlimit_as":
            with open("/proc/self/status", encoding="utf-8") as file:
                most = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmPeak:"))
            self.least_free = max(0, self.limits[limiter] - most)

    def _read_frames(self, error):
        self._frames = _frames(error)
        users = [entry for entry in self._frames if _is_user(entry[0].f_code.co_filename)]
        if users:
            frame, self.line, _ = users[-1]
            self.user = frame.f_code
            self.code = linecache.getline(frame.f_code.co_filename, self.line, frame.f_globals).strip()
        self.held = _in_scope(users)
        self.batch = _batch(self.held)

    def _read_allocators(self):
        self.stats = _torch_stats() or _tensorflow_stats()

    def preface(self):
        """What TensorFlow's allocator would have written to the log of this process, which an exception does not carry."""
        if "tensorflow" not in sys.modules or not self.stats.get("total"):
            return ""
        return ("tensorflow/core/common_runtime/bfc_allocator.cc:1100] Stats: \nLimit: %22d\nInUse: %22d\nMaxInUse: %19d\n"
                % (self.stats["total"], self.stats["allocated"], self.stats.get("peak", self.stats["allocated"])))

    def with_backend(self, text):
        """JAX uses the same words on every device: on the processor what its log said goes before them."""
        jax = sys.modules.get("jax")
        try:
            if jax is None or jax.default_backend() != "cpu":
                return text
        except Exception:  # pylint: disable=broad-except
            return text
        return text.replace("RESOURCE_EXHAUSTED: Out of memory allocating",
                            "falling back to CPU: RESOURCE_EXHAUSTED: Out of memory allocating")

    def complete(self, explanation):
        """Gives the explanation what the text did not tell."""
        numbers = explanation.numbers
        if self.user is not None and not (self.remote and explanation.place.get("line")):
            file = self.user.co_filename
            explanation.place.update(file=cells().get(file, file), line=self.line, function=self.user.co_name)
            if self.code:
                explanation.place["code"] = self.code
        host = explanation.device in (None, "host") and not self.stats
        available = self.limits.get("available")
        if host and available is not None and "requested" in numbers and not numbers.get("shortfall"):
            numbers.setdefault("free", available)
            if numbers["requested"] > available:
                numbers["shortfall"] = numbers["requested"] - available
            elif self.least_free is not None and not self.remote and numbers["requested"] > self.least_free:  # some was given back since
                numbers["free"], numbers["shortfall"] = self.least_free, numbers["requested"] - self.least_free
            if self.limits.get("limiter", "").startswith("rlimit"):
                numbers.setdefault("limit", self.limits[self.limits["limiter"]])
        if self.stats.get("total") and "requested" in numbers and not numbers.get("shortfall"):
            numbers.setdefault("capacity", self.stats["total"])
            numbers.setdefault("allocated", self.stats["allocated"])
            rest = max(0, self.stats["total"] - self.stats["allocated"])
            if numbers["requested"] > rest:
                numbers["shortfall"] = numbers["requested"] - rest
        if explanation.shape is None:
            try:
                made = _requested_shape(self._frames, numbers.get("requested"))
            except Exception:  # pylint: disable=broad-except
                made = None
            if made:
                explanation.shape, explanation.dtype, self.made_by = made
            elif explanation.framework == "jax":  # a result has its shape before it has memory
                for one in self.held:
                    if one.dims and one.bytes == numbers.get("requested"):
                        explanation.shape, explanation.dtype = one.dims, one.dtype
                        break
        if explanation.shape is None and numbers.get("requested"):
            try:
                made = _written_shape(explanation.place.get("code", ""), numbers["requested"])
            except Exception:  # pylint: disable=broad-except
                made = None
            if made:
                explanation.shape, explanation.dtype = made
        self._frames = []  # frames hold what the program held

    def facts(self):
        """Pairs of a word and a sentence."""
        made = []
        if self.remote and self.user is not None:
            made.append(("waits at", "%s line %d: the error is that of another process, which told no more" % (
                os.path.basename(self.user.co_filename), self.line)))
        if self.made_by:
            made.append(("made by", self.made_by))
        if self.batch is not None:
            made.append(("batch", "%d: %s is %s" % (self.batch.dims[0], self.batch.name,
                                                    shape_text(self.batch.dims, self.batch.dtype))))
        for number, one in enumerate(self.held[:_MOST]):
            what = shape_text(one.dims, one.dtype) if one.dims is not None else one.what
            made.append(("in scope" if number == 0 else "", "%-16s %10s  %s" % (one.name, size(one.bytes), what)))
        if len(self.held) > _MOST:
            made.append(("", "and %d more" % (len(self.held) - _MOST)))
        if self.stats:
            made.append(("allocator", ", ".join("%s %s" % (name, value if name in ("retries", "ooms") else size(value))
                                                for name, value in self.stats.items())))
        if self.limits:
            made.append(("process", "resident %s, %s at its highest; %s leaves %s" % (
                size(self.resident), size(self.peak), self.limits["name"], size(self.limits["available"]))))
        return made

    def lines(self, width):
        made = ["In this process"]
        for name, value in self.facts():
            made.append("  %-11s%s" % (name, safe(value)) if "  " in value else wrap(value, 13, width, "  %-11s" % name))
        return made

    def to_dict(self):
        return {"facts": self.facts(), "stats": self.stats, "limits": self.limits, "resident": self.resident,
                "held": [vars(one) for one in self.held]}
