"""Training within a memory budget: an ONNX file, a network of the zoo, a PyTorch module or a Keras model."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import warnings
import weakref
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Union

import numpy as np

from . import _native
from ._arrays import for_field, to_numpy
from ._checkpoint import Checkpoint
from ._checks import as_data, check_options, check_types, no_option, whole
from ._data import ARRAY_OPTIONS, FIT_OPTIONS, Batches, Native, arrays_of, flatten, is_arrays, is_path, named, split_share
from ._data import taken_weights
from ._errors import BudgetError, DtypeError, ExportError, InvalidError, NoFileError, ShapeError
from ._export import count_batches, ends_with, export, is_module, merged_state, unwrapped
from ._options import budget_bytes, loss_options, optimizer_options, takes_logarithms, takes_probabilities
from ._plan import Plan
from ._process import resident_by_owner, threads as all_threads
from ._run import Best, History, Run
from ._text import size
from ._weights import Weighted, joined, marked

atexit.register(_native.stop_all)

_ZOO_SIZES = ("classes", "image", "channels", "seq", "width", "layers", "heads", "features", "kv_heads", "hidden",
              "vocab")


def _is_keras(model):
    return any(c.__module__.split(".")[0] in ("keras", "tf_keras", "tensorflow") for c in type(model).__mro__) and hasattr(
        model, "layers")


def _globs(names):
    """Names as patterns that match nothing else."""
    return [re.sub(r"([*?\[\]\\])", r"\\\1", name) for name in names]


def _outside():
    """How many frames up the program's own line is: where a warning belongs."""
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return level


_OPTIONS = ("loss", "optimizer", "budget", "sample", "batch", "learning_rate", "allow", "threads", "seed", "precision", "accumulate",
            "freeze", "trainable", "sizes", "schedule", "warmup", "weight_decay", "momentum", "spill", "class_weights")


class Trainer:
    """Trains a model within a budget for the whole process.

    model      an ONNX file, a name of the zoo ("resnet18"), a torch.nn.Module, or a Keras model
    loss       "cross_entropy", "bce_with_logits", "mse", "l1", "huber", "model", or a loss of PyTorch or Keras
    optimizer  "sgd", "adam", "adamw", "rmsprop", "adagrad", "adafactor", "lion", or an optimizer of PyTorch or Keras
    budget     bytes, "2GiB", "auto" (what the machine allows), or None
    sample     inputs of a module, as it is called: needed for plan() before fit() has seen data
    batch      samples of an update; fit() may be given its own
    allow      "exact", "reordered" (default) or "lossy": what a plan may do to the numbers
    precision  "fp32", "bf16" or "fp16" (with a loss scaled as by GradScaler): of what waits for the backward pass,
               and with bf16 of what products multiply where the processor can
    base       "fp32", "bf16", "int8", "nf4" or "file": of layers that are frozen

    Other options are those of `plimsoll train`: threads, seed, accumulate, freeze, sizes, spill, schedule, warmup ...
    """

    def __init__(self, model: Any, loss: Any = "cross_entropy", optimizer: Any = "adamw",
                 budget: Union[int, str, None] = None, *, sample: Any = None, batch: int = 32,
                 learning_rate: Optional[float] = None, allow: Optional[str] = None, threads: Optional[int] = None,
                 seed: int = 0, **options: Any):
        self.stop_training = False
        self.budget = budget_bytes(budget)
        self._options: Dict[str, Any] = {"seed": seed, "threads": all_threads(threads)}
        self._options.update(loss_options(loss))
        self._options.update(optimizer_options(optimizer, learning_rate))
        self._updated = {id(p) for group in getattr(optimizer, "param_groups", ()) for p in group["params"]}
        self._zoo = {k: options.pop(k) for k in _ZOO_SIZES if k in options}
        if allow is not None:
            options["allow"] = allow
        check_options(options, _OPTIONS + _ZOO_SIZES)
        self._options.update(options)
        if self.budget:
            self._options["budget"] = self.budget
        self.batch, self._sample, self._seed = whole("batch", batch, "samples"), sample, seed
        self._logarithms, self._counted = takes_logarithms(loss), 0
        self._closed, self._axes = False, 0  # how many axes of the targets have weights that come with the samples
        self._graph = self._native = self._session = self._keras = self._made = None
        self._folder: Any = None
        self._baked: Any = None  # (samples that a file is for and nothing else, why)
        self._declared: Dict[str, Any] = {}
        self.resident_before: Dict[str, int] = {}
        self.model, self._prefix = unwrapped(model)
        self._open_model(self.model, loss)

    # --- the model ------------------------------------------------------------------------------------------------------

    def _open_model(self, model, loss):
        self.title = type(model).__name__
        if is_path(model):
            self.title = os.path.basename(os.fspath(model))
            names = [entry[0] for entry in _native.zoo()]
            if not os.path.exists(model) and os.fspath(model) in names:
                self._graph = _native.Graph.zoo(os.fspath(model), seed=self._seed, **self._zoo)
            elif not os.path.exists(model) and not os.fspath(model).endswith(".onnx"):
                raise NoFileError("there is no file '%s', and the zoo has %s" % (model, ", ".join(names)))
            else:
                self._graph = _native.Graph.load(model)
                self._take_file(self._graph)
        elif isinstance(model, _native.Graph):
            self._graph = model
        elif is_module(model) and not _is_keras(model):
            from ._export import check_device
            check_device(model)
            if self._updated and not self._updated & {id(p) for p in model.parameters()}:
                raise InvalidError("optimizer: it has none of the parameters of %s" % self.title)
        elif _is_keras(model):
            from ._keras import Converted
            self._keras = Converted(model)
            self._graph = self._keras.graph
            if self._keras.left_out:
                warnings.warn("%s: not a part of this training: %s; weight_decay is" % (
                    self.title, ", ".join(self._keras.left_out)), stacklevel=_outside())
            if len(model.outputs) > 1:
                warnings.warn("%s: the loss is that of the first of its %d outputs" % (self.title, len(model.outputs)),
                              stacklevel=_outside())
            if self._keras.frozen:
                self._options["freeze"] = list(self._options.get("freeze", ())) + _globs(self._keras.frozen)
            self._options.setdefault("loss_output", self._keras.loss_output(self._options["loss"], takes_probabilities(loss)))
            if self._keras.counts:
                self._options.setdefault("loss_counts", self._keras.counts)
        else:
            raise TypeError("a model is an ONNX file, a name of the zoo, a torch.nn.Module or a Keras model, not %s"
                            % type(model).__name__)

    def _take_file(self, graph):
        """Says what an exporter lost, and opens a batch that is part of the file."""
        for kind, text in graph.remarks():
            if kind != "restored":
                warnings.warn("%s: %s" % (self.title, text), stacklevel=_outside())
        samples, freed, why = graph.free_batch()
        if samples and not freed:
            if is_module(self.model):
                raise ExportError("%s is exported for batches of %d only: %s" % (self.title, samples, why))
            self._baked = (samples, why)
            self.batch = self.batch if self.batch % samples == 0 else samples

    def _temporary(self):
        if self._folder is None:
            folder = tempfile.mkdtemp(prefix="plimsoll-")
            self._folder = (folder, weakref.finalize(self, shutil.rmtree, folder, True))
        return self._folder[0]

    def _need_graph(self, sample=None):
        """The model as a graph; of a module once a sample is known."""
        if self._closed:
            raise RuntimeError("the trainer is closed")
        if self._graph is None:
            sample = self._sample if self._sample is not None else sample
            if sample is None:
                raise InvalidError("a sample is needed to export %s: Trainer(..., sample=inputs)" % self.title)
            path = export(self.model, sample, self._temporary(), apart=bool(self.budget))
            self._graph = _native.Graph.load(path)
            self._take_file(self._graph)
            if self._logarithms and not ends_with(self._graph, "LogSoftmax"):
                raise InvalidError("loss: NLLLoss takes logarithms of probabilities, and %s does not end with a log_softmax; "
                                   "CrossEntropyLoss takes scores" % self.title)
            wanted = "loss" if self._own_loss() else "logits"
            if wanted in [name for name, _, _ in self._graph.outputs()]:
                self._options.setdefault("loss_output", wanted)
            trained = set(self._graph.trained())
            frozen = [name for name, p in self.model.named_parameters() if name in trained and (
                not p.requires_grad or self._updated and id(p) not in self._updated)]
            if frozen:
                self._options["freeze"] = list(self._options.get("freeze", ())) + _globs(frozen)
        return self._graph

    @property
    def inputs(self):
        """Names of the model's inputs, in order."""
        return [name for name, _, _ in self._need_graph().inputs()]

    def _own_loss(self):
        return self._options.get("loss") == "model"

    # --- plans ---------------------------------------------------------------------------------------------------------

    def _trainer_options(self, batch, declared):
        weights = {"sample_weights": self._axes} if self._axes else {}
        made = {**self._options, "batch": batch, **weights, **{k: v for k, v in declared.items() if v}}
        if self._baked and "accumulate" not in made:
            samples, why = self._baked
            if batch % samples:
                raise ShapeError("the file is for batches of %d, and %d is not made of these (%s); torch.onnx.export(..., dynamic_shapes="
                                 "({0: torch.export.Dim('batch')},)) makes a file for any batch" % (samples, batch, why))
            made["accumulate"] = batch // samples
        return made

    def plan(self, batch: Optional[int] = None, page: bool = True, save: Optional[str] = None) -> Plan:
        """What training will need, before it runs. `page`: with the picture for notebooks; `save`: also into a file."""
        graph = self._need_graph()
        owners = self._owners()
        self.resident_before = self.resident_before or owners
        path = os.path.join(self._temporary(), "plan.html") if page else None
        report = _native.plan(graph, path, self.title, os.fspath(save) if save else None,
                              **self._trainer_options(batch or self.batch, {}))
        text = None
        if path:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            os.remove(path)
        return Plan(report, self.title, owners, text)

    def _make(self, batch, declared):
        """The trainer of the library, for this batch; what was trained so far stays."""
        declared = {k: v for k, v in declared.items() if v}
        if self._native is not None and batch == self.batch_made and self._axes_made() == self._axes:
            return self._native
        options, before = self._trainer_options(batch, declared), self._made
        if self._native is None:
            self.resident_before = self._owners()
            self._create(batch, options)
            return self._native
        state, progress = self._read_all(), self._native.progress()
        self._native.close()
        self._native = None
        try:
            self._create(batch, options)
        except BaseException:
            self._create(*before)  # it fitted: what was trained is not lost
            raise
        finally:
            self._write_all(state)
            self._native.progress(*progress)
        return self._native

    def _create(self, batch, options):
        try:
            self._native = _native.Trainer(self._need_graph(), **options)
        except BudgetError as error:
            raise self._named(error) from None
        except InvalidError as error:
            kinds = {dtype for _, dtype, _ in self._graph.inputs()} if self._graph is not None else set()
            if is_module(self.model) and kinds == {"int64"} and "scores must be float32" in str(error):
                raise DtypeError("%s; the inputs are int64 too: %s may need inputs.float()" % (error, self.title)) from None
            raise
        self.batch_made, self._made = batch, (batch, options)

    def _owners(self):
        """Who holds the memory that is resident before training; a module's own tensors by their name."""
        owners = resident_by_owner()
        if is_module(self.model) and "heap and stacks" in owners:
            tensors = list(self.model.parameters()) + list(self.model.buffers())
            held = sum({t.data_ptr(): t.element_size() * t.numel() for t in tensors}.values())
            owners["the module's tensors"] = min(held, owners["heap and stacks"])
            owners["heap and stacks"] -= owners["the module's tensors"]
        return owners

    def _named(self, error):
        """A budget that is not met says who was there before."""
        owners = sorted(self.resident_before.items(), key=lambda item: -item[1])
        held = sum(self.resident_before.values())
        if not held:
            return error
        return BudgetError("%s (resident before training: %s: %s)" % (
            error, size(held), ", ".join("%s %s" % (name, size(count)) for name, count in owners)))

    # --- data ----------------------------------------------------------------------------------------------------------

    def _data_options(self, options, batch, shuffle):
        made = dict(options)
        made.setdefault("batch", batch)
        made.setdefault("seed", self._seed)
        if not shuffle:
            made["in_order"] = 1
        if self._options.get("loss") not in (None, "cross_entropy", "model"):
            made.setdefault("float_target", 1)
        return made

    def _follow_model(self, options):
        """Sizes of images and windows are those of the model's first input."""
        dims = self._need_graph().inputs()[0][2]
        if len(dims) == 4 and all(isinstance(d, int) for d in dims[1:]):
            if dims[1] in (1, 3):
                options.setdefault("channels", dims[1])
            options.setdefault("height", dims[2])
            options.setdefault("width", dims[3])
        if len(dims) in (2, 3) and isinstance(dims[1], int):
            options.setdefault("seq", dims[1])
        return options

    def _open(self, data, batch, shuffle, options):
        """Native data, or batches of Python."""
        if isinstance(data, (Native, Batches)):
            return data
        if is_path(data) or is_arrays(data):
            if is_arrays(data):
                data = self._marked(data)
                self._need_graph(self._sample_of(data))
                if len(self._need_graph().inputs()) == 0:
                    raise InvalidError("the model has no inputs")
                self._take_sizes(data if isinstance(data, (tuple, dict)) else (data,))
            made = self._data_options(options, batch, shuffle)
            data = self._with_axis(data, made)
            if is_path(data):
                made = self._follow_model(made)
            opened = Native(data, self.inputs, self._own_loss(), made, self._axes)
            if opened.held:
                check_types(opened.held, self._need_graph().inputs(), not made.get("float_target") and not self._own_loss())
            return opened
        if options:
            raise no_option(next(iter(options)), "fit() with batches", FIT_OPTIONS)
        return Batches(data, batch, shuffle, self._seed)

    def _axes_made(self):
        return self._made[1].get("sample_weights", 0) if self._made else 0

    def _marked(self, data):
        """The same, known to have weights of samples where it does; training has them from then on."""
        if isinstance(data, (tuple, list)) and not self._own_loss():
            data = marked(tuple(data), len(self.inputs) if self._graph is not None else None, self.model)
        if isinstance(data, (Weighted, dict)):
            weights, _ = taken_weights(data, self.inputs if self._graph is not None else (), self._own_loss())
            if weights is not None and self._own_loss():
                raise InvalidError("weights of samples: the model has its own loss, which they do not reach")
            self._axes = max(self._axes, weights.ndim if weights is not None else 0)
        return data

    def _take_sizes(self, arrays):
        """Open axes other than the batch have the sizes of the first arrays, given by name or in the order of the inputs."""
        inputs = self._need_graph().inputs()
        if not isinstance(arrays, dict):
            arrays = {entry[0]: array for entry, array in zip(inputs, arrays)}
        sizes = dict(self._options.get("sizes", {}))
        for name, _, dims in inputs:
            shape = np.shape(to_numpy(arrays[name])) if name in arrays else ()
            for symbol, number in zip(dims[1:], shape[1:]) if len(shape) == len(dims) else ():
                if isinstance(symbol, str) and symbol != dims[0]:
                    sizes.setdefault(symbol, int(number))
        if sizes and self._native is None:
            self._options["sizes"] = sizes

    def _with_axis(self, data, options):
        """Targets of losses over single numbers have the axes of the output: (N,) is (N, 1) where that is."""
        if not options.get("float_target") or not isinstance(data, tuple) or len(data) < 2:
            return data
        at = -2 if isinstance(data, Weighted) else -1
        target = to_numpy(data[at], "'target'")
        outputs = self._need_graph().outputs()
        if target.ndim == 1 and len(outputs[0][2]) == 2 and target.flags.c_contiguous:
            return type(data)(data[:at] + (target.reshape(-1, 1),) + (data[-1:] if at == -2 else ()))
        return data

    def _sample_of(self, data):
        """Two samples of the inputs, for exporting a module."""
        if self._graph is not None or not is_arrays(data):
            return None
        if isinstance(data, dict):
            inputs = {name: array for name, array, target in named(data, [], False) if not target or self._own_loss()}
            return {name: array[:2] for name, array in inputs.items()}
        arrays = data if isinstance(data, tuple) else (data,)
        arrays = arrays if self._own_loss() else arrays[:-2 if isinstance(data, Weighted) else -1]
        if not arrays:
            raise InvalidError("one array was given: give (inputs, targets)")
        return tuple(to_numpy(a, "the sample")[:2] for a in arrays)

    def _sample_of_batch(self, parts):
        if isinstance(parts, dict):
            from ._data import LABELS
            weights, parts = taken_weights(parts, (), self._own_loss())
            return {k: v for k, v in parts.items() if k not in LABELS or self._own_loss()}
        return tuple(parts if self._own_loss() else parts[:-2 if isinstance(parts, Weighted) else -1])

    # --- fit -----------------------------------------------------------------------------------------------------------

    def fit(self, data: Any, epochs: int = 1, validation: Any = None, *, batch: Optional[int] = None, shuffle: bool = True,
            steps: Optional[int] = None, callbacks: Any = None, verbose: Union[int, str, None] = None,
            patience: Optional[int] = None, best: Optional[str] = None, checkpoint: Optional[str] = None,
            checkpoint_every: Optional[int] = None, resume: bool = False, sample_weight: Any = None,
            class_weight: Optional[Dict[int, float]] = None, **data_options: Any) -> History:
        """Trains for this number of epochs; a History is returned, as Keras does. The weights go back into a module or a
        Keras model, also when Ctrl-C ends the run.

        data        (inputs, targets), a dictionary of arrays, a path, a DataLoader or Dataset, a tf.data.Dataset, a Hugging
                    Face data set, or anything that gives batches
        validation  the same, or a share of the data as 0.1
        callbacks   objects as keras.callbacks.Callback, or functions of (epoch, logs)
        sample_weight, class_weight  as Keras has them; data may bring the first as (inputs, targets, weights) too
        checkpoint  a file with the whole state: written after each epoch and when the run is interrupted; resume=True goes
                    on from it
        """
        epochs, data = whole("epochs", epochs, "epochs"), as_data(data, self._own_loss())
        self._axes = self._axes_made()
        by_batch = class_weight is not None and not is_arrays(data) and not is_path(data)
        data = data if by_batch else joined(data, sample_weight, class_weight)
        if steps is not None:
            steps = whole("steps", steps, "updates")
        if (patience or best) and validation is None:
            raise InvalidError("patience and best need validation data")
        if best:
            _native.can_save(best)
        if resume and not checkpoint:
            raise InvalidError("resume needs a checkpoint")
        run_options = {"epochs": epochs, "steps": steps, "patience": patience, "best": best,
                       "checkpoint": os.fspath(checkpoint) if checkpoint else None, "checkpoint_every": checkpoint_every,
                       "resume": resume}
        batch = self.batch if batch is None else whole("batch", batch, "samples")
        share = validation if isinstance(validation, float) else None
        if share is not None:
            data, validation, data_options = split_share(data, share, data_options)
        if is_arrays(validation):
            validation = self._marked(as_data(validation, self._own_loss()))
        source = self._open(data, batch, shuffle, data_options)
        if by_batch:
            source.weigh_classes(class_weight)
        if isinstance(source, Native):
            loop = self._fit_native
        else:
            loop = self._fit_batches
        self._session = None
        try:
            return loop(source, validation, run_options, callbacks, verbose, data_options)
        finally:
            if sys.exc_info()[0] is None or isinstance(sys.exc_info()[1], KeyboardInterrupt):
                self._give_back()

    def _open_validation(self, validation, batch, data_options):
        if validation is None:
            return None
        options = {k: v for k, v in data_options.items() if k not in ("random_crop", "random_flip", "drop_last")}
        if is_path(validation):
            options["split"] = "validation" if options.get("validation") else "test"
        options["epochs"], validation = 1, as_data(validation, self._own_loss())
        if is_arrays(validation):
            options = {k: v for k, v in options.items() if k in ARRAY_OPTIONS}
        if is_arrays(validation) or is_path(validation):
            return self._open(validation, batch, False, options)
        return Batches(validation, batch, False, self._seed)

    def _fit_native(self, source, validation, options, callbacks, verbose, data_options):
        info = source.info
        checked = self._open_validation(validation, info["batch"], data_options)
        held = info["held_bytes"] + (checked.info["held_bytes"] if isinstance(checked, Native) else 0)
        trainer = self._make(info["batch"], {
            "samples": info["samples"] if not data_options.get("drop_last") else 0,
            "evaluates": checked.info["batch"] if isinstance(checked, Native) else 0,
            "irregular_batches": info["skips_bad"], "data_held_bytes": held,
            "data_opening_bytes": info["opening_bytes"],
            "data_bytes": (info["most_bytes"] + (checked.info["most_bytes"] if isinstance(checked, Native) else 0)),
            "total": self._total(options, info["batches"])})
        run = Run(self, options["epochs"], verbose, callbacks)
        native_validation = checked.data if isinstance(checked, Native) else None
        watch = Best(self, options)
        run.begin()
        epoch, resume, begun = 0, options["resume"], False
        while epoch < options["epochs"]:
            seen: Dict[str, Any] = {}

            def on_event(event):
                if event["kind"] == "step":
                    return run.step(event["epoch"], event["sums"], event["step"],
                                    event["position"] / max(1, event["epoch_samples"]))
                if event["kind"] == "validated":
                    seen["validation"] = event["validation"]
                return False
            try:
                result = trainer.fit(source.data, native_validation, on_event, run.every_step, epochs=epoch + 1,
                                     steps=options["steps"], checkpoint=options["checkpoint"],
                                     checkpoint_every=options["checkpoint_every"], resume=int(resume), continues=int(begun))
            except BudgetError as error:
                raise self._named(error) from None
            resume, begun = False, True
            run.history.result = result
            if checked is not None and native_validation is None and not result["stopped"]:
                seen["validation"] = self._evaluate_batches(checked)
            stop = run.end_epoch(seen.get("validation"))
            stop = watch.seen(seen.get("validation")) or stop
            if result["stopped"] or stop or result["epochs"] <= epoch:
                break
            epoch = result["epochs"]
            if options["steps"] and result["steps"] >= options["steps"]:
                break
        run.end()
        return run.history

    @staticmethod
    def _total(options, batches):
        """Updates of the whole run, for schedules that end with it."""
        if options["steps"]:
            return options["steps"]
        return options["epochs"] * batches if batches else 0

    def _first_batch(self, source):
        """The batch that tells sizes, and the rest of its epoch."""
        iterator = iter(source.make())
        try:
            first = next(iterator)
        except StopIteration:
            raise InvalidError("the data is empty: there is no batch") from None
        return first, iterator

    def _fit_batches(self, source, validation, options, callbacks, verbose, data_options):
        first, rest = self._first_batch(source)
        parts = self._marked(flatten(first))
        values = list(parts.values()) if isinstance(parts, dict) else parts
        if any(np.ndim(to_numpy(value, "the first batch")) == 0 for value in values):
            raise InvalidError("the data gives single samples, not batches: tf.data.Dataset.batch(%d), or a list of batches"
                             % source.batch)
        self._need_graph(self._sample_of_batch(parts))
        self._take_sizes(parts)
        count = int(to_numpy(values[0], "the first batch").shape[0])
        size_of = max(count, source.batch if source.samples else 0)
        checked = self._open_validation(validation, size_of, data_options)
        declared = {"samples": source.samples, "irregular_batches": 0 if source.samples else 1,
                    "evaluates": checked.info["batch"] if isinstance(checked, Native) else size_of if checked else 0,
                    "total": self._total(options, source.length)}
        trainer = self._make(size_of, declared)
        fields = trainer.fields()
        run = Run(self, options["epochs"], verbose, callbacks)
        watch, state = Best(self, options), Checkpoint(self, options)
        start = state.read() if options["resume"] else 0
        run.begin()
        stop, done = False, trainer.updates()
        try:
            for epoch in range(start, options["epochs"]):
                sums = [0, 0.0, 0.0, 0.0, 0.0]
                for number, batch in enumerate(self._batches_of(source, first, rest, epoch == start)):
                    arrays = arrays_of(batch, fields)
                    if len(arrays[0]) > self.batch_made:  # the first one was a short one
                        trainer = self._make(len(arrays[0]), declared)
                    result = trainer.step(len(arrays[0]), arrays)
                    weight = result["weight"]
                    sums = [number + 1, sums[1] + result["loss"] * weight, sums[2] + weight,
                            sums[3] + result["correct"], sums[4] + result["targets"]]
                    stop = run.step(epoch, sums, result, (number + 1) / source.length if source.length else None)
                    done = result["update"]
                    if options["checkpoint_every"] and done % options["checkpoint_every"] == 0:
                        state.write(epoch)
                    if stop or options["steps"] and done >= options["steps"]:
                        stop = True
                        break
                if not run.open:
                    if source.again and not stop:
                        raise InvalidError("epoch %d: the data gave no batch" % (epoch + 1))
                    if not source.again:
                        warnings.warn("the generator was used up after %d of %d epochs: give the function that makes it"
                                      % (epoch, options["epochs"]), stacklevel=_outside())
                    break
                result = self._evaluate_source(checked) if checked is not None else None
                stop = run.end_epoch(result) or stop
                stop = watch.seen(result) or stop
                state.write(epoch + 1)
                if stop:
                    break
        except KeyboardInterrupt:
            state.write(run.epoch)
            raise
        run.end()
        run.history.result = {"steps": done, "stopped": int(self.stop_training)}
        return run.history

    @staticmethod
    def _batches_of(source, first, rest, is_first):
        """The first epoch goes on after the batch that was looked at."""
        if is_first:
            yield first
            yield from rest
        elif source.again:
            yield from source.make()

    # --- evaluation and prediction -----------------------------------------------------------------------------------------

    def _evaluate_source(self, source, alone=False):
        if isinstance(source, Native):
            source.data.seek(0, 0)
            return self._native.evaluate(source.data)
        return self._evaluate_batches(source, alone)

    def _evaluate_batches(self, source, alone=False):
        """Each batch by the library, together as if they were one. `alone`: no run goes on, which has its own trainer."""
        trainer, sums = self._native, {"loss": 0.0, "accuracy": 0.0, "count": 0, "samples": 0, "classifies": 0}
        fields = trainer.fields()
        for batch in source.make():
            if alone:
                self._marked(flatten(batch))
                trainer = self._make(self.batch_made, {})
                fields = trainer.fields()
            arrays = arrays_of(batch, fields)
            entries = [(f[0], a, f[3]) for f, a in zip(fields, arrays)]
            one = trainer.evaluate(_native.Data.arrays(entries, batch=len(arrays[0]), epochs=1, in_order=1, workers=1))
            for key in ("loss", "accuracy"):
                sums[key] += one[key] * one["count"]
            sums["count"] += one["count"]
            sums["samples"] += one["samples"]
            sums["classifies"] = one["classifies"]
        if not sums["count"]:
            raise InvalidError("the data is empty: there is nothing to evaluate")
        return dict(sums, loss=sums["loss"] / sums["count"], accuracy=sums["accuracy"] / sums["count"])

    def evaluate(self, data: Any, *, batch: Optional[int] = None, sample_weight: Any = None,
                 **data_options: Any) -> Dict[str, float]:
        """Loss, and accuracy of a model that classifies, over all the data. The loss is weighed by `sample_weight`, as in
        Keras."""
        data, self._axes = joined(as_data(data, self._own_loss()), sample_weight, None), self._axes_made()
        batch = batch or (self.batch_made if self._native is not None else self.batch)
        if is_path(data):
            data_options.setdefault("split", "test")
        if not (is_path(data) or is_arrays(data)) and self._graph is None:
            raise InvalidError("the module was not exported yet: fit() first, or give arrays")
        source = self._open(data, batch, False, dict(data_options, epochs=1) if is_path(data) or is_arrays(data) else {})
        self._make(self.batch_made if self._native is not None else batch, {"evaluates": batch})
        result = self._evaluate_source(source, alone=True)
        made = {"loss": result["loss"]}
        if result["classifies"]:
            made["accuracy"] = result["accuracy"]
        return made

    def _predictor(self, batch, sample):
        """A session with the weights as they are now; under a budget with a batch that the rest of it has room for."""
        if self._session is not None:
            return self._session
        graph = self._need_graph(sample)
        self._take_sizes(sample)
        if self._native is not None:
            path = os.path.join(self._temporary(), "trained.onnx")
            self._native.save(path)
            graph = _native.Graph.load(path)
        options = {"threads": self._options["threads"], "evaluation": 1}
        if "sizes" in self._options:
            options["sizes"] = self._options["sizes"]
        while self.budget and batch >= 1:
            need = _native.Session(graph, batch=batch, plan_only=1, **options).arena_bytes()
            if _native.resident()[0] + need <= self.budget:
                break
            if batch == 1:
                raise BudgetError("predictions need %s beside the %s that are resident; the budget is %s" % (
                    size(need), size(_native.resident()[0]), size(self.budget)))
            batch //= 2
        self._session = (_native.Session(graph, batch=batch, **options), batch)
        return self._session

    def predict(self, data: Any, *, batch: Optional[int] = None) -> Any:
        """The model's outputs for these inputs: an array, or a tuple of them. A model is in evaluation mode here."""
        arrays = data if isinstance(data, tuple) else tuple(data.values()) if isinstance(data, dict) else (data,)
        if any(hasattr(a, "__iter__") and not hasattr(a, "__array__") and not is_arrays(a) and not isinstance(
                a, (list, memoryview)) for a in arrays):
            raise TypeError("predict() takes arrays: predict(batch) for each batch of %s" % type(arrays[0]).__name__)
        arrays = [to_numpy(a, "the input") for a in arrays]
        if not arrays or arrays[0].ndim == 0 or arrays[0].shape[0] == 0:
            raise InvalidError("there are no samples to predict")
        session, most = self._predictor(min(batch or self.batch, len(arrays[0])), tuple(a[:2] for a in arrays))
        inputs, outputs = session.signature()
        if len(arrays) != len(inputs):
            raise InvalidError("the model has %d inputs (%s); %d arrays were given" % (
                len(inputs), ", ".join(i[0] for i in inputs), len(arrays)))
        made = [[] for _ in outputs]
        for start in range(0, len(arrays[0]), most):
            feed, count = {}, min(most, len(arrays[0]) - start)
            for (name, dtype, dims), array in zip(inputs, arrays):
                rows = for_field(array[start:start + count], (name, dtype, dims[1:], False, 0))
                if rows.shape[1:] != tuple(dims[1:]):
                    raise InvalidError("'%s' has the shape %s; samples of %s are needed" % (name, array.shape, dims[1:]))
                if count < most:
                    rows = np.concatenate([rows, np.zeros((most - count,) + rows.shape[1:], rows.dtype)])
                feed[name] = rows
            results = {name: np.empty(dims, dtype) for name, dtype, dims in outputs}
            session.run(feed, results)
            for column, (name, _, dims) in zip(made, outputs):
                column.append(results[name][:count] if dims and dims[0] == most else results[name])
        if self._keras is not None:
            made = self._keras.results([name for name, _, _ in outputs], made)
        joined = [np.concatenate(column) if column[0].ndim else np.stack(column) for column in made]
        return joined[0] if len(joined) == 1 else tuple(joined)

    # --- trainable state --------------------------------------------------------------------------------------------------

    def _read_all(self):
        made = {}
        for index, (name, role, dtype, dims) in enumerate(self._native.tensors()):
            array = np.empty(dims, dtype)
            self._native.read(index, array)
            made[(name, role)] = array
        return made

    def _write_all(self, state):
        for index, (name, role, dtype, dims) in enumerate(self._native.tensors()):
            if (name, role) in state:
                self._native.write(index, np.ascontiguousarray(state[(name, role)], dtype).reshape(dims))

    def _need_native(self):
        if self._native is None:
            self._make(self.batch, {})
        return self._native

    def state_dict(self) -> Dict[str, Any]:
        """Parameters and statistics by name: of a module as its own state_dict(), for load_state_dict(); else arrays."""
        state = self._own_state()
        return state if not self._prefix else {self._prefix + name: value for name, value in state.items()}

    def _own_state(self):
        self._need_native()
        state = {name: array for (name, role), array in self._read_all().items() if role != "optimizer"}
        return merged_state(self.model, state) if is_module(self.model) and not self._keras else state

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Replaces parameters and statistics by those of the same names; what is missing or too much is a KeyError."""
        self._need_native()
        known = {name for name, role, _, _ in self._native.tensors() if role != "optimizer"}
        state = {name[len(self._prefix):] if name.startswith(self._prefix) else name: value for name, value in state.items()}
        missing = known - set(state)
        if missing:
            raise KeyError("the state has no %s" % ", ".join(sorted(missing)[:5]))
        self._write_all({(name, role): to_numpy(state[name], name) for name, role, _, _ in self._native.tensors()
                         if role != "optimizer"})
        self._session = None

    def get_weights(self):
        """A list of arrays, as Keras has it; set_weights takes it back."""
        self._need_native()
        return [array for (_, role), array in self._read_all().items() if role != "optimizer"]

    def set_weights(self, weights: Sequence[Any]) -> None:
        self._need_native()
        names = [(name, role) for name, role, _, _ in self._native.tensors() if role != "optimizer"]
        if len(names) != len(weights):
            raise InvalidError("%d arrays were given; there are %d" % (len(weights), len(names)))
        self._write_all({name: to_numpy(array, name[0]) for name, array in zip(names, weights)})
        self._session = None

    def _give_back(self):
        """What was trained goes into the module or the Keras model itself."""
        if self._native is None:
            return
        if self._keras is not None:
            self._keras.load({name: a for (name, role), a in self._read_all().items() if role != "optimizer"})
        elif is_module(self.model):
            import torch
            own = self.model.state_dict(keep_vars=True)
            count_batches(self.model, self.updates - self._counted)
            self._counted = self.updates
            with torch.no_grad():
                for name, value in self._own_state().items():
                    if own[name].data_ptr() != value.data_ptr():
                        own[name].copy_(value)

    def save(self, path: Union[str, "os.PathLike[str]"], **_ignored: Any) -> None:
        """The trained model as .onnx, its weights as .safetensors, or the module's state_dict as .pt."""
        name = os.fspath(path)
        if name.endswith((".pt", ".pth")) and is_module(self.model):
            import torch
            torch.save(self.state_dict(), name)
            return
        self._need_native().save(name)

    save_weights = save

    @property
    def stats(self) -> Dict[str, Any]:
        """What the plan in use holds and expects: bytes by kind, class, micro-batches."""
        return self._need_native().stats()

    @property
    def updates(self) -> int:
        """Updates made so far."""
        return self._native.updates() if self._native is not None else 0

    def set_budget(self, budget: Union[int, str]) -> None:
        """Between two runs: plans again for another budget, and goes on with the same weights."""
        wanted = budget_bytes(budget)
        if self._native is not None:
            self._native.set_budget(wanted)
        self.budget = self._options["budget"] = wanted

    def close(self) -> None:
        """Frees the memory now; the weights stay in a module or a Keras model."""
        self._session, self._closed = None, True
        if self._native is not None:
            self._native.close()
        self._native = self._graph = None
        if self._folder is not None:
            self._folder[1]()
            self._folder = None

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.close()

    def __repr__(self):
        return "<plimsoll.Trainer: %s, %s>" % (self.title, "budget %s" % size(self.budget) if self.budget else "no budget")
