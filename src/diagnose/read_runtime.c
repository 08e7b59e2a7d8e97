/* Other runtimes on devices: ONNX Runtime, TensorRT, Paddle, MXNet, Caffe, Darknet, CuPy, Theano, Julia, llama.cpp,
 * vLLM, MLX, NCCL. */
#include <string.h>

#include "diagnose/reader.h"

static plim__event runtime_event(plim__reader *reader, const char *framework, const char *start) {
    plim__event event = plim__event_at(reader, PLIM_GROUP_RUNTIME, framework, plim__line_at(reader, start).at);
    event.kind = "gpu";
    event.strength = PLIM_STRONG;
    return event;
}

/* A message that is only its words. */
static void report_plain(plim__reader *reader, const char *framework, const char *start, const char *end) {
    plim__event event = runtime_event(reader, framework, start);
    event.strength = PLIM_PLAIN;
    plim__report(reader, &event, end);
}

/* --- ONNX Runtime --------------------------------------------------------------------------------------------- */

static void parse_ort_buffer(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "onnxruntime", start);
    plim__text t = plim__text_at(reader, end);
    event.kind = NULL; /* the arena is the same for CPU and CUDA */
    if (!plim__take(&t, " %n", &event.requested)) return;
    if (!event.requested.known) event.facts |= PLIM_FACT_BAD_SIZE;
    plim__report(reader, &event, t.at);
}

static void parse_ort_available(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "onnxruntime", start);
    plim__text t = plim__text_at(reader, end);
    event.kind = NULL;
    if (!plim__take(&t, " %n is smaller than requested bytes of %n", &event.free, &event.requested)) return;
    event.facts |= PLIM_FACT_LIMIT;
    if (!event.requested.known) event.facts |= PLIM_FACT_BAD_SIZE;
    plim__report(reader, &event, t.at);
}

static void parse_ort_cuda(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "onnxruntime", start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " : out of memory")) return;
    plim__take(&t, " ; GPU=%i", &event.index);
    plim__report(reader, &event, t.at);
}

/* --- TensorRT ------------------------------------------------------------------------------------------------- */

static void parse_trt_amount(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "tensorrt", start);
    plim__text t = plim__text_at(reader, end);
    plim__take(&t, " GPU");
    if (!plim__take(&t, " memory (%n bytes", &event.requested)) return;
    if (plim__has(t, 400, "Skipping tactic")) event.facts |= PLIM_FACT_TACTIC;
    plim__report(reader, &event, t.at);
}

static void parse_trt_code(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    bool trt = plim__has(line, 300, "Error Code") || plim__has(line, 300, "TRT") || plim__has(line, 300, "TensorRT");
    if (!trt) return;
    plim__event event = runtime_event(reader, "tensorrt", start);
    event.strength = PLIM_PLAIN;
    /* it may be the complaint about one tactic, which the next lines tell */
    if (plim__has(plim__text_at(reader, end), 500, "Skipping tactic")) event.facts |= PLIM_FACT_TACTIC;
    plim__report(reader, &event, end);
}

static void parse_trt_tactic(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "tensorrt", start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %n", &event.requested)) return;
    event.facts |= PLIM_FACT_TACTIC;
    plim__report(reader, &event, t.at);
}

static void parse_trt_failed(plim__reader *reader, const char *start, const char *end) {
    plim__incident *incident = &reader->incident;
    if (!incident->is_set || strcmp(incident->facts.framework, "tensorrt") != 0) return;
    report_plain(reader, "tensorrt", start, end);
}

static void parse_trt_done(plim__reader *reader, const char *start, const char *end) {
    (void)start, (void)end;
    reader->engine_done = true;
}

/* --- Paddle, MXNet, Caffe, Darknet ---------------------------------------------------------------------------- */

static void parse_paddle(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "paddle", start);
    plim__text t = plim__text_at(reader, end);
    plim__take(&t, " %i", &event.index);
    plim__take(&t, " .");
    if (plim__take(&t, " Cannot allocate %S memory on GPU", &event.requested)) {
        plim__take(&t, " %i ,", &event.index);
        if (plim__take(&t, " %S memory has been allocated and", &event.allocated)) {}
        plim__take(&t, " available memory is only %S", &event.free);
    }
    plim__text s = t;
    int64_t megabytes;
    if (plim__seek(&s, 1500, "FLAGS_gpu_memory_limit_mb is %i", &megabytes) && megabytes > 0) {
        event.limit = plim__rounded((double)megabytes * 1048576.0);
        event.facts |= PLIM_FACT_LIMIT;
    }
    plim__report(reader, &event, t.at);
}

static void parse_paddle_old(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "paddle", start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " , %n > %n", &event.requested, &event.free)) return;
    plim__report(reader, &event, t.at);
}

static void parse_cudamalloc(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__take(&t, " retry");
    if (!plim__take(&t, " failed: out of memory")) return;
    plim__event event = runtime_event(reader, "mxnet", start);
    const char *from = start - reader->begin > 200 ? start - 200 : reader->begin;
    plim__text head = {from, start};
    if (plim__before(reader, start, 200, "mxnet") || plim__before(reader, start, 200, "storage_manager")) {
        event.strength = PLIM_PLAIN;
    } else if (plim__seek(&head, 200, "allocating %S on device %i:", &event.requested, &event.index)) {
        event.framework = "llama.cpp";
        event.strength = PLIM_PLAIN;
    } else if (plim__before(reader, start, 200, "ggml") || plim__before(reader, start, 200, "llama")) {
        event.framework = "llama.cpp";
        event.strength = PLIM_PLAIN;
    } else {
        event.framework = "cuda";
        event.strength = PLIM_HINT;
    }
    plim__report(reader, &event, t.at);
}

static void parse_cuda_success(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    bool caffe = plim__take(&t, " (2 vs. 0)") || plim__take(&t, " . 2 vs 0.") || plim__take(&t, " (2 vs 0)");
    if (!caffe || !plim__has(t, 300, "out of memory")) return;
    report_plain(reader, "caffe", start, t.at);
}

/* --- CuPy, Theano, Julia -------------------------------------------------------------------------------------- */

static void parse_cupy_old(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "cupy", start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %n bytes", &event.requested)) return;
    plim_amount total;
    /* pool and request together, not the card */
    if (plim__take(&t, " (total %n bytes)", &total) && total.known && event.requested.known &&
        total.bytes >= event.requested.bytes)
        event.allocated = plim__exact(total.bytes - event.requested.bytes);
    plim__report(reader, &event, t.at);
}

static void parse_theano(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "theano", start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %n bytes of device memory", &event.requested)) return;
    plim__text s = t;
    if (plim__seek(&s, 120, "Driver report %n bytes free and %n bytes total", &event.free, &event.capacity)) t = s;
    plim__report(reader, &event, t.at);
}

static void parse_gpuarray(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    if (!plim__has(t, 80, "OUT_OF_MEMORY") && !plim__has(t, 80, "out of memory")) return;
    report_plain(reader, "theano", start, end);
}

static void parse_cnmem(plim__reader *reader, const char *start, const char *end) {
    if (plim__before(reader, start, 80, "Error allocating")) return; /* read with its numbers */
    report_plain(reader, "theano", start, end);
}

static void parse_julia(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "julia", start);
    plim__text t = plim__text_at(reader, end);
    plim_amount ignored;
    if (!plim__take(&t, " trying to allocate %S", &event.requested)) return;
    for (;;) {
        if (plim__take(&t, " Effective GPU memory usage: %f%% (%S/%S)", &event.used, &event.capacity)) continue;
        if (plim__take(&t, " CUDA allocator usage: %S (capped at %S)", &ignored, &event.limit)) continue;
        if (plim__take(&t, " CUDA allocator usage: %S", &ignored)) continue;
        if (plim__take(&t, " Memory pool usage: %S (%S reserved)", &event.allocated, &event.reserved)) continue;
        if (plim__take(&t, " Memory pool usage: %S (%S allocated, %S cached)", &event.reserved, &event.allocated,
                       &ignored))
            continue;
        if (plim__take(&t, " Memory limit: soft = %S, hard = %S", &ignored, &event.limit)) continue;
        if (plim__take(&t, " Memory limit: hard = %S", &event.limit)) continue;
        if (plim__take(&t, " Memory limit: soft = %S", &event.limit)) continue;
        if (plim__take(&t, " %f%% (%S/%S)", &event.used, &event.capacity)) continue;
        break;
    }
    plim__report(reader, &event, t.at);
}

/* --- llama.cpp, vLLM, MLX ------------------------------------------------------------------------------------- */

/* "failed to allocate CUDA0 buffer of size <n>", "... Metal buffer of size", "... Vulkan0 buffer of size" */
static void parse_llama_buffer(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = runtime_event(reader, "llama.cpp", start);
    if (plim__take(&t, " buffer, size = %S", &event.requested)) {
        event.kind = "mps";
        event.strength = PLIM_PLAIN;
        plim__report(reader, &event, t.at);
        return;
    }
    char name[24];
    plim__skip_blank(&t);
    plim__take_word(&t, name, sizeof name);
    size_t letters = strcspn(name, "0123456789");
    if (!plim__take(&t, " buffer of size %n", &event.requested)) return;
    if (name[letters]) {
        event.index = 0;
        for (const char *c = name + letters; *c >= '0' && *c <= '9' && event.index < 1000; c++)
            event.index = event.index * 10 + (*c - '0');
    }
    if (strncasecmp(name, "Metal", 5) == 0)
        event.kind = "mps";
    else if (strncasecmp(name, "CPU", 3) == 0) {
        event.kind = "host";
        event.index = -1;
        event.facts |= PLIM_FACT_HOST;
    }
    plim__report(reader, &event, t.at);
}

static void parse_vulkan(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = runtime_event(reader, "llama.cpp", start);
    if (!plim__take(&t, " %n failed", &event.requested)) return;
    if (plim__has(t, 200, "exceeds device memory allocation limit")) event.facts |= PLIM_FACT_BLOCK_LIMIT;
    plim__report(reader, &event, t.at);
}

static void parse_vulkan_device(plim__reader *reader, const char *start, const char *end) {
    report_plain(reader, "llama.cpp", start, end);
}

static void parse_vllm_blocks(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "vllm", start);
    event.facts |= PLIM_FACT_UTILIZATION | PLIM_FACT_KV_CACHE;
    event.strength = PLIM_PLAIN;
    plim__report(reader, &event, end);
}

/* "Free memory on device cuda:0 (3.1/23.6 GiB) on startup is less than desired GPU memory utilization (0.9, 21.2 GiB)"
 */
static void parse_vllm_free(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = runtime_event(reader, "vllm", start);
    plim__take(&t, " cuda:%i", &event.index);
    if (!plim__take(&t, " (%g/%g GiB)", &event.free, &event.capacity)) return;
    if (!plim__take(&t, " on startup is less than desired")) return;
    plim__seek(&t, 60, "(%f, %g GiB)", &event.requested);
    event.facts |= PLIM_FACT_UTILIZATION | PLIM_FACT_STARTUP;
    plim__report(reader, &event, t.at);
}

/* ".. max seq len (<k>), [(]<request> GiB KV cache is needed, which is larger than the available KV cache memory
 * (<free> GiB)." */
static void parse_vllm_cache(plim__reader *reader, const char *start, const char *end) {
    const char *from = start - reader->begin > 24 ? start - 24 : reader->begin;
    plim__text head = {from, reader->end}, t = plim__text_at(reader, end);
    plim__event event = runtime_event(reader, "vllm", start);
    if (!plim__seek(&head, 24, "%g GiB KV cache", &event.requested)) return;
    if (!event.requested.known) return;
    plim__seek(&t, 120, "available KV cache memory (%g GiB", &event.free);
    plim__text s = t;
    int64_t tokens;
    if (plim__seek(&s, 160, "maximum model length is %i", &tokens)) event.tokens = tokens;
    event.facts |= PLIM_FACT_KV_CACHE;
    event.facts |= PLIM_FACT_UTILIZATION;
    plim__report(reader, &event, t.at);
}

static void parse_mlx_malloc(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = runtime_event(reader, "mlx", start);
    event.kind = "mps";
    if (!plim__take(&t, " Attempting to allocate %n bytes which is greater than the maximum allowed buffer size of %n",
                    &event.requested, &event.limit))
        return;
    event.facts |= PLIM_FACT_BLOCK_LIMIT;
    plim__report(reader, &event, t.at);
}

/* The same sentence whose beginning was cut away. */
static void parse_mlx_maximum(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = runtime_event(reader, "mlx", start);
    event.kind = "mps";
    if (!plim__take(&t, " %n bytes", &event.limit)) return;
    const char *from = start - reader->begin > 90 ? start - 90 : reader->begin;
    plim__text head = {from, start};
    plim__seek(&head, 90, "allocate %n bytes", &event.requested);
    event.facts |= PLIM_FACT_BLOCK_LIMIT;
    plim__report(reader, &event, t.at);
}

static void parse_mlx_unable(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = runtime_event(reader, "mlx", start);
    event.kind = "mps";
    if (!plim__take(&t, " %n bytes", &event.requested)) return; /* NumPy goes on with a size and a shape */
    plim__report(reader, &event, t.at);
}

static void parse_metal(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "mlx", start);
    event.kind = "mps";
    event.strength = PLIM_PLAIN;
    if (plim__before(reader, start, 300, "ggml")) event.framework = "llama.cpp";
    plim__report(reader, &event, end);
}

/* --- NCCL and bare CUDA --------------------------------------------------------------------------------------- */

/* "<host>:<pid>:<tid> [<i>] <file>:<line> NCCL WARN ..." */
static void take_nccl_rank(plim__reader *reader, const char *start, plim__event *event) {
    plim__text line = plim__line_at(reader, start);
    int64_t a;
    plim__text t = {line.at, start};
    if (plim__seek(&t, (size_t)(start - line.at), ":%i:%i [%i]", &a, &a, &a)) event->index = a;
}

static void parse_nccl(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "cuda", start);
    event.strength = PLIM_PLAIN;
    take_nccl_rank(reader, start, &event);
    plim__report(reader, &event, end);
}

static void parse_nccl_calloc(plim__reader *reader, const char *start, const char *end) {
    plim__event event = runtime_event(reader, "cuda", start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %n bytes", &event.requested)) return;
    take_nccl_rank(reader, start, &event);
    plim__report(reader, &event, t.at);
}

const plim__row plim__rows_runtime[] = {
    {"failedtoallocatememoryforrequestedbufferofsize", parse_ort_buffer},
    {"availablememoryof", parse_ort_available},
    {"cudafailure2", parse_ort_cuda},
    {"requestedamountof", parse_trt_amount},
    {"outofmemory(nofurtherinformation)", parse_trt_code},
    {"cudaruntime(outofmemory)", parse_trt_code},
    {"outofmemoryerrorin", parse_trt_code},
    {"insufficientmemoryonrequestedsizeof", parse_trt_tactic},
    {"insuficientmemoryonrequestedsizeof", parse_trt_tactic},
    {"couldnotfindanyimplementationfornode", parse_trt_failed},
    {"assertionengine!=nullptrfailed", parse_trt_failed},
    {"enginegenerationcompleted", parse_trt_done},
    {"outofmemoryerrorongpu", parse_paddle},
    {"enforceallocating<=availablefailed", parse_paddle_old},
    {"cudamalloc", parse_cudamalloc},
    {"error==cudasuccess", parse_cuda_success},
    {"outofmemorytoallocate", parse_cupy_old},
    {"errorallocating", parse_theano},
    {"gpuarrayexception", parse_gpuarray},
    {"cnmem_status_out_of_memory", parse_cnmem},
    {"outofgpumemory", parse_julia},
    {"failedtoallocate", parse_llama_buffer},
    {"devicememoryallocationofsize", parse_vulkan},
    {"erroroutofdevicememory", parse_vulkan_device},
    {"noavailablememoryforthecacheblocks", parse_vllm_blocks},
    {"freememoryondevice", parse_vllm_free},
    {"gibkvcacheisneeded", parse_vllm_cache},
    {"[metal::malloc]", parse_mlx_malloc},
    {"greaterthanthemaximumallowedbuffersizeof", parse_mlx_maximum},
    {"unabletoallocate", parse_mlx_unable},
    {"insufficientmemory(00000008", parse_metal},
    {"kiogpucommandbuffercallbackerroroutofmemory", parse_metal},
    {"cudafailure'outofmemory'", parse_nccl},
    {"failedtocudacalloc", parse_nccl_calloc},
    {0},
};
