#!/usr/bin/env bash
# Frozen layers in few bits from the command line: the plan counts them, validation reads them as training does, a budget holds,
# files come out as without, and what cannot be is refused in one line.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*" >&2; exit 1; }
refused() { local words=$1; shift; if "$program" "$@" > said 2>&1; then fail "$*: not refused"; fi; grep -- "$words" said > /dev/null || fail "$* says: $(cat said)"; }
"$program" zoo llama --seq 32 --width 256 --layers 4 --heads 4 --classes 256 -o m.onnx > /dev/null
python3 -c "print('what is in the box, and what is on top of it; ' * 400)" > text.txt

# --- the plan: a weight of the layers takes 4.5 bits, or 8, or 16
for base in fp32 bf16 int8 nf4 file; do
    "$program" plan m.onnx --batch 2 --lora r=4 --base $base --json > $base.json 2> /dev/null
done
python3 - <<'P' || fail "what plan says"
import json
plans = {base: json.load(open(base + '.json')) for base in ('fp32', 'bf16', 'int8', 'nf4', 'file')}
whole = plans['fp32']['by_kind']['weights']
assert plans['fp32']['class'] == 'exact' and plans['fp32']['base_saved_bytes'] == 0, plans['fp32']
table = 4 * 256 * 256  # the embedding stays in the file
for base, bits in (('bf16', 16), ('int8', 8), ('nf4', 4.5)):
    plan, saved = plans[base], plans[base]['base_saved_bytes']
    assert plan['class'] == 'lossy' and plan['base'] == base, plan
    layers = (saved - table) / (1 - bits / 32)  # bytes in float32
    assert 0.6 * whole < layers < 0.99 * whole, (base, layers, whole)
    assert abs(whole - saved - plan['by_kind']['weights']) < 0.01 * whole, (base, whole, saved, plan['by_kind'])
file = plans['file']
assert file['class'] == 'reordered' and file['by_kind']['weights'] < 0.03 * whole, file['by_kind']
P
"$program" plan m.onnx --batch 2 --lora r=4 --base nf4 2> /dev/null | grep "frozen layers in nf4" > /dev/null || fail "the line of the plan"

# --- training: the weights of the base are there once, with validation too, and learning goes on
common="m.onnx --data text.txt --seq 32 --batch 2 --seed 1 --lr 0.01 -q --lora r=4"
"$program" train $common --base nf4 --steps 40 --adapter a --merge merged.onnx --json > run.json 2> /dev/null
"$program" train $common --base nf4 --epochs 1 --validation 0.2 --adapter b --json > validated.json 2> /dev/null
"$program" train $common --steps 40 --adapter whole --json > wide.json 2> /dev/null
"$program" train $common --base file --steps 40 --adapter file --json > file.json 2> /dev/null
python3 - <<'P' || fail "what train says"
import json
run, validated, wide, file = (json.load(open(name + '.json')) for name in ('run', 'validated', 'wide', 'file'))
assert run['base'] == 'nf4' and run['class'] == 'lossy' and wide['class'] == 'exact', run
assert validated['planned_arena_bytes'] < run['planned_arena_bytes'] + (1 << 20), (validated['planned_arena_bytes'], run['planned_arena_bytes'])
assert validated['validation_loss'] < 4, validated
assert abs(file['loss'] - wide['loss']) < 1e-4, (file['loss'], wide['loss'])
assert run['loss'] < 4 and abs(run['loss'] - wide['loss']) < 0.2, (run['loss'], wide['loss'])
P
"$program" inspect merged.onnx > said; grep -E "nf4|lora_" said > /dev/null && fail "the merged model has traces of training"

# --- within a budget, the same adapters
least=$("$program" plan m.onnx --data text.txt --seq 32 --batch 2 --seed 1 --lora r=4 --base nf4 --json 2> /dev/null | python3 -c "import json, sys; print(json.load(sys.stdin)['minimum_budget_bytes'] + (1 << 20))")
"$program" train $common --base nf4 --steps 40 --adapter tight --budget "$least" --allow exact > /dev/null 2>&1
cmp a/adapter_model.safetensors tight/adapter_model.safetensors || fail "a budget makes other adapters"

# --- a checkpoint and a saved plan are for one form
"$program" train $common --base int8 --steps 3 --checkpoint c.ckpt --adapter c > /dev/null 2>&1
refused "form of frozen layers int8; here: nf4" train $common --base nf4 --steps 6 --checkpoint c.ckpt --resume --adapter c
"$program" plan m.onnx --batch 2 --lora r=4 --base int8 --save int8.plan > /dev/null 2>&1
refused "another form of frozen layers: 'int8'" train m.onnx --data synthetic --batch 2 --lora r=4 --base nf4 --steps 1 --plan int8.plan --adapter c

# --- what cannot be
refused "no effect without --lora" train m.onnx --data synthetic --base nf4 --steps 1
refused "no layer is frozen" train m.onnx --data synthetic --base nf4 --steps 1 --freeze lm_head.weight
refused "expected fp32, bf16, int8, nf4 or file" plan m.onnx --lora r=4 --base int3
echo "base"
