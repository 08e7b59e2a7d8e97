"""Makes optimizer_numbers.h: what PyTorch's optimizers leave of a few parameters after twenty updates, as two checksums
each.

Parameters, gradients and data come from formulas that the test repeats. `fed` updates by given gradients; `network` by
those of a small network whose weights the kernels keep in blocks with padding."""
import math, sys
import torch, torch.nn.functional as F
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LinearLR, SequentialLR, StepLR

STEPS = 20

def numbers(count, salt, scale):
    k = torch.arange(count, dtype=torch.float64)
    return (torch.sin(k * 0.7310585 + salt * 1.25) * scale).to(torch.float32)

class Lion(torch.optim.Optimizer):  # the paper's algorithm 2
    def __init__(self, parameters, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(parameters, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (b1, b2), lr = group["betas"], group["lr"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                c = m * b1 + p.grad * (1 - b1)
                p.mul_(1 - lr * group["weight_decay"]).add_(c.sign(), alpha=-lr)
                m.mul_(b2).add_(p.grad, alpha=1 - b2)

o = torch.optim
CASES = {  # name: (optimizer, schedule, clip by norm, clip by value)
    "sgd": (lambda p: o.SGD(p, lr=0.05), None, 0, 0),
    "sgd_momentum": (lambda p: o.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01), None, 0, 0),
    "sgd_dampening": (lambda p: o.SGD(p, lr=0.05, momentum=0.8, dampening=0.3), None, 0, 0),
    "sgd_nesterov": (lambda p: o.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.02), None, 0, 0),
    "adam": (lambda p: o.Adam(p), None, 0, 0),
    "adam_decay": (lambda p: o.Adam(p, lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1), None, 0, 0),
    "adamw": (lambda p: o.AdamW(p), None, 0, 0),
    "adamw_norm": (lambda p: o.AdamW(p, lr=0.01, weight_decay=0.1), None, 0.5, 0),
    "adamw_value": (lambda p: o.AdamW(p, lr=0.01), None, 0, 0.02),
    "rmsprop": (lambda p: o.RMSprop(p, lr=0.001), None, 0, 0),
    "rmsprop_momentum": (lambda p: o.RMSprop(p, lr=0.001, alpha=0.9, momentum=0.9, weight_decay=0.1), None, 0, 0),
    "adagrad": (lambda p: o.Adagrad(p), None, 0, 0),
    "adagrad_decay": (lambda p: o.Adagrad(p, lr=0.05, lr_decay=0.1, weight_decay=0.1), None, 0, 0),
    "adafactor": (lambda p: o.Adafactor(p), None, 0, 0),
    "adafactor_fast": (lambda p: o.Adafactor(p, lr=0.6, eps=(None, 0.1)), None, 0, 0),
    "adafactor_decay": (lambda p: o.Adafactor(p, lr=0.05, beta2_decay=-0.5, d=1.5, weight_decay=0.1), None, 0.4, 0),
    "lion": (lambda p: Lion(p), None, 0, 0),
    "lion_decay": (lambda p: Lion(p, lr=0.003, betas=(0.95, 0.98), weight_decay=0.5), None, 0, 0.1),
    "sgd_both": (lambda p: o.SGD(p, lr=0.1, momentum=0.9), None, 0.3, 0.01),
    "constant": (lambda p: o.SGD(p, lr=0.05), lambda s: warm(s, ConstantLR(s, 1.0)), 0, 0),
    "step": (lambda p: o.SGD(p, lr=0.05), lambda s: StepLR(s, 6, 0.5), 0, 0),
    "cosine": (lambda p: o.AdamW(p, lr=0.01), lambda s: warm(s, CosineAnnealingLR(s, STEPS - 5, 0.01 * 0.1)), 0, 0),
    "linear": (lambda p: o.Adam(p, lr=0.01), lambda s: LinearLR(s, 1.0, 0.2, STEPS), 0, 0),
}

def warm(s, after, updates=5):
    return SequentialLR(s, [LinearLR(s, 1 / updates, 1.0, updates - 1), after], [updates])

SHAPES = {"vector": (37,), "filter": (5, 3, 3, 3), "matrix": (23, 31), "number": (1,), "large": (129, 257)}

def fed(name):
    make, schedule, norm, value = CASES[name]
    p = {n: numbers(math.prod(s), i, 0.5).reshape(s).requires_grad_() for i, (n, s) in enumerate(SHAPES.items())}
    optimizer = make(list(p.values()))
    scheduler = schedule(optimizer) if schedule else None
    for step in range(STEPS):
        for i, (n, s) in enumerate(SHAPES.items()):
            p[n].grad = numbers(math.prod(s), 10 * step + i + 7, 0.03 + 0.002 * step).reshape(s)
        take_step(optimizer, scheduler, p, norm, value)
    return p

def take_step(optimizer, scheduler, p, norm, value):
    if norm: torch.nn.utils.clip_grad_norm_(list(p.values()), norm)
    if value: torch.nn.utils.clip_grad_value_(list(p.values()), value)
    optimizer.step()
    if scheduler: scheduler.step()

def network(name):
    make, schedule, norm, value = CASES[name]
    shapes = {"conv1.weight": (5, 3, 3, 3), "conv1.bias": (5,), "conv2.weight": (6, 5, 3, 3), "up.weight": (6, 6, 2, 2),
              "group.weight": (8, 3, 1, 1), "fc.weight": (17, 8), "fc.bias": (17,)}
    p = {n: numbers(math.prod(s), sum(n.encode()), 0.3).reshape(s).requires_grad_() for n, s in shapes.items()}
    optimizer = make(list(p.values()))
    scheduler = schedule(optimizer) if schedule else None
    labels = torch.tensor([(k * 7 + 3) % 17 for k in range(4)])
    for step in range(STEPS):
        x = numbers(4 * 3 * 64, step + 3, 1.0).reshape(4, 3, 8, 8)
        y = torch.tanh(F.conv2d(x, p["conv1.weight"], p["conv1.bias"], padding=1))
        y = torch.tanh(F.conv2d(y, p["conv2.weight"], stride=2, padding=1))
        y = torch.tanh(F.conv_transpose2d(y, p["up.weight"], stride=2))
        y = F.conv2d(y, p["group.weight"], groups=2).mean((2, 3))
        loss = F.cross_entropy(F.linear(y, p["fc.weight"], p["fc.bias"]), labels)
        optimizer.zero_grad()
        loss.backward()
        take_step(optimizer, scheduler, p, norm, value)
    return p

out = ["/* Made by make_optimizer_numbers.py with PyTorch " + torch.__version__.split("+")[0] + ": of each parameter x after 20 updates",
       " * the square root of the sum of squares and the sum of x[k] cos(0.11 k). */", "/* clang-format off */"]
for run in (fed, network):
    for name in CASES:
        if run is network and name == "adafactor_fast": continue  # it wanders: rounding decides where it ends
        out.append(f"static const struct numbers {run.__name__}_{name}[] = {{")
        for n, x in run(name).items():
            x = x.detach().double().flatten()
            mix = (x * torch.cos(torch.arange(x.numel(), dtype=torch.float64) * 0.11)).sum().item()
            out.append(f'    {{"{n}", {x.norm().item():.9g}, {mix:.9g}}},')
        out.append("};")
open(sys.argv[1], "w").write("\n".join(out) + "\n")
