"""Mixed precision in captured steps beside PyTorch's own: the same step on fake tensors that say they are on CUDA, where its
dispatcher casts by itself. Every tensor that an operator makes has the same type and shape, in the same order. The forward pass
only: a PyTorch without CUDA has no backward pass there, and autograd makes that of the same operators.

    autocast.py FOLDER-OF-THE-PACKAGE"""

import sys

sys.path.insert(0, sys.argv[1])

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from plimsoll.capture import record


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(100, 32), nn.LayerNorm(32)
        self.qkv, self.head = nn.Linear(32, 96), nn.Linear(32, 100)

    def forward(self, x):
        x = self.embed(x)
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        a = torch.softmax(q @ k.transpose(-1, -2) / 8, -1)
        return self.head(nn.functional.gelu(x + a @ v)).flatten(0, 1)


MODELS = {
    "perceptron": lambda: (nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)), (16, 32), torch.float32, 16),
    "dropout": lambda: (nn.Sequential(nn.Linear(32, 64), nn.Dropout(0.1), nn.SiLU(), nn.Linear(64, 10)), (16, 32),
                        torch.float32, 16),
    "norms": lambda: (nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.Softplus(), nn.BatchNorm1d(64, track_running_stats=False), nn.Linear(64, 10)),
                      (16, 32), torch.float32, 16),
    "convolution": lambda: (nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, track_running_stats=False), nn.ReLU(), nn.MaxPool2d(2),
                                          nn.GroupNorm(2, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)),
                            (4, 3, 16, 16), torch.float32, 4),
    "encoder": lambda: (Encoder(), (4, 12), torch.int64, 48),
}


class Births(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.list, self.seen = [], []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (list, tuple)) else [out]:
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cuda" and tensor.numel():
                storage = tensor.untyped_storage()
                if not any(storage._cdata == s._cdata for s in self.seen):
                    self.seen.append(storage)
                    self.list.append((str(tensor.dtype), tuple(tensor.shape)))
        return out


def step_of(build, dtype, place):
    model, shape, kind, targets = build()
    place(model)

    def step():
        x = torch.ones(shape, dtype=kind, device="cuda")
        y = torch.zeros(targets, dtype=torch.int64, device="cuda")
        with torch.no_grad(), torch.autocast("cuda", dtype=dtype):
            nn.functional.cross_entropy(model(x), y)

    return step


def put_on_card(model):
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    made = torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda")
                    table[name] = nn.Parameter(made, requires_grad=False) if isinstance(tensor, nn.Parameter) else made


def of_pytorch(build, dtype):
    """Without a card autocast switches itself off, and only what is new can be on it."""
    was = torch.cuda.is_available, torch.cuda.is_bf16_supported
    with FakeTensorMode(allow_non_fake_inputs=True):
        step = step_of(build, dtype, put_on_card)
        torch.cuda.is_available = torch.cuda.is_bf16_supported = lambda *args: True
        with Births() as births:
            step()
    torch.cuda.is_available, torch.cuda.is_bf16_supported = was
    return births.list


def captured(build, dtype):
    events = record(lambda: step_of(build, dtype, lambda model: model.cuda()), 1)
    first = next(i for i, (what, _) in enumerate(events.list) if what == "step")
    return [(str(value.dtype), tuple(value.shape)) for what, value in events.list[first:] if what == "born"]


def main():
    failed = 0
    for name, build in MODELS.items():
        for dtype in (torch.float16, torch.bfloat16):
            ours, theirs = captured(build, dtype), of_pytorch(build, dtype)
            at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            same = ours == theirs
            failed += not same
            print("%-12s %-14s %3d tensors%s" % (name, dtype, len(theirs), "" if same else ", DIFFERS at %d: %s" % (
                at, list(zip(ours, theirs))[max(at - 2, 0):at + 4])))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
