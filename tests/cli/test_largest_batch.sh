#!/bin/bash
# The largest batch that `plan` names is the largest: that one fits in one piece, and one sample more does not; the buffers of
# data that is read grow with the batch, too, and a larger one may get to the short batch at the end of an epoch.
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" largest
number() { python3 -c 'import json, sys; print(json.load(open("plan.json"))[sys.argv[1]])' "$1"; }
plan() { # BATCH
    "$program" plan model.onnx --data "$data" --batch "$1" --budget "$budget" --allow exact --threads 1 $steps --json > plan.json 2> err
}
whole() { plan "$1" && [ "$(number micro_batch)" = "$1" ]; } # BATCH: fits in one piece
largest() { # ZOO-OPTIONS...
    "$program" zoo "$@" -o model.onnx > /dev/null 2> err || fail "zoo $1"
    plan 2 || fail "$1 within $budget"
    found=$(number largest_batch)
    echo "$1 within $budget: $found"
    [ "$(number largest_batch_open)" = False ] || fail "$1: larger ones than $found were not tried"
    whole "$found" || fail "$1: $found do not fit $budget"
    ! whole $((found + 1)) || fail "$1: one more than $found fits $budget"
}
steps=
data=synthetic budget=40MiB
largest resnet18 --image 48 --width 8 --classes 10
data=$work/x.npz budget=40MiB
python3 - "$data" <<'P' || exit 1
import struct, sys, zipfile
def array(kind, shape, data):
    head = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data
with zipfile.ZipFile(sys.argv[1], "w") as z:
    z.writestr("x.npy", array("<f4", (2048, 1, 28, 28), bytes(4 * 2048 * 784)))
    z.writestr("y.npy", array("<i8", (2048,), bytes(8 * 2048)))
P
largest lenet --width 8
data=synthetic budget=34MiB steps="--steps 3" # 65,536 samples: three batches of 21,846 are an epoch, three of 2 are not
largest mlp --image 4 --width 8 --layers 2 --classes 4
[ "$found" -gt 21846 ] || fail "a largest batch of $found does not get to the end of an epoch"
"$program" zoo mlp --image 4 --channels 1 --width 4 --layers 900 -o model.onnx > /dev/null 2> err || fail "zoo mlp"
data=synthetic budget=70MiB steps="--steps 1"
plan 4 || fail "900 layers within $budget"
[ "$(number largest_batch_open)" = True ] || fail "900 layers: $(number largest_batch) is called the largest, but few were tried"
