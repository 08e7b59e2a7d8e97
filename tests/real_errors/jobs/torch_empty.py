# One tensor of 16 GiB under a limit on address space.
import torch

x = torch.ones(4, 1024, 1024, 1024)
