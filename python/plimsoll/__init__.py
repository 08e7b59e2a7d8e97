"""Plimsoll: trains neural networks inside a memory budget, and explains why training ran out of memory elsewhere.

    import plimsoll
    plimsoll.watch()                                       # out-of-memory errors end with their explanation
    print(plimsoll.explain(error))                         # an exception, or the text of a log
    plimsoll.fit(model, sample, gpu="RTX 3060").fits       # will PyTorch train it on that card?
    trainer = plimsoll.Trainer(model, loss="cross_entropy", optimizer="adamw", budget="2GiB")
    trainer.fit((images, labels), epochs=3)

Nothing but NumPy is needed; PyTorch, TensorFlow, Keras, JAX and IPython are used where they are.
"""

TYPE_CHECKING = False  # importing typing would be most of what `import plimsoll` takes; checkers know the name
if TYPE_CHECKING:
    from ._errors import (BudgetError, CorruptError, DtypeError, Error, ExportError, FileError, InvalidError,
                          NoFileError, NoMemoryError, NotFoundError, NumericError, ShapeError, SizeOverflowError, UnsupportedError)
    from ._explain import Explanation, explain
    from ._files import export, load
    from ._fit import Prediction, fit
    from ._plan import Plan
    from ._run import History
    from ._trainer import Trainer
    from ._watch import unwatch, watch

_HOME = {
    "_errors": ("Error", "BudgetError", "NoMemoryError", "InvalidError", "ShapeError", "DtypeError", "SizeOverflowError",
                "NotFoundError", "NoFileError", "FileError", "CorruptError", "UnsupportedError", "NumericError", "ExportError"),
    "_explain": ("explain", "Explanation"),
    "_watch": ("watch", "unwatch"),
    "_trainer": ("Trainer",),
    "_plan": ("Plan",),
    "_run": ("History",),
    "_files": ("export", "load"),
    "_fit": ("fit", "Prediction"),
}
_OF = {name: home for home, names in _HOME.items() for name in names}

__all__ = sorted(_OF) + ["__version__"]


def __getattr__(name):
    """Parts are imported when they are asked for: `import plimsoll` takes no time and no memory."""
    import importlib
    if name == "__version__":
        from . import _native
        return _native.version()
    if name in _OF:
        value = getattr(importlib.import_module("." + _OF[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError("module 'plimsoll' has no attribute '%s'" % name)


def __dir__():
    return __all__


def load_ipython_extension(shell):
    """%load_ext plimsoll"""
    from ._watch import watch
    watch()
