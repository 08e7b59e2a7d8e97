/* More rows of test_explain_rules.c: what holds the memory decides which lever comes first. */
#ifndef PLIM_TEST_EXPLAIN_RULES_MORE_H
#define PLIM_TEST_EXPLAIN_RULES_MORE_H

#include "explain_rules.h"

#define FULL_24                                                                                                        \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 126.00 MiB. GPU 0 has a total capacity of 23.68 "   \
    "GiB of which 106.88 MiB is free. Including non-PyTorch memory, this process has 23.50 GiB memory in use. Of the " \
    "allocated memory 23.06 GiB is allocated by PyTorch, and 14.41 MiB is reserved by PyTorch but unallocated.\n"

static const rule more_rules[] = {
    /* the phase, by names of functions */
    {"layers that are made are loading",
     "  File \"/usr/lib/python3.12/dist-packages/vllm/worker/model_runner.py\", line 61, in get_it\n"
     "  File \"/usr/lib/python3.12/dist-packages/vllm/model_executor/models/llama.py\", line 254, in __init__\n"
     "    self.mlp = LlamaMLP(\n" FULL_24,
     "pytorch", "full", ABSENT, "--tensor-parallel-size", "--max-num-seqs"},
    {"a name that says what is loaded",
     "$ python demo_gr.py --name flux-dev --device cuda\n  File \"demo_gr.py\", line 15, in get_models\n    model = "
     "load_flow_model(name, device=device)\n" FULL_24,
     "pytorch", "full", ABSENT, "fp8, GGUF or 4-bit", "smaller image"},
    {"frames behind a logger's prefix",
     "2023-09-14 21:27:58.000 [INFO] [Driver] File \"/opt/lib/python3.8/site-packages/deepspeed/runtime/engine.py\", "
     "line 1505, in _configure_zero_optimizer\n" FULL_24,
     "pytorch", "full", ABSENT, "offload_optimizer", "micro_batch"},
    /* the phase, as people say it */
    {"when test images are passed",
     "When I am passing testing images to the model I get this. The training went well.\nRuntimeError: CUDA out of "
     "memory. Tried to allocate 878.00 MiB (GPU 0; 10.92 GiB total capacity; 9.48 GiB already allocated; 544.06 MiB "
     "free; 9.60 GiB reserved in total by PyTorch)",
     "pytorch", "full", ABSENT, "torch.no_grad()", "accumulat"},
    {"after the 21st epoch",
     "I am facing this error while training the model after 21st epoch.\nRuntimeError: CUDA out of memory. Tried to "
     "allocate 2.00 MiB (GPU 0; 10.92 GiB total capacity; 9.98 GiB already allocated; 3.31 MiB free; 10.24 GiB "
     "reserved in total by PyTorch)",
     "pytorch", "full", ABSENT, "loss.item()", NULL},
    {"data that is loaded is no model",
     "When the data was loaded for the training I got\nCUDA out of memory. Tried to allocate 4.00 GiB (GPU 0; 10.73 "
     "GiB total capacity; 9.41 GiB already allocated; 0.75 GiB free; 9.78 GiB reserved in total by PyTorch)",
     "pytorch", "full", ABSENT, "batch", "4 bits"},
    /* weights in many small pieces, or one large activation */
    {"a small request on a full card: weights",
     "pipe = FluxPipeline.from_pretrained(\"black-forest-labs/FLUX.1-schnell\", torch_dtype=torch.bfloat16)\n"
     "pipe.enable_model_cpu_offload()\nimage = pipe(prompt, num_inference_steps=4).images[0]\nfrom diffusers import "
     "FluxPipeline\n" FULL_24,
     "pytorch", "full", ABSENT, "enable_sequential_cpu_offload()", NULL},
    {"a decoder takes tiles first",
     "  File \"ComfyUI\\nodes.py\", line 287, in decode\n    images = vae.decode(samples)\ntorch.OutOfMemoryError: "
     "Allocation on device ",
     "pytorch", "full", ABSENT, "Tiled", NULL},
    /* who holds the rest */
    {"a desktop beside a process that holds most",
     "python inference_realesrgan.py --input inputs\nError CUDA out of memory. Tried to allocate 1.12 GiB (GPU 0; 4.00 "
     "GiB total capacity; 2.41 GiB already allocated; 0 bytes free; 2.41 GiB reserved in total by PyTorch)",
     "pytorch", "full", ABSENT, "--tile", "kill PID"},
    {"less of the card than others leave",
     "llm = LLM(model=\"facebook/opt-125m\") # vllm\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
     "allocate "
     "1.63 GiB (GPU 0; 44.56 GiB total capacity; 27.91 GiB already allocated; 565.31 MiB free; 27.93 GiB reserved in "
     "total by PyTorch)",
     "pytorch", "other_process", ABSENT, "--gpu-memory-utilization 0.60", NULL},
    /* tried in vain */
    {"the allocator's variable did not help",
     "I'm trying to execute train.py\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 498.00 MiB "
     "(GPU 0; 10.92 GiB total capacity; 9.22 GiB already allocated; 401.81 MiB free; 9.78 GiB reserved in total by "
     "PyTorch)\nchanging batch size and PYTORCH_CUDA_ALLOC_CONF do not helps me.",
     "pytorch", "fragmented", ABSENT, "the batch was reduced already", "max_split_size_mb"},
    {"apart from the batch",
     "I would like to ask, apart from reducing Batch_size, is there any other way? train.py says RuntimeError: CUDA "
     "out "
     "of "
     "memory. Tried to allocate 182.00 MiB (GPU 0; 15.90 GiB total capacity; 14.60 GiB already allocated; 75.75 MiB "
     "free; 15.12 GiB reserved in total by PyTorch).",
     "pytorch", "full", ABSENT, "smaller inputs", "half the batch"},
    {"its own option, with a smaller value",
     "I ran `python run_infer.py --data_path x.mp4 --max_resolution 960`: CUDA error: out of memory", "cuda", "full",
     ABSENT, "--max_resolution 704", NULL},
    {"weights that Ollama cannot place",
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 35533.34 MiB on device 0: cudaMalloc failed: out of "
     "memory\nllama_model_load: error loading model: unable to allocate CUDA0 buffer\npanic: unable to load model: "
     "~/.ollama/models/blobs/sha256-d8\n",
     "ollama", "full", ABSENT, "num_gpu", "num_ctx"},
    {"an integrated GPU with what firmware set aside for it",
     "comfyui-rocm  | HIP out of memory. Tried to allocate 288.00 MiB. GPU 0 has a total capacty of 512.00 MiB of "
     "which "
     "17179869184.00 GiB is free. Of the allocated memory 243.69 MiB is allocated by PyTorch, and 20.31 MiB is "
     "reserved by "
     "PyTorch but unallocated.\n",
     "pytorch", "too_big", ABSENT, "UMA Frame Buffer Size", NULL},
    {"a large batch, of which a gradient is made",
     "ResourceExhaustedError: OOM when allocating tensor with shape[1024,32,224,224] and type float on "
     "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n     [[Node: conv1_1/convolution = "
     "Conv2D[T=DT_FLOAT, _class=[\"loc:@gradients/conv1_1/convolution_grad/Conv2DBackpropFilter\"], "
     "data_format=\"NCHW\"]]\n",
     "tensorflow", "full", ABSENT, "batch_size=128", "model.evaluate"},
    {"OpenRLHF by an older name, with a trainer that others have too",
     "Traceback (most recent call last):\n  File \"../train_ppo.py\", line 239, in <module>\n    train(args)\n  File "
     "\"/opt/lib/python3.8/site-packages/openllama2/trainer/ppo_trainer.py\", line 209, in training_step\n    "
     "self.strategy.backward(actor_loss, self.actor, self.actor_optim)\ntorch.cuda.OutOfMemoryError: CUDA out of "
     "memory. "
     "Tried to allocate 3.91 GiB (GPU 3; 79.35 GiB total capacity; 73.64 GiB already allocated; 1.55 GiB free; 76.83 "
     "GiB "
     "reserved in total by PyTorch)\n",
     "pytorch", "full", ABSENT, "--micro_train_batch_size", "per_device_train_batch_size"},
    {"an array of texts",
     "    return np.array(all_html), np.array(all_labels)\nMemoryError: Unable to allocate array with shape (26577,) "
     "and data type "
     "<U1847338\n",
     "numpy", "host_memory", 196386808104.0, "dtype=object", "toarray"},
    {"a model that DeepSpeed moves to the device whole",
     "DeepSpeed info: version=0.16.1\nTraceback (most recent call last):\n  File \"llama_inference.py\", line 83, in "
     "<module>\n"
     "    ds_engine = deepspeed.initialize(model=model, config_params = ds_config)[0]\n  File "
     "\"/env/lib/python3.10/site-packages/deepspeed/runtime/engine.py\", line 1163, in _configure_distributed_model\n  "
     "  "
     "self.module.to(self.device)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has "
     "a total "
     "capacity of 14.74 GiB of which 75.12 MiB is free. Including non-PyTorch memory, this process has 14.66 GiB "
     "memory in "
     "use. Of the allocated memory 14.55 GiB is allocated by PyTorch, and 1.14 MiB is reserved by PyTorch but "
     "unallocated.\n",
     "pytorch", "full", ABSENT, "zero.Init", "max_length"},
    {"a core's memory that is free in pieces, behind a file of PyTorch/XLA",
     "2022-04-04 00:27:49.642380: E tensorflow/compiler/xla/xla_client/xla_util.cc:88]   (1) RESOURCE_EXHAUSTED: "
     "Attempting "
     "to reserve 6.48G at the bottom of memory. That was not possible. There are 6.78G free, 0B reserved, and 3.33G "
     "reservable.\n",
     "pytorch", "fragmented", 6.48 * 1024 * 1024 * 1024, "half the batch per device", "vm.max_map_count"},
};

#endif
