"""A run as the user sees it: callbacks as in Keras, a progress bar, a history."""

from __future__ import annotations

import sys
import time
from typing import Any, Dict, List


class History:
    """What Keras returns: `history` has a list for every number, one entry an epoch."""

    def __init__(self):
        self.history: Dict[str, List[float]] = {}
        self.epoch: List[int] = []
        self.params: Dict[str, Any] = {}
        self.result: Dict[str, Any] = {}

    def add(self, epoch, logs):
        self.epoch.append(epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)

    def to_frame(self):
        """A row an epoch, as a pandas.DataFrame."""
        import pandas
        return pandas.DataFrame(self.history, index=pandas.Index(self.epoch, name="epoch"))

    def __repr__(self):
        last = ", ".join("%s %.4g" % (name, values[-1]) for name, values in self.history.items() if values)
        return "<plimsoll.History: %d epochs%s>" % (len(self.epoch), "; " + last if last else "")


def _in_notebook():
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"


def _tqdm():
    """Where the program uses it, its bars and ours must know of each other."""
    return getattr(sys.modules.get("tqdm.auto") or sys.modules.get("tqdm"), "tqdm", None)


class Progress:
    """One line that is written again, on a terminal and in a notebook; elsewhere a line an epoch. 0: nothing."""

    def __init__(self, verbose, epochs):
        self.stream = sys.stdout
        if verbose is None or verbose == "auto":
            verbose = 1 if _in_notebook() or getattr(self.stream, "isatty", lambda: False)() else 2
        self.verbose, self.epochs, self.next, self.length = int(verbose), epochs, 0.0, 0
        self.started, self.tqdm, self.bar = time.monotonic(), _tqdm(), None

    def _write(self, text, end):
        if self.tqdm is not None:
            self.tqdm.write(text, file=self.stream)
            return
        padded = text + " " * max(0, self.length - len(text))
        self.length = 0 if end else len(text)
        self.stream.write(("\r" if self.verbose == 1 else "") + padded + ("\n" if end else ""))
        self.stream.flush()

    def begin_epoch(self):
        self.started = time.monotonic()

    def head(self, epoch):
        return "epoch %d/%s" % (epoch + 1, self.epochs or "?")

    @staticmethod
    def numbers(logs):
        return "  ".join("%s %.4f" % (name, value) for name, value in logs.items() if isinstance(value, float))

    def line(self, epoch, share, logs):
        head, numbers = self.head(epoch), self.numbers(logs)
        if share is None:
            return "%s  %s" % (head, numbers)
        cells = int(round(24 * min(1.0, share)))
        return "%s  %s%s %3.0f %%  %s" % (head, "█" * cells, "░" * (24 - cells), 100 * min(1.0, share), numbers)

    def step(self, epoch, share, logs):
        now = time.monotonic()
        if self.verbose == 1 and now >= self.next:
            self.next = now + 0.1
            if self.tqdm is None:
                self._write(self.line(epoch, share, logs), False)
                return
            if self.bar is None:
                self.bar = self.tqdm(total=100, leave=False, file=self.stream, bar_format="{desc} {bar} {percentage:3.0f} %{postfix}")
            self.bar.n = 100 * min(1.0, share or 0.0)
            self.bar.set_description_str(self.head(epoch), refresh=False)
            self.bar.set_postfix_str(self.numbers(logs))

    def end_epoch(self, epoch, logs):
        if self.verbose:
            self.clear()
            text = self.line(epoch, 1.0 if self.verbose == 1 and self.tqdm is None else None, logs)
            self._write("%s  %.1f s" % (text, time.monotonic() - self.started), True)

    def clear(self):
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def end(self):
        self.clear()
        if self.verbose == 1 and self.length:
            self._write("", True)


class Callbacks:
    """Objects with methods of keras.callbacks.Callback, or functions of (epoch, logs)."""

    STEPS = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")

    def __init__(self, callbacks, trainer, params):
        if callbacks is None:
            callbacks = []
        self.list = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        for one in self.list:
            if not callable(one) and not any(hasattr(one, m) for m in ("on_epoch_end", "on_train_batch_end", "on_train_end",
                                                                      "on_epoch_begin", "on_train_begin")):
                raise TypeError("a callback has methods as keras.callbacks.Callback, or is a function of (epoch, logs); %s "
                                "is neither" % type(one).__name__)
            if hasattr(one, "set_params"):
                one.set_params(params)
            if hasattr(one, "set_model"):
                one.set_model(trainer)
            elif hasattr(one, "on_epoch_end"):
                one.model = trainer

    def wants_steps(self):
        """Whether somebody wants to know of every update: Keras' base class has all methods, and does nothing in them."""
        def own(one, name):
            method = getattr(type(one), name, None)
            home = getattr(method, "__qualname__", "")
            return method is not None and not home.startswith("Callback.")
        return any(own(one, name) for one in self.list for name in self.STEPS)

    def call(self, name, *args):
        for one in self.list:
            method = getattr(one, name, None)
            if method is not None:
                method(*args)
            elif name == "on_epoch_end" and callable(one):
                one(*args)


class Run:
    """Turns events of either loop into calls, lines and history. An event's answer True ends the run."""

    def __init__(self, trainer, epochs, verbose, callbacks, first_epoch=0):
        self.trainer, self.history = trainer, History()
        self.progress = Progress(verbose, epochs)
        self.history.params = {"epochs": epochs, "verbose": verbose}
        self.callbacks = Callbacks(callbacks, trainer, self.history.params)
        self.every_step = self.callbacks.wants_steps()
        self.epoch, self.open, self.batch = first_epoch, False, 0
        self.loss = self.weight = self.correct = self.targets = 0.0
        self.last_update = None
        trainer.stop_training = False

    def begin(self):
        self.callbacks.call("on_train_begin", {})

    def begin_epoch(self, epoch):
        self.epoch, self.open, self.batch = epoch, True, 0
        self.loss = self.weight = self.correct = self.targets = 0.0
        self.progress.begin_epoch()
        self.callbacks.call("on_epoch_begin", epoch, {})

    def logs(self):
        made = {"loss": self.loss / self.weight if self.weight else float("nan")}
        if self.targets and self.correct >= 0:
            made["accuracy"] = self.correct / self.targets
        return made

    def step(self, epoch, sums, result, share):
        """After an update; sums of the epoch so far: batches, loss times weight, weight, correct, targets."""
        if not self.open or epoch != self.epoch:
            self.begin_epoch(epoch)
        self.batch, self.loss, self.weight, self.correct, self.targets = sums
        logs = self.logs()
        if self.every_step:
            self.callbacks.call("on_train_batch_begin", self.batch - 1, {})
            self.callbacks.call("on_train_batch_end", self.batch - 1, dict(logs, loss=result["loss"]))
        self.progress.step(epoch, share, logs)
        return self.trainer.stop_training

    def end_epoch(self, validation=None):
        """After an epoch, with what validation gave."""
        if not self.open:
            return self.trainer.stop_training
        logs = self.logs()
        if validation is not None:
            logs["val_loss"] = validation["loss"]
            if validation["classifies"]:
                logs["val_accuracy"] = validation["accuracy"]
        self.open = False
        self.history.add(self.epoch, logs)
        self.progress.end_epoch(self.epoch, logs)
        self.callbacks.call("on_epoch_end", self.epoch, logs)
        return self.trainer.stop_training

    def end(self):
        self.progress.end()
        last = {name: values[-1] for name, values in self.history.history.items()}
        self.callbacks.call("on_train_end", last)


class Best:
    """Patience, and the weights with the best validation loss."""

    def __init__(self, trainer, options):
        self.trainer, self.path, self.patience = trainer, options["best"], options["patience"]
        self.loss, self.stale = float("inf"), 0

    def seen(self, validation):
        if validation is None or not (self.path or self.patience):
            return False
        if validation["loss"] < self.loss:
            self.loss, self.stale = validation["loss"], 0
            if self.path:
                self.trainer.save(self.path)
            return False
        self.stale += 1
        return bool(self.patience and self.stale >= self.patience)
