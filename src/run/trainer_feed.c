/* What a model wants to be fed, and what data has to offer. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "run/trainer.h"

/* Inputs of the model, in its order; the target comes last. */
static size_t model_inputs(const plim_trainer *t, plim_value values[PLIM_MOST_INPUTS]) {
    const plim__training *training = t->main->training;
    size_t count = 0;
    for (size_t i = 0; i < training->graph->inputs.count; i++) {
        plim_value v = training->graph->inputs.items[i];
        if (v == training->target || v == training->update || v == training->scale) continue;
        if (count < PLIM_MOST_INPUTS) values[count] = v;
        count++;
    }
    return count;
}

static int64_t sample_elements(const plim_data_field *field) {
    int64_t elements = 1;
    for (int i = 0; i < field->rank; i++) elements *= field->dims[i];
    return elements;
}

static bool fits(const plim_trainer *t, plim_value v, const plim_data_field *field) {
    const plim__value *value = &t->main->training->graph->values.items[v];
    return value->dtype == field->dtype && value->shape.rank > 0 && value->shape.dims[0] == t->main->samples &&
           plim__shape_elements(&value->shape) == t->main->samples * sample_elements(field);
}

static plim_status misfit(const plim_trainer *t, plim_value v, const plim_data_field *field, bool target,
                          plim_error *error) {
    const plim_graph *g = t->main->training->graph;
    char shape[PLIM_SHAPE_TEXT], has[PLIM_SHAPE_TEXT];
    plim__shape sample = plim__shape_of(field->rank, field->dims);
    return plim__fail(error, PLIM_SHAPE, "the data's '%s' (%s%s a sample) does not fit the model's %s%s%s%s (%s%s)",
                      field->name, plim_dtype_name(field->dtype), plim__shape_text(&sample, NULL, has),
                      target ? "target" : "input", target ? "" : " '", target ? "" : g->values.items[v].name,
                      target ? "" : "'", plim_dtype_name(g->values.items[v].dtype),
                      plim__shape_text(&g->values.items[v].shape, g, shape));
}

/* The field with the input's name; else the n-th one that is not a target. */
static int find_input(plim_data *data, const char *name, size_t n) {
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (!field->target && strcmp(field->name, name) == 0) return i;
    size_t seen = 0;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (!field->target && seen++ == n) return i;
    return -1;
}

static int find_target(plim_data *data) {
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (field->target) return i;
    return -1;
}

static plim_status match_target(const plim_trainer *t, plim_data *data, plim_feed *feed, plim_error *error) {
    plim_value target = t->main->training->target;
    feed->target = -1;
    if (target < 0) return PLIM_OK;
    feed->target = find_target(data);
    if (feed->target < 0) return plim__fail(error, PLIM_INVALID, "the data has no target");
    const plim_data_field *field = plim_data_field_at(data, feed->target);
    if (!fits(t, target, field)) return misfit(t, target, field, true, error);
    int64_t classes = t->main->training->classes;
    if (classes > 0 && field->classes > classes)
        return plim__fail(error, PLIM_INVALID, "the data has %lld classes, the model predicts %lld",
                          (long long)field->classes, (long long)classes);
    return PLIM_OK;
}

plim_status plim_trainer_match(const plim_trainer *t, plim_data *data, plim_feed *feed, plim_error *error) {
    plim_value inputs[PLIM_MOST_INPUTS];
    size_t count = model_inputs(t, inputs);
    if (count > PLIM_MOST_INPUTS)
        return plim__fail(error, PLIM_UNSUPPORTED, "the model has %zu inputs, at most %d can be fed", count,
                          PLIM_MOST_INPUTS);
    for (size_t i = 0; i < count; i++) {
        const char *name = t->main->training->graph->values.items[inputs[i]].name;
        feed->inputs[i] = find_input(data, name, i);
        if (feed->inputs[i] < 0)
            return plim__fail(error, PLIM_INVALID, "the data has nothing for the model's input '%s'", name);
        const plim_data_field *field = plim_data_field_at(data, feed->inputs[i]);
        if (!fits(t, inputs[i], field)) return misfit(t, inputs[i], field, false, error);
    }
    return match_target(t, data, feed, error);
}

plim_batch plim_feed_batch(const plim_trainer *t, const plim_feed *feed, const plim_data_batch *batch) {
    plim_batch out = {.count = batch->count, .target = feed->target < 0 ? NULL : batch->fields[feed->target]};
    plim_value inputs[PLIM_MOST_INPUTS];
    size_t count = model_inputs(t, inputs);
    for (size_t i = 0; i < count && i < PLIM_MOST_INPUTS; i++) out.inputs[i] = batch->fields[feed->inputs[i]];
    return out;
}

/* --- data that fits ------------------------------------------------------------------------------------------- */

/* How many rows the tables have that an integer input picks from; 0 when it picks from none. */
static int64_t rows_picked(const plim_graph *g, plim_value v) {
    int64_t rows = 0;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || strcmp(node->op_name, "Gather") != 0 || plim__node_in(node, 1) != v) continue;
        const plim__shape *table = &g->values.items[plim__node_in(node, 0)].shape;
        int64_t axis = plim__node_int(node, "axis", 0);
        int64_t size = axis >= 0 && axis < table->rank ? table->dims[axis] : 0;
        if (size > 0 && (rows == 0 || size < rows)) rows = size;
    }
    return rows;
}

static void describe(const plim__training *training, plim_value v, bool target, plim_data_field *field) {
    const plim_graph *g = training->graph;
    const plim__value *value = &g->values.items[v];
    bool counts = value->dtype == PLIM_I64 || value->dtype == PLIM_I32;
    *field = (plim_data_field){.dtype = value->dtype, .rank = value->shape.rank - 1, .target = target};
    snprintf(field->name, sizeof field->name, "%s", target ? "target" : value->name);
    int64_t elements = 1;
    for (int i = 0; i < field->rank && i < PLIM_DATA_MAX_RANK; i++)
        elements *= field->dims[i] = value->shape.dims[i + 1];
    field->bytes = (size_t)elements * (size_t)plim_dtype_bits(value->dtype) / 8;
    if (counts) field->classes = target ? training->classes : rows_picked(g, v);
}

int plim_trainer_fields(const plim_trainer *t, plim_data_field fields[PLIM_MOST_INPUTS + 1]) {
    const plim__training *training = t->main->training;
    plim_value inputs[PLIM_MOST_INPUTS];
    size_t count = model_inputs(t, inputs);
    if (count > PLIM_MOST_INPUTS) count = PLIM_MOST_INPUTS;
    for (size_t i = 0; i < count; i++) describe(training, inputs[i], false, &fields[i]);
    if (training->target >= 0) describe(training, training->target, true, &fields[count++]);
    return (int)count;
}
