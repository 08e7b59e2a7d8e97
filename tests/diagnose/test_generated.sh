#!/bin/bash
# Logs made from every message format, with random numbers and every kind of noise, are read right.
# The generator knows the answers because it made the numbers; the score compares, field by field.
set -u
program=$1 source=$2
command -v python3 >/dev/null || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 "$source/tests/diagnose/generate_logs.py" "$work" 400 2024 || exit 1
python3 "$source/tests/diagnose/score.py" "$program" "$work" 0.99 0.97 0.97
