"""Twelve Keras models, and eight others, as functions that plimsoll.capture_keras can run: a name in, make(batch) out.

The graph mode of src/fit was written with the first twelve in view. The others were first measured after that."""

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


def bottleneck():
    x = inputs = keras.Input((56, 56, 32))
    for filters, step in ((32, 1), (64, 2)):
        y = layers.Conv2D(filters, 1, strides=step, use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(4 * filters, 1, use_bias=False)(y))
        x = layers.BatchNormalization()(layers.Conv2D(4 * filters, 1, strides=step, use_bias=False)(x))
        x = layers.ReLU()(layers.add([y, x]))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def unet():
    inputs = keras.Input((64, 64, 3))
    a = conv(16, activation="relu")()(inputs)
    b = conv(32, activation="relu")()(layers.MaxPooling2D()(a))
    c = conv(64, activation="relu")()(layers.MaxPooling2D()(b))
    d = conv(32, activation="relu")()(layers.concatenate([layers.Conv2DTranspose(32, 2, strides=2)(c), b]))
    e = conv(16, activation="relu")()(layers.concatenate([layers.Conv2DTranspose(16, 2, strides=2)(d), a]))
    return keras.Model(inputs, layers.Dense(10)(layers.Flatten()(layers.MaxPooling2D(4)(e))))


def normed_first():
    inputs = keras.Input((48,), dtype="int32")
    x = layers.Embedding(4000, 192)(inputs)
    for _ in range(3):
        y = layers.LayerNormalization()(x)
        x = layers.add([x, layers.MultiHeadAttention(6, 32)(y, y)])
        y = layers.LayerNormalization()(x)
        x = layers.add([x, layers.Dense(192)(layers.Dense(768, activation="relu")(y))])
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def two_lstms():
    return keras.Sequential([keras.Input((40,), dtype="int32"), layers.Embedding(5000, 64), layers.LSTM(128, return_sequences=True),
                             layers.LSTM(128), layers.Dense(10)])


OTHERS = {
    "wide adamw": (lambda: stack((768,), dense(3000, activation="relu"), dense(1500, activation="sigmoid"), dense(10)),
                   (768,), "adamw", 256),
    "momentum cnn": (lambda: stack((48, 48, 3), conv(48, activation="relu"), layers.MaxPooling2D, conv(96, activation="elu"),
                                   layers.GlobalAveragePooling2D, dense(10)), (48, 48, 3), "momentum", 64),
    "bottleneck": (bottleneck, (56, 56, 32), "momentum", 8),
    "unet": (unet, (64, 64, 3), "adam", 64),
    "normed first": (normed_first, (48,), "adam", 64),
    "two lstms": (two_lstms, (40,), "adam", 128),
    "gru on numbers": (lambda: stack((50, 32), lambda: layers.GRU(192), dense(10)), (50, 32), "adagrad", 256),
    "dropout": (lambda: stack((512,), dense(2048, activation="silu"), lambda: layers.Dropout(0.3), dense(1024, activation="tanh"),
                              lambda: layers.Dropout(0.3), layers.LayerNormalization, dense(10)), (512,), "adam", 2048),
}


def find(name):
    """(model, shape of a sample, optimizer, batch), and whether samples are numbers of words."""
    row = MODELS.get(name) or OTHERS[name]
    return row, row[1] in ((64,), (48,), (40,))


def make(name):
    (build, shape, optimizer, _), words_in = find(name)

    def with_batch(batch):
        keras.utils.set_random_seed(1)
        rule = keras.optimizers.SGD(momentum=0.9) if optimizer == "momentum" else optimizer
        return classifier(build(), shape, 10, rule, batch, whole=words_in)

    return with_batch
