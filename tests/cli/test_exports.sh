# Exports of PyTorch: open axes other than the batch have the size that --size names or that the data has, never that of the batch
# unsaid; a batch that is fixed takes any number of samples; stochastic depth is not part of evaluation.
. "$(dirname "$0")/begin.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
model=$source/tests/run/exports/open.onnx
python3 "$source/tests/cli/make_export_data.py" "$source/tests/run/exports" || fail "data"
says() { # WORDS COMMAND...
    words=$1 && shift
    "$program" "$@" >out 2>errors || fail "$*: $(cat errors)"
    cat out errors | grep -q -- "$words" || fail "$* does not say '$words': $(cat out errors)"
}
arena() { "$program" plan "$model" --batch 4 --size "$1" --json 2>/dev/null | grep -o '"arena_bytes": [0-9]*' | head -1 | grep -o '[0-9]*$'; }

# Nothing says the size: refused with the flag. A name that is none is refused with one that is.
refuses "give --size seq=N" plan "$model" --batch 4
refuses "give --size seq=N" train "$model" --data synthetic --loss mse --batch 4 --steps 1
refuses "give --size seq=N" infer "$model" --zeros
refuses "no such axis; 'seq' is one" plan "$model" --batch 4 --size sequence=9
refuses "no such axis; 'seq' is one" inspect "$model" --size sequence=9
says "seq = 3, as the batch" inspect "$model" --batch 3
says "seq = 9" inspect "$model" --batch 3 --size seq=9

# Given, by the symbol or by the place of the axis: it is what is planned.
[ "$(arena seq=64)" = "$(arena x.1=64)" ] || fail "seq=64 is not x.1=64"
[ "$(arena seq=512)" -gt "$((5 * $(arena seq=64)))" ] || fail "seq=512 takes $(arena seq=512) bytes, seq=64 $(arena seq=64)"

# Taken from the data, and said.
says "(seq) has size 7" train "$model" --data data.npz --loss mse --batch 4 --steps 1 --quiet
says "(seq) has size 7" plan "$model" --data data.npz --loss mse --batch 4
says "(seq) has size 7" evaluate "$model" --data data.npz --loss mse --batch 4
says "(seq) has size 7" infer "$model" --data data.npz --batch 4 --split train --output out.npy
cmp -s <(tail -c 3696 out.npy) <(tail -c 3696 eval.npy) || python3 - <<'P' || fail "infer --data differs from PyTorch's numbers"
import struct
a, b = (struct.unpack('<924f', open(name, 'rb').read()[-3696:]) for name in ('out.npy', 'eval.npy'))
assert max(abs(x - y) for x, y in zip(a, b)) < 1e-5
P
refuses "" train "$model" --data data.npz --loss mse --batch 4 --steps 1 --size seq=5 # the data has 7
# Windows of text are as long as --seq, the axis with them.
for i in $(seq 200); do echo "line $i of some text"; done >text.txt
says "(seq) has size 12" plan "$model" --data text.txt --seq 12 --batch 4

# A file with its batch fixed (2) takes 12 and 5 samples in pieces of it, the last one short: the numbers are PyTorch's.
fixed=$source/tests/run/exports/baked.onnx
for samples in 12 5; do
    for batch in 2 3 32; do
        says "$samples samples" infer "$fixed" --data "fixed$samples.npz" --split train --batch "$batch" --output out.npy
        python3 - "$samples" <<'P' || fail "$samples samples in batches of $batch differ from PyTorch's numbers"
import struct, sys
count = 3 * int(sys.argv[1])
a, b = (struct.unpack('<%df' % count, open(name, 'rb').read()[-36 * 4:][:count * 4] if name == 'fixed.npy' else open(name, 'rb').read()[-count * 4:]) for name in ('out.npy', 'fixed.npy'))
assert max(abs(x - y) for x, y in zip(a, b)) < 1e-5
P
    done
    "$program" evaluate "$fixed" --data "fixed$samples.npz" --loss mse --json >a.json 2>/dev/null || fail "evaluate"
    "$program" evaluate "$fixed" --data "fixed$samples.npz" --loss mse --batch 1 --json >b.json 2>/dev/null || fail "evaluate"
    [ "$(grep -o '"loss": [0-9.]\{7\}' a.json)" = "$(grep -o '"loss": [0-9.]\{7\}' b.json)" ] || fail "evaluate: $(cat a.json b.json)"
done
refuses "has size 12 on axis 0" infer "$fixed" --input fixed-x.npy --output out.npy

# Models in other types than float32 run on arrays in float32 (NumPy has no bfloat16), and say in what they compute.
for kind in float16:e bfloat16:f float64:d; do
    name=${kind%:*}
    says "note: it computes in float32" infer "$source/tests/run/forms/$name.onnx" --batch 3 --input "$name-x.npy" --output out.npy
    [ "$name" != bfloat16 ] || grep -q "written as float32" errors || fail "bfloat16 is written as another type unsaid"
    python3 - "$kind" <<'P' || fail "$name: other numbers than PyTorch's"
import struct, sys
name, letter = sys.argv[1].split(':')
count, width = 9, struct.calcsize(letter)
got = struct.unpack('<%d%s' % (count, letter), open('out.npy', 'rb').read()[-count * width:])
right = struct.unpack('<9f', open(name + '-y.npy', 'rb').read()[-36:])
limit = {'float16': 2e-3, 'bfloat16': 2e-2, 'float64': 1e-5}[name] * max(map(abs, right))
assert max(abs(a - b) for a, b in zip(got, right)) <= limit
P
    says "arena" inspect "$source/tests/run/forms/$name.onnx"
done

# Stochastic depth drops nothing in evaluation, within training too: the loss is PyTorch's in evaluation mode.
stochastic=$source/tests/run/exports/stochastic.onnx
"$program" train "$stochastic" --data stochastic.npz --val stochastic.npz --split train --loss mse --optimizer sgd --lr 1e-30 --batch 4 \
    --epochs 1 --quiet --json >a.json 2>errors || fail "train: $(cat errors)"
"$program" evaluate "$stochastic" --data stochastic.npz --loss mse --json >b.json 2>errors || fail "evaluate: $(cat errors)"
for file in a.json b.json; do
    python3 - "$file" <<'P' || fail "not $(cat stochastic.loss): $(cat $file)"
import json, sys
def find(node):
    if isinstance(node, dict):
        for key in ('val_loss', 'validation_loss'):
            if key in node: return node[key]
        found = [find(v) for v in node.values()]
        return next((f for f in found if f is not None), None)
    return next((f for f in map(find, node) if f is not None), None) if isinstance(node, list) else None
told = json.load(open(sys.argv[1]))
loss = told['loss'] if sys.argv[1] == 'b.json' else find(told)
assert abs(loss - float(open('stochastic.loss').read())) < 2e-5, loss
P
done
exit 0
