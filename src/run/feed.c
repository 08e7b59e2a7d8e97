/* Matching fields and inputs. */
#include "run/feed.h"

#include <string.h>

#include "core/error.h"
#include "data/source.h"

void plim__wants_add(plim__wants *wants, plim_value input) {
    if (wants->count < PLIM_MOST_INPUTS) wants->inputs[wants->count] = input;
    wants->count++;
}

/* Axes of one sample, those of size 1 left out. */
typedef struct axes {
    int count;
    int64_t sizes[PLIM_MAX_RANK];
} axes;

static axes axes_of(int rank, const int64_t *dims) {
    axes made = {0};
    for (int i = 0; i < rank && made.count < PLIM_MAX_RANK; i++)
        if (dims[i] != 1) made.sizes[made.count++] = dims[i];
    return made;
}

static bool equals(const axes *a, const axes *b) {
    return a->count == b->count && memcmp(a->sizes, b->sizes, (size_t)a->count * sizeof *a->sizes) == 0;
}

static bool fits_by_count(const plim__wants *wants, plim_value v, const plim_data_field *field) {
    const plim__value *value = &wants->graph->values.items[v];
    int64_t elements = 1;
    for (int i = 0; i < field->rank; i++) elements *= field->dims[i];
    return value->dtype == field->dtype && value->shape.rank > 0 && value->shape.dims[0] == wants->samples &&
           plim__shape_elements(&value->shape) == wants->samples * elements;
}

/* The same axes, or one of both is a plain row of numbers: as many elements in another order are not the same thing. */
static bool fits(const plim__wants *wants, plim_value v, const plim_data_field *field) {
    if (!fits_by_count(wants, v, field)) return false;
    const plim__shape *shape = &wants->graph->values.items[v].shape;
    axes want = axes_of(shape->rank - 1, shape->dims + 1), has = axes_of(field->rank, field->dims);
    return want.count <= 1 || has.count <= 1 || equals(&want, &has);
}

static bool is_kind(const plim_data *data, const char *kind) {
    plim_data_info info;
    plim_data_get_info(data, &info);
    return strcmp(info.kind, kind) == 0;
}

/* What would make it fit: channels last are wanted first, or the other way round. */
static const char *advice(const plim__wants *wants, plim_value v, const plim_data *data, const plim_data_field *field) {
    const plim__shape *shape = &wants->graph->values.items[v].shape;
    if (wants->graph->values.items[v].dtype == PLIM_I32 && field->dtype == PLIM_I64)
        return ": integers of data are int64; export the model with an input of int64 (keras.Input(..., "
               "dtype=\"int64\"))";
    if (is_kind(data, "csv") && field->rank == 1 && shape->rank == 2 && !field->target &&
        shape->dims[1] != field->dims[0])
        return ": columns are left out with --drop or chosen with --columns, each category counts as one; or make a "
               "model "
               "with as many features";
    if (v == wants->target && wants->graph->values.items[v].dtype == PLIM_I64 && field->dtype == PLIM_F32)
        return field->rank == 1 && field->dims[0] > 1
                   ? ": classes are integers, one a sample; of one-hot rows argmax(1) makes them (--loss "
                     "bce_with_logits is "
                     "for several classes at once)"
                   : ": classes are integers, as astype(\"int64\") makes them; --loss mse predicts numbers";
    if (!fits_by_count(wants, v, field)) return "";
    axes want = axes_of(shape->rank - 1, shape->dims + 1), has = axes_of(field->rank, field->dims), moved = has;
    if (want.count != has.count) return ": only the number of elements is the same";
    memcpy(moved.sizes + 1, has.sizes, (size_t)(has.count - 1) * sizeof *has.sizes);
    moved.sizes[0] = has.sizes[has.count - 1];
    if (equals(&moved, &want)) return ": its channels come last; --layout nhwc (channels_last) puts them first";
    memcpy(moved.sizes, has.sizes + 1, (size_t)(has.count - 1) * sizeof *has.sizes);
    moved.sizes[has.count - 1] = has.sizes[0];
    if (equals(&moved, &want) && plim__data_moves_channels(data))
        return ": its channels came first already; --layout nchw (channels_last -1) leaves them there";
    if (equals(&moved, &want)) return ": the model wants channels last, and the data has them first";
    return ": only the number of elements is the same; are its axes transposed?";
}

static plim_status misfit(const plim__wants *wants, plim_value v, const plim_data *data, const plim_data_field *field,
                          plim_error *error) {
    const plim_graph *g = wants->graph;
    bool target = v == wants->target;
    char shape[PLIM_SHAPE_TEXT], has[PLIM_SHAPE_TEXT];
    plim__shape sample = plim__shape_of(field->rank, field->dims);
    return plim__fail(error, PLIM_SHAPE, "the data's '%s' (%s%s a sample) does not fit the model's %s%s%s%s (%s%s)%s",
                      field->name, plim_dtype_name(field->dtype), plim__shape_text(&sample, NULL, has),
                      target ? "target" : "input", target ? "" : " '", target ? "" : g->values.items[v].name,
                      target ? "" : "'", plim_dtype_name(g->values.items[v].dtype),
                      plim__shape_text(&g->values.items[v].shape, g, shape), advice(wants, v, data, field));
}

/* A model with its own loss has its targets among its inputs. */
static bool is_input(const plim__wants *wants, const plim_data_field *field) {
    return !field->target || wants->target < 0;
}

/* The field with the input's name; else the n-th one that may be an input. What training adds is found by its name alone. */
static int find_input(const plim__wants *wants, plim_data *data, const char *name, size_t n) {
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (is_input(wants, field) && strcmp(field->name, name) == 0) return i;
    size_t seen = 0;
    if (strcmp(name, PLIM_SAMPLE_WEIGHTS) == 0) return -1;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (is_input(wants, field) && strcmp(field->name, PLIM_SAMPLE_WEIGHTS) != 0 && seen++ == n) return i;
    return -1;
}

static int find_target(plim_data *data) {
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (field->target) return i;
    return -1;
}

static plim_status match_target(const plim__wants *wants, plim_data *data, plim_feed *feed, plim_error *error) {
    feed->target = -1;
    if (wants->target < 0) return PLIM_OK;
    feed->target = find_target(data);
    if (feed->target < 0) return plim__fail(error, PLIM_INVALID, "the data has no target");
    const plim_data_field *field = plim_data_field_at(data, feed->target);
    if (!fits(wants, wants->target, field)) return misfit(wants, wants->target, data, field, error);
    if (wants->classes > 0 && field->classes > wants->classes)
        return plim__fail(error, PLIM_INVALID, "the data has %lld %s, the model predicts %lld",
                          (long long)field->classes,
                          is_kind(data, "text") || is_kind(data, "tokens") ? "different tokens" : "classes",
                          (long long)wants->classes);
    return PLIM_OK;
}

plim_status plim__feed_match(const plim__wants *wants, plim_data *data, plim_feed *feed, plim_error *error) {
    if (wants->count > PLIM_MOST_INPUTS)
        return plim__fail(error, PLIM_UNSUPPORTED, "the model has %zu inputs, at most %d can be fed", wants->count,
                          PLIM_MOST_INPUTS);
    for (size_t i = 0; i < wants->count; i++) {
        const char *name = wants->graph->values.items[wants->inputs[i]].name;
        feed->inputs[i] = find_input(wants, data, name, i);
        if (feed->inputs[i] < 0)
            return plim__fail(error, PLIM_INVALID, "the data has nothing for the model's input '%s'", name);
        const plim_data_field *field = plim_data_field_at(data, feed->inputs[i]);
        if (!fits(wants, wants->inputs[i], field)) return misfit(wants, wants->inputs[i], data, field, error);
    }
    return match_target(wants, data, feed, error);
}
