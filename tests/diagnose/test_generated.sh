#!/bin/bash
# Logs made from every message format, with random numbers and every kind of noise, are read right.
# The generator knows the answers because it made the numbers; the scorer compares, field by field.
set -u
program=$1 source=$2
shared=$source/../shared
[ -f "$shared/tools/score_explain.py" ] || shared=$source/../../shared
[ -f "$shared/tools/score_explain.py" ] && command -v python3 >/dev/null || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 "$source/tests/diagnose/generate_logs.py" "$work" 400 2024 || exit 1
report=$(python3 "$shared/tools/score_explain.py" "$program" "$work" --misses 40 --timeout 60) || exit 1
echo "$report" | awk '
    $1 == "found" { if ($2 < 0.99 || !/false positives 0 of/) bad = 1 }
    $1 == "cause" && $3 ~ /of/ { if ($2 < 0.97) bad = 1 }
    $1 ~ /^(framework|requested_bytes|shape|capacity_bytes|allocated_bytes|reserved_bytes|free_bytes)$/ && $3 ~ /of/ { if ($2 < 0.97) bad = 1 }
    $1 ~ /^(crash|timeout|invalid)$/ { if ($NF + 0 > 0 && NF < 4) bad = 1 }
    /^score:/ { seen = 1 }
    END { exit bad || !seen }' || { echo "$report"; exit 1; }
echo "$report" | tail -1
