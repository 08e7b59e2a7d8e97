#!/bin/sh
# clang-tidy on the source files named on standard input, one process a file: the analyser takes several files in one process
# for one program. Loops for instruction sets are left out.
#   git ls-files 'src/*.c' | scripts/lint.sh BUILD-DIR
set -eu
build=${1:?usage: scripts/lint.sh BUILD-DIR < FILES}
list=$(mktemp)
trap 'rm -f "$list"' EXIT
grep -E '^src/.*\.c$' | grep -v '^src/kernel/simd/' > "$list" || true
xargs -r -P "$(nproc)" -n 1 clang-tidy -quiet -p "$build" --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' < "$list"
echo "lint: $(wc -l < "$list") files"
