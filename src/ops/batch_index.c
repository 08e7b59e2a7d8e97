/* The batch axis through gathers, scatters and selections. */
#include "ops/batch.h"

/* Both have samples along the same axis. */
static bool lie_alike(const plim__batch_rule *r, size_t a, size_t b) {
    return plim__batch_is_axis(r, a) && plim__batch_is_axis(r, b) &&
           plim__batch_in(r, a)->axis == plim__batch_in(r, b)->axis &&
           plim__batch_aligned(plim__batch_in(r, a), plim__batch_in(r, b));
}

void plim__batch_gather(plim__batch_rule *r) {
    int axis = plim__batch_axis_attribute(r, "axis", 0, plim__batch_shape(r, 0)->rank);
    if (axis < 0) return;
    if (plim__batch_is_fixed(r, 0) && plim__batch_is_axis(r, 1)) { /* a table that samples read */
        plim__batch batch = *plim__batch_in(r, 1);
        batch.axis = (int16_t)(batch.axis + axis);
        plim__batch_set(r, 0, batch);
    } else if (plim__batch_in(r, 0)->kind == PLIM__BATCH_AXIS && plim__batch_is_fixed(r, 1)) {
        int own = plim__batch_in(r, 0)->axis;
        if (own != axis) plim__batch_move(r, 0, own < axis ? own : own + plim__batch_shape(r, 1)->rank - 1);
    }
}

void plim__batch_gather_elements(plim__batch_rule *r) {
    int axis = plim__batch_axis_attribute(r, "axis", 0, plim__batch_shape(r, 0)->rank);
    if (lie_alike(r, 0, 1) && plim__batch_in(r, 0)->axis != axis) plim__batch_move(r, 0, plim__batch_in(r, 0)->axis);
}

/* Within the axes that both share, or a table that samples read. */
void plim__batch_gather_nd(plim__batch_rule *r) {
    int shared = (int)plim__node_int(r->node, "batch_dims", 0);
    if (lie_alike(r, 0, 1) && plim__batch_in(r, 0)->axis < shared) plim__batch_move(r, 0, plim__batch_in(r, 0)->axis);
    if (shared == 0 && plim__batch_is_fixed(r, 0) && plim__batch_is_axis(r, 1) &&
        plim__batch_in(r, 1)->axis < plim__batch_shape(r, 1)->rank - 1)
        plim__batch_set(r, 0, *plim__batch_in(r, 1));
}

void plim__batch_scatter_elements(plim__batch_rule *r) {
    int axis = plim__batch_axis_attribute(r, "axis", 0, plim__batch_shape(r, 0)->rank);
    if (lie_alike(r, 0, 1) && lie_alike(r, 0, 2) && plim__batch_in(r, 0)->axis != axis)
        plim__batch_move(r, 0, plim__batch_in(r, 0)->axis);
}

void plim__batch_top_k(plim__batch_rule *r) {
    int axis = plim__batch_axis_attribute(r, "axis", -1, plim__batch_shape(r, 0)->rank);
    if (!plim__batch_is_axis(r, 0) || axis < 0 || plim__batch_in(r, 0)->axis == axis || !plim__batch_are_fixed(r, 1))
        return;
    for (size_t i = 0; i < r->node->outputs.count; i++) plim__batch_set(r, i, *plim__batch_in(r, 0));
}

void plim__batch_one_hot(plim__batch_rule *r) {
    int axis = plim__batch_axis_attribute(r, "axis", -1, plim__batch_out_shape(r, 0)->rank);
    int own = plim__batch_in(r, 0)->axis;
    if (plim__batch_is_axis(r, 0) && axis >= 0 && plim__batch_are_fixed(r, 1))
        plim__batch_move(r, 0, own < axis ? own : own + 1);
}
