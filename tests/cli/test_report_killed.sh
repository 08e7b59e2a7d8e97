#!/bin/bash
# A run that is killed while it records for its page (--report) leaves no file behind.
#   test_report_killed.sh PLIMSOLL SOURCE
program=$(realpath "$1")
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" && mkdir temporary pages || exit 1
export TMPDIR=$work/temporary
"$program" zoo mlp --width 32 -o model.onnx > /dev/null || exit 1
"$program" train model.onnx --data synthetic --steps 3 --quiet --report pages/whole.html > out || { echo "FAILED: no page"; exit 1; }
[ -s pages/whole.html ] || { echo "FAILED: the page is empty"; exit 1; }
"$program" train model.onnx --data synthetic --epochs 100000 --quiet --report pages/killed.html > out 2>&1 &
for _ in $(seq 200); do # until it records
    ls -l /proc/$!/fd 2> /dev/null | grep -qE "temporary/.*deleted" && break
    sleep 0.1
done
ls -l /proc/$!/fd 2> /dev/null | grep -qE "temporary/.*deleted" || { echo "FAILED: nothing is recorded"; kill -9 $!; exit 1; }
kill -9 $!
wait $! 2> /dev/null
left=$(ls -A temporary; ls -A pages | grep -v '^whole.html$')
[ -z "$left" ] || { echo "FAILED: left behind: $left"; exit 1; }
