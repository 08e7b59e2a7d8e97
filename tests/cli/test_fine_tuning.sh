# Weights of another file by name, a last layer of another size, another learning rate after an interruption; mistakes in typing
# get a suggestion, and bad samples are called what they are called in their files.
. "$(dirname "$0")/begin.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
train() { "$program" train "$@" --quiet >out 2>errors || fail "train $*: $(cat errors)"; }
python3 "$source/tests/cli/make_job_data.py" . || fail "data"
zoo() { "$program" zoo "$@" >/dev/null || fail "zoo $*"; }
zoo resnet18 --image 8 --width 4 --classes 10 --seed 4 -o ten.onnx
zoo resnet18 --image 8 --width 4 --classes 3 -o three.onnx
zoo resnet18 --image 8 --width 8 --classes 3 -o wide.onnx
train ten.onnx --data synthetic --batch 4 --steps 2 --out ten-t.onnx --out ten-t.safetensors --checkpoint ten.ckpt
for file in ten-t.onnx ten-t.safetensors ten.ckpt; do
    train three.onnx --weights $file --data first.npz --optimizer sgd --lr 0 --steps 1 --batch 15 --out from.safetensors
    grep -q "100 tensors are from.*last layer is new.*fc.weight" errors || fail "$file: $(cat errors)"
    python3 - <<'PY' || fail "$file: the weights are not those of the file"
import json, struct
def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    return {k: (v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in head.items() if k != "__metadata__"}
ten, three = load("ten-t.safetensors"), load("from.safetensors")
assert ten.keys() == three.keys()
for name in ten:
    if "running" in name or name.startswith("fc."): continue
    assert ten[name] == three[name], name
assert three["fc.weight"][0][0] == 3 and ten["fc.weight"][0][0] == 10
PY
done
refuses "'ten-t.onnx' has 'conv1.weight' as float32\[4,3,7,7\], the model as float32\[8,3,7,7\]" train wide.onnx --weights ten-t.onnx --data first.npz
zoo lenet --width 4 --image 8 --channels 3 --classes 3 -o small.onnx
zoo mlp --image 8 --channels 3 --classes 3 -o mlp.onnx
refuses "has nothing for the model's 'layers.0" train mlp.onnx --weights ten-t.safetensors --data first.npz
for command in "zoo resnet18 --image 8 --width 4 --classes 3 -o z.onnx" "find-lr three.onnx --data first.npz --steps 10 --batch 15"; do
    "$program" $command --weights ten-t.safetensors >out 2>errors || fail "$command: $(cat errors)"
    grep -q "100 tensors are from.*last layer is new" errors || fail "$command replaces the last layer without a word: $(cat errors)"
done
refuses "cannot open" train three.onnx --weights nowhere.safetensors --data first.npz
refuses "cannot read the weights .nowhere.safetensors." zoo llama --weights nowhere.safetensors -o llama.onnx # at once: the model has 1.1 billion parameters

# Another learning rate after an interruption: only when it is given.
train small.onnx --data first.npz --batch 15 --steps 3 --lr 1e-2 --checkpoint run.ckpt
refuses "rate=0.01; here it is rate=0.001" train small.onnx --data first.npz --batch 15 --steps 6 --checkpoint run.ckpt --resume
train small.onnx --data first.npz --batch 15 --steps 6 --checkpoint run.ckpt --resume --lr 5e-4 --log rates.jsonl
grep -q '"step": 4,.*"rate": 0.0005' rates.jsonl || fail "the rate was not changed: $(cat rates.jsonl)"

# Typing mistakes.
refuses "is --loss meant" train small.onnx --data first.npz --los mse
refuses "is --epochs meant" train small.onnx --data first.npz --epoch 3
refuses "is 'train' meant" trian small.onnx
refuses "is 'evaluate' meant" eval small.onnx

# A sample that is not finite is called what it is called in its file, however it was shuffled.
python3 - <<'PY' || fail "data"
import struct, zipfile
def npy(kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data
values = [0.5] * (90 * 192)
values[37 * 192 + 5] = float("nan")
with zipfile.ZipFile("nan.npz", "w") as file:
    file.writestr("x.npy", npy("<f4", (90, 3, 8, 8), struct.pack(f"<{len(values)}f", *values)))
    file.writestr("y.npy", npy("<i8", (90,), struct.pack("<90q", *(i % 3 for i in range(90)))))
PY
refuses "NaN in 'image', sample 37\b" train small.onnx --data nan.npz --batch 15

# Weights as PyTorch saves them: plain, in a checkpoint of a wrapped model, as views of one storage. Nothing in them is executed.
torch=$source/tests/cli/data/torch
zoo mlp --image 4 --channels 1 --width 4 --classes 3 -o tiny.onnx
for file in plain.pt checkpoint.pth views.pt; do
    train tiny.onnx --weights "$torch/$file" --data synthetic --optimizer sgd --lr 0 --steps 1 --out from.safetensors
    grep -q "tensors are from" errors || fail "$file: $(cat errors)"
    python3 - "$torch/expected.safetensors" <<'PY' || fail "$file: the weights are not those of the file"
import json, struct, sys
def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    return {k: (v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
assert load(sys.argv[1]) == load("from.safetensors")
PY
done
tiny() { refuses "$1" train tiny.onnx --weights "$2" --data synthetic --steps 1 --out x.safetensors; }
tiny "before 1.6" "$torch/old.pt"
tiny "not in the order of its rows" "$torch/transposed.pt"
tiny "as float64" "$torch/double.pt"
tiny "system" "$torch/hostile.pt"
[ -e executed ] && fail "a pickle was executed"
head -c 2000 "$torch/plain.pt" >cut.pt
tiny "cut.pt" cut.pt
echo "no zip" >no.pt
tiny "no.pt" no.pt

# Learning rates by layer: those of SGD are steps of that size times the gradient.
train tiny.onnx --data synthetic --optimizer sgd --lr 0.5 --steps 1 --out all.safetensors
train tiny.onnx --data synthetic --optimizer sgd --lr 0.5 --steps 1 --lr-scale '*=0.5' --lr-scale 'layers.0.*=0' --out scaled.safetensors
train tiny.onnx --data synthetic --optimizer sgd --lr 0 --steps 1 --out none.safetensors
python3 - <<'PY' || fail "rates by layer"
import json, struct
def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    return {k: struct.unpack(f"<{(v['data_offsets'][1] - v['data_offsets'][0]) // 4}f", data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
whole, scaled, none = load("all.safetensors"), load("scaled.safetensors"), load("none.safetensors")
moved = 0
for name in whole:
    for a, b, c in zip(whole[name], scaled[name], none[name]):
        factor = 0 if name.startswith("layers.0.") else 0.5
        assert abs((b - c) - factor * (a - c)) < 1e-6, name
        moved += a != c and factor > 0
assert moved
PY
refuses "no trained parameter matches 'nothing\*=2'" train tiny.onnx --data synthetic --steps 1 --lr-scale 'nothing*=2' --out x.safetensors
refuses "'layers.0' is no factor" train tiny.onnx --data synthetic --steps 1 --lr-scale layers.0 --out x.safetensors
refuses "'a=-1' is no factor" train tiny.onnx --data synthetic --steps 1 --lr-scale a=-1 --out x.safetensors
echo "all well"
