#!/usr/bin/env bash
# Precision from the command line: 16 bits are never used unasked, `plan` shows them, `train` holds what was planned, and a run that
# is interrupted goes on to the same weights, but not in another precision. fp16 skips what overflows and says so; where everything
# does, it stops, and the weights are in the checkpoint.
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
"$program" plan m.onnx --precision int3 2> said && fail "int3" || grep "expected auto, fp32, bf16 or fp16" said > /dev/null || fail "$(cat said)"

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

# --- fp16: planned as it is run, told apart from bf16, the same twice
"$program" plan m.onnx --batch 8 --precision fp16 --allow exact --json --save fp16.plan > half.json
"$program" train $common --precision fp16 --steps 6 --plan fp16.plan -o half.safetensors --json > run.json 2> /dev/null
"$program" train $common --precision fp16 --steps 6 -o again.safetensors --log log.csv > end 2> /dev/null
cmp half.safetensors again.safetensors || fail "fp16 is not the same twice"
cmp -s half.safetensors whole.safetensors && fail "fp16 is bf16"
grep "^fp16: 0 of 6 updates were skipped.*loss scale 65536" end > /dev/null || fail "the end: $(cat end)"
python3 - <<'P' || fail "what fp16 says"
import csv, json
run, plan, wide = (json.load(open(name)) for name in ('run.json', 'half.json', 'wide.json'))
assert plan['precision'] == run['precision'] == 'fp16' and plan['class'] == run['class'] == 'lossy', (plan, run)
assert run['planned_arena_bytes'] == plan['arena_bytes'], (run['planned_arena_bytes'], plan['arena_bytes'])
assert plan['by_kind']['activations'] < 0.62 * wide['by_kind']['activations'], (wide['by_kind'], plan['by_kind'])
assert run['skipped_updates'] == 0 and run['loss_scale'] == 65536, run
assert {row['loss_scale'] for row in csv.DictReader(open('log.csv')) if row['loss']} == {'65536'}
P

# --- some samples are beyond what a half holds once they are multiplied; then all of them are
python3 - <<'P'
for name, large in (('some', lambda i: i % 40 == 7), ('all', lambda i: True)):
    with open(name + '.csv', 'w') as file:
        print(*['c%d' % k for k in range(8)], 'label', sep=',', file=file)
        for i in range(160):
            row = [((i * 97 + k * 31) % 101 / 50 - 1) * (1e7 if large(i) else 1) for k in range(8)]
            print(*row, 'ab'[i % 2], sep=',', file=file)
P
"$program" zoo tabular -o t.onnx > /dev/null
over="t.onnx --batch 8 --seed 3 --precision fp16 -q"
"$program" train $over --data some.csv --target label --steps 18 -o o.safetensors --trace o.trace --json > whole.json 2> said ||
    fail "$(cat said)"
"$program" report o.trace --json > trace.json 2> said || fail "$(cat said)"
"$program" train $over --data some.csv --target label --steps 9 --checkpoint o.ckpt > /dev/null 2>&1
"$program" train $over --data some.csv --target label --steps 18 --checkpoint o.ckpt --resume -o p.safetensors --json > parts.json 2> said ||
    fail "$(cat said)"
cmp o.safetensors p.safetensors || fail "a resumed run with skipped updates has other weights"
python3 - <<'P' || fail "skipped updates"
import json
whole, parts = json.load(open('whole.json')), json.load(open('parts.json'))
assert 0 < whole['skipped_updates'] < 18 and whole['loss_scale'] == 65536 / 2 ** whole['skipped_updates'], whole
assert all(parts[k] == whole[k] for k in ('skipped_updates', 'loss_scale')), (whole, parts)
scale = [s['curve'] for s in json.load(open('trace.json'))['series'] if s['name'] == 'loss scale'][0]
assert scale['values'] == [65536 / 2 ** i for i in range(len(scale['values']))] and len(scale['values']) > 1, scale
assert whole['loss_scale'] in (scale['values'][-1], scale['values'][-1] / 2), (scale, whole)
P
"$program" train $over --data all.csv --target label --steps 40 --checkpoint a.ckpt -o a.safetensors > /dev/null 2> said && fail "all overflow"
grep "update 20: gradients are not finite in 20 updates in a row.*bf16" said > /dev/null || fail "$(cat said)"
[ -e a.safetensors ] && fail "weights of a run that failed"
"$program" train t.onnx --batch 8 --data some.csv --target label --weights a.ckpt --precision bf16 --steps 2 -q > /dev/null 2> said ||
    fail "the weights are lost: $(cat said)"
echo "precision"
