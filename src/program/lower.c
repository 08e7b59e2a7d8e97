/* The lowering of one node: its inputs and outputs become operands, its steps are appended to the program. Where values
 * are is places.c's. */
#include "program/lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plimsoll/bytes.h"
#include "program/lower_state.h"

const plim_graph *plim__lower_graph(const plim__lower *l) { return l->graph; }
const plim__node *plim__lower_node(const plim__lower *l) { return l->node; }
plim_error *plim__lower_error(const plim__lower *l) { return l->error; }
int plim__lower_threads(const plim__lower *l) { return l->program->target.threads; }
bool plim__lower_winograd(const plim__lower *l) { return l->program->target.winograd; }
plim_dtype plim__lower_factors(const plim__lower *l) {
    bool may = l->node->op->flags & PLIM__OP_FACTORS && l->program->target.factors != PLIM_DTYPE_NONE;
    return may ? l->program->target.factors : PLIM_F32;
}
plim__engine *plim__lower_engine(const plim__lower *l) { return l->program->engine; }
plim__engine *plim__lower_like(const plim__lower *l) { return l->like ? l->like->engine : NULL; }
bool plim__lower_has_input(const plim__lower *l, size_t i) { return plim__node_in(l->node, i) >= 0; }
bool plim__lower_has_output(const plim__lower *l, size_t i) { return plim__node_out(l->node, i) >= 0; }

const plim__shape *plim__lower_input_shape(const plim__lower *l, size_t i) {
    return &plim__lower_value(l, plim__node_in(l->node, i))->shape;
}
plim_dtype plim__lower_input_dtype(const plim__lower *l, size_t i) {
    return plim__lower_value(l, plim__node_in(l->node, i))->dtype;
}
const plim__shape *plim__lower_output_shape(const plim__lower *l, size_t i) {
    return &plim__lower_value(l, plim__node_out(l->node, i))->shape;
}
plim_dtype plim__lower_output_dtype(const plim__lower *l, size_t i) {
    return plim__lower_value(l, plim__node_out(l->node, i))->dtype;
}

plim__tensor *plim__lower_constant(plim__lower *l, size_t i) {
    plim__tensor *tensor = plim__graph_constant_tensor(l->graph, plim__node_in(l->node, i));
    return tensor && plim__tensor_load(tensor, l->error) == PLIM_OK ? tensor : NULL;
}

#undef plim__lower_fail
plim_status plim__lower_fail(plim__lower *l, plim_status status, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return plim__fail(l->error, status, "node '%s' (%s): %s",
                      l->node ? plim__node_label(plim__lower_graph(l), l->node) : "",
                      l->node ? l->node->op_name : "reorder", text);
}

plim_status plim__lower_unsupported(plim__lower *l, const char *why) {
    return plim__fail(l->error, PLIM_UNSUPPORTED, "unsupported: operator %s %s in node '%s'", l->node->op_name, why,
                      plim__node_label(plim__lower_graph(l), l->node));
}

plim_status plim__lower_no_memory(plim__lower *l) {
    plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    return PLIM_NO_MEMORY;
}

plim_status plim__lower_buffer(plim__lower *l, size_t bytes, plim__buffer_kind kind, plim_value value,
                               int32_t *buffer) {
    if (!plim__vec_push(&l->program->buffers, (plim__buffer){.bytes = bytes, .kind = kind, .value = value}))
        return plim__lower_no_memory(l);
    *buffer = (int32_t)l->program->buffers.count - 1;
    return PLIM_OK;
}

/* A step may not take more than the first, nor a program for which no room is given more than the second: tables and code that a
 * small file asks for, with an axis of a thousand million entries. */
#define MOST_OF_STEP    ((size_t)256 << 20)
#define MOST_OF_PROGRAM ((size_t)1 << 30)

size_t plim__lower_expected_bytes(const plim__lower *l) {
    size_t count = l->graph->nodes.count, done = l->node_index >= 0 ? (size_t)l->node_index : count;
    double rest = (double)l->program->code_bytes * (double)(count - done) / (double)(done + 1);
    return plim__program_bytes(l->program) + (size_t)rest;
}

plim_status plim__lower_own(plim__lower *l, size_t bytes) {
    plim__room *room = l->program->target.room;
    size_t there = plim__program_bytes(l->program), most = room && room->bytes ? room->bytes : MOST_OF_PROGRAM;
    char wanted[PLIM_BYTES_TEXT], left[PLIM_BYTES_TEXT];
    if (bytes > MOST_OF_STEP)
        return plim__lower_fail(l, PLIM_UNSUPPORTED,
                                "unsupported: an axis so long that its tables take %s, more than %s",
                                plim_bytes_format(bytes, wanted), plim_bytes_format(MOST_OF_STEP, left));
    if (there + bytes > most) {
        if (room) room->needed = bytes + plim__lower_expected_bytes(l);
        return plim__lower_fail(
            l, room ? PLIM_BUDGET : PLIM_NO_MEMORY, "its tables and code take about %s, and there is room for %s",
            plim_bytes_format(bytes, wanted), plim_bytes_format(most > there ? most - there : 0, left));
    }
    l->program->code_bytes += bytes;
    return PLIM_OK;
}

plim_status plim__lower_code(plim__lower *l, uint64_t code, size_t bytes, size_t library_bytes) {
    uint32_t there;
    if (library_bytes > l->program->library_bytes) l->program->library_bytes = library_bytes;
    if (plim__address_find(&l->codes, code, &there)) return PLIM_OK;
    PLIM_TRY(plim__lower_own(l, bytes));
    return plim__address_put(&l->codes, code, 0) ? PLIM_OK : plim__lower_no_memory(l);
}

plim_status plim__lower_library_part(plim__lower *l, uint64_t part, size_t bytes) {
    uint32_t there;
    if (plim__address_find(&l->codes, part, &there)) return PLIM_OK;
    l->program->first_run_bytes += bytes;
    return plim__address_put(&l->codes, part, 0) ? PLIM_OK : plim__lower_no_memory(l);
}

/* --- inputs --------------------------------------------------------------------------------------------------- */

static plim_status push_input(plim__lower *l, plim__operand operand) {
    return plim__vec_push(&l->in, operand) ? PLIM_OK : plim__lower_no_memory(l);
}

static plim_status push_output(plim__lower *l, plim__operand operand) {
    return plim__vec_push(&l->out, operand) ? PLIM_OK : plim__lower_no_memory(l);
}

plim_status plim__lower_input(plim__lower *l, size_t i, plim__want want, plim__layout *layout) {
    plim_value v = plim__node_in(l->node, i);
    if (v < 0) return push_input(l, (plim__operand){-1, 0});
    PLIM_TRY(plim__place_need(l, v));
    const struct place *place = plim__place_first(l, v);
    if (want == PLIM__STRIDED && place->as->layout.blocked) /* perhaps another reader has unblocked it already */
        for (int32_t p = l->first[v]; p >= 0; p = l->places.items[p].next)
            if (!l->places.items[p].as->layout.blocked &&
                l->places.items[p].as->layout.dtype == place->as->layout.dtype)
                place = &l->places.items[p];
    const plim__layout *now = &place->as->layout;
    bool fits = want == PLIM__ANY || (want == PLIM__STRIDED && !now->blocked) || plim__layout_is_dense(now);
    if (fits) {
        if (layout) *layout = *now;
        return push_input(l, place->operand);
    }
    plim__operand operand;
    PLIM_TRY(plim__place_dense(l, v, &operand));
    if (layout) *layout = plim__layout_dense(plim__lower_value(l, v)->dtype, &plim__lower_value(l, v)->shape);
    return push_input(l, operand);
}

plim_status plim__lower_input_as(plim__lower *l, size_t i, const plim__arrangement *want) {
    plim_value v = plim__node_in(l->node, i);
    plim__operand operand = {-1, 0};
    if (v >= 0) PLIM_TRY(plim__place_get(l, v, want, &operand));
    return push_input(l, operand);
}

plim_status plim__lower_input_like(plim__lower *l, size_t i, size_t j) {
    plim_value v = plim__node_in(l->node, i), model = plim__node_in(l->node, j);
    plim__operand operand = {-1, 0};
    if (v >= 0) {
        PLIM_TRY(plim__place_need(l, model));
        PLIM_TRY(plim__place_get_like(l, v, plim__place_first(l, model)->as, &operand));
    }
    return push_input(l, operand);
}

plim_status plim__lower_written(plim__lower *l, size_t i, int like) {
    plim_value v = plim__node_in(l->node, i);
    if (v < 0) return push_output(l, (plim__operand){-1, 0});
    PLIM_TRY(plim__place_adopt(l, v));
    if (l->first[v] < 0 && like >= 0) {
        plim_value model = plim__node_in(l->node, (size_t)like);
        PLIM_TRY(plim__place_need(l, model));
        PLIM_TRY(plim__place_like(l, v, plim__place_first(l, model)->as));
    }
    PLIM_TRY(plim__place_need(l, v));
    plim__place_first(l, v)->next = -1; /* copies in other arrangements hold what it was before */
    plim__twin_drop(l, plim__place_first(l, v)->operand.buffer);
    return push_output(l, plim__place_first(l, v)->operand);
}

size_t plim__lower_persistent_bytes(const plim__lower *l, size_t i) {
    const struct place *place = plim__place_first(l, plim__node_in(l->node, i));
    return place ? plim__layout_bytes(&place->as->layout) : 0;
}

const plim__layout *plim__lower_peek(const plim__lower *l, size_t i) {
    plim_value v = plim__node_in(l->node, i);
    const struct place *place = v < 0 ? NULL : plim__place_first(l, v);
    if (place) return &place->as->layout;
    plim__lower *mutable = (plim__lower *)l; /* a weight that is not placed yet will be dense */
    mutable->peeked = (plim__layout){0};
    if (v >= 0) mutable->peeked = plim__layout_dense(plim__lower_value(l, v)->dtype, &plim__lower_value(l, v)->shape);
    return &mutable->peeked;
}

const plim__arrangement *plim__lower_arrangement(const plim__lower *l, size_t i) {
    const struct place *place = plim__place_first(l, plim__node_in(l->node, i));
    return place ? place->as : NULL;
}

/* --- outputs -------------------------------------------------------------------------------------------------- */

plim_status plim__lower_output(plim__lower *l, size_t i, const plim__layout *layout) {
    plim_value v = plim__node_out(l->node, i);
    plim__operand operand = {-1, 0};
    if (v >= 0) {
        const plim__value *value = plim__lower_value(l, v);
        plim__arrangement as = {.layout = layout ? *layout : plim__layout_dense(value->dtype, &value->shape)};
        PLIM_TRY(plim__lower_buffer(l, plim__layout_bytes(&as.layout), PLIM__BUFFER_ACTIVATION, v, &operand.buffer));
        PLIM_TRY(plim__place_add(l, v, &as, operand));
    }
    return push_output(l, operand);
}

plim_status plim__lower_view_output(plim__lower *l, size_t output, size_t input, const plim__layout *layout,
                                    int64_t offset) {
    plim_value v = plim__node_in(l->node, input), out = plim__node_out(l->node, output);
    if (out < 0) return PLIM_OK;
    if (!(l->node->op->flags & PLIM__OP_VIEW))
        return plim__lower_fail(l, PLIM_INTERNAL, "a view that the row of the operator does not allow");
    PLIM_TRY(plim__place_need(l, v));
    /* the layout was computed from what plim__lower_input or _peek showed: the plain place, if any */
    plim__operand operand = plim__place_first(l, v)->operand;
    if (l->in.count > 0) operand = l->in.items[l->in.count - 1];
    operand.offset += offset;
    return plim__place_add(l, out, &(plim__arrangement){.layout = *layout}, operand);
}

plim_status plim__lower_view(plim__lower *l, size_t i, const plim__layout *layout, int64_t offset) {
    return plim__lower_view_output(l, 0, i, layout, offset);
}

plim_status plim__lower_scratch(plim__lower *l, size_t bytes) {
    if (bytes == 0) return PLIM_OK;
    return plim__lower_buffer(l, bytes, PLIM__BUFFER_WORKSPACE, PLIM_NO_VALUE, &l->scratch);
}

void plim__lower_inplace(plim__lower *l, int in_operand, int out_operand) {
    if (!(l->node->op->flags & PLIM__OP_INPLACE)) return;
    l->inplace_in = in_operand;
    l->inplace_out = out_operand;
}

void plim__lower_may_spill(plim__lower *l, const plim__pieces *pieces, size_t room_bytes) {
    if (l->out.count > 0 && l->out.count <= 32) l->spill |= 1u << (l->out.count - 1);
    l->pieces = pieces;
    if (room_bytes > l->program->room_bytes) l->program->room_bytes = room_bytes;
}

plim_status plim__lower_product(plim__lower *l, plim__product product) {
    size_t i = 0, count = l->program->products.count;
    while (i < count && !plim__product_equal(&l->program->products.items[i], &product)) i++;
    return i < count || plim__vec_push(&l->program->products, product) ? PLIM_OK : plim__lower_no_memory(l);
}

plim_status plim__lower_emit(plim__lower *l, const char *label, plim__kernel run, void *state,
                             void (*release)(void *)) {
    plim__step step = {.run = run,
                       .state = state,
                       .release = release,
                       .node = l->node_index,
                       .phase = l->node->phase,
                       .product = (l->node->op->flags & PLIM__OP_PRODUCT) != 0,
                       .writes = (l->node->op->flags & PLIM__OP_WRITES) != 0,
                       .spill = l->spill,
                       .pieces = l->pieces,
                       .label = label,
                       .in_count = (int32_t)l->in.count,
                       .out_count = (int32_t)l->out.count,
                       .scratch = l->scratch,
                       .inplace_in = l->inplace_in,
                       .inplace_out = l->inplace_out};
    size_t count = l->in.count + l->out.count;
    step.operands = plim__alloc_array(count, sizeof *step.operands);
    if (!state || !step.operands) goto failed;
    if (l->in.count) memcpy(step.operands, l->in.items, l->in.count * sizeof *step.operands);
    if (l->out.count) memcpy(step.operands + l->in.count, l->out.items, l->out.count * sizeof *step.operands);
    if (!l->emitted) l->node->op->cost(l->graph, l->node, &step.cost);
    l->emitted = true;
    if (!plim__vec_push(&l->program->steps, step)) goto failed;
    plim__lower_reset(l);
    return PLIM_OK;
failed:
    plim__free(step.operands);
    if (release && state) release(state);
    return plim__lower_no_memory(l);
}

void plim__lower_reset(plim__lower *l) {
    l->in.count = l->out.count = 0;
    l->scratch = l->inplace_in = l->inplace_out = -1;
    l->spill = 0;
    l->pieces = NULL;
}
