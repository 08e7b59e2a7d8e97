#!/usr/bin/env python3
"""Writes scaling_numbers.h: what torch.amp.GradScaler decides when gradients of chosen updates are infinite or no number.

    python make_scaling_numbers.py > scaling_numbers.h          PyTorch 2.13
"""
import torch

UPDATES = 13000
INFINITE = [0, 1, 2, 1500, 2003, 3502, 3503, 9000, 9001, 9002, 9003, 9004, 9005, 11500]
NAN = [3, 3504, 11501]

weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.AdamW([weight], lr=1e-6)
scaler = torch.amp.GradScaler("cpu")
changes, made = [], 0
for update in range(UPDATES):
    factor = float("inf") if update in INFINITE else float("nan") if update in NAN else 1.0
    before, kept = scaler.get_scale(), weight.detach().clone()
    optimizer.zero_grad()
    scaler.scale((weight * torch.tensor([1.0, factor, 1.0])).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    skipped = torch.equal(kept, weight.detach())
    assert skipped == (update in INFINITE or update in NAN)
    made += not skipped
    if scaler.get_scale() != before:
        changes.append((update, scaler.get_scale()))
assert int(optimizer.state[weight]["step"]) == made

print("/* Decisions of torch.amp.GradScaler('cpu'), PyTorch %s. Written by make_scaling_numbers.py. */" % torch.__version__.split("+")[0])
print("enum { UPDATES = %d, OPTIMIZER_STEPS = %d, GROWTH_TRACKER = %d };" % (UPDATES, made, int(scaler._growth_tracker)))
print("static const int overflows_at[] = {%s};" % ", ".join(map(str, sorted(INFINITE + NAN))))
print("/* After which update the scale became another one. */")
print("static const struct {\n    int update;\n    double scale;\n} changes[] = {")
for update, scale in changes:
    print("    {%d, %.17g}," % (update, scale))
print("};")
