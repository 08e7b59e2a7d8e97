"""Models go to files that `plimsoll train` takes, and what it trained goes back by name."""

import json
import struct

import numpy as np
import pytest

import plimsoll
from plimsoll import _native


def write_tensors(path, tensors):
    entries, at, data = {}, 0, b""
    for name, array in tensors.items():
        entries[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at, data = at + array.nbytes, data + array.astype("<f4").tobytes()
    head = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


def test_what_is_no_model_and_no_file_of_tensors_is_refused(tmp_path):
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"\xff" * 40)
    with pytest.raises(plimsoll.CorruptError, match="bad.safetensors"):
        plimsoll.load(object(), bad)
    write_tensors(bad, {"a": np.zeros(3, "f4")})
    with pytest.raises(TypeError):
        plimsoll.load(object(), bad)
    with pytest.raises(TypeError):
        plimsoll.export(object(), tmp_path / "model.onnx")
    with pytest.raises(FileExistsError):
        plimsoll.export(object(), bad)


@pytest.mark.frameworks
def test_a_module_takes_tensors_by_name_or_says_which_it_does_not_have(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    module, file = torch.nn.Linear(3, 2), tmp_path / "w.safetensors"
    write_tensors(file, {"weight": np.ones((2, 3), "f4")})
    assert plimsoll.load(module, file) == ["bias"]
    assert bool((module.weight == 1).all())
    write_tensors(file, {"weights": np.ones((2, 3), "f4")})
    with pytest.raises(plimsoll.InvalidError, match="weights"):
        plimsoll.load(module, file)


def trained_of(path, batch):
    """{name: shape} of what training the file trains."""
    trainer = _native.Trainer(_native.Graph.load(path), batch=batch, loss="mse", optimizer="sgd", threads=1,
                              loss_output="output")
    found = {name: shape for name, role, _, shape in trainer.tensors() if role == "parameter"}
    trainer.close()
    return found


@pytest.mark.frameworks
def test_a_keras_model_is_trained_whole_and_takes_its_tensors_back(tmp_path):
    keras = pytest.importorskip("keras", reason="Keras is not installed")
    layers = keras.layers
    image = keras.Input((8, 8, 2))
    x = layers.Conv2D(4, 3, name="first")(image)
    x = layers.PReLU(shared_axes=[1, 2])(layers.BatchNormalization(scale=False)(x))
    x = layers.GroupNormalization(2)(layers.DepthwiseConv2D(3)(x))
    model = keras.Model(image, layers.Dense(3)(layers.LSTM(5)(layers.Reshape((16, 4))(x))))
    path, file = str(tmp_path / "model.onnx"), tmp_path / "w.safetensors"
    plimsoll.export(model, path)
    shapes = trained_of(path, 2)
    assert len(shapes) == len(model.trainable_variables)  # no constant is taken for a weight
    write_tensors(file, {name: np.arange(int(np.prod(shape)), dtype="f4").reshape(shape) for name, shape in shapes.items()})
    left = plimsoll.load(model, file)
    assert sorted(left) == sorted(v.path for v in model.non_trainable_variables if "moving" in v.path)
    kernel = np.asarray(model.get_layer("first").kernel)  # height, width, in, out; the file has out, in, height, width
    assert kernel[1, 2, 1, 3] == 3 * 18 + 9 + 3 + 2
