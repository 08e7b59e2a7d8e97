/* The table of functions, and finding one by what a node says. */
#include "ops/activation.h"

#include <string.h>
#include <strings.h>

#include "ops/op.h"

#define ZERO      true
#define MOVED     false
#define ALONE     false
#define CELL      true
#define CELL_ONLY true
#define ELSEWHERE false
#define INPUT     false
#define OUTPUT    true

const plim__function_row plim__functions[PLIM__FUNCTION_COUNT] = {
#define FUNCTION(id, zero, where, formula)                                                                             \
    [PLIM__FUNCTION_##id].name = #id, [PLIM__FUNCTION_##id].keeps_zero = zero, [PLIM__FUNCTION_##id].in_cells = where,
#define SLOPE(id, saved, expression)           [PLIM__FUNCTION_##id].from_output = saved,
#define BITS(id, saved, condition, expression) [PLIM__FUNCTION_##id].bits = true,
#define PRECISE(id)                            [PLIM__FUNCTION_##id].precise = true,
#define SIDED(id)                              [PLIM__FUNCTION_##id].sided = true,
#define ATTRIBUTES(id, first, first_default, second, second_default)                                                   \
    [PLIM__FUNCTION_##id].a = first, [PLIM__FUNCTION_##id].a_default = first_default,                                  \
    [PLIM__FUNCTION_##id].b = second, [PLIM__FUNCTION_##id].b_default = second_default,
#define FUSED(id, text, kind) [PLIM__FUNCTION_##id].fused = text,
#include "ops/activation.def"
};

static plim__function find(const char *name, size_t length) {
    size_t f = 0;
    while (f < PLIM__FUNCTION_COUNT &&
           (strlen(plim__functions[f].name) != length || strncmp(plim__functions[f].name, name, length) != 0))
        f++;
    return (plim__function)f;
}

plim__function plim__function_of(const plim__node *node) {
    static const char *const ends[] = {"BitsGrad", "Grad", "Bits"};
    size_t length = strlen(node->op_name);
    bool own = strcmp(node->domain, PLIM__DOMAIN) == 0;
    for (size_t i = 0; own && i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strcmp(node->op_name + length - end, ends[i]) == 0)
            return find(node->op_name, length - end);
    }
    if (!own && *node->domain) return PLIM__FUNCTION_COUNT;
    if (strcmp(node->op_name, "Gelu") != 0) return find(node->op_name, length);
    bool tanh_form = strcmp(plim__node_string(node, "approximate", "none"), "tanh") == 0;
    return tanh_form ? PLIM__FUNCTION_GeluTanh : PLIM__FUNCTION_GeluErf;
}

plim__function plim__function_of_cell(const char *name) {
    size_t f = 0;
    while (f < PLIM__FUNCTION_COUNT && (!plim__functions[f].in_cells || strcasecmp(plim__functions[f].name, name) != 0))
        f++;
    return (plim__function)f;
}

plim__function plim__function_of_fused(const char *activation) {
    size_t f = 0;
    while (f < PLIM__FUNCTION_COUNT && (!plim__functions[f].fused || strcmp(plim__functions[f].fused, activation) != 0))
        f++;
    return (plim__function)f;
}

plim__function plim__function_fused_as(plim__function f, float *a) {
    static const struct {
        plim__function from, to;
    } others[] = {
#define FUSED_AS(id, other) {PLIM__FUNCTION_##id, PLIM__FUNCTION_##other},
#include "ops/activation.def"
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].from == f) return *a = 0, others[i].to;
    return f;
}

void plim__function_attributes(plim__function f, const plim__node *node, float *a, float *b) {
    const plim__function_row *row = &plim__functions[f];
    *a = row->a ? plim__node_float(node, row->a, row->a_default) : 0;
    *b = row->b ? plim__node_float(node, row->b, row->b_default) : 0;
}
