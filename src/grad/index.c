/* Gradients of gathers, scatters and selections. */
#include <string.h>

#include "grad/gradient.h"

/* What several indices took comes back added up, in the order of the indices; onto the gradient of another user where
 * there is one (a table of words that is the last layer too), so that few rows do not cost a pass over all of them. */
plim_status plim__gradient_gather(plim__gradient *d) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    plim_value onto = plim__gradient_wanted(d, 0) ? plim__gradient_take(d, 0) : PLIM_NO_VALUE;
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 1), onto};
    int64_t axis = plim__node_int(plim__gradient_self(d), "axis", 0);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "GatherGrad", inputs, onto >= 0 ? 3 : 2, 1);
    plim_graph_set_ints(d->graph, node, "shape", shape.dims, (size_t)shape.rank);
    plim_graph_set_int(d->graph, node, "axis", axis);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* Zeros like input 0, and dy added where indices point. */
static plim_value scatter_added(plim__gradient *d, const char *op, plim_value indices, int64_t axis) {
    plim_value inputs[] = {plim__gradient_zeros(d, plim__gradient_input(d, 0)), indices,
                           plim__gradient_of_output(d, 0)};
    if (inputs[0] < 0) return PLIM_NO_VALUE;
    int32_t node = plim__gradient_begin(d, "", op, inputs, 3, 1);
    if (strcmp(op, "ScatterElements") == 0) plim_graph_set_int(d->graph, node, "axis", axis);
    plim_graph_set_string(d->graph, node, "reduction", "add");
    return plim__gradient_end(d, node);
}

plim_status plim__gradient_gather_elements(plim__gradient *d) {
    return plim__gradient_set(d, 0,
                              scatter_added(d, "ScatterElements", plim__gradient_input(d, 1),
                                            plim__node_int(plim__gradient_self(d), "axis", 0)));
}

/* Indices with the place in the batch in front of each, as if batch_dims were 0: (b.., i.., k) → (b.., i.., b + k). */
static plim_value with_batch(plim__gradient *d, plim_value indices, int64_t batch_dims) {
    plim__shape shape = plim__gradient_shape(d, indices), places = shape;
    int last = shape.rank - 1;
    places.dims[last] = batch_dims;
    int64_t rows = plim__shape_product(&shape, 0, last);
    int64_t *list = plim__alloc_array((size_t)(rows * batch_dims), sizeof *list);
    if (!list) {
        plim__graph_fail(d->graph, PLIM_NO_MEMORY, "out of memory while building gradients");
        return PLIM_NO_VALUE;
    }
    for (int64_t row = 0; row < rows; row++) {
        int64_t rest = row / plim__shape_product(&shape, (int)batch_dims, last);
        for (int64_t k = batch_dims - 1; k >= 0; rest /= shape.dims[k], k--)
            list[row * batch_dims + k] = rest % shape.dims[k];
    }
    plim_value both[] = {plim_graph_constant(d->graph, NULL, PLIM_I64, places.rank, places.dims, list), indices};
    plim__free(list);
    if (both[0] < 0) return PLIM_NO_VALUE;
    int32_t node = plim__gradient_begin(d, "", "Concat", both, 2, 1);
    plim_graph_set_int(d->graph, node, "axis", last);
    return plim__gradient_end(d, node);
}

plim_status plim__gradient_gather_nd(plim__gradient *d) {
    plim_value indices = plim__gradient_input(d, 1);
    int64_t batch_dims = plim__node_int(plim__gradient_self(d), "batch_dims", 0);
    if (batch_dims > 0 && plim__gradient_shape(d, indices).rank > batch_dims)
        indices = with_batch(d, indices, batch_dims);
    if (indices < 0) return plim_graph_status(d->graph, d->error);
    return plim__gradient_set(d, 0, scatter_added(d, "ScatterND", indices, 0));
}

/* The values come from where the indices say. */
plim_status plim__gradient_top_k(plim__gradient *d) {
    if (plim__gradient_of_output(d, 0) < 0) return PLIM_OK;
    plim__shape shape = plim__gradient_shape(d, plim__gradient_output(d, 0));
    plim_value indices = plim__gradient_need_output(d, 1, PLIM_I64, &shape);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    return plim__gradient_set(
        d, 0, scatter_added(d, "ScatterElements", indices, plim__node_int(plim__gradient_self(d), "axis", -1)));
}

/* What was chosen goes back to its place: the condition is a constant, and so are the places. */
plim_status plim__gradient_compress(plim__gradient *d) {
    plim__tensor *condition = plim__graph_constant_tensor(d->graph, plim__gradient_input(d, 1));
    plim__shape own = plim__gradient_shape(d, plim__gradient_input(d, 0)), seen = own;
    bool flat = !plim__node_attribute(plim__gradient_self(d), "axis");
    int64_t axis = plim__node_int(plim__gradient_self(d), "axis", 0);
    if (!condition || plim__tensor_load(condition, d->error) != PLIM_OK) /* inference has read it already */
        return plim__gradient_unsupported(d, "with a condition that is computed ");
    if (flat) seen = plim__shape_of(1, (int64_t[]){plim__shape_elements(&own)});
    if (axis < 0) axis += seen.rank;
    int64_t length = plim__shape_elements(&condition->shape), kept = 0;
    int64_t *places = plim__alloc_array((size_t)length, sizeof *places);
    if (!places) return plim__fail_memory(d->error, "gradients", (size_t)length * sizeof *places);
    for (int64_t i = 0; i < length && i < seen.dims[axis]; i++)
        if (plim__tensor_at(condition, i) != 0) places[kept++] = i;
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_ints(d, places, (size_t)kept)};
    plim__free(places);
    if (inputs[1] < 0) return plim_graph_status(d->graph, d->error);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "GatherGrad", inputs, 2, 1);
    plim_graph_set_ints(d->graph, node, "shape", seen.dims, (size_t)seen.rank);
    plim_graph_set_int(d->graph, node, "axis", axis);
    return plim__gradient_set(d, 0, plim__gradient_reshape(d, plim__gradient_end(d, node), &own));
}

/* values = {off, on}: each gets the sum of what it was written to. */
plim_status plim__gradient_one_hot(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    float marks[] = {0, 1};
    plim_value mark = plim_graph_constant(d->graph, NULL, PLIM_F32, 1, (int64_t[]){2}, marks);
    mark = plim__gradient_cast_to(d, mark, plim__gradient_dtype(d, dy));
    plim_value inputs[] = {plim__gradient_input(d, 0), plim__gradient_input(d, 1), mark};
    if (mark < 0) return plim_graph_status(d->graph, d->error);
    int32_t node = plim__gradient_begin(d, "", "OneHot", inputs, 3, 1);
    plim__gradient_copy_attributes(d, node);
    plim_value on = plim__gradient_two(d, "Mul", dy, plim__gradient_end(d, node));
    bool axes[PLIM_MAX_RANK];
    for (int i = 0; i < PLIM_MAX_RANK; i++) axes[i] = true;
    plim__shape single = {.rank = 1, .dims = {1}}, own = plim__gradient_shape(d, plim__gradient_input(d, 2));
    plim_value hot = plim__gradient_reshape(d, plim__gradient_sum(d, on, axes, false), &single),
               all = plim__gradient_reshape(d, plim__gradient_sum(d, dy, axes, false), &single);
    plim_value both[] = {plim__gradient_two(d, "Sub", all, hot), hot};
    if (both[0] < 0) return plim_graph_status(d->graph, d->error);
    int32_t join = plim__gradient_begin(d, "", "Concat", both, 2, 1);
    plim_graph_set_int(d->graph, join, "axis", 0);
    return plim__gradient_set(d, 2, plim__gradient_reshape(d, plim__gradient_end(d, join), &own));
}

/* --- scatters ------------------------------------------------------------------------------------------------- */

struct scatter {
    const char *scatter_op, *gather_op;
    bool by_element;
    int64_t axis;
    plim_value x, indices, updates, y, dy;
};

static plim_value scattered(plim__gradient *d, const struct scatter *s, plim_value data, plim_value updates,
                            const char *reduction) {
    if (data < 0 || updates < 0) return PLIM_NO_VALUE;
    int32_t node = plim__gradient_begin(d, "", s->scatter_op, (plim_value[]){data, s->indices, updates}, 3, 1);
    if (s->by_element) plim_graph_set_int(d->graph, node, "axis", s->axis);
    if (reduction) plim_graph_set_string(d->graph, node, "reduction", reduction);
    return plim__gradient_end(d, node);
}

static plim_value gathered(plim__gradient *d, const struct scatter *s, plim_value from) {
    if (from < 0) return from;
    int32_t node = plim__gradient_begin(d, "", s->gather_op, (plim_value[]){from, s->indices}, 2, 1);
    if (s->by_element) plim_graph_set_int(d->graph, node, "axis", s->axis);
    return plim__gradient_end(d, node);
}

static plim_value as_number(plim__gradient *d, plim_value condition, plim_value like) {
    return plim__gradient_cast_to(d, condition, plim__gradient_dtype(d, like));
}

/* max, min: those that equal the result share its gradient. */
static plim_status scatter_extreme(plim__gradient *d, const struct scatter *s) {
    plim_value old = as_number(d, plim__gradient_two(d, "Equal", s->x, s->y), s->x);
    plim_value fresh = as_number(d, plim__gradient_two(d, "Equal", s->updates, gathered(d, s, s->y)), s->x);
    plim_value share = plim__gradient_two(d, "Div", s->dy, scattered(d, s, old, fresh, "add"));
    PLIM_TRY(plim__gradient_set(d, 0, plim__gradient_two(d, "Mul", old, share)));
    return plim__gradient_wanted(d, 2)
               ? plim__gradient_set(d, 2, plim__gradient_two(d, "Mul", fresh, gathered(d, s, share)))
               : PLIM_OK;
}

/* dy · (product of the others), from the product of all that are not 0 and the number of those that are. */
static plim_value of_others(plim__gradient *d, plim_value dy, plim_value own, plim_value rest, plim_value zeros) {
    plim_dtype dtype = plim__gradient_dtype(d, own);
    plim_value zero = plim__gradient_scalar(d, dtype, 0), unit = plim__gradient_scalar(d, dtype, 1);
    plim_value is_zero = plim__gradient_two(d, "Equal", own, zero);
    plim_value divided = plim__gradient_two(d, "Div", rest, plim__gradient_choose(d, is_zero, unit, own));
    plim_value single = plim__gradient_choose(d, plim__gradient_two(d, "Equal", zeros, unit), rest, zero),
               none = plim__gradient_choose(d, plim__gradient_two(d, "Equal", zeros, zero), divided, zero);
    return plim__gradient_two(d, "Mul", dy, plim__gradient_choose(d, is_zero, single, none));
}

static plim_status scatter_product(plim__gradient *d, const struct scatter *s) {
    plim_dtype dtype = plim__gradient_dtype(d, s->x);
    plim_value zero = plim__gradient_scalar(d, dtype, 0), unit = plim__gradient_scalar(d, dtype, 1);
    plim_value old = plim__gradient_two(d, "Equal", s->x, zero),
               fresh = plim__gradient_two(d, "Equal", s->updates, zero);
    plim_value rest = scattered(d, s, plim__gradient_choose(d, old, unit, s->x),
                                plim__gradient_choose(d, fresh, unit, s->updates), "mul");
    plim_value zeros = scattered(d, s, as_number(d, old, s->x), as_number(d, fresh, s->x), "add");
    if (plim__gradient_wanted(d, 0)) PLIM_TRY(plim__gradient_set(d, 0, of_others(d, s->dy, s->x, rest, zeros)));
    if (!plim__gradient_wanted(d, 2)) return PLIM_OK;
    return plim__gradient_set(
        d, 2, of_others(d, gathered(d, s, s->dy), s->updates, gathered(d, s, rest), gathered(d, s, zeros)));
}

/* Updates get what arrived at their place; data keeps the rest. With "add" both share it. */
static plim_status scatter(plim__gradient *d, const char *scatter_op, const char *gather_op) {
    const char *reduction = plim__node_string(plim__gradient_self(d), "reduction", "none");
    struct scatter s = {.scatter_op = scatter_op,
                        .gather_op = gather_op,
                        .by_element = strcmp(scatter_op, "ScatterElements") == 0,
                        .axis = plim__node_int(plim__gradient_self(d), "axis", 0),
                        .x = plim__gradient_input(d, 0),
                        .indices = plim__gradient_input(d, 1),
                        .updates = plim__gradient_input(d, 2),
                        .y = plim__gradient_output(d, 0),
                        .dy = plim__gradient_of_output(d, 0)};
    if (strcmp(reduction, "max") == 0 || strcmp(reduction, "min") == 0) return scatter_extreme(d, &s);
    if (strcmp(reduction, "mul") == 0) return scatter_product(d, &s);
    bool adds = strcmp(reduction, "add") == 0;
    if (plim__gradient_wanted(d, 0))
        PLIM_TRY(
            plim__gradient_set(d, 0, adds ? s.dy : scattered(d, &s, s.dy, plim__gradient_zeros(d, s.updates), NULL)));
    return plim__gradient_wanted(d, 2) ? plim__gradient_set(d, 2, gathered(d, &s, s.dy)) : PLIM_OK;
}

plim_status plim__gradient_scatter_elements(plim__gradient *d) {
    return scatter(d, "ScatterElements", "GatherElements");
}
plim_status plim__gradient_scatter_nd(plim__gradient *d) { return scatter(d, "ScatterND", "GatherND"); }
