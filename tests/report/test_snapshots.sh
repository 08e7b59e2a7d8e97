#!/usr/bin/env bash
# Snapshots, dumps and exports against CPython's pickle, and PyTorch's own tool where a Python has it.
set -eu
program=$1 source=$2
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
# versions before 2 know only the old form
knows='import importlib.util, os, sys
torch = importlib.util.find_spec("torch")
tool = torch and os.path.join(os.path.dirname(torch.origin), "cuda", "_memory_viz.py")
sys.exit(not (tool and os.path.exists(tool) and "device_traces" in open(tool).read()))'
torch=
for python in "${PLIM_PYTHON:-}" "$source/bench/venv/bin/python" python3 /usr/bin/python3; do
    [ -n "$python" ] && "$python" -c "$knows" 2>/dev/null && { torch=$python; break; }
done
exec python3 "$source/tests/report/snapshots.py" "$program" "$(dirname "$program")/report-snapshots" ${torch:+--torch "$torch"}
