/* conv-parts: a convolution of channels that are joined is the sum of convolutions of the parts, each with its share of
 * the weights. The joined image, often the largest of a network with skip connections, is never made; nor, in training,
 * its gradient, and nothing of it is saved.
 *
 *   conv(concat(a, b), w)   ->   conv(a, w[:, a's]) + conv(b, w[:, b's])
 *
 * Worth it where the sums that are read and written once more are no larger than what is no longer joined. */
#include "core/error.h"
#include "graph/pass.h"
#include "graph/passes/match.h"

#define MOST_PARTS 4
#define BLOCK      16 /* of channels in the layouts of kernels */
#define FULL       8  /* parts fill their blocks but for an eighth */
#define JOINED_BY  1  /* the axis of channels */

static int64_t channels_of(const plim_graph *g, plim_value value) {
    const plim__shape *shape = &g->values.items[value].shape;
    return shape->rank > JOINED_BY ? shape->dims[JOINED_BY] : -1;
}

static bool joins_channels(const plim_graph *g, const plim__node *concat) {
    size_t parts = concat->inputs.count;
    const plim__value *joined = &g->values.items[concat->outputs.items[0]];
    int64_t axis = plim__node_int(concat, "axis", JOINED_BY), rank = joined->shape.rank;
    if (parts < 2 || parts > MOST_PARTS || rank < 3 || joined->dtype != PLIM_F32) return false;
    if ((axis < 0 ? axis + rank : axis) != JOINED_BY || !plim__shape_is_concrete(&joined->shape)) return false;
    for (size_t i = 0; i < parts; i++) {
        int64_t channels = channels_of(g, concat->inputs.items[i]), padded = (channels + BLOCK - 1) / BLOCK * BLOCK;
        if (channels < 1 || (padded - channels) * FULL > padded) return false;
    }
    return true;
}

static bool is_output(const plim_graph *g, plim_value value) {
    for (size_t i = 0; i < g->outputs.count; i++)
        if (g->outputs.items[i] == value) return true;
    return false;
}

/* Everybody who reads it is a plain convolution of it, and all of them together make few channels. */
static bool is_worth_it(const plim_graph *g, const plim__node *concat) {
    plim_value joined = concat->outputs.items[0];
    int64_t made = 0;
    if (is_output(g, joined)) return false;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        for (size_t i = 0; !node->dead && i < node->inputs.count; i++) {
            if (node->inputs.items[i] != joined) continue;
            if (i != 0 || !plim__match_op(node, "Conv") || plim__node_int(node, "group", 1) != 1) return false;
            made += channels_of(g, node->outputs.items[0]);
        }
    }
    return made > 0 && made * (int64_t)(concat->inputs.count - 1) <= channels_of(g, joined);
}

/* The weights of each part. */
static plim_status split_weights(plim_graph *g, plim_value w, const plim_value *parts, size_t count,
                                 plim_value *shares) {
    int64_t sizes[MOST_PARTS];
    for (size_t i = 0; i < count; i++) sizes[i] = channels_of(g, parts[i]);
    plim_value cut = plim_graph_constant(g, NULL, PLIM_I64, 1, (int64_t[]){(int64_t)count}, sizes);
    int32_t split = plim__graph_add_node(g, "", "Split", g->values.items[w].name, 13);
    plim__node_add_input(g, split, w);
    plim__node_add_input(g, split, cut);
    plim_graph_set_int(g, split, "axis", JOINED_BY);
    for (size_t i = 0; i < count; i++) {
        plim__shape shape = g->values.items[w].shape;
        shape.dims[JOINED_BY] = sizes[i];
        shares[i] = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_F32, &shape);
        plim__node_add_output(g, split, shares[i]);
    }
    return g->failure.status;
}

static plim_status rewrite(plim_graph *g, int32_t conv, const plim_value *parts, size_t count) {
    plim_value y = g->nodes.items[conv].outputs.items[0], bias = plim__node_in(&g->nodes.items[conv], 2);
    plim_value shares[MOST_PARTS], sum = PLIM_NO_VALUE;
    PLIM_TRY(split_weights(g, g->nodes.items[conv].inputs.items[1], parts, count, shares));
    int32_t last = -1;
    for (size_t i = 0; i < count; i++) {
        plim_value inputs[] = {parts[i], shares[i], bias};
        last = plim__match_build(g, (plim__made){"", "Conv", g->nodes.items[conv].version}, g->nodes.items[conv].name,
                                 inputs, i == 0 && bias >= 0 ? 3 : 2, y);
        if (last < 0) return g->failure.status;
        PLIM_TRY(plim__match_copy_window(g, conv, last));
        plim_value made = g->nodes.items[last].outputs.items[0];
        if (i > 0) {
            last = plim__match_build(g, (plim__made){"", "Add", 14}, g->nodes.items[conv].name,
                                     (plim_value[]){sum, made}, 2, y);
            if (last < 0) return g->failure.status;
        }
        sum = g->nodes.items[last].outputs.items[0];
    }
    return plim__match_replace(g, y, last);
}

static plim_status rewrite_users(plim_graph *g, int32_t concat) {
    plim_value parts[MOST_PARTS], joined = g->nodes.items[concat].outputs.items[0];
    size_t count = g->nodes.items[concat].inputs.count, nodes = g->nodes.count;
    for (size_t i = 0; i < count; i++) parts[i] = g->nodes.items[concat].inputs.items[i];
    for (size_t n = 0; n < nodes; n++)
        if (!g->nodes.items[n].dead && plim__node_in(&g->nodes.items[n], 0) == joined)
            PLIM_TRY(rewrite(g, (int32_t)n, parts, count));
    return PLIM_OK;
}

plim_status plim__pass_conv_parts(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0, nodes = g->nodes.count; n < nodes; n++) {
        const plim__node *concat = &g->nodes.items[n];
        if (!plim__match_op(concat, "Concat") || !joins_channels(g, concat) || !is_worth_it(g, concat)) continue;
        if (rewrite_users(g, (int32_t)n) != PLIM_OK) return g->failure.status;
        *changed = true;
    }
    return PLIM_OK;
}
