"""import plimsoll.hook: out-of-memory errors end with their explanation. The same as plimsoll.watch()."""

from ._watch import watch

watch()
