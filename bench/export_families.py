"""Further architectures of torchvision, timm and transformers that bench/exports.py exports, at the smallest sizes that run.

They are what a stranger would try next: the whole networks of torchvision rather than small ones of their parts, one or more of each
family of timm, encoders, decoders, pairs of both, and models of images and sound of transformers.
"""
import torch
from torch import nn

from export_models import MODELS, QUIET, SMALL, decoder, encoder, hugging, images, need_torchvision, plain_vision, rows, timm_model, tokens, vision


class Called(nn.Module):
    """A module that is called with more than one input, all of them made from one."""

    def __init__(self, inner, call):
        super().__init__()
        self.inner, self.call = inner, call

    def forward(self, x):
        return self.call(self.inner, x)


# --- torchvision -------------------------------------------------------------------------------------------------------

for name in ("resnet34", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "densenet121", "mobilenet_v3_large", "shufflenet_v2_x1_0", "mnasnet1_0", "regnet_y_800mf", "regnet_x_800mf", "efficientnet_b1",
             "efficientnet_v2_s", "squeezenet1_0", "alexnet", "convnext_tiny", "swin_t", "swin_v2_t"):
    plain_vision(name, 64)
for name in ("vgg11", "vgg11_bn"):
    plain_vision(name, 32)
vision("inception_v3", lambda m: m.inception_v3(num_classes=10, aux_logits=False, init_weights=False), 75)
vision("vit_b_16", lambda m: m.VisionTransformer(64, 16, 3, 12, 768, 3072, num_classes=10), 64)
vision("maxvit_small", lambda m: m.MaxVit((32, 32), 16, 2, [16, 32], [1, 1], 16, stochastic_depth_prob=0.0, num_classes=10), 32)
vision("fcn_resnet50", lambda m: m.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=5), 64)
vision("deeplabv3_mobilenet", lambda m: m.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5), 64)
vision("lraspp_mobilenet", lambda m: m.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5), 64)


def video(name, size=32, frames=8, **options):
    def make():
        return getattr(need_torchvision().video, name)(num_classes=10, **options), images(3, frames, size, size)
    MODELS["torchvision." + name] = make


for name in ("r3d_18", "mc3_18", "r2plus1d_18"):
    video(name)
video("s3d", 64, 16)


# --- timm --------------------------------------------------------------------------------------------------------------

for name in ("resnetv2_18", "nf_regnet_b0", "cspresnet50", "ese_vovnet19b_dw", "gcresnext26ts", "seresnext26d_32x4d", "ecaresnet26t", "res2net50_14w_8s", "dpn48b", "mixnet_s", "fbnetc_100", "spnasnet_100",
             "tf_efficientnet_b0", "tf_mobilenetv3_small_minimal_100", "efficientformerv2_s0", "repvit_m0_9", "mobileone_s0", "fasternet_t0", "swiftformer_xs", "darknet21", "ese_vovnet19b_slim", "gernet_s",
             "resnet26d", "legacy_seresnet18", "mobilenet_edgetpu_v2_xs", "resnetblur18", "ghostnetv2_100"):
    timm_model(name, 64)
for name in ("xception41", "inception_v4", "vovnet39a"):
    timm_model(name, 96)
timm_model("focalnet_tiny_srf", 64, depths=(1, 1, 1, 1), embed_dim=16)
timm_model("davit_tiny", 64, depths=(1, 1, 1, 1), embed_dims=(16, 32, 48, 64), num_heads=(2, 2, 2, 2), window_size=2)
timm_model("efficientformer_l1", 224)
timm_model("caformer_s18", 64, depths=(1, 1, 1, 1), dims=(16, 32, 48, 64))
timm_model("convformer_s18", 64, depths=(1, 1, 1, 1), dims=(16, 32, 48, 64))
timm_model("twins_svt_small", 64, img_size=64, embed_dims=(16, 32, 48, 64), num_heads=(1, 2, 3, 4), depths=(1, 1, 1, 1), wss=(2, 2, 2, 2))
timm_model("twins_pcpvt_small", 64, img_size=64, embed_dims=(16, 32, 48, 64), num_heads=(1, 2, 3, 4), depths=(1, 1, 1, 1))
timm_model("pit_ti_224", 64, img_size=64)
timm_model("tnt_s_patch16_224", 64, img_size=64, embed_dim=48, num_heads_outer=3, depth=2)
timm_model("convit_tiny", 64, img_size=64, depth=2, local_up_to_layer=1)
timm_model("volo_d1_224", 64, img_size=64, layers=(1, 1, 1, 1), embed_dims=(32, 48, 48, 48), num_heads=(2, 3, 3, 3), mix_token=False, return_dense=False)
timm_model("coatnet_nano_rw_224", 64, img_size=64)
timm_model("maxvit_rmlp_pico_rw_256", 64, img_size=64)
timm_model("nest_tiny", 64, img_size=64, embed_dims=(24, 48, 96), depths=(1, 1, 1), num_heads=(1, 2, 4))
timm_model("sequencer2d_s", 64, layers=(1, 1, 1, 1), embed_dims=(16, 32, 32, 32), hidden_sizes=(4, 8, 8, 8))
timm_model("gcvit_xxtiny", 64, img_size=64, window_size=(2, 2, 2, 2))
timm_model("tiny_vit_5m_224", 64, img_size=64)
timm_model("hiera_tiny_224", 64, img_size=64, embed_dim=32, num_heads=1, stages=(1, 1, 1, 1))
timm_model("rdnet_tiny", 64)
timm_model("vit_small_patch16_dinov3", 64, img_size=64, embed_dim=48, depth=2, num_heads=3)
timm_model("vit_base_patch16_siglip_224", 32, img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=3)
timm_model("vit_small_patch14_reg4_dinov2", 28, img_size=28, embed_dim=48, depth=2, num_heads=3)
timm_model("samvit_base_patch16_224", 64, img_size=64, embed_dim=48, depth=2, num_heads=3, window_size=2, global_attn_indexes=(1,))
timm_model("nextvit_small", 64)
timm_model("shvit_s1", 128)


# --- transformers ------------------------------------------------------------------------------------------------------

decoder("falcon_alibi", "Falcon", alibi=True)
decoder("mpt", "Mpt", d_model=32, n_heads=4, n_layers=2, expansion_ratio=2, max_seq_len=32)
decoder("gemma3", "Gemma3Text", "Gemma3ForCausalLM", num_key_value_heads=2, head_dim=8, sliding_window=4, layer_types=["sliding_attention", "full_attention"])
decoder("cohere", "Cohere", num_key_value_heads=2)
decoder("granite", "Granite", num_key_value_heads=2)
decoder("starcoder2", "Starcoder2", num_key_value_heads=2, sliding_window=4)
decoder("olmo2", "Olmo2", num_key_value_heads=2)
decoder("gpt_bigcode", "GPTBigCode", n_embd=32, n_layer=2, n_head=4, n_positions=32)
decoder("codegen", "CodeGen", n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=32)
decoder("biogpt", "BioGpt")
decoder("xglm", "XGLM", d_model=32, num_layers=2, attention_heads=4, ffn_dim=64)
decoder("persimmon", "Persimmon")
decoder("smollm3", "SmolLM3", num_key_value_heads=2)
decoder("glm", "Glm", num_key_value_heads=2, head_dim=8)
decoder("nemotron", "Nemotron", num_key_value_heads=2)
decoder("openai_gpt", "OpenAIGPT", "OpenAIGPTLMHeadModel", n_embd=32, n_layer=2, n_head=4, n_positions=32)
decoder("ctrl", "CTRL", "CTRLLMHeadModel", n_embd=32, n_layer=2, n_head=4, dff=64, n_positions=32)
decoder("rwkv", "Rwkv", attention_hidden_size=32, context_length=32)
decoder("qwen3_sliding", "Qwen3", "Qwen3ForCausalLM", num_key_value_heads=2, head_dim=8, use_sliding_window=True, sliding_window=4, max_window_layers=1)
decoder("llama_eager", "Llama", num_key_value_heads=2, attn_implementation="eager")
decoder("gpt2_eager", "GPT2", "GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=4, n_positions=32, attn_implementation="eager")
encoder("bert_eager", "Bert", attn_implementation="eager")
encoder("deberta", "Deberta", relative_attention=True, pos_att_type=["p2c", "c2p"])
encoder("fnet", "FNet")
encoder("xlm_roberta", "XLMRoberta", max_position_embeddings=40)
encoder("megatron_bert", "MegatronBert")
encoder("esm", "Esm", max_position_embeddings=40, position_embedding_type="rotary", mask_token_id=4, token_dropout=False)
encoder("ernie", "Ernie")
encoder("layoutlm", "LayoutLM")
encoder("rembert", "RemBert", input_embedding_size=16, output_embedding_size=16)
encoder("data2vec_text", "Data2VecText", max_position_embeddings=40)
encoder("ibert", "IBert", max_position_embeddings=40)
hugging("xlnet", "XLNetConfig", "XLNetLMHeadModel", vocab_size=60, d_model=32, n_layer=2, n_head=4, d_inner=64)
hugging("bert_masked", "BertConfig", "BertForMaskedLM", **SMALL, pad_token_id=0)
hugging("distilbert_masked", "DistilBertConfig", "DistilBertForMaskedLM", dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=60, max_position_embeddings=32)


def pair(name, config, kind, inputs=tokens(8, 60), call=lambda m, x: m(input_ids=x, decoder_input_ids=x.flip(1)).logits, **options):
    """An encoder with a decoder: both read the same tokens."""
    def make():
        need_torchvision()
        import transformers
        return Called(getattr(transformers, kind)(getattr(transformers, config)(**{**QUIET, **options})), call), inputs
    MODELS["transformers." + name] = make


TWO = dict(vocab_size=60, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=32,
           pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, forced_eos_token_id=2, encoder_layerdrop=0.0, decoder_layerdrop=0.0)
pair("t5", "T5Config", "T5ForConditionalGeneration", vocab_size=60, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0)
pair("t5_gated", "T5Config", "T5ForConditionalGeneration", vocab_size=60, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
for name, prefix in (("bart", "Bart"), ("mbart", "MBart"), ("pegasus", "Pegasus"), ("blenderbot_small", "BlenderbotSmall"), ("m2m_100", "M2M100")):
    pair(name, prefix + "Config", prefix + "ForConditionalGeneration", **TWO)
pair("marian", "MarianConfig", "MarianMTModel", **TWO)
pair("whisper", "WhisperConfig", "WhisperForConditionalGeneration", rows(8, 32),
     lambda m, x: m(input_features=x, decoder_input_ids=(x[:, 0, :6] > 0).long() + 3).logits, **{**TWO, "num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 16})
pair("clip_text", "CLIPTextConfig", "CLIPTextModel", call=lambda m, x: m(input_ids=x).last_hidden_state, **SMALL, bos_token_id=1, eos_token_id=2, pad_token_id=0)

SIGHT = dict(**SMALL, image_size=32, patch_size=8)
hugging("clip_vision", "CLIPVisionConfig", "CLIPVisionModel", images(3, 32, 32), **SIGHT)
hugging("siglip_vision", "SiglipVisionConfig", "SiglipVisionModel", images(3, 32, 32), **SIGHT)
hugging("vit_eager", "ViTConfig", "ViTForImageClassification", images(3, 32, 32), **SIGHT, attn_implementation="eager")
hugging("vit_msn", "ViTMSNConfig", "ViTMSNForImageClassification", images(3, 32, 32), **SIGHT)
hugging("dinov3", "DINOv3ViTConfig", "DINOv3ViTModel", images(3, 32, 32), **SIGHT)
hugging("ijepa", "IJepaConfig", "IJepaForImageClassification", images(3, 32, 32), **SIGHT)
hugging("swinv2", "Swinv2Config", "Swinv2ForImageClassification", images(3, 32, 32), image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
hugging("convnextv2", "ConvNextV2Config", "ConvNextV2ForImageClassification", images(3, 32, 32), hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)
hugging("poolformer", "PoolFormerConfig", "PoolFormerForImageClassification", images(3, 64, 64), hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])
hugging("pvt", "PvtConfig", "PvtForImageClassification", images(3, 64, 64), image_size=64, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4])
hugging("regnet", "RegNetConfig", "RegNetForImageClassification", images(3, 64, 64), embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], groups_width=8)
hugging("mobilenet_v1", "MobileNetV1Config", "MobileNetV1ForImageClassification", images(3, 64, 64), depth_multiplier=0.25)
hugging("mobilenet_v2", "MobileNetV2Config", "MobileNetV2ForImageClassification", images(3, 64, 64), depth_multiplier=0.25)
hugging("mobilevit", "MobileViTConfig", "MobileViTForImageClassification", images(3, 64, 64), image_size=64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64])
hugging("bit", "BitConfig", "BitForImageClassification", images(3, 64, 64), embedding_size=16, hidden_sizes=[32, 64], depths=[1, 1], num_groups=8)
hugging("cvt", "CvtConfig", "CvtForImageClassification", images(3, 32, 32), embed_dim=[16, 32], num_heads=[1, 2], depth=[1, 1], patch_sizes=[7, 3], patch_stride=[4, 2], patch_padding=[2, 1],
        mlp_ratio=[2.0, 2.0], attention_drop_rate=[0.0, 0.0], drop_rate=[0.0, 0.0], drop_path_rate=[0.0, 0.0], qkv_bias=[True, True], cls_token=[False, True],
        qkv_projection_method=["dw_bn", "dw_bn"], kernel_qkv=[3, 3], padding_kv=[1, 1], stride_kv=[2, 2], padding_q=[1, 1], stride_q=[1, 1])
hugging("focalnet", "FocalNetConfig", "FocalNetForImageClassification", images(3, 32, 32), image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3])
hugging("segformer_segment", "SegformerConfig", "SegformerForSemanticSegmentation", images(3, 64, 64), hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], decoder_hidden_size=32,
        num_attention_heads=[1, 2, 3, 4])
SOUND = dict(**SMALL, conv_dim=(16, 16), conv_stride=(5, 4), conv_kernel=(10, 8), num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, mask_time_prob=0.0,
             mask_feature_prob=0.0, layerdrop=0.0, feat_proj_dropout=0.0, final_dropout=0.0)
hugging("hubert", "HubertConfig", "HubertForCTC", rows(1600), **SOUND)
hugging("wavlm", "WavLMConfig", "WavLMForCTC", rows(1600), **SOUND, num_buckets=8, max_bucket_distance=16)
hugging("ast", "ASTConfig", "ASTForAudioClassification", rows(32, 16), **SMALL, patch_size=8, frequency_stride=8, time_stride=8, max_length=32, num_mel_bins=16)

assert all(name.count(".") == 1 for name in MODELS)
