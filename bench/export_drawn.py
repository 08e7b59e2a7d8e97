"""Models that were drawn at random from what torchvision, timm, transformers and torch.nn have and the other lists have not.

The seed was 20261118; timm: the first ten of a shuffled list_models() with fewer than 12 million parameters and a forward pass of images
of 64; transformers: of the first forty kinds those that take one input and export at all; torchvision: the first three with fewer than
15 million; torch.nn: the classes that no other list calls, several in a module.
"""
import torch
from torch import nn
from torch.nn import functional as F

from export_families import pair
from export_models import SMALL, Unit, decoder, encoder, hugging, images, model, plain_vision, rows, timm_model, tokens

for name in ("mnasnet0_75", "densenet169", "efficientnet_b2"):
    plain_vision(name, 64)
for name in ("mobilenetv2_140", "efficientnet_b3", "starnet_s100", "repghostnet_058", "lcnetv2_base", "resnet18d", "ghostnetv3_130", "semnasnet_140"):
    timm_model(name, 64)
for name in ("pit_ti_distilled_224", "lambda_resnet26t"):
    timm_model(name, 64, img_size=64)

decoder("apertus", "Apertus", num_key_value_heads=2)
decoder("openai_gpt", "OpenAIGPT", "OpenAIGPTLMHeadModel", n_embd=32, n_layer=2, n_head=4, n_positions=32)
decoder("qwen3_moe", "Qwen3Moe", num_key_value_heads=2, head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
decoder("olmo2", "Olmo2", num_key_value_heads=2)
decoder("granite", "Granite", num_key_value_heads=2)
decoder("cohere", "Cohere", num_key_value_heads=2)
encoder("deberta", "Deberta", relative_attention=True, pos_att_type=["p2c", "c2p"], max_relative_positions=8)
encoder("roberta_prelayernorm", "RobertaPreLayerNorm", max_position_embeddings=40)
decoder("mistral_large4", "MistralLarge4", num_key_value_heads=2)
decoder("youtu", "Youtu", num_key_value_heads=4, kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8)
decoder("mimo_v2_flash", "MiMoV2Flash", num_key_value_heads=2)
decoder("hrm_text", "HrmText")
decoder("imagegpt", "ImageGPT", "ImageGPTForImageClassification", n_embd=32, n_layer=2, n_head=4, n_positions=32)
hugging("sew", "SEWConfig", "SEWForCTC", rows(1600), **SMALL, conv_dim=(16, 16), conv_stride=(5, 4), conv_kernel=(10, 8), num_feat_extract_layers=2, num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=4, mask_time_prob=0.0, mask_feature_prob=0.0, layerdrop=0.0, feat_proj_dropout=0.0, final_dropout=0.0, squeeze_factor=2)
hugging("patchtst", "PatchTSTConfig", "PatchTSTForPrediction", rows(32, 3), num_input_channels=3, context_length=32, patch_length=8, patch_stride=8, num_hidden_layers=2, d_model=16, num_attention_heads=2,
        ffn_dim=32, prediction_length=4, ff_dropout=0.0, head_dropout=0.0, positional_dropout=0.0, path_dropout=0.0)
pair("dpr", "DPRConfig", "DPRQuestionEncoder", call=lambda m, x: m(input_ids=x).pooler_output, **SMALL, pad_token_id=0)


@model("modules.drawn_pads_1d")
def _():
    return nn.Sequential(nn.ReflectionPad1d(2), nn.Conv1d(3, 8, 3), nn.LogSigmoid(), nn.ZeroPad1d((1, 2)), nn.Conv1d(8, 8, 3, stride=2), nn.CircularPad1d(1), nn.Conv1d(8, 8, 3), nn.MaxPool1d(2),
                         nn.Softsign(), nn.ReplicationPad1d((1, 0)), nn.Conv1d(8, 6, 2), nn.GLU(1), nn.ConstantPad1d(1, 0.5), nn.Conv1d(3, 4, 3), nn.AdaptiveMaxPool1d(1), nn.Flatten(),
                         nn.Linear(4, 3)), rows(3, 24)


@model("modules.drawn_pads_2d")
def _():
    return nn.Sequential(nn.ReflectionPad2d((1, 2, 0, 1)), nn.Conv2d(3, 8, 3), nn.CELU(0.7), nn.ReplicationPad2d(1), nn.Conv2d(8, 8, 3), nn.SELU(), nn.CircularPad2d((1, 0, 2, 1)), nn.Conv2d(8, 4, 3),
                         nn.Mish(), nn.ZeroPad2d(1), nn.Conv2d(4, 4, 3), nn.Tanhshrink(), nn.ConstantPad2d((0, 1, 1, 0), -0.3), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(4, 3)), images(3, 12, 12)


@model("modules.drawn_pads_3d")
def _():
    return nn.Sequential(nn.ReplicationPad3d(1), nn.Conv3d(2, 4, 3), nn.InstanceNorm3d(4, affine=True), nn.Softplus(), nn.AvgPool3d(2), nn.ReflectionPad3d(1), nn.Conv3d(4, 4, 3), nn.Hardshrink(0.1),
                         nn.ConstantPad3d(1, 0.2), nn.Conv3d(4, 4, 3, stride=2), nn.CircularPad3d(1), nn.AdaptiveMaxPool3d(2), nn.Flatten(), nn.Linear(32, 3)), images(2, 8, 8, 8)


@model("modules.drawn_scales")
def _():
    return nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(4, 8, 3, padding=1), nn.UpsamplingBilinear2d(scale_factor=2), nn.Hardtanh(-0.7, 0.9), nn.Conv2d(8, 8, 3), nn.LPPool2d(2, 2), nn.Softmax2d(),
                         nn.UpsamplingNearest2d(scale_factor=2), nn.Conv2d(8, 2, 3), nn.Softshrink(0.05), nn.Flatten(), nn.Linear(72, 4), nn.Softmin(-1)), images(1, 10, 10)


@model("modules.drawn_distances")
def _():
    parts = dict(a=nn.Linear(8, 6), b=nn.Linear(8, 6), f=nn.Linear(3, 2), c=nn.CosineSimilarity(-1), d=nn.PairwiseDistance(), t=nn.Threshold(0.1, 0.2))
    return Unit(parts, lambda s, x: s.f(torch.stack([s.c(s.a(x), s.b(x)), s.d(s.a(x), s.b(x)), s.t(s.a(x)).mean(-1)], -1))), rows(8)


@model("modules.drawn_unfold")
def _():
    parts = dict(u=nn.Unfold(3, padding=1, stride=2), l=nn.Linear(18, 18), o=nn.Fold((8, 8), 3, padding=1, stride=2), c=nn.Conv2d(2, 3, 3))
    return Unit(parts, lambda s, x: s.c(s.o(s.l(s.u(x).transpose(1, 2)).transpose(1, 2)))), images(2, 8, 8)


@model("modules.drawn_response_norm")
def _():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.LocalResponseNorm(3, alpha=0.1), nn.ReLU(), nn.AvgPool2d(2, ceil_mode=True), nn.Conv2d(8, 4, 3), nn.LogSoftmax(1), nn.Flatten(), nn.Linear(36, 3)), images(3, 12, 12)


@model("modules.drawn_cells")
def _():
    def run(s, x):
        h = x.new_zeros(x.shape[0], 10)
        for k in range(x.shape[1]):
            h = s.cell(x[:, k], h)
        return s.f(h)
    return Unit(dict(cell=nn.RNNCell(6, 10), f=nn.Linear(10, 3)), run), rows(5, 6)


@model("modules.drawn_dictionary")
def _():
    parts = dict(d=nn.ModuleDict({"one": nn.Linear(8, 8), "two": nn.Linear(8, 8)}), p=nn.ParameterDict({"a": nn.Parameter(torch.ones(8)), "b": nn.Parameter(torch.zeros(8))}), q=nn.ParameterList([nn.Parameter(torch.randn(8, 8) * 0.3) for _ in range(2)]))
    return Unit(parts, lambda s, x: torch.tanh(s.d["two"](F.gelu(s.d["one"](x) * s.p["a"])) + s.p["b"]) @ s.q[0] @ s.q[1]), rows(8)


@model("modules.drawn_unpool")
def _():
    parts = dict(c=nn.Conv2d(1, 4, 3, padding=1), p=nn.MaxPool2d(2, return_indices=True), u=nn.MaxUnpool2d(2), d=nn.Conv2d(4, 1, 3, padding=1))

    def run(s, x):
        pooled, places = s.p(s.c(x))
        return s.d(s.u(torch.tanh(pooled), places))
    return Unit(parts, run), images(1, 8, 8)
