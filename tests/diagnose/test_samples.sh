#!/bin/bash
# The labelled sample logs are read right: every field and cause that the labels score.
# The scorer and the samples live beside the source tree; without them there is nothing to compare with.
set -u
program=$1 source=$2
shared=$source/../shared
[ -d "$shared/data/oom-samples" ] || shared=$source/../../shared
[ -d "$shared/data/oom-samples" ] && command -v python3 >/dev/null || exit 77
report=$(python3 "$shared/tools/score_explain.py" "$program" "$shared/data/oom-samples" --misses 40 --timeout 60) || exit 1
echo "$report" | awk '
    $1 == "found" { if ($2 < 1 || !/false positives 0 of/) bad = 1 }
    $1 == "cause" && $3 ~ /of/ { if ($2 < 0.99) bad = 1 }
    $1 ~ /^(framework|requested_bytes|shape|capacity_bytes|allocated_bytes|reserved_bytes|free_bytes)$/ && $3 ~ /of/ { if ($2 < 0.99) bad = 1 }
    $1 ~ /^(crash|timeout|invalid)$/ { if ($NF + 0 > 0 && NF < 4) bad = 1 }
    /^score:/ { seen = 1 }
    END { exit bad || !seen }' || { echo "$report"; exit 1; }
echo "$report" | tail -1
