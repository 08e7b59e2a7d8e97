/* The batch axis through layers of networks and losses. */
#include <string.h>

#include "ops/batch.h"

/* Rows of the first axis, each for itself; further inputs are weights. What else comes out (where a maximum was, counted
 * over the whole batch) is no batch. */
void plim__batch_rows(plim__batch_rule *r) {
    if (plim__batch_is_axis(r, 0) && plim__batch_in(r, 0)->axis == 0 && plim__batch_are_fixed(r, 1))
        plim__batch_set(r, 0, *plim__batch_in(r, 0));
}

/* Statistics of each channel of each row. With the batch in another place, of all samples. */
void plim__batch_channel_norm(plim__batch_rule *r) {
    if (!plim__batch_is_axis(r, 0) || !plim__batch_are_fixed(r, 1)) return;
    r->mixes |= plim__batch_in(r, 0)->axis > 0;
    plim__batch_set(r, 0, *plim__batch_in(r, 0));
}

/* Running statistics are what they are; those of the batch mix its samples. */
void plim__batch_batch_norm(plim__batch_rule *r) {
    bool training = plim__node_int(r->node, "training_mode", 0) != 0;
    if (!plim__batch_is_axis(r, 0) || !plim__batch_are_fixed(r, 1)) return;
    if (!training && plim__batch_in(r, 0)->axis == 1) return;
    r->mixes |= training;
    plim__batch_set(r, 0, *plim__batch_in(r, 0));
    for (size_t i = 1; training && i < r->node->outputs.count; i++)
        plim__batch_set(r, i, (plim__batch){.kind = PLIM__BATCH_NONE});
}

/* Each sample draws for itself (src/kernel/forward/dropout.c); what is no batch is dropped alike in every part. */
void plim__batch_dropout(plim__batch_rule *r) {
    plim__batch_set(r, 0, *plim__batch_in(r, 0));
    if (plim__batch_in(r, 0)->power == 0 && plim__batch_in(r, 0)->kind != PLIM__BATCH_SUM)
        plim__batch_set(r, 1, *plim__batch_in(r, 0));
}

void plim__batch_grid_sample(plim__batch_rule *r) {
    bool both = plim__batch_is_axis(r, 0) && plim__batch_is_axis(r, 1) && plim__batch_in(r, 0)->axis == 0 &&
                plim__batch_in(r, 1)->axis == 0 && plim__batch_aligned(plim__batch_in(r, 0), plim__batch_in(r, 1));
    if (both) plim__batch_set(r, 0, *plim__batch_in(r, 0));
}

/* The size names the batch too. */
void plim__batch_affine_grid(plim__batch_rule *r) {
    if (plim__batch_is_axis(r, 0) && plim__batch_in(r, 0)->axis == 0) plim__batch_set(r, 0, *plim__batch_in(r, 0));
}

/* X, lengths, and what states begin with have samples; weights do not. */
void plim__batch_recurrent(plim__batch_rule *r) {
    bool first = plim__node_int(r->node, "layout", 0) == 1;
    if (!plim__batch_is_axis(r, 0) || plim__batch_in(r, 0)->axis != (first ? 0 : 1)) return;
    for (size_t i = 1; i < r->node->inputs.count; i++) {
        bool lengths = i == 4, state = i == 5 || i == 6;
        if (!plim__batch_has(r, i)) continue;
        if (!lengths && !state) {
            if (!plim__batch_is_fixed(r, i)) return;
        } else if (!plim__batch_is_axis(r, i) || !plim__batch_aligned(plim__batch_in(r, 0), plim__batch_in(r, i)) ||
                   plim__batch_in(r, i)->axis != (lengths || first ? 0 : 1)) {
            return;
        }
    }
    plim__batch_move(r, 0, first ? 0 : 2);
    plim__batch_move(r, 1, first ? 0 : 1);
    plim__batch_move(r, 2, first ? 0 : 1);
}

/* --- losses --------------------------------------------------------------------------------------------------- */

/* Samples of scores and targets lie alike, and not along the classes. */
static bool targets_fit(const plim__batch_rule *r, int classes) {
    const plim__batch *x = plim__batch_in(r, 0), *t = plim__batch_in(r, 1);
    return plim__batch_is_axis(r, 0) && plim__batch_is_axis(r, 1) && x->axis != classes &&
           t->axis == (x->axis < classes ? x->axis : x->axis - 1) && plim__batch_aligned(x, t);
}

/* A mean that leaves targets out is weighted by those that count: PLIM__BATCH_RATIO without a weight, which training
 * adds. */
void plim__batch_class_loss(plim__batch_rule *r) {
    const char *reduction = plim__node_string(r->node, "reduction", "mean");
    bool weighted = plim__batch_has(r, 2) || plim__node_attribute(r->node, "ignore_index");
    if (!targets_fit(r, 1) || !plim__batch_is_fixed(r, 2)) return;
    if (strcmp(reduction, "none") == 0)
        plim__batch_set(r, 0, *plim__batch_in(r, 1));
    else if (strcmp(reduction, "sum") == 0)
        plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_SUM});
    else if (!weighted)
        plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_SUM, .power = -1});
    else
        plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_RATIO, .weight = r->node->outputs.items[0]});
    plim__batch_set(r, 1, *plim__batch_in(r, 0));
}

/* Samples of an input that is optional lie as those of another. */
static bool lies_like(const plim__batch_rule *r, size_t input, size_t other) {
    return !plim__batch_has(r, input) ||
           (plim__batch_is_axis(r, input) && plim__batch_in(r, input)->axis == plim__batch_in(r, other)->axis &&
            plim__batch_aligned(plim__batch_in(r, other), plim__batch_in(r, input)));
}

void plim__batch_cross_entropy(plim__batch_rule *r) {
    int rank = plim__batch_shape(r, 0)->rank;
    if (!targets_fit(r, plim__batch_axis_attribute(r, "axis", 1, rank)) || !plim__batch_is_fixed(r, 2)) return;
    if (!lies_like(r, 3, 1)) return;
    plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_RATIO, .weight = plim__node_out(r->node, 1)});
    plim__batch_set(r, 1, (plim__batch){.kind = PLIM__BATCH_SUM});
    plim__batch_set(r, 2, (plim__batch){.kind = PLIM__BATCH_SUM});
}

void plim__batch_element_loss(plim__batch_rule *r) {
    bool alike = plim__batch_is_axis(r, 0) && plim__batch_is_axis(r, 1) &&
                 plim__batch_in(r, 0)->axis == plim__batch_in(r, 1)->axis &&
                 plim__batch_aligned(plim__batch_in(r, 0), plim__batch_in(r, 1));
    if (!alike || !lies_like(r, 3, 0) || !lies_like(r, 4, 0)) return;
    if (!plim__batch_has(r, 3)) {
        plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_SUM, .power = -1});
    } else {
        plim__batch_set(r, 0, (plim__batch){.kind = PLIM__BATCH_RATIO, .weight = plim__node_out(r->node, 1)});
        plim__batch_set(r, 1, (plim__batch){.kind = PLIM__BATCH_SUM});
    }
}
