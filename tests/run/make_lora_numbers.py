#!/usr/bin/env python3
"""Trains adapters with PEFT beside the tiny LLaMA of tests/zoo/data/llama: writes tests/run/data/lora/{initial,final} as PEFT saves
them, and the losses to lora_numbers.h.

usage: make_lora_numbers.py             makes them
       make_lora_numbers.py FOLDER      loads adapters that Plimsoll wrote, and prints the loss that PEFT has with them
(needs torch, transformers, peft, safetensors)
"""
import os
import shutil
import sys

import peft
import torch
import transformers
from safetensors.torch import load_file

here = os.path.dirname(os.path.abspath(__file__))
base = os.path.join(here, '..', 'zoo', 'data', 'llama')
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
    vocab_size=40, hidden_size=16, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    rms_norm_eps=1e-5, max_position_embeddings=64, tie_word_embeddings=False))
weights = {}
for file in sorted(os.listdir(base)):
    if file.endswith('.safetensors'):
        weights.update({k: v.float() for k, v in load_file(os.path.join(base, file)).items()})
model.load_state_dict(weights)
k = torch.arange(24)
tokens, target = (k * 7 % 19).reshape(2, 12), (k * 5 + 3) % 40


def loss_of(m):
    return torch.nn.functional.cross_entropy(m(tokens).logits.reshape(-1, 40), target)


if len(sys.argv) > 1:
    print('%.9g' % loss_of(peft.PeftModel.from_pretrained(model, sys.argv[1]).eval()).item())
    sys.exit()
torch.manual_seed(5)
model = peft.get_peft_model(model, peft.LoraConfig(r=4, lora_alpha=8, target_modules=['q_proj', 'v_proj', 'down_proj']))
folder = os.path.join(here, 'data', 'lora')
shutil.rmtree(folder, ignore_errors=True)
model.save_pretrained(os.path.join(folder, 'initial'))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
losses = []
for _ in range(30):
    optimizer.zero_grad()
    loss = loss_of(model)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
model.save_pretrained(os.path.join(folder, 'final'))
for name in ('initial', 'final'):
    if os.path.exists(os.path.join(folder, name, 'README.md')):
        os.remove(os.path.join(folder, name, 'README.md'))
with open(os.path.join(here, 'lora_numbers.h'), 'w') as out:
    out.write('/* Made by make_lora_numbers.py with PEFT %s: do not edit. */\n' % peft.__version__)
    out.write('static const double peft_losses[] = {%s};\n' % ', '.join('%.9g' % x for x in losses))
    out.write('static const double peft_final_loss = %.9g;\n' % loss_of(model).item())
print(losses[0], losses[-1])
