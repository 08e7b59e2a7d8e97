"""Makes torch_numbers.h: what PyTorch computes for the gradients of a few networks, as two checksums each.

Weights and data come from a formula that the test repeats, so that nothing else needs to be kept."""
import math, sys
import torch, torch.nn.functional as F

def numbers(count, salt, scale):
    k = torch.arange(count, dtype=torch.float64)
    return (torch.sin(k * 0.7310585 + salt * 1.25) * scale).to(torch.float32)

def weight(name, *dims, base=0.0):
    salt = sum(name.encode())
    scale = 0.1 if len(dims) == 1 else min(0.5, 1.5 / math.sqrt(math.prod(dims[1:])))
    p = (base + numbers(math.prod(dims), salt, scale)).reshape(dims)
    p.requires_grad_(True)
    weights[name] = p
    return p

def data(*dims):
    return numbers(math.prod(dims), 3, 1.0).reshape(dims)

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

out = ["/* Made by make_torch_numbers.py with PyTorch " + torch.__version__.split("+")[0] + ": loss, and of each gradient g the",
       " * square root of the sum of squares and the sum of g[k] cos(0.11 k). */"]
for model in (lenet, residual, gpt):
    weights = {}
    loss = model()
    loss.backward()
    out.append(f"static const double {model.__name__}_loss = {loss.item():.9g};")
    out.append(f"static const struct numbers {model.__name__}_numbers[] = {{")
    for name, p in weights.items():
        g = p.grad.double().flatten()
        mix = (g * torch.cos(torch.arange(g.numel(), dtype=torch.float64) * 0.11)).sum().item()
        out.append(f'    {{"{name}", {g.norm().item():.9g}, {mix:.9g}}},')
    out.append("};")
open(sys.argv[1], "w").write("\n".join(out) + "\n")
