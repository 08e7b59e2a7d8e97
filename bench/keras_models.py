"""Twelve Keras models as functions that plimsoll.capture_keras can run: a name in, make(batch) out."""

import keras
import numpy as np
from keras import layers


def classifier(model, shape, classes, optimizer, batch, whole=False):
    model.compile(optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    x = np.zeros((batch,) + shape, "int32" if whole else "float32")
    y = np.zeros((batch,), "int32")
    return lambda: model.train_on_batch(x, y)


def stack(shape, *parts):
    return keras.Sequential([keras.Input(shape)] + [part() for part in parts])


def conv(filters, size=3, **options):
    return lambda: layers.Conv2D(filters, size, padding="same", **options)


def dense(units, **options):
    return lambda: layers.Dense(units, **options)


def residual_block(x, filters):
    y = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    y = layers.BatchNormalization()(y)
    return layers.ReLU()(layers.add([x, layers.Conv2D(filters, 3, padding="same")(y)]))


def residual():
    x = inputs = keras.Input((48, 48, 3))
    x = layers.Conv2D(32, 3, padding="same")(x)
    for _ in range(3):
        x = residual_block(x, 32)
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def depthwise():
    x = inputs = keras.Input((64, 64, 3))
    x = layers.Conv2D(24, 3, strides=2, padding="same")(x)
    for filters in (48, 96):
        x = layers.DepthwiseConv2D(3, padding="same")(x)
        x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
        x = layers.Conv2D(filters, 1)(x)
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def encoder():
    x = inputs = keras.Input((64,), dtype="int32")
    x = layers.Embedding(8000, 128)(x)
    for _ in range(2):
        x = layers.LayerNormalization()(layers.add([x, layers.MultiHeadAttention(4, 32)(x, x)]))
        x = layers.LayerNormalization()(layers.add([x, layers.Dense(128)(layers.Dense(512, activation="gelu")(x))]))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def autoencoder():
    x = inputs = keras.Input((64, 64, 3))
    for filters in (16, 32):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
    for filters in (32, 16):
        x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same", activation="relu")(x)
    return keras.Model(inputs, layers.Dense(10)(layers.Flatten()(layers.MaxPooling2D(4)(x))))


def words(*parts):
    return lambda: keras.Sequential([keras.Input((64,), dtype="int32"), layers.Embedding(8000, 128)] +
                                    [part() for part in parts] + [layers.Dense(10)])


MODELS = {  # name: (model, shape of a sample, optimizer, batch)
    "perceptron": (lambda: stack((1024,), dense(2048, activation="relu"), dense(2048, activation="relu"), dense(10)),
                   (1024,), "adam", 1024),
    "perceptron sgd": (lambda: stack((1024,), dense(4096, activation="tanh"), dense(1024), dense(10)), (1024,), "sgd", 1024),
    "normed": (lambda: stack((512,), dense(2048), layers.BatchNormalization, layers.ReLU, lambda: layers.Dropout(0.5),
                             dense(1024, activation="gelu"), dense(10)), (512,), "rmsprop", 1024),
    "plain cnn": (lambda: stack((64, 64, 3), conv(32, activation="relu"), layers.MaxPooling2D, conv(64, activation="relu"),
                                layers.MaxPooling2D, layers.Flatten, dense(10)), (64, 64, 3), "adam", 64),
    "vgg": (lambda: stack((48, 48, 3), conv(32, activation="relu"), conv(32, activation="relu"), layers.MaxPooling2D,
                          conv(64, activation="relu"), conv(64, activation="relu"), layers.MaxPooling2D, layers.Flatten,
                          dense(512, activation="relu"), dense(10)), (48, 48, 3), "sgd", 64),
    "residual": (residual, (48, 48, 3), "adamw", 48),
    "depthwise": (depthwise, (64, 64, 3), "adam", 64),
    "autoencoder": (autoencoder, (64, 64, 3), "adagrad", 128),
    "encoder": (encoder, (64,), "adamw", 64),
    "lstm": (words(lambda: layers.LSTM(256)), (64,), "adam", 128),
    "gru": (words(lambda: layers.GRU(128)), (64,), "rmsprop", 256),
    "text cnn": (words(lambda: layers.Conv1D(256, 5, activation="relu"), layers.GlobalMaxPooling1D), (64,), "adam", 256),
}


def make(name):
    build, shape, optimizer, _ = MODELS[name]

    def with_batch(batch):
        keras.utils.set_random_seed(1)
        return classifier(build(), shape, 10, optimizer, batch, whole=len(shape) == 1 and shape[0] == 64)

    return with_batch
