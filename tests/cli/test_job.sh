# What a model was trained for travels with it: classes by name, columns by name, preprocessing, layout. What does not match is
# refused by name, before anything runs.
. "$(dirname "$0")/begin.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
field() { grep -o "\"$1\": [^,}]*" "$2" | tail -1 | sed 's/.*: //'; }
above() { awk "BEGIN { exit !($1 > $2) }"; }
python3 "$source/tests/cli/make_job_data.py" . || fail "data"
learn() { "$program" train "$@" --quiet --json >trained.json 2>errors || fail "train $*: $(cat errors)"; }
accuracy() { "$program" evaluate "$@" --json >evaluated.json 2>errors || fail "evaluate $*: $(cat errors)"; field accuracy evaluated.json; }

# A table: the same rows in another order, columns elsewhere, one more column.
"$program" zoo tabular --features 4 --classes 3 -o table.onnx >/dev/null || fail "zoo"
learn table.onnx --data flowers.csv --target species --normalise --epochs 12 --batch 16 --lr 1e-2 --out flowers.onnx
above "$(accuracy flowers.onnx --data flowers.csv)" 0.95 || fail "flowers: $(cat evaluated.json)"
[ "$(accuracy flowers.onnx --data flowers-sorted.csv)" = "$(accuracy flowers.onnx --data flowers.csv)" ] ||
    fail "rows in another order: $(accuracy flowers.onnx --data flowers-sorted.csv)"
sed 's/virginica/rose/' flowers.csv >other.csv
refuses "class 'rose' is unknown" evaluate flowers.onnx --data other.csv
cut -d, -f1-3,5 flowers.csv >fewer.csv
refuses "no column 'petal width', which the model was trained with" evaluate flowers.onnx --data fewer.csv
refuses "trained to predict 'species'" evaluate flowers.onnx --data flowers.csv --target 0
learn table.onnx --data flowers.csv --target species --normalise --val flowers-sorted.csv --epochs 12 --batch 16 --lr 1e-2 --out b.onnx
above "$(field metric trained.json)" 0.95 || fail "--val numbers classes or columns by itself: $(cat trained.json)"

# Several targets: by name too, wherever they are in another file, and also where they were given by number.
"$program" zoo tabular --features 2 --classes 2 -o two.onnx >/dev/null || fail "zoo"
awk -F, -v OFS=, '{ print $4, $2, $1, $3 }' flowers.csv >elsewhere.csv
for target in "petal width,sepal length" 3,0; do
    learn two.onnx --data flowers.csv --target "$target" --drop species --normalise --loss mse --epochs 12 --batch 16 --lr 1e-2 --out numbers.onnx
    accuracy numbers.onnx --data flowers.csv >/dev/null && mine=$(field r2 evaluated.json)
    accuracy numbers.onnx --data elsewhere.csv >/dev/null && [ "$(field r2 evaluated.json)" = "$mine" ] ||
        fail "targets $target elsewhere: $(field r2 evaluated.json), not $mine"
done

# Folders of images: one class is missing, one is unknown; the size of images and the mean are remembered.
"$program" zoo lenet --width 4 --image 8 --channels 3 --classes 3 -o small.onnx >/dev/null || fail "zoo lenet"
learn small.onnx --data photos --mean 0.4,0.4,0.4 --std 0.05,0.05,0.05 --epochs 5 --batch 15 --lr 1e-2 --out photos.onnx --out photos.safetensors
above "$(accuracy photos.onnx --data photos)" 0.98 || fail "photos: $(cat evaluated.json)"
above "$(accuracy photos.onnx --data photos-less)" 0.98 || fail "a folder without the first class: $(cat evaluated.json)"
mkdir -p photos-more/zebra && cp photos/sea/2.png photos-more/zebra
refuses "class 'zebra' is unknown" evaluate photos.onnx --data photos-more
refuses "trained with --mean 0.4" evaluate photos.onnx --data photos --mean 0.1
"$program" evaluate photos.onnx --data photos --mean 0.1 --ignore-job >/dev/null 2>errors || fail "--ignore-job: $(cat errors)"
grep -q 'plimsoll.classes.*apple.*leaf.*sea' photos.safetensors || fail "the safetensors file has no classes"
learn photos.onnx --data photos-less --epochs 1 --batch 15 --out again.onnx # fine-tuned with what it remembers
above "$(accuracy again.onnx --data photos)" 0.6 || fail "training again renumbered classes: $(cat evaluated.json)"

# A run goes on only with the data read in the same way.
learn small.onnx --data photos --mean 0.4 --std 0.05 --steps 2 --batch 15 --checkpoint run.ckpt
refuses "preprocessing of data" train small.onnx --data photos --mean 0.3 --std 0.05 --steps 4 --batch 15 --checkpoint run.ckpt --resume
learn small.onnx --data photos --mean 0.4 --std 0.05 --steps 4 --batch 15 --checkpoint run.ckpt --resume

# Arrays: channels last are refused, or put first.
learn small.onnx --data first.npz --epochs 5 --batch 15 --lr 1e-2 --out arrays.onnx
above "$(accuracy arrays.onnx --data first.npz)" 0.98 || fail "arrays: $(cat evaluated.json)"
refuses "--layout nhwc" evaluate arrays.onnx --data last.npz
refuses "--layout nhwc" train small.onnx --data last.npz
above "$(accuracy arrays.onnx --data last.npz --layout nhwc)" 0.98 || fail "transposed: $(cat evaluated.json)"
learn small.onnx --data last.npz --layout nhwc --epochs 5 --batch 15 --lr 1e-2 --out last.onnx
above "$(accuracy last.onnx --data last.npz)" 0.98 || fail "the layout was not remembered: $(cat evaluated.json)"
refuses "--layout nchw" evaluate last.onnx --data first.npz
above "$(accuracy last.onnx --data first.npz --layout nchw)" 0.98 || fail "channels first: $(cat evaluated.json)"
# A model of plain rows has no axes of its own: those that it was trained on count.
"$program" zoo tabular --features 192 --classes 3 -o rows.onnx >/dev/null || fail "zoo"
learn rows.onnx --data first.npz --epochs 5 --batch 15 --lr 1e-2 --out rows-t.onnx
above "$(accuracy rows-t.onnx --data first.npz)" 0.98 || fail "rows: $(cat evaluated.json)"
refuses "is 8x8x3, and the model was trained on 3x8x8" evaluate rows-t.onnx --data last.npz
refuses "--layout nhwc" predict rows-t.onnx last.npz
above "$(accuracy rows-t.onnx --data last.npz --layout nhwc)" 0.98 || fail "rows, transposed: $(cat evaluated.json)"
refuses "it is for arrays" train table.onnx --data flowers.csv --target species --layout nhwc
echo "all well"
