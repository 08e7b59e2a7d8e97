/* Gradients of matrix products.
 *
 *   y = a·b     da = dy·bᵀ     db = aᵀ·dy
 *
 * Transposes are views. Where b is one matrix, the leading axes of a are only more rows, so that db is one product
 * over all of them. */
#include <stdio.h>
#include <string.h>

#include "grad/gradient.h"
#include "ops/activation.h"

/* The last two axes exchanged. */
static plim_value flipped(plim__gradient *d, plim_value x) {
    int order[PLIM_MAX_RANK], rank = plim__gradient_shape(d, x).rank;
    if (x < 0) return x;
    for (int i = 0; i < rank; i++) order[i] = i;
    order[rank - 1] = rank - 2;
    order[rank - 2] = rank - 1;
    return plim__gradient_transpose(d, x, order);
}

static plim_value product(plim__gradient *d, plim_value a, plim_value b) {
    return plim__gradient_two(d, "MatMul", a, b);
}

/* (..., M, K) as (rows, K). */
static plim_value as_rows(plim__gradient *d, plim_value x) {
    plim__shape shape = plim__gradient_shape(d, x);
    if (shape.rank <= 2) return x;
    plim__shape rows = {.rank = 2,
                        .dims = {plim__shape_product(&shape, 0, shape.rank - 1), shape.dims[shape.rank - 1]}};
    return plim__gradient_reshape(d, x, &rows);
}

/* A matrix that is the transpose of another one: the gradient of that one should lie row by row. */
static bool is_flipped(plim__gradient *d, plim_value b) {
    int32_t producer = d->graph->values.items[b].producer;
    if (producer < 0 || plim__gradient_shape(d, b).rank != 2) return false;
    const plim__node *node = &d->graph->nodes.items[producer];
    return !*node->domain && strcmp(node->op_name, "Transpose") == 0;
}

/* Gradients of both factors of a product whose output has the gradient dy. */
static plim_status factors(plim__gradient *d, plim_value dy) {
    plim_value a = plim__gradient_input(d, 0), b = plim__gradient_input(d, 1);
    plim__shape own_a = plim__gradient_shape(d, a), own_b = plim__gradient_shape(d, b),
                full = plim__gradient_shape(d, dy);
    if (own_a.rank == 1) { /* a row; the product lost that axis */
        a = plim__gradient_reshape(d, a, &(plim__shape){.rank = 2, .dims = {1, own_a.dims[0]}});
        for (int i = full.rank; i > (own_b.rank == 1 ? full.rank : full.rank - 1); i--) full.dims[i] = full.dims[i - 1];
        full.dims[own_b.rank == 1 ? full.rank : full.rank - 1] = 1;
        full.rank++;
    }
    if (own_b.rank == 1) {
        b = plim__gradient_reshape(d, b, &(plim__shape){.rank = 2, .dims = {own_b.dims[0], 1}});
        full.dims[full.rank++] = 1;
    }
    dy = plim__gradient_reshape(d, dy, &full);
    if (plim__gradient_wanted(d, 0)) {
        plim_value da = plim__gradient_unbroadcast(d, product(d, dy, flipped(d, b)), a);
        PLIM_TRY(plim__gradient_set(d, 0, plim__gradient_reshape(d, da, &own_a)));
    }
    if (!plim__gradient_wanted(d, 1)) return PLIM_OK;
    bool single = plim__gradient_shape(d, b).rank == 2;
    plim_value db = single && is_flipped(d, plim__gradient_input(d, 1))
                        ? flipped(d, product(d, flipped(d, as_rows(d, dy)), as_rows(d, a)))
                    : single ? product(d, flipped(d, as_rows(d, a)), as_rows(d, dy))
                             : plim__gradient_unbroadcast(d, product(d, flipped(d, a), dy), b);
    return plim__gradient_set(d, 1, plim__gradient_reshape(d, db, &own_b));
}

plim_status plim__gradient_matmul(plim__gradient *d) { return factors(d, plim__gradient_of_output(d, 0)); }

/* The same packed matrix, the other way round. */
plim_status plim__gradient_packed_matmul(plim__gradient *d) {
    if (!plim__gradient_wanted(d, 0)) return PLIM_OK;
    bool turned = plim__node_int(plim__gradient_self(d), "transB", 0) != 0;
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 1)};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "PackedMatMul", inputs, 2, 1);
    plim__gradient_copy_attributes(d, node);
    plim_graph_set_int(d->graph, node, "transB", !turned);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* --- fused activations ---------------------------------------------------------------------------------------- */

static void remove_activation(plim__node *node) {
    for (size_t i = 0; i < node->attributes.count;) {
        if (strncmp(node->attributes.items[i].name, "activation", 10) != 0) {
            i++;
            continue;
        }
        plim__attribute_free(&node->attributes.items[i]);
        node->attributes.items[i] = node->attributes.items[--node->attributes.count];
    }
}

/* Takes the activation out of the fused node: node → z, activation(z) → y. z is what its gradient needs. */
static plim_status unfuse(plim__gradient *d, plim__function f, const float numbers[2], plim_value *z) {
    plim_graph *g = d->graph;
    plim_value y = plim__gradient_output(d, 0);
    plim__shape shape = plim__gradient_shape(d, y);
    *z = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, plim__gradient_dtype(d, y), &shape);
    bool own = f == PLIM__FUNCTION_Swish, clip = f == PLIM__FUNCTION_Clip;
    plim_value inputs[3] = {*z};
    for (size_t i = 0; clip && i < 2; i++) inputs[1 + i] = plim__gradient_scalar(d, PLIM_F32, (double)numbers[i]);
    int32_t node = plim__graph_add_node(
        g, own ? PLIM__DOMAIN : "", f == PLIM__FUNCTION_GeluErf ? "Gelu" : plim__functions[f].name, NULL, own ? 1 : 20);
    for (size_t i = 0; i < (clip ? 3u : 1u); i++) plim__node_add_input(g, node, inputs[i]);
    if (own) plim_graph_set_float(g, node, plim__functions[f].a, numbers[0]);
    PLIM_TRY(plim_graph_status(g, d->error));
    plim__node *fused = &g->nodes.items[d->node], *made = &g->nodes.items[node];
    made->op = plim__op_find(made->domain, made->op_name, made->version); /* nothing infers it: y has its type */
    remove_activation(fused);
    fused->outputs.items[0] = *z;
    g->values.items[*z].producer = d->node;
    plim__node_add_output(g, node, y);
    return PLIM_OK;
}

/* The gradient in front of the activation. */
static plim_status before_activation(plim__gradient *d, plim_value *dz) {
    const plim__node *node = plim__gradient_self(d);
    const char *name = plim__node_string(node, "activation", NULL);
    plim_value dy = plim__gradient_of_output(d, 0), saved = plim__gradient_output(d, 0);
    const float numbers[2] = {plim__node_float(node, "activation_alpha", 0),
                              plim__node_float(node, "activation_beta", 0)};
    *dz = dy;
    if (!name) return PLIM_OK;
    plim__function f = plim__function_of_fused(name);
    if (f == PLIM__FUNCTION_COUNT || (plim__functions[f].sided && numbers[0] < 0))
        return plim__gradient_unsupported(d, "with this activation ");
    if (!plim__functions[f].from_output) PLIM_TRY(unfuse(d, f, numbers, &saved));
    char slope_name[48];
    snprintf(slope_name, sizeof slope_name, "%sGrad", plim__functions[f].name);
    int32_t slope = plim__gradient_begin(d, PLIM__DOMAIN, slope_name, (plim_value[]){dy, saved}, 2, 1);
    if (plim__functions[f].a) plim_graph_set_float(d->graph, slope, plim__functions[f].a, numbers[0]);
    if (plim__functions[f].b) plim_graph_set_float(d->graph, slope, plim__functions[f].b, numbers[1]);
    *dz = plim__gradient_end(d, slope);
    return plim_graph_status(d->graph, d->error);
}

/* y = activation(x·w + bias + residual) */
plim_status plim__gradient_linear(plim__gradient *d) {
    plim_value dz;
    PLIM_TRY(before_activation(d, &dz));
    if (plim__gradient_wanted(d, 3)) PLIM_TRY(plim__gradient_set(d, 3, dz));
    if (plim__gradient_wanted(d, 2))
        PLIM_TRY(plim__gradient_set(d, 2, plim__gradient_unbroadcast(d, dz, plim__gradient_input(d, 2))));
    return factors(d, dz);
}

/* y = activation(alpha · a'·b' + beta · c), a' and b' transposed or not. */
plim_status plim__gradient_gemm(plim__gradient *d) {
    plim_value dz, a = plim__gradient_input(d, 0), b = plim__gradient_input(d, 1);
    PLIM_TRY(before_activation(d, &dz));
    const plim__node *node = plim__gradient_self(d);
    bool ta = plim__node_int(node, "transA", 0) != 0, tb = plim__node_int(node, "transB", 0) != 0;
    double alpha = (double)plim__node_float(node, "alpha", 1), beta = (double)plim__node_float(node, "beta", 1);
    if (plim__gradient_wanted(d, 2))
        PLIM_TRY(plim__gradient_set(
            d, 2, plim__gradient_unbroadcast(d, plim__gradient_scale(d, dz, beta), plim__gradient_input(d, 2))));
    plim_value scaled = plim__gradient_scale(d, dz, alpha);
    if (plim__gradient_wanted(d, 0)) {
        plim_value other = tb ? b : flipped(d, b); /* b'ᵀ */
        PLIM_TRY(plim__gradient_set(
            d, 0, ta ? product(d, flipped(d, other), flipped(d, scaled)) : product(d, scaled, other)));
    }
    if (!plim__gradient_wanted(d, 1)) return PLIM_OK;
    plim_value other = ta ? a : flipped(d, a); /* a'ᵀ */
    return plim__gradient_set(d, 1, tb ? product(d, flipped(d, scaled), flipped(d, other)) : product(d, other, scaled));
}
