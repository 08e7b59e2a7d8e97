#!/bin/bash
# Labelled logs of other people are read right. They are not a part of this repository: PLIM_SAMPLES names the folder, with
# their labels in labels.jsonl (tests/diagnose/score.py says what is in it).
set -u
program=$1 source=$2
[ -n "${PLIM_SAMPLES:-}" ] || { echo "skipped: PLIM_SAMPLES names no folder"; exit 77; }
command -v python3 >/dev/null || exit 77
exec python3 "$source/tests/diagnose/score.py" "$program" "$PLIM_SAMPLES" 1 0.99 0.99
