/* plimsoll fit: whether a training job fits a card, before it runs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

typedef struct job {
    plim__args *args;
    plim_prediction *prediction;
    plim_pool_options pool;
    plim_gpu gpu;
    bool has_gpu;
    plim_prediction_result result;
    plim_error error;
} job;

static void print_bytes(const char *name, uint64_t bytes, const char *note) {
    char text[PLIM_BYTES_TEXT];
    printf("  %-22s %10s%s%s\n", name, plim_bytes_format(bytes, text), note[0] ? "   " : "", note);
}

static void print_kinds(const plim_prediction_result *r) {
    printf("\nat the peak of what tensors ask for:\n");
    for (size_t i = 0; plim_prediction_kind(i); i++)
        if (r->kinds[i]) print_bytes(plim_prediction_kind(i), r->kinds[i], "");
    printf("\nlargest holders:\n");
    for (size_t i = 0; i < r->holder_count; i++) {
        char text[PLIM_BYTES_TEXT];
        const plim_prediction_holder *h = &r->holders[i];
        printf("  %10s  %-11s %s%s%s\n", plim_bytes_format(h->bytes, text), h->kind, h->name, h->shape[0] ? "  " : "",
               h->shape);
    }
}

static void print_text(const job *j) {
    const plim_prediction_result *r = &j->result;
    char memory[PLIM_BYTES_TEXT];
    if (!j->has_gpu)
        printf("%s: no card was named\n", plim__args_at(j->args, 0));
    else
        printf("%s %s on %s (%s)\n", plim__args_at(j->args, 0), r->fits ? "fits" : "DOES NOT FIT", j->gpu.name,
               plim_bytes_format(j->gpu.memory, memory));
    print_bytes("tensors", r->requested, "as asked for");
    print_bytes("allocated", r->allocated, "with rounding and work spaces");
    print_bytes("reserved", r->reserved, plim_pool_title(j->pool.kind));
    if (j->has_gpu) {
        char low[PLIM_BYTES_TEXT], high[PLIM_BYTES_TEXT];
        print_bytes("libraries", r->libraries, "kernels and handles of cuBLAS and cuDNN");
        printf("  %-22s %10s to %s   less when kernels are loaded on demand\n", "CUDA context",
               plim_bytes_format(r->context, low), plim_bytes_format(r->context_most, high));
        printf("  %-22s %10s to %s   on this card at the peak\n", "nvidia-smi", plim_bytes_format(r->driver, low),
               plim_bytes_format(r->driver_most, high));
    }
    if (!r->fits) {
        char asked[PLIM_BYTES_TEXT];
        printf("  refused: %s%s%s, request %" PRIu64 "\n", plim_bytes_format(r->replay.failed_bytes, asked),
               r->replay.failed_name[0] ? " for " : "", r->replay.failed_name, r->replay.failed_event);
    }
    if (r->cut[0]) printf("  the record is not whole: %s\n", r->cut);
    print_kinds(r);
}

static json_t *to_json(const job *j) {
    const plim_prediction_result *r = &j->result;
    json_t *kinds = json_object(), *holders = json_array();
    for (size_t i = 0; plim_prediction_kind(i); i++)
        json_object_set_new(kinds, plim_prediction_kind(i), json_integer((json_int_t)r->kinds[i]));
    for (size_t i = 0; i < r->holder_count; i++)
        json_array_append_new(holders, json_pack("{s:s, s:s, s:s, s:I}", "name", r->holders[i].name, "shape",
                                                 r->holders[i].shape, "kind", r->holders[i].kind, "bytes",
                                                 (json_int_t)r->holders[i].bytes));
    json_t *gpu = j->has_gpu ? json_pack("{s:s, s:I, s:i}", "name", j->gpu.name, "memory", (json_int_t)j->gpu.memory,
                                         "capability", j->gpu.capability)
                             : json_null();
    json_t *all = json_pack("{s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "gpu", gpu, "fits", r->fits,
                            "requested", (json_int_t)r->requested, "allocated", (json_int_t)r->allocated, "reserved",
                            (json_int_t)r->reserved, "reserved_on_card", (json_int_t)r->replay.stats.reserved_peak,
                            "capacity", (json_int_t)r->capacity, "libraries", (json_int_t)r->libraries, "context",
                            (json_int_t)r->context, "context_most", (json_int_t)r->context_most, "driver",
                            (json_int_t)r->driver, "driver_most", (json_int_t)r->driver_most);
    json_object_set_new(all, "work", json_integer((json_int_t)r->work));
    json_object_set_new(all, "cublas", json_integer((json_int_t)r->cublas));
    json_object_set_new(all, "kinds", kinds);
    json_object_set_new(all, "holders", holders);
    json_object_set_new(all, "cut", r->cut[0] ? json_string(r->cut) : json_null());
    return all;
}

static int deliver(job *j) {
    const char *page = plim__args_get(j->args, "output");
    if (plim_prediction_run(j->prediction, j->has_gpu ? &j->gpu : NULL, &j->pool, &j->result, &j->error) != PLIM_OK)
        return plim__say_error(j->args, &j->error);
    if (plim__args_json(j->args)) {
        int code = plim__say_json(j->args, to_json(j));
        if (code != PLIM_EXIT_OK) return code;
    } else {
        print_text(j);
    }
    if (page && plim_prediction_page(j->prediction, page, &j->error) != PLIM_OK)
        return plim__say_error(j->args, &j->error);
    if (page && !plim__args_json(j->args)) printf("\nwrote %s\n", page);
    return j->result.fits ? PLIM_EXIT_OK : PLIM_EXIT_FAILURE;
}

static int list_gpus(void) {
    for (size_t i = 0; plim_gpu_at(i); i++) {
        const plim_gpu *gpu = plim_gpu_at(i);
        char text[PLIM_BYTES_TEXT];
        printf("  %-20s %10s   compute capability %d.%d\n", gpu->name, plim_bytes_format(gpu->memory, text),
               gpu->capability / 10, gpu->capability % 10);
    }
    return PLIM_EXIT_OK;
}

static int run(plim__args *args) {
    job j = {.args = args};
    const char *path = plim__args_at(args, 0), *gpu = plim__args_get(args, "gpu");
    const char *allocator = plim__args_get(args, "allocator");
    if (plim__args_has(args, "list-gpus")) return list_gpus();
    if (!path || plim__args_count(args) > 1) return plim__say_usage(args, "give one model or trace");
    if (allocator && plim_pool_parse(allocator, &j.pool, &j.error) != PLIM_OK)
        return plim__say_usage(args, "--allocator: %s", j.error.message);
    if (gpu && plim_gpu_find(gpu, &j.gpu, &j.error) != PLIM_OK)
        return plim__say_usage(args, "--gpu: %s", j.error.message);
    j.has_gpu = gpu != NULL;
    if (plim_prediction_load(path, &j.prediction, &j.error) != PLIM_OK) return plim__say_error(args, &j.error);
    int code = deliver(&j);
    plim_prediction_free(j.prediction);
    return code;
}

static const plim__option options[] = {
    {"gpu", 0, "NAME", "the card: a name (\"RTX 3060\") or its memory (12GiB)"},
    {"allocator", 0, "NAME",
     "pytorch (default), tensorflow, onnxruntime or cudamallocasync, with settings after a colon"},
    {"output", 'o', "FILE", "write a page of the predicted step"},
    {"list-gpus", 0, NULL, "list the cards that are known"},
    {0},
};

const plim__command plim__command_fit = {
    .name = "fit",
    .usage = "TRACE [--gpu NAME]",
    .summary = "Say whether a training job fits a card, before it runs",
    .description = "The trace holds the allocations of a training step, captured from a PyTorch program without a GPU\n"
                   "(python/plimsoll/capture.py). They go through a simulation of the framework's allocator, with the\n"
                   "work spaces of cuBLAS and cuDNN. Exit code 1 says that it does not fit.",
    .options = options,
    .examples = "  plimsoll fit step.trace --gpu \"RTX 3060\"\n"
                "  plimsoll fit step.trace --gpu 24GiB --allocator pytorch:expandable_segments:True -o step.html",
    .run = run,
};
