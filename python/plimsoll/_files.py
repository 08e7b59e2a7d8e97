"""Models as files, and trained files back into models: for `plimsoll train`, which knows neither PyTorch nor Keras."""

from __future__ import annotations

import json
import os
import re
import struct
import warnings

import numpy as np

from ._errors import CorruptError, InvalidError, ShapeError

_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16,
          "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}


def export(model, path, sample=None):
    """Writes a module of PyTorch or a Keras model as an ONNX file that trains as it does: `plimsoll train PATH`.

    Nothing is folded, merged or removed, the batch is open, and tensors have the names that load() takes. A module needs
    `sample`: inputs as it is called with. A file that exists is not written over.
    """
    from ._trainer import _is_keras
    from ._export import check_device, is_module, as_example, unwrapped, _inline
    model = unwrapped(model)[0]
    path = os.fspath(path)
    if os.path.exists(path):
        raise FileExistsError("'%s' exists" % path)
    if _is_keras(model):
        from ._keras import Converted
        made = Converted(model)
        made.graph.save(path)
        kept = [name for name in made.frozen if not name.endswith(("/moving_mean", "/moving_variance"))]
        if kept:
            warnings.warn("no file says which tensors stay as they are: train with %s"
                          % " ".join("--freeze '%s'" % name for name in kept), stacklevel=2)
        if made.counts:
            warnings.warn("no file says that masked steps are left out of the loss: train with --loss-counts %s" % made.counts,
                          stacklevel=2)
        return
    if not is_module(model):
        raise TypeError("a torch.nn.Module or a Keras model is exported, not %s" % type(model).__name__)
    if sample is None:
        raise ValueError("a sample is needed to export %s: export(model, path, sample=inputs)" % type(model).__name__)
    import torch
    check_device(model)
    _inline(model, *as_example(sample, torch), path)


def read_tensors(path):
    """{name: array} of a .safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        (length,) = struct.unpack("<Q", data[:8])
        entries = json.loads(data[8:8 + length])
        found = {}
        for name, entry in entries.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            found[name] = np.frombuffer(data[8 + length + begin:8 + length + end], _TYPES[entry["dtype"]]).reshape(
                entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptError("'%s' is no .safetensors file that can be read: %s" % (path, error)) from error
    return found


def load(model, path):
    """Puts what `plimsoll train --out FILE.safetensors` wrote into the module or Keras model it was exported from, by name.

    Returns the names of the model's tensors that the file does not have. A name or shape that the model does not have is
    refused before anything is changed. Files that Keras's own exporter made are taken too.
    """
    from ._trainer import _is_keras
    from ._export import is_module, unwrapped
    model, state = unwrapped(model)[0], read_tensors(path)
    if _is_keras(model):
        return _load_keras(model, state, os.fspath(path))
    if not is_module(model):
        raise TypeError("a torch.nn.Module or a Keras model takes tensors, not %s" % type(model).__name__)
    from ._export import merged_state
    own = model.state_dict()
    unknown = sorted(set(state) - set(own))
    if unknown:
        raise InvalidError("%s has no %s" % (type(model).__name__, _some(unknown)))
    for name, array in state.items():
        if array.size != own[name].numel():
            raise ShapeError("'%s' is %s in the file and %s in the module" % (name, array.shape, tuple(own[name].shape)))
    model.load_state_dict(merged_state(model, {name: array.copy() for name, array in state.items()}))
    return sorted(set(own) - set(state))


def _some(names):
    return ", ".join("'%s'" % n for n in names[:3]) + (" and %d more" % (len(names) - 3) if len(names) > 3 else "")


# --- Keras ---------------------------------------------------------------------------------------------------------------


def _load_keras(model, state, path):
    found = keras_places(model, {name: array.shape for name, array in state.items()})
    unknown = sorted(set(state) - set(found))
    if unknown:
        raise InvalidError("no variable of %s takes %s of '%s'" % (model.name, _some(unknown), path))
    values = [(variable, turn(state[name])) for name, places in found.items() for variable, turn in places]
    taken = set()
    for variable, value in values:
        if value.shape != tuple(int(d) for d in variable.shape):
            raise ShapeError("'%s' is %s in the file and %s in the model" % (variable.path, value.shape,
                                                                             tuple(variable.shape)))
        taken.add(id(variable))
    for variable, value in values:
        variable.assign(np.ascontiguousarray(value))
    return sorted(v.path for v in model.weights if id(v) not in taken)


def keras_places(model, shapes):
    """{name in a file: [(variable, how an array becomes its value)]}, of files of export() and of Keras's own exporter."""
    from ._keras import Converted
    made = Converted(model)
    if all(name in made.back for name in shapes):
        return {name: [_place(made, name)] for name in shapes}
    layers: dict = {}
    for name in made.back:
        layers.setdefault(name.split("/")[0], []).append(name)
    found = {}
    for name, shape in shapes.items():
        layer = _layer_of(name, layers)
        places = _scoped(made, name, shape, layer, layers.get(layer, ()))
        if places:
            found[name] = places
    return found


def _place(made, name):
    variable, turn = made.back[name]
    shape = made.shapes[name]
    return variable, lambda a: np.asarray(turn(a.reshape(shape))).reshape([int(d) for d in variable.shape])


def _layer_of(name, layers):
    """functional_1/dense_1_2/BiasAdd/ReadVariableOp:0 → dense_1: TensorFlow numbers its scopes, after Keras its layers."""
    parts = name.split("/")[1:]
    for strip in (True, False):
        for part in parts:
            layer = re.sub(r"_\d+$", "", part) if strip else part
            if layer in layers:
                return layer
    return None


_NORMS = {"LayerNormalization": ("Reshape", "Reshape_1"), "GroupNormalization": ("Reshape_1", "Reshape_2")}


def _scoped(made, name, shape, layer, own):
    """The variables of a layer that a tensor of TensorFlow's name holds; none where that is not certain."""
    size, last = int(np.prod(shape)), re.sub(r":0$", "", name.split("/")[-1])
    words = "/".join(name.split("/")[1:]).lower()
    fits = [n for n in own if int(np.prod(made.shapes[n])) == size]
    halves = [n for n in own if 2 * int(np.prod(made.shapes[n])) == size and n.split("/")[1] in ("forward", "backward")]
    if halves and last in ("kernel", "recurrent_kernel", "bias"):  # both directions are one tensor
        found = []
        for i, way in enumerate(("forward", "backward")):
            variable, turn = _place(made, "%s/%s/%s" % (layer, way, last))
            found.append((variable, lambda a, i=i, turn=turn: turn(a[i:i + 1])))
        return found
    kind = type(made.layers.get(layer)).__name__
    if kind in _NORMS and last in _NORMS[kind]:
        fits = [n for n in fits if n.endswith(("/gamma", "/beta")[_NORMS[kind].index(last)])]
    elif len(fits) > 1:
        exact = [n for n in fits if n.split("/")[-1] == last]
        bias = "bias" in words or "add/" in words
        fits = exact or [n for n in fits if ("bias" in n.split("/")[-1]) == bias]
    if len(fits) > 1:  # parts of a layer have scopes of their own
        fits = [n for n in fits if re.search(r"/%s(_\d+)?/" % re.escape(n.split("/")[1]), name)]
    if len(fits) != 1:
        return None
    variable, turn = _place(made, fits[0])
    if tuple(shape) == tuple(int(d) for d in variable.shape) != tuple(made.shapes[fits[0]]):
        return [(variable, lambda a: a)]  # a loop of TensorFlow's, with Keras's own layout
    if last == "Neg":  # a PReLU as relu(x) - alpha · relu(-x)
        return [(variable, lambda a: -turn(a))]
    return [(variable, turn)]
