"""Weights of samples, as Keras has them: each sample's loss is times its weight, and the mean stays one over all samples."""

from __future__ import annotations

import inspect

import numpy as np

from ._arrays import is_array, to_numpy
from ._errors import DtypeError, InvalidError, ShapeError

FIELD = "plimsoll.sample_weights"  # PLIM_SAMPLE_WEIGHTS
KEYS = ("sample_weight", "sample_weights")


class Weighted(tuple):
    """Arrays, or a batch, whose last one is the weights."""


def key_of(data, inputs):
    """The key of the weights in a dictionary; None: there are none."""
    return next((k for k in KEYS if k in data and k not in inputs), None)


def as_weights(value):
    """float32, one row a sample; axes of one at the end are the same as none."""
    array = to_numpy(value, "sample_weight")
    if array.dtype.kind not in "fiub":
        raise DtypeError("sample_weight is %s: numbers are needed" % array.dtype)
    if array.ndim == 0:
        raise InvalidError("sample_weight is a single number: it has one for each sample")
    array = np.ascontiguousarray(array, np.float32)
    while array.ndim > 1 and array.shape[-1] == 1:
        array = array[..., 0]
    return array


def widened(weights, shape):
    """Weights of all these axes, from those of the first ones."""
    if tuple(weights.shape) != tuple(shape[:weights.ndim]):
        raise ShapeError("sample_weight has the shape %s, and the targets are %s" % (weights.shape, tuple(shape)))
    more = weights.reshape(weights.shape + (1,) * (len(shape) - weights.ndim))
    return np.ascontiguousarray(np.broadcast_to(more, shape), np.float32)


def of_classes(class_weight, target):
    """The weight of each sample's class, as fit(class_weight=...) of Keras; a class that is not named has 1."""
    if not hasattr(class_weight, "items"):
        raise TypeError("class_weight: a dictionary {class: weight} is needed, not %s; class_weights=[...] of Trainer() is "
                        "PyTorch's" % type(class_weight).__name__)
    labels = to_numpy(target, "the target")
    while labels.ndim > 1 and labels.shape[-1] == 1:
        labels = labels[..., 0]
    if labels.ndim != 1:
        raise InvalidError("class_weight needs one class a sample; the targets are %s" % (labels.shape,))
    made = np.ones(labels.shape, np.float32)
    for label, weight in class_weight.items():
        made[labels == label] = weight
    return made


def _most_inputs(module):
    """How many inputs a module takes at most; None where its signature does not tell."""
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError, AttributeError):
        return None
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def marked(parts, count, module=None):
    """(inputs, target, weights) as Weighted. `count`: of the model's inputs; None: the module's signature tells."""
    if isinstance(parts, (Weighted, dict)):
        return parts
    if count is None:
        most = _most_inputs(module)
        return Weighted(parts) if most is not None and len(parts) == most + 2 else parts
    return Weighted(parts) if len(parts) == count + 2 else parts


def joined(data, sample_weight, class_weight):
    """Arrays with the weights that fit() and evaluate() were given beside them."""
    if sample_weight is None and class_weight is None:
        return data
    if sample_weight is not None and class_weight is not None:
        raise InvalidError("sample_weight and class_weight are not for the same run")
    if isinstance(data, dict):
        if class_weight is not None:
            raise InvalidError("class_weight needs (inputs, targets)")
        return dict(data, **{KEYS[0]: sample_weight})
    if not isinstance(data, tuple) or len(data) < 2 or not all(is_array(part) for part in data):
        raise InvalidError("%s is for arrays, (inputs, targets): batches bring their weights as (inputs, targets, weights)"
                           % ("sample_weight" if class_weight is None else "class_weight"))
    return Weighted(data + (as_weights(sample_weight) if class_weight is None else of_classes(class_weight, data[-1]),))
