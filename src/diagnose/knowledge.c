/* The one table of causes and fixes. Adding a fix is adding a row; docs/causes.md is printed from it. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "diagnose/cause.h"

/* What must be so before a fix is offered, so that nothing is advised that the numbers contradict. */
#define NEED_LIST(X)                                                                                                   \
    X(NOTHING, "")                                                                                                     \
    X(CACHED, "a good part of the request is cached but unallocated")                                                  \
    X(NO_CACHED, "next to nothing is cached")                                                                          \
    X(TORCH_2, "the wording of PyTorch 2.1 or later, and cached memory")                                               \
    X(TORCH_1, "the wording of PyTorch 1.4 to 2.0, and cached memory")                                                 \
    X(TORCH_OLD, "the wording of PyTorch 1.3 or earlier, and cached memory")                                           \
    X(FLOAT64, "the tensor is float64")                                                                                \
    X(FLOAT32, "the tensor is float32, or its type is not told")                                                       \
    X(BATCHED, "the request is sane")                                                                                  \
    X(ROOM, "the device has room beyond the limit")                                                                    \
    X(SHM, "/dev/shm or a bus error")                                                                                  \
    X(NOT_SHM, "not /dev/shm")                                                                                         \
    X(KILLED, "the process was killed")                                                                                \
    X(LIVE, "live allocations are told")                                                                               \
    X(WINDOWS, "Windows' commit limit")                                                                                \
    X(HOLDERS, "a dump names what holds the memory")

typedef enum need {
#define NEED_ENUM(name, sentence) NEED_##name,
    NEED_LIST(NEED_ENUM)
#undef NEED_ENUM
} need;

static const char *const need_sentences[] = {
#define NEED_SENTENCE(name, sentence) sentence,
    NEED_LIST(NEED_SENTENCE)
#undef NEED_SENTENCE
};

/* How the saving is reckoned. */
#define SAVING_LIST(X)                                                                                                 \
    X(UNKNOWN, "")                                                                                                     \
    X(CACHED, "reserved - allocated")                                                                                  \
    X(OTHERS, "what the other processes hold")                                                                         \
    X(HALF_REQUEST, "half of this request; every other activation halves, too")                                        \
    X(HALF_TENSOR, "half of this tensor")                                                                              \
    X(REQUEST, "this request")                                                                                         \
    X(EXCESS, "request - capacity or limit: what must go at least")                                                    \
    X(ROOM, "free memory beyond the limit")                                                                            \
    X(HOLDER, "the largest block in the dump")

typedef enum saving {
#define SAVING_ENUM(name, sentence) SAVING_##name,
    SAVING_LIST(SAVING_ENUM)
#undef SAVING_ENUM
} saving;

static const char *const saving_sentences[] = {
#define SAVING_SENTENCE(name, sentence) sentence,
    SAVING_LIST(SAVING_SENTENCE)
#undef SAVING_SENTENCE
};

typedef struct fix_row {
    plim_cause cause;
    const char *frameworks; /* words, "*" for all */
    need need;
    saving saving;
    const char *title, *setting;
} fix_row;

#define ROW(cause, frameworks, need, saving, title, setting)                                                           \
    { PLIM_CAUSE_##cause, frameworks, NEED_##need, SAVING_##saving, title, setting }

/* In the order to try, within a cause. {conf} is the name of the allocator's variable for the version at hand. */
static const fix_row rows[] = {
    ROW(BAD_SIZE, "*", NOTHING, UNKNOWN,
        "Look for the bug, not for memory: print the shapes before the line that failed",
        "print(x.shape, x.dtype); swapped dimensions, a missing [batch] index and int32 overflow are the usual three"),
    ROW(BAD_SIZE, "pytorch", NOTHING, UNKNOWN, "Check for an outer product made by broadcasting",
        "(N, 1) with (1, N) gives (N, N): use .squeeze(-1) or check targets.shape == outputs.shape"),
    ROW(BAD_SIZE, "tensorflow", NOTHING, UNKNOWN, "Check for an unknown dimension that became -1 or 0",
        "tf.debugging.assert_shapes([(x, ('B', 'H', 'W', 'C'))])"),
    ROW(BAD_SIZE, "jax", NOTHING, UNKNOWN, "See which array has that size before anything is allocated",
        "jax.eval_shape(step, *args)"),
    ROW(BAD_SIZE, "numpy python", NOTHING, UNKNOWN, "Check the number of rows and columns that were asked for",
        "scipy.sparse instead of .toarray(); np.add.outer and meshgrid square their input"),

    ROW(TOO_BIG, "pytorch", NOTHING, EXCESS, "Never build this tensor whole: work in pieces",
        "for part in x.split(n): ...; attention: F.scaled_dot_product_attention(q, k, v) instead of softmax(q @ k.T)"),
    ROW(TOO_BIG, "tensorflow", NOTHING, EXCESS, "Never build this tensor whole: work in pieces",
        "tf.map_fn(f, tf.split(x, n)) or a smaller batch in dataset.batch(n)"),
    ROW(TOO_BIG, "jax", NOTHING, EXCESS, "Never build this array whole: work in pieces",
        "jax.lax.map(f, xs, batch_size=n), or jax.checkpoint(f) around the layer"),
    ROW(TOO_BIG, "*", NOTHING, HALF_TENSOR, "Use a type of half the width",
        "float16 or bfloat16 for this tensor, float32 instead of float64"),
    ROW(TOO_BIG, "pytorch tensorflow jax mlx", NOTHING, HALF_REQUEST,
        "Use a smaller batch or a smaller image for this step",
        "batch_size // 2 with twice the accumulation steps; weight the loss by samples"),
    ROW(TOO_BIG, "jax pytorch", NOTHING, UNKNOWN, "Spread it over devices",
        "JAX: jax.sharding.NamedSharding; PyTorch: FSDP or tensor parallel"),
    ROW(TOO_BIG, "tensorflow", NOTHING, UNKNOWN, "Spread it over devices", "tf.distribute.MirroredStrategy()"),
    ROW(TOO_BIG, "llama.cpp vllm", NOTHING, UNKNOWN, "Use a smaller context or a smaller quantization",
        "llama.cpp: -c 4096, -ngl 20; vLLM: --max-model-len 4096"),

    ROW(LIMIT, "pytorch", ROOM, ROOM, "Raise or remove the memory fraction that was set",
        "torch.cuda.set_per_process_memory_fraction(1.0, device)"),
    ROW(LIMIT, "tensorflow", NOTHING, UNKNOWN, "Raise or remove the cap on the GPU's pool",
        "memory_limit= in tf.config.LogicalDeviceConfiguration, or per_process_gpu_memory_fraction in TF 1.x"),
    ROW(LIMIT, "jax", NOTHING, UNKNOWN, "Raise the fraction of the card that JAX may take",
        "XLA_PYTHON_CLIENT_MEM_FRACTION=0.95"),
    ROW(LIMIT, "cupy", NOTHING, UNKNOWN, "Raise the pool's limit",
        "cupy.get_default_memory_pool().set_limit(size=...), or CUPY_GPU_MEMORY_LIMIT"),
    ROW(LIMIT, "paddle", NOTHING, UNKNOWN, "Raise the limit", "FLAGS_gpu_memory_limit_mb=0"),
    ROW(LIMIT, "onnxruntime", NOTHING, UNKNOWN, "Raise the arena's limit", "provider option gpu_mem_limit (bytes)"),
    ROW(LIMIT, "julia", NOTHING, UNKNOWN, "Raise the limit", "JULIA_CUDA_HARD_MEMORY_LIMIT=100%"),
    ROW(LIMIT, "slurm", NOTHING, UNKNOWN, "Ask Slurm for more memory",
        "#SBATCH --mem=64G (see sacct -j JOB --format=MaxRSS,ReqMem for what was used)"),
    ROW(LIMIT, "kubernetes", NOTHING, UNKNOWN, "Raise the container's limit",
        "resources.limits.memory in the pod's specification"),
    ROW(LIMIT, "kernel", NOTHING, UNKNOWN, "Raise the cgroup's limit",
        "docker run --memory=..., systemd MemoryMax=..., or memory.max of the cgroup"),
    ROW(LIMIT, "slurm kubernetes kernel ray deepspeed", NOTHING, UNKNOWN,
        "Use fewer loader processes, each holds its own copies",
        "num_workers=2, prefetch_factor=2; see it live with: plimsoll top"),
    ROW(LIMIT, "slurm kubernetes kernel", NOTHING, UNKNOWN, "See the growth before the kill",
        "plimsoll run -- python train.py"),
    ROW(LIMIT, "pytorch tensorflow jax", BATCHED, HALF_REQUEST, "Stay under the limit: use a smaller batch",
        "half the batch with twice the accumulation steps; weight the loss by samples"),

    ROW(PER_ALLOCATION_LIMIT, "pytorch", NOTHING, EXCESS, "Split this tensor, the platform has no block so large",
        "torch.split over the batch; on Intel GPUs each block must stay under 4 GiB (or set "
        "UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1)"),
    ROW(PER_ALLOCATION_LIMIT, "tensorflow", NOTHING, UNKNOWN, "Split this tensor, the platform has no block so large",
        "tf.split over the batch"),
    ROW(PER_ALLOCATION_LIMIT, "jax", NOTHING, UNKNOWN, "Split this array, the platform has no block so large",
        "jax.lax.map over the batch"),
    ROW(PER_ALLOCATION_LIMIT, "mlx", NOTHING, EXCESS, "Split the array below the largest Metal buffer",
        "mx.split(x, n); mx.metal.device_info()['max_buffer_length'] tells the limit"),
    ROW(PER_ALLOCATION_LIMIT, "llama.cpp", NOTHING, UNKNOWN, "Use a smaller buffer",
        "-c 4096, fewer layers on the device (-ngl), or GGML_VK_FORCE_MAX_ALLOCATION_SIZE"),
    ROW(PER_ALLOCATION_LIMIT, "*", NOTHING, HALF_TENSOR, "Use a type of half the width",
        "float16 or bfloat16 for this tensor"),

    ROW(OTHER_PROCESS, "*", NOTHING, OTHERS, "Find who holds the memory and stop it, if it is yours",
        "nvidia-smi --query-compute-apps=pid,used_memory --format=csv; then kill PID (an old notebook kernel, a "
        "crashed run)"),
    ROW(OTHER_PROCESS, "pytorch", NOTHING, UNKNOWN, "Use another GPU", "CUDA_VISIBLE_DEVICES=1 python train.py"),
    ROW(OTHER_PROCESS, "tensorflow", NOTHING, UNKNOWN, "Take only what is needed, so that both fit",
        "tf.config.experimental.set_memory_growth(gpu, True), or TF_FORCE_GPU_ALLOW_GROWTH=true; in both programs"),
    ROW(OTHER_PROCESS, "jax", NOTHING, UNKNOWN, "Take only what is needed, so that both fit",
        "XLA_PYTHON_CLIENT_PREALLOCATE=false; in both programs"),
    ROW(OTHER_PROCESS, "tensorflow jax", NOTHING, UNKNOWN, "Use another GPU", "CUDA_VISIBLE_DEVICES=1"),
    ROW(OTHER_PROCESS, "vllm", NOTHING, UNKNOWN, "Ask for less of the card", "--gpu-memory-utilization 0.5"),
    ROW(OTHER_PROCESS, "pytorch tensorflow jax", BATCHED, HALF_REQUEST, "If it must stay, use a smaller batch",
        "half the batch with twice the accumulation steps; weight the loss by samples"),

    ROW(FRAGMENTED, "pytorch", TORCH_2, CACHED, "Let segments grow instead of being split",
        "{conf}=expandable_segments:True"),
    ROW(FRAGMENTED, "pytorch", TORCH_1, CACHED, "Keep large blocks from being split", "{conf}=max_split_size_mb:128"),
    ROW(FRAGMENTED, "pytorch", TORCH_OLD, CACHED, "Give the cache back before the phase that needs large blocks",
        "torch.cuda.empty_cache()"),
    ROW(FRAGMENTED, "pytorch", CACHED, CACHED, "Allocate the largest shapes first",
        "run one step with the longest batch before training; pad lengths to a few sizes"),
    ROW(FRAGMENTED, "pytorch", NO_CACHED, UNKNOWN,
        "Nothing is cached, so no allocator setting will help: look at the host's commit limit first",
        "Windows: enlarge the page file; Linux: check ulimit -v and vm.overcommit_memory"),
    ROW(FRAGMENTED, "pytorch", NO_CACHED, UNKNOWN, "See whether the free figure is true for this process",
        "nvidia-smi in the same container; MIG slices and WSL2 report the whole card"),
    ROW(FRAGMENTED, "tensorflow", NOTHING, UNKNOWN, "Use the driver's allocator, which does not fragment like the pool",
        "TF_GPU_ALLOCATOR=cuda_malloc_async"),
    ROW(FRAGMENTED, "jax", NOTHING, UNKNOWN, "Use the driver's allocator, which does not fragment like the pool",
        "TF_GPU_ALLOCATOR=cuda_malloc_async, or XLA_PYTHON_CLIENT_ALLOCATOR=platform (slow)"),
    ROW(FRAGMENTED, "tensorflow jax", NOTHING, UNKNOWN, "Keep shapes fixed",
        "pad or bucket to a few lengths (dataset.padded_batch, drop_remainder=True): every new shape cuts the pool "
        "anew"),
    ROW(FRAGMENTED, "jax", NOTHING, UNKNOWN, "Let XLA reuse the inputs' memory",
        "jax.jit(step, donate_argnums=(0, 1))"),
    ROW(FRAGMENTED, "*", BATCHED, HALF_REQUEST, "Use a smaller batch: smaller blocks find a hole",
        "half the batch with twice the accumulation steps; weight the loss by samples"),

    ROW(FULL, "pytorch", BATCHED, HALF_REQUEST,
        "Use half the batch and accumulate twice: activations halve, the result stays",
        "loss = criterion(out, y) * len(y) / samples_in_step; loss.backward(); optimizer.step() every second batch"),
    ROW(FULL, "pytorch", NOTHING, UNKNOWN, "Recompute activations in the backward pass",
        "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"),
    ROW(FULL, "pytorch", FLOAT32, UNKNOWN, "Keep activations in 16 bits",
        "with torch.autocast('cuda', dtype=torch.bfloat16): ..."),
    ROW(FULL, "pytorch", NOTHING, UNKNOWN,
        "Do not keep graphs alive: total += loss.item(), and no gradients in evaluation",
        "with torch.no_grad(): ...; optimizer.zero_grad(set_to_none=True)"),
    ROW(FULL, "pytorch", NOTHING, UNKNOWN, "Shrink the optimizer's state (8 bytes a parameter in AdamW)",
        "bitsandbytes.optim.AdamW8bit, or Adafactor"),
    ROW(FULL, "tensorflow", HOLDERS, HOLDER, "Look at what holds most in the dump below, and shrink that first",
        "the holders list of this explanation"),
    ROW(FULL, "tensorflow", BATCHED, HALF_REQUEST, "Use a smaller batch",
        "dataset.batch(n // 2); accumulate gradients over two batches, weighted by samples"),
    ROW(FULL, "tensorflow", NOTHING, UNKNOWN, "Recompute activations in the backward pass",
        "@tf.recompute_grad on the block"),
    ROW(FULL, "tensorflow", FLOAT32, HALF_TENSOR, "Keep activations in 16 bits",
        "tf.keras.mixed_precision.set_global_policy('mixed_float16')"),
    ROW(FULL, "tensorflow", NOTHING, UNKNOWN, "Forget old graphs between models", "tf.keras.backend.clear_session()"),
    ROW(FULL, "jax", HOLDERS, HOLDER, "Look at the largest buffers below, and shrink those first",
        "the holders list of this explanation"),
    ROW(FULL, "jax", BATCHED, HALF_REQUEST, "Use a smaller batch",
        "half the batch with optax.MultiSteps(optimizer, every_k_schedule=2)"),
    ROW(FULL, "jax", NOTHING, UNKNOWN, "Recompute activations in the backward pass",
        "jax.checkpoint(block) (jax.remat)"),
    ROW(FULL, "jax", NOTHING, UNKNOWN, "Let XLA reuse the old parameters' memory",
        "jax.jit(step, donate_argnums=(0, 1))"),
    ROW(FULL, "jax", NOTHING, UNKNOWN, "Let JAX take more of the card", "XLA_PYTHON_CLIENT_MEM_FRACTION=0.95"),
    ROW(FULL, "llama.cpp", NOTHING, UNKNOWN, "Put fewer layers on the device, or use a smaller context",
        "-ngl 20 -c 4096, or a smaller quantization"),
    ROW(FULL, "vllm", NOTHING, UNKNOWN, "Give the cache more room, or ask for less of it",
        "--gpu-memory-utilization 0.95 --max-model-len 4096 --enforce-eager"),
    ROW(FULL, "tensorrt", NOTHING, UNKNOWN, "Shrink the workspace",
        "config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30), or trtexec --memPoolSize=workspace:1024"),
    ROW(FULL, "darknet", NOTHING, UNKNOWN, "Use more subdivisions",
        "subdivisions=64 in the [net] section; or a smaller width and height"),
    ROW(FULL, "mlx", NOTHING, UNKNOWN, "Use a smaller batch or a quantized model",
        "--batch-size 1 --grad-checkpoint; mx.clear_cache()"),
    ROW(FULL, "cupy", NOTHING, UNKNOWN, "Give freed blocks back", "cupy.get_default_memory_pool().free_all_blocks()"),
    ROW(FULL, "julia", NOTHING, UNKNOWN, "Free what the collector has not seen yet", "GC.gc(true); CUDA.reclaim()"),
    ROW(FULL, "paddle mxnet caffe theano onnxruntime directml cuda deepspeed darknet tensorrt", BATCHED, HALF_REQUEST,
        "Use a smaller batch", "half of what it was"),
    ROW(FULL, "*", NOTHING, UNKNOWN, "See who else is on the device", "nvidia-smi"),

    ROW(DATASET_ON_DEVICE, "tensorflow", NOTHING, HOLDER, "Keep the data set on the host",
        "with tf.device('/CPU:0'): dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(n)"),
    ROW(DATASET_ON_DEVICE, "tensorflow", NOTHING, HOLDER, "Feed NumPy arrays in batches",
        "model.fit(x, y) with a keras.utils.Sequence or tf.data.Dataset.from_generator"),
    ROW(DATASET_ON_DEVICE, "jax", NOTHING, HOLDER, "Keep the data set in NumPy and send one batch at a time",
        "jax.device_put(x[i:i + n]) instead of jnp.array(x)"),
    ROW(DATASET_ON_DEVICE, "pytorch", NOTHING, HOLDER, "Keep the data set on the host",
        "x[i:i + n].to('cuda', non_blocking=True) inside the loop"),
    ROW(DATASET_ON_DEVICE, "*", NOTHING, UNKNOWN, "Use the type that the data has",
        "uint8 images are a quarter of float32 ones: convert on the device, a batch at a time"),

    ROW(HOST_MEMORY, "*", SHM, UNKNOWN, "Give the container a larger /dev/shm",
        "docker run --shm-size=8g (or --ipc=host); Kubernetes: an emptyDir with medium: Memory on /dev/shm"),
    ROW(HOST_MEMORY, "pytorch", SHM, UNKNOWN, "Pass batches through files instead",
        "torch.multiprocessing.set_sharing_strategy('file_system')"),
    ROW(HOST_MEMORY, "*", WINDOWS, UNKNOWN, "Enlarge the page file",
        "System > Advanced > Performance > Virtual memory: system managed, on a disk with room"),
    ROW(HOST_MEMORY, "*", FLOAT64, HALF_TENSOR, "Use float32 instead of float64",
        "np.zeros(shape, dtype=np.float32), x.astype(np.float32, copy=False)"),
    ROW(HOST_MEMORY, "numpy python cpp", NOT_SHM, REQUEST, "Do not hold it whole: map it from disk or work in pieces",
        "np.memmap(path, dtype, mode='r', shape=shape), np.load(path, mmap_mode='r'), pandas chunksize="),
    ROW(HOST_MEMORY, "pytorch kernel deepspeed ray", NOTHING, UNKNOWN,
        "Use fewer loader processes, each holds its own copies",
        "DataLoader(num_workers=2, prefetch_factor=2, persistent_workers=False)"),
    ROW(HOST_MEMORY, "tensorflow", NOTHING, UNKNOWN, "Shrink the input pipeline's buffers",
        "dataset.shuffle(1000) instead of the whole set, .prefetch(1), no .cache() without a file name"),
    ROW(HOST_MEMORY, "jax", NOTHING, UNKNOWN, "Read batches lazily on the host",
        "np.load(path, mmap_mode='r'); no jnp arrays on the CPU backend by accident (JAX_PLATFORMS)"),
    ROW(HOST_MEMORY, "*", KILLED, UNKNOWN, "See the growth before the kill: a plateau, a cliff or a leak",
        "plimsoll run -- python train.py"),
    ROW(HOST_MEMORY, "pytorch", NOT_SHM, UNKNOWN, "Load the checkpoint without a second copy",
        "torch.load(path, map_location='cpu', mmap=True); safetensors maps by itself"),
    ROW(HOST_MEMORY, "*", NOT_SHM, UNKNOWN, "See what the machine really allows",
        "plimsoll top --once (cgroup, ulimit, overcommit, /dev/shm)"),

    ROW(DISGUISED, "tensorflow", NOTHING, UNKNOWN, "Leave the libraries some memory: let the pool grow",
        "tf.config.experimental.set_memory_growth(gpu, True), or TF_FORCE_GPU_ALLOW_GROWTH=true"),
    ROW(DISGUISED, "jax", NOTHING, UNKNOWN, "Leave the libraries some memory", "XLA_PYTHON_CLIENT_MEM_FRACTION=0.7"),
    ROW(DISGUISED, "*", NOTHING, UNKNOWN, "Look at the device while it fails: is it full?", "nvidia-smi -l 1"),
    ROW(DISGUISED, "pytorch", NOTHING, UNKNOWN,
        "Use a smaller batch, and see whether the message becomes a plain out of memory",
        "batch_size=1 for one try; CUDA_LAUNCH_BLOCKING=1 python train.py"),
    ROW(DISGUISED, "pytorch", NOTHING, UNKNOWN,
        "If memory is free, look at indices and versions: an out-of-range label gives the same message",
        "run the step on the CPU once; python -m torch.utils.collect_env"),
    ROW(DISGUISED, "tensorflow", NOTHING, UNKNOWN, "If memory is free, check that cuDNN and CUDA match this build",
        "tf.sysconfig.get_build_info()"),

    ROW(WARNING, "tensorflow", NOTHING, UNKNOWN,
        "Nothing failed. To get rid of the message, use a smaller batch or let the pool grow",
        "TF_FORCE_GPU_ALLOW_GROWTH=true"),
    ROW(WARNING, "tensorrt", NOTHING, UNKNOWN,
        "Nothing failed: a slower tactic was taken. A larger workspace allows the faster one",
        "config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, bytes)"),
    ROW(WARNING, "jax", NOTHING, UNKNOWN, "Nothing failed. To get rid of the message, take less of the card at start",
        "XLA_PYTHON_CLIENT_PREALLOCATE=false"),
    ROW(WARNING, "pytorch", NOTHING, UNKNOWN, "Nothing failed", "no change is needed"),
};

static const size_t row_count = sizeof rows / sizeof *rows;

/* --- choosing ------------------------------------------------------------------------------------------------- */

static bool names(const char *list, const char *word) {
    if (strcmp(list, "*") == 0) return true;
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
    return false;
}

static bool worth_cached(const plim_explanation *x) {
    uint64_t cached = plim__cached(x);
    return cached >= 32u << 20 && (!x->requested.known || cached >= x->requested.bytes / 4);
}

static bool needed(need wanted, const plim_explanation *x, unsigned facts) {
    bool torch_1 = strncmp(x->version, "PyTorch 1.", 10) == 0;
    bool old = strstr(x->version, "to 1.3") || strstr(x->version, "to 0.4");
    switch (wanted) {
    case NEED_NOTHING: return true;
    case NEED_CACHED: return worth_cached(x);
    case NEED_NO_CACHED: return !worth_cached(x);
    case NEED_TORCH_2: return worth_cached(x) && !torch_1;
    case NEED_TORCH_1: return worth_cached(x) && torch_1 && !old;
    case NEED_TORCH_OLD: return worth_cached(x) && old;
    case NEED_FLOAT64: return strcmp(x->dtype, "float64") == 0;
    case NEED_FLOAT32: return !x->dtype[0] || strcmp(x->dtype, "float32") == 0;
    case NEED_BATCHED: return !x->requested.known || x->requested.bytes > 0;
    case NEED_ROOM: return x->limit.known;
    case NEED_SHM: return facts & PLIM_FACT_SHM;
    case NEED_NOT_SHM: return !(facts & PLIM_FACT_SHM);
    case NEED_KILLED: return facts & PLIM_FACT_KILLED;
    case NEED_LIVE: return x->allocated.known;
    case NEED_WINDOWS: return facts & PLIM_FACT_WIN_COMMIT;
    case NEED_HOLDERS: return x->holder_count > 0;
    }
    return false;
}

static plim_amount reckon(saving how, const plim_explanation *x) {
    uint64_t bytes;
    switch (how) {
    case SAVING_CACHED: return plim__cached(x) ? plim__rounded((double)plim__cached(x)) : (plim_amount){0};
    case SAVING_OTHERS: return plim__others(x, &bytes) && bytes ? plim__rounded((double)bytes) : (plim_amount){0};
    case SAVING_HALF_TENSOR:
        if (x->shape_bytes.known) return plim__rounded((double)x->shape_bytes.bytes / 2);
        return x->requested.known ? plim__rounded((double)x->requested.bytes / 2) : (plim_amount){0};
    case SAVING_HALF_REQUEST:
        return x->requested.known ? plim__rounded((double)x->requested.bytes / 2) : (plim_amount){0};
    case SAVING_REQUEST: return x->requested;
    case SAVING_EXCESS: {
        plim_amount whole =
            x->limit.known && (!x->capacity.known || x->limit.bytes < x->capacity.bytes) ? x->limit : x->capacity;
        if (!x->requested.known || !whole.known || x->requested.bytes <= whole.bytes) return (plim_amount){0};
        return plim__rounded((double)(x->requested.bytes - whole.bytes));
    }
    case SAVING_ROOM: return x->free.known && x->free.bytes ? plim__rounded((double)x->free.bytes) : (plim_amount){0};
    case SAVING_HOLDER:
        return x->holder_count ? plim__rounded((double)x->holders[0].bytes * (double)x->holders[0].count)
                               : (plim_amount){0};
    case SAVING_UNKNOWN: break;
    }
    return (plim_amount){0};
}

static void write_setting(const fix_row *row, const plim_explanation *x, char *setting, size_t size) {
    const char *conf = strstr(row->setting, "{conf}");
    if (!conf) {
        snprintf(setting, size, "%s", row->setting);
        return;
    }
    const char *name = strstr(x->version, "2.9")                              ? "PYTORCH_ALLOC_CONF"
                       : strstr(x->message, "HIP out")                        ? "PYTORCH_HIP_ALLOC_CONF"
                       : x->device_kind && strcmp(x->device_kind, "npu") == 0 ? "PYTORCH_NPU_ALLOC_CONF"
                                                                              : "PYTORCH_CUDA_ALLOC_CONF";
    snprintf(setting, size, "%.*s%s%s", (int)(conf - row->setting), row->setting, name, conf + strlen("{conf}"));
}

void plim__choose_fixes(plim_explanation *x, unsigned facts) {
    for (size_t i = 0; i < row_count && x->fix_count < PLIM_EXPLANATION_FIXES; i++) {
        const fix_row *row = &rows[i];
        if (row->cause != x->cause || !names(row->frameworks, x->framework) || !needed(row->need, x, facts)) continue;
        plim_fix *fix = &x->fixes[x->fix_count++];
        snprintf(fix->title, sizeof fix->title, "%s", row->title);
        write_setting(row, x, fix->setting, sizeof fix->setting);
        fix->saving = reckon(row->saving, x);
        if (fix->saving.known) snprintf(fix->saving_note, sizeof fix->saving_note, "%s", saving_sentences[row->saving]);
    }
}

/* --- the table as a page -------------------------------------------------------------------------------------- */

static void add_cell(plim__str *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|') plim__str_addc(out, '\\');
        plim__str_addc(out, *text);
    }
}

static void add_row(plim__str *out, const fix_row *row) {
    plim__str_addf(out, "| %s | ", strcmp(row->frameworks, "*") == 0 ? "all" : row->frameworks);
    add_cell(out, need_sentences[row->need]);
    plim__str_add(out, " | ");
    add_cell(out, row->title);
    plim__str_add(out, " | `");
    add_cell(out, row->setting);
    plim__str_addf(out, "` | %s |\n", saving_sentences[row->saving]);
}

plim_status plim_explanation_causes(char **text, plim_error *error) {
    static const struct {
        const char *word, *sentence, *shown;
    } causes[] = {
#define CAUSE(name, word, sentence, shown) {word, sentence, shown},
        PLIM_CAUSE_LIST(CAUSE)
#undef CAUSE
    };
    plim__str out = {0};
    *text = NULL;
    plim__str_add(
        &out,
        "# Why training runs out of memory, and what to change first\n\n"
        "Printed by `plimsoll explain --causes` from the table in `src/diagnose/knowledge.c`: adding a fix is adding "
        "a\n"
        "row there. Causes are checked in this order; fixes stand in the order to try, and one is offered only when\n"
        "its evidence is there.\n");
    for (size_t c = 0; c < PLIM_CAUSE_NONE; c++) {
        plim__str_addf(&out, "\n## %s\n\n%s. Shown by: %s.\n\n", causes[c].word, causes[c].sentence, causes[c].shown);
        plim__str_add(
            &out, "| framework | evidence needed | what to do | setting or line | saving |\n|---|---|---|---|---|\n");
        for (size_t i = 0; i < row_count; i++)
            if ((size_t)rows[i].cause == c) add_row(&out, &rows[i]);
    }
    if (out.failed) {
        plim__str_free(&out);
        return plim__fail_memory(error, "the page of causes", out.length);
    }
    *text = out.data;
    return PLIM_OK;
}
