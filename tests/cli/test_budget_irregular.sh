#!/bin/bash
# Budgets with data whose damaged images are left out: nearly every batch has another size, also the short one at the end of
# an epoch and those of validation, and no plan knows which. In a memory cgroup whose limit is the budget the peak stays
# below it, the arena is as planned to the byte, the process within 2 % of its plan.   test_budget_irregular.sh PLIMSOLL SOURCE
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" odd

# Folders of PNG files, one a class; of every ten some are cut off, some have other bytes, some are empty.
cat > make.py <<'PY'
import os, random, struct, sys, zlib
folder, count, size = sys.argv[1], *map(int, sys.argv[2:])
random.seed(count)
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
bad = 0
for i in range(count):
    rows = b"".join(b"\0" + random.randbytes(3 * size) for _ in range(size))
    file = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    damage = random.randrange(24)
    if damage == 0: file = file[:len(file) // 2]
    if damage == 1: file = file[:len(file) // 2] + b"damaged!" + file[len(file) // 2 + 8:]
    if damage == 2: file = b""
    bad += damage < 3
    os.makedirs(f"{folder}/class{i % 10}", exist_ok=True)
    open(f"{folder}/class{i % 10}/{i:05}.png", "wb").write(file)
print(bad)
PY

cat > check.py <<'PY'
import json, sys
r, model, budget, epochs, bad = json.load(open("run.json")), sys.argv[1], *map(int, sys.argv[2:5])
peak, planned = r["peak_resident_bytes"], r["planned_process_bytes"]
print(f"{model}: budget {budget / 1e6:.1f} MB, peak {peak / 1e6:.1f}, planned {planned / 1e6:.1f}, {r['class']}, "
      f"micro-batch {r['micro_batch']} x {r['accumulate']}, {r['recomputed']} recomputed, {r['skipped']} skipped")
assert r["budget_bytes"] == budget and r["validation_loss"] > 0
assert r["skipped"] == epochs * bad, "not all damaged images were left out"
assert r["replans"] == 0, "the plan was not for batches of any size"
assert peak <= budget, "the budget is exceeded"
assert r["arena_bytes"] == r["planned_arena_bytes"], "the arena is not as planned"
assert abs(planned - peak) <= 0.02 * peak, "the plan is off by more than 2 %"
PY

run() { # budget how what
    within "$1" "$program" train model.onnx "${data[@]}" --epochs 3 "$2" "$3" --json > run.json 2> err
    code=$?
    [ $code -eq 0 ] || fail "$model within $1 ($2): exit code $code"
    python3 check.py "$model" "$1" 3 "$bad" || fail "$model within $1 ($2)"
}

hold() { # model batch training validation zoo-options...
    model=$1 batch=$2 training=$3 validation=$4
    shift 4
    rm -rf train val
    bad=$(python3 make.py train "$training" 32) && python3 make.py val "$validation" 32 > /dev/null || fail "no data"
    [ "$bad" -gt $((training / batch)) ] || fail "$bad damaged images leave most batches whole"
    "$program" zoo "$model" "$@" -o model.onnx > /dev/null || fail "zoo $model"
    data=(--data train --val val --batch "$batch" --skip-bad --image 32)
    "$program" plan model.onnx "${data[@]}" --budget 64GiB --json > plan.json 2> err || fail "plan $model"
    for budget in $(budgets 3); do
        run "$budget" --budget "$budget"
    done
    "$program" plan model.onnx "${data[@]}" --budget "$budget" --save saved.plan > /dev/null 2> err || fail "plan $model"
    run "$budget" --plan saved.plan
}

hold resnet18 24 250 50 --image 32 --width 24 --classes 10
hold vit-tiny 32 270 90 --layers 4
echo "budgets hold for batches of any size"
