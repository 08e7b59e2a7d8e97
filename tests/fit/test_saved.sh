#!/usr/bin/env bash
# A replay that does not fit names the settings of its own allocator that would have saved it, and what it needs as it is.
set -u
program=$1 source=$2
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 - "$folder" "$source" <<'PY' || exit 1
import sys
sys.path.insert(0, sys.argv[2] + "/python/plimsoll")
from capture_keras import write
M = 1 << 20


def tensor(mebibytes):
    return ("born", mebibytes * M, "op", "[1]", 1, "output")


# Four blocks of 50 MiB, each cut by one of 30: 80 MiB are free and none of it serves 60. Pages can be joined, blocks cannot.
events = [tensor(50) for _ in range(4)]
for index in range(4):
    events += [("died", index), tensor(30)]
write(events + [tensor(60)], sys.argv[1] + "/step.trace", "step")
PY
"$program" replay "$folder/step.trace" --memory 225MiB > "$folder/out" && { echo "it fits"; exit 1; }
grep -q ' until one is refused, PyTorch' "$folder/out" || { cat "$folder/out"; exit 1; }
saved=$(grep ' saved by ' "$folder/out")
case $saved in
*tensorflow* | *max_split* | *onnxruntime*) echo "$saved"; exit 1 ;;
*pytorch:expandable_segments:True*cudamallocasync*) ;;
*) cat "$folder/out"; exit 1 ;;
esac
grep -q 'as it is it needs 260 MiB' "$folder/out" || { cat "$folder/out"; exit 1; }
"$program" replay "$folder/step.trace" --memory 150MiB | grep -q 'saved by .*none of these' || exit 1
"$program" replay "$folder/step.trace" --memory 225MiB --json > "$folder/json" && exit 1
python3 - "$folder/json" <<'PY' || exit 1
import json, sys
d = json.load(open(sys.argv[1]))
history = d["history"]
assert [p["event"] for p in history] == list(range(1, 13)) + [12], history
assert history[3]["requested"] == 200 << 20 and history[-1]["unused"] == 80 << 20, history
assert history[-1]["largest_free"] == 20 << 20 and history[-1]["fragmentation"] == 0.75, history
PY
for card in "RTX 3061:RTX 3060" "H20:near is H200" "foo:list-gpus"; do
    "$program" fit "$folder/step.trace" --gpu "${card%%:*}" 2> "$folder/said" && exit 1
    grep -q "${card#*:}" "$folder/said" || { cat "$folder/said"; exit 1; }
done
exit 0
