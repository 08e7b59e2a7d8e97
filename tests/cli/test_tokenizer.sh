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
refused "words.json" "$program" evaluate trained.onnx --data story.txt
"$program" evaluate trained.onnx --data story.txt --tokenizer moved.json > /dev/null

# Another one is refused, and one for another vocabulary before the first step.
refused "another tokenizer" "$program" predict trained.onnx --prompt x --tokenizer "$files/llama3.json"
refused "another tokenizer" "$program" evaluate trained.onnx --data story.txt --tokenizer "$files/llama3.json"
refused "715 classes" "$program" train model.onnx --data story.txt --tokenizer "$files/llama.json" --steps 1 --out x.onnx
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
echo passed
