#!/bin/bash
# Budgets of runs that are recorded, logged, measured and saved, at the smallest budget, in a memory cgroup whose limit it
# is. Whatever is asked for beside training, the peak stays below the budget, the arena is as planned to the byte and the
# process within 2 % of its plan; the page is whole, if only of some updates.   test_budget_recorded.sh PLIMSOLL SOURCE
program=$(realpath "$1") make_images=$(realpath "$(dirname "$0")/make_images.py")
. "$(dirname "$0")/memory_group.sh" recorded
export TMPDIR=$work

cat > check.py <<'PY'
import json, sys
r, plan, what, budget, steps = json.load(open("run.json")), json.load(open("plan.json")), sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
peak, planned = r["peak_resident_bytes"], r["planned_process_bytes"]
print(f"{what}: budget {budget / 1e6:.1f} MB, peak {peak / 1e6:.1f}, planned {planned / 1e6:.1f} ({100 * (peak / planned - 1):+.2f} %)")
assert r["steps"] == steps and r["budget_bytes"] == budget
assert peak <= budget, "the budget is exceeded"
assert r["arena_bytes"] == r["planned_arena_bytes"], "the arena is not as planned"
assert abs(planned - peak) <= 0.02 * peak, "the plan is off by more than 2 %"
if what.endswith("report") and r["arena_bytes"] == plan["arena_bytes"]: # `plan` was asked about a run with a page
    assert abs(plan["process_bytes"] - peak) <= 0.02 * peak, "plan --recorded is off by more than 2 %"
    assert plan["by_kind"]["recording"] > 0
PY

# The page has its data, the numbers of the run, and as many updates as it says.
cat > page.py <<'PY'
import json, re, sys
page, r = open(sys.argv[1]).read(), json.load(open("run.json"))
assert page.rstrip().endswith("</html>"), "the page is cut off"
meta = json.loads(re.search(r'<script[^>]*id="meta"[^>]*>(.*?)</script>', page, re.S).group(1))
assert len(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.S).group(1).strip()) > 1000, "no data"
s = meta["summary"]
assert s["cut"] is None and s["arena_bytes"] <= r["arena_bytes"] and s["budget_bytes"] == r["budget_bytes"], s
assert all(x["planned_bytes"] == x["measured_bytes"] for x in s["planned_and_measured"] if x["what"] == "arena"), s
assert len(s["frontier"]) >= 1 and not s["loop"]["leaking"], s
shown, recorded = s["loop"]["steps"], int(sys.argv[2])
match = re.match(r"one in (\d+) ", s["facts"].get("updates shown", ""))
every = int(match.group(1)) if match else 1
assert shown == (recorded + every - 1) // every and shown > 3, (shown, recorded, every)
print(f"  a page of {shown} updates, one in {every}; {s['events']} events")
if sys.argv[3] == "some": assert every > 1, "all fit: that shows nothing"
PY

train() { # label steps options...
    label=$1 steps=$2
    shift 2
    within "$budget" "$program" train "${run[@]}" --steps "$steps" --budget "$budget" --json "$@" > run.json 2> err
    code=$?
    [ $code -eq 0 ] || fail "$model, $label, within $budget: exit code $code"
    python3 check.py "$model, $label" "$budget" "$steps" || fail "$model, $label, within $budget"
}

begin() { # model batch zoo-options... [-- options-of-data...]
    model=$1 run=(model.onnx --batch "$2") zoo=()
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do zoo+=("$1"); shift; done
    [ $# -gt 0 ] && shift && run+=("$@") || run+=(--data synthetic)
    "$program" zoo "$model" "${zoo[@]}" -o model.onnx > /dev/null || fail "zoo $model"
    "$program" plan "${run[@]}" --recorded --json > plan.json 2> err || fail "plan $model"
    budget=$(python3 -c 'import json; print(json.load(open("plan.json"))["minimum_budget_bytes"])')
    "$program" plan "${run[@]}" --recorded --budget "$budget" --json > plan.json 2> err || fail "plan $model within $budget"
}

begin lenet 64 --width 32
train report 100 --report page.html --trace-every 1
python3 page.py page.html 100 any || fail "the page"
train "log, profile and files" 12 --trace run.trace --trace-every 1 --log log.jsonl --profile --out a.onnx --out a.safetensors
[ "$(wc -l < log.jsonl)" -eq 12 ] && [ -s a.onnx ] && [ -s a.safetensors ] || fail "not all was written"
"$program" report run.trace --json > trace.json 2> err && grep -q '"steps": 12' trace.json || fail "the trace is not whole"

begin gpt2-tiny 8 --layers 2
train report 120 --report page.html --trace run.trace --trace-every 1
grep -q "the page shows one in [0-9]* of the recorded updates" err || fail "nothing is said of what is left out"
python3 page.py page.html 120 some || fail "the page"
"$program" report run.trace --json > trace.json 2> err && grep -q '"steps": 120' trace.json || fail "the trace is not whole"

begin resnet18 16 --image 32 --width 24 --classes 10
train report 20 --report page.html --trace-every 1 --profile --log log.jsonl
python3 page.py page.html 20 any || fail "the page"
train checkpoints 4 --checkpoint run.ckpt --checkpoint-every 1 --out b.onnx
train resumed 8 --checkpoint run.ckpt --checkpoint-every 2 --resume --report page.html --trace-every 1
python3 page.py page.html 4 any || fail "the page of a run that was resumed"

python3 "$make_images" train.npz 500 1 28 && python3 "$make_images" val.npz 300 1 28 || fail "no data"
begin lenet 200 --width 64 -- --data train.npz --val val.npz
train "best" 6 --epochs 2 --best best.safetensors --out c.onnx --checkpoint c.ckpt --report page.html --trace-every 1
python3 page.py page.html 6 any || fail "the page of a run with validation"
[ -s best.safetensors ] && [ -s c.onnx ] && [ -s c.ckpt ] || fail "not all was written"
echo "budgets hold for runs that are recorded"
