#!/bin/bash
# Weights that wait in a file, from outside: a network trains within half the bytes of its own weights, in a memory cgroup of
# that size, evaluation, checkpoint and resume included, to the same weights as without a budget; no file is left.
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" streamed
"$program" zoo gpt2-tiny --layers 6 --width 512 --heads 8 --seq 32 -o model.onnx > /dev/null || fail zoo
mkdir spill
same=(model.onnx --batch 4 --data synthetic --optimizer adamw --allow exact --seed 3 --json)

"$program" plan "${same[@]}" --spill spill > plan.json 2> err || fail plan
least=$(python3 -c 'import json; print(json.load(open("plan.json"))["minimum_budget_bytes"])')
"$program" plan "${same[@]:0:9}" --budget "$least" --spill spill > text 2> err || fail "plan at the smallest"
"$program" plan "${same[@]}" --budget "$least" --spill spill > least.json 2> err || fail "plan at the smallest, as JSON"
grep -q 'weights in a file: .* in spill, fetched when they are read$' text || fail "the plan does not say where weights are: $(cat text)"
grep -q 'reading and writing files: .* s of an update, of which .* s pass beside computing$' text || fail "the plan does not say what moving them takes: $(cat text)"
python3 - <<'PY' || fail "time of the file"
import json
plan = json.load(open("least.json"))
print(f"moving takes {plan['file_seconds']:.3f} s, of which steps wait for {plan['file_waits']:.3f} s")
assert 0 < plan["file_waits"] < plan["file_seconds"], plan
PY
"$program" plan "${same[@]:0:9}" --budget "$least" --no-spill > text 2> err && fail "it fits without a file"

# What is allowed beside that, state in 8 bits which cannot be spilled among it, makes no budget too small that was large enough.
"$program" plan "${same[@]/exact/lossy}" --budget "$least" --spill spill > lossy.json 2> err || fail "plan with everything allowed"
python3 - <<'PY' || fail "levers"
import json
plan = json.load(open("lossy.json"))
levers = {row["lever"]: row for row in plan["levers"]}
assert plan["fits"] and levers["weights in a file"]["used"] and levers["state in a file"]["used"], levers
assert levers["weights in a file"]["saved_bytes"] > 60 << 20 and levers["state in 8 bits"]["class"] == "lossy", levers
PY

"$program" train "${same[@]}" --steps 4 --out right.safetensors > right.json 2> err || fail "without a budget"
for part in "--steps 2" "--steps 4 --resume --out streamed.safetensors"; do
    within "$least" "$program" train "${same[@]}" --budget "$least" --spill spill --checkpoint run.ckpt $part > run.json 2> err || fail "train $part"
    python3 - "$least" <<'PY' || fail "train $part"
import json, sys
r, least = json.load(open("run.json")), int(sys.argv[1])
peak, planned = r["peak_resident_bytes"], r["planned_process_bytes"]
print(f"least {least >> 20} MiB, peak {peak / 2**20:.1f}, planned {planned / 2**20:.1f}, {r['streamed_bytes'] / 2**20:.1f} MiB of weights in a file, {r['class']}")
assert r["streamed_bytes"] > 2 * least - (8 << 20), "the weights are not larger than the budget"
assert peak <= least, "the budget is exceeded"
assert abs(planned - peak) <= 0.01 * peak + (1 << 18), "the prediction is off"
assert r["class"] == "exact"
PY
done
cmp right.safetensors streamed.safetensors || fail "the weights differ"
[ -z "$(ls -A spill)" ] || fail "files are left: $(ls -A spill)"

# A plan that was saved fetches the same, and is refused where nothing may lie in a file.
"$program" plan "${same[@]:0:9}" --budget "$least" --spill spill --save plan.trace > text 2> err || fail "plan --save"
"$program" train "${same[@]}" --plan plan.trace --no-spill --steps 1 > out 2> err && fail "a plan with a file is taken without one"
grep -q "keeps weights or optimizer state in a file" err || fail "the refusal does not say why"
echo "weights in a file are the same weights"
