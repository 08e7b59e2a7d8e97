"""What users mistype, refused before it becomes something else."""

from __future__ import annotations

import difflib

import numpy as np

from . import _native
from ._arrays import is_array
from ._errors import DtypeError, InvalidError


def whole(name, value, of):
    """A number of something, one at least."""
    if is_array(value) and getattr(value, "ndim", 0):
        raise TypeError("%s is an array: inputs and targets are one argument, fit((inputs, targets))" % name)
    number = isinstance(value, float) and value.is_integer() or hasattr(value, "__index__") and not isinstance(value, bool)
    if not number or value < 1:
        raise InvalidError("%s: %r is no number of %s" % (name, value, of))
    return int(value)


# As Keras and PyTorch call them.
_ALIASES = {"batch_size": "batch", "lr": "learning_rate", "validation_data": "validation", "validation_split": "validation",
            "epoch": "epochs", "max_epochs": "epochs", "num_epochs": "epochs", "callback": "callbacks", "dtype": "precision",
            "num_threads": "threads", "memory": "budget", "x": "data", "y": "data", "max_steps": "steps"}


def no_option(word, of, known):
    """A TypeError that names what was meant, where that is likely."""
    meant = _ALIASES.get(word)
    if meant not in known:
        meant = next(iter(difflib.get_close_matches(word, known, 1)), None)
    return TypeError("'%s' is no option of %s%s" % (word, of, "; is '%s' meant?" % meant if meant else ""))


# Options that are one of a few words.
_CHOICES = {"allow": ("exact", "reordered", "lossy"), "precision": ("fp32", "bf16", "fp16"),
            "base": ("fp32", "bf16", "int8", "nf4", "file")}


def check_options(options, own):
    """Options of a trainer are known before anything is done."""
    for word, value in options.items():
        if not _native.find_word("option", word):
            raise no_option(word, "Trainer()", own)
        known = _CHOICES.get(word, (value,))
        if value is not None and value not in known:
            raise InvalidError("%s: %r is not known; there are %s" % (word, value, ", ".join(known)))


def as_data(data, own_loss):
    """[inputs, targets] is (inputs, targets); lists of numbers are no arrays."""
    if isinstance(data, list) and len(data) > 1 and not own_loss and all(is_array(part) for part in data):
        return tuple(data)
    if isinstance(data, tuple) and len(data) > 1 and all(
            isinstance(part, list) and part and isinstance(part[0], (int, float, list)) for part in data):
        raise TypeError("lists of numbers were given: numpy.asarray makes arrays of them")
    if isinstance(data, tuple) and len(data) > 1 and isinstance(data[0], (list, tuple)) and data[0] and not own_loss and all(
            is_array(part) for part in data[1:]):
        rows = len(data[1])
        if all(is_array(part) and np.shape(part)[:1] == (rows,) for part in data[0]):
            return tuple(data[0]) + tuple(data[1:])  # several inputs, as Keras takes them
        if len(data[0]) == rows:
            raise TypeError("a list of %d %s was given: numpy.stack([numpy.asarray(one) for one in it]) makes one array of them"
                            % (rows, type(data[0][0]).__name__))
    return data


def check_types(arrays, inputs, by_class):
    """Element types that the library does not convert. `by_class`: targets are numbers of classes."""
    wanted = {name: dtype for name, dtype, _ in inputs}
    for name, array, is_target in arrays:
        kind, dtype = array.dtype.kind, wanted.get(name)
        if is_target and by_class and kind == "f":
            more = ", of one-hot rows labels.argmax(-1)" if array.ndim > 1 and array.shape[-1] > 1 else ""
            raise DtypeError("'%s' is %s: cross_entropy takes int64, the numbers of classes: labels.astype('int64')%s"
                             % (name, array.dtype, more))
        if not is_target and dtype == "float32" and kind in "iu" and array.dtype != "uint8":
            raise DtypeError("'%s' is %s; the model needs float32: array.astype('float32')" % (name, array.dtype))
        if not is_target and dtype == "int64" and kind == "f":
            raise DtypeError("'%s' is %s; the model needs int64" % (name, array.dtype))
