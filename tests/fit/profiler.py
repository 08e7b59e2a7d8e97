"""The tensors of captured steps beside those that PyTorch's own profiler records when the same steps run for real.

    profiler.py FOLDER-OF-THE-PACKAGE [--record captured.txt]

For each model: every captured tensor is there, with its size, in its order, and so is its end; the peak of these tensors
is the same. What is left over are numbers that the processor wraps into tensors and what its kernels take while they run;
the second figure is the peak with them."""

import sys

sys.path.insert(0, sys.argv[1])

import torch
from torch import nn
from torch._C._profiler import _EventType

from plimsoll.capture import record


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a, self.b = nn.Conv2d(channels, channels, 3, padding=1), nn.Conv2d(channels, channels, 3, padding=1)
        self.n = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.b(torch.relu(self.n(self.a(x)))))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        a = torch.softmax(q @ k.transpose(-1, -2) / 8, -1)
        return x + self.out((a @ v).transpose(1, 2).reshape(b, t, c))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.block, self.head = nn.Embedding(1000, 128), Attention(128, 4), nn.Linear(128, 1000)

    def forward(self, x):
        return self.head(self.block(self.embed(x))).flatten(0, 1)


def images(*layers):
    return lambda: (nn.Sequential(*[layer() for layer in layers]), torch.randn(16, 3, 32, 32), torch.zeros(16).long())


def flat(*layers):
    return lambda: (nn.Sequential(*[layer() for layer in layers]), torch.randn(64, 256), torch.zeros(64).long())


MODELS = {
    "perceptron": (flat(lambda: nn.Linear(256, 512), nn.ReLU, lambda: nn.Linear(512, 10)), "SGD"),
    "perceptron adam": (flat(lambda: nn.Linear(256, 512), nn.GELU, lambda: nn.Linear(512, 10)), "Adam"),
    "batch norm": (flat(lambda: nn.Linear(256, 512), lambda: nn.BatchNorm1d(512), nn.SiLU, lambda: nn.Linear(512, 10)),
                   "AdamW"),
    "layer norm": (flat(lambda: nn.Linear(256, 512), lambda: nn.LayerNorm(512), nn.Tanh, lambda: nn.Linear(512, 10)),
                   "RMSprop"),
    "dropout": (flat(lambda: nn.Linear(256, 512), lambda: nn.Dropout(0.3), nn.ELU, lambda: nn.Linear(512, 10)), "Adagrad"),
    "plain cnn": (images(lambda: nn.Conv2d(3, 32, 3), nn.ReLU, lambda: nn.MaxPool2d(2), lambda: nn.Conv2d(32, 64, 3),
                         nn.ReLU, lambda: nn.AdaptiveAvgPool2d(1), nn.Flatten, lambda: nn.Linear(64, 10)), "SGD"),
    "residual": (images(lambda: nn.Conv2d(3, 32, 3), lambda: Residual(32), lambda: Residual(32),
                        lambda: nn.AdaptiveAvgPool2d(1), nn.Flatten, lambda: nn.Linear(32, 10)), "AdamW"),
    "strided": (images(lambda: nn.Conv2d(3, 32, 3, stride=2), nn.LeakyReLU, lambda: nn.Conv2d(32, 64, 3, stride=2),
                       nn.Hardswish, lambda: nn.AvgPool2d(2), nn.Flatten, lambda: nn.Linear(64 * 9, 10)), "Adam"),
    "attention": (lambda: (nn.Sequential(Attention(128, 4), nn.Flatten(), nn.Linear(128 * 32, 10)),
                           torch.randn(8, 32, 128), torch.zeros(8).long()), "AdamW"),
    "words": (lambda: (Words(), torch.zeros(8, 32).long(), torch.zeros(8 * 32).long()), "AdamW"),
}


def program(build, optimizer):
    def make():
        model, x, y = build()
        update = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)

        def step():
            update.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            update.step()

        return step

    return make


# What the dispatcher hands to a kernel in one piece; what is inside is the kernel's own.
KERNELS = {"aten::convolution", "aten::convolution_backward", "aten::native_batch_norm", "aten::native_batch_norm_backward"}


def recorded(make, steps):
    """(bytes, is_birth) one after the other, and the peak above the start, as the profiler sees it."""
    step = make()
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(steps):
            step()
    events, stack = [], [(event, None) for event in profile.profiler.kineto_results.experimental_event_tree()]
    while stack:
        event, parent = stack.pop()
        if event.tag == _EventType.Allocation and event.typed[1].device.type == "cpu":
            events.append((event.start_time_ns, event.typed[1].alloc_size, event.typed[1].ptr, parent))
        leaf = event.tag == _EventType.TorchOp and parent is None and event.name in KERNELS
        owner = event if leaf else parent
        stack += [(child, owner) for child in event.children]
    events.sort(key=lambda e: e[0])
    return events


def outlive_their_kernel(events):
    """Without what is taken and given back inside one kernel."""
    open_at, dropped = {}, set()
    for i, (_, size, pointer, kernel) in enumerate(events):
        if size > 0:
            open_at[pointer] = i
        elif pointer in open_at:
            birth = open_at.pop(pointer)
            if kernel is not None and events[birth][3] == kernel:
                dropped |= {birth, i}
    return sort_outputs([e for i, e in enumerate(events) if i not in dropped], lambda e: e[3], lambda e: e[1])


def sort_outputs(events, kernel_of, size_of):
    """A kernel makes its outputs in an order of its own: the largest first here."""
    out, at = [], 0
    while at < len(events):
        end = at + 1
        while end < len(events) and kernel_of(events[at]) is not None and kernel_of(events[end]) == kernel_of(events[at]):
            end += 1
        out += sorted(events[at:end], key=size_of, reverse=True) if end > at + 1 else events[at:end]
        at = end
    return out


def matched(sizes, events):
    """The profiler's births and ends of the captured tensors; None where one is missing. Each captured birth is the next
    recorded one of its size."""
    wanted, kept, live = [s for s in sizes if s > 0], [], {}
    at = 0
    for _, size, pointer, _ in events:
        if size > 0:
            live[pointer] = at < len(wanted) and wanted[at] == size
            if live[pointer]:
                kept.append(size)
                at += 1
        elif live.pop(pointer, False):
            kept.append(size)
    return kept if at == len(wanted) else None


def peak_of(sizes):
    total = peak = 0
    for size in sizes:
        total += size
        peak = max(peak, total)
    return peak


def predicted(make, steps):
    events = record(make, steps, like="cpu")
    first = next(i for i, (what, _) in enumerate(events.list) if what == "step")
    before = {id(value) for what, value in events.list[:first] if what == "born"}
    list_ = [(value.bytes if what == "born" else -value.bytes,
              value.operator if what == "born" and value.operator.startswith(("conv_backward", "native_batch")) else None)
             for what, value in events.list[first:]
             if what in ("born", "died") and not (what == "died" and id(value) in before)]
    return [size for size, _ in sort_outputs(list_, lambda e: e[1], lambda e: e[0])]


def write(file, name, sizes, peak):
    """The captured stream and the profiler's peak, for the test that has no PyTorch: "a" asked for, "f" given back (the
    oldest live one of that size), "peak" the profiler's."""
    file.write("model %s\n" % name)
    for size in sizes:
        file.write("%s %d\n" % ("a" if size > 0 else "f", abs(size)))
    file.write("peak %d\n" % peak)


def main():
    failed = 0
    record_to = open(sys.argv[3], "w") if len(sys.argv) > 3 and sys.argv[2] == "--record" else None
    if record_to:
        record_to.write("# made by profiler.py with PyTorch %s\n" % torch.__version__)
    for name, (build, optimizer) in MODELS.items():
        make = program(build, optimizer)
        real = recorded(make, 2)
        sizes = predicted(make, 2)
        tensors = matched(sizes, outlive_their_kernel(real))
        same = tensors is not None and tensors == sizes
        peaks = peak_of(sizes), peak_of(tensors or []), peak_of([e[1] for e in real])
        good = tensors is not None and abs(peaks[0] / max(peaks[1], 1) - 1) <= 0.01
        failed += not good
        if record_to and good:
            write(record_to, name, sizes, peaks[1])
        order = "births and ends the same" if same else "births the same" if tensors else "DIFFERS"
        print("%-16s %4d tensors, %s; peak %d of %d (%+.2f %%), %d with kernels' own%s" % (
            name, sum(s > 0 for s in sizes), order, peaks[0], peaks[1], 100 * (peaks[0] / max(peaks[1], 1) - 1), peaks[2],
            "" if good else "  FAILED"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
