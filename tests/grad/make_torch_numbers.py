"""Makes torch_numbers.h: what PyTorch computes for the gradients of a few networks, in double precision: of each
parameter the norm, a weighted sum, the largest entry and some entries.

Weights and data come from a formula that the test repeats, so that nothing else needs to be stored."""
import math, sys
import torch, torch.nn.functional as F

def numbers(count, salt, scale):
    h = (torch.arange(count, dtype=torch.int64) * 2654435761 + salt * 97) & 0xFFFFFFFF  # scrambled, so that no matrix is of low rank
    h = ((h ^ (h >> 15)) * 2246822519) & 0xFFFFFFFF
    h = h ^ (h >> 13)
    return ((h.double() / 2147483648 - 1) * scale).to(torch.float32)

def weight(name, *dims, base=0.0):
    salt = sum(name.encode())
    scale = 0.1 if len(dims) == 1 else min(0.5, 1.5 / math.sqrt(math.prod(dims[1:])))
    p = (torch.tensor(base) + numbers(math.prod(dims), salt, scale)).reshape(dims).double()
    p.requires_grad_(True)
    weights[name] = p
    return p

def data(*dims):
    return numbers(math.prod(dims), 3, 1.0).reshape(dims).double()

def labels(count, classes):
    return torch.tensor([(k * 7 + 3) % classes for k in range(count)])

def lenet():
    def conv(x, n, i, o): return F.conv2d(x, weight(n + ".weight", o, i, 5, 5), weight(n + ".bias", o), padding=2)
    x = data(3, 1, 28, 28)
    x = F.max_pool2d(F.relu(conv(x, "conv1", 1, 8)), 2)
    x = F.max_pool2d(F.relu(conv(x, "conv2", 8, 16)), 2).flatten(1)
    x = F.relu(F.linear(x, weight("fc1.weight", 64, 16 * 49), weight("fc1.bias", 64)))
    x = F.linear(x, weight("fc2.weight", 10, 64), weight("fc2.bias", 10))
    return F.cross_entropy(x, labels(3, 10))

def conv_norm(x, prefix, n, i, o, k, stride=1, pad=0):
    conv, norm = (f"{prefix}conv{n}", f"{prefix}bn{n}") if n else (f"{prefix}0", f"{prefix}1")
    x = F.conv2d(x, weight(f"{conv}.weight", o, i, k, k), stride=stride, padding=pad)
    return F.batch_norm(x, None, None, weight(f"{norm}.weight", o, base=1.0), weight(f"{norm}.bias", o), training=True)

def resnet18():
    x = F.max_pool2d(F.relu(conv_norm(data(8, 3, 32, 32), "", "1", 3, 8, 7, 2, 3)), 3, 2, 1)
    i = 8
    for stage in range(4):
        for b in range(2):
            p, o, stride = f"layer{stage + 1}.{b}.", 8 << stage, 2 if stage and not b else 1
            y = F.relu(conv_norm(x, p, "1", i, o, 3, stride, 1))
            y = conv_norm(y, p, "2", o, o, 3, 1, 1)
            if stride != 1 or i != o:
                x = conv_norm(x, p + "downsample.", "", i, o, 1, stride)
            x, i = F.relu(y + x), o
    x = F.linear(x.mean((2, 3)), weight("fc.weight", 10, i), weight("fc.bias", 10))
    return F.cross_entropy(x, labels(8, 10))

def unet():
    def double(x, p, i, o):
        x = F.relu(conv_norm(x, p + ".", "1", i, o, 3, 1, 1))
        return F.relu(conv_norm(x, p + ".", "2", o, o, 3, 1, 1))
    x, i, skips = data(2, 3, 32, 32), 3, []
    for k in range(4):
        skips.append(double(x, f"down{k + 1}", i, 4 << k))
        x, i = F.max_pool2d(skips[-1], 2), 4 << k
    x = double(x, "bottom", i, 64)
    for k in range(3, -1, -1):
        x = F.conv_transpose2d(x, weight(f"up{k + 1}.up.weight", 8 << k, 4 << k, 2, 2), weight(f"up{k + 1}.up.bias", 4 << k), stride=2)
        x = double(torch.cat([skips[k], x], 1), f"up{k + 1}", 8 << k, 4 << k)
    x = F.conv2d(x, weight("head.weight", 3, 4, 1, 1), weight("head.bias", 3))
    return F.cross_entropy(x.movedim(1, 3).reshape(-1, 3), labels(2 * 32 * 32, 3))

def lstm(n=3, v=20):
    t, h = 6, 16
    x = F.embedding(labels(n * t, v).reshape(n, t), weight("embedding.weight", v, h)).transpose(0, 1)
    for i in range(2):
        w, r, b = (weight(f"lstm.{i}.weight_ih", 1, 4 * h, h), weight(f"lstm.{i}.weight_hh", 1, 4 * h, h),
                   weight(f"lstm.{i}.bias", 1, 8 * h))
        s, c, y = torch.zeros(n, h).double(), torch.zeros(n, h).double(), []
        for step in x:
            i_, o_, f_, g_ = (step @ w[0].T + s @ r[0].T + b[0, :4 * h] + b[0, 4 * h:]).chunk(4, 1)
            c = torch.sigmoid(f_) * c + torch.sigmoid(i_) * torch.tanh(g_)
            s = torch.sigmoid(o_) * torch.tanh(c)
            y.append(s)
        x = torch.stack(y)
    x = x.transpose(0, 1) @ weight("head.weight", h, v) + weight("head.bias", v)
    return F.cross_entropy(x.reshape(n * t, v), labels(n * t, v))

def lstm_of_few_words():
    return lstm(16, 5)

def residual():
    def norm(x, n): return F.batch_norm(x, None, None, weight(n + ".weight", 16, base=1.0), weight(n + ".bias", 16), training=True)
    x = data(4, 16, 9, 9)
    y = F.relu(norm(F.conv2d(x, weight("conv1.weight", 16, 16, 3, 3), padding=1), "bn1"))
    y = norm(F.conv2d(y, weight("conv2.weight", 16, 16, 3, 3), padding=1), "bn2")
    z = F.relu(x + y).mean((2, 3))
    return F.cross_entropy(F.linear(z, weight("fc.weight", 5, 16), weight("fc.bias", 5)), labels(4, 5))

def gpt():
    n, t, e, h, v = 2, 12, 32, 4, 40
    def norm(x, p): return F.layer_norm(x, (e,), weight(p + ".weight", e, base=1.0), weight(p + ".bias", e), 1e-5)
    def project(x, p, i, o): return x @ weight(p + ".weight", i, o) + weight(p + ".bias", o)
    tokens = labels(n * t, v).reshape(n, t)
    wte = weight("wte.weight", v, e)
    x = F.embedding(tokens, wte) + weight("wpe.weight", 128, e)[:t]
    for i in range(2):
        p = f"h.{i}"
        q, k, w = project(norm(x, p + ".ln_1"), p + ".attn.qkv", e, 3 * e).split(e, 2)
        q, k, w = (z.reshape(n, t, h, e // h).transpose(1, 2) for z in (q, k, w))
        y = F.scaled_dot_product_attention(q, k, w, is_causal=True).transpose(1, 2).reshape(n, t, e)
        x = x + project(y, p + ".attn.proj", e, e)
        y = F.gelu(project(norm(x, p + ".ln_2"), p + ".mlp.fc", e, 4 * e), approximate="tanh")
        x = x + project(y, p + ".mlp.proj", 4 * e, e)
    x = norm(x, "ln_f") @ wte.T
    return F.cross_entropy(x.reshape(n * t, v), labels(n * t, v))

ENTRIES = 24
out = ["/* Made by make_torch_numbers.py with PyTorch " + torch.__version__.split("+")[0] + ", in double precision: loss, and of each",
       " * gradient g the square root of the sum of squares, the sum of g[k] cos(0.11 k), the largest |g[k]|, and entries", " * g[(7919 j + 13) 104729 mod n], j = 0, 1, ... */", "/* clang-format off */", f"#define ENTRIES {ENTRIES}"]
for model in (lenet, residual, gpt, resnet18, unet, lstm, lstm_of_few_words):
    weights = {}
    loss = model()
    loss.backward()
    out.append(f"static const double {model.__name__}_loss = {loss.item():.9g};")
    out.append(f"static const struct numbers {model.__name__}_numbers[] = {{")
    for name, p in weights.items():
        g = p.grad.flatten()
        mix = (g * torch.cos(torch.arange(g.numel(), dtype=torch.float64) * 0.11)).sum().item()
        entries = ", ".join(f"{g[(7919 * j + 13) * 104729 % g.numel()].item():.6g}" for j in range(ENTRIES))
        out.append(f'    {{"{name}", {g.norm().item():.9g}, {mix:.9g}, {g.abs().max().item():.6g}, {{{entries}}}}},')
    out.append("};")
open(sys.argv[1], "w").write("\n".join(out) + "\n")
