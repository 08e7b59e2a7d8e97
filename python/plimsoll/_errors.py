"""Exceptions: one class a status of the library, each also a class of Python's own."""

import errno
import os


class Error(Exception):
    """What the library refuses or cannot do; `status` is its word for it."""

    status = "INTERNAL"


class BudgetError(Error, MemoryError):
    """The work does not fit the memory budget; the message names the smallest that would."""

    status = "BUDGET"


class NoMemoryError(Error, MemoryError):
    """An allocation failed."""

    status = "NO_MEMORY"


class InvalidError(Error, ValueError):
    """An argument makes no sense."""

    status = "INVALID"


class ShapeError(InvalidError):
    """Shapes do not fit together."""

    status = "SHAPE"


class DtypeError(Error, TypeError):
    """Element types do not fit together."""

    status = "DTYPE"


class SizeOverflowError(Error, OverflowError):
    """A size is too large to represent."""

    status = "OVERFLOW"


class NotFoundError(Error, LookupError):
    """There is no such thing."""

    status = "NOT_FOUND"


class NoFileError(NotFoundError, FileNotFoundError):
    """There is no such file."""


class FileError(Error, OSError):
    """Reading or writing failed, or the disk is full."""

    status = "IO"


class CorruptError(Error, ValueError):
    """A file is malformed."""

    status = "CORRUPT"


class UnsupportedError(Error, NotImplementedError):
    """This is valid, but not supported."""

    status = "UNSUPPORTED"


class NumericError(Error, ArithmeticError):
    """A computation gave NaN or infinity."""

    status = "NUMERIC"


class ExportError(Error, ValueError):
    """A model of another framework could not be exported; the message names the module and the line."""

    status = "UNSUPPORTED"


_BY_STATUS = {c.status: c for c in (BudgetError, NoMemoryError, InvalidError, ShapeError, DtypeError, SizeOverflowError,
                                    NotFoundError, FileError, CorruptError, UnsupportedError, NumericError)}
_BY_STATUS["NO_SPACE"] = FileError


def make(status, message):
    """The exception for a status of the library; the extension raises it."""
    kind = _BY_STATUS.get(status, Error)
    if kind is NotFoundError and message.endswith(os.strerror(errno.ENOENT)):
        kind = NoFileError
    error = kind(message)
    error.status = status
    return error
