#!/bin/sh
# Arrays of NumPy with channels last (height x width x channels), as Keras has them.
set -e
plimsoll zoo lenet --image 8 --channels 3 --width 8 --classes 3 -o arrays.onnx
plimsoll train arrays.onnx --data last.npz --layout nhwc --epochs 5 --lr 5e-3 --out arrays-trained.onnx
plimsoll evaluate arrays-trained.onnx --data last.npz
plimsoll predict arrays-trained.onnx last.npz --format jsonl >arrays-predictions.jsonl
