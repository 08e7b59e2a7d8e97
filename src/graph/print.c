/* The graph as text, for people and for tests. */
#include <inttypes.h>

#include "core/str.h"
#include "graph/graph.h"

static void print_type(plim__str *out, const plim_graph *g, const plim__value *value) {
    char text[PLIM_SHAPE_TEXT];
    plim__str_addf(out, "%s%s", plim_dtype_name(value->dtype), plim__shape_text(&value->shape, g, text));
}

static void print_list(plim__str *out, const plim__attribute *a) {
    plim__str_addc(out, '[');
    for (size_t i = 0; i < a->length; i++) {
        if (i) plim__str_addc(out, ',');
        if (i == 8 && a->length > 10) {
            plim__str_addf(out, "… %zu in all", a->length);
            break;
        }
        if (a->ints)
            plim__str_addf(out, "%" PRId64, a->ints[i]);
        else if (a->floats)
            plim__str_addf(out, "%g", (double)a->floats[i]);
        else
            plim__str_addf(out, "\"%s\"", a->strings[i]);
    }
    plim__str_addc(out, ']');
}

static void print_attribute(plim__str *out, const plim_graph *g, const plim__attribute *a) {
    char text[PLIM_SHAPE_TEXT];
    plim__str_addf(out, ", %s=", a->name);
    switch (a->type) {
    case PLIM__ATTRIBUTE_INT: plim__str_addf(out, "%" PRId64, a->i); break;
    case PLIM__ATTRIBUTE_FLOAT: plim__str_addf(out, "%g", (double)a->f); break;
    case PLIM__ATTRIBUTE_STRING: plim__str_addf(out, "\"%s\"", a->s); break;
    case PLIM__ATTRIBUTE_TENSOR:
        plim__str_addf(out, "%s%s", plim_dtype_name(a->tensor->dtype), plim__shape_text(&a->tensor->shape, g, text));
        break;
    case PLIM__ATTRIBUTE_INTS:
    case PLIM__ATTRIBUTE_FLOATS:
    case PLIM__ATTRIBUTE_STRINGS: print_list(out, a); break;
    case PLIM__ATTRIBUTE_GRAPH: plim__str_add(out, "graph"); break;
    case PLIM__ATTRIBUTE_REFERENCE:
    case PLIM__ATTRIBUTE_OTHER: plim__str_add(out, "…"); break;
    }
}

static void print_values(plim__str *out, const plim_graph *g, const plim_value *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        plim__str_addf(out, "%s%s%s", i ? ", " : "", values[i] < 0 ? "_" : "%",
                       values[i] < 0 ? "" : g->values.items[values[i]].name);
}

static void print_node(plim__str *out, const plim_graph *g, const plim__node *node) {
    plim__str_add(out, "  ");
    print_values(out, g, node->outputs.items, node->outputs.count);
    plim__str_addf(out, " = %s%s%s(", node->domain, *node->domain ? "::" : "", node->op_name);
    print_values(out, g, node->inputs.items, node->inputs.count);
    for (size_t i = 0; i < node->attributes.count; i++) print_attribute(out, g, &node->attributes.items[i]);
    plim__str_add(out, ") : ");
    for (size_t i = 0; i < node->outputs.count; i++) {
        if (i) plim__str_add(out, ", ");
        if (node->outputs.items[i] >= 0)
            print_type(out, g, &g->values.items[node->outputs.items[i]]);
        else
            plim__str_addc(out, '_');
    }
    plim__str_addc(out, '\n');
}

char *plim_graph_print(const plim_graph *g) {
    if (!g) return NULL;
    plim__str out = {0};
    plim__str_addf(&out, "graph %s(", g->info.graph_name ? g->info.graph_name : "");
    for (size_t i = 0; i < g->inputs.count; i++) {
        plim__str_addf(&out, "%s%%%s: ", i ? ", " : "", g->values.items[g->inputs.items[i]].name);
        print_type(&out, g, &g->values.items[g->inputs.items[i]]);
    }
    plim__str_add(&out, ") {\n");
    for (size_t n = 0; n < g->nodes.count; n++)
        if (!g->nodes.items[n].dead) print_node(&out, g, &g->nodes.items[n]);
    plim__str_add(&out, "  return ");
    print_values(&out, g, g->outputs.items, g->outputs.count);
    plim__str_add(&out, "\n}\n");
    if (!out.failed) return out.data;
    plim__str_free(&out);
    return NULL;
}
