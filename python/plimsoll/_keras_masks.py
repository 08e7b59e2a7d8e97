"""Keras' masks: which steps of a sequence count. A mask is a value (N, T) of ones and zeros that goes along with a sequence."""

from __future__ import annotations

import numpy as np

from ._errors import UnsupportedError
from ._keras_value import Value

_RECURRENT = ("LSTM", "GRU", "SimpleRNN")
COUNTS = "loss_mask"
_EITHER = ("Add", "Subtract", "Average", "Multiply", "Maximum", "Minimum")  # a step counts where it does in one of them


class Masks:
    """Where masks come from, where they go and what they do; a part of _keras.Converted, whose graph and helpers they use."""

    # --- helpers --------------------------------------------------------------------------------------------------------

    def _node(self, op, *inputs, **attributes):
        return self.graph.node(op, None, list(inputs), 1, **attributes)[0]

    def _integers(self, *numbers):
        return self.graph.constant(None, np.asarray(numbers, np.int64))

    def _differs(self, value, number, dtype):
        """1 where the value is not this number."""
        same = self._node("Equal", value, self.graph.constant(None, np.asarray(number, dtype)))
        return self._node("Sub", self._number(1.0), self._node("Cast", same, to=1))

    def _given_mask(self, layer, value):
        """A mask that the program gives itself."""
        if value.rank != 2:
            raise UnsupportedError("'%s' with a mask of %d axes is not supported: masks are (samples, steps)" % (layer.name,
                                                                                                              value.rank))
        return self._node("Cast", value.last(), to=1)

    # --- where they come from and go ------------------------------------------------------------------------------------

    def _masks_after(self, layer, inputs, made):
        """The mask of a layer's results, and what attention will see of it. Keras records the first in the layers that take a
        mask. Attention asks the tensors themselves, and takes the masks away from those that it was given: a second block
        over a sum with one of them sees none."""
        masks, seen = [value.mask for value in inputs], [value.seen_mask for value in inputs]
        mask = self._mask_after(layer, inputs, masks, made)
        if type(layer).__name__ == "MultiHeadAttention":
            for value in inputs:
                value.seen_mask = None
        if seen == masks or type(layer).__name__ in _RECURRENT + ("Bidirectional", "TimeDistributed", "Softmax"):
            return mask, mask
        return mask, self._mask_after(layer, inputs, seen, made)

    def _mask_after(self, layer, inputs, masks, made):
        """The mask of a layer's results, as Keras hands it on; `masks` are those that the inputs had."""
        kind = type(layer).__name__
        if kind == "Embedding" and layer.mask_zero:
            return self._differs(inputs[0].last(), 0, np.int64)
        if kind == "Masking":
            return made.mask
        if not any(masks) or not getattr(layer, "supports_masking", False) or kind == "GlobalAveragePooling1D":
            return None
        if kind in _RECURRENT + ("Bidirectional",):
            inner = layer.forward_layer if kind == "Bidirectional" else layer
            return masks[0] if inner.return_sequences else None
        if kind in _EITHER and len(inputs) > 1:
            return self._either(layer, masks)
        if kind == "Concatenate":
            if all(masks) and layer.axis in (-1, inputs[0].rank - 1) and len(set(masks)) == 1:
                return masks[0]
            raise UnsupportedError("Concatenate '%s' of sequences with different masks is not supported" % layer.name)
        return masks[0]

    def _either(self, layer, masks):
        if len(set(masks)) > 1 and (type(layer).__name__ in ("Multiply", "Maximum", "Minimum")):
            raise UnsupportedError("%s '%s' of sequences with different masks is not supported" % (type(layer).__name__,
                                                                                                  layer.name))
        if not all(masks):
            return None
        made = masks[0]
        for mask in masks[1:]:
            made = made if mask == made else self._node("Max", made, mask)
        return made

    def _convert_NotEqual(self, layer, value):
        """A mask that the program makes itself, as Embedding.compute_mask does."""
        number = self.called[0][1] if len(self.called[0]) > 1 else None
        if isinstance(value, list) or not isinstance(number, (int, float)):
            raise UnsupportedError("'%s' is not supported: a mask is made of a value and a number" % layer.name)
        dtype = np.int64 if value.dtype == "int64" else np.float32
        return Value(self.graph, value.rank, last=self._differs(value.last(), number, dtype))

    def _convert_Masking(self, layer, value):
        """Steps whose numbers are all the mask's value do not count, and are zero."""
        other = self._differs(value.last(), float(layer.mask_value), np.float32)
        count = self._node("ReduceSum", other, self._integers(-1), keepdims=1)
        mask = self._node("Min", count, self._number(1.0))
        made = Value(self.graph, value.rank, last=self._node("Mul", value.last(), mask))
        made.mask = self._axis(mask, "Squeeze", -1)
        return made

    def _masked_loss(self, value):
        """Keras leaves steps out of the loss where the output has a mask; the name of the graph's output that says so."""
        if value.mask is None:
            return None
        self.graph.output(self._node("Identity", value.mask), COUNTS)
        return COUNTS

    # --- what they do -----------------------------------------------------------------------------------------------------

    def _masked_mean(self, layer, value):
        """Over the steps that count."""
        mask = self._axis(value.mask, "Unsqueeze", 2)
        keep = int(bool(getattr(layer, "keepdims", False)))
        total = self._node("ReduceSum", self._node("Mul", value.last(), mask), self._integers(1), keepdims=keep)
        count = self._node("ReduceSum", mask, self._integers(1), keepdims=keep)
        return Value(self.graph, 3 if keep else 2, last=self._node("Div", total, count))

    def _steps_that_count(self, mask, reverse):
        """(N, T, T) twice: [t, j] is 1 where step t counts and is the j-th that does, and where the j-th is the last one up to
        t. A product with the first, turned, moves the steps that count to the front; one with the second moves them back,
        and repeats them where steps do not count, as Keras does. `reverse` counts from the end."""
        axis = self.graph.constant(None, np.asarray(1, np.int64))
        count = self._node("CumSum", mask, axis, reverse=int(reverse))
        ones = self._node("Add", self._node("Mul", mask, self._number(0.0)), self._number(1.0))
        number = self._node("CumSum", ones, axis)
        held = self._node("Cast", self._node("Equal", self._axis(count, "Unsqueeze", 2), self._axis(number, "Unsqueeze", 1)),
                          to=1)
        return self._node("Mul", held, self._axis(mask, "Unsqueeze", 2)), held

    def _run_masked(self, layer, value, mask, states, reverse, run):
        """A recurrent layer over the steps that count; run(sequence, lengths) is the layer without a mask. Where no step
        counts, outputs are zero and states stay as they were."""
        counted, held = self._steps_that_count(mask, reverse)
        front = self._node("MatMul", self._node("Transpose", counted, perm=[0, 2, 1]), value.last())
        total = self._node("ReduceSum", mask, self._integers(1), keepdims=0)
        lengths = self._node("Cast", self._node("Max", total, self._number(1.0)), to=6)
        steps, last = run(Value(self.graph, 3, last=front), lengths)
        back = counted if getattr(layer, "zero_output_for_mask", False) else held
        moved = Value(self.graph, 3, last=self._node("MatMul", back, steps.last()))
        some = self._axis(self._node("Min", total, self._number(1.0)), "Unsqueeze", 1)
        none = self._node("Sub", self._number(1.0), some)
        final = []
        for i, state in enumerate(last):
            made = self._node("Mul", state.last(), some)
            if states:
                made = self._node("Add", made, self._node("Mul", states[i].last(), none))
            final.append(Value(self.graph, 2, last=made))
        return moved, final

    def _masked_scores(self, scores, masks, causal):
        """Attention scores (N, heads, T, S), with nothing where a mask (of query, value, key, or the causal one) says so."""
        both = None
        for mask, axes in zip(masks, ([1, 3], [1, 2], [1, 2])):
            if mask is not None:
                one = self._node("Unsqueeze", mask, self._integers(*axes))
                both = one if both is None else self._node("Mul", both, one)
        if both is None:
            return scores if causal is None else self._node("Add", scores, self.graph.constant(None, (causal - 1) * 1e9))
        if causal is not None:
            both = self._node("Mul", both, self.graph.constant(None, causal))
        less = self._node("Mul", self._node("Sub", both, self._number(1.0)), self._number(1e9))
        return self._node("Add", self._node("Mul", scores, both), less)
