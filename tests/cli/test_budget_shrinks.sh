#!/bin/bash
# A run with --budget auto whose memory cgroup is halved twice while it trains goes on within what is left and ends with
# the losses of a run that was not disturbed. The group is asked first (memory.soft_limit_in_bytes, or memory.high): a hard
# limit below what is in use is refused by version 1 and kills in version 2.   test_budget_shrinks.sh PLIMSOLL SOURCE
program=$(realpath "$1")
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
if grep -q __asan_init "$program" 2>/dev/null; then echo "skipped: sanitizers have memory of their own"; exit 77; fi
if [ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    group=/sys/fs/cgroup/memory/plimsoll-shrinks-$$ hard=memory.limit_in_bytes soft=memory.soft_limit_in_bytes
    peak=memory.max_usage_in_bytes usage=memory.usage_in_bytes
elif [ -w /sys/fs/cgroup/cgroup.procs ] && grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    group=/sys/fs/cgroup/plimsoll-shrinks-$$ hard=memory.max soft=memory.high peak= usage=memory.current
fi
[ -n "$group" ] && mkdir "$group" 2>/dev/null || { echo "skipped: no memory cgroup can be made here"; exit 77; }
work=$(mktemp -d) pid=
trap '[ -z "$pid" ] || kill -9 $pid 2> /dev/null; sleep 0.1; rmdir "$group"; rm -rf "$work"' EXIT
cd "$work" || exit 1
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive XDG_RUNTIME_DIR=$work
fail() { echo "FAILED: $*"; cat err 2>/dev/null; exit 1; }
losses() { python3 -c 'import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    if "loss" in row and "step" in row: print(row["step"], row["loss"])' "$1"; }
number() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."): r = r[key]
print(r)' "$1" "$2"; }

"$program" zoo vit-tiny --layers 6 -o model.onnx > /dev/null || fail "zoo"
run=("$program" train model.onnx --data synthetic --batch 48 --allow exact --optimizer sgd --lr 0.01 --json)
"$program" plan model.onnx --batch 48 --allow exact --optimizer sgd --budget 64GiB --json > plan.json 2> err || fail "plan"
most=$(number plan.json unconstrained.process_bytes) least=$(number plan.json minimum_budget_bytes)
# the first limit is just enough for the fastest plan; a quarter of it must still be enough for the smallest
first=$((most + most / 10 + (16 << 20)))
echo "unconstrained $((most >> 20)) MiB, smallest $((least >> 20)) MiB, limits $((first >> 20)), $((first >> 21)), $((first >> 22)) MiB"
[ $((first / 4)) -gt $((least + (8 << 20))) ] || fail "this model cannot shrink to a quarter"

echo "$first" > "$group/$hard" || fail "cannot set the limit of $group"
sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" "${run[@]}" --budget auto --steps 24 \
    --log shrunk.log > shrunk.json 2> err &
pid=$!
after() { # STEP: waits until that many were made
    while [ ! -s shrunk.log ] || [ "$(wc -l < shrunk.log)" -lt "$1" ]; do
        kill -0 $pid 2> /dev/null || fail "the run ended early, in step $(wc -l < shrunk.log)"
        sleep 0.1
    done
}
halve() { # LIMIT
    echo "$1" > "$group/$soft" || fail "cannot ask $group for $1 bytes"
    until [ "$(cat "$group/$usage")" -le "$1" ] && echo "$1" > "$group/$hard"; do
        kill -0 $pid 2> /dev/null || fail "the run did not survive: $1"
        sleep 0.2
    done 2> /dev/null
    [ -z "$peak" ] || echo 0 > "$group/$peak"
    echo "limit $(($1 >> 20)) MiB after step $(wc -l < shrunk.log)"
}
after 4
halve $((first / 2))
after $(($(wc -l < shrunk.log) + 4))
halve $((first / 4))
kill -0 $pid 2> /dev/null || fail "the run was over before the second limit held"
from=$(wc -l < shrunk.log)
wait $pid || fail "the run failed with $?"
pid=
[ -z "$peak" ] || [ "$(cat "$group/$peak")" -le $((first / 4)) ] || fail "more was used than the last limit"
"${run[@]}" --steps "$(number shrunk.json steps)" --log quiet.log > quiet.json 2> err || fail "the run without limits"
[ "$(losses quiet.log)" = "$(losses shrunk.log)" ] || fail "the losses differ: $(diff <(losses quiet.log) <(losses shrunk.log) | head -4)"
[ "$(number shrunk.json replans)" -ge 2 ] || fail "it planned again $(number shrunk.json replans) times"
[ "$(number shrunk.json class)" = exact ] || fail "the plan is not exact"
echo "halved twice, planned again $(number shrunk.json replans) times, $(number shrunk.json steps) steps with the same losses, the last from step $from on within $((first >> 22)) MiB"
