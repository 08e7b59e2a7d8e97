"""Small files that Keras exported, and what Keras computes with the models: tests/run/exports/keras_*.

usage: make_keras_exports.py        needs keras 3, tensorflow, tf2onnx, onnx, onnxruntime, safetensors

As make_exports.py: data (x, y: three batches of four samples) and the state after three updates by SGD, rate 0.05, mean square
error, under the names and in the layouts of the file (after:NAME).
"""
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import onnx
import tensorflow as tf
from keras import layers
from safetensors.numpy import save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exports")
BATCH, STEPS, RATE = 4, 3, 0.05


def train(model, x, y):
    optimizer = keras.optimizers.SGD(RATE)
    for s in range(STEPS):
        rows = slice(s * BATCH, (s + 1) * BATCH)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x[rows], training=True) - y[rows]) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)


def gates(array):
    """Gates on the last axis: i, f, c, o of Keras → i, o, f, c of ONNX on the first one, for one direction."""
    blocks = np.split(array.T, 4)
    return np.concatenate([blocks[k] for k in (0, 3, 1, 2)])[None]


def export(name, model, x):
    path = os.path.join(HERE, name + ".onnx")
    model(x)
    model.export(path, format="onnx", verbose=False)
    return onnx.load(path)


def lstm():
    generator = np.random.default_rng(3)
    x, y = generator.standard_normal((BATCH * STEPS, 5, 3)).astype(np.float32), generator.standard_normal((BATCH * STEPS, 2)).astype(np.float32)
    inputs = keras.Input((5, 3))
    cell = layers.LSTM(4, bias_initializer="random_normal", unit_forget_bias=False)
    dense = layers.Dense(2, bias_initializer="random_normal")
    model = keras.Model(inputs, dense(cell(inputs)))
    file = export("keras_lstm", model, x)
    node = next(n for n in file.graph.node if n.op_type == "LSTM")
    product = next(n for n in file.graph.node if n.op_type in ("MatMul", "Gemm"))
    bias = next(n for n in file.graph.node if n.op_type == "Add" and product.output[0] in n.input) if product.op_type == "MatMul" else product
    weights = {i.name for i in file.graph.initializer}
    train(model, x, y)
    kernel, recurrent, one = (w.numpy() for w in cell.trainable_weights)
    before = next(n for n in file.graph.node if node.input[0] in n.output).name.rsplit("/", 1)[0]  # names that the reader gives them
    after = {before + "/kernel": gates(kernel), before + "/recurrent_kernel": gates(recurrent), before + "/bias": gates(one[None])[:, :, 0],
             product.input[1]: dense.kernel.numpy(), [n for n in bias.input if n in weights and n != product.input[1]][0]: dense.bias.numpy()}
    save_file({"x": x, "y": y, **{"after:" + k: np.ascontiguousarray(v) for k, v in after.items()}}, os.path.join(HERE, "keras_lstm.safetensors"))


def plain():
    inputs = keras.Input((6, 6, 2))
    x = layers.ReLU()(layers.BatchNormalization(name="batch_normalization")(layers.Conv2D(3, 3, name="first")(inputs)))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(3, 3, activation="relu", name="second")(x))
    export("keras_plain", keras.Model(inputs, layers.Dense(2, name="third", bias_initializer="random_normal")(x)), np.zeros((2, 6, 6, 2), np.float32))


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    lstm()
    plain()
