"""Hooks for exceptions that no handler catches: Python's, those of threads, IPython's. They cost nothing until one comes."""

import _thread
import os
import sys

_previous = {}  # what was there before
_ROOM = 96 << 20  # bytes: the extension and the libraries in it take half of that


def _reserve():
    """Address space to answer in where a limit on it (ulimit -v) has left none. It is never touched: no memory is taken."""
    try:
        import mmap
        _previous["room"] = mmap.mmap(-1, _ROOM, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    except Exception:  # pylint: disable=broad-except
        pass


def _release():
    room = _previous.pop("room", None)
    if room is not None:
        room.close()


def _answer(error):
    """The explanation of an out-of-memory error, None for others. Never raises: a hook must not hide the error."""
    if error is None:
        return None
    try:
        _release()
        from ._explain import explain, is_memory_error
        if not is_memory_error(error):
            return None
        answer = explain(error)
        return answer if answer.found else None
    except Exception:  # pylint: disable=broad-except
        return None
    finally:
        if sys.excepthook is _excepthook:
            _reserve()


def _width():
    import shutil
    return max(60, min(100, shutil.get_terminal_size((100, 24)).columns))


def _can_show(stream):
    """(colours, blocks): what the command asks of its terminal too."""
    terminal = getattr(stream, "isatty", lambda: False)() and os.environ.get("TERM", "dumb") != "dumb"
    return terminal and not os.environ.get("NO_COLOR"), "utf" in (getattr(stream, "encoding", None) or "").lower()


def _show(error, stream=None):
    answer = _answer(error)
    if answer is None:
        return
    try:
        stream = stream or sys.stderr
        stream.write("\n-- Plimsoll " + "-" * 48 + "\n%s\n" % answer.text(_width(), *_can_show(stream)))
        stream.flush()
    except Exception:  # pylint: disable=broad-except
        pass


def _excepthook(kind, error, trace):
    _previous.get("sys", sys.__excepthook__)(kind, error, trace)
    if error is not None and error.__traceback__ is None:
        error = error.with_traceback(trace)
    _show(error)


def _threadhook(args):
    _previous.get("threading", _PLAIN_THREADHOOK)(args)
    _show(args.exc_value)


_PLAIN_THREADHOOK = _thread._excepthook


def _watch_threads():
    """Importing threading is most of what watching would take. A program that has not done so finds this hook when it does:
    threading takes its first one from _thread."""
    _thread._excepthook = _threadhook
    threading = sys.modules.get("threading")
    if threading is not None and threading.excepthook is not _threadhook:
        _previous["threading"] = threading.excepthook
        threading.excepthook = _threadhook


def _unwatch_threads():
    _thread._excepthook = _PLAIN_THREADHOOK
    threading, before = sys.modules.get("threading"), _previous.pop("threading", _PLAIN_THREADHOOK)
    if threading is None:
        return
    if threading.excepthook is _threadhook:
        threading.excepthook = before
    if getattr(threading, "__excepthook__", None) is _threadhook:  # imported while somebody watched
        threading.__excepthook__ = _PLAIN_THREADHOOK


def _watch_child():
    """In a child of multiprocessing: what ends it is printed by its own bootstrap, not by sys.excepthook."""
    if sys.excepthook is not _excepthook or "multiprocessing.process" not in sys.modules:
        return
    import traceback
    plain = traceback.print_exc
    if getattr(plain, "_plimsoll", False):
        return

    def print_exc(*args, **kwargs):
        plain(*args, **kwargs)
        if sys._getframe(1).f_code.co_name == "_bootstrap":
            _show(sys.exc_info()[1])

    print_exc._plimsoll = True
    traceback.print_exc = print_exc


def _is_child():
    process = sys.modules.get("multiprocessing.process")
    return process is not None and (process.parent_process() is not None or
                                    getattr(process.current_process(), "_inheriting", False))  # begins, by 'spawn'


def _shell():
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def _watch_shell(shell):
    """IPython shows tracebacks by a method of its own; in a notebook the answer is rendered below."""
    show = shell.showtraceback
    if getattr(show, "_plimsoll", False):
        return

    def showtraceback(*args, **kwargs):
        show(*args, **kwargs)
        given = args[0] if args else kwargs.get("exc_tuple")
        error = (given or sys.exc_info())[1]
        answer = _answer(error)
        if answer is None:
            return
        try:
            if shell.__class__.__name__ == "TerminalInteractiveShell":
                print("\n" + answer.text(_width(), *_can_show(sys.stdout)))
            else:
                from IPython.display import display
                display(answer)
        except Exception:  # pylint: disable=broad-except
            pass

    showtraceback._plimsoll = True
    _previous["shell"] = (shell, show)
    shell.showtraceback = showtraceback


def watch() -> None:
    """From now on an out-of-memory exception of PyTorch, TensorFlow, JAX, CuPy, NumPy or Python ends with Plimsoll's answer
    under the traceback. Calling it again changes nothing; plimsoll.unwatch() ends it."""
    if "room" not in _previous:
        _reserve()
    if sys.excepthook is not _excepthook:
        _previous["sys"] = sys.excepthook
        sys.excepthook = _excepthook
    _watch_threads()
    if _is_child():
        _watch_child()
    elif "forks" not in _previous and hasattr(os, "register_at_fork"):
        _previous["forks"] = True  # for good: it asks whether somebody watches
        os.register_at_fork(after_in_child=_watch_child)
    shell = _shell()
    if shell is not None:
        _watch_shell(shell)


def unwatch() -> None:
    """Puts back the hooks that were there before watch()."""
    _release()
    if sys.excepthook is _excepthook:
        sys.excepthook = _previous.pop("sys")
    _unwatch_threads()
    if "shell" in _previous:
        shell, show = _previous.pop("shell")
        shell.showtraceback = show
