"""The network of export_written.py that is written in onnxscript: its functions are read from their source."""
import onnxscript
from onnxscript import opset18 as op

own = onnxscript.values.Opset("own", 1)


@onnxscript.script(own)
def Half(x):
    return op.Sigmoid(x)


@onnxscript.script(own)
def Gated(x):
    return op.Mul(x, Half(x))


@onnxscript.script(own)
def Dense(x, w, b):
    return op.Gemm(x, w, b, transB=1)


@onnxscript.script(own, default_opset=op)
def Net(x, a_weight, a_bias, b_weight, b_bias):
    h = Gated(Dense(x, a_weight, a_bias))
    return Dense(Gated(h * 0.5), b_weight, b_bias)
