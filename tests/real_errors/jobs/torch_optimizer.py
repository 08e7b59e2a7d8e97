# 256 MiB of weights fit, so do their gradients; Adam's two states do not.
import resource

import torch

w = torch.nn.Parameter(torch.ones(64, 1024, 1024))
optimizer = torch.optim.Adam([w], foreach=False)
w.sum().backward()
now = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (now + (128 << 20), now + (128 << 20)))
optimizer.step()
