# Training with optimizer state in a file, from outside: the same weights as without a budget, also when the run is
# interrupted in between; the process stays within its budget while it saves and resumes; no file is left; folders that
# cannot be used are refused by name.
program=$1
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
if grep -q __asan_init "$program" 2>/dev/null; then echo "skipped: sanitizers have memory of their own"; exit 77; fi
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; cat err 2>/dev/null; exit 1; }
mkdir spill
"$program" zoo resnet18 --width 40 --image 32 --classes 10 -o model.onnx > /dev/null || fail zoo
same="--batch 8 --data synthetic --optimizer adamw --allow exact --seed 3 --json"

"$program" plan model.onnx --batch 8 --optimizer adamw --allow exact --budget 64GiB --json > plan.json 2> err || fail plan
budget=$(python3 -c 'import json; print(json.load(open("plan.json"))["minimum_budget_bytes"])')
"$program" plan model.onnx --batch 8 --optimizer adamw --allow exact --budget "$budget" --spill spill > text 2> err || fail "plan at the smallest"
grep -q 'spilled: .* of optimizer state to spill$' text || fail "the plan does not say what it spills: $(cat text)"
"$program" plan model.onnx --batch 8 --optimizer adamw --allow exact --budget "$budget" --no-spill > text 2> err && fail "it fits without spilling"

"$program" train model.onnx $same --steps 6 --out right.safetensors > right.json 2> err || fail "without a budget"
within() { # arguments: one part of the run
    "$program" train model.onnx $same --budget "$budget" --spill spill --checkpoint run.ckpt --checkpoint-every 2 "$@" > run.json 2> err || fail "train $*"
    python3 - "$budget" <<'PY' || fail "train $*"
import json, sys
r, budget = json.load(open("run.json")), int(sys.argv[1])
print(f"budget {budget / 1e6:.1f} MB, peak {r['peak_resident_bytes'] / 1e6:.1f}, spilled {r['spilled_bytes'] / 1e6:.1f}, {r['class']}")
assert r["spilled_bytes"] > 10e6, "it spills too little"
assert r["peak_resident_bytes"] <= budget, "the budget is exceeded"
assert r["class"] == "exact"
PY
}
within --steps 3
within --steps 6 --resume --out spilled.safetensors
cmp right.safetensors spilled.safetensors || fail "the weights differ"
[ -z "$(ls -A spill)" ] || fail "files are left: $(ls -A spill)"

refused() { # words, arguments
    words=$1
    shift
    "$program" train model.onnx $same --steps 1 --budget "$budget" "$@" > out 2> err && fail "taken: $*"
    [ "$(wc -l < err)" -eq 1 ] && grep -q -- "$words" err || fail "'$words' is not said: $*"
}
refused no/such/folder --spill no/such/folder
refused model.onnx --spill model.onnx
[ "$(stat -f -c %T /dev/shm 2>/dev/null)" != tmpfs ] || refused "'/dev/shm': its files are kept in memory" --spill /dev/shm
"$program" train model.onnx $same --spill spill --no-spill > out 2> err
[ $? -eq 2 ] || fail "--spill and --no-spill together"
(ulimit -f 1000; refused "cannot reserve .* in 'spill'" --spill spill) || exit 1
echo "state in a file is the same state"
