#!/usr/bin/env python3
"""Writes tests/data/files/augment.txt: what torchvision makes of one picture, for test_augment.c."""
import os

import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

C, H, W = 3, 7, 9
picture = torch.tensor([(i * 37 % 101) / 100 for i in range(C * H * W)]).reshape(C, H, W)
source = torch.tensor([i * 53 % 256 for i in range(3 * 12 * 16)], dtype=torch.uint8).reshape(12, 16, 3)
source = source.permute(2, 0, 1).float() / 255

made = {
    "flip": F.hflip(picture),
    "vflip": F.vflip(picture),
    "rotate30": F.rotate(picture, 30, InterpolationMode.BILINEAR),
    "rotate-12.5": F.rotate(picture, -12.5, InterpolationMode.BILINEAR),
    "brightness1.3": F.adjust_brightness(picture, 1.3),
    "contrast0.7": F.adjust_contrast(picture, 0.7),
    "contrast1.8": F.adjust_contrast(picture, 1.8),
    "saturation1.6": F.adjust_saturation(picture, 1.6),
    "saturation0.2": F.adjust_saturation(picture, 0.2),
    "grey-contrast0.5": F.adjust_contrast(picture[:1], 0.5),
    # pad by 4, then the crop that lies 1 to the right of and 3 above the middle
    "move": F.crop(F.pad(picture, [4, 4, 4, 4]), 4 - 3, 4 + 1, H, W),
    # top, left, height, width of the box; then the size
    "box": F.resized_crop(source, 2, 3, 7, 9, [5, 4], InterpolationMode.BILINEAR, antialias=True),
    "box-grows": F.resized_crop(source, 5, 8, 3, 2, [6, 6], InterpolationMode.BILINEAR, antialias=True),
}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files", "augment.txt")
with open(path, "w") as out:
    for name, values in made.items():
        flat = values.reshape(-1).tolist()
        out.write(f"{name} {len(flat)} " + " ".join(f"{v:.7g}" for v in flat) + "\n")
