"""Will it fit: one training step without memory or GPU, put to a simulation of the framework's allocator on a card."""

from __future__ import annotations

import copy
import html
import os
import tempfile
from typing import Any, Dict, List, Optional, Union

from . import _native
from ._errors import InvalidError, UnsupportedError
from ._export import export, is_module, unwrapped
from ._text import size

OPTIMIZERS = ("sgd", "momentum", "adam", "adamw", "adamw-fused", "adamw-8bit", "rmsprop", "adagrad")
PRECISIONS = ("fp32", "amp-bf16", "amp-fp16", "bf16")


class Prediction:
    """Whether a training job fits a card: `fits`, `numbers` in bytes, `holders` at the peak; prints well, and is a page in a
    notebook."""

    def __init__(self, job, result):
        self._job = job
        self.fits: bool = result["fits"]
        self.gpu = job.gpu
        self.batch: int = job.batch
        self.exact: bool = job.captured
        self.numbers: Dict[str, int] = {k: v for k, v in result.items() if isinstance(v, int) and not isinstance(v, bool)}
        self.kinds: Dict[str, int] = {k: v for k, v in result["kinds"].items() if v}
        self.holders: List[Dict[str, Any]] = result["holders"]
        self.refused: Optional[str] = result["refused_name"] or None if not self.fits else None
        self.cut: str = result["cut"]
        self._largest: Optional[int] = None
        self._cures: Optional[List[Dict[str, Any]]] = None

    def __bool__(self):
        return self.fits

    def largest_batch(self) -> int:
        """The largest batch that fits the card, at most 1,048,576; 0: not even one sample does."""
        if self.gpu is None:
            raise ValueError("largest_batch: no card was named; give gpu=")
        if self._largest is None:
            self._largest = self._job.largest_batch(self)
        return self._largest

    def cures(self) -> List[Dict[str, Any]]:
        """What would make the job need less, each simulated: name, meaning, fits, and what nvidia-smi would show."""
        if self._cures is None:
            now = self.numbers["reserved"] + self.numbers["libraries"] + self.numbers["context"]
            self._cures = [{k: c[k] for k in ("name", "meaning", "fits", "driver", "reserved")}
                           for c in self._job.cures() if c["applies"] and c["driver"] < now]
        return self._cures

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """The predicted step as a page: memory over time, with the card's capacity as a line."""
        prediction = self._job.predict()
        prediction.run(self._job.gpu_text, self._job.pool)
        prediction.page(path)

    def __repr__(self):
        where = "on %s" % self.gpu[0] if self.gpu else "no card was named"
        return "<plimsoll.Prediction: %s %s>" % ("fits" if self.fits else "does not fit", where)

    def __str__(self):
        n = self.numbers
        head = "%s, batch %d" % (self._job.title, self.batch)
        if self.gpu:
            head = "%s %s %s (%s)" % (head, "fits" if self.fits else "DOES NOT FIT", self.gpu[0], size(self.gpu[1]))
        lines = [head]
        rows = [("tensors", n["requested"], "as asked for"), ("allocated", n["allocated"], "with rounding and work spaces"),
                ("reserved", n["reserved"], "by the allocator")]
        if self.gpu:
            rows += [("libraries", n["libraries"], "kernels and handles of cuBLAS and cuDNN"),
                     ("CUDA context", n["context"], ""), ("nvidia-smi", n["driver"], "on this card at the peak")]
        lines += ["  %-14s %12s   %s" % (name, size(value), note) for name, value, note in rows]
        if not self.fits:
            lines.append("  refused: %s%s" % (size(n["refused_bytes"]), " for " + self.refused if self.refused else ""))
        if self.cut:
            lines.append("  the record is not whole: %s" % self.cut)
        lines += ["", "at the peak: " + ", ".join("%s %s" % (k, size(v)) for k, v in self.kinds.items())]
        lines += ["  %12s  %-11s %s  %s" % (size(h["bytes"]), h["kind"], h["name"], h["shape"]) for h in self.holders[:5]]
        if self._largest is not None:
            lines += ["", "largest batch that fits: %s" % (self._largest or "none, not even 1")]
        for cure in self._cures or ():
            lines.append("  %-44s %12s  %s" % (cure["name"], size(cure["driver"]), "fits" if cure["fits"] else ""))
        return "\n".join(lines)

    def _repr_html_(self):
        text = "<pre>%s</pre>" % html.escape(str(self))
        try:
            with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
                path = os.path.join(folder, "page.html")
                self.save(path)
                with open(path, encoding="utf-8") as file:
                    page = file.read()
        except Exception:  # pylint: disable=broad-except
            return text
        return text + "<iframe style='width:100%%;height:640px;border:0' srcdoc=\"%s\"></iframe>" % html.escape(page, quote=True)


class _ModelJob:
    """A model as a graph: the tensors that PyTorch or TensorFlow would make for it are derived from its operators."""

    captured = False

    def __init__(self, graph, title, options, gpu_text, pool):
        self.graph, self.title, self.options, self.gpu_text, self.pool = graph, title, options, gpu_text, pool
        self.gpu = _native.gpu(gpu_text) if gpu_text else None
        self.batch = options["batch"]

    def predict(self, batch=None):
        return _native.Prediction.from_model(self.graph, **dict(self.options, batch=batch or self.batch))

    def run(self, batch=None):
        return self.predict(batch).run(self.gpu_text, self.pool)

    def largest_batch(self, _now):
        return _native.largest_batch(self.graph, self.options, self.gpu_text, self.pool)

    def cures(self):
        return _native.cures(self.graph, self.options, self.gpu_text, self.pool)


_MOST_BATCH = 1 << 20  # that is tried


class _CaptureJob:
    """A module: its own step, in PyTorch's dispatcher and autograd, on tensors without contents."""

    captured = True

    def __init__(self, module, sample, settings, gpu_text, pool):
        import torch
        from ._export import as_example
        self.module, self.settings, self.gpu_text, self.pool = module, settings, gpu_text, pool
        self.sample, self.title = sample, type(module).__name__
        self.gpu = _native.gpu(gpu_text) if gpu_text else None
        self.args, self.kwargs = as_example(sample, torch)
        self.batch = settings["batch"]
        self.folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        self.traces: Dict[int, str] = {}
        self.model: Optional[_ModelJob] = None

    def trace(self, batch):
        if batch not in self.traces:
            from .capture import capture
            path = os.path.join(self.folder.name, "%d.trace" % batch)
            capability = self.gpu[2] if self.gpu else 80
            capture(lambda: _step_of(self, batch), path, capability=capability, title="%s, batch %d" % (self.title, batch),
                    assume=self.settings["assume"])
            self.traces[batch] = path
        return self.traces[batch]

    def predict(self, batch=None):
        return _native.Prediction.load(self.trace(batch or self.batch))

    def run(self, batch=None):
        return self.predict(batch).run(self.gpu_text, self.pool)

    def fits(self, batch):
        return self.run(batch)["fits"]

    def largest_batch(self, now):
        """Memory grows about evenly with the batch, in steps of the allocator's blocks: batches large enough to see it grow give
        an estimate, and what is near to that is tried until one fits and the next does not."""
        low, high = (self.batch, _MOST_BATCH + 1) if now.fits else (0, self.batch)
        room = now.numbers["capacity"] - now.numbers["libraries"]
        seen = [(self.batch, now.numbers["reserved"])]
        while now.fits and seen[-1][1] < room // 4 and 8 * low < high:
            run = self.run(8 * low)
            if not run["fits"]:
                high = 8 * low
                break
            low = 8 * low
            seen.append((low, run["reserved"]))
        if len(seen) == 1:
            other = max(1, self.batch // 2) if self.batch > 1 else 2
            seen.insert(0, (other, self.run(other)["reserved"]))
        (first, less), (second, more) = seen[-2:]
        slope = (more - less) / (second - first)
        guess = int(second + (room - more) / slope) if slope > 0 else (low + high) // 2
        step, sides = max(1, guess // 64), set()
        while high - low > 1:
            guess = min(max(guess, low + 1), high - 1)
            fits = self.fits(guess)
            low, high = (guess, high) if fits else (low, guess)
            sides.add(fits)
            guess = (low + high) // 2 if len(sides) == 2 else guess + step if fits else guess - step
            step *= 2
        return low

    def cures(self):
        """Of the exported module, whose step can be rebuilt with each of them."""
        if self.model is None:
            path = export(self.module, self.sample, self.folder.name)
            options = {"batch": self.batch, "optimizer": self.settings["optimizer_name"],
                       "precision": self.settings["precision"]}
            self.model = _ModelJob(_native.Graph.load(path), self.title, options, self.gpu_text, self.pool)
        return self.model.cures()


# --- one step of a module ------------------------------------------------------------------------------------------------

def _on_card(module, dtype):
    """The module with weights on the card, none of which exists: created in its own order, everything else copied."""
    import torch
    memo: Dict[int, Any] = {}
    for tensor in list(module.parameters()) + list(module.buffers()):
        wanted = dtype if dtype is not None and tensor.is_floating_point() else tensor.dtype
        made = torch.empty(tuple(tensor.shape), dtype=wanted, device="cuda")
        if isinstance(tensor, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
        memo[id(tensor)] = made
    return copy.deepcopy(module, memo)


def _batch_of(value, batch, dtype):
    import torch
    if not isinstance(value, torch.Tensor):
        return value
    dims = (batch,) + tuple(value.shape[1:]) if value.dim() else ()
    wanted = dtype if dtype is not None and value.is_floating_point() else value.dtype
    return torch.empty(dims, dtype=wanted, device="cuda")


def _loss_of(output, loss):
    import torch
    if hasattr(output, "loss") and getattr(output, "loss", None) is not None:
        return output.loss
    while not isinstance(output, torch.Tensor):
        values = list(output.values()) if isinstance(output, dict) or hasattr(output, "values") else list(output)
        output = next(v for v in values if v is not None)
    if callable(loss):
        return loss(output)
    if loss != "cross_entropy" or output.dim() < 2:
        return output.float().pow(2).mean()
    if output.dim() == 3:
        output = output.reshape(-1, output.shape[-1])
    target = torch.empty((output.shape[0],) + tuple(output.shape[2:]), dtype=torch.int64, device="cuda")
    return torch.nn.functional.cross_entropy(output, target)


def _optimizer_of(settings, parameters):
    import torch
    given = settings["optimizer"]
    if hasattr(given, "param_groups"):
        return type(given)(parameters, **{k: v for k, v in given.defaults.items() if k not in ("params", "differentiable")})
    if callable(given):
        return given(parameters)
    optim = torch.optim
    makers = {"sgd": lambda p: optim.SGD(p, 0.1), "momentum": lambda p: optim.SGD(p, 0.1, momentum=0.9), "adam": optim.Adam,
              "adamw": optim.AdamW, "adamw-fused": lambda p: optim.AdamW(p, fused=True), "rmsprop": optim.RMSprop,
              "adagrad": optim.Adagrad}
    return makers[given](parameters)


def _step_of(job, batch):
    """What capture() runs: builds everything on the card, and returns one step."""
    import torch
    settings = job.settings
    dtype = torch.bfloat16 if settings["precision"] == "bf16" else None
    module = _on_card(job.module, dtype)
    module.train()
    optimizer = _optimizer_of(settings, [p for p in module.parameters() if p.requires_grad])

    def step():
        optimizer.zero_grad()
        args = [_batch_of(v, batch, dtype) for v in job.args]
        kwargs = {k: _batch_of(v, batch, dtype) for k, v in job.kwargs.items()}
        loss = _loss_of(module(*args, **kwargs), settings["loss"])
        loss.backward()
        optimizer.step()
    return step


# --- the function --------------------------------------------------------------------------------------------------------

def _batch_size(sample, batch):
    if batch is not None:
        if isinstance(batch, bool) or int(batch) != batch or batch < 1:
            raise ValueError("batch: %r is no number of samples" % (batch,))
        return int(batch)
    first = next(iter(sample.values())) if isinstance(sample, dict) else sample[0] if isinstance(sample, (tuple, list)) else sample
    dims = getattr(first, "shape", None)
    return int(dims[0]) if dims is not None and len(dims) else 1


def _optimizer_name(optimizer):
    name = optimizer if isinstance(optimizer, str) else type(optimizer).__name__.lower()
    if not isinstance(optimizer, str) and name == "sgd" and getattr(optimizer, "defaults", {}).get("momentum"):
        name = "momentum"
    if isinstance(optimizer, str) and name not in OPTIMIZERS:
        raise InvalidError("optimizer: '%s' is not known; there are %s" % (name, ", ".join(OPTIMIZERS)))
    return name if name in OPTIMIZERS else "adamw"


def fit(model: Any, sample: Any = None, *, optimizer: Any = "adamw", precision: str = "fp32", gpu: Optional[str] = None,
        loss: Any = "cross_entropy", batch: Optional[int] = None, allocator: Optional[str] = None,
        assume: Optional[bool] = None, sizes: Optional[Dict[str, int]] = None) -> Prediction:
    """Whether training fits a card, before it runs, on a machine without one.

    model      a torch.nn.Module (its own step is captured, on tensors without contents), a Keras model or an ONNX file
    sample     inputs, as the module is called with them; a tensor on the meta device does; its first axis is the batch
    optimizer  "sgd", "momentum", "adam", "adamw", "adamw-fused", "rmsprop", "adagrad", an optimizer, or a function of
               parameters that makes one
    precision  "fp32", "bf16"; "amp-bf16" and "amp-fp16" are derived from the exported module
    gpu        "RTX 3060", or its memory as "12GiB"; None: only what is needed is told
    """
    if precision not in PRECISIONS:
        raise InvalidError("precision: '%s' is not known; there are %s" % (precision, ", ".join(PRECISIONS)))
    name = _optimizer_name(optimizer)
    if gpu is not None:
        _native.gpu(gpu)
    model = unwrapped(model)[0]
    if is_module(model) and not hasattr(model, "get_config"):
        if sample is None:
            raise ValueError("fit: a sample is needed, as the module is called with it")
        if precision in ("fp32", "bf16") and name != "adamw-8bit":
            settings = {"batch": _batch_size(sample, batch), "optimizer": optimizer, "optimizer_name": name,
                        "precision": precision, "loss": loss, "assume": assume}
            job: Any = _CaptureJob(model, sample, settings, gpu, allocator or "pytorch")
            return Prediction(job, job.run())
        folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        graph = _native.Graph.load(export(model, sample, folder.name))
        job = _ModelJob(graph, type(model).__name__, _model_options(sample, batch, name, precision, sizes), gpu,
                        allocator or "pytorch")
        job.folder = folder  # the weights are in its file
    elif isinstance(model, (str, os.PathLike)):
        graph = _native.Graph.load(model)
        job = _ModelJob(graph, os.path.basename(os.fspath(model)), _model_options(sample, batch, name, precision, sizes),
                        gpu, allocator or "pytorch")
    elif hasattr(model, "layers") and hasattr(model, "get_config"):
        from ._keras import Converted
        options = dict(_model_options(sample, batch, name, precision, sizes), graph_mode=True)
        job = _ModelJob(Converted(model).graph, type(model).__name__, options, gpu, allocator or "tensorflow")
    else:
        raise UnsupportedError("fit: a torch.nn.Module, a Keras model or an ONNX file is needed, not %s" % type(model).__name__)
    return Prediction(job, job.run())


def _model_options(sample, batch, optimizer, precision, sizes):
    made = {"batch": _batch_size(sample, batch) if sample is not None or batch is not None else 1, "optimizer": optimizer,
            "precision": precision}
    if sizes:
        made["sizes"] = dict(sizes)
    return made
