#!/usr/bin/env python3
"""Writes tests/format/webp: small WebP files and, as raw bytes, the pixels that Pillow reads from them."""
import os

from PIL import Image

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "webp")
W, H = 21, 14
pixels = [((x * 12) % 256, (y * 17) % 256, (x * y * 3) % 256) for y in range(H) for x in range(W)]
image = Image.new("RGB", (W, H))
image.putdata(pixels)
alpha = image.convert("RGBA")
alpha.putalpha(Image.new("L", (W, H), 77))
alpha.putpixel((3, 3), (9, 8, 7, 0))
image.save(os.path.join(here, "lossy.webp"), quality=70)
image.save(os.path.join(here, "lossless.webp"), lossless=True)
image.save(os.path.join(here, "profile.webp"), lossless=True, icc_profile=bytes(6000), exif=b"Exif\0\0II*\0" + bytes(50))
alpha.save(os.path.join(here, "alpha.webp"), quality=80, exact=True)
alpha.save(os.path.join(here, "alpha-lossless.webp"), lossless=True, exact=True)
image.save(os.path.join(here, "animated.webp"), save_all=True, append_images=[image.rotate(180)], duration=100)
for name in ("lossy", "lossless", "profile", "alpha", "alpha-lossless"):
    read = Image.open(os.path.join(here, name + ".webp")).convert("RGB")
    assert read.size == (W, H)
    with open(os.path.join(here, name + ".rgb"), "wb") as out:
        out.write(read.tobytes())
