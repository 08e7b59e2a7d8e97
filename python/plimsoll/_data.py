"""What can be trained on: arrays, files, DataLoader, Dataset, tf.data, Hugging Face data sets, generators."""

from __future__ import annotations

import os
import sys

import numpy as np

from . import _native
from ._arrays import for_field, is_array, to_numpy
from ._checks import no_option
from ._errors import InvalidError
from ._weights import FIELD, KEYS, Weighted, as_weights, key_of, marked, of_classes, widened

FIT_OPTIONS = ("data", "epochs", "validation", "batch", "shuffle", "steps", "callbacks", "verbose", "patience", "best", "checkpoint",
               "checkpoint_every", "resume", "sample_weight", "class_weight")
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


def named(data, inputs, own_loss, axes=0):
    """[(name, array, is it the target)] of arrays; names are those of the model's inputs, in order. `axes`: how many of the
    targets' axes have weights where the model is trained with some; what brings none has ones."""
    weights, data = taken_weights(data, inputs, own_loss)
    made = _named(data, inputs, own_loss)
    if weights is not None or axes:
        target = next((array for _, array, is_target in made if is_target), None)
        if target is None or own_loss:
            raise InvalidError("weights of samples need a target, and a loss that the model does not have itself")
        shape = target.shape[:max(axes, 1 if weights is None else weights.ndim)]
        if weights is None:
            weights = np.ones(shape, np.float32)
        elif len(weights) != len(target):
            raise InvalidError("sample_weight has %d samples, the target has %d" % (len(weights), len(target)))
        made.append((FIELD, widened(weights, shape), False))
    return made


def taken_weights(data, inputs, own_loss):
    """(weights or None, the rest)"""
    if isinstance(data, dict):
        key = key_of(data, inputs)
        return (None, data) if key is None else (as_weights(data[key]), {k: v for k, v in data.items() if k != key})
    if isinstance(data, Weighted) or isinstance(data, tuple) and not own_loss and inputs and isinstance(
            marked(data, len(inputs)), Weighted):
        return as_weights(data[-1]), tuple(data[:-1])
    return None, data


def _named(data, inputs, own_loss):
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
        raise InvalidError("the model takes %s%s; %d arrays were given" % (
            ", ".join(inputs), "" if own_loss else " and needs a target", len(data)))
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
        if not array.dtype.isnative or not array.flags.aligned:
            raise InvalidError("'%s' is not aligned, or not in this machine's byte order: array.astype(array.dtype.newbyteorder('=')) "
                               "makes a copy that is" % name)
        if array.shape[0] != arrays[0][1].shape[0]:
            raise InvalidError("'%s' has %d samples, '%s' has %d" % (name, array.shape[0], arrays[0][0],
                                                                  arrays[0][1].shape[0]))


def split_share(data, share, options):
    """The last part of arrays, or what the library keeps apart of files."""
    if not 0 < share < 1:
        raise InvalidError("validation: a share is between 0 and 1, not %g" % share)
    if is_path(data):
        return data, os.fspath(data), dict(options, validation=share)
    if not is_arrays(data):
        raise TypeError("validation: a share is for arrays and paths; give validation data")
    first = data if isinstance(data, np.ndarray) else next(iter(data.values())) if isinstance(data, dict) else data[0]
    count = to_numpy(first).shape[0]
    cut = max(1, min(count - 1, int(round(count * (1 - share)))))
    if isinstance(data, dict):
        return {k: to_numpy(v)[:cut] for k, v in data.items()}, {k: to_numpy(v)[cut:] for k, v in data.items()}, options
    parts = data if isinstance(data, tuple) else (data,)
    kind = Weighted if isinstance(data, Weighted) else tuple
    return kind(to_numpy(v)[:cut] for v in parts), kind(to_numpy(v)[cut:] for v in parts), options


class Native:
    """Arrays or files, which the library reads itself, ahead of training."""

    def __init__(self, data, inputs, own_loss, options, axes=0):
        self.held = None
        if is_path(data):
            self.data = _native.Data.open(os.fspath(data), **options)
        else:
            unknown = [k for k in options if k not in ARRAY_OPTIONS]
            if unknown:
                raise no_option(unknown[0], "fit() or of arrays", FIT_OPTIONS + ARRAY_OPTIONS)
            self.held = named(data, inputs, own_loss, axes)
            check_arrays(self.held)
            self.data = _native.Data.arrays(self.held, **options)
        self.info = self.data.info()


class Batches:
    """Anything that gives batches one after the other, each epoch from its beginning."""

    def __init__(self, data, batch, shuffle, seed):
        self.samples, self.batch, self.again = 0, batch, True
        self.make, self.length = self._open(data, batch, shuffle, seed)

    def weigh_classes(self, class_weight):
        """Every batch has the weights of its samples' classes."""
        plain = self.make

        def weighed(parts):
            if isinstance(parts, dict):
                key = next((k for k in LABELS if k in parts), None)
                if key is None:
                    raise InvalidError("class_weight: the batch has no target; it has %s" % ", ".join(parts))
                return dict(parts, **{KEYS[0]: of_classes(class_weight, parts[key])})
            return Weighted(list(parts) + [of_classes(class_weight, parts[-1])])
        self.make = lambda: (weighed(flatten(batch)) for batch in plain())

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
    if isinstance(batch, Weighted):
        return batch
    if isinstance(batch, dict) or hasattr(batch, "keys") and hasattr(batch, "__getitem__"):
        return {str(k): batch[k] for k in batch.keys()}
    if is_array(batch):
        return [batch]
    if isinstance(batch, (list, tuple)):
        made = []
        for part in batch:
            if isinstance(part, dict):  # Keras: (inputs by name, target, weights)
                after = batch[batch.index(part) + 1:]
                return dict(part, **dict(zip(("target", KEYS[0]), after)))
            made += list(part) if isinstance(part, (list, tuple)) and not is_array(part) else [part]
        return made
    raise TypeError("a batch is arrays in a tuple, a list or a dictionary, not %s" % type(batch).__name__)


def match(parts, fields):
    """The arrays that the model's fields take, in their order; None for weights that the batch does not bring."""
    plain = [f for f in fields if f[0] != FIELD]
    names, weighs = [f[0] for f in plain], len(plain) < len(fields)
    has_target = any(f[3] for f in fields)
    if isinstance(parts, dict):
        key = key_of(parts, names)
        weights, made = None if key is None else parts[key], []
        for name, _, _, is_target, _ in plain:
            keys = [k for k in ((name,) + LABELS if is_target else (name,)) if k in parts]
            if not keys:
                raise InvalidError("the batch has no '%s'; it has %s" % (name, ", ".join(parts) or "nothing"))
            made.append(parts[keys[0]])
    else:
        weights, made = None, list(parts)
        if isinstance(parts, Weighted) or has_target and len(parts) == len(plain) + 1:
            weights = made.pop()
        if len(made) != len(plain):
            raise InvalidError("the model needs %d arrays a batch (%s); the data gives %d" % (
                len(plain), ", ".join(names), len(parts)))
    if weights is not None and not weighs:
        raise InvalidError("the batch has weights of samples, and the training data has none: ones there change nothing")
    return made[:-1] + [weights] + made[-1:] if weighs else made


def arrays_of(batch, fields):
    """A batch as the library takes it."""
    parts = match(flatten(batch), fields)
    made = [None if field[0] == FIELD else for_field(part, field) for part, field in zip(parts, fields)]
    counts = {len(a) for a in made if a is not None}
    if len(counts) != 1:
        raise InvalidError("arrays of one batch have %s samples" % " and ".join(map(str, sorted(counts))))
    for i, field in enumerate(fields):
        if field[0] == FIELD:
            shape = (len(made[0]),) + tuple(field[2])
            made[i] = np.ones(shape, np.float32) if parts[i] is None else widened(as_weights(parts[i]), shape)
    return made
