"""Exports networks of torchvision as PyTorch does, with seeded weights and a symbolic batch axis 'N'.

Needs Debian's python3-torch and python3-torchvision.
"""
import torch
import torchvision


def create(name, classes=1000):
    """The network with the weights that every export of it here has."""
    options = {'num_classes': classes}
    if name in ('googlenet', 'inception_v3'):  # without auxiliary outputs, and without their slow initialisation
        options.update(aux_logits=False, init_weights=False)
    torch.manual_seed(0)
    return getattr(torchvision.models, name)(weights=None, **options)


def export(name, path, classes=1000, size=224, opset=16, training=True):
    """In training mode batch norm and dropout keep their training form."""
    model = create(name, classes).train(training)
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(model, torch.zeros(2, 3, size, size).normal_(), path, opset_version=opset, training=mode, do_constant_folding=not training,
                      input_names=['image'], output_names=['logits'], dynamic_axes={'image': {0: 'N'}, 'logits': {0: 'N'}})
