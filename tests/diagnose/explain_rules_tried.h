/* More rows of test_explain_rules.c, from public reports: what was tried is not offered again, the place of the failure names
 * its cure, and the second fix follows from the cause, too. */
#ifndef PLIM_TEST_EXPLAIN_RULES_TRIED_H
#define PLIM_TEST_EXPLAIN_RULES_TRIED_H

#include "explain_rules.h"

#define FULL_12                                                                                                        \
    "RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 11.91 GiB total capacity; 10.87 GiB "      \
    "already allocated; 31.00 MiB free; 10.90 GiB reserved in total by PyTorch)\n"

static const rule tried_rules[] = {
    /* tried already */
    {"the share of the card was tried (vllm-project/vllm#2140)",
     "python -m vllm.entrypoints.openai.api_server --model Qwen2-7B-Instruct --max-model-len=512 --dtype=float "
     "--enforce-eager, and I had tried to adjust the `--max-model-len` , `--enforce-eager` or `gpu_memory_utilization "
     "`, "
     "but didn't work.\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 518.00 MiB. GPU 0 has a "
     "total capacty of 21.67 GiB of which 4.06 MiB is free. Process 2417585 has 21.65 GiB memory in use. Of the "
     "allocated memory 21.32 GiB is allocated by PyTorch, and 1018.00 KiB is reserved by PyTorch but unallocated.",
     "pytorch", "full", 518 * MIB, "--quantization", "--gpu-memory-utilization"},
    {"reduced, and the sentence ends (NVlabs/LSGM#10)",
     "With 12GB GPUs, I reduce the batch size from 16 to 2 or 1(per gpu). \n\nHowever, still I got CUDA out of memory "
     "error.\n" FULL_12,
     "pytorch", "full", 384 * MIB, NULL, "half the batch"},
    {"a list below what was tried",
     "I have tried the following:\n- gradient checkpointing\n- smaller batch size\n- mixed precision\nNothing helped. "
     "I "
     "train a UNet.\n" FULL_12,
     "pytorch", "full", 384 * MIB, NULL, "checkpoint"},
    {"a question is no trial", "Should I use gradient checkpointing? I train a network.\n" FULL_12, "pytorch", "full",
     384 * MIB, "batch", NULL},
    {"what cured it may be said", "With a smaller batch size it works. I train a network.\n" FULL_12, "pytorch", "full",
     384 * MIB, "half the batch", NULL},
    {"workers and shared memory were tried, in Chinese (greatlog/UnpairedSR#17)",
     "RuntimeError: DataLoader worker (pid 16757) is killed by signal: Bus error. It is possible that dataloader's "
     "workers are out of shared memory. Please try to raise your shared memory "
     "limit.\n\xE6\x88\x91\xE5\xB7\xB2\xE7\xBB\x8F\xE8\xBF\x9B\xE8\xA1\x8C\xE4\xBA\x86\xE4\xBB\xA5\xE4\xB8\x8B\xE5\xB0"
     "\x9D\xE8\xAF\x95\xEF\xBC\x9A\n\xEF\xBC\x88"
     "1\xEF\xBC\x89num_worker\xE8\xAE\xBE\xE7\xBD\xAE\xE4\xB8\xBA"
     "0\n\xEF\xBC\x88"
     "2\xEF\xBC\x89\xE7\xB3\xBB\xE7\xBB\x9F\xE5\x85\xB1\xE4\xBA\xAB\xE5\x86\x85\xE5\xAD\x98\xE5\xB7\xB2\xE7\xBB\x8F\xE4"
     "\xB8\xBA"
     "64g\n",
     "pytorch", "host_memory", ABSENT, "LMDB", "--shm-size"},
    {"a raised heap that does not arrive (firecrawl/firecrawl#1311)",
     "When building the images the following error has been reported even increase the memory to 8GB as\n"
     "`NODE_OPTIONS: \"--max-old-space-size=8192\"`\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript "
     "heap "
     "out of memory",
     "node", "limit", ABSENT, "ENV NODE_OPTIONS", NULL},

    /* places that name their cure */
    {"a dense graph is no nonsense (pygod-team/pygod#72)",
     "pygod/models/anomalydae.py in fit(self, G, y_true)\n--> 145         G.s = to_dense_adj(G.edge_index)[0]\n"
     "RuntimeError: CUDA out of memory. Tried to allocate 597.53 GiB (GPU 0; 16.00 GiB total capacity; 1.32 GiB "
     "already "
     "allocated; 12.78 GiB free; 1.35 GiB reserved in total by PyTorch)",
     "pytorch", "too_big", 597.53 * GIB, "Keep the graph sparse", "print(x.shape"},
    {"too many boxes in an image (Chasel-Tsui/mmrotate-dcfl#28)",
     "  File \"/home/mmdet/core/bbox/assigners/max_iou_assigner.py\", line 126, in assign\n    overlaps = "
     "self.iou_calculator(gt_bboxes, bboxes)\n" FULL_12,
     "pytorch", "full", 384 * MIB, "gpu_assign_thr", NULL},
    {"state that FSDP gathers (lm-sys/FastChat#256)",
     "torch/distributed/fsdp/_state_dict_utils.py:312: UserWarning: Failed to clone() tensor with name lm_head.weight "
     "on "
     "rank 1. Error: CUDA out of memory. Tried to allocate 270.00 MiB (GPU 1; 79.35 GiB total capacity; 76.93 GiB "
     "already "
     "allocated; 72.19 MiB free; 77.38 GiB reserved in total by PyTorch)",
     "pytorch", "full", 270 * MIB, "rank0_only=True", NULL},
    {"a replay buffer (rlworkgroup/garage#1295)",
     "MemoryError: Unable to allocate 315. GiB for an array with shape (10000, 100, 84480) and data type float32. The "
     "RL "
     "algorithm I am trying is tf_ddpg_pendulum. I still get that error even with runner.train(n_epochs=1, "
     "batch_size=1).",
     "numpy", "host_memory", ABSENT, "replay buffer", NULL},
    {"a data set that is mapped (Shark-NLP/DiffuSeq#64)",
     "merge and mask: 100% 3382137/3382137 [02:41<00:00, 20891.13 examples/s]\npadding:  65% 2207000/3382137 "
     "[03:08<01:16, 15381.54 examples/s]Killed",
     "kernel", "host_memory", ABSENT, "writer_batch_size", NULL},
    {"a list that holds every batch", "for x in loader:\n    preds.append(model(x.cuda()))\n" FULL_12, "pytorch",
     "full", 384 * MIB, "detach().cpu()", NULL},
    {"a list on the host holds nothing",
     "for x in loader:\n    preds.append(model(x.cuda()).detach().cpu())\nI train a network.\n" FULL_12, "pytorch",
     "full", 384 * MIB, NULL, "preds.append"},
    {"ComfyUI patches weights while it loads (Comfy-Org/ComfyUI#4936)",
     "  File \"E:\\ComfyUI\\comfy\\model_patcher.py\", line 393, in load\n    self.patch_weight_to_device(weight_key, "
     "device_to=device_to)\ntorch.OutOfMemoryError: Allocation on device ",
     "pytorch", "full", ABSENT, "fp8 or GGUF", NULL},

    /* the second fix */
    {"others have nearly all of it (huggingface/trl#3342)",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 260.00 MiB. GPU 0 has a total capacity of 79.10 "
     "GiB of "
     "which 60.31 MiB is free. Process 1940794 has 71.97 GiB memory in use. Including non-PyTorch memory, this process "
     "has "
     "7.05 GiB memory in use. Of the allocated memory 1.51 GiB is allocated by PyTorch, and 205.02 MiB is reserved by "
     "PyTorch but unallocated.",
     "pytorch", "other_process", 260 * MIB, "CUDA_VISIBLE_DEVICES", NULL},
    {"a small request of the host (sergree/matchering#19)",
     "MemoryError\nUnable to allocate 139. MiB for an array with shape (9131294, 2) and data type float64", "numpy",
     "host_memory", ABSENT, "free -h", NULL},
    {"a loop of models (tensorflow/tensorflow#1355)",
     "This error happens when training several models in a for loop:\nResource exhausted: OOM when allocating tensor "
     "with "
     "shape\nkeras/models.py\", line 581, in fit\n    fited = model.fit(Xtrain, ytrain, nb_epoch=n_epochs)",
     "tensorflow", "full", ABSENT, "process for each model", NULL},
    {"a limit, where memory is free (pandas-dev/pandas#39629)",
     "MemoryError: Unable to allocate 22.0 MiB for an array with shape (2883584,) and data type float64. There is over "
     "2 "
     "TiB of free memory on this server.",
     "numpy", "host_memory", ABSENT, "ulimit -v", NULL},
    {"the virtual machine of WSL (huggingface/diffusers#215)",
     "DiffusionPipeline.from_pretrained(\"CompVis/ldm-text2im-large-256\")\nKilled\nwindows 11 64-bit wsl/ubuntu",
     "kernel", "host_memory", ABSENT, ".wslconfig", NULL},
    {"no 16 bits before there were any (liruilong940607/Pose2Seg#32)",
     "python train.py\nRuntimeError: CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 4.00 GiB total capacity; "
     "2.57 GiB already allocated; 74.77 MiB free; 2.85 GiB reserved in total by PyTorch) (malloc at "
     "..\\c10\\cuda\\CUDACachingAllocator.cpp:289)",
     "pytorch", "fragmented", 128 * MIB, "Free the card", "torch.autocast"},
    {"26.39 cached for 26.00 is no hole (pytorch/examples#621)",
     "RuntimeError: CUDA out of memory. Tried to allocate 26.00 MiB (GPU 0; 1024.00 MiB total capacity; 435.61 MiB "
     "already allocated; 24.17 MiB free; 26.39 MiB cached)",
     "pytorch", "full", 26 * MIB, "Free the card", "max_split"},
    {"no bitsandbytes on an NPU (hiyouga/LlamaFactory#5491)",
     "llamafactory/launcher.py\n  File \"transformers/modeling_utils.py\", line 4415, in _load_pretrained_model\n"
     "RuntimeError: NPU out of memory. Tried to allocate 386.00 MiB (NPU 2; 60.97 GiB total capacity; 59.57 GiB "
     "already "
     "allocated; 59.57 GiB current active; 16.54 MiB free; 60.06 GiB reserved in total by PyTorch)",
     "pytorch", "full", 386 * MIB, NULL, "quantization_bit"},
    {"XGBoost's own source file (dmlc/xgboost#2019)",
     "I try to use xgboost with gpu.\nCUDA error: "
     "build/xgboost/src/xgboost/plugin/updater_gpu/src/device_helpers.cuh(386): "
     "out of memory",
     "xgboost", "full", ABSENT, "max_bin", "torch"},
};

#endif
