#!/bin/sh
# The main job on an embedded default: makes a network, shows the plan of its memory, runs it over real images, and reads a
# real out-of-memory error.   scripts/demo.sh PLIMSOLL
set -eu
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=$work/lenet.onnx

say() { printf '\n\033[1m$ plimsoll %s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n$ plimsoll %s\n' "$*"; }

say zoo lenet -o lenet.onnx
(cd "$work" && "$program" zoo lenet -o lenet.onnx)
say inspect lenet.onnx --batch 256
(cd "$work" && "$program" inspect lenet.onnx --batch 256)
say evaluate lenet.onnx --data /usr/share/datasets/fashion-mnist
"$program" evaluate "$model" --data /usr/share/datasets/fashion-mnist
echo "(the weights are random, so one image in ten is right)"
say explain error.log
"$program" explain "$here/example-error.log"
printf '\nNext: plimsoll help, or python train.py 2>&1 | plimsoll explain\n'
