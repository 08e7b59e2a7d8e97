#!/usr/bin/env bash
# Captured steps beside PyTorch's own profiler; skipped where Python has no PyTorch.
set -u
program=$1 source=$2
python=${PLIM_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch"; exit 77; }
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
"$python" "$source/tests/fit/profiler.py" "$source/python" || exit 1
"$python" "$source/tests/fit/autocast.py" "$source/python" || exit 1

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

# As programs are written: is there a card, a gradient scaler, clipping, a schedule, recomputation.
cat > "$folder/usual.py" <<'PY'
import torch
from torch.utils.checkpoint import checkpoint
def make():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    body = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Dropout(0.1), torch.nn.Linear(512, 512)).to(device)
    head = torch.nn.Linear(512, 10).to(device)
    update = torch.optim.AdamW(list(body.parameters()) + list(head.parameters()))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(update, 10)
    scaler = torch.amp.GradScaler("cuda")
    def step():
        x = torch.randn(1024, 512).to(device, non_blocking=True)
        update.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            y = head(checkpoint(body, x, use_reentrant=False))
            loss = torch.nn.functional.cross_entropy(y, torch.zeros(1024, dtype=torch.long, device=device))
        scaler.scale(loss).backward()
        scaler.unscale_(update)
        torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        scaler.step(update)
        scaler.update()
        schedule.step()
        torch.cuda.synchronize()
        print(loss.item(), torch.cuda.max_memory_allocated())
    return step
PY
"$python" "$source/python/plimsoll/capture.py" "$folder/usual.py" -o "$folder/usual.trace" > "$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
! grep stopped "$folder/said" || exit 1
"$program" fit "$folder/usual.trace" --json > "$folder/usual.json" || exit 1
"$python" - "$folder/usual.json" <<'PY' || { echo "the scaled step has no optimizer state"; exit 1; }
import json, sys
kinds = json.load(open(sys.argv[1]))["kinds"]
weights = 4 * (2 * (512 * 512 + 512) + 512 * 10 + 10)
assert kinds["weight"] == weights and kinds["optimizer"] >= 2 * weights, kinds
PY

# Control flow that depends on numbers: the capture says where, and the trace holds what came before.
sed 's/model(torch/torch.relu if (torch.ones(9000, device="cuda") > 0).all() else 0\n        model(torch/' \
  "$folder/fits.py" > "$folder/depends.py"
"$python" "$source/python/plimsoll/capture.py" "$folder/depends.py" -o "$folder/cut.trace" 2> "$folder/said" || exit 1
grep -q 'depends.py:7' "$folder/said" || { echo "the line is not named:"; cat "$folder/said"; exit 1; }
grep -q 'depends.py:7' <("$program" fit "$folder/cut.trace") || { echo "the prediction does not say that it is cut"; exit 1; }
exit 0
