#!/bin/sh
# A text, byte by byte: a small language model that continues a prompt.
set -e
plimsoll zoo gpt2-tiny --seq 32 --width 48 --layers 2 --heads 3 -o text.onnx
plimsoll train text.onnx --data story.txt --validation 0.1 --epochs 8 --batch 16 --lr 1e-2 --out text-trained.onnx
plimsoll evaluate text-trained.onnx --data story.txt
plimsoll predict text-trained.onnx --prompt "the cat" --generate 40 --temperature 0.5 --seed 1
