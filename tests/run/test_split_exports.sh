# Modules that PyTorch exported end with PyTorch's weights when their batches are split, unless the plan calls that lossy.
/usr/bin/python3 -c 'import numpy, torch' 2>/dev/null || { echo "skipped: no python3-torch"; exit 77; }
exec /usr/bin/python3 "$2/tests/run/split_exports.py" "$1"
