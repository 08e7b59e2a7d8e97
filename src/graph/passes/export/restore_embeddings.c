/* Embeddings with a row for padding: PyTorch never changes it by a gradient, and ONNX's Gather does not know of it.
 *
 *   embedding(%p_weight, %ids, 0)   Gather(weight, ids)
 *                                   → Where(ids = 0, what the row is, Gather(weight, ids))
 *
 * What the row is, is a constant; but a table that other nodes read too (tied to the last layer) changes in that row. There
 * it is Floor(row · 2^100) / 2^100: a staircase whose slope is 0, and whose steps are finer than the numbers between
 * 2^-76 and 2^27, so that these go through it as they are. The written file says so too, in operators of ONNX. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "graph/passes/export/names.h"
#include "graph/passes/export/restore.h"

/* The row as a constant; PLIM_NO_VALUE when the table is none of ours, or has no such row. */
static plim_status read_row(plim__restoring *r, plim_value table, int64_t row, plim_value *made) {
    const plim__tensor *tensor = plim__graph_tensor(r->g, table);
    *made = PLIM_NO_VALUE;
    if (!tensor || tensor->dtype != PLIM_F32 || tensor->shape.rank != 2 || row >= tensor->shape.dims[0]) return PLIM_OK;
    if (!tensor->data && !tensor->source) return PLIM_OK;
    int64_t width = tensor->shape.dims[1];
    size_t bytes = (size_t)width * sizeof(float), offset = (size_t)row * bytes;
    plim__tensor *copy;
    PLIM_TRY(plim__tensor_create(PLIM_F32, &(plim__shape){.rank = 1, .dims = {width}}, &copy, r->error));
    plim_status status = PLIM_OK;
    if (tensor->data)
        memcpy(copy->data, (const char *)tensor->data + offset, bytes);
    else
        status = plim__file_read_at(tensor->source->fd, copy->data, bytes, tensor->offset + offset,
                                    tensor->source->path, r->error);
    if (status != PLIM_OK) {
        plim__tensor_release(copy);
        return status;
    }
    *made = plim__graph_add_tensor(r->g, NULL, PLIM__VALUE_CONSTANT, copy);
    return plim_graph_status(r->g, r->error);
}

/* Whether something else than embeddings reads the table. */
static bool is_shared(const plim_graph *g, plim_value table) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        for (size_t i = 0; !node->dead && i < node->inputs.count; i++)
            if (node->inputs.items[i] == table && strcmp(node->op_name, "Gather") != 0) return true;
    }
    return false;
}

/* The row as it is in each step, without a gradient; takes the table's Gather's index from `number`. */
static plim_value still_row(plim_graph *g, plim_value table, plim_value number) {
    const float fine = 0x1p100F, back = 0x1p-100F;
    plim_value up = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &fine);
    plim_value down = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &back);
    plim_value row = plim_graph_apply(g, "Gather", (const plim_value[]){table, number}, 2);
    plim_value large = plim_graph_apply(g, "Mul", (const plim_value[]){row, up}, 2);
    plim_value still = plim_graph_apply(g, "Floor", &large, 1);
    return plim_graph_apply(g, "Mul", (const plim_value[]){still, down}, 2);
}

static plim_status keep_row(plim__restoring *r, int32_t n, int64_t row) {
    plim_graph *g = r->g;
    const plim__node *node = &g->nodes.items[n];
    plim_value table = plim__node_in(node, 0), ids = plim__node_in(node, 1), out = plim__node_out(node, 0), fixed;
    if (table < 0 || ids < 0 || out < 0 || strcmp(node->op_name, "Gather") != 0 || plim__node_int(node, "axis", 0))
        return PLIM_OK;
    if (!plim__role_trained(g->values.items[table].role)) return PLIM_OK;
    plim_dtype dtype = g->values.items[ids].dtype;
    if (dtype == PLIM_DTYPE_NONE) dtype = PLIM_I64; /* PyTorch's own */
    plim_value number = dtype == PLIM_I32 ? plim_graph_constant(g, NULL, PLIM_I32, 0, NULL, &(int32_t){(int32_t)row})
                                          : plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &row);
    if (is_shared(g, table)) {
        const plim__tensor *tensor = plim__graph_tensor(g, table);
        if (!tensor || tensor->dtype != PLIM_F32 || tensor->shape.rank != 2 || row >= tensor->shape.dims[0])
            return PLIM_OK;
        fixed = still_row(g, table, number);
    } else {
        PLIM_TRY(read_row(r, table, row, &fixed));
    }
    if (fixed < 0) return plim_graph_status(g, r->error);
    plim_value last = plim_graph_constant(g, NULL, PLIM_I64, 1, (const int64_t[]){1}, (const int64_t[]){-1});
    plim_value same = plim_graph_apply(g, "Equal", (const plim_value[]){ids, number}, 2);
    plim_value mask = plim_graph_apply(g, "Unsqueeze", (const plim_value[]){same, last}, 2);
    plim_value gathered = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
    if (gathered < 0) return plim_graph_status(g, r->error);
    g->nodes.items[n].outputs.items[0] = gathered;
    g->values.items[gathered].producer = n;
    int32_t where = plim__graph_add_node(g, "", "Where", NULL, plim__graph_opset(g, ""));
    const plim_value inputs[] = {mask, fixed, gathered};
    for (size_t i = 0; i < 3; i++) plim__node_add_input(g, where, inputs[i]);
    plim__node_add_output(g, where, out);
    r->padded++;
    return plim_graph_status(g, r->error);
}

plim_status plim__restore_embeddings(plim__restoring *r) {
    if (plim__graph_opset(r->g, "") < 13) return PLIM_OK; /* older ones have other forms of what is added */
    for (size_t i = 0; i < r->provenance->nodes.count; i++) {
        const plim__node_origin *origin = &r->provenance->nodes.items[i];
        plim__call call;
        if (!plim__call_read(origin->call, &call) || !plim__call_is(&call, "embedding") || call.count < 3) continue;
        char *end;
        long long row = strtoll(call.arguments[2], &end, 10);
        if (end != call.arguments[2] + call.lengths[2] || row < 0) continue;
        PLIM_TRY(keep_row(r, origin->node, row));
    }
    return PLIM_OK;
}
