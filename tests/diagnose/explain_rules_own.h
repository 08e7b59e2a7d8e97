/* More rows of test_explain_rules.c: options that stand in the log are the ones to turn, and those that are turned already
 * are none; what a phase, a default or a device says about a program's settings. */
#ifndef PLIM_TEST_EXPLAIN_RULES_OWN_H
#define PLIM_TEST_EXPLAIN_RULES_OWN_H

#include "explain_rules.h"

#define OWN_FULL                                                                                                       \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 410.00 MiB. GPU 0 has a total capacity of 23.55 "   \
    "GiB of which 112.00 MiB is free. Of the allocated memory 22.61 GiB is allocated by PyTorch, and 90.00 MiB is "    \
    "reserved by PyTorch but unallocated.\n"

static const rule own_rules[] = {
    /* the log's own options */
    {"a switch that is off",
     "axolotl train my.yml\nadapter: lora\nmicro_batch_size: 1\nsequence_len: 12288\ngradient_checkpointing: "
     "false\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "gradient_checkpointing: true", "micro_batch_size"},
    {"a switch that is off beside one that sounds like it",
     "train llama lora\nmbatch_size=1\ngradient_checkpointing=False\ngradient_checkpointing_ratio=1\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "gradient_checkpointing=True (it is off)", NULL},
    {"a length where adapters come second",
     "torchrun sft.py --model some-7b --max_seq_length 24576 --gradient_checkpointing True\n"
     "  File \"/x/transformers/trainer.py\", line 3572, in training_step\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "--max_seq_length 12288 (it is 24576)", NULL},
    {"ZeRO that is off",
     "deepspeed --num_gpus 1 main.py --per_device_train_batch_size 1 --gradient_checkpointing --zero_stage "
     "0\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "--zero_stage 3 (it is 0)", NULL},
    {"bits without adapters", "axolotl train f.yml\nload_in_4bit: false\nmicro_batch_size: 1\n" OWN_FULL, "pytorch",
     "full", 410 * MIB, NULL, "load_in_4bit: true (it is off)"},
    {"an option with one dash that is set",
     "python train.py -s scene -r 2 --data_device cpu\nNumber of points at initialisation : 90000\n"
     "  File \"gaussian_renderer/__init__.py\", line 90, in render\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "densify", "--data_device cpu"},

    /* defaults */
    {"a default batch", "Ultralytics YOLOv8.0.57 yolo train model=yolov8s.pt\n" OWN_FULL, "pytorch", "full", 410 * MIB,
     "batch=8 (16 is the default)", "N // 2"},
    {"a default batch of one", "kohya_ss/sd-scripts/train_network.py --network_module networks.lora\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "--gradient_checkpointing", "--train_batch_size"},
    {"a batch in the shape of a tensor",
     "keras model.fit\nOOM when allocating tensor with shape[300,32,128,128] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
     "tensorflow", "full", ABSENT, "150 (the tensor's first axis is 300)", NULL},

    /* what it was doing */
    {"train_and_evaluate trains",
     "  File \"/x/Retrieval-based-Voice-Conversion-WebUI/train_nsf.py\", line 430, in train_and_evaluate\n    y = "
     "net_d(wave, y_hat)\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "batch_size", "rmvpe"},
    {"a number of epochs is no epoch", "python train.py --n_epoch=10 --transformer_model=xlnet\n" OWN_FULL, "pytorch",
     "full", 410 * MIB, "batch", "it fit before"},
    {"saving that is told",
     "llama-7b with --fsdp full_shard: training is fine, but I get it when saving the model\n" OWN_FULL, "pytorch",
     "full", 410 * MIB, "SHARDED_STATE_DICT", NULL},
    {"a nonsense size in saving",
     "fine until the end, then while saving the model: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
     "allocate more than 1EB memory.",
     "pytorch", "bad_size", ABSENT, "2.1", NULL},
    {"views that are read",
     "Reading camera 900/900\n  File \"utils/camera_utils.py\", line 58, in cameraList_from_camInfos\n    "
     "camera_list.append(loadCam(args, id, c, s))\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "--data_device cpu", NULL},
    {"a spread model that is moved",
     "model = AutoModelForCausalLM.from_pretrained(\"org/chat-7b\", device_map=\"auto\").cuda()\n" OWN_FULL, "pytorch",
     "full", 410 * MIB, "without .cuda()", NULL},

    /* tried in vain */
    {"somebody who tries to",
     "I run demo.py on a video (I try to reduce the input size, but it doesn't work)\n" OWN_FULL, "pytorch", "full",
     410 * MIB, NULL, "resolution"},

    /* whose program it is */
    {"Forge is not A1111", "stable-diffusion-webui-forge\nSet vram state to: NORMAL_VRAM\n" OWN_FULL, "pytorch", "full",
     410 * MIB, "GPU Weights", "--medvram"},
    {"the first nnU-Net",
     "  File \"/x/nnUNet/nnunet/training/network_training/network_trainer.py\", line 543, in run_iteration\n    "
     "l.backward()\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "--fp16", "nnUNetv2"},
    {"a file of DeepSpeed's",
     "{\"train_micro_batch_size_per_gpu\": \"auto\", \"zero_optimization\": {\"stage\": 3}}\n" OWN_FULL, "pytorch",
     "full", 410 * MIB, NULL, "adamw_optimi"},
    {"a window on a Mac",
     "Fooocus\npython entry_with_update.py\nRuntimeError: MPS backend out of memory (MPS allocated: 8.80 GB, other "
     "allocations: 150.00 MB, max allowed: 9.07 GB). Tried to allocate 200.00 MB on private pool.",
     "pytorch", "limit", ABSENT, "--always-low-vram", NULL},

    /* the host */
    {"a container that was killed", "docker compose up\nworker-1 exited with code 137\n", "kernel", "host_memory",
     ABSENT, "docker run --memory", NULL},
    {"a loader in a job of Slurm's",
     "#SBATCH --mem-per-cpu=4G\nRuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.", "pytorch",
     "host_memory", ABSENT, "#SBATCH --mem", NULL},
    {"a table that is read whole",
     "df = pd.read_csv(\"events.csv\")\nMemoryError: Unable to allocate 9.31 GiB for an array with shape (25, "
     "50000000) "
     "and data type object",
     "numpy", "host_memory", ABSENT, "usecols", NULL},

    {"workers of the log's own",
     "python tools/preprocess_data.py --input big.jsonl --workers 64\nOut of memory: Killed process 8123 (python) "
     "total-vm:2876210kB, anon-rss:2443210kB, file-rss:0kB, shmem-rss:0kB\n",
     "kernel", "host_memory", ABSENT, "--workers 16 (it is 64)", NULL},
    {"a batch that is large still", "I train it with torch, even with a batch size of 32 it fails\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "batch_size=16", NULL},
    {"a set that is fed whole",
     "OOM when allocating tensor with shape[2000,64,96,96] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
     "tensorflow", "full", ABSENT, "batch_size=32", NULL},

    /* variables in front of a command, and who can follow a line of Python */
    {"a variable that is set",
     "MAX_PIXELS=602112 NPROC_PER_NODE=4 swift sft --model_type qwen2-vl-7b-instruct --sft_type lora\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, NULL, "MAX_PIXELS=602112 ("},
    {"a user of a window", "stable-diffusion-webui webui-user.bat\nStable diffusion model failed to load\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, NULL, "from_pretrained"},
    {"TensorFlow in the same process",
     "tensorflow/core/common_runtime/gpu/gpu_device.cc:1525] Created device "
     "/job:localhost/replica:0/task:0/device:GPU:0 "
     "with 13561 MB memory\nRuntimeError: CUDA out of memory. Tried to allocate 30.00 MiB (GPU 0; 15.75 GiB total "
     "capacity; 1.23 GiB already allocated; 17.88 MiB free; 1.27 GiB reserved in total by PyTorch)",
     "pytorch", "other_process", 30 * MIB, "set_visible_devices", NULL},

    /* serving */
    {"a cache beyond reason",
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 204800.00 MiB on device 0: cudaMalloc failed: out of "
     "memory\nllama_kv_cache_init: failed to allocate buffer for kv cache\n",
     "llama.cpp", "too_big", ABSENT, "-ctk q8_0", NULL},
    {"SGLang's newer words",
     "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.85.", "sglang",
     "full", ABSENT, "--mem-fraction-static", NULL},
    {"a worker that loads",
     "(VllmWorkerProcess pid=12) ERROR Exception in worker VllmWorkerProcess while processing method "
     "load_model.\n" OWN_FULL,
     "pytorch", "full", 410 * MIB, "--quantization", NULL},
};

#endif
