/* What exporters did to a model, in lines for people and as JSON. */
#include "cli/remarks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/format.h"
#include "cli/terminal.h"
#include "core/alloc.h"

enum { MOST_NAMED = 4, LINE = 80 };

static const char *const kinds[PLIM_REMARK_COUNT] = {"restored", "lost", "doubt"};

void plim__remarks_say(const plim__args *args, const plim_graph *model) {
    plim_remark_kind kind;
    const char *text;
    for (size_t i = 0; (text = plim_graph_remark_at(model, i, &kind)); i++)
        plim__say_note(args, "%s: %s", kind == PLIM_REMARK_RESTORED ? "note" : "warning", text);
}

void plim__trained_say(const plim__args *args, const plim_graph *model) {
    static const char *const chosen[] = {"freeze", "trainable", "lora"};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (plim__args_get(args, chosen[i])) return;
    plim_graph_weight weight;
    size_t count = 0;
    bool said = false; /* by the exporter */
    for (size_t i = 0; plim_graph_weight_at(model, i, &weight) != PLIM_NO_VALUE; i++) {
        count += weight.trained != 0;
        said |= weight.trained && strstr(weight.why, "exporter");
    }
    if (said)
        plim__say_note(args,
                       "note: all %zu parameters are trained: a file does not say which of them the module froze "
                       "(requires_grad=False); --freeze GLOB does",
                       count);
}

void plim__remarks_print(const plim_graph *model) {
    plim_remark_kind kind;
    const char *text;
    for (size_t i = 0; (text = plim_graph_remark_at(model, i, &kind)); i++)
        printf("%s %s\n", kind == PLIM_REMARK_RESTORED ? "-" : "?", plim__shown(text));
}

json_t *plim__remarks_json(const plim_graph *model) {
    json_t *list = json_array();
    plim_remark_kind kind;
    const char *text;
    for (size_t i = 0; (text = plim_graph_remark_at(model, i, &kind)); i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "kind", kinds[kind], "text", text));
    return list;
}

/* --- weights ---------------------------------------------------------------------------------------------------- */

static void print_all(const plim_graph *model) {
    plim_graph_weight weight;
    plim_value v;
    for (size_t i = 0; (v = plim_graph_weight_at(model, i, &weight)) != PLIM_NO_VALUE; i++) {
        int64_t dims[PLIM_MAX_RANK];
        char shape[PLIM_SHAPE_WORDS];
        int rank = plim_graph_value_shape(model, v, dims);
        plim__terminal_line(stdout, "  %-8s %-40s %-18s %s", weight.trained ? "trained" : "fixed",
                            plim__shown(plim_graph_value_name(model, v)), plim__format_shape(model, rank, dims, shape),
                            weight.why);
    }
}

/* The tensors with this reason; `seen` are those that an earlier line has told. */
static void print_reason(const plim_graph *model, size_t first, bool *seen) {
    plim_graph_weight weight, other;
    plim_graph_weight_at(model, first, &weight);
    size_t count = 0;
    plim_value named[MOST_NAMED], v;
    for (size_t i = first; (v = plim_graph_weight_at(model, i, &other)) != PLIM_NO_VALUE; i++) {
        if (strcmp(other.why, weight.why) != 0) continue;
        if (count < MOST_NAMED) named[count] = v;
        count++;
        seen[i] = true;
    }
    plim__str line = {0};
    size_t i;
    plim__str_addf(&line, "  %6zu %-8s %s", count, weight.trained ? "trained" : "fixed", plim__shown(weight.why));
    for (i = 0; !weight.trained && i < count && i < MOST_NAMED;
         i++) { /* one at least, and as many as the line has room for */
        const char *name = plim__shown(plim_graph_value_name(model, named[i]));
        if (i && line.length + strlen(name) + 2 + strlen(", ...") > LINE) break;
        plim__str_addf(&line, "%s%s", i ? ", " : ": ", name);
    }
    plim__terminal_line(stdout, "%s%s", plim__str_text(&line), !weight.trained && i < count ? ", ..." : "");
    plim__str_free(&line);
}

void plim__weights_print(const plim_graph *model, bool all) {
    plim_graph_weights sum;
    plim_graph_get_weights(model, &sum);
    bool *seen = all ? NULL : plim__alloc_zero(sum.tensors, sizeof *seen);
    if (!seen) {
        print_all(model);
        return;
    }
    for (size_t i = 0; i < sum.tensors; i++)
        if (!seen[i]) print_reason(model, i, seen);
    plim__free(seen);
}

json_t *plim__weights_json(const plim_graph *model) {
    json_t *list = json_array();
    plim_graph_weight weight;
    plim_value v;
    for (size_t i = 0; (v = plim_graph_weight_at(model, i, &weight)) != PLIM_NO_VALUE; i++) {
        int64_t dims[PLIM_MAX_RANK];
        int rank = plim_graph_value_shape(model, v, dims);
        json_t *shape = json_array();
        for (int k = 0; k < rank; k++) json_array_append_new(shape, json_integer(dims[k]));
        json_array_append_new(list, json_pack("{s:s, s:o, s:I, s:b, s:s}", "name", plim_graph_value_name(model, v),
                                              "shape", shape, "bytes", (json_int_t)weight.bytes, "trained",
                                              weight.trained, "why", weight.why));
    }
    return list;
}
