# What once went wrong without a word, one by one, with options that were there then; each check stands alone and all are run, so
# that an old program shows which of them it fails:  test_silent_failures.sh OLD SOURCE NEW  (NEW makes the models).
program=$1 source=$2 maker=${3:-$1}
. "$source/tests/cli/memory_group.sh" silent
export XDG_CACHE_HOME=$work/cache
python3 "$source/tests/cli/make_job_data.py" . || fail "data"
(head -1 flowers.csv; tail -n +2 flowers.csv | sort -t, -k5) >sorted.csv
"$maker" zoo tabular --features 4 --classes 3 -o table.onnx >/dev/null || fail "zoo tabular"
"$maker" zoo lenet --width 4 --image 8 --channels 3 --classes 3 -o small.onnx >/dev/null || fail "zoo lenet"
"$maker" zoo mlp --width 2048 --layers 3 -o wide.onnx >/dev/null || fail "zoo mlp"
learn() { "$program" train "$@" --lr 1e-2 --batch 15 --threads 1 --quiet >/dev/null 2>err || fail "train $*"; }
accuracy() { "$program" evaluate "$@" --json 2>err | sed -n 's/.*"accuracy": \([0-9.e-]*\).*/\1/p'; }
above() { awk "BEGIN { exit !(${1:-0} > $2) }"; }

the_same_rows_in_another_order_are_the_same_classes() {
    learn table.onnx --data flowers.csv --target species --epochs 20 --out flowers.onnx
    above "$(accuracy flowers.onnx --data flowers.csv --target species)" 0.9 || fail "flowers are not learned"
    above "$(accuracy flowers.onnx --data sorted.csv --target species)" 0.9
}
a_folder_without_one_class_has_the_other_classes() {
    learn small.onnx --data photos --image 8 --epochs 6 --out photos.onnx
    above "$(accuracy photos.onnx --data photos --image 8)" 0.9 || fail "photos are not learned"
    above "$(accuracy photos.onnx --data photos-less --image 8)" 0.9
}
arrays_in_channels_last_order_are_not_taken_as_they_come() {
    learn small.onnx --data first.npz --epochs 6 --out arrays.onnx
    above "$(accuracy arrays.onnx --data first.npz)" 0.9 || fail "arrays are not learned"
    "$program" evaluate arrays.onnx --data last.npz --json >out 2>err || return 0 # refused
    above "$(accuracy arrays.onnx --data last.npz)" 0.9
}
evaluation_remembers_mean_and_deviation() {
    learn small.onnx --data photos --image 8 --mean 0.9 --std 0.05 --epochs 6 --out normal.onnx
    above "$(accuracy normal.onnx --data photos --image 8 --mean 0.9 --std 0.05)" 0.9 || fail "normalised photos are not learned"
    above "$(accuracy normal.onnx --data photos --image 8)" 0.9
}
a_checkpoint_is_not_overwritten() {
    learn small.onnx --data first.npz --steps 3 --checkpoint run.ckpt
    before=$(cksum <run.ckpt)
    "$program" train small.onnx --data first.npz --batch 15 --lr 1e-2 --threads 1 --steps 2 --checkpoint run.ckpt --quiet >out 2>err
    [ "$(cksum <run.ckpt)" = "$before" ]
}
data_is_not_overwritten() {
    cp first.npz mine.npz
    "$program" train small.onnx --data mine.npz --batch 15 --threads 1 --steps 2 --checkpoint mine.npz --quiet >out 2>err
    cmp -s first.npz mine.npz
}
a_result_is_not_thrown_away() {
    learn small.onnx --data first.npz --steps 3
    [ -n "$(find cache -name '*.ckpt' 2>/dev/null)" ]
}
a_run_is_not_killed_while_it_saves() {
    wide="wide.onnx --data synthetic --batch 64 --optimizer sgd --steps 3 --quiet --threads 1"
    "$program" train $wide --json >free.json 2>err || fail "wide"
    peak=$(sed -n 's/.*"peak_resident_bytes": \([0-9]*\).*/\1/p' free.json)
    within $((peak + (3 << 20))) "$program" train $wide --out wide-b.onnx >out 2>err && [ -s wide-b.onnx ]
}

checks="the_same_rows_in_another_order_are_the_same_classes a_folder_without_one_class_has_the_other_classes
    arrays_in_channels_last_order_are_not_taken_as_they_come evaluation_remembers_mean_and_deviation a_checkpoint_is_not_overwritten
    data_is_not_overwritten a_result_is_not_thrown_away"
[ -z "$group" ] || checks="$checks a_run_is_not_killed_while_it_saves"
failed=0 total=0
for check in $checks; do
    total=$((total + 1))
    if $check; then echo "well    $check"; else echo "SILENT  $check" && failed=$((failed + 1)); fi
done
echo "$failed of $total silent failures"
[ $failed = 0 ]
