"""Models of Keras that bench/exports.py exports with model.export(format="onnx"), on TensorFlow: small, with random weights.

MODELS maps a name to a function that returns (model, example inputs as a function of the batch and a random generator).
"""
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from keras import layers

MODELS = {}


def model(name, *shape, tokens=0):
    """The layers between an input of this shape and the output; with `tokens` the input is numbers below it."""
    def note(build):
        def make():
            x = keras.Input(shape, dtype="int64" if tokens else "float32")
            draw = (lambda n, g: g.integers(0, tokens, (n,) + shape).astype(np.int64)) if tokens else (lambda n, g: g.standard_normal((n,) + shape).astype(np.float32))
            made = keras.Model(x, build(x))
            made(draw(2, np.random.default_rng(0)))  # export asks for a model that has been called
            return made, draw
        MODELS["keras." + name] = make
        return build
    return note


def chain(x, *parts):
    for part in parts:
        x = part(x)
    return x


def flat(x, units=5):
    return layers.Dense(units)(layers.GlobalAveragePooling2D()(x))


@model("mlp", 12)
def _(x):
    return chain(x, layers.Dense(16, activation="relu"), layers.Dense(16, activation="tanh"), layers.Dense(5))


@model("mlp_biases", 12)
def _(x):
    return chain(x, layers.Dense(16, activation="relu", bias_initializer="random_normal"), layers.Dense(5, bias_initializer="random_normal"))


@model("mlp_batch_norm", 12)
def _(x):
    return chain(x, layers.Dense(16), layers.BatchNormalization(), layers.ReLU(), layers.Dense(5))


@model("mlp_dropout", 12)
def _(x):
    return chain(x, layers.Dense(16, activation="silu", bias_initializer="random_normal"), layers.Dropout(0.0), layers.Dense(5, bias_initializer="random_normal"))


@model("cnn", 12, 12, 3)
def _(x):
    return chain(x, layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(8, 3, activation="relu"), layers.Flatten(), layers.Dense(5))


@model("cnn_batch_norm", 12, 12, 3)
def _(x):
    return flat(chain(x, layers.Conv2D(8, 3, use_bias=False), layers.BatchNormalization(), layers.ReLU(), layers.Conv2D(8, 3), layers.BatchNormalization(), layers.ReLU()))


@model("residual", 12, 12, 3)
def _(x):
    x = layers.Conv2D(8, 3, padding="same", bias_initializer="random_normal")(x)
    y = chain(x, layers.ReLU(), layers.Conv2D(8, 3, padding="same", bias_initializer="random_normal"))
    return flat(layers.Add()([x, y]))


@model("separable", 12, 12, 3)
def _(x):
    return flat(chain(x, layers.SeparableConv2D(8, 3), layers.ReLU(), layers.DepthwiseConv2D(3), layers.ReLU()))


@model("autoencoder", 12, 12, 1)
def _(x):
    return chain(x, layers.Conv2D(8, 3, 2, "same", activation="relu"), layers.Conv2DTranspose(4, 2, 2, activation="relu"), layers.Conv2D(1, 3, padding="same"))


@model("upsampling", 8, 8, 2)
def _(x):
    return chain(x, layers.Conv2D(4, 3, padding="same", activation="relu"), layers.UpSampling2D(), layers.Conv2D(2, 3, padding="same"))


@model("conv1d", 20, 4)
def _(x):
    return chain(x, layers.Conv1D(8, 3, activation="relu"), layers.GlobalMaxPooling1D(), layers.Dense(5))


@model("layer_norm", 6, 16)
def _(x):
    return chain(x, layers.LayerNormalization(), layers.Dense(16, activation="tanh"), layers.LayerNormalization(), layers.Dense(5))


@model("group_norm", 10, 10, 3)
def _(x):
    return flat(chain(x, layers.Conv2D(8, 3), layers.GroupNormalization(4), layers.ReLU()))


@model("embedding", 7, tokens=30)
def _(x):
    return chain(x, layers.Embedding(30, 8), layers.GlobalAveragePooling1D(), layers.Dense(5))


@model("lstm", 7, 6)
def _(x):
    return chain(x, layers.LSTM(8), layers.Dense(5))


@model("gru", 7, 6)
def _(x):
    return chain(x, layers.GRU(8), layers.Dense(5))


@model("bilstm", 7, tokens=30)
def _(x):
    return chain(x, layers.Embedding(30, 8), layers.Bidirectional(layers.LSTM(6)), layers.Dense(5))


@model("attention", 6, 16)
def _(x):
    y = layers.MultiHeadAttention(2, 8)(x, x)
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    return layers.Dense(5)(layers.GlobalAveragePooling1D()(x))


@model("prelu", 10, 10, 3)
def _(x):
    return flat(chain(x, layers.Conv2D(4, 3), layers.PReLU(shared_axes=[1, 2]), layers.LeakyReLU()))


@model("branches", 10, 10, 3)
def _(x):
    return flat(layers.Concatenate()([layers.Conv2D(4, 3, padding="same", activation="swish")(x), layers.Conv2D(4, 1, activation="sigmoid")(x)]))


@model("mobilenet_v2", 32, 32, 3)
def _(x):
    return keras.applications.MobileNetV2((32, 32, 3), alpha=0.35, weights=None, classes=5, classifier_activation=None, input_tensor=x).output
