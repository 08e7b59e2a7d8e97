# The training run as a user meets it: it learns, what it writes is what it says, Ctrl-C loses nothing, a full disk neither.
program=$1
data=/usr/share/datasets/fashion-mnist
[ -d $data ] || { echo "skipped: no $data"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive XDG_CACHE_HOME=$work/cache
fail() { echo "FAILED: $*"; exit 1; }
field() { grep -o "\"$1\": [^,}]*" "$2" | tail -1 | sed 's/.*: //'; }
above() { awk "BEGIN { exit !($1 > $2) }"; }

"$program" zoo lenet --width 8 -o lenet.onnx >/dev/null || fail "zoo"
settings="lenet.onnx --data $data --batch 64 --lr 4e-3"
train() { "$program" train $settings "$@"; }

# It learns, and validation says what evaluation of the file says.
train --steps 120 --val $data --json --out trained.onnx --out trained.safetensors --best best.onnx \
    --log log.jsonl >result.json 2>errors || fail "train: $(cat errors)"
for name in steps loss metric seconds_per_step samples_per_second arena_bytes peak_resident_bytes idle_resident_bytes \
    data_wait_share; do
    [ -n "$(field $name result.json)" ] || fail "no $name in the result"
done
[ "$(field steps result.json)" = 120 ] || fail "steps: $(field steps result.json)"
above "$(field metric result.json)" 0.70 || fail "it did not learn: $(field metric result.json)"
[ "$(grep -c '"loss"' log.jsonl)" = 120 ] || fail "the log has $(grep -c '"loss"' log.jsonl) steps"
"$program" evaluate trained.onnx --data $data --batch 64 --json >evaluated.json || fail "evaluate"
[ "$(field metric result.json)" = "$(field accuracy evaluated.json)" ] ||
    fail "validation says $(field metric result.json), evaluation $(field accuracy evaluated.json)"
cmp -s trained.onnx best.onnx || fail "the only validation was not the best"
loss="--label-smoothing 0.1 --ignore-index 3 --class-weights 1,1,1,1,1,1,1,1,1,5"
train --steps 20 --val $data $loss --json --out smooth.onnx >result.json || fail "train with $loss"
"$program" evaluate smooth.onnx --data $data --batch 48 $loss --json >evaluated.json || fail "evaluate with $loss"
[ "$(field count evaluated.json)" = 9000 ] || fail "class 3 was not ignored: $(cat evaluated.json)"
awk "BEGIN { d = $(field validation_loss result.json) - $(field loss evaluated.json); exit !(d * d < 1e-10) }" ||
    fail "validation says $(field validation_loss result.json), evaluation $(field loss evaluated.json)"
"$program" train $settings --steps 1 --optimizer adam --alpha 0.9 >/dev/null 2>errors && fail "adam has no alpha"
grep -q -- "--alpha is for rmsprop" errors || fail "whose is --alpha? $(cat errors)"
[ -s trained.safetensors ] || fail "no safetensors"

# The training loss of an epoch is the mean over it; the best epoch and its file are named; the log has the measures.
"$program" train lenet.onnx --data $data --batch 500 --validation 0.995 --epochs 2 --best best2.onnx --log epochs.jsonl >ends ||
    fail "epochs: $(cat ends)"
python3 - <<'PY' || fail "the epoch's loss is not the mean over it: $(grep validation epochs.jsonl)"
import json
lines = [json.loads(line) for line in open("epochs.jsonl")]
for epoch in 1, 2:
    steps = [(x["loss"], 300 / 1) for x in lines if x["epoch"] == epoch and "loss" in x]
    said = [x for x in lines if x["epoch"] == epoch and "training_loss" in x][0]
    assert abs(said["training_loss"] - sum(l for l, _ in steps) / len(steps)) < 1e-6, (said, steps)
    assert 0 < said["validation_f1"] < 1 and 0 < said["validation_top5"] <= 1, said
PY
grep -q "^best: epoch [12], step [12], .*in best2.onnx" ends || fail "the best epoch is not named: $(tail -3 ends)"

# Lines, when there is no terminal; nothing with --quiet but the end.
train --steps 40 >lines 2>&1 || fail "lines"
[ "$(grep -c samples/s lines)" -ge 5 ] || fail "too few lines: $(cat lines)"
[ "$(train --steps 2 --quiet | wc -l)" = 1 ] || fail "--quiet is not quiet"

# Ctrl-C: the step ends, the checkpoint is written, and the run goes on as if nothing had happened.
for signal in INT TERM; do
    rm -f run.ckpt stopped.jsonl
    "$program" train $settings --steps 100000 --checkpoint run.ckpt --log stopped.jsonl --quiet >out 2>errors &
    pid=$! # of the program itself, not of a shell around it
    for _ in $(seq 600); do
        [ -e stopped.jsonl ] && [ "$(wc -l <stopped.jsonl)" -ge 3 ] && break
        sleep 0.1
    done
    kill -$signal $pid
    wait $pid
    code=$?
    [ $code = 130 ] || fail "$signal: exit code $code: $(cat errors)"
    grep -q "resume" errors || fail "$signal: it does not say how to go on: $(cat errors)"
done
done_steps=$(grep -c step stopped.jsonl)
train --steps $((done_steps + 4)) --checkpoint run.ckpt --resume --log stopped.jsonl --out parts.safetensors --quiet \
    >/dev/null 2>errors || fail "resume: $(cat errors)"
train --steps $((done_steps + 4)) --out whole.safetensors --quiet >/dev/null || fail "the whole run"
cmp whole.safetensors parts.safetensors || fail "the weights differ after an interruption"
[ "$(grep -c step stopped.jsonl)" = $((done_steps + 4)) ] || fail "the log has lost steps"

# A disk that is full: one line, and the last good checkpoint survives.
made="lenet.onnx --data synthetic --batch 64 --checkpoint run.ckpt --resume --quiet"
rm run.ckpt
"$program" train $made --steps 2 >/dev/null || fail "synthetic"
cp run.ckpt good.ckpt
(
    trap '' XFSZ
    ulimit -f 40
    "$program" train $made --steps 4 >/dev/null 2>errors
) && fail "a full disk was not noticed"
[ "$(wc -l <errors)" = 1 ] && grep -q "run.ckpt" errors || fail "full disk: $(cat errors)"
cmp run.ckpt good.ckpt || fail "a full disk took the checkpoint"
[ "$(echo run.ckpt*)" = run.ckpt ] || fail "leftovers: $(echo run.ckpt*)"

# A log that cannot be written does not cost the weights: said once, and the exit status tells.
"$program" train lenet.onnx --data synthetic --batch 64 --steps 3 --log /dev/full --out logged.onnx --quiet >/dev/null 2>errors &&
    fail "a log that failed was not told"
[ "$(wc -l <errors)" = 1 ] && grep -q "without the log" errors || fail "log: $(cat errors)"
"$program" inspect logged.onnx >/dev/null || fail "the log took the weights along"

# Gradients, profile, accumulation with batch norm.
train --steps 3 --quiet --json --profile --dump-gradients gradients.safetensors >profile.json || fail "profile"
above "$(field kernel_share profile.json)" 0 || fail "no share of kernels"
[ -s gradients.safetensors ] || fail "no gradients"
"$program" zoo resnet18 --width 8 --image 32 --classes 10 -o resnet.onnx >/dev/null || fail "zoo resnet18"
"$program" train resnet.onnx --data synthetic --batch 8 --accumulate 2 --steps 2 --quiet >/dev/null 2>errors || fail "resnet"
[ "$(grep -c "micro-batch" errors)" = 1 ] || fail "batch norm in micro-batches is not told: $(cat errors)"

# Wrong ways to call it are told before anything runs.
"$program" train lenet.onnx 2>/dev/null
[ $? = 2 ] || fail "no data"
train --resume 2>/dev/null
[ $? = 2 ] || fail "--resume without a checkpoint"
train --out weights.txt 2>errors
[ $? = 1 ] && grep -q "weights.txt" errors || fail "a strange file: $(cat errors)"
echo "all well"
