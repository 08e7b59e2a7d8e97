/* Gradients of reductions, softmax and cumulative sums. */
#include <stdio.h>
#include <string.h>

#include "grad/gradient.h"

struct reduction {
    plim_value x, y, dy;     /* y and dy with the reduced axes kept as 1, so that they broadcast against x */
    plim__shape shape, kept; /* of x, and of y and dy */
    bool axes[PLIM_MAX_RANK];
    double count; /* elements that become one */
};

static plim_status read_reduction(plim__gradient *d, struct reduction *r) {
    *r = (struct reduction){.x = plim__gradient_input(d, 0), .count = 1};
    r->shape = r->kept = plim__gradient_shape(d, r->x);
    int list[PLIM_MAX_RANK], count;
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__infer_axes(&reading, "axes", 1, r->shape.rank, list, &count));
    for (int i = 0; i < count; i++) r->axes[list[i]] = true;
    if (count == 0 && !plim__node_int(plim__gradient_self(d), "noop_with_empty_axes", 0))
        for (int i = 0; i < r->shape.rank; i++) r->axes[i] = true;
    for (int i = 0; i < r->shape.rank; i++)
        if (r->axes[i]) {
            r->count *= (double)r->shape.dims[i];
            r->kept.dims[i] = 1;
        }
    r->dy = plim__gradient_reshape(d, plim__gradient_of_output(d, 0), &r->kept);
    return PLIM_OK;
}

static plim_value kept_output(plim__gradient *d, const struct reduction *r) {
    return plim__gradient_reshape(d, plim__gradient_output(d, 0), &r->kept);
}

#define REDUCTION(name, expression)                                                                                    \
    plim_status plim__gradient_##name(plim__gradient *d);                                                              \
    plim_status plim__gradient_##name(plim__gradient *d) {                                                             \
        struct reduction r;                                                                                            \
        PLIM_TRY(read_reduction(d, &r));                                                                               \
        return plim__gradient_set(d, 0, expression);                                                                   \
    }

static plim_value two(plim__gradient *d, const char *op, plim_value a, plim_value b) {
    return plim__gradient_two(d, op, a, b);
}
static plim_value one(plim__gradient *d, const char *op, plim_value a) { return plim__gradient_one(d, op, a); }

static plim_value to_float(plim__gradient *d, plim_value condition, plim_value like) {
    return plim__gradient_cast_to(d, condition, plim__gradient_dtype(d, like));
}

/* Elements that equal the result share its gradient. */
static plim_value extreme(plim__gradient *d, const struct reduction *r) {
    plim_value chosen = to_float(d, two(d, "Equal", r->x, kept_output(d, r)), r->x);
    return two(d, "Mul", chosen, two(d, "Div", r->dy, plim__gradient_sum(d, chosen, r->axes, true)));
}

/* dx = dy · (product of the others). With a zero in the group, only that zero has a slope. */
static plim_value product(plim__gradient *d, const struct reduction *r) {
    plim_dtype dtype = plim__gradient_dtype(d, r->x);
    plim_value zero = plim__gradient_scalar(d, dtype, 0), unit = plim__gradient_scalar(d, dtype, 1);
    plim_value is_zero = two(d, "Equal", r->x, zero), zeros = to_float(d, is_zero, r->x);
    plim_value others = plim__gradient_choose(d, is_zero, unit, r->x);
    int64_t list[PLIM_MAX_RANK];
    size_t count = 0;
    for (int i = 0; i < r->shape.rank; i++)
        if (r->axes[i]) list[count++] = i;
    if (count == 0) return r->dy;
    plim_value rest = plim__gradient_two(d, "ReduceProd", others, plim__gradient_ints(d, list, count));
    plim_value number = plim__gradient_sum(d, zeros, r->axes, true);
    plim_value none = to_float(d, two(d, "Equal", number, zero), r->x),
               single = to_float(d, two(d, "Equal", number, unit), r->x);
    /* none: rest / x everywhere; single: rest at the zero itself (others is 1 there) */
    plim_value full = two(d, "Div", two(d, "Mul", rest, none), others);
    full = two(d, "Mul", full, two(d, "Sub", unit, zeros));
    return two(d, "Mul", r->dy, two(d, "Add", full, two(d, "Mul", two(d, "Mul", rest, single), zeros)));
}

static plim_value l2(plim__gradient *d, const struct reduction *r) {
    plim_value y = kept_output(d, r), zero = plim__gradient_scalar(d, plim__gradient_dtype(d, y), 0);
    plim_value ratio = two(d, "Div", r->dy, y); /* the slope at 0 is taken as 0 */
    ratio = plim__gradient_choose(d, two(d, "Equal", y, zero), zero, ratio);
    return two(d, "Mul", r->x, ratio);
}

REDUCTION(reduce_sum, plim__gradient_expand(d, r.dy, &r.shape))
REDUCTION(reduce_mean,
          plim__gradient_expand(d, plim__gradient_scale(d, r.dy, 1 / (r.count > 0 ? r.count : 1)), &r.shape))
REDUCTION(reduce_extreme, extreme(d, &r))
REDUCTION(reduce_prod, product(d, &r))
REDUCTION(reduce_l1, two(d, "Mul", r.dy, one(d, "Sign", r.x)))
REDUCTION(reduce_l2, l2(d, &r))
REDUCTION(reduce_log_sum,
          plim__gradient_expand(d, two(d, "Mul", r.dy, one(d, "Exp", one(d, "Neg", kept_output(d, &r)))), &r.shape))
REDUCTION(reduce_log_sum_exp, two(d, "Mul", r.dy, one(d, "Exp", two(d, "Sub", r.x, kept_output(d, &r)))))
REDUCTION(reduce_sum_square, two(d, "Mul", plim__gradient_scale(d, r.dy, 2), r.x))

/* --- along one axis ------------------------------------------------------------------------------------------- */

/* The sum runs backwards. */
plim_status plim__gradient_cumsum(plim__gradient *d) {
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 1)};
    int64_t exclusive = plim__node_int(plim__gradient_self(d), "exclusive", 0),
            reverse = plim__node_int(plim__gradient_self(d), "reverse", 0);
    int32_t node = plim__gradient_begin(d, "", "CumSum", inputs, 2, 1);
    plim_graph_set_int(d->graph, node, "exclusive", exclusive);
    plim_graph_set_int(d->graph, node, "reverse", !reverse);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* From dy and y alone: the input need not be saved. */
static plim_status softmax(plim__gradient *d, const char *op) {
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_output(d, 0)};
    bool flattened = plim__gradient_self(d)->version < 13;
    int64_t axis = plim__node_int(plim__gradient_self(d), "axis", flattened ? 1 : -1);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, op, inputs, 2, 1);
    plim_graph_set_int(d->graph, node, "axis", axis);
    plim_graph_set_int(d->graph, node, "flattened", flattened);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

plim_status plim__gradient_softmax(plim__gradient *d) { return softmax(d, "SoftmaxGrad"); }
plim_status plim__gradient_log_softmax(plim__gradient *d) { return softmax(d, "LogSoftmaxGrad"); }
