"""Training steps of one zoo model in PyTorch, in a process of their own: prints one JSON object as its last line.

usage: torch_step.py MODEL BATCH [--steps N] [--optimizer sgd|adamw] [--threads N] [--fused] [--channels-last] [--compile]
                     [--autocast] [--checkpoint SHARE] [--wait]

The idle process has imported PyTorch and has made nothing; its VmHWM is subtracted from the one after the last step.
--autocast computes the forward pass and the loss under autocast to bfloat16.
--checkpoint recomputes this share of the blocks (torch.utils.checkpoint), evenly spread.
--wait goes on after that: each line of standard input is a number of further steps, answered by an object of their own.
"""
import argparse
import json
import os
import sys
import time

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import models  # noqa: E402


def high_water():
    """VmHWM of this process in bytes."""
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))


def loss_of(logits, target):
    """Cross entropy over classes, which are the last axis of sequences and the second of everything else."""
    if logits.dim() == 3:
        return F.cross_entropy(logits.flatten(0, 1), target.flatten())
    return F.cross_entropy(logits, target)


def make_batch(name, batch, generator):
    shape, classes = models.SHAPES[name], models.CLASSES[name]
    if name in models.VOCABULARY:
        return torch.randint(models.VOCABULARY[name], (batch, *shape), generator=generator), torch.randint(classes, (batch,), generator=generator)
    if len(shape) == 1:
        tokens = torch.randint(classes, (batch, shape[0] + 1), generator=generator)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    target = (batch,) + (shape[1:] if name == "unet" else ())
    return torch.randn((batch,) + shape, generator=generator), torch.randint(classes, target, generator=generator)


def make_optimizer(name, parameters, fused=None):
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, fused=fused)
    return torch.optim.AdamW(parameters, lr=1e-4, fused=fused)


def recompute_blocks(model, share):
    """Makes this share of a network's blocks drop their activations and recompute them in the backward pass."""
    from torch.utils.checkpoint import checkpoint

    blocks, before = models.blocks(model), 0
    for i, block in enumerate(blocks):
        wanted = round((i + 1) * share)
        if wanted > before:
            block.forward = (lambda inner: lambda *x: checkpoint(inner, *x, use_reentrant=False))(block.forward)
        before = wanted
    return before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("batch", type=int)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--checkpoint", type=float, default=0)
    parser.add_argument("--wait", action="store_true")
    args = parser.parse_args()
    idle = high_water()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    model = models.MAKERS[args.model]().train()
    x, target = make_batch(args.model, args.batch, torch.Generator().manual_seed(0))
    if args.channels_last:
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    recomputed = recompute_blocks(model, args.checkpoint) if args.checkpoint else 0
    run = torch.compile(model) if args.compile else model
    optimizer = make_optimizer(args.optimizer, model.parameters(), True if args.fused else None)
    seconds, processor = [], []

    def step():
        start, start_cpu = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=args.autocast):
            loss = loss_of(run(x), target)
        loss.backward()
        optimizer.step()
        loss = loss.item()
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - start_cpu)
        return loss

    def run_steps(count):
        seconds.clear(), processor.clear()
        for _ in range(count):
            loss = step()
        answer = {"model": args.model, "batch": args.batch, "seconds": seconds, "processor_seconds": processor, "loss": loss,
                  "idle_bytes": idle, "peak_bytes": high_water(), "above_idle_bytes": high_water() - idle, "recomputed": recomputed}
        print(json.dumps(answer), flush=True)

    run_steps(args.steps)
    if args.wait:
        for line in sys.stdin:
            run_steps(int(line))


if __name__ == "__main__":
    main()
