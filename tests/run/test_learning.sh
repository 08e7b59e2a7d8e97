# A small ResNet from PyTorch's default export, which folds its batch norms away, learns Fashion-MNIST as it does in PyTorch:
# tests/run/exports/learns.json has what PyTorch computed (make_learning.py), in runs that differ in rounding alone. In time that decides
# where a run goes: ours must lie between the least and the most of PyTorch's, or as far beyond as these are apart, and 0.2 %.
program=$1 source=$2
data=/usr/share/datasets/fashion-mnist
[ -d "$data" ] || { echo "skipped: no $data"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_WAIT_POLICY=passive PLIMSOLL_COSTS=default XDG_CACHE_HOME=$work/cache
fail() { echo "FAILED: $*"; exit 1; }
"$program" train "$source/tests/run/exports/learns.onnx" --data "$data" --no-shuffle --optimizer sgd --lr 0.1 --batch 32 --steps 100 \
    --quiet --log "$work/log.jsonl" --out "$work/trained.onnx" >"$work/out" 2>&1 || fail "train: $(cat "$work/out")"
grep -q "9 batch norms .* put back" "$work/out" || fail "nothing was put back: $(cat "$work/out")"
"$program" evaluate "$work/trained.onnx" --data "$data" --split test --json >"$work/evaluated.json" 2>"$work/out" || fail "$(cat "$work/out")"
python3 - "$work" "$source/tests/run/exports/learns.json" <<'P' || fail "it does not learn as in PyTorch"
import json, sys
runs = json.load(open(sys.argv[2]))
losses = [json.loads(line)['loss'] for line in open(sys.argv[1] + '/log.jsonl')][:100]
ours = [sum(losses[i:i + 10]) / 10 for i in range(0, 100, 10)]
accuracy = json.load(open(sys.argv[1] + '/evaluated.json'))['accuracy']

def is_among(value, theirs):
    apart = max(theirs) - min(theirs) + 2e-3 * value
    return min(theirs) - apart <= value <= max(theirs) + apart

print('losses', ['%.4f' % l for l in ours], 'accuracy %.4f, PyTorch %s' % (accuracy, sorted(r['accuracy'] for r in runs)))
assert all(is_among(a, b) for a, b in zip(ours, zip(*(r['losses'] for r in runs))))
assert is_among(accuracy, [r['accuracy'] for r in runs])
P
