"""What training saves loads elsewhere with equal values: ONNX in onnx and onnxruntime, safetensors in its own package
and in PyTorch. Nothing but the weights differs from the model that was trained, and what it remembers of its job."""
import os
import subprocess
import sys

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime
import safetensors
import safetensors.numpy
import safetensors.torch

program, folder = sys.argv[1:3]
NAMES = ["lenet", "resnet18"]  # resnet18 has batch norms, whose statistics change too


def plimsoll(*arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, cwd=folder, stdout=subprocess.PIPE)


def weights(model):
    return {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}


def structure(model):
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for tensor in bare.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
    others = [p for p in bare.metadata_props if not p.key.startswith("plimsoll.")]
    bare.ClearField("metadata_props")
    bare.metadata_props.extend(others)
    return bare.SerializeToString(deterministic=True)


def check(name):
    model, trained, twin = name + ".onnx", name + "-trained.onnx", name + ".safetensors"
    size = [] if name == "lenet" else ["--image", 32]
    plimsoll("zoo", name, "-o", model, "--seed", 3, *size)
    options = ["--data", "synthetic", "--batch", 4, "--steps", 3, "--threads", 1, "--lr", "0.01", "--json"]
    plimsoll("train", model, *options, "--out", trained)
    plimsoll("train", model, *options, "--out", twin)
    plimsoll("train", trained, *options, "--out", trained)  # over the file that it reads from
    again = onnx.load(os.path.join(folder, trained))
    plimsoll("train", model, *options, "--out", trained)

    before, after = onnx.load(os.path.join(folder, model)), onnx.load(os.path.join(folder, trained))
    onnx.checker.check_model(after)
    assert structure(before) == structure(after) == structure(again), name
    old, new, newer = weights(before), weights(after), weights(again)
    changed = [k for k in old if not numpy.array_equal(old[k], new[k])]
    assert len(changed) > len(old) // 2, (name, changed)
    assert any(not numpy.array_equal(newer[k], new[k]) for k in changed), name

    path = os.path.join(folder, twin)
    floats = {k: v for k, v in new.items() if v.dtype == numpy.float32}
    with safetensors.safe_open(path, "np") as file:
        assert file.metadata()["format"] == "pt"
    for loaded in safetensors.numpy.load_file(path), {k: v.numpy() for k, v in safetensors.torch.load_file(path).items()}:
        assert loaded.keys() == floats.keys(), (name, loaded.keys() ^ floats.keys())
        for key in floats:
            assert numpy.array_equal(loaded[key], floats[key]), (name, key)

    session = onnxruntime.InferenceSession(os.path.join(folder, trained), providers=["CPUExecutionProvider"])
    described = session.get_inputs()[0]
    shape = [2] + [d if isinstance(d, int) else 32 for d in described.shape[1:]]
    x = numpy.random.default_rng(0).standard_normal(shape).astype(numpy.float32)
    numpy.save(os.path.join(folder, "x.npy"), x)
    plimsoll("infer", trained, "--batch", 2, "--input", "x.npy", "--output", "y.npy")
    theirs, ours = session.run(None, {described.name: x})[0], numpy.load(os.path.join(folder, "y.npy"))
    difference = numpy.abs(theirs - ours).max() / max(1e-9, numpy.abs(theirs).max())
    assert difference < 1e-4, (name, difference)
    print(f"{name}: {len(changed)} of {len(old)} tensors changed, outputs differ by {difference:.1e}")


for model_name in NAMES:
    check(model_name)
