"""Who holds the resident bytes of this process: a budget is for all of them."""

from __future__ import annotations

import os

from . import _native
from ._errors import InvalidError

_OWNERS = (("PyTorch", ("/torch/", "/torch.libs/", "/nvidia/")), ("TensorFlow", ("/tensorflow/",)), ("JAX", ("/jaxlib/",)),
           ("NumPy", ("/numpy/", "/numpy.libs/")), ("Plimsoll", ("/plimsoll/", "/plimsoll.libs/", "libdnnl")))


def resident_by_owner():
    """Bytes of code and data of libraries, by who brought them, and of the heap; {} where the kernel does not tell."""
    made, owner = {}, None
    try:
        with open("/proc/self/smaps", encoding="utf-8", errors="replace") as file:
            for line in file:
                head = line.split(None, 5)
                if "-" in head[0] and not head[0].endswith(":"):
                    path = head[5].strip() if len(head) > 5 else ""
                    inside = path[max(0, path.rfind("-packages/")):]  # an environment may be named after a framework
                    owner = next((name for name, marks in _OWNERS if any(m in inside for m in marks)),
                                 "other libraries" if path.startswith("/") else "heap and stacks")
                elif line.startswith("Rss:"):
                    made[owner] = made.get(owner, 0) + (int(head[1]) << 10)
    except OSError:
        return {}
    return {k: v for k, v in made.items() if v}


_state = {"threads": 1, "orphaned": False}  # how many OpenMP has started here; whether they were left behind by a fork


def _after_fork():
    _state["orphaned"] = _state["threads"] > 1
    _state["threads"] = 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def threads(wanted=None):
    """As many as the process may use. OpenMP's threads do not survive a fork, and waiting for them would never end: a child
    of a process that has used several has one."""
    if wanted is not None and (isinstance(wanted, bool) or not hasattr(wanted, "__index__") or wanted < 1):
        raise InvalidError("threads: %r is no number of threads" % (wanted,))
    if _state["orphaned"]:
        if wanted is not None and wanted > 1:
            raise RuntimeError("this process was forked from one that has trained with several threads, which are not here: "
                               "use threads=1, or multiprocessing's 'spawn'")
        return 1
    count = int(wanted) if wanted is not None else _native.machine_threads()
    _state["threads"] = max(_state["threads"], count)
    return max(1, count)
