"""What can be trained on: arrays, files, DataLoader, Dataset, tf.data, Hugging Face data sets, generators."""

from __future__ import annotations

import os
import sys

import numpy as np

from . import _native
from ._arrays import is_array, to_numpy
from ._checks import no_option
from ._errors import InvalidError

FIT_OPTIONS = ("data", "epochs", "validation", "batch", "shuffle", "steps", "callbacks", "verbose", "patience", "best", "checkpoint",
               "checkpoint_every", "resume")
ARRAY_OPTIONS = ("batch", "epochs", "seed", "in_order", "drop_last", "raw", "float_target", "workers", "depth", "buffer_limit",
                 "channels_last", "bounded", "memory_limit")
LABELS = ("labels", "label", "target", "targets", "y")


def _module_of(value):
    return type(value).__module__.split(".")[0]


def is_path(data):
    return isinstance(data, (str, os.PathLike))


def is_arrays(data):
    """One array, a tuple of arrays, or a dictionary of arrays."""
    if is_array(data):
        return True
    if isinstance(data, dict):
        return bool(data) and all(is_array(v) for v in data.values())
    return isinstance(data, tuple) and bool(data) and all(is_array(v) for v in data)


def named(data, inputs, own_loss):
    """[(name, array, is it the target)] of arrays; names are those of the model's inputs, in order."""
    if is_array(data):
        data = (data,)
    if isinstance(data, dict):
        target = next((k for k in data if k in LABELS and k not in inputs), None)
        if target is None and not own_loss and len(data) > len(inputs):
            target = list(data)[-1]
        return [(str(k), to_numpy(v, "'%s'" % k), k == target) for k, v in data.items()]
    if len(data) == 1 and not own_loss:
        raise InvalidError("one array was given: give (inputs, targets); a model with a loss of its own needs loss='model'")
    if len(data) != len(inputs) + (0 if own_loss else 1):
        raise InvalidError("the model takes %s%s; %d arrays were given%s" % (
            ", ".join(inputs), "" if own_loss else " and needs a target", len(data),
            "" if len(data) < len(inputs) + 1 or own_loss else ": weights of samples are not supported"))
    made = []
    for i, value in enumerate(data):
        last = i == len(data) - 1 and not own_loss
        name = "target" if last else inputs[i]
        made.append((name, to_numpy(value, "'%s'" % name), last))
    return made


def check_arrays(arrays):
    """What the library would refuse later, with names."""
    for name, array, _ in arrays:
        if array.ndim == 0:
            raise InvalidError("'%s' is a single number: arrays have one row a sample" % name)
        if array.shape[0] == 0:
            raise InvalidError("'%s' is empty: there are no samples" % name)
        if not array.flags.c_contiguous:
            raise InvalidError("'%s' is not contiguous: numpy.ascontiguousarray makes a copy that is" % name)
        if array.shape[0] != arrays[0][1].shape[0]:
            raise InvalidError("'%s' has %d samples, '%s' has %d" % (name, array.shape[0], arrays[0][0],
                                                                  arrays[0][1].shape[0]))


class Native:
    """Arrays or files, which the library reads itself, ahead of training."""

    def __init__(self, data, inputs, own_loss, options):
        self.held = None
        if is_path(data):
            self.data = _native.Data.open(os.fspath(data), **options)
        else:
            unknown = [k for k in options if k not in ARRAY_OPTIONS]
            if unknown:
                raise no_option(unknown[0], "fit() or of arrays", FIT_OPTIONS + ARRAY_OPTIONS)
            self.held = named(data, inputs, own_loss)
            check_arrays(self.held)
            self.data = _native.Data.arrays(self.held, **options)
        self.info = self.data.info()


class Batches:
    """Anything that gives batches one after the other, each epoch from its beginning."""

    def __init__(self, data, batch, shuffle, seed):
        self.samples, self.batch, self.again = 0, batch, True
        self.make, self.length = self._open(data, batch, shuffle, seed)

    def _open(self, data, batch, shuffle, seed):
        if _module_of(data) == "datasets":  # before PyTorch's, which its streams are too where PyTorch is imported
            return self._hugging_face(data, batch, shuffle, seed)
        torch = sys.modules.get("torch")
        if torch is not None and "torch.utils.data" in sys.modules:
            utils = torch.utils.data
            if isinstance(data, utils.DataLoader):
                return self._loader(data)
            if isinstance(data, utils.IterableDataset):
                return self._loader(utils.DataLoader(data, batch_size=batch))
            if isinstance(data, utils.Dataset):
                generator = torch.Generator().manual_seed(seed)
                return self._loader(utils.DataLoader(data, batch_size=batch, shuffle=shuffle, generator=generator))
        if _module_of(data) == "tensorflow" and hasattr(data, "element_spec"):
            cardinality = int(data.cardinality())
            return (lambda: iter(data)), cardinality if cardinality > 0 else None
        if callable(data):
            return data, None
        if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, (list, tuple, dict)):
            return self._items(data, batch, shuffle, seed)
        if hasattr(data, "__iter__"):
            self.again = iter(data) is not data  # a generator is used up after one epoch
            length = len(data) if hasattr(data, "__len__") else None
            return (lambda: iter(data)), length
        raise TypeError("cannot train on %s: give arrays, a path, a DataLoader or Dataset, a tf.data.Dataset, or something "
                        "that gives batches" % type(data).__name__)

    def _loader(self, loader):
        sizes = getattr(loader, "batch_size", None)
        if sizes:
            self.batch = sizes
        try:
            length = len(loader)
            if sizes and not getattr(loader, "drop_last", False):
                self.samples = len(loader.dataset)
        except TypeError:
            length = None
        return (lambda: iter(loader)), length

    def _hugging_face(self, data, batch, shuffle, seed):
        if isinstance(data, dict):
            raise TypeError("%s holds several data sets (%s): give one of them, as data['%s']" % (
                type(data).__name__, ", ".join(data), next(iter(data), "train")))
        state = {"epoch": 0}

        def make():
            state["epoch"] += 1
            used = data.shuffle(seed=seed + state["epoch"]) if shuffle else data
            return used.with_format("numpy").iter(batch)
        self.samples = len(data) if hasattr(data, "__len__") else 0
        return make, -(-self.samples // batch) if self.samples else None

    def _items(self, data, batch, shuffle, seed):
        """A sequence of samples, as torch.utils.data.Dataset, without PyTorch."""
        order = np.random.default_rng(seed)
        self.samples = len(data)

        def make():
            indices = order.permutation(len(data)) if shuffle else np.arange(len(data))
            for start in range(0, len(data), batch):
                rows = [data[int(i)] for i in indices[start:start + batch]]
                if isinstance(rows[0], dict):
                    yield {k: np.stack([to_numpy(r[k]) for r in rows]) for k in rows[0]}
                else:
                    yield tuple(np.stack([to_numpy(part) for part in parts]) for parts in zip(*rows))
        return make, -(-len(data) // batch)


def flatten(batch):
    """The arrays of a batch in order, or by name."""
    if isinstance(batch, dict) or hasattr(batch, "keys") and hasattr(batch, "__getitem__"):
        return {str(k): batch[k] for k in batch.keys()}
    if is_array(batch):
        return [batch]
    if isinstance(batch, (list, tuple)):
        made = []
        for part in batch:
            if isinstance(part, dict):
                return dict(part, **{"target": batch[-1]} if part is not batch[-1] else {})
            made += list(part) if isinstance(part, (list, tuple)) and not is_array(part) else [part]
        return made
    raise TypeError("a batch is arrays in a tuple, a list or a dictionary, not %s" % type(batch).__name__)


def match(parts, fields):
    """The arrays that the model's fields take, in their order."""
    if isinstance(parts, dict):
        made = []
        for name, _, _, is_target, _ in fields:
            keys = [k for k in ((name,) + LABELS if is_target else (name,)) if k in parts]
            if not keys:
                raise InvalidError("the batch has no '%s'; it has %s" % (name, ", ".join(parts) or "nothing"))
            made.append(parts[keys[0]])
        return made
    if len(parts) != len(fields):
        raise InvalidError("the model needs %d arrays a batch (%s); the data gives %d" % (
            len(fields), ", ".join(f[0] for f in fields), len(parts)))
    return parts
