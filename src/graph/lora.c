/* Adapters beside layers. The product gets a new output z, and what it made before is made by z + delta: names and readers of
 * all values stay.
 *
 *   x ─┬─→ MatMul(W) ──→ z ────────────────────────────────┬─→ Add ──→ y
 *      └─→ Dropout ─→ MatMul(Aᵀ) ─→ · alpha / r ─→ MatMul(Bᵀ) ─┘
 */
#include "graph/lora.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "graph/passes/match.h"

static plim__tensor *matrix_of(const plim_graph *g, plim_value v) {
    const plim__value *value = v < 0 ? NULL : &g->values.items[v];
    bool weight =
        value && value->tensor && (value->kind == PLIM__VALUE_PARAMETER || value->kind == PLIM__VALUE_CONSTANT);
    return weight && value->tensor->dtype == PLIM_F32 && value->tensor->shape.rank == 2 ? value->tensor : NULL;
}

/* The parameter behind a transpose of both axes. */
static plim_value behind_transpose(const plim_graph *g, plim_value v) {
    const plim__node *node = plim__match_producer(g, v, "Transpose");
    size_t count;
    const int64_t *order = node ? plim__node_ints(node, "perm", &count) : NULL;
    bool flips = node && (!order || (count == 2 && order[0] == 1 && order[1] == 0));
    return flips ? plim__node_in(node, 0) : PLIM_NO_VALUE;
}

bool plim__layer_find(const plim_graph *g, int32_t n, plim__lora_layer *layer) {
    const plim__node *node = &g->nodes.items[n];
    bool gemm = plim__match_op(node, "Gemm");
    if (!gemm && !plim__match_op(node, "MatMul")) return false;
    if (gemm && plim__node_int(node, "transA", 0)) return false;
    plim_value v = plim__node_in(node, 1), flipped = gemm ? PLIM_NO_VALUE : behind_transpose(g, v);
    bool rows = gemm ? plim__node_int(node, "transB", 0) != 0 : flipped >= 0;
    if (flipped >= 0) v = flipped;
    const plim__tensor *weight = matrix_of(g, v);
    if (!weight) return false;
    *layer = (plim__lora_layer){.node = n, .weight = v, .rows = rows};
    layer->in = weight->shape.dims[rows ? 1 : 0];
    layer->out = weight->shape.dims[rows ? 0 : 1];
    const char *name = g->values.items[v].name;
    size_t length = strlen(name), end = strlen(".weight");
    if (length > end && strcmp(name + length - end, ".weight") == 0) length -= end;
    if (length >= sizeof layer->name - 32) return false;
    memcpy(layer->name, name, length);
    return true;
}

bool plim__lora_find(const plim_graph *g, int32_t n, plim__lora_layer *layer) {
    return plim__layer_find(g, n, layer) && g->values.items[layer->weight].kind == PLIM__VALUE_PARAMETER;
}

void plim__lora_matrices(const plim_graph *g, const plim__lora_layer *layer, plim_value *a, plim_value *b) {
    char name[sizeof layer->name + 32];
    snprintf(name, sizeof name, "%s.lora_A.weight", layer->name);
    *a = plim_graph_find(g, name);
    snprintf(name, sizeof name, "%s.lora_B.weight", layer->name);
    *b = plim_graph_find(g, name);
}

/* Uniform in ±1 / sqrt(in), as PEFT draws it; zeros for B. */
static plim_value add_matrix(plim_graph *g, const char *layer, const char *which, const int64_t dims[2], double bound,
                             uint64_t seed) {
    char name[320];
    snprintf(name, sizeof name, "%s.%s.weight", layer, which);
    size_t count = (size_t)(dims[0] * dims[1]);
    float *data = plim__alloc_zero(count, sizeof *data);
    if (!data) {
        plim__graph_fail(g, PLIM_NO_MEMORY, "out of memory: the adapter '%s'", name);
        return PLIM_NO_VALUE;
    }
    for (size_t i = 0; bound > 0 && i < count; i++)
        data[i] = (float)((2 * (double)plim__random_uniform(seed, g->values.count, i) - 1) * bound);
    return plim_graph_parameter_take(g, name, PLIM_F32, 2, dims, data);
}

static plim_value flip(plim_graph *g, plim_value x) {
    int32_t node = plim_graph_node(g, "Transpose", NULL, &x, 1, 1);
    plim_graph_set_ints(g, node, "perm", (int64_t[]){1, 0}, 2);
    return plim_graph_node_output(g, node, 0);
}

static plim_value dropped(plim_graph *g, plim_value x, double ratio) {
    float share = (float)ratio;
    if (ratio <= 0) return x;
    if (plim__graph_opset(g, "") >= 12)
        return plim_graph_apply(g, "Dropout",
                                (plim_value[]){x, plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &share)}, 2);
    int32_t node = plim_graph_node(g, "Dropout", NULL, &x, 1, 1);
    plim_graph_set_float(g, node, "ratio", share);
    return plim_graph_node_output(g, node, 0);
}

plim_status plim__lora_attach(plim_graph *g, const plim__lora_layer *layer, const plim__lora_numbers *numbers,
                              uint64_t seed, plim_error *error) {
    plim_value x = plim__node_in(&g->nodes.items[layer->node], 0), y = plim__node_out(&g->nodes.items[layer->node], 0);
    float scale = (float)(numbers->alpha / (double)numbers->rank);
    plim_value a =
        add_matrix(g, layer->name, "lora_A", (int64_t[]){numbers->rank, layer->in}, 1 / sqrt((double)layer->in), seed);
    plim_value b = add_matrix(g, layer->name, "lora_B", (int64_t[]){layer->out, numbers->rank}, 0, seed);
    plim_value low = plim_graph_apply(g, "MatMul", (plim_value[]){dropped(g, x, numbers->dropout), flip(g, a)}, 2);
    low = plim_graph_apply(g, "Mul", (plim_value[]){low, plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &scale)}, 2);
    plim_value delta = plim_graph_apply(g, "MatMul", (plim_value[]){low, flip(g, b)}, 2);
    plim__shape shape = g->values.items[y].shape;
    plim_value z = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_F32, &shape);
    int32_t add = plim__graph_add_node(g, "", "Add", layer->name, plim__graph_opset(g, ""));
    PLIM_TRY(plim_graph_status(g, error));
    plim__node_add_input(g, add, z);
    plim__node_add_input(g, add, delta);
    g->nodes.items[layer->node].outputs.items[0] = z;
    g->values.items[z].producer = layer->node;
    plim__node_add_output(g, add, y);
    return plim_graph_status(g, error);
}

plim_status plim__lora_finish(plim_graph *g, const plim__lora_numbers *numbers, plim_error *error) {
    char note[128];
    for (size_t v = 0; v < g->values.count; v++) {
        plim__value *value = &g->values.items[v];
        bool adapter = strstr(value->name, ".lora_A.weight") || strstr(value->name, ".lora_B.weight");
        if (value->kind == PLIM__VALUE_PARAMETER && !adapter && plim__role_trained(value->role))
            value->role = PLIM__ROLE_BASE;
    }
    snprintf(note, sizeof note, "r=%lld alpha=%.17g dropout=%.17g", (long long)numbers->rank, numbers->alpha,
             numbers->dropout);
    PLIM_TRY(plim_graph_set_note(g, PLIM__NOTE_LORA, note, error));
    return plim__graph_sort(g, error);
}

bool plim__lora_read(const plim_graph *g, plim__lora_numbers *numbers) {
    const char *note = plim_graph_get_note(g, PLIM__NOTE_LORA);
    long long rank;
    if (!note || sscanf(note, "r=%lld alpha=%lf dropout=%lf", &rank, &numbers->alpha, &numbers->dropout) != 3)
        return false;
    numbers->rank = rank;
    return rank > 0;
}

void plim__lora_detach(plim_graph *g, const plim__lora_layer *layer) {
    plim_value z = plim__node_out(&g->nodes.items[layer->node], 0);
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *add = &g->nodes.items[n];
        if (!plim__match_op(add, "Add") || plim__node_in(add, 0) != z) continue;
        plim_value y = plim__node_out(add, 0);
        add->dead = true;
        g->nodes.items[layer->node].outputs.items[0] = y;
        g->values.items[y].producer = layer->node;
        return;
    }
}
