#!/usr/bin/env bash
# explain LOG --model: the job on the card of the log, in the framework of the log, in that framework's words.
set -u
program=$1 source=$2
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
model=$source/tests/fit/exports/mixer.onnx
echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 1.00 GiB of which \
0.20 GiB is free. Of the allocated memory 0.70 GiB is allocated by PyTorch, and 30.00 MiB is reserved by PyTorch but \
unallocated." > "$folder/torch.log"
echo "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[2048,48,48,64] and type \
float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc" > "$folder/tensorflow.log"
fail() { echo "$1"; cat "$folder/said"; exit 1; }

"$program" explain "$folder/torch.log" --model "$model" --batch 48000 > "$folder/said" 2>&1 || fail "a log of PyTorch"
grep -q 'on the card of the log and does not fit' "$folder/said" || fail "the card is the log's"
grep -q 'fits with .*torch.autocast' "$folder/said" || fail "in the words of PyTorch"
"$program" explain "$folder/torch.log" --model "$model" --batch 16 > "$folder/said" 2>&1 || fail "a small batch"
grep -q 'and fits: the log tells of something else' "$folder/said" || fail "what fits is said to"
"$program" explain "$folder/tensorflow.log" --model "$model" --batch 48000 > "$folder/said" 2>&1 && fail "no card is known"
grep -q 'give --gpu' "$folder/said" || fail "the card is asked for"
"$program" explain "$folder/tensorflow.log" --model "$model" --batch 48000 --gpu 1GiB > "$folder/said" 2>&1 || fail "a card"
grep -q 'in TensorFlow, needs' "$folder/said" || fail "the framework is the log's"
sed -n '/^The model/,$p' "$folder/said" | grep -q 'keras.mixed_precision' || fail "in the words of Keras"
sed -n '/^The model/,$p' "$folder/said" | grep -q 'torch' && fail "not in those of PyTorch"
"$program" explain "$folder/torch.log" --model "$folder/none.onnx" > "$folder/said" 2>&1 && fail "no such model"
grep -q "cannot open .*none.onnx" "$folder/said" || fail "the missing model is named"
exit 0
