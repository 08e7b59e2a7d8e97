/* plimsoll evaluate: how well a model predicts a data set. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/measures_text.h"
#include "cli/terminal.h"
#include "cli/train_data.h"
#include "core/clock.h"
#include "plimsoll/evaluate.h"

/* Unless told: cross entropy where the target is a class, else the mean squared error. */
static plim_loss_kind usual_loss(const plim_data *data) {
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (field->target) return field->dtype == PLIM_I64 ? PLIM_LOSS_CROSS_ENTROPY : PLIM_LOSS_MSE;
    return PLIM_LOSS_CROSS_ENTROPY;
}

#define RANK_BYTES ((uint64_t)256 << 20) /* probabilities that are held for ROC AUC */

/* What it is about. */
struct subject {
    plim__args *args;
    const plim_graph *model;
    plim_data *data;
    const plim_job *job;
    const plim_loss *loss;
    plim_measures *measures; /* NULL: none apply */
    int64_t classes;         /* that they have */
};

static bool is_text(const plim_data *data) {
    plim_data_info info;
    plim_data_get_info(data, &info);
    return strcmp(info.kind, "text") == 0 || strcmp(info.kind, "tokens") == 0;
}

static int say(const struct subject *of, const plim_evaluation *r, double seconds, size_t arena_bytes) {
    plim__args *args = of->args;
    if (plim__args_json(args)) {
        json_t *object =
            json_pack("{s:f, s:o, s:I, s:f, s:I}", "loss", r->loss, "accuracy",
                      r->classifies ? json_real(r->accuracy) : json_null(), "count", (json_int_t)r->count,
                      "samples_per_second", (double)r->samples / seconds, "arena_bytes", (json_int_t)arena_bytes);
        if (is_text(of->data)) json_object_set_new(object, "perplexity", json_real(exp(r->loss)));
        if (of->measures) plim__measures_json(of->measures, of->classes, of->job, true, object);
        return plim__say_json(args, object);
    }
    char arena[PLIM_BYTES_TEXT];
    plim__str line = {0};
    if (r->classifies) plim__str_addf(&line, "accuracy %.2f %%, ", 100 * r->accuracy);
    if (is_text(of->data)) plim__str_addf(&line, "perplexity %.4g, ", exp(r->loss));
    plim__terminal_line(stdout, "%sloss %.4f over %lld predictions; %.0f samples/s in an arena of %s",
                        plim__str_text(&line), r->loss, (long long)r->count, (double)r->samples / seconds,
                        plim_bytes_format(arena_bytes, arena));
    plim__str_free(&line);
    if (of->measures) plim__measures_print(of->measures, of->classes, of->job, of->data);
    return PLIM_EXIT_OK;
}

static plim_status find_measures(struct subject *of, plim_error *error) {
    plim_measures_options options;
    plim_data_info info;
    plim_data_get_info(of->data, &info);
    if (!plim__measures_find(of->model, of->loss, info.samples, RANK_BYTES, &options)) return PLIM_OK;
    of->classes = options.classes;
    return plim_measures_create(&options, &of->measures, error);
}

static int evaluate(struct subject *of, const plim_session_options *options) {
    plim_session *session = NULL;
    plim_error error;
    plim_evaluation result;
    plim_session_options making = *options;
    making.loss = of->loss;
    making.batch = plim_evaluation_batch(of->loss, of->data);
    plim_status status = find_measures(of, &error);
    making.scores = of->measures != NULL;
    if (status == PLIM_OK) status = plim_session_create(of->model, &making, &session, &error);
    plim__activity_say(of->args, "evaluating");
    double start = plim__clock_seconds();
    if (status == PLIM_OK)
        status = of->measures ? plim_evaluate_measured(session, of->data, of->measures, &result, &error)
                              : plim_evaluate(session, of->data, &result, &error);
    double seconds = plim__clock_seconds() - start;
    plim_session_stats stats;
    plim_session_get_stats(session, &stats);
    plim_session_free(session);
    plim__activity_end();
    int code = status == PLIM_OK ? say(of, &result, seconds, stats.arena_bytes) : plim__say_error(of->args, &error);
    plim_measures_free(of->measures);
    return code;
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0), *source = plim__args_get(args, "data");
    if (!path) return plim__say_usage(args, "which model?");
    if (!source) return plim__say_usage(args, "which data? give --data PATH");
    plim__model_options options;
    plim__data_settings settings;
    if (!plim__model_options_read(args, &options) || !plim__data_options_read(args, &settings)) return PLIM_EXIT_USAGE;
    if (!plim__args_has(args, "batch")) options.session.batch = 256;
    if (!settings.options.split) settings.options.split = "test";
    settings.options.batch = options.session.batch;
    settings.options.epochs = settings.options.in_order = 1;
    plim_error error;
    plim_graph *model;
    plim__activity_say(args, "reading %s", path);
    if (plim_graph_load(path, &model, &error) != PLIM_OK) return plim__say_error(args, &error);
    static float class_weights[PLIM__MOST_CLASSES];
    plim_data *data = NULL;
    plim_loss loss, remembered;
    plim__sizes sizes = {options.sizes, &options.session.size_count};
    int code = PLIM_EXIT_USAGE;
    if (plim__loss_options_read(args, PLIM_LOSS_CROSS_ENTROPY, class_weights, &loss, NULL)) {
        plim_status status = plim__model_data_follow(args, model, &sizes, &loss, &settings, &error);
        if (status == PLIM_OK) status = plim_data_create(source, &settings.options, &data, &error);
        if (status == PLIM_OK) status = plim_job_check(settings.job, data, &error);
        plim__open_axes_follow(model, data, &sizes);
        if (status == PLIM_OK) status = plim__open_axes_settle(args, model, &sizes, &error);
        if (status == PLIM_OK && !plim__args_has(args, "loss") && !plim_job_get_loss(settings.job, &remembered))
            loss.kind = usual_loss(data);
        struct subject of = {.args = args, .model = model, .data = data, .job = settings.job, .loss = &loss};
        code = status == PLIM_OK ? evaluate(&of, &options.session) : plim__say_error(args, &error);
    }
    if (data && code == PLIM_EXIT_OK) plim__data_say_bad(args, data);
    plim_data_free(data);
    plim__data_settings_free(&settings);
    plim_graph_free(model);
    return code;
}

static const plim__option options[] = {
    {"data", 'd', "PATH", "the data set: a folder of IDX files or images, or an NPY, NPZ, CSV, text or token file"},
    PLIM__MODEL_OPTIONS,
    PLIM__LOSS_OPTIONS,
    PLIM__JOB_OPTIONS,
    PLIM__DATA_OPTIONS,
    {0},
};

const plim__command plim__command_evaluate = {
    .name = "evaluate",
    .usage = "MODEL.onnx --data PATH",
    .summary = "Tell how well a model predicts a data set",
    .description =
        "One pass over the test split (or the whole, where there are no splits): loss; accuracy, precision, recall, "
        "F1, top-5, "
        "ROC AUC and the confusion matrix for classes, intersection over union for pixels, mean absolute error and R2 "
        "for "
        "numbers, perplexity for text. Data is read as it was for training, which the model remembers. The "
        "model is set to evaluation: no dropout, batch norm with its running statistics. Where the target is not a "
        "class, the usual loss is mse.",
    .options = options,
    .examples = "  plimsoll evaluate trained.onnx --data /usr/share/datasets/fashion-mnist --split test",
    .run = run,
};
