"""Makes loss_numbers.h: what PyTorch computes for losses and their gradients.

Scores, targets and weights come from formulas that the test repeats, so that nothing else needs to be stored."""
import math, sys
import torch, torch.nn.functional as F

def numbers(count, salt, scale):
    k = torch.arange(count, dtype=torch.float64)
    return (torch.sin(k * 0.7310585 + salt * 1.25) * scale).to(torch.float32)

def classes(name, dims, ignore=None, smoothing=0.0, weighted=False, scale=3.0):
    """dims as ours: classes last for rank 3, on axis 1 else. Every fifth target is ignored."""
    x = numbers(math.prod(dims), 3, scale).reshape(dims).requires_grad_(True)
    last = len(dims) == 3
    c = dims[2] if last else dims[1]
    scores = x.reshape(-1, c) if last else x
    count = math.prod(dims) // c
    t = torch.tensor([(k * 7 + 3) % c for k in range(count)])
    if ignore is not None:
        t[::5] = ignore
    w = (numbers(c, 1, 0.5) + 1) if weighted else None
    shape = (count,) if last else (dims[0],) + tuple(dims[2:])
    kwargs = {} if ignore is None else {"ignore_index": ignore}
    loss = F.cross_entropy(scores, t.reshape(shape), weight=w, label_smoothing=smoothing, **kwargs)
    loss.backward()
    counts = t.reshape(shape) != (-100 if ignore is None else ignore)
    weight = (w[t[t != (-100 if ignore is None else ignore)]].sum() if weighted else counts.sum()).item()
    right = ((scores.argmax(1) == t.reshape(shape)) & counts).sum().item()
    row(name, loss, weight, right, x.grad)

def elements(name, loss, dims, logits=False):
    x = numbers(math.prod(dims), 3, 3.0).requires_grad_(True)
    t = numbers(math.prod(dims), 5, 0.5) + 0.5 if logits else numbers(math.prod(dims), 5, 2.0)
    value = loss(x, t)
    value.backward()
    row(name, value, x.numel(), -1, x.grad)

def row(name, loss, weight, right, g):
    g = g.reshape(-1).to(torch.float64)
    k = torch.arange(g.numel(), dtype=torch.float64)
    out.append(f'    {{"{name}", {loss.item():.9g}, {weight:.9g}, {right}, {g.norm():.9g}, {(g * torch.cos(k * 0.11)).sum():.9g}}},')

out = ["/* Made by make_loss_numbers.py with PyTorch " + torch.__version__.split("+")[0] + ": loss, weight, right predictions (-1: none), and of the",
       " * gradient g of the scores its norm and sum_k g[k] cos(0.11 k). */", "static const struct numbers loss_numbers[] = {"]
classes("rows", (7, 10))
classes("wide", (3, 5003))
classes("tokens", (2, 5, 37))
classes("images", (2, 6, 17, 23))
classes("large scores", (7, 10), scale=3000.0)
classes("rows ignored", (16, 10), ignore=-100)
classes("tokens ignored", (2, 8, 33), ignore=4)
classes("images ignored", (2, 6, 9, 31), ignore=255)
classes("rows smoothed", (7, 10), smoothing=0.1)
classes("images smoothed", (2, 6, 9, 31), smoothing=0.3)
classes("rows weighted", (7, 10), weighted=True)
classes("images weighted", (2, 6, 9, 31), weighted=True)
classes("rows all", (16, 10), ignore=-100, smoothing=0.2, weighted=True)
classes("tokens all", (2, 8, 33), ignore=4, smoothing=0.2, weighted=True)
classes("images all", (2, 6, 9, 31), ignore=255, smoothing=0.2, weighted=True)
classes("one class", (5, 1))
elements("mse", F.mse_loss, (5, 7))
elements("l1", F.l1_loss, (5, 7))
elements("huber", lambda x, t: F.huber_loss(x, t, delta=1.5), (5, 7))
elements("bce", F.binary_cross_entropy_with_logits, (5, 7), logits=True)
elements("bce long", F.binary_cross_entropy_with_logits, (3, 41, 997), logits=True)
elements("mse long", F.mse_loss, (3, 41, 997))
out.append("};")
open(sys.argv[1] if len(sys.argv) > 1 else "loss_numbers.h", "w").write("\n".join(out) + "\n")
