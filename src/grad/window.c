/* Gradients of convolutions and pools. */
#include <string.h>

#include "grad/gradient.h"
#include "ops/window.h"

static void set_shape(plim__gradient *d, int32_t node, const plim__shape *shape) {
    plim_graph_set_ints(d->graph, node, "shape", shape->dims, (size_t)shape->rank);
}

/* (dy, x) → dw and, when it is wanted, dbias, in one pass over dy. */
static plim_status conv_weights(plim__gradient *d, plim_value dy, plim_value x) {
    bool bias = plim__gradient_wanted(d, 2);
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 1));
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "ConvGradWeight", (plim_value[]){dy, x}, 2, bias ? 2 : 1);
    plim__gradient_copy_attributes(d, node);
    set_shape(d, node, &shape);
    plim_value dw = plim__gradient_end(d, node);
    PLIM_TRY(plim__gradient_set(d, 1, dw));
    return bias ? plim__gradient_set(d, 2, plim_graph_node_output(d->graph, node, 1)) : PLIM_OK;
}

/* The bias alone: the sum over everything but the channels. */
static plim_status channel_sum(plim__gradient *d, size_t input, plim_value dy) {
    bool axes[PLIM_MAX_RANK];
    for (int i = 0; i < PLIM_MAX_RANK; i++) axes[i] = i != 1;
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, input));
    return plim__gradient_set(d, input, plim__gradient_reshape(d, plim__gradient_sum(d, dy, axes, false), &shape));
}

plim_status plim__gradient_conv(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0), x = plim__gradient_input(d, 0), w = plim__gradient_input(d, 1);
    if (plim__gradient_wanted(d, 1))
        PLIM_TRY(conv_weights(d, dy, x));
    else if (plim__gradient_wanted(d, 2))
        PLIM_TRY(channel_sum(d, 2, dy));
    if (!plim__gradient_wanted(d, 0)) return PLIM_OK;
    plim__shape shape = plim__gradient_shape(d, x);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "ConvGradInput", (plim_value[]){dy, w}, 2, 1);
    plim__gradient_copy_attributes(d, node);
    set_shape(d, node, &shape);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* Attributes of the plain convolution that a transposed one undoes. */
static void plain_attributes(plim__gradient *d, int32_t node, const plim__window *w, int64_t group) {
    size_t axes = (size_t)w->axes;
    int64_t pads[2 * PLIM__MAX_SPATIAL];
    for (size_t i = 0; i < axes; i++) {
        pads[i] = w->before[i];
        pads[axes + i] = w->after[i];
    }
    plim_graph_set_ints(d->graph, node, "strides", w->stride, axes);
    plim_graph_set_ints(d->graph, node, "dilations", w->dilation, axes);
    plim_graph_set_ints(d->graph, node, "kernel_shape", w->kernel, axes);
    plim_graph_set_ints(d->graph, node, "pads", pads, 2 * axes);
    plim_graph_set_int(d->graph, node, "group", group);
}

/* A transposed convolution is the backward pass of a plain one, so its backward pass is that plain one: dy is the image,
 * x what came out. */
plim_status plim__gradient_conv_transpose(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0), x = plim__gradient_input(d, 0), w = plim__gradient_input(d, 1);
    plim__shape image = plim__gradient_shape(d, x), weights = plim__gradient_shape(d, w);
    int64_t group = plim__node_int(plim__gradient_self(d), "group", 1);
    plim__window window;
    PLIM_TRY(plim__window_read_transposed(plim__gradient_self(d), &image, weights.dims + 2, &window, NULL));
    if (plim__gradient_wanted(d, 2)) PLIM_TRY(channel_sum(d, 2, dy));
    if (plim__gradient_wanted(d, 1)) {
        int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "ConvGradWeight", (plim_value[]){x, dy}, 2, 1);
        plain_attributes(d, node, &window, group);
        set_shape(d, node, &weights);
        PLIM_TRY(plim__gradient_set(d, 1, plim__gradient_end(d, node)));
    }
    if (!plim__gradient_wanted(d, 0)) return PLIM_OK;
    int32_t node = plim__gradient_begin(d, "", "Conv", (plim_value[]){dy, w}, 2, 1);
    plain_attributes(d, node, &window, group);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* --- pools ---------------------------------------------------------------------------------------------------- */

static plim_status pool_grad(plim__gradient *d, const char *op, plim_value kept) {
    plim_value inputs[] = {plim__gradient_of_output(d, 0), kept};
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, op, inputs, kept >= 0 ? 2 : 1, 1);
    plim__gradient_copy_attributes(d, node);
    set_shape(d, node, &shape);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* Somebody else reads the indices too: they are those of the whole input, so that they say where dy goes. */
static plim_status max_pool_by_indices(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0), indices = plim__gradient_output(d, 1);
    if (plim__node_int(plim__gradient_self(d), "storage_order", 0)) /* nothing that exports networks writes it */
        return plim__gradient_unsupported(d, "with indices that count columns first ");
    if (dy < 0) return PLIM_OK;
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0)), pooled = plim__gradient_shape(d, dy);
    plim__shape all = {.rank = 1, .dims = {plim__shape_elements(&shape)}},
                some = {.rank = 1, .dims = {plim__shape_elements(&pooled)}};
    plim_value zero = plim__gradient_scalar(d, plim__gradient_dtype(d, dy), 0);
    plim_value inputs[] = {plim__gradient_expand(d, zero, &all), plim__gradient_reshape(d, indices, &some),
                           plim__gradient_reshape(d, dy, &some)};
    if (inputs[0] < 0 || inputs[1] < 0 || inputs[2] < 0) return plim_graph_status(d->graph, d->error);
    int32_t node = plim__gradient_begin(d, "", "ScatterElements", inputs, 3, 1);
    plim_graph_set_string(d->graph, node, "reduction", "add");
    return plim__gradient_set(d, 0, plim__gradient_reshape(d, plim__gradient_end(d, node), &shape));
}

plim_status plim__gradient_max_pool(plim__gradient *d) {
    if (plim__gradient_output(d, 1) >= 0) return max_pool_by_indices(d);
    PLIM_TRY(plim__gradient_become(d, "MaxPoolTrain", 2));
    return pool_grad(d, "MaxPoolGrad", plim__gradient_output(d, 1));
}

plim_status plim__gradient_average_pool(plim__gradient *d) { return pool_grad(d, "AveragePoolGrad", PLIM_NO_VALUE); }

/* Every cell has the same share: a view. */
plim_status plim__gradient_global_average_pool(plim__gradient *d) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    double cells = (double)plim__shape_product(&shape, 2, shape.rank);
    plim_value share = plim__gradient_scale(d, plim__gradient_of_output(d, 0), 1 / (cells > 0 ? cells : 1));
    return plim__gradient_set(d, 0, plim__gradient_expand(d, share, &shape));
}

/* Cells that equal the maximum share its gradient. */
plim_status plim__gradient_global_max_pool(plim__gradient *d) {
    plim_value x = plim__gradient_input(d, 0), y = plim__gradient_output(d, 0);
    plim_value chosen = plim__gradient_cast_to(d, plim__gradient_two(d, "Equal", x, y), plim__gradient_dtype(d, x));
    bool axes[PLIM_MAX_RANK];
    for (int i = 0; i < PLIM_MAX_RANK; i++) axes[i] = i > 1;
    plim_value share =
        plim__gradient_two(d, "Div", plim__gradient_of_output(d, 0), plim__gradient_sum(d, chosen, axes, true));
    return plim__gradient_set(d, 0, plim__gradient_two(d, "Mul", chosen, share));
}

/* y = (sum |x|^p)^(1/p): dx = sign(x) |x|^(p-1) · (dy · y^(1-p), spread over each window). */
static plim_value lp_slope(plim__gradient *d, plim_value spread, double p) {
    plim_value x = plim__gradient_input(d, 0), power = plim__gradient_scalar(d, PLIM_F32, p - 1);
    plim_value size = plim__gradient_two(d, "Pow", plim__gradient_one(d, "Abs", x), power);
    return plim__gradient_two(d, "Mul", plim__gradient_two(d, "Mul", plim__gradient_one(d, "Sign", x), size), spread);
}

/* dy · y^(1-p), 0 where y is. */
static plim_value lp_share(plim__gradient *d, double p) {
    plim_value y = plim__gradient_output(d, 0), zero = plim__gradient_scalar(d, PLIM_F32, 0);
    plim_value share = plim__gradient_two(d, "Mul", plim__gradient_of_output(d, 0),
                                          plim__gradient_two(d, "Pow", y, plim__gradient_scalar(d, PLIM_F32, 1 - p)));
    return plim__gradient_choose(d, plim__gradient_two(d, "Equal", y, zero), zero, share);
}

static double norm_order(const plim__node *node) {
    return node->version < 2 ? (double)plim__node_float(node, "p", 2) : (double)plim__node_int(node, "p", 2);
}

plim_status plim__gradient_global_lp_pool(plim__gradient *d) {
    double p = norm_order(plim__gradient_self(d));
    return plim__gradient_set(d, 0, lp_slope(d, lp_share(d, p), p));
}

/* The spreading is the backward pass of a sum pool: an average times the cells of a window. */
plim_status plim__gradient_lp_pool(plim__gradient *d) {
    double p = norm_order(plim__gradient_self(d)), cells = 1;
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    plim__window w;
    PLIM_TRY(plim__window_read(plim__gradient_self(d), &shape, NULL, &w, NULL));
    for (int i = 0; i < w.axes; i++) cells *= (double)w.kernel[i];
    plim_value share = lp_share(d, p);
    if (share < 0) return plim_graph_status(d->graph, d->error);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "AveragePoolGrad", &share, 1, 1);
    plim__gradient_copy_attributes(d, node);
    plim_graph_set_int(d->graph, node, "count_include_pad", 1);
    set_shape(d, node, &shape);
    return plim__gradient_set(d, 0, lp_slope(d, plim__gradient_scale(d, plim__gradient_end(d, node), cells), p));
}

/* Each value went to the place that its index names. */
plim_status plim__gradient_max_unpool(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, 0)), shape = plim__gradient_shape(d, dy);
    plim__window w;
    PLIM_TRY(plim__window_read_transposed(plim__gradient_self(d), &x, NULL, &w, NULL));
    plim__shape pooled = x; /* the shape that indices count in; the output may have another */
    int64_t start[PLIM_MAX_RANK] = {0}, step[PLIM_MAX_RANK], end[PLIM_MAX_RANK];
    bool larger = false;
    for (int i = 0; i < x.rank; i++) {
        if (i >= 2) pooled.dims[i] = w.out[i - 2];
        end[i] = pooled.dims[i] < shape.dims[i] ? pooled.dims[i] : shape.dims[i];
        step[i] = 1;
        larger |= pooled.dims[i] > shape.dims[i];
    }
    if (!plim__shape_equal(&pooled, &shape)) dy = plim__gradient_cut(d, dy, start, end);
    if (larger) dy = plim__gradient_embed(d, dy, &pooled, start, step);
    plim__shape flat = {.rank = 1, .dims = {plim__shape_elements(&pooled)}};
    return plim__gradient_set(
        d, 0, plim__gradient_two(d, "Gather", plim__gradient_reshape(d, dy, &flat), plim__gradient_input(d, 1)));
}

/* The mean over `size` neighbouring channels: a pool over (C, rest), with padding that counts. */
static plim_value channel_mean(plim__gradient *d, plim_value x, int64_t size, int64_t before) {
    plim__shape shape = plim__gradient_shape(d, x);
    if (x < 0) return x;
    plim__shape plane = {.rank = 4,
                         .dims = {shape.dims[0], 1, shape.dims[1], plim__shape_product(&shape, 2, shape.rank)}};
    plim_value seen = plim__gradient_reshape(d, x, &plane);
    int32_t node = plim__gradient_begin(d, "", "AveragePool", &seen, 1, 1);
    plim_graph_set_ints(d->graph, node, "kernel_shape", (int64_t[]){size, 1}, 2);
    plim_graph_set_ints(d->graph, node, "pads", (int64_t[]){before, 0, size - 1 - before, 0}, 4);
    plim_graph_set_int(d->graph, node, "count_include_pad", 1);
    return plim__gradient_reshape(d, plim__gradient_end(d, node), &shape);
}

/* y = x s^-b, s = k + a mean(x²): dx = dy s^-b - 2 a b x mean'(dy x s^(-b-1)). */
plim_status plim__gradient_lrn(plim__gradient *d) {
    const plim__node *node = plim__gradient_self(d);
    int64_t size = plim__node_int(node, "size", 5), before = (size - 1) / 2;
    double a = (double)plim__node_float(node, "alpha", 1e-4f), b = (double)plim__node_float(node, "beta", 0.75f),
           k = (double)plim__node_float(node, "bias", 1);
    plim_value x = plim__gradient_input(d, 0), dy = plim__gradient_of_output(d, 0);
    plim_value mean = channel_mean(d, plim__gradient_two(d, "Mul", x, x), size, before);
    plim_value s =
        plim__gradient_two(d, "Add", plim__gradient_scale(d, mean, a), plim__gradient_scalar(d, PLIM_F32, k));
    plim_value direct =
        plim__gradient_two(d, "Mul", dy, plim__gradient_two(d, "Pow", s, plim__gradient_scalar(d, PLIM_F32, -b)));
    plim_value around = channel_mean(d, plim__gradient_two(d, "Div", plim__gradient_two(d, "Mul", direct, x), s), size,
                                     size - 1 - before);
    return plim__gradient_set(
        d, 0,
        plim__gradient_two(d, "Sub", direct,
                           plim__gradient_scale(d, plim__gradient_two(d, "Mul", x, around), 2 * a * b)));
}
