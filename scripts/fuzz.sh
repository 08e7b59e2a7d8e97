#!/bin/sh
# Runs every libFuzzer target of a fuzz build for a while, one on each processor; fails when one finds something.
#   scripts/fuzz.sh BUILD-DIR [TARGET...]      FUZZ_SECONDS=60 each
# With FUZZ_SEED=N as many inputs as fuzz/inputs.txt says, whatever the machine's speed, from an empty corpus and at
# fixed addresses, without reading the corpus again by the clock: the same inputs for targets that have no threads or
# files, nearly the same for the others. So a change that fails there most likely fails by its own doing.
# With FUZZ_ON=1 a target goes on after a finding, for as long as FUZZ_SECONDS says: all that it meets are in its folder then.
# Seeds come from fuzz/seeds/<target>/ when that folder exists; findings stay in BUILD-DIR/findings.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: scripts/fuzz.sh BUILD-DIR [TARGET...]}
shift
seconds=${FUZZ_SECONDS:-60}
if [ $# -ne 1 ]; then
    [ $# -gt 0 ] || set -- $(cd "$here/fuzz" && ls fuzz_*.c | sed 's/\.c$//')
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} "$here/scripts/fuzz.sh" "$build" {} || exit 1
    exit
fi

target=$1
if [ ! -x "$build/fuzz/$target" ]; then
    echo "$target: not built in $build/fuzz" >&2
    exit 1
fi
corpus="$build/corpus/$target"
findings="$build/findings/$target"
mkdir -p "$corpus" "$findings"
seeds="$here/fuzz/seeds/$target"
[ -d "$seeds" ] || seeds=
models=/usr/share/libonnx-testdata/data/node
if [ "$target" = fuzz_onnx ] && [ -d "$models" ]; then # the conformance models are the best seeds there are
    seeds="$build/seeds/$target"
    mkdir -p "$seeds"
    for model in "$models"/*/model.onnx; do cp "$model" "$seeds/$(basename "$(dirname "$model")")"; done
fi
log="$build/$target.log"
fixed=
length="-max_total_time=$seconds"
if [ -n "${FUZZ_SEED:-}" ]; then
    inputs=$(sed -n "s/^$target  *//p" "$here/fuzz/inputs.txt")
    if [ -z "$inputs" ]; then
        echo "$target: fuzz/inputs.txt does not say how many inputs" >&2
        exit 1
    fi
    fixed="setarch $(uname -m) -R"
    length="-reload=0 -runs=$inputs"
    rm -rf "$corpus"
    mkdir -p "$corpus"
fi
on=
if [ -n "${FUZZ_ON:-}" ]; then
    on="-fork=1 -ignore_crashes=1 -ignore_ooms=1 -ignore_timeouts=1"
    rm -f "$findings"/*
fi
if UBSAN_OPTIONS=print_stacktrace=1 $fixed "$build/fuzz/$target" $length $on -seed="${FUZZ_SEED:-0}" -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix="$findings/" -print_final_stats=1 "$corpus" $seeds >"$log" 2>&1 &&
    { [ -z "$on" ] || [ -z "$(ls "$findings")" ]; }; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p; s/^#\([0-9]*\): cov.*/\1/p' "$log" | tail -n 1) inputs, no finding"
else
    echo "$target: FINDING, see $log and $findings" >&2
    grep -m 3 -E 'ERROR|SUMMARY|runtime error' "$log" >&2
    exit 1
fi
