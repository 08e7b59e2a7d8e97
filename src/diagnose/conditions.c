/* The words in which a fix says what must be so before it is offered. */
#include "diagnose/conditions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/cause.h"
#include "diagnose/context_tried.h"
#include "diagnose/llama_log.h"
#include "diagnose/programs.h"
#include "diagnose/weigh.h"

#define MIB ((uint64_t)1 << 20)

static bool is_kind(const plim__case *c, const char *kind) {
    return c->x->device_kind && strcmp(c->x->device_kind, kind) == 0;
}
static bool says(const plim__case *c, plim__context_word word) { return plim__context_has(c->context, word); }
static bool in_phase(const plim__case *c, plim_phase phase) { return c->context->phase == phase; }

static bool is_gpu(const plim__case *c) { return !c->x->device_kind || is_kind(c, "gpu"); }
static bool is_host(const plim__case *c) { return is_kind(c, "host"); }
static bool is_mps(const plim__case *c) { return is_kind(c, "mps"); }
static bool mps_has_others(const plim__case *c) {
    return c->used.known && c->x->limit.known && c->used.bytes >= c->x->limit.bytes / 4;
}
static bool is_tpu(const plim__case *c) { return is_kind(c, "tpu"); }
static bool is_npu(const plim__case *c) { return is_kind(c, "npu"); }
static bool is_xpu(const plim__case *c) { return is_kind(c, "xpu"); }
/* Devices that a variable chooses, each vendor's under its own name. */
static bool is_card(const plim__case *c) { return is_gpu(c) || is_npu(c) || is_xpu(c); }
/* There settings in Python's words are of no use. */
static bool is_other_language(const plim__case *c) {
    static const char *const languages[] = {"r",    "java", "node",   "php",   "rust",  "go",    "cpp",
                                            "perl", "ruby", "matlab", "julia", "shell", "dotnet"};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (strcmp(c->x->framework, languages[i]) == 0) return true;
    return false;
}

static bool is_load(const plim__case *c) {
    if (in_phase(c, PLIM_PHASE_LOADING)) return true;
    bool told = says(c, PLIM_CONTEXT_LOADING) ||
                (says(c, PLIM_CONTEXT_LOADS) && !says(c, PLIM_CONTEXT_INFERENCE) && !says(c, PLIM_CONTEXT_TRAINING));
    if (in_phase(c, PLIM_PHASE_UNKNOWN) && told && c->x->place.epoch < 0) return true;
    return c->facts & PLIM_FACT_MODEL && !in_phase(c, PLIM_PHASE_INFERENCE);
}
static bool traces_load(const plim__case *c) { return in_phase(c, PLIM_PHASE_LOADING); }
static bool is_optimizer(const plim__case *c) { return in_phase(c, PLIM_PHASE_OPTIMIZER); }
static bool is_eval(const plim__case *c) {
    if (in_phase(c, PLIM_PHASE_EVALUATION)) return true;
    bool told = c->x->place.epoch < 0 || says(c, PLIM_CONTEXT_SAID_EVALUATED); /* epochs have an evaluation, too */
    return in_phase(c, PLIM_PHASE_UNKNOWN) && says(c, PLIM_CONTEXT_EVALUATION) && told;
}
/* Words of training that inference may have as well: a batch, adapters. */
static bool hints_at_training(const plim__case *c) {
    bool adapters = says(c, PLIM_CONTEXT_LORA) && !says(c, PLIM_CONTEXT_DIFFUSION) && !says(c, PLIM_CONTEXT_COMFY);
    return says(c, PLIM_CONTEXT_TRAINER) || says(c, PLIM_CONTEXT_BATCHED) || adapters;
}
/* What the program of the log is for, where nothing else tells. */
static bool is_for(const plim__case *c, plim__activity activity) {
    const plim__program *program = plim__program_find(c);
    return program && program->usual == activity;
}
static bool is_infer(const plim__case *c) {
    if (in_phase(c, PLIM_PHASE_INFERENCE)) return true;
    bool unknown = in_phase(c, PLIM_PHASE_UNKNOWN) || in_phase(c, PLIM_PHASE_COMPILING);
    if (unknown && says(c, PLIM_CONTEXT_INFERS) && c->x->place.epoch < 0) return true; /* whatever else is told */
    if (!unknown || says(c, PLIM_CONTEXT_TRAINING)) return false;
    if (says(c, PLIM_CONTEXT_INFERENCE)) return true;
    if (is_for(c, PLIM_ACTIVITY_TRAIN)) return false;
    return !hints_at_training(c) && (says(c, PLIM_CONTEXT_LLM) || says(c, PLIM_CONTEXT_DIFFUSERS) ||
                                     says(c, PLIM_CONTEXT_DIFFUSION) || says(c, PLIM_CONTEXT_WHISPER));
}
/* Engines that have no backward pass. */
static bool only_infers(const plim__case *c) {
    static const char *const engines[] = {"ctranslate2", "llama.cpp",    "ollama",   "vllm",   "sglang",
                                          "tensorrt",    "tensorrt-llm", "lmdeploy", "exllama"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strcmp(c->x->framework, engines[i]) == 0) return true;
    return false;
}
static bool is_train(const plim__case *c) {
    if (only_infers(c)) return false;
    bool serves = is_for(c, PLIM_ACTIVITY_SERVE) && !says(c, PLIM_CONTEXT_TRAINING);
    if (serves && !in_phase(c, PLIM_PHASE_BACKWARD)) return false;
    if (in_phase(c, PLIM_PHASE_FORWARD) || in_phase(c, PLIM_PHASE_BACKWARD)) return true;
    bool told = says(c, PLIM_CONTEXT_TRAINING) || hints_at_training(c) || is_for(c, PLIM_ACTIVITY_TRAIN);
    return in_phase(c, PLIM_PHASE_UNKNOWN) && told && !is_eval(c) && !is_load(c) &&
           (!says(c, PLIM_CONTEXT_INFERS) || c->x->place.epoch >= 0);
}

/* Its log or somebody's words speak of training, whatever failed. */
static bool speaks_of_training(const plim__case *c) {
    return is_train(c) || says(c, PLIM_CONTEXT_TRAINING) || says(c, PLIM_CONTEXT_BATCHED) || c->x->place.epoch >= 0;
}

static bool has_pieces(const plim__case *c) {
    uint64_t cached = plim__cached(c->x);
    if (plim__is_stated_in_pieces(c->x)) return true;
    return !plim__was_refused(c->x) && cached >= 16 * MIB &&
           (!c->x->requested.known || cached >= c->x->requested.bytes / 32);
}
static bool was_refused(const plim__case *c) {
    const plim_explanation *x = c->x;
    if (plim__was_refused(x)) return true;
    return !plim__is_stated_in_pieces(x) && x->requested.known && x->free.known &&
           x->free.bytes >= x->requested.bytes && plim__cached(x) < x->requested.bytes;
}
static bool is_full_live(const plim__case *c) {
    const plim_explanation *x = c->x;
    return plim__is_crowded(x);
}
static bool is_tiny(const plim__case *c) { return c->x->requested.known && c->x->requested.bytes < 32 * MIB; }
static bool is_modest(const plim__case *c) { return c->x->requested.known && c->x->requested.bytes < 1024 * MIB; }
/* More than the memory of most machines in one array: is it meant? */
static bool is_huge(const plim__case *c) { return c->x->requested.known && c->x->requested.bytes >= 32768 * MIB; }
static bool is_single(const plim__case *c) { return c->x->requested.known && c->x->requested.bytes >= 1024 * MIB; }

/* A layer's weights: a kernel of a convolution, a table of words, or what is drawn when they are made. */
static bool is_weights_shape(const plim__case *c) {
    const int64_t *shape = c->x->shape;
    if (strstr(c->op, "Backprop") || strstr(c->op, "gradients/")) return false; /* of a step, as large as activations */
    bool kernel = c->x->rank == 4 && shape[0] == shape[1] && shape[0] <= 11;
    bool table = c->x->rank == 2 && shape[0] >= 20000 && shape[1] >= 16 && shape[1] <= 4096;
    bool drawn = strstr(c->op, "RandomStandard") || strstr(c->op, "RandomUnif") || strstr(c->op, "TruncatedNormal");
    return strcmp(c->x->framework, "tensorflow") == 0 && (kernel || table || drawn);
}
/* The tensor that failed has a batch that the log names as its first axis: words about a batch of 1 are of another run. */
static bool shape_has_batch(const plim__case *c) {
    return c->x->rank >= 2 && c->context->batch_most > 1 && c->x->shape[0] == c->context->batch_most;
}
/* The batch is 1 by a setting, by somebody's word, or by the shape of the tensor that failed. */
static bool batch_is_one(const plim__case *c) {
    if (shape_has_batch(c)) return false;
    if (c->context->batch_most == 1 || says(c, PLIM_CONTEXT_BATCH_ONE)) return true;
    const plim__program *program = c->context->batch_most < 0 ? plim__program_find(c) : NULL;
    if (program && program->batch == 1) return true; /* its default */
    return c->context->batch_most < 0 && c->x->rank >= 3 && c->x->shape[0] == 1 && !is_weights_shape(c);
}
/* A batch that is still large was not tried to its end. */
static bool batch_was_tried(const plim__case *c) {
    return !batch_is_one(c) && says(c, PLIM_CONTEXT_BATCH_TRIED) && c->context->batch < 16;
}
static bool batch_may_shrink(const plim__case *c) { return !batch_is_one(c) && !batch_was_tried(c); }
/* A batch that is told, not one that may be. */
static bool has_batch(const plim__case *c) { return c->context->batch_most > 1; }
static bool batch_no_more(const plim__case *c) { return !batch_may_shrink(c); }

/* The request is a matrix over all nodes that are spoken of, with one figure or some for every pair. */
static bool is_dense(const plim__case *c) {
    double nodes = (double)c->context->nodes;
    return c->x->requested.known && nodes >= 500 && (double)c->x->requested.bytes >= nodes * nodes;
}
/* One length three times: (H, W) with (H, W, C) broadcast gives it, data hardly. */
static bool has_repeats(const plim__case *c) {
    for (int i = 0; i < c->x->rank; i++) {
        int same = 0;
        for (int k = 0; k < c->x->rank; k++) same += c->x->shape[k] == c->x->shape[i];
        if (same >= 3 && c->x->shape[i] >= 64) return true;
    }
    return false;
}

static bool is_float64(const plim__case *c) { return strcmp(c->x->dtype, "float64") == 0; }
static bool is_int64(const plim__case *c) { return strcmp(c->x->dtype, "int64") == 0; }
/* An array of texts gives each the room of the longest. */
static bool is_texts(const plim__case *c) {
    return strncmp(c->x->dtype, "<U", 2) == 0 || strncmp(c->x->dtype, "|S", 2) == 0;
}
static bool is_float32(const plim__case *c) { return !c->x->dtype[0] || strcmp(c->x->dtype, "float32") == 0; }
static bool has_limit(const plim__case *c) { return c->x->limit.known; }
static bool is_alone(const plim__case *c) {
    const plim_explanation *x = c->x;
    uint64_t own = x->allocated.known ? x->allocated.bytes + plim__cached(x) : 0;
    return says(c, PLIM_CONTEXT_ALONE) || (x->capacity.known && own >= x->capacity.bytes / 100 * 85);
}
/* Others hold a third and more: a smaller program of one's own does not reach it. */
static bool is_crowded_out(const plim__case *c) {
    uint64_t others;
    bool small = c->x->allocated.known && c->x->capacity.known && c->x->allocated.bytes < c->x->capacity.bytes / 4;
    /* a program's own libraries are others, too, but not beside so little of its own */
    bool told = c->x->other_process.known || !plim__program_find(c) || small;
    return told && c->x->capacity.known && plim__others(c->x, &others) && others >= c->x->capacity.bytes / 3;
}
/* Nothing else of this process is on the device. */
static bool is_first(const plim__case *c) {
    return c->x->allocated.known && c->x->capacity.known && c->x->allocated.bytes < c->x->capacity.bytes / 50;
}
/* A good part is live, a graph perhaps with it. */
static bool holds_some(const plim__case *c) {
    return !c->x->allocated.known || !c->x->capacity.known || c->x->allocated.bytes >= c->x->capacity.bytes / 4;
}
static bool fits_in_16(const plim__case *c) {
    return !c->x->capacity.known || 2 * c->parameters <= 0.9 * (double)c->x->capacity.bytes;
}
static bool has_shape(const plim__case *c) { return c->x->rank > 0; }
/* Nearly all is live, and little was asked for: what is held decides, not this input. */
static bool is_brim(const plim__case *c) {
    const plim_explanation *x = c->x;
    return x->requested.known && x->capacity.known && x->allocated.known &&
           x->requested.bytes < x->capacity.bytes / 50 && x->allocated.bytes >= x->capacity.bytes / 100 * 88;
}
static bool is_unmeasured(const plim__case *c) { return !c->x->requested.known && !c->x->capacity.known; }
static bool has_holders(const plim__case *c) { return c->x->holder_count > 0; }
static bool is_later(const plim__case *c) {
    const plim_place *p = &c->x->place;
    return says(c, PLIM_CONTEXT_LATER) || p->epoch > 1 || (p->epoch >= 0 && p->step > 200) || p->step > 1000 ||
           c->x->failures > 3;
}
static bool is_amd(const plim__case *c) { return says(c, PLIM_CONTEXT_AMD); }
/* What firmware sets aside for a GPU that has no memory of its own. */
static bool is_carved(const plim__case *c) {
    bool board = says(c, PLIM_CONTEXT_UNIFIED) && c->x->capacity.bytes <= 16384 * MIB;
    return is_amd(c) && c->x->capacity.known && (board || c->x->capacity.bytes <= 2048 * MIB);
}
/* Others could end, and next to nothing is missing. */
static bool has_listed_others(const plim__case *c) {
    const plim_explanation *x = c->x;
    return x->other_process.known && x->shortfall.known && x->shortfall.bytes <= 512 * MIB &&
           x->other_process.bytes >= 1024 * MIB && x->other_process.bytes >= 2 * x->shortfall.bytes;
}
static bool has_share(const plim__case *c) { return c->context->share > 0 && c->context->share < 0.9; }
static bool has_low_share(const plim__case *c) { return c->context->utilization > 0 && c->context->utilization < 0.88; }
static bool low_utilization(const plim__case *c) { return c->context->utilization < 0.93; }

static bool fact_shm(const plim__case *c) { return c->facts & PLIM_FACT_SHM; }
static bool fact_killed(const plim__case *c) { return c->facts & PLIM_FACT_KILLED; }
static bool fact_commit(const plim__case *c) { return c->facts & PLIM_FACT_WIN_COMMIT; }
static bool fact_files(const plim__case *c) { return c->facts & PLIM_FACT_FILES; }
static bool fact_maps(const plim__case *c) { return c->facts & PLIM_FACT_MAPS; }
static bool fact_threads(const plim__case *c) { return c->facts & PLIM_FACT_THREADS; }
static bool fact_store(const plim__case *c) { return c->facts & PLIM_FACT_OBJECT_STORE; }
static bool fact_heap(const plim__case *c) { return c->facts & PLIM_FACT_HEAP; }
static bool fact_kv(const plim__case *c) { return c->facts & PLIM_FACT_KV_CACHE; }
static bool fact_warmup(const plim__case *c) { return c->facts & PLIM_FACT_WARMUP; }
static bool fact_startup(const plim__case *c) { return c->facts & PLIM_FACT_STARTUP; }
static bool is_nccl(const plim__case *c) { return strcmp(c->x->framework, "nccl") == 0; }
static bool fact_possible(const plim__case *c) { return c->facts & PLIM_FACT_POSSIBLE; }
static bool fact_driver(const plim__case *c) { return c->facts & PLIM_FACT_DRIVER; }
static bool fact_chunk(const plim__case *c) { return c->facts & PLIM_FACT_CHUNK; }
static bool is_android(const plim__case *c) { return strstr(c->x->message, "until OOM"); }
static bool is_fork(const plim__case *c) {
    return strstr(c->x->message, "fork") || strstr(c->x->message, "Errno 12") || strstr(c->x->message, "popen");
}
/* The driver's own refusal: the allocator never came to ask, or its figures would stand in the message. */
static bool is_driver(const plim__case *c) {
    return !c->x->requested.known && !c->x->capacity.known && strstr(c->x->message, "CUDA error: out of memory");
}
/* PyTorch 0.4.1 and 1.0 say the same of their own allocator, from a pass of the network; since 1.10 advice on kernels follows
 * the driver's word. */
static bool is_outside(const plim__case *c) {
    plim_phase phase = c->context->phase;
    bool passes = phase != PLIM_PHASE_UNKNOWN && phase != PLIM_PHASE_LOADING && phase != PLIM_PHASE_DATA;
    return is_driver(c) && (!passes || says(c, PLIM_CONTEXT_ASYNC_ADVICE));
}
static bool is_pytorch(const plim__case *c) { return strcmp(c->x->framework, "pytorch") == 0; }
static bool is_tensorflow(const plim__case *c) { return strcmp(c->x->framework, "tensorflow") == 0; }
static bool is_jax(const plim__case *c) { return strcmp(c->x->framework, "jax") == 0; }
static bool is_torch7(const plim__case *c) { return strcmp(c->x->framework, "torch7") == 0; }
static bool is_transformers(const plim__case *c) {
    return says(c, PLIM_CONTEXT_TRANSFORMERS) || says(c, PLIM_CONTEXT_PRETRAINED) || says(c, PLIM_CONTEXT_LLM);
}
static bool is_diffusion(const plim__case *c) {
    return says(c, PLIM_CONTEXT_DIFFUSION) || says(c, PLIM_CONTEXT_DIFFUSERS);
}
/* Its allocator's words are hardly anybody else's. */
static bool is_comfy(const plim__case *c) {
    if (says(c, PLIM_CONTEXT_COMFY)) return true;
    return c->facts & PLIM_FACT_ASYNC && !says(c, PLIM_CONTEXT_WEBUI) && !says(c, PLIM_CONTEXT_TRAINING);
}
static bool is_permgen(const plim__case *c) { return strstr(c->x->message, "PermGen"); }
static bool is_webui(const plim__case *c) {
    return says(c, PLIM_CONTEXT_WEBUI) && !is_comfy(c) && !says(c, PLIM_CONTEXT_TEXTGEN);
}
static bool is_llm(const plim__case *c) {
    if (is_diffusion(c) || says(c, PLIM_CONTEXT_KOHYA) || is_comfy(c)) return false;
    bool pytorch = strcmp(c->x->framework, "pytorch") == 0;
    return says(c, PLIM_CONTEXT_LLM) || says(c, PLIM_CONTEXT_LORA) || says(c, PLIM_CONTEXT_TEXTGEN) ||
           (pytorch && c->parameters >= 6e9); /* "the 13B model" */
}
static bool trains_all(const plim__case *c) {
    if (says(c, PLIM_CONTEXT_ALL_WEIGHTS) && is_llm(c)) return true;
    return (is_train(c) || is_optimizer(c)) && plim__state_exceeds(c);
}
/* The program of the log has settings of its own for weights and state. */
static bool has_state_levers(const plim__case *c) {
    const plim__program *program = plim__program_find(c);
    return program && program->usual == PLIM_ACTIVITY_TRAIN && plim__program_setting(program, PLIM_LEVER_OFFLOAD);
}
static bool is_sequences(const plim__case *c) {
    return (says(c, PLIM_CONTEXT_SEQUENCES) || says(c, PLIM_CONTEXT_LLM)) && !says(c, PLIM_CONTEXT_DETECTION) &&
           !is_diffusion(c);
}
static bool is_images(const plim__case *c) {
    return (says(c, PLIM_CONTEXT_IMAGES) || says(c, PLIM_CONTEXT_DETECTION)) && !is_sequences(c);
}
/* Thousands of samples in one tensor, where the batch is not of that size. */
static bool is_dataset_tensor(const plim__case *c) {
    if (c->x->rank < 2 || c->x->shape[0] < 1000) return false;
    bool copies = strstr(c->op, "GatherV2") || strstr(c->op, "EagerConst") || strstr(c->op, "StridedSlice");
    return copies && c->x->shape[0] > 16 * (c->context->batch_most > 0 ? c->context->batch_most : 64);
}
/* Images or sequences, and more of them than anybody takes at a time. */
static bool is_whole_set(const plim__case *c) {
    if (says(c, PLIM_CONTEXT_BESIDE_GRADIENT) || strstr(c->op, "gradients/")) return false; /* a large batch */
    return c->x->rank >= 3 && c->x->shape[0] >= 1000 && c->context->batch_most < c->x->shape[0];
}
/* TensorFlow names the node after the optimizer that it belongs to. */
static bool is_weights_op(const plim__case *c) {
    static const char *const optimizers[] = {"/Adam", "/RMSprop", "/Momentum", "/Adagrad"};
    if (strstr(c->op, "/gradients/") || strstr(c->op, "_grad/")) return false; /* named below it, and an activation's */
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
        if (strstr(c->op, optimizers[i])) return true;
    return false;
}
/* "training_10/Adam/mul": Keras numbers what it makes. */
static bool is_later_model(const plim__case *c) {
    const char *at = strstr(c->op, "training_");
    return at && at[9] >= '1' && at[9] <= '9';
}
static bool is_windows(const plim__case *c) { return says(c, PLIM_CONTEXT_WINDOWS) && !says(c, PLIM_CONTEXT_WSL); }
static bool is_mac(const plim__case *c) { return says(c, PLIM_CONTEXT_MAC) || is_mps(c); }
static bool is_python(const plim__case *c) {
    return says(c, PLIM_CONTEXT_PYTHON) || says(c, PLIM_CONTEXT_NOTEBOOK) || strcmp(c->x->framework, "jupyter") == 0 ||
           says(c, PLIM_CONTEXT_PYTORCH) || says(c, PLIM_CONTEXT_TENSORFLOW) || says(c, PLIM_CONTEXT_JAX) ||
           c->x->place.epoch >= 0 || c->x->place.step >= 0;
}
static bool loads_weights(const plim__case *c) {
    bool large = c->parameters >= 1e9 && c->x->place.step < 1 && c->x->place.epoch < 0; /* gigabytes before step 1 */
    return large || is_load(c) || says(c, PLIM_CONTEXT_PRETRAINED) || says(c, PLIM_CONTEXT_WEIGHTS) ||
           says(c, PLIM_CONTEXT_LOADS);
}
static bool fact_compute(const plim__case *c) { return says(c, PLIM_CONTEXT_COMPUTE_BUFFER); }
static bool is_llama(const plim__case *c) {
    return strcmp(c->x->framework, "llama.cpp") == 0 || strcmp(c->x->framework, "ollama") == 0;
}
/* The cache of the context is a tenth of the weights or less: a shorter context makes no room. */
static bool has_small_cache(const plim__case *c) {
    if (!is_llama(c)) return false;
    plim__llama_log log = plim__llama_read(c->log);
    return log.cache > 0 && log.cache < log.weights / 10;
}
static bool has_layers(const plim__case *c) { return is_llama(c) && plim__llama_read(c->log).layers > 0; }
static bool is_torchload(const plim__case *c) { return says(c, PLIM_CONTEXT_TORCH_LOAD); }

static bool has_cards(const plim__case *c) {
    return says(c, PLIM_CONTEXT_MULTIGPU) || c->x->device_index > 0 || c->card >= 0;
}
/* No activation is that large: the gradients of all weights in one block. */
static bool is_flat_gradient(const plim__case *c) {
    const plim_explanation *x = c->x;
    return in_phase(c, PLIM_PHASE_BACKWARD) && has_cards(c) && x->requested.known && x->capacity.known &&
           x->requested.bytes >= 16384 * MIB && x->requested.bytes >= x->capacity.bytes / 5 &&
           x->requested.bytes < x->capacity.bytes;
}
/* Whoever asks trained the network, or a line of a script of theirs failed: they can change the code, not only its options. */
static bool is_library(const plim__case *c) {
    const plim__program *program = plim__program_find(c);
    return program && plim__program_is_library(program);
}
static bool is_own_code(const plim__case *c) {
    return says(c, PLIM_CONTEXT_TRAINING) || (c->context->traced && c->x->place.file[0]);
}
/* Low-memory settings, or a pipeline that moves its parts to the device and back. */
static bool has_offloaded(const plim__case *c) {
    return says(c, PLIM_CONTEXT_LOWVRAM) || (says(c, PLIM_CONTEXT_OFFLOAD) && is_diffusion(c)) ||
           plim__was_tried(c->context, PLIM_LEVER_OFFLOAD);
}
/* More cards are there, or are what such a model is run on: a server, tens of billions of parameters. */
static bool may_have_more_cards(const plim__case *c) {
    if (says(c, PLIM_CONTEXT_COLAB) || says(c, PLIM_CONTEXT_KAGGLE) || says(c, PLIM_CONTEXT_ONE_CARD)) return false;
    return has_cards(c) || is_for(c, PLIM_ACTIVITY_SERVE) || c->parameters >= 12e9 || says(c, PLIM_CONTEXT_DEEPSPEED);
}
/* One that people run on the card of their own machine. */
static bool is_app(const plim__case *c) { return is_for(c, PLIM_ACTIVITY_INFER) && !has_cards(c) && !is_library(c); }
/* Weights that come from a hub, by a call that takes their type. */
static bool is_of_hub(const plim__case *c) { return is_transformers(c) || is_diffusion(c) || !c->context->traced; }
/* A trainer and the server that it asks for answers share each card. */
static bool is_colocated(const plim__case *c) {
    static const char *const programs[] = {"verl", "OpenRLHF", "TRL's GRPO, PPO and RLOO", "NeMo-RL", "EasyR1"};
    const plim__program *program = plim__program_find(c);
    for (size_t i = 0; program && i < sizeof programs / sizeof *programs; i++)
        if (strcmp(program->name, programs[i]) == 0) return says(c, PLIM_CONTEXT_VLLM) || says(c, PLIM_CONTEXT_SGLANG);
    return false;
}
static bool fact_eager(const plim__case *c) {
    return c->facts & PLIM_FACT_EAGER_CONST || strstr(c->x->message, "_EagerConst");
}
static bool is_destination(const plim__case *c) { return strstr(c->x->message, "Dst tensor"); }
static bool is_large(const plim__case *c) { return c->x->requested.known && c->x->requested.bytes >= 8192 * MIB; }
static bool is_program(const plim__case *c) { return plim__program_find(c) != NULL; }

static bool is_llama_program(const plim__case *c) {
    const plim__program *program = plim__program_find(c);
    return program && program->framework && strcmp(program->framework, "llama.cpp") == 0;
}

static bool is_second(const plim__case *c) {
    (void)c;
    return true; /* the one who chooses sees to it */
}
/* On a small card the context, a desktop and other programs weigh. */
static bool has_hidden(const plim__case *c) {
    const plim_explanation *x = c->x;
    if (x->other_process.known && x->requested.known && x->other_process.bytes >= x->requested.bytes &&
        x->other_process.bytes >= 256 * MIB)
        return true; /* theirs alone would do */
    if (!x->capacity.known || !x->free.known || !x->reserved.known || says(c, PLIM_CONTEXT_ALONE)) return false;
    uint64_t seen = x->free.bytes + x->reserved.bytes;
    if (x->capacity.bytes > (uint64_t)8200 * MIB || seen >= x->capacity.bytes) return false;
    uint64_t hidden = x->capacity.bytes - seen;
    if (x->shortfall.known && hidden < x->shortfall.bytes) return false; /* all of it would not be enough */
    return hidden >= x->capacity.bytes / 5 && hidden >= 500 * MIB;
}
static bool may_edit(const plim__case *c) { return !c->context->traced || c->x->place.file[0]; }
static bool limit_was_raised(const plim__case *c) { return plim__was_tried(c->context, PLIM_LEVER_LIMIT); }
static bool has_plenty(const plim__case *c) { return says(c, PLIM_CONTEXT_PLENTY); }
static bool is_square(const plim__case *c) {
    const plim_explanation *x = c->x;
    return x->rank >= 2 && x->shape[x->rank - 1] == x->shape[x->rank - 2];
}

typedef struct condition {
    const char *word;
    bool (*holds)(const plim__case *c); /* NULL: the context's word */
    plim__context_word context;
    const char *sentence;
} condition;

#define FACT(word, function, sentence)                                                                                 \
    { word, function, PLIM_CONTEXT_COUNT, sentence }
#define SAYS(word, context, sentence)                                                                                  \
    { word, NULL, PLIM_CONTEXT_##context, sentence }

static const condition conditions[] = {
    FACT("gpu", is_gpu, "a GPU"),
    FACT("host", is_host, "host memory"),
    FACT("mps", is_mps, "an Apple GPU"),
    FACT("mps-others", mps_has_others, "a quarter of an Apple GPU's memory and more is others'"),
    FACT("tpu", is_tpu, "a TPU"),
    FACT("npu", is_npu, "an NPU"),
    FACT("xpu", is_xpu, "an Intel GPU"),
    FACT("card", is_card, "a GPU or an NPU"),
    FACT("other-language", is_other_language, "a program that is not in Python"),
    FACT("flat", is_flat_gradient, "one block of 16 GiB and more in the backward pass"),
    SAYS("nvme", NVME, "offloading to NVMe is on already"),
    FACT("dense", is_dense, "the request is a matrix over all nodes of a graph"),
    FACT("repeats", has_repeats, "one length stands three times in the shape"),
    SAYS("plain-load", PLAIN_LOAD, "the call that loads the weights names no type"),
    SAYS("captures", CAPTURES, "while CUDA graphs are captured"),
    FACT("load", is_load, "while a model is loaded"),
    FACT("loading", traces_load, "the traceback shows weights that are loaded"),
    FACT("optimizer", is_optimizer, "in the optimizer's update"),
    FACT("eval", is_eval, "in evaluation"),
    FACT("infer", is_infer, "in inference"),
    FACT("train", is_train, "in training"),
    FACT("trains", speaks_of_training, "training is spoken of"),
    FACT("pieces", has_pieces, "a good part of the request is cached but unallocated"),
    FACT("refused", was_refused, "more is free than was asked for"),
    FACT("full-live", is_full_live, "hardly anything is left beside what is live"),
    FACT("second", is_second, "as the second fix"),
    FACT("hidden", has_hidden, "a good part of a small card is neither live nor cached nor free"),
    FACT("may-edit", may_edit, "no installed program, as far as the traceback tells"),
    SAYS("kubernetes", KUBERNETES, "Kubernetes"),
    SAYS("wsl", WSL, "Linux inside Windows (WSL)"),
    FACT("limit-tried", limit_was_raised, "a higher limit was tried"),
    FACT("plenty", has_plenty, "memory is said to be free"),
    FACT("square", is_square, "a square matrix"),
    SAYS("first-touch", FIRST_TOUCH, "it failed where a layer was made or moved, before any step"),
    SAYS("resumes", RESUMES, "training is resumed from a checkpoint"),
    SAYS("device-map", DEVICE_MAP, "layers are spread by device_map"),
    FACT("crowded-out", is_crowded_out, "others hold a third of the device and more"),
    FACT("first", is_first, "next to nothing of this process is on the device"),
    SAYS("decodes", DECODES, "an image or a video is decoded"),
    SAYS("merges", MERGES, "tables are joined"),
    FACT("holds", holds_some, "a quarter of the device and more is live"),
    FACT("fits-16", fits_in_16, "the weights fit in 16 bits, as far as their number is told"),
    FACT("shape", has_shape, "the tensor's shape is told"),
    FACT("weights-shape", is_weights_shape, "the tensor has the shape of a layer's weights"),
    FACT("brim", is_brim, "nearly all is live, and little was asked for"),
    FACT("small-cache", has_small_cache, "the cache of the context is small beside the weights"),
    FACT("layers", has_layers, "layers are put on the device"),
    FACT("unmeasured", is_unmeasured, "the message has no figures"),
    FACT("tiny", is_tiny, "a request below 32 MiB"),
    FACT("modest", is_modest, "a request below 1 GiB"),
    FACT("huge", is_huge, "one request of 32 GiB and more"),
    FACT("single", is_single, "one request of 1 GiB and more"),
    FACT("batch>1", batch_may_shrink, "the batch is not known to be 1, nor said to have been reduced"),
    FACT("batch1", batch_no_more, "the batch is 1, or said to have been reduced"),
    FACT("batched", has_batch, "a batch above 1 is told"),
    FACT("own-code", is_own_code, "a script of one's own"),
    FACT("library", is_library, "a library that scripts of one's own stand on"),
    FACT("one", batch_is_one, "a batch of one"),
    FACT("f64", is_float64, "the tensor is float64"),
    FACT("i64", is_int64, "a tensor of int64"),
    FACT("texts", is_texts, "an array of texts"),
    FACT("f32", is_float32, "the tensor is float32, or its type is not told"),
    FACT("limit-known", has_limit, "the limit is told"),
    FACT("holders", has_holders, "a dump names what holds the memory"),
    FACT("later", is_later, "many steps fit before"),
    FACT("amd", is_amd, "an AMD GPU"),
    FACT("carved", is_carved, "an AMD GPU that sees a part of the machine's memory only"),
    FACT("listed-others", has_listed_others, "others that are listed hold far more than is missing"),
    FACT("share", has_share, "a share of the card is set"),
    FACT("low-utilization", low_utilization, "the share of the card is below 0.93"),
    FACT("shm", fact_shm, "/dev/shm or a bus error"),
    FACT("killed", fact_killed, "the process was killed"),
    FACT("win-commit", fact_commit, "Windows' commit limit"),
    FACT("files", fact_files, "too few file handles"),
    FACT("maps", fact_maps, "a tiny mapping was refused"),
    FACT("threads", fact_threads, "a thread could not be started"),
    FACT("store", fact_store, "Ray's object store"),
    FACT("heap", fact_heap, "a language's heap"),
    FACT("low-share", has_low_share, "the share of the card is set, below 0.88"),
    SAYS("volta", VOLTA, "a V100, which has neither bf16 nor AWQ nor fp8"),
    SAYS("many-trained", MANY_TRAINED, "more than a few of a hundred parameters are trained beside adapters"),
    FACT("kv", fact_kv, "the cache of a language model"),
    FACT("warmup", fact_warmup, "while warming up"),
    FACT("startup", fact_startup, "at the start, before anything was taken"),
    FACT("nccl", is_nccl, "NCCL"),
    FACT("possible", fact_possible, "memory is one possible reason"),
    FACT("chunk", fact_chunk, "the request is the pool's chunk"),
    FACT("fork", is_fork, "a process could not be started"),
    FACT("android", is_android, "Android"),
    SAYS("weights", WEIGHTS, "while a model's weights are read"),
    FACT("driver", is_driver, "the driver refused"),
    FACT("outside", is_outside, "the driver refused, and no pass of the network asked"),
    SAYS("typed", TYPED, "the line names the type of the array"),
    SAYS("pool", POOL, "llama.cpp's pool of the computation"),
    FACT("pytorch", is_pytorch, "PyTorch"),
    FACT("tensorflow", is_tensorflow, "TensorFlow"),
    FACT("jax", is_jax, "JAX"),
    FACT("torch7", is_torch7, "Lua Torch"),
    FACT("transformers", is_transformers, "Hugging Face models"),
    FACT("diffusion", is_diffusion, "an image model"),
    FACT("windows", is_windows, "Windows"),
    FACT("mac", is_mac, "a Mac"),
    FACT("torchload", is_torchload, "torch.load"),
    FACT("state-levers", has_state_levers, "a trainer with settings for where weights and state are"),
    FACT("all-weights", trains_all, "all weights are trained, and that by their number or by what is said"),
    SAYS("docker", DOCKER, "a container"),
    FACT("loads", loads_weights, "weights are loaded, or spoken of"),
    FACT("compute", fact_compute, "llama.cpp's compute buffer"),
    SAYS("grows", GROWS, "memory is said to grow"),
    SAYS("protein", PROTEIN, "protein structures"),
    SAYS("linux", LINUX, "Linux"),
    SAYS("subdivided", SUBDIVIDED, "64 subdivisions and more"),
    SAYS("lightgbm", LIGHTGBM, "LightGBM"),
    SAYS("notebook", NOTEBOOK, "a notebook"),
    SAYS("colab", COLAB, "Colab"),
    SAYS("kaggle", KAGGLE, "Kaggle"),
    SAYS("jetson", JETSON, "a Jetson board"),
    FACT("python", is_python, "Python"),
    SAYS("nextflow", NEXTFLOW, "Nextflow"),
    SAYS("snakemake", SNAKEMAKE, "Snakemake"),
    SAYS("spark", SPARK, "Spark"),
    SAYS("keras", KERAS, "Keras"),
    SAYS("trainer", TRAINER, "Hugging Face's Trainer"),
    SAYS("deepspeed", DEEPSPEED, "DeepSpeed"),
    SAYS("lora", LORA, "adapters (LoRA)"),
    FACT("sequences", is_sequences, "a sequence model"),
    FACT("images", is_images, "an image model"),
    FACT("whole-set", is_whole_set, "a tensor whose first axis is too long for a batch"),
    FACT("dataset", is_dataset_tensor, "a tensor as long as the data set"),
    FACT("weights-op", is_weights_op, "the optimizer's operator failed"),
    FACT("model-count", is_later_model, "not the first model of this process"),
    FACT("alone", is_alone, "the device is said to be free of others, or this process has nearly all of it"),
    SAYS("input-tried", INPUT_TRIED, "smaller input was tried"),
    FACT("driver-size", fact_driver, "a size that the driver was asked for"),
    SAYS("parallel", PARALLEL, "the model is spread over cards already"),
    SAYS("save-trace", SAVE_TRACE, "it failed in the saving of a checkpoint"),
    SAYS("textgen", TEXTGEN, "a loader of quantized models"),
    FACT("app", is_app, "a program for one card, not a script"),
    FACT("hub", is_of_hub, "a model of a hub, as far as the traceback tells"),
    FACT("colocated", is_colocated, "a trainer and its server on one card"),
    FACT("eager-const", fact_eager, "an array of the host's is copied to the card whole"),
    FACT("dst", is_destination, "a copy to the card found no room"),
    FACT("large", is_large, "one request of 8 GiB and more"),
    FACT("program", is_program, "a program of the table"),
    FACT("runner", is_llama_program, "a program that runs llama.cpp"),
    FACT("permgen", is_permgen, "Java's permanent generation"),
    SAYS("loop", LOOP, "several models in one process"),
    SAYS("visible", VISIBLE, "a device is chosen already"),
    SAYS("eager", EAGER, "CUDA graphs are off"),
    SAYS("short", SHORT_CONTEXT, "the context's length is set"),
    SAYS("float32", FLOAT32, "32 bits are asked for"),
    SAYS("nohalf", NO_HALF, "16 bits are switched off"),
    SAYS("simulation", SIMULATION, "a simulation"),
    SAYS("diffusers", DIFFUSERS, "diffusers"),
    SAYS("audio", WHISPER, "speech"),
    FACT("comfy", is_comfy, "ComfyUI"),
    FACT("webui", is_webui, "a web UI"),
    FACT("llm", is_llm, "a language model"),
    SAYS("vllm", VLLM, "vLLM"),
    SAYS("sglang", SGLANG, "SGLang"),
    SAYS("graphs", GRAPHS, "graph networks"),
    FACT("multigpu", has_cards, "several cards"),
    FACT("more-cards", may_have_more_cards, "several cards, or a program that is run on several"),
    SAYS("expandable", EXPANDABLE, "expandable segments are set"),
    SAYS("split", SPLIT_SIZE, "max_split_size_mb is set"),
    SAYS("checkpointed", CHECKPOINTING, "activations are recomputed already"),
    SAYS("half", HALF, "16 bits are used already"),
    SAYS("quantized", QUANTIZED, "the weights are quantized already"),
    SAYS("nograd", NO_GRAD, "no graph is kept already"),
    SAYS("offloaded", OFFLOAD, "offloading is on already"),
    SAYS("growth", GROWTH, "memory growth is set"),
    SAYS("lowvram", LOWVRAM, "low-memory settings are on"),
    FACT("still-more", has_offloaded, "a part is in host memory already"),
    SAYS("watermark", WATERMARK, "the watermark is lifted already"),
    SAYS("dataloader", DATALOADER, "a DataLoader"),
    SAYS("workers0", WORKERS_ZERO, "no loader processes"),
    SAYS("slurm", SLURM, "a job of Slurm's"),
    SAYS("saved", SAID_SAVED, "somebody tells that it failed in saving"),
    SAYS("saving", SAVING, "while a checkpoint is saved"),
    SAYS("opt8", OPTIMIZER8, "an 8-bit optimizer"),
    SAYS("workers-said", R_WORKERS, "parallel workers of R are spoken of"),
};

static const condition *find(const char *word, size_t length) {
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        if (strlen(conditions[i].word) == length && memcmp(conditions[i].word, word, length) == 0)
            return &conditions[i];
    return NULL;
}

/* --- versions ------------------------------------------------------------------------------------------------- */

typedef struct version_test {
    bool torch, at_least;
    int version; /* 201 for 2.1 */
} version_test;

static bool read_version_test(const char *word, size_t length, version_test *test) {
    size_t name = length > 7 && memcmp(word, "torch", 5) == 0 ? 5 : length > 4 && memcmp(word, "tf", 2) == 0 ? 2 : 0;
    if (!name || (word[name] != '<' && word[name] != '>')) return false;
    test->torch = name == 5;
    test->at_least = word[name] == '>';
    char *rest;
    long major = strtol(word + name + (test->at_least ? 2 : 1), &rest, 10), minor = 0;
    if (*rest == '.') minor = strtol(rest + 1, NULL, 10);
    test->version = (int)(major * 100 + minor);
    return true;
}

/* "PyTorch 1.4 to 1.9", "PyTorch 2.2 or later": the range that the wording tells. */
static void range_of(const char *wording, int *low, int *high) {
    int a = 0, b = 0, c = 0, d = 0;
    const char *digits = wording;
    while (*digits && (*digits < '0' || *digits > '9')) digits++;
    *low = 0, *high = 9999;
    int count = sscanf(digits, "%d.%d to %d.%d", &a, &b, &c, &d);
    if (count >= 2) *low = a * 100 + b, *high = count == 4 ? c * 100 + d : strstr(wording, "later") ? 9999 : *low;
    if (count == 1 && strstr(wording, ".x")) *low = a * 100, *high = a * 100 + 99;
}

static bool version_holds(const version_test *test, const plim__case *c) {
    int named = test->torch ? c->context->torch : c->context->tensorflow, high = named;
    bool own = strncmp(c->x->version, test->torch ? "PyTorch" : "TensorFlow", test->torch ? 7 : 10) == 0;
    int from = 0, to = 9999;
    if (own) range_of(c->x->version, &from, &to);
    if (!named || named < from || named > to) high = to; /* what the wording says outweighs a mention */
    return test->at_least ? high >= test->version : high < test->version;
}

/* --- lists ---------------------------------------------------------------------------------------------------- */

static bool word_holds(const char *word, size_t length, const plim__case *c) {
    version_test test;
    if (read_version_test(word, length, &test)) return version_holds(&test, c);
    const condition *found = find(word, length);
    if (!found) return false;
    return found->holds ? found->holds(c) : plim__context_has(c->context, found->context);
}

bool plim__conditions_hold(const char *list, const plim__case *c) {
    while (*list) {
        size_t length = strcspn(list, " ");
        bool negated = *list == '!';
        if (length && word_holds(list + negated, length - negated, c) == negated) return false;
        list += length;
        while (*list == ' ') list++;
    }
    return true;
}

bool plim__conditions_known(const char *list) {
    while (*list) {
        size_t length = strcspn(list, " ");
        bool negated = *list == '!';
        version_test test;
        if (!read_version_test(list + negated, length - negated, &test) && !find(list + negated, length - negated))
            return false;
        list += length;
        while (*list == ' ') list++;
    }
    return true;
}

void plim__conditions_print(const char *list, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    while (*list && used + 1 < size) {
        size_t length = strcspn(list, " ");
        bool negated = *list == '!';
        const char *word = list + negated;
        version_test test;
        char sentence[64];
        if (read_version_test(word, length - negated, &test))
            snprintf(sentence, sizeof sentence, "%s %s %d.%d", test.torch ? "PyTorch" : "TensorFlow",
                     test.at_least ? "from" : "before", test.version / 100, test.version % 100);
        else {
            const condition *found = find(word, length - negated);
            snprintf(sentence, sizeof sentence, "%s", found ? found->sentence : "?");
        }
        int wrote = snprintf(text + used, size - used, "%s%s%s", used ? "; " : "", negated ? "not: " : "", sentence);
        used += wrote > 0 ? (size_t)wrote : 0;
        list += length;
        while (*list == ' ') list++;
    }
}
