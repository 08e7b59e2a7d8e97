/* plimsoll evaluate: how well a model predicts a data set. */
#include <stdio.h>

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

static int evaluate(plim__args *args, const plim_graph *model, plim_data *data, const plim__model_options *options) {
    static float class_weights[PLIM__MOST_CLASSES];
    plim_session *session;
    plim_error error;
    plim_evaluation result;
    plim_loss loss;
    if (!plim__loss_options_read(args, usual_loss(data), class_weights, &loss)) return PLIM_EXIT_USAGE;
    plim_session_options making = options->session;
    making.loss = &loss;
    making.batch = plim_evaluation_batch(&loss, data);
    if (plim_session_create(model, &making, &session, &error) != PLIM_OK) return plim__say_error(args, &error);
    double start = plim__clock_seconds();
    plim_status status = plim_evaluate(session, data, &result, &error);
    double seconds = plim__clock_seconds() - start;
    plim_session_stats stats;
    plim_session_get_stats(session, &stats);
    plim_session_free(session);
    if (status != PLIM_OK) return plim__say_error(args, &error);
    if (plim__args_json(args))
        return plim__say_json(args, json_pack("{s:f, s:o, s:I, s:f, s:I}", "loss", result.loss, "accuracy",
                                              result.classifies ? json_real(result.accuracy) : json_null(), "count",
                                              (json_int_t)result.count, "samples_per_second",
                                              (double)result.samples / seconds, "arena_bytes",
                                              (json_int_t)stats.arena_bytes));
    char arena[PLIM_BYTES_TEXT];
    if (result.classifies) printf("accuracy %.2f %%, ", 100 * result.accuracy);
    printf("loss %.4f over %lld predictions; %.0f samples/s in an arena of %s\n", result.loss, (long long)result.count,
           (double)result.samples / seconds, plim_bytes_format(stats.arena_bytes, arena));
    return PLIM_EXIT_OK;
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
    if (plim_graph_load(path, &model, &error) != PLIM_OK) return plim__say_error(args, &error);
    plim_data *data;
    plim_loss_kind loss;
    int code;
    if (plim__args_has(args, "loss") && plim_loss_find(plim__args_get(args, "loss"), &loss))
        settings.options.float_target = plim__train_data_is_float(model, loss);
    if (plim_data_create(source, &settings.options, &data, &error) != PLIM_OK) {
        code = plim__say_error(args, &error);
    } else {
        code = evaluate(args, model, data, &options);
        plim_data_free(data);
    }
    plim_graph_free(model);
    return code;
}

static const plim__option options[] = {
    {"data", 'd', "PATH", "the data set: a folder of IDX files or images, or an NPY, NPZ, CSV, text or token file"},
    PLIM__MODEL_OPTIONS,
    PLIM__LOSS_OPTIONS,
    PLIM__DATA_OPTIONS,
    {0},
};

const plim__command plim__command_evaluate = {
    .name = "evaluate",
    .usage = "MODEL.onnx --data PATH",
    .summary = "Tell how well a model predicts a data set",
    .description =
        "One pass over the test split (or the whole, where there are no splits): loss, and accuracy for classes. The "
        "model is set to evaluation: no dropout, batch norm with its running statistics. Where the target is not a "
        "class, the usual loss is mse.",
    .options = options,
    .examples = "  plimsoll evaluate trained.onnx --data /usr/share/datasets/fashion-mnist --split test",
    .run = run,
};
