/* Data sets through models. */
#include "cli/infer_data.h"
#include "cli/activity.h"

#include <stdio.h>
#include <string.h>

#include "cli/train_data.h"
#include "cli/train_outputs.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/error.h"

#define MOST_OUTPUTS 16

struct output {
    char name[128];
    const char *path;
    plim_array array; /* of all samples */
    size_t sample;    /* bytes of one */
};

struct job {
    plim__args *args;
    plim_session *session;
    plim_data *data;
    struct output outputs[MOST_OUTPUTS];
    size_t count;
    int64_t samples; /* done */
};

/* "NAME=FILE", or FILE where there is one output. */
static plim_status read_outputs(struct job *j, plim_error *error) {
    const plim_graph *g = plim_session_graph(j->session);
    const char *text;
    for (size_t i = 0; (text = plim__args_get_nth(j->args, "output", i)); i++) {
        struct output *o = &j->outputs[j->count];
        const char *equals = strchr(text, '=');
        if (j->count == MOST_OUTPUTS) return plim__fail(error, PLIM_INVALID, "more than %d outputs", MOST_OUTPUTS);
        if (!equals && plim_graph_output_count(g) != 1)
            return plim__fail(error, PLIM_INVALID, "--output %s: expected NAME=FILE", text);
        snprintf(o->name, sizeof o->name, "%.*s", equals ? (int)(equals - text) : 127,
                 equals ? text : plim_graph_value_name(g, plim_graph_output_at(g, 0)));
        o->path = equals ? equals + 1 : text;
        if (!plim_session_output(j->session, o->name))
            return plim__fail(error, PLIM_NOT_FOUND, "the model has no output '%s'", o->name);
        if (plim__is_same_file(o->path, plim__args_get(j->args, "data")))
            return plim__fail(error, PLIM_INVALID, "--output would replace the data '%s'", o->path);
        j->count++;
    }
    return j->count ? PLIM_OK : plim__fail(error, PLIM_INVALID, "which outputs? give --output FILE.npy");
}

/* Samples of one run: those of the data's batches, or what a file is for that has its batch fixed; data comes in pieces then. */
static int64_t session_batch(const plim_graph *g) {
    int64_t dims[PLIM_MAX_RANK];
    int rank = plim_graph_input_count(g) ? plim_graph_value_shape(g, plim_graph_input_at(g, 0), dims) : 0;
    return rank > 0 ? dims[0] : -1;
}

static plim_status make_room(struct job *j, plim_error *error) {
    const plim_graph *g = plim_session_graph(j->session);
    plim_data_info info;
    plim_data_get_info(j->data, &info);
    for (size_t i = 0; i < j->count; i++) {
        struct output *o = &j->outputs[i];
        plim_value v = plim_graph_find(g, o->name);
        int64_t elements = 1, batch;
        o->array.dtype = plim_graph_value_dtype(g, v);
        o->array.rank = plim_graph_value_shape(g, v, o->array.dims);
        batch = o->array.rank > 0 ? o->array.dims[0] : 0;
        for (int k = 1; k < o->array.rank; k++) elements *= o->array.dims[k];
        if (batch != session_batch(g) || !plim_dtype_bytes(o->array.dtype, elements, &o->sample))
            return plim__fail(error, PLIM_SHAPE, "the output '%s' does not have the samples as its first axis",
                              o->name);
        o->array.dims[0] = info.samples;
        if (!plim_dtype_bytes(o->array.dtype, elements * info.samples, &o->array.bytes) ||
            !(o->array.data = plim__alloc(o->array.bytes ? o->array.bytes : 1)))
            return plim__fail_memory(error, o->name, o->array.bytes);
    }
    return PLIM_OK;
}

static plim_status run_all(struct job *j, plim_error *error) {
    plim_data_batch batch = {0};
    while (!batch.last) {
        plim_status status = plim_data_next(j->data, &batch, error);
        if (status != PLIM_OK || (batch.count == 0 && !batch.last)) return status;
        for (int64_t from = 0, count = 0; from < batch.count; from += count) {
            status = plim_session_feed(j->session, j->data, &batch, from, &count, error);
            if (status == PLIM_OK) status = plim_session_run(j->session, error);
            if (status != PLIM_OK) return status;
            for (size_t i = 0; i < j->count; i++) {
                const struct output *o = &j->outputs[i];
                memcpy((char *)o->array.data + (size_t)j->samples * o->sample, plim_session_output(j->session, o->name),
                       (size_t)count * o->sample);
            }
            j->samples += count;
        }
    }
    return PLIM_OK;
}

static plim_status infer(struct job *j, double *seconds, plim_error *error) {
    plim_status status = read_outputs(j, error);
    if (status == PLIM_OK) status = make_room(j, error);
    double start = plim__clock_seconds();
    if (status == PLIM_OK) status = run_all(j, error);
    *seconds = plim__clock_seconds() - start;
    for (size_t i = 0; i < j->count; i++) {
        struct output *o = &j->outputs[i];
        if (status == PLIM_OK) status = plim_array_save(&o->array, o->path, error);
        plim__free(o->array.data);
    }
    return status;
}

int plim__infer_data(plim__args *args, const char *path, plim__model_options *options) {
    static plim__data_settings settings;
    static struct job j;
    plim_error error;
    plim_graph *model;
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    plim__sizes sizes = {options->sizes, &options->session.size_count};
    plim_data_info info;
    double seconds = 0;
    if (plim__args_has(args, "input")) return plim__say_usage(args, "--input and --data: one of them");
    if (plim__args_has(args, "skip-bad"))
        return plim__say_usage(args, "--skip-bad: without some samples, rows would not be those of theirs any more; "
                                     "'plimsoll predict' names each");
    if (!plim__data_options_read(args, &settings)) return PLIM_EXIT_USAGE;
    settings.options.batch = plim__args_has(args, "batch") ? options->session.batch : 32;
    settings.options.no_target = settings.options.in_order = 1;
    settings.options.epochs = 1;
    if (!settings.options.split) settings.options.split = "test";
    plim__activity_say(args, "reading %s", path);
    if (plim_graph_load(path, &model, &error) != PLIM_OK) return plim__say_error(args, &error);
    j = (struct job){.args = args};
    plim_status status = plim__model_data_follow(args, model, &sizes, &loss, &settings, &error);
    if (status == PLIM_OK) status = plim_data_create(plim__args_get(args, "data"), &settings.options, &j.data, &error);
    if (status == PLIM_OK) status = plim_job_check(settings.job, j.data, &error);
    plim__open_axes_follow(model, j.data, &sizes);
    if (status == PLIM_OK) status = plim__open_axes_settle(args, model, &sizes, &error);
    plim_data_get_info(j.data, &info);
    options->session.batch = info.batch;
    options->session.evaluation = PLIM_EVALUATION_AS_TRAINED;
    if (status == PLIM_OK) status = plim_session_create(model, &options->session, &j.session, &error);
    plim__activity_say(args, "running %s", path);
    if (status == PLIM_OK) status = infer(&j, &seconds, &error);
    plim_session_free(j.session);
    plim_data_free(j.data);
    plim__data_settings_free(&settings);
    plim_graph_free(model);
    if (status != PLIM_OK) return plim__say_error(args, &error);
    if (plim__args_json(args))
        return plim__say_json(args, json_pack("{s:I, s:f}", "samples", (json_int_t)j.samples, "seconds", seconds));
    plim__activity_end();
    printf("%lld samples in %.3g s\n", (long long)j.samples, seconds);
    return PLIM_EXIT_OK;
}
