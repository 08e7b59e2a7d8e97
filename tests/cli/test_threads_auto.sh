# --threads auto: a number that was measured is used and said, the weights are those of that number, and where nothing can be
# measured the command says why itself.
. "$(dirname "$0")/begin.sh"
"$program" zoo mlp --seed 3 -o m.onnx >/dev/null || fail "zoo"
job="m.onnx --data synthetic --batch 16 --steps 3 --optimizer sgd"

"$program" train $job --threads auto --out auto.safetensors --json >a.json 2>errors || fail "$(cat errors)"
threads=$(sed -n 's/^ *"threads": \([0-9]*\),*/\1/p' a.json)
[ "${threads:-0}" -ge 1 ] && [ "$threads" -le "$(nproc)" ] || fail "threads: '$threads'"
[ "$(nproc)" = 1 ] || grep -q "^plimsoll train: threads: $threads, " errors || fail "not said: $(cat errors)"
"$program" train $job --threads "$threads" --out fixed.safetensors --quiet >out 2>errors || fail "$(cat errors)"
cmp auto.safetensors fixed.safetensors || fail "the weights are not those of $threads threads"
[ "$(ls | sort | tr '\n' ' ')" = "a.json auto.safetensors errors fixed.safetensors m.onnx out " ] || fail "left behind: $(ls)"

"$program" plan m.onnx --batch 16 --threads auto --json >b.json 2>errors || fail "$(cat errors)"
refuses "only train and plan" infer m.onnx --zeros --threads auto
refuses "expected a whole number" train $job --threads some
refuses "not with --lora" train $job --threads auto --lora r=2
refuses "cannot open 'nowhere'" train m.onnx --data nowhere --threads auto
exit 0
