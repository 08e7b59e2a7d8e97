/* More rows of test_explain_rules.c: places that name their cure, whose memory it is, which phase a frame tells of, and what
 * the numbers of a server, a tensor or a count of parameters say about the setting to turn. */
#ifndef PLIM_TEST_EXPLAIN_RULES_PLACE_H
#define PLIM_TEST_EXPLAIN_RULES_PLACE_H

#include "explain_rules.h"

#define PLACE_FULL                                                                                                     \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 80.00 MiB. GPU 0 has a total capacity of 23.55 "    \
    "GiB of which 30.00 MiB is free. Of the allocated memory 22.80 GiB is allocated by PyTorch, and 60.00 MiB is "     \
    "reserved by PyTorch but unallocated.\n"

static const rule place_rules[] = {
    /* whose memory it is */
    {"of several processes the one with this one's figure is this one",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacty of 23.65 "
     "GiB of which 40.00 MiB is free. Process 31 has 402.00 MiB memory in use. Process 30 has 22.30 GiB memory in use. "
     "Process 32 has 402.00 MiB memory in use. Of the allocated memory 21.80 GiB is allocated by PyTorch, and 9.00 MiB "
     "is reserved by PyTorch but unallocated.\n",
     "pytorch", "full", 64 * MIB, NULL, "stop it, if it is yours"},
    {"a folder of users is no Mac",
     "  File \"/data/users/me/train.py\", line 3, in <module>\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacty of 23.65 "
     "GiB of which 1.00 GiB is free. Process 7 has 20.00 GiB memory in use. Including non-PyTorch memory, this process "
     "has 2.50 GiB memory in use. Of the allocated memory 2.00 GiB is allocated by PyTorch, and 9.00 MiB is reserved "
     "by PyTorch but unallocated.\n",
     "pytorch", "other_process", ABSENT, "nvidia-smi", "Activity Monitor"},
    {"an app on one card is not told to use another",
     "[InvokeAI]::INFO --> invokeai/app/run.py\ntorch.OutOfMemoryError: HIP out of memory. Tried to allocate 3.00 GiB. "
     "GPU 0 has a total capacity of 15.98 GiB of which 1.10 GiB is free. Of the allocated memory 1.30 GiB is allocated "
     "by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n",
     "pytorch", "other_process", ABSENT, "invokeai.yaml", NULL},

    {"a batch of evaluation is not the one that is halved",
     "Training batch size is 188\nvalidation batch size is 48\n  File \"train.py\", line 3, in <module>\n    "
     "loss.backward()\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "batch_size=94", "24"},
    {"nor is one that a configuration lists behind",
     "per_device_train_batch_size=16, per_device_eval_batch_size=4\n  File \"train.py\", line 3, in <module>\n    "
     "loss.backward()\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "=8", "batch_size=2"},
    {"a loader that was terminated is the loader's framework's, and no SIGKILL is claimed",
     "RuntimeError: DataLoader worker (pid 8102) is killed by signal: Terminated.\n", "pytorch", "host_memory", ABSENT,
     "num_workers", NULL},

    /* what a frame tells */
    {"an argument that is passed on is no resumed training",
     "  File \"/x/transformers/trainer.py\", line 1600, in train\n  File \"finetune.py\", line 40, in main\n    "
     "trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, NULL, "map_location"},
    {"weights that are set one by one are loaded",
     "  File \"/x/accelerate/utils/modeling.py\", line 311, in set_module_tensor_to_device\n    new_value = "
     "old_value.to(device)\n" PLACE_FULL "  File \"/x/axolotl/cli/train.py\", line 38, in <module>\n",
     "pytorch", "full", 80 * MIB, "load_in_4bit", "micro_batch_size"},
    {"arguments that are validated are no evaluation",
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 90.00 MiB on device 3: cudaMalloc failed: out of memory\n"
     "llama_new_context_with_model: failed to allocate compute buffers\n  File \"chain.py\", line 9, in <module>\n    "
     "llm = LlamaCpp(\n  File \"/x/pydantic/main.py\", line 212, in __init__\n    "
     "self.__pydantic_validator__.validate_python(data, self_instance=self)\n",
     "llama.cpp", "full", 90 * MIB, "n_gpu_layers", NULL},
    {"only the marked line of a cell's frame counts",
     "ResourceExhaustedError: OOM when allocating tensor of shape [150000,300] and type float\n"
     "/x/keras/engine/training.py in _fit_loop(self, f, ins)\n   1234     ins_batch[i] = ins_batch[i].toarray()\n"
     "-> 1236     outs = f(ins_batch)\n/x/keras/backend/tensorflow_backend.py in get_session()\n"
     "--> 200     session.run(tf.variables_initializer(uninitialized_vars))\n",
     "tensorflow", "full", ABSENT, "vocabulary", NULL},
    {"latents that are made before training",
     "  File \"/x/sd_scripts/sdxl_train_network.py\", line 228, in <module>\n    trainer.train(args)\n  File "
     "\"/x/sd_scripts/library/strategy_sd.py\", line 168, in cache_batch_latents\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "--vae_batch_size", NULL},
    {"masks that are enlarged on the device",
     "  File \"eval.py\", line 420, in prep_metrics\n  File \"layers/output_utils.py\", line 91, in postprocess\n    "
     "masks = F.interpolate(masks.unsqueeze(0), (h, w))\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "masks.cpu()", NULL},

    /* what numbers say */
    {"adapters of a quarter of the model",
     "Unsloth - 2x faster free finetuning\nTrainable parameters = 1,300,000,000 of 5,600,000,000 (23.21% "
     "trained)\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "embed_tokens", NULL},
    {"a few of a hundred are adapters",
     "Unsloth - 2x faster free finetuning\nTrainable parameters = 41,943,040 of 5,600,000,000 (0.75% "
     "trained)\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, NULL, "far more than adapters"},
    {"a server whose share is low, and whose context is printed",
     "the current vLLM instance can use total_gpu_memory (8.00GiB) x gpu_memory_utilization (0.60) = 4.80GiB\nmodel "
     "weights take 5.10GiB; the rest of the memory reserved for KV Cache is -1.20GiB.\nMaximum concurrency for 8192 "
     "tokens per request: 0.00x\n",
     "vllm", "full", ABSENT, "--max-model-len 4096", NULL},
    {"the share comes first where it is low",
     "--gpu-memory-utilization 0.5\nValueError: No available memory for the cache blocks. Try increasing "
     "`gpu_memory_utilization` when initializing the engine.\n",
     "vllm", "full", ABSENT, "--gpu-memory-utilization 0.90", NULL},
    {"a V100 has no fp8",
     "--gpu-memory-utilization 0.95, V100\nValueError: No available memory for the cache blocks. Try increasing "
     "`gpu_memory_utilization` when initializing the engine.\n",
     "vllm", "full", ABSENT, "--enforce-eager", "--kv-cache-dtype fp8"},
    {"a batch whose half is still too large",
     "keras fit_generator\nOOM when allocating tensor with shape[300,64,256,256] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
     "tensorflow", "full", ABSENT, "batch_size=37", NULL},
    {"a context of a million tokens is not halved only",
     "llama-server --ctx-size 1048576\n"
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 14000.00 MiB on device 0: cudaMalloc failed: out of "
     "memory\nllama_kv_cache_init: failed to allocate buffer for kv cache\n",
     "llama.cpp", "full", ABSENT, "--ctx-size 16384", NULL},
    {"weights that are in 16 bits as what is live shows",
     "inference of some/chat-27b-it with transformers, generate()\ntorch.OutOfMemoryError: CUDA out of memory. Tried "
     "to "
     "allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 14.00 GiB is free. Of the allocated memory "
     "60.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n",
     "pytorch", "full", ABSENT, NULL, "model.half()"},
    {"a type that is given by another name",
     "  File \"run.py\", line 8, in <module>\n    m = AutoModelForCausalLM.from_pretrained(\"some/vl-chat\", "
     "device_map=\"cuda\", bf16=True).eval()\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, NULL, "names no type"},

    /* which memory, which program */
    {"ggml's buffer of the processor",
     "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 68719476736\nllama_kv_cache_init: "
     "failed to allocate buffer for kv cache\n",
     "llama.cpp", "host_memory", 64 * GIB, "context", NULL},
    {"onnxruntime's blocked layout is the processor's",
     "Non-zero status code returned while running Conv node. Name:'12_nchwc' Status Message: bfc_arena.cc:330 "
     "onnxruntime::BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 285081600",
     "onnxruntime", "host_memory", ABSENT, NULL, "nvidia-smi"},
    {"XGBoost's own error", "XGBoostError: std::bad_alloc\n----> 1 dtrain = xgb.DMatrix('a.txt')\n", "xgboost",
     "host_memory", ABSENT, "DMatrix", NULL},
    {"memory that is called RAM", "train killed by OS due to running out of RAM. I use PyTorch DataLoader.", "pytorch",
     "host_memory", ABSENT, NULL, NULL},
    {"one block of many gigabytes on the host",
     "RuntimeError: [enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory: you tried to "
     "allocate 31850496000 bytes.\n",
     "pytorch", "host_memory", ABSENT, "fewer frames", NULL},
    {"a TPU's list without its first line",
     "Total hbm usage >= 11.47G:\n    reserved 530.00M\n    program 10.96G\n    HLO temp 10.96G (1.2% utilization: "
     "Unpadded (140.25M) Padded (10.96G), 0.0% fragmentation (0B))\n",
     "jax", "too_big", ABSENT, "pads them", NULL},
    {"the watermark that is not wanted",
     "any way except PYTORCH_MPS_HIGH_WATERMARK_RATIO?\nRuntimeError: MPS backend out of memory (MPS allocated: 6.04 "
     "GB, other allocations: 1.04 GB, max allowed: 6.77 GB). Tried to allocate 459.07 MB on private pool. Use "
     "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).\n",
     "pytorch", "limit", ABSENT, NULL, "WATERMARK"},
    {"a title that names the node",
     "# KSampler Allocation on device\n  File \"/x/ComfyUI/comfy/model_management.py\", "
     "line 444, in model_load\n",
     "pytorch", "full", ABSENT, "--lowvram", NULL},
    {"a run that raises it", "My script: testing after fitting does raise a CUDA out of memory error.", "pytorch",
     "full", ABSENT, NULL, NULL},
    {"code that raises it", "def check(x):\n    raise MemoryError('out of memory')\n", "none", "none", ABSENT, NULL,
     NULL},
    {"TotalSegmentator stands on nnU-Net",
     "  File \"/x/totalsegmentator/nnunet.py\", line 284, in nnUNet_predict_image\n    nnUNetv2_predict(tmp_dir)\n"
     "RuntimeError: Background workers died. Look for the error message further up! If there is none then your RAM was "
     "full and the worker was killed by the OS.\n",
     "kernel", "host_memory", ABSENT, "--nr_thr_saving", NULL},
    {"growth in a program that is not one's own",
     "mmdet/apis/train.py: the gpu memory keeps increasing slowly\n  File \"/x/mmdet/models/detectors/base.py\", line "
     "148, in forward\n    return self.forward_train(img, img_metas)\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "samples_per_gpu", "total += loss.item()"},
    /* programs of single fields, and two that share a card */
    {"FLUX's own script",
     "python demo_gr.py --name flux-dev --share\n  File \"/x/flux/demo_gr.py\", line 200, in <module>\n    demo = "
     "create_demo(args.name)\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "--offload", NULL},
    {"KPConv's spheres",
     "  File \"/x/KPConv-PyTorch/utils/trainer.py\", line 200, in train\n    loss.backward()\n" PLACE_FULL, "pytorch",
     "full", 80 * MIB, "in_radius", NULL},
    {"seconds of sound in a batch", "./zipformer/train.py --world-size 2 --max-duration 900\n" PLACE_FULL, "pytorch",
     "full", 80 * MIB, "--max-duration 200", NULL},
    {"a server beside its trainer",
     "Error in VllmInternalWorkerExtension.update_weights_via_ipc_zmq: CUDA out of memory. Tried to allocate 448.00 "
     "MiB. "
     "GPU 0 has a total capacity of 79.11 GiB of which 431.38 MiB is free. Including non-PyTorch memory, this process "
     "has "
     "57.04 GiB memory in use. Process 3130 has 21.51 GiB memory in use. Of the allocated memory 55.00 GiB is "
     "allocated by "
     "PyTorch, and 477.92 MiB is reserved by PyTorch but unallocated.\n",
     "pytorch", "other_process", 448 * MIB, "gpu_memory_utilization", NULL},
    {"a server that wakes beside its trainer",
     "cuda error: out of memory at csrc/cumem_allocator.cpp:62\n  File "
     "\"/verl/verl/workers/sharding_manager/fsdp_vllm.py\", "
     "line 79, in __enter__\n    self.inference_engine.wake_up()\n",
     "pytorch", "full", ABSENT, "gpu_memory_utilization", NULL},
    {"a network that is moved before anything ran",
     "  File \"tools/train_net.py\", line 35, in train\n    model.to(device)\n  File "
     "\"/x/torch/nn/modules/module.py\", line 384, in to\n    return self._apply(convert)\n  File "
     "\"/x/torch/nn/modules/module.py\", line 190, in _apply\n    module._apply(fn)\nRuntimeError: CUDA error: out of "
     "memory\n",
     "pytorch", "full", ABSENT, "CUDA_VISIBLE_DEVICES", "from_pretrained(..., torch_dtype=torch.float16), or"},
    {"arrays that are passed whole",
     "model.predict(X)\ntensorflow InternalError: Failed copying input tensor from "
     "/job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0 in order to run "
     "_EagerConst: Dst tensor is not initialized.",
     "tensorflow", "disguised", ABSENT, "tf.device('/CPU:0')", NULL},
    {"thrust inside of PyTorch",
     "  File \"/x/MinkowskiEngine/MinkowskiConvolution.py\", line 72, in forward\n    return fw_fn(\nMemoryError: "
     "std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n",
     "pytorch", "full", ABSENT, "voxel", "cudf"},
    /* options that rise, whose memory, and what leads in inference */
    {"more blocks swapped",
     "diffusion-pipe: training of a LoRA ends with CUDA error: out of memory\nblocks_to_swap = 16\ntransformer_dtype = "
     "'float8'\n",
     "pytorch", "full", ABSENT, "blocks_to_swap=24 (it is 16)", "transformer_dtype = 'float8'"},
    {"blocks swapped into a host that is full",
     "Training with two gpus gives OOM on system RAM\n  File \"/x/diffusion-pipe/train.py\", line 600, in <module>\n   "
     " "
     "loss = model_engine.train_batch().item()\n",
     "pytorch", "host_memory", ABSENT, "a lower blocks_to_swap", NULL},
    {"a published test",
     "When I test the tracker on my data set I get:\nRuntimeError: CUDA out of memory. Tried to "
     "allocate 66.00 MiB",
     "pytorch", "full", 66 * MIB, "batch size 1", NULL},
    {"frames gathered in a list",
     "  File \"track.py\", line 9, in <module>\n    results = model.track(source=url)\n  File "
     "\"/x/ultralytics/engine/predictor.py\", line 184, in __call__\n    return list(self.stream_inference(source, "
     "model))\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "stream=True", NULL},
    {"a picture made larger",
     "My super resolution of 2k pictures: sr failed: CUDA out of memory. Tried to allocate "
     "2.14 GiB (GPU 0; 11.00 GiB total capacity; 3.89 GiB already allocated; 1.63 GiB free; 7.85 GiB reserved in total "
     "by PyTorch)",
     "pytorch", "fragmented", 2.14 * GIB, "--tile 256", NULL},
    {"a server of llama.cpp that was killed",
     "./llama-server -m model.gguf --cache-ram 4096 -c 40000\nsystemd[1]: llama.service: A process of this unit has "
     "been "
     "killed by the OOM killer.\n",
     "systemd", "host_memory", ABSENT, "--cache-ram 0", "low_cpu_mem_usage"},
    {"pictures in a chat", "response = model.chat(tokenizer, pixel_values, question, config)\n" PLACE_FULL, "pytorch",
     "full", 80 * MIB, "max_num=2", NULL},
    {"Docker's line about a build",
     "yarn run v1.5.1\n$ webpack --config webpack.prod.config.js\nThe command '/bin/sh -c ./build.sh' returned a "
     "non-zero code: 137\n",
     "kernel", "host_memory", ABSENT, "GENERATE_SOURCEMAP=false", NULL},
    {"a text about Docker's line",
     "If a build is starved, Docker prints `returned a non-zero code: 137` and nothing "
     "else.\n",
     "none", "none", ABSENT, NULL, NULL},
    {"a batch of one by default",
     "THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory\n  File "
     "\"/x/pytorch-CycleGAN-and-pix2pix/models/cycle_gan_model.py\", line 85, in forward\n    self.rec_B = "
     "self.netG_A(self.fake_B)\n",
     "pytorch", "full", ABSENT, "--ngf 32", "--batch_size 1"},
    /* what a report shows of its program, and settings as the sign of a run */
    {"a pipeline moved to the card and offloaded",
     "from diffusers import FluxPipeline\npipe = FluxPipeline.from_pretrained(name).to(\"cuda\")\n"
     "pipe.enable_model_cpu_offload()\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "no .to('cuda') beside", NULL},
    {"counts of single cells",
     "I read a large 10x matrix with scanpy\nMemoryError: Unable to allocate 926. GiB for an array with shape "
     "(6794880, "
     "36601) and data type float32",
     "numpy", "host_memory", 994797611520, "filtered_feature_bc_matrix", NULL},
    {"a matrix of all nodes",
     "MemoryError: Unable to allocate 39.6 GiB for an array with shape (103106, 103106) and data type float32", "numpy",
     "host_memory", 42523388944, "scipy.sparse", NULL},
    {"R without workers", "> small <- all[rownames(all) %in% keep,]\nError: cannot allocate vector of size 4.5 Gb", "r",
     "host_memory", 4.5 * GIB, "rm(list", "BiocParallel"},
    {"R with workers", "x <- mclapply(files, read)\nError: cannot allocate vector of size 4.5 Gb", "r", "host_memory",
     4.5 * GIB, "mc.cores=2", NULL},
    {"a model that has the name of a program",
     "My training of Mistral Nemo 12B with FSDP: CUDA out of memory when it comes back from evaluation", "pytorch",
     "full", ABSENT, "per_device_eval_batch_size=1", "validation_ds"},
    {"settings of a run, and a title",
     "OOM when fine tuning 8b\n{\"model_name_or_path\": \"/m/Llama-8B-bnb-4bit\", \"finetuning_type\": \"lora\", "
     "\"cutoff_len\": 51974, \"per_device_train_batch_size\": 1}\n",
     "pytorch", "full", ABSENT, "cutoff_len", NULL},
    {"a state that code compares",
     "+            if (\n+                pod.state.terminated.reason\n+                == "
     "\"OOMKilled\"\n",
     "none", "none", ABSENT, NULL, NULL},
    {"a server at work", "  File \"/usr/local/bin/vllm\", line 10, in <module>\n    sys.exit(main())\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "--max-num-batched-tokens", NULL},
    {"sound on a Mac",
     "I run AUDIOLDM2 on a MacBook.\nRuntimeError: MPS backend out of memory (MPS allocated: 18.02 GB, other "
     "allocations: 107.10 MB, max allowed: 18.13 GB). Tried to allocate 4.50 MB on private pool.",
     "pytorch", "limit", 4.5 * MIB, "--n_candidate_gen_per_text 1", NULL},
    {"embeddings on a Mac",
     "index = VectorStoreIndex.from_documents(documents)\nRuntimeError: MPS backend out of memory (MPS allocated: 2.44 "
     "GB, other allocations: 4.34 GB, max allowed: 6.77 GB). Tried to allocate 10.58 MB on private pool.",
     "pytorch", "limit", 10.58 * MIB, "embed_batch_size", NULL},
    /* demos, others that are listed, and state that is made */
    {"a demo of old code",
     "i got memory error when i run demo.py\nRuntimeError: CUDA out of memory. Tried to allocate "
     "88.00 MiB (GPU 0; 7.93 GiB total capacity; 6.82 GiB already allocated; 68.50 MiB free; 65.36 MiB cached)",
     "pytorch", "full", 88 * MIB, "no_grad", NULL},
    {"a batch that is only one",
     "My batch size is only 1, yet in training I have RuntimeError: CUDA out of memory. Tried "
     "to allocate 128.00 MiB",
     "pytorch", "full", 128 * MIB, "16 bits", "batch_size=N // 2"},
    {"others that are listed",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 26.00 MiB. GPU 0 has a total capacity of 11.66 GiB "
     "of which 9.81 MiB is free. Process 38 has 618.00 MiB memory in use. Process 14 has 1.28 GiB memory in use. "
     "Including non-PyTorch memory, this process has 9.74 GiB memory in use. Of the allocated memory 9.30 GiB is "
     "allocated by PyTorch, and 163.19 MiB is reserved by PyTorch but unallocated.",
     "pytorch", "full", 26 * MIB, "nvidia-smi", NULL},
    {"state that is made",
     "I train a 6B language model with zero-stage3: CUDA OOM ERROR when calling "
     "`self._setup_for_real_optimizer()`",
     "pytorch", "full", ABSENT, "offload_optimizer", "batch_size=N // 2"},
    {"memory that is free and refused",
     "I see MemoryError in pandas all over. It's struggling with allocating 22 MiB "
     "when there is over 2 TiB of free memory available.\n",
     "python", "host_memory", ABSENT, "vm.overcommit_memory=1", NULL},
    {"a GPU that shares the machine's memory",
     "gfx1151 with 128GB unified RAM: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 "
     "has "
     "a total capacity of 15.24 GiB of which 15.09 GiB is free. Of the allocated memory 0 bytes is allocated by "
     "PyTorch, "
     "and 0 bytes is reserved by PyTorch but unallocated.",
     "pytorch", "too_big", 16 * GIB, "amdgpu.gttsize", NULL},
    {"attention on ROCm",
     "!!! Exception during processing !!! HIP out of memory. Tried to allocate 35.31 GiB. GPU 0 has a total capacity "
     "of "
     "19.94 GiB of which 13.47 GiB is free. Of the allocated memory 5.17 GiB is allocated by PyTorch, and 259.56 MiB "
     "is "
     "reserved by PyTorch but unallocated.\n  File \"/x/ComfyUI/execution.py\", line 317, in execute\n  File "
     "\"/x/diffusers/models/attention_processor.py\", line 90, in __call__\n",
     "pytorch", "too_big", 35.31 * GIB, "AOTRITON", NULL},
    {"Modin's workers",
     "modin.pandas fails where pandas works\n(modin_merge_df pid=1062) numpy.core._exceptions._ArrayMemoryError: "
     "Unable to allocate 1.86 GiB "
     "for an array with shape (50, 5000000) and data type float64",
     "numpy", "host_memory", 2000000000, "MODIN_CPUS", NULL},
    {"the smallest card of several",
     "llm = LlamaCpp(model_path=path)\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 144.00 MiB on device 4: "
     "cudaMalloc failed: out of memory\n",
     "llama.cpp", "full", 144 * MIB, "tensor_split", NULL},
    /* places that name their cure, once more */
    {"boxes that are sorted out",
     "  File \"test.py\", line 92, in test\n    output = non_max_suppression(out, conf_thres=conf)\n  File "
     "\"/x/yolov5/utils/utils.py\", line 612, in non_max_suppression\n    i = torchvision.ops.boxes.nms(boxes, scores, "
     "t)\nRuntimeError: CUDA out of memory. Tried to allocate 7.11 GiB (GPU 0; 11.00 GiB total capacity; 178.01 MiB "
     "already allocated; 6.98 GiB free; 2.30 GiB reserved in total by PyTorch)",
     "pytorch", "too_big", 7.11 * GIB, "conf_thres", NULL},
    {"WanVideo's sampler",
     "# ComfyUI Error Report\n- **Node Type:** WanVideoSampler\n- **Exception Type:** "
     "torch.OutOfMemoryError\n- **Exception Message:** Allocation on device\n",
     "pytorch", "full", ABSENT, "WanVideo BlockSwap", NULL},
    {"weights that are converted",
     "$ python3 scripts/convert_hf_checkpoint.py --model_size 7B\nProcessing "
     "pytorch_model-00001-of-00002.bin\nKilled\n",
     "kernel", "host_memory", ABSENT, "swapfile", NULL},
    {"killed while it was saved", "Epoch 0: 100%|#| 209/209 [06:12<00:00, 1.78s/it]\nSummoning checkpoint.\nKilled\n",
     "kernel", "host_memory", ABSENT, "save_only_model=True", NULL},
    {"values that are imputed", "from sklearn.impute import IterativeImputer\nI get LightGBMError: bad allocation",
     "lightgbm", "host_memory", ABSENT, "n_nearest_features", NULL},
    {"a page file that was enlarged",
     "OSError: [WinError 1455] The paging file is too small for this operation to "
     "complete\nI already tried to change the virtual memory to system managed.",
     "windows", "host_memory", ABSENT, "a custom size", NULL},
    {"an image beyond all reason",
     "Skip 2.png due to an error:\nCUDA out of memory. Tried to allocate 1120.48 GiB (GPU 0; "
     "14.76 GiB total capacity; 10.40 GiB already allocated; 1.23 GiB free; 12.61 GiB reserved in total by PyTorch)",
     "pytorch", "bad_size", ABSENT, "longest side of 512", NULL},
    {"ExLlamaV2's cache",
     "  File \"/x/exllamav2/cache.py\", line 92, in create_state_tensors\n    v = "
     "torch.zeros(self.shape, dtype=self.dtype, device=device)\n" PLACE_FULL,
     "pytorch", "full", 80 * MIB, "-l 4096", NULL},
    {"growth is said once", "my GPU memory keeps increasing, after a few epochs I get: \n" PLACE_FULL, "pytorch",
     "full", 80 * MIB, "loss.item()", "it fit before and does not now"},
};

#endif
