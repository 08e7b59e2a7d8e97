#!/usr/bin/env bash
# Captured steps beside PyTorch's own profiler; skipped where Python has no PyTorch.
set -u
program=$1 source=$2
python=${PLIM_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch"; exit 77; }
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
"$python" "$source/tests/fit/profiler.py" "$source/python" || exit 1

cat > "$folder/fits.py" <<'PY'
import torch
def make():
    model = torch.nn.Linear(4096, 4096).cuda()
    update = torch.optim.AdamW(model.parameters())
    def step():
        update.zero_grad()
        model(torch.randn(1024, 4096, device="cuda")).sum().backward()
        update.step()
    return step
PY
"$python" "$source/python/plimsoll/capture.py" "$folder/fits.py" -o "$folder/fits.trace" || exit 1
"$program" fit "$folder/fits.trace" --gpu "RTX 3060" > "$folder/out" || { echo "it should fit"; exit 1; }
"$program" fit "$folder/fits.trace" --gpu 300MiB > "$folder/out" && { echo "it should not fit"; exit 1; }

# Control flow that depends on numbers: the capture says where, and the trace holds what came before.
sed 's/model(torch/torch.relu if (torch.ones(9000, device="cuda") > 0).all() else 0\n        model(torch/' \
  "$folder/fits.py" > "$folder/depends.py"
"$python" "$source/python/plimsoll/capture.py" "$folder/depends.py" -o "$folder/cut.trace" 2> "$folder/said" || exit 1
grep -q 'depends.py:7' "$folder/said" || { echo "the line is not named:"; cat "$folder/said"; exit 1; }
grep -q 'depends.py:7' <("$program" fit "$folder/cut.trace") || { echo "the prediction does not say that it is cut"; exit 1; }
exit 0
