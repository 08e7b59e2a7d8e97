#!/bin/sh
# Runs tests of a build with -DPLIM_COVERAGE=ON and reports which lines of src they reach.
#   scripts/coverage.sh BUILD-DIR [TESTS]      TESTS: a regular expression of ctest
# A failed test does not end it: what was reached is reported, and the failure is the last line's.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "${1:?usage: scripts/coverage.sh BUILD-DIR [TESTS]}")
find "$build" -name '*.gcda' -delete
failed=0
ctest --test-dir "$build" -j "$(nproc)" -R "${2:-.}" --output-on-failure --timeout 1800 > "$build/tests.log" 2>&1 || failed=1
tail -n 3 "$build/tests.log"
mkdir -p "$build/report"
cd "$here"
# jobs: gcov writes into the same names; simd is compiled once for each instruction set
gcovr --root . --object-directory "$build" --filter 'src/' --gcov-ignore-parse-errors --exclude-unreachable-branches \
    --html-details "$build/report/index.html" --json-summary "$build/report/summary.json" --txt "$build/report/lines.txt" "$build" 2> "$build/gcovr.log" ||
    { tail -n 5 "$build/gcovr.log" >&2; exit 1; }
awk '/^src\// { n = split($1, part, "/"); lines[part[2]] += $2; reached[part[2]] += $3 }
    /^TOTAL/ { total = $0 }
    END { for (f in lines) printf "%-10s %6d lines  %5.1f %% reached\n", f, lines[f], 100 * reached[f] / (lines[f] ? lines[f] : 1) | "sort"; close("sort"); print total }' "$build/report/lines.txt"
echo "coverage: $build/report/index.html"
[ $failed = 0 ] || { echo "some tests failed: $build/tests.log" >&2; exit 1; }
