#!/bin/sh
# Benchmarks beside the real peers, in one run. Makes its own virtual environment with PyTorch 2.13 (CPU), measures, and
# writes bench/RESULTS.md.
#   bench/run.sh PLIMSOLL [THREADS]
set -eu
program=$(realpath "$1")
threads=${2:-$(nproc)}
here=$(cd "$(dirname "$0")" && pwd)

"$here/../scripts/setup.sh" python3 python3-venv
if ! "$here/venv/bin/python" -c 'import torch, onnx, numpy' 2>/dev/null; then
    echo "making $here/venv with PyTorch 2.13"
    python3 -m venv "$here/venv"
    "$here/venv/bin/pip" install -q torch==2.13.0 numpy onnx
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "forward, against eager PyTorch, $threads threads:"
"$here/venv/bin/python" "$here/forward.py" "$program" "$work/forward.json" --threads "$threads"
echo "packing:"
"$here/venv/bin/python" "$here/packing.py" "$program" "$here/../../shared/data/packing" "$work/packing.json"
"$here/venv/bin/python" "$here/results.py" "$work" > "$work/RESULTS.md"
cp "$work/RESULTS.md" "$here/RESULTS.md"
echo "wrote bench/RESULTS.md"
