/* More rows of test_explain_rules.c: rules that hold for a kind, tried on members that no report above is of. */
#ifndef PLIM_TEST_EXPLAIN_RULES_CLASS_H
#define PLIM_TEST_EXPLAIN_RULES_CLASS_H

#include "explain_rules.h"

#define CARD_FULL                                                                                                      \
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 220.00 MiB (GPU 0; 23.65 GiB total capacity; " \
    "22.31 GiB already allocated; 101.06 MiB free; 22.60 GiB reserved in total by PyTorch)\n"
#define CARD_FULL_OLD                                                                                                  \
    "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 10.92 GiB total capacity; 9.93 GiB "       \
    "already allocated; 160.06 MiB free; 213.50 MiB cached)\n"

static const rule class_rules[] = {
    /* every vendor's variable and tool */
    {"another AMD card",
     "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 23.98 GiB "
     "of "
     "which 6.00 MiB is free. Of the allocated memory 1.10 GiB is allocated by PyTorch, and 12.00 MiB is reserved by "
     "PyTorch but unallocated.",
     "pytorch", "other_process", 32 * MIB, "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"},
    {"another NPU, by training",
     "python train.py\nRuntimeError: NPU out of memory. Tried to allocate 64.00 MiB (NPU 3; 29.50 GiB total capacity; "
     "2.02 "
     "GiB already allocated; 2.02 GiB current active; 5.11 MiB free; 2.10 GiB reserved in total by PyTorch)",
     "pytorch", "other_process", 64 * MIB, "ASCEND_RT_VISIBLE_DEVICES", "nvidia-smi"},
    {"an NPU that is chosen already",
     "ASCEND_RT_VISIBLE_DEVICES=3 python train.py\nRuntimeError: NPU out of memory. Tried to allocate 64.00 MiB (NPU "
     "0; "
     "29.50 GiB total capacity; 2.02 GiB already allocated; 2.02 GiB current active; 5.11 MiB free; 2.10 GiB reserved "
     "in "
     "total by PyTorch)",
     "pytorch", "other_process", 64 * MIB, "npu-smi", "ASCEND_RT_VISIBLE_DEVICES"},
    {"HIP's error in bad_alloc",
     "terminate called after throwing an instance of 'thrust::system::detail::bad_alloc'\n  what():  std::bad_alloc: "
     "hipErrorMemoryAllocation: out of memory\n",
     "hip", "full", ABSENT, "rocm-smi", "free -h"},
    {"another error of HIP in bad_alloc", "what():  std::bad_alloc: hipErrorInvalidValue: invalid argument\n", "none",
     "none", ABSENT, NULL, NULL},

    /* a language's own words under every cause */
    {"R and a size beyond reason", "Error: cannot allocate vector of size 71234.5 Gb\nCalls: as.matrix", "r",
     "bad_size", ABSENT, "dim(x)", "scipy"},
    {"Rust and a size beyond reason", "memory allocation of 4611686018427387904 bytes failed", "rust", "bad_size",
     ABSENT, "print the length", "x.shape"},

    /* graphs that a server captures */
    {"vLLM captures",
     "  File \"/opt/vllm/vllm/worker/model_runner.py\", line 1462, in capture_model\n    graph_runner.capture(\n"
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 23.65 GiB "
     "of "
     "which 12.00 MiB is free. Of the allocated memory 22.10 GiB is allocated by PyTorch, and 90.00 MiB is reserved by "
     "PyTorch but unallocated.",
     "pytorch", "full", 30 * MIB, "--enforce-eager", "optimizer"},
    {"SGLang captures on HIP",
     "sglang/srt/model_executor/cuda_graph_runner.py\nException: Capture cuda graph failed: HIP out of memory. Tried "
     "to "
     "allocate 96.00 MiB. GPU 2 has a total capacity of 191.98 GiB of which 10.00 MiB is free. Of the allocated memory "
     "190.90 GiB is allocated by PyTorch, and 30.00 MiB is reserved by PyTorch but unallocated.",
     "pytorch", "full", 96 * MIB, "--disable-cuda-graph", "from_pretrained"},
    {"what vLLM prints at its start is no setting",
     "INFO model_runner.py:889] Capturing the model for CUDA graphs. To run the model in eager mode, set "
     "'enforce_eager=True' or use '--enforce-eager' in the CLI.\n  File \"/opt/vllm/vllm/worker/model_runner.py\", "
     "line "
     "1173, in capture_model\n    graph_runner.capture(**capture_inputs)\nRuntimeError: CUDA error: out of memory",
     "pytorch", "full", ABSENT, "--enforce-eager", NULL},
    {"graphs were captured long before",
     "Capture cuda graph begin. avail mem=6.94 GB\nCapture cuda graph end.\n  File "
     "\"/opt/sglang/srt/managers/scheduler.py\", line 380, in event_loop_overlap\ntorch.OutOfMemoryError: CUDA out of "
     "memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.10 GiB is free. Of the "
     "allocated memory 76.10 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but unallocated.",
     "pytorch", "full", 2.32 * GIB, "--mem-fraction-static", NULL},
    {"a server does not train, and what is left of a setting is whole",
     "sglang serve --model-path org/moe-fp8 --tp 16 --cuda-graph-max-bs 8 fails, even with batch size 1.\nException: "
     "Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.31 GiB. GPU 3 has a total capacity of 139.81 "
     "GiB of which 1.04 GiB is free.",
     "pytorch", "full", 1.31 * GIB, "--disable-cuda-graph", "adapters"},
    {"graphs that are off",
     "vllm serve m --enforce-eager\n  File \"/opt/vllm/vllm/worker/model_runner.py\", line 9, in capture_model\n"
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 23.65 GiB "
     "of "
     "which 12.00 MiB is free. Of the allocated memory 22.10 GiB is allocated by PyTorch, and 90.00 MiB is reserved by "
     "PyTorch but unallocated.",
     "pytorch", "full", 30 * MIB, "--gpu-memory-utilization", "--enforce-eager"},

    /* a matrix over all nodes */
    {"nodes without the word graph",
     "My data has 30,000 nodes, how can I use this layer?\nRuntimeError: CUDA out of memory. Tried to allocate 3.35 "
     "GiB "
     "(GPU 0; 10.76 GiB total capacity; 6.83 GiB already allocated; 2.93 GiB free; 6.85 GiB reserved in total by "
     "PyTorch)",
     "pytorch", "full", 3.35 * GIB, "sparse form", NULL},
    {"machines are no graph", "I train on 2 nodes with 8 cards each.\n" CARD_FULL, "pytorch", "full", 220 * MIB,
     "batch", "sparse"},

    /* the phase as prose tells it */
    {"in eval mode", "CUDA error in eval() mode\n" CARD_FULL_OLD, "pytorch", "full", 512 * MIB, "torch.no_grad()",
     "accumulat"},
    {"at the validation stage", "It breaks at the validation stage of my network.\n" CARD_FULL_OLD, "pytorch", "full",
     512 * MIB, "torch.no_grad()", "accumulat"},
    {"after predicting some", "After predicting 300 samples my program ends like this:\n" CARD_FULL_OLD, "pytorch",
     "full", 512 * MIB, "torch.no_grad()", "accumulat"},
    {"a forward pass while testing",
     "Error while testing on large images\n  File \"net.py\", line 20, in forward\n    x = "
     "self.conv(x)\n" CARD_FULL_OLD,
     "pytorch", "full", 512 * MIB, "torch.no_grad()", "accumulat"},
    {"validation before 0.4",
     "During validation I get: RuntimeError: cuda runtime error (2) : out of memory at "
     "/opt/conda/conda-bld/pytorch_1518243271935/work/torch/lib/THC/generic/THCStorage.cu:58",
     "pytorch", "full", ABSENT, "volatile=True", "no_grad"},
    {"training goes on", "While training my network, the test accuracy was good before.\n" CARD_FULL_OLD, "pytorch",
     "full", 512 * MIB, "batch", "no_grad"},

    {"an evaluation between epochs",
     "My training is fine, but when it comes to epoch 20 and the network has to be validated, this is what I "
     "get.\n" CARD_FULL_OLD,
     "pytorch", "full", 512 * MIB, "torch.no_grad()", "accumulat"},
    {"one request, and hardly anything live: no graph is in the way",
     "It fails during evaluation.\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 15.20 GiB (GPU "
     "0; "
     "15.90 GiB total capacity; 0.90 GiB already allocated; 13.80 GiB free; 1.00 GiB reserved in total by PyTorch)",
     "pytorch", "too_big", 15.2 * GIB, "evaluation", "no_grad"},

    {"state of the weights, not of the batch",
     "I train a network.\nResourceExhaustedError (see above for traceback): OOM when allocating tensor with "
     "shape[90000,1024]\n\t [[Node: training/Adam/mul_7 = Mul[T=DT_FLOAT, "
     "_device=\"/job:localhost/replica:0/task:0/gpu:0\"](Adam/beta_1/read, training/Adam/Variable_2/read)]]",
     "tensorflow", "full", ABSENT, "SGD(momentum", NULL},

    /* a call that is too young is left out, not its fix */
    {"the rest of a setting stays",
     "RuntimeError: CUDA out of memory. Tried to allocate 5.10 GiB (GPU 0; 7.93 GiB total capacity; 4.02 GiB already "
     "allocated; 3.10 GiB free; 14.00 MiB cached)",
     "pytorch", "too_big", 5.1 * GIB, "a smaller batch, image or sequence", "scaled_dot_product"},

    /* what was tried, and what was not */
    {"advice of others is no trial", "People say to reduce the batch size, but I cannot find it. I train.\n" CARD_FULL,
     "pytorch", "full", 220 * MIB, "batch", "was reduced already"},
    {"a description is no trial",
     "The images have a small resolution, but nvidia-smi did not show more. I train a net.\n" CARD_FULL, "pytorch",
     "full", 220 * MIB, "batch", "was reduced already"},
    {"one's own deed is one", "I lowered the batch size but it did not change anything. I train a net.\n" CARD_FULL,
     "pytorch", "full", 220 * MIB, NULL, "half the batch"},

    /* killed, in other spellings */
    {"a job of the shell", "[3]  - 8123 killed python3 preprocess.py --all", "kernel", "host_memory", ABSENT, "free",
     NULL},
    {"DeepSpeed's launcher, and a full host",
     "[INFO] [utils.py:799:see_memory_usage] CPU Virtual Memory: used = 489.1 GB, percent = 97.1%\n[INFO] "
     "[launch.py:316:sigkill_handler] Killing subprocess 4711",
     "deepspeed", "host_memory", ABSENT, "host", "{"},
    {"DeepSpeed's launcher, and host memory to spare",
     "[INFO] [utils.py:799:see_memory_usage] CPU Virtual Memory: used = 89.1 GB, percent = 17.3%\n[INFO] "
     "[launch.py:316:sigkill_handler] Killing subprocess 4711",
     "none", "none", ABSENT, NULL, NULL},
    {"a join that was killed", "df = left.merge(right, on='id')\nKilled\n", "kernel", "host_memory", ABSENT,
     "duplicates", "num_workers=0"},

    /* code that is posted */
    {"a model loaded without a type",
     "model = AutoModelForCausalLM.from_pretrained(\"tiiuae/falcon-7b\", trust_remote_code=True)\nout = "
     "model.generate(x)\n" CARD_FULL,
     "pytorch", "full", 220 * MIB, "torch_dtype=torch.float16", NULL},
    {"a model loaded with one",
     "model = AutoModelForCausalLM.from_pretrained(\"tiiuae/falcon-7b\", torch_dtype=torch.bfloat16)\nout = "
     "model.generate(x)\n" CARD_FULL,
     "pytorch", "full", 220 * MIB, NULL, "names no type"},
    {"a tokenizer has no weights",
     "tok = AutoTokenizer.from_pretrained(\"tiiuae/falcon-7b\")\nout = model.generate(x)\n" CARD_FULL, "pytorch",
     "full", 220 * MIB, NULL, "names no type"},
    {"a model that is trained",
     "model = AutoModelForSeq2SeqLM.from_pretrained(\"t5-large\")\ntrainer.train()\n" CARD_FULL, "pytorch", "full",
     220 * MIB, NULL, "names no type"},

    {"16 bits do not fit either",
     "model = AutoModelForCausalLM.from_pretrained(\"org/model-13b-chat\").to(device)\nout = "
     "model.generate(x)\n" CARD_FULL,
     "pytorch", "full", 220 * MIB, "4bit", "names no type"},
    {"a pool of processes",
     "  File \"make.py\", line 12, in <module>\n    rows = executor.map(f, names)\n  File "
     "\"/usr/lib/python3.9/concurrent/futures/process.py\", line 484, in _chain_from_iterable_of_lists\nMemoryError",
     "python", "host_memory", ABSENT, "max_workers=2", NULL},

    /* the program, not a word of it */
    {"diffusers, whatever its model is called",
     "pipe = StableDiffusionXLPipeline.from_pretrained(\"stabilityai/stable-diffusion-xl-base-1.0\", "
     "torch_dtype=torch.float16)\npipe.to(\"cuda\")\nimage = pipe(prompt).images[0]\n" CARD_FULL,
     "pytorch", "full", 220 * MIB, "enable_model_cpu_offload", "--n_samples"},
    {"a web UI that upscales",
     "With hires fix and an upscaling of 2 I see\nCUDA out of memory. Tried to allocate 40.00 GiB (GPU 0; 12.00 GiB "
     "total capacity; 2.56 GiB already allocated; 6.11 GiB free; 3.60 GiB reserved in total by PyTorch)",
     "pytorch", "too_big", 40 * GIB, "--xformers", "--outscale"},

    /* figures */
    {"a heap by its small collections",
     "web:build: [9:0x5] 900 ms: Scavenge 1020.2 (1050.4) -> 1019.1 (1052.4) MB, 11.99 / 0.00 ms allocation failure;\n"
     "web:build: FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
     "node", "limit", ABSENT, "--max-old-space-size=2048", NULL},
    {"an axis too many",
     "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 101. GiB for an array with shape (1500, 1500, "
     "1500, "
     "4) and data type float64",
     "numpy", "host_memory", ABSENT, "broadcasting", NULL},
    {"a large table has no axis too many",
     "MemoryError: Unable to allocate 149. GiB for an array with shape (100000, 200000) and data type float64", "numpy",
     "host_memory", ABSENT, NULL, "broadcasting"},
    {"far more is free than was asked for",
     "Windows 11\ntorch.OutOfMemoryError: HIP out of memory. Tried to allocate 18.00 MiB. GPU 0 has a total capacity "
     "of "
     "23.98 GiB of which 20.10 GiB is free. Of the allocated memory 1.72 GiB is allocated by PyTorch, and 8.98 MiB is "
     "reserved by PyTorch but unallocated.",
     "pytorch", "fragmented", 18 * MIB, "ROCm", "smaller batch"},
};

#endif
