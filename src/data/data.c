/* The public face: a source and a pipeline over it, with defaults filled in and options checked. */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/number.h"
#include "data/classes.h"
#include "data/pipeline.h"
#include "data/targets.h"
#include "plimsoll/data.h"

struct plim_data {
    plim__data_source *source;
    plim__pipeline *pipeline;
    plim__pipeline_options options;
    plim__order part; /* without oversampling */
    plim__order_classes *classes;
    int64_t resize;
};

enum { MOST_WORKERS = 1024, MOST_DEPTH = 1 << 16 };

static plim_status check_options(const plim_data_options *options, plim_error *error) {
    if (options->batch < 0 || options->batch > (int64_t)1 << 32)
        return plim__fail(error, PLIM_INVALID, "a batch of %lld samples", (long long)options->batch);
    if (options->epochs < 0 || options->workers < 0 || options->depth < 0)
        return plim__fail(error, PLIM_INVALID, "epochs, workers and depth cannot be negative");
    if (options->workers > MOST_WORKERS || options->depth > MOST_DEPTH)
        return plim__fail(error, PLIM_INVALID, "%d workers and %d batches kept ready: at most %d and %d are possible",
                          options->workers, options->depth, MOST_WORKERS, MOST_DEPTH);
    if (options->normal_count < 0 || (options->normal_count && (!options->mean || !options->deviation)))
        return plim__fail(error, PLIM_INVALID, "there are %d pairs of mean and deviation, but one of them is NULL",
                          options->normal_count);
    if (options->split && strcmp(options->split, "train") != 0 && strcmp(options->split, "test") != 0 &&
        strcmp(options->split, "validation") != 0)
        return plim__fail(error, PLIM_INVALID, "there is no split '%s'; there are train, test and validation",
                          options->split);
    if (options->class_count < 0 || (options->class_count && !options->classes))
        return plim__fail(error, PLIM_INVALID, "there are %d classes, but no names of them", options->class_count);
    for (int i = 0; i < options->class_count; i++)
        if (!options->classes[i]) return plim__fail(error, PLIM_INVALID, "class %d has no name", i);
    if (!(options->validation >= 0 && options->validation < 1))
        return plim__fail(error, PLIM_INVALID, "a validation share of %g; it lies between 0 and 1",
                          options->validation);
    if (options->split && strcmp(options->split, "validation") == 0 && !(options->validation > 0))
        return plim__fail(error, PLIM_INVALID, "the validation split needs a validation share");
    return PLIM_OK;
}

static int cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}

/* The part of the source that the split is: a share at the end of it, or of a fixed permutation of it. */
static plim_status choose_part(plim__order *order, const plim__data_source *source, const plim_data_options *options,
                               plim_error *error) {
    bool test = options->split && strcmp(options->split, "test") == 0;
    int64_t kept = test ? 0 : (int64_t)llround(options->validation * (double)source->count);
    bool validation = options->split && strcmp(options->split, "validation") == 0;
    order->total = source->count;
    order->first = validation ? source->count - kept : 0;
    order->count = validation ? kept : source->count - kept;
    order->scattered = kept > 0 && !source->consecutive;
    if (order->count > 0) return PLIM_OK;
    if (source->count == 0) return plim__fail(error, PLIM_INVALID, "the data set has no samples");
    return plim__fail(error, PLIM_INVALID, "a validation share of %g leaves no samples for split '%s' out of %lld",
                      options->validation, validation ? "validation" : "train", (long long)source->count);
}

/* Means and deviations are those of the train split, whichever split is read. */
static plim_status fit_source(plim__data_source *source, const plim_data_options *options, plim_error *error) {
    plim_data_options training = *options;
    plim__order order = {0};
    if (!source->ops->fit) return PLIM_OK;
    if (options->split && strcmp(options->split, "validation") == 0) training.split = "train";
    PLIM_TRY(choose_part(&order, source, &training, error));
    return source->ops->fit(source, &order, error);
}

/* Every class as often as the largest. */
static plim_status oversample(plim_data *data, plim__order *order, plim_error *error) {
    uint64_t bytes;
    PLIM_TRY(plim__classes_group(data->source, order, &data->classes, &bytes, error));
    data->source->held_bytes += bytes;
    if (__builtin_mul_overflow(data->classes->count, data->classes->most, &order->count) || order->count > (int64_t)1
                                                                                                               << 60)
        return plim__fail(error, PLIM_OVERFLOW, "%lld classes of %lld samples each are too many",
                          (long long)data->classes->count, (long long)data->classes->most);
    order->classes = data->classes;
    return PLIM_OK;
}

/* What was asked for and has nothing to work on is refused. */
static plim_status check_augment(const plim_data *data, const plim_data_options *options, plim_error *error) {
    const plim__data_source *source = data->source;
    const plim__augment *a = &data->options.augment;
    bool floats = false, classes = false;
    if (plim__augment_needs_pixels(a) && !source->augmented)
        return plim__fail(error, PLIM_INVALID, "there are no images in it that '%s' could change",
                          options->augment       ? options->augment
                          : options->random_crop ? "random-crop"
                                                 : "random-flip");
    for (int i = 0; i < source->field_count; i++) {
        const plim_data_field *field = &source->fields[i];
        floats |= !field->target && field->dtype == PLIM_F32;
        classes |= field->target && field->dtype == PLIM_I64;
    }
    if (a->mixup > 0 && !(floats && classes))
        return plim__fail(error, PLIM_INVALID, "augmentation 'mixup' needs numbers as inputs and classes as targets");
    return PLIM_OK;
}

static plim_status make_pipeline(plim_data *data, const plim_data_options *options, plim_error *error) {
    plim__pipeline_options *p = &data->options;
    *p = (plim__pipeline_options){.batch = options->batch ? options->batch : 32,
                                  .epochs = options->epochs,
                                  .drop_last = options->drop_last,
                                  .skip_bad = options->skip_bad,
                                  .workers = options->workers,
                                  .memory_limit = options->bounded ? options->memory_limit : 0,
                                  .depth = options->depth,
                                  .buffer_limit = options->buffer_limit ? options->buffer_limit : 64 << 20};
    PLIM_TRY(choose_part(&p->order, data->source, options, error));
    PLIM_TRY(fit_source(data->source, options, error));
    PLIM_TRY(plim__augment_of(&p->augment, options, error));
    PLIM_TRY(check_augment(data, options, error));
    p->order.seed = options->seed;
    p->order.shuffled = !options->in_order;
    data->part = p->order;
    if (options->oversample) PLIM_TRY(oversample(data, &p->order, error));
    if (strcmp(data->source->ops->kind, "images") == 0) data->resize = plim__image_resize(options);
    if (p->workers == 0) {
        size_t bytes = plim__scratch_needs_bytes(&data->source->scratch);
        p->workers = data->source->decodes ? cores() : 1;
        while (p->memory_limit && p->workers > 1 && (uint64_t)p->workers * bytes > p->memory_limit) p->workers--;
    }
    if (p->batch > p->order.count && !p->drop_last) p->batch = p->order.count; /* no room for what cannot come */
    if (p->batch > p->order.count)
        return plim__fail(error, PLIM_INVALID, "a batch of %lld with %lld samples, and short batches are dropped",
                          (long long)p->batch, (long long)p->order.count);
    return plim__pipeline_create(data->source, p, &data->pipeline, error);
}

/* Takes the source over. */
static plim_status finish(plim__data_source *source, const plim_data_options *options, plim_data **data,
                          plim_error *error) {
    plim_data *made = plim__alloc_zero(1, sizeof *made);
    if (!made) {
        plim__data_source_free(source);
        return plim__fail_memory(error, "a data set", sizeof *made);
    }
    made->source = source;
    plim_status status = PLIM_OK;
    if (options->channels_last > 0 && !source->channels_moved)
        status = plim__fail(error, PLIM_INVALID,
                            "there is no array of height x width x channels in it, for the layout nhwc");
    if (options->tokenizer && !source->tokenizer)
        status =
            plim__fail(error, PLIM_INVALID, "a tokenizer is for text, and this is read as '%s'", source->ops->kind);
    if (status == PLIM_OK) status = make_pipeline(made, options, error);
    if (status == PLIM_OK)
        *data = made;
    else
        plim_data_free(made);
    return status;
}

plim_status plim_data_create(const char *path, const plim_data_options *options, plim_data **data, plim_error *error) {
    plim_data_options o;
    plim__data_source *source;
    PLIM__NEED(data, error);
    *data = NULL;
    PLIM__NEED(path, error);
    PLIM__OPTIONS(plim_data_options, o, options, error);
    options = &o;
    PLIM_TRY(check_options(options, error));
    PLIM_TRY(plim__data_source_open(path, options, &source, error));
    plim_status status = finish(source, options, data, error);
    return status == PLIM_OK ? PLIM_OK : plim__fail_context(error, status, "'%s'", path);
}

plim_status plim_data_create_arrays(const plim_data_array *arrays, size_t count, const plim_data_options *options,
                                    plim_data **data, plim_error *error) {
    plim_data_options o;
    plim__data_source *source;
    PLIM__NEED(data, error);
    *data = NULL;
    PLIM__NEED(arrays, error);
    if (count < 1 || count > PLIM_DATA_MAX_FIELDS)
        return plim__fail(error, PLIM_INVALID, "%zu arrays: a data set has from 1 to %d", count, PLIM_DATA_MAX_FIELDS);
    for (size_t i = 0; i < count; i++)
        if (!arrays[i].name || !arrays[i].values)
            return plim__fail(error, PLIM_INVALID, "arrays[%zu] has no %s", i, arrays[i].name ? "values" : "name");
    PLIM__OPTIONS(plim_data_options, o, options, error);
    options = &o;
    PLIM_TRY(check_options(options, error));
    PLIM_TRY(plim__data_source_open_arrays(arrays, count, options, &source, error));
    return finish(source, options, data, error);
}

void plim_data_free(plim_data *data) {
    if (!data) return;
    plim__pipeline_free(data->pipeline); /* first: its threads read the source */
    plim__data_source_free(data->source);
    plim__free(data->classes);
    plim__free(data);
}

void plim_data_get_info(const plim_data *data, plim_data_info *info) {
    if (!info) return;
    *info = (plim_data_info){.kind = ""};
    if (!data) return;
    const plim__data_source *source = data->source;
    *info = (plim_data_info){.kind = source->ops->kind,
                             .samples = data->options.order.count,
                             .batches = plim__pipeline_batches(data->pipeline),
                             .batch = data->options.batch,
                             .field_count = source->field_count,
                             .file_bytes = source->file_bytes,
                             .held_bytes = source->held_bytes,
                             .most_bytes = source->held_bytes + plim__pipeline_most_bytes(data->pipeline),
                             .workers = data->options.workers,
                             .skips_bad = data->options.skip_bad,
                             .tokenizer = source->tokenizer,
                             .opening_bytes = source->opening_bytes,
                             .sample_bytes = plim__pipeline_sample_bytes(data->pipeline),
                             .resize = data->resize};
    for (int i = 0; i < source->field_count; i++)
        if (source->fields[i].target && source->fields[i].classes > info->classes)
            info->classes = source->fields[i].classes;
}

const plim_data_field *plim_data_field_at(const plim_data *data, int index) {
    return data && index >= 0 && index < data->source->field_count ? &data->source->fields[index] : NULL;
}

const char *plim_data_class_name(const plim_data *data, int64_t index) {
    return data && data->source->ops->class_name ? data->source->ops->class_name(data->source, index) : NULL;
}

const char *plim_data_sample_name(const plim_data *data, int64_t epoch, int64_t position, char *text, size_t size) {
    if (!text || size == 0) return "";
    *text = 0;
    if (!data || position < 0 || position >= data->options.order.count) return text;
    uint64_t repeat;
    int64_t index = plim__order_index(&data->options.order, epoch, position, &repeat);
    if (data->source->ops->sample_name)
        data->source->ops->sample_name(data->source, index, text, size);
    else
        plim__number_name("sample ", index, text, size);
    return text;
}

const char *plim_data_batch_sample_name(const plim_data *data, const plim_data_batch *batch, int64_t index, char *text,
                                        size_t size) {
    if (!text || size == 0) return "";
    *text = 0;
    if (!data || !batch || index < 0) return text;
    return plim_data_sample_name(
        data, batch->epoch, batch->position + plim__pipeline_place(data->pipeline, batch->position, index), text, size);
}

plim_status plim_data_count_classes(const plim_data *data, int64_t *counts, int64_t count, plim_error *error) {
    PLIM__NEED(data, error);
    PLIM__NEED(counts, error);
    int64_t classes = plim__classes_of(data->source);
    if (count != classes)
        return plim__fail(error, PLIM_INVALID, "there are %lld classes whose samples can be counted, not %lld",
                          (long long)classes, (long long)count);
    return plim__classes_count(data->source, &data->part, counts, error);
}

void plim__data_describe_changes(const plim_data *data, char *text, size_t size) {
    plim__augment_describe(&data->options.augment, text, size);
    size_t length = strlen(text);
    if (data->classes) snprintf(text + length, size - length, ", oversampled");
}

plim_status plim__data_check_targets(const plim_data *data, const plim__target_rules *rules, plim_error *error) {
    return plim__targets_check(data->source, &data->part, rules, error);
}

const char *plim_data_remark(const plim_data *data, char *text, size_t size) {
    if (!text || size == 0) return "";
    *text = 0;
    if (data && data->source->ops->remark) data->source->ops->remark(data->source, text, size);
    return text;
}

bool plim__data_moves_channels(const plim_data *data) { return data->source->channels_moved; }

const char *plim__data_target_columns(const plim_data *data) {
    return data->source->ops->target_columns ? data->source->ops->target_columns(data->source) : NULL;
}

const char *plim_data_table(const plim_data *data) {
    return data && data->source->ops->table ? data->source->ops->table(data->source) : NULL;
}

plim_status plim_data_next(plim_data *data, plim_data_batch *batch, plim_error *error) {
    PLIM__NEED(batch, error);
    *batch = (plim_data_batch){0};
    PLIM__NEED(data, error);
    return plim__pipeline_next(data->pipeline, batch, error);
}

plim_data_position plim_data_tell(const plim_data *data) {
    return data ? plim__pipeline_tell(data->pipeline) : (plim_data_position){0};
}

plim_status plim_data_seek(plim_data *data, plim_data_position position, plim_error *error) {
    PLIM__NEED(data, error);
    return plim__pipeline_seek(data->pipeline, position, error);
}

void plim_data_get_stats(const plim_data *data, plim_data_stats *stats) {
    if (!stats) return;
    *stats = (plim_data_stats){0};
    if (data) plim__pipeline_stats(data->pipeline, stats);
}

const char *plim_data_last_bad(const plim_data *data) { return data ? plim__pipeline_last_bad(data->pipeline) : ""; }
