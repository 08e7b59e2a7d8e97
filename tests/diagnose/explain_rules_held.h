/* Rows of test_explain_rules.c: who refused, what the figures say is held, and what is said of another run. */
#ifndef PLIM_TEST_EXPLAIN_RULES_HELD_H
#define PLIM_TEST_EXPLAIN_RULES_HELD_H

#include "explain_rules.h"

static const rule held_rules[] = {
    {"a driver's refusal before any pass is another's memory",
     "Traceback (most recent call last):\n  File \"train.py\", line 88, in <module>\n    main()\n  File \"train.py\", "
     "line 61, in main\n    state = setup(args)\nRuntimeError: CUDA error: out of memory\nCUDA kernel errors might be "
     "asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n",
     "pytorch", "full", ABSENT, "kill PID", NULL},
    {"one out of a pass of PyTorch 0.4 is its allocator's",
     "  File \"train.py\", line 75, in train\n    out = net(image)\n  File "
     "\"/home/a/env/lib/python3.6/site-packages/torch/nn/modules/module.py\", line 477, in __call__\n    result = "
     "self.forward(*input, **kwargs)\nRuntimeError: CUDA error: out of memory\n",
     "pytorch", "full", ABSENT, "accumulated twice", "kill PID"},
    {"a context that could not be made",
     "python evaluate.py --batch_size 1\nCall to cuDevicePrimaryCtxRetain results in CUDA_ERROR_OUT_OF_MEMORY\n",
     "numba", "full", ABSENT, "kill PID", NULL},
    {"memory that could not be pinned",
     "  File \"/opt/lib/python3.10/site-packages/torch/utils/data/_utils/pin_memory.py\", line 55, in pin_memory\n    "
     "return data.pin_memory(device)\nRuntimeError: CUDA error: out of memory\nCUDA kernel errors might be "
     "asynchronously reported\n",
     "pytorch", "full", ABSENT, "pin_memory=False", NULL},
    {"a batch of 1 seldom fills a card",
     "I get `CUDA error: out of memory` even with a batch size of 1 when I start the training on GPU 2\n", "cuda",
     "full", ABSENT, "nvidia-smi", NULL},
    {"a batch that is not told may be 1",
     "  File \"train.py\", line 30, in main\n    loss.backward()\nRuntimeError: CUDA out of memory. Tried to allocate "
     "80.00 MiB (GPU 0; 11.00 GiB total capacity; 10.10 GiB already allocated; 20.00 MiB free; 10.30 GiB reserved in "
     "total by PyTorch)\n",
     "pytorch", "full", ABSENT, "where it is 1, a smaller input", "train.py line 30: batch_size"},
    {"the tensor's first axis outweighs a batch of 1 that worked",
     "I used --train_batch_size=100\nResource exhausted: OOM when allocating tensor with shape[100,494] and type float "
     "on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\nThe same with --train_batch_size= "
     "1\nworks\n",
     "tensorflow", "full", ABSENT, "batch_size=50", "is 1 already"},
    {"a line that makes a loss of validation evaluates",
     "  File \"train.py\", line 290, in train\n    val_loss = loss_fn(out, label)\n  File \"/home/a/net/loss.py\", "
     "line 88, in focal\n    p = p.view(-1, 19)\nRuntimeError: CUDA out of memory. Tried to allocate 304.00 MiB (GPU "
     "0; 10.72 GiB total capacity; 9.30 GiB already allocated; 20.00 MiB free; 9.50 GiB reserved in total by "
     "PyTorch)\n",
     "pytorch", "full", ABSENT, "torch.no_grad()", "accumulated twice"},
    {"training that is finished is not what is done",
     "When the first epoch of training is finished and validation starts, it fails with\nRuntimeError: CUDA out of "
     "memory\n",
     "pytorch", "full", ABSENT, "Evaluate less at a time", NULL},
    {"a language model that asks for much at once asks for tokens",
     "  File \"/ssd/text-generation-webui/modules/text_generation.py\", line 321, in generate_with_callback\n    "
     "shared.model.generate(**kwargs)\n  File \"/opt/lib/python3.10/site-packages/transformers/generation/utils.py\", "
     "line 1642, in generate\nRuntimeError: CUDA out of memory. Tried to allocate 2.34 GiB (GPU 0; 23.69 GiB total "
     "capacity; 20.01 GiB already allocated; 1.02 GiB free; 20.30 GiB reserved in total by PyTorch)\n",
     "pytorch", "full", ABSENT, "max_seq_len", NULL},
    {"a picture of few pixels is not what fills the card",
     "Just an image of 1024x580 and my card fails\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 46.00 "
     "MiB. GPU 0 has a total capacity of 11.99 GiB of which 0 bytes is free. Of the allocated memory 10.93 GiB is "
     "allocated by PyTorch, and 280.79 MiB is reserved by PyTorch but unallocated.\n",
     "pytorch", "full", ABSENT, "less still", NULL},
    {"runs of ComfyUI that add up",
     "ComfyUI: running the workflow multiple times leads to OOM\ntorch.OutOfMemoryError: Allocation on device \n",
     "pytorch", "full", ABSENT, "--disable-smart-memory", NULL},
    {"a cache that is small is no lever",
     "llm_load_tensors: offloaded 23/23 layers to GPU\nllm_load_tensors: CUDA0 buffer size = 3946.35 "
     "MiB\nllama_kv_cache_init: CUDA0 KV buffer size = 11.00 MiB\nggml_backend_cuda_buffer_type_alloc_buffer: "
     "allocating 66.50 MiB on device 0: cudaMalloc failed: out of memory\nggml_gallocr_reserve_n: failed to allocate "
     "CUDA0 buffer of size 69730304\n",
     "llama.cpp", "full", ABSENT, "-ngl 17 (23 now)", "smaller context"},
    {"layers that were never put on the card",
     "$ ./main -m model-3b-q4_1.gguf -n 16\nCUDA error 2 at /src/llama.cpp/ggml-cuda.cu:5509: out of memory\ncurrent "
     "device: 0\n",
     "llama.cpp", "full", ABSENT, "nvidia-smi", NULL},
    {"the pool of the computation grows with tokens",
     "CUDA error: out of memory\n  current device: 2, in function alloc at "
     "//ml/backend/ggml/ggml/src/ggml-cuda/ggml-cuda.cu:445\n  cuMemCreate(&handle, reserve_size, &prop, 0)\n",
     "llama.cpp", "full", ABSENT, "num_ctx", NULL},
    {"a compute buffer is not the weights",
     "ggml_gallocr_reserve_n: failed to allocate CUDA4 buffer of size 150995968\nllama_new_context_with_model: failed "
     "to allocate compute buffers\n  File \"/home/a/demo.py\", line 19, in <module>\n    llm = LlamaCpp(\n",
     "llama.cpp", "full", ABSENT, "tensor_split", NULL},
    {"a child that Python saw killed",
     "    raise CalledProcessError(retcode, process.args,\nsubprocess.CalledProcessError: Command '['align', "
     "'--threads', '20']' died with <Signals.SIGKILL: 9>.\n",
     "kernel", "host_memory", ABSENT, NULL, "DataLoader"},
    {"Snakemake runs fewer jobs",
     "rule stats:\n    output: report.json\n/bin/bash: line 1:  6245 Killed                  python3 -u report.py "
     "kg.json\nError in rule stats:\n    jobid: 2\n",
     "kernel", "host_memory", ABSENT, "mem_mb", NULL},
    {"an array that a line of code makes",
     "  File \"load.py\", line 12, in <module>\n    data = np.zeros((3398, 10, 227, 227))\nMemoryError\n", "python",
     "host_memory", ABSENT, "np.memmap", NULL},
    {"an array of a program that others wrote",
     "while doing preprocessing I get\nnumpy.core._exceptions._ArrayMemoryError: Unable to allocate 1.61 GiB for an "
     "array with shape (753, 536, 536) and data type float64\n",
     "numpy", "host_memory", ABSENT, "fewer things at a time", NULL},
    {"a rate of training is no bar of a data set",
     "step 941580, loss = 0.14 (3076.2 examples/sec; 0.042 sec/batch)\nResource exhausted: OOM when allocating tensor "
     "with shape[2304,384] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n",
     "tensorflow", "host_memory", ABSENT, NULL, "ds.map"},
    {"looking who is there is said once",
     "I have sufficient memory available on the GPUs.\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out "
     "of memory while trying to allocate 285212672 bytes.\n",
     "jax", "full", ABSENT, "MEM_FRACTION=0.95", NULL},
    {"voxels are no pixels",
     "mmdet3d/apis/train.py\nmmdetection3d, training PointRCNN\nRuntimeError: CUDA out of memory. Tried to allocate "
     "2.00 MiB (GPU 0; 79.35 GiB total capacity; 76.56 GiB already allocated; 2.62 MiB free; 77.09 GiB reserved in "
     "total by PyTorch)\n",
     "pytorch", "full", ABSENT, "max_voxels", "img_scale"},
    {"an extension's own words",
     "permutohedral_lattice/src/DeviceMemoryAllocator.h:68] GPU memory allocation failed (might be due to insufficient "
     "memory)\n",
     "cuda", "full", ABSENT, NULL, NULL},

    /* what is set, and names that begin longer ones */
    {"settings that are printed are no progress",
     "Namespace(batch_size=65, d_model=512, dropout=0.1, epoch=10, n_head=8, n_layers=6, log=None, cuda=True)\n"
     "  File \"train.py\", line 77, in train_epoch\nRuntimeError: cuda runtime error (2) : out of memory at "
     "THCStorage.cu:58\n",
     "pytorch", "full", ABSENT, "batch_size=32", "it fit before"},
    {"a switch that a file of settings has",
     "bucket_no_upscale = true\ncache_latents = true\nnetwork_module = \"networks.lora\"\n    return t.to(device, "
     "dtype)\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.76 GiB total capacity; "
     "10.92 GiB already allocated; 56.25 MiB free; 10.97 GiB reserved in total by PyTorch)\n",
     "pytorch", "full", ABSENT, NULL, "--cache_latents,"},
    {"two letters that begin a longer name",
     "I train a classifier on CT-Bert\nRuntimeError: CUDA out of memory. Tried to allocate 22.00 MiB (GPU 0; 10.73 GiB "
     "total capacity; 9.54 GiB already allocated; 19.56 MiB free; 9.86 GiB reserved in total by PyTorch)\n",
     "pytorch", "full", ABSENT, "sequences", "patches"},
    {"padding in the words of another release",
     "Compilation failure: Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm. Exceeded hbm capacity by "
     "25.74G.\n  1. Size: 32.00G\n     Unpadded size: 1.00G\n     Extra memory due to padding: 31.00G (32.0x "
     "expansion)\n",
     "jax", "too_big", ABSENT, "last two axes", NULL},
    {"a memory of experiences",
     "  File \"/home/a/rl/agents/experience.py\", line 15, in __init__\n    self.seen = np.empty([self.size] + dims, "
     "dtype=np.uint8)\nMemoryError\n",
     "python", "host_memory", ABSENT, "replay buffer", "np.memmap"},
    {"a matrix made of arrays",
     "  File \"/opt/lib/python3.7/site-packages/xgboost/data.py\", line 187, in _from_numpy_array\nxgboost.core."
     "XGBoostError: std::bad_alloc\n",
     "xgboost", "host_memory", ABSENT, "Read it in parts", NULL},

    /* weights, and programs of video and of views */
    {"a kernel's first axis is no batch",
     "ResourceExhaustedError: OOM when allocating tensor with shape[3,3,256,256] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:RandomStandardNormal]\n",
     "tensorflow", "full", ABSENT, "who holds the card", "first axis is 3"},
    {"a table of words is weights",
     "ResourceExhaustedError: OOM when allocating tensor with shape[171164,200] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n",
     "tensorflow", "full", ABSENT, "vocabulary", NULL},
    {"FramePack",
     "Moving DynamicSwap_HunyuanVideoTransformer3DModelPacked to cuda:0 with preserved memory: 11.1 GB\n"
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 76.00 MiB. GPU 0 has a total capacity of 15.99 GiB "
     "of "
     "which 0 bytes is free. Of the allocated memory 14.63 GiB is allocated by PyTorch, and 312.37 MiB is reserved by "
     "PyTorch but unallocated.\n",
     "pytorch", "full", ABSENT, "Preserved Memory", NULL},
    {"instant-ngp",
     "SUCCESS  Loaded 534 images of size 1920x1080 after 2s\nERROR    Uncaught exception: Could not allocate memory: "
     "tiny-cuda-nn/gpu_memory.h:112 cudaMalloc(&rawptr, n_bytes+DEBUG_GUARD_SIZE*2) failed with error out of memory\n",
     "cuda", "full", ABSENT, "smaller images", "--N_rand"},
    {"a script of PyTorch 0.3 that may only test",
     "THCudaCheck FAIL file=/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory\n", "pytorch", "full",
     ABSENT, "volatile=True", NULL},

    /* what a program does not say of itself */
    {"speakers told apart on a full card",
     "whisperX: I get `CUDA failed with error out of memory` at the diarization step, batch size 16, int8\n",
     "ctranslate2", "full", ABSENT, "del model", NULL},
    {"a web UI by its name",
     "I updated my webui and upscaling runs out of memory\nTried to allocate 4.02 GiB (GPU 0; 12.00 GiB total "
     "capacity; "
     "6.06 GiB already allocated; 2.27 GiB free; 7.45 GiB reserved in total by PyTorch)\n",
     "pytorch", "too_big", 4.02 * GIB, "--xformers", NULL},
    {"offloading that is switched off",
     "deepspeed_config:\n  offload_optimizer_device: none\n  offload_param_device: none\n  zero_stage: 3\n"
     "accelerate launch scripts/run_dpo.py, which trains a 7B model, llama, full fine-tuning\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 26.98 GiB (GPU 0; 79.15 GiB total capacity; "
     "67.21 GiB already allocated; 10.13 GiB free; 67.56 GiB reserved in total by PyTorch)\n",
     "pytorch", "full", ABSENT, "offload_optimizer", NULL},
    {"weights of an image model are in 16 bits or fewer",
     "sh ./scripts/inference_cogvideo_pipeline.sh\nRuntimeError: CUDA out of memory. Tried to allocate 54.00 MiB (GPU "
     "0; "
     "9.78 GiB total capacity; 9.53 GiB already allocated; 28.31 MiB free; 9.54 GiB reserved in total by PyTorch)\n",
     "pytorch", "full", ABSENT, "16 bits or fewer", "x.half()"},

    /* words that mean another thing where they stand */
    {"a U-Net that cuts pictures into regions",
     "  File \"run.py\", line 308, in <module>\n    pred = model_test(x.unsqueeze(0).to(device)).cpu()\n  File "
     "\"C:\\\\a\\\\Unet-Segmentation-Nest-of-Unets\\\\Models.py\", line 25, in forward\n    x = "
     "self.conv(x)\nRuntimeError: "
     "CUDA out of memory. Tried to allocate 768.00 MiB\n",
     "pytorch", "full", 768 * MIB, NULL, "pipe."},
    {"a warning that says there is no no_grad()",
     "it fails when validation starts\nUserWarning: volatile was removed and now has no effect. Use `with "
     "torch.no_grad():` instead.\nTHCudaCheck FAIL file=/src/THC/generic/THCStorage.cu line=58 error=2 : out of "
     "memory\n",
     "pytorch", "full", ABSENT, "Keep no graph", NULL},
    {"adapters are put on a model that is loaded",
     "File \"/code/finetune.py\", line 337, in train\nmodel = get_peft_model(model,lora_config)\ntorch.cuda."
     "OutOfMemoryError: CUDA out of memory.\n",
     "pytorch", "full", ABSENT, NULL, "accumulated twice"},
    {"a tensor that no host has",
     "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
     "to "
     "allocate 132426121216 bytes. Error code 12 (Cannot allocate memory)\n",
     "pytorch", "host_memory", ABSENT, "shorter sequences", NULL},
    {"a batch of Chainer",
     "training with a batch size of 32\nException in main training loop: out of memory to allocate 205520896 bytes "
     "(total "
     "16068929536 bytes)\n  File \"/opt/lib/python2.7/site-packages/chainer/training/trainer.py\", line 315, in run\n",
     "cupy", "full", ABSENT, "smaller batch", NULL},
    {"a board that builds an engine",
     "onnx2tensorrt on a Jetson nano\n[TRT] [E] 1: Unexpected exception std::bad_alloc\n", "cpp", "host_memory", ABSENT,
     "workspace:256", NULL},
    {"an output of Theano",
     "MemoryError: failed to alloc sm output\nApply node that caused the error: CrossentropySoftmax(Dot22.0, b)\n",
     "theano", "host_memory", ABSENT, "smaller batch", NULL},

    /* who is meant */
    {"an exception of a program in C++",
     "terminate called after throwing an instance of 'IuCudaException'\n  what():  IuException: CUDA Error: out of "
     "memory\n",
     "cuda", "full", ABSENT, NULL, "subdivisions"},
    {"faces that dlib looks for",
     "  File \"encode_faces.py\", line 45, in <module>\n  File "
     "\"/opt/lib/python3.7/site-packages/face_recognition/api.py\", "
     "line 100, in _raw_face_locations\nRuntimeError: Error while calling cudaMalloc(&data, n) in file "
     "/src/dlib/cuda/cuda_data_ptr.cpp:58. code: 2, reason: out of memory\n",
     "pytorch", "full", ABSENT, "a longest side of 800", "--offload"},
    {"a pass that is told which set it is for",
     "  File \"main.py\", line 230, in main\n    result = iterate(\"val\", args, val_loader, model)\n  File "
     "\"/home/a/model.py\", "
     "line 119, in forward\n    x = self.conv3(x)\nRuntimeError: CUDA out of memory. Tried to allocate 52.25 MiB (GPU "
     "0; "
     "7.92 GiB total capacity; 6.71 GiB already allocated; 53.94 MiB free; 35.80 MiB cached)\n",
     "pytorch", "full", ABSENT, "no_grad()", "accumulated twice"},
    {"an embedding that the web UI trains",
     "  File \"/a/stable-diffusion-webui/modules/textual_inversion/textual_inversion.py\", line 503, in "
     "train_embedding\n"
     "    scaler.scale(loss).backward()\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n",
     "pytorch", "full", ABSENT, "batch size 1, 512 x 512", "--use_8bit_adam"},
    {"a pair of pictures is no cloud of points",
     "evaluating stereo on KITTI 2015\n  File \"submission.py\", line 81, in test\n    output = model(left, right)\n"
     "RuntimeError: CUDA out of memory. Tried to allocate 352.00 MiB (GPU 0; 3.95 GiB total capacity; 3.39 GiB already "
     "allocated; 97.88 MiB free; 93.61 MiB cached)\n",
     "pytorch", "full", ABSENT, NULL, "pieces of the scene"},
};

#endif
