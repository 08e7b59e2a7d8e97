/* Gradients of operators over places in images (grids, windows) and of determinants. */
#include <string.h>

#include "grad/gradient.h"

plim_status plim__gradient_grid_sample(plim__gradient *d) {
    bool grid = plim__gradient_wanted(d, 1);
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 0), plim__gradient_input(d, 1)};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "GridSampleGrad", inputs, 3, grid ? 2 : 1);
    plim__gradient_copy_attributes(d, node);
    PLIM_TRY(plim__gradient_set(d, 0, plim__gradient_end(d, node)));
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    return grid ? plim__gradient_set(d, 1, plim_graph_node_output(d->graph, node, 1)) : PLIM_OK;
}

/* Each column takes back what its window has. */
plim_status plim__gradient_col2im(plim__gradient *d) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 1), plim__gradient_input(d, 2)};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "Col2ImGrad", inputs, 3, 1);
    plim__gradient_copy_attributes(d, node);
    plim_graph_set_ints(d->graph, node, "shape", shape.dims, (size_t)shape.rank);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* The grid that an identity gives: (1, points, k), and a column of ones. */
static plim_value base_grid(plim__gradient *d, int64_t k, int64_t points, const int64_t *size) {
    float identity[12] = {0};
    for (int64_t i = 0; i < k; i++) identity[i * (k + 1) + i] = 1;
    int64_t one[5] = {1, 1};
    memcpy(one + 2, size + 1, (size_t)k * sizeof *one);
    plim_value theta = plim_graph_constant(d->graph, NULL, PLIM_F32, 3, (int64_t[]){1, k, k + 1}, identity);
    plim_value inputs[] = {theta, plim__gradient_ints(d, one, (size_t)k + 2)};
    if (theta < 0 || inputs[1] < 0) return PLIM_NO_VALUE;
    int32_t node = plim__graph_add_node(d->graph, "", "AffineGrid", NULL, 20);
    if (node < 0) return PLIM_NO_VALUE;
    d->graph->nodes.items[node].phase = PLIM__BACKWARD;
    for (int i = 0; i < 2; i++) plim__node_add_input(d->graph, node, inputs[i]);
    plim__node_add_output(
        d->graph, node, plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN));
    plim_graph_set_int(d->graph, node, "align_corners", plim__node_int(plim__gradient_self(d), "align_corners", 0));
    plim__shape rows = {.rank = 3, .dims = {1, points, k}}, column = {.rank = 3, .dims = {1, points, 1}};
    plim_value both[] = {plim__gradient_reshape(d, plim__gradient_end(d, node), &rows),
                         plim__gradient_expand(d, plim__gradient_scalar(d, PLIM_F32, 1), &column)};
    if (both[0] < 0 || both[1] < 0) return PLIM_NO_VALUE;
    int32_t join = plim__gradient_begin(d, "", "Concat", both, 2, 1);
    plim_graph_set_int(d->graph, join, "axis", 2);
    return plim__gradient_end(d, join);
}

/* grid = base · thetaᵀ: dtheta = dgridᵀ · base, base being (points, k + 1). */
plim_status plim__gradient_affine_grid(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    plim__shape shape = plim__gradient_shape(d, dy);
    int64_t k = shape.rank - 2, points = plim__shape_product(&shape, 1, shape.rank - 1);
    plim__shape rows = {.rank = 3, .dims = {shape.dims[0], points, k}};
    plim_value turned = plim__gradient_transpose(d, plim__gradient_reshape(d, dy, &rows), (int[]){0, 2, 1});
    plim_value base = plim__gradient_cast_to(d, base_grid(d, k, points, shape.dims), plim__gradient_dtype(d, dy));
    return plim__gradient_set(d, 0, plim__gradient_two(d, "MatMul", turned, base));
}

plim_status plim__gradient_det(plim__gradient *d) {
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 0)};
    return plim__gradient_set(d, 0, plim__gradient_node(d, PLIM__DOMAIN, "DetGrad", inputs, 2));
}
