"""What a program meets in torch.cuda while its step is captured: a card that is there, and autocast as on CUDA.

Autocast works on the keys of a device's backend, and tensors without contents have none, so it is followed here: which
functions take 16 bits, which take 32, and which weights are kept in 16 bits until the context ends."""

import contextlib
import types

import torch

LOWER = {"conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
         "prelu", "addmm", "addmv", "addr", "matmul", "__matmul__", "__rmatmul__", "einsum", "mm", "mv", "vecdot", "linear",
         "addbmm", "baddbmm", "bmm", "chain_matmul", "multi_dot", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell",
         "scaled_dot_product_attention"}
FULL = {"acos", "__rpow__", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh",
        "tan", "pow", "__pow__", "softplus", "layer_norm", "native_layer_norm", "group_norm", "frobenius_norm", "nuclear_norm",
        "cosine_similarity", "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss_nd", "nll_loss2d",
        "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss",
        "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss",
        "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp"}
ASKED = {"prod", "softmax", "log_softmax", "cumprod", "cumsum", "vector_norm", "matrix_norm", "sum", "norm"}
WIDEST = {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "tensordot", "scatter_add",
          "cat", "stack"}
HALVES = (torch.float16, torch.bfloat16)


class Autocast:
    def __init__(self):
        self.kept = {}  # weights in 16 bits, by the weight

    def clear(self):
        self.kept.clear()

    def to_lower(self, tensor, dtype):
        if not is_float(tensor) or tensor.dtype == dtype:
            return tensor
        keeps = (tensor.requires_grad and tensor.is_leaf and tensor._base is None and tensor.dtype == torch.float32 and
                 torch.is_autocast_cache_enabled())
        if not keeps:
            return tensor.to(dtype)
        if id(tensor) not in self.kept:
            self.kept[id(tensor)] = (tensor, tensor.to(dtype))
        return self.kept[id(tensor)][1]

    def __call__(self, func, name, args, kwargs):
        """The call as autocast makes it."""
        if name in LOWER:
            dtype = torch.get_autocast_dtype("cuda")
            args, kwargs = cast(lambda t: self.to_lower(t, dtype), args, kwargs)
        elif name in FULL:
            args, kwargs = cast(to_full, args, kwargs)
        elif name in ASKED:
            return self.asked(func, name, args, kwargs)
        elif name == "cross_entropy_loss":
            return cross_entropy(func, *args, **kwargs)
        elif name in WIDEST:
            if any(is_float(t) and t.dtype == torch.float32 for t in flat((args, kwargs))):
                args, kwargs = cast(to_full, args, kwargs)
        return func(*args, **kwargs)

    def asked(self, func, name, args, kwargs):
        """These take 16 bits and give 32, where no other type is asked for."""
        tensor = args[0] if args else kwargs.get("input")
        typed = kwargs.get("dtype") is not None or any(isinstance(a, torch.dtype) for a in args)
        if typed or not is_float(tensor) or tensor.dtype not in HALVES:
            return func(*args, **kwargs)
        if name in ("softmax", "log_softmax"):
            dim = kwargs.get("dim", args[1] if len(args) > 1 else -1)
            return softmax(tensor, dim, name == "log_softmax")
        return func(*args, **dict(kwargs, dtype=torch.float32))


def softmax(tensor, dim, log):
    """CUDA's kernel reads float16 as it is; bfloat16 is copied first."""
    kernel = torch._log_softmax if log else torch._softmax
    dim = dim if dim >= 0 else dim + tensor.dim()
    if tensor.dtype == torch.float16:
        with contextlib.suppress(RuntimeError, NotImplementedError):
            return kernel(tensor, dim, True)
    return kernel(to_full(tensor), dim, False)


def cross_entropy(func, score, target, *rest, **options):
    """A function of others: log-softmax in the type of the scores, and what picks the classes in 32 bits."""
    options = dict(zip(("weight", "reduction", "ignore_index", "label_smoothing"), rest), **options)
    smoothing = options.pop("label_smoothing", 0.0)
    if not is_float(score) or score.dtype not in HALVES or target.dtype.is_floating_point:
        return func(score, target, label_smoothing=smoothing, **options)
    dim = 1 if score.dim() > 1 else 0
    logs = torch._log_softmax(score, dim, False)
    loss = torch._C._nn.nll_loss_nd(logs.float(), target, **options)
    return loss + logs.sum(dim, dtype=torch.float32).mean() if smoothing else loss


def is_float(tensor):
    return (isinstance(tensor, torch.Tensor) and tensor.device.type == "meta" and tensor.dtype.is_floating_point and
            tensor.dtype != torch.float64)


def to_full(tensor):
    return tensor.float() if is_float(tensor) and tensor.dtype in HALVES else tensor


def flat(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)
    elif isinstance(value, dict):
        yield from flat(list(value.values()))
    else:
        yield value


def cast(change, args, kwargs):
    """The last argument first: that is the order in which compiled PyTorch does it."""
    kwargs = {key: each(change, value) for key, value in reversed(kwargs.items())}
    return tuple(reversed([each(change, value) for value in reversed(args)])), kwargs


def each(change, value):
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)([each(change, item) for item in value]) if type(value) in (list, tuple) else value
    if type(value) is dict:
        return {key: each(change, item) for key, item in value.items()}
    return change(value) if isinstance(value, torch.Tensor) else value


class Event:
    """Of a stream: nothing takes time here."""

    def __init__(self, *args, **kwargs):
        pass

    def record(self, *args):
        pass

    synchronize = wait = record

    def query(self):
        return True

    def elapsed_time(self, other):
        return 1.0


def answers(live, capability, memory=80 << 30):
    """What torch.cuda's functions say. `live` gives the bytes that are held."""
    def nothing(*args, **kwargs):
        return None

    properties = types.SimpleNamespace(name="a card that is simulated", major=capability // 10, minor=capability % 10,
                                       total_memory=memory, multi_processor_count=100, warp_size=32)
    found = {"is_available": lambda: True, "is_initialized": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
             "get_device_name": lambda device=None: properties.name, "get_device_properties": lambda device=None: properties,
             "get_device_capability": lambda device=None: (capability // 10, capability % 10),
             "is_bf16_supported": lambda *args, **kwargs: capability >= 80, "Event": Event,
             "mem_get_info": lambda device=None: (memory - live(), memory), "memory_stats": lambda device=None: {},
             "memory_summary": lambda *args, **kwargs: "", "get_rng_state": lambda device=None: torch.zeros(16, dtype=torch.uint8)}
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        found[name] = lambda device=None: live()
    for name in ("synchronize", "empty_cache", "set_device", "init", "manual_seed", "manual_seed_all", "seed", "seed_all",
                 "reset_peak_memory_stats", "reset_max_memory_allocated", "set_per_process_memory_fraction", "ipc_collect",
                 "set_rng_state", "_lazy_init"):
        found[name] = nothing
    return found
