/* The rows of test_explain_rules.c: what is read, what is concluded, what is advised and what is not. */
#ifndef PLIM_TEST_EXPLAIN_RULES_H
#define PLIM_TEST_EXPLAIN_RULES_H

#include <stddef.h>

#define GIB    1073741824.0
#define MIB    1048576.0
#define ABSENT (-1.0)

typedef struct rule {
    const char *name, *text;
    const char *framework, *cause;
    double requested;         /* ABSENT: not looked at */
    const char *first, *not ; /* in the first two fixes, and in none of them; NULL for nothing */
} rule;

static const rule rules[] = {
    /* not out of memory */
    {"a container that was not killed", "State: exited, OOMKilled:false, ExitCode: 137", "none", "none", ABSENT, NULL,
     NULL},
    {"the same as JSON", "\"OOMKilled\": false,\n\"ExitCode\": 137", "none", "none", ABSENT, NULL, NULL},
    {"another CUDA error in bad_alloc",
     "MemoryError: std::bad_alloc: CUDA error at: cuda_memory_resource.hpp:66: cudaErrorIllegalAddress an illegal "
     "memory "
     "access was encountered",
     "none", "none", ABSENT, NULL, NULL},
    {"code that catches it", "try:\n    step()\nexcept torch.cuda.OutOfMemoryError:\n    pass\n", "none", "none",
     ABSENT, NULL, NULL},
    {"advice about it", "Reduce the batch size if you run out of memory.", "none", "none", ABSENT, NULL, NULL},
    {"a disk that is full", "OSError: [Errno 28] No space left on device: '/data/x.pt'", "none", "none", ABSENT, NULL,
     NULL},
    {"a quota", "google.api_core.exceptions.ResourceExhausted: 429 quota exceeded", "none", "none", ABSENT, NULL, NULL},

    /* recognised */
    {"a name alone", "torch.OutOfMemoryError", "pytorch", "full", ABSENT, NULL, NULL},
    {"cudaMallocAsync", "torch.OutOfMemoryError: Allocation on device \n", "pytorch", "full", ABSENT, NULL, NULL},
    {"cudaMallocAsync with figures",
     "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated "
     "    : "
     "6.45 GiB\nRequested               : 1.13 GiB\nDevice limit            : 7.78 GiB\nFree (according to CUDA): "
     "18.75 MiB\n",
     "pytorch", "full", 1.13 * GIB, NULL, NULL},
    {"SGLang", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "sglang", "full",
     ABSENT, "--mem-fraction-static 0.95", NULL},
    {"vLLM, wrapped inside a word",
     "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stor\ned in "
     "KV cache "
     "(7344).",
     "vllm", "full", ABSENT, "--max-model-len 7344", NULL},
    {"Ollama", "Error: model requires more system memory (10.5 GiB) than is available (7.3 GiB)", "ollama",
     "host_memory", 10.5 * GIB, "smaller model", NULL},
    {"Ollama's runner killed", "Error: llama runner process has terminated: signal: killed", "ollama", "host_memory",
     ABSENT, "smaller model", "DataLoader"},
    {"TensorRT-LLM",
     "[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, pool, stream): out of memory "
     "(buffer.h:120)",
     "tensorrt-llm", "full", ABSENT, "mem_fraction", NULL},
    {"LMDeploy", "[TM][ERROR] CUDA runtime error: out of memory /src/allocator.h:231", "lmdeploy", "full", ABSENT,
     "cache", NULL},
    {"llama.cpp on Metal",
     "ggml_metal_add_buffer: buffer 'data' size 14912.02 is larger than buffer maximum of 9216.00", "llama.cpp",
     "per_allocation_limit", 14912.02 * MIB, "quantization", "nvidia-smi"},
    {"SYCL", "Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)", "sycl", "full", ABSENT,
     NULL, "nvidia-smi"},
    {"ExLlama", "RuntimeError: Insufficient VRAM for model and cache", "exllama", "full", ABSENT, "max_seq_len", NULL},
    {"Numba", "numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY",
     "numba", "full", ABSENT, NULL, NULL},
    {"RMM's pool",
     "MemoryError: std::bad_alloc: out_of_memory: RMM failure at:pool_memory_resource.hpp:196: Maximum pool size "
     "exceeded",
     "rapids", "limit", ABSENT, "maximum", NULL},
    {"XGBoost on a GPU",
     "XGBoostError: Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n- "
     "Free "
     "memory: 12GB\n- Requested memory: 64GB\n",
     "xgboost", "full", 64 * GIB, "Quantile", NULL},
    {"Neuron", "2024 TDRV:dmem_alloc_internal Failed to alloc DEVICE memory: 31457280", "neuron", "full", 31457280,
     "cores", "nvidia-smi"},
    {"NCCL", "NCCL WARN Error: failed to extend /dev/shm/nccl-ab12CD to 9637892 bytes", "nccl", "host_memory", 9637892,
     "shm", NULL},
    {"Colab", "Your session crashed after using all available RAM.", "colab", "host_memory", ABSENT, "Load less", NULL},
    {"Kaggle", "Your notebook tried to allocate more memory than is available. It has restarted.", "kaggle",
     "host_memory", ABSENT, "Load less", NULL},
    {"LSF", "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137.", "lsf",
     "limit", ABSENT, "bsub -M", NULL},
    {"PBS", "=>> PBS: job killed: mem 34205592kb exceeded limit 33554432kb", "pbs", "limit", ABSENT, "mem=64G", NULL},
    {"systemd-oomd", "app-x.scope: systemd-oomd killed 12 process(es) in this unit.", "systemd-oomd", "host_memory",
     ABSENT, NULL, NULL},
    {"Ray of old",
     "ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node x is used (59.5 / 62.6 GB). The top "
     "10:",
     "ray", "host_memory", ABSENT, "fewer tasks", "DataLoader"},
    {"pandas", "pandas.errors.ParserError: Error tokenizing data. C error: out of memory", "pandas", "host_memory",
     ABSENT, "chunksize", NULL},
    {"NumPy, typed by hand", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.2GiB", "numpy",
     "host_memory", 3.2 * GIB, NULL, NULL},
    {"Node", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "node", "limit",
     ABSENT, "max-old-space-size", NULL},
    {"a watermark that was lifted",
     "export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\nRuntimeError: MPS backend out of memory (MPS allocated: 8.00 GB, "
     "other allocations: 1.00 GB, max allowed: 9.07 GB). Tried to allocate 512.00 MB on private pool. Use "
     "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
     "pytorch", "limit", 0.5 * GIB, "empty_cache", "WATERMARK_RATIO=0.0"},
    {"an engine of old", "FATAL ERROR: JS Allocation failed - process out of memory", "node", "limit", ABSENT,
     "max-old-space-size", NULL},
    {"Android",
     "java.lang.OutOfMemoryError: Failed to allocate a 4096 byte allocation with 1024 free bytes and 1024B until OOM, "
     "max allowed footprint 134217728, growth limit 134217728",
     "java", "limit", 4096.0, "largeHeap", "-Xmx"},
    {"weights that do not fit",
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 150000.00 MiB on device 0: cudaMalloc failed: out of "
     "memory\nalloc_tensor_range: failed to allocate CUDA0 buffer of size 157286400000\nllama_model_load: error "
     "loading model: unable to allocate CUDA0 buffer",
     "llama.cpp", "too_big", 157286400000.0, "fewer layers", "-c 4096"},
    {"the driver's own word", "I restarted and get RuntimeError: CUDA error: out of memory at the start", "pytorch",
     "full", ABSENT, "nvidia-smi", NULL},
    {"typed from a screen",
     "RuntimeError: CUDA out of the memory. Tried to allocate 2.00GiB(GPU 0; 10.00GiB total capacity; 5.00GiB already "
     "allocated; 1.50GiB free; 8.00GiB reservd in total by Pytorch)",
     "pytorch", "fragmented", 2 * GIB, NULL, "nvidia-smi; then kill"},
    {"a cache as large as the others",
     "RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 4.00 GiB total capacity; 0.90 GiB already "
     "allocated; 1.00 MiB free; 2.50 GiB reserved in total by PyTorch)",
     "pytorch", "fragmented", 2.0 * 1024 * 1024, NULL, NULL},
    {"Java", "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space", "java", "limit", ABSENT,
     "-Xmx", NULL},
    {"R", "Error: cannot allocate vector of size 1.5 Gb", "r", "host_memory", 1.5 * GIB, NULL, NULL},
    {"Go", "runtime: out of memory: cannot allocate 8589934592-byte block (7864320 in use)", "go", "host_memory",
     8589934592.0, NULL, NULL},
    {"Rust", "memory allocation of 51539607552 bytes failed", "rust", "host_memory", 51539607552.0, NULL, NULL},

    {"ComfyUI's log", "12:01:02 - ERROR - !!! Exception during processing !!! Allocation on device \n", "pytorch",
     "full", ABSENT, NULL, NULL},
    {"Ollama's older word", "Error: llama runner exited, you may not have enough available memory to run this model",
     "ollama", "host_memory", ABSENT, "smaller model", NULL},
    {"Node's stack alone", " 1: 0xb7a940 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]\n", "node",
     "limit", ABSENT, "max-old-space-size", NULL},
    {"semaphores without room",
     "  File \"/usr/lib/python3.10/multiprocessing/synchronize.py\", line 57, in __init__\n    sl = self._semlock = "
     "_multiprocessing.SemLock(\nOSError: [Errno 28] No space left on device\n",
     "pytorch", "host_memory", ABSENT, "shm", NULL},
    {"TensorFlow, typed by hand", "OOM when allocating tensor of shape [4096,1024] and type float", "tensorflow",
     "full", 16 * MIB, NULL, NULL},
    {"R's limit on Windows",
     "Error: cannot allocate vector of size 1.5 Gb\nIn addition: Warning message:\n  Reached total allocation of "
     "4007Mb: "
     "see help(memory.size)",
     "r", "limit", 1.5 * GIB, "8014", NULL},

    {"LightGBM on the host", "lightgbm.basic.LightGBMError: Out of Host Memory", "lightgbm", "host_memory", ABSENT,
     "max_bin", NULL},
    {"LightGBM on OpenCL",
     "import lightgbm as lgb\nterminate called after throwing an instance of 'boost::compute::opencl_error'\n  what(): "
     " "
     "Memory Object Allocation Failure\n",
     "lightgbm", "per_allocation_limit", ABSENT, "cuda", NULL},
    {"RMM of old", "RMMError: RMM_ERROR_OUT_OF_MEMORY", "rapids", "full", ABSENT, NULL, NULL},
    {"Metal", "Error Domain=MTLCommandBufferErrorDomain Code=8 \"Insufficient Memory (IOAF code 8)\"", "metal", "full",
     ABSENT, NULL, "nvidia-smi"},
    {"Colab, told in words", "my session keeps crashing since it 'used all available RAM'", "colab", "host_memory",
     ABSENT, "Load less", NULL},
    {"LMDeploy's fatal line", "[TM][FATAL] allocator.cc(57) out of memory", "lmdeploy", "full", ABSENT, NULL, NULL},

    /* the request against free, cached and live */
    {"TensorFlow's statistics carry units",
     "W tensorflow bfc_allocator.cc:502] Allocator (GPU_0_bfc) ran out of memory trying to allocate 128.00MiB (rounded "
     "to "
     "134217728)requested by op Mul\nStats: \nLimit:      256.00MiB\nInUse:      254.00MiB\nMaxInUse:   "
     "254.00MiB\nReserved:   0B\n",
     "tensorflow", "full", 134217728.0, NULL, NULL},
    {"four GiB on an Intel GPU",
     "XPU out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 15.91 GiB of which 15.80 GiB is "
     "free. Of the "
     "allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
     "pytorch", "per_allocation_limit", 4 * GIB, "RELAXED", "nvidia-smi"},
    {"one request larger than all that is live",
     "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 13.10 GiB is "
     "free. "
     "Including non-PyTorch memory, this process has 10.50 GiB memory in use. Of the allocated memory 10.00 GiB is "
     "allocated by "
     "PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated.",
     "pytorch", "too_big", 20 * GIB, NULL, "expandable"},
    {"free and cached together",
     "CUDA out of memory. Tried to allocate 4.22 GiB. GPU 0 has a total capacity of 15.99 GiB of which 3.71 GiB is "
     "free. Of the "
     "allocated memory 11.00 GiB is allocated by PyTorch, and 768.00 MiB is reserved by PyTorch but unallocated.",
     "pytorch", "fragmented", 4.22 * GIB, "expandable_segments", NULL},
    {"the last megabytes of a small card",
     "RuntimeError: CUDA out of memory. Tried to allocate 32.00 MiB (GPU 0; 4.00 GiB total capacity; 3.30 GiB already "
     "allocated; "
     "41.60 MiB free; 3.31 GiB reserved in total by PyTorch)",
     "pytorch", "full", 32 * MIB, NULL, "page file"},
    {"free beyond doubt",
     "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.99 GiB of which 2.80 GiB is "
     "free. Of the "
     "allocated memory 5.00 GiB is allocated by PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated.",
     "pytorch", "fragmented", 2 * GIB, NULL, "kill PID"},
    {"a split size for those who have it",
     "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 15.00 GiB total capacity; 9.00 GiB already "
     "allocated; "
     "0.50 GiB free; 14.00 GiB reserved in total by PyTorch)\n",
     "pytorch", "fragmented", GIB, NULL, "PYTORCH_CUDA_ALLOC_CONF"},
    {"vLLM asks for more than is free",
     "ValueError: Free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory "
     "utilization (0.9, "
     "19.84 GiB).",
     "vllm", "full", 19.84 * GIB, NULL, "0.95"},

    /* the device decides the advice */
    {"a Mac's watermark",
     "RuntimeError: MPS backend out of memory (MPS allocated: 15.72 GiB, other allocations: 2.41 MiB, max allowed: "
     "18.13 GiB). "
     "Tried to allocate 5.81 GiB on private pool.",
     "pytorch", "limit", 5.81 * GIB, "torch.mps.empty_cache", "cuda"},
    {"an NPU",
     "NPU out of memory. Tried to allocate 1.00 GiB (NPU 0; 29.50 GiB total capacity; 28.90 GiB already allocated; "
     "28.90 GiB current active; 0.30 GiB free; 29.00 GiB reserved in total by PyTorch)",
     "pytorch", "full", GIB, NULL, "nvidia-smi"},
    {"a TPU's program",
     "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 21.95G of "
     "15.48G hbm. "
     "Exceeded hbm capacity by 6.47G.",
     "jax", "too_big", 21.95 * GIB, "batch", "nvidia-smi"},
    {"a TPU under PyTorch",
     "import torch_xla\nRESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm.",
     "pytorch", "too_big", 21.95 * GIB, NULL, "nvidia-smi"},
    {"outputs are no TPU",
     "    return [f(x) for x in zip(handlers, outputs)]\nRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying "
     "to "
     "allocate 14000000000 bytes.",
     "jax", "full", 14000000000.0, "smaller input", "per core"},
    {"an Intel GPU that is hardly used",
     "RuntimeError: XPU out of memory. Tried to allocate 1.00 GiB (GPU 0; 15.50 GiB total capacity; 900.00 MiB already "
     "allocated; 900.00 MiB reserved in total by PyTorch)",
     "pytorch", "other_process", GIB, "xpu-smi", "CUDA_VISIBLE_DEVICES"},
    {"an NPU that is packed",
     "NPU out of memory. Tried to allocate 32.00 MiB (NPU 0; 60.00 GiB total capacity; 59.40 GiB already allocated; "
     "59.40 GiB current active; 12.00 MiB free; 59.80 GiB reserved in total by PyTorch)",
     "pytorch", "full", 32 * MIB, "autocast('npu'", "'cuda'"},
    {"AMD",
     "HIP out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 15.98 GiB of which 0 bytes is free. "
     "Of the "
     "allocated memory 15.50 GiB is allocated by PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated.",
     "pytorch", "full", GIB, NULL, "nvidia-smi"},

    /* the traceback decides the phase */
    {"loading",
     "Traceback (most recent call last):\n  File \"run.py\", line 4, in <module>\n    state = torch.load('model.pt')\n "
     " File "
     "\"/usr/lib/python3/dist-packages/torch/serialization.py\", line 9, in load\n    return x\nRuntimeError: CUDA "
     "error: out of "
     "memory\nCUDA kernel errors might be asynchronously reported\n",
     "pytorch", "full", ABSENT, "map_location", "half the batch"},
    {"the optimizer",
     "Traceback (most recent call last):\n  File \"train.py\", line 40, in <module>\n    optimizer.step()\n  File "
     "\"/x/site-packages/torch/optim/adam.py\", line 9, in step\n    state['exp_avg_sq'] = "
     "torch.zeros_like(p)\nRuntimeError: CUDA "
     "out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.00 GiB total capacity; 9.70 GiB already allocated; 2.00 "
     "MiB free; "
     "9.71 GiB reserved in total by PyTorch)\n",
     "pytorch", "full", 20 * MIB, "AdamW8bit", "batch"},
    {"a batch of one",
     "python train.py --batch_size 1\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.00 GiB "
     "total "
     "capacity; 9.70 GiB already allocated; 2.00 MiB free; 9.71 GiB reserved in total by PyTorch)\n",
     "pytorch", "full", 20 * MIB, "already", "half the batch"},
    {"an old PyTorch",
     "python train.py\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.00 GiB total capacity; "
     "9.70 GiB "
     "already allocated; 2.00 MiB free; 5.00 MiB cached)\n",
     "pytorch", "full", 20 * MIB, NULL, "use_reentrant"},
    {"a card that was taken when TensorFlow 1 started",
     "2017-03-04 05:06:07.123456: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1030] Found device "
     "0:\ntotalMemory: "
     "3.94GiB freeMemory: 180.00MiB\n2017-03-04 05:06:08.123456: E tensorflow/stream_executor/cuda/cuda_blas.cc:366] "
     "failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED\n",
     "tensorflow", "other_process", ABSENT, "allow_growth = True", "tf.config"},
    {"a share that is set",
     "__C.GPU_MEMORY_FRACTION = 0.05\nOOM when allocating tensor with shape[1,64,288,800] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
     "tensorflow", "full", ABSENT, "share of the card", NULL},
    {"a checkpoint that is saved",
     "I cannot save a checkpoint: CUDA out of memory. Tried to allocate 44.00 MiB (GPU 0; 10.75 GiB total capacity; "
     "9.40 "
     "GiB already allocated; 38.62 MiB free; 9.43 GiB reserved in total by PyTorch)",
     "pytorch", "full", 44 * MIB, ".cpu()", NULL},
    {"darknet, told in words",
     "I get cuda out of memory with darknet yolov4, subdivisions=64 is set. CUDA out of memory", "darknet", "full",
     ABSENT, "network size", "subdivisions=64"},
    {"what the command has already is left out of an advice",
     "python -m openrlhf.cli.train_ppo_ray --micro_train_batch_size 1 --micro_rollout_batch_size 1 --packing_samples "
     "--gradient_checkpointing --adam_offload --flash_attn\nI still get CUDA out of memory",
     "pytorch", "full", ABSENT, "--use_liger_kernel", "--packing_samples"},
    {"a server tries its largest batch of images",
     "(EngineCore_DP0 pid=91) INFO 11-15 04:18:13 [v1/worker/gpu_model_runner.py:3047] Starting profile run for "
     "multi-modal models.\n(EngineCore_DP0 pid=91) torch.OutOfMemoryError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "--max-num-seqs", "4 bits"},
    {"a name in a sentence counts less than the program that is spoken of most",
     "I want to use it in fooocus. Kohya_ss fails, also through Pinokio, kohya_ss says cuda out of memory when I train",
     "pytorch", "full", ABSENT, "gradient_checkpointing", "--medvram"},
    {"the last line of a traceback that moves a model",
     "    return t.to(device, dtype if t.is_floating_point() or t.is_complex() else None, non_blocking)\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "16 bits", "accumulate"},
    {"a Mac that is named as a device", "ilab model train --device mps\nafter two minutes I get OOM on training",
     "pytorch", "full", ABSENT, "batch", "nvidia-smi"},
    {"a buffer of llama.cpp's computation",
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8900.01 MiB on device 0: cudaMalloc failed: out of "
     "memory\n"
     "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 9332334592",
     "llama.cpp", "full", 9332334592, "-ub 256", NULL},
    {"a bus error that DeepSpeed reports", "[launch.py:434:sigkill_handler] ['python'] exits with return code = -7",
     "deepspeed", "host_memory", ABSENT, "--shm-size", NULL},
    {"a second try that worked",
     "graph_reserve: allocating 51748.72 MiB on device 1: cudaMalloc failed: out of memory\nsched_reserve: retrying "
     "without "
     "pipeline parallelism\nsrv load_model: initializing, n_slots = 1",
     "llama.cpp", "warning", ABSENT, NULL, NULL},
    {"a model of pictures and words", "Qwen2-VL-7B-Instruct with several images: I get CUDA out of memory in inference",
     "pytorch", "full", ABSENT, "max_pixels", NULL},
    {"graphs on the host", "# MemoryError with a large adjacency matrix\nI build graphs of 31,200 nodes", "python",
     "host_memory", ABSENT, "scipy.sparse", NULL},
    {"a builder's heap",
     "Execution failed for task ':app:mergeDex' org.gradle.api\n> java.lang.OutOfMemoryError: Java heap space", "java",
     "limit", ABSENT, "gradle.properties", NULL},
    {"what a paper says is no failure", "The paper said: the other version runs out of memory on the large graph. Why?",
     "none", "none", ABSENT, NULL, NULL},
    {"a value of the file that is set already",
     "llamafactory-cli train x.yaml\nquantization_bit: 4\nfinetuning_type: lora\ncutoff_len: 1024\n"
     "per_device_train_batch_size: 1\nRuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, NULL, "cutoff_len: 1024"},
    {"all weights of a language model", "I fine-tune llama-7b without PEFT.\nRuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "LoRA", NULL},
    {"a process that the driver does not see",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 2 has a total capacty of 39.39 "
     "GiB of "
     "which 1.05 GiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated "
     "memory "
     "36.82 GiB is allocated by PyTorch, and 109.46 MiB is reserved by PyTorch but unallocated.",
     "pytorch", "full", 3.91 * GIB, NULL, NULL},
    {"frames of a traceback are no video",
     "6 frames\nResourceExhaustedError: OOM when allocating tensor with shape[16,64,112,112] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
     "tensorflow", "full", ABSENT, "batch", "torch."},
    {"blanks of a page",
     "<pre>RuntimeError:&nbsp;CUDA&nbsp;out&nbsp;of&nbsp;memory.&nbsp;Tried&nbsp;to&nbsp;allocate&nbsp;1.57&nbsp;GiB&"
     "nbsp;(GPU"
     "&nbsp;0;&nbsp;11.91&nbsp;GiB&nbsp;total&nbsp;capacity;&nbsp;9.01&nbsp;GiB&nbsp;already&nbsp;allocated)</pre>",
     "pytorch", "full", 1.57 * GIB, NULL, NULL},
    {"video memory is no video",
     "How much video memory does it need?\nRuntimeError: CUDA out of memory. Tried to allocate 68.00 MiB (GPU 0; 10.76 "
     "GiB "
     "total capacity; 9.62 GiB already allocated; 34.69 MiB free; 180.72 MiB cached)",
     "pytorch", "full", 68 * MIB, NULL, "frames at a time"},
    {"XGBoost where only the driver speaks",
     "many models with gpu_hist in Optuna, xgboost as xgb\n  what():  parallel_for failed: out of memory", "xgboost",
     "full", ABSENT, "Release each model", "loss.backward"},
    {"a table shows who has the card, and which is empty",
     "|   0  Tesla T4  On | 00000000:00:08.0 Off |\n| N/A 54C P0 | 15514MiB / 16130MiB | 100% |\n|   1  Tesla T4  On "
     "|\n"
     "| N/A 38C P0 | 0MiB / 16130MiB | 0% |\nRuntimeError: CUDA error: out of memory",
     "pytorch", "other_process", ABSENT, "nvidia-smi", NULL},
    {"evaluation with the Trainer", "Seq2SeqTrainer gives CUDA out of memory while evaluating, I use compute_metrics",
     "pytorch", "full", ABSENT, "eval_accumulation_steps", "no_grad"},
    {"a name of Python's, told in a title", "# MemoryError when computing metrics\nI run trainer.evaluate() on my data",
     "python", "host_memory", ABSENT, NULL, "autocast"},
    {"holes in an old allocator have no setting",
     "python train.py\nRuntimeError: CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 4.00 GiB total capacity; "
     "2.57 GiB already allocated; 74.77 MiB free; 2.85 GiB reserved in total by PyTorch)",
     "pytorch", "fragmented", 128 * MIB, "half the batch", NULL},
    {"a library's handle in XLA's own words",
     "external/xla/xla/pjrt/client.cc:2644] Execution failed: custom call failed: CUDNN_STATUS_ALLOC_FAILED", "jax",
     "disguised", ABSENT, "MEM_FRACTION", NULL},
    {"R's second way of asking",
     "Error in asMethod(object) : \n  'Realloc' could not re-allocate memory (562272000 bytes)", "r", "host_memory",
     562272000, NULL, NULL},
    {"a column of RMM", "nvs: RMM_ALLOC((nil),1199921152)=4\n  what():  parallel_for failed: out of memory", "rapids",
     "full", 1199921152, "spill", NULL},
    {"told in Chinese", "8B GRPO \xE8\xAE\xAD\xE7\xBB\x83\xE4\xB8\x80\xE7\x9B\xB4OOM\xE3\x80\x82\n\xE6\x88\x91",
     "pytorch", "full", ABSENT, NULL, NULL},
    {"memory that grows from call to call",
     "the gradio app has a memory leak: after 10 generations out of memory on my 3090", "pytorch", "full", ABSENT,
     "call to call", "loss.item"},
    {"use of a model does not take the crops of its training",
     "  File \"test.py\", line 55, in validation\n    pred = sliding_window_inference(image, roi, 1, "
     "model)\nRuntimeError: CUDA "
     "out of memory. Tried to allocate 2.70 GiB (GPU 0; 11.91 GiB total capacity; 8.87 GiB already allocated; 2.31 GiB "
     "free; 8.90 GiB reserved in total by PyTorch)",
     "pytorch", "full", ABSENT, "device='cpu'", "RandCrop"},
    {"the advice that darknet prints is no setting",
     " Try to set subdivisions=64 in your cfg-file.\nCUDA Error: out of memory\n", "darknet", "full", ABSENT,
     "subdivisions", NULL},
    {"no loader processes, told in words",
     "The num-workers is set to 0 here.\nRuntimeError: DataLoader worker (pid 2637) is killed by signal: Killed.",
     "pytorch", "host_memory", ABSENT, NULL, "fewer loader"},
    {"PyTorch of the first days",
     "    loss.backward()\nRuntimeError: cuda runtime error (2) : out of memory at "
     "/pytorch/torch/lib/THC/generic/THCStorage.cu:58",
     "pytorch", "full", ABSENT, NULL, "checkpoint"},
    {"an image that is upscaled",
     "with hires fix: CUDA out of memory. Tried to allocate 13.98 GiB (GPU 0; 24.00 GiB total capacity; 16.17 GiB "
     "already "
     "allocated; 5.39 GiB free; 16.19 GiB reserved in total by PyTorch)",
     "pytorch", "too_big", 13.98 * GIB, "--xformers", "x.split"},
    {"another AMD card",
     "HIP out of memory. Tried to allocate 4.50 GiB. GPU 0 has a total capacity of 15.98 GiB of which 1.40 GiB is "
     "free. "
     "Of the allocated memory 1.26 GiB is allocated by PyTorch, and 152.50 MiB is reserved by PyTorch but unallocated.",
     "pytorch", "other_process", 4.5 * GIB, "rocm-smi", "CUDA_VISIBLE_DEVICES"},
    {"memory that grows, told in words",
     "I see the GPU memory increasing with iterations, and then RuntimeError: CUDA error: out of memory in train.py",
     "pytorch", "full", ABSENT, "loss.item()", NULL},
    {"loading, told in words",
     "It fails while loading: model = LlamaForCausalLM.from_pretrained(x)\nRuntimeError: CUDA error: out of "
     "memory\nCUDA "
     "kernel errors might be asynchronously reported",
     "pytorch", "full", ABSENT, "16 bits", "half the batch"},
    {"splatting",
     "  File \"/x/diff_gaussian_rasterization/__init__.py\", line 84, in forward\n    out = "
     "_C.rasterize_gaussians(*args)\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 15.11 GiB (GPU 0; 23.69 GiB total capacity; "
     "5.81 "
     "GiB already allocated; 14.26 GiB free; 7.06 GiB reserved in total by PyTorch)",
     "pytorch", "too_big", 15.11 * GIB, "Gaussians", NULL},
    {"weights that fill the card under vLLM",
     "  File \"/x/site-packages/vllm/layers.py\", line 272, in __init__\n    self.weight = Parameter(torch.empty(n))\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 160.00 MiB (GPU 0; 79.35 GiB total capacity; "
     "78.58 GiB already allocated; 145.19 MiB free; 78.58 GiB reserved in total by PyTorch)",
     "pytorch", "full", 160 * MIB, "tensor-parallel-size", "memory-utilization 0.80"},
    {"a size that overflowed", "RuntimeError: Storage size calculation overflowed with sizes=[-2139761793]", "pytorch",
     "bad_size", ABSENT, NULL, NULL},
    {"a warning, and then it was killed",
     "I train with 2000 images and the program get killed.\n11:22:12.1: W tensorflow/core/framework/allocator.cc:101] "
     "Allocation of 9782001216 exceeds 10% of system memory.",
     "tensorflow", "host_memory", 9782001216.0, "pieces", NULL},
    {"more than nearly every card has",
     "AlphaFold: Allocator (GPU_0_bfc) ran out of memory trying to allocate 163.17GiB (rounded to "
     "175203296000)requested "
     "by op",
     "jax", "too_big", 175203296000.0, "UNIFIED", NULL},
    {"cached crumbs beside a full card",
     "python3 train.py --batch-size 16\nRuntimeError: CUDA out of memory. Tried to allocate 16.00 MiB (GPU 0; 7.79 GiB "
     "total capacity; 6.12 GiB already allocated; 12.31 MiB free; 6.17 GiB reserved in total by PyTorch)",
     "pytorch", "full", 16 * MIB, "--batch-size 8", NULL},
    {"evaluation, told in words",
     "I only run the eval code with batch_size 1 and get torch.OutOfMemoryError: CUDA out of memory", "pytorch", "full",
     ABSENT, "no_grad", "accumulat"},
    {"Snakemake's limit",
     "resources: mem_mb=12000, disk_mb=1000\nslurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the "
     "step tasks have been OOM Killed.",
     "slurm", "limit", ABSENT, "--mem=24G", NULL},
    {"a limit that is not told", "Reason: OOMKilled\nExit Code: 137\n", "kubernetes", "limit", ABSENT,
     "twice what it has now", "64G"},
    {"a heap as full as the collector says",
     "[1:0x5] 900 ms: Mark-Compact 2040.1 (2080.5) -> 2040.0 (2081.0) MB, 3.00 / 0.01 ms allocation failure\nFATAL "
     "ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
     "node", "limit", ABSENT, "4096", NULL},
    {"a limit that is set already",
     "#SBATCH --mem=64G\nslurmstepd: error: Detected 1 oom-kill event(s) in StepId=5.batch cgroup.", "slurm", "limit",
     ABSENT, "--mem=128G", "--mem=64G"},
    {"no DataLoader outside PyTorch", "bash: line 3: 4711 Killed                  perl reduce.pl\n", "kernel",
     "host_memory", ABSENT, NULL, "DataLoader"},

    /* which message counts */
    {"a cut line does not beat the whole one",
     "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; 9.00 GiB already "
     "allocated; "
     "0.50 GiB free; 9.10 GiB reserved in total by PyTorch)\nRuntimeError: CUDA out of memory. Tried to al\n",
     "pytorch", "full", 2 * GIB, NULL, NULL},
    {"Slurm's word beats the shell's",
     "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup.\nEpoch: [0][415/1736] Loss "
     "0.58\nKilled\n",
     "slurm", "limit", ABSENT, NULL, NULL},
    {"CNTK", "CNTK 2.0: CUDA failure 2: out of memory ; GPU=0 ; hostname=x ; expr=cudaMalloc", "cntk", "full", ABSENT,
     NULL, NULL},
    {"llama.cpp that went on",
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 900.00 MiB on device 0: cudaMalloc failed: out of "
     "memory\nretrying "
     "with less\nmain: model loaded\n",
     "llama.cpp", "warning", ABSENT, NULL, NULL},
    /* what is set or tried already is not advised */
    {"a batch of one in words", "Even with batch size 1 I get RuntimeError: CUDA out of memory. in training", "pytorch",
     "full", ABSENT, "the batch is 1 already", "batch_size=N"},
    {"a batch that was reduced", "I reduced the batch size, it trains no longer: RuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "the batch was reduced already", "batch_size=N"},
    {"a smaller batch works", "training works with batch size 1, with batch_size=8: RuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "batch_size=", "already"},
    {"a batch of one by its shape",
     "OOM when allocating tensor with shape[1,3000,2000,3] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0",
     "tensorflow", "full", ABSENT, "smaller images", "batch_size=N"},
    {"checkpointing by its name",
     "my training with gradient checkpointing: torch.cuda.OutOfMemoryError: CUDA out of memory.", "pytorch", "full",
     ABSENT, NULL, "Recompute"},
    {"checkpointing as a wish",
     "in training of llama, should I use gradient checkpointing? RuntimeError: CUDA out of memory.", "pytorch", "full",
     ABSENT, "Recompute", NULL},
    {"adapters in four bits", "QLoRA of llama, per_device_train_batch_size=1, RuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "max_seq_length", "load_in_4bit"},
    {"a server's flags",
     "vllm serve m --max-model-len=512 --dtype=float --enforce-eager\ntorch.cuda.OutOfMemoryError: CUDA out of memory. "
     "Tried "
     "to allocate 518.00 MiB. GPU 0 has a total capacity of 21.67 GiB of which 4.06 MiB is free. Of the allocated "
     "memory "
     "21.32 GiB is allocated by PyTorch, and 1.00 MiB is reserved by PyTorch but unallocated.",
     "pytorch", "full", 518.0 * MIB, "--dtype half", "--max-model-len 4096"},
    {"a server's logger",
     "ERROR 03-13 09:00:43 [core.py:330] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 "
     "has a "
     "total capacity of 7.75 GiB of which 0.17 GiB is free. Of the allocated memory 6.81 GiB is allocated by PyTorch, "
     "and "
     "18.97 MiB is reserved by PyTorch but unallocated.",
     "pytorch", "full", 1.16 * GIB, "--gpu-memory-utilization", NULL},
    {"a server's own prefill",
     "vllm: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 74.16 GiB. GPU 0 has a total capacity of "
     "44.40 GiB "
     "of which 29.89 GiB is free.",
     "pytorch", "too_big", 74.16 * GIB, "--max-num-batched-tokens", NULL},
    {"flags of a web UI that double the weights",
     "launch.py --xformers --opt-split-attention --precision full --no-half\nRuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "without --no-half", NULL},
    {"several models in one process",
     "I train several models in a for loop with keras: OOM when allocating tensor with "
     "shape[64,512] and type float on /job:localhost/replica:0/task:0/device:GPU:0",
     "tensorflow", "full", ABSENT, "clear_session", NULL},
    {"a tensor of the data set",
     "ResourceExhaustedError: OOM when allocating tensor with shape[160000,64,64,1] and type double on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:GatherV2]\nmodel.fit(x, y, batch_size=8)",
     "tensorflow", "full", 160000.0 * 64 * 64 * 8, "from_tensor_slices", NULL},
    {"weights with their state",
     "OOM when allocating tensor with shape[123008,500] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0\n\t "
     "[[{{node training/Adam/mul_23}}]]",
     "tensorflow", "full", ABSENT, "GlobalAveragePooling2D", NULL},
    {"a simulation", "LAMMPS, 20000000 atoms\nERROR: CUDA_ERROR_OUT_OF_MEMORY", "cuda", "full", ABSENT, "MPI ranks",
     NULL},
    {"radiance fields", "nerf training: RuntimeError: CUDA out of memory.", "pytorch", "full", ABSENT, "--netchunk",
     NULL},
    {"the card is free of others",
     "There is no other process on the card. F1 net.cpp:8] Check failed: error == cudaSuccess (2 vs. "
     "0)  out of memory",
     "caffe", "full", ABSENT, NULL, "nvidia-smi"},
    {"detection with a batch of one", "yolo train --batch-size 1 --img 640: RuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "--img 480", "torch.utils.checkpoint"},
    {"the end of one word and the start of the next",
     "I fine-tune the model with LoRA, RuntimeError: CUDA out of memory.", "pytorch", "full", ABSENT, "batch",
     "enable_attention_slicing"},
    {"a C++ program", "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
     "cpp", "host_memory", ABSENT, "pieces", "chunksize"},
    {"killed while offloading", "ZeRO-3 with offload on my server: it was killed, the host's memory is full",
     "deepspeed", "host_memory", ABSENT, "NVMe", NULL},

    /* what is said to be set already */
    {"a batch that was already 1",
     "the batch size was already 1, and still: RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n",
     "pytorch", "full", ABSENT, NULL, "half the batch"},
    {"a batch that was set to 1",
     "python train.py --batch-size 16\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\nI have tried to "
     "set batch to 1 and it is the same\n",
     "pytorch", "full", ABSENT, NULL, "batch=8"},
    {"a checkpoint that is saved",
     "  File \"/opt/lib/bitsandbytes/nn/modules.py\", line 336, in _save_to_state_dict\n    x = undo(y)\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory.\n",
     "pytorch", "full", ABSENT, "Save from host memory", NULL},
    {"a pool that is full behind another error",
     "2020-01-02 03:04:05.6: I tensorflow/core/common_runtime/bfc_allocator.cc:824] Stats:\nLimit: 15753943450\nInUse: "
     "15753943296\nMaxInUse: 15753943296\nNumAllocs: 39\nMaxAllocSize: 1262254080\n\nInternalError: Dst tensor is not "
     "initialized.\n",
     "tensorflow", "full", ABSENT, NULL, "memory_growth"},

    /* a program's own settings, by what it prints, by its name, and by the phase */
    {"a program by its paths",
     "  File \"/app/src/llamafactory/train/sft/workflow.py\", line 73, in run_sft\n    trainer.train()\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB.\n",
     "pytorch", "full", 112 * MIB, "per_device_train_batch_size:", "batch_size=N // 2; loss"},
    {"the same with a batch of one",
     "per_device_train_batch_size: 1\ncutoff_len: 4096\nllamafactory-cli train a.yaml\ntorch.cuda.OutOfMemoryError: "
     "CUDA "
     "out of memory. Tried to allocate 112.00 MiB.\n",
     "pytorch", "full", 112 * MIB, "cutoff_len", "gradient_accumulation_steps doubled"},
    {"paths of Windows",
     "  File \"D:\\ComfyUI\\comfy\\samplers.py\", line 12, in sample\n    go()\ntorch.OutOfMemoryError: Allocation on "
     "device\n",
     "pytorch", "full", ABSENT, "--lowvram", "enable_model_cpu_offload"},
    {"a package that is only listed",
     "- vllm version: 0.4.3\n  File \"/x/axolotl/train.py\", line 118, in train\n    trainer.train()\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB.\n",
     "pytorch", "full", 112 * MIB, "micro_batch_size", "--gpu-memory-utilization"},
    {"what a server is called by goes backwards",
     "import vllm\n  File \"/x/vllm/llm.py\", line 1, in x\n  File \"/y/transformers/trainer.py\", line 3, in "
     "training_step\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB.\n",
     "pytorch", "full", 112 * MIB, "per_device_train_batch_size", "--gpu-memory-utilization"},
    {"a video in a nameless script",
     "I run inference on a long video with my 3090 and get: CUDA out of memory. Tried to allocate 2.00 GiB", "pytorch",
     "full", 2 * GIB, "fewer frames", "batch_size=N"},
    {"smaller input that was in vain",
     "When I run demo.py it shows CUDA out of memory. I reduced the input size, but it is the same.", "pytorch", "full",
     ABSENT, "pieces", "resize"},
    {"a way that was tried",
     "RuntimeError: CUDA out of memory in training.\nI tried every way like changing the batch size from 8 to 4.",
     "pytorch", "full", ABSENT, "already", "batch_size=N // 2"},
    {"killed in training, told in words",
     "Hi, when I train on my dataset the process will be killed by itself. Is there something I missed?", "kernel",
     "host_memory", ABSENT, "as they are needed", "perl"},
    {"a capital is not always darknet's",
     "  File \"/x/vllm/device_allocator/cumem.py\", line 75, in create_and_map\n    map(*handle)\nRuntimeError: CUDA "
     "Error: out of "
     "memory at /app/csrc/cumem_allocator.cpp:62\n",
     "pytorch", "full", ABSENT, "--gpu-memory-utilization", "subdivisions"},
    {"the batch of validation, told in words",
     "I can train with batch size = 24, but on validation I get CUDA OOM. Any idea?", "cuda", "full", ABSENT,
     "in evaluation", "accumulate twice"},
    {"an array that is hardly meant",
     "numpy.core._exceptions.MemoryError: Unable to allocate 926. GiB for an array with shape (6794880, 36601) and "
     "data "
     "type float32",
     "numpy", "host_memory", ABSENT, "is an array of that size meant", NULL},
    {"OOM as a noun", "Describe the bug: the memory of the GPU rises in validation, which causes OOM.", "cuda", "full",
     ABSENT, NULL, NULL},
    {"a wish for a better message",
     "I have seen questions why this gives a MemoryError. It would be helpful to have the shape in the message.",
     "none", "none", ABSENT, NULL, NULL},
    {"a package's name and the name of another inside of it",
     "  File \"D:\\text-generation-webui\\modules\\ui_model_menu.py\", line 247, in load_model_wrapper\n    load()\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory.\n",
     "pytorch", "full", ABSENT, "--n-gpu-layers", "--medvram"},
    {"ComfyUI by its message", "torch.OutOfMemoryError: Allocation on device", "pytorch", "full", ABSENT, "--lowvram",
     NULL},
    {"a gradient is not the optimizer's",
     "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[32,64,128,128]\n [[Node: "
     "training/Adam/gradients/model_2/conv2d_16/convolution_grad/Conv2DBackpropInput = Conv2D[T=DT_FLOAT, "
     "_device=\"/job:localhost/replica:0/task:0/gpu:0\"](x)]]\n",
     "tensorflow", "full", ABSENT, "smaller batch", "largest layer"},
    {"killed by hand", "In training the process was killed manually after the time limit.", "none", "none", ABSENT,
     NULL, NULL},

    /* who speaks, and about what */
    {"TensorFlow's runtime inside jaxlib",
     "2021-10-15 15:02:17.5: E external/org_tensorflow/tensorflow/stream_executor/cuda/cuda_driver.cc:794] failed to "
     "alloc 67108864 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
     "jax", "host_memory", 64 * MIB, NULL, "dataset.shuffle"},
    {"Java's permanent generation",
     "val conf = new SparkConf()\nException in thread \"main\" java.lang.OutOfMemoryError: PermGen space\n", "java",
     "limit", ABSENT, "MaxPermSize", "-Xmx"},
    {"quantized weights in a web UI",
     "  File \"C:\\text-generation-webui\\modules\\models.py\", line 389, in ExLlamav2_HF_loader\n    go()\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory.\n",
     "pytorch", "full", ABSENT, "smaller model", "load_in_4bit"},
    {"a planner of its own", "$ nnUNetv2_train 1 3d_fullres 0\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n",
     "pytorch", "full", ABSENT, "gpu_memory_target", NULL},
    {"TPU of TensorFlow",
     "ERROR:tensorflow:Error recorded from training_loop: Compilation failure: Ran out of memory in memory space hbm. "
     "Used 12.34G of 8.00G hbm. Exceeded hbm capacity by 4.34G.\n",
     "tensorflow", "too_big", 12.34 * GIB, "per core", "NamedSharding"},
    {"a comma instead of a point",
     "I got `cuda out of memory, tried to allocate 50MiB(GPU 0; 1.96GiB totalcapacity;1.33GiB already allocated; "
     "43.5MiB free;1.36 GiB reserved in total by Pytorch)`\n",
     "pytorch", "full", 50 * MIB, NULL, NULL},

    /* levers: what a phase does not hold is not advised, the same lever is advised once, the user's own option is named */
    {"one lever is one advice",
     "while training: RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB (GPU 0; 15.00 GiB total capacity; "
     "8.50 GiB "
     "already allocated; 21.00 MiB free; 13.50 GiB reserved in total by PyTorch)",
     "pytorch", "fragmented", 2.5 * GIB, "16 bits", "accumulate twice"},
    {"a layer that cannot be made: somebody has the card",
     "Traceback (most recent call last):\n  File \"train.py\", line 20, in <module>\n    net = build()\n  File "
     "\"net.py\", line 7, in build\n    c = nn.Conv2d(64, 64, 3)\n  File "
     "\"/usr/lib/python3/site-packages/torch/nn/modules/conv.py\", line 41, in __init__\n    out, inner // groups, "
     "*kernel))\nRuntimeError: CUDA error: out of memory\n",
     "pytorch", "full", ABSENT, "nvidia-smi", "batch"},
    {"DeepSpeed makes its state: the batch is not there yet",
     "Parameter Offload: Total persistent parameters: 81920 in 20 params\nTraceback (most recent call last):\n  File "
     "\"run.py\", line 9, in main\n    train()\n  File \"/x/site-packages/deepspeed/runtime/engine.py\", line 10, in "
     "_configure_optimizer\n    make()\n  File \"/x/site-packages/deepspeed/runtime/zero/stage3.py\", line 30, in "
     "_create_fp32_partitions\n    x = y.float()\nRuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; "
     "24.00 GiB total capacity; 22.50 GiB already allocated; 0.50 GiB free; 22.60 GiB reserved in total by PyTorch)",
     "pytorch", "full", GIB, "offload_optimizer", "micro_batch"},
    {"the option of the user's own list",
     "micro_batch_size: 8\ncutoff_len: 512\nlora_r: 8\nbase_model: some-7b\ntorch.OutOfMemoryError: CUDA out of "
     "memory.",
     "pytorch", "full", ABSENT, "micro_batch_size: 4 (it is 8)", NULL},
    {"a batch of evaluation is not the one to shrink",
     "python train.py --eval_batch_size 64 --train_batch_size 6\nRuntimeError: CUDA out of memory.", "pytorch", "full",
     ABSENT, "--train_batch_size 3 (it is 6)", NULL},
    {"device_map fills the first card",
     "m = AutoModelForCausalLM.from_pretrained(p, device_map='auto')\nRuntimeError: CUDA out of memory. Tried to "
     "allocate "
     "30.00 MiB (GPU 0; 80.00 GiB total capacity; 79.00 GiB already allocated; 9.00 MiB free; 79.00 GiB reserved in "
     "total "
     "by PyTorch)",
     "pytorch", "full", 30 * MIB, "max_memory={0: '68GiB'", NULL},
    {"a sampler is not a decoder",
     "!!! Exception during processing !!! Allocation on device\nTraceback (most recent call last):\n  File "
     "\"/c/ComfyUI/comfy/samplers.py\", line 10, in sample\n  File \"/c/ComfyUI/comfy/ldm/flux/layers.py\", line 20, "
     "in "
     "forward\ntorch.OutOfMemoryError: Allocation on device",
     "pytorch", "full", ABSENT, "--lowvram", "in place of VAE Decode"},
    {"a small array on a full host",
     "numpy.core._exceptions.MemoryError: Unable to allocate 20.0 MiB for an array with shape (32, 300, 273) and data "
     "type float64",
     "numpy", "host_memory", 20 * MIB, "was full before", "float32"},
    {"an array whose shape is a mistake",
     "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 60.0 GiB for an array with shape (180000, 178957) "
     "and "
     "data type uint16",
     "numpy", "host_memory", 60 * GIB, "is an array of that size meant", NULL},
    {"a network that computes in host memory",
     "OOM when allocating tensor with shape[1024,50000] and type float on /job:localhost/replica:0/task:0/device:CPU:0 "
     "by "
     "allocator cpu\nKilled\n",
     "tensorflow", "host_memory", ABSENT, "computes in host memory", "shuffle"},
    {"a trainer's own test is no training",
     "Traceback (most recent call last):\n  File \"main.py\", line 9, in main\n    t.test()\n  File "
     "\"/home/u/sr/trainer.py\", "
     "line 90, in test\n    out = self.model(x)\n  File \"/x/site-packages/torch/nn/modules/module.py\", line 5, in "
     "__call__\n    result = self.forward(*input)\nRuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "smaller input", "accumulate"},
    {"evaluation by the name of the user's function",
     "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n    loop()\n  File \"engine.py\", line "
     "90, in "
     "one_stage_eval_model\n    out = net(x)\nRuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "no_grad", "accumulate"},
    {"growth by the form of the sentence",
     "In training the usage of my card has been increasing as epochs go on.\nRuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "loss.item()", NULL},
    {"a larger batch is no growth",
     "In training I wanted to increase the batch size of each GPU.\nRuntimeError: CUDA out of memory.", "pytorch",
     "full", ABSENT, "batch", "loss.item()"},
    {"nearly all is this process's own",
     "in training RuntimeError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 24.00 GiB total capacity; "
     "23.10 GiB "
     "already allocated; 9.00 MiB free; 23.20 GiB reserved in total by PyTorch)",
     "pytorch", "full", 64 * MIB, NULL, "nvidia-smi"},
    {"half the width of a tensor that is four times too large",
     "I was testing: RuntimeError: CUDA out of memory. Tried to allocate 80.00 GiB (GPU 0; 24.00 GiB total capacity; "
     "10.00 "
     "GiB already allocated; 13.00 GiB free; 10.50 GiB reserved in total by PyTorch)",
     "pytorch", "too_big", 80 * GIB, "out.cpu()", NULL},

    /* what the model's size, an engine and a sentence tell */
    {"sixteen bytes a parameter do not fit",
     "torchrun train_mem.py --model_name some_13b --per_device_train_batch_size 1\ntorch.cuda.OutOfMemoryError: CUDA "
     "out of "
     "memory. Tried to allocate 270.00 MiB (GPU 0; 79.00 GiB total capacity; 77.00 GiB already allocated; 85.00 MiB "
     "free; "
     "77.10 GiB reserved in total by PyTorch)",
     "pytorch", "full", 270 * MIB, "Train adapters", NULL},
    {"weights of gigabytes, killed before step 1",
     "torchrun train.py --model_name_or_path /models/llama-7b --bf16 "
     "True\nERROR:torch.distributed.elastic.multiprocessing."
     "api:failed (exitcode: -9) local_rank: 0 (pid: 12) of binary: python\n",
     "kernel", "host_memory", ABSENT, "low_cpu_mem_usage", "__getitem__"},
    {"an engine that cannot train",
     "RuntimeError: CUDA failed with error out of memory\nBatch size: 32, compute type: int8, whisperX", "ctranslate2",
     "full", ABSENT, "--model small", "gradient_accumulation"},
    {"resumed from a checkpoint", "It trains, but when I resume from a checkpoint: RuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "map_location='cpu'", NULL},
    {"a setting of a list is no resuming",
     "In training with resume_from_checkpoint: False I get RuntimeError: CUDA out of memory.", "pytorch", "full",
     ABSENT, "batch", "map_location"},
    {"a server's own setting before the allocator's",
     "text_generation_server/ warmup\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.01 GiB (GPU "
     "0; "
     "22.20 GiB total capacity; 16.88 GiB already allocated; 3.51 GiB free; 17.87 GiB reserved in total by PyTorch)",
     "pytorch", "fragmented", 4.01 * GIB, "--max-batch-prefill-tokens", NULL},
    {"evaluation in the host's memory was tried",
     "transformers/trainer.py: in trainer.evaluate with eval_accumulation_steps=10 I get RuntimeError: CUDA out of "
     "memory.",
     "pytorch", "full", ABSENT, "argmax", "eval_accumulation_steps="},
    {"a step that computes its loss inside",
     "Traceback (most recent call last):\n  File \"/x/site-packages/pytorch_lightning/core/module.py\", line 10, in "
     "optimizer_step\n    optimizer.step(closure=c)\n  File \"/x/site-packages/torch/optim/adam.py\", line 20, in "
     "step\n    "
     "loss = closure()\n  File \"/x/site-packages/torch/nn/modules/linear.py\", line 30, in forward\n    return "
     "F.linear(x)\nRuntimeError: CUDA out of memory.",
     "pytorch", "full", ABSENT, "accumulate_grad_batches", NULL},
    {"a variable that the script sets",
     "os.environ[\"SUNO_USE_SMALL_MODELS\"] = \"True\"\nos.environ[\"SUNO_OFFLOAD_CPU\"] = \"True\"\nbark: "
     "torch.OutOfMemoryError: CUDA out of memory.",
     "pytorch", "full", ABSENT, NULL, "SUNO_"},
    {"a voice is no picture", "When I synthesize and vocode: RuntimeError: CUDA out of memory.", "pytorch", "full",
     ABSENT, "pieces of sound", "images"},
    {"tried down to one", "In training, with the batch size to even 1, RuntimeError: CUDA out of memory.", "pytorch",
     "full", ABSENT, NULL, "accumulate"},
    {"weights that a server's card cannot hold",
     "vllm serve some/Model-8B\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a "
     "total "
     "capacity of 11.50 GiB of which 180.00 MiB is free. Of the allocated memory 11.00 GiB is allocated by PyTorch",
     "pytorch", "full", 224 * MIB, "--quantization", NULL},
    {"a model's name is no training",
     "text-generation-webui/modules/callbacks.py gentask, model oasst-sft-4-some-12b: torch.cuda.OutOfMemoryError: "
     "CUDA out "
     "of memory.",
     "pytorch", "full", ABSENT, NULL, "optim="},
};

#endif
