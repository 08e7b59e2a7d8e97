# Logs of training: lines of JSON, tables and TensorBoard's events say the same; resuming leaves no step out and none twice;
# the end names every file; what cannot be written is named before the first step.
. "$(dirname "$0")/begin.sh"
python3 "$source/tests/cli/make_job_data.py" . || fail "data"
"$program" zoo lenet --width 4 --image 8 --channels 3 --classes 3 -o small.onnx >/dev/null || fail "zoo"
train() { "$program" train small.onnx --data first.npz --batch 16 --threads 1 "$@"; }

# One run, and the same one interrupted in the middle of an epoch.
train --validation 0.2 --epochs 5 --log whole.jsonl --out a.onnx --best best.onnx --report page.html --trace run.trace >end 2>err ||
    fail "train: $(cat err)"
for file in a.onnx best.onnx whole.jsonl page.html run.trace; do
    grep -qx "wrote $file" end && [ -s $file ] || fail "the end does not name $file: $(cat end)"
done
grep -q "^best: epoch [1-5], .*in best.onnx" end || fail "the best epoch: $(cat end)"
for curve in "training loss" "validation loss" accuracy; do
    grep -q "^  $curve  *[^ ]* .* to " end || fail "no curve of $curve: $(cat end)"
done
batches=$(grep -c '"epoch": 1, "loss"' whole.jsonl)
for part in 0 1; do
    steps=$((batches * 2 + 2 + part * 1000))
    train --validation 0.2 --epochs 5 --steps $steps --checkpoint run.ckpt --resume --quiet --log parts.csv \
        --tensorboard board/run --json >end.json 2>err || fail "part $part: $(cat err)"
    sleep $((1 - part)) # the names of event files begin with the second
done
python3 - "$batches" <<'PY' || fail "logs differ"
import csv, glob, json, math, os, struct, sys
whole = [json.loads(line) for line in open("whole.jsonl")]
parts = [{k: float(v) for k, v in row.items() if v} for row in csv.DictReader(open("parts.csv"))]
end = json.load(open("end.json"))
stop = 2 * int(sys.argv[1]) + 2
def same(a, b):
    return abs(a - b) <= 1e-6 * max(1, abs(a))
steps = [r for r in whole if "loss" in r]
again = [r for r in parts if "loss" in r]
assert [r["step"] for r in steps] == list(range(1, len(steps) + 1))
assert [r["step"] for r in again] == [r["step"] for r in steps], "steps are missing or twice"
assert all(same(a[k], b[k]) for a, b in zip(steps, again) for k in ("epoch", "loss", "accuracy", "rate")), "another run"
epochs = [r for r in whole if "training_loss" in r]
cut = [r for r in parts if "training_loss" in r and r["step"] != stop]  # the end of the first part was validated too
assert len(epochs) == len(cut) == 5
for e, c in zip(epochs, cut):
    own = [r for r in steps if r["epoch"] == e["epoch"]]
    mean = sum(r["loss"] for r in own) / len(own)
    assert abs(mean - e["training_loss"]) < 0.02 * mean, "the epoch's loss is not the mean over it"
    assert same(e["training_loss"], c["training_loss"]), ("an interrupted epoch has another mean", e, c)
    assert set(e) == {k for k in c}, (set(e) ^ set(c))
    assert all(same(e[k], c[k]) for k in e), (e, c)
    assert 0 <= e["validation_f1"] <= 1 and 0 <= e["training_accuracy"] <= 1
best = min(epochs, key=lambda e: e["validation_loss"])
said = [line for line in open("end") if line.startswith("best:")][0]
assert f"epoch {best['epoch']}," in said, said
assert set(end["files"]) >= {"run.ckpt", "parts.csv"} and all(os.path.getsize(f) for f in end["files"])
assert end["best_epoch"] == best["epoch"], end

def read(folder):
    """Scalars by tag, as TensorBoard reads them; without it, by hand (test_event_file has the bytes that it wrote)."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        events = EventAccumulator(folder, {"scalars": 0})
        events.Reload()
        return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    except ImportError:
        print("without tensorboard")
    def varint(data, at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return value, at
    def fields(data):
        at = 0
        while at < len(data):
            key, at = varint(data, at)
            if key & 7 == 0:
                value, at = varint(data, at)
            else:
                size, at = varint(data, at) if key & 7 == 2 else (8 if key & 7 == 1 else 4, at)
                value, at = data[at:at + size], at + size
            yield key >> 3, value
    tags = {}
    for name in sorted(glob.glob(folder + "/*")):
        data, at = open(name, "rb").read(), 0
        while at < len(data):
            size = struct.unpack_from("<Q", data, at)[0]
            event = dict(fields(data[at + 12:at + 12 + size]))
            at += size + 16
            if 7 in event:
                tags = {t: [p for p in points if p[0] < event[2]] for t, points in tags.items()}
            for _, value in fields(event.get(5, b"")):
                value = dict(fields(value))
                tags.setdefault(value[1].decode(), []).append((event[2], struct.unpack("<f", value[2])[0]))
    return tags
tags = read("board/run")
assert len(glob.glob("board/run/events.out.tfevents.*")) == 2
def points(column):
    return [(int(r["step"]), r[column]) for r in parts if column in r]
for tag, column in (("train/loss", "loss"), ("train/rate", "rate"), ("epoch/training_loss", "training_loss"), ("validation/loss", "validation_loss"),
                    ("validation/accuracy", "validation_accuracy"), ("validation/f1", "validation_f1"), ("train/resident_bytes", "resident_bytes")):
    got, want = tags[tag], points(column)
    assert len(got) == len(want) and all(a[0] == b[0] and same(b[1], a[1]) for a, b in zip(got, want)), (tag, got, want)
PY

# Without validation an epoch is a row too.
train --epochs 3 --log plain.csv --quiet --out a.onnx >/dev/null 2>err || fail "plain: $(cat err)"
[ "$(awk -F, 'NR > 1 && $8' plain.csv | wc -l)" = 3 ] || fail "three epochs: $(cat plain.csv)"

# Text: perplexity is that of the validation loss.
python3 -c 'print("the quick brown fox jumps over the lazy dog. " * 40)' >text.txt
"$program" zoo lstm --seq 16 --width 8 --layers 1 -o lstm.onnx >/dev/null || fail "zoo lstm"
"$program" train lstm.onnx --data text.txt --batch 8 --epochs 1 --validation 0.2 --threads 1 --log text.jsonl --out text.onnx >text.out 2>err || fail "text: $(cat err)"
python3 - <<'PY' || fail "perplexity"
import json, math
[row] = [r for r in map(json.loads, open("text.jsonl")) if "validation_loss" in r]
assert abs(row["validation_perplexity"] - math.exp(row["validation_loss"])) < 1e-6 * row["validation_perplexity"], row
assert "perplexity" in open("text.out").read()
PY

# Named before the first step, and nothing is lost.
refuses() { # WORDS COMMAND...
    words=$1 && shift
    "$@" >out 2>err && fail "not refused: $*"
    grep -q -- "$words" err || fail "$* does not say '$words': $(cat err)"
    grep -q "samples/s" out && fail "refused only after the first step: $*"
}
refuses "/dev/null/board" train --steps 1 --tensorboard /dev/null/board --out new.onnx
refuses "first.npz" train --steps 1 --tensorboard first.npz --out new.onnx
refuses "no/such/log" train --steps 1 --log no/such/log.csv --out new.onnx
printf 'step,epoch,other\n1,1,1\n' >other.csv
train --steps 2 --checkpoint other.ckpt --quiet >/dev/null 2>err || fail "checkpoint"
train --steps 4 --checkpoint other.ckpt --resume --log other.csv --quiet >out 2>err && fail "columns of another table were mixed"
grep -q "other columns" err || fail "columns: $(cat err)"
[ "$(wc -l <other.csv)" = 2 ] || fail "the table of another program was changed"
[ ! -e new.onnx ] || fail "new.onnx was written"

# A disk that is full costs the log, not the weights.
if [ -w /dev/full ]; then
    train --steps 2 --log /dev/full --out full.onnx --quiet >/dev/null 2>err && fail "a log that failed was not told"
    grep -q "without the log" err && [ -s full.onnx ] || fail "full: $(cat err)"
fi
echo "all well"
