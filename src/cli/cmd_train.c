/* plimsoll train: a model, data, and a loss that falls. */
#include <stdio.h>
#include <string.h>

#include "cli/budget_options.h"
#include "cli/data_options.h"
#include "cli/train_budget.h"
#include "cli/train_options.h"
#include "mem/resident.h"
#include "run/trainer_save.h"

struct train {
    plim__args *args;
    plim__train_settings settings;
    plim__data_settings data_settings;
    plim_fit_options fit;
    const char *out; /* NULL: the weights are not kept */
    plim_graph *model;
    plim_trainer *trainer;
    plim_data *data;
    plim__train_budget budget;
    plim_error failure; /* of what was done between steps */
    uint64_t idle_bytes;
};

static int between_steps(void *context, const plim_fit_event *event) {
    struct train *t = context;
    (void)event;
    return plim__train_budget_poll(&t->budget, t->trainer, plim__args_json(t->args), &t->failure) != PLIM_OK;
}

/* Axes besides the batch: windows of text are as long as the data says. */
static void bind_window(struct train *t) {
    plim_trainer_options *o = &t->settings.options;
    int64_t dims[PLIM_MAX_RANK], seq = t->data_settings.options.seq > 0 ? t->data_settings.options.seq : 256;
    int rank = plim_graph_value_shape(t->model, plim_graph_input_at(t->model, 0), dims);
    const char *batch = rank > 0 ? plim_graph_symbol_name(t->model, dims[0]) : NULL,
               *symbol = rank > 1 ? plim_graph_symbol_name(t->model, dims[1]) : NULL;
    if (!symbol || (batch && strcmp(batch, symbol) == 0) || o->size_count == PLIM__MOST_SIZES) return;
    for (size_t i = 0; i < o->size_count; i++)
        if (strcmp(t->settings.sizes[i].symbol, symbol) == 0) {
            if (!plim__args_has(t->args, "seq")) t->data_settings.options.seq = t->settings.sizes[i].size;
            return;
        }
    t->settings.sizes[o->size_count++] = (plim_size){symbol, seq};
}

static int run_training(struct train *t) {
    plim_error error;
    plim_fit_result result;
    t->fit.seen = between_steps;
    t->fit.context = t;
    plim_status status = plim_fit(t->trainer, t->data, &t->fit, &result, &error);
    if (t->failure.status != PLIM_OK) return plim__say_error(t->args, &t->failure);
    if (status == PLIM_OK && t->out) status = plim_trainer_save(t->trainer, t->out, &error);
    if (status != PLIM_OK) return plim__say_error(t->args, &error);
    plim_trainer_stats stats;
    plim_trainer_stats_get(t->trainer, &stats);
    if (plim__args_json(t->args)) {
        json_t *object = json_pack(
            "{s:I, s:f, s:o, s:f, s:f, s:I, s:I, s:I, s:f}", "steps", (json_int_t)result.steps, "loss", result.loss,
            "metric", result.metric >= 0 ? json_real(result.metric) : json_null(), "seconds_per_step",
            result.seconds_per_step, "samples_per_second", result.samples_per_second, "arena_bytes",
            (json_int_t)stats.arena_bytes, "peak_resident_bytes", (json_int_t)plim__resident_peak(),
            "idle_resident_bytes", (json_int_t)t->idle_bytes, "data_wait_share", result.wait_share);
        plim__train_budget_json(&t->budget, t->trainer, object);
        return plim__say_json(t->args, object);
    }
    printf("loss %.4f after %lld steps; %.0f samples/s\n", result.loss, (long long)result.steps,
           result.samples_per_second);
    return PLIM_EXIT_OK;
}

static plim_status open_data(struct train *t, const char *source, plim_error *error) {
    plim_data_options *o = &t->data_settings.options;
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    o->batch = t->settings.options.batch;
    o->seed = t->settings.options.seed;
    o->float_target = t->settings.options.loss.kind != PLIM_LOSS_CROSS_ENTROPY;
    if (strcmp(source, "synthetic") == 0) {
        o->field_count = plim_trainer_fields(t->trainer, fields);
        o->fields = fields;
    }
    if (t->settings.options.budget && !o->buffer_limit) { /* what the plan reckons with */
        plim_trainer_stats stats;
        plim_trainer_stats_get(t->trainer, &stats);
        o->buffer_limit = stats.data_buffer_bytes;
    }
    return plim_data_open(source, o, &t->data, error);
}

static int train(struct train *t, const char *path, const char *source) {
    plim_error error;
    if (t->out && plim__trainer_can_save(t->out, &error) != PLIM_OK) return plim__say_error(t->args, &error);
    if (plim_onnx_load(path, &t->model, &error) != PLIM_OK) return plim__say_error(t->args, &error);
    bind_window(t);
    if (t->settings.options.budget) plim__budget_measure_costs(t->args);
    t->idle_bytes = plim__resident_now();
    if (plim_trainer_create(t->model, &t->settings.options, &t->trainer, &error) != PLIM_OK ||
        open_data(t, source, &error) != PLIM_OK)
        return plim__say_error(t->args, &error);
    plim__train_budget_begin(&t->budget, t->args, &t->settings.options);
    int code = run_training(t);
    plim__train_budget_end(&t->budget);
    return code;
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0), *source = plim__args_get(args, "data");
    if (!path) return plim__say_usage(args, "which model?");
    if (!source) return plim__say_usage(args, "which data? give --data PATH");
    struct train t = {.args = args, .out = plim__args_get(args, "out")};
    if (!plim__train_options_read(args, &t.settings) || !plim__data_options_read(args, &t.data_settings) ||
        !plim__budget_options_read(args, &t.settings.options) ||
        !plim__args_int(args, "epochs", 1, (int64_t)1 << 40, &t.fit.epochs) ||
        !plim__args_int(args, "steps", 1, (int64_t)1 << 40, &t.fit.steps))
        return PLIM_EXIT_USAGE;
    int code = train(&t, path, source);
    plim_data_free(t.data);
    plim_trainer_free(t.trainer);
    plim_graph_free(t.model);
    return code;
}

static const plim__option options[] = {
    {"data", 'd', "PATH", "the data set: a folder of IDX files or images, or an NPY, NPZ, CSV, text or token file"},
    {"epochs", 'e', "N", "passes over the data; the default is 1"},
    {"steps", 0, "N", "at most so many updates"},
    {"out", 'o', "FILE", "write the trained weights to this .onnx or .safetensors file"},
    PLIM__BUDGET_OPTIONS,
    PLIM__TRAIN_OPTIONS,
    PLIM__DATA_OPTIONS,
    {0},
};

const plim__command plim__command_train = {
    .name = "train",
    .usage = "MODEL.onnx --data PATH",
    .summary = "Train a model on a data set",
    .description = "Loss and optimizer become part of the model's graph; the whole step is planned before it runs.",
    .options = options,
    .examples = "  plimsoll train lenet.onnx --data /usr/share/datasets/fashion-mnist --epochs 5 --batch 256 "
                "--optimizer adamw --lr 1e-3 --out trained.onnx",
    .run = run,
};
