"""The jobs behind published memory figures, as functions that plimsoll.capture can run: a row of the table in, make() out.

Needs torch, and for some rows torchvision, timm or transformers (4.49: other versions give other figures). Weights are never loaded or materialised."""

import json

import torch
from torch import nn

def need_torchvision():
    """Its wheel may be built for another torch (transformers imports it too): models need the names of its compiled operators
    only."""
    try:
        torch.ops.torchvision.nms
    except (AttributeError, RuntimeError):
        need_torchvision.library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            need_torchvision.library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

    return torchvision.models


LANGUAGE_MODELS = {  # public configurations: (class, fields)
    "openai-community/gpt2": ("GPT2", {}),
    "distilbert/distilgpt2": ("GPT2", dict(n_layer=6)),
    "cerebras/Cerebras-GPT-111M": ("GPT2", dict(n_embd=768, n_layer=10, n_head=12, n_inner=3072, n_positions=2048,
                                            activation_function="gelu")),
    "EleutherAI/gpt-neo-125M": ("GPTNeo", dict(hidden_size=768, num_layers=12, num_heads=12, vocab_size=50257,
                                               attention_types=[[["global", "local"], 6]], max_position_embeddings=2048)),
    "facebook/opt-125m": ("OPT", dict(hidden_size=768, num_hidden_layers=12, ffn_dim=3072, num_attention_heads=12,
                                      vocab_size=50272, word_embed_proj_dim=768)),
    "facebook/opt-350m": ("OPT", dict(hidden_size=1024, num_hidden_layers=24, ffn_dim=4096, num_attention_heads=16,
                                      vocab_size=50272, word_embed_proj_dim=512, do_layer_norm_before=False)),
    "facebook/opt-1.3b": ("OPT", dict(hidden_size=2048, num_hidden_layers=24, ffn_dim=8192, num_attention_heads=32,
                                      vocab_size=50272, word_embed_proj_dim=2048)),
    "T5-small": ("T5", dict(decoder_start_token_id=0, pad_token_id=0, d_model=512, d_ff=2048, num_layers=6, num_heads=8, vocab_size=32128)),
    "t5-base": ("T5", dict(decoder_start_token_id=0, pad_token_id=0, d_model=768, d_ff=3072, num_layers=12, num_heads=12, vocab_size=32128)),
    "EleutherAI/pythia-1b": ("GPTNeoX", dict(hidden_size=2048, num_hidden_layers=16, num_attention_heads=8,
                                             intermediate_size=8192, vocab_size=50304)),
    "Qwen/Qwen3-0.6B": ("Qwen3", dict(hidden_size=1024, num_hidden_layers=28, num_attention_heads=16,
                                      num_key_value_heads=8, head_dim=128, intermediate_size=3072, vocab_size=151936,
                                      tie_word_embeddings=True)),
    "Qwen/Qwen3-4B": ("Qwen3", dict(hidden_size=2560, num_hidden_layers=36, num_attention_heads=32,
                                    num_key_value_heads=8, head_dim=128, intermediate_size=9728, vocab_size=151936,
                                    tie_word_embeddings=True)),
    "google/gemma-2-2b-it": ("Gemma2", dict(hidden_size=2304, num_hidden_layers=26, num_attention_heads=8,
                                            num_key_value_heads=4, head_dim=256, intermediate_size=9216,
                                            vocab_size=256000)),
}


def optimizer_for(name, parameters):
    if name == "SGD":
        return torch.optim.SGD(parameters, lr=0.01)
    if name == "Adafactor":
        return torch.optim.Adafactor(parameters)
    return getattr(torch.optim, name)(parameters)


def loop(model, optimizer, batch, loss_of, zero_grad):
    """One iteration as training scripts write it: the names of the last iteration hold their tensors until they are
    given new ones. zero_grad: 0 before the forward pass, 1 before backward, 2 at the end."""
    held = {}

    def step():
        held["batch"] = None
        held["batch"] = batch()
        if zero_grad == 0:
            optimizer.zero_grad()
        held["out"], held["loss"] = loss_of(model, held)
        if zero_grad == 1:
            optimizer.zero_grad()
        held["loss"].backward()
        optimizer.step()
        if zero_grad == 2:
            optimizer.zero_grad()

    return step


def images(build, shape, batch, classes, optimizer, zero_grad):
    def make():
        model = build().cuda()
        model.train()
        criterion = nn.CrossEntropyLoss()

        def data():
            return torch.empty((batch,) + shape, device="cuda"), torch.zeros(batch, dtype=torch.long, device="cuda")

        def loss_of(model, held):
            out = model(held["batch"][0])
            out = out.logits if hasattr(out, "logits") else out
            return out, criterion(out, held["batch"][1])

        return loop(model, optimizer_for(optimizer, model.parameters()), data, loss_of, zero_grad)

    return make


def language(name, batch, lengths, optimizer, zero_grad, attention=None):
    """`lengths`: of the lines in each step, padded to the longest of the batch; the last one goes on."""
    need_torchvision()
    import transformers

    family, fields = LANGUAGE_MODELS[name]
    config = getattr(transformers, family + "Config")(**fields)
    classes = {"GPT2": "GPT2LMHeadModel", "T5": "T5ForConditionalGeneration"}
    kind = getattr(transformers, classes.get(family, family + "ForCausalLM"))
    config._attn_implementation = attention or ("eager" if family in ("GPTNeo", "T5", "Gemma2") else "sdpa")

    def make():
        model = kind._from_config(config).cuda()
        model.train()
        left = list(lengths)

        def data():
            length = left.pop(0) if len(left) > 1 else left[0]
            ids = torch.zeros(batch, length, dtype=torch.long, device="cuda")
            return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.zeros_like(ids)}

        def loss_of(model, held):
            out = model(**held["batch"])
            return out, out.loss

        return loop(model, optimizer_for(optimizer, model.parameters()), data, loss_of, zero_grad)

    return make


def vision(model):
    models = need_torchvision()
    name = model.split(" ")[0]
    if name == "MNASNet":
        return lambda: models.mnasnet1_0(num_classes=10)
    if name == "MobileNetV3":
        return lambda: models.mobilenet_v3_small(num_classes=10)
    return lambda: getattr(models, name)()


def library(name):
    """A model of torchvision where it has one, else of timm. Inception without its second head, as the script says."""
    models = need_torchvision()
    if name == "inception_v3":
        return lambda: models.inception_v3(aux_logits=False, init_weights=False)
    if hasattr(models, name):
        return lambda: getattr(models, name)()
    import timm

    return lambda: timm.create_model(name)


def timm_job(name, batch, optimizer="Adam"):
    """timm's default image size; optimizer and precision are not published: Adam and float32 are assumed."""
    need_torchvision()
    import timm

    if name not in timm.list_models():
        return None
    size = timm.get_pretrained_cfg(name).input_size if timm.get_pretrained_cfg(name) else (3, 224, 224)
    return images(lambda: timm.create_model(name), tuple(size), batch, 1000, optimizer, 0)


def widths(extra, first):
    """The layer widths of a random perceptron, as its authors' generator makes them."""
    out, depth, sizes = extra["out"], extra["depth"], []
    width = first
    for i in range(depth):
        if extra["arch"] == "uniform":
            sizes.append(first)
        elif extra["arch"] == "gradual":
            width = max(width - (first - out) // depth, out)
            sizes.append(width)
        else:
            width = max(width // 2, out)
            sizes.append(width)
    if extra["arch"] == "bottleneck" and sizes:
        sizes.append(max(sizes[-1] // 2, out))
    return sizes


ACTIVATIONS = {"relu": nn.ReLU, "elu": nn.ELU, "selu": nn.SELU, "mish": nn.Mish, "leakyrelu": nn.LeakyReLU, "leaky_relu":
               nn.LeakyReLU, "gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "silu": nn.SiLU, "swish": nn.SiLU,
               "prelu": nn.PReLU, "softplus": nn.Softplus, "hardswish": nn.Hardswish, "relu6": nn.ReLU6,
               "identity": nn.Identity}


def perceptron(row, extra):
    first, batch = int(row["input_shape_or_seq"]), int(row["batch"])
    sizes = widths(extra, first)

    def build():
        layers, last = [], first
        for size in sizes:
            layers.append(nn.Linear(last, size))
            if extra.get("bn"):
                layers.append(nn.BatchNorm1d(size))
            layers.append(ACTIVATIONS[extra.get("act", "relu").lower()]())
            if extra.get("dropout"):
                layers.append(nn.Dropout(extra["p"]))
            last = size
        layers.append(nn.Linear(last, extra["out"]))
        if "act" in extra:
            layers.append(nn.Softmax(dim=1))
        return nn.Sequential(*layers)

    return build, images(build, (first,), batch, extra["out"], row["optimizer"], 0)


# Fewer lines than this may all be short: then their padded length changes from step to step, cached blocks do not fit the
# next step, and more is reserved than with one length.
FEW_LINES = 16
LENGTHS = [(128,), (112, 128, 128, 128), (128, 112, 128, 128), (64, 128, 128, 128)]


def variants(row):
    """How many versions of the job there are: what its description leaves open. The first is the likely one."""
    text = row["source"] == "xMem" and "x" not in row["input_shape_or_seq"]
    return len(LENGTHS) if text and int(row["batch"]) < FEW_LINES else 1


def job(row, zero_grad=None, variant=0):
    """make() for a row of the table, or None when the row does not say enough."""
    extra = json.loads(row["extra"] or "{}")
    source = row["source"]
    mode = extra.get("zero_grad_mode")
    zero = zero_grad if zero_grad is not None else int(mode) if mode in ("0", "1", "2") else 0
    if source == "xMem":
        batch = int(row["batch"])
        if "x" in row["input_shape_or_seq"]:
            return images(vision(row["model"]), (3, 86, 86), batch, 10, row["optimizer"], zero)
        return language(row["model"], batch, LENGTHS[variant], row["optimizer"], zero)
    if source.startswith("GPUMemNet/MLP"):
        return perceptron(row, extra)[1]
    if source == "CARMA" and row["input_shape_or_seq"].startswith("3x") and row["batch"]:
        shape = tuple(map(int, row["input_shape_or_seq"].split("x")))
        return images(library(row["model"]), shape, int(row["batch"]), 1000, row["optimizer"], 0)
    if source == "GPUMemNet/FakeTensor":
        return timm_job(row["model"], int(row["batch"]))
    return None
