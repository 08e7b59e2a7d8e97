"""Arrays of every library as NumPy's, without a copy: by the buffer protocol, by DLPack, or by what each library offers."""

from __future__ import annotations

import sys

import numpy as np

from ._errors import DtypeError, InvalidError

_CPU_DEVICES = (1, 3)  # DLPack: the processor's memory, also where it is pinned for a GPU


def _torch():
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "Tensor") else None


def is_array(value) -> bool:
    """Whether it is one array, not a container of several."""
    return isinstance(value, (np.ndarray, np.generic)) or any(
        hasattr(value, name) for name in ("__array_interface__", "__dlpack__", "__array__", "__cuda_array_interface__")) or isinstance(
            value, (memoryview, bytearray))


def _of_torch(tensor, name, torch):
    if tensor.device.type == "meta":
        raise InvalidError("%s has no contents (it is on the meta device)" % name)
    if tensor.device.type != "cpu":
        raise InvalidError("%s is on %s: Plimsoll trains on the processor; .cpu() moves it there" % (name, tensor.device))
    if tensor.layout != torch.strided:
        raise DtypeError("%s is %s: give a dense tensor" % (name, tensor.layout))
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return tensor.numpy()


def to_numpy(value, name="the array"):
    """The array where it is; what is not one (numbers, lists) becomes one."""
    torch = _torch()
    if isinstance(value, np.ndarray):
        array = value
    elif torch is not None and isinstance(value, torch.Tensor):
        array = _of_torch(value, name, torch)
    elif type(value).__module__.split(".")[0] == "pandas":
        array = np.ascontiguousarray(value)  # a table is kept by columns
    elif hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        device = value.__dlpack_device__()
        if int(device[0]) not in _CPU_DEVICES:
            raise InvalidError("%s is in the memory of another device (DLPack kind %d): Plimsoll trains on the processor"
                             % (name, int(device[0])))
        array = np.from_dlpack(value) if hasattr(np, "from_dlpack") else np.asarray(value)
    elif hasattr(value, "__cuda_array_interface__"):
        raise InvalidError("%s is in the memory of a GPU: Plimsoll trains on the processor" % name)
    else:
        array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "OSUVMmc":
        raise DtypeError("%s holds %s: %s are needed" % (name, array.dtype, "real numbers" if array.dtype.kind == "c" else "numbers"))
    return array


def for_field(value, field):
    """A batch for one input of the model: the same memory where type and layout fit, else a converted copy of the batch."""
    name, dtype, shape, _, _ = field
    array = to_numpy(value, "'%s'" % name)
    wanted = np.dtype(dtype)
    if array.dtype != wanted:
        if wanted.kind in "iu" and array.dtype.kind == "f":
            raise DtypeError("'%s' is %s; the model needs %s" % (name, array.dtype, dtype))
        array = array.astype(wanted)
    return np.ascontiguousarray(_reshaped(array, tuple(shape)))


def _reshaped(array, shape):
    """Flat samples, and samples that differ by axes of one, are the same numbers in the same order."""
    have = tuple(array.shape[1:])
    if array.ndim == 0 or have == shape:
        return array
    flat = array.ndim == 2 and have == (int(np.prod(shape)),)
    if flat or [d for d in have if d != 1] == [d for d in shape if d != 1]:
        return array.reshape((array.shape[0],) + shape)
    return array
