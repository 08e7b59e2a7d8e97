"""Adapters for the LLaMA shape of 1.1 billion parameters: memory and time of an update beside PyTorch with PEFT, in one run.

usage: lora.py PLIMSOLL OUT.json [--threads N] [--steps N] [--budget BYTES]

Rank 8 on queries and values, a sequence of 256, one sample an update, AdamW, float32 arithmetic on both sides. Ours keeps the frozen
layers in 4 bits, then in the model's file, each within the budget. Memory is VmHWM of the whole process; times are the median without
the first step. Weights are random on both sides.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import measure

PEFT = """
import json, sys, time, torch, transformers, transformers.initialization, peft
threads, steps = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
config = transformers.LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_attention_heads=32,
                                  num_key_value_heads=4, max_position_embeddings=2048, use_cache=False)
with transformers.initialization.no_init_weights():
    model = transformers.LlamaForCausalLM(config)
for parameter in model.parameters():
    parameter.data.normal_(0, 0.02)  # memory that was never written to is not resident
model = peft.get_peft_model(model, peft.LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"]))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
tokens = torch.randint(0, 32000, (1, 256))
seconds = []
for _ in range(steps):
    begin = time.perf_counter()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    seconds.append(time.perf_counter() - begin)
peak = [int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")][0]
print(json.dumps({"seconds": seconds, "peak": peak}))
"""


def ours(args, model, base):
    command = [args.plimsoll, "train", model, "--data", "synthetic", "--batch", "1", "--lora", "r=8", "--base", base, "--budget", args.budget,
               "--steps", str(args.steps), "--threads", str(args.threads), "--lr", "1e-4", "--json", "--adapter", model + ".adapter"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    answer = json.loads(done.stdout)
    return {"form": base, "seconds": answer["seconds_per_step"], "peak": answer["peak_resident_bytes"], "planned": answer["planned_process_bytes"],
            "class": answer["class"]}


def peft(args):
    done = subprocess.run([sys.executable, "-c", PEFT, str(args.threads), str(args.steps)], check=True, stdout=subprocess.PIPE, text=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return {"form": "PyTorch with PEFT", "seconds": statistics.median(answer["seconds"][1:]), "peak": answer["peak"]}


def main():
    args = measure.arguments(__doc__, steps={"type": int, "default": 4}, budget={"default": "1536MiB"})
    if not re.fullmatch(r"\d+[A-Za-z]*", args.budget):
        sys.exit("--budget %s: expected bytes, as in 1536MiB" % args.budget)
    with tempfile.TemporaryDirectory() as folder:
        model = measure.make_model(args.plimsoll, "llama", os.path.join(folder, "llama.onnx"))
        rows = [peft(args)] + [ours(args, model, base) for base in ("nf4", "file")]
    for row in rows:
        row.update(memory_ratio=row["peak"] / rows[0]["peak"], time_ratio=row["seconds"] / rows[0]["seconds"])
        print("%-18s %8.2f s %9.1f MiB   memory %.2f   time %.2f" % (row["form"], row["seconds"], measure.mib(row["peak"]), row["memory_ratio"], row["time_ratio"]))
    measure.write(args.out, {"threads": args.threads, "budget": args.budget, "rows": rows})


if __name__ == "__main__":
    main()
