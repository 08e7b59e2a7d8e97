"""Models that bench/exports.py exports: each by name, with its inputs, small and with random weights.

MODELS maps a name to a function that returns (module, example inputs as a function of the batch). Names begin with the
library: plain.*, torchvision.*, timm.*, transformers.*; a library that is not installed leaves its models out.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

MODELS = {}


def model(name):
    def note(build):
        MODELS[name] = build
        return build
    return note


def images(*shape):
    return lambda batch, g: torch.randn(batch, *shape, generator=g)


def tokens(length, most):
    return lambda batch, g: torch.randint(0, most, (batch, length), generator=g)


def rows(*shape):
    return images(*shape)


# --- plain modules -----------------------------------------------------------------------------------------------------


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.short = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.short(x))


class SmallResNet(nn.Module):
    def __init__(self, channels=1, width=8, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(channels, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.blocks = nn.Sequential(Residual(width, width, 1), Residual(width, 2 * width, 2), Residual(2 * width, 4 * width, 2))
        self.fc = nn.Linear(4 * width, classes)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


class Unit(nn.Module):
    """A module of one function."""

    def __init__(self, parts, run):
        super().__init__()
        for key, part in parts.items():
            if isinstance(part, nn.Parameter):
                self.register_parameter(key, part)
            elif isinstance(part, torch.Tensor):
                self.register_buffer(key, part)
            else:
                setattr(self, key, part)
        self.run = run

    def forward(self, x):
        return self.run(self, x)


def mlp(*widths, act=nn.ReLU):
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), act()]
    return nn.Sequential(*layers[:-1])


@model("plain.mlp")
def _():
    return mlp(20, 32, 32, 10), rows(20)


@model("plain.mlp_zero_biases")
def _():
    m = mlp(20, 32, 32, 32, 10, act=nn.Tanh)
    for layer in m:
        if isinstance(layer, nn.Linear):
            nn.init.zeros_(layer.bias)
    return m, rows(20)


@model("plain.mlp_batch_norm")
def _():
    return nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10)), rows(20)


@model("plain.linear_no_bias")
def _():
    return nn.Sequential(nn.Linear(20, 32, bias=False), nn.GELU(), nn.Linear(32, 10, bias=False)), rows(6, 20)


@model("plain.cnn")
def _():
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 9, 10)), images(1, 12, 12)


@model("plain.cnn_batch_norm_bias")
def _():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.SiLU(), nn.Flatten(), nn.Linear(512, 10)), images(3, 12, 12)


@model("plain.small_resnet")
def _():
    return SmallResNet(), images(1, 12, 12)


@model("plain.trained_resnet")
def _():
    """Its statistics and batch norms have moved, as those of a pretrained model."""
    m = SmallResNet()
    for part in m.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.uniform_(part.weight, 0.5, 1.5), nn.init.normal_(part.bias, std=0.2)
            nn.init.normal_(part.running_mean, std=0.2), nn.init.uniform_(part.running_var, 0.5, 1.5)
    return m, images(1, 12, 12)


@model("plain.zero_gamma_resnet")
def _():
    m = SmallResNet()
    for part in m.modules():
        if isinstance(part, Residual):
            nn.init.zeros_(part.bn2.weight)
    return m, images(1, 12, 12)


@model("plain.pre_activation")
def _():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(800, 10)), images(1, 12, 12)


@model("plain.autoencoder")
def _():
    return nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 8, 2, 2), nn.ReLU(),
                         nn.ConvTranspose2d(8, 1, 2, 2)), images(1, 16, 16)


@model("plain.transposed_batch_norm")
def _():
    return nn.Sequential(nn.ConvTranspose2d(4, 8, 2, 2, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.ConvTranspose2d(8, 3, 2, 2)), images(4, 4, 4)


@model("plain.unet")
def _():
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
    parts = dict(a=block(1, 8), b=block(8, 16), up=nn.ConvTranspose2d(16, 8, 2, 2), c=block(16, 8), out=nn.Conv2d(8, 1, 1))

    def run(s, x):
        a = s.a(x)
        return s.out(s.c(torch.cat([a, s.up(s.b(F.max_pool2d(a, 2)))], 1)))
    return Unit(parts, run), images(1, 16, 16)


@model("plain.group_norm")
def _():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(4, 8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.Flatten(), nn.Linear(512, 10)), images(3, 12, 12)


@model("plain.instance_norm")
def _():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.ReLU(), nn.Flatten(), nn.Linear(800, 10)), images(3, 12, 12)


@model("plain.layer_norms")
def _():
    return nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 16), nn.LayerNorm(16)), rows(5, 16)


@model("plain.lstm")
def _():
    return Unit(dict(e=nn.Embedding(50, 16), r=nn.LSTM(16, 24, batch_first=True), f=nn.Linear(24, 50)), lambda s, x: s.f(s.r(s.e(x))[0])), tokens(7, 50)


@model("plain.bilstm")
def _():
    return Unit(dict(e=nn.Embedding(50, 16), r=nn.LSTM(16, 12, 2, batch_first=True, bidirectional=True), f=nn.Linear(24, 5)), lambda s, x: s.f(s.r(s.e(x))[0][:, -1])), tokens(7, 50)


@model("plain.gru")
def _():
    return Unit(dict(r=nn.GRU(6, 24, batch_first=True), f=nn.Linear(24, 5)), lambda s, x: s.f(s.r(x)[0][:, -1])), rows(7, 6)


@model("plain.rnn")
def _():
    return Unit(dict(r=nn.RNN(6, 24, batch_first=True), f=nn.Linear(24, 5)), lambda s, x: s.f(s.r(x)[0])), rows(7, 6)


@model("plain.transformer_encoder")
def _():
    layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True)
    return Unit(dict(t=nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), f=nn.Linear(16, 4)), lambda s, x: s.f(s.t(x).mean(1))), rows(6, 16)


@model("plain.multihead")
def _():
    return Unit(dict(a=nn.MultiheadAttention(16, 4, batch_first=True), f=nn.Linear(16, 4)), lambda s, x: s.f(s.a(x, x, x, need_weights=False)[0])), rows(6, 16)


@model("plain.causal")
def _():
    parts = dict(qkv=nn.Linear(16, 48), out=nn.Linear(16, 16), mask=torch.full((6, 6), -3.4e38).triu(1))

    def run(s, x):
        q, k, v = s.qkv(x).chunk(3, -1)
        return s.out(torch.softmax(q @ k.transpose(1, 2) / math.sqrt(16) + s.mask, -1) @ v)
    return Unit(parts, run), rows(6, 16)


@model("plain.sdpa_causal")
def _():
    def run(s, x):
        q, k, v = (t.unflatten(2, (4, 4)).transpose(1, 2) for t in s.qkv(x).chunk(3, -1))
        return s.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
    return Unit(dict(qkv=nn.Linear(16, 48), out=nn.Linear(16, 16)), run), rows(6, 16)


@model("plain.mean_std_buffers")
def _():
    parts = dict(mean=torch.rand(3, 1, 1), std=torch.rand(3, 1, 1) + 0.5, c=nn.Conv2d(3, 4, 3), f=nn.Linear(4, 4))
    return Unit(parts, lambda s, x: s.f(s.c((x - s.mean) / s.std).mean((2, 3)))), images(3, 8, 8)


@model("plain.scalar_parameter")
def _():
    parts = dict(scale=nn.Parameter(torch.tensor(2.6592)), a=nn.Linear(8, 6), b=nn.Linear(8, 6))
    return Unit(parts, lambda s, x: F.normalize(s.a(x), dim=-1) * F.normalize(s.b(x), dim=-1) * s.scale.exp()), rows(8)


@model("plain.tied")
def _():
    e = nn.Embedding(40, 16)
    out = nn.Linear(16, 40, bias=False)
    out.weight = e.weight
    return Unit(dict(e=e, h=nn.Linear(16, 16), out=out), lambda s, x: s.out(torch.tanh(s.h(s.e(x))))), tokens(5, 40)


@model("plain.shared_layer")
def _():
    return Unit(dict(a=nn.Linear(16, 16), out=nn.Linear(16, 3)), lambda s, x: s.out(torch.tanh(s.a(torch.tanh(s.a(x)))))), rows(16)


@model("plain.prelu")
def _():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.PReLU(4), nn.Flatten(), nn.Linear(400, 20), nn.PReLU(), nn.Linear(20, 3)), images(1, 12, 12)


@model("plain.layer_scale")
def _():
    parts = dict(g=nn.Parameter(1e-1 * torch.ones(16)), a=nn.Linear(16, 16), n=nn.LayerNorm(16), f=nn.Linear(16, 3))
    return Unit(parts, lambda s, x: s.f(x + s.g * s.a(s.n(x)))), rows(5, 16)


@model("plain.weight_norm")
def _():
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(16, 16)), nn.Tanh(), nn.Linear(16, 3)), rows(16)


@model("plain.positions")
def _():
    parts = dict(e=nn.Embedding(30, 16), pos=nn.Parameter(torch.randn(1, 6, 16) * 0.02), cls=nn.Parameter(torch.zeros(1, 1, 16)), n=nn.LayerNorm(16), f=nn.Linear(16, 3))
    return Unit(parts, lambda s, x: s.f(s.n(torch.cat([s.cls.expand(x.shape[0], -1, -1), s.e(x) + s.pos], 1))[:, 0])), tokens(6, 30)


@model("plain.sinusoids")
def _():
    t = torch.arange(6)[:, None] / 10 ** torch.linspace(0, 2, 8)
    parts = dict(e=nn.Embedding(30, 16), pos=torch.cat([t.sin(), t.cos()], 1), f=nn.Linear(16, 30))
    return Unit(parts, lambda s, x: s.f(s.e(x) + s.pos)), tokens(6, 30)


@model("plain.embedding_bag")
def _():
    return Unit(dict(e=nn.EmbeddingBag(30, 16, mode="mean"), f=nn.Linear(16, 3)), lambda s, x: s.f(s.e(x))), tokens(6, 30)


@model("plain.squeeze_excite")
def _():
    parts = dict(c=nn.Conv2d(3, 8, 3, bias=False), n=nn.BatchNorm2d(8), r=nn.Conv2d(8, 2, 1), x=nn.Conv2d(2, 8, 1), f=nn.Linear(8, 3))

    def run(s, x):
        x = F.hardswish(s.n(s.c(x)))
        return s.f((x * F.hardsigmoid(s.x(F.relu(s.r(F.adaptive_avg_pool2d(x, 1)))))).mean((2, 3)))
    return Unit(parts, run), images(3, 10, 10)


@model("plain.conv1d_depthwise")
def _():
    return nn.Sequential(nn.Conv1d(4, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 3, groups=8), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3)), rows(4, 20)


@model("plain.mixture")
def _():
    parts = dict(gate=nn.Linear(8, 3), w=nn.Parameter(torch.randn(3, 8, 8) * 0.3), f=nn.Linear(8, 2))
    return Unit(parts, lambda s, x: s.f(torch.einsum("be,bi,eio->bo", torch.softmax(s.gate(x), -1), x, s.w))), rows(8)


# --- torchvision, timm -------------------------------------------------------------------------------------------------


def need_torchvision():
    """Its wheel may be built for another torch: models need none of its compiled operators, only their names."""
    try:
        torch.ops.torchvision.nms
    except (AttributeError, RuntimeError):
        need_torchvision.library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            need_torchvision.library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision
    return torchvision.models


def vision(name, build, size=32, channels=3):
    def make():
        return build(need_torchvision()), images(channels, size, size)
    MODELS["torchvision." + name] = make


def plain_vision(name, size=32, **options):
    vision(name, lambda m: getattr(m, name)(num_classes=10, **options), size)


for name in ("resnet18", "shufflenet_v2_x0_5", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "mnasnet0_5", "efficientnet_b0", "regnet_x_400mf", "regnet_y_400mf"):
    plain_vision(name, 64)  # with less, the last batch norms see four numbers, and roundings part any two runs
vision("resnet_small", lambda m: m.ResNet(m.resnet.BasicBlock, [1, 1, 1, 1], num_classes=10), 64)
vision("resnet_bottleneck", lambda m: m.ResNet(m.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, groups=4, width_per_group=8), 64)
vision("densenet_small", lambda m: m.DenseNet(8, (2, 2, 2), 16, num_classes=10))
vision("vit_small", lambda m: m.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10))
vision("swin_small", lambda m: m.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10))
vision("swin_v2_small", lambda m: m.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10, block=m.swin_transformer.SwinTransformerBlockV2,
                                                    downsample_layer=m.swin_transformer.PatchMergingV2))
vision("convnext_small", lambda m: m.ConvNeXt([m.convnext.CNBlockConfig(16, 32, 1), m.convnext.CNBlockConfig(32, None, 1)], num_classes=10))
vision("googlenet", lambda m: m.googlenet(num_classes=10, aux_logits=False, init_weights=False), 64)


class VggBn(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.features = m.vgg.make_layers([8, "M", 16, "M", 32, "M"], batch_norm=True)
        self.classifier = nn.Linear(32 * 16, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


vision("vgg_bn", VggBn)


def timm_model(name, size=64, **options):
    def make():
        need_torchvision()
        import timm
        return timm.create_model(name, num_classes=10, **options), images(3, size, size)
    MODELS["timm." + name] = make


SMALL_VIT = dict(img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=3)
for name in ("vit_tiny_patch16_224", "deit_tiny_patch16_224", "beit_base_patch16_224", "eva02_tiny_patch14_224"):
    timm_model(name, 32, **SMALL_VIT)
timm_model("vit_relpos_small_patch16_224", 32, **SMALL_VIT)
timm_model("cait_xxs24_224", 32, img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=3)
for name in ("mixer_s32_224", "resmlp_12_224", "gmlp_ti16_224"):
    timm_model(name, 64, img_size=64)
timm_model("swin_tiny_patch4_window7_224", 32, img_size=32, window_size=4, embed_dim=24, depths=(2, 2), num_heads=(2, 4))
timm_model("swinv2_tiny_window8_256", 32, img_size=32, window_size=4, embed_dim=24, depths=(2, 2), num_heads=(2, 4))
timm_model("convnext_atto", 64, depths=(1, 1, 1, 1), dims=(16, 32, 48, 64))
timm_model("convnextv2_atto", 64, depths=(1, 1, 1, 1), dims=(16, 32, 48, 64))
timm_model("mambaout_femto", 64, depths=(1, 1, 1, 1), dims=(16, 32, 48, 64))
timm_model("poolformer_s12", 64, layers=(1, 1, 1, 1), embed_dims=(16, 32, 48, 64))
timm_model("pvt_v2_b0", 64, depths=(1, 1, 1, 1))
timm_model("efficientvit_b0", 64)
timm_model("edgenext_xx_small", 64)
timm_model("mobilevit_xxs", 64)
timm_model("mobilevitv2_050", 64)
timm_model("levit_128s", 224)
timm_model("xcit_nano_12_p16_224", 32, img_size=32, depth=2)
timm_model("visformer_tiny", 64, img_size=64)
timm_model("coat_lite_tiny", 64, img_size=64)
timm_model("inception_next_atto", 64)
timm_model("starnet_s1", 64)
timm_model("fastvit_t8", 64)
timm_model("repvgg_a0", 32)
for name in ("resnet10t", "resnet14t", "mobilenetv3_small_050", "mobilenetv4_conv_small", "lcnet_035", "tinynet_e", "ghostnet_050", "repghostnet_050", "hardcorenas_a", "regnetx_002",
             "regnety_002", "semnasnet_050", "dla46_c", "resnest14d", "hgnetv2_b0", "efficientnet_lite0", "rexnet_100", "hrnet_w18_small", "skresnet18", "selecsls42"):
    timm_model(name, 64)


# --- transformers ------------------------------------------------------------------------------------------------------

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=60, max_position_embeddings=32)
QUIET = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attention_dropout=0.0, hidden_dropout=0.0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, dropout=0.0, activation_dropout=0.0,
             classifier_dropout=0.0, embed_dropout=0.0, drop_path_rate=0.0, use_cache=False)


def hugging(name, config, kind, inputs=tokens(8, 60), **options):
    def make():
        need_torchvision()  # transformers loads it where it is installed
        import transformers
        settings = getattr(transformers, config)(**{**QUIET, **options})
        return getattr(transformers, kind)(settings), inputs
    MODELS["transformers." + name] = make


def encoder(name, prefix, **options):
    hugging(name, prefix + "Config", prefix + "ForSequenceClassification", **{**SMALL, **options, "pad_token_id": options.get("pad_token_id", 0)})


def decoder(name, prefix, kind=None, **options):
    hugging(name, prefix + "Config", kind or prefix + "ForCausalLM", **{**SMALL, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, **options})


encoder("bert", "Bert")
encoder("roberta", "Roberta", max_position_embeddings=40)
encoder("albert", "Albert", embedding_size=16)
encoder("electra", "Electra", embedding_size=16)
encoder("deberta_v2", "DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"])
encoder("mpnet", "MPNet", max_position_embeddings=40)
encoder("roformer", "RoFormer", embedding_size=16)
encoder("camembert", "Camembert", max_position_embeddings=40)
encoder("mobilebert", "MobileBert", embedding_size=16, intra_bottleneck_size=16, true_hidden_size=16)
encoder("squeezebert", "SqueezeBert", embedding_size=32)
encoder("convbert", "ConvBert", embedding_size=16)
encoder("nystromformer", "Nystromformer", num_landmarks=4, segment_means_seq_len=8)
encoder("modernbert", "ModernBert", global_attn_every_n_layers=2, local_attention=4, reference_compile=False, attn_implementation="sdpa")
hugging("distilbert", "DistilBertConfig", "DistilBertForSequenceClassification", dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=60, max_position_embeddings=32, seq_classif_dropout=0.0)
decoder("gpt2", "GPT2", "GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=4, n_positions=32)
decoder("gpt_neo", "GPTNeo", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4)
decoder("gpt_neox", "GPTNeoX")
decoder("gptj", "GPTJ", n_embd=32, n_layer=2, n_head=4, rotary_dim=8, n_positions=32)
decoder("opt", "OPT", ffn_dim=64, word_embed_proj_dim=32)
decoder("bloom", "Bloom", n_layer=2, n_head=4)
decoder("llama", "Llama", num_key_value_heads=2)
decoder("mistral", "Mistral", num_key_value_heads=2, sliding_window=4)
decoder("qwen2", "Qwen2", num_key_value_heads=2)
decoder("qwen3", "Qwen3", num_key_value_heads=2, head_dim=8)
decoder("gemma", "Gemma", num_key_value_heads=1, head_dim=8)
decoder("gemma2", "Gemma2", num_key_value_heads=2, head_dim=8)
decoder("phi", "Phi")
decoder("phi3", "Phi3", num_key_value_heads=2)
decoder("falcon", "Falcon", alibi=False, multi_query=True)
decoder("stablelm", "StableLm", num_key_value_heads=2)
decoder("olmo", "Olmo")
decoder("mamba", "Mamba", state_size=4, conv_kernel=4, expand=2)
hugging("t5_encoder", "T5Config", "T5EncoderModel", vocab_size=60, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0)
hugging("vit", "ViTConfig", "ViTForImageClassification", images(3, 32, 32), **SMALL, image_size=32, patch_size=8)
hugging("deit", "DeiTConfig", "DeiTForImageClassification", images(3, 32, 32), **SMALL, image_size=32, patch_size=8)
hugging("beit", "BeitConfig", "BeitForImageClassification", images(3, 32, 32), **SMALL, image_size=32, patch_size=8)
hugging("dinov2", "Dinov2Config", "Dinov2ForImageClassification", images(3, 32, 32), **SMALL, image_size=32, patch_size=8)
hugging("swin", "SwinConfig", "SwinForImageClassification", images(3, 32, 32), image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
hugging("convnext", "ConvNextConfig", "ConvNextForImageClassification", images(3, 32, 32), hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)
hugging("segformer", "SegformerConfig", "SegformerForImageClassification", images(3, 64, 64), hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], decoder_hidden_size=32, num_attention_heads=[1, 2, 3, 4])
hugging("resnet", "ResNetConfig", "ResNetForImageClassification", images(3, 32, 32), embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic")
hugging("wav2vec2", "Wav2Vec2Config", "Wav2Vec2ForCTC", rows(1600), **SMALL, conv_dim=(16, 16), conv_stride=(5, 4), conv_kernel=(10, 8), num_feat_extract_layers=2, num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=4, mask_time_prob=0.0, mask_feature_prob=0.0, layerdrop=0.0, feat_proj_dropout=0.0, final_dropout=0.0)
