#!/bin/sh
# A folder of photos, one folder a class: from photos/ to the class of a new photo.
set -e
plimsoll zoo lenet --image 8 --channels 3 --width 8 --classes 3 -o images.onnx
plimsoll train images.onnx --data photos --validation 0.2 --random-flip --epochs 5 --lr 5e-3 --out images-trained.onnx
plimsoll evaluate images-trained.onnx --data photos
plimsoll predict images-trained.onnx photos/sea/2.png --top 2
