"""What python/tests/bare.sh runs in a bare environment."""

import shutil
import subprocess
import time

import numpy as np

import plimsoll
from plimsoll import _native

LOG = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity; 6.1 GiB already allocated)"


def resnet50(torch):
    """As torchvision has it."""
    nn = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, inside, width, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
            self.relu, self.downsample = nn.ReLU(inplace=True), None
            if stride != 1 or inside != 4 * width:
                self.downsample = nn.Sequential(nn.Conv2d(inside, 4 * width, 1, stride, bias=False),
                                                nn.BatchNorm2d(4 * width))

        def forward(self, x):
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(out)))))
            return self.relu(out + (x if self.downsample is None else self.downsample(x)))
    parts, inside = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            parts.append(Bottleneck(inside, width, stride if i == 0 else 1))
            inside = 4 * width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def main():
    assert not any(shutil.which(tool) for tool in ("cc", "gcc", "clang", "cmake", "make")), "a compiler is on the PATH"
    answer = subprocess.run(["plimsoll", "explain"], input=LOG, capture_output=True, text=True, check=True).stdout
    assert "What to try" in answer and plimsoll.explain(LOG).found
    print("explain: yes")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        used = {line.split()[-1] for line in maps if "libdnnl" in line}
    assert used and all("plimsoll.libs" in path for path in used), used
    trainer = plimsoll.Trainer("lenet", batch=16, budget="600MiB")
    trainer.fit((np.zeros((64, 1, 28, 28), "f4"), np.arange(64) % 10), verbose=0)
    print("train: %d updates" % trainer.updates)
    trainer.close()
    try:
        import torch
    except ImportError:
        print("PyTorch is not here")
        return
    module, start = resnet50(torch), time.monotonic()
    prediction = plimsoll.fit(module, torch.empty(64, 3, 224, 224, device="meta"), optimizer="adamw", gpu="RTX 3060")
    print("fit: ResNet-50, batch 64, %s on an RTX 3060; %.1f s" % ("fits" if prediction else "does not fit",
                                                                  time.monotonic() - start))
    start = time.monotonic()
    budget = _native.resident()[0] + (700 << 20)
    trainer = plimsoll.Trainer(module, optimizer="sgd", budget=budget, batch=4)
    trainer.fit((np.zeros((4, 3, 224, 224), "f4"), np.arange(4)), verbose=0)
    peak = _native.resident()[1]
    print("train: ResNet-50 within %s, peak %s, PyTorch's libraries %s of it; %.1f s" % (
        _native.bytes_format(budget), _native.bytes_format(peak),
        _native.bytes_format(trainer.resident_before.get("PyTorch", 0)), time.monotonic() - start))
    assert peak <= budget


if __name__ == "__main__":
    main()
