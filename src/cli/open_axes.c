/* Open axes other than the batch. */
#include "cli/open_axes.h"

#include <stdio.h>
#include <string.h>

#include "cli/format.h"
#include "core/error.h"

/* One of them: where it is first seen. */
struct axis {
    const char *symbol, *input;
    int index;
};

/* Symbols of axes that the file does not name begin like this. */
static bool has_name(const char *symbol) { return *symbol != '?'; }

static bool is_batch(const plim_graph *g, const char *symbol) {
    for (size_t i = 0; i < plim_graph_input_count(g); i++) {
        int64_t dims[PLIM_MAX_RANK];
        int rank = plim_graph_value_shape(g, plim_graph_input_at(g, i), dims);
        const char *first = rank > 0 ? plim_graph_symbol_name(g, dims[0]) : NULL;
        if (first && strcmp(first, symbol) == 0) return true;
    }
    return false;
}

/* The n-th open axis, in the order of inputs; false when there are fewer. */
static bool axis_at(const plim_graph *g, size_t n, struct axis *axis) {
    const char *seen[PLIM__MOST_SIZES];
    size_t count = 0;
    for (size_t i = 0; i < plim_graph_input_count(g); i++) {
        int64_t dims[PLIM_MAX_RANK];
        plim_value v = plim_graph_input_at(g, i);
        int rank = plim_graph_value_shape(g, v, dims);
        for (int k = 1; k < rank; k++) {
            const char *symbol = plim_graph_symbol_name(g, dims[k]);
            bool known = !symbol || is_batch(g, symbol);
            for (size_t j = 0; !known && j < count; j++) known = strcmp(seen[j], symbol) == 0;
            if (known || count == PLIM__MOST_SIZES) continue;
            if (count == n) return *axis = (struct axis){symbol, plim_graph_value_name(g, v), k}, true;
            seen[count++] = symbol;
        }
    }
    return false;
}

int64_t plim__sizes_find(const plim__sizes *s, const char *symbol) {
    for (size_t i = 0; i < *s->count; i++)
        if (strcmp(s->sizes[i].symbol, symbol) == 0) return s->sizes[i].size;
    return 0;
}

/* What --size calls it. */
static const char *name_of(const struct axis *axis, char text[160]) {
    if (has_name(axis->symbol))
        snprintf(text, 160, "%.150s", axis->symbol);
    else
        snprintf(text, 160, "%.140s.%d", axis->input, axis->index);
    return text;
}

static const char *find_symbol(const plim_graph *g, const char *name) {
    for (size_t i = 0; i < plim_graph_input_count(g); i++) {
        int64_t dims[PLIM_MAX_RANK];
        plim_value v = plim_graph_input_at(g, i);
        int rank = plim_graph_value_shape(g, v, dims);
        for (int k = 0; k < rank; k++) {
            const char *symbol = plim_graph_symbol_name(g, dims[k]);
            char text[160];
            if (!symbol) continue;
            if (strcmp(symbol, name) == 0) return symbol;
            snprintf(text, sizeof text, "%.140s.%d", plim_graph_value_name(g, v), k);
            if (strcmp(text, name) == 0) return symbol;
        }
    }
    return NULL;
}

plim_status plim__open_axes_check(const plim_graph *g, const plim__sizes *s, plim_error *error) {
    for (size_t i = 0; i < *s->count; i++) {
        const char *symbol = find_symbol(g, s->sizes[i].symbol);
        struct axis axis;
        char name[160];
        if (symbol)
            s->sizes[i].symbol = symbol;
        else if (axis_at(g, 0, &axis))
            return plim__fail(error, PLIM_NOT_FOUND, "--size %.60s: the model has no such axis; '%s' is one",
                              s->sizes[i].symbol, name_of(&axis, name));
        else
            return plim__fail(error, PLIM_NOT_FOUND, "--size %.60s: no axis of the model other than the batch is open",
                              s->sizes[i].symbol);
    }
    return PLIM_OK;
}

/* The field with the input's name, else the n-th that is no target: as data is fed. */
static const plim_data_field *field_of(const plim_data *data, const char *name, size_t n) {
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (strcmp(field->name, name) == 0) return field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (!field->target && n-- == 0) return field;
    return NULL;
}

void plim__open_axes_follow(const plim_graph *g, const plim_data *data, const plim__sizes *s) {
    for (size_t i = 0; data && i < plim_graph_input_count(g); i++) {
        int64_t dims[PLIM_MAX_RANK];
        plim_value v = plim_graph_input_at(g, i);
        int rank = plim_graph_value_shape(g, v, dims);
        const plim_data_field *field = field_of(data, plim_graph_value_name(g, v), i);
        for (int k = 1; field && field->rank == rank - 1 && k < rank; k++) {
            const char *symbol = plim_graph_symbol_name(g, dims[k]);
            if (!symbol || is_batch(g, symbol) || plim__sizes_find(s, symbol) || field->dims[k - 1] < 1) continue;
            if (*s->count < PLIM__MOST_SIZES) s->sizes[(*s->count)++] = (plim_size){symbol, field->dims[k - 1]};
        }
    }
}

plim_status plim__open_axes_settle(const plim__args *args, const plim_graph *g, const plim__sizes *s,
                                   plim_error *error) {
    struct axis axis;
    char name[160];
    for (size_t i = 0; axis_at(g, i, &axis); i++)
        if (!plim__sizes_find(s, axis.symbol))
            return plim__fail(error, PLIM_INVALID,
                              "axis %d of the model's input '%.200s' is open, and --batch does not say its size: give "
                              "--size %s=N",
                              axis.index, axis.input, name_of(&axis, name));
    for (size_t i = 0; axis_at(g, i, &axis); i++)
        fprintf(stderr, "plimsoll %s: note: axis %d of '%s' (%s) has size %lld\n", plim__args_command(args)->name,
                axis.index, plim__shown(axis.input), plim__shown(name_of(&axis, name)),
                (long long)plim__sizes_find(s, axis.symbol));
    return PLIM_OK;
}

void plim__open_axes_print(const plim_graph *g, const plim__sizes *s, int64_t batch) {
    struct axis axis;
    char name[160];
    for (size_t i = 0; axis_at(g, i, &axis); i++) {
        int64_t size = plim__sizes_find(s, axis.symbol);
        const char *shown = plim__shown(name_of(&axis, name));
        if (size)
            printf("%-12s %s = %lld\n", i ? "" : "open axes", shown, (long long)size);
        else
            printf("%-12s %s = %lld, as the batch (--size %s=N)\n", i ? "" : "open axes", shown, (long long)batch,
                   shown);
    }
}
