/* Changing graphs: replacing values, ordering and pruning nodes, cloning, binding symbols. */
#include <string.h>

#include "core/error.h"
#include "graph/graph.h"

plim_status plim__graph_swap_names(plim_graph *g, plim_value from, plim_value to) {
    plim__value *a = &g->values.items[from], *b = &g->values.items[to];
    char *name = a->name;
    a->name = b->name;
    b->name = name;
    if (!plim__map_put(&g->names, a->name, from) || !plim__map_put(&g->names, b->name, to))
        return plim__graph_fail(g, PLIM_NO_MEMORY, "out of memory while rewriting the graph");
    return PLIM_OK;
}

plim_status plim__graph_rename(plim_graph *g, plim_value value, const char *name) {
    char *copy = plim__strdup(name);
    if (!copy || !plim__map_put(&g->names, copy, value)) {
        plim__free(copy);
        return plim__graph_fail(g, PLIM_NO_MEMORY, "out of memory while rewriting the graph");
    }
    plim__map_remove(&g->names, g->values.items[value].name);
    plim__free(g->values.items[value].name);
    g->values.items[value].name = copy;
    return PLIM_OK;
}

plim_status plim__graph_replace(plim_graph *g, plim_value from, plim_value to) {
    plim__graph_reread(g, from, to);
    bool output = false;
    for (size_t i = 0; i < g->outputs.count; i++)
        if (g->outputs.items[i] == from) {
            g->outputs.items[i] = to;
            output = true;
        }
    bool free_to_rename = g->values.items[to].kind == PLIM__VALUE_NODE;
    for (size_t i = 0; i < g->outputs.count; i++) /* an output that keeps its own name */
        free_to_rename &= g->outputs.items[i] != to || output;
    if (output && free_to_rename) return plim__graph_swap_names(g, from, to);
    return PLIM_OK;
}

int32_t *plim__graph_uses(const plim_graph *g) {
    int32_t *uses = plim__alloc_zero(g->values.count, sizeof *uses);
    if (!uses) return NULL;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        for (size_t i = 0; !node->dead && i < node->inputs.count; i++)
            if (node->inputs.items[i] >= 0) uses[node->inputs.items[i]]++;
    }
    for (size_t i = 0; i < g->outputs.count; i++) uses[g->outputs.items[i]]++;
    return uses;
}

const char *plim__node_label(const plim_graph *g, const plim__node *node) {
    if (*node->name) return node->name;
    for (size_t i = 0; i < node->outputs.count; i++)
        if (node->outputs.items[i] >= 0) return g->values.items[node->outputs.items[i]].name;
    return node->op_name;
}

/* What ordering needs of each node. */
struct visit {
    enum { NEW, OPEN, DONE } state;
    size_t next;   /* input to visit */
    int32_t below; /* the node that waits for this one; -1 at the bottom */
    int32_t place; /* in the new order */
};

/* A value that a node should make, and none does. */
static bool is_orphan(const plim_graph *g, plim_value v) {
    return v >= 0 && g->values.items[v].kind == PLIM__VALUE_NODE && g->values.items[v].producer < 0;
}

/* Places node `first` after everything it needs: depth first, on a stack of our own, since chains are long. */
static plim_status place_node(const plim_graph *g, int32_t first, struct visit *visits, int32_t *filled,
                              plim_error *error) {
    visits[first] = (struct visit){.state = OPEN, .below = -1};
    for (int32_t n = first; n >= 0;) {
        const plim__node *node = &g->nodes.items[n];
        if (visits[n].next == node->inputs.count) {
            visits[n].state = DONE;
            visits[n].place = (*filled)++;
            n = visits[n].below;
            continue;
        }
        plim_value input = node->inputs.items[visits[n].next++];
        int32_t needed = input < 0 ? -1 : g->values.items[input].producer;
        if (needed < 0 && !node->dead && is_orphan(g, input))
            return plim__fail(error, PLIM_CORRUPT, "node '%s' reads '%s', which nothing makes",
                              plim__node_label(g, node), g->values.items[input].name);
        if (needed < 0 || visits[needed].state == DONE) continue;
        if (visits[needed].state == OPEN)
            return plim__fail(error, PLIM_CORRUPT, "the graph has a cycle through node '%s'",
                              plim__node_label(g, &g->nodes.items[needed]));
        visits[needed] = (struct visit){.state = OPEN, .below = n};
        n = needed;
    }
    return PLIM_OK;
}

/* Nodes come in their old order, but each after its producers: a sorted graph stays as it is. */
plim_status plim__graph_sort(plim_graph *g, plim_error *error) {
    for (size_t i = 0; i < g->outputs.count; i++)
        if (is_orphan(g, g->outputs.items[i]))
            return plim__fail(error, PLIM_CORRUPT, "nothing makes the output '%s'",
                              g->values.items[g->outputs.items[i]].name);
    size_t count = g->nodes.count;
    plim__node *sorted = plim__alloc_array(count, sizeof *sorted);
    struct visit *visits = plim__alloc_zero(count, sizeof *visits);
    plim_status status =
        sorted && visits ? PLIM_OK : plim__fail_memory(error, "sorting a graph", count * sizeof *sorted);
    int32_t filled = 0;
    for (size_t n = 0; status == PLIM_OK && n < count; n++)
        if (visits[n].state == NEW) status = place_node(g, (int32_t)n, visits, &filled, error);
    if (status == PLIM_OK) {
        plim__readers_drop(g); /* it knows nodes by their places */
        for (size_t n = 0; n < count; n++) sorted[visits[n].place] = g->nodes.items[n];
        if (count) memcpy(g->nodes.items, sorted, count * sizeof *sorted);
        for (size_t v = 0; v < g->values.count; v++)
            if (g->values.items[v].producer >= 0)
                g->values.items[v].producer = visits[g->values.items[v].producer].place;
    }
    plim__free(sorted);
    plim__free(visits);
    return status;
}

/* Nodes that feed nothing are dead. Nodes are in topological order, so one backward walk finds all. */
plim_status plim__graph_prune(plim_graph *g, plim_error *error) {
    bool *needed = plim__alloc_zero(g->values.count, sizeof *needed);
    if (!needed) return plim__fail_memory(error, "pruning a graph", g->values.count);
    for (size_t i = 0; i < g->outputs.count; i++) needed[g->outputs.items[i]] = true;
    for (size_t n = g->nodes.count; n-- > 0;) {
        plim__node *node = &g->nodes.items[n];
        bool alive = !node->dead && node->phase != PLIM__FORWARD && node->outputs.count == 0; /* writes to state */
        for (size_t i = 0; !node->dead && i < node->outputs.count; i++)
            alive |= node->outputs.items[i] >= 0 && needed[node->outputs.items[i]];
        node->dead = !alive;
        for (size_t i = 0; alive && i < node->inputs.count; i++)
            if (node->inputs.items[i] >= 0) needed[node->inputs.items[i]] = true;
    }
    /* constants that only dead nodes used give their memory back */
    for (size_t v = 0; v < g->values.count; v++)
        if (!needed[v] && g->values.items[v].kind == PLIM__VALUE_CONSTANT) {
            plim__tensor_release(g->values.items[v].tensor);
            g->values.items[v].tensor = NULL;
        }
    plim__free(needed);
    return PLIM_OK;
}

plim_status plim__graph_bind(plim_graph *g, const char *symbol, int64_t size, plim_error *error) {
    if (size < 0) return plim__fail(error, PLIM_INVALID, "a dimension cannot be %lld", (long long)size);
    for (size_t v = 0; v < g->values.count; v++) {
        plim__shape *shape = &g->values.items[v].shape;
        for (int i = 0; i < shape->rank; i++) {
            const char *name = plim_graph_symbol_name(g, shape->dims[i]);
            if (name && (!symbol || strcmp(name, symbol) == 0)) shape->dims[i] = size;
        }
    }
    return PLIM_OK;
}

bool plim__attribute_clone(const plim__attribute *from, const char *name, plim__attribute *to) {
    *to = (plim__attribute){.type = from->type,
                            .i = from->i,
                            .f = from->f,
                            .length = from->length,
                            .captured = from->captured,
                            .rewritten = from->rewritten};
    bool ok = (to->name = plim__strdup(name)) != NULL;
    if (from->s) ok &= (to->s = plim__strndup(from->s, from->length)) != NULL;
    if (from->ints && (to->ints = plim__alloc_array(from->length, sizeof *to->ints))) {
        if (from->length) memcpy(to->ints, from->ints, from->length * sizeof *to->ints);
    }
    if (from->floats && (to->floats = plim__alloc_array(from->length, sizeof *to->floats))) {
        if (from->length) memcpy(to->floats, from->floats, from->length * sizeof *to->floats);
    }
    if (from->strings && (to->strings = plim__alloc_zero(from->length, sizeof *to->strings)))
        for (size_t i = 0; i < from->length; i++) ok &= (to->strings[i] = plim__strdup(from->strings[i])) != NULL;
    ok &= (!from->ints || to->ints) && (!from->floats || to->floats) && (!from->strings || to->strings);
    if (from->graph) ok &= (to->graph = plim_graph_clone(from->graph)) != NULL;
    to->tensor = plim__tensor_retain(from->tensor);
    if (!ok) plim__attribute_free(to);
    return ok;
}

bool plim__node_copy_attributes(plim_graph *g, int32_t to, const plim__node *from) {
    bool ok = true;
    for (size_t i = 0; ok && i < from->attributes.count; i++) {
        plim__attribute copy;
        ok = plim__attribute_clone(&from->attributes.items[i], from->attributes.items[i].name, &copy) &&
             plim__node_set_attribute(g, to, copy);
    }
    return ok;
}

static bool clone_node(plim_graph *g, const plim__node *from) {
    int32_t id = plim__graph_add_node(g, from->domain, from->op_name, from->name, from->version);
    if (id < 0) return false;
    g->nodes.items[id].op = from->op;
    g->nodes.items[id].dead = from->dead;
    g->nodes.items[id].phase = from->phase;
    bool ok = true;
    for (size_t i = 0; i < from->inputs.count; i++) ok &= plim__node_add_input(g, id, from->inputs.items[i]);
    for (size_t i = 0; i < from->outputs.count; i++)
        ok &= plim__vec_push(&g->nodes.items[id].outputs, from->outputs.items[i]);
    return ok && plim__node_copy_attributes(g, id, from);
}

static bool clone_text(char **to, const char *from) { return !from || (*to = plim__strdup(from)) != NULL; }

static bool clone_info(plim_graph *g, const plim__model_info *from) {
    plim__model_info *to = &g->info;
    to->ir_version = from->ir_version;
    to->model_version = from->model_version;
    bool ok = clone_text(&to->producer_name, from->producer_name) &&
              clone_text(&to->producer_version, from->producer_version) &&
              clone_text(&to->model_domain, from->model_domain) && clone_text(&to->doc, from->doc) &&
              clone_text(&to->graph_name, from->graph_name) && clone_text(&to->signature, from->signature);
    for (size_t i = 0; ok && i < from->opsets.count; i++)
        ok = plim__graph_set_opset(g, from->opsets.items[i].domain, from->opsets.items[i].version);
    for (size_t i = 0; ok && i < from->properties.count; i++) {
        struct plim__property p = {plim__strdup(from->properties.items[i].key),
                                   plim__strdup(from->properties.items[i].value)};
        ok = p.key && p.value && plim__vec_push(&to->properties, p);
        if (!ok) {
            plim__free(p.key);
            plim__free(p.value);
        }
    }
    return ok;
}

plim_graph *plim_graph_clone(const plim_graph *from) {
    plim_graph *g = from ? plim_graph_create() : NULL;
    if (!g) return NULL;
    g->failure = from->failure;
    if (g->failure.status != PLIM_OK) return g;
    bool ok = clone_info(g, &from->info);
    for (size_t i = 0; ok && i < from->symbols.count; i++)
        ok = plim_graph_symbol(g, from->symbols.items[i]) == -1 - (int64_t)i;
    for (size_t v = 0; ok && v < from->values.count; v++) {
        const plim__value *value = &from->values.items[v];
        ok = plim__graph_add_value(g, value->name, value->kind, value->dtype, &value->shape) == (plim_value)v;
        if (!ok) break;
        g->values.items[v].producer = value->producer;
        g->values.items[v].is_gradient = value->is_gradient;
        g->values.items[v].role = value->role;
        g->values.items[v].tensor = plim__tensor_retain(value->tensor);
    }
    for (size_t i = 0; ok && i < from->remarks.count; i++)
        ok = plim__graph_remark(g, from->remarks.items[i].kind, "%s", from->remarks.items[i].text) == PLIM_OK;
    for (size_t n = 0; ok && n < from->nodes.count; n++) ok = clone_node(g, &from->nodes.items[n]);
    for (size_t i = 0; ok && i < from->inputs.count; i++) ok = plim__vec_push(&g->inputs, from->inputs.items[i]);
    for (size_t i = 0; ok && i < from->outputs.count; i++) ok = plim__vec_push(&g->outputs, from->outputs.items[i]);
    if (ok) return g;
    plim_graph_free(g);
    return NULL;
}

bool plim__graph_is_valid(const plim_graph *g, plim_error *error) {
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (!value->name || plim__map_get(&g->names, value->name, -1) != (int64_t)v)
            return plim__fail(error, PLIM_INTERNAL, "value %zu is not found by its name", v), false;
        if (value->producer >= (int32_t)g->nodes.count)
            return plim__fail(error, PLIM_INTERNAL, "'%s' has no such producer", value->name), false;
    }
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        for (size_t i = 0; i < node->inputs.count; i++)
            if (node->inputs.items[i] >= (plim_value)g->values.count)
                return plim__fail(error, PLIM_INTERNAL, "node '%s' reads a value that does not exist",
                                  plim__node_label(g, node)),
                       false;
        for (size_t i = 0; i < node->outputs.count; i++)
            if (node->outputs.items[i] >= 0 && !node->dead &&
                g->values.items[node->outputs.items[i]].producer != (int32_t)n)
                return plim__fail(error, PLIM_INTERNAL, "an output of node '%s' has another producer",
                                  plim__node_label(g, node)),
                       false;
    }
    return true;
}
