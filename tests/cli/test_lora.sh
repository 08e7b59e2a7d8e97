#!/usr/bin/env bash
# Adapters from the command line: the plan has no gradients and no state for the base, files come out and go in again, and what
# cannot be is refused in one line.
set -euo pipefail
program=$1
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*" >&2; exit 1; }
refused() { local words=$1; shift; if "$program" "$@" > said 2>&1; then fail "$*: not refused"; fi; grep -- "$words" said > /dev/null || fail "$* says: $(cat said)"; }
"$program" zoo llama --seq 16 --width 64 --layers 2 --heads 4 --classes 200 -o m.onnx > /dev/null

# --- the plan
"$program" plan m.onnx --batch 2 --json > whole.json
"$program" plan m.onnx --batch 2 --lora r=4 --json > small.json 2> /dev/null
python3 - <<'P' || fail "what plan says"
import json
whole, small = json.load(open('whole.json')), json.load(open('small.json'))
parameters = 2 * (4 * (64 + 64) + 4 * (64 + 16))  # q_proj 64 to 64 and v_proj 64 to 16, in two layers
assert small['by_kind']['optimizer'] == 8 * parameters, small['by_kind']
assert whole['by_kind']['optimizer'] > 50 * small['by_kind']['optimizer']
assert small['class'] == 'exact' and small['arena_bytes'] < 0.6 * whole['arena_bytes'], (small['arena_bytes'], whole['arena_bytes'])
P

# --- there and back
common="m.onnx --data synthetic --batch 2 --seed 1 -q"
"$program" train $common --steps 6 --lora r=4,alpha=8,targets=q_proj,targets=mlp.* --adapter a --merge merged.onnx -o adapted.onnx > said 2>&1
grep "wrote a" said > /dev/null || fail "$(cat said)"
python3 - <<'P' || fail "adapter_config.json"
import json
config = json.load(open('a/adapter_config.json'))
assert config['peft_type'] == 'LORA' and config['r'] == 4 and config['lora_alpha'] == 8, config
assert len(config['target_modules']) == 8 and 'model.layers.1.mlp.up_proj' in config['target_modules'], config
P
"$program" inspect merged.onnx > said; grep lora_ said > /dev/null && fail "merged, and adapters are there"
# what was merged computes what the adapters computed: the same loss at the next step
"$program" train $common --steps 1 --lora from=a --json > one.json 2> /dev/null
"$program" train merged.onnx --data synthetic --batch 2 --seed 1 -q --steps 1 --json > two.json 2> /dev/null
python3 - <<'P' || fail "losses after merging"
import json
one, two = json.load(open('one.json'))['loss'], json.load(open('two.json'))['loss']
assert abs(one - two) < 1e-4 * one, (one, two)
P
# a checkpoint in the middle
"$program" train $common --steps 6 --lora r=4 --adapter whole > /dev/null 2>&1
"$program" train $common --steps 3 --lora r=4 --checkpoint c.ckpt --adapter half > /dev/null 2>&1
"$program" train $common --steps 6 --lora r=4 --checkpoint c.ckpt --resume --adapter both > /dev/null 2>&1
cmp whole/adapter_model.safetensors both/adapter_model.safetensors || fail "a resumed run has other adapters"

"$program" train adapted.onnx --data synthetic --batch 2 -q --steps 1 --out all.onnx > /dev/null 2> said
grep "all of it is trained" said > /dev/null || fail "nothing is said of a file's adapters: $(cat said)"
"$program" train adapted.onnx --data synthetic --batch 2 -q --steps 1 --out few.onnx --trainable '*.lora_*' > /dev/null 2> said
grep "all of it is trained" said > /dev/null && fail "said, though the adapters were named"

# --- what cannot be
refused "no layer" plan m.onnx --lora targets=nothing
refused "expected r=N" plan m.onnx --lora rank=8
refused "make no sense" plan m.onnx --lora r=4,dropout=1
refused "adapters already" plan adapted.onnx --lora r=4
refused "needs --lora" train $common --steps 1 --adapter b
refused "another model" train $common --steps 1 --lora "from=$source/tests/run/data/lora/final"
mkdir c && cp "$source/tests/run/data/lora/final/adapter_model.safetensors" c/
refused "not replaced" train $common --steps 1 --lora r=4 --adapter c
echo "adapters"
