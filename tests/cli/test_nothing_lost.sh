# What a person made stays: checkpoints, data, models of others. What training made is found again, also where no option said where
# it should go, and in a group whose limit the run just fits.
program=$1 source=$2
. "$source/tests/cli/memory_group.sh" lost
export XDG_CACHE_HOME=$work/cache
python3 "$source/tests/cli/make_job_data.py" . || fail "data"
"$program" zoo lenet --width 4 --image 8 --channels 3 --classes 3 -o small.onnx >/dev/null || fail "zoo"
train() { "$program" train small.onnx --data first.npz --batch 15 --quiet "$@"; }
refuses() { # WORDS FILE COMMAND...: and the file is as it was
    words=$1 file=$2 before=$(cksum <"$2") && shift 2
    "$@" >out 2>err && fail "not refused: $*"
    grep -q -- "$words" err || fail "$* does not say '$words'"
    [ "$(cksum <"$file")" = "$before" ] || fail "$file was changed by $*"
}

# A checkpoint is resumed or refused.
train --steps 3 --checkpoint run.ckpt >/dev/null || fail "checkpoint"
refuses "--resume goes on from it" run.ckpt train --steps 3 --checkpoint run.ckpt
train --steps 5 --checkpoint run.ckpt --resume --out a.onnx >/dev/null 2>err || fail "resume"
# Other changes of the samples would be another run; the same in another order are the same.
train --steps 2 --augment flip,rotate=10 --checkpoint changed.ckpt >/dev/null || fail "checkpoint with augmentation"
refuses "the augmentation flip rotate=10; here: none" changed.ckpt train --steps 4 --checkpoint changed.ckpt --resume
refuses "here: flip rotate=20" changed.ckpt train --steps 4 --augment flip,rotate=20 --checkpoint changed.ckpt --resume
train --steps 4 --augment rotate=10,flip --checkpoint changed.ckpt --resume >/dev/null || fail "the same augmentation"

# Files of others are not replaced, by any option; those of ours are.
cp first.npz data.npz
for option in --checkpoint --log --report --trace --dump-gradients; do
    refuses "'data.npz' exists" data.npz train --steps 1 $option data.npz
done
refuses "data.npz" data.npz train --steps 1 --checkpoint data.npz --resume
cp small.onnx a.txt && cp a.txt text.onnx && printf 'mine' >mine.onnx && printf 'mine' >mine.safetensors
refuses "'mine.onnx' exists" mine.onnx train --steps 1 --out mine.onnx
refuses "'mine.safetensors' exists" mine.safetensors train --steps 1 --validation 0.2 --best mine.safetensors
refuses "is a checkpoint" run.ckpt train --steps 1 --log run.ckpt
refuses "both write" a.onnx train --steps 1 --validation 0.2 --out a.onnx --best a.onnx
train --steps 1 --out a.onnx --out b.safetensors --log log.jsonl >/dev/null 2>err || fail "replacing a model of ours"
train --steps 1 --out a.onnx --out b.safetensors --log log.jsonl >/dev/null 2>err || fail "replacing what was just written"

# No option says where the result goes: it is said before the first step, and it is there.
train --steps 4 >out 2>err || fail "without --out"
file=$(sed -n "s/.*goes to '\([^']*\)'.*/\1/p" err)
[ -s "$file" ] || fail "no checkpoint in the cache folder"
train --steps 4 --checkpoint "$file" --resume --out late.safetensors >/dev/null 2>err || fail "the cache folder's checkpoint"
train --steps 4 --out early.safetensors >/dev/null 2>err || fail "early"
cmp late.safetensors early.safetensors || fail "the checkpoint in the cache folder is another state"
for _ in 1 2 3 4 5 6; do train --steps 1 >/dev/null 2>err || fail "again"; done
[ "$(ls cache/plimsoll/runs | wc -l)" -le 4 ] || fail "checkpoints pile up: $(ls cache/plimsoll/runs)"
XDG_CACHE_HOME=/dev/null/no train --steps 1 >/dev/null 2>err || fail "no cache folder"
grep -q "nothing will be saved" err || fail "that nothing is saved is not said"

# A group's limit: what will not fit is said before the first step; what fits while it trains fits while it saves.
[ -n "$group" ] || { echo "all well, but for groups"; exit 0; }
"$program" zoo mlp --width 2048 --layers 3 -o wide.onnx >/dev/null || fail "zoo mlp"
wide="wide.onnx --data synthetic --batch 64 --optimizer sgd --steps 3 --quiet --threads 1"
"$program" train $wide --json >free.json 2>err || fail "wide"
peak=$(python3 -c 'import json; print(json.load(open("free.json"))["peak_resident_bytes"])')
within $((peak * 3 / 4)) "$program" train $wide --out wide-a.onnx >out 2>err && fail "a plan larger than its group ran"
grep -q -- "--budget" err || fail "the budget to use is not said"
within $((peak + (3 << 20))) "$program" train $wide --out wide-b.onnx >out 2>err || fail "it fitted until it was saved (limit $((peak + (3 << 20))))"
[ -s wide-b.onnx ] || fail "not saved"
echo "all well"
