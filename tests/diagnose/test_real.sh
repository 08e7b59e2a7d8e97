#!/usr/bin/env bash
# What real programs printed when they ran out of memory (tests/real_errors made them): every number, cause and first fix.
set -eu
program=$1 source=$2
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
exec python3 - "$program" "$source" <<'END'
import glob, json, os, sys
program, source = sys.argv[1:]
sys.path.insert(0, os.path.join(source, "tests", "real_errors"))
import run
cases = sorted(glob.glob(os.path.join(source, "tests", "diagnose", "real", "*.json")))
assert len(cases) >= 20, f"only {len(cases)} cases"
bad = 0
for case in cases:
    with open(case) as f:
        expect = json.load(f)["expect"]
    wrong = run.differences(run.explain(program, case[:-5] + ".txt"), expect)
    if wrong:
        bad += 1
        print(os.path.basename(case), *wrong, sep="\n  ")
print(f"{len(cases)} cases, {bad} wrong")
sys.exit(bad > 0)
END
