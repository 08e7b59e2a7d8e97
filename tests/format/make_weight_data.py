"""Makes tests/format/data/weights and tests/format/data/torch_nbytes.txt with the real libraries: NumPy, PyTorch and
safetensors. Beside each file, expected.txt has: name, tensors, bytes as the library counts them."""
import json, pathlib, warnings, zipfile
import numpy as np
import torch
from safetensors.torch import save_file

warnings.simplefilter("ignore")
data = pathlib.Path(__file__).parent / "data"
here = data / "weights"
here.mkdir(parents=True, exist_ok=True)
expected = []


def note(name, tensors):
    expected.append(f"{name} {len(tensors)} {sum(t.nbytes for t in tensors)}")


# --- nbytes of every dtype ---
lines = ["# what torch says: dtype, shape, elements, nbytes"]
dtypes = sorted({str(d) for d in vars(torch).values() if isinstance(d, torch.dtype)})
for name in dtypes:
    dtype = getattr(torch, name.split(".")[1])
    for shape in [(), (5,), (3, 5), (2, 3, 4), (0, 7)]:
        try:
            if name.startswith("torch.q") and "x" in name:
                like = torch.quantize_per_channel(torch.zeros(2, 4), torch.ones(2), torch.zeros(2), 0, dtype)
                t = torch.empty_quantized(shape, like)
            elif name.startswith("torch.q"):
                t = torch._empty_affine_quantized(shape, scale=1.0, zero_point=0, dtype=dtype)
            else:
                t = torch.empty(shape, dtype=dtype)
        except RuntimeError as problem:
            raise SystemExit(f"{name} {shape}: {problem}")
        lines.append(f"{name} [{','.join(map(str, shape))}] {t.numel()} {t.nbytes}")
(data / "torch_nbytes.txt").write_text("\n".join(lines) + "\n")

# --- PyTorch files ---
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(32, 10))
state = net.state_dict()
torch.save(state, here / "state.pt")
note("state.pt", list(state.values()))
torch.save(state, here / "legacy.pt", _use_new_zipfile_serialization=False)
note("legacy.pt", list(state.values()))
torch.save(net, here / "module.pt")
note("module.pt", list(state.values()))
adam = torch.optim.Adam(net.parameters())
net(torch.randn(2, 3, 4, 4)).sum().backward()
adam.step()
checkpoint = {"model": state, "optimizer": adam.state_dict(), "epoch": 3, "loss": [0.5, 0.25]}
torch.save(checkpoint, here / "checkpoint.pt")
note("checkpoint.pt", list(state.values()) + [t for s in adam.state_dict()["state"].values() for t in s.values()])
torch.save(torch.arange(6, dtype=torch.int16), here / "bare.pt")
note("bare.pt", [torch.arange(6, dtype=torch.int16)])
shared = torch.randn(4, 4)
torch.save({"embed": shared, "head": shared.detach(), "row": shared[1]}, here / "tied.pt")
expected.append("tied.pt 3 64")
plain = [torch.zeros(3, 5, dtype=getattr(torch, d)) for d in
         "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex32 complex64 complex128 uint16 uint32 "
         "uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()]
torch.save(plain, here / "dtypes.pt")
note("dtypes.pt", plain)
quantized = [torch.quantize_per_tensor(torch.zeros(3, 5), 1.0, 0, d) for d in (torch.qint8, torch.quint8, torch.qint32)]
torch.save(quantized, here / "quantized.pt")
note("quantized.pt", quantized)
scripted = torch.jit.script(torch.nn.Linear(3, 4))
torch.jit.save(scripted, here / "script.pt")
note("script.pt", list(scripted.state_dict().values()))

marked = torch.zeros(3, requires_grad=True)
marked.label = "an attribute of its own"
torch.save(marked, here / "marked.pt")
note("marked.pt", [marked])
torch.save(state, here / "legacy-5.pt", pickle_protocol=5, _use_new_zipfile_serialization=False)
note("legacy-5.pt", list(state.values()))
torch.save(torch.zeros(5).untyped_storage(), here / "storage.pt")
expected.append("storage.pt 1 20")
sparse = torch.eye(3).to_sparse()
torch.save(sparse, here / "sparse.pt")
note("sparse.pt", [sparse.indices(), sparse.values()])

# --- safetensors ---
saved = {f"t{i}": t for i, t in enumerate(plain) if t.dtype not in (torch.complex32, torch.complex128)
         and t.dtype not in (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)}
save_file(saved, here / "dtypes.safetensors")
note("dtypes.safetensors", list(saved.values()))
first = {"a.weight": torch.zeros(7, 11), "a.bias": torch.zeros(11)}
second = {"b.weight": torch.zeros(13, 5, dtype=torch.bfloat16), "steps": torch.zeros((), dtype=torch.int64)}
save_file(first, here / "model-00001-of-00002.safetensors", metadata={"format": "pt"})
save_file(second, here / "model-00002-of-00002.safetensors", metadata={"format": "pt"})
weight_map = {k: "model-00001-of-00002.safetensors" for k in first} | {k: "model-00002-of-00002.safetensors" for k in second}
total = sum(t.nbytes for t in [*first.values(), *second.values()])
(here / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}))
note("model.safetensors.index.json", [*first.values(), *second.values()])

# --- NumPy ---
arrays = {"x": np.zeros((3, 4), "f4"), "y": np.arange(10, dtype="i8"), "z": np.zeros((), "f2"), "f": np.zeros((2, 3), ">c16", order="F")}
np.savez(here / "plain.npz", **arrays)
note("plain.npz", list(arrays.values()))
np.savez_compressed(here / "packed.npz", **arrays, big=np.zeros((1000, 1000), "f4"))
note("packed.npz", list(arrays.values()) + [np.zeros((1000, 1000), "f4")])
with zipfile.ZipFile(here / "zip64.npz", "w") as archive:
    for name, array in arrays.items():
        with archive.open(name + ".npy", "w", force_zip64=True) as entry:
            np.lib.format.write_array(entry, array)
note("zip64.npz", list(arrays.values()))

# --- ONNX ---
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = [numpy_helper.from_array(np.zeros((4, 3, 3, 3), "f4"), "w"), numpy_helper.from_array(np.arange(5), "shape")]
packed = helper.make_tensor("packed", TensorProto.INT4, [3, 5], [0] * 15)
graph = helper.make_graph([], "g", [], [], weights + [packed])
onnx.save(helper.make_model(graph), here / "model.onnx")
expected.append(f"model.onnx 3 {4 * 108 + 8 * 5 + 8}")
(here / "expected.txt").write_text("\n".join(expected) + "\n")
