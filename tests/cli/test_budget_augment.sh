# What is new in reading data is part of the plan: WebP files, augmentation, oversampling and dates stay within a budget; the same
# numbers with micro-batches, and after an interruption.
. "$(dirname "$0")/begin.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
field() { grep -o "\"$1\": [^,}]*" "$2" | tail -1 | sed 's/.*: //'; }
mkdir -p photos/a photos/b photos/rare
for i in $(seq 12); do
    cp "$source/tests/format/webp/lossy.webp" photos/a/$i.webp
    cp "$source/tests/format/webp/alpha-lossless.webp" photos/b/$i.webp
done
cp "$source/tests/format/webp/lossless.webp" photos/rare/1.webp
"$program" zoo mlp --image 8 --channels 3 --width 8 --classes 3 -o m.onnx >/dev/null || fail "zoo"
common="m.onnx --data photos --augment crop=0.3,flip,vflip,pad=2,rotate=15,color=0.2,erase=0.25,mixup=0.4 --oversample --batch 12
    --optimizer sgd --lr 0.05 --epochs 4 --seed 5 --quiet --json"
train() { out=$1 && shift && "$program" train $common "$@" --out $out.safetensors >$out.json 2>errors || fail "train $*: $(cat errors)"; }
holds() { # FILE: of a run within 40 MB
    peak=$(field peak_resident_bytes $1) planned=$(field planned_process_bytes $1)
    [ "$peak" -le 40000000 ] || fail "$peak bytes are more than the budget"
    awk "BEGIN { exit !($peak <= 1.01 * $planned) }" || fail "$peak bytes were used, $planned were planned"
}
train whole
if ! grep -q __asan_init "$program"; then # sanitizers have memory of their own
    train bounded --budget 40MB
    holds bounded.json
fi

# Tables with embeddings, gaps and dates, event files, logs: within a budget too.
python3 - <<'PY' || fail "data"
import random
random.seed(2)
with open("shop.csv", "w") as file:
    print("shop,city,sold,price,amount,kind", file=file)
    for i in range(600):
        print(f'"shop {i % 40}",', f"town {i % 7}" if i % 9 else "", f",2024-0{i % 9 + 1}-1{i % 9},", random.random() if i % 11 else "NA", f",{i % 13},{'big' if i % 13 > 6 else 'small'}", sep="", file=file)
PY
"$program" zoo tabular --features 8 --seq 2 --vocab 49 --classes 2 -o shop.onnx >/dev/null || fail "zoo tabular"
budget=(--budget 40MB)
grep -q __asan_init "$program" && budget=() # sanitizers have memory of their own
"$program" train shop.onnx --data shop.csv --target kind --embed shop,city --missing mean --normalise --validation 0.2 --epochs 6 --batch 16 \
    "${budget[@]}" --tensorboard events --log shop.jsonl --out shop-t.onnx --json --quiet >shop.json 2>errors || fail "shop: $(cat errors)"
[ ${#budget[@]} -eq 0 ] || holds shop.json
ls events/events.out.tfevents.* >/dev/null && awk "BEGIN { exit !($(field metric shop.json) > 0.8) }" || fail "shop: $(cat shop.json)"

# Four micro-batches, and a run that was interrupted between two batches, see the same samples, changed in the same way.
train micro --accumulate 4
train first --steps 7 --checkpoint run.ckpt
train resumed --checkpoint run.ckpt --resume
cmp -s whole.safetensors resumed.safetensors || fail "another result after an interruption"
python3 - <<'PY' || fail "micro-batches give other numbers"
import json, struct
def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    return {k: struct.unpack(f"<{(v['data_offsets'][1] - v['data_offsets'][0]) // 4}f", data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
a, b = load("whole.safetensors"), load("micro.safetensors")
for name in a:
    for x, y in zip(a[name], b[name]): assert abs(x - y) < 1e-4 * max(1, abs(x)), (name, x, y)
PY
echo "all well"
