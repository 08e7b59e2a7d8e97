/* The operator table, and inference over whole graphs. */
#include "ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/expand.h"

#define IN(i)   PLIM__SAVED_IN(i)
#define OUT(i)  PLIM__SAVED_OUT(i)
#define INS     PLIM__SAVED_INS
#define EXTRA   PLIM__SAVED_EXTRA
#define NOTHING 0
#define NONE    PLIM__SAVED_NONE

/* SAVED_Abs, ...: what the gradient of a function of one number reads. */
enum {
#define INPUT                          IN(0)
#define OUTPUT                         OUT(0)
#define SLOPE(name, saved, expression) SAVED_##name = saved,
#include "ops/activation.def"
};

#define plim__batch_none NULL
const plim__op plim__ops[] = {
#define OP(domain, name, since, until, min_in, max_in, min_out, max_out, infer, gradient, saved, cost, lower, batch,   \
           flags)                                                                                                      \
    {domain,                                                                                                           \
     #name,                                                                                                            \
     since,                                                                                                            \
     until,                                                                                                            \
     min_in,                                                                                                           \
     max_in,                                                                                                           \
     min_out,                                                                                                          \
     max_out,                                                                                                          \
     plim__infer_##infer,                                                                                              \
     plim__cost_##cost,                                                                                                \
     plim__batch_##batch,                                                                                              \
     saved,                                                                                                            \
     flags},
#include "ops/ops.def"
#undef OP
};
const size_t plim__op_count = sizeof plim__ops / sizeof *plim__ops;

const plim__op *plim__op_find(const char *domain, const char *name, int version) {
    for (size_t i = 0; i < plim__op_count; i++) {
        const plim__op *op = &plim__ops[i];
        if (strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0 && version >= op->since &&
            version <= op->until)
            return op;
    }
    return NULL;
}

bool plim__op_requires(const plim__op *op, size_t i) {
    if (i < 16 && op->flags & PLIM__OP_ABSENT(i)) return false;
    return i < (size_t)op->min_in || op->max_in == PLIM__MANY;
}

static void add_saved(char text[PLIM__SAVED_TEXT], const char *format, int number) {
    size_t length = strlen(text);
    if (length) length += (size_t)snprintf(text + length, PLIM__SAVED_TEXT - length, ", ");
    snprintf(text + length, PLIM__SAVED_TEXT - length, format, number);
}

const char *plim__op_saved_text(const plim__op *op, char text[PLIM__SAVED_TEXT]) {
    *text = 0;
    if (op->saved == PLIM__SAVED_NONE) return text;
    bool any = (op->saved & PLIM__SAVED_INS) == PLIM__SAVED_INS;
    if (any) add_saved(text, "any input", 0);
    for (int i = 0; i < 15; i++)
        if (!any && op->saved & PLIM__SAVED_IN(i)) add_saved(text, "input %d", i);
    for (int i = 0; i < 14; i++)
        if (op->saved & PLIM__SAVED_OUT(i)) add_saved(text, "output %d", i);
    if (op->saved & PLIM__SAVED_EXTRA) add_saved(text, "what its training form saves", 0);
    if (op->saved == 0) add_saved(text, "nothing", 0);
    return text;
}

static plim_status check_counts(const plim_graph *g, const plim__node *node, plim_error *error) {
    const char *label = plim__node_label(g, node);
    const plim__op *op = node->op;
    int in = (int)node->inputs.count, out = (int)node->outputs.count;
    if (in < op->min_in || in > op->max_in)
        return plim__fail(error, PLIM_CORRUPT, "node '%s' (%s): %d inputs, expected %d to %d", label, op->name, in,
                          op->min_in, op->max_in);
    if (out < op->min_out || out > op->max_out)
        return plim__fail(error, PLIM_CORRUPT, "node '%s' (%s): %d outputs, expected %d to %d", label, op->name, out,
                          op->min_out, op->max_out);
    for (size_t i = 0; i < node->inputs.count; i++)
        if (node->inputs.items[i] < 0 && plim__op_requires(op, i))
            return plim__fail(error, PLIM_CORRUPT, "node '%s' (%s): input %zu is missing", label, op->name, i);
    bool own = strcmp(op->domain, PLIM__DOMAIN) == 0; /* backward passes compute what is asked of them */
    for (int i = 0; !own && i < op->min_out; i++)
        if (node->outputs.items[i] < 0)
            return plim__fail(error, PLIM_CORRUPT, "node '%s' (%s): output %d is missing", label, op->name, i);
    return PLIM_OK;
}

plim_status plim__ops_resolve(plim_graph *g, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *node = &g->nodes.items[n];
        if (node->dead) continue;
        if (!node->op) node->op = plim__op_find(node->domain, node->op_name, node->version);
        if (!node->op)
            return plim__fail(error, PLIM_UNSUPPORTED, "unsupported: operator %s%s%s (opset %d) in node '%s'",
                              node->domain, *node->domain ? "::" : "", node->op_name, node->version,
                              plim__node_label(g, node));
        PLIM_TRY(check_counts(g, node, error));
    }
    return PLIM_OK;
}

#undef plim__infer_fail
plim_status plim__infer_fail(plim__infer *ctx, plim_status status, const char *format, ...) {
    if (!ctx->error) return status;
    char text[sizeof ctx->error->message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return plim__fail(ctx->error, status, "node '%s' (%s): %s", plim__node_label(ctx->graph, ctx->node),
                      ctx->node->op_name, text);
}

plim_status plim__infer_output(plim__infer *ctx, size_t i, plim_dtype dtype, const plim__shape *shape) {
    plim_value id = plim__node_out(ctx->node, i);
    if (id < 0) return PLIM_OK;
    char text[PLIM_SHAPE_TEXT];
    size_t bytes;
    if (!plim__shape_is_concrete(shape))
        return plim__infer_fail(ctx, PLIM_SHAPE, "output %zu would have the shape %s", i,
                                plim__shape_text(shape, NULL, text));
    if (plim_dtype_bits(dtype) == 0)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s with element type %s",
                                ctx->node->op_name, plim_dtype_name(dtype));
    if (plim__shape_bytes(shape, dtype, &bytes, NULL) != PLIM_OK)
        return plim__infer_fail(ctx, PLIM_OVERFLOW, "output %zu, %s%s, is more bytes than fit in 63 bits", i,
                                plim_dtype_name(dtype), plim__shape_text(shape, NULL, text));
    ctx->graph->values.items[id].dtype = dtype;
    ctx->graph->values.items[id].shape = *shape;
    return PLIM_OK;
}

plim_status plim__infer_same_types(plim__infer *ctx, size_t i, size_t j) {
    if (!plim__infer_has(ctx, i) || !plim__infer_has(ctx, j) || plim__infer_dtype(ctx, i) == plim__infer_dtype(ctx, j))
        return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_DTYPE, "inputs are %s and %s", plim_dtype_name(plim__infer_dtype(ctx, i)),
                            plim_dtype_name(plim__infer_dtype(ctx, j)));
}

plim_status plim__infer_constant(plim__infer *ctx, size_t i, plim__tensor *tensor) {
    plim_value id = plim__node_out(ctx->node, i);
    plim_status status = plim__infer_output(ctx, i, tensor->dtype, &tensor->shape);
    if (status != PLIM_OK || id < 0) {
        plim__tensor_release(tensor);
        return status;
    }
    plim__value *value = &ctx->graph->values.items[id];
    plim__tensor_release(value->tensor);
    value->tensor = tensor;
    value->kind = PLIM__VALUE_CONSTANT;
    return PLIM_OK;
}

plim_status plim__infer_ints(plim__infer *ctx, size_t i, int64_t *values, size_t most, size_t *count) {
    plim__tensor *tensor = plim__graph_constant_tensor(ctx->graph, plim__node_in(ctx->node, i));
    if (!tensor)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s whose input %zu depends on data",
                                ctx->node->op_name, i);
    plim_error inner;
    plim_status status = plim__tensor_ints(tensor, values, most, count, &inner);
    return status == PLIM_OK ? PLIM_OK : plim__infer_fail(ctx, status, "input %zu: %s", i, inner.message);
}

plim_status plim__infer_axes(plim__infer *ctx, const char *name, size_t i, int rank, int axes[PLIM_MAX_RANK],
                             int *count) {
    int64_t raw[PLIM_MAX_RANK] = {0};
    size_t given = 0;
    const int64_t *attribute = plim__node_ints(ctx->node, name, &given);
    *count = 0;
    if (attribute) {
        if (given > PLIM_MAX_RANK) return plim__infer_fail(ctx, PLIM_SHAPE, "%zu axes for rank %d", given, rank);
        memcpy(raw, attribute, given * sizeof *raw);
    } else if (plim__infer_has(ctx, i)) {
        PLIM_TRY(plim__infer_ints(ctx, i, raw, PLIM_MAX_RANK, &given));
    }
    for (size_t k = 0; k < given; k++) {
        if (!plim__axis_normalize(raw[k], rank, &axes[k]))
            return plim__infer_fail(ctx, PLIM_SHAPE, "axis %lld is out of range for rank %d", (long long)raw[k], rank);
        for (size_t j = 0; j < k; j++)
            if (axes[j] == axes[k]) return plim__infer_fail(ctx, PLIM_SHAPE, "axis %d is given twice", axes[k]);
    }
    *count = (int)given;
    return PLIM_OK;
}

plim_status plim__infer_same(plim__infer *ctx) {
    for (size_t i = 0; i < ctx->node->outputs.count; i++)
        PLIM_TRY(plim__infer_output(ctx, i, plim__infer_dtype(ctx, 0), plim__infer_shape(ctx, 0)));
    return PLIM_OK;
}

plim_status plim__infer_broadcast(plim__infer *ctx) {
    plim__shape shape = *plim__infer_shape(ctx, 0);
    for (size_t i = 1; i < ctx->node->inputs.count; i++) {
        char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
        if (!plim__shape_broadcast(&shape, plim__infer_shape(ctx, i), &shape))
            return plim__infer_fail(ctx, PLIM_SHAPE, "shapes %s and %s do not broadcast",
                                    plim__shape_text(&shape, NULL, a),
                                    plim__shape_text(plim__infer_shape(ctx, i), NULL, b));
        if (plim__infer_dtype(ctx, i) != plim__infer_dtype(ctx, 0))
            return plim__infer_fail(ctx, PLIM_DTYPE, "inputs are %s and %s", plim_dtype_name(plim__infer_dtype(ctx, 0)),
                                    plim_dtype_name(plim__infer_dtype(ctx, i)));
    }
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

static plim_status check_inputs(const plim_graph *g, const plim__node *node, plim_error *error) {
    for (size_t i = 0; i < node->inputs.count; i++) {
        if (node->inputs.items[i] < 0) continue;
        const plim__value *value = &g->values.items[node->inputs.items[i]];
        if (plim__sequence_of(g, node->inputs.items[i])) {
            if (node->op->flags & PLIM__OP_SEQUENCES) continue;
            return plim__fail(error, PLIM_UNSUPPORTED, "unsupported: operator %s of a sequence in node '%s'",
                              node->op_name, plim__node_label(g, node));
        }
        if (value->dtype == PLIM_DTYPE_NONE || !plim__shape_is_concrete(&value->shape))
            return plim__fail(error, PLIM_SHAPE, "node '%s' (%s): the type of its input '%s' is not known",
                              plim__node_label(g, node), node->op_name, value->name);
    }
    return PLIM_OK;
}

static bool all_constant(const plim_graph *g, const plim_value *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (values[i] >= 0 && !plim__graph_constant_tensor(g, values[i])) return false;
    return true;
}

static plim_status infer_node(plim_graph *g, int32_t n, plim__fold fold, void *context, plim_error *error) {
    plim__node *node = &g->nodes.items[n];
    PLIM_TRY(check_inputs(g, node, error));
    plim__infer ctx = {g, node, error};
    PLIM_TRY(node->op->infer(&ctx));
    node = &g->nodes.items[n];                    /* nodes may have been added */
    if (node->dead) return PLIM_OK;               /* they have taken its place */
    if (node->outputs.count == 0) return PLIM_OK; /* it writes to persistent values */
    if (plim__sequence_of(g, node->outputs.items[0])) return PLIM_OK;
    bool outputs_known = all_constant(g, node->outputs.items, node->outputs.count);
    if (!outputs_known && fold && !(node->op->flags & PLIM__OP_RANDOM) &&
        all_constant(g, node->inputs.items, node->inputs.count)) {
        PLIM_TRY(fold(g, n, context, error));
        outputs_known = all_constant(g, node->outputs.items, node->outputs.count);
    }
    if (outputs_known) {
        node->dead = true;
        for (size_t i = 0; i < node->outputs.count; i++)
            if (node->outputs.items[i] >= 0) g->values.items[node->outputs.items[i]].producer = -1;
    }
    return PLIM_OK;
}

plim_status plim__infer_graph(plim_graph *g, plim__fold fold, void *context, plim_error *error) {
    PLIM_TRY(plim__ops_resolve(g, error));
    PLIM_TRY(plim__graph_sort(g, error));
    for (size_t n = 0; n < g->nodes.count; n++) {
        size_t count = g->nodes.count;
        if (!g->nodes.items[n].dead) PLIM_TRY(infer_node(g, (int32_t)n, fold, context, error));
        if (g->nodes.count == count) continue;
        PLIM_TRY(plim__ops_resolve(g, error));
        PLIM_TRY(plim__graph_sort(g, error)); /* those up to n stay: they need nothing that comes later */
    }
    return PLIM_OK;
}

static double bytes_of(const plim_graph *g, plim_value v) {
    size_t bytes = 0;
    if (v >= 0) plim__shape_bytes(&g->values.items[v].shape, g->values.items[v].dtype, &bytes, NULL);
    return (double)bytes;
}

void plim__cost_none(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    (void)g;
    (void)node;
    *cost = (plim__cost){0};
}

void plim__cost_pointwise(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    *cost = (plim__cost){0};
    for (size_t i = 0; i < node->inputs.count; i++) cost->bytes += bytes_of(g, node->inputs.items[i]);
    for (size_t i = 0; i < node->outputs.count; i++) {
        if (node->outputs.items[i] < 0) continue;
        cost->bytes += bytes_of(g, node->outputs.items[i]);
        cost->flops += (double)plim__shape_elements(&g->values.items[node->outputs.items[i]].shape);
    }
}
