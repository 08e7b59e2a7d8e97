# Loading and running the 500 MB gpt2 holds its weights once: the peak of the process is at most the weights of the
# file, the planned activations, and 96 MiB for everything else.
plimsoll=$1
if grep -q __asan "$plimsoll"; then echo "skipped: a sanitizer's own memory counts"; exit 77; fi
folder=$(mktemp -d -p "$(dirname "$plimsoll")")
trap 'rm -r "$folder"' EXIT
available=$(df --output=avail -k "$folder" | tail -1)
if [ "$available" -lt 1200000 ]; then echo "skipped: not enough room for the model"; exit 77; fi
"$plimsoll" zoo gpt2 -o "$folder/gpt2.onnx" >/dev/null || exit 1

number() { tr -d ' \n' <"$1" | grep -o "\"$2\":[0-9]*" | head -1 | cut -d: -f2; }
failed=0
for batch in 1 4; do
    "$plimsoll" inspect "$folder/gpt2.onnx" --batch $batch --json >"$folder/plan" || exit 1
    "$plimsoll" infer "$folder/gpt2.onnx" --batch $batch --zeros --json >"$folder/run" || exit 1
    arena=$(number "$folder/plan" arena_bytes) weights=$(number "$folder/plan" parameter_bytes) bound=$(number "$folder/plan" lower_bound_bytes)
    kept=$(number "$folder/plan" weights) peak=$(number "$folder/run" peak_resident_bytes)
    limit=$((weights + arena - kept + 96 * 1024 * 1024))
    echo "batch $batch: weights $weights, activations $((arena - kept)), peak $peak of $limit"
    [ "$(number "$folder/run" arena_bytes)" = "$arena" ] || { echo "FAILED: infer uses another arena than inspect plans"; failed=1; }
    [ "$peak" -gt "$weights" ] || { echo "FAILED: the peak cannot be less than the weights"; failed=1; }
    [ "$peak" -le "$limit" ] || { echo "FAILED: the peak is above weights + activations + 96 MiB"; failed=1; }
    [ $((arena * 100)) -le $((bound * 102)) ] || { echo "FAILED: the arena is above 1.02 of its lower bound"; failed=1; }
done
exit $failed
