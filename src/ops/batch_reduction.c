/* The batch axis through reductions, softmax and norms. */
#include "ops/batch.h"

/* Axes that a reduction runs over, and where an axis that stays is afterwards. */
struct reduced {
    bool over[PLIM_MAX_RANK];
    bool keeps; /* reduced axes stay, with one element */
    bool none;  /* nothing is reduced */
};

static bool read_reduced(const plim__batch_rule *r, struct reduced *reduced) {
    plim__infer reading = plim__batch_reading(r, false);
    int axes[PLIM_MAX_RANK], count, rank = plim__batch_shape(r, 0)->rank;
    *reduced = (struct reduced){.keeps = plim__node_int(r->node, "keepdims", 1) != 0};
    if (!plim__batch_is_fixed(r, 1) || plim__infer_axes(&reading, "axes", 1, rank, axes, &count) != PLIM_OK)
        return false;
    reduced->none = count == 0 && plim__node_int(r->node, "noop_with_empty_axes", 0) != 0;
    for (int i = 0; i < rank; i++) reduced->over[i] = count == 0 && !reduced->none;
    for (int i = 0; i < count; i++) reduced->over[axes[i]] = true;
    return true;
}

static int place_after(const struct reduced *reduced, int axis) {
    int gone = 0;
    for (int i = 0; i < axis; i++) gone += reduced->over[i];
    return reduced->keeps ? axis : axis - gone;
}

/* Sums of f(x): over the batch they are sums of samples, and means if they divide. */
static void reduce_to_sum(plim__batch_rule *r, bool linear, int power) {
    const plim__batch *x = plim__batch_in(r, 0);
    struct reduced reduced;
    if (!read_reduced(r, &reduced) || (!linear && x->power != 0)) return;
    if (x->kind != PLIM__BATCH_AXIS) {
        if (linear) plim__batch_set(r, 0, *x);
    } else if (!reduced.over[x->axis]) {
        plim__batch_move(r, 0, place_after(&reduced, x->axis));
    } else {
        plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_SUM, .power = (int16_t)(x->power + power)});
    }
}

void plim__batch_reduce_sum(plim__batch_rule *r) { reduce_to_sum(r, true, 0); }
void plim__batch_reduce_mean(plim__batch_rule *r) { reduce_to_sum(r, true, -1); }
void plim__batch_reduce_terms(plim__batch_rule *r) { reduce_to_sum(r, false, 0); }

/* No sum: over the batch, nothing is known of the result. */
void plim__batch_reduce(plim__batch_rule *r) {
    struct reduced reduced;
    if (!plim__batch_is_axis(r, 0) || !read_reduced(r, &reduced)) return;
    int axis = plim__batch_in(r, 0)->axis;
    if (!reduced.over[axis]) plim__batch_move(r, 0, place_after(&reduced, axis));
}

/* The largest or least of a batch: of its parts, about as large. */
void plim__batch_reduce_extreme(plim__batch_rule *r) {
    struct reduced reduced;
    plim__batch_reduce(r);
    if (!plim__batch_is_axis(r, 0) || !read_reduced(r, &reduced) || !reduced.over[plim__batch_in(r, 0)->axis]) return;
    r->mixes = true;
    plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_NONE});
}

void plim__batch_arg(plim__batch_rule *r) {
    int rank = plim__batch_shape(r, 0)->rank, over = plim__batch_axis_attribute(r, "axis", 0, rank);
    int axis = plim__batch_in(r, 0)->axis;
    if (!plim__batch_is_axis(r, 0) || over < 0 || axis == over) return;
    bool keeps = plim__node_int(r->node, "keepdims", 1) != 0;
    plim__batch_move(r, 0, !keeps && over < axis ? axis - 1 : axis);
}

/* The shape stays; samples influence each other if the batch is among axes `from` to `to` - 1. */
static void within(plim__batch_rule *r, int from, int to) {
    int axis = plim__batch_in(r, 0)->axis;
    if (!plim__batch_is_axis(r, 0) || from < 0) return;
    r->mixes |= axis >= from && axis < to;
    plim__batch_move(r, 0, axis);
}

void plim__batch_cumsum(plim__batch_rule *r) {
    plim__infer reading = plim__batch_reading(r, false);
    int64_t given;
    size_t count;
    int axis;
    if (!plim__batch_is_fixed(r, 1) || plim__infer_ints(&reading, 1, &given, 1, &count) != PLIM_OK || count != 1)
        return;
    if (plim__axis_normalize(given, plim__batch_shape(r, 0)->rank, &axis)) within(r, axis, axis + 1);
}

/* Before opset 13 over all axes from its own on. */
void plim__batch_softmax(plim__batch_rule *r) {
    int rank = plim__batch_shape(r, 0)->rank;
    bool old = r->node->version < 13;
    int axis = plim__batch_axis_attribute(r, "axis", old ? 1 : -1, rank);
    within(r, axis, old ? rank : axis + 1);
}

void plim__batch_lp_norm(plim__batch_rule *r) {
    int axis = plim__batch_axis_attribute(r, "axis", -1, plim__batch_shape(r, 0)->rank);
    within(r, axis, axis + 1);
}

void plim__batch_mvn(plim__batch_rule *r) {
    static const int64_t usual[] = {0, 2, 3};
    size_t count;
    int rank = plim__batch_shape(r, 0)->rank, axis;
    const int64_t *axes = plim__node_ints(r->node, "axes", &count);
    if (!axes) {
        axes = usual;
        count = 3;
    }
    if (!plim__batch_is_axis(r, 0)) return;
    for (size_t i = 0; i < count; i++)
        if (plim__axis_normalize(axes[i], rank, &axis)) r->mixes |= axis == plim__batch_in(r, 0)->axis;
    plim__batch_set(r, 0, *plim__batch_in(r, 0));
}

void plim__batch_layer_norm(plim__batch_rule *r) {
    int rank = plim__batch_shape(r, 0)->rank, from = plim__batch_axis_attribute(r, "axis", -1, rank);
    if (!plim__batch_are_fixed(r, 1)) return;
    within(r, from, rank);
    for (size_t i = 1; !r->mixes && i < r->node->outputs.count; i++)
        plim__batch_set(r, i, r->values[r->node->outputs.items[0]]);
}
