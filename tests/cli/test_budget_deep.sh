#!/bin/bash
# A program that has no room within the budget is not made to its end: a network of thousands of thin layers is refused before it
# takes more, with what it would need, and `plan` names for it a budget that works. Nor is a step packed with care that does not fit
# however it is packed.
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" deep

"$program" zoo gpt2-tiny --layers 600 --width 4 --heads 1 --seq 4 --classes 8 -o model.onnx > /dev/null || fail "zoo"
refused() { # MiB
    within $(($1 << 20)) python3 - "$program" "$1" <<'PY' || fail "within $1 MiB"
import resource, subprocess, sys
program, budget = sys.argv[1], int(sys.argv[2])
command = [program, "train", "model.onnx", "--batch", "4", "--data", "synthetic", "--steps", "1", "--budget", f"{budget}MiB"]
done = subprocess.run(command, capture_output=True, text=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(f"within {budget} MiB: {peak / 1024:.1f} MiB held; {done.stderr.strip()[-200:]}")
assert done.returncode == 1, f"exit code {done.returncode}"
assert "a budget of less than" in done.stderr, "no budget is named"
assert peak <= budget << 10, "planning exceeds the budget"
PY
}
refused 100 # by the number of nodes
refused 160 # while it is lowered
"$program" zoo mlp --image 4 --channels 1 --width 4 --layers 60 -o model.onnx > /dev/null || fail "zoo"
run=(model.onnx --batch 4 --data synthetic --steps 1)
"$program" plan "${run[@]}" --json > plan.json 2> err || fail "plan"
least=$(python3 -c 'import json; print(json.load(open("plan.json"))["minimum_budget_bytes"])')
within "$least" "$program" train "${run[@]}" --budget "$least" > run.json 2> err || fail "train within $least: exit code $?"
"$program" zoo gpt2-tiny --layers 11 --width 24 --heads 1 --seq 9 -o model.onnx > /dev/null || fail "zoo"
run=(model.onnx --batch 62 --optimizer adafactor --threads 2 --data synthetic --steps 1)
"$program" plan "${run[@]}" --json > plan.json 2> err || fail "plan"
least=$(python3 -c 'import json; print(json.load(open("plan.json"))["minimum_budget_bytes"])')
for try in 1 2 3 4; do # pages differ from run to run
    "$program" train "${run[@]}" --budget "$least" --json > run.json 2> err || fail "train within $least: exit code $?"
    python3 - "$least" <<'PY' || fail "a step that does not fit is packed in more memory than the budget (run $try)"
import json, sys
peak = json.load(open("run.json"))["peak_resident_bytes"]
print(f"within {int(sys.argv[1]) >> 20} MiB: {peak / 2**20:.1f} MiB held")
assert peak <= int(sys.argv[1])
PY
done
echo "what has no room is not made"
