#!/usr/bin/env bash
# Optimizer state in 8 bits from the command line: it is never used unasked, `plan` shows it, and a run that is interrupted goes on
# to the same weights.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*" >&2; exit 1; }
"$program" zoo mlp --width 256 -o m.onnx > /dev/null
common="m.onnx --data synthetic --batch 8 --optimizer adamw --seed 3 -q"

# --- the plan: bytes, class, and words that are not known
"$program" plan m.onnx --batch 8 --json > wide.json
"$program" plan m.onnx --batch 8 --optimizer-state 8bit --json > narrow.json
python3 - <<'P' || fail "what plan says"
import json
wide, narrow = json.load(open('wide.json')), json.load(open('narrow.json'))
assert wide['state_saved_bytes'] == 0 and wide['class'] == 'exact', wide
elements = (784 * 256, 256 * 256)  # the head and the biases are small
saved = sum(2 * (3 * n - 4 * -(-n // 256)) for n in elements)
assert narrow['state_saved_bytes'] == saved and narrow['class'] == 'lossy', narrow
assert wide['by_kind']['optimizer'] - narrow['by_kind']['optimizer'] == saved, (wide['by_kind'], narrow['by_kind'])
P
"$program" plan m.onnx --optimizer-state 8bit | grep "optimizer state in 8 bits" > /dev/null || fail "the line of the plan"
"$program" plan m.onnx --optimizer-state 4bit 2> said && fail "4 bits" || grep "expected auto, 8bit or 32bit" said > /dev/null || fail "$(cat said)"
"$program" plan m.onnx --optimizer adagrad --optimizer-state 8bit 2> said && fail "adagrad" || grep "no state in 8 bits" said > /dev/null || fail "$(cat said)"

# --- a checkpoint in the middle
"$program" train $common --optimizer-state 8bit --steps 8 -o whole.safetensors > /dev/null 2>&1
"$program" train $common --optimizer-state 8bit --steps 4 --checkpoint c.ckpt -o half.safetensors > /dev/null 2>&1
"$program" train $common --optimizer-state 8bit --steps 8 --checkpoint c.ckpt --resume -o both.safetensors > /dev/null 2>&1
cmp whole.safetensors both.safetensors || fail "a resumed run has other weights"
"$program" train $common --steps 8 -o wide.safetensors > /dev/null 2>&1
cmp -s whole.safetensors wide.safetensors && fail "8 bits made no difference"
# the state of one kind is not taken for that of the other
"$program" train $common --steps 8 --checkpoint c.ckpt --resume -o other.safetensors > /dev/null 2> said && fail "state of other bits" || true
grep -i "c.ckpt" said > /dev/null || fail "$(cat said)"
echo "optimizer state in 8 bits"
