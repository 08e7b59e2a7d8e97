# find-lr: a rate that training does well with, from losses that are in the JSON; nothing is written but the plot.
. "$(dirname "$0")/begin.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 - <<'PY'
import random
r = random.Random(3)
with open("t.csv", "w") as out:
    out.write("a,b,c,kind\n")
    for _ in range(400):
        x = [r.gauss(0, 1) for _ in range(3)]
        out.write(f"{x[0]:.4f},{x[1]:.4f},{x[2]:.4f},{'yes' if x[0] + x[1] - x[2] > 0 else 'no'}\n")
PY
"$program" zoo tabular --features 3 --classes 2 -o m.onnx >/dev/null || fail "zoo"
sum=$(cksum <m.onnx)
data="--data t.csv --target kind --batch 32 --optimizer sgd"
"$program" find-lr m.onnx $data --json --plot p.svg >a.json 2>errors || fail "$(cat errors)"
"$program" find-lr m.onnx $data --json >b.json 2>errors || fail "$(cat errors)"
[ "$(grep -v seconds_per_step a.json)" = "$(grep -v seconds_per_step b.json)" ] || fail "two searches differ"
[ "$sum" = "$(cksum <m.onnx)" ] || fail "the model was changed"
python3 - <<'PY' || fail "the losses or the plot"
import json, math, xml.dom.minidom
found = json.load(open("a.json"))
curve, rate = found["curve"], found["rate"]
assert found["steps"] == len(curve) <= 100
for i, point in enumerate(curve):  # the rates are as said, and the smoothing is what it is called
    assert abs(point["rate"] / (1e-7 * 1e8 ** (i / 99)) - 1) < 1e-6
    weights = [0.9 ** (i - k) for k in range(i + 1)]
    mean = sum(w * p["loss"] for w, p in zip(weights, curve)) / sum(weights)
    assert abs(mean - point["smoothed"]) < 1e-6 * max(1, mean)
if found["diverged"]:
    assert curve[-1]["smoothed"] > 4 * min(p["smoothed"] for p in curve[:-1])
assert 1e-4 < rate < 3, rate
assert len(xml.dom.minidom.parse("p.svg").getElementsByTagName("polyline")) == 1
PY
rate=$(python3 -c 'import json; print(json.load(open("a.json"))["rate"])')
loss() { "$program" train m.onnx $data --epochs 3 --lr "$1" --quiet --json --out x.onnx 2>/dev/null | grep -o '"epoch_loss": [^,]*' | sed 's/.*: //'; }
awk "BEGIN { exit !($(loss "$rate") < 0.5 * $(loss "$(python3 -c "print($rate / 1000)")")) }" || fail "the rate $rate is no better than a thousandth of it"
"$program" find-lr m.onnx $data >out 2>errors || fail "$(cat errors)"
grep -q "begin with --lr" out || fail "the rate is not said: $(cat out)"
grep -q __asan_init "$program" || # sanitizers have memory of their own
    "$program" find-lr m.onnx $data --budget 60MB --steps 20 >out 2>errors || fail "within a budget: $(cat errors)"
# With fewer updates it is about the same rate: smoothing follows the range, not the number of updates.
for steps in 25 50; do
    "$program" find-lr m.onnx $data --steps $steps --json >other.json 2>errors || fail "$(cat errors)"
    python3 -c "import json; other = json.load(open('other.json'))['rate']; assert 1 / 8 < other / $rate < 8, other" ||
        fail "another rate with $steps updates"
done
refuses "has no effect" find-lr m.onnx $data --lr 1
refuses "a range of rates" find-lr m.onnx $data --from 1 --to 0.1
refuses "expected a whole number" find-lr m.onnx $data --steps 3
echo text >own.svg
refuses "not replaced" find-lr m.onnx $data --plot own.svg
refuses "which data" find-lr m.onnx
echo "all well"
