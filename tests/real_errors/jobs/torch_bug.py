# A broadcast that squares its input.
import torch

outputs, targets = torch.zeros(3_000_000, 1), torch.zeros(1, 3_000_000)
loss = (outputs - targets).pow(2).mean()
