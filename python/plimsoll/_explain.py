"""Out-of-memory errors as objects: cause, evidence, fixes, numbers."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _native
from ._text import page

_NUMBERS = ("requested", "shortfall", "capacity", "allocated", "reserved", "free", "process", "other_process", "limit",
            "largest_free")
_PATH = 120  # characters of a path: its end tells the file
_UNWRAPPED = 100000  # columns: every sentence in one line


class Fix:
    """One thing to try."""

    def __init__(self, fields: Dict[str, Any]):
        self.title: str = fields["title"]
        self.setting: str = fields["setting"]
        self.saving: Optional[int] = fields["saving"]
        self.saving_note: str = fields["saving_note"]
        self.enough: Optional[bool] = None if fields["reaches"] < 0 else bool(fields["reaches"])
        self.cost: int = fields["cost"]

    def __repr__(self):
        return "Fix(%r)" % self.title


class Explanation:
    """Why a program ran out of memory, and what to change first. Prints well; in a notebook it is rendered.

    `numbers` are bytes; what is not known is not in it. `live` is what the process itself told, None for text.
    """

    def __init__(self, native: Any, live: Any = None):
        self._native, fields = native, native.fields()
        self.found: bool = bool(fields["found"])
        self.cause: str = fields["cause"]
        self.headline: str = fields["headline"] or fields["cause_sentence"]
        self.confidence: float = fields["confidence"]
        self.framework: str = fields["framework"]
        self.framework_title: str = fields["framework_title"]
        self.version: str = fields["version"]
        self.device: Optional[str] = fields["device_kind"]
        self.phase: str = fields["phase"]
        self.place: Dict[str, Any] = {k: v for k, v in fields["place"].items() if v not in ("", -1)}
        self.shape: Optional[Tuple[int, ...]] = fields["shape"]
        self.dtype: str = fields["dtype"]
        self.evidence: List[str] = list(fields["evidence"])
        self.fixes: List[Fix] = [Fix(fix) for fix in fields["fixes"]]
        self.holders: List[Dict[str, Any]] = fields["holders"]
        self.recurrence: str = fields["recurrence"]
        self.message: str = fields["message"]
        self.numbers: Dict[str, int] = {n: fields[n] for n in _NUMBERS if fields[n] is not None}
        self.live = live
        if live is not None:
            live.complete(self)
            native.complete(shape=self.shape, dtype=self.dtype, **self.numbers,
                            **{k: v for k, v in self.place.items() if k in ("line", "function", "code")})
            if "file" in self.place:
                native.complete(file=self.place["file"][-_PATH:])

    def __bool__(self):
        return self.found

    def __repr__(self):
        return "<plimsoll.Explanation: %s>" % (self.headline if self.found else "no out-of-memory error")

    def text(self, width: int = 100, colour: bool = False, unicode: bool = False) -> str:
        """The answer in lines of at most `width` columns: as `plimsoll explain` prints it, with what the process told."""
        section = "\n".join(self.live.lines(width)) + "\n" if self.live is not None else None
        return self._native.text(width, colour, unicode, section).rstrip("\n")

    def __str__(self):
        return self.text()

    def _repr_html_(self):
        return page(self.text(_UNWRAPPED, unicode=True))

    def to_dict(self) -> Dict[str, Any]:
        """Plain values, for JSON."""
        made = {k: v for k, v in vars(self).items() if k not in ("fixes", "live", "_native")}
        made["fixes"] = [vars(fix) for fix in self.fixes]
        made["live"] = self.live.to_dict() if self.live is not None else None
        return made


def _of_text(text, live=None):
    if isinstance(text, str):
        text = text.encode("utf-8", "replace")
    return Explanation(_native.Explanation(bytes(text)), live)


def _culprit(error):
    """Of a group of exceptions the first one that says that memory ran out; else the exception itself."""
    for one in _chain(error):
        for part in getattr(one, "exceptions", ()) if hasattr(one, "derive") else ():
            if isinstance(part, BaseException) and is_memory_error(part):
                return _culprit(part)
    return error


def _chain(error):
    """The exception and those it came from, the last one first."""
    seen = []
    while error is not None and error not in seen and len(seen) < 32:
        seen.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return seen


_NEVER = (LookupError, AttributeError, NameError, AssertionError, TypeError, SyntaxError, ArithmeticError,
          StopIteration, StopAsyncIteration)  # whatever their text says: no allocator raises them


def is_memory_error(error: BaseException) -> bool:
    """Whether an exception, or one that it came from, says that memory ran out; our own say so themselves."""
    from ._errors import Error
    for one in _chain(error):
        if isinstance(one, Error) or not isinstance(one, Exception):
            continue
        if hasattr(one, "derive") and any(is_memory_error(part) for part in one.exceptions):
            return True
        if isinstance(one, MemoryError):
            return True
        if isinstance(one, _NEVER):
            continue
        text = "".join(traceback.format_exception_only(type(one), one))
        if _native.Explanation(text.encode("utf-8", "replace")).fields()["found"]:
            return True
    return False


def explain(error: Union[BaseException, str, bytes, "os.PathLike[str]", None] = None) -> Explanation:
    """Explains an out-of-memory error: an exception, the text of a log, or a path (os.PathLike) of one.

    Without an argument it is the exception that is being handled, or the last one that was printed.
    """
    if error is None:
        error = sys.exc_info()[1] or getattr(sys, "last_value", None)
        if error is None:
            raise ValueError("there is no exception: give one, or the text of a log")
    if isinstance(error, BaseException):
        from ._live import Live, cells, one_statement
        error = _culprit(error)
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        if isinstance(error, MemoryError) and not str(error):
            text += "\nMemoryError\n"
        live = Live(error)
        text = live.remote or one_statement(error, text)  # its lines are those that failed
        for file, name in cells().items():
            text = text.replace('"%s"' % file, '"%s"' % name)
        return _of_text(live.preface() + live.with_backend(text), live)
    if isinstance(error, (str, bytes, bytearray, memoryview)):
        return _of_text(error)
    if isinstance(error, os.PathLike):
        with open(error, "rb") as file:
            return _of_text(file.read())
    raise TypeError("an exception, a text or a path is needed, not %s" % type(error).__name__)
