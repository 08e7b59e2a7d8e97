#!/bin/bash
# Labelled logs are read right: our own (cases.txt), and those of other people where PLIM_SAMPLES names their folder, with their
# labels in labels.jsonl (tests/diagnose/score.py says what is in it). The latter are not a part of this repository.
set -u
program=$1 source=$2
command -v python3 >/dev/null || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 "$source/tests/diagnose/cases.py" "$source/tests/diagnose/cases.txt" "$work" || exit 1
python3 "$source/tests/diagnose/score.py" "$program" "$work" 1 1 1 || exit 1
[ -n "${PLIM_SAMPLES:-}" ] || exit 0
exec python3 "$source/tests/diagnose/score.py" "$program" "$PLIM_SAMPLES" 1 0.99 0.99
