/* Data of training runs. */
#include "cli/train_data.h"

#include <string.h>
#include <unistd.h>

#include "cli/format.h"
#include "cli/measures_text.h"
#include "core/alloc.h"
#include "core/error.h"

bool plim__train_length_read(plim__args *args, int64_t *epochs, int64_t *steps) {
    const int64_t most = (int64_t)1 << 40;
    return plim__args_int(args, "epochs", 1, most, epochs) && plim__args_int(args, "steps", 1, most, steps);
}

/* The size of an axis of a model's first input: what the model says, or what --size says of its symbol; 0 for neither. */
static int64_t axis_size(const plim_graph *model, const plim__sizes *s, int64_t dim) {
    const char *symbol = plim_graph_symbol_name(model, dim);
    return symbol ? plim__sizes_find(s, symbol) : dim > 0 ? dim : 0;
}

static void follow_window(const plim_graph *model, const int64_t *dims, const plim__sizes *s, plim_data_options *data) {
    const char *batch = plim_graph_symbol_name(model, dims[0]), *symbol = plim_graph_symbol_name(model, dims[1]);
    int64_t known = axis_size(model, s, dims[1]);
    if (known > 0) {
        if (data->seq == 0) data->seq = known;
        return;
    }
    if (!symbol || data->seq < 1 || (batch && strcmp(batch, symbol) == 0) || *s->count == PLIM__MOST_SIZES) return;
    s->sizes[(*s->count)++] = (plim_size){symbol, data->seq};
}

static void follow_image(const plim_graph *model, const int64_t *dims, const plim__sizes *s, plim_data_options *data) {
    int64_t channels = axis_size(model, s, dims[1]), height = axis_size(model, s, dims[2]),
            width = axis_size(model, s, dims[3]);
    if (data->channels == 0 && (channels == 1 || channels == 3)) data->channels = channels;
    if (data->height || height < 1 || width < 1) return;
    data->height = height;
    data->width = width;
}

/* A model with its own loss has the target among its inputs: it is a class where any of these is an integer. */
bool plim__train_data_is_float(const plim_graph *model, plim_loss_kind loss) {
    if (loss != PLIM_LOSS_MODEL) return loss != PLIM_LOSS_CROSS_ENTROPY;
    for (size_t i = 0; i < plim_graph_input_count(model); i++)
        if (plim_graph_value_dtype(model, plim_graph_input_at(model, i)) == PLIM_I64) return false;
    return true;
}

/* Losses that were not given are those that the model was trained with. */
static void follow_loss(const plim__args *args, const plim__data_settings *data, plim_loss *loss) {
    static const char *const flags[] = {
        "loss", "loss-output", "loss-counts", "ignore-index", "label-smoothing", "class-weights", "huber-delta"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (plim__args_has(args, flags[i])) return;
    plim_job_get_loss(data->job, loss);
}

/* Sizes of windows and images follow the model's first input. */
static void follow_shape(const plim_graph *model, const plim__sizes *sizes, plim_data_options *data) {
    int64_t dims[PLIM_MAX_RANK];
    if (plim_graph_input_count(model) == 0) return;
    int rank = plim_graph_value_shape(model, plim_graph_input_at(model, 0), dims);
    if (rank == 2 || rank == 3) follow_window(model, dims, sizes, data);
    if (rank == 4) follow_image(model, dims, sizes, data);
}

/* Whether all that it reads is float32. */
static bool takes_floats(const plim_graph *model) {
    size_t count = (size_t)plim_graph_input_count(model);
    for (size_t i = 0; i < count; i++)
        if (plim_graph_value_dtype(model, plim_graph_input_at(model, i)) != PLIM_F32) return false;
    return count > 0;
}

/* The model knows a path from when it was trained. */
static plim_status find_tokenizer(const plim__args *args, const char *path, plim_error *error) {
    if (!path || plim__args_has(args, "tokenizer") || access(path, F_OK) == 0) return PLIM_OK;
    return plim__fail(
        error, PLIM_NOT_FOUND,
        "the model was trained with the tokenizer '%s', which is not there: --tokenizer FILE tells where it is", path);
}

plim_status plim__model_data_follow(const plim__args *args, const plim_graph *model, const plim__sizes *sizes,
                                    plim_loss *loss, plim__data_settings *data, plim_error *error) {
    const char *path = data->path ? data->path : plim__args_get(args, "data");
    plim_status status = plim__open_axes_check(model, sizes, error);
    if (status == PLIM_OK && path) status = plim__data_follow_job(args, model, path, data, error);
    if (status == PLIM_OK) status = find_tokenizer(args, data->options.tokenizer, error);
    if (status != PLIM_OK) return status;
    follow_loss(args, data, loss);
    data->options.float_target = plim__train_data_is_float(model, loss->kind);
    data->options.float_inputs = takes_floats(model);
    follow_shape(model, sizes, &data->options);
    return PLIM_OK;
}

plim_status plim__train_data_follow(const plim__args *args, const plim_graph *model, plim__train_settings *settings,
                                    plim__data_settings *data, plim_error *error) {
    plim__sizes sizes = {settings->sizes, &settings->options.size_count};
    return plim__model_data_follow(args, model, &sizes, &settings->options.loss, data, error);
}

/* Batches that are ready while one is used, where every byte is counted. */
#define DEPTH            2
#define VALIDATION_DEPTH 1
/* Bytes that a batch for validation may have, where it holds more than one sample. */
#define VALIDATION_BYTES ((size_t)4 << 20)
#define SYNTHETIC        65536 /* samples, as plim_data_options has them */

static bool is_synthetic(const plim__args *args) { return strcmp(plim__args_get(args, "data"), "synthetic") == 0; }

/* What the process does not hold already. */
static uint64_t room_for_data(uint64_t budget) {
    uint64_t now = plim_process_resident();
    return budget > now ? budget - now : 1;
}

static void fill_in(const plim__args *args, const plim__train_settings *settings, bool counted, plim_data_options *o) {
    o->batch = settings->options.batch;
    o->seed = settings->options.seed;
    o->drop_last = plim__args_has(args, "drop-last");
    o->augment = plim__args_get(args, "augment");
    o->oversample = plim__args_has(args, "oversample");
    o->bounded = counted;
    if (counted && settings->options.budget) o->memory_limit = room_for_data(settings->options.budget);
    if (counted && !o->buffer_limit && !o->depth) o->depth = DEPTH;
}

/* Samples like those of training, which may not be there. */
static int64_t validation_batch(const plim_data *training, int64_t batch) {
    const plim_data_field *field;
    size_t sample = 1;
    for (int i = 0; training && (field = plim_data_field_at(training, i)); i++) sample += field->bytes;
    int64_t most = (int64_t)(VALIDATION_BYTES / sample);
    return most < 1 ? 1 : most < batch ? most : batch;
}

/* Another file's classes and columns are those of the training set, by their names. */
static plim_status open_other(const char *path, const plim_data *training, plim_data_options *o, plim_data **made,
                              plim_error *error) {
    plim_data_info info = {0};
    const char **names = NULL;
    if (training) plim_data_get_info(training, &info);
    if (info.classes > 0 && plim_data_class_name(training, 0) && !o->class_count) {
        names = plim__alloc_array((size_t)info.classes, sizeof *names);
        if (!names) return plim__fail_memory(error, "names of classes", (size_t)info.classes * sizeof *names);
        for (int64_t i = 0; i < info.classes; i++) names[i] = plim_data_class_name(training, i);
        o->classes = names;
        o->class_count = (int)info.classes;
    }
    if (training && plim_data_table(training)) o->table = plim_data_table(training);
    plim_status status = plim_data_create(path, o, made, error);
    plim__free(names);
    return status;
}

/* In order, unchanged, in batches of a few megabytes: evaluation takes them in pieces that fit. */
static plim_status open_validation(const plim__args *args, int64_t batch, bool counted, const plim__data_settings *data,
                                   plim__train_data *made, plim_error *error) {
    const char *path = plim__args_get(args, "val");
    plim_data_options o = data->options;
    if (!path && !(o.validation > 0)) return PLIM_OK;
    o.epochs = o.in_order = 1;
    plim_data_info info = {0};
    if (made->data) plim_data_get_info(made->data, &info);
    if (!o.resize) o.resize = info.resize; /* as large as training sees them: the centre of what is cropped there */
    o.drop_last = o.random_crop = o.random_flip = o.oversample = 0;
    o.augment = NULL;
    o.split = path ? "test" : "validation";
    if (path) o.validation = 0;
    if (counted && !plim__args_has(args, "data-depth") && !o.buffer_limit) o.depth = VALIDATION_DEPTH;
    o.batch = validation_batch(made->data, batch);
    if (path) return open_other(path, made->data, &o, &made->validation, error);
    return plim_data_create(plim__args_get(args, "data"), &o, &made->validation, error);
}

/* Classes count the less the more samples they have: their weights are samples / (classes * samples of the class). */
static plim_status balance(const plim_data *data, plim__train_settings *settings, plim_error *error) {
    plim_data_info info = {0};
    int64_t counts[PLIM__MOST_CLASSES], kinds = 0, all = 0;
    if (data) plim_data_get_info(data, &info);
    if (info.classes < 1 || info.classes > PLIM__MOST_CLASSES)
        return plim__fail(error, PLIM_INVALID, "--class-weights balanced: the data has no classes%s",
                          info.classes > 0 ? " that are few enough (4096)" : "");
    plim_status status = plim_data_count_classes(data, counts, info.classes, error);
    for (int64_t i = 0; status == PLIM_OK && i < info.classes; i++) {
        kinds += counts[i] > 0;
        all += counts[i];
    }
    for (int64_t i = 0; status == PLIM_OK && i < info.classes; i++)
        settings->class_weights[i] = counts[i] ? (float)((double)all / ((double)kinds * (double)counts[i])) : 0;
    settings->options.loss.class_weights = settings->class_weights;
    settings->options.loss.class_count = (size_t)info.classes;
    return status;
}

/* What a plan has to know of an open data set. */
static void count_bytes(const plim_data *data, plim_trainer_options *options) {
    plim_data_info info;
    plim_data_stats stats;
    if (!data) return;
    plim_data_get_info(data, &info);
    plim_data_get_stats(data, &stats);
    options->data_bytes += info.most_bytes;
    options->data_held_bytes += info.held_bytes + stats.buffer_bytes;
    if (options->data_opening_bytes < info.opening_bytes) options->data_opening_bytes = info.opening_bytes;
}

static void declare_sizes(const plim__args *args, const plim__train_data *d, plim_trainer_options *options) {
    plim_data_info info = {.samples = SYNTHETIC};
    if (d->data) plim_data_get_info(d->data, &info);
    options->irregular_batches = info.skips_bad;
    options->samples = plim__args_has(args, "drop-last") ? 0 : info.samples;
    options->updates = d->steps;
    if (d->validation) options->evaluates = plim_evaluation_batch(&options->loss, d->validation);
}

plim_status plim__train_data_open(const plim__args *args, const plim_graph *model, plim__train_settings *settings,
                                  plim__data_settings *data, plim__train_data *made, plim_error *error) {
    fill_in(args, settings, made->counted, &data->options);
    plim_status status = PLIM_OK;
    if (!is_synthetic(args))
        status = plim_data_create(plim__args_get(args, "data"), &data->options, &made->data, error);
    if (status == PLIM_OK && made->data) status = plim_job_check(data->job, made->data, error);
    if (status == PLIM_OK && settings->balanced) status = balance(made->data, settings, error);
    if (status == PLIM_OK) status = open_validation(args, settings->options.batch, made->counted, data, made, error);
    plim__sizes sizes = {settings->sizes, &settings->options.size_count};
    plim__open_axes_follow(model, made->data, &sizes);
    if (status == PLIM_OK) status = plim__open_axes_settle(args, model, &sizes, error);
    if (status != PLIM_OK) return status;
    declare_sizes(args, made, &settings->options);
    if (made->validation && made->data) {
        made->measured = plim__measures_find(model, &settings->options.loss, 0, 0, &made->measures);
        settings->options.scores = made->measured;
    }
    if (!made->data) return PLIM_OK; /* synthetic: three batches, as the trainer estimates */
    count_bytes(made->data, &settings->options);
    plim_data_info info;
    plim_data_get_info(made->data, &info);
    settings->options.data_sample_bytes = info.sample_bytes; /* a batch for validation does not grow with it for long */
    count_bytes(made->validation, &settings->options);
    if (made->measured) settings->options.data_bytes += plim_measures_bytes(&made->measures);
    return PLIM_OK;
}

plim_status plim__train_data_follow_trainer(const plim__args *args, const plim_trainer *trainer,
                                            plim__data_settings *data, plim__train_data *made, plim_error *error) {
    if (made->data) return PLIM_OK;
    plim_data_options o = data->options;
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    o.field_count = plim_trainer_fields(trainer, fields);
    o.fields = fields;
    return plim_data_create(plim__args_get(args, "data"), &o, &made->data, error);
}

void plim__train_data_free(plim__train_data *data) {
    plim_data_free(data->validation);
    plim_data_free(data->data);
    *data = (plim__train_data){0};
}

void plim__data_say_bad(const plim__args *args, const plim_data *data) {
    plim_data_stats stats;
    plim_data_get_stats(data, &stats);
    if (stats.skipped)
        plim__say_note(args, "%lld bad sample%s left out; the last: %s", (long long)stats.skipped,
                       stats.skipped == 1 ? " was" : "s were", plim__shown(plim_data_last_bad(data)));
}
