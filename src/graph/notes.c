/* Notes of a model: texts by key, which travel with its file. */
#include <string.h>

#include "core/arguments.h"
#include "graph/graph.h"

static struct plim__property *find(const plim_graph *g, const char *key) {
    for (size_t i = 0; i < g->info.properties.count; i++)
        if (strcmp(g->info.properties.items[i].key, key) == 0) return &g->info.properties.items[i];
    return NULL;
}

static void remove_note(plim_graph *g, struct plim__property *note) {
    struct plim__property *end = g->info.properties.items + g->info.properties.count;
    plim__free(note->key);
    plim__free(note->value);
    memmove(note, note + 1, (size_t)(end - note - 1) * sizeof *note);
    g->info.properties.count--;
}

static bool add_note(plim_graph *g, const char *key, const char *value) {
    struct plim__property made = {plim__strdup(key), plim__strdup(value)};
    if (made.key && made.value && plim__vec_push(&g->info.properties, made)) return true;
    plim__free(made.key);
    plim__free(made.value);
    return false;
}

plim_status plim_graph_set_note(plim_graph *graph, const char *key, const char *value, plim_error *error) {
    PLIM__NEED(graph, error);
    PLIM__NEED(key, error);
    struct plim__property *note = find(graph, key);
    if (!value) {
        if (note) remove_note(graph, note);
        return PLIM_OK;
    }
    char *copy = note ? plim__strdup(value) : NULL;
    if (note ? !copy : !add_note(graph, key, value)) return plim__fail_memory(error, "a note", strlen(value) + 1);
    if (!note) return PLIM_OK;
    plim__free(note->value);
    note->value = copy;
    return PLIM_OK;
}

const char *plim_graph_get_note(const plim_graph *graph, const char *key) {
    const struct plim__property *note = graph && key ? find(graph, key) : NULL;
    return note ? note->value : NULL;
}

const char *plim_graph_note_at(const plim_graph *graph, size_t index, const char **value) {
    if (value) *value = NULL;
    if (!graph || index >= graph->info.properties.count) return NULL;
    if (value) *value = graph->info.properties.items[index].value;
    return graph->info.properties.items[index].key;
}
