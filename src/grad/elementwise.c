/* Gradients of elementwise operators. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grad/gradient.h"
#include "ops/activation.h"

/* --- one number ----------------------------------------------------------------------------------------------- */

/* dx = Grad(dy, saved), with the operator's own attributes. */
static plim_status slope(plim__gradient *d, plim__function f, plim_value saved) {
    char name[48];
    plim_value inputs[] = {plim__gradient_of_output(d, 0), saved};
    snprintf(name, sizeof name, "%sGrad", plim__functions[f].name);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, name, inputs, 2, 1);
    plim__gradient_copy_attributes(d, node);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

static float first_attribute(const plim__gradient *d, plim__function f) {
    float a, b;
    plim__function_attributes(f, plim__gradient_self(d), &a, &b);
    return a;
}

/* Any function of activation.def that has a slope. */
plim_status plim__gradient_activation(plim__gradient *d) {
    plim__function f = plim__function_of(plim__gradient_self(d));
    if (plim__functions[f].sided && first_attribute(d, f) < 0) /* no model has that */
        return plim__gradient_unsupported(d, "with a negative alpha ");
    return slope(d, f, plim__functions[f].from_output ? plim__gradient_output(d, 0) : plim__gradient_input(d, 0));
}

/* Where a negative alpha turns the lower side around, the input tells the side: the slope asks for no more. */
plim_status plim__gradient_leaky_relu(plim__gradient *d) {
    plim__function f = PLIM__FUNCTION_LeakyRelu;
    return slope(d, f, first_attribute(d, f) >= 0 ? plim__gradient_output(d, 0) : plim__gradient_input(d, 0));
}

plim_status plim__gradient_neg(plim__gradient *d) {
    return plim__gradient_set(d, 0, plim__gradient_one(d, "Neg", plim__gradient_of_output(d, 0)));
}

/* Steps: flat everywhere. */
plim_status plim__gradient_zero(plim__gradient *d) {
    (void)d;
    return PLIM_OK;
}

plim_status plim__gradient_identity(plim__gradient *d) {
    return plim__gradient_set(d, 0, plim__gradient_of_output(d, 0));
}

plim_status plim__gradient_cast(plim__gradient *d) {
    plim_dtype dtype = plim__gradient_dtype(d, plim__gradient_input(d, 0));
    return plim__gradient_set(d, 0, plim__gradient_cast_to(d, plim__gradient_of_output(d, 0), dtype));
}

/* A bound of Clip: an attribute in older opsets, an input in newer ones; false when it depends on data. */
static bool clip_bound(plim__gradient *d, size_t input, const char *name, float missing, float *bound) {
    *bound = plim__node_float(plim__gradient_self(d), name, missing);
    plim_value v = plim__gradient_input(d, input);
    if (v < 0) return true;
    plim__tensor *tensor = plim__graph_constant_tensor(d->graph, v);
    if (!tensor || plim__tensor_load(tensor, NULL) != PLIM_OK) return false;
    *bound = (float)plim__tensor_at(tensor, 0);
    return true;
}

/* With bounds that are computed: dy goes to x between them, else to the bound that holds; as in the kernel, the upper
 * one wins where they cross. */
static plim_status clip_between(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0), x = plim__gradient_input(d, 0),
               none = plim__gradient_scalar(d, PLIM_F32, 0);
    plim_value low = plim__gradient_input(d, 1), high = plim__gradient_input(d, 2);
    none = plim__gradient_cast_to(d, none, plim__gradient_dtype(d, x));
    plim_value clipped_low = low >= 0 ? plim__gradient_two(d, "Max", x, low) : x;
    plim_value above = high >= 0 ? plim__gradient_two(d, "Greater", clipped_low, high) : PLIM_NO_VALUE;
    plim_value below = low >= 0 ? plim__gradient_two(d, "Less", x, low) : PLIM_NO_VALUE;
    plim_value rest = above >= 0 ? plim__gradient_choose(d, above, none, dy) : dy;
    if (plim__gradient_wanted(d, 2))
        PLIM_TRY(
            plim__gradient_set(d, 2, plim__gradient_unbroadcast(d, plim__gradient_choose(d, above, dy, none), high)));
    if (plim__gradient_wanted(d, 1))
        PLIM_TRY(
            plim__gradient_set(d, 1, plim__gradient_unbroadcast(d, plim__gradient_choose(d, below, rest, none), low)));
    if (!plim__gradient_wanted(d, 0)) return PLIM_OK;
    return plim__gradient_set(d, 0, below >= 0 ? plim__gradient_choose(d, below, none, rest) : rest);
}

plim_status plim__gradient_clip(plim__gradient *d) {
    float low, high;
    if (!clip_bound(d, 1, "min", -INFINITY, &low) || !clip_bound(d, 2, "max", INFINITY, &high)) return clip_between(d);
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 0)};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "ClipGrad", inputs, 2, 1);
    plim_graph_set_float(d->graph, node, "min", low);
    plim_graph_set_float(d->graph, node, "max", high);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* --- two numbers ---------------------------------------------------------------------------------------------- */

/* Before opset 7 the second input could be aligned at an axis of the first: seen with ones behind it. */
static plim_value aligned(plim__gradient *d, plim_value b) {
    const plim__node *node = plim__gradient_self(d);
    plim__shape a = plim__gradient_shape(d, plim__gradient_input(d, 0)), shape = plim__gradient_shape(d, b);
    int axis;
    if (node->version >= 7 || !plim__node_int(node, "broadcast", 0) || !plim__node_attribute(node, "axis")) return b;
    if (!plim__axis_normalize(plim__node_int(node, "axis", 0), a.rank, &axis)) return b;
    while (shape.rank < a.rank - axis) shape.dims[shape.rank++] = 1;
    return plim__gradient_reshape(d, b, &shape);
}

/* Input i's gradient from one of the broadcast shape. */
static plim_status set_broadcast(plim__gradient *d, size_t i, plim_value full) {
    if (!plim__gradient_wanted(d, i)) return PLIM_OK;
    plim_value like = plim__gradient_input(d, i), other = i == 1 ? aligned(d, like) : like;
    plim__shape shape = plim__gradient_shape(d, like);
    return plim__gradient_set(d, i, plim__gradient_reshape(d, plim__gradient_unbroadcast(d, full, other), &shape));
}

static plim_value slope2(plim__gradient *d, const char *op, plim_value x, plim_value y) {
    return plim__gradient_node(d, PLIM__DOMAIN, op, (plim_value[]){plim__gradient_of_output(d, 0), x, y}, 3);
}

plim_status plim__gradient_add(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    PLIM_TRY(set_broadcast(d, 0, dy));
    return set_broadcast(d, 1, dy);
}

plim_status plim__gradient_sub(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    PLIM_TRY(set_broadcast(d, 0, dy));
    if (!plim__gradient_wanted(d, 1)) return PLIM_OK;
    plim_value like = aligned(d, plim__gradient_input(d, 1));
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 1));
    plim_value sum =
        plim__gradient_one(d, "Neg", plim__gradient_unbroadcast(d, dy, like)); /* the smaller one is negated */
    return plim__gradient_set(d, 1, plim__gradient_reshape(d, sum, &shape));
}

plim_status plim__gradient_mul(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0), a = plim__gradient_input(d, 0), b = plim__gradient_input(d, 1);
    if (a == b) return plim__gradient_set(d, 0, plim__gradient_scale(d, plim__gradient_two(d, "Mul", dy, a), 2));
    if (plim__gradient_wanted(d, 0)) PLIM_TRY(set_broadcast(d, 0, plim__gradient_two(d, "Mul", dy, aligned(d, b))));
    return plim__gradient_wanted(d, 1) ? set_broadcast(d, 1, plim__gradient_two(d, "Mul", dy, a)) : PLIM_OK;
}

/* da = dy / b, db = -da · y. */
plim_status plim__gradient_div(plim__gradient *d) {
    plim_value b = aligned(d, plim__gradient_input(d, 1));
    plim_value da = plim__gradient_two(d, "Div", plim__gradient_of_output(d, 0), b);
    PLIM_TRY(set_broadcast(d, 0, da));
    if (!plim__gradient_wanted(d, 1)) return PLIM_OK;
    return set_broadcast(d, 1,
                         plim__gradient_one(d, "Neg", plim__gradient_two(d, "Mul", da, plim__gradient_output(d, 0))));
}

/* y = a - b · n with a whole n: the slope for b is -n = (y - a) / b. */
plim_status plim__gradient_mod(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    PLIM_TRY(set_broadcast(d, 0, dy));
    if (!plim__gradient_wanted(d, 1)) return PLIM_OK;
    plim_value times = plim__gradient_two(
        d, "Div", plim__gradient_two(d, "Sub", plim__gradient_output(d, 0), plim__gradient_input(d, 0)),
        plim__gradient_input(d, 1));
    return set_broadcast(d, 1, plim__gradient_two(d, "Mul", dy, plim__gradient_one(d, "Round", times)));
}

static bool is_number(plim__gradient *d, plim_value v, double number) {
    plim__tensor *tensor = plim__graph_constant_tensor(d->graph, v);
    if (!tensor || plim__shape_elements(&tensor->shape) != 1 || plim__tensor_load(tensor, NULL) != PLIM_OK)
        return false;
    return plim__tensor_at(tensor, 0) == number;
}

plim_status plim__gradient_pow(plim__gradient *d) {
    plim_value x = plim__gradient_input(d, 0), e = plim__gradient_input(d, 1), dy = plim__gradient_of_output(d, 0);
    if (is_number(d, e, 2)) return set_broadcast(d, 0, plim__gradient_scale(d, plim__gradient_two(d, "Mul", dy, x), 2));
    e = plim__gradient_cast_to(d, e, plim__gradient_dtype(d, x));
    if (plim__gradient_wanted(d, 0)) PLIM_TRY(set_broadcast(d, 0, slope2(d, "PowBaseGrad2", x, aligned(d, e))));
    return plim__gradient_wanted(d, 1)
               ? set_broadcast(d, 1, slope2(d, "PowExponentGrad2", x, plim__gradient_output(d, 0)))
               : PLIM_OK;
}

plim_status plim__gradient_prelu(plim__gradient *d) {
    plim_value x = plim__gradient_input(d, 0), s = plim__gradient_input(d, 1);
    plim__shape own = plim__gradient_shape(d, s), wide = own;
    int rank = plim__gradient_shape(d, x).rank;
    if (plim__gradient_self(d)->version < 7 && own.rank == 1) /* one slope a channel */
        while (wide.rank < rank - 1) wide.dims[wide.rank++] = 1;
    plim_value seen = plim__gradient_reshape(d, s, &wide);
    if (plim__gradient_wanted(d, 0)) PLIM_TRY(plim__gradient_set(d, 0, slope2(d, "PReluGrad2", x, seen)));
    if (!plim__gradient_wanted(d, 1)) return PLIM_OK;
    plim_value sum = plim__gradient_unbroadcast(d, slope2(d, "PReluSlopeGrad2", x, seen), seen);
    return plim__gradient_set(d, 1, plim__gradient_reshape(d, sum, &own));
}

/* --- any number ----------------------------------------------------------------------------------------------- */

static plim_status extreme(plim__gradient *d, const char *op) {
    size_t count = plim__gradient_self(d)->inputs.count;
    if (count == 1) return plim__gradient_identity(d);
    for (size_t i = 0; i < count; i++) {
        if (!plim__gradient_wanted(d, i)) continue;
        plim_value x = plim__gradient_input(d, i);
        plim_value full = count == 2 ? slope2(d, op, x, plim__gradient_input(d, 1 - i))
                                     : slope2(d, "ChosenGrad2", x, plim__gradient_output(d, 0));
        PLIM_TRY(plim__gradient_set(d, i, plim__gradient_unbroadcast(d, full, x)));
    }
    return PLIM_OK;
}

plim_status plim__gradient_max(plim__gradient *d) { return extreme(d, "LargerGrad2"); }
plim_status plim__gradient_min(plim__gradient *d) { return extreme(d, "SmallerGrad2"); }

static plim_status share(plim__gradient *d, plim_value dy) {
    for (size_t i = 0; i < plim__gradient_self(d)->inputs.count; i++)
        if (plim__gradient_wanted(d, i))
            PLIM_TRY(plim__gradient_set(d, i, plim__gradient_unbroadcast(d, dy, plim__gradient_input(d, i))));
    return PLIM_OK;
}

plim_status plim__gradient_variadic_sum(plim__gradient *d) { return share(d, plim__gradient_of_output(d, 0)); }
plim_status plim__gradient_variadic_mean(plim__gradient *d) {
    double count = (double)plim__gradient_self(d)->inputs.count;
    return share(d, plim__gradient_scale(d, plim__gradient_of_output(d, 0), 1 / count));
}

plim_status plim__gradient_where(plim__gradient *d) {
    plim_value condition = plim__gradient_input(d, 0), dy = plim__gradient_of_output(d, 0);
    plim_value none = plim__gradient_scalar(d, plim__gradient_dtype(d, dy), 0);
    for (size_t i = 1; i < 3; i++) {
        if (!plim__gradient_wanted(d, i)) continue;
        plim_value full = plim__gradient_choose(d, condition, i == 1 ? dy : none, i == 1 ? none : dy);
        PLIM_TRY(plim__gradient_set(d, i, plim__gradient_unbroadcast(d, full, plim__gradient_input(d, i))));
    }
    return PLIM_OK;
}
