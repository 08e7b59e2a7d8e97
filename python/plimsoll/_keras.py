"""Keras models, layer by layer, as graphs that train: no backend is asked, so that nothing is folded or lost.

Values keep Keras' order of axes (channels last) where users see them; convolutions work channels first, and a value is
turned only where the two meet.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import _native
from ._errors import InvalidError, UnsupportedError
from ._keras_masks import Masks
from ._keras_sequences import Sequences
from ._keras_value import Value


def _arguments(node):
    """(arguments, keywords) of a layer's call."""
    given = getattr(node, "arguments", None)
    if given is None:
        return (), getattr(node, "call_kwargs", None) or {}
    return tuple(given.args), dict(given.kwargs)


def _swapped(part, value_of):
    """Tensors as values, wherever they stand."""
    if isinstance(part, dict):
        return {k: _swapped(v, value_of) for k, v in part.items()}
    if isinstance(part, (list, tuple)):
        return [_swapped(v, value_of) for v in part]
    return value_of(part) if hasattr(part, "_keras_history") else part


_ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "elu": "Elu", "selu": "Selu", "softplus": "Softplus",
                "softsign": "Softsign", "hard_sigmoid": "HardSigmoid", "exponential": "Exp"}


_APPLIED = ("LSTM", "GRU", "SimpleRNN", "Bidirectional", "MultiHeadAttention")  # these use their activation themselves
_EACH_STEP = ("Dense", "Activation", "Dropout", "LayerNormalization", "Softmax", "ReLU", "LeakyReLU")


class Converted(Sequences, Masks):
    """A Keras model as a graph, and the way of its weights back."""

    def __init__(self, model):
        self.model, self.graph = model, _native.Graph()
        self.back: Dict[str, Tuple[Any, Callable]] = {}
        self.shapes: Dict[str, Tuple[int, ...]] = {}  # of parameters in the graph
        self.layers: Dict[str, Any] = {}  # those that have weights
        self.frozen: List[str] = []
        self.left_out: List[str] = []
        self.made: Dict[int, Any] = {}
        self.last_activation: Optional[str] = None
        self.called: Any = ((), {})  # the arguments of the layer's call that is converted
        if not getattr(model, "built", False):
            raise UnsupportedError("the Keras model is not built: call it once, or give its first layer an input_shape")
        outputs = self._model(model, self._inputs(model), outermost=True)
        for i, value in enumerate(outputs):
            self.graph.output(value.last(), "output" if i == 0 else "output_%d" % i)
        self.counts = self._masked_loss(outputs[0])  # the steps that the loss is the mean of, where these are not all
        if self.last_activation in ("softmax", "sigmoid"):
            self.graph.output(self._activate(outputs[0], self.last_activation).last(), "probabilities")

    def loss_output(self, loss, of_probabilities):
        """What the loss is of: scores where it has the last activation in itself, else what the model gives."""
        if of_probabilities and not self.last_activation:
            raise InvalidError("loss: it takes probabilities, and the model's last layer is no softmax or sigmoid; where its outputs "
                               "are scores, loss='%s' takes them" % loss)
        inside = {"cross_entropy": "softmax", "bce_with_logits": "sigmoid"}.get(loss)
        if self.last_activation and inside and inside != self.last_activation:
            raise InvalidError("loss: %s of a model that ends with a %s is not supported; with a %s, or with no activation, it is"
                               % (loss, self.last_activation, inside))
        return "probabilities" if self.last_activation and not inside else "output"

    @staticmethod
    def results(names, made):
        """What Keras predicts, of all outputs of the graph: probabilities instead of scores, no masks."""
        kept = [column for name, column in zip(names, made) if name.startswith("output")]
        return kept[1:] + [made[-1]] if names[-1] == "probabilities" else kept

    # --- the structure --------------------------------------------------------------------------------------------------

    def _inputs(self, model):
        tensors = model.inputs if isinstance(model.inputs, (list, tuple)) else [model.inputs]
        made = []
        for i, tensor in enumerate(tensors):
            dims = ["N" if d is None and axis == 0 else "axis%d_%d" % (i, axis) if d is None else int(d)
                    for axis, d in enumerate(tensor.shape)]
            dtype = str(getattr(tensor.dtype, "name", tensor.dtype)).replace("<dtype: '", "").replace("'>", "")
            dtype = "int64" if dtype.startswith(("int", "uint")) else "float32"
            name = tensor.name.split(":")[0]
            made.append(Value(self.graph, len(dims), last=self.graph.input(name, dtype, dims)))
            made[-1].dims, made[-1].dtype = tuple(tensor.shape), dtype
        return made

    def _model(self, model, inputs, outermost=False):
        final = model.outputs[0] if outermost and len(model.outputs) == 1 else None
        known = {}
        tensors = model.inputs if isinstance(model.inputs, (list, tuple)) else [model.inputs]
        for tensor, value in zip(tensors, inputs):
            known[id(tensor)] = value

        def value_of(tensor):
            if id(tensor) in known:
                return known[id(tensor)]
            layer, node_index, tensor_index = tensor._keras_history[:3]
            node = layer._inbound_nodes[node_index]
            arguments = getattr(node, "input_tensors", None)
            if arguments is None:
                arguments = node.keras_inputs
            arguments = arguments if isinstance(arguments, (list, tuple)) else [arguments]
            own = {id(t._keras_mask) for t in arguments if getattr(t, "_keras_mask", None) is not None}
            arguments = [t for t in arguments if id(t) not in own]  # masks that Keras put there itself: values have theirs
            given, keywords = _arguments(node)
            keywords = {name: part for name, part in keywords.items() if id(part) not in own}
            self.called = (_swapped(given, value_of), _swapped(keywords, value_of))
            called, values = self.called, [value_of(t) for t in arguments]
            self.called = called  # those of other layers were put there
            results = self._layer(layer, values, tensor is final)
            outputs = node.output_tensors if hasattr(node, "output_tensors") else node.outputs
            outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
            for one, result in zip(outputs, results):
                known[id(one)] = result
                result.dims = tuple(one.shape)
            return known[id(tensor)]
        tensors = model.outputs if isinstance(model.outputs, (list, tuple)) else [model.outputs]
        return [value_of(t) for t in tensors]

    def _layer(self, layer, inputs, is_final):
        if hasattr(layer, "layers") and hasattr(layer, "outputs"):
            return self._model(layer, inputs, outermost=is_final)
        if type(layer).__name__ == "TimeDistributed" and type(layer.layer).__name__ in _EACH_STEP:
            layer = layer.layer  # it works on the last axis by itself
        convert = getattr(self, "_convert_" + type(layer).__name__, None)
        if convert is None:
            raise UnsupportedError("Keras' layer %s ('%s') is not supported; with the torch backend the model is a "
                                   "torch.nn.Module, or export it to ONNX" % (type(layer).__name__, layer.name))
        self._say_what_is_left_out(layer)
        made = convert(layer, inputs[0] if len(inputs) == 1 else inputs)
        mask, seen = self._masks_after(layer, inputs, made)
        if isinstance(made, list) or type(layer).__name__ in _APPLIED:
            made = made if isinstance(made, list) else [made]
        else:
            made = self._activated(layer, made, is_final)
        made[0].mask, made[0].seen_mask = mask, seen
        return made

    def _activated(self, layer, made, is_final):
        name = getattr(getattr(layer, "activation", None), "__name__", "linear")
        if type(layer).__name__ == "Softmax":
            name = "softmax"
        if is_final and name in ("softmax", "sigmoid"):
            self.last_activation = name  # the loss takes scores; predictions have it
            return [made]
        if name != "linear" and type(layer).__name__ != "Softmax":
            made = self._activate(made, name)
        elif type(layer).__name__ == "Softmax":
            made = self._activate(made, "softmax")
        return [made]

    def _say_what_is_left_out(self, layer):
        """What Keras adds to the loss or does after an update, and a graph cannot say."""
        parts = [getattr(layer, "cell", layer)]
        if type(layer).__name__ == "Bidirectional":
            parts = [layer.forward_layer.cell, layer.backward_layer.cell]
        for part in parts:
            for key in sorted(k for k in vars(part) if k.endswith(("_regularizer", "_constraint"))):
                if getattr(part, key) is not None:
                    self.left_out.append("%s of %s '%s'" % (key, type(layer).__name__, layer.name))

    # --- helpers --------------------------------------------------------------------------------------------------------

    def _weight(self, layer, variable, suffix, there=None, back=None, trained=True):
        """A variable as a parameter, turned by `there`; `back` turns it again."""
        name = "%s/%s" % (layer.name, suffix)
        array = np.asarray(variable.numpy() if hasattr(variable, "numpy") else variable, np.float32)
        array = np.ascontiguousarray(there(array) if there else array)
        if id(variable) in self.made:
            return self.made[id(variable)]
        value = self.graph.parameter(name, array)
        self.back[name] = (variable, back or (lambda a: a))
        self.shapes[name], self.layers[layer.name] = array.shape, layer
        if not layer.trainable or not trained:
            self.frozen.append(name)
        self.made[id(variable)] = value
        return value

    def _same(self, value, op, inputs=(), **attributes):
        """A node that does not care about the order of axes."""
        made = self.graph.node(op, None, [value.any()] + list(inputs), 1, **attributes)[0]
        return Value(self.graph, value.rank, first=made) if value.turned() else Value(self.graph, value.rank, last=made)

    def _activate(self, value, name):
        if name == "linear":
            return value
        if name == "softmax":
            return Value(self.graph, value.rank, last=self.graph.node("Softmax", None, [value.last()], 1, axis=-1)[0])
        if name in ("silu", "swish"):
            gate = self._same(value, "Sigmoid")
            return self._same(value, "Mul", [gate.any()])
        if name == "gelu":
            inner = self._same(self._same(value, "Div", [self._number(2 ** 0.5)]), "Erf")
            factor = self._same(inner, "Add", [self._number(1.0)])
            return self._same(self._same(value, "Mul", [factor.any()]), "Mul", [self._number(0.5)])
        if name == "leaky_relu":
            return self._same(value, "LeakyRelu", alpha=0.2)
        if name == "relu6":
            return self._same(value, "Clip", [self._number(0.0), self._number(6.0)])
        if name not in _ACTIVATIONS:
            raise UnsupportedError("Keras' activation '%s' is not supported" % name)
        return self._same(value, _ACTIVATIONS[name])

    def _number(self, number):
        return self.graph.constant(None, np.asarray(number, np.float32))

    @staticmethod
    def _pads(layer):
        if layer.padding == "same":
            return {"auto_pad": "SAME_UPPER"}
        if layer.padding == "valid":
            return {}
        raise UnsupportedError("padding='%s' of '%s' is not supported" % (layer.padding, layer.name))

    @staticmethod
    def _last_only(layer):
        if getattr(layer, "data_format", "channels_last") not in ("channels_last", None):
            raise UnsupportedError("data_format='%s' of '%s' is not supported" % (layer.data_format, layer.name))

    # --- layers ---------------------------------------------------------------------------------------------------------

    def _convert_InputLayer(self, _layer, value):
        return value

    def _convert_Dense(self, layer, value):
        made = self.graph.node("MatMul", None, [value.last(), self._weight(layer, layer.kernel, "kernel")], 1)[0]
        if layer.use_bias:
            made = self.graph.node("Add", None, [made, self._weight(layer, layer.bias, "bias")], 1)[0]
        return Value(self.graph, value.rank, last=made)

    def _conv(self, layer, value, op, kernel, groups, **more):
        self._last_only(layer)
        inputs = [value.first(), kernel]
        if layer.use_bias:
            inputs.append(self._weight(layer, layer.bias, "bias"))
        made = self.graph.node(op, None, inputs, 1, strides=list(layer.strides), dilations=list(layer.dilation_rate),
                               group=groups, **dict(self._pads(layer), **more))[0]
        return Value(self.graph, value.rank, first=made)

    def _convert_Conv2D(self, layer, value):
        kernel = self._weight(layer, layer.kernel, "kernel", lambda a: a.transpose(3, 2, 0, 1),
                              lambda a: a.transpose(2, 3, 1, 0))
        return self._conv(layer, value, "Conv", kernel, int(layer.groups))

    def _convert_Conv1D(self, layer, value):
        kernel = self._weight(layer, layer.kernel, "kernel", lambda a: a.transpose(2, 1, 0), lambda a: a.transpose(2, 1, 0))
        return self._conv(layer, value, "Conv", kernel, int(layer.groups))

    def _convert_DepthwiseConv2D(self, layer, value):
        variable = layer.kernel if hasattr(layer, "kernel") else layer.depthwise_kernel
        rows, columns, channels, many = (int(d) for d in variable.shape)
        kernel = self._weight(layer, variable, "kernel",
                              lambda a: a.transpose(2, 3, 0, 1).reshape(channels * many, 1, rows, columns),
                              lambda a: a.reshape(channels, many, rows, columns).transpose(2, 3, 0, 1))
        return self._conv(layer, value, "Conv", kernel, channels)

    def _convert_Conv2DTranspose(self, layer, value):
        """Keras' results have `strides` times the input, and with padding="valid" what the kernel reaches beyond that."""
        if getattr(layer, "output_padding", None) is not None or getattr(layer, "groups", 1) != 1:
            raise UnsupportedError("Conv2DTranspose '%s' with output_padding or groups is not supported" % layer.name)
        kernel = self._weight(layer, layer.kernel, "kernel", lambda a: a.transpose(3, 2, 0, 1),
                              lambda a: a.transpose(2, 3, 1, 0))
        self._last_only(layer)
        reaches = [(k - 1) * d + 1 - s for k, d, s in zip(layer.kernel_size, layer.dilation_rate, layer.strides)]
        cut = [max(reach, 0) if layer.padding == "same" else 0 for reach in reaches]
        inputs = [value.first(), kernel] + ([self._weight(layer, layer.bias, "bias")] if layer.use_bias else [])
        made = self.graph.node("ConvTranspose", None, inputs, 1, strides=list(layer.strides), dilations=list(layer.dilation_rate),
                               pads=[c // 2 for c in cut] + [c - c // 2 for c in cut],
                               output_padding=[max(-reach, 0) for reach in reaches])[0]
        return Value(self.graph, value.rank, first=made)

    def _convert_SeparableConv2D(self, layer, value):
        rows, columns, channels, many = (int(d) for d in layer.depthwise_kernel.shape)
        kernel = self._weight(layer, layer.depthwise_kernel, "depthwise_kernel",
                              lambda a: a.transpose(2, 3, 0, 1).reshape(channels * many, 1, rows, columns),
                              lambda a: a.reshape(channels, many, rows, columns).transpose(2, 3, 0, 1))
        self._last_only(layer)
        made = self.graph.node("Conv", None, [value.first(), kernel], 1, strides=list(layer.strides),
                               dilations=list(layer.dilation_rate), group=channels, **self._pads(layer))[0]
        mix = self._weight(layer, layer.pointwise_kernel, "pointwise_kernel", lambda a: a.transpose(3, 2, 0, 1),
                           lambda a: a.transpose(2, 3, 1, 0))
        bias = [self._weight(layer, layer.bias, "bias")] if layer.use_bias else []
        return Value(self.graph, value.rank, first=self.graph.node("Conv", None, [made, mix] + bias, 1)[0])

    def _convert_BatchNormalization(self, layer, value):
        axis = layer.axis[0] if isinstance(layer.axis, (list, tuple)) else layer.axis
        if axis not in (-1, value.rank - 1):
            raise UnsupportedError("BatchNormalization '%s' over axis %d is not supported" % (layer.name, axis))
        count = int(layer.moving_mean.shape[0])
        scale = self._weight(layer, layer.gamma, "gamma") if layer.scale else self.graph.constant(
            None, np.ones(count, np.float32))
        shift = self._weight(layer, layer.beta, "beta") if layer.center else self.graph.constant(
            None, np.zeros(count, np.float32))
        if not layer.trainable:  # as Keras: a frozen one uses its statistics
            mean = np.asarray(layer.moving_mean.numpy() if hasattr(layer.moving_mean, "numpy") else layer.moving_mean)
            variance = np.asarray(layer.moving_variance.numpy() if hasattr(layer.moving_variance, "numpy")
                                  else layer.moving_variance)
            made = self.graph.node("Sub", None, [value.last(), self.graph.constant(None, mean.astype("f4"))], 1)[0]
            rate = self.graph.constant(None, (1 / np.sqrt(variance + layer.epsilon)).astype("f4"))
            made = self.graph.node("Mul", None, [made, rate], 1)[0]
            made = self.graph.node("Mul", None, [made, scale], 1)[0]
            return Value(self.graph, value.rank, last=self.graph.node("Add", None, [made, shift], 1)[0])
        mean = self._weight(layer, layer.moving_mean, "moving_mean")
        variance = self._weight(layer, layer.moving_variance, "moving_variance")
        source = value.first() if value.rank > 2 else value.last()
        made = self.graph.node("BatchNormalization", layer.name, [source, scale, shift, mean, variance], 1,
                               epsilon=float(layer.epsilon), momentum=float(layer.momentum))[0]
        return Value(self.graph, value.rank, first=made) if value.rank > 2 else Value(self.graph, value.rank, last=made)

    def _convert_LayerNormalization(self, layer, value):
        inputs = [value.last(), self._weight(layer, layer.gamma, "gamma")]
        if layer.center:
            inputs.append(self._weight(layer, layer.beta, "beta"))
        made = self.graph.node("LayerNormalization", None, inputs, 1, axis=-1, epsilon=float(layer.epsilon))[0]
        return Value(self.graph, value.rank, last=made)

    def _convert_GroupNormalization(self, layer, value):
        axis = layer.axis[0] if isinstance(layer.axis, (list, tuple)) else layer.axis
        if axis not in (-1, value.rank - 1) or not layer.scale or not layer.center or value.dims[-1] is None:
            raise UnsupportedError("GroupNormalization '%s' is supported over the last axis, with scale and center"
                                   % layer.name)
        groups, source = int(value.dims[-1]) if layer.groups == -1 else int(layer.groups), value.first()
        apart = self.graph.constant(None, np.asarray([0, groups, -1], np.int64))
        parts = [self.graph.node("Reshape", None, [source, apart], 1)[0], self.graph.constant(None, np.ones(groups, "f4")),
                 self.graph.constant(None, np.zeros(groups, "f4"))]
        made = self.graph.node("InstanceNormalization", None, parts, 1, epsilon=float(layer.epsilon))[0]
        made = self.graph.node("Reshape", None, [made, self.graph.node("Shape", None, [source], 1)[0]], 1)[0]
        beside = lambda a: a.reshape((-1,) + (1,) * (value.rank - 2))  # noqa: E731
        for op, variable, name in (("Mul", layer.gamma, "gamma"), ("Add", layer.beta, "beta")):
            made = self.graph.node(op, None, [made, self._weight(layer, variable, name, beside)], 1)[0]
        return Value(self.graph, value.rank, first=made)

    def _convert_PReLU(self, layer, value):
        slope = self._weight(layer, layer.alpha, "alpha")
        return Value(self.graph, value.rank, last=self.graph.node("PRelu", None, [value.last(), slope], 1)[0])

    def _convert_Activation(self, _layer, value):
        return value

    def _convert_Softmax(self, _layer, value):
        return value

    def _convert_ReLU(self, layer, value):
        if layer.negative_slope or layer.threshold:
            raise UnsupportedError("ReLU '%s' with a slope or a threshold is not supported" % layer.name)
        if layer.max_value is not None:
            return self._same(value, "Clip", [self._number(0.0), self._number(float(layer.max_value))])
        return self._same(value, "Relu")

    def _convert_LeakyReLU(self, layer, value):
        return self._same(value, "LeakyRelu", alpha=float(getattr(layer, "negative_slope", getattr(layer, "alpha", 0.3))))

    def _convert_Dropout(self, layer, value):
        return self._same(value, "Dropout", [self._number(float(layer.rate))]) if layer.rate else value

    def _convert_Rescaling(self, layer, value):
        made = self._same(value, "Mul", [self._number(float(layer.scale))])
        return self._same(made, "Add", [self._number(float(layer.offset))]) if layer.offset else made

    def _reshape(self, value, dims):
        shape = self.graph.constant(None, np.asarray([0] + list(dims), np.int64))
        return Value(self.graph, len(dims) + 1, last=self.graph.node("Reshape", None, [value.last(), shape], 1)[0])

    def _convert_Flatten(self, _layer, value):
        made = self.graph.node("Flatten", None, [value.last()], 1, axis=1)[0]
        return Value(self.graph, 2, last=made)

    def _convert_Reshape(self, layer, value):
        return self._reshape(value, layer.target_shape)

    def _convert_Permute(self, layer, value):
        made = self.graph.node("Transpose", None, [value.last()], 1, perm=[0] + list(layer.dims))[0]
        return Value(self.graph, value.rank, last=made)

    def _pool(self, layer, value, op, **more):
        self._last_only(layer)
        made = self.graph.node(op, None, [value.first()], 1, kernel_shape=list(layer.pool_size),
                               strides=list(layer.strides), **dict(self._pads(layer), **more))[0]
        return Value(self.graph, value.rank, first=made)

    def _convert_MaxPooling2D(self, layer, value):
        return self._pool(layer, value, "MaxPool")

    def _convert_AveragePooling2D(self, layer, value):
        return self._pool(layer, value, "AveragePool")

    _convert_MaxPooling1D = _convert_MaxPooling2D
    _convert_AveragePooling1D = _convert_AveragePooling2D

    def _whole(self, layer, value, op):
        made = self.graph.node(op, None, [value.first()], 1)[0]
        if getattr(layer, "keepdims", False):
            return Value(self.graph, value.rank, first=made)
        return Value(self.graph, 2, last=self.graph.node("Flatten", None, [made], 1, axis=1)[0])

    def _convert_GlobalAveragePooling1D(self, layer, value):
        return self._whole(layer, value, "GlobalAveragePool") if value.mask is None else self._masked_mean(layer, value)

    def _convert_GlobalAveragePooling2D(self, layer, value):
        return self._whole(layer, value, "GlobalAveragePool")

    def _convert_GlobalMaxPooling2D(self, layer, value):
        return self._whole(layer, value, "GlobalMaxPool")

    _convert_GlobalMaxPooling1D = _convert_GlobalMaxPooling2D

    def _convert_ZeroPadding2D(self, layer, value):
        (top, bottom), (left, right) = layer.padding
        pads = self.graph.constant(None, np.asarray([0, 0, top, left, 0, 0, bottom, right], np.int64))
        return Value(self.graph, value.rank, first=self.graph.node("Pad", None, [value.first(), pads], 1)[0])

    def _convert_UpSampling2D(self, layer, value):
        if layer.interpolation not in ("nearest", "bilinear"):
            raise UnsupportedError("UpSampling2D '%s' by '%s' is not supported" % (layer.name, layer.interpolation))
        scales = self.graph.constant(None, np.asarray([1, 1] + list(layer.size), np.float32))
        nearest = layer.interpolation == "nearest"
        made = self.graph.node("Resize", None, [value.first(), None, scales], 1, mode="nearest" if nearest else "linear",
                               coordinate_transformation_mode="asymmetric" if nearest else "half_pixel",
                               nearest_mode="floor")[0]
        return Value(self.graph, value.rank, first=made)

    def _convert_Embedding(self, layer, value):
        table = self._weight(layer, layer.embeddings, "embeddings")
        return Value(self.graph, value.rank + 1, last=self.graph.node("Gather", None, [table, value.last()], 1, axis=0)[0])

    def _merge(self, values, op):
        turned = all(v.turned() for v in values)
        made = values[0].first() if turned else values[0].last()
        for other in values[1:]:
            made = self.graph.node(op, None, [made, other.first() if turned else other.last()], 1)[0]
        rank = max(v.rank for v in values)
        return Value(self.graph, rank, first=made) if turned else Value(self.graph, rank, last=made)

    def _convert_Add(self, _layer, values):
        return self._merge(values, "Add")

    def _convert_Subtract(self, _layer, values):
        return self._merge(values, "Sub")

    def _convert_Multiply(self, _layer, values):
        return self._merge(values, "Mul")

    def _convert_Maximum(self, _layer, values):
        return self._merge(values, "Max")

    def _convert_Minimum(self, _layer, values):
        return self._merge(values, "Min")

    def _convert_Average(self, _layer, values):
        return self._same(self._merge(values, "Add"), "Mul", [self._number(1.0 / len(values))])

    def _convert_ELU(self, layer, value):
        return self._same(value, "Elu", alpha=float(layer.alpha))

    def _convert_Normalization(self, layer, value):
        """Its statistics are settings, not parameters."""
        arrays = [np.asarray(a.numpy() if hasattr(a, "numpy") else a, np.float32) for a in (layer.mean, layer.variance)]
        mean, deviation = arrays[0], np.maximum(np.sqrt(arrays[1]), np.float32(1e-7))
        made = self.graph.node("Sub", None, [value.last(), self.graph.constant(None, mean)], 1)[0]
        made = self.graph.node("Div", None, [made, self.graph.constant(None, deviation)], 1)[0]
        return Value(self.graph, value.rank, last=made)

    def _convert_Concatenate(self, layer, values):
        turned = all(v.turned() for v in values) and layer.axis in (-1, values[0].rank - 1)
        parts = [v.first() if turned else v.last() for v in values]
        made = self.graph.node("Concat", None, parts, 1, axis=1 if turned else int(layer.axis))[0]
        return Value(self.graph, values[0].rank, first=made) if turned else Value(self.graph, values[0].rank, last=made)

    # --- back ------------------------------------------------------------------------------------------------------------

    def load(self, state):
        """Trained arrays go into the variables of the layers."""
        for name, array in state.items():
            if name in self.back:
                variable, turn = self.back[name]
                variable.assign(np.ascontiguousarray(turn(array)).reshape([int(d) for d in variable.shape]))
