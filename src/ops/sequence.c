/* Sequences of known length, resolved while types are inferred.
 *
 *   x ─→ SplitToSequence ─→ s ─→ SequenceAt(1) ─→ y        x ─→ Split ─→ a, b, c      b ─→ Identity ─→ y
 *
 * Every sequence is made by a SequenceConstruct once its maker was inferred; its readers read that node's inputs. */
#include <inttypes.h>

#include "ops/expand.h"

#define MOST_PARTS 4096 /* elements that one node makes */

/* The elements of input i, copied, since nodes move. */
typedef PLIM_VEC(plim_value) elements;

static plim_status no_memory(plim__infer *ctx) { return plim__fail_memory(ctx->error, "a sequence", sizeof(void *)); }

static plim_status read_elements(plim__infer *ctx, size_t i, elements *list) {
    const plim__node *made = plim__sequence_of(ctx->graph, plim__node_in(ctx->node, i));
    if (!made)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED,
                                "unsupported: operator %s whose input %zu is no sequence of known length",
                                ctx->node->op_name, i);
    for (size_t k = 0; k < made->inputs.count; k++)
        if (!plim__vec_push(list, made->inputs.items[k])) return no_memory(ctx);
    return PLIM_OK;
}

/* The position that input i tells in a sequence of `count`, the end included or not; the last one where there is none. */
static plim_status read_position(plim__infer *ctx, size_t i, int64_t count, bool end, size_t *position) {
    int64_t at = end ? count : count - 1;
    size_t given = 1;
    if (plim__infer_has(ctx, i)) PLIM_TRY(plim__infer_ints(ctx, i, &at, 1, &given));
    if (given != 1) return plim__infer_fail(ctx, PLIM_SHAPE, "the position is not one number");
    int64_t normal = at < 0 ? at + count : at;
    if (normal < 0 || normal >= count + end)
        return plim__infer_fail(ctx, PLIM_SHAPE, "position %" PRId64 " in a sequence of %" PRId64, at, count);
    *position = (size_t)normal;
    return PLIM_OK;
}

/* The node's output is the sequence of these. */
static plim_status become(plim__infer *ctx, const plim_value *values, size_t count) {
    plim__expand e = plim__expand_begin(ctx);
    plim_value out = plim__node_out(ctx->node, 0);
    int32_t made = plim__expand_node(&e, "SequenceConstruct", values, count, 0);
    plim__node_add_output(e.g, made, out);
    e.g->nodes.items[e.node].dead = true;
    return plim_graph_status(e.g, ctx->error);
}

plim_status plim__infer_sequence_construct(plim__infer *ctx) {
    for (size_t i = 0; i < ctx->node->inputs.count; i++)
        if (plim__sequence_of(ctx->graph, ctx->node->inputs.items[i]))
            return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s of sequences", ctx->node->op_name);
    return PLIM_OK;
}

plim_status plim__infer_sequence_empty(plim__infer *ctx) { return become(ctx, NULL, 0); }

plim_status plim__infer_identity(plim__infer *ctx) {
    if (!plim__sequence_of(ctx->graph, ctx->node->inputs.items[0])) return plim__infer_same(ctx);
    elements list = {0};
    plim_status status = read_elements(ctx, 0, &list);
    if (status == PLIM_OK) status = become(ctx, list.items, list.count);
    plim__vec_free(&list);
    return status;
}

static plim_status insert(plim__infer *ctx, elements *list) {
    size_t at;
    PLIM_TRY(read_elements(ctx, 0, list));
    PLIM_TRY(read_position(ctx, 2, (int64_t)list->count, true, &at));
    if (!plim__vec_push(list, PLIM_NO_VALUE)) return no_memory(ctx);
    for (size_t k = list->count - 1; k > at; k--) list->items[k] = list->items[k - 1];
    list->items[at] = plim__node_in(ctx->node, 1);
    return become(ctx, list->items, list->count);
}

plim_status plim__infer_sequence_insert(plim__infer *ctx) {
    elements list = {0};
    plim_status status = insert(ctx, &list);
    plim__vec_free(&list);
    return status;
}

static plim_status erase(plim__infer *ctx, elements *list) {
    size_t at;
    PLIM_TRY(read_elements(ctx, 0, list));
    PLIM_TRY(read_position(ctx, 1, (int64_t)list->count, false, &at));
    for (size_t k = at; k + 1 < list->count; k++) list->items[k] = list->items[k + 1];
    list->count--;
    return become(ctx, list->items, list->count);
}

plim_status plim__infer_sequence_erase(plim__infer *ctx) {
    elements list = {0};
    plim_status status = erase(ctx, &list);
    plim__vec_free(&list);
    return status;
}

plim_status plim__infer_sequence_at(plim__infer *ctx) {
    elements list = {0};
    size_t at;
    plim_status status = read_elements(ctx, 0, &list);
    if (status == PLIM_OK) status = read_position(ctx, 1, (int64_t)list.count, false, &at);
    if (status == PLIM_OK) {
        plim__expand e = plim__expand_begin(ctx);
        status = plim__expand_end(&e, &list.items[at], 1);
    }
    plim__vec_free(&list);
    return status;
}

plim_status plim__infer_sequence_length(plim__infer *ctx) {
    elements list = {0};
    plim_status status = read_elements(ctx, 0, &list);
    plim__tensor *length;
    if (status == PLIM_OK) status = plim__tensor_create(PLIM_I64, &(plim__shape){.rank = 0}, &length, ctx->error);
    if (status == PLIM_OK) {
        *(int64_t *)length->data = (int64_t)list.count;
        status = plim__infer_constant(ctx, 0, length);
    }
    plim__vec_free(&list);
    return status;
}

/* --- from and to tensors -------------------------------------------------------------------------------------- */

/* Sizes of the parts: those that input 1 lists, or as many of the size that it tells as fit, and the rest. */
static plim_status read_sizes(plim__infer *ctx, int64_t length, int64_t *sizes, size_t *count) {
    int64_t size = 1;
    if (plim__infer_has(ctx, 1) && plim__infer_shape(ctx, 1)->rank > 0) {
        int64_t sum = 0;
        PLIM_TRY(plim__infer_ints(ctx, 1, sizes, MOST_PARTS, count));
        for (size_t i = 0; i < *count; i++) {
            if (sizes[i] < 0 || sizes[i] > length - sum)
                return plim__infer_fail(ctx, PLIM_SHAPE, "the parts do not fit an axis of %" PRId64, length);
            sum += sizes[i];
        }
        if (sum == length) return PLIM_OK;
        return plim__infer_fail(ctx, PLIM_SHAPE, "the parts do not fit an axis of %" PRId64, length);
    }
    size_t given = 1;
    if (plim__infer_has(ctx, 1)) PLIM_TRY(plim__infer_ints(ctx, 1, &size, 1, &given));
    if (given != 1 || size < 1) return plim__infer_fail(ctx, PLIM_SHAPE, "parts of %" PRId64 " elements", size);
    if (length / size >= MOST_PARTS)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s into more than %d parts",
                                ctx->node->op_name, MOST_PARTS);
    for (*count = 0; length > 0; length -= size) sizes[(*count)++] = length < size ? length : size;
    return PLIM_OK;
}

static plim_status split(plim__infer *ctx, int64_t *sizes, plim_value *parts) {
    const plim__shape *x = plim__infer_shape(ctx, 0);
    plim_value value = plim__node_in(ctx->node, 0);
    bool keep = plim__infer_has(ctx, 1) || plim__node_int(ctx->node, "keepdims", 1) != 0;
    int axis;
    size_t count = 0;
    if (!plim__axis_normalize(plim__node_int(ctx->node, "axis", 0), x->rank, &axis))
        return plim__infer_fail(ctx, PLIM_SHAPE, "its axis is out of range for rank %d", x->rank);
    PLIM_TRY(read_sizes(ctx, x->dims[axis], sizes, &count));
    plim__expand e = plim__expand_begin(ctx);
    int32_t node = count ? plim__expand_split(&e, value, axis, sizes, count) : -1;
    for (size_t i = 0; i < count; i++) {
        parts[i] = plim__expand_out(&e, node, i);
        if (!keep) parts[i] = plim__expand_two(&e, "Squeeze", parts[i], plim__expand_ints(&e, &(int64_t){axis}, 1));
    }
    PLIM_TRY(plim_graph_status(e.g, ctx->error));
    ctx->node = &e.g->nodes.items[e.node];
    return become(ctx, parts, count);
}

plim_status plim__infer_split_to_sequence(plim__infer *ctx) {
    int64_t *sizes = plim__alloc_array(MOST_PARTS, sizeof *sizes);
    plim_value *parts = plim__alloc_array(MOST_PARTS, sizeof *parts);
    plim_status status = sizes && parts ? split(ctx, sizes, parts) : no_memory(ctx);
    plim__free(sizes);
    plim__free(parts);
    return status;
}

static plim_status join(plim__infer *ctx, elements *list) {
    PLIM_TRY(read_elements(ctx, 0, list));
    if (!list->count) return plim__infer_fail(ctx, PLIM_SHAPE, "the sequence is empty");
    int64_t axis = plim__node_int(ctx->node, "axis", 0);
    bool stack = plim__node_int(ctx->node, "new_axis", 0) != 0;
    plim__expand e = plim__expand_begin(ctx);
    for (size_t i = 0; stack && i < list->count; i++)
        list->items[i] = plim__expand_two(&e, "Unsqueeze", list->items[i], plim__expand_ints(&e, &axis, 1));
    plim_value whole = plim__expand_concat(&e, list->items, list->count, axis);
    return plim__expand_end(&e, &whole, 1);
}

plim_status plim__infer_concat_from_sequence(plim__infer *ctx) {
    elements list = {0};
    plim_status status = join(ctx, &list);
    plim__vec_free(&list);
    return status;
}
