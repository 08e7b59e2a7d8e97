"""What PyTorch computes for bench/exports.py, and under which conditions it repeats itself.

A comparison tells something only where the reference repeats itself. PyTorch's float32 does not, against its own float64, where
  - a sum that is 0 but for rounding falls to either side of a ReLU's bend, or
  - a gradient is 0 but for rounding: norms as they are made (scale 1, bias 0) undo the scale of the norm before them, so that the
    gradient of that scale is what rounding leaves of it.
Such a model is judged under the first of CONDITIONS under which every float32 run of PyTorch (from the weights, from weights off by
one rounding, with the images' channels last) is within NEAR of the limits of its float64. The program that is judged has no part in
the choice. Conditions: what the norms begin with, as in a trained network, smaller images, of which
fewer values are beside bends, the norms' epsilon, the rate, and at last SiLU in place of bends, and mean pools in place of max pools, which is counted apart; the batches of each are drawn until PyTorch
repeats their gradients, and no value is so near to a bend that rounding decides about it.
"""
import copy
import json

import numpy as np

BATCH, STEPS = 4, 3
RATES = (1e-2, 1e-1, 1e-3)
MORE_RUNS = 5  # of a model whose updates the framework does not repeat, to learn by how much
OUTPUT_LIMIT, GRADIENT_LIMIT, WEIGHT_LIMIT, ZERO_LIMIT = 1e-5, 1e-4, 1e-3, 1e-5
NEAR = 1 / 3  # of the limits: within it the framework repeats itself
ROUNDED_WEIGHT = 3.1e-7  # of a weight: a rounding in each of three updates, and one that it begins with, are no sign of conditions
DRAWN = 32  # batches that are drawn for one update
BESIDE = 2  # times the rounding error that is usual in its channel: so near to a bend, rounding decides on which side a value is
TRIES = 2  # sets of batches for one condition
# scales of norms are drawn from [low, high], their biases from a normal distribution with that mean and deviation; None: as they are
POSITIVE, SPREAD = (0.5, 1.0, 0.7, 0.3), (0.5, 1.5, 0.5, 0.5)
# the last ones have no bends ("smooth"): what is right there is right but for the bends themselves, and counted apart
CONDITIONS, UNMOVED = (tuple({"norms": norms, "eps": eps, "size": size, "rate": rate, "smooth": (*kind, None)[0]} for norms, eps, size, rate, *kind in some) for some in (
    ((None, None, None, 1e-2), (None, None, None, 1e-3), (POSITIVE, None, None, 1e-2), (POSITIVE, None, 32, 1e-2), (POSITIVE, None, 32, 1e-3), (SPREAD, None, 32, 1e-2),
     (SPREAD, None, 32, 1e-3), (POSITIVE, 0.1, 32, 1e-2), (SPREAD, 0.1, 32, 1e-2), (POSITIVE, 1.0, 32, 1e-2), (POSITIVE, 0.1, None, 1e-2), (POSITIVE, None, 48, 1e-2),
     (SPREAD, None, None, 1e-2), *((POSITIVE, eps, size, 1e-2, kind) for kind in ("bends", "pools") for eps, size in ((None, None), (None, 32), (0.1, None), (0.1, 32), (1.0, 32)))),
    ((None, None, None, 1e-2), (None, None, None, 1e-3), (None, 0.1, None, 1e-2), (None, 0.1, 32, 1e-2), (None, 0.1, 32, 1e-3), (None, 1.0, 32, 1e-2))))
# where a run of all conditions had its first that PyTorch repeats, or none: those before are not tried again
BENT = sum(not condition["smooth"] for condition in CONDITIONS)
KNOWN = {**dict.fromkeys(("timm.ese_vovnet19b_slim", "timm.ghostnet_050", "timm.lcnet_035", "timm.mobilenetv3_small_050", "torchvision.mobilenet_v2", "torchvision.shufflenet_v2_x0_5",
                          "torchvision.shufflenet_v2_x1_0"), 2), **dict.fromkeys(("torchvision.densenet_small", "timm.repvgg_a0", "torchvision.regnet_y_400mf", "timm.hrnet_w18_small"), 7),
         "torchvision.efficientnet_b0": 9, "torchvision.mnasnet0_5": 10, "torchvision.regnet_x_400mf": BENT + 2, "torchvision.densenet121": BENT + 3, "timm.dla46_c": BENT + 7,
         **dict.fromkeys(("torchvision.googlenet", "timm.efficientnet_lite0", "timm.hgnetv2_b0"), len(CONDITIONS))}


def first_of(out):
    while not hasattr(out, "shape"):
        out = next(iter(out.values())) if isinstance(out, dict) else out[0]
    return out


def gradients_of(torch, model, x, y):
    """The loss, and the gradients of one batch, which stay in the model for an update."""
    double = next(model.parameters()).dtype == torch.float64
    model.zero_grad()
    loss = torch.nn.functional.mse_loss(first_of(model(x.double() if double and x.is_floating_point() else x)), y.double() if double else y)
    loss.backward()
    return loss.item(), {k: p.grad.detach().numpy().copy() for k, p in model.named_parameters() if p.grad is not None}


def train(torch, model, start, xs, ys, rate, double):
    """The first loss, the first gradients, and all state after STEPS updates."""
    model.load_state_dict(start)
    model = model.double() if double else model.float()
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    gradients, first = {}, None
    for s in range(STEPS):
        loss, found = gradients_of(torch, model, xs[s * BATCH:(s + 1) * BATCH], ys[s * BATCH:(s + 1) * BATCH])
        if s == 0:
            first, gradients = loss, found
        optimizer.step()
    return first, gradients, {k: v.detach().numpy().copy() for k, v in model.state_dict(keep_vars=True).items()}


def nudged(torch, start, seed=7):
    """Every weight off by one rounding: what a correct program may start from that reads it from another form."""
    generator = torch.Generator().manual_seed(seed)
    made = copy.copy(start)  # with what it says of versions
    for k, v in start.items():
        if v.is_floating_point() and v.dim() > 1:
            made[k] = v * (1 + 6e-8 * torch.sign(torch.randn(v.shape, generator=generator)))
    return made


def reproducible(start, after, others):
    """How many of the tensors that move are the same within 1 % of that in the other runs: from 0 to 1."""
    good = total = 0
    for k, v in after.items():
        moved = np.abs(v - np.asarray(start[k])).max(initial=0) if v.dtype.kind == "f" else 0
        if moved > 1e-6 * np.abs(v).max(initial=0):
            total += 1
            good += all(np.abs(v - o[k]).max() <= 1e-2 * moved for o in others)
    return good / max(total, 1)


def has_layouts(model):
    """PyTorch cannot lay out tensors of other ranks with channels last where it lays out those of rank 4: it takes rank 5 for an error."""
    return all(p.dim() != 5 for p in model.parameters())


def in_other_order(torch, model, start, xs, ys, rate, count):
    """Runs of PyTorch in its other layout of images, whose sums have another order, from the weights and from nudged ones."""
    if xs.dim() != 4 or not has_layouts(model):
        return []
    model.to(memory_format=torch.channels_last)
    made = [train(torch, model, nudged(torch, start, 30 + k) if k else start, xs.contiguous(memory_format=torch.channels_last), ys, rate, False) for k in range(count)]
    model.to(memory_format=torch.contiguous_format)
    return made


BENDS = "relu", "relu_", "relu6", "hardswish", "hardsigmoid", "max_pool2d"
KEPT = {}


def smooth(torch, kind):
    """SiLU in place of every bend of modules that are called from now on in this process, with kind "pools" mean pools in place of max
    pools too; with None all are themselves again. Sums beside 0 then do not decide about gradients."""
    F = torch.nn.functional
    torch.overrides.get_overridable_functions()  # torch.export asks for this list, which is made once, and fails with other functions in it
    KEPT.update({name: KEPT.get(name, getattr(F, name)) for name in BENDS}, torch=KEPT.get("torch", torch.relu))
    for name in BENDS:
        setattr(F, name, KEPT[name])
    torch.relu = KEPT["torch"]
    if kind:
        F.relu = F.relu_ = F.relu6 = F.hardswish = lambda x, inplace=False: F.silu(x)
        F.hardsigmoid, torch.relu = lambda x, inplace=False: torch.sigmoid(x), F.silu
    if kind == "pools":
        F.max_pool2d = lambda x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False: F.avg_pool2d(x, kernel_size, stride, padding, ceil_mode, False)


def torch_reference(torch, model, xs, ys, rates=RATES):
    start = copy.deepcopy(model.state_dict())
    names = {k for k, p in model.named_parameters()}
    best = (-1.0,)
    for rate in rates:
        one = train(torch, model, start, xs, ys, rate, False)
        nudge = train(torch, model, nudged(torch, start), xs, ys, rate, False)
        double = train(torch, model, start, xs, ys, rate, True)
        same = reproducible(start, one[2], (nudge[2], double[2]))
        best = max(best, (same, rate, one, nudge, double), key=lambda b: b[0])
        if same >= 0.9:
            break
    same, rate, one, nudge, double = best
    model.float()
    loss, gradients, after = one
    singles = [one, nudge] + in_other_order(torch, model, start, xs, ys, rate, MORE_RUNS + 1)
    if same < 1:  # a number beside the bend of a ReLU falls to either side: one more run may not show it
        singles += [train(torch, model, nudged(torch, start, seed), xs, ys, rate, False) for seed in range(8, 8 + MORE_RUNS)]
    out = {"rate": np.array(rate), "loss": np.array(loss), "names": np.array(sorted(names)), "repeats": np.array(same)}
    for k, v in gradients.items():
        out["grad:" + k], out["grad64:" + k] = v, double[1][k].astype(np.float32)
        out["grad-noise:" + k] = np.array(max(np.abs(g[k] - double[1][k]).max(initial=0) for _, g, _ in singles))
    for k, v in start.items():
        out["start:" + k], out["after:" + k] = v.numpy(), after[k]
        if after[k].dtype.kind == "f":
            out["after64:" + k] = double[2][k].astype(np.float32)
            out["after-noise:" + k] = np.array(max(np.abs(a[k] - double[2][k]).max(initial=0) for _, _, a in singles))
    places = {}
    for k, p in model.named_parameters(remove_duplicate=False):
        places.setdefault(id(p), []).append(k)
    out["tied"] = np.array(json.dumps([names for names in places.values() if len(names) > 1]))
    out["frozen"] = np.array(sorted(k for k, p in model.named_parameters() if not p.requires_grad), dtype=str)
    return out


# --- conditions -------------------------------------------------------------------------------------------------------------


def gradient_limits(exact):
    """{name: how far its gradient may be off}, of gradients in float64."""
    sizes = {k: float(np.abs(g).max(initial=0)) for k, g in exact.items()}
    largest = max(sizes.values(), default=0)
    return {k: (GRADIENT_LIMIT * size if size > 1e-9 * largest else ZERO_LIMIT * largest) + 1e-12 for k, size in sizes.items()}


def distances(reference):
    """How far the framework's float32 runs are off its float64: in limits of gradients, and of updates (roundings of weights apart)."""
    limits = gradient_limits({k[len("grad64:"):]: v for k, v in reference.items() if k.startswith("grad64:")})
    gradients = max((float(reference["grad-noise:" + k]) / limit for k, limit in limits.items()), default=0)
    moves = {k[len("after64:"):]: float(np.abs(v - reference["start:" + k[len("after64:"):]]).max(initial=0)) for k, v in reference.items() if k.startswith("after64:")}
    largest, updates = max(moves.values(), default=0), 0.0
    for k, move in moves.items():
        noise = float(reference["after-noise:" + k]) - ROUNDED_WEIGHT * float(np.abs(reference["start:" + k]).max(initial=0))
        updates = max(updates, noise / ((WEIGHT_LIMIT * move if move > 1e-9 * largest else ZERO_LIMIT * largest) + 1e-12))
    return gradients, updates


def repeats_itself(reference):
    return max(distances(reference)) <= NEAR


def sized(torch, draw, condition):
    """How to draw images of the size that the condition has; other inputs as ever."""
    shape = draw(1, torch.Generator()).shape
    size = condition["size"] if len(shape) == 4 and condition["size"] else None
    return (lambda batch, g: torch.randn(batch, shape[1], size, size, generator=g)) if size else draw


def put_under(torch, model, condition):
    """Norms of the model, and bends of all, as the condition has them."""
    smooth(torch, condition.get("smooth"))
    generator = torch.Generator().manual_seed(5)
    for part in model.modules():
        if not isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            continue
        part.eps = condition["eps"] or part.eps
        if part.affine and condition["norms"]:
            low, high, mean, deviation = condition["norms"]
            with torch.no_grad():
                part.weight.copy_(low + (high - low) * torch.rand(part.weight.shape, generator=generator))
                part.bias.copy_(mean + deviation * torch.randn(part.bias.shape, generator=generator))


def entered_bends(torch, model, x):
    """[(places of bends or None for a max pool, what enters, options)] of a forward pass."""
    from torch.utils._python_dispatch import TorchDispatchMode
    entered = []

    class Bends(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            name = func.overloadpacket.__name__.rstrip("_")
            bounds = {"relu": (0.0,), "leaky_relu": (0.0,), "hardtanh": args[1:3] or (-1.0, 1.0), "hardswish": (-3.0, 3.0), "hardsigmoid": (-3.0, 3.0)}.get(name)
            if bounds or name == "max_pool2d_with_indices":
                entered.append((bounds, args[0].to(torch.float64, memory_format=torch.contiguous_format, copy=True), args[1:]))
            return func(*args, **(kwargs or {}))

    with torch.no_grad(), Bends():
        model(x.double() if next(model.parameters()).dtype == torch.float64 and x.is_floating_point() else x)
    return entered


def lead_in_windows(torch, x, kernel, stride=None, padding=(0, 0), *_):
    """By how much the largest of each window is above the next; infinite where it is 0, through which nothing flows back to a ReLU."""
    x = torch.nn.functional.pad(x, (padding[-1], padding[-1], padding[0], padding[0]), value=-torch.inf)
    windows = x.unfold(2, kernel[0], (stride or kernel)[0]).unfold(3, kernel[-1], (stride or kernel)[-1])
    first, second = windows.flatten(4).topk(2, 4).values.unbind(4)
    return torch.where(first == 0, torch.inf, first - second)


def undecided(torch, exact, rough):
    """Whether a value lies so near to a bend, or two of a max pool so near to each other, that rounding decides."""
    for (bounds, values, options), (_, others, _) in zip(exact, rough):
        wrong = BESIDE * (others - values).square().mean([d for d in range(values.dim()) if d != 1], keepdim=True).sqrt()
        if bounds is None:
            near = lead_in_windows(torch, values, *options) <= 2**0.5 * wrong
        else:
            near = torch.stack([(values - bound).abs() for bound in bounds]).amin(0) < wrong
        if near.any():
            return True
    return False


def repeated(torch, models, x, y):
    """Whether all models have the gradients of the first, which is in float64, and no value is undecided."""
    last = x.contiguous(memory_format=torch.channels_last) if len(models) > 3 else x
    exact = entered_bends(torch, models[0], x)
    if any(undecided(torch, exact, entered_bends(torch, m, given)) for m, given in ((models[1], x), (models[-1], last))):
        return False
    gradients = gradients_of(torch, models[0], x, y)[1]
    limits = gradient_limits(gradients)
    for k, m in enumerate(models[1:]):
        found = gradients_of(torch, m, last if k == 2 else x, y)[1]
        if any(np.abs(g - gradients[name]).max(initial=0) > NEAR * limits[name] for name, g in found.items()):
            return False
    return True


def drawn_batches(torch, models, draw, rate, seed):
    """(xs, ys) of STEPS updates, each the first of DRAWN batches whose gradients PyTorch repeats; the number of an update that has none."""
    optimizers = [torch.optim.SGD(m.parameters(), lr=rate) for m in models]
    xs, ys = [], []
    with torch.no_grad():
        shape = first_of(copy.deepcopy(models[1])(draw(BATCH, torch.Generator().manual_seed(0)))).shape
    for step in range(STEPS):
        for number in range(DRAWN):
            generator = torch.Generator().manual_seed(10000 * seed + 100 * step + number)
            x, y = draw(BATCH, generator), torch.randn(shape, generator=generator)
            before = [[b.clone() for b in m.buffers()] for m in models]
            good = repeated(torch, models, x, y)
            for m, buffers in zip(models, before):  # statistics of norms have moved
                for b, old in zip(m.buffers(), buffers):
                    b.copy_(old)
            if good:
                break
        if not good:
            return step
        for optimizer in optimizers:
            optimizer.step()
        xs.append(x), ys.append(y)
    return torch.cat(xs), torch.cat(ys)


def under(torch, build, condition):
    """The model in float64, in float32, with weights off by one rounding, and of images with the channels last; and how to draw inputs."""
    models = []
    for k in range(4 if build()[1](1, torch.Generator()).dim() == 4 and has_layouts(build()[0]) else 3):
        model, draw = build()
        put_under(torch, model, condition)
        if k == 2:
            model.load_state_dict(nudged(torch, model.state_dict()))
        models.append((model.double() if k == 0 else model.to(memory_format=torch.channels_last) if k == 3 else model).train())
    return models, sized(torch, draw, condition)


def conditioned(torch, build, moved, first=0):
    """(condition, xs, ys, reference) of the first condition, of those from `first` on, under which PyTorch repeats itself, or None. `build` makes (model, draw),
    the same each time; without `moved`, norms stay as they were."""
    norms = any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in build()[0].modules())
    hopeless = []
    for condition in CONDITIONS[first:] if moved else UNMOVED:
        place = [condition[key] for key in ("norms", "eps", "size", "smooth")]
        if place in hopeless or not norms and any(place[:3]):
            continue
        for seed in range(1, TRIES + 1):
            try:
                found = drawn_batches(torch, *under(torch, build, condition), condition["rate"], seed)
            except (RuntimeError, AssertionError, ValueError):  # not of that size
                found = 0
            if isinstance(found, int):
                print(condition, "no batch for update %d" % (found + 1), flush=True)
                if found == 0:  # whatever the rate
                    hopeless.append(place)
                break  # another set would need as many
            model = build()[0]
            put_under(torch, model, condition)
            reference = torch_reference(torch, model, *found, (condition["rate"],))
            print(condition, seed, "limits of gradients %.2g, of updates %.2g" % distances(reference), flush=True)
            if repeats_itself(reference):
                return condition, *found, reference
    return None
