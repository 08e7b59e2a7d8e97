#!/usr/bin/env bash
# Precision from the command line: bf16 is never used unasked, `plan` shows it, `train` holds what was planned, and a run that is
# interrupted goes on to the same weights, but not in another precision.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*" >&2; exit 1; }
"$program" zoo gpt2-tiny --seq 64 --layers 3 -o m.onnx > /dev/null
common="m.onnx --data synthetic --batch 8 --seed 3 -q"

# --- the plan: bytes, class, and words that are not known
"$program" plan m.onnx --batch 8 --json > wide.json
"$program" plan m.onnx --batch 8 --precision bf16 --allow exact --json --save bf16.plan > narrow.json
python3 - <<'P' || fail "what plan says"
import json
wide, narrow = json.load(open('wide.json')), json.load(open('narrow.json'))
assert wide['narrow_saved_bytes'] == 0 and wide['class'] == 'exact' and wide['precision'] == 'fp32', wide
assert narrow['narrow_saved_bytes'] > 0 and narrow['class'] == 'lossy' and narrow['precision'] == 'bf16', narrow
assert narrow['by_kind']['activations'] < 0.62 * wide['by_kind']['activations'], (wide['by_kind'], narrow['by_kind'])
P
"$program" plan m.onnx --precision bf16 | grep "precision bf16" > /dev/null || fail "the line of the plan"
"$program" plan m.onnx --precision int3 2> said && fail "int3" || grep "expected auto, fp32 or bf16" said > /dev/null || fail "$(cat said)"

# --- what train does: as planned, and the same from a saved plan
"$program" train $common --precision bf16 --steps 6 -o whole.safetensors --json > run.json 2> /dev/null
python3 - <<'P' || fail "what train says"
import json
run, plan = json.load(open('run.json')), json.load(open('narrow.json'))
assert run['precision'] == 'bf16' and run['class'] == 'lossy', run
assert run['planned_arena_bytes'] == plan['arena_bytes'], (run['planned_arena_bytes'], plan['arena_bytes'])
P
"$program" train $common --precision bf16 --steps 6 --plan bf16.plan -o planned.safetensors > /dev/null 2>&1
cmp whole.safetensors planned.safetensors || fail "a saved plan has other weights"
"$program" train $common --precision fp32 --steps 6 --plan bf16.plan -o other.safetensors > /dev/null 2> said && fail "a plan for another precision"
grep "another precision: 'bf16'" said > /dev/null || fail "$(cat said)"

# --- a checkpoint in the middle
"$program" train $common --precision bf16 --steps 3 --checkpoint c.ckpt -o half.safetensors > /dev/null 2>&1
"$program" train $common --precision bf16 --steps 6 --checkpoint c.ckpt --resume -o both.safetensors > /dev/null 2>&1
cmp whole.safetensors both.safetensors || fail "a resumed run has other weights"
"$program" train $common --steps 6 -o wide.safetensors > /dev/null 2>&1
cmp -s whole.safetensors wide.safetensors && fail "16 bits made no difference"
"$program" train $common --steps 9 --checkpoint c.ckpt --resume -o other.safetensors > /dev/null 2> said && fail "another precision" || true
grep "c.ckpt.*precision bf16; here: fp32" said > /dev/null || fail "$(cat said)"
echo "precision"
