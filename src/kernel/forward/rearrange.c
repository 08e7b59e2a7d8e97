/* Tile, DepthToSpace and SpaceToDepth: one strided copy in which some axes count as two. */
#include <string.h>

#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "ops/movement.h"

/* A copy in one piece from the input, as it lies, to the output. */
static plim_status begin_copy(plim__lower *l, plim__layout *x, plim__copies **copies) {
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, x));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    return plim__copies_create(l, x->dtype, 1, copies);
}

/* The output is [r0, d0, r1, d1, ..]; along the repeats the source stands still. */
plim_status plim__lower_tile(plim__lower *l) {
    plim__layout x;
    plim__copies *copies;
    if (plim__shape_equal(plim__lower_input_shape(l, 0), plim__lower_output_shape(l, 0))) return plim__lower_forward(l);
    PLIM_TRY(begin_copy(l, &x, &copies));
    plim__piece *p = &copies->pieces[0];
    for (int i = 0; i < x.shape.rank; i++) {
        int64_t dim = x.shape.dims[i];
        p->dims[2 * i] = dim ? plim__lower_output_shape(l, 0)->dims[i] / dim : 0;
        p->dims[2 * i + 1] = dim;
        p->from[2 * i + 1] = x.strides[i];
    }
    p->rank = 2 * x.shape.rank;
    plim__dense_strides(p->dims, p->rank, p->to);
    return plim__copies_emit(l, "Tile", copies);
}

/* One axis of a copy between space and depth. */
static void set_axis(plim__piece *p, int i, int64_t dim, int64_t to, int64_t from) {
    p->dims[i] = dim;
    p->to[i] = to;
    p->from[i] = from;
    if (i >= p->rank) p->rank = i + 1;
}

/* depth [N, b, b, C, H, W] (DCR) or [N, C, b, b, H, W] (CRD)  ↔  space [N, C, H, b, W, b] */
plim_status plim__lower_depth_to_space(plim__lower *l) {
    int64_t b = plim__node_int(plim__lower_node(l), "blocksize", 1);
    bool columns_first = strcmp(plim__node_string(plim__lower_node(l), "mode", "DCR"), "CRD") == 0;
    const plim__shape *y = plim__lower_output_shape(l, 0);
    plim__layout x;
    plim__copies *copies;
    PLIM_TRY(begin_copy(l, &x, &copies));
    plim__piece *p = &copies->pieces[0];
    int64_t height = x.shape.dims[2], width = x.shape.dims[3], channels = y->dims[1], row = y->dims[3],
            plane = y->dims[2] * row;
    int64_t deep = x.strides[1];
    set_axis(p, 0, y->dims[0], channels * plane, x.strides[0]);
    set_axis(p, 1, channels, plane, columns_first ? b * b * deep : deep);
    set_axis(p, 2, height, b * row, x.strides[2]);
    set_axis(p, 3, b, row, columns_first ? b * deep : b * channels * deep);
    set_axis(p, 4, width, b, x.strides[3]);
    set_axis(p, 5, b, 1, columns_first ? deep : channels * deep);
    return plim__copies_emit(l, "DepthToSpace", copies);
}

plim_status plim__lower_space_to_depth(plim__lower *l) {
    int64_t b = plim__node_int(plim__lower_node(l), "blocksize", 1);
    const plim__shape *y = plim__lower_output_shape(l, 0);
    plim__layout x;
    plim__copies *copies;
    PLIM_TRY(begin_copy(l, &x, &copies));
    plim__piece *p = &copies->pieces[0];
    int64_t channels = x.shape.dims[1], plane = y->dims[2] * y->dims[3];
    set_axis(p, 0, y->dims[0], y->dims[1] * plane, x.strides[0]);
    set_axis(p, 1, b, b * channels * plane, x.strides[2]);
    set_axis(p, 2, b, channels * plane, x.strides[3]);
    set_axis(p, 3, channels, plane, x.strides[1]);
    set_axis(p, 4, y->dims[2], y->dims[3], b * x.strides[2]);
    set_axis(p, 5, y->dims[3], 1, b * x.strides[3]);
    return plim__copies_emit(l, "SpaceToDepth", copies);
}
