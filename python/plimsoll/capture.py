"""The allocations of one training step, without a GPU and without memory for the weights.

    def make():                      # builds everything, returns what does one step
        model = Net().cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        def step():
            optimizer.zero_grad()
            loss = criterion(model(torch.randn(32, 3, 224, 224, device="cuda")), labels)
            loss.backward()
            optimizer.step()
        return step

    from plimsoll.capture import capture
    capture(make, "step.trace")      # then: plimsoll fit step.trace --gpu "RTX 3060"

The step runs for real in PyTorch's dispatcher and autograd, on tensors that have shapes and no contents. Every storage
that PyTorch creates is written down when it appears and when the last reference to it is gone. Needs PyTorch, nothing else.
"""

import argparse
import contextlib
import functools
import gc
import importlib.util
import os
import sys
import traceback
import weakref

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

try:
    from plimsoll._capture_cuda import Autocast, answers
    from plimsoll._trace import PHASES, Writer
except ImportError:  # run as a script, without the package
    from _capture_cuda import Autocast, answers
    from _trace import PHASES, Writer

DTYPES = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7,
          torch.bool: 9, torch.float16: 10, torch.float64: 11, torch.complex64: 14, torch.complex128: 15,
          torch.bfloat16: 16}


class DataDependent(RuntimeError):
    """The step asked for a value that only a run with real numbers can know."""


class Birth:
    __slots__ = ("bytes", "shape", "dtype", "operator", "layer", "phase", "kind", "name")

    def __init__(self, nbytes, shape, dtype, operator, layer, phase):
        self.bytes, self.shape, self.dtype = nbytes, shape, dtype
        self.operator, self.layer, self.phase = operator, layer, phase
        self.kind, self.name = None, None


class Events:
    """What happened, in order: ("born", Birth), ("died", Birth), ("phase", word), ("step", n), ("operator", text)."""

    def __init__(self):
        self.list = []
        self.live = {}  # the storage's address in this process -> Birth
        self.host = set()  # storages that stand for memory of the processor: not recorded
        self.making_host = 0
        self.zeros = []  # tensors whose one number is known to be 0
        self.layer, self.phase, self.operator = "", "load", ""
        self.paused = 0
        self.cut = None
        self.notes = []
        self.program = None  # held, so that what it holds does not die here

    def is_host(self, tensor):
        return tensor.untyped_storage()._cdata in self.host

    def born(self, tensor, host=False):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.live or key in self.host or storage.nbytes() == 0:
            return
        if host:
            self.host.add(key)
            weakref.finalize(storage, self.host.discard, key).atexit = False
            return
        birth = Birth(storage.nbytes(), tuple(tensor.shape), tensor.dtype, self.operator, self.layer, self.phase)
        self.live[key] = birth
        self.list.append(("born", birth))
        weakref.finalize(storage, self.died, key).atexit = False

    def died(self, key):
        birth = self.live.pop(key, None)
        if birth is not None:
            self.list.append(("died", birth))

    def mark(self, what, value):
        self.list.append((what, value))

    def begin_phase(self, word):
        if self.phase != word:
            self.phase = word
            self.mark("phase", word)


def each_tensor(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from each_tensor(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from each_tensor(item)


def shape_text(value):
    if isinstance(value, torch.Tensor):
        return "x".join(map(str, value.shape)) or "1"
    return "-"


# Operators whose kernels ask for memory of their own: their shapes go into the trace, so that the prediction can add it.
def operator_text(func, args, kwargs):
    name = func._schema.name.split("::")[-1]
    if name == "convolution":
        x, weight = args[0], args[1]
        return "conv %s %s s%s p%s d%s g%d t%d e%d" % (
            shape_text(x), shape_text(weight), "x".join(map(str, args[3])), "x".join(map(str, args[4])),
            "x".join(map(str, args[5])), args[8], int(args[6]), x.element_size())
    if name == "convolution_backward":
        grad, x, weight, mask = args[0], args[1], args[2], args[10]
        return "conv_backward %s %s s%s p%s d%s g%d t%d e%d m%d%d o%s" % (
            shape_text(x), shape_text(weight), "x".join(map(str, args[4])), "x".join(map(str, args[5])),
            "x".join(map(str, args[6])), args[9], int(args[7]), x.element_size(), int(mask[0]), int(mask[1]),
            shape_text(grad))
    if name in ("mm", "addmm", "bmm", "baddbmm", "linear", "matmul"):
        return "gemm " + " ".join(shape_text(a) for a in args if isinstance(a, torch.Tensor))
    return name


COPY = torch.ops.aten.copy_.default
ADD, ADD_INPLACE = torch.ops.aten.add.Tensor, torch.ops.aten.add_.Tensor


def is_dense(tensor):
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


class Recorder(TorchDispatchMode):
    """Sees every operator after autograd: outputs are new storages or old ones."""

    def __init__(self, events, device):
        super().__init__()
        self.events, self.device = events, device

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        events = self.events
        if not events.paused:
            text = operator_text(func, args, kwargs)
            events.operator = text
            events.mark("operator", text)
        if func is COPY and args[0].device.type == "cpu" and args[1].device.type == self.device:
            return args[0]  # what arrives on the processor has no contents
        if events.host and self.mixes(args, kwargs):
            if func._schema.name.endswith("_") and args[0].device.type == "cpu":
                return args[0]  # its contents are not known any more, and nothing asks for them
            args, kwargs = self.without_contents((args, kwargs))
        if func is ADD and self.accumulates(args, kwargs):
            ADD_INPLACE(*args)
            return args[0]
        out = func(*args, **kwargs)
        if not events.paused:
            host = bool(events.making_host) or self.is_host(args, kwargs)
            for tensor in each_tensor(out):
                if tensor.device.type == self.device:
                    events.born(tensor, host)
        return out

    def mixes(self, args, kwargs):
        """Small tensors of the processor have contents, large ones do not; both meet while a model is built."""
        inputs = list(each_tensor((args, kwargs)))
        return (any(t.device.type == "cpu" and t.dim() > 0 for t in inputs) and
                any(t.device.type == self.device and self.events.is_host(t) for t in inputs))

    def without_contents(self, value):
        if isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.dim() > 0:
            copy = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=self.device)
            self.events.born(copy, host=True)
            return copy
        if isinstance(value, (list, tuple)):
            return type(value)(self.without_contents(item) for item in value)
        if isinstance(value, dict):
            return {key: self.without_contents(item) for key, item in value.items()}
        return value

    def accumulates(self, args, kwargs):
        """The backward pass sums two gradients of one tensor. PyTorch writes over the first where nothing else holds it,
        but not while somebody watches, so that is done here."""
        if self.events.phase != "backward" or kwargs or len(args) != 2 or torch.is_grad_enabled():
            return False
        old, new = args
        if not isinstance(new, torch.Tensor) or old.shape != new.shape or old.dtype != new.dtype:
            return False
        alone = torch._C._storage_Use_Count(old.untyped_storage()._cdata) <= 2 and old._use_count() <= 4
        return alone and torch._C._current_autograd_node() is not None and is_dense(old)

    def is_host(self, args, kwargs):
        """Whatever comes from the processor's tensors is on the processor."""
        if not self.events.host:
            return False
        inputs = [t for t in each_tensor((args, kwargs)) if t.device.type == self.device]
        return bool(inputs) and all(self.events.is_host(t) for t in inputs)


FACTORIES = {"empty", "zeros", "ones", "randn", "rand", "full", "normal"}
HOST_ELEMENTS = 4096  # larger tensors of the processor have no contents either, so that weights are never materialised


def elements(args, kwargs):
    size, count = kwargs.get("size", args), 1
    for item in size:
        for number in item if isinstance(item, (tuple, list, torch.Size)) else [item]:
            if not isinstance(number, int):
                return count
            count *= number
    return count


def is_gpu(device):
    if isinstance(device, int) and not isinstance(device, bool):
        return True
    with contextlib.suppress(RuntimeError, TypeError):
        return torch.device(device).type == "cuda"
    return False


READERS = ("item", "__bool__", "__float__", "__int__", "tolist")


def value_of(events, tensor, assume):
    """A number that only a run knows. What is logged may be anything; what decides may not."""
    if any(tensor is zero for zero in events.zeros):
        return 0.0
    if tensor.dtype.is_floating_point:
        events.notes.append("a value was read (loss.item() or the like): 1 was given")
        return 1.0
    if assume is not None:
        events.notes.append("a value that decides was read: %r was assumed" % assume)
        return assume
    raise DataDependent("the program reads a value of a %s tensor of shape %s, which decides what it does next"
                        % (str(tensor.dtype).replace("torch.", ""), list(tensor.shape)))


class LikeCpu(TorchFunctionMode):
    """Every tensor is without contents, and everything else is as on the processor."""

    def __init__(self, events, assume):
        super().__init__()
        self.events, self.assume = events, assume

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        meta = bool(args) and isinstance(args[0], torch.Tensor) and args[0].device.type == "meta"
        if name in READERS and meta:
            return value_of(self.events, args[0], self.assume)
        return func(*args, **(kwargs or {}))


class LikeCuda(TorchFunctionMode):
    """Programs that say "cuda" get the device without contents, and composite functions take the path they take on CUDA."""

    def __init__(self, events, capability, assume):
        super().__init__()
        self.events, self.capability, self.assume = events, capability, assume
        self.autocast = Autocast()

    def move(self, name, args, kwargs):
        if "device" in kwargs and is_gpu(kwargs["device"]):
            kwargs = dict(kwargs, device=torch.device("meta"))
        if name == "to" and any(is_gpu(a) for a in args[1:] if not isinstance(a, (torch.Tensor, torch.dtype, bool))):
            args = tuple(a if i == 0 or isinstance(a, (torch.Tensor, torch.dtype, bool)) or not is_gpu(a)
                         else torch.device("meta") for i, a in enumerate(args))
        return args, kwargs

    def to_gpu(self, func, name, args, kwargs):
        """A tensor of the processor gets a copy on the card, one of the card stays where it is."""
        tensor = args[0]
        if tensor.device.type == "meta" and self.events.is_host(tensor):
            dtypes = [a for a in list(args[1:]) + list(kwargs.values()) if isinstance(a, torch.dtype)]
            copy = torch.empty_strided(tensor.size(), tensor.stride(), dtype=(dtypes or [tensor.dtype])[0], device="meta")
            return copy.requires_grad_() if tensor.requires_grad and torch.is_grad_enabled() else copy
        return tensor.to("meta") if name == "cuda" else func(*args, **kwargs)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        args, kwargs = self.move(name, args, kwargs)
        gpu = name == "cuda" or (name == "to" and any(isinstance(a, torch.device) and a.type == "meta"
                                                      for a in list(args[1:]) + [kwargs.get("device")]))
        if gpu and args and isinstance(args[0], torch.Tensor):
            return self.to_gpu(func, name, args, kwargs)
        if name in FACTORIES and kwargs.get("device") is None and elements(args, kwargs) > HOST_ELEMENTS:
            self.events.making_host += 1
            try:
                return func(*args, **dict(kwargs, device="meta"))
            finally:
                self.events.making_host -= 1
        meta = bool(args) and isinstance(args[0], torch.Tensor) and args[0].device.type == "meta"
        if name in READERS and meta:
            return value_of(self.events, args[0], self.assume)
        if name == "cpu" and meta:
            return args[0]
        if name == "_amp_foreach_non_finite_check_and_unscale_":  # a gradient scaler's: no gradient is infinite
            self.events.zeros = [args[1]]
            return None
        if name == "_amp_update_scale_":
            return args[0]
        if name == "dropout" and meta:
            x, p, train = (list(args) + [None] * 3)[:3]
            p = kwargs.get("p", p)
            train = kwargs.get("train", kwargs.get("training", train))
            if not train or p == 0 or x.numel() == 0:
                return func(*args, **kwargs)
            return torch.native_dropout(x, p, train)[0]
        if name == "scaled_dot_product_attention" and meta:
            func = functools.partial(attention, self.capability)
        if torch.is_autocast_enabled("cuda"):
            return self.autocast(func, name, args, kwargs)
        return func(*args, **kwargs)


def attention(capability, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
              enable_gqa=False):
    """Which kernel PyTorch's own choice takes on a GPU, in its order: flash, memory-efficient, plain."""
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        repeat = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(repeat, -3), value.repeat_interleave(repeat, -3)
    half = query.dtype in (torch.float16, torch.bfloat16)
    dim, step = query.shape[-1], 8 if half else 4
    grad = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    if query.dim() == 4 and half and attn_mask is None and dim <= 256 and capability >= 80:
        padded = (8 - dim % 8) % 8
        if padded:
            query, key, value = (torch.nn.functional.pad(t, (0, padded)) for t in (query, key, value))
        scale = scale if scale is not None else dim ** -0.5
        out = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False,
                                                                 scale=scale)[0]
        return out[..., :dim] if padded else out
    if query.dim() == 4 and dim % step == 0 and query.dtype != torch.float64 and capability >= 50:
        if attn_mask is not None:
            if attn_mask.dtype == torch.bool:
                zero = torch.zeros((), dtype=query.dtype, device="meta")
                attn_mask = torch.where(attn_mask, zero, torch.full((), float("-inf"), dtype=query.dtype, device="meta"))
            last = attn_mask.shape[-1]
            if last % 16:
                attn_mask = torch.nn.functional.pad(attn_mask, (0, 16 - last % 16))[..., :last]
            attn_mask = attn_mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        return torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, attn_mask, grad, dropout_p,
                                                                      is_causal, scale=scale)[0]
    return torch.ops.aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal,
                                                             scale=scale)[0]


@contextlib.contextmanager
def replaced(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def watched_program(events, like):
    """Phases, layers, and the optimizers that the program makes."""
    from torch.nn.modules import module as modules
    from torch.optim import optimizer as optimizers
    from torch.utils import _foreach_utils

    names, stack, made = {}, [], []

    def enter(module, inputs):
        if module not in names:
            for name, child in module.named_modules():
                names.setdefault(child, name or type(module).__name__)
        stack.append(events.layer)
        events.layer = names.get(module, "")
        if events.phase not in ("backward", "update"):
            events.begin_phase("forward")

    def leave(module, inputs, output):
        if stack:
            events.layer = stack.pop()

    def run_backward(*args, **kwargs):
        events.begin_phase("backward")
        try:
            return engine(*args, **kwargs)
        finally:
            events.begin_phase("forward")

    def before_update(optimizer, args, kwargs):
        if optimizer not in made:
            made.append(optimizer)
        events.begin_phase("update")

    def after_update(optimizer, args, kwargs):
        events.begin_phase("forward")

    engine = torch.autograd.graph._engine_run_backward
    supported = ["cuda", "xpu", "meta"] if like == "cuda" else ["cuda", "xpu"]
    hooks = [modules.register_module_forward_pre_hook(enter), modules.register_module_forward_hook(leave),
             optimizers.register_optimizer_step_pre_hook(before_update),
             optimizers.register_optimizer_step_post_hook(after_update)]
    with contextlib.ExitStack() as changes:
        changes.enter_context(replaced(torch.autograd.graph, "_engine_run_backward", run_backward))
        changes.enter_context(replaced(torch.autograd, "_engine_run_backward", run_backward))
        for owner in (_foreach_utils, optimizers):
            if hasattr(owner, "_get_foreach_kernels_supported_devices"):
                changes.enter_context(replaced(owner, "_get_foreach_kernels_supported_devices", lambda: supported))
            if hasattr(owner, "_get_fused_kernels_supported_devices"):
                changes.enter_context(replaced(owner, "_get_fused_kernels_supported_devices", lambda: supported))
        try:
            yield made
        finally:
            for hook in hooks:
                hook.remove()


@contextlib.contextmanager
def present_card(events, mode, capability):
    """Programs ask whether there is a card. Functions of torch that are written in Python run as they are, so that what they
    call is seen."""
    import torch._dynamo  # makes a table of torch's functions when it is first used: before they are replaced
    import torch.utils.checkpoint

    def straight(*args):
        return False

    def live():
        return sum(birth.bytes for birth in events.live.values())

    def clear():
        mode.autocast.clear()
        forget()

    def begin(context, device_type, *args, **kwargs):
        enter(context, "cuda" if device_type == "meta" else device_type, *args, **kwargs)

    forget, enter = torch.clear_autocast_cache, torch.autocast.__init__
    with contextlib.ExitStack() as changes:
        changes.enter_context(replaced(torch.autocast, "__init__", begin))  # programs give it a tensor's own device
        for name, answer in answers(live, capability).items():
            if hasattr(torch.cuda, name):
                changes.enter_context(replaced(torch.cuda, name, answer))
        for owner in (torch.nn.functional, torch.functional, torch._tensor, torch.autograd):
            for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
                if hasattr(owner, name):
                    changes.enter_context(replaced(owner, name, straight))
        changes.enter_context(replaced(torch, "clear_autocast_cache", clear))
        if hasattr(torch.utils.checkpoint, "_infer_device_type"):
            changes.enter_context(replaced(torch.utils.checkpoint, "_infer_device_type", lambda *args: "cuda"))
        yield


def name_kinds(events, optimizers, modules):
    """Weights, gradients and optimizer state, by who holds them at the end of a step."""
    def give(tensor, kind, name):
        birth = events.live.get(tensor.untyped_storage()._cdata)
        if birth is not None and birth.kind is None:
            birth.kind, birth.name = kind, name

    for module in modules:
        for name, parameter in module.named_parameters():
            give(parameter, "weight", name)
            if parameter.grad is not None:
                give(parameter.grad, "gradient", name)
        for name, buffer in module.named_buffers():
            give(buffer, "weight", name)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for i, parameter in enumerate(group["params"]):
                give(parameter, "weight", "parameter %d" % i)
                if parameter.grad is not None:
                    give(parameter.grad, "gradient", "parameter %d" % i)
        for state in optimizer.state.values():
            for name, tensor in state.items():
                if isinstance(tensor, torch.Tensor):
                    give(tensor, "optimizer", name)


def record(make, steps=2, like="cuda", capability=80, assume=None):
    """Runs make() and then the step that it returns; the events. `like`: the device whose behaviour is followed."""
    events = Events()
    modules, forward = [], torch.nn.Module.__call__

    def call(module, *args, **kwargs):
        if not events.layer and not any(module is m for m in modules):
            modules.append(module)
        return forward(module, *args, **kwargs)

    was_collecting = gc.isenabled()
    gc.collect()
    gc.disable()  # cycles would be freed at a time that depends on this process's history
    with contextlib.ExitStack() as stack:
        optimizers = stack.enter_context(watched_program(events, like))
        stack.enter_context(replaced(torch.nn.Module, "__call__", call))
        if like == "cuda":
            mode = LikeCuda(events, capability, assume)
            stack.enter_context(present_card(events, mode, capability))
            stack.enter_context(mode)
        else:
            stack.enter_context(LikeCpu(events, assume))
            stack.enter_context(torch.device("meta"))
        stack.enter_context(Recorder(events, "meta"))
        try:
            step = events.program = make()
            for number in range(steps):
                events.mark("step", number)
                events.phase = ""
                events.begin_phase("forward")
                step()
                name_kinds(events, optimizers, modules)
        except DataDependent as error:
            events.cut = where(error)
        except (RuntimeError, NotImplementedError) as error:
            if "meta" not in str(error) and "data-dependent" not in str(error).lower():
                raise
            events.cut = where(error)
    if was_collecting:
        gc.enable()
    return events


def where(error):
    """The line of the program, not of PyTorch, that could not go on."""
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if os.sep + "torch" + os.sep not in f.filename and f.filename != __file__]
    place = "%s:%d: %s" % (os.path.basename(frames[-1].filename), frames[-1].lineno, frames[-1].line) if frames else "?"
    return "stopped at %s (%s)" % (place, str(error).split("\n")[0])


def define(writer, birth):
    operator = birth.operator.split(" ")[0]
    texts = (birth.name or birth.layer or operator, "x".join(map(str, birth.shape)), birth.layer, operator)
    kind = birth.kind or {"load": "data", "update": "optimizer"}.get(birth.phase, "activation")
    return writer.buffer(texts, kind, birth.phase, DTYPES.get(birth.dtype, 0), birth.bytes)


def write(events, path, title="", facts=()):
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.record(8, 0, writer.text(title or os.path.basename(path)))
        for name, value in facts:
            writer.fact(name, value)
        if events.cut:
            writer.fact("capture", events.cut)
        for note in dict.fromkeys(events.notes):
            writer.fact("note", note)
        ids, last = {}, None
        for what, value in events.list:
            if what == "born":
                if last is not None:
                    writer.event(21, identity=last)
                    last = None
                ids[value] = define(writer, value)
                writer.event(16, identity=ids[value])
            elif what == "died":
                writer.event(17, identity=ids[value])
            elif what == "phase":
                writer.event(20, argument=PHASES[value])
            elif what == "step":
                writer.event(19, identity=value)
            elif what == "operator":
                last = writer.operator(value)
                if value.startswith(("conv", "gemm")):  # they ask for memory of their own
                    writer.event(21, identity=last)
                    last = None
        writer.event(31)


def capture(make, path, steps=2, capability=80, title="", assume=None):
    """Records `steps` steps (the second one has all optimizer state) and writes the trace; returns why it was cut, or
    None. `capability` is the GPU's compute capability times ten: it decides which attention kernel is used. `assume` is the
    answer to questions about contents ("is anything masked?"); without it the capture ends at the first one."""
    events = record(make, steps, "cuda", capability, assume)
    facts = [("framework", "pytorch " + torch.__version__), ("captured", "on fake tensors, as on CUDA %.1f" % (capability / 10))]
    write(events, path, title, facts)
    return events.cut


def main():
    parser = argparse.ArgumentParser(description="Write the allocations of a training step for plimsoll fit.")
    parser.add_argument("program", help="a Python file with a function make() that returns a function for one step")
    parser.add_argument("-o", "--output", default="step.trace")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--capability", type=int, default=80, help="compute capability times ten: 80 for 8.0")
    parser.add_argument("--assume", choices=["true", "false"], help="the answer to questions about contents")
    options = parser.parse_args()
    assume = None if options.assume is None else options.assume == "true"
    if not os.path.isfile(options.program) or not options.program.endswith(".py"):
        parser.error("%s is no Python file that can be read" % options.program)
    spec = importlib.util.spec_from_file_location("program", options.program)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.program)))
    spec.loader.exec_module(module)
    if not hasattr(module, "make"):
        parser.error("%s has no function make()" % options.program)
    cut = capture(module.make, options.output, options.steps, options.capability, os.path.basename(options.program),
                  assume)
    if cut:
        print("capture: %s; the trace holds what came before" % cut, file=sys.stderr)
    print("wrote %s" % options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
