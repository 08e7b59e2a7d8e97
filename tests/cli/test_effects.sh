# Options without effect are refused before anything is read or written, by every command; typing mistakes get a suggestion.
. "$(dirname "$0")/begin.sh"
python3 "$source/tests/cli/make_job_data.py" . || fail "data"
printf 'a,b,kind\n1,2,x\n2,1,y\n3,4,x\n4,3,y\n' >t.csv
printf 'to be or not to be, that is the question' >t.txt
"$program" zoo lenet --width 4 --image 8 --channels 3 --classes 3 -o m.onnx >/dev/null || fail "zoo"
ls >before
refuses() { # WORDS ARGUMENT...
    words=$1 && shift
    "$program" "$@" >out 2>err </dev/null
    [ $? = 2 ] || fail "not refused as a mistake in the command line: $* ($(cat err))"
    grep -q -- "$words" err || fail "$* does not say '$words': $(cat err)"
    [ ! -s out ] || fail "$* printed something"
}
none() { refuses "has no effect" "$@"; }
train="train m.onnx --data first.npz --steps 1"

none $train --resume
none $train --checkpoint-every 3
none $train --best b.onnx
none $train --patience 3
none $train --trace-every 3
none $train --replan
none $train --spill .
none $train --no-spill
none $train --budget 1GiB --spill . --no-spill
none $train --nesterov
none $train --optimizer sgd --nesterov
none $train --optimizer sgd --dampening 0.1
none $train --optimizer sgd --betas 0.9,0.99
none $train --optimizer sgd --eps 1e-6
none $train --optimizer lion --eps 1e-6
refuses "is for rmsprop" $train --alpha 0.9
none $train --lr-step 3
none $train --schedule cosine --lr-gamma 0.5
none $train --schedule step --lr-least 0.5
none $train --huber-delta 2
for option in "--label-smoothing 0.1" "--ignore-index 1" "--class-weights 1,2,3"; do
    none $train --loss mse $option
    none evaluate m.onnx --data first.npz --loss mse $option
    none predict m.onnx first.npz $option
done

# Options for other kinds of data.
for option in "--seq 4" "--stride 2" "--token-bytes 2" "--image 8" "--resize 9" "--random-crop" "--random-flip" "--skip-bad" \
    "--columns a" "--drop a" "--categories a" "--embed a" "--missing mean" "--normalise"; do
    none $train $option
    none plan m.onnx --data first.npz $option
    none evaluate m.onnx --data first.npz $option
    none predict m.onnx first.npz $option
    none infer m.onnx --data first.npz $option
    none data first.npz $option
    none plan m.onnx $option
    none infer m.onnx --zeros $option
done
none data t.csv --layout nhwc
none data t.csv --raw
none data t.csv --seq 3
none data t.txt --mean 1
none data t.txt --target kind
none data t.txt --unpack-limit 1MiB
for command in evaluate infer predict; do none $command m.onnx --data first.npz --no-shuffle; done

# Each command's own.
none plan m.onnx --val first.npz
none plan m.onnx --epochs 2
none plan m.onnx --drop-last
none plan m.onnx --budget 1GiB --device-memory 2GiB
none infer m.onnx --data first.npz --zeros
none infer m.onnx --data first.npz --repeat 3
none predict m.onnx first.npz --temperature 2
none predict m.onnx first.npz --top-k 2
none predict m.onnx --prompt a --top 2
none predict m.onnx --prompt a --raw
none predict m.onnx first.npz --json --out x.csv
none predict m.onnx first.npz --json --format csv
refuses "need each other" zoo tabular --vocab 3 -o x.onnx
refuses "need each other" zoo tabular --seq 3 -o x.onnx
none explain --gpu 8GiB
none explain --batch 3
none zoo lenet --heads 3 -o x.onnx
none zoo tabular --image 3 -o x.onnx
none zoo resnet18 --layers 3 -o x.onnx
none zoo --classes 3
none inspect --passes --graph
none fit --list-gpus --batch 3
none help --man --completion
for command in explain "size 3" zoo "report x" "replay x" "pack x" ops help "budget 1 1GiB" "data first.npz"; do
    none $command --threads 1
done
for command in train plan evaluate infer inspect; do refuses "too many" $command m.onnx other.onnx --batch 3; done
refuses "too many" zoo lenet other -o x.onnx
refuses "too many" costs x
ls | grep -v -x -e out -e err -e after >after
grep -v -x -e out -e err before | cmp -s - after || fail "something was written: $(diff before after)"

# What has an effect is taken.
"$program" train m.onnx --data first.npz --steps 1 --optimizer sgd --momentum 0.9 --nesterov --dampening 0 --schedule step --lr-step 2 \
    --label-smoothing 0.1 --validation 0.2 --best b.onnx --patience 2 --mean 0.5 --layout nchw --quiet >out 2>err || fail "$(cat err)"
"$program" data t.txt --seq 4 --stride 2 >out 2>err || fail "$(cat err)"
"$program" data t.csv --target kind --drop a >out 2>err || fail "$(cat err)"
"$program" zoo resnet18 --channels 1 --width 4 --image 32 -o x.onnx >out 2>err || fail "$(cat err)"

# Typing mistakes.
meant() { # WORD ARGUMENT...
    word=$1 && shift
    "$program" "$@" >out 2>err && fail "not refused: $*"
    grep -q "is '*-*-*$word'* meant?" err || fail "$* does not suggest $word: $(cat err)"
}
meant train trian m.onnx
meant plan help plna
meant epochs $train --epoch 2
meant adamw $train --optimizer adamww
meant rmsprop $train --optimizer rmspop
meant huber $train --loss hubber
meant cosine $train --schedule cosin
meant lossy plan m.onnx --allow losy
meant resnet18 zoo resnet8 -o x.onnx
meant gpt2-tiny zoo gpt2-tny -o x.onnx
meant nhwc $train --layout nhwcc
meant augment $train --mixup 0.2
meant validation $train --validation-data photos
meant jsonl predict m.onnx first.npz --format json
meant perfetto report x --export perfeto -o y
meant growth top --sort grwth
meant amp-bf16 fit m.onnx --precision amp-bf6
meant onnxruntime fit m.onnx --framework onnxruntme
echo "all well"
