#!/bin/sh
# A text and the tokenizer.json of its language: a small language model that continues a prompt.
set -e
plimsoll zoo gpt2-tiny --seq 32 --width 24 --layers 2 --heads 3 --classes 700 -o text.onnx
plimsoll train text.onnx --data story.txt --tokenizer tokenizer.json --validation 0.1 --epochs 8 --batch 8 --lr 1e-2 \
    --out text-trained.onnx
plimsoll evaluate text-trained.onnx --data story.txt
plimsoll predict text-trained.onnx --prompt "the cat" --generate 40 --temperature 0.5 --seed 1
