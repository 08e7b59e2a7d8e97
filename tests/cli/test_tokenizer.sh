#!/usr/bin/env bash
# A tokenizer from training to predictions: remembered by the model, checked by content, refused where it does not fit.
set -euo pipefail
program=$1
files=$2/tests/data/files/tokenizers
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export XDG_CACHE_HOME=$folder
fail() { echo "FAILED: $*"; exit 1; }
refused() { # words, command...
  local words=$1 said
  shift
  if said=$("$@" 2>&1); then fail "was not refused: $*"; fi
  [[ $said == *"$words"* ]] || fail "'$words' is not in: $said"
}

for i in $(seq 120); do echo "the ship sails north and the captain weighs cargo $i"; done > story.txt
cp "$files/gpt2.json" words.json
"$program" zoo gpt2-tiny --seq 8 --width 16 --layers 1 --heads 2 --classes 700 -o model.onnx > /dev/null
"$program" train model.onnx --data story.txt --tokenizer words.json --epochs 12 --lr 1e-2 --batch 8 --out trained.onnx -q > /dev/null

# The path and the content are remembered; text goes in and comes out.
said=$("$program" predict trained.onnx --prompt "the ship" --generate 8 --temperature 0)
[[ $said == "the ship sails north and"* ]] || fail "the prompt goes on as '$said'"
"$program" predict trained.onnx --prompt "the ship" --generate 8 --temperature 0 --json | grep -- "\"text\": \" sails north and" > /dev/null ||
  fail "the text is not in the JSON"
"$program" evaluate trained.onnx --data story.txt > /dev/null
mv words.json moved.json
refused "'words.json', which is not there: --tokenizer FILE" "$program" evaluate trained.onnx --data story.txt
"$program" evaluate trained.onnx --data story.txt --tokenizer moved.json > /dev/null

# Another one is refused, and one for another vocabulary before the first step.
refused "another tokenizer" "$program" predict trained.onnx --prompt x --tokenizer "$files/llama3.json"
refused "another tokenizer" "$program" evaluate trained.onnx --data story.txt --tokenizer "$files/llama3.json"
refused "715 different tokens, the model predicts 700" "$program" train model.onnx --data story.txt --tokenizer "$files/llama.json" --steps 1 --out x.onnx
refused "for text" "$program" train model.onnx --data tokens:story.txt --tokenizer moved.json --steps 1 --out x.onnx
"$program" zoo gpt2-tiny --seq 8 --width 16 --layers 1 --heads 2 -o bytes.onnx > /dev/null
"$program" train bytes.onnx --data story.txt --steps 2 --out bytes-trained.onnx -q > /dev/null
refused "trained on bytes" "$program" predict bytes-trained.onnx --prompt x --tokenizer moved.json

# What is read within a budget is planned.
"$program" train model.onnx --data story.txt --tokenizer moved.json --steps 3 --budget 100MB --out y.onnx --json > run.json
python3 - <<'PY' || fail "the budget does not hold"
import json
run = json.load(open("run.json"))
raise SystemExit(not (0 < run["peak_resident_bytes"] <= 100e6))
PY
# A tokenizer as large as those of real models is read without being held: its memory is known before it is taken, is part of
# the plan, and a budget without room for it is refused before anything is read.
python3 - <<'PY'
import json, random
random.seed(1)
letters = "abcdefghijklmnopqrstuvwxyz\u0120\u010a0123456789.,"
vocab, merges = {c: i for i, c in enumerate(letters)}, []
tokens = list(letters)
while len(vocab) < 30000:
    a, b = random.choice(tokens), random.choice(tokens)
    if len(a + b) > 14 or a + b in vocab: continue
    vocab[a + b] = len(vocab)
    merges.append([a, b])
    tokens.append(a + b)
json.dump({"added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False,
           "trim_offsets": True, "use_regex": True}, "decoder": {"type": "ByteLevel"},
           "model": {"type": "BPE", "vocab": vocab, "merges": merges}}, open("large.json", "w"), indent=1)
PY
"$program" zoo gpt2-tiny --seq 8 --width 2 --layers 1 --heads 1 --classes 30000 -o wide.onnx > /dev/null
set -- wide.onnx --data story.txt --tokenizer large.json --batch 1 --steps 2
"$program" plan "$@" > plan.txt
grep -q "for the tokenizer while text becomes numbers" plan.txt || fail "the tokenizer is not in the plan"
if grep -q __asan_init "$program"; then # sanitizers have memory of their own
  "$program" train "$@" --out y.onnx --json > run.json
  echo passed
  exit
fi
"$program" train "$@" --budget 40MiB --out y.onnx --json > run.json
refused "with this tokenizer, and the budget leaves" "$program" train "$@" --budget 12MiB --out z.onnx
python3 - <<'PY' || fail "a large tokenizer breaks the budget"
import json
run = json.load(open("run.json"))
assert run["peak_resident_bytes"] <= 40 << 20, run["peak_resident_bytes"]
PY
echo passed
