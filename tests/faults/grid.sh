#!/bin/bash
# Makes allocations of the whole process fail, one in each run, on a grid over all that a command makes: it must end with a
# message or do without. No signal, no hang, no exit of a library. The same under limits of the address space.
#   grid.sh PLIMSOLL POINTS [LIMITS [WORDS [PART]]]      POINTS failures and LIMITS limits for each command; WORDS: only for
#                                                        commands that begin with them; PART: 2/5 is the second fifth of points
# A run hangs when it computes for a minute, or waits for a quarter of an hour: on a busy machine seconds of the clock say little.
program=$(realpath "$1") points=$2 limits=${3:-0} only=${4:-} part=${5:-1/1}
preload=$(dirname "$program")/tests/libfailing_process.so
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
[ -e "$preload" ] || { echo "no $preload"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ulimit -c 0
bad=0 done_without=0 told=0

judge() { # WHAT CODE
    case $2 in
    0) done_without=$((done_without + 1)) ;;
    1) told=$((told + 1))
       if [ ! -s err ] || grep -qE 'libgomp|terminate' err; then echo "FAILED: $1: exit 1, $(head -1 err)"; bad=$((bad + 1)); fi ;;
    127) grep -qE 'loading shared|glibc error' err || { echo "FAILED: $1: exit 127"; bad=$((bad + 1)); } ;; # it did not even start
    *) echo "FAILED: $1: exit $2, $(tail -1 err)"; bad=$((bad + 1)) ;;
    esac
}

bound() { ulimit -t 60; }

fail_each() { # COMMAND...: one request after the other
    rm -f out.*
    LD_PRELOAD=$preload PLIM_FAIL_COUNT=count "$program" "$@" > out 2> err || { echo "FAILED: $*: $(cat err)"; exit 1; }
    total=$(cat count)
    for ((i = ${part%/*}; i <= points; i += ${part#*/})); do
        n=$(((i * total + points - 1) / points))
        rm -f out.*
        (bound; exec timeout 900 env LD_PRELOAD="$preload" PLIM_FAIL_AT=$n "$program" "$@") > out 2> err < /dev/null
        judge "$*: request $n of $total" $?
    done
}

fits() { (bound; ulimit -v "$1"; shift; exec timeout 900 "$program" "$@") > out 2> err < /dev/null; }

limit_each() { # COMMAND...: from where the program starts at all to where the command works; a few: around what was seen
    local low=20000 high=2000000 least=20000 most=110000 middle
    if [ "$limits" -ge 20 ]; then
        while [ $((high - low)) -gt 500 ]; do
            middle=$(((low + high) / 2))
            rm -f out.*
            if fits $middle "$@"; then high=$middle; else low=$middle; fi
        done
        most=$((high + 4000))
        high=$most
        while [ $((high - least)) -gt 500 ]; do
            middle=$(((least + high) / 2))
            if fits $middle --version; then high=$middle; else least=$middle; fi
        done
    else
        least=66000
    fi
    for ((i = 1; i <= limits; i++)); do
        kib=$((least + (most - least) * i / limits))
        rm -f out.*
        fits $kib --version || continue # it does not even start: libgomp ends the process before main
        fits $kib "$@"
        judge "ulimit -v $kib: $*" $?
    done
}

"$program" zoo lenet -o lenet.onnx > out && "$program" zoo gpt2-tiny --layers 1 --width 32 --heads 2 --seq 16 -o gpt.onnx > out || exit 1
while read -r command; do
    [[ $command == "$only"* ]] || continue
    # shellcheck disable=SC2086
    fail_each $command
    [ "$limits" -eq 0 ] && continue
    # shellcheck disable=SC2086
    limit_each $command
    # oneDNN makes other kernels for AVX2, and makes them later
    # shellcheck disable=SC2086
    DNNL_MAX_CPU_ISA=AVX2 limit_each $command
done << 'COMMANDS'
inspect lenet.onnx
infer lenet.onnx --zeros --threads 2
plan lenet.onnx --batch 1 --threads 2 --optimizer sgd --budget 34MiB
train lenet.onnx --data synthetic --batch 8 --steps 2 --threads 2 --out out.onnx
train gpt.onnx --data synthetic --batch 4 --steps 1 --threads 2 --budget auto --checkpoint out.ckpt
zoo lenet --seed 2 -o out.onnx
COMMANDS
echo "$((done_without + told + bad)) runs: $done_without did without, $told told what failed, $bad ended badly"
[ $bad -eq 0 ] && [ $told -gt 0 ]
