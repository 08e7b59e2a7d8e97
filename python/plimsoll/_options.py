"""Losses, optimizers and budgets as the library has them, from names and from objects of PyTorch and Keras."""

from __future__ import annotations

import sys

from . import _native
from ._errors import InvalidError, SizeOverflowError

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
        number = _native.bytes_parse(budget)
    elif isinstance(budget, bool) or not hasattr(budget, "__index__"):
        raise TypeError("budget: give bytes or a text as '2GiB', not %s" % type(budget).__name__)
    else:
        number = int(budget)
    if number <= 0:
        raise InvalidError("budget: %d bytes are none" % number)
    if number >= 1 << 63:
        raise SizeOverflowError("budget: %d bytes are more than any machine has" % number)
    return number


def _is_theirs(loss):
    """Whether a loss is of PyTorch or Keras itself: a program's own of the same name may compute anything."""
    home = getattr(loss, "__module__", None) if hasattr(loss, "__name__") else type(loss).__module__
    return (home or "").split(".")[0] in ("torch", "keras", "tf_keras", "tensorflow")


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
    if isinstance(loss, nn.NLLLoss):  # of logarithms of probabilities, which the graph's end must be: Trainer looks
        made = {"loss": "cross_entropy", "ignores": 1, "ignore_index": loss.ignore_index}
        return made if loss.weight is None else dict(made, class_weights=[float(w) for w in loss.weight])
    if isinstance(loss, nn.BCEWithLogitsLoss):
        for name in ("weight", "pos_weight"):
            if getattr(loss, name) is not None:
                raise InvalidError("loss: BCEWithLogitsLoss with %s is not supported; fit(..., sample_weight=...) weighs samples"
                                   % name)
        return {"loss": "bce_with_logits"}
    if isinstance(loss, nn.HuberLoss):
        return {"loss": "huber", "delta": loss.delta}
    if isinstance(loss, nn.SmoothL1Loss):
        if loss.beta != 1:
            raise InvalidError("loss: SmoothL1Loss with beta=%g is not supported: HuberLoss(delta=%g) is %g times it" % (
                loss.beta, loss.beta, loss.beta))
        return {"loss": "huber", "delta": 1.0}
    for kind, word in ((nn.MSELoss, "mse"), (nn.L1Loss, "l1")):
        if isinstance(loss, kind):
            return {"loss": word}
    raise InvalidError("loss: %s is not known; there are %s; a module that returns its loss itself has loss='model'" % (
        type(loss).__name__, ", ".join(LOSSES)))


def _of_keras_loss(loss):
    settings = dict(loss.get_config(), **getattr(loss, "_fn_kwargs", {})) if hasattr(loss, "get_config") else {}
    title = loss if isinstance(loss, str) else type(loss).__name__ if settings else loss.__name__
    name = title.lower()
    if settings.get("reduction", "sum_over_batch_size") not in ("sum_over_batch_size", "mean", "auto"):
        raise InvalidError("loss: %s with reduction='%s': only the mean is supported" % (title, settings["reduction"]))
    if settings.get("label_smoothing"):
        raise InvalidError("loss: %s with label_smoothing is not supported" % title)
    if name in ("categorical_crossentropy", "categoricalcrossentropy"):
        raise InvalidError("loss: %s takes rows of probabilities, which is not supported: sparse_categorical_crossentropy takes "
                           "the numbers of classes, labels.argmax(-1)" % title)
    if name in ("sparse_categorical_crossentropy", "sparsecategoricalcrossentropy"):
        ignored = settings.get("ignore_class")
        return dict({"loss": "cross_entropy"}, **({} if ignored is None else {"ignores": 1, "ignore_index": int(ignored)}))
    if name in ("binary_crossentropy", "binarycrossentropy"):
        return {"loss": "bce_with_logits"}
    if name == "huber" and settings:
        return {"loss": "huber", "delta": float(settings.get("delta", 1.0))}
    return {"loss": _KERAS_LOSSES.get(name, title if settings else name)}


def takes_probabilities(loss):
    """Whether a loss of Keras takes what a softmax or a sigmoid gives; ours have these in themselves."""
    name = loss if isinstance(loss, str) else getattr(loss, "__name__", type(loss).__name__)
    return name.lower() in ("sparse_categorical_crossentropy", "sparsecategoricalcrossentropy", "binary_crossentropy",
                            "binarycrossentropy") and not getattr(loss, "_fn_kwargs", {}).get("from_logits")


def takes_logarithms(loss):
    """Whether a loss of PyTorch takes logarithms of probabilities: cross entropy of these is the same, of scores it is not."""
    return type(loss).__name__ == "NLLLoss" or getattr(loss, "__name__", "") == "nll_loss"


def loss_options(loss):
    if isinstance(loss, dict):
        return dict(loss)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "nn") and isinstance(loss, torch.nn.Module) and _is_theirs(loss):
        return _of_torch_loss(loss, torch)
    if torch is not None and callable(loss) and getattr(loss, "__module__", "").startswith("torch.nn.functional"):
        loss = {"cross_entropy": "cross_entropy", "nll_loss": "cross_entropy", "mse_loss": "mse", "l1_loss": "l1", "huber_loss": "huber",
                "binary_cross_entropy_with_logits": "bce_with_logits"}.get(loss.__name__, loss.__name__)
    if not isinstance(loss, str) and not (callable(loss) and _is_theirs(loss)):
        raise InvalidError("loss: '%s' is none of PyTorch's or Keras' own; there are %s; a module that returns its loss itself "
                           "has loss='model'" % (getattr(loss, "__name__", type(loss).__name__), ", ".join(LOSSES)))
    made = _of_keras_loss(loss)
    if not _native.find_word("loss", made["loss"]):
        raise InvalidError("loss: '%s' is not known; there are %s" % (made["loss"], ", ".join(LOSSES)))
    return made


_TORCH_OPTIMIZERS = {"SGD": "sgd", "Adam": "adam", "AdamW": "adamw", "RMSprop": "rmsprop", "Adagrad": "adagrad",
                     "Adafactor": "adafactor"}


def _zero(value):
    return ZERO if value == 0 else float(value)


def _of_torch_optimizer(optimizer):
    name = type(optimizer).__name__
    home = type(optimizer).__module__
    if name not in _TORCH_OPTIMIZERS or not home.startswith("torch."):
        raise InvalidError("optimizer: %s.%s is not known; there are %s" % (
            "torch.optim" if home.startswith("torch.") else home, name, ", ".join(OPTIMIZERS)))
    groups = optimizer.param_groups
    group = {k: v for k, v in groups[0].items() if k != "params"}
    for other in groups[1:]:
        if {k: v for k, v in other.items() if k != "params"} != group:
            raise InvalidError("optimizer: parameter groups with different settings are not supported")
    for key in ("amsgrad", "maximize", "centered", "initial_accumulator_value"):
        if group.get(key):
            raise InvalidError("optimizer: %s=%s is not supported" % (key, group[key]))
    word = "adamw" if name == "Adam" and group.get("decoupled_weight_decay") else _TORCH_OPTIMIZERS[name]
    made = {"optimizer": word, "rate": _zero(group["lr"]), "weight_decay": group.get("weight_decay", 0)}
    if word == "adafactor":
        made.update(beta2=float(group["beta2_decay"]), epsilon=float(group.pop("eps")[1]), threshold=float(group["d"]))
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


_KERAS_UNKNOWN = ("amsgrad", "centered", "clipnorm", "use_ema", "loss_scale_factor", "gradient_accumulation_steps",
                  "initial_accumulator_value")


def _of_keras_optimizer(optimizer):
    config = optimizer.get_config()
    name = type(optimizer).__name__.lower()
    if name not in OPTIMIZERS:
        raise InvalidError("optimizer: keras.optimizers.%s is not known; there are %s" % (type(optimizer).__name__,
                                                                                         ", ".join(OPTIMIZERS)))
    for key in _KERAS_UNKNOWN:
        if config.get(key):
            raise InvalidError("optimizer: %s=%s is not supported" % (key, config[key]))
    if config.get("weight_decay"):
        if name == "adam":
            name = "adamw"  # Keras shrinks the weights in every optimizer
        elif name in ("rmsprop", "adagrad") or name == "sgd" and config.get("momentum"):
            raise InvalidError("optimizer: weight_decay in keras.optimizers.%s is not supported: it is apart from the gradients there"
                               % type(optimizer).__name__)
    if isinstance(config.get("learning_rate"), dict):
        raise InvalidError("optimizer: schedules of Keras are not supported: give schedule='cosine' and the like")
    made = {"optimizer": name, "rate": _zero(config["learning_rate"])}
    for ours, theirs in (("momentum", "momentum"), ("beta1", "beta_1"), ("beta2", "beta_2"), ("epsilon", "epsilon"),
                         ("alpha", "rho"), ("weight_decay", "weight_decay"), ("clip_norm", "global_clipnorm"),
                         ("clip_value", "clipvalue"), ("threshold", "clip_threshold")):
        if config.get(theirs) is not None:
            made[ours] = float(config[theirs])
    if name == "adafactor":
        if not config.get("relative_step", True):
            raise InvalidError("optimizer: relative_step=False is not supported")
        made.update(beta2=float(config["beta_2_decay"]), epsilon=float(config["epsilon_2"]))
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
        try:
            made["rate"] = _zero(learning_rate)
        except (TypeError, ValueError):
            raise InvalidError("learning_rate: %r is no number" % (learning_rate,)) from None
    return made
