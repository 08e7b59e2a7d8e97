/* plimsoll fit: whether a training job fits a card, before it runs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/command.h"
#include "cli/fit_runs.h"
#include "cli/format.h"
#include "cli/model.h"
#include "cli/open_axes.h"
#include "cli/terminal.h"

enum { MOST_CURES = 16 };

typedef struct job {
    plim__args *args;
    const char *path;
    plim_graph *graph; /* of a model; NULL for a trace */
    plim_model_options model;
    plim__model_options sizes;
    int64_t largest; /* batch that fits; -1: not asked for */
    plim_prediction_cure cures[MOST_CURES];
    size_t cure_count;
    plim_prediction *prediction;
    plim_pool_options pool;
    plim_gpu gpu;
    bool has_gpu;
    plim_prediction_result result;
    plim_prediction_range range; /* only with a card */
    plim__fit_runs runs;         /* where several records were given */
    plim_error error;
} job;

static void print_bytes(const char *name, uint64_t bytes, const char *note) {
    char text[PLIM_BYTES_TEXT];
    plim__terminal_line(stdout, "  %-22s %10s%s%s", name, plim_bytes_format(bytes, text), note[0] ? "   " : "", note);
}

static void print_kinds(const plim_prediction_result *r) {
    printf("\nat the peak of what tensors ask for:\n");
    for (size_t i = 0; plim_prediction_kind(i); i++)
        if (r->kinds[i]) print_bytes(plim_prediction_kind(i), r->kinds[i], "");
    printf("\nlargest holders:\n");
    for (size_t i = 0; i < r->holder_count; i++) {
        char text[PLIM_BYTES_TEXT];
        const plim_prediction_holder *h = &r->holders[i];
        plim__terminal_line(stdout, "  %10s  %-11s %s%s%s", plim_bytes_format(h->bytes, text), h->kind,
                            plim__shown(h->name), h->shape[0] ? "  " : "", h->shape);
    }
}

static void print_cures(const job *j) {
    if (j->largest > 0)
        printf("\nlargest batch that fits: %" PRId64 "\n", j->largest);
    else if (j->largest == 0)
        printf("\nlargest batch that fits: none, not even 1\n");
    if (!j->cure_count) return;
    printf("\nwhat would need less%43s%12s\n", "nvidia-smi", j->has_gpu ? "fits" : "");
    for (size_t i = 0; i < j->cure_count; i++) {
        char text[PLIM_BYTES_TEXT];
        const plim_prediction_cure *c = &j->cures[i];
        plim__terminal_line(stdout, "  %-48s %12s%12s   %s", c->name, plim_bytes_format(c->driver, text),
                            !j->has_gpu ? ""
                            : c->fits   ? "yes"
                                        : "no",
                            c->meaning);
    }
}

static void print_card(const job *j) {
    const plim_prediction_result *r = &j->result;
    char low[PLIM_BYTES_TEXT], high[PLIM_BYTES_TEXT], limit[PLIM_BYTES_TEXT];
    plim__terminal_line(stdout, "  %-22s %10s to %s   with the work spaces that cuDNN and cuBLAS may take",
                        "reserved on this card", plim_bytes_format(j->range.least, low),
                        plim_bytes_format(j->range.most, high));
    print_bytes("libraries", r->libraries, "kernels and handles of cuBLAS and cuDNN");
    plim__terminal_line(stdout, "  %-22s %10s to %s   less when kernels are loaded on demand", "CUDA context",
                        plim_bytes_format(r->context, low), plim_bytes_format(r->context_most, high));
    plim__terminal_line(stdout, "  %-22s %10s to %s   on this card at the peak", "nvidia-smi",
                        plim_bytes_format(r->driver, low), plim_bytes_format(j->range.limit + r->context_most, high));
    plim__terminal_line(stdout,
                        "  %-22s %10s   the most of the above and a margin, without the context: set no limit below it",
                        "safe limit", plim_bytes_format(j->range.limit, limit));
}

static const char *verdict(const job *j) {
    if (!j->result.fits) return "DOES NOT FIT";
    if (j->result.cut[0]) return "fits as far as it is recorded, which is not to its end,";
    if (plim__fit_runs_fitting(&j->runs) < j->runs.count) return "fits in some of its runs, not in all,";
    return j->range.fitting < j->range.stacks ? "fits, but not with every version of cuDNN and cuBLAS," : "fits";
}

static void print_runs(const plim__fit_runs *runs) {
    char low[PLIM_BYTES_TEXT], high[PLIM_BYTES_TEXT];
    if (!runs->count) return;
    plim__terminal_line(stdout, "  %-22s %10s to %s   in %zu runs of the job; this is the middle one", "allocated",
                        plim_bytes_format(runs->runs[0].allocated, low),
                        plim_bytes_format(runs->runs[runs->count - 1].allocated, high), runs->count);
}

static const char *given(const job *j, const char *option, const char *otherwise) {
    const char *value = plim__args_get(j->args, option);
    return value ? value : otherwise;
}

/* The step that was predicted, with what was not asked for; a record has its own. */
static void print_step(const job *j) {
    char micro[48] = "";
    if (!j->graph) return;
    if (j->model.micro > 0) snprintf(micro, sizeof micro, " in batches of %" PRId64, j->model.micro);
    plim__terminal_line(stdout, "  %-22s batch %" PRId64 "%s, %s, %s%s, as %s", "step", j->model.batch, micro,
                        given(j, "optimizer", "adamw"), given(j, "precision", "fp32"),
                        j->model.checkpoint ? ", blocks recomputed" : "",
                        j->model.graph_mode ? "TensorFlow's graph mode" : "PyTorch's eager mode");
}

static void print_text(const job *j) {
    const plim_prediction_result *r = &j->result;
    char memory[PLIM_BYTES_TEXT];
    if (!j->has_gpu)
        plim__terminal_line(stdout, "%s: no card was named", plim__shown(j->path));
    else
        plim__terminal_line(stdout, "%s %s on %s (%s)", plim__shown(j->path), verdict(j), j->gpu.name,
                            plim_bytes_format(j->gpu.memory, memory));
    if (r->cut[0]) plim__terminal_line(stdout, "  the record is not whole: %s", plim__shown(r->cut));
    print_step(j);
    print_bytes("tensors", r->requested, "as asked for");
    print_bytes("allocated", r->allocated, "with rounding and work spaces");
    print_runs(&j->runs);
    print_bytes("reserved", r->reserved, plim_pool_title(j->pool.kind));
    if (j->has_gpu) print_card(j);
    if (!r->fits) {
        char asked[PLIM_BYTES_TEXT];
        plim__terminal_line(stdout, "  refused: %s%s%s, request %" PRIu64 "",
                            plim_bytes_format(r->replay.failed_bytes, asked), r->replay.failed_name[0] ? " for " : "",
                            plim__shown(r->replay.failed_name), r->replay.failed_event);
    }
    if (r->notes[0]) plim__terminal_line(stdout, "  note: %s", plim__shown(r->notes));
    print_kinds(r);
    print_cures(j);
}

static json_t *cures_json(const job *j) {
    json_t *list = json_array();
    for (size_t i = 0; i < j->cure_count; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:b, s:I, s:I}", "name", j->cures[i].name, "meaning",
                                        j->cures[i].meaning, "fits", j->cures[i].fits, "driver",
                                        (json_int_t)j->cures[i].driver, "reserved", (json_int_t)j->cures[i].reserved));
    return list;
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
    const plim_prediction_range *range = &j->range;
    json_object_set_new(all, "range",
                        !j->has_gpu ? json_null()
                                    : json_pack("{s:I, s:I, s:I, s:i, s:i}", "least", (json_int_t)range->least, "most",
                                                (json_int_t)range->most, "limit", (json_int_t)range->limit, "stacks",
                                                (int)range->stacks, "fitting", (int)range->fitting));
    json_object_set_new(all, "runs", plim__fit_runs_json(&j->runs));
    json_object_set_new(all, "notes", r->notes[0] ? json_string(r->notes) : json_null());
    json_object_set_new(all, "work", json_integer((json_int_t)r->work));
    json_object_set_new(all, "cublas", json_integer((json_int_t)r->cublas));
    json_object_set_new(all, "kinds", kinds);
    json_object_set_new(all, "holders", holders);
    json_object_set_new(all, "cures", cures_json(j));
    json_object_set_new(all, "batch", j->graph ? json_integer((json_int_t)j->model.batch) : json_null());
    json_object_set_new(all, "optimizer", j->graph ? json_string(given(j, "optimizer", "adamw")) : json_null());
    json_object_set_new(all, "precision", j->graph ? json_string(given(j, "precision", "fp32")) : json_null());
    json_object_set_new(all, "largest_batch", j->largest >= 0 ? json_integer((json_int_t)j->largest) : json_null());
    json_object_set_new(all, "cut", r->cut[0] ? json_string(r->cut) : json_null());
    return all;
}

static plim_status try_cures(job *j) {
    const plim_gpu *gpu = j->has_gpu ? &j->gpu : NULL;
    plim_prediction_job work = {j->graph, &j->model, gpu, &j->pool};
    for (size_t i = 0; j->cure_count < MOST_CURES; i++) {
        plim_prediction_cure *cure = &j->cures[j->cure_count];
        plim_status status = plim_prediction_try(&work, i, cure, &j->error);
        if (status == PLIM_NOT_FOUND) break;
        if (status != PLIM_OK) return status;
        uint64_t now = j->result.reserved + j->result.libraries + j->result.context;
        if (cure->applies && cure->driver < now) j->cure_count++; /* what saves nothing is no cure */
    }
    if (!gpu || plim__args_has(j->args, "no-batch")) return PLIM_OK;
    return plim_prediction_largest_batch(&work, &j->largest, &j->error);
}

static int deliver(job *j) {
    const char *page = plim__args_get(j->args, "output");
    if (j->has_gpu && plim_prediction_find_range(j->prediction, &j->gpu, &j->pool, &j->range, &j->error) != PLIM_OK)
        return plim__say_error(j->args, &j->error);
    if (j->runs.count) j->range = j->runs.range;
    if (plim_prediction_run(j->prediction, j->has_gpu ? &j->gpu : NULL, &j->pool, &j->result, &j->error) != PLIM_OK)
        return plim__say_error(j->args, &j->error);
    if (j->graph && !plim__args_has(j->args, "no-cures") && try_cures(j) != PLIM_OK)
        return plim__say_error(j->args, &j->error);
    plim__activity_end();
    if (plim__args_json(j->args)) {
        int code = plim__say_json(j->args, to_json(j));
        if (code != PLIM_EXIT_OK) return code;
    } else {
        print_text(j);
    }
    if (page && plim_prediction_save_page(j->prediction, page, &j->error) != PLIM_OK)
        return plim__say_error(j->args, &j->error);
    if (page && !plim__args_json(j->args)) printf("\nwrote %s\n", plim__shown(page));
    return j->result.fits ? PLIM_EXIT_OK : PLIM_EXIT_FAILURE;
}

static int list_gpus(void) {
    for (size_t i = 0; plim_gpu_at(i); i++) {
        const plim_gpu *gpu = plim_gpu_at(i);
        char text[PLIM_BYTES_TEXT];
        plim__terminal_line(stdout, "  %-20s %10s   compute capability %d.%d", gpu->name,
                            plim_bytes_format(gpu->memory, text), gpu->capability / 10, gpu->capability % 10);
    }
    return PLIM_EXIT_OK;
}

static bool read_training(job *j) {
    plim__args *args = j->args;
    const char *optimizer = plim__args_get(args, "optimizer"), *precision = plim__args_get(args, "precision");
    const char *framework = plim__args_get(args, "framework");
    if (!plim__model_options_read(args, &j->sizes) || !plim__args_int(args, "micro-batch", 1, 1 << 20, &j->model.micro))
        return false;
    j->model.batch = j->sizes.session.batch > 0 ? j->sizes.session.batch : 1;
    j->model.sizes = j->sizes.session.sizes;
    j->model.size_count = j->sizes.session.size_count;
    j->model.optimizer = PLIM_MODEL_ADAMW;
    j->model.checkpoint = plim__args_has(args, "checkpoint-every-block");
    if (optimizer && !plim_model_optimizer_find(optimizer, &j->model.optimizer))
        return plim__say_choice(args, "optimizer",
                                "sgd, momentum, adam, adamw, adamw-fused, adamw-8bit, rmsprop or adagrad"),
               false;
    if (precision && !plim_model_precision_find(precision, &j->model.precision))
        return plim__say_choice(args, "precision", "fp32, amp-bf16, amp-fp16 or bf16"), false;
    if (framework && plim_pool_parse(framework, &j->pool, &j->error) != PLIM_OK)
        return plim__say_choice(args, "framework", "pytorch, tensorflow or onnxruntime"), false;
    j->model.graph_mode = framework && j->pool.kind == PLIM_POOL_TENSORFLOW;
    return true;
}

/* A file whose name ends in .onnx is a model, anything else a record. */
static bool is_model(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".onnx") == 0;
}

static bool check_files(const job *j) {
    size_t count = plim__args_count(j->args);
    if (!count) return plim__say_usage(j->args, "give a model, or one or more traces of a job"), false;
    if (count > PLIM__FIT_RUNS_MOST)
        return plim__say_usage(j->args, "%zu traces: at most %d runs of a job are compared", count,
                               PLIM__FIT_RUNS_MOST),
               false;
    for (size_t i = 0; count > 1 && i < count; i++)
        if (is_model(plim__args_at(j->args, i)))
            return plim__say_usage(j->args, "%s: give one model, or traces of one job",
                                   plim__shown(plim__args_at(j->args, i))),
                   false;
    return true;
}

/* A trace was recorded with all of this: what is given here would change nothing, unsaid. */
static bool check_options(const job *j) {
    static const char *const of_models[] = {"optimizer",   "precision", "checkpoint-every-block",
                                            "micro-batch", "batch",     "size"};
    for (size_t i = 0; !is_model(plim__args_at(j->args, 0)) && i < sizeof of_models / sizeof *of_models; i++)
        if (plim__args_has(j->args, of_models[i]))
            return plim__say_usage(j->args, "--%s is for a model: a trace has its own, capture it again", of_models[i]),
                   false;
    return true;
}

static plim_status open_files(job *j) {
    j->path = plim__args_at(j->args, 0);
    if (plim__args_count(j->args) > 1) {
        plim_status status =
            plim__fit_runs_measure(j->args, j->has_gpu ? &j->gpu : NULL, &j->pool, &j->runs, &j->error);
        if (status != PLIM_OK) return status;
        j->path = plim__fit_runs_middle(&j->runs);
    }
    if (!is_model(j->path)) return plim_prediction_load(j->path, &j->prediction, &j->error);
    plim__sizes sizes = {j->sizes.sizes, &j->sizes.session.size_count};
    plim_status status = plim_graph_load(j->path, &j->graph, &j->error);
    if (status == PLIM_OK) status = plim__open_axes_check(j->graph, &sizes, &j->error);
    if (status == PLIM_OK) status = plim_prediction_create(j->graph, &j->model, &j->prediction, &j->error);
    return status;
}

static int run(plim__args *args) {
    job j = {.args = args, .largest = -1};
    const char *gpu = plim__args_get(args, "gpu");
    const char *allocator = plim__args_get(args, "allocator");
    if (plim__args_has(args, "list-gpus")) return list_gpus();
    if (!check_files(&j) || !check_options(&j)) return PLIM_EXIT_USAGE;
    if (!read_training(&j)) return PLIM_EXIT_USAGE;
    if (allocator && plim_pool_parse(allocator, &j.pool, &j.error) != PLIM_OK)
        return plim__say_usage(args, "--allocator: %s", j.error.message);
    if (gpu && plim_gpu_find(gpu, &j.gpu, &j.error) != PLIM_OK)
        return plim__say_usage(args, "--gpu: %s", j.error.message);
    j.has_gpu = gpu != NULL;
    plim__activity_say(args, "predicting the step of %s", plim__args_at(args, 0));
    int code = open_files(&j) == PLIM_OK ? deliver(&j) : plim__say_error(args, &j.error);
    plim_prediction_free(j.prediction);
    plim_graph_free(j.graph);
    return code;
}

static const plim__option options[] = {
    {"gpu", 0, "NAME", "the card: a name (\"RTX 3060\") or its memory (12GiB)"},
    {"optimizer", 0, "NAME", "sgd, momentum, adam, adamw (default), adamw-fused, adamw-8bit, rmsprop or adagrad"},
    {"precision", 0, "NAME", "fp32 (default), amp-bf16, amp-fp16 or bf16"},
    {"checkpoint-every-block", 0, NULL, "recompute: of every block only its input is saved"},
    {"micro-batch", 0, "N", "gradients are summed over batches of N"},
    {"framework", 0, "NAME", "pytorch (default), tensorflow (its graph mode and allocator) or onnxruntime (its arena)"},
    {"allocator", 0, "NAME", "the same with settings after a colon, as replay takes them"},
    {"output", 'o', "FILE", "write a page of the predicted step"},
    {"no-cures", 0, NULL, "do not simulate what would need less"},
    {"no-batch", 0, NULL, "do not search the largest batch that fits"},
    {"list-gpus", 0, NULL, "list the cards that are known"},
    PLIM__MODEL_OPTIONS,
    {0},
};

const plim__command plim__command_fit = {
    .name = "fit",
    .usage = "MODEL.onnx|TRACE... [--batch N] [--optimizer NAME] [--gpu NAME]",
    .summary = "Say whether a training job fits a card, before it runs",
    .description =
        "Of an ONNX model: the tensors of a training step as PyTorch would make them, with what its autograd saves,\n"
        "gradients, optimizer state and temporaries; with --framework tensorflow as its graph mode would. Of a trace: "
        "those of a PyTorch program that was captured without "
        "a\n"
        "GPU (python/plimsoll/capture.py), which is exact. Several traces are runs of one job, which may differ in "
        "the\n"
        "order of its operators: the middle one is shown, and the range over all of them. They go through a simulation "
        "of the framework's allocator,\n"
        "with the work spaces of cuBLAS and cuDNN and the CUDA context. Of a model, also the largest batch that fits "
        "and\n"
        "what each way to need less would save, each simulated. Exit code 1 says that it does not fit.",
    .options = options,
    .examples = "  plimsoll fit resnet50.onnx --batch 32 --optimizer adamw --gpu \"RTX 3060\"\n"
                "  plimsoll fit llama.onnx --batch 8 --size seq=1024 --precision amp-bf16 --gpu 24GiB\n"
                "  plimsoll fit step.trace --gpu \"RTX 3060\"\n"
                "  plimsoll fit step.trace --gpu 24GiB --allocator pytorch:expandable_segments:True -o step.html",
    .run = run,
};
