/* The batch axis through operators that move data. */
#include <string.h>

#include "ops/batch.h"
#include "ops/movement.h"

/* What parts and wholes combine to is the same under another shape. */
static bool is_combined(const plim__batch *b) { return b->kind == PLIM__BATCH_SUM || b->kind == PLIM__BATCH_RATIO; }

void plim__batch_reshaped(plim__batch_rule *r) {
    const plim__batch *x = plim__batch_in(r, 0);
    plim__batch batch;
    if (is_combined(x) || x->kind == PLIM__BATCH_NONE)
        plim__batch_set(r, 0, *x);
    else if (x->kind == PLIM__BATCH_AXIS && plim__batch_reshape(x, plim__batch_shape(r, 0), plim__batch_out_shape(r, 0),
                                                                r->pair->whole_samples, &batch))
        plim__batch_set(r, 0, batch);
}

void plim__batch_transpose(plim__batch_rule *r) {
    plim__infer reading = plim__batch_reading(r, false);
    const plim__batch *x = plim__batch_in(r, 0);
    int order[PLIM_MAX_RANK], rank = plim__batch_shape(r, 0)->rank;
    if (x->kind != PLIM__BATCH_AXIS) {
        plim__batch_set(r, 0, *x);
        return;
    }
    if (plim__transpose_read(&reading, order) != PLIM_OK) return;
    for (int i = 0; i < rank; i++)
        if (order[i] == x->axis) plim__batch_move(r, 0, i);
}

/* The batch stays whole in both sizes, and the rest is cut alike. A batch that is turned around mixes. */
void plim__batch_slice(plim__batch_rule *r) {
    const plim__batch *x = plim__batch_in(r, 0);
    const plim__shape *shape = plim__batch_shape(r, 0);
    plim__slice whole, part;
    if (!r->twin) return;
    plim__infer in_whole = plim__batch_reading(r, false), in_part = plim__batch_reading(r, true);
    if (plim__slice_read(&in_whole, &whole) != PLIM_OK || plim__slice_read(&in_part, &part) != PLIM_OK) return;
    for (int i = 0; i < shape->rank; i++) {
        bool batch = x->kind == PLIM__BATCH_AXIS && i == x->axis;
        bool all = whole.size[i] == shape->dims[i] && part.size[i] == plim__infer_shape(&in_part, 0)->dims[i];
        if (batch && !all) return;
        if (batch && (whole.step[i] != 1 || part.step[i] != 1)) r->mixes = true;
        if (!batch &&
            (whole.start[i] != part.start[i] || whole.step[i] != part.step[i] || whole.size[i] != part.size[i]))
            return;
    }
    plim__batch_set(r, 0, *x);
}

/* Along the batch, pieces must have all samples: a batch that was put together of several. */
void plim__batch_split(plim__batch_rule *r) {
    const plim__batch *x = plim__batch_in(r, 0);
    int axis = plim__batch_axis_attribute(r, "axis", 0, plim__batch_shape(r, 0)->rank);
    for (size_t i = 0; axis >= 0 && i < r->node->outputs.count; i++) {
        plim__batch batch = *x;
        if (plim__node_out(r->node, i) < 0) continue;
        if (x->kind == PLIM__BATCH_AXIS && x->axis == axis) {
            int64_t size = plim__batch_out_shape(r, i)->dims[axis], one = r->pair->whole_samples * x->inner;
            if (size % one != 0) return;
            batch.outer = size / one;
        }
        plim__batch_set(r, i, batch);
    }
}

void plim__batch_concat(plim__batch_rule *r) {
    const plim__shape *out = plim__batch_out_shape(r, 0);
    int axis = plim__batch_axis_attribute(r, "axis", r->node->version < 4 ? 1 : 0, out->rank);
    plim__batch first = *plim__batch_in(r, 0);
    if (axis < 0) return;
    if (first.kind != PLIM__BATCH_AXIS) {
        for (size_t i = 0; i < r->node->inputs.count; i++)
            if (!plim__batch_has(r, i) || plim__batch_in(r, i)->kind == PLIM__BATCH_AXIS) return;
        plim__batch_set(r, 0, plim__batch_add(r)); /* what may be added may stand side by side */
        return;
    }
    for (size_t i = 1; i < r->node->inputs.count; i++) {
        const plim__batch *b = plim__batch_in(r, i);
        if (b->kind != PLIM__BATCH_AXIS || b->axis != first.axis || b->power != first.power || b->inner != first.inner)
            return;
        if (axis == first.axis)
            first.outer += b->outer; /* several batches, one after the other */
        else if (b->outer != first.outer)
            return;
    }
    plim__batch_set(r, 0, first);
}

/* Something that is repeated for every sample. */
static void repeat(plim__batch_rule *r) {
    const plim__shape *out = plim__batch_out_shape(r, 0);
    const plim__shape *part = &r->pair->part->values.items[r->node->outputs.items[0]].shape;
    int axis = plim__batch_axis_between(out, r->pair->whole_samples, part, r->pair->part_samples);
    if (axis == -1) plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_NONE});
    if (axis < 0) return;
    plim__batch_set(r, 0,
                    (plim__batch){.kind = PLIM__BATCH_AXIS,
                                  .axis = (int16_t)axis,
                                  .outer = 1,
                                  .inner = out->dims[axis] / r->pair->whole_samples});
}

void plim__batch_expand(plim__batch_rule *r) {
    const plim__batch *x = plim__batch_in(r, 0);
    const plim__shape *in = plim__batch_shape(r, 0), *out = plim__batch_out_shape(r, 0);
    int shift = out->rank - in->rank;
    if (x->kind == PLIM__BATCH_AXIS && out->dims[x->axis + shift] == in->dims[x->axis])
        plim__batch_move(r, 0, x->axis + shift);
    if (!plim__batch_is_fixed(r, 0)) return;
    const plim__shape *part = &r->pair->part->values.items[r->node->outputs.items[0]].shape;
    int axis = plim__batch_axis_between(out, r->pair->whole_samples, part, r->pair->part_samples);
    if (axis == -1 || axis - shift < 0 || in->dims[axis - shift] == 1) repeat(r);
}

/* Every element is the same. */
void plim__batch_fill(plim__batch_rule *r) { repeat(r); }

void plim__batch_tile(plim__batch_rule *r) {
    const plim__batch *x = plim__batch_in(r, 0);
    const plim__shape *in = plim__batch_shape(r, 0), *out = plim__batch_out_shape(r, 0);
    if (r->node->version < 6) return;
    if (plim__batch_is_fixed(r, 0)) {
        plim__batch repeated = {.kind = PLIM__BATCH_UNKNOWN};
        repeat(r);
        repeated = r->values[r->node->outputs.items[0]];
        /* whole copies for each sample */
        if (repeated.kind == PLIM__BATCH_AXIS && repeated.inner % in->dims[repeated.axis] != 0)
            plim__batch_set(r, 0, (plim__batch){0});
    } else if (x->kind == PLIM__BATCH_AXIS && in->dims[x->axis] > 0) {
        plim__batch batch = *x;
        batch.outer *= out->dims[x->axis] / in->dims[x->axis];
        plim__batch_set(r, 0, batch);
    }
}

/* Axes other than the batch change alike in both sizes, and that one not at all. */
static bool keeps_batch(const plim__batch_rule *r) {
    const plim__batch *x = plim__batch_in(r, 0);
    const plim__shape *in = plim__batch_shape(r, 0), *out = plim__batch_out_shape(r, 0);
    return x->kind == PLIM__BATCH_AXIS && in->rank == out->rank && in->dims[x->axis] == out->dims[x->axis];
}

void plim__batch_pad(plim__batch_rule *r) {
    plim__pad whole, part;
    if (!r->twin || !keeps_batch(r)) return;
    const plim__batch *x = plim__batch_in(r, 0);
    plim__infer in_whole = plim__batch_reading(r, false), in_part = plim__batch_reading(r, true);
    if (plim__pad_read(&in_whole, &whole) != PLIM_OK || plim__pad_read(&in_part, &part) != PLIM_OK) return;
    if (whole.value_is_input && !plim__batch_is_fixed(r, 2)) return;
    if (x->power != 0) return;
    for (int i = 0; i < plim__batch_shape(r, 0)->rank; i++) {
        if (whole.before[i] != part.before[i] || whole.after[i] != part.after[i]) return;
        if (i == x->axis && (whole.before[i] != 0 || whole.after[i] != 0)) return;
    }
    plim__batch_set(r, 0, *x);
}

void plim__batch_center_crop_pad(plim__batch_rule *r) {
    if (keeps_batch(r) && plim__batch_is_axis(r, 0)) plim__batch_set(r, 0, *plim__batch_in(r, 0));
}

void plim__batch_resize(plim__batch_rule *r) {
    plim__resize whole, part;
    if (!r->twin || !keeps_batch(r) || !plim__batch_is_axis(r, 0)) return;
    plim__infer in_whole = plim__batch_reading(r, false), in_part = plim__batch_reading(r, true);
    if (plim__resize_read(&in_whole, &whole) != PLIM_OK || plim__resize_read(&in_part, &part) != PLIM_OK) return;
    for (int i = 0; i < plim__batch_shape(r, 0)->rank; i++) {
        if (whole.scale[i] != part.scale[i] || whole.roi_start[i] != part.roi_start[i] ||
            whole.roi_end[i] != part.roi_end[i])
            return;
        if (i == plim__batch_in(r, 0)->axis && (whole.scale[i] != 1 || whole.coordinates == PLIM__TF_CROP_AND_RESIZE))
            return;
    }
    plim__batch_set(r, 0, *plim__batch_in(r, 0));
}

/* The last two axes are matrices. */
void plim__batch_matrices(plim__batch_rule *r) {
    int axis = plim__batch_in(r, 0)->axis;
    if (plim__batch_is_axis(r, 0) && axis < plim__batch_shape(r, 0)->rank - 2 && plim__batch_are_fixed(r, 1))
        plim__batch_move(r, 0, axis);
}

/* Sequences of lengths of their own are turned around, each for itself. */
void plim__batch_reverse_sequence(plim__batch_rule *r) {
    int rank = plim__batch_shape(r, 0)->rank, axis = plim__batch_in(r, 0)->axis;
    int batch = plim__batch_axis_attribute(r, "batch_axis", 1, rank);
    int time = plim__batch_axis_attribute(r, "time_axis", 0, rank);
    if (!plim__batch_is_axis(r, 0) || batch < 0 || time < 0 || axis == time) return;
    bool alike =
        axis == batch && plim__batch_is_axis(r, 1) && plim__batch_aligned(plim__batch_in(r, 0), plim__batch_in(r, 1));
    if (alike || (axis != batch && plim__batch_is_fixed(r, 1))) plim__batch_move(r, 0, axis);
}

void plim__batch_einsum(plim__batch_rule *r) {
    plim__infer reading = plim__batch_reading(r, false);
    plim__einsum e;
    plim__batch_product p = {.count = r->node->inputs.count};
    if (p.count > PLIM__BATCH_FACTORS || plim__einsum_read(&reading, &e) != PLIM_OK) return;
    p.out_rank = e.out_rank;
    memcpy(p.out_labels, e.out_labels, sizeof p.out_labels);
    for (size_t k = 0; k < p.count; k++) {
        if (!plim__batch_has(r, k)) return;
        p.batches[k] = *plim__batch_in(r, k);
        p.shapes[k] = plim__batch_shape(r, k);
        memcpy(p.labels[k], e.labels[k], sizeof p.labels[k]);
    }
    plim__batch_set(r, 0, plim__batch_multiply(r, &p));
}
