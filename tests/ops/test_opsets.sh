# Rows agree with the operators' definitions in the onnx package: a row covers several versions of an operator only where
# these differ in types, in attributes that it reads, or in what it refuses.
command -v python3 >/dev/null && python3 -c 'import onnx.defs, sys; sys.exit(onnx.defs.onnx_opset_version() < 24)' 2>/dev/null ||
    { echo "skipped: no onnx package of opset 24 or later"; exit 77; }
"$1" ops --json | python3 "$2/tests/ops/opsets.py"
