#!/bin/bash
# Budgets that make no sense are refused with what is wrong, sizes mean what they say, and a saved plan for something else
# is refused by name and planned again with --replan.   test_budget_bad_input.sh PLIMSOLL SOURCE
program=$(realpath "$1")
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*"; cat err 2>/dev/null; exit 1; }
sanitized=
grep -q __asan_init "$program" 2>/dev/null && sanitized=yes

"$program" zoo lenet --width 8 -o model.onnx > /dev/null || fail "zoo"
"$program" zoo lenet --width 9 -o other.onnx > /dev/null || fail "zoo"
train=("$program" train model.onnx --data synthetic --batch 8 --steps 2 --json)

# refused CODE WORDS COMMAND...: this exit code, one line on standard error with these words, nothing on standard output
refused() {
    code=$1 words=$2
    shift 2
    "$@" > out 2> err
    got=$?
    [ $got -eq "$code" ] || fail "exit code $got, not $code: $*"
    grep -q -- "$words" err || fail "no word of '$words': $*"
    [ ! -s out ] || fail "standard output is not empty: $*"
    [ "$code" -ne 1 ] || [ "$(wc -l < err)" -eq 1 ] || fail "more than one line: $*"
}

for command in train plan; do
    run=("$program" "$command" model.onnx --batch 8 --json)
    [ $command = plan ] || run+=(--data synthetic --steps 2)
    refused 2 "more than nothing" "${run[@]}" --budget 0
    refused 2 "more than nothing" "${run[@]}" --budget 0GiB
    refused 2 "-700MiB" "${run[@]}" --budget=-700MiB
    refused 2 "not a number of bytes" "${run[@]}" --budget much
    refused 2 "not a number of bytes" "${run[@]}" --budget ""
    refused 2 "not a number of bytes" "${run[@]}" --budget nan
    refused 2 "unknown unit 'XB'" "${run[@]}" --budget 12XB
    refused 2 "64 bits" "${run[@]}" --budget 99999999TiB
    refused 2 "exact, reordered or lossy" "${run[@]}" --budget 1GiB --allow anything
done

# smaller than the program itself: before the first step, with the smallest budget, which works when it is tried
refused 1 "nothing fits a budget of 1.0 MiB" "${train[@]}" --budget 1MiB
refused 1 "The smallest budget that works is" "${train[@]}" --budget 1MiB
smallest=$(sed -n 's/.*smallest budget that works is \([0-9.]*\) MiB.*/\1/p' err)
[ -n "$smallest" ] || fail "no smallest budget is named"
[ -n "$sanitized" ] || "${train[@]}" --budget "${smallest}MiB" > out 2> err || fail "the smallest budget, $smallest MiB, does not work"
"$program" plan model.onnx --batch 8 --budget 1MiB --json > out 2> err && fail "a plan within 1 MiB"
python3 -c 'import json; r = json.load(open("out")); assert r["fits"] is False and r["minimum_budget_bytes"] > 1 << 20' ||
    fail "plan --json of what does not fit"

# larger than the machine: a warning that names the limit, and it trains
"${train[@]}" --budget 9999TiB > out 2> err || fail "a budget larger than the machine"
grep -q "warning: the budget of 9.8 PiB is more than .* leaves" err || fail "no warning"
grep -Eq "memory|limit|cgroup" err || fail "the warning does not name the limit"

# both mean what they say
for pair in 12GB=12000000000 12GiB=12884901888 "12 GiB=12884901888" 0.5GiB=536870912 12884901888=12884901888; do
    "$program" plan model.onnx --batch 8 --budget "${pair%=*}" --json > out 2> err || fail "--budget ${pair%=*}"
    python3 -c 'import json, sys; b = json.load(open("out"))["budget_bytes"]; assert b == int(sys.argv[1]), b' "${pair#*=}" ||
        fail "--budget ${pair%=*} is not ${pair#*=} bytes"
done

# saved plans: for the same, and for something else
"$program" plan model.onnx --batch 8 --budget 2GiB --threads 1 --save saved.plan --json > out 2> err || fail "plan --save"
planned=("${train[@]}" --plan saved.plan --threads 1)
"${planned[@]}" > out 2> err || fail "training by a saved plan"
python3 -c 'import json; r = json.load(open("out")); assert r["budget_bytes"] == 2 << 30 and r["arena_bytes"] == r["planned_arena_bytes"]' ||
    fail "what a saved plan comes to"

other() { # WORDS COMMAND...: refused by name, planned again with --replan
    refused 1 "a plan for another $1.*--replan" "${@:2}"
    "${@:2}" --replan > out 2> err || fail "--replan: ${*:2}"
    python3 -c 'import json; assert json.load(open("out"))["budget_bytes"] == 2 << 30' || fail "--replan has another budget"
}
altered() { # KEY: a copy of the plan with another value there, as another machine or version would have written it
    python3 - "$1" <<'PY'
import re, sys
data = open("saved.plan", "rb").read()
found = re.search(b'"' + sys.argv[1].encode() + b'":"([^"]+)"', data)
value = found.group(1)
changed = value[:-1] + (b"7" if value[-1:] != b"7" else b"8")
open("altered.plan", "wb").write(data[:found.start(1)] + changed + data[found.end(1):])
PY
}
other model "$program" train other.onnx --data synthetic --batch 8 --steps 2 --json --plan saved.plan --threads 1
other "number of threads" "${train[@]}" --plan saved.plan --threads 2
other batch "$program" train model.onnx --data synthetic --batch 9 --steps 2 --json --plan saved.plan --threads 1
other optimizer "${planned[@]}" --optimizer sgd
for key in processor "version of plimsoll" "version of oneDNN"; do
    altered "$key" || fail "no $key in the plan"
    other "$key" "${train[@]}" --plan altered.plan --threads 1
done
refused 1 "not 1073741824" "${planned[@]}" --budget 1GiB
refused 1 "is not a saved plan\|model.onnx" "${train[@]}" --plan model.onnx
refused 1 "nowhere.plan" "${train[@]}" --plan nowhere.plan
echo "bad budgets and plans are refused by name"
