"""TensorFlow that runs out of memory for real, in its own allocator, and Keras models."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.frameworks

PROGRAM = """
    import plimsoll.hook
    import tensorflow as tf
    images = tf.random.normal((64, 64, 64, 3))
    kernel = tf.random.normal((3, 3, 3, 256))
    def step(x):
        return tf.nn.conv2d(x, kernel, 1, "SAME")
    step(images)
"""


def test_tensorflow_out_of_memory_names_shape_shortfall_line_and_fix(tmp_path):
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(PROGRAM))
    environment = dict(os.environ, TF_CPU_ALLOCATOR_USE_BFC="true", TF_CPU_BFC_MEM_LIMIT_IN_MB="200",
                       TF_ENABLE_ONEDNN_OPTS="0")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, env=environment,
                          check=False)
    assert done.returncode == 1 and "ResourceExhaustedError" in done.stderr, done.stderr[-2000:]
    answer = done.stderr[done.stderr.index("-- Plimsoll"):]
    assert "64 x 64 x 64 x 256 float32" in answer and "missing    56.00 MiB" in answer
    assert "train.py line 7" in answer and 'tf.nn.conv2d(x, kernel, 1, "SAME")' in answer
    assert "Where the memory is: 200.00 MiB" in answer and "images" in answer and "1. " in answer


# --- Keras ---------------------------------------------------------------------------------------------------------------

@pytest.fixture(name="keras")
def _keras():
    keras = pytest.importorskip("keras", reason="Keras is not installed")
    keras.utils.set_random_seed(0)
    return keras


def convolutional(keras):
    layers = keras.layers
    image = keras.Input((16, 16, 3))
    stem = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(image)))
    x = layers.Add()([layers.DepthwiseConv2D(3, padding="same", activation="relu")(stem), stem])
    x = layers.Concatenate()([layers.MaxPooling2D(2)(x), layers.AveragePooling2D(2)(stem)])
    return keras.Model(image, layers.Dense(10, activation="softmax")(layers.Flatten()(x)))


def words(keras):
    layers = keras.layers
    return keras.Sequential([keras.Input((12,), dtype="int32"), layers.Embedding(40, 8), layers.LayerNormalization(),
                             layers.Dense(16, activation="gelu"), layers.GlobalAveragePooling1D(),
                             layers.Dense(10, activation="softmax")])


def recurrent(keras, *parts):
    return keras.Sequential([keras.Input((12,), dtype="int32"), keras.layers.Embedding(40, 8), *parts,
                             keras.layers.Dense(10, activation="softmax")])


def lstm(keras):
    return recurrent(keras, keras.layers.LSTM(6, return_sequences=True), keras.layers.LSTM(5))


def gru(keras):
    return recurrent(keras, keras.layers.GRU(6, return_sequences=True), keras.layers.GRU(5, reset_after=False),
                     keras.layers.RepeatVector(3), keras.layers.SimpleRNN(7, go_backwards=True))


def both_directions(keras):
    layers = keras.layers
    return recurrent(keras, layers.Bidirectional(layers.LSTM(6, return_sequences=True)),
                     layers.TimeDistributed(layers.Dense(7, activation="relu")),
                     layers.Bidirectional(layers.GRU(5), merge_mode="ave"))


def encoder_decoder(keras):
    layers = keras.layers
    tokens = keras.Input((12,), dtype="int32")
    embedded = layers.Embedding(40, 8)(tokens)
    _, hidden, cell = layers.LSTM(6, return_state=True)(embedded)
    decoded = layers.LSTM(6, return_sequences=True)(embedded, initial_state=[hidden, cell])
    return keras.Model(tokens, layers.Dense(10, activation="softmax")(layers.GlobalMaxPooling1D()(decoded)))


def transformer(keras):
    layers = keras.layers
    tokens = keras.Input((12,), dtype="int32")
    x = layers.Embedding(40, 8)(tokens)
    for causal in (True, False):
        mixed = layers.MultiHeadAttention(2, 4, value_dim=3)(x, x, use_causal_mask=causal)
        x = layers.LayerNormalization()(layers.Add()([x, mixed]))
        x = x + layers.Dense(8)(layers.Dense(16, activation="gelu")(x))
    return keras.Model(tokens, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x)))


def masked(keras, *parts):
    return keras.Sequential([keras.Input((12,), dtype="int32"), keras.layers.Embedding(40, 8, mask_zero=True), *parts,
                             keras.layers.Dense(10, activation="softmax")])


def masked_lstm(keras):
    return masked(keras, keras.layers.LSTM(6, return_sequences=True), keras.layers.GRU(5, go_backwards=True))


def masked_both_directions(keras):
    layers = keras.layers
    return masked(keras, layers.Bidirectional(layers.LSTM(6, return_sequences=True)),
                  layers.TimeDistributed(layers.Dense(7, activation="relu")), layers.Bidirectional(layers.GRU(5)))


def masked_states(keras):
    """With an open length, as most such models are written."""
    layers = keras.layers
    tokens = keras.Input((None,), dtype="int32")
    embedded = layers.Embedding(40, 8, mask_zero=True)(tokens)
    _, hidden, cell = layers.LSTM(6, return_state=True)(embedded)
    decoded = layers.LSTM(6, return_sequences=True)(embedded, initial_state=[hidden, cell])
    return keras.Model(tokens, layers.Dense(10, activation="softmax")(layers.GlobalMaxPooling1D()(decoded)))


def masked_attention(keras):
    layers = keras.layers
    tokens = keras.Input((12,), dtype="int32")
    x = layers.Embedding(40, 8, mask_zero=True)(tokens)
    for causal in (True, False):
        x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=causal)]))
    return keras.Model(tokens, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x)))


def masked_numbers(keras):
    layers = keras.layers
    rows = keras.Input((12, 3))
    return keras.Model(rows, layers.Dense(10, activation="softmax")(layers.SimpleRNN(6)(layers.Masking(0.0)(rows))))


def separable(keras):
    layers = keras.layers
    image = keras.Input((16, 16, 3))
    x = layers.SeparableConv2D(8, 3, strides=2, padding="same", activation="relu")(layers.Normalization(
        mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 0.5])(image))
    x = layers.Average()([layers.ELU()(x), layers.Maximum()([x, layers.Conv2D(8, 1)(x)])])
    return keras.Model(image, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x)))


MODELS = [convolutional, separable, words, lstm, gru, both_directions, encoder_decoder, transformer, masked_lstm,
          masked_both_directions, masked_states, masked_attention, masked_numbers]


def inputs_of(make, generator):
    """Of words, zeros are padding: at the end, at the beginning, between others, and everywhere."""
    import numpy as np
    if make in (convolutional, separable):
        return generator.normal(size=(32, 16, 16, 3)).astype("f4")
    there = generator.random((32, 12)) < 0.7
    there[0, 6:], there[1, :5], there[2] = False, False, make not in (masked_lstm, masked_states)
    there[3:, 4] = True
    if make is masked_numbers:
        return generator.normal(size=(32, 12, 3)).astype("f4") * there[..., None]
    return generator.integers(1, 40, (32, 12)) * there


@pytest.mark.parametrize("make", MODELS)
def test_training_is_that_of_keras_and_the_weights_come_back(keras, make):
    import numpy as np
    import plimsoll
    model = make(keras)
    generator = np.random.default_rng(0)
    x = inputs_of(make, generator)
    y = generator.integers(0, 10, 32)
    model.compile(keras.optimizers.SGD(0.01), "sparse_categorical_crossentropy")
    before = model.get_weights()
    trainer = plimsoll.Trainer(model, loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.SGD(0.01), batch=8)
    np.testing.assert_allclose(trainer.predict(x), model.predict(x, verbose=0), atol=1e-5)
    mine = trainer.fit((x, y), epochs=2, shuffle=False, verbose=0)
    trained = model.get_weights()
    model.set_weights(before)
    theirs = model.fit(x, y, epochs=2, shuffle=False, batch_size=8, verbose=0)
    np.testing.assert_allclose(mine.history["loss"], theirs.history["loss"], rtol=1e-4)
    for variable, one, two, start in zip(model.weights, trained, model.get_weights(), before):
        if "moving_variance" in variable.path:  # Keras divides by the count, others by one less
            np.testing.assert_allclose(one, two, rtol=1e-2)
        else:
            np.testing.assert_allclose(one, two, atol=1e-3 * np.abs(two - start).max() + 1e-6, err_msg=variable.path)


@pytest.mark.parametrize("accumulate", [1, 4])
@pytest.mark.parametrize("loss,width,activation", [("sparse_categorical_crossentropy", 7, "softmax"),
                                                   ("binary_crossentropy", 1, "sigmoid"), ("mse", 3, None), ("mae", 3, None)])
def test_masked_steps_are_left_out_of_the_loss_as_in_keras(keras, loss, width, activation, accumulate):
    """In parts too: each has another number of steps that count. And with weights of samples, or of their steps."""
    import numpy as np
    import plimsoll
    layers = keras.layers
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((12,), dtype="int32"), layers.Embedding(40, 8, mask_zero=True),
                              layers.LSTM(6, return_sequences=True), layers.Dense(width, activation=activation)])
    generator = np.random.default_rng(0)
    x = generator.integers(1, 40, (32, 12)) * (np.arange(12) < generator.integers(1, 13, (32, 1)))
    shape = (32, 12, width)
    y = {"softmax": generator.integers(0, 7, shape[:2]), "sigmoid": generator.integers(0, 2, shape).astype("f4"),
         None: generator.normal(size=shape).astype("f4")}[activation]
    model.compile(keras.optimizers.SGD(0.5), loss, metrics=["accuracy"] if width == 7 else None)
    before = model.get_weights()
    trainer = plimsoll.Trainer(model, loss=loss, optimizer=keras.optimizers.SGD(0.5), batch=32, accumulate=accumulate)
    np.testing.assert_allclose(trainer.predict(x), model.predict(x, verbose=0), atol=1e-5)
    weights = None if accumulate == 1 else generator.uniform(0, 3, (32, 1 if loss in ("mse", "binary_crossentropy") else 12))
    mine = trainer.fit((x, y), epochs=3, shuffle=False, verbose=0, sample_weight=weights)
    judged, trained = trainer.evaluate((x, y), sample_weight=weights), model.get_weights()
    model.set_weights(before)
    theirs = model.fit(x, y, epochs=3, shuffle=False, batch_size=32, verbose=0, sample_weight=weights)
    np.testing.assert_allclose(mine.history["loss"], theirs.history["loss"], rtol=1e-4)
    right = model.evaluate(x, y, batch_size=32, verbose=0, sample_weight=weights)
    np.testing.assert_allclose(judged["loss"], right[0] if width == 7 else right, rtol=1e-4)
    if width == 7:
        np.testing.assert_allclose(judged["accuracy"], right[1], atol=1e-6)
    for variable, one, two, start in zip(model.weights, trained, model.get_weights(), before):
        np.testing.assert_allclose(one, two, atol=1e-3 * np.abs(two - start).max() + 1e-6, err_msg=variable.path)


def test_weights_of_samples_and_classes_are_those_of_keras(keras):
    """Short last batches, weighted validation beside it, and batches that bring their own."""
    import numpy as np
    import plimsoll
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(20, 6)).astype("f4"), generator.integers(0, 3, 20)
    weights, checked = generator.uniform(0, 3, 20), (x[:10], y[:10], generator.uniform(0, 3, 10))
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    loss, before = keras.losses.SparseCategoricalCrossentropy(from_logits=True), model.get_weights()
    batches = [(x[i:i + 8], y[i:i + 8], weights[i:i + 8]) for i in range(0, 20, 8)]
    for options, data in (({"sample_weight": weights}, (x, y)), ({"class_weight": {0: 1.0, 2: 4.0}}, (x, y)),
                          ({}, batches), ({"class_weight": {0: 1.0, 2: 4.0}}, [b[:2] for b in batches])):
        model.set_weights(before)
        mine = plimsoll.Trainer(model, loss=loss, optimizer=keras.optimizers.SGD(0.1), batch=8).fit(
            data, epochs=2, shuffle=False, verbose=0, validation=checked if data is not batches else None, **options)
        trained = model.get_weights()
        model.set_weights(before)
        model.compile(keras.optimizers.SGD(0.1), loss)
        right = model.fit(x, y, epochs=2, shuffle=False, batch_size=8, verbose=0, validation_data=checked,
                          **options if options else {"sample_weight": weights})
        np.testing.assert_allclose(mine.history["loss"], right.history["loss"], rtol=1e-5)
        if "val_loss" in mine.history:
            np.testing.assert_allclose(mine.history["val_loss"], right.history["val_loss"], rtol=1e-5)
        for one, two in zip(trained, model.get_weights()):
            np.testing.assert_allclose(one, two, atol=1e-6)


def train_both(keras, model, loss, optimizer, x, y):
    """Two epochs by both from the same weights; the largest difference in units of how far Keras went."""
    import numpy as np
    import plimsoll
    model.compile(optimizer(), loss)
    before = model.get_weights()
    plimsoll.Trainer(model, loss=loss, optimizer=optimizer(), batch=8).fit((x, y), epochs=2, shuffle=False, verbose=0)
    trained = model.get_weights()
    model.set_weights(before)
    model.fit(x, y, epochs=2, shuffle=False, batch_size=8, verbose=0)
    return max(np.abs(one - two).max() / np.abs(two - start).max()
               for one, two, start in zip(trained, model.get_weights(), before))


def perceptron(keras, activation, width=1):
    layers = keras.layers
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="tanh"), layers.Dense(width, activation=activation)])


def rows_and_targets():
    import numpy as np
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 4, 32)
    return generator.normal(size=(32, 6)).astype("f4"), labels, (labels[:, None] > 1).astype("f4")


@pytest.mark.parametrize("activation,loss", [
    ("sigmoid", lambda k: "mse"), ("sigmoid", lambda k: k.losses.MeanAbsoluteError()), ("sigmoid", lambda k: "binary_crossentropy"),
    (None, lambda k: k.losses.BinaryCrossentropy(from_logits=True)), (None, lambda k: k.losses.Huber(delta=0.3)),
    ("softmax", lambda k: k.losses.SparseCategoricalCrossentropy(ignore_class=1)),
    (None, lambda k: k.losses.SparseCategoricalCrossentropy(from_logits=True))])
def test_a_loss_is_of_what_keras_applies_it_to(keras, activation, loss):
    x, labels, numbers = rows_and_targets()
    loss = loss(keras)
    by_class = "Sparse" in type(loss).__name__
    model = perceptron(keras, activation, 4 if by_class else 1)
    assert train_both(keras, model, loss, lambda: keras.optimizers.SGD(0.3), x, labels if by_class else numbers) < 1e-4


@pytest.mark.parametrize("name,options,limit", [
    ("SGD", {"momentum": 0.9, "nesterov": True}, 1e-4), ("SGD", {"weight_decay": 0.1}, 1e-4), ("Adam", {"weight_decay": 0.1}, 1e-3),
    ("AdamW", {"weight_decay": 0.1}, 1e-3), ("Lion", {"weight_decay": 0.1}, 1e-4), ("Adafactor", {"clip_threshold": 1.5}, 1e-3),
    ("Adagrad", {"initial_accumulator_value": 0.0}, 1e-2), ("SGD", {"global_clipnorm": 0.1}, 1e-4)])
def test_optimizers_of_keras_are_followed(keras, name, options, limit):
    """Adam's and Adagrad's epsilon stands elsewhere in Keras: hence their limits."""
    x, _, numbers = rows_and_targets()
    assert train_both(keras, perceptron(keras, None), "mse",
                      lambda: getattr(keras.optimizers, name)(0.01, **options), x, numbers) < limit


def test_what_is_not_followed_of_keras_is_refused(keras):
    import plimsoll
    k, model = keras, perceptron(keras, "softmax", 4)
    for loss, words in ((k.losses.MeanSquaredError(reduction="sum"), "reduction"), ("categorical_crossentropy", "argmax"),
                        (k.losses.BinaryCrossentropy(label_smoothing=0.1), "label_smoothing"), ("binary_crossentropy", "softmax")):
        with pytest.raises(ValueError, match=words):
            plimsoll.Trainer(model, loss=loss)
    for loss in ("sparse_categorical_crossentropy", k.losses.BinaryCrossentropy()):
        with pytest.raises(ValueError, match="probabilities"):
            plimsoll.Trainer(perceptron(keras, None, 4), loss=loss)
    for optimizer, words in ((k.optimizers.SGD(clipnorm=1.0), "clipnorm"), (k.optimizers.SGD(use_ema=True), "use_ema"),
                             (k.optimizers.Adagrad(), "initial_accumulator_value"), (k.optimizers.Nadam(), "Nadam"),
                             (k.optimizers.RMSprop(weight_decay=0.1), "weight_decay")):
        with pytest.raises(ValueError, match=words):
            plimsoll.Trainer(model, optimizer=optimizer)
    x, labels, _ = rows_and_targets()
    with pytest.raises(ValueError, match="sample_weight has the shape"):
        plimsoll.Trainer(model).fit((x, labels, x), verbose=0)


@pytest.mark.parametrize("kernel,strides,padding,dilation", [(3, 2, "same", 1), (4, 2, "same", 1), (3, 1, "same", 2), (2, 3, "same", 1),
                                                             (2, 3, "valid", 1), (3, 2, "valid", 1)])
def test_transposed_convolutions_are_those_of_keras(keras, kernel, strides, padding, dilation):
    import numpy as np
    layers = keras.layers
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((6, 6, 1)), layers.Conv2D(4, 3, padding="same", activation="relu"),
                              layers.Conv2DTranspose(1, kernel, strides=strides, padding=padding, dilation_rate=dilation,
                                                     activation="sigmoid")])
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(16, 6, 6, 1)).astype("f4"), generator.integers(0, 2, (16,) + model.output_shape[1:]).astype("f4")
    assert train_both(keras, model, "binary_crossentropy", lambda: keras.optimizers.SGD(0.3), x, y) < 1e-4


def test_a_head_inside_of_another_model_ends_it_too(keras):
    x, labels, _ = rows_and_targets()
    layers = keras.layers
    keras.utils.set_random_seed(0)
    head = keras.Sequential([keras.Input((8,)), layers.Dense(4, activation="softmax")])
    model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="tanh"), head])
    assert train_both(keras, model, "sparse_categorical_crossentropy", lambda: keras.optimizers.SGD(0.3), x, labels) < 1e-4


def test_callbacks_of_keras_itself_work(keras, tmp_path):
    import numpy as np
    import plimsoll
    x, y = np.random.randn(32, 12).astype("f4"), np.random.randint(0, 3, 32)
    trainer = plimsoll.Trainer("mlp", width=4, batch=16, optimizer="sgd", learning_rate=1e-30)
    shape = trainer._need_graph().inputs()[0][2]
    x = np.random.randn(*[32] + shape[1:]).astype("f4")
    early = keras.callbacks.EarlyStopping(monitor="val_loss", patience=1)
    log = keras.callbacks.CSVLogger(str(tmp_path / "log.csv"))
    history = trainer.fit((x, y), epochs=10, validation=(x, y), callbacks=[early, log], verbose=0)
    assert len(history.epoch) == 2 and (tmp_path / "log.csv").read_text().count("\n") == 3


def test_frozen_layers_stay_and_other_layers_are_named(keras):
    import numpy as np
    import plimsoll
    layers = keras.layers
    model = keras.Sequential([keras.Input((4,)), layers.Dense(8), layers.BatchNormalization(), layers.Dense(1)])
    model.layers[0].trainable = model.layers[1].trainable = False
    before = [np.array(w) for w in model.get_weights()]
    plimsoll.Trainer(model, loss="mse", optimizer="sgd", batch=8).fit(
        (np.random.randn(16, 4).astype("f4"), np.random.randn(16).astype("f4")), verbose=0)
    after = model.get_weights()
    assert all(np.array_equal(a, b) for a, b in zip(before[:6], after[:6])) and not np.array_equal(before[6], after[6])
    for part, words_of in ((layers.ConvLSTM1D(3, 2), "ConvLSTM1D"), (layers.LSTM(3, stateful=True), "stateful"),
                           (layers.LSTM(3, activation="relu"), "relu")):
        shape = (4, 4, 1) if words_of == "ConvLSTM1D" else (4, 4)
        with pytest.raises(plimsoll.UnsupportedError, match=words_of):
            plimsoll.Trainer(keras.Sequential([keras.Input(shape, batch_size=8), part]))
    with pytest.warns(UserWarning, match="kernel_regularizer of Dense 'last'"):
        plimsoll.Trainer(keras.Sequential([keras.Input((4,)), layers.Dense(1, kernel_regularizer="l2", name="last")]))


def test_a_keras_model_is_put_to_a_card(keras):
    import plimsoll
    answer = plimsoll.fit(convolutional(keras), batch=64, gpu="8GiB")
    assert answer.fits and not answer.exact and answer.largest_batch() > 64


CAPTURED = """
    from plimsoll import capture_keras as capture
    capture.prepare()
    import numpy as np
    import keras
    from keras import layers

    def make(batch):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((24,)), layers.Dense(96), layers.BatchNormalization(), layers.ReLU(),
                                  layers.Dropout(0.5), layers.Dense(1024, activation="gelu"), layers.Dense(10)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer="rmsprop", loss=loss, jit_compile=False)
        x, y = np.zeros((batch, 24), "float32"), np.zeros((batch,), "int32")
        return lambda: model.train_on_batch(x, y)

    def requests(events):  # but for what comes and goes while functions are built
        return [event[1:3] for event in events if event[0] == "born" and not event[2].startswith("__")]

    real = requests(capture.in_child(capture.record, make, 64, 3, "fixed")["events"])
    captured = [requests(events) for events in capture.predict(make, 64, order="fixed")]
    assert len(real) > 300 and captured == [real], [ours for ours in captured[0] if ours not in real][:9]
"""


def test_a_step_is_captured_in_the_order_that_its_batch_gives_it(tmp_path):
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    file = tmp_path / "captured.py"
    file.write_text(textwrap.dedent(CAPTURED))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_tf_data_feeds_it():
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    import numpy as np
    import plimsoll
    trainer = plimsoll.Trainer("mlp", width=4, batch=16)
    shape = trainer._need_graph().inputs()[0][2]
    data = tf.data.Dataset.from_tensor_slices((np.random.randn(*[40] + shape[1:]).astype("f4"),
                                               np.random.randint(0, 10, 40).astype("i4"))).batch(16)
    trainer.fit(data, epochs=2, validation=data, verbose=0)
    assert trainer.updates == 6
    by_name = data.map(lambda image, label: {"image": image, "label": label}).shuffle(3)
    trainer.fit(by_name, epochs=1, verbose=0)
    trainer.fit(data.map(lambda image, label: ((image,), label)), epochs=1, verbose=0)
    assert trainer.updates == 12 and 0 <= trainer.evaluate(data)["accuracy"] <= 1
    one = data.unbatch()  # samples, not batches
    with pytest.raises(ValueError, match="batch"):
        trainer.fit(one, verbose=0)
