/* The backward pass of a whole graph: from the loss towards the targets, each node's gradient function once.
 *
 *   forward   x ──→ node ──→ node ──→ loss
 *   backward  dx ←── node ←── node ←── 1
 *
 * Only values on a path from a target to the loss have gradients. Contributions of several users are added in the order
 * of the walk, which is the same every time. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "grad/gradient.h"

static bool is_real(plim_dtype dtype) {
    return dtype == PLIM_F32 || dtype == PLIM_F64 || dtype == PLIM_F16 || dtype == PLIM_BF16;
}

/* needed[v]: v is real, depends on a target, and the loss depends on v. */
static bool *find_needed(const plim_graph *g, plim_value loss, const plim_value *targets, size_t count) {
    bool *needed = plim__alloc_zero(g->values.count, sizeof *needed),
         *used = plim__alloc_zero(g->values.count, sizeof *used);
    if (!needed || !used) {
        plim__free(needed);
        plim__free(used);
        return NULL;
    }
    for (size_t k = 0; k < count; k++) needed[targets[k]] = is_real(g->values.items[targets[k]].dtype);
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        bool depends = false;
        for (size_t i = 0; !node->dead && i < node->inputs.count; i++)
            depends |= node->inputs.items[i] >= 0 && needed[node->inputs.items[i]];
        if (depends && plim__node_attribute(node, PLIM__DETACHED)) depends = false;
        for (size_t i = 0; depends && i < node->outputs.count; i++)
            if (node->outputs.items[i] >= 0)
                needed[node->outputs.items[i]] = is_real(g->values.items[node->outputs.items[i]].dtype);
    }
    used[loss] = true;
    for (size_t n = g->nodes.count; n-- > 0;) {
        const plim__node *node = &g->nodes.items[n];
        bool alive = false;
        for (size_t i = 0; !node->dead && i < node->outputs.count; i++)
            alive |= node->outputs.items[i] >= 0 && used[node->outputs.items[i]];
        for (size_t i = 0; alive && i < node->inputs.count; i++)
            if (node->inputs.items[i] >= 0) used[node->inputs.items[i]] = true;
    }
    for (size_t v = 0; v < g->values.count; v++) needed[v] &= used[v];
    plim__free(used);
    return needed;
}

static bool grow(plim__gradient *d) {
    while (d->of.count < d->graph->values.count)
        if (!plim__vec_push(&d->of, PLIM_NO_VALUE)) return false;
    return true;
}

bool plim__gradient_wanted(const plim__gradient *d, size_t i) {
    plim_value v = plim__gradient_input(d, i);
    return v >= 0 && (size_t)v < d->needed_count && d->needed[v];
}

plim_value plim__gradient_of_output(const plim__gradient *d, size_t i) {
    plim_value v = plim__gradient_output(d, i);
    return v >= 0 && (size_t)v < d->of.count ? d->of.items[v] : PLIM_NO_VALUE;
}

plim_status plim__gradient_set(plim__gradient *d, size_t i, plim_value gradient) {
    if (!plim__gradient_wanted(d, i)) return PLIM_OK;
    plim_value v = plim__gradient_input(d, i);
    if (gradient >= 0 && d->of.items[v] >= 0) gradient = plim__gradient_two(d, "Add", d->of.items[v], gradient);
    if (gradient < 0) {
        PLIM_TRY(plim_graph_status(d->graph, d->error));
        return plim__fail(d->error, PLIM_INTERNAL, "the gradient of node '%s' was not made",
                          plim__node_label(d->graph, plim__gradient_self(d)));
    }
    if (!plim__shape_equal(&d->graph->values.items[gradient].shape, &d->graph->values.items[v].shape)) {
        char is[PLIM_SHAPE_TEXT], should[PLIM_SHAPE_TEXT];
        return plim__fail(d->error, PLIM_INTERNAL, "the gradient of input %zu of node '%s' (%s) is %s, expected %s", i,
                          plim__node_label(d->graph, plim__gradient_self(d)), plim__gradient_self(d)->op_name,
                          plim__shape_text(&d->graph->values.items[gradient].shape, NULL, is),
                          plim__shape_text(&d->graph->values.items[v].shape, NULL, should));
    }
    if (!grow(d)) return plim__fail_memory(d->error, "gradients", d->graph->values.count * sizeof(plim_value));
    d->of.items[v] = gradient;
    return PLIM_OK;
}

plim_value plim__gradient_take(plim__gradient *d, size_t i) {
    plim_value v = plim__gradient_input(d, i),
               taken = v >= 0 && (size_t)v < d->of.count ? d->of.items[v] : PLIM_NO_VALUE;
    if (taken >= 0) d->of.items[v] = PLIM_NO_VALUE;
    return taken;
}

plim_status plim__gradient_unsupported(plim__gradient *d, const char *why) {
    const plim__node *node = plim__gradient_self(d);
    return plim__fail(d->error, PLIM_UNSUPPORTED, "unsupported: the gradient of operator %s %sin node '%s'",
                      node->op_name, why, plim__node_label(d->graph, node));
}

/* What nodes from `first` on read of a forward node, which had `outputs` outputs before its gradient was built. A value
 * that the node uses twice counts where the row lists it. */
static unsigned reads_of(const plim__gradient *d, const plim__op *op, size_t outputs, size_t first) {
    const plim__node *self = plim__gradient_self(d);
    unsigned reads = 0;
    for (size_t n = first; n < d->graph->nodes.count; n++) {
        const plim__node *node = &d->graph->nodes.items[n];
        for (size_t k = 0; !node->dead && k < node->inputs.count; k++) {
            plim_value v = node->inputs.items[k];
            unsigned as = 0;
            for (size_t i = 0; v >= 0 && i < self->inputs.count; i++)
                if (self->inputs.items[i] == v) as |= PLIM__SAVED_IN(i < 14 ? i : 14);
            for (size_t i = 0; v >= 0 && i < self->outputs.count; i++)
                if (self->outputs.items[i] == v)
                    as |= i >= outputs && self->op != op ? PLIM__SAVED_EXTRA : PLIM__SAVED_OUT(i < 13 ? i : 13);
            reads |= as & op->saved ? as & op->saved : as;
        }
    }
    return reads;
}

/* A gradient reads what its row says, no more: plans and documents rely on it. */
static plim_status check_reads(plim__gradient *d, const plim__op *op, size_t outputs, size_t first) {
    unsigned reads = reads_of(d, op, outputs, first);
    if ((reads & ~op->saved) == 0) return PLIM_OK;
    return plim__fail(d->error, PLIM_INTERNAL,
                      "the gradient of operator %s in node '%s' reads values that its row does not list (%x)", op->name,
                      plim__node_label(d->graph, plim__gradient_self(d)), reads & ~op->saved);
}

static plim_status differentiate(plim__gradient *d, int32_t n) {
    d->node = n;
    const plim__node *node = plim__gradient_self(d);
    bool flows = false, wanted = false;
    if (node->dead) return PLIM_OK;
    for (size_t i = 0; i < node->outputs.count; i++) flows |= plim__gradient_of_output(d, i) >= 0;
    for (size_t i = 0; i < node->inputs.count; i++) wanted |= plim__gradient_wanted(d, i);
    if (!flows || !wanted) return PLIM_OK;
    const plim__op *op = node->op;
    if (!op || !plim__op_has_gradient(op)) return plim__gradient_unsupported(d, "");
    size_t outputs = node->outputs.count, first = d->graph->nodes.count;
    PLIM_TRY(plim__gradient_of_op(op)(d));
    PLIM_TRY(check_reads(d, op, outputs, first));
    if (!grow(d)) return plim__fail_memory(d->error, "gradients", d->graph->values.count * sizeof(plim_value));
    return plim_graph_status(d->graph, d->error);
}

static plim_status walk(plim__gradient *d, plim_value loss) {
    size_t count = d->graph->nodes.count;
    if (!grow(d)) return plim__fail_memory(d->error, "gradients", d->graph->values.count * sizeof(plim_value));
    plim_value one = plim__gradient_scalar(d, d->graph->values.items[loss].dtype, 1);
    plim__shape shape = d->graph->values.items[loss].shape;
    if (shape.rank > 0) one = plim__gradient_reshape(d, one, &shape);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    if (!grow(d)) return plim__fail_memory(d->error, "gradients", d->graph->values.count * sizeof(plim_value));
    d->of.items[loss] = one;
    for (size_t n = count; n-- > 0;) PLIM_TRY(differentiate(d, (int32_t)n));
    return PLIM_OK;
}

/* "weight.grad", when no value has that name. */
static void name_gradient(plim_graph *g, plim_value target, plim_value gradient) {
    char name[256];
    int length = snprintf(name, sizeof name, "%s.grad", g->values.items[target].name);
    if (length < 0 || (size_t)length >= sizeof name || plim__map_get(&g->names, name, -1) >= 0) return;
    if (g->values.items[gradient].kind == PLIM__VALUE_NODE) plim_graph_set_value_name(g, gradient, name);
}

plim_status plim__gradients_build(plim_graph *g, plim_value loss, const plim_value *targets, size_t count,
                                  plim_value *gradients, plim_error *error) {
    for (size_t k = 0; k < count; k++) gradients[k] = PLIM_NO_VALUE;
    PLIM_TRY(plim_graph_status(g, error));
    const plim__value *value = &g->values.items[loss];
    char text[PLIM_SHAPE_TEXT];
    if (!is_real(value->dtype) || plim__shape_elements(&value->shape) != 1)
        return plim__fail(error, PLIM_INVALID, "the loss '%s' is %s%s, expected one real number", value->name,
                          plim_dtype_name(value->dtype), plim__shape_text(&value->shape, g, text));
    PLIM_TRY(plim__batch_norms_train(g, error));
    PLIM_TRY(plim__graph_sort(g, error));
    bool *needed = find_needed(g, loss, targets, count);
    if (!needed) return plim__fail_memory(error, "gradients", g->values.count * 2);
    plim__gradient d = {.graph = g, .error = error, .needed = needed, .needed_count = g->values.count};
    plim_status status = walk(&d, loss);
    for (size_t k = 0; status == PLIM_OK && k < count; k++) {
        gradients[k] = needed[targets[k]] ? d.of.items[targets[k]] : PLIM_NO_VALUE;
        if (gradients[k] >= 0) name_gradient(g, targets[k], gradients[k]);
    }
    plim__vec_free(&d.of);
    plim__free(needed);
    if (status == PLIM_OK) status = plim_graph_status(g, error);
    return status == PLIM_OK ? plim__graph_sort(g, error) : status;
}
