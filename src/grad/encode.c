/* What the backward pass needs of a tensor is often one bit of each number: which side of zero it is on, whether it was
 * clipped. Where nothing else in the backward pass reads the tensor, the bits are saved in its place: a 32nd of the bytes,
 * and the same gradients, bit for bit. Where something does, the tensor lives on anyway and stays what is read.
 *
 *   y = relu(x) ─┬─→ pool ...                        y = relu(x) ─┬─→ pool ...
 *                │                        becomes                  └─→ bits
 *                └─→ dx = ReluGrad(dy, y)                                └─→ dx = ReluBitsGrad(dy, bits)
 */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "grad/gradient.h"
#include "ops/activation.h"

struct encoder {
    plim_graph *g;
    plim_value *memory; /* of each value: the first one that may share its memory */
    int32_t *readers;   /* of the memory: nodes of the backward pass and the update, without those that bits serve */
    plim_error *error;
};

enum { SMALLEST = 256 }; /* elements for which it is worth a step */

/* A backward pass that bits would serve. */
static bool is_served(const struct encoder *e, const plim__node *node) {
    if (node->dead || node->phase == PLIM__FORWARD || strcmp(node->domain, PLIM__DOMAIN) != 0 ||
        node->inputs.count != 2)
        return false;
    size_t length = strlen(node->op_name);
    plim__function f = plim__function_of(node);
    if (f == PLIM__FUNCTION_COUNT || !plim__functions[f].bits || strcmp(node->op_name + length - 4, "Grad") != 0)
        return false;
    const plim__value *saved = &e->g->values.items[node->inputs.items[1]];
    return saved->kind == PLIM__VALUE_NODE && saved->producer >= 0 && saved->dtype == PLIM_F32 &&
           e->g->nodes.items[saved->producer].phase == PLIM__FORWARD && plim__shape_elements(&saved->shape) >= SMALLEST;
}

/* Who reads which memory. Nodes are in topological order. */
static void find_readers(struct encoder *e) {
    plim_graph *g = e->g;
    for (size_t v = 0; v < g->values.count; v++) e->memory[v] = (plim_value)v;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead) continue;
        plim_value from = plim__node_in(node, 0);
        bool view = node->op && (node->op->flags & PLIM__OP_VIEW) && from >= 0;
        for (size_t i = 0; view && i < node->outputs.count; i++)
            if (node->outputs.items[i] >= 0) e->memory[node->outputs.items[i]] = e->memory[from];
        size_t read = is_served(e, node) ? 1 : node->inputs.count;
        for (size_t i = 0; node->phase != PLIM__FORWARD && i < read; i++)
            if (node->inputs.items[i] >= 0) e->readers[e->memory[node->inputs.items[i]]]++;
    }
    for (size_t i = 0; i < g->outputs.count; i++) e->readers[e->memory[g->outputs.items[i]]]++;
}

/* The node's attributes on another one. */
static void copy_numbers(plim_graph *g, int32_t from, int32_t to) {
    plim__function f = plim__function_of(&g->nodes.items[from]);
    float numbers[2];
    plim__function_attributes(f, &g->nodes.items[from], &numbers[0], &numbers[1]);
    if (plim__functions[f].a) plim_graph_set_float(g, to, plim__functions[f].a, numbers[0]);
    if (plim__functions[f].b) plim_graph_set_float(g, to, plim__functions[f].b, numbers[1]);
}

static plim_status add_bits(struct encoder *e, int32_t n) {
    plim_graph *g = e->g;
    plim_value saved = g->nodes.items[n].inputs.items[1];
    const char *name = plim__functions[plim__function_of(&g->nodes.items[n])].name;
    char op[48];
    snprintf(op, sizeof op, "%sBits", name);
    plim__shape words = {.rank = 1, .dims = {(plim__shape_elements(&g->values.items[saved].shape) + 31) / 32}};
    int32_t made = plim__graph_add_node(g, PLIM__DOMAIN, op, g->nodes.items[g->values.items[saved].producer].name, 1);
    plim_value bits = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_U32, &words);
    PLIM_TRY(plim_graph_status(g, e->error));
    plim__node_add_input(g, made, saved);
    plim__node_add_output(g, made, bits);
    copy_numbers(g, n, made);
    plim__node *node = &g->nodes.items[n];
    snprintf(op, sizeof op, "%sBitsGrad", name);
    char *renamed = plim__strdup(op);
    PLIM_TRY(renamed ? plim_graph_status(g, e->error) : plim__fail_memory(e->error, "a training graph", sizeof op));
    plim__free(node->op_name);
    node->op_name = renamed;
    node->inputs.items[1] = bits;
    plim__node_add_input(g, n, saved); /* for its layout */
    g->nodes.items[made].op = plim__op_find(PLIM__DOMAIN, g->nodes.items[made].op_name, 1);
    g->nodes.items[n].op = plim__op_find(PLIM__DOMAIN, g->nodes.items[n].op_name, 1);
    return plim_graph_status(g, e->error);
}

/* Nodes from `first` on come right behind the producer of what they read, so that it need not wait for them. */
static plim_status move_forward(struct encoder *e, size_t first) {
    plim_graph *g = e->g;
    size_t count = g->nodes.count, filled = 0;
    plim__node *sorted = plim__alloc_array(count, sizeof *sorted);
    int32_t *places = plim__alloc_array(count, sizeof *places);
    if (!sorted || !places) {
        plim__free(sorted);
        plim__free(places);
        return plim__fail_memory(e->error, "a training graph", count * sizeof *sorted);
    }
    for (size_t n = 0; n < first; n++) {
        places[n] = (int32_t)filled;
        sorted[filled++] = g->nodes.items[n];
        for (size_t k = first; k < count; k++) {
            if (g->values.items[g->nodes.items[k].inputs.items[0]].producer != (int32_t)n) continue;
            places[k] = (int32_t)filled;
            sorted[filled++] = g->nodes.items[k];
        }
    }
    memcpy(g->nodes.items, sorted, count * sizeof *sorted);
    for (size_t v = 0; v < g->values.count; v++)
        if (g->values.items[v].producer >= 0) g->values.items[v].producer = places[g->values.items[v].producer];
    plim__free(sorted);
    plim__free(places);
    return PLIM_OK;
}

plim_status plim__gradients_encode(plim_graph *g, bool always, size_t *saved_bytes, plim_error *error) {
    struct encoder e = {.g = g, .error = error};
    size_t nodes = g->nodes.count, values = g->values.count;
    *saved_bytes = 0;
    e.memory = plim__alloc_array(values, sizeof *e.memory);
    e.readers = plim__alloc_zero(values, sizeof *e.readers);
    plim_status status =
        e.memory && e.readers ? PLIM_OK : plim__fail_memory(error, "a training graph", values * sizeof *e.memory);
    if (status == PLIM_OK) find_readers(&e);
    for (size_t n = 0; n < nodes && status == PLIM_OK; n++) {
        if (!is_served(&e, &g->nodes.items[n])) continue;
        plim_value saved = g->nodes.items[n].inputs.items[1];
        bool lives = e.readers[e.memory[saved]] > 0;
        if (lives && !always) continue;
        size_t elements = (size_t)plim__shape_elements(&g->values.items[saved].shape);
        if (!lives) *saved_bytes += elements * sizeof(float) - (elements + 31) / 32 * sizeof(uint32_t);
        status = add_bits(&e, (int32_t)n);
    }
    if (status == PLIM_OK && g->nodes.count > nodes) status = move_forward(&e, nodes);
    plim__free(e.memory);
    plim__free(e.readers);
    return status;
}
