/* The common lowering of pointwise nodes into steps: which layout the output takes, which input it may overwrite.
 *
 *   all inputs as large as the output, one blocked    → every one into that layout, one flat loop
 *   one such input blocked, the others broadcast      → the blocked axis split in two: N C H W → N C/b H W b
 *   otherwise                                         → strided; the output follows an input that has no holes */
#include "kernel/elementwise.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "kernel/onednn.h"

typedef struct pointwise {
    plim__loop loop;
    plim__loop_body body;
    int inputs;
    _Alignas(16) unsigned char context[PLIM__POINTWISE_CONTEXT];
} pointwise;

static plim_status run_pointwise(const plim__call *call) {
    const pointwise *state = call->state;
    char *operands[PLIM__LOOP_OPERANDS] = {call->out[0]};
    for (int i = 0; i < state->inputs; i++) operands[i + 1] = call->in[i];
    plim__loop_run(&state->loop, operands, state->body, state->context);
    return PLIM_OK;
}

static bool full_shape(const plim__lower *l, int i) {
    return plim__shape_equal(plim__lower_input_shape(l, (size_t)i), plim__lower_output_shape(l, 0));
}

static bool same_type(const plim__lower *l, int i) {
    return plim__lower_input_dtype(l, (size_t)i) == plim__lower_output_dtype(l, 0);
}

/* The input whose blocked layout the output could take; -1 when there is none. */
static int blocked_input(const plim__lower *l, int inputs) {
    for (int i = 0; i < inputs; i++) {
        const plim__layout *layout = plim__lower_peek(l, (size_t)i);
        if (layout->blocked && plim__md(layout)->ndims == layout->shape.rank && full_shape(l, i) && same_type(l, i))
            return i;
    }
    return -1;
}

/* The operand to write over: the one with the output's layout, rather a value that a step made than a weight. */
static void allow_inplace(plim__lower *l, int inputs, const plim__layout *layouts, const plim__layout *out) {
    const plim_graph *g = plim__lower_graph(l);
    int best = -1;
    for (int i = inputs - 1; i >= 0; i--) {
        if (!plim__layout_equal(&layouts[i], out)) continue;
        bool made = g->values.items[plim__node_in(plim__lower_node(l), (size_t)i)].kind == PLIM__VALUE_NODE;
        if (best < 0 || made) best = i;
    }
    if (best >= 0) plim__lower_inplace(l, best, 0);
}

static plim_status lower_flat(plim__lower *l, const plim__pointwise_node *what, int leader, plim__loop *loop) {
    plim__layout layouts[PLIM__LOOP_OPERANDS], out = *plim__lower_peek(l, (size_t)leader);
    size_t sizes[PLIM__LOOP_OPERANDS], bytes = (size_t)plim_dtype_bits(out.dtype) / 8;
    for (int i = 0; i < what->inputs; i++) {
        PLIM_TRY(plim__lower_input_md(l, (size_t)i, plim__md(&out)));
        layouts[i] = out;
    }
    PLIM_TRY(plim__lower_output_md(l, 0, plim__md(&out)));
    for (int i = 0; i <= what->inputs; i++) sizes[i] = bytes;
    plim__loop_flat(loop, (int64_t)(dnnl_memory_desc_get_size(plim__md(&out)) / bytes), what->inputs + 1, sizes);
    allow_inplace(l, what->inputs, layouts, &out);
    return PLIM_OK;
}

/* One operand of a loop whose axis `split` is in blocks of `block`, the last axis of the loop. */
static void add_split(plim__loop *loop, const plim__layout *layout, int rank, int split, int64_t block) {
    int64_t bytes = plim_dtype_bits(layout->dtype) / 8, *strides = loop->strides[loop->operands++];
    int shift = rank - layout->shape.rank;
    for (int i = 0; i < layout->shape.rank; i++) {
        if (layout->shape.dims[i] == 1) continue;
        int64_t stride =
            (layout->blocked ? plim__md(layout)->format_desc.blocking.strides[i] : layout->strides[i]) * bytes;
        bool divided = i + shift == split;
        strides[i + shift] = divided && !layout->blocked ? stride * block : stride;
        if (divided) strides[rank] = layout->blocked ? bytes : stride;
    }
}

static plim_status lower_split(plim__lower *l, const plim__pointwise_node *what, int leader, plim__loop *loop) {
    plim__layout layouts[PLIM__LOOP_OPERANDS], out = *plim__lower_peek(l, (size_t)leader);
    int rank = out.shape.rank, split = (int)plim__md(&out)->format_desc.blocking.inner_idxs[0];
    int64_t block = plim__md(&out)->format_desc.blocking.inner_blks[0];
    *loop = (plim__loop){.rank = rank + 1};
    for (int i = 0; i < rank; i++) loop->dims[i] = out.shape.dims[i];
    loop->dims[split] /= block;
    loop->dims[rank] = block;
    add_split(loop, &out, rank, split, block);
    for (int i = 0; i < what->inputs; i++) {
        if (full_shape(l, i)) {
            PLIM_TRY(plim__lower_input_md(l, (size_t)i, plim__md(&out)));
            layouts[i] = out;
        } else {
            PLIM_TRY(plim__lower_input(l, (size_t)i, PLIM__STRIDED, &layouts[i]));
        }
        add_split(loop, &layouts[i], rank, split, block);
    }
    PLIM_TRY(plim__lower_output_md(l, 0, plim__md(&out)));
    plim__loop_finish(loop);
    allow_inplace(l, what->inputs, layouts, &out);
    return PLIM_OK;
}

static plim_status lower_strided(plim__lower *l, const plim__pointwise_node *what, plim__loop *loop) {
    plim__layout layouts[PLIM__LOOP_OPERANDS];
    plim__layout out = plim__layout_dense(plim__lower_output_dtype(l, 0), plim__lower_output_shape(l, 0));
    int leader = -1;
    for (int i = 0; i < what->inputs; i++) {
        PLIM_TRY(plim__lower_input(l, (size_t)i, PLIM__STRIDED, &layouts[i]));
        if (!full_shape(l, i) || !plim__layout_is_packed(&layouts[i])) continue;
        if (leader < 0 || plim__layout_is_dense(&layouts[i])) leader = i;
    }
    if (leader >= 0) memcpy(out.strides, layouts[leader].strides, sizeof out.strides);
    PLIM_TRY(plim__lower_output(l, 0, &out));
    plim__loop_start(loop, &out.shape);
    plim__loop_add(loop, &out);
    for (int i = 0; i < what->inputs; i++) {
        if (i == 1 && what->axis != PLIM__NUMPY_AXIS)
            plim__loop_add_at(loop, &layouts[i], what->axis);
        else
            plim__loop_add(loop, &layouts[i]);
    }
    plim__loop_finish(loop);
    allow_inplace(l, what->inputs, layouts, &out);
    return PLIM_OK;
}

plim_status plim__lower_pointwise_loop(plim__lower *l, const plim__pointwise_node *what, plim__loop *loop) {
    int leader = what->axis == PLIM__NUMPY_AXIS ? blocked_input(l, what->inputs) : -1;
    if (leader < 0) return lower_strided(l, what, loop);
    const plim__layout *layout = plim__lower_peek(l, (size_t)leader);
    bool exact = plim__layout_is_exact(layout), all_full = true, all_typed = true;
    for (int i = 0; i < what->inputs; i++) {
        all_full &= full_shape(l, i);
        all_typed &= same_type(l, i);
    }
    if (all_full && all_typed && (exact || what->keeps_zero)) return lower_flat(l, what, leader, loop);
    if (all_typed && exact && plim__md(layout)->format_desc.blocking.inner_nblks == 1)
        return lower_split(l, what, leader, loop);
    return lower_strided(l, what, loop);
}

plim_status plim__lower_unsupported_type(plim__lower *l, size_t i) {
    char why[48];
    snprintf(why, sizeof why, "with %s", plim_dtype_name(plim__lower_input_dtype(l, i)));
    return plim__lower_unsupported(l, why);
}

plim_status plim__lower_pointwise(plim__lower *l, const plim__pointwise_node *what) {
    if (!what->body) return plim__lower_unsupported_type(l, 0);
    plim__loop loop;
    PLIM_TRY(plim__lower_pointwise_loop(l, what, &loop));
    pointwise *state = plim__alloc(sizeof *state);
    if (!state) return plim__lower_fail(l, PLIM_NO_MEMORY, "no memory for its loop");
    *state = (pointwise){.loop = loop, .body = what->body, .inputs = what->inputs};
    if (what->context_bytes) memcpy(state->context, what->context, what->context_bytes);
    return plim__lower_emit(l, plim__lower_node(l)->op->name, run_pointwise, state, plim__free);
}
