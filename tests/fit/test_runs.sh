#!/usr/bin/env bash
# Several traces of one job: fit shows the middle run, and the range over all of them. TensorFlow's BFC hands out a free chunk
# whole unless it is twice the request: the figures follow from that rule by hand.
set -u
program=$1 source=$2
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 - "$folder" "$source" <<'PY' || exit 1
import sys
sys.path.insert(0, sys.argv[2] + "/python/plimsoll")
from capture_keras import path_of, write
M = 1 << 20


def tensor(mebibytes):
    return ("born", mebibytes * M, "op", "[1]", 1, "output")


# A chunk of 10 MiB is free when 6, or 5, or 8 MiB are asked for: 6 and 8 take it whole, 5 is split off.
for index, asked in enumerate((6, 5, 8)):
    events = [tensor(10), tensor(64), ("died", 0), tensor(asked), tensor(10 if asked == 8 else 1)]
    write(events, path_of(sys.argv[1] + "/step.trace", index), "step")
PY
ls "$folder" | tr '\n' ' ' | grep -q 'step.2.trace step.3.trace step.trace' || { ls "$folder"; exit 1; }
whole=tensorflow:allow_growth:False
"$program" fit "$folder"/step*.trace --gpu 2GiB --allocator $whole --json > "$folder/json" || { cat "$folder/json"; exit 1; }
python3 - "$folder" <<'PY' || exit 1
import json, sys
d = json.load(open(sys.argv[1] + "/json"))
runs = [(run["path"].split("/")[-1], run["allocated"] >> 20) for run in d["runs"]]
# 5: split, 64 + 5 + 1 or the 74 of the beginning; 6: 64 + 10 + 1; 8: 64 + 10 + 10
assert runs == [("step.2.trace", 74), ("step.trace", 75), ("step.3.trace", 84)], runs
assert d["allocated"] >> 20 == 75 and d["reserved"] == d["allocated"] and d["range"]["stacks"] == 15, d
PY
"$program" fit "$folder"/step*.trace --allocator $whole > "$folder/text" || exit 1
grep -q 'allocated .* to .* in 3 runs of the job' "$folder/text" || { cat "$folder/text"; exit 1; }
"$program" fit "$folder/step.trace" "$folder/none.onnx" 2> "$folder/said" && exit 1
grep -q 'one model, or traces of one job' "$folder/said" || { cat "$folder/said"; exit 1; }
"$program" fit "$folder/step.trace" --batch 8 2> "$folder/said" && exit 1
grep -q 'batch is for a model' "$folder/said" || { cat "$folder/said"; exit 1; }
cp "$folder/step.trace" "$folder/cut.trace" && truncate -s 40 "$folder/cut.trace"
"$program" fit "$folder/step.trace" "$folder/cut.trace" 2> "$folder/said" && exit 1
grep -q 'cut.trace' "$folder/said" || { cat "$folder/said"; exit 1; }
many=$(for _ in $(seq 65); do echo "$folder/step.trace"; done)
# shellcheck disable=SC2086
"$program" fit $many 2> "$folder/said" && exit 1
grep -q '65 traces: at most 64' "$folder/said" || { cat "$folder/said"; exit 1; }
exit 0
