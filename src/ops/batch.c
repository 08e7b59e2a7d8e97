/* The batch axis of every value: seeds, rules node by node, and what follows for splitting. */
#include "ops/batch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- for rules ------------------------------------------------------------------------------------------------ */

const plim__batch *plim__batch_in(const plim__batch_rule *r, size_t i) { return &r->values[r->node->inputs.items[i]]; }

const plim__shape *plim__batch_shape(const plim__batch_rule *r, size_t i) {
    return &r->pair->whole->values.items[r->node->inputs.items[i]].shape;
}

const plim__shape *plim__batch_out_shape(const plim__batch_rule *r, size_t i) {
    return &r->pair->whole->values.items[r->node->outputs.items[i]].shape;
}

void plim__batch_set(plim__batch_rule *r, size_t output, plim__batch batch) {
    plim_value v = plim__node_out(r->node, output);
    if (v >= 0) r->values[v] = batch;
}

bool plim__batch_is_fixed(const plim__batch_rule *r, size_t i) {
    if (!plim__batch_has(r, i)) return true;
    const plim__batch *batch = plim__batch_in(r, i);
    return batch->kind == PLIM__BATCH_NONE && batch->power == 0;
}

bool plim__batch_are_fixed(const plim__batch_rule *r, size_t from) {
    for (size_t i = from; i < r->node->inputs.count; i++)
        if (!plim__batch_is_fixed(r, i)) return false;
    return true;
}

bool plim__batch_is_axis(const plim__batch_rule *r, size_t i) {
    if (!plim__batch_has(r, i)) return false;
    const plim__batch *batch = plim__batch_in(r, i);
    return batch->kind == PLIM__BATCH_AXIS && batch->power == 0;
}

int plim__batch_axis_attribute(const plim__batch_rule *r, const char *name, int64_t missing, int rank) {
    int axis;
    return plim__axis_normalize(plim__node_int(r->node, name, missing), rank, &axis) ? axis : -1;
}

plim__infer plim__batch_reading(const plim__batch_rule *r, bool part) {
    return (plim__infer){.graph = part ? r->pair->part : r->pair->whole, .node = part ? r->twin : r->node};
}

void plim__batch_move(plim__batch_rule *r, size_t output, int axis) {
    plim__batch batch = *plim__batch_in(r, 0);
    batch.axis = (int16_t)axis;
    plim__batch_set(r, output, batch);
}

/* --- seeds ---------------------------------------------------------------------------------------------------- */

static double number_at(const plim__tensor *tensor) { return plim__tensor_at(tensor, 0); }

static bool nearly(double a, double b) { return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)); }

/* A number that follows from the size of the batch: 1 / N, N · T. */
static plim__batch seed_number(const plim__batch_pair *pair, const plim__tensor *whole, const plim__tensor *part) {
    double a = number_at(whole), b = number_at(part), n = (double)pair->whole_samples, m = (double)pair->part_samples;
    if (!isfinite(a) || !isfinite(b) || a == 0 || b == 0) return (plim__batch){0};
    if (nearly(a * n, b * m)) return (plim__batch){.kind = PLIM__BATCH_NONE, .power = -1};
    if (nearly(a / n, b / m)) return (plim__batch){.kind = PLIM__BATCH_NONE, .power = 1};
    return (plim__batch){0};
}

/* A constant for every sample, the same for each: zeros to begin with, a mask that was expanded. */
static plim__batch seed_repeated(const plim__batch_pair *pair, const plim__tensor *whole, const plim__tensor *part) {
    int axis = plim__batch_axis_between(&whole->shape, pair->whole_samples, &part->shape, pair->part_samples);
    if (axis < 0 || plim__shape_elements(&part->shape) < 1) return (plim__batch){0};
    plim__batch batch = {.kind = PLIM__BATCH_AXIS,
                         .axis = (int16_t)axis,
                         .outer = 1,
                         .inner = whole->shape.dims[axis] / pair->whole_samples};
    size_t lines = (size_t)plim__shape_product(&whole->shape, 0, axis);
    size_t block = part->bytes / lines / (size_t)pair->part_samples;
    for (size_t line = 0; line < lines; line++) {
        const char *one = (const char *)part->data + line * block * (size_t)pair->part_samples;
        const char *all = (const char *)whole->data + line * block * (size_t)pair->whole_samples;
        for (int64_t n = 0; n < pair->part_samples; n++)
            if (memcmp(one + (size_t)n * block, one, block) != 0) return (plim__batch){0};
        for (int64_t n = 0; n < pair->whole_samples; n++)
            if (memcmp(all + (size_t)n * block, one, block) != 0) return (plim__batch){0};
    }
    return batch;
}

static plim__batch seed_constant(const plim__batch_pair *pair, const plim__tensor *whole, const plim__tensor *part) {
    if (whole == part) return (plim__batch){.kind = PLIM__BATCH_NONE};
    if (!whole || !part || !whole->data || !part->data || whole->dtype != part->dtype) return (plim__batch){0};
    if (!plim__shape_equal(&whole->shape, &part->shape))
        return plim_dtype_bits(whole->dtype) % 8 == 0 ? seed_repeated(pair, whole, part) : (plim__batch){0};
    if (whole->bytes == part->bytes && memcmp(whole->data, part->data, whole->bytes) == 0)
        return (plim__batch){.kind = PLIM__BATCH_NONE};
    return plim__shape_elements(&whole->shape) == 1 ? seed_number(pair, whole, part) : (plim__batch){0};
}

/* Data comes sample by sample: its first axis is the batch. */
static plim__batch seed_input(const plim__batch_pair *pair, const plim__shape *whole, const plim__shape *part) {
    if (plim__batch_axis_between(whole, pair->whole_samples, part, pair->part_samples) != 0) return (plim__batch){0};
    return (plim__batch){
        .kind = PLIM__BATCH_AXIS, .axis = 0, .outer = 1, .inner = whole->dims[0] / pair->whole_samples};
}

static plim__batch seed(const plim__batch_pair *pair, plim_value v) {
    const plim__value *whole = &pair->whole->values.items[v], *part = &pair->part->values.items[v];
    if (whole->kind != part->kind || whole->dtype != part->dtype) return (plim__batch){0};
    switch (whole->kind) {
    case PLIM__VALUE_INPUT: return seed_input(pair, &whole->shape, &part->shape);
    case PLIM__VALUE_CONSTANT: return seed_constant(pair, whole->tensor, part->tensor);
    case PLIM__VALUE_PARAMETER:
    case PLIM__VALUE_STATE:
    case PLIM__VALUE_SUM: return (plim__batch){.kind = PLIM__BATCH_NONE};
    case PLIM__VALUE_NODE: break;
    }
    return (plim__batch){0};
}

/* --- node by node --------------------------------------------------------------------------------------------- */

static bool attribute_equal(const plim__attribute *a, const plim__attribute *b) {
    if (a->type != b->type || a->length != b->length || a->i != b->i || a->f != b->f) return false;
    if ((a->s != NULL) != (b->s != NULL) || (a->s && memcmp(a->s, b->s, a->length) != 0)) return false;
    if (a->ints && memcmp(a->ints, b->ints, a->length * sizeof *a->ints) != 0) return false;
    if (a->floats && memcmp(a->floats, b->floats, a->length * sizeof *a->floats) != 0) return false;
    return a->tensor == b->tensor;
}

static bool attributes_equal(const plim__node *a, const plim__node *b) {
    if (a->attributes.count != b->attributes.count) return false;
    for (size_t i = 0; i < a->attributes.count; i++) {
        const plim__attribute *other = plim__node_attribute(b, a->attributes.items[i].name);
        if (!other || !attribute_equal(&a->attributes.items[i], other)) return false;
    }
    return true;
}

/* The node of the part that computes the same. False when the graphs differ there. */
static bool find_twin(const plim__batch_pair *pair, const plim__node *node, const plim__node **twin) {
    *twin = NULL;
    for (size_t i = 0; i < node->outputs.count; i++) {
        plim_value v = node->outputs.items[i];
        if (v < 0) continue;
        const plim__value *value = &pair->part->values.items[v];
        if (value->producer >= 0)
            *twin = &pair->part->nodes.items[value->producer];
        else if (value->kind != PLIM__VALUE_CONSTANT)
            return false;
    }
    if (!*twin) return true; /* constant there: small enough to be computed at once */
    if ((*twin)->op != node->op || (*twin)->inputs.count != node->inputs.count || !attributes_equal(*twin, node))
        return false;
    return node->inputs.count == 0 ||
           memcmp((*twin)->inputs.items, node->inputs.items, node->inputs.count * sizeof *node->inputs.items) == 0;
}

static void clear_outputs(plim__batch_rule *r) {
    for (size_t i = 0; i < r->node->outputs.count; i++) plim__batch_set(r, i, (plim__batch){0});
}

static bool is_float(plim_dtype dtype) { return dtype == PLIM_F32 || dtype == PLIM_F64; }

/* What a rule said must be what the part has. Whole numbers are not scaled: they would be rounded. */
static void check_outputs(plim__batch_rule *r) {
    const plim__batch_pair *pair = r->pair;
    for (size_t i = 0; i < r->node->outputs.count; i++) {
        plim_value v = r->node->outputs.items[i];
        if (v < 0 || r->values[v].kind == PLIM__BATCH_UNKNOWN) continue;
        if (!plim__batch_fits(&r->values[v], &pair->whole->values.items[v].shape, pair->whole_samples,
                              &pair->part->values.items[v].shape, pair->part_samples) ||
            r->values[v].power < -4 || r->values[v].power > 4 ||
            (r->values[v].power != 0 && !is_float(pair->whole->values.items[v].dtype)))
            r->values[v] = (plim__batch){0};
    }
}

static bool outputs_agree(const plim__batch_rule *r) {
    for (size_t i = 0; i < r->node->outputs.count; i++) {
        plim_value v = r->node->outputs.items[i];
        if (v >= 0 && !plim__shape_equal(&r->pair->whole->values.items[v].shape, &r->pair->part->values.items[v].shape))
            return false;
    }
    return true;
}

static void apply(plim__batch_rule *r) {
    clear_outputs(r);
    if (!find_twin(r->pair, r->node, &r->twin)) return;
    if (plim__batch_are_fixed(r, 0) && outputs_agree(r)) {
        for (size_t i = 0; i < r->node->outputs.count; i++)
            plim__batch_set(r, i, (plim__batch){.kind = PLIM__BATCH_NONE});
        return;
    }
    if (r->node->op && r->node->op->batch) r->node->op->batch(r);
    check_outputs(r);
}

/* --- the verdict ---------------------------------------------------------------------------------------------- */

static bool reads_unknown(const plim__batch_pair *pair, const plim__node *node, const plim__batch *values,
                          plim_value *which) {
    for (size_t i = 0; i < node->inputs.count; i++) {
        plim_value v = node->inputs.items[i];
        if (v < 0 || values[v].kind != PLIM__BATCH_UNKNOWN) continue;
        *which = v;
        if (pair->whole->values.items[v].kind != PLIM__VALUE_CONSTANT) return true; /* constants are shapes, mostly */
    }
    return false;
}

/* The first of the values that nothing is known of, on the way to the loss. */
static void explain_unknown(const plim__batch_pair *pair, const plim__batch *values, plim_value v,
                            plim__batch_verdict *verdict) {
    const plim_graph *g = pair->whole;
    while (g->values.items[v].producer >= 0) {
        const plim__node *node = &g->nodes.items[g->values.items[v].producer];
        if (!reads_unknown(pair, node, values, &v)) {
            snprintf(verdict->why, sizeof verdict->why, "node '%.60s' (%.40s) does not treat samples one by one",
                     plim__node_label(g, node), node->op_name);
            return;
        }
    }
    snprintf(verdict->why, sizeof verdict->why, "'%.80s' does not come sample by sample", g->values.items[v].name);
}

static void judge(const plim__batch_pair *pair, const plim__batch *values, plim_value loss, const plim__node *mixer,
                  plim__batch_verdict *verdict) {
    const plim__batch *batch = &values[loss];
    bool sum = batch->kind == PLIM__BATCH_SUM && batch->power == 0;
    bool mean = (batch->kind == PLIM__BATCH_SUM && batch->power == -1) ||
                (batch->power == 0 && (batch->kind == PLIM__BATCH_RATIO || batch->kind == PLIM__BATCH_NONE));
    *verdict = (plim__batch_verdict){.weight = PLIM_NO_VALUE};
    if (!sum && !mean) {
        explain_unknown(pair, values, loss, verdict);
        return;
    }
    verdict->combine = sum ? PLIM__COMBINE_SUM : PLIM__COMBINE_MEAN;
    if (batch->kind == PLIM__BATCH_RATIO) verdict->weight = batch->weight;
    verdict->split = mixer ? PLIM__SPLIT_LOSSY : PLIM__SPLIT_REORDERED;
    if (mixer)
        snprintf(verdict->why, sizeof verdict->why, "node '%.60s' (%.40s) mixes the samples of a batch",
                 plim__node_label(pair->whole, mixer), mixer->op_name);
}

void plim__batch_axes_find(const plim__batch_pair *pair, plim_value loss, plim__batch *values,
                           plim__batch_verdict *verdict) {
    const plim_graph *g = pair->whole;
    const plim__node *mixer = NULL;
    *verdict = (plim__batch_verdict){.weight = PLIM_NO_VALUE};
    for (size_t v = 0; v < g->values.count; v++) values[v] = (plim__batch){0};
    if (g->values.count != pair->part->values.count) {
        snprintf(verdict->why, sizeof verdict->why, "the model is another one for another size of the batch");
        return;
    }
    for (size_t v = 0; v < g->values.count; v++) {
        if (strcmp(g->values.items[v].name, pair->part->values.items[v].name) != 0) {
            snprintf(verdict->why, sizeof verdict->why, "the model is another one for another size of the batch");
            return;
        }
        if (g->values.items[v].producer < 0) values[v] = seed(pair, (plim_value)v);
    }
    for (size_t n = 0; n < g->nodes.count; n++) {
        if (g->nodes.items[n].dead) continue;
        plim__batch_rule rule = {.pair = pair, .node = &g->nodes.items[n], .values = values};
        apply(&rule);
        if (rule.mixes && !mixer) mixer = rule.node;
    }
    judge(pair, values, loss, mixer, verdict);
}
