"""Losses, optimizers and budgets as the library has them, from names and from objects of PyTorch and Keras."""

from __future__ import annotations

import sys

from . import _native
from ._errors import InvalidError

LOSSES = ("cross_entropy", "bce_with_logits", "mse", "l1", "huber", "model")
OPTIMIZERS = ("sgd", "adam", "adamw", "rmsprop", "adagrad", "adafactor", "lion")
ZERO = 1e-300  # PLIM_ZERO: a zero that is meant
_KERAS_LOSSES = {"mean_squared_error": "mse", "meansquarederror": "mse", "mean_absolute_error": "l1", "mae": "l1",
                 "meanabsoluteerror": "l1", "crossentropy": "cross_entropy"}


def budget_bytes(budget):
    """None, a number of bytes, "2GiB", or "auto": what the machine allows now."""
    if budget is None:
        return 0
    if isinstance(budget, str):
        if budget == "auto":
            return _native.machine_budget()[0]
        return _native.bytes_parse(budget)
    if isinstance(budget, bool) or not hasattr(budget, "__index__"):
        raise TypeError("budget: give bytes or a text as '2GiB', not %s" % type(budget).__name__)
    if int(budget) <= 0:
        raise InvalidError("budget: %d bytes are none" % int(budget))
    return int(budget)


def _of_torch_loss(loss, torch):
    nn = torch.nn
    reduction = getattr(loss, "reduction", "mean")
    if reduction != "mean":
        raise InvalidError("loss: %s with reduction='%s': only 'mean' is supported" % (type(loss).__name__, reduction))
    if isinstance(loss, nn.CrossEntropyLoss):
        made = {"loss": "cross_entropy", "ignores": 1, "ignore_index": loss.ignore_index}
        if loss.label_smoothing:
            made["label_smoothing"] = loss.label_smoothing
        if loss.weight is not None:
            made["class_weights"] = [float(w) for w in loss.weight]
        return made
    if isinstance(loss, nn.BCEWithLogitsLoss) and loss.weight is None and loss.pos_weight is None:
        return {"loss": "bce_with_logits"}
    if isinstance(loss, nn.HuberLoss):
        return {"loss": "huber", "delta": loss.delta}
    if isinstance(loss, nn.SmoothL1Loss) and loss.beta == 1:
        return {"loss": "huber", "delta": 1.0}
    for kind, word in ((nn.MSELoss, "mse"), (nn.L1Loss, "l1")):
        if isinstance(loss, kind):
            return {"loss": word}
    raise InvalidError("loss: %s is not known; there are %s" % (type(loss).__name__, ", ".join(LOSSES)))


def _of_keras_loss(loss):
    name = loss if isinstance(loss, str) else getattr(loss, "name", type(loss).__name__)
    name = name.lower()
    if name in ("sparse_categorical_crossentropy", "sparsecategoricalcrossentropy"):
        return {"loss": "cross_entropy"}
    if name in ("binary_crossentropy", "binarycrossentropy"):
        return {"loss": "bce_with_logits"}
    if name in _KERAS_LOSSES:
        return {"loss": _KERAS_LOSSES[name]}
    return {"loss": name}


def loss_options(loss):
    if isinstance(loss, dict):
        return dict(loss)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "nn") and isinstance(loss, torch.nn.Module):
        return _of_torch_loss(loss, torch)
    if torch is not None and callable(loss) and getattr(loss, "__module__", "").startswith("torch.nn.functional"):
        loss = {"cross_entropy": "cross_entropy", "mse_loss": "mse", "l1_loss": "l1", "huber_loss": "huber",
                "binary_cross_entropy_with_logits": "bce_with_logits"}.get(loss.__name__, loss.__name__)
    made = _of_keras_loss(loss) if isinstance(loss, str) or hasattr(loss, "name") else {"loss": str(
        getattr(loss, "__name__", type(loss).__name__))}
    if not _native.find_word("loss", made["loss"]):
        raise InvalidError("loss: '%s' is not known; there are %s" % (made["loss"], ", ".join(LOSSES)))
    return made


_TORCH_OPTIMIZERS = {"SGD": "sgd", "Adam": "adam", "AdamW": "adamw", "RMSprop": "rmsprop", "Adagrad": "adagrad"}


def _zero(value):
    return ZERO if value == 0 else float(value)


def _of_torch_optimizer(optimizer):
    name = type(optimizer).__name__
    if name not in _TORCH_OPTIMIZERS:
        raise InvalidError("optimizer: torch.optim.%s is not known; there are %s" % (name, ", ".join(OPTIMIZERS)))
    groups = optimizer.param_groups
    group = {k: v for k, v in groups[0].items() if k != "params"}
    for other in groups[1:]:
        if {k: v for k, v in other.items() if k != "params"} != group:
            raise InvalidError("optimizer: parameter groups with different settings are not supported")
    for key in ("amsgrad", "maximize", "centered"):
        if group.get(key):
            raise InvalidError("optimizer: %s=True is not supported" % key)
    made = {"optimizer": _TORCH_OPTIMIZERS[name], "rate": _zero(group["lr"]), "weight_decay": group.get("weight_decay", 0)}
    for ours, theirs in (("momentum", "momentum"), ("dampening", "dampening"), ("epsilon", "eps"), ("rate_decay", "lr_decay")):
        if theirs in group:
            made[ours] = float(group[theirs])
    if "betas" in group:
        made["beta1"], made["beta2"] = (_zero(b) for b in group["betas"])
    if "alpha" in group:
        made["alpha"] = _zero(group["alpha"])
    if group.get("nesterov"):
        made["nesterov"] = 1
    return made


def _of_keras_optimizer(optimizer):
    config = optimizer.get_config()
    name = type(optimizer).__name__.lower()
    if name not in OPTIMIZERS or config.get("amsgrad") or config.get("centered"):
        raise InvalidError("optimizer: keras.optimizers.%s is not supported as it is set" % type(optimizer).__name__)
    if isinstance(config.get("learning_rate"), dict):
        raise InvalidError("optimizer: schedules of Keras are not supported: give schedule='cosine' and the like")
    made = {"optimizer": name, "rate": _zero(config["learning_rate"])}
    for ours, theirs in (("momentum", "momentum"), ("beta1", "beta_1"), ("beta2", "beta_2"), ("epsilon", "epsilon"),
                         ("alpha", "rho"), ("weight_decay", "weight_decay"), ("clip_norm", "global_clipnorm"),
                         ("clip_value", "clipvalue")):
        if config.get(theirs) is not None:
            made[ours] = float(config[theirs])
    if config.get("nesterov"):
        made["nesterov"] = 1
    return made


def optimizer_options(optimizer, learning_rate):
    if isinstance(optimizer, dict):
        made = dict(optimizer)
    elif isinstance(optimizer, str):
        made = {"optimizer": optimizer.lower()}
    elif hasattr(optimizer, "param_groups"):
        made = _of_torch_optimizer(optimizer)
    elif hasattr(optimizer, "get_config"):
        made = _of_keras_optimizer(optimizer)
    else:
        raise TypeError("optimizer: give a name, a dictionary, or an optimizer of PyTorch or Keras, not %s"
                        % type(optimizer).__name__)
    if not _native.find_word("optimizer", made.get("optimizer", "sgd")):
        raise InvalidError("optimizer: '%s' is not known; there are %s" % (made["optimizer"], ", ".join(OPTIMIZERS)))
    if learning_rate is not None:
        made["rate"] = _zero(learning_rate)
    return made
