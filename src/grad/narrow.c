/* What the backward pass reads of the forward pass waits for it in 16 bits. Every step computes on float32: a tensor is
 * narrowed before the last step of the forward pass that reads it, and widened before the steps of the backward pass that do.
 *
 *   y = gelu(x) ─┬─→ product ...                     y = gelu(x) ─┬─→ product ...
 *                │                        becomes                  └─→ narrow = Narrow(y)
 *                └─→ dw = MatMul(yt, dz)                                └─→ dw = MatMul(Widen(narrow)t, dz)
 *
 * Where products multiply 16 bits (PLIM__OP_FACTORS), lowering converts what a product of the forward pass reads, once for all
 * products: one of the backward pass that reads it too, or a view of it, reads the value itself, and nothing is widened.
 *
 * The rows of the operators that read it say where that is safe (PLIM__OP_NARROW); a tensor that any other one reads stays
 * float32. Views are not saved beside what they are of: they are made again from what is widened. */
#include <string.h>

#include "core/error.h"
#include "grad/gradient.h"
#include "ops/activation.h"

enum {
    SMALLEST = 256, /* elements for which it is worth a step */
    NEAR = 8,       /* nodes between two readers that share what was widened for the first */
};

/* Of each value that something was made from. */
struct kept {
    plim_value narrow; /* its 16 bits; PLIM_NO_VALUE: it stays as it is */
    bool read;         /* products read them, without that value */
    plim_value wide;   /* what was widened last, */
    int32_t reader;    /* and the node that read it last */
};

struct narrower {
    plim_graph *g;
    plim_dtype to;
    size_t values, nodes;     /* before anything was added */
    plim_value *memory;       /* of each value: the first one that may share its memory */
    int32_t *last;            /* of the memory: the last node of the forward pass that reads it */
    bool *barred;             /* values that have to stay float32 */
    bool factors;             /* products multiply numbers of that type */
    bool *factored;           /* of the memory: a product of the forward pass multiplies it */
    bool *others;             /* not only products of the backward pass read the value, or views of it */
    struct kept *kept;        /* of each value */
    PLIM_VEC(int32_t) before; /* of each node that was added: the node that it comes before */
    size_t saved;
    plim_error *error;
};

static const plim__value *value_at(const struct narrower *w, plim_value v) { return &w->g->values.items[v]; }

/* May share the memory of its first input. */
static bool is_view(const plim__node *node) {
    return node->op && (node->op->flags & PLIM__OP_VIEW) && plim__node_in(node, 0) >= 0;
}

/* Moves the numbers of its first input, which is all it depends on, and leaves them float32. */
static bool is_moving(const struct narrower *w, const plim__node *node) {
    if (!is_view(node)) return false;
    for (size_t i = 1; i < node->inputs.count; i++)
        if (node->inputs.items[i] >= 0 && value_at(w, node->inputs.items[i])->kind != PLIM__VALUE_CONSTANT)
            return false;
    for (size_t i = 0; i < node->outputs.count; i++)
        if (node->outputs.items[i] >= 0 && value_at(w, node->outputs.items[i])->dtype != PLIM_F32) return false;
    return value_at(w, node->inputs.items[0])->dtype == PLIM_F32;
}

/* Inputs that tell a layout and are not read. */
static bool is_read(const plim__node *node, size_t input) {
    size_t length = strlen(node->op_name);
    bool bits =
        strcmp(node->domain, PLIM__DOMAIN) == 0 && length > 8 && strcmp(node->op_name + length - 8, "BitsGrad") == 0;
    return node->inputs.items[input] >= 0 && !(bits && input == 2);
}

static bool is_safe(const plim__node *node) {
    if (!node->op || !(node->op->flags & PLIM__OP_NARROW)) return false;
    plim__function f = plim__function_of(node);
    return f == PLIM__FUNCTION_COUNT || !plim__functions[f].precise;
}

/* A view of the forward pass, or a copy where it could be none, that is made again from its first input: not of a small part
 * of it, since all of it would have to wait. */
static bool is_remade(const struct narrower *w, const plim__node *node) {
    return node->phase == PLIM__FORWARD && is_moving(w, node) &&
           (node->outputs.count > 1 || 2 * plim__shape_elements(&value_at(w, node->outputs.items[0])->shape) >=
                                           plim__shape_elements(&value_at(w, node->inputs.items[0])->shape));
}

/* What has to wait so that the value can be had again. */
static plim_value root_of(const struct narrower *w, plim_value v) {
    while (value_at(w, v)->producer >= 0 && is_remade(w, &w->g->nodes.items[value_at(w, v)->producer]))
        v = w->g->nodes.items[value_at(w, v)->producer].inputs.items[0];
    return v;
}

/* Whether a value is one of the forward pass that the backward pass keeps alive, in float32. */
static bool is_saved(const struct narrower *w, plim_value v) {
    const plim__value *value = value_at(w, v);
    return value->kind == PLIM__VALUE_NODE && value->producer >= 0 && value->dtype == PLIM_F32 &&
           w->g->nodes.items[value->producer].phase == PLIM__FORWARD;
}

/* Nodes are in topological order: from the end, so that what reads a view of the backward pass is known before the view. */
static void find_barred(struct narrower *w) {
    plim_graph *g = w->g;
    for (size_t i = 0; i < g->outputs.count; i++) w->barred[g->outputs.items[i]] = true;
    for (size_t n = w->nodes; n-- > 0;) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || node->phase == PLIM__FORWARD) continue;
        bool bars = !is_safe(node);
        if (is_moving(w, node)) {
            bars = false;
            for (size_t i = 0; i < node->outputs.count; i++)
                bars |= node->outputs.items[i] >= 0 && w->barred[node->outputs.items[i]];
        }
        for (size_t i = 0; bars && i < node->inputs.count; i++)
            if (is_read(node, i)) w->barred[node->inputs.items[i]] = true;
    }
    for (size_t v = 0; v < w->values; v++)
        if (w->barred[v] && is_saved(w, (plim_value)v)) w->barred[root_of(w, (plim_value)v)] = true;
}

/* Whether a node multiplies its input i in 16 bits. */
static bool is_factor(const struct narrower *w, const plim__node *node, size_t i) {
    return w->factors && i < 2 && node->op && (node->op->flags & PLIM__OP_FACTORS);
}

/* Who shares whose memory, and which node of the forward pass reads it last. */
static void find_last(struct narrower *w) {
    plim_graph *g = w->g;
    for (size_t v = 0; v < w->values; v++) w->memory[v] = (plim_value)v;
    for (size_t n = 0; n < w->nodes; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead) continue;
        for (size_t i = 0; is_view(node) && i < node->outputs.count; i++)
            if (node->outputs.items[i] >= 0) w->memory[node->outputs.items[i]] = w->memory[node->inputs.items[0]];
        for (size_t i = 0; node->phase == PLIM__FORWARD && i < node->inputs.count; i++)
            if (node->inputs.items[i] >= 0) {
                w->last[w->memory[node->inputs.items[i]]] = (int32_t)n;
                w->factored[w->memory[node->inputs.items[i]]] |= is_factor(w, node, i);
            }
    }
}

/* From the end, as barred ones are. */
static void find_others(struct narrower *w) {
    plim_graph *g = w->g;
    for (size_t i = 0; i < g->outputs.count; i++) w->others[g->outputs.items[i]] = true;
    for (size_t n = w->nodes; n-- > 0;) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || node->phase == PLIM__FORWARD) continue;
        bool moves = is_moving(w, node), read = !moves;
        for (size_t i = 0; moves && i < node->outputs.count; i++)
            read |= node->outputs.items[i] >= 0 && w->others[node->outputs.items[i]];
        for (size_t i = 0; read && i < node->inputs.count; i++)
            if (node->inputs.items[i] >= 0 && !is_factor(w, node, i)) w->others[node->inputs.items[i]] = true;
    }
}

/* --- new nodes ------------------------------------------------------------------------------------------------ */

/* A new node that will come before node `before`. */
static plim_status add_node(struct narrower *w, const plim__op *row, const char *name, int32_t before, int32_t *made) {
    *made = plim__graph_add_node(w->g, row->domain, row->name, name, row->since);
    PLIM_TRY(plim_graph_status(w->g, w->error));
    w->g->nodes.items[*made].op = row;
    return plim__vec_push(&w->before, before) ? PLIM_OK : plim__fail_memory(w->error, "a training graph", 1);
}

static plim_status add_output(struct narrower *w, int32_t node, plim_dtype dtype, const plim__shape *shape,
                              plim_value *made) {
    plim__shape copy = *shape; /* values move when one is added */
    *made = plim__graph_add_value(w->g, NULL, PLIM__VALUE_NODE, dtype, &copy);
    if (*made >= 0) plim__node_add_output(w->g, node, *made);
    return plim_graph_status(w->g, w->error);
}

static plim_status add_narrow(struct narrower *w, plim_value v) {
    int64_t elements = plim__shape_elements(&value_at(w, v)->shape);
    int32_t producer = value_at(w, v)->producer, last = w->last[w->memory[v]], made;
    PLIM_TRY(add_node(w, plim__op_find(PLIM__DOMAIN, "Narrow", 1), w->g->nodes.items[producer].name,
                      last > producer ? last : producer + 1, &made));
    plim_graph_set_int(w->g, made, "to", w->to);
    plim__node_add_input(w->g, made, v);
    w->g->nodes.items[made].phase = PLIM__FORWARD;
    PLIM_TRY(add_output(w, made, w->to, &(plim__shape){.rank = 1, .dims = {elements}}, &w->kept[v].narrow));
    if (!w->kept[v].read) w->saved += (size_t)elements * 2;
    return PLIM_OK;
}

static plim_status add_widen(struct narrower *w, plim_value v, int32_t reader) {
    int32_t made;
    PLIM_TRY(add_node(w, plim__op_find(PLIM__DOMAIN, "Widen", 1), w->g->nodes.items[reader].name, reader, &made));
    plim__node_add_input(w->g, made, w->kept[v].narrow);
    plim__node_add_input(w->g, made, v); /* for its layout */
    w->g->nodes.items[made].phase = PLIM__BACKWARD;
    return add_output(w, made, PLIM_F32, &value_at(w, v)->shape, &w->kept[v].wide);
}

/* A view again, of what was widened: `from` stands for its first input. */
static plim_status add_view(struct narrower *w, int32_t view, plim_value from, int32_t reader) {
    const plim__node *old = &w->g->nodes.items[view];
    int32_t made;
    PLIM_TRY(add_node(w, old->op, old->name, reader, &made));
    old = &w->g->nodes.items[view]; /* nodes move when one is added */
    w->g->nodes.items[made].phase = PLIM__BACKWARD;
    w->g->nodes.items[made].version = old->version;
    for (size_t i = 0; i < old->inputs.count; i++)
        plim__node_add_input(w->g, made, i == 0 ? from : old->inputs.items[i]);
    if (!plim__node_copy_attributes(w->g, made, old)) return plim__fail_memory(w->error, "a training graph", 1);
    for (size_t i = 0; i < old->outputs.count; i++) {
        plim_value out = old->outputs.items[i];
        if (out < 0)
            plim__node_add_output(w->g, made, PLIM_NO_VALUE);
        else
            PLIM_TRY(add_output(w, made, value_at(w, out)->dtype, &value_at(w, out)->shape, &w->kept[out].wide));
        if (out >= 0) w->kept[out].reader = reader;
    }
    return plim_graph_status(w->g, w->error);
}

static bool is_near(const struct narrower *w, plim_value v, int32_t reader) {
    return w->kept[v].wide >= 0 && reader - w->kept[v].reader <= NEAR;
}

/* The float32 value that stands for v in a node of the backward pass. */
static plim_status stand_in(struct narrower *w, plim_value v, int32_t reader, plim_value *wide) {
    plim_value root = root_of(w, v);
    if (w->kept[root].narrow < 0) PLIM_TRY(add_narrow(w, root));
    if (!is_near(w, root, reader)) PLIM_TRY(add_widen(w, root, reader));
    w->kept[root].reader = reader;
    plim_value at = root;
    while (at != v) { /* the view next to `at` on the way to v */
        plim_value next = v;
        while (w->g->nodes.items[value_at(w, next)->producer].inputs.items[0] != at)
            next = w->g->nodes.items[value_at(w, next)->producer].inputs.items[0];
        int32_t view = value_at(w, next)->producer;
        const plim__value *made = w->kept[next].wide >= 0 ? value_at(w, w->kept[next].wide) : NULL;
        bool there = made && w->g->nodes.items[made->producer].inputs.items[0] == w->kept[at].wide;
        if (!there) PLIM_TRY(add_view(w, view, w->kept[at].wide, reader));
        at = next;
    }
    *wide = w->kept[v].wide;
    return PLIM_OK;
}

static bool is_narrowed(const struct narrower *w, plim_value v) {
    if (!is_saved(w, v)) return false;
    plim_value root = root_of(w, v);
    return is_saved(w, root) && !w->barred[root] && plim__shape_elements(&value_at(w, root)->shape) >= SMALLEST;
}

/* Node n reads v for products only, which read what those of the forward pass have read. */
static bool reads_as_factor(struct narrower *w, size_t n, size_t input, plim_value v) {
    const plim__node *node = &w->g->nodes.items[n];
    bool only = is_factor(w, node, input);
    if (w->factors && !only && is_moving(w, node) && input == 0) {
        only = true;
        for (size_t i = 0; i < node->outputs.count; i++)
            only &= node->outputs.items[i] < 0 || !w->others[node->outputs.items[i]];
    }
    if (!only || !w->factored[w->memory[v]]) return false;
    struct kept *root = &w->kept[root_of(w, v)];
    if (!root->read && root->narrow < 0)
        w->saved += (size_t)plim__shape_elements(&value_at(w, root_of(w, v))->shape) * 2;
    return root->read = true;
}

static plim_status reread(struct narrower *w) {
    for (size_t n = 0; n < w->nodes; n++) {
        if (w->g->nodes.items[n].dead || w->g->nodes.items[n].phase == PLIM__FORWARD) continue;
        for (size_t i = 0; i < w->g->nodes.items[n].inputs.count; i++) {
            plim_value v = w->g->nodes.items[n].inputs.items[i], wide;
            if (!is_read(&w->g->nodes.items[n], i) || (size_t)v >= w->values || !is_narrowed(w, v)) continue;
            if (reads_as_factor(w, n, i, v)) continue;
            PLIM_TRY(stand_in(w, v, (int32_t)n, &wide));
            plim__node_set_input(w->g, (int32_t)n, i, wide);
        }
    }
    return PLIM_OK;
}

/* --- their places --------------------------------------------------------------------------------------------- */

/* The nodes that were added come before those that they are for, in the order in which they were added. */
static plim_status place(struct narrower *w) {
    plim_graph *g = w->g;
    size_t count = g->nodes.count, filled = 0;
    plim__node *sorted = plim__alloc_array(count, sizeof *sorted);
    int32_t *places = plim__alloc_array(count, sizeof *places), *next = plim__alloc_array(count, sizeof *next),
            *first = plim__alloc_array(count, sizeof *first);
    bool good = sorted && places && next && first;
    for (size_t n = 0; good && n < count; n++) first[n] = -1;
    for (size_t k = w->before.count; good && k-- > 0;) { /* lists in the order of the nodes */
        next[k] = first[w->before.items[k]];
        first[w->before.items[k]] = (int32_t)k;
    }
    for (size_t n = 0; good && n < w->nodes; n++) {
        for (int32_t k = first[n]; k >= 0; k = next[k]) {
            places[w->nodes + (size_t)k] = (int32_t)filled;
            sorted[filled++] = g->nodes.items[w->nodes + (size_t)k];
        }
        places[n] = (int32_t)filled;
        sorted[filled++] = g->nodes.items[n];
    }
    if (good) memcpy(g->nodes.items, sorted, count * sizeof *sorted);
    for (size_t v = 0; good && v < g->values.count; v++)
        if (g->values.items[v].producer >= 0) g->values.items[v].producer = places[g->values.items[v].producer];
    plim__free(sorted);
    plim__free(places);
    plim__free(next);
    plim__free(first);
    return good ? PLIM_OK : plim__fail_memory(w->error, "a training graph", count * sizeof *sorted);
}

plim_status plim__gradients_narrow(plim_graph *g, plim_dtype to, bool factors, size_t *saved_bytes, plim_error *error) {
    struct narrower w = {
        .g = g, .to = to, .factors = factors, .values = g->values.count, .nodes = g->nodes.count, .error = error};
    w.memory = plim__alloc_array(w.values, sizeof *w.memory);
    w.last = plim__alloc_zero(w.values, sizeof *w.last);
    w.barred = plim__alloc_zero(w.values, sizeof *w.barred);
    w.kept = plim__alloc_array(w.values, sizeof *w.kept);
    w.factored = plim__alloc_zero(w.values, sizeof *w.factored);
    w.others = plim__alloc_zero(w.values, sizeof *w.others);
    bool good = w.memory && w.last && w.barred && w.kept && w.factored && w.others;
    plim_status status = good ? PLIM_OK : plim__fail_memory(error, "a training graph", w.values * sizeof *w.kept);
    for (size_t v = 0; good && v < w.values; v++) w.kept[v] = (struct kept){PLIM_NO_VALUE, false, PLIM_NO_VALUE, 0};
    if (good) {
        find_barred(&w);
        find_last(&w);
        find_others(&w);
        status = reread(&w);
    }
    if (status == PLIM_OK) status = place(&w);
    *saved_bytes = w.saved;
    plim__free(w.memory);
    plim__free(w.last);
    plim__free(w.barred);
    plim__free(w.factored);
    plim__free(w.others);
    plim__free(w.kept);
    plim__vec_free(&w.before);
    return status;
}
