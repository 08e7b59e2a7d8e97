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

plim_status plim__train_data_open(const plim__args *args, const plim_trainer *trainer,
                                  const plim__train_settings *settings, plim__data_settings *data, plim_data **made,
                                  plim_error *error) {
    plim_data_options *o = &data->options;
    const char *source = plim__args_get(args, "data");
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    o->batch = settings->options.batch;
    o->seed = settings->options.seed;
    o->drop_last = plim__args_has(args, "drop-last");
    if (strcmp(source, "synthetic") == 0) {
        o->field_count = plim_trainer_fields(trainer, fields);
        o->fields = fields;
    }
    if (settings->options.budget && !o->buffer_limit) { /* what the plan reckons with */
        plim_trainer_stats stats;
        plim_trainer_stats_get(trainer, &stats);
        o->buffer_limit = stats.data_buffer_bytes;
    }
    plim_status status = plim_data_open(source, o, made, error);
    o->fields = NULL;
    o->field_count = 0;
    return status;
}

/* In order, unchanged, in batches as large as those that training computes at once. */
plim_status plim__train_data_open_validation(const plim__args *args, const plim_trainer *trainer,
                                             const plim__data_settings *data, plim_data **made, plim_error *error) {
    const char *path = plim__args_get(args, "val");
    plim_data_options o = data->options;
    *made = NULL;
    if (!path && !(o.validation > 0)) return PLIM_OK;
    plim_trainer_stats stats;
    plim_trainer_stats_get(trainer, &stats);
    o.batch = stats.micro_batch;
    o.epochs = o.in_order = 1;
    o.drop_last = o.random_crop = o.random_flip = 0;
    o.split = path ? "test" : "validation";
    if (path) o.validation = 0;
    return plim_data_open(path ? path : plim__args_get(args, "data"), &o, made, error);
}
