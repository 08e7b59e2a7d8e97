#!/bin/bash
# Training within budgets, in processes of their own: the peak stays below the budget, the arena is as planned to the
# byte, the process within 2 % of its plan; in a memory cgroup whose limit is the budget nothing is killed. With
# PLIM_TEST_LARGE="resnet50 unet gpt2" also at the sizes of these real models, which takes an hour.
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" budget

hold() { # model batch zoo-options...
    model=$1 batch=$2
    shift 2
    "$program" zoo "$model" "$@" -o model.onnx > /dev/null || fail "zoo $model"
    "$program" plan model.onnx --batch "$batch" --budget 64GiB --json > plan.json 2> err || fail "plan $model"
    : > plans
    for budget in $(budgets 6); do
        within "$budget" "$program" train model.onnx --batch "$batch" --data synthetic --steps 4 --budget "$budget" --json > run.json 2> err
        code=$?
        [ $code -eq 0 ] || fail "$model within $budget: exit code $code"
        python3 - "$model" "$budget" <<'PY' || fail "$model within $budget"
import json, sys
r, model, budget = json.load(open("run.json")), sys.argv[1], int(sys.argv[2])
peak, plan = r["peak_resident_bytes"], r["planned_process_bytes"]
print(f"{model}: budget {budget / 1e6:.1f} MB, peak {peak / 1e6:.1f}, planned {plan / 1e6:.1f}, {r['class']}, "
      f"micro-batch {r['micro_batch']} x {r['accumulate']}, {r['recomputed']} recomputed, {r['spilled_bytes'] / 1e6:.1f} spilled")
assert r["budget_bytes"] == budget
assert peak <= budget, "the budget is exceeded"
assert r["arena_bytes"] == r["planned_arena_bytes"], "the arena is not as planned"
assert abs(plan - peak) <= 0.02 * peak, "the plan is off by more than 2 %"
print(r["arena_bytes"], file=open("plans", "a"))
PY
    done
    [ "$(sort -u plans | wc -l)" -ge 3 ] || fail "$model: six budgets, and not three plans: they ask for too little"
}

planned() { # on a machine that has no more than the smallest budget, that can be planned too
    within "$(budgets 6 | cut -d ' ' -f 1)" "$program" plan model.onnx --batch "$1" --budget "$(budgets 6 | cut -d ' ' -f 1)" --json > small.json 2> err ||
        fail "$model: no plan within its smallest budget"
}

spilled() { # the smallest budget of a model that keeps much state asks for a file
    python3 -c 'import json, sys; sys.exit(json.load(open("plan.json"))["frontier"][-1]["spilled_bytes"] < 10e6)' || fail "$model spills too little"
}

hold lenet 200 --width 64
hold resnet18 16 --image 96 --width 32 --classes 10
spilled
hold mobilenet_v2 16 --image 64 --classes 10
hold gpt2-tiny 8 --layers 2
hold gpt2-tiny 16 --layers 4
hold gpt2-tiny 16 --layers 1 --classes 30000 # all scores at once are many times what it can do with
planned 16
hold vit-tiny 32 --layers 2
hold lstm 32 --layers 1
for model in $PLIM_TEST_LARGE; do
    case $model in
        resnet50) hold resnet50 16;;
        unet) hold unet 8;;
        gpt2) hold gpt2 4;;
        *) fail "PLIM_TEST_LARGE: $model is none of resnet50, unet, gpt2";;
    esac
done
echo "budgets hold"
