#!/bin/bash
# Under a limit of the address space or of data (ulimit -v, -d), which count what is mapped and not what is resident, a
# budget of `auto` either trains or is refused before the first step: memory never runs out on the way, and nothing crashes.
#   test_budget_ulimit.sh PLIMSOLL SOURCE
program=$(realpath "$1")
if grep -q __asan_init "$program" 2>/dev/null; then echo "skipped: sanitizers map terabytes"; exit 77; fi
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; cat err 2>/dev/null; exit 1; }

"$program" zoo lenet -o lenet.onnx > /dev/null || fail "zoo lenet"
trained=0 refused=0
for kind in -v -d; do
    for kib in 40000 55000 70000 80000 90000 100000 115000 140000 230000 300000; do
        (ulimit -c 0; ulimit $kind $kib; "$program" train lenet.onnx --data synthetic --batch 256 --steps 3 --budget auto) > out 2> err
        code=$?
        case $code in
        0) trained=$((trained + 1)) ;;
        127) ;; # not even its libraries fit
        1)  grep -q "The smallest budget that works is\|planning alone takes more memory\|making kernels needs\|threads cannot be started" err ||
                fail "ulimit $kind $kib: neither trained nor refused"
            refused=$((refused + 1)) ;;
        *)  fail "ulimit $kind $kib: exit code $code" ;;
        esac
    done
done
echo "$trained trained, $refused were refused"
[ $trained -ge 6 ] && [ $refused -ge 2 ] || fail "limits that are enough and limits that are not were to be met"
