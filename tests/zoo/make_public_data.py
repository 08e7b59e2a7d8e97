#!/usr/bin/env python3
"""Makes tests/zoo/data/{llama,bert}: tiny checkpoints written by transformers, and what transformers computes with them.

llama is written in bfloat16 and in shards with an index; bert has the names of old checkpoints (gamma, beta).

usage: make_public_data.py      (needs torch, transformers, safetensors, numpy)
"""
import os
import shutil

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

data = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data')
tokens = torch.tensor([[k * 7 % 19 for k in range(n * 12, n * 12 + 12)] for n in range(2)])  # as test_zoo.c feeds them


def randomize(model):
    torch.manual_seed(1)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.randn(p.shape) * 0.3 + (1 if p.ndim == 1 and name.endswith('weight') else 0))


def folder_of(name):
    folder = os.path.join(data, name)
    shutil.rmtree(folder, ignore_errors=True)
    return folder


folder = folder_of('llama')
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
    vocab_size=40, hidden_size=16, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    rms_norm_eps=1e-5, max_position_embeddings=64, tie_word_embeddings=False))
randomize(model)
model.to(torch.bfloat16).save_pretrained(folder, max_shard_size='10KB')
model = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
with torch.no_grad():
    out = model(tokens).logits
np.save(os.path.join(folder, 'logits.npy'), out.numpy())
print('llama', out.shape, float(out.abs().max()))

folder = folder_of('bert')
model = transformers.BertForSequenceClassification(transformers.BertConfig(
    vocab_size=40, hidden_size=16, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_labels=3))
randomize(model)
model.save_pretrained(folder)
path = os.path.join(folder, 'model.safetensors')
renamed = {k.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta'): v
           for k, v in load_file(path).items()}
save_file(renamed, path, metadata={'format': 'pt'})
model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
with torch.no_grad():
    out = model(tokens, attention_mask=(tokens != 0).long()).logits
np.save(os.path.join(folder, 'logits.npy'), out.numpy())
print('bert', out.shape, float(out.abs().max()))
for name in ('llama', 'bert'):
    for file in ('config.json', 'generation_config.json'):
        if os.path.exists(os.path.join(data, name, file)):
            os.remove(os.path.join(data, name, file))
