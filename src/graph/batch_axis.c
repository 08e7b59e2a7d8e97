/* The batch axis under changes of shape. */
#include "graph/batch_axis.h"

bool plim__batch_aligned(const plim__batch *a, const plim__batch *b) {
    return a->kind == PLIM__BATCH_AXIS && b->kind == PLIM__BATCH_AXIS && a->outer == b->outer && a->inner == b->inner;
}

/* In memory order a value is (before, N, after); a reshape leaves both counts as they are, and with N > 1 at most one
 * axis of the new shape can hold N between them. */
bool plim__batch_reshape(const plim__batch *from, const plim__shape *shape, const plim__shape *to, int64_t samples,
                         plim__batch *batch) {
    if (plim__shape_elements(shape) < 1 || plim__shape_elements(to) != plim__shape_elements(shape)) return false;
    int64_t before = plim__shape_product(shape, 0, from->axis) * from->outer;
    int64_t after = plim__shape_product(shape, from->axis + 1, shape->rank) * from->inner;
    for (int k = 0; k < to->rank; k++) {
        int64_t left = plim__shape_product(to, 0, k), right = plim__shape_product(to, k + 1, to->rank);
        if (before % left != 0 || after % right != 0) continue;
        if (to->dims[k] != before / left * samples * (after / right)) continue;
        *batch = *from;
        batch->axis = (int16_t)k;
        batch->outer = before / left;
        batch->inner = after / right;
        return true;
    }
    return false;
}

bool plim__batch_fits(const plim__batch *batch, const plim__shape *whole, int64_t whole_samples,
                      const plim__shape *part, int64_t part_samples) {
    if (batch->kind != PLIM__BATCH_AXIS) return plim__shape_equal(whole, part);
    if (whole->rank != part->rank || batch->axis < 0 || batch->axis >= whole->rank) return false;
    for (int i = 0; i < whole->rank; i++)
        if (i != batch->axis && whole->dims[i] != part->dims[i]) return false;
    int64_t each = batch->outer * batch->inner;
    return whole->dims[batch->axis] == each * whole_samples && part->dims[batch->axis] == each * part_samples;
}

int plim__batch_axis_between(const plim__shape *whole, int64_t whole_samples, const plim__shape *part,
                             int64_t part_samples) {
    int axis = -1;
    if (whole->rank != part->rank) return -2;
    for (int i = 0; i < whole->rank; i++) {
        if (whole->dims[i] == part->dims[i]) continue;
        int64_t a = whole->dims[i], b = part->dims[i];
        if (axis >= 0 || a % whole_samples != 0 || b % part_samples != 0 || a / whole_samples != b / part_samples)
            return -2;
        axis = i;
    }
    return axis;
}
