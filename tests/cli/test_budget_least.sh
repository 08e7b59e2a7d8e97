#!/bin/bash
# The least budget that `plan` names is the least that works: a deep network of thin layers, whose programs and whose planning
# take more than its arena, stays within it from the first byte, in a memory cgroup of that size; a megabyte and a bit less is
# refused before the first step, in such a group too, by `train` in the same words. bench/budgets.py tries many more.
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" least
mebibyte=$((1 << 20))

least() { # batch options...
    batch=$1
    shift
    run=(model.onnx --batch "$batch" --data synthetic --steps 2 --json "$@")
    "$program" plan "${run[@]}" > plan.json 2> err || fail "plan"
    least=$(python3 -c 'import json; print(json.load(open("plan.json"))["minimum_budget_bytes"])')
    within "$least" "$program" train "${run[@]}" --budget "$least" > run.json 2> err || fail "train within $least: exit code $?"
    python3 - "$least" <<'PY' || fail "train within $least"
import json, sys
r, least = json.load(open("run.json")), int(sys.argv[1])
peak, planned = r["peak_resident_bytes"], r["planned_process_bytes"]
print(f"least {least >> 20} MiB, peak {peak / 2**20:.1f}, planned {planned / 2**20:.1f}, {r['class']}, micro-batch {r['micro_batch']}, {r['recomputed']} recomputed")
assert peak <= least, "the budget is exceeded"
assert abs(planned - peak) <= 0.02 * peak, "the prediction is off by more than 2 %"
PY
    less=$((least - 2 * mebibyte))
    within "$less" "$program" train "${run[@]}" --budget "$less" > run.json 2> err && fail "a budget of $less works, too"
    code=$?
    [ $code -eq 1 ] || fail "a budget of $less: exit code $code"
    grep -qE "(works is|less than) [0-9]+ MiB" err || fail "the refusal names no budget"
    named=$(grep -oE "(works is|less than) [0-9]+ MiB" err | grep -oE '[0-9]+')
    [ $((named - least / mebibyte)) -ge -1 ] && [ $((named - least / mebibyte)) -le 1 ] || fail "plan names $((least / mebibyte)) MiB, train $named"
}

"$program" zoo gpt2-tiny --layers 16 --width 16 --heads 1 --seq 16 -o model.onnx > /dev/null || fail "zoo"
least 32
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
least 8 --accumulate 2
echo "the least budget is the least"
