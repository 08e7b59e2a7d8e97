#!/bin/bash
# For the same budget `plan` and `train` choose the same way: what one says is what the other does.
#   test_budget_agrees.sh PLIMSOLL SOURCE
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" agrees

same() { # model budget
    "$program" plan model.onnx --batch "$batch" --budget "$2" --json > planned.json 2> err || fail "plan $1 within $2"
    "$program" train model.onnx --batch "$batch" --data synthetic --steps 1 --budget "$2" --json > run.json 2> err || fail "$1 within $2"
    python3 - "$1" "$2" <<'PY'
import json, sys
plan, run = json.load(open("planned.json")), json.load(open("run.json"))
words = "arena_bytes", "micro_batch", "accumulate", "recomputed", "spilled_bytes", "class"
print(f"{sys.argv[1]} within {int(sys.argv[2]) / 1e6:.1f} MB:", *(plan[w] for w in words))
for w in words:
    assert plan[w] == run[w], f"{w}: {plan[w]} planned, {run[w]} done"
PY
}

agree() { # model batch budgets zoo-options...
    model=$1 batch=$2 count=$3
    shift 3
    "$program" zoo "$model" "$@" -o model.onnx > /dev/null || fail "zoo $model"
    "$program" plan model.onnx --batch "$batch" --budget 64GiB --json > plan.json 2> err || fail "plan $model"
    for budget in $(budgets "$count"); do
        same "$model" "$budget" || fail "$model within $budget: plan and train are not of one mind"
    done
}

agree vit-tiny 11 12 --layers 1
agree gpt2-tiny 13 12 --layers 1
agree gpt2-tiny 16 6 --layers 1 --classes 30000 # the same time for many micro-batches, as far as it is known
agree lstm 9 6 --layers 2
agree lenet 60 6
echo "plan and train agree"
