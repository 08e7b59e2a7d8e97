"""More models that bench/exports.py exports: modules as people write them, each a few lines, small and with random weights.

They stand for what no list of libraries has: generators, gates, graphs by a dense adjacency, losses of two towers, filters over
time, parametrizations, and calls of functions where a layer would do.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

from export_models import MODELS, Residual, Unit, images, mlp, model, rows, tokens


def heads(x, count):
    return x.unflatten(-1, (count, -1)).transpose(-3, -2)


def conv_norm(i, o, size=3, stride=1, **options):
    return nn.Sequential(nn.Conv2d(i, o, size, stride, size // 2, bias=False, **options), nn.BatchNorm2d(o), nn.ReLU())


# --- encoders, decoders, generators --------------------------------------------------------------------------------------


@model("modules.vae_mean")
def _():
    parts = dict(e=mlp(16, 24), mu=nn.Linear(24, 4), var=nn.Linear(24, 4), d=mlp(4, 24, 16))

    def run(s, x):
        h = torch.relu(s.e(x))
        return s.d(s.mu(h) + torch.exp(0.5 * s.var(h)))
    return Unit(parts, run), rows(16)


@model("modules.dcgan_generator")
def _():
    return nn.Sequential(nn.Unflatten(1, (8, 1, 1)), nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
                         nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False), nn.Tanh()), rows(8)


@model("modules.gan_discriminator")
def _():
    sn = nn.utils.parametrizations.weight_norm
    return nn.Sequential(sn(nn.Conv2d(3, 8, 4, 2, 1)), nn.LeakyReLU(0.2), sn(nn.Conv2d(8, 16, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(256, 1)), images(3, 16, 16)


@model("modules.pixel_shuffle")
def _():
    return nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.Tanh(), nn.Conv2d(8, 4, 3, padding=1), nn.PixelShuffle(2)), images(1, 8, 8)


@model("modules.style_modulation")
def _():
    parts = dict(style=nn.Linear(6, 8), const=nn.Parameter(torch.randn(1, 8, 4, 4)), noise=nn.Parameter(torch.zeros(8, 1, 1)), c=nn.Conv2d(8, 3, 3, padding=1))
    return Unit(parts, lambda s, x: s.c(F.leaky_relu(s.const * (1 + s.style(x))[:, :, None, None] + s.noise, 0.2))), rows(6)


@model("modules.upsample_decoder")
def _():
    return nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), nn.Conv2d(8, 4, 3, padding=1), nn.ReLU(),
                         nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(4, 1, 3, padding=1)), images(2, 6, 6)


@model("modules.diffusion_unet")
def _():
    def block(i, o):
        return nn.Sequential(nn.GroupNorm(2, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1))
    parts = dict(i=nn.Conv2d(1, 8, 3, padding=1), a=block(8, 8), down=nn.Conv2d(8, 16, 3, 2, 1), b=block(16, 16), up=nn.Conv2d(16, 8, 3, padding=1), c=block(16, 8), t=mlp(8, 16, 16, act=nn.SiLU),
                 o=nn.Conv2d(8, 1, 1), table=torch.randn(8))

    def run(s, x):
        a = s.a(s.i(x))
        b = s.down(a) + s.t(s.table)[None, :, None, None]
        b = b + s.b(b)
        return s.o(s.c(torch.cat([a, s.up(F.interpolate(b, scale_factor=2.0))], 1)))
    return Unit(parts, run), images(1, 8, 8)


@model("modules.denoising_residual")
def _():
    parts = dict(n=nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1)))
    return Unit(parts, lambda s, x: x - s.n(x)), images(1, 10, 10)


@model("modules.vq_soft")
def _():
    parts = dict(e=nn.Linear(12, 8), book=nn.Parameter(torch.randn(10, 8)), d=nn.Linear(8, 12))

    def run(s, x):
        z = s.e(x)
        far = (z * z).sum(-1, keepdim=True) - 2 * z @ s.book.t() + (s.book * s.book).sum(-1)
        return s.d(torch.softmax(-far, -1) @ s.book)
    return Unit(parts, run), rows(12)


# --- time and sequences ---------------------------------------------------------------------------------------------------


class Temporal(nn.Module):
    def __init__(self, i, o, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv1 = nn.utils.parametrizations.weight_norm(nn.Conv1d(i, o, 3, padding=self.pad, dilation=dilation))
        self.conv2 = nn.utils.parametrizations.weight_norm(nn.Conv1d(o, o, 3, padding=self.pad, dilation=dilation))
        self.down = nn.Conv1d(i, o, 1) if i != o else None

    def forward(self, x):
        y = F.relu(self.conv1(x)[:, :, :-self.pad])
        y = F.relu(self.conv2(y)[:, :, :-self.pad])
        return F.relu(y + (x if self.down is None else self.down(x)))


@model("modules.tcn")
def _():
    return Unit(dict(t=nn.Sequential(Temporal(3, 8, 1), Temporal(8, 8, 2)), f=nn.Linear(8, 4)), lambda s, x: s.f(s.t(x)[:, :, -1])), rows(3, 16)


@model("modules.wavenet")
def _():
    class Gate(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.d, self.f, self.g = d, nn.Conv1d(8, 8, 2, dilation=d), nn.Conv1d(8, 8, 2, dilation=d)
            self.r, self.s = nn.Conv1d(8, 8, 1), nn.Conv1d(8, 6, 1)

        def forward(self, x):
            p = F.pad(x, (self.d, 0))
            y = torch.tanh(self.f(p)) * torch.sigmoid(self.g(p))
            return x + self.r(y), self.s(y)
    parts = dict(e=nn.Embedding(20, 8), g=nn.ModuleList(Gate(d) for d in (1, 2, 4)), o=nn.Conv1d(6, 20, 1))

    def run(s, x):
        h, total = s.e(x).transpose(1, 2), 0
        for g in s.g:
            h, skip = g(h)
            total = total + skip
        return s.o(F.relu(total))
    return Unit(parts, run), tokens(12, 20)


@model("modules.seq2seq_cross")
def _():
    parts = dict(e=nn.Embedding(30, 16), enc=nn.GRU(16, 16, batch_first=True), dec=nn.GRU(16, 16, batch_first=True), a=nn.MultiheadAttention(16, 2, batch_first=True), o=nn.Linear(32, 30))

    def run(s, x):
        seen, h = s.enc(s.e(x[:, :6]))
        y, _ = s.dec(s.e(x[:, 6:]), h)
        c, _ = s.a(y, seen, seen, need_weights=False)
        return s.o(torch.cat([y, c], -1))
    return Unit(parts, run), tokens(11, 30)


@model("modules.transformer_full")
def _():
    parts = dict(e=nn.Embedding(30, 16), t=nn.Transformer(16, 2, 1, 1, 32, 0.0, batch_first=True), o=nn.Linear(16, 30), m=nn.Transformer.generate_square_subsequent_mask(5))
    return Unit(parts, lambda s, x: s.o(s.t(s.e(x[:, :6]), s.e(x[:, 6:]), tgt_mask=s.m))), tokens(11, 30)


@model("modules.attention_pooling")
def _():
    parts = dict(r=nn.LSTM(6, 8, batch_first=True, bidirectional=True), w=nn.Linear(16, 16), u=nn.Parameter(torch.randn(16)), f=nn.Linear(16, 3))

    def run(s, x):
        h, _ = s.r(x)
        a = torch.softmax((torch.tanh(s.w(h)) * s.u).sum(-1, keepdim=True), 1)
        return s.f((a * h).sum(1))
    return Unit(parts, run), rows(7, 6)


@model("modules.lstm_projection_head")
def _():
    return Unit(dict(r=nn.LSTM(6, 8, 2, batch_first=True), n=nn.LayerNorm(8), f=nn.Linear(8, 2)), lambda s, x: s.f(s.n(s.r(x)[1][0][-1]))), rows(9, 6)


@model("modules.gru_no_bias")
def _():
    return Unit(dict(r=nn.GRU(6, 8, 2, bias=False, batch_first=True, bidirectional=True), f=nn.Linear(16, 2)), lambda s, x: s.f(s.r(x)[0].mean(1))), rows(5, 6)


@model("modules.rnn_relu_time_first")
def _():
    return Unit(dict(r=nn.RNN(6, 8, nonlinearity="relu"), f=nn.Linear(8, 2)), lambda s, x: s.f(s.r(x.transpose(0, 1))[0][-1])), rows(5, 6)


@model("modules.lstm_cells")
def _():
    def run(s, x):
        h = c = x.new_zeros(x.shape[0], 8)
        for t in range(4):
            h, c = s.c(x[:, t], (h, c))
        return s.f(h)
    return Unit(dict(c=nn.LSTMCell(6, 8), f=nn.Linear(8, 2)), run), rows(4, 6)


@model("modules.rwkv_mix")
def _():
    """Time mixing with a decay: a sum over the past, written with a matrix of powers."""
    parts = dict(mix=nn.Parameter(torch.rand(16)), decay=nn.Parameter(torch.randn(16)), k=nn.Linear(16, 16, bias=False), v=nn.Linear(16, 16, bias=False), r=nn.Linear(16, 16, bias=False),
                 o=nn.Linear(16, 16, bias=False), n=nn.LayerNorm(16))

    def run(s, x):
        y = s.n(x)
        last = F.pad(y, (0, 0, 1, -1))
        y = y * s.mix + last * (1 - s.mix)
        t = torch.arange(6.0)
        past = (t[:, None] - t[None, :]).clamp(min=0)
        w = torch.exp(-torch.exp(s.decay)[:, None, None] * past) * (t[:, None] >= t[None, :])
        k = torch.exp(s.k(y))
        top = torch.einsum("cts,bsc->btc", w, k * s.v(y))
        return x + s.o(torch.sigmoid(s.r(y)) * top / (torch.einsum("cts,bsc->btc", w, k) + 1e-3))
    return Unit(parts, run), rows(6, 16)


@model("modules.linear_attention")
def _():
    def run(s, x):
        q, k, v = (heads(t, 2) for t in s.qkv(x).chunk(3, -1))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        y = q @ (k.transpose(-1, -2) @ v) / (q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True)
        return s.o(y.transpose(1, 2).flatten(2))
    return Unit(dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16)), run), rows(6, 16)


@model("modules.rotary_by_hand")
def _():
    t = torch.arange(8.0)[:, None] / 100 ** (torch.arange(4.0) / 4)
    parts = dict(e=nn.Embedding(30, 16), qkv=nn.Linear(16, 48, bias=False), o=nn.Linear(16, 30), cos=t.cos(), sin=t.sin())

    def turn(s, x):
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * s.cos - b * s.sin, a * s.sin + b * s.cos], -1).flatten(-2)

    def run(s, x):
        q, k, v = (heads(t, 2) for t in s.qkv(s.e(x)).chunk(3, -1))
        return s.o(F.scaled_dot_product_attention(turn(s, q), turn(s, k), v, is_causal=True).transpose(1, 2).flatten(2))
    return Unit(parts, run), tokens(8, 30)


@model("modules.grouped_heads")
def _():
    parts = dict(q=nn.Linear(16, 32), k=nn.Linear(16, 8), v=nn.Linear(16, 8), o=nn.Linear(32, 16))

    def run(s, x):
        q, k, v = heads(s.q(x), 8), heads(s.k(x), 2), heads(s.v(x), 2)
        k, v = k.repeat_interleave(4, 1), v.repeat_interleave(4, 1)
        return s.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(6, 16)


@model("modules.alibi_window")
def _():
    far = torch.arange(8)[None, :] - torch.arange(8)[:, None]
    parts = dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16), bias=far * torch.tensor([0.5, 0.25])[:, None, None], open=(far <= 0) & (far > -4))

    def run(s, x):
        q, k, v = (heads(t, 2) for t in s.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(8) + s.bias).masked_fill(~s.open, float("-inf"))
        return s.o((torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(8, 16)


@model("modules.relative_bias")
def _():
    index = (torch.arange(6)[:, None] - torch.arange(6)[None, :]) + 5
    parts = dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16), table=nn.Parameter(torch.randn(11, 2) * 0.02), index=index)

    def run(s, x):
        q, k, v = (heads(t, 2) for t in s.qkv(x).chunk(3, -1))
        bias = s.table[s.index.flatten()].view(6, 6, 2).permute(2, 0, 1)
        return s.o(F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None]).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(6, 16)


@model("modules.cosine_attention")
def _():
    parts = dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16), tau=nn.Parameter(torch.tensor([[[2.0]], [[1.5]]])))

    def run(s, x):
        q, k, v = (heads(t, 2) for t in s.qkv(x).chunk(3, -1))
        a = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-1, -2) * s.tau.clamp(max=4.6).exp()
        return s.o((a.softmax(-1) @ v).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(6, 16)


@model("modules.perceiver")
def _():
    parts = dict(z=nn.Parameter(torch.randn(4, 16) * 0.02), a=nn.MultiheadAttention(16, 2, batch_first=True), n=nn.LayerNorm(16), m=mlp(16, 32, 16, act=nn.GELU), f=nn.Linear(16, 3))

    def run(s, x):
        z = s.z.expand(x.shape[0], -1, -1)
        z = z + s.a(z, x, x, need_weights=False)[0]
        return s.f((z + s.m(s.n(z))).mean(1))
    return Unit(parts, run), rows(9, 16)


@model("modules.nano_gpt")
def _():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2, self.qkv, self.o, self.m = nn.LayerNorm(16), nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16), mlp(16, 64, 16, act=nn.GELU)
            self.register_buffer("tril", torch.tril(torch.ones(8, 8)))

        def forward(self, x):
            q, k, v = (heads(t, 2) for t in self.qkv(self.n1(x)).split(16, 2))
            w = (q @ k.transpose(-2, -1) * 8 ** -0.5).masked_fill(self.tril[:8, :8] == 0, float("-inf"))
            x = x + self.o((F.softmax(w, -1) @ v).transpose(1, 2).contiguous().view(x.shape[0], 8, 16))
            return x + self.m(self.n2(x))
    parts = dict(e=nn.Embedding(30, 16), p=nn.Embedding(8, 16), b=nn.Sequential(Block(), Block()), n=nn.LayerNorm(16), o=nn.Linear(16, 30, bias=False))
    return Unit(parts, lambda s, x: s.o(s.n(s.b(s.e(x) + s.p(torch.arange(8)))))), tokens(8, 30)


@model("modules.rms_swiglu")
def _():
    parts = dict(g=nn.Parameter(torch.ones(16)), w1=nn.Linear(16, 24, bias=False), w2=nn.Linear(24, 16, bias=False), w3=nn.Linear(16, 24, bias=False))

    def run(s, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * s.g
        return x + s.w2(F.silu(s.w1(y)) * s.w3(y))
    return Unit(parts, run), rows(5, 16)


@model("modules.rms_norm_layer")
def _():
    return nn.Sequential(nn.RMSNorm(16), nn.Linear(16, 16), nn.SiLU(), nn.RMSNorm(16, elementwise_affine=False), nn.Linear(16, 3)), rows(5, 16)


@model("modules.char_cnn")
def _():
    parts = dict(e=nn.Embedding(30, 12, padding_idx=0), c=nn.ModuleList(nn.Conv1d(12, 8, k) for k in (2, 3, 4)), f=nn.Linear(24, 3))

    def run(s, x):
        h = s.e(x).transpose(1, 2)
        return s.f(torch.cat([F.relu(c(h)).amax(-1) for c in s.c], 1))
    return Unit(parts, run), tokens(10, 30)


@model("modules.fast_text")
def _():
    return Unit(dict(e=nn.Embedding(50, 12, padding_idx=0), f=nn.Linear(12, 4)), lambda s, x: s.f((s.e(x) * (x != 0).unsqueeze(-1)).sum(1) / (x != 0).sum(1, keepdim=True).clamp(min=1))), tokens(9, 50)


@model("modules.n_beats")
def _():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.m, self.back, self.fore = mlp(12, 16, 16), nn.Linear(16, 12, bias=False), nn.Linear(16, 4, bias=False)

        def forward(self, x):
            h = F.relu(self.m(x))
            return self.back(h), self.fore(h)

    def run(s, x):
        total = 0
        for b in s.b:
            back, fore = b(x)
            x, total = x - back, total + fore
        return total
    return Unit(dict(b=nn.ModuleList(Block() for _ in range(2))), run), rows(12)


@model("modules.d_linear")
def _():
    parts = dict(a=nn.AvgPool1d(5, 1), s=nn.Linear(12, 4), t=nn.Linear(12, 4))

    def run(s, x):
        padded = torch.cat([x[:, :1].repeat(1, 2), x, x[:, -1:].repeat(1, 2)], 1)
        trend = s.a(padded.unsqueeze(1)).squeeze(1)
        return s.s(x - trend) + s.t(trend)
    return Unit(parts, run), rows(12)


# --- images -----------------------------------------------------------------------------------------------------------------


@model("modules.fpn")
def _():
    parts = dict(a=conv_norm(3, 8, stride=2), b=conv_norm(8, 16, stride=2), c=conv_norm(16, 32, stride=2), la=nn.Conv2d(8, 8, 1), lb=nn.Conv2d(16, 8, 1), lc=nn.Conv2d(32, 8, 1),
                 o=nn.Conv2d(8, 4, 3, padding=1))

    def run(s, x):
        a = s.a(x)
        b = s.b(a)
        pc = s.lc(s.c(b))
        pb = s.lb(b) + F.interpolate(pc, size=b.shape[-2:], mode="nearest")
        return s.o(s.la(a) + F.interpolate(pb, size=a.shape[-2:], mode="nearest"))
    return Unit(parts, run), images(3, 32, 32)


@model("modules.deeplab_head")
def _():
    parts = dict(i=conv_norm(3, 8), p=nn.ModuleList([nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 3, padding=2, dilation=2), nn.Conv2d(8, 8, 3, padding=4, dilation=4)]), g=nn.Conv2d(8, 8, 1),
                 o=nn.Conv2d(32, 3, 1))

    def run(s, x):
        x = s.i(x)
        pooled = F.interpolate(s.g(F.adaptive_avg_pool2d(x, 1)), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return s.o(F.relu(torch.cat([p(x) for p in s.p] + [pooled], 1)))
    return Unit(parts, run), images(3, 12, 12)


@model("modules.inverted_residual")
def _():
    parts = dict(b=nn.Sequential(nn.Conv2d(8, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU6(), nn.Conv2d(24, 24, 3, 1, 1, groups=24, bias=False), nn.BatchNorm2d(24), nn.ReLU6(),
                                 nn.Conv2d(24, 8, 1, bias=False), nn.BatchNorm2d(8)), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.f((x + s.b(x)).mean((-2, -1)))), images(8, 10, 10)


@model("modules.dense_block")
def _():
    def run(s, x):
        for c in s.c:
            x = torch.cat([x, c(x)], 1)
        return s.f(F.adaptive_max_pool2d(x, 1).flatten(1))
    layer = [nn.Sequential(nn.BatchNorm2d(4 + 4 * i), nn.ReLU(), nn.Conv2d(4 + 4 * i, 4, 3, padding=1, bias=False)) for i in range(3)]
    return Unit(dict(c=nn.ModuleList(layer), f=nn.Linear(16, 3)), run), images(4, 10, 10)


@model("modules.cbam")
def _():
    parts = dict(c=nn.Conv2d(3, 8, 3, padding=1), m=mlp(8, 4, 8), s=nn.Conv2d(2, 1, 7, padding=3, bias=False), f=nn.Linear(8, 3))

    def run(s, x):
        x = F.relu(s.c(x))
        x = x * torch.sigmoid(s.m(x.mean((2, 3))) + s.m(x.amax((2, 3))))[:, :, None, None]
        x = x * torch.sigmoid(s.s(torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], 1)))
        return s.f(x.mean((2, 3)))
    return Unit(parts, run), images(3, 10, 10)


@model("modules.eca")
def _():
    parts = dict(c=conv_norm(3, 8), e=nn.Conv1d(1, 1, 3, padding=1, bias=False), f=nn.Linear(8, 3))

    def run(s, x):
        x = s.c(x)
        y = s.e(x.mean((2, 3)).unsqueeze(1)).sigmoid().transpose(1, 2).unsqueeze(-1)
        return s.f((x * y).mean((2, 3)))
    return Unit(parts, run), images(3, 10, 10)


@model("modules.non_local")
def _():
    parts = dict(c=nn.Conv2d(3, 8, 3, padding=1), t=nn.Conv2d(8, 4, 1), p=nn.Conv2d(8, 4, 1), g=nn.Conv2d(8, 4, 1), o=nn.Conv2d(4, 8, 1), gamma=nn.Parameter(torch.tensor([0.3])), f=nn.Linear(8, 3))

    def run(s, x):
        x = s.c(x)
        q, k, v = (m(x).flatten(2) for m in (s.t, s.p, s.g))
        y = v @ torch.softmax(q.transpose(1, 2) @ k, -1).transpose(1, 2)
        return s.f((x + s.gamma * s.o(y.view(x.shape[0], 4, 8, 8))).mean((2, 3)))
    return Unit(parts, run), images(3, 8, 8)


@model("modules.conv_mixer")
def _():
    def block():
        return nn.Sequential(nn.Conv2d(16, 16, 5, groups=16, padding="same"), nn.GELU(), nn.BatchNorm2d(16))
    parts = dict(i=nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.GELU(), nn.BatchNorm2d(16)), a=block(), p=nn.Sequential(nn.Conv2d(16, 16, 1), nn.GELU(), nn.BatchNorm2d(16)), f=nn.Linear(16, 5))

    def run(s, x):
        x = s.i(x)
        return s.f(s.p(x + s.a(x)).mean((2, 3)))
    return Unit(parts, run), images(3, 32, 32)


@model("modules.conv_next_block")
def _():
    parts = dict(i=nn.Conv2d(3, 16, 2, 2), d=nn.Conv2d(16, 16, 7, padding=3, groups=16), n=nn.LayerNorm(16), a=nn.Linear(16, 32), b=nn.Linear(32, 16), g=nn.Parameter(torch.full((16,), 1e-2)),
                 f=nn.Linear(16, 4))

    def run(s, x):
        x = s.i(x)
        y = s.n(s.d(x).permute(0, 2, 3, 1))
        return s.f((x + (s.g * s.b(F.gelu(s.a(y)))).permute(0, 3, 1, 2)).mean((2, 3)))
    return Unit(parts, run), images(3, 16, 16)


@model("modules.grouped_shuffle")
def _():
    parts = dict(a=nn.Conv2d(8, 8, 1, groups=2, bias=False), n=nn.BatchNorm2d(8), b=nn.Conv2d(8, 8, 3, padding=1, groups=8), s=nn.ChannelShuffle(2), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.f((x + s.b(s.s(F.relu(s.n(s.a(x)))))).mean((2, 3)))), images(8, 8, 8)


@model("modules.weight_standard")
def _():
    parts = dict(w=nn.Parameter(torch.randn(8, 3, 3, 3) * 0.2), b=nn.Parameter(torch.zeros(8)), n=nn.GroupNorm(2, 8), f=nn.Linear(8, 3))

    def run(s, x):
        w = s.w - s.w.mean((1, 2, 3), keepdim=True)
        w = w / (w.std((1, 2, 3), keepdim=True) + 1e-5)
        return s.f(F.relu(s.n(F.conv2d(x, w, s.b, padding=1))).mean((2, 3)))
    return Unit(parts, run), images(3, 8, 8)


@model("modules.gem_pooling")
def _():
    parts = dict(c=nn.Conv2d(3, 8, 3), p=nn.Parameter(torch.ones(1) * 3), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.f(F.avg_pool2d(F.relu(s.c(x)).clamp(min=1e-3).pow(s.p), 8).pow(1 / s.p).flatten(1))), images(3, 10, 10)


@model("modules.video_3d")
def _():
    return nn.Sequential(nn.Conv3d(1, 4, 3, padding=1, bias=False), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(4, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(),
                         nn.Linear(8, 3)), images(1, 4, 8, 8)


@model("modules.spectrogram")
def _():
    return nn.Sequential(nn.Conv1d(1, 16, 16, 8, bias=False), nn.ReLU(), nn.BatchNorm1d(16), nn.Conv1d(16, 8, 3), nn.ELU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 4)), rows(1, 160)


@model("modules.siamese")
def _():
    parts = dict(t=nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 8)), f=nn.Linear(1, 1))

    def run(s, x):
        a, b = s.t(x[:, :1]), s.t(x[:, 1:])
        return s.f((a - b).abs().sum(-1, keepdim=True))
    return Unit(parts, run), images(2, 8, 8)


@model("modules.embedding_cosine")
def _():
    parts = dict(a=mlp(10, 16, 8), w=nn.Parameter(torch.randn(5, 8)))
    return Unit(parts, lambda s, x: 8.0 * F.linear(F.normalize(s.a(x)), F.normalize(s.w))), rows(10)


@model("modules.spatial_transformer")
def _():
    """A patch at every place, weighted: what people write where grid_sample will not export."""
    parts = dict(c=nn.Conv2d(1, 9, 3, padding=1))
    return Unit(parts, lambda s, x: (F.unfold(x, 3, padding=1) * torch.softmax(s.c(x), 1).flatten(2)).sum(1)), images(1, 8, 8)


# --- tables, graphs, experts --------------------------------------------------------------------------------------------------


@model("modules.experts_top")
def _():
    """All experts are computed, and the best two of each sample are kept by a mask."""
    parts = dict(g=nn.Linear(8, 4), e=nn.ModuleList(mlp(8, 12, 8) for _ in range(4)), f=nn.Linear(8, 2))

    def run(s, x):
        scores = s.g(x)
        least = scores.topk(2, -1).values[:, -1:]
        p = torch.softmax(scores.masked_fill(scores < least, -1e9), -1)
        return s.f((p.unsqueeze(-1) * torch.stack([e(x) for e in s.e], 1)).sum(1))
    return Unit(parts, run), rows(8)


@model("modules.multi_gate")
def _():
    parts = dict(e=nn.ModuleList(mlp(8, 8) for _ in range(3)), g=nn.ModuleList(nn.Linear(8, 3) for _ in range(2)), t=nn.ModuleList(mlp(8, 6, 1) for _ in range(2)))

    def run(s, x):
        h = torch.stack([F.relu(e(x)) for e in s.e], 1)
        return torch.cat([t(torch.einsum("be,beh->bh", g(x).softmax(-1), h)) for g, t in zip(s.g, s.t)], 1)
    return Unit(parts, run), rows(8)


@model("modules.graph_convolution")
def _():
    a = ((torch.rand(6, 6, generator=torch.Generator().manual_seed(3)) > 0.5).float() + torch.eye(6)).clamp(max=1)
    parts = dict(a=a / a.sum(1, keepdim=True), w1=nn.Linear(5, 8), w2=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.w2(s.a @ F.relu(s.w1(s.a @ x)))), rows(6, 5)


@model("modules.graph_attention")
def _():
    a = (torch.rand(6, 6, generator=torch.Generator().manual_seed(3)) > 0.5) | torch.eye(6, dtype=torch.bool)
    parts = dict(a=a, w=nn.Linear(5, 8, bias=False), l=nn.Parameter(torch.randn(8, 1)), r=nn.Parameter(torch.randn(8, 1)), f=nn.Linear(8, 3))

    def run(s, x):
        h = s.w(x)
        e = F.leaky_relu(h @ s.l + (h @ s.r).transpose(1, 2), 0.2).masked_fill(~s.a, -9e15)
        return s.f(F.elu(torch.softmax(e, -1) @ h))
    return Unit(parts, run), rows(6, 5)


@model("modules.message_passing")
def _():
    """The adjacency comes with the sample: the first six columns."""
    parts = dict(m=nn.Linear(4, 8), u=nn.GRUCell(8, 4), f=nn.Linear(4, 2))

    def run(s, x):
        a, h = torch.sigmoid(x[..., :6]), x[..., 6:]
        for _ in range(2):
            m = a @ s.m(h)
            h = s.u(m.flatten(0, 1), h.flatten(0, 1)).view(-1, 6, 4)
        return s.f(h.sum(1))
    return Unit(parts, run), rows(6, 10)


@model("modules.kan")
def _():
    """Each edge is a sum of bumps on a grid, and a SiLU beside it."""
    class Edge(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.base, self.coefficients = nn.Linear(i, o), nn.Parameter(torch.randn(o, i, 5) * 0.1)
            self.register_buffer("grid", torch.linspace(-2, 2, 5))

        def forward(self, x):
            bumps = torch.exp(-((x.unsqueeze(-1) - self.grid) / 1.0) ** 2)
            return self.base(F.silu(x)) + torch.einsum("big,oig->bo", bumps, self.coefficients)
    return nn.Sequential(Edge(6, 8), Edge(8, 3)), rows(6)


@model("modules.siren")
def _():
    return Unit(dict(a=nn.Linear(2, 16), b=nn.Linear(16, 16), c=nn.Linear(16, 3)), lambda s, x: s.c(torch.sin(3 * s.b(torch.sin(3 * s.a(x)))))), rows(2)


@model("modules.fourier_features")
def _():
    parts = dict(b=torch.randn(2, 8, generator=torch.Generator().manual_seed(2)), m=mlp(16, 16, 3))

    def run(s, x):
        t = 2 * math.pi * x @ s.b
        return s.m(torch.cat([t.sin(), t.cos()], -1))
    return Unit(parts, run), rows(2)


@model("modules.factorization_machine")
def _():
    parts = dict(w=nn.Linear(10, 1), v=nn.Parameter(torch.randn(10, 4) * 0.1))
    return Unit(parts, lambda s, x: s.w(x) + 0.5 * ((x @ s.v) ** 2 - (x ** 2) @ (s.v ** 2)).sum(1, keepdim=True)), rows(10)


@model("modules.two_towers")
def _():
    parts = dict(u=nn.Embedding(20, 8), i=nn.Embedding(30, 8), ub=nn.Embedding(20, 1), ib=nn.Embedding(30, 1), mean=nn.Parameter(torch.tensor(0.0)))

    def run(s, x):
        u, i = x[:, 0] % 20, x[:, 1]
        return (s.u(u) * s.i(i)).sum(-1, keepdim=True) + s.ub(u) + s.ib(i) + s.mean
    return Unit(parts, run), tokens(2, 30)


@model("modules.wide_deep")
def _():
    parts = dict(e=nn.ModuleList(nn.Embedding(10, 4) for _ in range(3)), wide=nn.Embedding(30, 1), m=mlp(12, 16, 1), off=torch.tensor([0, 10, 20]))
    return Unit(parts, lambda s, x: s.wide(x + s.off).sum(1) + s.m(torch.cat([e(x[:, k]) for k, e in enumerate(s.e)], 1))), tokens(3, 10)


@model("modules.cross_network")
def _():
    parts = dict(w=nn.ParameterList(nn.Parameter(torch.randn(8) * 0.3) for _ in range(2)), b=nn.ParameterList(nn.Parameter(torch.zeros(8)) for _ in range(2)), f=nn.Linear(8, 1))

    def run(s, x):
        y = x
        for w, b in zip(s.w, s.b):
            y = x * (y @ w).unsqueeze(-1) + b + y
        return s.f(y)
    return Unit(parts, run), rows(8)


@model("modules.table_resnet")
def _():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n, self.a, self.b, self.d = nn.BatchNorm1d(16), nn.Linear(16, 32), nn.Linear(32, 16), nn.Dropout(0.1)

        def forward(self, x):
            return x + self.d(self.b(F.relu(self.a(self.n(x)))))
    return nn.Sequential(nn.Linear(10, 16), Block(), Block(), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2)), rows(10)


@model("modules.feature_tokens")
def _():
    parts = dict(w=nn.Parameter(torch.randn(6, 8) * 0.3), b=nn.Parameter(torch.randn(6, 8) * 0.3), cls=nn.Parameter(torch.randn(8)), t=nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True,
                 norm_first=True), f=nn.Linear(8, 2))

    def run(s, x):
        t = x.unsqueeze(-1) * s.w + s.b
        t = torch.cat([s.cls.expand(x.shape[0], 1, -1), t], 1)
        return s.f(s.t(t)[:, 0])
    return Unit(parts, run), rows(6)


@model("modules.deep_sets")
def _():
    return Unit(dict(p=mlp(3, 16, 8), r=mlp(16, 8, 2)), lambda s, x: s.r(torch.cat([s.p(x).mean(1), s.p(x).amax(1)], -1))), rows(7, 3)


@model("modules.point_net")
def _():
    parts = dict(c=nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 32, 1), nn.BatchNorm1d(32), nn.ReLU()), f=nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16),
                 nn.ReLU(), nn.Linear(16, 3)))
    return Unit(parts, lambda s, x: s.f(s.c(x).max(-1).values)), rows(3, 20)


@model("modules.hyper_network")
def _():
    parts = dict(z=nn.Parameter(torch.randn(4)), h=nn.Linear(4, 6 * 3), f=nn.Linear(3, 2))
    return Unit(parts, lambda s, x: s.f(torch.tanh(x @ s.h(s.z).view(6, 3)))), rows(6)


@model("modules.low_rank_adapter")
def _():
    parts = dict(w=nn.Linear(12, 12), a=nn.Linear(12, 2, bias=False), b=nn.Linear(2, 12, bias=False), f=nn.Linear(12, 3))
    return Unit(parts, lambda s, x: s.f(F.relu(s.w(x) + 2.0 * s.b(s.a(x))))), rows(12)


@model("modules.bilinear_outer")
def _():
    parts = dict(b=nn.Bilinear(5, 5, 4), f=nn.Linear(4, 2))
    return Unit(parts, lambda s, x: s.f(torch.tanh(s.b(x[:, :5], x[:, 5:])))), rows(10)


@model("modules.dueling_q")
def _():
    parts = dict(b=mlp(6, 16), v=nn.Linear(16, 1), a=nn.Linear(16, 4))

    def run(s, x):
        h = F.relu(s.b(x))
        a = s.a(h)
        return s.v(h) + a - a.mean(-1, keepdim=True)
    return Unit(parts, run), rows(6)


@model("modules.actor_critic")
def _():
    parts = dict(c=nn.Sequential(nn.Conv2d(4, 8, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 49, 16), nn.Tanh()), p=nn.Linear(16, 5), v=nn.Linear(16, 1))

    def run(s, x):
        h = s.c(x / 255.0)
        return torch.cat([F.log_softmax(s.p(h), -1), s.v(h)], -1)
    return Unit(parts, run), images(4, 16, 16)


@model("modules.ode_steps")
def _():
    def run(s, x):
        for _ in range(4):
            k1 = s.f(x)
            k2 = s.f(x + 0.1 * k1)
            x = x + 0.05 * (k1 + k2)
        return s.o(x)
    return Unit(dict(f=mlp(6, 12, 6, act=nn.Tanh), o=nn.Linear(6, 2)), run), rows(6)


@model("modules.coupling_flow")
def _():
    parts = dict(s=nn.ModuleList(mlp(3, 8, 3) for _ in range(2)), t=nn.ModuleList(mlp(3, 8, 3) for _ in range(2)), perm=torch.tensor([3, 0, 5, 1, 4, 2]))

    def run(m, x):
        for a, b in zip(m.s, m.t):
            left, right = x[:, :3], x[:, 3:]
            x = torch.cat([left, right * torch.exp(torch.tanh(a(left))) + b(left)], 1)[:, m.perm]
        return x
    return Unit(parts, run), rows(6)


@model("modules.capsules")
def _():
    parts = dict(w=nn.Parameter(torch.randn(1, 6, 3, 4, 4) * 0.3))

    def squash(x):
        n = (x ** 2).sum(-1, keepdim=True)
        return n / (1 + n) * x / torch.sqrt(n + 1e-8)

    def run(s, x):
        u = (s.w @ x[:, :, None, :, None]).squeeze(-1)
        b = torch.zeros_like(u[..., :1])
        for _ in range(2):
            v = squash((torch.softmax(b, 2) * u).sum(1, keepdim=True))
            b = b + (u * v).sum(-1, keepdim=True)
        return v.squeeze(1)
    return Unit(parts, run), rows(6, 4)


@model("modules.soft_tree")
def _():
    parts = dict(n=nn.Linear(6, 3), leaf=nn.Parameter(torch.randn(4, 2)))

    def run(s, x):
        p = torch.sigmoid(s.n(x))
        a, b, c = p[:, 0], p[:, 1], p[:, 2]
        way = torch.stack([a * b, a * (1 - b), (1 - a) * c, (1 - a) * (1 - c)], 1)
        return way @ s.leaf
    return Unit(parts, run), rows(6)


@model("modules.residual_scale_stack")
def _():
    parts = dict(c=nn.Conv2d(1, 8, 3, padding=1), r=nn.ModuleList(Residual(8, 8, 1) for _ in range(2)), alpha=nn.ParameterList(nn.Parameter(torch.tensor(0.5)) for _ in range(2)), f=nn.Linear(8, 3))

    def run(s, x):
        x = s.c(x)
        for r, a in zip(s.r, s.alpha):
            x = x + a * r(x)
        return s.f(x.mean((2, 3)))
    return Unit(parts, run), images(1, 10, 10)


assert all(name.count(".") == 1 for name in MODELS)
