/* Data of training runs. */
#include "cli/train_data.h"

#include <string.h>

/* The size of an axis of a model's first input: what the model says, or what --size says of its symbol; 0 for neither. */
static int64_t axis_size(const plim_graph *model, const plim__train_settings *s, int64_t dim) {
    const char *symbol = plim_graph_symbol_name(model, dim);
    if (!symbol) return dim > 0 ? dim : 0;
    for (size_t i = 0; i < s->options.size_count; i++)
        if (strcmp(s->sizes[i].symbol, symbol) == 0) return s->sizes[i].size;
    return 0;
}

static void follow_window(const plim__args *args, const plim_graph *model, const int64_t *dims, plim__train_settings *s,
                          plim_data_options *data) {
    const char *batch = plim_graph_symbol_name(model, dims[0]), *symbol = plim_graph_symbol_name(model, dims[1]);
    int64_t known = axis_size(model, s, dims[1]);
    if (known > 0) {
        if (!plim__args_has(args, "seq")) data->seq = known;
        return;
    }
    if (!symbol || (batch && strcmp(batch, symbol) == 0) || s->options.size_count == PLIM__MOST_SIZES) return;
    s->sizes[s->options.size_count++] = (plim_size){symbol, data->seq > 0 ? data->seq : 256};
}

static void follow_image(const plim__args *args, const plim_graph *model, const int64_t *dims,
                         const plim__train_settings *s, plim_data_options *data) {
    int64_t channels = axis_size(model, s, dims[1]), height = axis_size(model, s, dims[2]),
            width = axis_size(model, s, dims[3]);
    if (!plim__args_has(args, "channels") && (channels == 1 || channels == 3)) data->channels = channels;
    if (plim__args_has(args, "image") || height < 1 || width < 1) return;
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

void plim__train_data_follow(const plim__args *args, const plim_graph *model, plim__train_settings *settings,
                             plim__data_settings *data) {
    int64_t dims[PLIM_MAX_RANK];
    data->options.float_target = plim__train_data_is_float(model, settings->options.loss.kind);
    if (plim_graph_input_count(model) == 0) return;
    int rank = plim_graph_value_shape(model, plim_graph_input_at(model, 0), dims);
    if (rank == 2 || rank == 3) follow_window(args, model, dims, settings, &data->options);
    if (rank == 4) follow_image(args, model, dims, settings, &data->options);
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

/* In order, unchanged, in batches of a few megabytes: evaluation takes them in pieces that fit. */
static plim_status open_validation(const plim__args *args, int64_t batch, bool counted, const plim__data_settings *data,
                                   plim__train_data *made, plim_error *error) {
    const char *path = plim__args_get(args, "val");
    plim_data_options o = data->options;
    if (!path && !(o.validation > 0)) return PLIM_OK;
    o.epochs = o.in_order = 1;
    o.drop_last = o.random_crop = o.random_flip = 0;
    o.split = path ? "test" : "validation";
    if (path) o.validation = 0;
    if (counted && !plim__args_has(args, "data-depth") && !o.buffer_limit) o.depth = VALIDATION_DEPTH;
    o.batch = validation_batch(made->data, batch);
    return plim_data_create(path ? path : plim__args_get(args, "data"), &o, &made->validation, error);
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
}

static void declare_sizes(const plim__args *args, const plim__train_data *d, plim_trainer_options *options) {
    plim_data_info info = {.samples = SYNTHETIC};
    if (d->data) plim_data_get_info(d->data, &info);
    int64_t batches = (info.samples + options->batch - 1) / options->batch;
    bool ends = d->steps == 0 || d->steps >= batches; /* an epoch does, within the run */
    options->irregular_batches = info.skips_bad;
    options->samples = ends && !plim__args_has(args, "drop-last") ? info.samples : 0;
    if (d->validation) options->evaluates = plim_evaluation_batch(&options->loss, d->validation);
}

plim_status plim__train_data_open(const plim__args *args, plim__train_settings *settings, plim__data_settings *data,
                                  plim__train_data *made, plim_error *error) {
    fill_in(args, settings, made->counted, &data->options);
    plim_status status = PLIM_OK;
    if (!is_synthetic(args))
        status = plim_data_create(plim__args_get(args, "data"), &data->options, &made->data, error);
    if (status == PLIM_OK) status = open_validation(args, settings->options.batch, made->counted, data, made, error);
    if (status != PLIM_OK) return status;
    declare_sizes(args, made, &settings->options);
    if (!made->data) return PLIM_OK; /* synthetic: three batches, as the trainer estimates */
    count_bytes(made->data, &settings->options);
    count_bytes(made->validation, &settings->options);
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
