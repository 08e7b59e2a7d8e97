#!/usr/bin/env python3
"""Makes tests/zoo/data/torchvision.txt: the names and shapes of torchvision's weights, which the zoo's networks have too.

usage: make_torchvision_names.py      (needs torch and torchvision)
"""
import os

import torchvision

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'torchvision.txt'), 'w') as file:
    for model in 'resnet18', 'resnet34', 'resnet50', 'mobilenet_v2':
        for name, value in getattr(torchvision.models, model)().state_dict().items():
            if not name.endswith('num_batches_tracked'):  # a counter of PyTorch's, which no computation reads
                print(model, name, 'x'.join(map(str, value.shape)), file=file)
