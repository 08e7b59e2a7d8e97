#!/bin/sh
# The main job on an embedded default, in about a minute: makes a network, plans its training under a budget well below what
# it would take, trains it on real images, evaluates it, and reads a real out-of-memory error.   scripts/demo.sh PLIMSOLL
set -eu
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
data=/usr/share/datasets/fashion-mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf '\n\033[1m$ plimsoll %s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n$ plimsoll %s\n' "$*"; }
show() { say "$@"; "$program" "$@"; }

show zoo lenet -o lenet.onnx
show plan lenet.onnx --data $data --batch 256 --optimizer adamw --budget 48MiB
show train lenet.onnx --data $data --batch 256 --optimizer adamw --lr 1e-3 --epochs 1 --budget 48MiB --out trained.onnx
show evaluate trained.onnx --data $data --split test
say explain error.log
"$program" explain "$here/example-error.log"
printf '\nNext: plimsoll plan YOUR-MODEL.onnx --budget 700MiB, or python train.py 2>&1 | plimsoll explain\n'
