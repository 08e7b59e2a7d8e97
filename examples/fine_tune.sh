#!/bin/sh
# ResNet-18 from saved weights, for another number of classes: the last layer is new, the first ones stay as they are.
set -e
plimsoll zoo resnet18 --image 32 --width 4 --classes 3 -o tuned.onnx
plimsoll train tuned.onnx --weights resnet18.safetensors --freeze 'conv1*' --freeze 'layer1*' --data photos \
    --epochs 8 --batch 10 --lr 2e-3 --out tuned-trained.onnx
plimsoll predict tuned-trained.onnx photos/apple/0.png photos/sea/2.png --top 2
