#!/bin/bash
# A run that is asked for a smaller budget holds the old one until the new one holds, and then the new one; so it does when it
# refuses.   test_budget_lowered.sh PLIMSOLL SOURCE
set -eu
program=$(realpath "$1")
if grep -q __asan_init "$program" 2>/dev/null; then echo "skipped: sanitizers have memory of their own"; exit 77; fi
work=$(mktemp -d) pid=
trap '[ -z "$pid" ] || kill -9 $pid 2> /dev/null; rm -rf "$work"' EXIT
cd "$work"
export PLIMSOLL_COSTS=default XDG_RUNTIME_DIR=$work OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*"; cat err 2>/dev/null; exit 1; }
highest() { awk '/^VmHWM/ { print $2 * 1024 }' /proc/$pid/status; }
forget() { echo 5 > /proc/$pid/clear_refs; }
rows() { grep -c '"loss"' log || true; }
steps() { local until=$(($(rows) + $1)); while [ "$(rows)" -lt $until ]; do kill -0 $pid 2> /dev/null || fail "the run ended"; sleep 0.05; done; }
ask() { forget; "$program" budget $pid "$1MiB" > /dev/null; until grep -q "asked for a budget of $1.0 MiB" err; do kill -0 $pid || fail "the run ended"; sleep 0.05; done
    grep -q "asked for a budget of $1.0 MiB$2" err || fail "$1 MiB were asked for"; steps 3; }

"$program" zoo lenet --width 8 -o model.onnx > /dev/null
"$program" train model.onnx --data synthetic --batch 60 --optimizer sgd --lr 0.01 --steps 1000000 --budget 32MiB --log log > out 2> err &
pid=$!
while [ ! -s log ]; do kill -0 $pid 2> /dev/null || fail "the run ended"; sleep 0.05; done
echo 5 > /proc/$pid/clear_refs 2> /dev/null || { echo "skipped: the highest resident size cannot be reset here"; exit 77; }

ask 29 ": planned again"
during=$(highest)
forget; steps 20
after=$(highest)
[ "$during" -le $((32 << 20)) ] || fail "held $during bytes while planning again within 32 MiB"
[ "$after" -le $((29 << 20)) ] || fail "held $after bytes of 29 MiB"
ask 12 ", but: "
refused=$(highest)
[ "$refused" -le $((29 << 20)) ] || fail "held $refused bytes of 29 MiB while refusing 12"
kill -INT $pid; wait $pid || true
pid=
echo "32 to 29 MiB: $during bytes while planning, $after afterwards, $refused while refusing 12 MiB"
