/* A batch that is part of a model, made a symbol. Constants that hold it are found by what they are used for:
 *
 *   Reshape(x, [2, 4, 16])        → Reshape(x, [-1, 4, 16])
 *   Expand(x, [2, 1, 16])         → its first size is that of the model's input
 *   Resize(x, sizes [2, 8, 4, 4]) → the same
 *   LSTM(x, ..., zeros[1, 2, 8])  → without an initial state, which is zeros
 *   Add(x, mask[2, 1, 4, 4])      → Add(x, mask[1, 1, 4, 4]) where all rows are equal
 *   Concat(token[1, 1, 8], x)     → the token for every sample
 *
 * These are guesses; what follows proves the whole or leaves the model as it was. */
#include "ops/free_batch.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "ops/batch.h"

enum { OTHER_AXES = 16 }; /* size of the other open axes while the model is examined */

struct work {
    plim_graph *trial; /* is changed */
    plim_graph *known; /* the model as it is, with all shapes and constants */
    bool *dependent;   /* values that follow from an input */
    int64_t samples;
    plim_value batch; /* [samples] of the trial, once it is needed */
    plim__fold fold;
    plim_error *error;
};

static bool is(const plim__node *node, const char *name) {
    return !node->dead && !*node->domain && strcmp(node->op_name, name) == 0;
}

/* --- what the model is -------------------------------------------------------------------------------------------- */

/* The common first size of all inputs; 0 when there is none, or it is open. */
static int64_t common_samples(const plim_graph *g) {
    int64_t samples = 0;
    for (size_t i = 0; i < g->inputs.count; i++) {
        const plim__shape *shape = &g->values.items[g->inputs.items[i]].shape;
        if (shape->rank < 1 || shape->dims[0] < 1 || (samples && shape->dims[0] != samples)) return 0;
        samples = shape->dims[0];
    }
    return samples;
}

static plim_graph *clone_for(const plim_graph *g, int64_t samples, plim__fold fold, plim_error *error) {
    plim_graph *made = plim_graph_clone(g);
    plim_status status = made ? PLIM_OK : plim__fail_memory(error, "a graph", sizeof *made);
    if (status == PLIM_OK) status = plim__graph_bind(made, "batch", samples, error);
    if (status == PLIM_OK) status = plim__graph_bind(made, NULL, OTHER_AXES, error);
    if (status == PLIM_OK) status = plim__infer_graph(made, fold, NULL, error);
    if (status == PLIM_OK) return made;
    plim_graph_free(made);
    return NULL;
}

static void mark_dependent(const plim_graph *g, bool *dependent) {
    for (size_t i = 0; i < g->inputs.count; i++) dependent[g->inputs.items[i]] = true;
    for (size_t n = 0; n < g->nodes.count; n++) { /* sorted */
        const plim__node *node = &g->nodes.items[n];
        bool any = false;
        for (size_t i = 0; i < node->inputs.count; i++)
            any |= node->inputs.items[i] >= 0 && dependent[node->inputs.items[i]];
        for (size_t i = 0; any && i < node->outputs.count; i++)
            if (node->outputs.items[i] >= 0) dependent[node->outputs.items[i]] = true;
    }
}

static const plim__shape *shape_of(const struct work *w, plim_value v) { return &w->known->values.items[v].shape; }

static bool depends(const struct work *w, plim_value v) {
    return v >= 0 && (size_t)v < w->known->values.count && w->dependent[v];
}

/* A constant as the model computes it, with its data in memory; NULL for anything else. */
static plim__tensor *constant_of(const struct work *w, plim_value v) {
    if (v < 0 || (size_t)v >= w->known->values.count) return NULL;
    const plim__value *value = &w->known->values.items[v];
    if (value->kind == PLIM__VALUE_PARAMETER && plim__role_trained(value->role)) return NULL;
    plim__tensor *tensor = plim__graph_tensor(w->known, v);
    return tensor && plim__tensor_load(tensor, NULL) == PLIM_OK ? tensor : NULL;
}

/* --- rewriting ------------------------------------------------------------------------------------------------------ */

static plim_value add_ints(struct work *w, const int64_t *values, int64_t count) {
    return plim_graph_constant(w->trial, NULL, PLIM_I64, 1, &count, values);
}

/* [samples], computed from the model's first input. */
static plim_value batch_size(struct work *w) {
    if (w->batch >= 0) return w->batch;
    plim_value shape = plim_graph_apply(w->trial, "Shape", &w->trial->inputs.items[0], 1);
    plim_value first = add_ints(w, (const int64_t[]){0}, 1);
    return w->batch = plim_graph_apply(w->trial, "Gather", (const plim_value[]){shape, first}, 2);
}

/* `shape` with the batch as its first size. */
static plim_value shape_for_batch(struct work *w, const plim__shape *shape) {
    plim_value batch = batch_size(w);
    if (shape->rank == 1) return batch;
    plim_value rest = add_ints(w, shape->dims + 1, shape->rank - 1);
    int32_t node = plim_graph_node(w->trial, "Concat", NULL, (const plim_value[]){batch, rest}, 2, 1);
    plim_graph_set_int(w->trial, node, "axis", 0);
    return plim_graph_node_output(w->trial, node, 0);
}

static void free_reshape(struct work *w, int32_t n) {
    const plim__node *node = &w->trial->nodes.items[n];
    plim__tensor *told = constant_of(w, plim__node_in(node, 1));
    plim_value out = plim__node_out(node, 0);
    if (!told || told->dtype != PLIM_I64 || out < 0 || !depends(w, node->inputs.items[0])) return;
    const plim__shape *shape = shape_of(w, out);
    int64_t dims[PLIM_MAX_RANK];
    int axis = 0;
    while (axis < shape->rank && (shape->dims[axis] < 1 || shape->dims[axis] % w->samples)) axis++;
    if (axis == shape->rank || plim__tensor_at(told, axis) < 1) return; /* 0 and -1 follow the batch by themselves */
    memcpy(dims, shape->dims, sizeof dims);
    dims[axis] = -1;
    plim_value made = add_ints(w, dims, shape->rank);
    if (made >= 0) w->trial->nodes.items[n].inputs.items[1] = made;
}

static void free_expand(struct work *w, int32_t n) {
    const plim__node *node = &w->trial->nodes.items[n];
    plim__tensor *told = constant_of(w, plim__node_in(node, 1));
    plim_value out = plim__node_out(node, 0);
    if (!told || out < 0 || shape_of(w, out)->rank < 1 || shape_of(w, out)->dims[0] != w->samples) return;
    if (w->samples == 1 && !depends(w, out)) return;
    plim_value made = shape_for_batch(w, shape_of(w, out));
    if (made >= 0) w->trial->nodes.items[n].inputs.items[1] = made;
}

/* A Resize to sizes, the first of which is the batch. */
static void free_sizes(struct work *w, int32_t n) {
    const plim__node *node = &w->trial->nodes.items[n];
    plim__tensor *told = constant_of(w, plim__node_in(node, 3));
    plim_value out = plim__node_out(node, 0);
    if (!told || told->dtype != PLIM_I64 || out < 0 || !depends(w, node->inputs.items[0])) return;
    if (plim__shape_elements(&told->shape) != shape_of(w, out)->rank || plim__tensor_at(told, 0) != (double)w->samples)
        return;
    plim_value made = shape_for_batch(w, shape_of(w, out));
    if (made >= 0) w->trial->nodes.items[n].inputs.items[3] = made;
}

static bool is_zeros(const plim__tensor *tensor) {
    for (size_t i = 0; i < tensor->bytes; i++)
        if (((const unsigned char *)tensor->data)[i]) return false;
    return true;
}

static void free_states(struct work *w, int32_t n) {
    for (size_t i = 5; i < 7 && i < w->trial->nodes.items[n].inputs.count; i++) {
        plim__tensor *state = constant_of(w, w->trial->nodes.items[n].inputs.items[i]);
        if (state && is_zeros(state)) w->trial->nodes.items[n].inputs.items[i] = PLIM_NO_VALUE;
    }
}

/* Rows for each sample that are all equal, as one row; axes of one may stand before the batch. PLIM_NO_VALUE for others. */
static plim_value one_row(struct work *w, const plim__tensor *tensor) {
    int axis = 0;
    if (w->samples == 1 || !tensor || tensor->shape.rank < 2 || plim_dtype_bits(tensor->dtype) % 8)
        return PLIM_NO_VALUE;
    while (axis < tensor->shape.rank - 1 && tensor->shape.dims[axis] == 1) axis++;
    if (axis == tensor->shape.rank - 1 || tensor->shape.dims[axis] != w->samples) return PLIM_NO_VALUE;
    size_t row = tensor->bytes / (size_t)w->samples;
    for (int64_t k = 1; k < w->samples; k++)
        if (memcmp(tensor->data, (const char *)tensor->data + (size_t)k * row, row) != 0) return PLIM_NO_VALUE;
    plim__shape shape = tensor->shape;
    shape.dims[axis] = 1;
    return plim_graph_constant(w->trial, NULL, tensor->dtype, shape.rank, shape.dims, tensor->data);
}

/* One row is enough where it is broadcast. */
static void free_rows(struct work *w, int32_t n) {
    for (size_t i = 0; i < w->trial->nodes.items[n].inputs.count; i++) {
        plim_value made = one_row(w, constant_of(w, w->trial->nodes.items[n].inputs.items[i]));
        if (made >= 0) w->trial->nodes.items[n].inputs.items[i] = made;
    }
}

/* What is one for all samples, or the same for each, beside what is there for each. */
static void free_concat(struct work *w, int32_t n) {
    size_t count = w->trial->nodes.items[n].inputs.count;
    bool any = false;
    for (size_t i = 0; i < count; i++) any |= depends(w, w->trial->nodes.items[n].inputs.items[i]);
    if (!any || plim__node_int(&w->trial->nodes.items[n], "axis", 0) == 0) return;
    for (size_t i = 0; i < count; i++) {
        plim_value v = w->trial->nodes.items[n].inputs.items[i];
        const plim__shape *known = shape_of(w, v);
        if (depends(w, v) || known->rank < 2 || known->dims[0] != w->samples) continue;
        plim_value one = w->samples == 1 ? v : one_row(w, constant_of(w, v));
        if (one < 0) continue;
        plim_value shape = shape_for_batch(w, known);
        plim_value made = plim_graph_apply(w->trial, "Expand", (const plim_value[]){one, shape}, 2);
        if (made >= 0) w->trial->nodes.items[n].inputs.items[i] = made;
    }
}

static plim_status rewrite(struct work *w) {
    static const char *const pointwise[] = {"Add", "Sub", "Mul", "Div", "Where", "And", "Or", "Max", "Min", "Pow"};
    size_t count = w->trial->nodes.count;
    for (size_t n = 0; n < count; n++) {
        const plim__node *node = &w->trial->nodes.items[n];
        int32_t index = (int32_t)n;
        bool recurrent = is(node, "LSTM") || is(node, "GRU") || is(node, "RNN"), broadcasts = false;
        for (size_t i = 0; i < sizeof pointwise / sizeof *pointwise; i++) broadcasts |= is(node, pointwise[i]);
        if (is(node, "Reshape"))
            free_reshape(w, index);
        else if (is(node, "Expand"))
            free_expand(w, index);
        else if (is(node, "Concat"))
            free_concat(w, index);
        else if (is(node, "Resize"))
            free_sizes(w, index);
        else if (recurrent)
            free_states(w, index);
        else if (broadcasts)
            free_rows(w, index);
    }
    for (size_t v = 0; v < w->trial->values.count; v++) { /* what the file said of them holds for its batch only */
        plim__value *value = &w->trial->values.items[v];
        if (value->kind == PLIM__VALUE_NODE) value->shape = PLIM_SHAPE_UNKNOWN;
    }
    int64_t symbol = plim_graph_symbol(w->trial, "batch");
    for (size_t i = 0; i < w->trial->inputs.count; i++)
        w->trial->values.items[w->trial->inputs.items[i]].shape.dims[0] = symbol;
    PLIM_TRY(plim_graph_status(w->trial, w->error));
    return plim__graph_sort(w->trial, w->error);
}

/* --- proof ------------------------------------------------------------------------------------------------------------ */

/* Each output is that of its samples side by side, or does not depend on how many there are. */
static void check_outputs(const struct work *w, const plim__batch_pair *pair, plim_baked_batch *baked) {
    plim__batch *values = plim__alloc_array(pair->whole->values.count, sizeof *values);
    plim__batch_verdict verdict;
    if (!values) return;
    baked->freed = true;
    for (size_t i = 0; i < pair->whole->outputs.count && baked->freed; i++) {
        plim_value out = pair->whole->outputs.items[i], old = w->known->outputs.items[i];
        plim__batch_axes_find(pair, out, values, &verdict);
        bool side_by_side = values[out].kind == PLIM__BATCH_AXIS && values[out].axis == 0 && values[out].outer == 1;
        bool alone = values[out].kind != PLIM__BATCH_AXIS && values[out].kind != PLIM__BATCH_UNKNOWN;
        bool same = plim__shape_equal(&pair->part->values.items[out].shape, shape_of(w, old));
        baked->freed = (side_by_side || alone) && same;
        if (!baked->freed)
            snprintf(baked->why, sizeof baked->why, "%s",
                     *verdict.why && !side_by_side ? verdict.why : "an output has another shape then");
    }
    plim__free(values);
}

static plim_status prove(const struct work *w, plim_baked_batch *baked) {
    plim_error error = {0};
    plim_graph *part = clone_for(w->trial, w->samples, w->fold, &error), *whole = NULL;
    if (part) whole = clone_for(w->trial, 2 * w->samples, w->fold, &error);
    if (whole) {
        plim__batch_pair pair = {whole, part, 2 * w->samples, w->samples};
        check_outputs(w, &pair, baked);
    } else {
        snprintf(baked->why, sizeof baked->why, "with %lld samples: %.150s",
                 (long long)(part ? 2 * w->samples : w->samples), error.message);
    }
    plim_graph_free(part);
    plim_graph_free(whole);
    return error.status == PLIM_NO_MEMORY ? plim__fail(w->error, PLIM_NO_MEMORY, "%s", error.message) : PLIM_OK;
}

static plim_status examine(struct work *w, plim_graph *g, plim_baked_batch *baked) {
    plim_error error = {0};
    w->known = clone_for(g, w->samples, w->fold, &error);
    if (!w->known) {
        snprintf(baked->why, sizeof baked->why, "%.190s", error.message);
        return error.status == PLIM_NO_MEMORY ? plim__fail(w->error, PLIM_NO_MEMORY, "%s", error.message) : PLIM_OK;
    }
    w->trial = plim_graph_clone(g);
    w->dependent = plim__alloc_zero(w->known->values.count, sizeof *w->dependent);
    if (!w->trial || !w->dependent) return plim__fail_memory(w->error, "a graph", sizeof *w->trial);
    mark_dependent(g, w->dependent);
    PLIM_TRY(rewrite(w));
    PLIM_TRY(prove(w, baked));
    if (!baked->freed) return PLIM_OK;
    plim_graph old = *g;
    *g = *w->trial;
    *w->trial = old;
    return PLIM_OK;
}

plim_status plim__graph_free_batch(plim_graph *g, plim__fold fold, plim_baked_batch *baked, plim_error *error) {
    *baked = (plim_baked_batch){.samples = common_samples(g)};
    if (baked->samples == 0) return PLIM_OK;
    struct work w = {.samples = baked->samples, .batch = PLIM_NO_VALUE, .fold = fold, .error = error};
    plim_status status = examine(&w, g, baked);
    plim_graph_free(w.trial);
    plim_graph_free(w.known);
    plim__free(w.dependent);
    return status;
}
