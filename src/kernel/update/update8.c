/* Updates whose states are in 8 bits. A thread takes blocks of a parameter in row-major order, wherever their elements lie:
 * so states, which go into files and on to other plans, do not depend on how convolutions arrange their weights.
 *
 *   offset of an element = tables[0][i0] + tables[1][i1] + ...   also in blocks: each part of it belongs to one axis */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/copies.h"
#include "kernel/onednn.h"
#include "kernel/update/state8.h"
#include "kernel/update/update.h"

#define CHUNK (32 * PLIM__STATE8_BLOCK) /* elements that a thread takes at a time */

struct update8 {
    plim__update update;
    bool dense;
    int rank;
    int64_t dims[PLIM_MAX_RANK + 2];    /* in the order of plain memory */
    int64_t *tables[PLIM_MAX_RANK + 2]; /* of each axis; NULL where dense */
};

static void release_update8(void *state) {
    struct update8 *s = state;
    for (int d = 0; d < s->rank; d++) plim__free(s->tables[d]);
    plim__free(s);
}

/* --- where elements lie --------------------------------------------------------------------------------------- */

/* What position `at` of axis `axis` adds to the offset. */
static int64_t blocked_offset(const dnnl_memory_desc_t *md, int axis, int64_t at) {
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int64_t offset = 0, inner = 1;
    for (int k = b->inner_nblks - 1; k >= 0; k--) { /* the last block is the innermost */
        if (b->inner_idxs[k] == axis) {
            offset += at % b->inner_blks[k] * inner;
            at /= b->inner_blks[k];
        }
        inner *= b->inner_blks[k];
    }
    return offset + at * b->strides[axis];
}

/* Axes in the order of plain memory: those of the value, unless the weight is seen with others. */
static void order_axes(const plim__arrangement *as, int *order, int rank) {
    dnnl_memory_desc_t seen;
    for (int i = 0; i < rank; i++) order[i] = i;
    if (!as->turned) return;
    memcpy(&seen, as->seen.bytes, sizeof seen);
    const dnnl_dim_t *strides = seen.format_desc.blocking.strides;
    for (int i = 1; i < rank; i++) /* few axes: by insertion; those of size 1 may be anywhere */
        for (int k = i; k > 0 && strides[order[k]] > strides[order[k - 1]]; k--) {
            int other = order[k];
            order[k] = order[k - 1];
            order[k - 1] = other;
        }
}

static plim_status make_tables(plim__lower *l, const plim__arrangement *as, struct update8 *s) {
    const plim__layout *layout = &as->layout;
    s->dense = !layout->blocked && plim__layout_is_dense(layout);
    if (s->dense) return PLIM_OK;
    const dnnl_memory_desc_t *md = layout->blocked ? plim__md(layout) : NULL;
    int rank = md ? md->ndims : layout->shape.rank, order[PLIM_MAX_RANK + 2];
    if (rank > PLIM_MAX_RANK + 2) return plim__lower_fail(l, PLIM_INTERNAL, "a parameter has too many axes");
    order_axes(as, order, rank);
    for (int d = 0; d < rank; d++) {
        int axis = order[d];
        s->dims[d] = md ? md->dims[axis] : layout->shape.dims[axis];
        s->tables[d] = plim__alloc_array((size_t)s->dims[d], sizeof *s->tables[d]);
        s->rank = d + 1;
        if (!s->tables[d]) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
        for (int64_t i = 0; i < s->dims[d]; i++)
            s->tables[d][i] = md ? blocked_offset(md, axis, i) : i * layout->strides[axis];
    }
    return PLIM_OK;
}

/* Offsets of n elements from number `from` on. */
static void find_offsets(const struct update8 *s, int64_t from, int64_t n, int64_t *offsets) {
    int64_t at[PLIM_MAX_RANK + 2];
    for (int d = s->rank - 1; d >= 0; d--) {
        at[d] = from % s->dims[d];
        from /= s->dims[d];
    }
    int last = s->rank - 1;
    for (int64_t i = 0; i < n;) {
        int64_t base = 0;
        for (int d = 0; d < last; d++) base += s->tables[d][at[d]];
        for (; i < n && at[last] < s->dims[last]; at[last]++) offsets[i++] = base + s->tables[last][at[last]];
        if (at[last] < s->dims[last]) break;
        at[last] = 0;
        for (int d = last - 1; d >= 0 && ++at[d] == s->dims[d]; d--) at[d] = 0;
    }
}

/* --- running -------------------------------------------------------------------------------------------------- */

/* States of a block: in float32 while it is updated. */
struct block {
    float x[PLIM__STATE8_BLOCK], g[PLIM__STATE8_BLOCK], m[PLIM__STATE8_BLOCK], v[PLIM__STATE8_BLOCK];
    int64_t offsets[PLIM__STATE8_BLOCK];
};

static void update_block(const plim__call *call, const plim__update_numbers *u, int64_t index, struct block *b) {
    const struct update8 *s = call->state;
    int64_t from = index * PLIM__STATE8_BLOCK, rest = s->update.elements - from,
            n = rest < PLIM__STATE8_BLOCK ? rest : PLIM__STATE8_BLOCK;
    float *x = call->out[0], *m_scales = call->out[2], *v_scales = call->out[4];
    uint8_t *m = call->out[1], *v = call->out[3];
    const float *g = call->in[2];
    if (m) plim__state8_unpack(plim__state8_signed(), n, m + from, m_scales[index], b->m);
    if (v) plim__state8_unpack(plim__state8_unsigned(), n, v + from, v_scales[index], b->v);
    plim__update_loop loop = plim__updates()->rule[s->update.rule];
    if (s->dense) {
        loop(u, n, x + from, g + from, b->m, b->v);
    } else {
        find_offsets(s, from, n, b->offsets);
        for (int64_t i = 0; i < n; i++) b->x[i] = x[b->offsets[i]];
        for (int64_t i = 0; i < n; i++) b->g[i] = g[b->offsets[i]];
        loop(u, n, b->x, b->g, b->m, b->v);
        for (int64_t i = 0; i < n; i++) x[b->offsets[i]] = b->x[i];
    }
    if (m) m_scales[index] = plim__state8_pack(plim__state8_signed(), n, b->m, false, m + from);
    if (v) v_scales[index] = plim__state8_pack(plim__state8_unsigned(), n, b->v, true, v + from);
}

/* in: update, scale, gradient     out: parameter, m, its scales, v, its scales */
static plim_status run_update8(const plim__call *call) {
    const struct update8 *s = call->state;
    plim__update_numbers u = plim__update_now(&s->update, call);
    int64_t blocks = plim__state8_blocks(s->update.elements), each = CHUNK / PLIM__STATE8_BLOCK;
    int threads = plim__loop_threads(8 * s->update.elements);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t chunk = 0; chunk < blocks; chunk += each) {
        struct block b;
        for (int64_t i = chunk; i < chunk + each && i < blocks; i++) update_block(call, &u, i, &b);
    }
    return PLIM_OK;
}

plim_status plim__lower_update8(plim__lower *l, plim__update_rule rule) {
    const plim__node *node = plim__lower_node(l);
    plim__update u = plim__update_of(node, rule);
    size_t next = PLIM__UPDATE_STATES;
    if (node->inputs.count != next + 2 * (size_t)u.has_m + 2 * (size_t)u.has_v)
        return plim__lower_fail(l, PLIM_INTERNAL, "%zu inputs do not fit its settings", node->inputs.count);
    PLIM_TRY(plim__lower_input(l, PLIM__UPDATE_RATE, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, PLIM__UPDATE_SCALE, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_written(l, PLIM__UPDATE_PARAMETER, -1));
    PLIM_TRY(plim__lower_input_like(l, PLIM__UPDATE_GRADIENT, PLIM__UPDATE_PARAMETER));
    for (int k = 0; k < 2; k++) PLIM_TRY(plim__lower_written(l, u.has_m ? next++ : SIZE_MAX, -1));
    for (int k = 0; k < 2; k++) PLIM_TRY(plim__lower_written(l, u.has_v ? next++ : SIZE_MAX, -1));
    u.elements = plim__shape_elements(plim__lower_input_shape(l, PLIM__UPDATE_PARAMETER));
    plim__state8_signed(); /* makes the maps, before the first step */
    struct update8 *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->update = u;
    plim_status status = make_tables(l, plim__lower_arrangement(l, PLIM__UPDATE_PARAMETER), s);
    if (status != PLIM_OK) {
        release_update8(s);
        return status;
    }
    return plim__lower_emit(l, node->op->name, run_update8, s, release_update8);
}
