"""The arena of exported language and vision models beside that of the zoo's equal: attention must be fused in all its spellings.

usage: export_arenas.py make FOLDER [GLOB]           exports (needs torch, transformers); goes on where an earlier call stopped
       export_arenas.py compare PLIMSOLL FOLDER      prints the table; exits 1 when an export is more than 5 % above

Sizes are moderate, so that the attention's squares would show: 128 tokens, batch 8. The zoo's models are made of the same
width, depth, heads and vocabulary; cross entropy, AdamW.
"""
import fnmatch
import json
import os
import subprocess
import sys

WIDTH, LAYERS, HEADS, TOKENS, VOCAB, BATCH, BAR = 128, 4, 8, 128, 256, 8, 0.05
SAME = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, vocab_size=VOCAB, max_position_embeddings=TOKENS, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
            attention_dropout=0.0, use_cache=False)
COMMON = ["--width", str(WIDTH), "--layers", str(LAYERS), "--heads", str(HEADS)]
TEXT = COMMON + ["--seq", str(TOKENS)]
# name: configuration, class, its options, options of the implementation of attention, what the zoo is asked for
MODELS = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", dict(n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=TOKENS, vocab_size=VOCAB, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False),
             ["gpt2"] + TEXT + ["--classes", str(VOCAB)]),
    "llama": ("LlamaConfig", "LlamaForCausalLM", dict(**SAME, intermediate_size=352, num_key_value_heads=HEADS, tie_word_embeddings=False),
              ["llama"] + TEXT + ["--kv-heads", str(HEADS), "--hidden", "352", "--classes", str(VOCAB)]),
    "llama_grouped": ("LlamaConfig", "LlamaForCausalLM", dict(**SAME, intermediate_size=352, num_key_value_heads=2, tie_word_embeddings=False),
                      ["llama"] + TEXT + ["--kv-heads", "2", "--hidden", "352", "--classes", str(VOCAB)]),
    "bert": ("BertConfig", "BertForSequenceClassification", dict(**SAME, intermediate_size=512, num_labels=2),
             ["bert"] + TEXT + ["--hidden", "512", "--vocab", str(VOCAB), "--classes", "2"]),
    "vit": ("ViTConfig", "ViTForImageClassification", dict(**SAME, intermediate_size=4 * WIDTH, image_size=224, patch_size=16, num_labels=10), ["vit-b16"] + COMMON + ["--classes", "10"]),
}
FORMS = {"default": dict(), "recommended": dict(optimize=False)}


def make(folder, glob="*"):
    import logging
    import warnings
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from export_models import need_torchvision
    need_torchvision()
    import transformers
    os.makedirs(folder, exist_ok=True)
    for name, (config, kind, options, _) in MODELS.items():
        for attention in ("sdpa", "eager"):
            for form, call in FORMS.items():
                path = os.path.join(folder, "%s.%s.%s.onnx" % (name, attention, form))
                if os.path.exists(path) or not fnmatch.fnmatch(os.path.basename(path), glob):
                    continue
                model = getattr(transformers, kind)(getattr(transformers, config)(**options, attn_implementation=attention)).train(form == "recommended")
                x = torch.randn(2, 3, 224, 224) if name == "vit" else torch.randint(1, VOCAB, (2, TOKENS))
                torch.onnx.export(model, (x,), path, dynamo=True, external_data=False, verbose=False, dynamic_shapes=({0: torch.export.Dim("batch")},), **call)


def arena(program, path):
    done = subprocess.run([program, "plan", path, "--batch", str(BATCH), "--threads", "2", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not done.stdout.startswith("{"):
        sys.exit("%s: %s" % (path, done.stderr.strip().splitlines()[-1]))
    return json.loads(done.stdout)["arena_bytes"]


def compare(program, folder):
    worst = 0.0
    print("| model | zoo, MiB | " + " | ".join("%s, %s" % (a, f) for a in ("sdpa", "eager") for f in FORMS) + " |")
    print("|---|---|---|---|---|---|")
    for name, (_, _, _, zoo) in MODELS.items():
        own = os.path.join(folder, name + ".zoo.onnx")
        subprocess.run([program, "zoo", *zoo, "-o", own], check=True, stdout=subprocess.DEVNULL)
        base, cells = arena(program, own), []
        for attention in ("sdpa", "eager"):
            for form in FORMS:
                far = arena(program, os.path.join(folder, "%s.%s.%s.onnx" % (name, attention, form))) / base - 1
                cells.append("%+.1f %%" % (100 * far))
                worst = max(worst, far)
        print("| %s | %.1f | %s |" % (name, base / 2**20, " | ".join(cells)), flush=True)
    return 1 if worst > BAR else 0


if __name__ == "__main__":
    if len(sys.argv) in (3, 4) and sys.argv[1] == "make":
        make(*sys.argv[2:])
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(compare(sys.argv[2], sys.argv[3]))
    else:
        sys.exit(__doc__)
