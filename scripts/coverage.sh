#!/bin/sh
# Runs tests of a build with -DPLIM_COVERAGE=ON and reports which lines of src they reach.
#   scripts/coverage.sh BUILD-DIR [TESTS]      TESTS: a regular expression of ctest
# A failed test does not end it: what was reached is reported, and the failures are the last lines'. A build that counts takes other
# memory, rounds otherwise and needs its library: tests that judge these run for what they reach, and are not judged here.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "${1:?usage: scripts/coverage.sh BUILD-DIR [TESTS]}")
find "$build" -name '*.gcda' -delete
unjudged='^(cli_budget_.*|cli_largest_batch|cli_streamed|cli_tokenizer|cli_install|faults_commands|run_learning)$'
ctest --test-dir "$build" -j "$(nproc)" -R "${2:-.}" --output-on-failure --timeout 1800 > "$build/tests.log" 2>&1 || true
grep 'tests passed' "$build/tests.log"
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
failed=$(grep -v '(Skipped)$' "$build/tests.log" | sed -n 's/^[[:space:]]*[0-9]* - \([a-z0-9_]*\) (.*)$/\1/p' | grep -v -E "$unjudged" || true)
grep -q 'tests passed' "$build/tests.log" && [ -z "$failed" ] || { echo "tests failed: $failed: $build/tests.log" >&2; exit 1; }
