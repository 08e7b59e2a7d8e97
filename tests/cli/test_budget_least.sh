#!/bin/bash
# The least budget that `plan` names is the least that works: a deep network of thin layers, whose programs and whose planning
# take more than its arena, stays within it from the first byte, in a memory cgroup of that size; a megabyte less is
# refused before the first step, in such a group too, by `train` with the same figure. bench/budgets.py tries many more.
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" least
mebibyte=$((1 << 20))

least() { # data batch options...
    data=$1 batch=$2
    shift 2
    run=(model.onnx --batch "$batch" --data "$data" --steps 2 --json "$@")
    "$program" plan "${run[@]}" > plan.json 2> err || fail "plan"
    least=$(python3 -c 'import json; print(json.load(open("plan.json"))["minimum_budget_bytes"])')
    within "$least" "$program" train "${run[@]}" --budget "$least" > run.json 2> err || fail "train within $least: exit code $?"
    python3 - "$least" <<'PY' || fail "train within $least"
import json, sys
r, least = json.load(open("run.json")), int(sys.argv[1])
peak, planned = r["peak_resident_bytes"], r["planned_process_bytes"]
print(f"least {least / 2**20:g} MiB, peak {peak / 2**20:.1f}, planned {planned / 2**20:.1f}, {r['class']}, micro-batch {r['micro_batch']}, {r['recomputed']} recomputed")
assert peak <= least, "the budget is exceeded"
assert abs(planned - peak) <= 0.02 * peak, "the prediction is off by more than 2 %"
PY
    less=$((least - mebibyte))
    within "$less" "$program" train "${run[@]}" --budget "$less" > run.json 2> err && fail "a budget of $less works, too"
    code=$?
    [ $code -eq 1 ] || fail "a budget of $less: exit code $code"
    grep -qE "(works is|less than) [0-9.]+ MiB" err || fail "the refusal names no budget"
    named=$(grep -oE "(works is|less than) [0-9.]+ MiB" err | grep -oE "[0-9.]+")
    # "less than" bounds the least from below, in whole MiB
    most=0
    grep -q "less than $named MiB" err && most=2
    python3 -c 'import sys; least, named, most = map(float, sys.argv[1:]); sys.exit(not 0 <= least / 2**20 - named <= most)' "$least" "$named" "$most" ||
        fail "plan names $least bytes, train $named MiB"
}

"$program" zoo gpt2-tiny --layers 16 --width 16 --heads 1 --seq 16 -o model.onnx > /dev/null || fail "zoo"
least synthetic 32
# Gradients of a whole batch take memory of their own: refused before it is taken, or within the budget.
within "$least" "$program" train "${run[@]}" --budget "$least" --dump-gradients g.safetensors > run.json 2> err
code=$?
case $code in
    0) python3 -c 'import json, sys; sys.exit(json.load(open("run.json"))["peak_resident_bytes"] > int(sys.argv[1]))' "$least" || fail "gradients exceed the budget";;
    1) grep -q "gradients of a whole batch" err || fail "gradients within $least";;
    *) fail "gradients within $least: exit code $code";;
esac
# A batch norm model, split by hand.
"$program" zoo resnet18 --width 8 --image 32 --classes 10 -o model.onnx > /dev/null || fail "zoo"
least synthetic 8 --accumulate 2
# The end of an epoch and batches of any size have programs of their own with the whole batch, and none in pieces of one sample:
# planning has no room for the former.
python3 - <<'PY'
import os, struct, zlib
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(8):
    os.makedirs(f"photos/{i % 2}", exist_ok=True)
    rows = b"".join(b"\0" + bytes((x * y + 30 * i) % 256 for x in range(40)) for y in range(40))
    open(f"photos/{i % 2}/{i}.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 40, 40, 8, 0, 0, 0, 0)) +
                                              chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PY
"$program" zoo resnet18 --width 8 --image 32 --classes 2 --channels 1 -o model.onnx > /dev/null || fail "zoo"
least photos 5 --optimizer sgd --allow lossy --skip-bad
echo "the least budget is the least"
