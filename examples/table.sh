#!/bin/sh
# A table with text columns and gaps: what is in it, a network for it, what it says about rows without the answer.
set -e
plimsoll data people.csv
plimsoll zoo tabular --features 7 --classes 2 -o table.onnx
plimsoll train table.onnx --data people.csv --target drinks --drop name --missing mean --normalise \
    --validation 0.2 --epochs 30 --lr 1e-2 --out table-trained.onnx
plimsoll predict table-trained.onnx strangers.csv --format csv
