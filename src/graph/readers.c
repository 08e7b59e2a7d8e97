/* Who reads a value: by walking over all nodes, or, while there is one, by an index. Patterns ask at every node, and a file may
 * have any number of them.
 *
 *   first[value] → entry {node, input, next} → entry → -1
 *
 * An entry may be stale: its node died, or has fewer inputs now. None is missing: whoever puts a value into an input of a
 * node adds one (plim__node_add_input, plim__node_set_input, plim__graph_replace). */
#include "graph/graph.h"

#include "core/error.h"

struct entry {
    int32_t node, input, next;
};

struct plim__readers {
    PLIM_VEC(int32_t) first; /* of each value; -1: none */
    PLIM_VEC(struct entry) entries;
};

static bool reads(const plim_graph *g, int32_t node, size_t input, plim_value value) {
    const plim__node *n = &g->nodes.items[node];
    return !n->dead && input < n->inputs.count && n->inputs.items[input] == value;
}

/* Values may be newer than the index. */
static bool has_room(plim__readers *readers, plim_value value) {
    while (readers->first.count <= (size_t)value)
        if (!plim__vec_push(&readers->first, -1)) return false;
    return true;
}

static bool add(plim__readers *readers, plim_value value, int32_t node, size_t input) {
    if (!has_room(readers, value)) return false;
    int32_t *first = &readers->first.items[value];
    struct entry entry = {node, (int32_t)input, *first};
    if (!plim__vec_push(&readers->entries, entry)) return false;
    *first = (int32_t)readers->entries.count - 1;
    return true;
}

static int32_t first_of(const plim__readers *readers, plim_value value) {
    return value >= 0 && (size_t)value < readers->first.count ? readers->first.items[value] : -1;
}

void plim__readers_drop(plim_graph *g) {
    if (!g->readers) return;
    plim__vec_free(&g->readers->first);
    plim__vec_free(&g->readers->entries);
    plim__free(g->readers);
    g->readers = NULL;
}

/* What is left of the index says too little. */
static void no_memory(plim_graph *g) {
    plim__graph_fail(g, PLIM_NO_MEMORY, "out of memory while rewriting the graph");
    plim__readers_drop(g);
}

void plim__readers_index(plim_graph *g) {
    if (g->readers) return;
    g->readers = plim__alloc_zero(1, sizeof *g->readers);
    if (!g->readers) no_memory(g);
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        for (size_t i = 0; !node->dead && i < node->inputs.count; i++)
            plim__readers_add(g, (int32_t)n, i, node->inputs.items[i]);
    }
}

void plim__readers_add(plim_graph *g, int32_t node, size_t input, plim_value value) {
    if (g->readers && value >= 0 && !add(g->readers, value, node, input)) no_memory(g);
}

size_t plim__graph_readers(const plim_graph *g, plim_value value, int32_t *nodes, size_t most) {
    size_t count = 0;
    if (value < 0) return 0; /* a missing input is no value */
    if (g->readers) {
        const struct entry *entries = g->readers->entries.items;
        for (int32_t e = first_of(g->readers, value); e >= 0 && count < most; e = entries[e].next)
            if (reads(g, entries[e].node, (size_t)entries[e].input, value)) nodes[count++] = entries[e].node;
        return count;
    }
    for (size_t n = 0; n < g->nodes.count; n++)
        for (size_t i = 0; i < g->nodes.items[n].inputs.count && count < most; i++)
            if (reads(g, (int32_t)n, i, value)) nodes[count++] = (int32_t)n;
    return count;
}

bool plim__graph_is_output(const plim_graph *g, plim_value value) {
    for (size_t i = 0; i < g->outputs.count; i++)
        if (g->outputs.items[i] == value) return true;
    return false;
}

int32_t plim__graph_only_user(const plim_graph *g, plim_value value) {
    int32_t nodes[2];
    if (plim__graph_is_output(g, value) || plim__graph_readers(g, value, nodes, 2) != 1) return -1;
    return nodes[0];
}

bool plim__graph_is_used(const plim_graph *g, plim_value value) {
    int32_t node;
    return value >= 0 && (plim__graph_is_output(g, value) || plim__graph_readers(g, value, &node, 1) > 0);
}

/* Of the value that the input held until now. */
static void remove_entry(plim__readers *readers, plim_value value, int32_t node, size_t input) {
    if (first_of(readers, value) < 0) return;
    struct entry *entries = readers->entries.items;
    for (int32_t *at = &readers->first.items[value]; *at >= 0; at = &entries[*at].next)
        if (entries[*at].node == node && (size_t)entries[*at].input == input) {
            *at = entries[*at].next;
            return;
        }
}

void plim__node_set_input(plim_graph *g, int32_t node, size_t input, plim_value value) {
    plim_value *slot = &g->nodes.items[node].inputs.items[input];
    if (g->readers) remove_entry(g->readers, *slot, node, input);
    *slot = value;
    plim__readers_add(g, node, input, value);
}

static void reread_all(plim_graph *g, plim_value from, plim_value to) {
    for (size_t n = 0; n < g->nodes.count; n++)
        for (size_t i = 0; i < g->nodes.items[n].inputs.count; i++)
            if (reads(g, (int32_t)n, i, from)) g->nodes.items[n].inputs.items[i] = to;
}

void plim__graph_reread(plim_graph *g, plim_value from, plim_value to) {
    if (from == to) return;
    if (g->readers && !has_room(g->readers, to)) no_memory(g);
    if (!g->readers) {
        reread_all(g, from, to);
        return;
    }
    int32_t e = first_of(g->readers, from), next;
    if (e >= 0) g->readers->first.items[from] = -1;
    for (; e >= 0; e = next) { /* from one list to the other, but for what is stale */
        struct entry *entry = &g->readers->entries.items[e];
        next = entry->next;
        if (!reads(g, entry->node, (size_t)entry->input, from)) continue;
        g->nodes.items[entry->node].inputs.items[entry->input] = to;
        entry->next = g->readers->first.items[to];
        g->readers->first.items[to] = e;
    }
}
