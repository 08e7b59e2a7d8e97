# predict: classes by name with probabilities, numbers, generated tokens; as onnxruntime has them, in every format, of every kind of
# data, without targets.
. "$(dirname "$0")/begin.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
predict() { "$program" predict "$@" 2>errors || fail "predict $*: $(cat errors)"; }
learn() { "$program" train "$@" --quiet >/dev/null 2>errors || fail "train $*: $(cat errors)"; }
python3 "$source/tests/cli/make_job_data.py" . || fail "data"

# The numbers are onnxruntime's.
"$program" zoo lenet --width 4 --image 8 --channels 3 --classes 3 --seed 3 -o lenet.onnx >/dev/null || fail "zoo"
predict lenet.onnx first.npz --top 2 --format csv --batch 7 >predictions.csv
python3 - "$source/tests/cli/data/predictions.csv" predictions.csv <<'PY' || fail "predictions differ from onnxruntime's"
import csv, sys
right, ours = (list(csv.reader(open(path))) for path in sys.argv[1:])
assert len(right) == len(ours) == 91 and right[0] == ours[0], (len(ours), ours[0])
for a, b in zip(right[1:], ours[1:]):
    assert a[0] == b[0] and abs(float(a[2]) - float(b[2])) < 2e-5, (a, b)
    assert a[1] == b[1] or abs(float(a[2]) - float(a[4])) < 1e-4, (a, b)
PY
# infer --data has the scores behind them.
"$program" infer lenet.onnx --data first.npz --output scores.npy --batch 8 >/dev/null 2>errors || fail "infer --data: $(cat errors)"
python3 - "$source/tests/cli/data/predictions.csv" <<'PY' || fail "infer --data differs from onnxruntime"
import csv, math, struct, sys
data = open("scores.npy", "rb").read()
start = 10 + struct.unpack("<H", data[8:10])[0]
assert b"(90, 3)" in data[:start], data[:start]
scores = struct.unpack("<270f", data[start:])
for i, row in enumerate(list(csv.reader(open(sys.argv[1])))[1:]):
    p = [math.exp(s) for s in scores[3 * i:3 * i + 3]]
    assert abs(p[int(row[1])] / sum(p) - float(row[2])) < 2e-5, (i, row, p)
PY
cp first.npz mine.npz
refuses "would replace the data" infer lenet.onnx --data mine.npz --output mine.npz
cmp first.npz mine.npz || fail "infer replaced its data"
"$program" zoo gpt2-tiny --seq 16 --width 32 --layers 1 --heads 2 --seed 5 -o text.onnx >/dev/null || fail "zoo gpt2-tiny"
while read -r temperature top_k top_p seed _ tokens; do
    set -- --temperature "$temperature" --top-p "$top_p" --seed "$seed"
    [ "$top_k" = 0 ] || set -- "$@" --top-k "$top_k"
    predict text.onnx --prompt "The load line" --generate 24 "$@" --json >generated.json
    ours=$(python3 -c 'import json; print(*json.load(open("generated.json"))["tokens"])')
    [ "$ours" = "$tokens" ] || fail "$*: $ours, not $tokens"
done <"$source/tests/cli/data/generated.txt"

# A table without its target, by names; a regression; images by their files; arrays.
"$program" zoo tabular --features 4 --classes 3 -o table.onnx >/dev/null || fail "zoo tabular"
learn table.onnx --data flowers.csv --target species --normalise --epochs 12 --batch 16 --lr 1e-2 --out flowers.onnx
cut -d, -f1-4 flowers.csv | head -4 >new.csv
[ "$(predict flowers.onnx new.csv --format csv | cut -d, -f1,2 | tr '\n' ' ')" = \
    "sample,class row 1,virginica row 2,setosa row 3,versicolor " ] || fail "table: $(predict flowers.onnx new.csv)"
predict flowers.onnx new.csv --format jsonl --top 2 >lines.jsonl
python3 -c '
import json
rows = [json.loads(line) for line in open("lines.jsonl")]
assert [r["class"] for r in rows] == ["virginica", "setosa", "versicolor"], rows
assert all(len(r["top"]) == 2 and 0.5 < r["probability"] <= 1 for r in rows), rows' || fail "JSON lines"
grep -q "row 2 .*setosa .*%" <(predict flowers.onnx new.csv) || fail "the table for people"
cut -d, -f1-3 flowers.csv >fewer.csv
refuses "no column 'petal width'" predict flowers.onnx fewer.csv
"$program" zoo tabular --features 3 --classes 1 -o number.onnx >/dev/null || fail "zoo tabular"
learn number.onnx --data flowers.csv --target "petal width" --drop species --normalise --loss mse --epochs 20 --batch 16 --lr 1e-2 --out width.onnx
predict width.onnx flowers.csv --format csv >widths.csv
python3 - <<'PY' || fail "regression"
import csv
rows = list(csv.reader(open("widths.csv")))
truth = [float(r["petal width"]) for r in csv.DictReader(open("flowers.csv"))]
assert rows[0] == ["sample", "petal width"], rows[0]
assert sum(abs(float(r[1]) - t) for r, t in zip(rows[1:], truth)) / len(truth) < 0.3
PY
# Several numbers have their names, and names line up whatever letters they have.
"$program" zoo tabular --features 2 --classes 2 -o two.onnx >/dev/null || fail "zoo tabular"
sed 's/petal width/Stärke/; s/petal length/Länge/' flowers.csv >blume.csv
learn two.onnx --data blume.csv --target Stärke,Länge --drop species --normalise --loss mse --epochs 1 --out both.onnx
[ "$(predict both.onnx blume.csv --format csv | head -1)" = "sample,Stärke,Länge" ] || fail "names: $(predict both.onnx blume.csv --format csv | head -1)"
predict both.onnx blume.csv | head -1 | grep -q "^row 1 *Stärke *[0-9.-]*  Länge " || fail "names: $(predict both.onnx blume.csv | head -1)"
"$program" zoo lenet --width 4 --image 8 --channels 3 --classes 3 -o small.onnx >/dev/null || fail "zoo lenet"
learn small.onnx --data photos --epochs 5 --batch 15 --lr 1e-2 --out photos.onnx
predict photos.onnx photos/sea/2.png photos-less/leaf --format csv >photos.csv
grep -q "^photos/sea/2.png,sea," photos.csv && grep -q "^photos-less/leaf/1.png,leaf," photos.csv || fail "photos: $(cat photos.csv)"
[ "$(predict photos.onnx first.npz --format csv | cut -d, -f2 | head -4 | tr '\n' ' ')" = "class apple leaf sea " ] || fail "arrays"

# Samples that cannot be read are left out, said, and the others keep their names: shifted ones would be the answers of others.
cp -r photos holed && printf 'no image' >holed/apple/3.png && head -c 60 photos/leaf/1.png >holed/leaf/1.png
predict photos.onnx photos --format csv >all.csv
predict photos.onnx holed --skip-bad --format csv | sed 's/^holed/photos/' >some.csv
grep -q "2 bad samples were left out" errors || fail "bad samples are not said: $(cat errors)"
[ "$(grep -v '^photos/apple/3.png\|^photos/leaf/1.png' all.csv)" = "$(cat some.csv)" ] || fail "bad samples shift the names of others: $(diff all.csv some.csv)"
"$program" evaluate photos.onnx --data holed --skip-bad >/dev/null 2>errors && grep -q "2 bad samples were left out" errors || fail "evaluate: $(cat errors)"
refuses "rows would not be those of theirs" infer photos.onnx --data holed --skip-bad --output holed.npy
# What is not possible, or would lose something.
refuses "predicts numbers, not classes" predict width.onnx flowers.csv --top 2
refuses "cannot open" predict photos.onnx nowhere.png --out unwritten.csv
[ -e unwritten.csv ] && fail "a refused prediction left a file"
[ "$(predict photos.onnx photos/sea --format csv --out sea.csv)" = "wrote sea.csv: $(($(wc -l <sea.csv) - 1)) predictions" ] || fail "what was written is not said"
printf 'mine' >mine.csv
refuses "'mine.csv' exists" predict photos.onnx photos --out mine.csv
[ "$(cat mine.csv)" = mine ] || fail "--out replaced a file"
refuses "without --prompt" predict photos.onnx photos --temperature 2
refuses "no effect with --prompt" predict text.onnx --prompt a --top 3
refuses "--prompt TEXT continues" predict text.onnx flowers.csv --kind text
refuses "not a language model" predict photos.onnx --prompt abc
refuses "cannot open" predict photos.onnx nowhere.png

# Perplexity is what PyTorch makes of onnxruntime's scores.
python3 -c 'import sys; sys.stdout.write("".join(f"line {i}: the ship carries {i * 7 % 31} tons of cargo.\n" for i in range(60)))' >ship.txt
"$program" zoo gpt2-tiny --seq 16 --width 32 --layers 2 --heads 2 --seed 4 -o language.onnx >/dev/null || fail "zoo"
"$program" evaluate language.onnx --data ship.txt --json >evaluated.json 2>errors || fail "evaluate: $(cat errors)"
python3 - "$source/tests/cli/data/perplexity.txt" <<'PY' || fail "perplexity differs from PyTorch's: $(cat evaluated.json)"
import json, sys
loss, perplexity, count = map(float, open(sys.argv[1]).read().split())
ours = json.load(open("evaluated.json"))
assert abs(ours["loss"] - loss) < 1e-5 and abs(ours["perplexity"] / perplexity - 1) < 1e-5, (ours, loss, perplexity)
PY

# A model with more scores than the data has classes says so before it trains, and what has no name has a number.
"$program" zoo lenet --width 4 --image 8 --channels 3 --classes 5 -o more.onnx >/dev/null || fail "zoo"
learn more.onnx --data photos --steps 2 --batch 15 --out more-trained.onnx
grep -q "3 classes, the model has scores for 5: .*--classes 3" errors || fail "spare scores are not said: $(cat errors)"
predict more-trained.onnx photos/sea/2.png --top 5 --format csv >spare.csv
for class in apple leaf sea 3 4; do grep -q ",$class," spare.csv || fail "no class $class: $(cat spare.csv)"; done

echo "all well"
