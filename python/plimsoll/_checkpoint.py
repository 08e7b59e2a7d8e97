"""Checkpoints of runs over batches of Python; those over arrays and files are the library's own."""

from __future__ import annotations

import os

import numpy as np

from ._errors import InvalidError


class Checkpoint:
    """The whole state of a run over batches of Python, in one .npz file that appears whole or not at all."""

    def __init__(self, trainer, options):
        self.trainer, self.path = trainer, options["checkpoint"]
        if self.path and os.path.exists(self.path) and not options["resume"]:
            raise InvalidError("'%s' is there already: resume goes on from a checkpoint; another name starts a new run" % self.path)

    def write(self, epoch):
        if not self.path:
            return
        state = {"%s/%s" % (role, name): array for (name, role), array in self.trainer._read_all().items()}
        temporary = "%s.%d" % (self.path, os.getpid())
        try:
            with open(temporary, "wb") as file:
                updates, *scaling = self.trainer._native.progress()
                np.savez(file, **{"plimsoll.progress": np.array([updates, epoch], np.int64),
                                  "plimsoll.scaling": np.array(scaling, np.float64)}, **state)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except BaseException:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise

    def read(self):
        """The epoch to go on with; from the beginning where there is no file yet."""
        if not os.path.exists(self.path):
            return 0
        with np.load(self.path) as file:
            if "plimsoll.progress" not in file.files:
                raise InvalidError("'%s' is no checkpoint of a run over batches" % self.path)
            state = {tuple(reversed(key.split("/", 1))): file[key] for key in file.files if not key.startswith("plimsoll.")}
            wanted = {(name, role) for name, role, _, _ in self.trainer._native.tensors()}
            if set(state) != wanted:
                raise InvalidError("'%s' is a checkpoint of another model or optimizer" % self.path)
            self.trainer._write_all(state)
            updates, epoch = (int(n) for n in file["plimsoll.progress"])
            scaling = file["plimsoll.scaling"].tolist() if "plimsoll.scaling" in file.files else [0, 0, 0, 0.0]
        self.trainer._native.progress(updates, *map(int, scaling[:3]), scaling[3])
        return epoch
