"""PyTorch modules as ONNX files in training form: batch norm and dropout as they train, weights not folded, names as in the
module, the batch axis open even where the example has one sample."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import os
import pickle
import re
import sys
import warnings

import numpy as np

from ._errors import DtypeError, ExportError, InvalidError


def is_module(model) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "nn") and isinstance(model, torch.nn.Module)


def unwrapped(module):
    """(the module inside of torch.compile's and DataParallel's, what these put before its names)"""
    prefix = ""
    while True:
        inner = {"OptimizedModule": "_orig_mod", "DataParallel": "module", "DistributedDataParallel": "module"}.get(type(module).__name__)
        if inner is None or not is_module(module):
            return module, prefix
        module, prefix = getattr(module, inner), prefix + inner + "."


def check_device(module):
    """Weights must be in the processor's memory, and be there at all."""
    for name, tensor in list(module.named_parameters()) + list(module.named_buffers()):
        if tensor.device.type == "meta":
            raise InvalidError("'%s' has no contents (it is on the meta device)" % name)
        if tensor.device.type != "cpu":
            raise InvalidError("the model is on %s ('%s'): Plimsoll trains on the processor; model.cpu() moves it there"
                             % (tensor.device, name))


# --- the example ----------------------------------------------------------------------------------------------------

def as_example(sample, torch):
    """(args, kwargs) of the module with two samples, so that no size of one is taken for a constant."""
    if isinstance(sample, dict):
        return (), {k: _two(v, torch) for k, v in sample.items()}
    if isinstance(sample, (tuple, list)):
        return tuple(_two(v, torch) for v in sample), {}
    return (_two(sample, torch),), {}


def _two(value, torch):
    from ._arrays import is_array, to_numpy
    if not isinstance(value, torch.Tensor):
        if not is_array(value):
            return value
        array = to_numpy(value, "the sample")
        if array.dtype.kind == "c":
            raise DtypeError("the sample is %s: numbers that are not complex are needed" % array.dtype)
        value = torch.from_numpy(np.array(array[:2] if array.ndim else array, array.dtype.newbyteorder("="), order="C"))
        if value.dtype == torch.float64:
            value = value.float()
        if value.dtype in (torch.int32, torch.int16):
            value = value.long()
    if value.device.type == "meta":
        value = torch.zeros((min(2, value.shape[0]),) + tuple(value.shape[1:]) if value.dim() else (), dtype=value.dtype)
    value = value.detach().cpu()
    if value.dim() == 0:
        return value
    if value.shape[0] == 0:
        raise InvalidError("the sample is empty")
    return torch.cat([value, value])[:2].contiguous() if value.shape[0] == 1 else value[:2].contiguous()


# --- what went wrong, and where ----------------------------------------------------------------------------------------

def _place(error):
    """(file, line, code) of the user's line that could not be exported."""
    import linecache
    import traceback
    chain, places = [], []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    for one in chain:
        for frame in traceback.extract_tb(one.__traceback__):
            places.append((frame.filename, frame.lineno))
        places += [(m.group(1), int(m.group(2))) for m in re.finditer(r'File "([^"]+)", line (\d+)', str(one))]
    own = os.path.dirname(os.path.abspath(__file__))
    lines = [(f, n) for f, n in places if not any(os.sep + name + os.sep in f for name in (
        "torch", "onnxscript", "onnx_ir", "sympy")) and own not in os.path.abspath(f) and not f.startswith("<")]
    users = [(f, n) for f, n in lines if "site-packages" not in f and f"{os.sep}lib{os.sep}python" not in f]
    # a library of models (timm, transformers) where no line of the program itself is among them
    users = users or [(f, n) for f, n in lines if "site-packages" in f or "dist-packages" in f]
    if not users:
        return None
    file, line = users[-1]
    return file, line, linecache.getline(file, line).strip()


def _all_text(error):
    """The messages of an exception and of those it came from."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return "\n".join(str(one) for one in seen)


def _owner(module, place):
    """The submodule whose forward() has that line."""
    for name, part in module.named_modules():
        try:
            lines, start = inspect.getsourcelines(type(part).forward)
            if os.path.samefile(inspect.getsourcefile(type(part)), place[0]) and start <= place[1] < start + len(lines):
                return "%s ('%s')" % (type(part).__name__, name) if name else type(part).__name__
        except (OSError, TypeError):
            continue
    return None


def _failure(module, error):
    place = _place(error)
    causes, one = [], error
    while one is not None:
        causes.append(one)
        one = one.__cause__
    lines = [line.strip() for line in str(causes[-1]).split("\n") if line.strip()]
    first = " ".join(lines[:2]) if lines and lines[0].endswith(":") else lines[0] if lines else ""
    reason = "%s: %s" % (type(causes[-1]).__name__, first)
    if place is None:
        return "%s cannot be exported: %s" % (type(module).__name__, reason[:500])
    owner = _owner(module, place) or type(module).__name__
    return "%s cannot be exported, at %s line %d: %s (%s)" % (owner, place[0], place[1], place[2], reason[:400])


# --- the export ----------------------------------------------------------------------------------------------------------

def _output_names(module, args, kwargs):
    """The keys of a module that returns a dictionary, found on tensors without contents; None for others."""
    import torch
    bare = lambda v: v.to("meta") if isinstance(v, torch.Tensor) else v  # noqa: E731
    state = {name: bare(t.detach()) for name, t in list(module.named_parameters()) + list(module.named_buffers())}
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output = torch.func.functional_call(module, state, tuple(bare(a) for a in args),
                                                {k: bare(v) for k, v in kwargs.items()})
    except Exception:  # pylint: disable=broad-except
        return None
    if not hasattr(output, "items"):
        return None
    items = [(str(k), v) for k, v in output.items() if v is not None]
    return [k for k, _ in items] if items and all(isinstance(v, torch.Tensor) for _, v in items) else None


def _unique_names(model):
    """The exporter names results after functions: `mean` beside a buffer `mean` would be one name for two values."""
    taken = {value.name for value in model.graph.inputs} | set(model.graph.initializers)
    for node in model.graph:
        for value in node.outputs:
            name, number = value.name, 0
            while name and value.name in taken:
                number += 1
                value.name = "%s.%d" % (name, number)
            taken.add(value.name)


def _program(module, args, kwargs, batch):
    """The exporter's program with the first axis of every tensor as `batch` says."""
    import torch
    axes = lambda v: {0: batch} if isinstance(v, torch.Tensor) and v.dim() > 0 else None  # noqa: E731
    shapes = {k: axes(v) for k, v in kwargs.items()} if kwargs else tuple(axes(v) for v in args)
    return torch.onnx.export(module, args, kwargs=kwargs or None, dynamo=True, optimize=False, verbose=False,
                             dynamic_shapes=shapes, opset_version=18, output_names=_output_names(module, args, kwargs))


def _program_in_some_way(module, args, kwargs):
    """What the exporter stumbles over with one setting it may export with another."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    batch = torch.export.Dim.DYNAMIC
    for _ in range(2):
        try:
            return _program(module, args, kwargs, batch)
        except Exception as error:  # what the exporter raises wraps the class that tells this case
            text = _all_text(error)
            if re.search("Cannot view a tensor", text):
                with sdpa_kernel(SDPBackend.MATH):  # results of the fused kernels have strides that cannot be viewed
                    return _program(module, args, kwargs, batch)
            if batch is torch.export.Dim.AUTO or not re.search("specialized|inferred a static shape", text):
                raise
            batch = torch.export.Dim.AUTO  # the reader of the file opens the batch
    return None


def _write(module, args, kwargs, path):
    import torch
    if kwargs and args:
        raise ExportError("give all inputs by name, or all by position")
    quiet = io.StringIO()
    was, level = module.training, logging.getLogger("torch.onnx").level
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    module.train()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            warnings.simplefilter("ignore")
            program = _program_in_some_way(module, args, kwargs)
            _unique_names(program.model)
            program.save(path, external_data=True)
    finally:
        logging.getLogger("torch.onnx").setLevel(level)
        module.train(was)


def _frozen_norm(part, x):
    """Batch norm in evaluation mode, spelled out: its statistics are constants, and training does not set it back."""
    import torch
    shape = (1, -1) + (1,) * (x.dim() - 2)
    scale = torch.rsqrt(part.running_var + part.eps)
    if part.weight is not None:
        scale = scale * part.weight
    made = (x - part.running_mean.reshape(shape)) * scale.reshape(shape)
    return made if part.bias is None else made + part.bias.reshape(shape)


class _Never:
    """A share of layers to drop that is 0: no number drawn is below it, which the exporter could not know of the float."""

    def __gt__(self, _drawn):
        return False


@contextlib.contextmanager
def _training_form(module):
    """The module trains; parts that the user set to evaluation stay there, as they do in PyTorch."""
    import types
    import torch
    modes = [(part, part.training) for part in module.modules()]
    frozen = [part for part, training in modes if not training] if module.training else []
    changed, never = [], []
    try:
        if frozen:
            module.train = lambda mode=True: module  # it would set them back
        for part in module.modules():
            given = getattr(part, "layerdrop", None)
            if isinstance(given, (int, float)) and given == 0:
                part.layerdrop = _Never()
                never.append((part, given))
        for part in frozen:
            if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is not None:
                part.forward = types.MethodType(_frozen_norm, part)
                changed.append(part)
        yield
    finally:
        if frozen:
            del module.train
        for part, given in never:
            part.layerdrop = given
        for part in changed:
            del part.forward
        for part, training in modes:
            part.training = training


def _inline(module, args, kwargs, path):
    try:
        with _training_form(module):
            _write(module, args, kwargs, path)
    except ExportError:
        raise
    except ImportError as error:
        raise ExportError("PyTorch's exporter needs another package: %s (pip install onnx onnxscript)" % error) from error
    except Exception as error:  # the exporter raises classes of its own, of every kind
        raise ExportError(_failure(module, error)) from error


def _forked(module, args, kwargs, path):
    """In a child process: what the exporter holds does not count in the budget of this one, and ends with the child."""
    import torch
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn about threads: the child uses none of them
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read)
            torch.set_num_threads(1)
            answer = None
            try:
                _inline(module, args, kwargs, path)
            except BaseException as error:  # pylint: disable=broad-except
                answer = str(error)
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(answer, pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0 or not data:
        return False
    answer = pickle.loads(data)
    if answer is not None:
        raise ExportError(answer)
    return True


def export(module, sample, folder, apart=False) -> str:
    """Writes the module into a folder; the path of the file. `apart`: in a process of its own, where that is possible."""
    import torch
    check_device(module)
    args, kwargs = as_example(sample, torch)
    try:
        inspect.signature(module.forward).bind(*args, **kwargs)
    except TypeError as error:
        raise InvalidError("%s.forward%s does not take these inputs: %s" % (
            type(module).__name__, inspect.signature(module.forward), error)) from None
    path = os.path.join(folder, "model.onnx")
    if apart and hasattr(os, "fork") and not torch.cuda.is_initialized() and _forked(module, args, kwargs, path):
        return path
    _inline(module, args, kwargs, path)
    return path


def merged_state(module, state):
    """A state_dict of the module with the trained arrays in it: every name that shares a tensor gets it."""
    import collections
    import torch
    own = module.state_dict(keep_vars=True)
    names = {}
    for name, tensor in own.items():
        names.setdefault(tensor.data_ptr() if tensor.numel() else name, []).append(name)
    made = collections.OrderedDict((name, tensor.detach()) for name, tensor in own.items())
    if hasattr(own, "_metadata"):
        made._metadata = own._metadata  # versions of modules, which load_state_dict asks for
    for name, array in state.items():
        if name not in own:
            continue
        value = torch.from_numpy(array).reshape(own[name].shape).to(own[name].dtype)
        for alias in names[own[name].data_ptr() if own[name].numel() else name]:
            if own[alias].shape == value.shape:
                made[alias] = value
    return made


def count_batches(module, updates):
    """Batch norms of PyTorch count the batches that they were trained with."""
    for part in module.modules():
        counter = getattr(part, "num_batches_tracked", None)
        if counter is not None and part.training and updates > 0:
            counter += updates


def ends_with(graph, op):
    """Whether the first output is made by this operator."""
    text = graph.text()
    last = text[text.rindex("return %") + 7:].split("\n")[0].split(",")[0].strip()
    return "\n  %s = %s(" % (last, op) in text
