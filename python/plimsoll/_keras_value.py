"""Values of a graph that is made of a Keras model: the order of their axes."""

from __future__ import annotations


class Value:
    """A value of the graph with batch, and with the version whose channels come first, where it has one."""

    def __init__(self, graph, rank, last=None, first=None):
        self.graph, self.rank, self._last, self._first = graph, rank, last, first
        self.dims = None  # as Keras has them, None for what is open
        self.dtype = "float32"
        self.mask = self.seen_mask = None  # (N, T) of ones and zeros, where some steps do not count; what attention sees of it

    def last(self):
        if self._last is None:
            order = [0] + list(range(2, self.rank)) + [1]
            self._last = self.graph.node("Transpose", None, [self._first], 1, perm=order)[0]
        return self._last

    def first(self):
        if self._first is None:
            order = [0, self.rank - 1] + list(range(1, self.rank - 1))
            self._first = self.graph.node("Transpose", None, [self._last], 1, perm=order)[0]
        return self._first

    def turned(self):
        return self._first is not None

    def any(self):
        return self._first if self.turned() else self._last
