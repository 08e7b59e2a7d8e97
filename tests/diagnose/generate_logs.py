#!/usr/bin/env python3
"""Makes out-of-memory logs with known answers: every message format, random numbers, every kind of noise.

    generate_logs.py DIR [COUNT] [SEED]

Writes DIR/NNNN_family.txt and DIR/labels.jsonl. An oracle for the reader behind `plimsoll explain`: the answers
come from the numbers that went in, not from reading the text back.
"""
import json
import os
import random
import sys
import textwrap

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10
R = random.Random()


# --- sizes as the frameworks write them -------------------------------------------------------------------

def torch_size(n):
    """PyTorch: two decimals, the step up comes after 1024."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n > unit:
            return "%.2f %s" % (n / unit, name)
    return "%d bytes" % n


def tf_size(n):
    for unit, name in ((1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB")):
        if n >= unit:
            return "%.2f%s" % (n / unit, name)
    return "%.1fKiB" % (n / KIB) if n >= KIB else "%dB" % n


def tpu_size(n):
    for unit, name in ((GIB, "G"), (MIB, "M"), (KIB, "K")):
        if n >= unit:
            return "%.2f%s" % (n / unit, name)
    return "%dB" % n


def sizes(low, high):
    return int(low * (high / low) ** R.random())


def shape_of(low=1, high=5):
    while True:
        shape = one_shape(low, high)
        if product(shape) < 1 << 38:
            return shape


def one_shape(low, high):
    return [R.choice([1, 2, 3, 4, 8, 16, 32, 64, 100, 128, 224, 256, 299, 512, 1024]) for _ in range(R.randint(low, high))]


TF_TYPES = {"float": ("float32", 4), "double": ("float64", 8), "half": ("float16", 2), "bfloat16": ("bfloat16", 2),
            "int32": ("int32", 4), "int64": ("int64", 8), "uint8": ("uint8", 1), "bool": ("bool", 1)}


def product(shape):
    n = 1
    for d in shape:
        n *= d
    return n


# --- one function a family: (text, answer) -----------------------------------------------------------------

def answer(**kw):
    return kw


def torch_numbers(cause):
    cap = sizes(2 * GIB, 180 * GIB)
    gap = R.uniform(0.2, 0.9) * GIB if cap > 6 * GIB else 0.05 * cap
    if cause == "full":
        free = cap * R.uniform(0, 0.02)
        alloc = (cap - gap - free) * R.uniform(0.97, 0.999)
        res = cap - gap - free
        req = max((res - alloc), free) * R.uniform(1.3, 5) + 2 * MIB
        req = min(req, cap * .9)
        if req <= max(res - alloc, free):
            req = max(res - alloc, free) * 1.2
    elif cause == "fragmented":
        free = cap * R.uniform(0.0, 0.03)
        res = cap - gap - free
        alloc = res * R.uniform(0.4, 0.8)
        req = (res - alloc) * R.uniform(0.2, 0.9)
    elif cause == "too_big":
        res = cap * R.uniform(0.05, 0.5)
        alloc = res * R.uniform(0.8, 1)
        free = cap - res - gap
        req = cap * R.uniform(1.05, 20)
    elif cause == "bad_size":
        res = cap * R.uniform(0.05, 0.5)
        alloc = res * R.uniform(0.8, 1)
        free = cap - res - gap
        req = cap * R.uniform(40, 2000)
    else:  # other_process
        others = cap * R.uniform(0.35, 0.7)
        free = cap * R.uniform(0, 0.02)
        res = cap - gap - free - others
        alloc = res * R.uniform(0.97, 0.999)
        req = max(free, res - alloc) * 1.2 + cap * 0.05
    return [int(v) for v in (cap, alloc, res, free, req)]


def fam_torch_short():
    cause = R.choice(["full", "fragmented", "too_big", "bad_size", "other_process"])
    cap, alloc, res, free, req = torch_numbers(cause)
    i = R.randrange(8)
    style = R.choice(["cached", "reserved", "hint"])
    back = R.choice(["CUDA", "CUDA", "HIP"])
    s = "%s out of memory. Tried to allocate %s (GPU %d; %s total capacity; %s already allocated; %s free; " % (
        back, torch_size(req), i, torch_size(cap), torch_size(alloc), torch_size(free))
    s += "%s cached)" % torch_size(res - alloc) if style == "cached" else "%s reserved in total by PyTorch)" % torch_size(res)
    if style == "hint":
        s += (" If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation"
              " for Memory Management and PYTORCH_%s_ALLOC_CONF" % back)
    s = R.choice(["RuntimeError: ", "torch.cuda.OutOfMemoryError: ", "", "why", "step 40", "OutOfMemoryError: "]) + s
    ans = answer(framework="pytorch", device_kind="gpu", device_index=i, requested_bytes=req, capacity_bytes=cap, allocated_bytes=alloc,
                 reserved_bytes=res, free_bytes=free, cause=cause, requested_exact=False, round=True)
    if R.random() < 0.1:
        s = s[s.index("Tried"):]
    elif R.random() < 0.1:
        s = s.split(")")[0]
    return s, ans


def fam_torch_allowed():
    cap = sizes(4 * GIB, 90 * GIB)
    lim = int(cap * R.uniform(0.2, 0.6))
    alloc = int(lim * R.uniform(0.97, 0.995))
    res = alloc + int((lim - alloc) * .5)
    free = cap - res - GIB // 2
    req = int((lim - alloc) * 1.5) + 2 * MIB
    i = R.randrange(4)
    if R.random() < .5:
        s = ("RuntimeError: CUDA out of memory. Tried to allocate %s (GPU %d; %s total capacity; %s already allocated; %s free; %s allowed; %s"
             " reserved in total by PyTorch)") % tuple([torch_size(req), i] + [torch_size(v) for v in (cap, alloc, free, lim, res)])
    else:
        s = new_torch("CUDA", req, i, cap, free, [], alloc, res, lim)
    return s, answer(framework="pytorch", device_kind="gpu", device_index=i, requested_bytes=req, capacity_bytes=cap, allocated_bytes=alloc,
                     reserved_bytes=res, free_bytes=free, limit_bytes=lim, cause="limit", round=True, requested_exact=False)


def new_torch(back, req, i, cap, free, procs, alloc, res, lim=None, pools=None, version=None):
    s = "%s out of memory. Tried to allocate %s. GPU %d has a total %s of %s of which %s is free. " % (
        back, torch_size(req), i, "capacty" if version == "2.1" else "capacity", torch_size(cap), torch_size(free))
    for p in procs:
        s += p
    if lim:
        s += "%s allowed; " % torch_size(lim)
    s += "Of the allocated memory %s is allocated by PyTorch, " % torch_size(alloc)
    if pools:
        s += "with %s allocated in private pools (e.g., %s Graphs), " % (torch_size(pools), back)
    s += "and %s is reserved by PyTorch but unallocated." % torch_size(res - alloc)
    if version == "2.1":
        s += " If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
    else:
        s += (" If reserved but unallocated memory is large try setting %s=expandable_segments:True to avoid fragmentation.  See documentation for"
              " Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)" % R.choice(["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"]))
    return s


def fam_torch_long():
    cause = R.choice(["full", "fragmented", "too_big", "bad_size", "other_process"])
    cap, alloc, res, free, req = torch_numbers(cause)
    i = R.randrange(8)
    back = R.choice(["CUDA", "CUDA", "CUDA", "HIP"])
    procs, process, other, mode = [], None, None, R.choice(["none", "own", "container", "all", "unknown"])
    own = int(res + 0.3 * GIB) if cap > 6 * GIB else int(res * 1.02)
    if mode in ("own", "all", "unknown") and cause != "other_process":
        process = own
    if cause == "other_process":
        process = own if mode != "none" else None
        mode = "all" if mode != "none" else "none"
    if mode == "own":
        procs = ["Including non-PyTorch memory, this process has %s memory in use. " % torch_size(own)]
    elif mode == "container" and cause != "other_process":
        process = own
        procs = ["Process %d has %s memory in use. " % (R.randrange(10, 4000000), torch_size(own))]
    elif mode == "unknown":
        process = None
        procs = ["Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. "]
    elif mode == "all":
        total = max(cap - free - own, 64 * MIB) if cause == "other_process" else sizes(50 * MIB, 100 * MIB)
        k = R.randint(1, 6)
        other = 0
        for _ in range(k):
            other += total // k
            procs.append("Process %d has %s memory in use. " % (R.randrange(10, 4000000), torch_size(total // k)))
        procs.insert(R.randrange(k + 1), "Including non-PyTorch memory, this process has %s memory in use. " % torch_size(own))
    s = new_torch(back, req, i, cap, free, procs, alloc, res, pools=R.choice([None, None, 17 * MIB]), version=R.choice(["2.1", "2.2"]))
    s = R.choice(["torch.OutOfMemoryError: ", "torch.cuda.OutOfMemoryError: ", "", "FATAL: step aborted, details: ", "error"]) + s
    if R.random() < .15:
        s = s[:s.index("unallocated.") + 12]
    return s, answer(framework="pytorch", device_kind="gpu", device_index=i, requested_bytes=req, capacity_bytes=cap, allocated_bytes=alloc,
                     reserved_bytes=res, free_bytes=free, process_bytes=process, other_process_bytes=other, cause=cause, round=True, requested_exact=False)


def fam_torch_xpu_npu():
    k = R.randrange(4)
    cap, alloc, res, free, req = torch_numbers(R.choice(["full"]))
    i = R.randrange(4)
    base = dict(framework="pytorch", device_index=i, requested_bytes=req, capacity_bytes=cap, allocated_bytes=alloc, reserved_bytes=res, round=True,
                requested_exact=False, cause="full")
    if k == 0:
        return ("RuntimeError: XPU out of memory. Tried to allocate %s (GPU %d; %s total capacity; %s already allocated; %s reserved in total by PyTorch)"
                % (torch_size(req), i, torch_size(cap), torch_size(alloc), torch_size(res)), answer(device_kind="xpu", **base))
    if k == 1:
        cap, alloc, res, req = 48 * GIB, 100 * MIB, 200 * MIB, int(R.uniform(4.2, 20) * GIB)
        base.update(requested_bytes=req, capacity_bytes=cap, allocated_bytes=alloc, reserved_bytes=res, cause="per_allocation_limit", unscored=["limit_bytes"])
        return ("RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate %s (GPU  %d; %s total capacity; %s already"
                " allocated; %s reserved in total by PyTorch)" % (torch_size(req), i, torch_size(cap), torch_size(alloc), torch_size(res)), answer(device_kind="xpu", **base))
    if k == 2:
        return ("torch.OutOfMemoryError: XPU out of memory. Tried to allocate %s. GPU %d has a total capacity of %s%s. Of the allocated memory %s is allocated by PyTorch,"
                " and %s is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory."
                % (torch_size(req), i, torch_size(cap), " of which %s is free" % torch_size(free), torch_size(alloc), torch_size(res - alloc)),
                answer(device_kind="xpu", free_bytes=free, **base))
    return ("RuntimeError: NPU out of memory. Tried to allocate %s (NPU %d; %s total capacity; %s already allocated; %s current active; %s free; %s reserved in total by"
            " PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation." % (
                torch_size(req), i, torch_size(cap), torch_size(alloc), torch_size(alloc), torch_size(free), torch_size(res)),
            answer(device_kind="npu", free_bytes=free, **base))


def fam_torch_misc():
    n = sizes(MIB, 300 * GIB)
    return R.choice([
        lambda: ("RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/generic/THCStorage.cu:58", answer(framework="pytorch", device_kind="gpu", cause="full")),
        lambda: ("THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory", answer(framework="pytorch", device_kind="gpu", cause="full")),
        lambda: ("RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
                 answer(framework="pytorch", device_kind="gpu", cause="full")),
        lambda: ("torch.AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda for more information.",
                 answer(framework="pytorch", device_kind="gpu", cause="full")),
        lambda: ("RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.", answer(framework="pytorch", device_kind="gpu", cause="bad_size")),
        lambda: ("RuntimeError: Invalid buffer size: %s" % torch_size(n * 5), answer(framework="pytorch", device_kind="mps", requested_bytes=n * 5, cause="per_allocation_limit", alt=["bad_size"], round=True)),
        lambda: ("RuntimeError: Could not allocate tensor with %d bytes. There is not enough GPU video memory available!" % n,
                 answer(framework="directml", device_kind="gpu", requested_bytes=n, requested_exact=True, cause="full")),
        lambda: ("RuntimeError: [enforce fail at alloc_cpu.cpp:%d] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate %d bytes. Error code 12 (%s)"
                 % (R.randrange(60, 120), n, R.choice(["Cannot allocate memory", "Nicht genügend Hauptspeicher verfügbar", "无法分配内存"])),
                 answer(framework="pytorch", device_kind="host", requested_bytes=n, requested_exact=True, cause="host_memory")),
        lambda: ("RuntimeError: [enforce fail at ..\\c10\\core\\CPUAllocator.cpp:79] data. DefaultCPUAllocator: not enough memory: you tried to allocate %d bytes. Buy new RAM!" % n,
                 answer(framework="pytorch", device_kind="host", requested_bytes=n, requested_exact=True, cause="host_memory")),
        lambda: ("RuntimeError: [enforce fail at CPUAllocator.cpp:64] posix_memalign(&data, gAlignment, nbytes) == 0. 12 vs 0", answer(framework="pytorch", device_kind="host", cause="host_memory")),
        lambda: ("RuntimeError: $ Torch: not enough memory: you tried to allocate %dGB. Buy new RAM! at /pytorch/aten/src/TH/THGeneral.cpp:201" % (n // GIB + 1),
                 answer(framework="pytorch", device_kind="host", requested_bytes=(n // GIB + 1) * GIB, cause="host_memory", round=True)),
        lambda: ("RuntimeError: [enforce fail at alloc_cpu.cpp:90] alloc_cpu() seems to have been called with negative number: 18446744071680189377",
                 answer(framework="pytorch", device_kind="host", cause="bad_size", unscored=["requested_bytes"])),
    ])()


def fam_mps():
    lim = sizes(4 * GIB, 90 * GIB)
    alloc = int(lim * R.uniform(.85, .99))
    req = lim - alloc + sizes(10 * MIB, GIB)
    s = "RuntimeError: MPS backend out of memory (MPS allocated: %s, other allocations: %s%s). Tried to allocate %s on %s pool." % (
        torch_size(alloc), torch_size(300 * MIB), ", max allowed: %s" % torch_size(lim), torch_size(req), R.choice(["private", "shared"]))
    return s, answer(framework="pytorch", device_kind="mps", requested_bytes=req, allocated_bytes=alloc, limit_bytes=lim, cause="full", alt=["limit"], round=True, requested_exact=False)


def tf_device(i):
    return "/job:localhost/replica:0/task:0/device:GPU:%d" % i


def fam_tf_op():
    name = R.choice(list(TF_TYPES))
    dtype, item = TF_TYPES[name]
    shape = shape_of()
    n = product(shape) * item
    i = R.randrange(8)
    base = dict(framework="tensorflow", device_kind="gpu", shape=shape, dtype=dtype, shape_bytes=n, requested_bytes=n, requested_exact=True, cause="full")
    dims = ",".join(map(str, shape))
    k = R.randrange(7)
    if k == 0:
        node = "\n\t [[Node: sub_30 = Sub[T=DT_%s, _device=\"/job:localhost/replica:0/task:0/gpu:%d\"](a, b)]]" % (name.upper(), i)
        return ("W tensorflow/core/common_runtime/executor.cc:1027] 0x55 Compute status: Resource exhausted: OOM when allocating tensor with shape" +
                "".join("dim { size: %d } " % d for d in shape) + node, answer(device_index=i, **base))
    if k == 1:
        return ("ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[%s]\n\t [[Node: a/RandomUniform = RandomUniform[T=DT_INT32, dtype=DT_%s,"
                " _device=\"/job:localhost/replica:0/task:0/gpu:%d\"](x)]]" % (dims, name.upper(), i), answer(device_index=i, **base))
    if k == 2:
        return ("OP_REQUIRES failed at conv_ops.cc:636 : %s OOM when allocating tensor with shape[%s] and type %s on %s by allocator GPU_%d_bfc"
                % (R.choice(["Resource exhausted:", "RESOURCE_EXHAUSTED:"]), dims, name, tf_device(i), i), answer(device_index=i, **base))
    if k == 3:
        one = "Resource exhausted: OOM when allocating tensor with shape[%s] and type %s on %s by allocator GPU_%d_bfc\n\t [[{{node a/b}}]]\nHint: If you want to see a list" % (dims, name, tf_device(i), i)
        return "tensorflow.python.framework.errors_impl.ResourceExhaustedError: 2 root error(s) found.\n  (0) %s\n\n  (1) %s\n0 successful operations." % (one, one), answer(device_index=i, **base)
    if k == 4:
        base["device_kind"], base["cause"] = "host", "host_memory"
        return "ResourceExhaustedError: OOM when allocating tensor with shape[%s] and type %s on /job:localhost/replica:0/task:0/device:CPU:0 by allocator %s [Op:Mul]" % (
            dims, name, R.choice(["cpu", "mklcpu"])), answer(unscored=["device_index"], **base)
    if k == 5:
        return ("ResourceExhaustedError: OOM when allocating tensor with shape[%s] and type %s on /job:localhost/replica:0/task:0/device:DML:%d by allocator DmlAlloc" % (dims, name, i),
                answer(device_index=i, **base))
    return ("tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[%s] and type %s on %s by allocator GPU_%d_bfc [Op:Mul]"
            % (dims, name, tf_device(i), i), answer(device_index=i, **base))


def fam_bfc_dump():
    jax = R.random() < .4
    path = R.choice(["external/tsl/tsl/framework", "external/xla/xla/tsl/framework"]) if jax else R.choice(
        ["tensorflow/core/common_runtime", "tensorflow/tsl/framework", "external/local_tsl/tsl/framework"])
    i = R.randrange(4)
    limit = sizes(2 * GIB, 40 * GIB) // 256 * 256 + 256
    cause = R.choice(["full", "fragmented", "too_big", "dataset_on_device"] if not jax else ["full", "fragmented"])
    chunks, used = [], 0
    frees = [sizes(MIB, limit // 30) // 256 * 256 for _ in range(R.randint(2, 6))]
    room = limit - sum(frees)
    if cause == "dataset_on_device":
        big = int(room * R.uniform(.35, .8)) // 256 * 256
        chunks.append(big)
        room -= big
    while room > 0:
        c = min(room, max(256, sizes(256, limit // 8) // 256 * 256))
        chunks.append(c)
        room -= c
    used = sum(chunks)
    if cause == "full":
        req = (sum(frees) * 2 // 256 + 1) * 256
    elif cause == "fragmented":
        req = (max(frees) + (sum(frees) - max(frees)) // 2) // 256 * 256 + 256
        if req > sum(frees):
            req = sum(frees) // 256 * 256
        if req <= max(frees):
            cause, req = "full", sum(frees) * 2
    elif cause == "too_big":
        req = limit * 2
    else:
        req = sum(frees) + 256 * 1000
    old = not jax and cause != "dataset_on_device" and R.random() < .3  # the old format does not name the op
    L = lambda s: "2024-01-02 03:04:05.%06d: %s %s/bfc_allocator.cc:%d] %s" % (R.randrange(10**6), R.choice("IW"), path, R.randrange(300, 1200), s)
    op = "" if jax else ("_EagerConst" if cause == "dataset_on_device" else "model/conv/Relu")
    out = []
    req_exact = True
    if old:
        out.append(L("Allocator (GPU_%d_bfc) ran out of memory trying to allocate %s.  Current allocation summary follows." % (i, tf_size(req))))
        req_exact = False
    else:
        out.append(L("Allocator (GPU_%d_bfc) ran out of memory trying to allocate %s (rounded to %d)requested by op %s" % (i, tf_size(req), req, op)))
        out.append("If the cause is memory fragmentation maybe the environment variable 'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation. ")
        out.append("Current allocation summary follows.\nCurrent allocation summary follows.")
    out.append(L("BFCAllocator dump for GPU_%d_bfc" % i))
    for b in range(21):
        out.append(L("Bin (%d): \tTotal Chunks: 0, Chunks in use: 0. 0B allocated for chunks. 0B in use in bin. 0B client-requested in use in bin." % (256 << b)))
    out.append(L("Bin for %s was %s, Chunk State: " % (tf_size(req), tf_size(256 * MIB))))
    out.append(L("Next region of size %d" % limit))
    rows = [("Chunk at 0x7f" if old else "InUse at 7f", c) for c in chunks] + [("Free at 0x7f" if old else "Free  at 7f", c) for c in frees]
    R.shuffle(rows)
    for k, (w, c) in enumerate(rows):
        out.append(L("%s%08x of size %d%s" % (w, R.randrange(1 << 32), c, "" if old else " next %d" % (k + 1))))
    out.append(L("     Summary of in-use Chunks by size: "))
    for c in sorted(set(chunks)):
        out.append(L("%d Chunks of size %d totalling %s" % (chunks.count(c), c, tf_size(c * chunks.count(c)))))
    out.append(L("Sum Total of in-use chunks: %s" % tf_size(used)))
    out.append(L("%s %d memory_limit_: %d available bytes: 0 curr_region_allocation_bytes_: %d" % (R.choice(["Total bytes in pool:", "total_region_allocated_bytes_:"]), limit, limit, limit * 2)))
    out.append(L("Stats: \nLimit:            %15d\nInUse:            %15d\nMaxInUse:         %15d\nNumAllocs:        %15d\nMaxAllocSize:     %15d" % (limit, used, used, 12345, max(chunks))))
    if not old:
        out[-1] += "\nReserved:                        0\nPeakReserved:                    0\nLargestFreeBlock:                0"
    out.append("")
    out.append(L("*" * 60 + "_" * 30 + "x" * 10))
    ans = answer(framework="jax" if jax else "tensorflow", device_kind="gpu", device_index=i, requested_bytes=req, requested_exact=req_exact, capacity_bytes=limit,
                 allocated_bytes=used, reserved_bytes=limit, free_bytes=limit - used, largest_free_bytes=max(frees), cause=cause, unscored=["limit_bytes", "shape", "dtype", "shape_bytes"])
    if cause == "full":
        ans["alt"] = ["fragmented"] if limit - used >= req else []
    if not req_exact:
        ans["rounded"] = ["requested_bytes"]
    if jax:
        out.append("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate %d bytes." % req)
    elif cause == "dataset_on_device" and R.random() < .5:
        out.append("tensorflow.python.framework.errors_impl.InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to %s in order to run _EagerConst: Dst tensor is not initialized." % tf_device(i))
    return "\n".join(out), ans


def fam_tf_misc():
    n = sizes(MIB, 30 * GIB)
    cap = sizes(4 * GIB, 40 * GIB)
    i = R.randrange(4)
    log = "2024-01-02 03:04:05.678901: E tensorflow/"
    return R.choice([
        lambda: (log + "core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc:288] gpu_async_%d cuMemAllocAsync failed to allocate %d bytes: CUDA error: out of memory"
                 " (CUDA_ERROR_OUT_OF_MEMORY)\n Reported by CUDA: Free memory/Total memory: %d/%d\n%score/x.cc:1] Stats: Limit:                     %d\nInUse:   %d\nMaxInUse:     %d\nNumAllocs: 12\n"
                 "MaxAllocSize: 55\nReserved:   0\nPeakReserved:   0\nLargestFreeBlock:  0" % (i, cap // 4, cap // 50, cap, log, cap // 10 * 9, cap // 10 * 9, cap // 10 * 9),
                 answer(framework="tensorflow", device_kind="gpu", device_index=i, requested_bytes=cap // 4, requested_exact=True, capacity_bytes=cap, free_bytes=cap // 50,
                        allocated_bytes=cap // 10 * 9, cause="full", unscored=["limit_bytes", "reserved_bytes"])),
        lambda: (log + "stream_executor/cuda/cuda_driver.cc:728] failed to allocate %s (%d bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\nAborted (core dumped)" % (tpu_size(n), n),
                 answer(framework="tensorflow", device_kind="gpu", requested_bytes=n, requested_exact=True, cause="other_process", alt=["full", "too_big"])),
        lambda: (log + "stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle: %s\nUnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed"
                 " to initialize, so try looking to see if a warning log message was printed above." % R.choice(["CUDNN_STATUS_INTERNAL_ERROR", "CUDNN_STATUS_ALLOC_FAILED", "CUDNN_STATUS_NOT_INITIALIZED"]),
                 answer(framework="tensorflow", device_kind="gpu", cause="disguised")),
        lambda: (log + "stream_executor/cuda/cuda_blas.cc:226] failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED\nInternalError: Blas GEMM launch failed : a.shape=(64, 784), b.shape=(784, 10)",
                 answer(framework="tensorflow", device_kind="gpu", cause="disguised")),
        lambda: ("tensorflow.python.framework.errors_impl.InternalError: Failed copying input tensor from %s to %s in order to run _EagerConst: Dst tensor is not initialized."
                 % ("/job:localhost/replica:0/task:0/device:CPU:0", tf_device(i)), answer(framework="tensorflow", device_kind="gpu", device_index=i, cause="disguised", alt=["dataset_on_device"])),
        lambda: ("InternalError: Dst tensor is not initialized.", answer(framework="tensorflow", device_kind="gpu", cause="disguised")),
        lambda: (log + "core/common_runtime/bfc_allocator.cc:200] tried to allocate 0 bytes\nW tensorflow/core/x.cc:3] Request to allocate 0 bytes\nF tensorflow/x.cc:1] EigenAllocator for GPU ran out of"
                 " memory when allocating 0. See error logs", answer(framework="tensorflow", device_kind="gpu", requested_bytes=0, requested_exact=True, cause="bad_size")),
        lambda: (log + "core/framework/cpu_allocator_impl.cc:82] Allocation of %d exceeds 10%% of %ssystem memory.\nKilled" % (n, R.choice(["", "free "])),
                 answer(framework="tensorflow", device_kind="host", cause="host_memory", unscored=["framework", "requested_bytes"])),
    ])()


def fam_jax():
    n = sizes(MIB, 60 * GIB)
    i = R.randrange(8)
    cap = sizes(8 * GIB, 32 * GIB)
    exc = R.choice(["jaxlib.xla_extension.XlaRuntimeError: ", "jax.errors.JaxRuntimeError: ", "XlaRuntimeError: "])
    k = R.randrange(9)
    if k == 0:
        return exc + "RESOURCE_EXHAUSTED: Out of memory while trying to allocate %d bytes." % n, answer(framework="jax", requested_bytes=n, requested_exact=True, cause="full", unscored=["device_kind"])
    if k == 1:
        return exc + "RESOURCE_EXHAUSTED: Out of memory while trying to allocate %s." % tf_size(n), answer(framework="jax", requested_bytes=n, requested_exact=False, cause="full", unscored=["device_kind"], round=True)
    if k == 2:
        return exc + "RESOURCE_EXHAUSTED: Out of memory allocating %d bytes." % n, answer(framework="jax", requested_bytes=n, requested_exact=True, cause="full", unscored=["device_kind"])
    if k == 3:
        return ("E0102 external/xla/xla/pjrt/x.cc:1] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Failed to allocate request for %s (%dB) on device ordinal %d" % (tf_size(n), n, i),
                answer(framework="jax", device_kind="gpu", device_index=i, requested_bytes=n, requested_exact=True, cause="full"))
    if k == 4:
        used = int(cap * R.uniform(1.1, 5))
        return (exc + "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used %s of %s hbm. Exceeded hbm capacity by %s.\n\nTotal hbm usage >= %s:\n"
                "    reserved        530.00M \n    program          21.44G \n    arguments         1.2G" % (tpu_size(used), tpu_size(cap), tpu_size(used - cap), tpu_size(used)),
                answer(framework="jax", device_kind="tpu", requested_bytes=used, requested_exact=False, capacity_bytes=cap, cause="too_big", round=True))
    if k == 5:
        return (exc + "RESOURCE_EXHAUSTED: Attempting to allocate %s. That was not possible. There are %s free.; (0x0x0_HBM0)" % (tpu_size(n), tpu_size(n // 3)),
                answer(framework="jax", device_kind="tpu", requested_bytes=n, requested_exact=False, free_bytes=n // 3, cause="full", round=True))
    if k == 6:
        return (exc + "RESOURCE_EXHAUSTED: Attempting to reserve %s at the bottom of memory. That was not possible. There are %s free, 0B reserved, and %s reservable." % (
            tpu_size(n), tpu_size(n // 2), tpu_size(n // 2)), answer(framework="jax", device_kind="tpu", requested_bytes=n, requested_exact=False, free_bytes=n // 2, cause="full", round=True, unscored=["reserved_bytes"]))
    if k == 7:
        return (exc + "RESOURCE_EXHAUSTED: Attempting to allocate %s. That was not possible. There are %s free. The largest contiguous region of free memory is %s due to fragmentation." % (
            tpu_size(n), tpu_size(n * 2), tpu_size(n // 2)), answer(framework="jax", device_kind="tpu", requested_bytes=n, requested_exact=False, free_bytes=n * 2, largest_free_bytes=n // 2, cause="fragmented", round=True))
    shape = shape_of(2, 4)
    kind, (dtype, item) = R.choice([("f32", ("float32", 4)), ("bf16", ("bfloat16", 2)), ("s8", ("int8", 1)), ("pred", ("bool", 1))])
    n = product(shape) * item
    hit = R.random() < .6
    req = n if hit else n * 3 + 24
    text = exc + "RESOURCE_EXHAUSTED: Out of memory while trying to allocate %d bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n" % req
    text += "             parameter allocation:    4.00MiB\n        maybe_live_out allocation:  142.85MiB\n     preallocated temp allocation:    2.00GiB\n                 total allocation:    2.14GiB\n"
    text += "Peak buffers:\n"
    others = [([16, 16, 4], "f32"), ([7, 9], "bf16")]
    bufs = [(shape, kind)] + others
    R.shuffle(bufs)
    for k, (s, t) in enumerate(bufs):
        text += "\tBuffer %d:\n\t\tSize: %s\n" % (k + 1, tf_size(n))
        if R.random() < .5:
            text += "\t\tOperator: op_name=\"jit(f)/dot_general[dimension_numbers=(((2,), (0,)), ((), ()))]\" source_file=\"a.py\" source_line=3\n\t\tXLA Label: fusion\n\t\tShape: %s[%s]\n" % (t, ",".join(map(str, s)))
        else:
            text += "\t\tEntry Parameter Subshape: %s[%s]\n" % (t, ",".join(map(str, s)))
        text += "\t\t==========================\n\n"
    if product(others[0][0]) * 4 == req or product(others[1][0]) * 2 == req:
        hit = False
        req_unscored = ["shape", "dtype", "shape_bytes"]
    else:
        req_unscored = []
    return text, answer(framework="jax", requested_bytes=req, requested_exact=True, shape=shape if hit else None, dtype=dtype if hit else None, shape_bytes=n if hit else None,
                        cause="full", unscored=["device_kind", "capacity_bytes", "allocated_bytes"] + req_unscored)


def commas(n):
    return format(n, ",")


def paddle_size(n):
    for unit, name in ((GIB, "GB"), (MIB, "MB"), (KIB, "kB")):
        if n >= unit:
            return "%f%s" % (n / unit, name)
    return "%f%s" % (n, "B")


def fam_runtime():
    n = sizes(MIB, 30 * GIB)
    cap = sizes(4 * GIB, 80 * GIB)
    i = R.randrange(4)
    gpu = dict(device_kind="gpu")
    x = dict(requested_bytes=n, requested_exact=True, cause="full")
    used = cap // 100 * 99
    live = cap // 100 * 95
    return R.choice([
        lambda: ("2024-01-02 [E:onnxruntime:, sequential_executor.cc:514 ExecuteKernel] Non-zero status code returned while running Conv node. Name:'/a/Conv' Status Message: /onnxruntime/core/framework/"
                 "bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested buffer of size %d" % n, answer(framework="onnxruntime", unscored=["device_kind"], **x)),
        lambda: ("onnxruntime: /onnxruntime/core/framework/bfc_arena.cc:342 Failed to allocate memory for requested buffer of size %d" % ((1 << 62) + 5120), answer(framework="onnxruntime", unscored=["device_kind"],
                 requested_bytes=(1 << 62) + 5120, requested_exact=True, cause="bad_size")),
        lambda: ("bfc_arena.cc:317 onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Available memory of %d is smaller than requested bytes of %d" % (n // 2, n),
                 answer(framework="onnxruntime", unscored=["device_kind"], free_bytes=n // 2, requested_bytes=n, requested_exact=True, cause="limit")),
        lambda: ("CUDA failure 2: out of memory ; GPU=%d ; hostname=h ; file=/onnxruntime/cuda_allocator.cc ; line=47 ; expr=cudaMalloc((void**)&p, size);" % i, answer(framework="onnxruntime", device_index=i, cause="full", **gpu)),
        lambda: ("[TRT] [E] 2: [virtualMemoryBuffer.cpp::resizePhysical::140] Error Code 2: OutOfMemory (no further information)\n[TRT] [W] Requested amount of GPU memory (%d bytes) could not be allocated."
                 " There may not be enough free memory for allocation to succeed.\n[TRT] [E] 1: [x.cpp] Error Code 1: Cuda Runtime (out of memory)" % n, answer(framework="tensorrt", **gpu, **x)),
        lambda: ("ResourceExhaustedError: \n\nOut of memory error on GPU %d. Cannot allocate %s memory on GPU %d, %s memory has been allocated and available memory is only %s.\n\nPlease check whether there is any"
                 " other process using GPU %d." % (i, paddle_size(n), i, paddle_size(cap), paddle_size(n // 3), i), answer(framework="paddle", device_index=i, requested_bytes=n, requested_exact=False,
                 allocated_bytes=cap, free_bytes=n // 3, cause="full", round=True, **gpu)),
        lambda: ("Out of memory error on GPU %d. Cannot allocate %s memory on GPU %d, available memory is only %s.\n\n2. FLAGS_gpu_memory_limit_mb is %d" % (i, paddle_size(n), i, paddle_size(n // 3), 2 * n // MIB + 1),
                 answer(framework="paddle", device_index=i, requested_bytes=n, requested_exact=False, free_bytes=n // 3, cause="limit", limit_bytes=(2 * n // MIB + 1) * MIB, round=True, **gpu)),
        lambda: ("EnforceNotMet: enforce allocating <= available failed, %d > %d" % (n, n // 2), answer(framework="paddle", free_bytes=n // 2, **gpu, **x)),
        lambda: ("mxnet.base.MXNetError: [03:04:05] src/storage/./pooled_storage_manager.h:157: cudaMalloc %sfailed: out of memory" % R.choice(["", "retry "]), answer(framework="mxnet", cause="full", **gpu)),
        lambda: ("F0102 03:04:05.678901 12345 syncedmem.cpp:56] Check failed: error == cudaSuccess (2 vs. 0)  out of memory", answer(framework="caffe", cause="full", **gpu)),
        lambda: ("[enforce fail at context_gpu.cu:285] error == cudaSuccess. 2 vs 0. Error at: /caffe2/core/context_gpu.cu:285: out of memory", answer(framework="caffe", cause="full", **gpu)),
        lambda: ("   25 conv    CUDA Error: out of memory: File exists\ndarknet: ./src/cuda.c:36: check_error: Assertion `0' failed.", answer(framework="darknet", cause="full", **gpu)),
        lambda: ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating %s bytes (allocated so far: %s bytes)." % (commas(n), commas(cap)), answer(framework="cupy", allocated_bytes=cap, **gpu, **x)),
        lambda: ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating %s bytes (allocated so far: %s bytes, limit set to: %s bytes)." % (commas(n), commas(cap), commas(cap + n // 2)),
                 answer(framework="cupy", allocated_bytes=cap, limit_bytes=cap + n // 2, requested_bytes=n, requested_exact=True, cause="limit", alt=["too_big"], **gpu)),
        lambda: ("cupy.cuda.memory.OutOfMemoryError: out of memory to allocate %d bytes (total %d bytes)" % (n, cap + n), answer(framework="cupy", allocated_bytes=cap, **gpu, **x)),
        lambda: ("MemoryError: Error allocating %d bytes of device memory (%s). Driver report %d bytes free and %d bytes total" % (cap // 5, R.choice(["out of memory", "CNMEM_STATUS_OUT_OF_MEMORY"]), cap // 10, cap),
                 answer(framework="theano", requested_bytes=cap // 5, requested_exact=True, free_bytes=cap // 10, capacity_bytes=cap, cause="full", **gpu)),
        lambda: ("pygpu.gpuarray.GpuArrayException: b'cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory'", answer(framework="theano", cause="full", **gpu)),
        lambda: ("ERROR: LoadError: Out of GPU memory trying to allocate %.3f GiB\nEffective GPU memory usage: 99.00%% (%.3f GiB/%.3f GiB)\nMemory pool usage: %.3f GiB (%.3f GiB reserved)" % (
                 cap / 5 / GIB, used / GIB, cap / GIB, live / GIB, live * 1.01 / GIB), answer(framework="julia", requested_bytes=cap // 5, requested_exact=False, capacity_bytes=cap, allocated_bytes=live,
                 reserved_bytes=int(live * 1.01), cause="full", round=True, unscored=["free_bytes"], **gpu)),
        lambda: ("Out of GPU memory trying to allocate %.3f GiB\nEffective GPU memory usage: 99.00%% (%.3f GiB/%.3f GiB)\nCUDA allocator usage: %.3f GiB\nMemory pool usage: %.3f GiB (%.3f GiB allocated, 1.000 MiB cached)" % (
                 cap / 5 / GIB, used / GIB, cap / GIB, live / GIB, live * 1.01 / GIB, live / GIB), answer(framework="julia", requested_bytes=cap // 5, requested_exact=False, capacity_bytes=cap, allocated_bytes=live,
                 reserved_bytes=int(live * 1.01), cause="full", round=True, unscored=["free_bytes"], **gpu)),
        lambda: ("ERROR: CUDA error: out of memory (code 2, ERROR_OUT_OF_MEMORY)", answer(framework="julia", cause="full", **gpu)),
        lambda: ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating %.2f MiB on device %d: cudaMalloc failed: out of memory\nalloc_tensor_range: failed to allocate CUDA%d buffer of size %d" % (n / MIB, i, i, n),
                 answer(framework="llama.cpp", device_index=i, **gpu, **x)),
        lambda: ("ggml_vulkan: Device memory allocation of size %d failed.\nggml_vulkan: %s" % (n, "vk::Device::allocateMemory: ErrorOutOfDeviceMemory"), answer(framework="llama.cpp", **gpu, **x)),
        lambda: ("ggml_vulkan: Device memory allocation of size %d failed.\nggml_vulkan: Requested buffer size exceeds device memory allocation limit: ErrorOutOfDeviceMemory" % n,
                 answer(framework="llama.cpp", requested_bytes=n, requested_exact=True, cause="per_allocation_limit", **gpu)),
        lambda: ("ggml_metal: error: failed to allocate buffer, size = %8.2f MiB" % (n / MIB), answer(framework="llama.cpp", device_kind="mps", requested_bytes=n, requested_exact=False, cause="full", round=True)),
        lambda: ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", answer(framework="vllm", cause="full", alt=["limit"], **gpu)),
        lambda: ("ValueError: Free memory on device %s(%.2f/%.2f GiB) on startup is less than desired GPU memory utilization (0.9, %.2f GiB). Decrease GPU memory utilization" % (
                 R.choice(["", "cuda:0 "]), cap / 4 / GIB, cap / GIB, cap * .9 / GIB), answer(framework="vllm", requested_bytes=int(cap * .9), requested_exact=False, free_bytes=cap // 4, capacity_bytes=cap,
                 cause="other_process", round=True, unscored=["device_index"], **gpu)),
        lambda: ("ValueError: To serve at least one request with the models's max seq len (32768), %s%.2f GiB KV cache is needed, which is larger than the available KV cache memory (%.2f GiB)." % (
                 R.choice(["", "("]), 4 + n / GIB, 2 + n / GIB / 2), answer(framework="vllm", requested_bytes=n + 4 * GIB, requested_exact=False, free_bytes=2 * GIB + n // 2, cause="full", alt=["too_big", "limit"], round=True, **gpu)),
        lambda: ("[metal::malloc] Attempting to allocate %d bytes which is greater than the maximum allowed buffer size of %d bytes." % (n * 2, n), answer(framework="mlx", device_kind="mps", requested_bytes=n * 2,
                 requested_exact=True, limit_bytes=n, cause="per_allocation_limit")),
        lambda: ("RuntimeError: [malloc] Unable to allocate %d bytes." % n, answer(framework="mlx", device_kind="mps", **x)),
        lambda: ("[METAL] Command buffer execution failed: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)", answer(framework="mlx", device_kind="mps", cause="full")),
        lambda: (R.choice(["RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
                           "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
                           "RuntimeError: GET was unable to find an engine to execute this computation", "RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"../c10/cuda/CUDACachingAllocator.cpp\":1123, please report"]),
                 answer(framework="pytorch", cause="disguised", **gpu)),
        lambda: ("node1:123:456 [%d] include/alloc.h:185 NCCL WARN Cuda failure 'out of memory'" % i, answer(framework="cuda", device_index=i, cause="full", unscored=["device_index"], **gpu)),
        lambda: ("node1:123:456 [%d] include/alloc.h:185 NCCL WARN Failed to CUDA calloc %d bytes" % (i, n), answer(framework="cuda", device_index=i, unscored=["device_index"], **gpu, **x)),
        lambda: ("torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled cuda error, NCCL version 2.18.1\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 'out of memory'",
                 answer(framework="cuda", cause="full", **gpu)),
    ])()


def three_digits(n):
    for unit, name in ((1 << 50, "PiB"), (1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n >= unit:
            v = n / unit
            return ("%.2f" % v if v < 10 else "%.1f" % v if v < 100 else "%.0f." % v) + " " + name
    return "%d. B" % n


def fam_host():
    shape = shape_of(1, 4)
    dtype, item = R.choice([("float64", 8), ("float32", 4), ("uint8", 1), ("int64", 8), ("complex128", 16), ("bool", 1), ("float16", 2)])
    n = product(shape) * item
    big = sizes(GIB, 60 * GIB)
    a, f, s = (sizes(MIB, 50 * GIB) // KIB, sizes(MIB, 100 * MIB) // KIB, R.randrange(10000))
    host = dict(device_kind="host", cause="host_memory")
    dims = "(%d,)" % shape[0] if len(shape) == 1 else "(" + ", ".join(map(str, shape)) + ")"
    pid = R.randrange(100, 4000000)
    kill = "total-vm:%dkB, anon-rss:%dkB, file-rss:%dkB, shmem-rss:%dkB" % (a * 3, a, f, s)
    lim = R.randrange(2, 64) * GIB
    return R.choice([
        lambda: ("%sUnable to allocate %s for an array with shape %s and data type %s" % (R.choice(["numpy.core._exceptions._ArrayMemoryError: ", "numpy._core._exceptions._ArrayMemoryError: ", "",
                 "MemoryError: "]), three_digits(n), dims, dtype), answer(framework="numpy", shape=shape, dtype=dtype, shape_bytes=n, requested_bytes=n, requested_exact=True, **host)),
        lambda: ("MemoryError: Unable to allocate array with shape %s and data type %s" % (dims, dtype), answer(framework="numpy", shape=shape, dtype=dtype, shape_bytes=n, requested_bytes=n, requested_exact=True, **host)),
        lambda: ("Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    x = [0] * n\nMemoryError", answer(framework="python", **host)),
        lambda: ("OSError: [Errno 12] Cannot allocate memory", answer(framework="python", **host)),
        lambda: ("[12345.678901] Out of memory: Killed process %d (python) %s, UID:1000 pgtables:1234kB oom_score_adj:0\n[12345.9] oom_reaper: reaped process %d (python), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB" % (pid, kill, pid),
                 answer(framework="kernel", process_bytes=(a + f + s) * KIB, **host)),
        lambda: ("Out of memory: Kill process %d (python) score 900 or sacrifice child\nKilled process %d (python) %s" % (pid, pid, kill), answer(framework="kernel", process_bytes=(a + f + s) * KIB, **host)),
        lambda: ("[1.2] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=python,pid=%d,uid=0\n[1.3] Out of memory: Killed process %d (python) %s" % (pid, pid, kill),
                 answer(framework="kernel", process_bytes=(a + f + s) * KIB, **host)),
        lambda: ("[1.1] memory: usage %dkB, limit %dkB, failcnt 35777\n[1.1] memory+swap: usage %dkB, limit 9007199254740988kB, failcnt 0\n[1.1] kmem: usage 366kB, limit 9007199254740988kB, failcnt 0\n"
                 "[1.2] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)\n[1.3] Memory cgroup out of memory: Killed process %d (python) %s" % (lim // KIB, lim // KIB, lim // KIB, pid, kill),
                 answer(framework="kernel", device_kind="host", process_bytes=(a + f + s) * KIB, limit_bytes=lim, cause="limit")),
        lambda: (R.choice(["Killed", "zsh: killed     python train.py", "./run.sh: line 12: %d Killed                  python3 train.py" % pid, "Getötet", "Processus arrêté", "Tué", "Убито", "已杀死", "強制終了",
                           "Terminado (killed)", "Command exited with exit code 137", "fish: Job 1, 'python train.py' terminated by signal SIGKILL (Forced quit)", "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)"]),
                 answer(framework="kernel", **host)),
        lambda: (R.choice(["slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",
                           "slurmstepd: error: Detected 1 oom_kill event in StepId=%d.0. Some of the step tasks have been OOM Killed." % pid, "slurmstepd: error: Exceeded job memory limit", "srun: error: node7: task 0: Out Of Memory",
                           "123.batch      batch OUT_OF_ME+    0:125  51854148K"]), answer(framework="slurm", device_kind="host", cause="limit", unscored=["limit_bytes", "process_bytes"])),
        lambda: ("    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Limits:\n      cpu:     4\n      memory:  %dGi\n    Requests:\n      memory:  1Gi" % (lim // GIB),
                 answer(framework="kubernetes", device_kind="host", limit_bytes=lim, cause="limit")),
        lambda: ('{"name":"x","resources":{"limits":{"cpu":"4","memory":"%dGi"},"requests":{"memory":"1Gi"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}' % (lim // GIB),
                 answer(framework="kubernetes", device_kind="host", limit_bytes=lim, cause="limit")),
        lambda: ("Last State: Terminated Reason: OOMKilled Exit Code: 137 Limits: cpu: 4 memory: %dGi Requests: memory: 1Gi" % (lim // GIB), answer(framework="kubernetes", device_kind="host", limit_bytes=lim, cause="limit")),
        lambda: ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.1, ID: abc) where the task (task ID: 12, name=f, pid=7, memory used=%.2fGB) was running was"
                 " %.2fGB / %.2fGB (0.957), which exceeds the memory usage threshold of 0.95." % (big / 3 / GIB, big * .957 / GIB, big / GIB), answer(framework="ray", process_bytes=big // 3, capacity_bytes=big, round=True,
                 unscored=["process_bytes", "allocated_bytes", "free_bytes"], alt=["limit"], **host)),
        lambda: ("[2024-01-02 03:04:05,678] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python', '-u', 'train.py'] exits with return code = -9", answer(framework="deepspeed", **host)),
        lambda: (R.choice(["RuntimeError: DataLoader worker (pid 553) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
                           "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", "RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed.",
                           "OSError: [Errno 28] No space left on device: '/dev/shm/torch_1'"]), answer(framework="pytorch", **host)),
        lambda: ("RuntimeError: unable to mmap %d bytes from file </torch_123_456>: Cannot allocate memory (12)" % big, answer(framework="pytorch", requested_bytes=big, requested_exact=True, **host)),
        lambda: (R.choice(["terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc", "MemoryError: bad allocation"]), answer(framework="cpp", **host)),
        lambda: (R.choice(["OSError: [WinError 1455] The paging file is too small for this operation to complete", "the paging file is too small for this operation to complete. (os error 1455)",
                           "OSError: [WinError 8] Not enough memory resources are available to process this command"]), answer(framework="windows", **host)),
    ])()


def fam_negative():
    return R.choice([
        "RuntimeError: CUDA error: an illegal memory access was encountered", "RuntimeError: CUDA error: device-side assert triggered", "Segmentation fault (core dumped)",
        "OSError: [Errno 28] No space left on device: 'checkpoints/x.pt'", "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran for 600322 milliseconds",
        "worker 0 killed by operator request, restarting (pid 189531)", "| N/A   60C    P0    40W / 165W |   3548MiB /  24576MiB |     58%      Default |",
        "[METAL] Command buffer execution failed: Impacting Interactivity (0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)",
        "Effective GPU memory usage: 24.92% (5.247 GiB/21.053 GiB)\nMemory pool usage: 3.148 GiB (4.723 GiB reserved)", "|            CUDA OOMs: 0            |        cudaMalloc retries: 2         |",
        "hint: lower batch_size if you see CUDA out of memory errors on small cards", "see_memory_usage] MA 24.28 GB         Max_MA 25.28 GB         CA 26.28 GB",
        "KeyboardInterrupt", "ValueError: shapes (3,4) and (5,6) not aligned", "INFO: allocated 3.5 GB of 8 GB, 2.1 GB free", "Process finished with exit code 1", "Job limit: 12 InUse: 3",
        "        except MemoryError:\nValueError: bad", "torch.cuda.max_memory_allocated: 12.3 GiB", "kill -9 was sent by the user", "Early stopping: patience exhausted",
    ]), answer(found=False, framework="none", cause="none")


def fam_warning():
    n = sizes(GIB, 20 * GIB)
    after = "".join("\n%d/900 [====>.....] - ETA: %ds - loss: %.4f" % (k, 900 - k, R.random()) for k in range(1, 12))
    log = "2024-01-02 03:04:05.678901: W tensorflow/core/"
    return R.choice([
        log + "common_runtime/bfc_allocator.cc:290] Allocator (GPU_0_bfc) ran out of memory trying to allocate %s with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be"
        " performance gains if more memory were available." % tf_size(n) + after,
        log + "framework/cpu_allocator_impl.cc:82] Allocation of %d exceeds 10%% of free system memory." % n + after,
        "2024-01-02 03:04:05.678901: I tensorflow/stream_executor/cuda/cuda_driver.cc:733] failed to allocate %s (%d bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory" % (tpu_size(n), n) + after,
        "[TRT] [W] Skipping tactic 3 due to insuf%sicient memory on requested size of %d detected for tactic 0x4.\n[TRT] [I] Engine generation completed in 12.3 seconds." % (R.choice(["", "f"]), n),
    ]), answer(found=False, framework="none", cause="warning", alt=["none"])


FAMILIES = [fam_torch_short, fam_torch_short, fam_torch_long, fam_torch_long, fam_torch_long, fam_torch_allowed, fam_torch_xpu_npu, fam_torch_misc, fam_torch_misc, fam_mps, fam_tf_op, fam_tf_op,
            fam_bfc_dump, fam_tf_misc, fam_jax, fam_jax, fam_runtime, fam_runtime, fam_runtime, fam_runtime, fam_host, fam_host, fam_host, fam_negative, fam_warning]


# --- noise ----------------------------------------------------------------------------------------------------

def progress():
    k = R.randrange(4)
    if k == 0:
        return ["step=%d loss=%.4f gpu_mem=%.2fGB tok/s=%d" % (i * 50, R.random() * 5, R.random() * 80, R.randrange(99999)) for i in range(R.randint(3, 30))]
    if k == 1:
        return ["{'loss': %.4f, 'grad_norm': %.3f, 'epoch': %.2f}" % (R.random(), R.random(), i / 100) for i in range(R.randint(3, 30))]
    if k == 2:
        return ["       %d/100     %.2fG     0.0201     0.0100       234       640" % (i, R.random() * 20) for i in range(R.randint(3, 30))]
    return ["\r".join("Epoch 3:  26%%|██        | %d/6097 [14:55<05:19, 25.22it/s, loss=%.3f]" % (i, R.random()) for i in range(R.randint(3, 20)))]


def traceback():
    return ["Traceback (most recent call last):", "  File \"/home/u/train.py\", line %d, in <module>" % R.randrange(900), "    main(args)", "  File \"/home/u/train.py\", line %d, in step" % R.randrange(900),
            "    loss = step(batch)", "    ^^^^^^^^^^^^^^^^^^", "  File \"/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py\", line 1130, in _call_impl", "    return forward_call(*args, **kwargs)"]


TAILS = [["Process finished with exit code 1"], ["srun: error: node-a17: task 3: Exited with exit code 1"], ["Traceback (most recent call last):", "    raise EOFError", "EOFError"], ["make: *** [Makefile:5: train] Error 1"],
         ["wandb: Synced 5 W&B file(s), 0 media file(s), 2 artifact file(s) and 0 other file(s)"], ["(env) user@host:~/x$"],
         ["ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 198) of binary: /opt/conda/bin/python", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
          "=" * 60, "train.py FAILED", "-" * 60, "Root Cause (first observed failure):", "  rank      : 0 (local_rank: 0)", "  exitcode  : 1 (pid: 198)", "=" * 60]]
PREFIXES = ["[rank%d]: " % 3, "2024-01-02T03:04:05.1234567Z ", "trainer-1  | ", "(Worker pid=123) ERROR 01-02 03:04:05 [worker.py:12] ", "[1,0]<stderr>:", "3: ", "ERROR: ", "2024-01-02 03:04:05,678 ERROR name: ", "\t",
            "(WorkerDict pid=77, ip=10.0.0.2) "]


def noisy(text, ans, fam):
    noise = []
    lines = text.split("\n")
    dump = fam is fam_bfc_dump
    found = ans.get("found", True)
    if found and fam is not fam_host and R.random() < .3:
        lines = traceback() + lines
        noise.append("traceback")
    if found and R.random() < .12 and not dump:
        rep = ["", "During handling of the above exception, another exception occurred:", ""] + lines
        lines = lines + (rep if R.random() < .5 else lines)
        noise.append("repeated")
    if R.random() < .2:
        p = R.choice(PREFIXES)
        lines = [p + l for l in lines]
        noise.append("prefix")
    head = []
    if found and R.random() < .15:
        earlier, _ = R.choice([fam_torch_short, fam_torch_long, fam_torch_misc, fam_tf_op, fam_jax, fam_bfc_dump, fam_runtime])()
        head = traceback() + earlier.split("\n") + ["retrying with batch size %d" % R.randrange(1, 64)] + (progress() if R.random() < .5 else [])
        noise.append("earlier_failure")
    if R.random() < .6:
        head = (progress() if R.random() < .8 else []) + head
        noise.append("progress")
        if head and "\r" in head[-1] and R.random() < .4 and not noise.count("prefix") and fam is not fam_host and fam is not fam_negative:
            head[-1] += lines[0]          # the traceback starts on the bar's own line
            lines = lines[1:]
            noise.append("glued")
    if R.random() < .25 and found:
        lines = lines + R.choice(TAILS)
        noise.append("tail")
    all_lines = head + lines
    wrap = R.random()
    if wrap < .12 and not dump and "glued" not in noise:
        width = R.randint(70, 110)
        out = []
        for l in all_lines:
            out += textwrap.wrap(l, width) if len(l) > width and "\r" not in l else [l]
        all_lines = out
        noise.append("word_wrap")
    elif wrap < .24:
        out = []
        for l in all_lines:
            while len(l) > 80:
                out.append(l[:80])
                l = l[80:]
            out.append(l)
        all_lines = out
        noise.append("hard_wrap")
    elif wrap < .30 and found and "prefix" not in noise and "glued" not in noise and "progress" not in noise:
        p = R.choice(PREFIXES)            # a service that wraps first and prefixes then
        width, out = (80 if R.random() < .5 else R.randint(70, 110)), []
        for l in all_lines:
            if width == 80:
                out += [l[i:i + 80] for i in range(0, len(l), 80)] or [""]
            else:
                out += textwrap.wrap(l, width) if len(l) > width and not dump else [l]
        all_lines = [p + l for l in out]
        noise.append("wrap_then_prefix")
    elif wrap < .34 and "kernel" in str(ans.get("framework")):
        all_lines = [l if len(l) < 90 or "total-vm" not in l else l[:80] + " " * R.randint(60, 90) + l[80:] for l in all_lines]
        noise.append("blank_run")
    body = "\n".join(all_lines)
    if R.random() < .1:
        if R.random() < .5:
            body = "\n".join("\x1b[31m" + l + "\x1b[0m" if l else l for l in body.split("\n"))
        elif "hard_wrap" not in noise:
            import re
            body = re.sub(r"(?<![\w./:\-])(\d+\.\d+)(?![\w.])", "\x1b[1;36m\\1\x1b[0m", body)
        noise.append("ansi")
    if found and R.random() < .06 and not noise.count("hard_wrap") and not dump and not any("wrap" in n for n in noise):
        body = json.dumps({"level": "error", "seq": R.randrange(10**5), "message": body}, ensure_ascii=R.random() < .5)
        noise.append("json")
    data = (body + ("\n" if R.random() < .8 else "")).encode()
    if R.random() < .1:
        data = b"label: \xc4\xe3\xba\xc3 (gbk)\ntemp 71\xb0C fan 63%\ncut multi-byte \xe2\x96\n" + data
        noise.append("bad_utf8")
    if R.random() < .15:
        data = data.replace(b"\n", b"\r\n")
        noise.append("crlf")
    if R.random() < .08:
        data = b"\xef\xbb\xbf" + data
        noise.append("bom")
    if R.random() < .02:
        data = ("\n".join("\n".join(progress()) for _ in range(3000)) + "\n").encode() + data
        noise.append("megabytes")
    return data, noise


FIELDS = ["framework", "device_kind", "device_index", "requested_bytes", "requested_exact", "shape", "dtype", "shape_bytes", "capacity_bytes", "allocated_bytes", "reserved_bytes", "free_bytes", "process_bytes",
          "other_process_bytes", "limit_bytes", "largest_free_bytes"]
BYTES = [f for f in FIELDS if f.endswith("_bytes")]


def main(directory, count, seed):
    R.seed(seed)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "labels.jsonl"), "w", encoding="utf-8") as labels:
        for k in range(count):
            fam = R.choice(FAMILIES)
            text, ans = fam()
            data, noise = noisy(text, ans, fam)
            name = "%05d_%s.txt" % (k, fam.__name__[4:])
            with open(os.path.join(directory, name), "wb") as f:
                f.write(data)
            lab = {f: ans.get(f) for f in FIELDS}
            lab.update(file=name, family=fam.__name__[4:], noise=noise, found=ans.get("found", True), cause=ans["cause"], acceptable_causes=[ans["cause"]] + ans.get("alt", []),
                       acceptable_frameworks=[ans["framework"]] + (["cuda"] if ans["framework"] == "pytorch" and ans["cause"] == "disguised" else []) + (["numpy", "python"] if ans["framework"] == "numpy" else []) + (
                           ["directml"] if "DML" in text else []), rounded_fields=BYTES if ans.get("round") else ans.get("rounded", []), unscored=ans.get("unscored", []))
            labels.write(json.dumps(lab) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300, int(sys.argv[3]) if len(sys.argv) > 3 else 1)
