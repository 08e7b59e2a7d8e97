# A run that is killed at random moments, again and again, ends with the weights of one that never was, bit for bit.
# PLIM_KILLS sets how often; the default is 12.
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*"; exit 1; }
kills=${PLIM_KILLS:-12}

# Dropout-free and small: what counts is that every moment can be hit, also while a checkpoint is being written.
"$program" zoo lenet --width 4 -o model.onnx >/dev/null || fail "zoo"
steps=60
settings="model.onnx --data synthetic --batch 8 --steps $steps --optimizer adamw --schedule cosine --seed 5 --quiet"
train() { "$program" train $settings "$@"; }
started=$(date +%s%N)
train --out whole.safetensors --checkpoint whole.ckpt --checkpoint-every 2 >/dev/null || fail "the whole run"
whole=$((($(date +%s%N) - started) / 1000000)) # milliseconds

killed=0 rounds=0
RANDOM=${PLIM_SEED:-7}
while [ $killed -lt "$kills" ]; do
    rounds=$((rounds + 1))
    [ $rounds -gt $((kills * 20)) ] && fail "only $killed of $rounds runs could be killed"
    "$program" train $settings --checkpoint run.ckpt --checkpoint-every 2 --resume --out parts.safetensors >out 2>errors &
    pid=$! # of the program itself, not of a shell around it
    sleep "$(awk "BEGIN { print ($RANDOM / 32768) * $whole / 1000 }")"
    if kill -KILL $pid 2>/dev/null; then
        wait $pid 2>/dev/null
        [ $? = 137 ] && killed=$((killed + 1))
    else
        wait $pid || fail "after $killed kills: $(cat errors)"
    fi
    if [ -e parts.safetensors ]; then # it came to its end: compare, and begin again
        cmp whole.safetensors parts.safetensors || fail "the weights differ after $killed kills"
        rm -f parts.safetensors run.ckpt
    fi
done
train --checkpoint run.ckpt --checkpoint-every 2 --resume --out parts.safetensors >out 2>errors || fail "$(cat errors)"
cmp whole.safetensors parts.safetensors || fail "the weights differ after $killed kills"
echo "$killed kills, $rounds runs: the same weights"
