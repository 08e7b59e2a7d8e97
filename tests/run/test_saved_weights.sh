# Trained weights load with equal values in onnx, onnxruntime, PyTorch and the safetensors package.
#   PLIM_PYTHON names a Python that has them; else python3 is tried.
python=${PLIM_PYTHON:-python3}
"$python" -c 'import numpy, torch, onnx, onnxruntime, safetensors.torch' 2>/dev/null || {
    echo "skipped: $python lacks one of numpy, torch, onnx, onnxruntime, safetensors"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" "$2/tests/run/saved_weights.py" "$1" "$folder" || exit 1

# A place that cannot be written is told before training begins, not after.
cd "$folder" || exit 1
"$1" zoo lenet -o lenet.onnx >/dev/null
for place in weights.pt nowhere/lenet.onnx; do
    "$1" train lenet.onnx --data synthetic --batch 2 --steps 1 --out "$place" >out 2>err && exit 1
    grep -q "$place" err || { cat err; exit 1; }
done
[ "$(wc -l <err)" = 1 ]
