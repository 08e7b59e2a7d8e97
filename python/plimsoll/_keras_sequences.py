"""Keras' layers over sequences: recurrent ones, in one direction and in both, and attention."""

from __future__ import annotations

import numpy as np

from ._errors import UnsupportedError
from ._keras_value import Value

_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2), "SimpleRNN": (0,)}  # Keras' gates in the order of ONNX
_OPERATORS = {"LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN"}


def _name(function):
    return getattr(function, "__name__", str(function))


def _order(array, gates):
    """The last axis, gate by gate, in another order."""
    parts = np.split(array, len(gates), axis=-1)
    return np.concatenate([parts[g] for g in gates], axis=-1)


def _back(gates):
    return [list(gates).index(i) for i in range(len(gates))]


class Sequences:
    """Converters of these layers; a part of _keras.Converted, whose graph and helpers they use."""

    # --- recurrent ------------------------------------------------------------------------------------------------------

    def _check_recurrent(self, layer):
        kind = type(layer).__name__
        wanted = {"activation": "tanh", "recurrent_activation": "sigmoid"}
        for key, usual in wanted.items():
            if _name(getattr(layer, key, None) or usual) not in (usual, "None"):
                raise UnsupportedError("%s '%s' with %s='%s' is not supported" % (kind, layer.name, key,
                                                                                 _name(getattr(layer, key))))
        if getattr(layer, "stateful", False) or getattr(layer, "recurrent_dropout", 0):
            raise UnsupportedError("%s '%s' that is stateful or has recurrent_dropout is not supported" % (kind, layer.name))

    def _recurrent_weights(self, owner, layer, prefix):
        """W, R and B of the operator."""
        kind, cell, gates = type(layer).__name__, layer.cell, _GATES[type(layer).__name__]
        there = lambda a: _order(a, gates).T[None]  # noqa: E731
        back = lambda a: _order(a[0].T, _back(gates))  # noqa: E731
        made = [self._weight(owner, cell.kernel, prefix + "kernel", there, back),
                self._weight(owner, cell.recurrent_kernel, prefix + "recurrent_kernel", there, back)]
        if not layer.use_bias:
            return made
        if kind == "GRU" and layer.reset_after:  # one bias for the input, one for the state
            return made + [self._weight(owner, cell.bias, prefix + "bias", lambda a: a.reshape(1, -1))]
        bias = self._weight(owner, cell.bias, prefix + "bias", lambda a: _order(a, gates)[None],
                            lambda a: _order(a[0], _back(gates)))
        zeros = self.graph.constant(None, np.zeros((1, len(gates) * cell.units), np.float32))
        return made + [self.graph.node("Concat", None, [bias, zeros], 1, axis=1)[0]]

    def _drop_columns(self, layer, value):
        """Keras drops the same inputs at every time: a mask of one step for all of them."""
        if not getattr(layer, "dropout", 0):
            return value
        ends = [self.graph.constant(None, np.asarray([n], np.int64)) for n in (0, 1, 1)]
        step = self.graph.node("Slice", None, [value.last()] + ends, 1)[0]
        zero = self.graph.node("Mul", None, [step, self._number(0.0)], 1)[0]
        ones = self.graph.node("Add", None, [zero, self._number(1.0)], 1)[0]
        mask = self.graph.node("Dropout", None, [ones, self._number(float(layer.dropout))], 1)[0]
        return Value(self.graph, 3, last=self.graph.node("Mul", None, [value.last(), mask], 1)[0])

    def _axis(self, value, op, axis):
        return self.graph.node(op, None, [value, self.graph.constant(None, np.asarray([axis], np.int64))], 1)[0]

    def _run_recurrent(self, owner, layer, value, states, prefix="", reverse=False, mask=None):
        """(every step as (N, T, H), the last states as (N, H)); steps of a reversed one stand where their inputs do."""
        self._check_recurrent(layer)
        weights = self._recurrent_weights(owner, layer, prefix)
        if mask is None:
            return self._run_operator(layer, value, states, weights, reverse)
        if getattr(layer, "zero_output_for_mask", False) and not layer.return_sequences:
            raise UnsupportedError("%s '%s' with zero_output_for_mask and without return_sequences is not supported"
                                   % (type(layer).__name__, owner.name))
        return self._run_masked(layer, value, mask, states, reverse,
                                lambda sequence, lengths: self._run_operator(layer, sequence, states, weights, False, lengths))

    def _run_operator(self, layer, value, states, weights, reverse, lengths=None):
        kind = type(layer).__name__
        inputs = [self.graph.node("Transpose", None, [self._drop_columns(layer, value).last()], 1, perm=[1, 0, 2])[0]]
        inputs += weights
        if states or lengths:
            inputs += [None] * (4 - len(inputs)) + [lengths] + [self._axis(s.last(), "Unsqueeze", 0) for s in states]
        more = {"linear_before_reset": int(bool(layer.reset_after))} if kind == "GRU" else {}
        count = 3 if kind == "LSTM" else 2
        made = self.graph.node(_OPERATORS[kind], None, inputs, count, hidden_size=int(layer.cell.units),
                               direction="reverse" if reverse else "forward", **more)
        steps = self.graph.node("Transpose", None, [self._axis(made[0], "Squeeze", 1)], 1, perm=[1, 0, 2])[0]
        return (Value(self.graph, 3, last=steps),
                [Value(self.graph, 2, last=self._axis(state, "Squeeze", 0)) for state in made[1:]])

    def _initial(self, layer, values):
        """(the sequence, the initial states, the mask): the states come as a list, or after the sequence. Keras hands the
        mask of a sequence to a layer only where the sequence is all that it is given."""
        given = self.called[1].get("mask")
        flat = [v for v in (values if isinstance(values, list) else [values]) if v is not given]
        if given is not None:
            return flat[0], flat[1:], self._given_mask(layer, given)
        return flat[0], flat[1:], None if flat[1:] else flat[0].mask

    def _recurrent(self, layer, values):
        value, states, mask = self._initial(layer, values)
        reverse = bool(layer.go_backwards)
        if reverse and layer.return_sequences:
            raise UnsupportedError("%s '%s' with go_backwards and return_sequences is not supported; Bidirectional is"
                                   % (type(layer).__name__, layer.name))
        steps, last = self._run_recurrent(layer, layer, value, states, reverse=reverse, mask=mask)
        made = steps if layer.return_sequences else last[0]
        return [made] + last if layer.return_state else made

    _convert_LSTM = _convert_GRU = _convert_SimpleRNN = _recurrent

    def _convert_Bidirectional(self, layer, values):
        value, states, mask = self._initial(layer, values)
        parts = (layer.forward_layer, layer.backward_layer)
        for part in parts:
            if type(part).__name__ not in _GATES:
                raise UnsupportedError("Bidirectional '%s' of %s is not supported" % (layer.name, type(part).__name__))
        half, results, last = len(states) // 2, [], []
        for part, prefix, given in zip(parts, ("forward/", "backward/"), (states[:half], states[half:])):
            steps, final = self._run_recurrent(layer, part, value, given, prefix, prefix == "backward/", mask)
            results.append(steps if part.return_sequences else final[0])
            last += final
        made = self._merged(layer, results)
        return [made] + last if layer.forward_layer.return_state else made

    def _merged(self, layer, results):
        one, two = (r.last() for r in results)
        rank, mode = results[0].rank, layer.merge_mode
        if mode == "concat":
            return Value(self.graph, rank, last=self.graph.node("Concat", None, [one, two], 1, axis=rank - 1)[0])
        if mode not in ("sum", "ave", "mul"):
            raise UnsupportedError("Bidirectional '%s' with merge_mode=%r is not supported" % (layer.name, mode))
        made = self.graph.node("Mul" if mode == "mul" else "Add", None, [one, two], 1)[0]
        if mode == "ave":
            made = self.graph.node("Mul", None, [made, self._number(0.5)], 1)[0]
        return Value(self.graph, rank, last=made)

    # --- attention ------------------------------------------------------------------------------------------------------

    def _project(self, layer, dense, suffix, value, width):
        """(N, T, ...) x (..., width), with its bias."""
        kernel = self._weight(layer, dense.kernel, suffix + "/kernel", lambda a: a.reshape(-1, width))
        made = self.graph.node("MatMul", None, [value, kernel], 1)[0]
        if dense.bias is not None:
            bias = self._weight(layer, dense.bias, suffix + "/bias", lambda a: a.reshape(-1))
            made = self.graph.node("Add", None, [made, bias], 1)[0]
        return made

    def _heads(self, value, heads, width, order):
        """(N, T, heads * width) as (N, heads, T, width), or with the last two turned."""
        shape = self.graph.constant(None, np.asarray([0, 0, heads, width], np.int64))
        return self.graph.node("Transpose", None, [self.graph.node("Reshape", None, [value, shape], 1)[0]], 1, perm=order)[0]

    def _causal_mask(self, layer, query, key):
        """1 where a step may look: at itself and what came before."""
        if not query.dims or not key.dims or query.dims[1] is None or key.dims[1] is None:
            raise UnsupportedError("MultiHeadAttention '%s' with use_causal_mask needs the length of its sequences: give it "
                                   "in Input((length, ...))" % layer.name)
        return np.tril(np.ones((1, 1, int(query.dims[1]), int(key.dims[1])), np.float32))

    def _attention_inputs(self, layer, values):
        """(query, value, key, their masks)"""
        arguments, keywords = self.called
        if keywords.get("attention_mask") is not None:
            raise UnsupportedError("MultiHeadAttention '%s' with attention_mask is not supported; masks of its inputs are"
                                   % layer.name)
        if keywords.get("return_attention_scores"):
            raise UnsupportedError("MultiHeadAttention '%s' that returns its scores is not supported" % layer.name)
        given = dict(zip(("query", "value", "key"), arguments), **keywords)
        flat = list(values) if isinstance(values, list) else [values]
        query = given.get("query", flat[0])
        value = given.get("value", flat[min(1, len(flat) - 1)])
        key = given.get("key")
        masks = []
        for name, part in (("query_mask", query), ("value_mask", value), ("key_mask", key)):
            mask = given.get(name)
            masks.append(self._given_mask(layer, mask) if mask is not None else part.seen_mask if part is not None else None)
        return query, value, value if key is None else key, masks

    def _convert_MultiHeadAttention(self, layer, values):
        config = layer.get_config()
        query, value, key, masks = self._attention_inputs(layer, values)
        if query.rank != 3 or config.get("attention_axes") not in (None, (1,), [1]):
            raise UnsupportedError("MultiHeadAttention '%s' over other axes than (batch, time, features) is not supported"
                                   % layer.name)
        heads, width = int(config["num_heads"]), int(config["key_dim"])
        out_width = int(config["value_dim"] or width)
        q = self._project(layer, layer._query_dense, "query", query.last(), heads * width)
        k = self._project(layer, layer._key_dense, "key", key.last(), heads * width)
        v = self._project(layer, layer._value_dense, "value", value.last(), heads * out_width)
        q, k = self._heads(q, heads, width, [0, 2, 1, 3]), self._heads(k, heads, width, [0, 2, 3, 1])
        v = self._heads(v, heads, out_width, [0, 2, 1, 3])
        scores = self.graph.node("Mul", None, [self.graph.node("MatMul", None, [q, k], 1)[0], self._number(width ** -0.5)], 1)[0]
        causal = self._causal_mask(layer, query, key) if self.called[1].get("use_causal_mask") else None
        scores = self._masked_scores(scores, masks, causal)
        shares = self.graph.node("Softmax", None, [scores], 1, axis=-1)[0]
        if config.get("dropout"):
            shares = self.graph.node("Dropout", None, [shares, self._number(float(config["dropout"]))], 1)[0]
        mixed = self.graph.node("MatMul", None, [shares, v], 1)[0]
        mixed = self.graph.node("Transpose", None, [mixed], 1, perm=[0, 2, 1, 3])[0]
        shape = self.graph.constant(None, np.asarray([0, 0, heads * out_width], np.int64))
        mixed = self.graph.node("Reshape", None, [mixed, shape], 1)[0]
        dense = layer._output_dense
        made = self._project(layer, dense, "attention_output", mixed, int(np.prod(dense.kernel.shape[2:])))
        return Value(self.graph, 3, last=made)

    def _convert_RepeatVector(self, layer, value):
        """(N, C) as (N, n, C)"""
        turned = self._axis(value.last(), "Unsqueeze", 1)
        times = self.graph.constant(None, np.asarray([1, int(layer.n), 1], np.int64))
        return Value(self.graph, 3, last=self.graph.node("Tile", None, [turned, times], 1)[0])
