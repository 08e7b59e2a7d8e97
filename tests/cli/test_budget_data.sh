#!/bin/bash
# Budgets with real data: files, a short batch at the end of each epoch, validation after it, in a memory cgroup whose
# limit is the budget. The peak stays below it, the arena is as planned to the byte, the process within 2 % of its plan;
# also by the plan that `plan --data` has saved.   test_budget_data.sh PLIMSOLL SOURCE
program=$(realpath "$1") make_images=$(realpath "$(dirname "$0")/make_images.py")
. "$(dirname "$0")/memory_group.sh" data

cat > check.py <<'PY'
import json, sys
r, plan, model, budget = json.load(open("run.json")), json.load(open("planned.json")), sys.argv[1], int(sys.argv[2])
peak, planned = r["peak_resident_bytes"], r["planned_process_bytes"]
print(f"{model}: budget {budget / 1e6:.1f} MB, peak {peak / 1e6:.1f}, planned {planned / 1e6:.1f}, {r['class']}, "
      f"micro-batch {r['micro_batch']} x {r['accumulate']}, {r['recomputed']} recomputed ({sys.argv[4]})")
assert r["steps"] == int(sys.argv[3]) and r["validation_loss"] > 0 and r["budget_bytes"] == budget
assert peak <= budget, "the budget is exceeded"
assert r["arena_bytes"] == r["planned_arena_bytes"], "the arena is not as planned"
assert abs(planned - peak) <= 0.02 * peak, "the plan is off by more than 2 %"
if sys.argv[4] == "--plan": # which needs no search, and holds nothing that a search leaves behind
    assert r["arena_bytes"] == plan["arena_bytes"], "the arena is not that of the saved plan"
    assert peak <= 1.02 * plan["process_bytes"], "more than the saved plan says"
elif r["arena_bytes"] == plan["arena_bytes"]:
    assert abs(plan["process_bytes"] - peak) <= 0.02 * peak, "plan --data is off by more than 2 %"
PY

hold() { # model batch training validation channels size zoo-options...
    model=$1 batch=$2 training=$3 validation=$4 channels=$5 size=$6
    shift 6
    [ $((training % batch)) -ne 0 ] || fail "$training samples leave no short batch"
    python3 "$make_images" train.npz "$training" "$channels" "$size" && python3 "$make_images" val.npz "$validation" "$channels" "$size" ||
        fail "no data"
    "$program" zoo "$model" "$@" -o model.onnx > /dev/null || fail "zoo $model"
    data=(--data train.npz --val val.npz --batch "$batch")
    "$program" plan model.onnx "${data[@]}" --budget 64GiB --json > plan.json 2> err || fail "plan $model"
    for budget in $(budgets 3); do
        "$program" plan model.onnx "${data[@]}" --budget "$budget" --save saved.plan --json > planned.json 2> err || fail "plan $model"
        for how in --budget --plan; do
            what=$budget
            [ $how = --budget ] || what=saved.plan
            within "$budget" "$program" train model.onnx "${data[@]}" --epochs 2 $how "$what" --json > run.json 2> err
            code=$?
            [ $code -eq 0 ] || fail "$model within $budget ($how): exit code $code"
            python3 check.py "$model" "$budget" $(((training + batch - 1) / batch * 2)) $how || fail "$model within $budget ($how)"
        done
    done
}

# Two batches an epoch, the second of them short, are enough for all that can happen in one.
hold lenet 200 300 120 1 28 --width 64
hold resnet18 24 40 20 3 96 --image 96 --width 24 --classes 10
hold vit-tiny 100 150 50 3 32 --layers 3
echo "budgets hold for data"
