#!/bin/bash
# A training that is asked for another budget plans again between two steps and goes on: the losses are those of a run that
# was not disturbed. A budget that cannot be met is told, and the run goes on.   test_budget_request.sh PLIMSOLL SOURCE
set -eu
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PLIMSOLL_COSTS=default XDG_RUNTIME_DIR=$work OMP_WAIT_POLICY=passive
fail() { echo "$*" >&2; exit 1; }
losses() { python3 -c 'import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    if "loss" in row and "step" in row: print(row["step"], row["loss"])' "$1"; }

"$program" zoo gpt2-tiny -o model.onnx > /dev/null
train=("$program" train model.onnx --data synthetic --batch 8 --allow exact --optimizer sgd --lr 0.01 --steps 150 --json)

"$program" budget 999999999 1GiB 2> wrong.txt && fail "a process that is not there was asked"
grep -q "not a plimsoll train" wrong.txt || fail "wrong message: $(cat wrong.txt)"
"${train[@]}" --log quiet.log > quiet.json
"${train[@]}" --log asked.log > asked.json &
pid=$!
while [ ! -s asked.log ]; do sleep 0.1; done
"$program" budget $pid 1MiB > /dev/null     # impossible: refused there
sleep 2.5
kill -0 $pid 2> /dev/null || fail "the run was over too soon to be asked again"
"$program" budget $pid 2GiB > /dev/null
wait $pid || fail "the run that was asked failed"
[ "$(losses quiet.log)" = "$(losses asked.log)" ] || fail "the losses differ: $(diff <(losses quiet.log) <(losses asked.log) | head -4)"
replans=$(python3 -c 'import json; print(json.load(open("asked.json"))["replans"])')
[ "$replans" -ge 1 ] || fail "it never planned again"
echo "asked twice, planned again $replans time(s), the same 150 losses"
