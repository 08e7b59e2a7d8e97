/* Words, versions and settings around a message. The traceback is read in context_trace.c. */
#include "diagnose/context.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/context_trace.h"

/* What follows the word decides, for those that have a reader. */
typedef void follow(plim__context *context, plim__text after);

typedef struct word {
    const char *text; /* white space left out, any case */
    plim__context_word means;
    follow *read; /* NULL: the word alone is enough */
} word;

static void set(plim__context *context, plim__context_word means) {
    context->words[means / 64] |= (uint64_t)1 << means % 64;
}

bool plim__context_has(const plim__context *context, plim__context_word means) {
    return context->words[means / 64] >> means % 64 & 1;
}

/* --- what stands behind a word -------------------------------------------------------------------------------- */

/* Steps over what may stand between a name and its value: quotes, colons, equal signs, "of", "is", "to". */
static plim__text value_of(plim__text t) {
    while (t.at < t.end && strchr(" \t\"'`:=*_>", *t.at) && *t.at) t.at++;
    static const char *const fillers[] = {"of ", "is ", "to ", "version ", "was ", "was set to ", "set to "};
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++)
        if (plim__take(&t, fillers[i])) break;
    while (t.at < t.end && strchr(" \t\"'`:=*v", *t.at) && *t.at) t.at++;
    return t;
}

static void read_batch(plim__context *context, plim__text after) {
    int64_t size;
    after = value_of(after);
    if (!plim__take(&after, "%i", &size) || size < 1 || size > 1 << 20) return;
    if (after.at < after.end && (*after.at == '.' || *after.at == '%')) return;
    if (context->batch < 0) context->batch = size;
    if (size > context->batch_most) context->batch_most = size;
}

static void read_workers(plim__context *context, plim__text after) {
    int64_t count;
    after = value_of(after);
    if (!plim__take(&after, "%i", &count) || count > 4096) return;
    context->workers = count;
    if (count == 0) set(context, PLIM_CONTEXT_WORKERS_ZERO);
}

static int read_version(plim__text after) {
    int64_t major, minor;
    after = value_of(after);
    if (!plim__take(&after, "%i.%i", &major, &minor) || major > 9 || minor > 99) return 0;
    return (int)(major * 100 + minor);
}

static void read_torch(plim__context *context, plim__text after) {
    int version = read_version(after);
    if (version && version < 400 && !context->torch) context->torch = version;
}

static void read_tensorflow(plim__context *context, plim__text after) {
    int version = read_version(after);
    if (version && version < 300 && !context->tensorflow) context->tensorflow = version;
    set(context, PLIM_CONTEXT_TENSORFLOW);
}

/* Sessions are TensorFlow 1's. */
static void read_sessions(plim__context *context, plim__text after) {
    (void)after;
    if (!context->tensorflow) context->tensorflow = 115;
}

static void read_memory(plim__context *context, plim__text after) {
    plim_amount amount;
    after = value_of(after);
    if (plim__take(&after, "%S", &amount) && amount.known) context->memory_setting = amount;
}

static void read_heap(plim__context *context, plim__text after) {
    int64_t megabytes;
    after = value_of(after);
    if (plim__take(&after, "%i", &megabytes) && megabytes > 0 && megabytes < 1 << 24)
        context->memory_setting = plim__rounded((double)megabytes * 1048576.0);
}

static void read_fraction(plim__context *context, plim__text after) {
    char number[16];
    size_t length = 0;
    after = value_of(after);
    plim__take(&after, "(");
    while (after.at < after.end && length + 1 < sizeof number && strchr("0123456789.", *after.at) && *after.at)
        number[length++] = *after.at++;
    number[length] = 0;
    double value = strtod(number, NULL);
    if (value > 0 && value <= 1) context->utilization = value;
}

static const word words[] = {
    {"c:\\", PLIM_CONTEXT_WINDOWS, NULL},
    {"d:\\", PLIM_CONTEXT_WINDOWS, NULL},
    {"e:\\", PLIM_CONTEXT_WINDOWS, NULL},
    {"f:\\", PLIM_CONTEXT_WINDOWS, NULL},
    {"windows10", PLIM_CONTEXT_WINDOWS, NULL},
    {"windows11", PLIM_CONTEXT_WINDOWS, NULL},
    {"win32", PLIM_CONTEXT_WINDOWS, NULL},
    {"site-packages\\", PLIM_CONTEXT_WINDOWS, NULL},
    {"wsl2", PLIM_CONTEXT_WSL, NULL},
    {"macos", PLIM_CONTEXT_MAC, NULL},
    {"/users/", PLIM_CONTEXT_MAC, NULL},
    {"applem1", PLIM_CONTEXT_MAC, NULL},
    {"applem2", PLIM_CONTEXT_MAC, NULL},
    {"applem3", PLIM_CONTEXT_MAC, NULL},
    {"rocm", PLIM_CONTEXT_AMD, NULL},
    {"hipoutof", PLIM_CONTEXT_AMD, NULL},
    {"hiperror", PLIM_CONTEXT_AMD, NULL},
    {"amdradeon", PLIM_CONTEXT_AMD, NULL},
    {"gfx90", PLIM_CONTEXT_AMD, NULL},
    {"gfx10", PLIM_CONTEXT_AMD, NULL},
    {"gfx11", PLIM_CONTEXT_AMD, NULL},
    {"jetson", PLIM_CONTEXT_JETSON, NULL},
    {"colab", PLIM_CONTEXT_COLAB, NULL},
    {"/content/", PLIM_CONTEXT_COLAB, NULL},
    {"kaggle", PLIM_CONTEXT_KAGGLE, NULL},
    {"<ipython-input", PLIM_CONTEXT_NOTEBOOK, NULL},
    {"ipykernel", PLIM_CONTEXT_NOTEBOOK, NULL},
    {"cellin[", PLIM_CONTEXT_NOTEBOOK, NULL},
    {"docker", PLIM_CONTEXT_CONTAINER, NULL},
    {"sbatch", PLIM_CONTEXT_CLUSTER, NULL},
    {"slurm", PLIM_CONTEXT_CLUSTER, NULL},
    {".backward(", PLIM_CONTEXT_TRAINING, NULL},
    {"trainer.train", PLIM_CONTEXT_TRAINING, NULL},
    {"train.py", PLIM_CONTEXT_TRAINING, NULL},
    {"training", PLIM_CONTEXT_TRAINING, NULL},
    {".fit(", PLIM_CONTEXT_TRAINING, NULL},
    {"finetune", PLIM_CONTEXT_TRAINING, NULL},
    {"fine-tun", PLIM_CONTEXT_TRAINING, NULL},
    {"optimizer", PLIM_CONTEXT_TRAINING, NULL},
    {"train_step", PLIM_CONTEXT_TRAINING, NULL},
    {"inference", PLIM_CONTEXT_INFERENCE, NULL},
    {"generat", PLIM_CONTEXT_INFERENCE, NULL},
    {"test.py", PLIM_CONTEXT_INFERENCE, NULL},
    {"demo.py", PLIM_CONTEXT_INFERENCE, NULL},
    {"predict", PLIM_CONTEXT_INFERENCE, NULL},
    {"transcri", PLIM_CONTEXT_INFERENCE, NULL},
    {"transformers/trainer.py", PLIM_CONTEXT_TRAINER, NULL},
    {"transformers\\trainer.py", PLIM_CONTEXT_TRAINER, NULL},
    {"per_device_train_batch_size", PLIM_CONTEXT_TRAINER, read_batch},
    {"pytorch_lightning", PLIM_CONTEXT_LIGHTNING, NULL},
    {"lightning/pytorch", PLIM_CONTEXT_LIGHTNING, NULL},
    {"deepspeed", PLIM_CONTEXT_DEEPSPEED, NULL},
    {"stage3.py", PLIM_CONTEXT_ZERO3, NULL},
    {"fully_sharded", PLIM_CONTEXT_FSDP, NULL},
    {"fsdp", PLIM_CONTEXT_FSDP, NULL},
    {"qlora", PLIM_CONTEXT_QUANTIZED, NULL},
    {"lora", PLIM_CONTEXT_LORA, NULL},
    {"keras", PLIM_CONTEXT_KERAS, NULL},
    {"detectron", PLIM_CONTEXT_DETECTION, NULL},
    {"mmdet", PLIM_CONTEXT_DETECTION, NULL},
    {"yolo", PLIM_CONTEXT_DETECTION, NULL},
    {"ultralytics", PLIM_CONTEXT_DETECTION, NULL},
    {"tokeniz", PLIM_CONTEXT_SEQUENCES, NULL},
    {"max_seq_len", PLIM_CONTEXT_SEQUENCES, NULL},
    {"max_length", PLIM_CONTEXT_SEQUENCES, NULL},
    {"attention", PLIM_CONTEXT_SEQUENCES, NULL},
    {"conv2d", PLIM_CONTEXT_IMAGES, NULL},
    {"torchvision", PLIM_CONTEXT_IMAGES, NULL},
    {"img_size", PLIM_CONTEXT_IMAGES, NULL},
    {"resolution", PLIM_CONTEXT_IMAGES, NULL},
    {"interpolate", PLIM_CONTEXT_IMAGES, NULL},
    {"stablediffusion", PLIM_CONTEXT_DIFFUSION, NULL},
    {"stable-diffusion", PLIM_CONTEXT_DIFFUSION, NULL},
    {"sdxl", PLIM_CONTEXT_DIFFUSION, NULL},
    {"unet", PLIM_CONTEXT_DIFFUSION, NULL},
    {"ldm/", PLIM_CONTEXT_DIFFUSION, NULL},
    {"diffusers", PLIM_CONTEXT_DIFFUSERS, NULL},
    {"comfyui", PLIM_CONTEXT_COMFY, NULL},
    {"comfy/", PLIM_CONTEXT_COMFY, NULL},
    {"comfy\\", PLIM_CONTEXT_COMFY, NULL},
    {"ksampler", PLIM_CONTEXT_COMFY, NULL},
    {"webui", PLIM_CONTEXT_WEBUI, NULL},
    {"torchactive/reserved", PLIM_CONTEXT_WEBUI, NULL},
    {"kohya", PLIM_CONTEXT_KOHYA, NULL},
    {"sd-scripts", PLIM_CONTEXT_KOHYA, NULL},
    {"max_new_tokens", PLIM_CONTEXT_LLM, NULL},
    {"causallm", PLIM_CONTEXT_LLM, NULL},
    {"kvcache", PLIM_CONTEXT_LLM, NULL},
    {"past_key_value", PLIM_CONTEXT_LLM, NULL},
    {"modeling_llama", PLIM_CONTEXT_LLM, NULL},
    {"modeling_qwen", PLIM_CONTEXT_LLM, NULL},
    {"vllm", PLIM_CONTEXT_VLLM, NULL},
    {"sglang", PLIM_CONTEXT_SGLANG, NULL},
    {"ollama", PLIM_CONTEXT_OLLAMA, NULL},
    {"llama.cpp", PLIM_CONTEXT_LLAMA, NULL},
    {"ggml", PLIM_CONTEXT_LLAMA, NULL},
    {"whisper", PLIM_CONTEXT_WHISPER, NULL},
    {"transformers", PLIM_CONTEXT_TRANSFORMERS, NULL},
    {"from_pretrained", PLIM_CONTEXT_PRETRAINED, NULL},
    {"torch.load(", PLIM_CONTEXT_TORCH_LOAD, NULL},
    {"autoencoder", PLIM_CONTEXT_VAE, NULL},
    {"vae.", PLIM_CONTEXT_VAE, NULL},
    {"torch_geometric", PLIM_CONTEXT_GRAPHS, NULL},
    {"dgl", PLIM_CONTEXT_GRAPHS, NULL},
    {"nproc_per_node", PLIM_CONTEXT_MULTIGPU, NULL},
    {"dataparallel", PLIM_CONTEXT_MULTIGPU, NULL},
    {"expandable_segments:true\"", PLIM_CONTEXT_EXPANDABLE, NULL},
    {"conf=expandable_segments:true", PLIM_CONTEXT_EXPANDABLE, NULL},
    {"expandable_segments:true", PLIM_CONTEXT_EXPANDABLE, NULL},
    {"max_split_size_mb:", PLIM_CONTEXT_SPLIT_SIZE, NULL},
    {"gradient_checkpointing=true", PLIM_CONTEXT_CHECKPOINTING, NULL},
    {"gradient_checkpointingtrue", PLIM_CONTEXT_CHECKPOINTING, NULL},
    {"--gradient_checkpointing", PLIM_CONTEXT_CHECKPOINTING, NULL},
    {"gradient_checkpointing:true", PLIM_CONTEXT_CHECKPOINTING, NULL},
    {"utils/checkpoint.py", PLIM_CONTEXT_CHECKPOINTING, NULL},
    {"utils\\checkpoint.py", PLIM_CONTEXT_CHECKPOINTING, NULL},
    {"checkpointfunction", PLIM_CONTEXT_CHECKPOINTING, NULL},
    {"autocast", PLIM_CONTEXT_HALF, NULL},
    {"amp/", PLIM_CONTEXT_HALF, NULL},
    {"fp16=true", PLIM_CONTEXT_HALF, NULL},
    {"bf16=true", PLIM_CONTEXT_HALF, NULL},
    {"--fp16", PLIM_CONTEXT_HALF, NULL},
    {"--bf16", PLIM_CONTEXT_HALF, NULL},
    {"float16", PLIM_CONTEXT_HALF, NULL},
    {"bfloat16", PLIM_CONTEXT_HALF, NULL},
    {"mixed_precision=\"fp16\"", PLIM_CONTEXT_HALF, NULL},
    {"mixed_precisionfp16", PLIM_CONTEXT_HALF, NULL},
    {"mixed_precisionbf16", PLIM_CONTEXT_HALF, NULL},
    {"load_in_4bit", PLIM_CONTEXT_QUANTIZED, NULL},
    {"load_in_8bit", PLIM_CONTEXT_QUANTIZED, NULL},
    {"bnb4bit", PLIM_CONTEXT_QUANTIZED, NULL},
    {"bitsandbytes/nn", PLIM_CONTEXT_QUANTIZED, NULL},
    {"gptq", PLIM_CONTEXT_QUANTIZED, NULL},
    {"awq", PLIM_CONTEXT_QUANTIZED, NULL},
    {"gguf", PLIM_CONTEXT_QUANTIZED, NULL},
    {"no_grad()", PLIM_CONTEXT_NO_GRAD, NULL},
    {"inference_mode", PLIM_CONTEXT_NO_GRAD, NULL},
    {"grad_mode.py", PLIM_CONTEXT_NO_GRAD, NULL},
    {"_contextlib.py", PLIM_CONTEXT_NO_GRAD, NULL},
    {"cpu_offload", PLIM_CONTEXT_OFFLOAD, NULL},
    {"offload_param", PLIM_CONTEXT_OFFLOAD, NULL},
    {"allow_growth", PLIM_CONTEXT_GROWTH, NULL},
    {"set_memory_growth", PLIM_CONTEXT_GROWTH, NULL},
    {"--lowvram", PLIM_CONTEXT_LOWVRAM, NULL},
    {"--medvram", PLIM_CONTEXT_LOWVRAM, NULL},
    {"watermark_ratio=0", PLIM_CONTEXT_WATERMARK, NULL},
    {"accumulation_steps", PLIM_CONTEXT_ACCUMULATION, NULL},
    {"xformers", PLIM_CONTEXT_XFORMERS, NULL},
    {"empty_cache()", PLIM_CONTEXT_EMPTY_CACHE, NULL},
    {"dataloader", PLIM_CONTEXT_DATALOADER, NULL},
    {"num_workers", PLIM_CONTEXT_DATALOADER, read_workers},
    {"cntk", PLIM_CONTEXT_CNTK, NULL},
    {".lua:", PLIM_CONTEXT_LUA, NULL},
    {"luajit", PLIM_CONTEXT_LUA, NULL},
    {"torch/install/", PLIM_CONTEXT_LUA, NULL},
    {"torch_xla", PLIM_CONTEXT_XLA_TORCH, NULL},
    {"torch-xla", PLIM_CONTEXT_XLA_TORCH, NULL},
    {"pytorch/xla", PLIM_CONTEXT_XLA_TORCH, NULL},
    {"directml", PLIM_CONTEXT_DIRECTML, NULL},
    {"tensorrt", PLIM_CONTEXT_TENSORRT, NULL},
    {"tensorrt-llm", PLIM_CONTEXT_TRTLLM, NULL},
    {"tensorrt_llm", PLIM_CONTEXT_TRTLLM, NULL},
    {"torch/", PLIM_CONTEXT_PYTORCH, NULL},
    {"torch.", PLIM_CONTEXT_PYTORCH, NULL},
    {"torch\\", PLIM_CONTEXT_PYTORCH, NULL},
    {"importtorch", PLIM_CONTEXT_PYTORCH, NULL},
    {"pytorch", PLIM_CONTEXT_PYTORCH, read_torch},
    {"pytorchversion", PLIM_CONTEXT_PYTORCH, read_torch},
    {"torch==", PLIM_CONTEXT_PYTORCH, read_torch},
    {"torch", PLIM_CONTEXT_COUNT, read_torch},
    {"torchversion", PLIM_CONTEXT_PYTORCH, read_torch},
    {"torch.__version__", PLIM_CONTEXT_PYTORCH, read_torch},
    {"tensorflow", PLIM_CONTEXT_TENSORFLOW, read_tensorflow},
    {"tensorflowversion", PLIM_CONTEXT_TENSORFLOW, read_tensorflow},
    {"tensorflow-gpu", PLIM_CONTEXT_TENSORFLOW, read_tensorflow},
    {"tensorflow==", PLIM_CONTEXT_TENSORFLOW, read_tensorflow},
    {"tensorflow_gpu", PLIM_CONTEXT_TENSORFLOW, read_tensorflow},
    {"tensorflow(withgpusupport)", PLIM_CONTEXT_TENSORFLOW, read_tensorflow},
    {"jax.", PLIM_CONTEXT_JAX, NULL},
    {"jax/", PLIM_CONTEXT_JAX, NULL},
    {"jaxlib", PLIM_CONTEXT_JAX, NULL},
    {"flax", PLIM_CONTEXT_JAX, NULL},
    {"xlaruntimeerror", PLIM_CONTEXT_JAX, NULL},
    {"onnxruntime", PLIM_CONTEXT_ONNXRUNTIME, NULL},
    {"mxnet", PLIM_CONTEXT_MXNET, NULL},
    {"paddle", PLIM_CONTEXT_PADDLE, NULL},
    {"caffe", PLIM_CONTEXT_CAFFE, NULL},
    {"cupy", PLIM_CONTEXT_CUPY, NULL},
    {"client/session.py", PLIM_CONTEXT_TENSORFLOW, read_sessions},
    {"client\\session.py", PLIM_CONTEXT_TENSORFLOW, read_sessions},
    {"seeabovefortraceback", PLIM_CONTEXT_TENSORFLOW, read_sessions},
    {"spark", PLIM_CONTEXT_SPARK, NULL},
    {"nextflow", PLIM_CONTEXT_NEXTFLOW, NULL},
    {"python", PLIM_CONTEXT_PYTHON, NULL},
    {".py", PLIM_CONTEXT_PYTHON, NULL},
    {"importmlx", PLIM_CONTEXT_MLX, NULL},
    {"mlx_lm", PLIM_CONTEXT_MLX, NULL},
    {"adamw8bit", PLIM_CONTEXT_OPTIMIZER8, NULL},
    {"adamw_8bit", PLIM_CONTEXT_OPTIMIZER8, NULL},
    {"paged_adamw", PLIM_CONTEXT_OPTIMIZER8, NULL},
    {"batch_size", PLIM_CONTEXT_TRAINING, read_batch},
    {"batchsize", PLIM_CONTEXT_TRAINING, read_batch},
    {"--batch-size", PLIM_CONTEXT_TRAINING, read_batch},
    {"--batch", PLIM_CONTEXT_TRAINING, read_batch},
    {"ims_per_batch", PLIM_CONTEXT_TRAINING, read_batch},
    {"samples_per_gpu", PLIM_CONTEXT_TRAINING, read_batch},
    {"--mem", PLIM_CONTEXT_CLUSTER, read_memory},
    {"--memory", PLIM_CONTEXT_CONTAINER, read_memory},
    {"--shm-size", PLIM_CONTEXT_CONTAINER, read_memory},
    {"shm_size", PLIM_CONTEXT_CONTAINER, read_memory},
    {"-xmx", PLIM_CONTEXT_COUNT, read_memory},
    {"max-old-space-size", PLIM_CONTEXT_COUNT, read_heap},
    {"max_old_space_size", PLIM_CONTEXT_COUNT, read_heap},
    {"gpu_memory_utilization", PLIM_CONTEXT_VLLM, read_fraction},
    {"gpu-memory-utilization", PLIM_CONTEXT_VLLM, read_fraction},
    {"mem-fraction-static", PLIM_CONTEXT_SGLANG, read_fraction},
    {"mem_fraction_static", PLIM_CONTEXT_SGLANG, read_fraction},
};

enum { WORDS = sizeof words / sizeof *words };

plim_status plim__context_scan_build(plim__scan *scan, plim_error *error) {
    const char *texts[WORDS];
    for (size_t i = 0; i < WORDS; i++) texts[i] = words[i].text;
    return plim__scan_build(scan, texts, WORDS, error);
}

/* Advice that the framework prints with its message ("try setting ...=expandable_segments:True") is no setting. */
static bool is_printed_advice(plim__text window, const char *at) {
    return plim__has_before(window.at, at, 90, "try setting") || plim__has_before(window.at, at, 90, "try set");
}

static void read_words(plim__context *context, const plim__scan *scan, plim__text window) {
    size_t size = (size_t)(window.end - window.at), at = 0;
    uint16_t state = 0, found;
    while ((found = plim__scan_next(scan, window.at, size, &at, &state)))
        for (; found; found = scan->shorter[found]) {
            uint16_t id = scan->word_of[found];
            if (!id) continue;
            const word *w = &words[id - 1];
            bool setting = w->means == PLIM_CONTEXT_EXPANDABLE || w->means == PLIM_CONTEXT_SPLIT_SIZE;
            if (setting && is_printed_advice(window, window.at + at)) continue;
            if (w->means != PLIM_CONTEXT_COUNT) set(context, w->means);
            if (w->read) w->read(context, (plim__text){window.at + at, window.end});
        }
}

void plim__context_read(plim__context *context, const plim__scan *scan, plim__text window, const char *at,
                        const char *end) {
    *context = (plim__context){.is_read = true, .batch = -1, .batch_most = -1, .workers = -1};
    context->place = (plim_place){.line = -1, .epoch = -1, .step = -1, .step_count = -1};
    read_words(context, scan, window);
    plim__traceback_read(context, window, at, end);
    if (context->phase == PLIM_PHASE_BACKWARD || context->phase == PLIM_PHASE_OPTIMIZER)
        set(context, PLIM_CONTEXT_TRAINING);
}
