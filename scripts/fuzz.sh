#!/bin/sh
# Runs every libFuzzer target of a fuzz build for a while, one on each processor; fails when one finds something.
#   scripts/fuzz.sh BUILD-DIR [TARGET...]      FUZZ_SECONDS=60 each; FUZZ_SEED=N for the same inputs every time
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
if UBSAN_OPTIONS=print_stacktrace=1 "$build/fuzz/$target" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$findings/" -print_final_stats=1 "$corpus" $seeds >"$log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, no finding"
else
    echo "$target: FINDING, see $log and $findings" >&2
    grep -m 3 -E 'ERROR|SUMMARY|runtime error' "$log" >&2
    exit 1
fi
