"""Unusual modules that bench/exports.py exports: what users write that no library has, one peculiarity each.

Masks and tables in every place, tensors that are used twice or under two names, parametrizations, layers whose file looks like
another layer's.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize

from export_models import MODELS, Unit, images, mlp, model, rows, tokens  # noqa: F401


def heads(x, n):
    return x.unflatten(-1, (n, -1)).transpose(-3, -2)


@model("unusual.bool_mask_buffer")
def _():
    parts = dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16), keep=torch.ones(6, 6, dtype=torch.bool).tril())

    def run(s, x):
        q, k, v = (heads(t, 4) for t in s.qkv(x).chunk(3, -1))
        p = (q @ k.transpose(-1, -2) / 2).masked_fill(~s.keep, float("-inf")).softmax(-1)
        return s.o((p @ v).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(6, 16)


@model("unusual.finite_mask_min")
def _():
    parts = dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16))

    def run(s, x):
        q, k, v = (heads(t, 4) for t in s.qkv(x).chunk(3, -1))
        m = torch.full((6, 6), torch.finfo(x.dtype).min).triu(1)
        return s.o(((q @ k.transpose(-1, -2) * 0.5 + m).softmax(-1) @ v).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(6, 16)


@model("unusual.padding_mask_from_tokens")
def _():
    parts = dict(e=nn.Embedding(30, 16, padding_idx=0), t=nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True, norm_first=True), f=nn.Linear(16, 5))

    def run(s, x):
        keep = (x != 0).float()[:, :, None]
        y = s.t(s.e(x), src_key_padding_mask=x == 29)
        return s.f((y * keep).sum(1) / keep.sum(1).clamp(min=1))
    return Unit(parts, run), tokens(6, 29)


@model("unusual.parameter_twice")
def _():
    return Unit(dict(w=nn.Parameter(torch.randn(12, 12) * 0.3), b=nn.Parameter(torch.zeros(12))), lambda s, x: F.linear(torch.tanh(F.linear(x, s.w, s.b)), s.w.t(), s.b)), rows(12)


@model("unusual.parameter_sliced")
def _():
    return Unit(dict(w=nn.Parameter(torch.randn(24, 12) * 0.3)), lambda s, x: torch.tanh(x @ s.w[:12]) @ s.w[12:] + s.w[3]), rows(12)


@model("unusual.tied_autoencoder")
def _():
    parts = dict(a=nn.Linear(16, 8), b=nn.Linear(8, 4), ab=nn.Parameter(torch.zeros(16)), bb=nn.Parameter(torch.zeros(8)))
    return Unit(parts, lambda s, x: F.linear(torch.relu(F.linear(torch.relu(s.b(torch.relu(s.a(x)))), s.b.weight.t(), s.bb)), s.a.weight.t(), s.ab)), rows(16)


@model("unusual.three_tied_linears")
def _():
    a, b, c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    b.weight = a.weight
    c.bias = a.bias
    return nn.Sequential(a, nn.Tanh(), b, nn.Tanh(), c), rows(8)


@model("unusual.equal_but_not_tied")
def _():
    a, b = nn.Linear(8, 8), nn.Linear(8, 8)
    b.load_state_dict(a.state_dict())
    return nn.Sequential(a, nn.Tanh(), b), rows(8)


@model("unusual.ones_everywhere")
def _():
    parts = dict(n=nn.LayerNorm(8), g=nn.Parameter(torch.ones(8)), h=torch.ones(8), z=nn.Parameter(torch.zeros(8)), c=torch.zeros(8), f=nn.Linear(8, 8))
    return Unit(parts, lambda s, x: s.f(s.n(x) * s.g * s.h + s.z + s.c)), rows(8)


@model("unusual.alibi_buffer")
def _():
    at = torch.arange(6)
    parts = dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16), slope=(-(2.0 ** -torch.arange(1, 5)))[:, None, None] * (at[:, None] - at[None, :]).abs())

    def run(s, x):
        q, k, v = (heads(t, 4) for t in s.qkv(x).chunk(3, -1))
        return s.o(F.scaled_dot_product_attention(q, k, v, attn_mask=s.slope).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(6, 16)


@model("unusual.learned_alibi")
def _():
    at = torch.arange(6)
    parts = dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16), slope=nn.Parameter(torch.rand(4, 1, 1)), far=(at[:, None] - at[None, :]).abs().float())

    def run(s, x):
        q, k, v = (heads(t, 4) for t in s.qkv(x).chunk(3, -1))
        return s.o(F.scaled_dot_product_attention(q, k, v, attn_mask=-s.slope * s.far).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(6, 16)


@model("unusual.sliding_window")
def _():
    parts = dict(qkv=nn.Linear(16, 48), o=nn.Linear(16, 16))

    def run(s, x):
        q, k, v = (heads(t, 4) for t in s.qkv(x).chunk(3, -1))
        at = torch.arange(x.shape[1])
        near = (at[:, None] - at[None, :] < 3) & (at[:, None] >= at[None, :])
        return s.o(F.scaled_dot_product_attention(q, k, v, attn_mask=near).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(8, 16)


@model("unusual.rotary_grouped")
def _():
    t = torch.outer(torch.arange(6.0), 10000 ** (-torch.arange(0, 4) / 4))
    parts = dict(q=nn.Linear(32, 32), kv=nn.Linear(32, 16), o=nn.Linear(32, 32), cos=torch.cat([t, t], -1).cos(), sin=torch.cat([t, t], -1).sin())

    def turn(s, x):
        a, b = x.chunk(2, -1)
        return x * s.cos + torch.cat([-b, a], -1) * s.sin

    def run(s, x):
        k, v = s.kv(x).chunk(2, -1)
        q, k, v = turn(s, heads(s.q(x), 4)), turn(s, heads(k, 1)), heads(v, 1)
        return s.o(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).flatten(2))
    return Unit(parts, run), rows(6, 32)


@model("unusual.rotary_complex_pairs")
def _():
    t = torch.outer(torch.arange(6.0), 100 ** (-torch.arange(0, 4) / 4))
    parts = dict(q=nn.Linear(16, 16), k=nn.Linear(16, 16), c=t.cos(), s=t.sin())

    def turn(m, x):
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * m.c - b * m.s, a * m.s + b * m.c], -1).flatten(-2)

    def run(m, x):
        q, k = turn(m, heads(m.q(x), 2)), turn(m, heads(m.k(x), 2))
        return (q @ k.transpose(-1, -2)).flatten(1)
    return Unit(parts, run), rows(6, 16)


@model("unusual.weight_norm_conv")
def _():
    return nn.Sequential(parametrizations.weight_norm(nn.Conv1d(4, 8, 3)), nn.ELU(), parametrizations.weight_norm(nn.ConvTranspose1d(8, 4, 3), dim=1), nn.Flatten(), nn.Linear(80, 3)), rows(4, 20)


@model("unusual.old_weight_norm")
def _():
    return nn.Sequential(nn.utils.weight_norm(nn.Linear(8, 8)), nn.Tanh(), nn.Linear(8, 3)), rows(8)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)


class Positive(nn.Module):
    def forward(self, x):
        return F.softplus(x)


@model("unusual.parametrize_symmetric")
def _():
    a, b = nn.Linear(8, 8), nn.Linear(8, 8)
    parametrize.register_parametrization(a, "weight", Symmetric())
    parametrize.register_parametrization(b, "weight", Positive())
    return nn.Sequential(a, nn.Tanh(), b), rows(8)


@model("unusual.spectral_norm_eval")
def _():
    m = nn.Sequential(parametrizations.spectral_norm(nn.Linear(8, 8)), nn.Tanh(), nn.Linear(8, 3))
    return m, rows(8)


@model("unusual.transpose_one_channel")
def _():
    return nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(4, 1, 4, 2, 1), nn.Sigmoid()), images(1, 8, 8)


@model("unusual.transpose_grouped_output_padding")
def _():
    return nn.Sequential(nn.ConvTranspose2d(4, 8, 3, 2, 1, output_padding=1, groups=2), nn.ReLU(), nn.ConvTranspose2d(8, 8, 3, 1, 1, groups=8), nn.ConvTranspose2d(8, 1, 3, dilation=2)), images(4, 5, 5)


@model("unusual.transpose_1d_3d")
def _():
    parts = dict(a=nn.ConvTranspose1d(2, 1, 4, 2, 1), b=nn.ConvTranspose3d(1, 1, 2, 2))
    return Unit(parts, lambda s, x: s.b(s.a(x).reshape(x.shape[0], 1, 2, 2, 4))), rows(2, 8)


@model("unusual.embedding_bag_sum_weights")
def _():
    return Unit(dict(e=nn.EmbeddingBag(30, 8, mode="sum"), m=nn.EmbeddingBag(30, 8, mode="max"), f=nn.Linear(16, 3)), lambda s, x: s.f(torch.cat([s.e(x), s.m(x)], -1))), tokens(6, 30)


@model("unusual.bidirectional_gru")
def _():
    return Unit(dict(r=nn.GRU(6, 8, 2, batch_first=True, bidirectional=True), f=nn.Linear(16, 3)), lambda s, x: s.f(torch.cat(list(s.r(x)[1][-2:]), -1))), rows(5, 6)


@model("unusual.lstm_learned_state")
def _():
    parts = dict(r=nn.LSTM(6, 8, batch_first=True), h=nn.Parameter(torch.randn(1, 1, 8)), c=nn.Parameter(torch.randn(1, 1, 8)), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.f(s.r(x, (s.h.expand(-1, x.shape[0], -1).contiguous(), s.c.expand(-1, x.shape[0], -1).contiguous()))[0])), rows(5, 6)


@model("unusual.lstm_proj")
def _():
    return Unit(dict(r=nn.LSTM(6, 8, batch_first=True, proj_size=4), f=nn.Linear(4, 3)), lambda s, x: s.f(s.r(x)[0])), rows(5, 6)


@model("unusual.gru_cell_loop")
def _():
    def run(s, x):
        h = torch.zeros(x.shape[0], 8)
        for t in range(4):
            h = s.r(x[:, t], h)
        return s.f(h)
    return Unit(dict(r=nn.GRUCell(6, 8), f=nn.Linear(8, 3)), run), rows(4, 6)


@model("unusual.conv3d_batch_norm")
def _():
    return nn.Sequential(nn.Conv3d(1, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.Conv3d(4, 4, 3, groups=4, bias=False), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4, 3)), images(1, 6, 6, 6)


@model("unusual.conv1d_causal")
def _():
    return Unit(dict(a=nn.Conv1d(4, 8, 3, dilation=2), b=nn.Conv1d(8, 4, 1)), lambda s, x: s.b(torch.relu(s.a(F.pad(x, (4, 0)))))), rows(4, 10)


@model("unusual.norms_of_all_kinds")
def _():
    parts = dict(a=nn.GroupNorm(1, 8), b=nn.GroupNorm(8, 8, affine=False), c=nn.InstanceNorm1d(8), d=nn.InstanceNorm1d(8, affine=True), e=nn.LayerNorm([8, 10]), f=nn.LayerNorm(10, elementwise_affine=False),
                 g=nn.RMSNorm(10), h=nn.LocalResponseNorm(3), w=nn.Linear(10, 4))
    return Unit(parts, lambda s, x: s.w(s.g(s.f(s.e(s.d(s.h(s.c(s.b(s.a(x)))) + x) + x) + x) + x))), rows(8, 10)


@model("unusual.batch_norm_no_affine_no_stats")
def _():
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8, affine=False), nn.Tanh(), nn.Linear(8, 8), nn.BatchNorm1d(8, momentum=None), nn.Linear(8, 3)), rows(8)


@model("unusual.batch_norm_without_statistics")
def _():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, track_running_stats=False), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)), images(1, 8, 8)


@model("unusual.batch_norm_frozen")
def _():
    m = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    m[1].weight.requires_grad_(False)
    m[1].bias.requires_grad_(False)
    return m, images(1, 8, 8)


@model("unusual.batch_norm_used_twice")
def _():
    parts = dict(a=nn.Linear(8, 8), n=nn.BatchNorm1d(8), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.f(s.n(torch.tanh(s.n(s.a(x)))))), rows(8)


@model("unusual.scalar_parameters")
def _():
    parts = dict(a=nn.Parameter(torch.tensor(0.5)), b=nn.Parameter(torch.tensor(1.0)), c=nn.Parameter(torch.tensor(1.0)), d=nn.Parameter(torch.tensor([2.0])), k=torch.tensor(1.0), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.a * s.f(s.b * x + s.c * s.k) + s.d ** 2), rows(8)


@model("unusual.temperature")
def _():
    return Unit(dict(f=nn.Linear(8, 5), t=nn.Parameter(torch.ones(1) * 1.5)), lambda s, x: s.f(x) / s.t), rows(8)


@model("unusual.parameter_list")
def _():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.ParameterList([nn.Parameter(torch.randn(8, 8) * 0.3) for _ in range(3)])
            self.d = nn.ParameterDict({"a": nn.Parameter(torch.zeros(8)), "b": nn.Parameter(torch.ones(8))})

        def forward(self, x):
            for w in self.w:
                x = torch.tanh(x @ w + self.d["a"]) * self.d["b"]
            return x
    return Listed(), rows(8)


@model("unusual.names_that_collide")
def _():
    class Names(nn.Module):
        def __init__(self):
            super().__init__()
            self.x = nn.Linear(8, 8)
            self.add = nn.Linear(8, 8)
            self.linear = nn.Linear(8, 8)
            self.val_0 = nn.Parameter(torch.randn(8))
            self.register_buffer("relu", torch.rand(8))
            self.input = nn.Parameter(torch.randn(8))

        def forward(self, x):
            return self.linear(torch.relu(self.add(torch.relu(self.x(x)) + self.val_0)) * self.relu) + self.input
    return Names(), rows(8)


@model("unusual.partly_frozen")
def _():
    m = mlp(8, 8, 8, 3)
    for p in m[0].parameters():
        p.requires_grad_(False)
    return m, rows(8)


@model("unusual.unused_layers")
def _():
    return Unit(dict(a=nn.Linear(8, 3), spare=nn.Linear(8, 8), other=nn.Parameter(torch.zeros(8))), lambda s, x: s.a(x)), rows(8)


@model("unusual.detached_branch")
def _():
    parts = dict(a=nn.Linear(8, 8), b=nn.Linear(8, 8), c=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.c(s.a(x) * torch.sigmoid(s.b(x)).detach())), rows(8)


@model("unusual.straight_through")
def _():
    def run(s, x):
        h = s.a(x)
        return s.b(h + (torch.round(h) - h).detach())
    return Unit(dict(a=nn.Linear(8, 8), b=nn.Linear(8, 3)), run), rows(8)


@model("unusual.ema_target_buffer")
def _():
    parts = dict(a=nn.Linear(8, 8), f=nn.Linear(8, 3), center=torch.randn(8), temperature=torch.tensor([0.5]), table=torch.randn(10, 8))
    return Unit(parts, lambda s, x: s.f((s.a(x) - s.center) / s.temperature + s.table[3] + s.table[(x[:, 0] > 0).long()])), rows(8)


@model("unusual.fixed_kernel_blur")
def _():
    k = torch.tensor([1.0, 2.0, 1.0])
    parts = dict(c=nn.Conv2d(1, 4, 3, padding=1), blur=(k[:, None] * k[None, :] / 16).expand(4, 1, 3, 3).clone(), f=nn.Linear(4, 3))
    return Unit(parts, lambda s, x: s.f(F.conv2d(torch.relu(s.c(x)), s.blur, padding=1, groups=4).mean((2, 3)))), images(1, 8, 8)


@model("unusual.random_projection_buffer")
def _():
    parts = dict(p=torch.randn(8, 16), f=nn.Linear(32, 3))
    return Unit(parts, lambda s, x: s.f(torch.cat([(x @ s.p).sin(), (x @ s.p).cos()], -1))), rows(8)


@model("unusual.functional_dropout_attention")
def _():
    def run(s, x):
        q, k, v = (heads(t, 4) for t in s.qkv(x).chunk(3, -1))
        return s.o(F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=True).transpose(1, 2).flatten(2))
    return Unit(dict(qkv=nn.Linear(16, 48, bias=False), o=nn.Linear(16, 16, bias=False)), run), rows(6, 16)


@model("unusual.multihead_with_weights_and_mask")
def _():
    parts = dict(a=nn.MultiheadAttention(16, 4, batch_first=True, add_bias_kv=True, kdim=8, vdim=8), p=nn.Linear(16, 8), mask=torch.full((6, 6), float("-inf")).triu(1))
    return Unit(parts, lambda s, x: s.a(x, s.p(x), s.p(x), attn_mask=s.mask)[0]), rows(6, 16)


@model("unusual.decoder_layers_causal")
def _():
    layer = nn.TransformerDecoderLayer(16, 2, 32, 0.0, batch_first=True)
    parts = dict(e=nn.Embedding(20, 16), d=nn.TransformerDecoder(layer, 2), mem=nn.Parameter(torch.randn(1, 3, 16)), f=nn.Linear(16, 20))

    def run(s, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return s.f(s.d(s.e(x), s.mem.expand(x.shape[0], -1, -1), tgt_mask=mask, tgt_is_causal=True))
    return Unit(parts, run), tokens(6, 20)


@model("unusual.window_of_unfold")
def _():
    return Unit(dict(f=nn.Linear(9, 5), g=nn.Linear(5, 1)), lambda s, x: F.fold(s.g(torch.relu(s.f(F.unfold(x, 3, padding=1).transpose(1, 2)))).transpose(1, 2), (6, 6), 1)), images(1, 6, 6)


@model("unusual.einsum_heads")
def _():
    parts = dict(wq=nn.Parameter(torch.randn(4, 16, 4) * 0.3), wk=nn.Parameter(torch.randn(4, 16, 4) * 0.3), wv=nn.Parameter(torch.randn(4, 16, 4) * 0.3), wo=nn.Parameter(torch.randn(4, 4, 16) * 0.3))

    def run(s, x):
        q, k, v = (torch.einsum("btd,hde->bhte", x, w) for w in (s.wq, s.wk, s.wv))
        p = torch.einsum("bhqe,bhke->bhqk", q, k).div(2).softmax(-1)
        return torch.einsum("bhqk,bhke,hed->bqd", p, v, s.wo)
    return Unit(parts, run), rows(6, 16)


@model("unusual.flip_roll_gather")
def _():
    parts = dict(a=nn.Linear(6, 6), w=nn.Parameter(torch.randn(6)), order=torch.tensor([3, 1, 0, 2, 5, 4]))
    return Unit(parts, lambda s, x: s.a(x.flip(1)).roll(2, 1)[:, s.order] * s.w[s.order] + s.w.flip(0)), rows(6)


@model("unusual.cumulative")
def _():
    return Unit(dict(a=nn.Linear(6, 6), d=nn.Parameter(torch.rand(6))), lambda s, x: torch.cumsum(s.a(x), 1) * torch.sigmoid(s.d).cumsum(0)), rows(5, 6)


@model("unusual.parameter_of_one_batch")
def _():
    return Unit(dict(a=nn.Linear(6, 6), tok=nn.Parameter(torch.randn(1, 2, 6))), lambda s, x: s.a(torch.cat([s.tok.repeat(x.shape[0], 1, 1), x], 1))), rows(3, 6)


@model("unusual.mean_over_everything_but_batch")
def _():
    return Unit(dict(a=nn.Conv2d(1, 4, 3)), lambda s, x: (s.a(x) - s.a(x).mean((1, 2, 3), keepdim=True)).pow(2).mean((1, 2, 3))[:, None]), images(1, 6, 6)


@model("unusual.two_outputs")
def _():
    return Unit(dict(a=nn.Linear(6, 6), b=nn.Linear(6, 3), c=nn.Linear(6, 2)), lambda s, x: (s.b(torch.relu(s.a(x))), s.c(torch.relu(s.a(x))))), rows(6)


@model("unusual.zero_initialised_residuals")
def _():
    def run(s, x):
        for l, g in ((s.a, s.ga), (s.b, s.gb)):
            x = x + g * torch.tanh(l(x))
        return s.f(x)
    f = nn.Linear(8, 3)
    nn.init.zeros_(f.weight), nn.init.zeros_(f.bias)
    return Unit(dict(a=nn.Linear(8, 8), b=nn.Linear(8, 8), ga=nn.Parameter(torch.zeros(1)), gb=nn.Parameter(torch.zeros(())), f=f), run), rows(8)


@model("unusual.conv_bn_bias_shared_by_branch")
def _():
    parts = dict(a=nn.Conv2d(1, 4, 3, padding=1), n=nn.BatchNorm2d(4), m=nn.BatchNorm2d(4), f=nn.Linear(4, 3))

    def run(s, x):
        y = s.a(x)
        return s.f((torch.relu(s.n(y)) + torch.relu(s.m(-y))).mean((2, 3)))
    return Unit(parts, run), images(1, 8, 8)


@model("unusual.linear_batch_norm_tokens")
def _():
    return Unit(dict(e=nn.Embedding(20, 8), n=nn.BatchNorm1d(8), f=nn.Linear(8, 3)), lambda s, x: s.f(s.n(s.e(x).transpose(1, 2)).mean(2))), tokens(5, 20)


@model("unusual.half_precision_inside")
def _():
    parts = dict(a=nn.Linear(8, 8), b=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.b(F.linear(x.bfloat16(), s.a.weight.bfloat16(), s.a.bias.bfloat16()).float())), rows(8)


@model("unusual.double_inside")
def _():
    return Unit(dict(a=nn.Linear(8, 8), b=nn.Linear(8, 3)), lambda s, x: s.b(torch.logsumexp(s.a(x).double()[:, :, None] + torch.arange(3.0).double(), -1).float())), rows(8)


@model("unusual.where_parameters")
def _():
    parts = dict(a=nn.Linear(8, 8), m=nn.Parameter(torch.randn(8)), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.f(torch.where(x > 0.5, s.m, s.a(x)))), rows(8)


@model("unusual.clamp_parameters")
def _():
    parts = dict(s=nn.Parameter(torch.randn(8) * 2), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.f(x * s.s.clamp(-1, 1) + torch.maximum(s.s, torch.zeros(8)))), rows(8)


@model("unusual.lora_on_frozen")
def _():
    base = nn.Linear(8, 8)
    base.requires_grad_(False)
    parts = dict(base=base, a=nn.Parameter(torch.randn(2, 8) * 0.3), b=nn.Parameter(torch.zeros(8, 2)), f=nn.Linear(8, 3))
    return Unit(parts, lambda s, x: s.f(s.base(x) + x @ s.a.t() @ s.b.t() * 4)), rows(8)
