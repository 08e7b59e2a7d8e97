#!/usr/bin/env bash
# Snapshots, dumps and exports against CPython's pickle, and PyTorch's own tool where a Python has it.
set -eu
program=$1 source=$2
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
torch=
for python in "${PLIM_PYTHON:-}" "$source/bench/venv/bin/python" python3; do
    [ -n "$python" ] && "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null && { torch=$python; break; }
done
exec python3 "$source/tests/report/snapshots.py" "$program" "$(dirname "$program")/report-snapshots" ${torch:+--torch "$torch"}
