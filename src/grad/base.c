/* Frozen layers in few bits. The product is the only reader of its weight, and reads it a piece at a time:
 *
 *   y = MatMul(x, W)             y = PackedMatMul(x, packed W)
 *   y = MatMul(x, Transpose(W))  the same with transB
 *   y = Gemm(x, W, c)            y = PackedMatMul(x, packed W) + c
 *   y = Gather(W, indices)       y = FileGather(W, indices), of a table that is in a file: a run reads few rows of it
 *
 * Nothing is trained there, so that the backward pass has one product too: with the same packed weight, the other way round. */
#include "grad/base.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "graph/lora.h"
#include "graph/passes/match.h"

#define SMALLEST 4096 /* elements of a matrix for which it is worth a scale */

struct base {
    plim_graph *g;
    const plim_graph *like; /* NULL: what is constant is packed */
    plim__packed_form packing;
    bool *scores;  /* values that are the model's output but for additions and views */
    int32_t *uses; /* of each value, without those that packing takes away */
    size_t saved;
    plim_error *error;
};

/* --- which ---------------------------------------------------------------------------------------------------- */

static bool hands_on(const plim__node *node) {
    static const char *const ops[] = {"Add",      "Reshape", "Transpose", "Squeeze",    "Unsqueeze",
                                      "Identity", "Cast",    "Softmax",   "LogSoftmax", "SoftmaxCrossEntropyLoss"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (plim__match_op(node, ops[i])) return true;
    return false;
}

/* Rounding the last layer costs the most and saves the least: quantizers leave it. Nodes may be in any order. */
static void find_scores(struct base *b) {
    plim_graph *g = b->g;
    for (size_t i = 0; i < g->outputs.count; i++) b->scores[g->outputs.items[i]] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t n = g->nodes.count; n-- > 0;) {
            const plim__node *node = &g->nodes.items[n];
            plim_value out = plim__node_out(node, 0), in[2] = {plim__node_in(node, 0), plim__node_in(node, 1)};
            if (node->dead || out < 0 || !b->scores[out] || !hands_on(node)) continue;
            for (size_t i = 0; i < (plim__match_op(node, "Add") ? 2u : 1u); i++) {
                if (in[i] < 0 || b->scores[in[i]]) continue;
                b->scores[in[i]] = more = true;
            }
        }
    }
}

static bool packed_name(const plim_graph *g, plim_value weight, plim__packed_form packing, plim__str *name) {
    plim__str_addf(name, "%s.%s", g->values.items[weight].name, plim__packed_name(packing));
    return !name->failed;
}

/* Whether the other graph has the weight in this form. A name that there is no memory for fails the graph. */
static bool is_there(const struct base *b, plim_value weight, plim__packed_form form) {
    plim__str name = {0};
    bool named = packed_name(b->g, weight, form, &name), there = named && plim_graph_find(b->like, name.data) >= 0;
    if (!named) plim__graph_fail(b->g, PLIM_NO_MEMORY, "out of memory while building a graph");
    plim__str_free(&name);
    return there;
}

static plim__packed_form packing_like(const struct base *b, plim_value weight) {
    for (int p = PLIM__UNPACKED + 1; p < PLIM__PACKED_FORMS; p++)
        if (is_there(b, weight, (plim__packed_form)p)) return (plim__packed_form)p;
    return PLIM__UNPACKED;
}

/* A product or a gather that can be replaced, whatever else reads its weight. */
struct taken {
    plim__lora_layer layer; /* of a gather: its weight alone */
    plim_value read;        /* the weight, or its transpose */
    bool gathers;
};

static bool is_frozen(const struct base *b, plim_value v) {
    const plim__value *value = &b->g->values.items[v];
    return value->kind == PLIM__VALUE_CONSTANT && value->tensor && value->tensor->dtype == PLIM_F32 &&
           value->tensor->shape.rank == 2 && plim__shape_elements(&value->tensor->shape) >= SMALLEST;
}

static bool find_gather(const struct base *b, const plim__node *node, struct taken *taken) {
    plim_value table = plim__node_in(node, 0);
    if (!plim__match_op(node, "Gather") || table < 0 || plim__node_int(node, "axis", 0) != 0) return false;
    *taken = (struct taken){.layer.weight = table, .read = table, .gathers = true};
    if (b->like) return is_there(b, table, PLIM__PACKED_FILE);
    return is_frozen(b, table) && plim__tensor_streams(b->g->values.items[table].tensor);
}

static bool find(const struct base *b, size_t n, struct taken *taken) {
    const plim_graph *g = b->g;
    const plim__node *node = &g->nodes.items[n];
    if (node->dead) return false;
    if (find_gather(b, node, taken)) return true;
    *taken = (struct taken){.read = plim__node_in(node, 1)};
    if (!plim__layer_find(g, (int32_t)n, &taken->layer)) return false;
    plim_value weight = taken->layer.weight;
    if (b->like) return packing_like(b, weight) != PLIM__UNPACKED;
    bool plain = plim__node_float(node, "alpha", 1) == 1 && plim__node_float(node, "beta", 1) == 1;
    if (!plain || !is_frozen(b, weight)) return false;
    if (b->packing == PLIM__PACKED_FILE) return plim__tensor_streams(g->values.items[weight].tensor);
    return !b->scores[plim__node_out(node, 0)];
}

/* Counts down the uses that packing takes away: of the weight, and of its transposes. */
static void count_uses(struct base *b) {
    struct taken taken;
    for (size_t n = 0; n < b->g->nodes.count; n++)
        if (find(b, n, &taken) && --b->uses[taken.read] == 0 && taken.read != taken.layer.weight)
            b->uses[taken.layer.weight]--;
}

/* --- how ------------------------------------------------------------------------------------------------------ */

/* The weight in this form: bytes, or itself under another name where it stays in its file. */
static plim_status packed_tensor(struct base *b, plim__tensor *weight, plim__packed_form form, plim__tensor **tensor) {
    if (form != PLIM__PACKED_FILE) return plim__tensor_packed(weight, form, tensor, b->error);
    *tensor = plim__tensor_retain(weight);
    return PLIM_OK;
}

static plim_status packed_weight(struct base *b, plim_value weight, plim__packed_form form, plim_value *packed) {
    plim_graph *g = b->g;
    plim__str name = {0};
    bool named = packed_name(g, weight, form, &name);
    plim_status status = named ? PLIM_OK : plim__fail_memory(b->error, "a name", 1);
    *packed = named ? plim_graph_find(g, name.data) : PLIM_NO_VALUE;
    if (status == PLIM_OK && *packed < 0) {
        plim__tensor *own = g->values.items[weight].tensor, *tensor;
        status = packed_tensor(b, own, form, &tensor);
        if (status == PLIM_OK) {
            b->saved += form == PLIM__PACKED_FILE ? own->bytes : own->bytes - tensor->bytes;
            *packed = plim__graph_add_tensor(g, name.data, PLIM__VALUE_CONSTANT, tensor);
            status = plim_graph_status(g, b->error);
        }
    }
    plim__str_free(&name);
    return status;
}

static plim_status replace_gather(struct base *b, size_t n, plim_value table) {
    plim_graph *g = b->g;
    plim_value packed, indices = plim__node_in(&g->nodes.items[n], 1), y = plim__node_out(&g->nodes.items[n], 0);
    PLIM_TRY(packed_weight(b, table, PLIM__PACKED_FILE, &packed));
    int32_t made = plim__match_build(g, (plim__made){PLIM__DOMAIN, "FileGather", 1}, g->nodes.items[n].name,
                                     (plim_value[]){packed, indices}, 2, y);
    PLIM_TRY(plim_graph_status(g, b->error));
    return plim__match_replace(g, y, made);
}

static plim_status replace_product(struct base *b, size_t n, const plim__lora_layer *layer) {
    plim_graph *g = b->g;
    plim__packed_form form = b->like ? packing_like(b, layer->weight) : b->packing;
    bool gemm = plim__match_op(&g->nodes.items[n], "Gemm");
    plim_value packed, x = plim__node_in(&g->nodes.items[n], 0), y = plim__node_out(&g->nodes.items[n], 0),
                       c = gemm ? plim__node_in(&g->nodes.items[n], 2) : PLIM_NO_VALUE;
    PLIM_TRY(packed_weight(b, layer->weight, form, &packed));
    int32_t made = plim__match_build(g, (plim__made){PLIM__DOMAIN, "PackedMatMul", 1}, layer->name,
                                     (plim_value[]){x, packed}, 2, y);
    if (made < 0) return plim_graph_status(g, b->error);
    plim_graph_set_int(g, made, "rows", layer->rows ? layer->out : layer->in);
    plim_graph_set_int(g, made, "columns", layer->rows ? layer->in : layer->out);
    plim_graph_set_int(g, made, "transB", layer->rows);
    plim_graph_set_string(g, made, "packing", plim__packed_name(form));
    if (c >= 0)
        made = plim__match_build(g, (plim__made){"", "Add", plim__graph_opset(g, "")}, layer->name,
                                 (plim_value[]){plim__node_out(&g->nodes.items[made], 0), c}, 2, y);
    PLIM_TRY(plim_graph_status(g, b->error));
    return plim__match_replace(g, y, made);
}

static plim_status pack_all(struct base *b) {
    size_t nodes = b->g->nodes.count;
    struct taken taken;
    find_scores(b);
    count_uses(b);
    for (size_t n = 0; n < nodes; n++) {
        if (!find(b, n, &taken) || b->uses[taken.layer.weight] != 0) continue;
        PLIM_TRY(taken.gathers ? replace_gather(b, n, taken.read) : replace_product(b, n, &taken.layer));
    }
    PLIM_TRY(plim_graph_status(b->g, b->error));
    PLIM_TRY(plim__graph_sort(b->g, b->error));
    return plim__graph_prune(b->g, b->error);
}

static plim_status run(struct base *b) {
    size_t count = b->g->values.count;
    b->scores = plim__alloc_zero(count + 1, sizeof *b->scores);
    b->uses = plim__graph_uses(b->g);
    plim_status status = b->scores && b->uses ? pack_all(b) : plim__fail_memory(b->error, "a training graph", count);
    plim__free(b->scores);
    plim__free(b->uses);
    return status;
}

plim_status plim__base_pack(plim_graph *g, plim__packed_form packing, size_t *saved, plim_error *error) {
    struct base b = {.g = g, .packing = packing, .error = error};
    PLIM_TRY(run(&b));
    *saved = b.saved;
    if (b.saved) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID,
                      "--base %s: no layer is frozen whose weights could be %s; --lora freezes all but the adapters, "
                      "--freeze what it names",
                      plim__packed_name(packing),
                      packing == PLIM__PACKED_FILE ? "read from the model's file" : "kept in fewer bits");
}

plim_status plim__base_pack_like(plim_graph *g, const plim_graph *like, plim_error *error) {
    for (size_t n = 0; n < like->nodes.count; n++) {
        const plim__node *node = &like->nodes.items[n];
        if (!node->dead && (strcmp(node->op_name, "PackedMatMul") == 0 || strcmp(node->op_name, "FileGather") == 0))
            return run(&(struct base){.g = g, .like = like, .error = error});
    }
    return PLIM_OK;
}
