/* The lowering of nodes: places values in buffers, rearranges them where layouts meet, collects operands
 * and emits steps.
 *
 * A value may stand in several layouts at once: the one its producer made, and copies that consumers asked
 * for. Each is a `place`; asking twice for the same layout gives the same place. Weights are placed when
 * the first consumer asks, directly in the layout it wants, and are rearranged once, at load time. */
#include "program/lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/copy.h"
#include "kernel/machine.h"
#include "program/lower_state.h"

const plim_graph *plim__lower_graph(const plim__lower *l) { return l->graph; }
const plim__node *plim__lower_node(const plim__lower *l) { return l->node; }
plim_error *plim__lower_error(const plim__lower *l) { return l->error; }
int plim__lower_threads(const plim__lower *l) { return l->program->machine->threads; }
dnnl_engine_t plim__lower_engine(const plim__lower *l) { return l->program->machine->engine; }
bool plim__lower_has_input(const plim__lower *l, size_t i) { return plim__node_in(l->node, i) >= 0; }
bool plim__lower_has_output(const plim__lower *l, size_t i) { return plim__node_out(l->node, i) >= 0; }

static const plim__value *value_of(const plim__lower *l, plim_value v) { return &l->graph->values.items[v]; }

const plim__shape *plim__lower_input_shape(const plim__lower *l, size_t i) {
    return &value_of(l, plim__node_in(l->node, i))->shape;
}
plim_dtype plim__lower_input_dtype(const plim__lower *l, size_t i) {
    return value_of(l, plim__node_in(l->node, i))->dtype;
}
const plim__shape *plim__lower_output_shape(const plim__lower *l, size_t i) {
    return &value_of(l, plim__node_out(l->node, i))->shape;
}
plim_dtype plim__lower_output_dtype(const plim__lower *l, size_t i) {
    return value_of(l, plim__node_out(l->node, i))->dtype;
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
    return plim__fail(l->error, status, "node '%s' (%s): %s", l->node ? l->node->name : "",
                      l->node ? l->node->op_name : "reorder", text);
}

plim_status plim__lower_unsupported(plim__lower *l, const char *why) {
    return plim__fail(l->error, PLIM_UNSUPPORTED, "unsupported: operator %s %s in node '%s'", l->node->op_name, why,
                      l->node->name);
}

plim_status plim__lower_dnnl(plim__lower *l, dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return PLIM_OK;
    if (status == dnnl_out_of_memory) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory in oneDNN (%s)", what);
    if (status == dnnl_unimplemented)
        return plim__lower_fail(l, PLIM_UNSUPPORTED, "unsupported: oneDNN has no kernel for this %s", what);
    return plim__lower_fail(l, PLIM_INTERNAL, "oneDNN refuses this %s (status %d)", what, (int)status);
}

/* --- buffers and places --------------------------------------------------------------------------------------- */

static plim_status no_memory(plim__lower *l) {
    plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    return PLIM_NO_MEMORY;
}

plim_status plim__lower_buffer(plim__lower *l, size_t bytes, plim__buffer_kind kind, plim_value value,
                               int32_t *buffer) {
    if (!plim__vec_push(&l->program->buffers, (plim__buffer){.bytes = bytes, .kind = kind, .value = value}))
        return no_memory(l);
    *buffer = (int32_t)l->program->buffers.count - 1;
    return PLIM_OK;
}

/* The first place of a value is its own; consumers' copies follow. */
static struct place *first_place(const plim__lower *l, plim_value v) {
    return l->first[v] < 0 ? NULL : &l->places.items[l->first[v]];
}

/* The md of a dense value seen with the dims of another md: grouped convolution weights gain an axis. */
static bool dense_md_like(const dnnl_memory_desc_t *like, dnnl_memory_desc_t *md) {
    dnnl_dims_t strides;
    int64_t stride = 1;
    for (int i = like->ndims - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= like->dims[i];
    }
    return dnnl_memory_desc_init_by_strides(md, like->ndims, like->dims, like->data_type, strides) == dnnl_success;
}

/* Whether `seen` (may be NULL) sees plain memory with axes exchanged. Such a layout may have the very descriptor of one
 * without, where the two axes are of one size, and still mean something else. */
static bool exchanges_axes(const dnnl_memory_desc_t *seen) {
    dnnl_memory_desc_t plain;
    return seen && !(dense_md_like(seen, &plain) && dnnl_memory_desc_equal(&plain, seen));
}

static bool same_axes(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b) {
    if (!exchanges_axes(a) && !exchanges_axes(b)) return true;
    return a && b && dnnl_memory_desc_equal(a, b);
}

static const dnnl_memory_desc_t *seen_by(const struct place *place) { return place->turned ? &place->seen : NULL; }

/* `seen` as in struct place; NULL for layouts of the value's own axes. */
static struct place *find_place(const plim__lower *l, plim_value v, const plim__layout *layout,
                                const dnnl_memory_desc_t *seen) {
    for (int32_t p = l->first[v]; p >= 0; p = l->places.items[p].next) {
        struct place *place = &l->places.items[p];
        if (plim__layout_equal(&place->layout, layout) && same_axes(seen_by(place), seen)) return place;
    }
    return NULL;
}

static plim_status push_place(plim__lower *l, plim_value v, struct place place) {
    place.next = -1;
    if (!plim__vec_push(&l->places, place)) return no_memory(l);
    int32_t index = (int32_t)l->places.count - 1;
    int32_t *link = &l->first[v];
    while (*link >= 0) link = &l->places.items[*link].next;
    *link = index;
    return PLIM_OK;
}

static plim_status add_place(plim__lower *l, plim_value v, const plim__layout *layout, plim__operand operand) {
    return push_place(l, v, (struct place){.layout = *layout, .operand = operand});
}

static bool is_weight(const plim__value *value) {
    return value->kind == PLIM__VALUE_CONSTANT || value->kind == PLIM__VALUE_PARAMETER ||
           value->kind == PLIM__VALUE_STATE || value->kind == PLIM__VALUE_SUM;
}

/* A weight gets one more copy for a further layout, made when it is loaded, unless a step changes it: then the copy is
 * made anew in each run. */
static bool may_have_copies(const plim__lower *l, plim_value v) {
    return l->first[v] < 0 || (!l->written[v] && !l->like);
}

/* --- rearranging ---------------------------------------------------------------------------------------------- */

struct copy_state {
    plim__layout from, to;
    int threads;
};

static plim_status run_copy(const plim__call *call) {
    const struct copy_state *s = call->state;
    plim__copy_strided(call->out[0], s->to.strides, call->in[0], s->from.strides, s->to.shape.dims, s->to.shape.rank,
                       (size_t)plim_dtype_bits(s->to.dtype) / 8, s->threads);
    return PLIM_OK;
}

static plim_status make_reorder(plim__lower *l, const dnnl_memory_desc_t *source, const dnnl_memory_desc_t *target,
                                plim__rearrangement *made) {
    dnnl_primitive_desc_t pd;
    dnnl_primitive_attr_t attr;
    PLIM_TRY(plim__lower_attr(l, &attr));
    dnnl_status_t status =
        dnnl_reorder_primitive_desc_create(&pd, source, plim__lower_engine(l), target, plim__lower_engine(l), attr);
    dnnl_primitive_attr_destroy(attr);
    PLIM_TRY(plim__lower_dnnl(l, status, "reorder"));
    plim__argument arguments[] = {{DNNL_ARG_FROM, *source, 0}, {DNNL_ARG_TO, *target, PLIM__OUT(0)}};
    return plim__primitive_create(l, pd, arguments, 2, made);
}

/* A kernel that turns one layout into the other: strided copies are ours, everything blocked is oneDNN's. */
static plim_status make_rearrangement(plim__lower *l, const plim__layout *from, const plim__layout *to,
                                      plim__rearrangement *made) {
    *made = (plim__rearrangement){0};
    if (!from->blocked && !to->blocked) {
        struct copy_state *state = plim__alloc(sizeof *state);
        if (!state) return no_memory(l);
        *state = (struct copy_state){*from, *to, plim__lower_threads(l)};
        *made = (plim__rearrangement){.run = run_copy, .state = state, .release = plim__free};
        return PLIM_OK;
    }
    dnnl_memory_desc_t source, target;
    bool known = plim__layout_md(from, &source) && plim__layout_md(to, &target);
    if (known && source.ndims != target.ndims) {
        bool from_dense = plim__layout_is_dense(from), to_dense = plim__layout_is_dense(to);
        known = from_dense ? dense_md_like(&target, &source) : to_dense && dense_md_like(&source, &target);
    }
    if (!known) return plim__lower_fail(l, PLIM_INTERNAL, "no way from one layout to the other");
    return make_reorder(l, &source, &target, made);
}

/* A step of its own that copies operand `from` into a new buffer with another layout (and `seen`, or NULL). */
static plim_status emit_made(plim__lower *l, plim_value v, const struct place *from, const plim__layout *to,
                             const dnnl_memory_desc_t *seen, plim__rearrangement made, plim__operand *operand) {
    plim__step step = {.run = made.run,
                       .state = made.state,
                       .release = made.release,
                       .node = l->node_index,
                       .phase = l->node ? l->node->phase : PLIM__FORWARD,
                       .label = "reorder",
                       .in_count = 1,
                       .out_count = 1,
                       .scratch = -1,
                       .inplace_in = -1,
                       .inplace_out = -1};
    step.cost.bytes = (double)(plim__layout_bytes(&from->layout) + plim__layout_bytes(to));
    int32_t buffer = -1;
    plim__operand source = from->operand;
    plim_status status = plim__lower_buffer(l, plim__layout_bytes(to), PLIM__BUFFER_ACTIVATION, v, &buffer);
    if (status == PLIM_OK && made.scratch)
        status = plim__lower_buffer(l, made.scratch, PLIM__BUFFER_WORKSPACE, PLIM_NO_VALUE, &step.scratch);
    step.operands = status == PLIM_OK ? plim__alloc_array(2, sizeof *step.operands) : NULL;
    if (status == PLIM_OK && !step.operands) status = no_memory(l);
    if (status == PLIM_OK) {
        step.operands[0] = source;
        step.operands[1] = *operand = (plim__operand){buffer, 0};
        if (!plim__vec_push(&l->program->steps, step)) status = no_memory(l);
    }
    if (status != PLIM_OK) {
        plim__free(step.operands);
        if (made.release) made.release(made.state);
        return status;
    }
    struct place place = {.layout = *to, .turned = seen != NULL, .operand = *operand};
    if (seen) place.seen = *seen;
    return push_place(l, v, place);
}

static plim_status emit_rearrangement(plim__lower *l, plim_value v, const struct place *from, const plim__layout *to,
                                      plim__operand *operand) {
    plim__rearrangement made;
    if (from->turned && plim__layout_is_dense(to))
        PLIM_TRY(make_reorder(l, &from->layout.md, &from->seen, &made));
    else
        PLIM_TRY(make_rearrangement(l, &from->layout, to, &made));
    return emit_made(l, v, from, to, NULL, made, operand);
}

static plim__buffer_kind kept_kind(const plim__value *value) {
    return value->kind == PLIM__VALUE_STATE ? PLIM__BUFFER_STATE
           : value->kind == PLIM__VALUE_SUM ? PLIM__BUFFER_GRADIENT
                                            : PLIM__BUFFER_WEIGHT;
}

static void forget(plim__rearrangement *made) {
    if (made->release) made->release(made->state);
    *made = (plim__rearrangement){0};
}

/* How to bring a value that steps change back to plain memory. */
static plim_status make_way_back(plim__lower *l, const struct place *place, plim__rearrangement *made) {
    plim__layout dense = plim__layout_dense(place->layout.dtype, &place->layout.shape);
    *made = (plim__rearrangement){0};
    if (plim__layout_equal(&dense, &place->layout)) return PLIM_OK;
    if (place->turned) return make_reorder(l, &place->layout.md, &place->seen, made);
    return make_rearrangement(l, &place->layout, &dense, made);
}

/* A buffer for a kept value, and what fills it. Takes what `load` owns, also on failure. */
static plim_status place_kept(plim__lower *l, plim_value v, struct place place, plim__load load) {
    load.value = v;
    load.home = plim__alloc(sizeof *load.home);
    plim_status status = load.home ? PLIM_OK : no_memory(l);
    if (status == PLIM_OK && l->written[v]) status = make_way_back(l, &place, &load.back);
    if (status == PLIM_OK)
        status = plim__lower_buffer(l, plim__layout_bytes(&place.layout), kept_kind(value_of(l, v)), v, &load.buffer);
    if (status == PLIM_OK) {
        l->program->buffers.items[load.buffer].persistent = true;
        place.operand = (plim__operand){load.buffer, 0};
        load.home->place = place;
        if (!plim__vec_push(&l->program->loads, load)) status = no_memory(l);
    }
    if (status == PLIM_OK) return push_place(l, v, place);
    forget(&load.in);
    forget(&load.back);
    plim__tensor_release(load.tensor);
    plim__free(load.home);
    return status;
}

/* A weight that nobody has placed yet: a buffer in the wanted layout, filled at load time by `made`, which it takes.
 * `seen` as in struct place, or NULL. */
static plim_status place_weight_made(plim__lower *l, plim_value v, const plim__layout *layout,
                                     const dnnl_memory_desc_t *seen, plim__rearrangement made) {
    struct place place = {.layout = *layout, .turned = seen != NULL};
    if (seen) place.seen = *seen;
    plim__load load = {.shared = -1, .in = made, .tensor = plim__tensor_retain(value_of(l, v)->tensor)};
    return place_kept(l, v, place, load);
}

/* A value that the other program keeps already is where it is there. Constants of two graphs may have the same name by
 * chance; they are the same when their data is. */
static plim_status adopt(plim__lower *l, plim_value v) {
    const plim__value *value = value_of(l, v);
    if (!l->like || l->first[v] >= 0 || !is_weight(value)) return PLIM_OK;
    for (size_t i = 0; i < l->like->loads.count; i++) {
        const plim__load *load = &l->like->loads.items[i];
        const plim__value *other = &l->like->graph->values.items[load->value];
        if (strcmp(other->name, value->name) != 0 || other->tensor != value->tensor) continue;
        plim__load own = {.shared = load->buffer};
        return place_kept(l, v, load->home->place, own);
    }
    return PLIM_OK;
}

static plim_status place_weight(plim__lower *l, plim_value v, const plim__layout *layout) {
    const plim__value *value = value_of(l, v);
    plim__layout dense = plim__layout_dense(value->dtype, &value->shape);
    plim__rearrangement made = {0};
    if (!plim__layout_equal(&dense, layout)) PLIM_TRY(make_rearrangement(l, &dense, layout, &made));
    return place_weight_made(l, v, layout, NULL, made);
}

/* --- inputs --------------------------------------------------------------------------------------------------- */

static plim_status need_place(plim__lower *l, plim_value v) {
    PLIM_TRY(adopt(l, v));
    if (l->first[v] >= 0) return PLIM_OK;
    const plim__value *value = value_of(l, v);
    plim__layout dense = plim__layout_dense(value->dtype, &value->shape);
    if (is_weight(value)) return place_weight(l, v, &dense);
    return plim__lower_fail(l, PLIM_INTERNAL, "'%s' is used before it is made", value->name);
}

static plim_status push_operand(plim__lower *l, plim__operand operand) {
    return plim__vec_push(&l->in, operand) ? PLIM_OK : no_memory(l);
}

plim_status plim__lower_value_dense(plim__lower *l, plim_value v, plim__operand *operand) {
    const plim__value *value = value_of(l, v);
    plim__layout dense = plim__layout_dense(value->dtype, &value->shape);
    PLIM_TRY(need_place(l, v));
    const struct place *place = find_place(l, v, &dense, NULL);
    if (place) {
        *operand = place->operand;
        return PLIM_OK;
    }
    struct place from = *first_place(l, v); /* adding places may move them */
    return emit_rearrangement(l, v, &from, &dense, operand);
}

plim_status plim__lower_input(plim__lower *l, size_t i, plim__want want, plim__layout *layout) {
    plim_value v = plim__node_in(l->node, i);
    if (v < 0) return push_operand(l, (plim__operand){-1, 0});
    PLIM_TRY(need_place(l, v));
    const struct place *place = first_place(l, v);
    if (want == PLIM__STRIDED && place->layout.blocked) /* perhaps somebody has unblocked it already */
        for (int32_t p = l->first[v]; p >= 0; p = l->places.items[p].next)
            if (!l->places.items[p].layout.blocked) place = &l->places.items[p];
    bool fits =
        want == PLIM__ANY || (want == PLIM__STRIDED && !place->layout.blocked) || plim__layout_is_dense(&place->layout);
    if (fits) {
        if (layout) *layout = place->layout;
        return push_operand(l, place->operand);
    }
    plim__operand operand;
    PLIM_TRY(plim__lower_value_dense(l, v, &operand));
    if (layout) *layout = plim__layout_dense(value_of(l, v)->dtype, &value_of(l, v)->shape);
    return push_operand(l, operand);
}

plim_status plim__lower_input_md(plim__lower *l, size_t i, const dnnl_memory_desc_t *md) {
    plim_value v = plim__node_in(l->node, i);
    if (v < 0) return push_operand(l, (plim__operand){-1, 0});
    const plim__value *value = value_of(l, v);
    plim__layout want = plim__layout_from_md(md, value->dtype, &value->shape);
    dnnl_memory_desc_t dense_like;
    if (want.blocked && md->ndims != value->shape.rank && dense_md_like(md, &dense_like) &&
        dnnl_memory_desc_equal(&dense_like, md))
        want = plim__layout_dense(value->dtype, &value->shape); /* only another view of plain memory */
    PLIM_TRY(adopt(l, v));
    if (is_weight(value) && may_have_copies(l, v) && !find_place(l, v, &want, NULL))
        PLIM_TRY(place_weight(l, v, &want));
    PLIM_TRY(need_place(l, v));
    const struct place *place = find_place(l, v, &want, NULL);
    if (place) return push_operand(l, place->operand);
    struct place from = *first_place(l, v);
    plim__operand operand;
    bool other_axes = from.layout.blocked && want.blocked && from.layout.md.ndims != want.md.ndims;
    if (other_axes || exchanges_axes(seen_by(&from))) { /* through plain memory */
        PLIM_TRY(plim__lower_value_dense(l, v, &operand));
        from = (struct place){.layout = plim__layout_dense(value->dtype, &value->shape), .operand = operand};
    } else if (!from.layout.blocked && want.blocked && from.layout.shape.rank != want.md.ndims &&
               !plim__layout_is_dense(&from.layout)) {
        PLIM_TRY(plim__lower_value_dense(l, v, &operand));
        from = (struct place){.layout = plim__layout_dense(value->dtype, &value->shape), .operand = operand};
    }
    PLIM_TRY(emit_rearrangement(l, v, &from, &want, &operand));
    return push_operand(l, operand);
}

plim_status plim__lower_input_seen(plim__lower *l, size_t i, const dnnl_memory_desc_t *seen,
                                   const dnnl_memory_desc_t *md) {
    if (dnnl_memory_desc_equal(seen, md)) return plim__lower_input(l, i, PLIM__DENSE, NULL);
    plim_value v = plim__node_in(l->node, i);
    const plim__value *value = value_of(l, v);
    plim__layout want = {.dtype = value->dtype, .shape = value->shape, .blocked = true, .md = *md};
    PLIM_TRY(adopt(l, v));
    const struct place *place = find_place(l, v, &want, seen);
    if (place) return push_operand(l, place->operand);
    plim__rearrangement made;
    plim__operand operand;
    if (is_weight(value) && may_have_copies(l, v)) {
        PLIM_TRY(make_reorder(l, seen, md, &made));
        PLIM_TRY(place_weight_made(l, v, &want, seen, made));
        return push_operand(l, find_place(l, v, &want, seen)->operand);
    }
    struct place from = {.operand = {-1, 0}};
    if (first_place(l, v)) from = *first_place(l, v);
    bool direct = first_place(l, v) && from.layout.blocked && from.layout.md.ndims == md->ndims &&
                  same_axes(seen_by(&from), seen); /* from one order of blocks to another */
    if (!direct) {
        PLIM_TRY(plim__lower_value_dense(l, v, &operand));
        from = (struct place){.layout = plim__layout_dense(value->dtype, &value->shape), .operand = operand};
    }
    PLIM_TRY(make_reorder(l, direct ? &from.layout.md : seen, md, &made));
    PLIM_TRY(emit_made(l, v, &from, &want, seen, made, &operand));
    return push_operand(l, operand);
}

/* --- parameters and state that a step changes ------------------------------------------------------------------ */

static plim_status through_plain_memory(plim__lower *l, plim_value v, struct place *from) {
    plim__operand operand;
    PLIM_TRY(plim__lower_value_dense(l, v, &operand));
    *from =
        (struct place){.layout = plim__layout_dense(value_of(l, v)->dtype, &value_of(l, v)->shape), .operand = operand};
    return PLIM_OK;
}

plim_status plim__lower_input_like(plim__lower *l, size_t i, size_t j) {
    plim_value v = plim__node_in(l->node, i);
    if (v < 0) return push_operand(l, (plim__operand){-1, 0});
    PLIM_TRY(need_place(l, plim__node_in(l->node, j)));
    struct place home = *first_place(l, plim__node_in(l->node, j));
    PLIM_TRY(need_place(l, v));
    const struct place *same = find_place(l, v, &home.layout, seen_by(&home));
    if (same) return push_operand(l, same->operand);
    struct place from = *first_place(l, v);
    bool other_axes = from.layout.blocked && home.layout.blocked &&
                      (from.layout.md.ndims != home.layout.md.ndims || !same_axes(seen_by(&from), seen_by(&home)));
    bool turned = home.turned && !from.layout.blocked;
    if (other_axes || turned || (!from.layout.blocked && home.layout.blocked && !plim__layout_is_dense(&from.layout)))
        PLIM_TRY(through_plain_memory(l, v, &from));
    plim__operand operand;
    if (home.turned && !from.layout.blocked) {
        plim__rearrangement made;
        PLIM_TRY(make_reorder(l, &home.seen, &home.layout.md, &made));
        PLIM_TRY(emit_made(l, v, &from, &home.layout, &home.seen, made, &operand));
    } else {
        PLIM_TRY(emit_rearrangement(l, v, &from, &home.layout, &operand));
    }
    return push_operand(l, operand);
}

plim_status plim__lower_written(plim__lower *l, size_t i, int like) {
    plim_value v = plim__node_in(l->node, i);
    if (v < 0) return plim__vec_push(&l->out, ((plim__operand){-1, 0})) ? PLIM_OK : no_memory(l);
    PLIM_TRY(adopt(l, v));
    if (l->first[v] < 0 && like >= 0) {
        plim_value model = plim__node_in(l->node, (size_t)like);
        PLIM_TRY(need_place(l, model));
        struct place home = *first_place(l, model);
        plim__layout dense = plim__layout_dense(home.layout.dtype, &home.layout.shape);
        plim__rearrangement made = {0};
        bool comes_in = value_of(l, v)->tensor || value_of(l, v)->kind == PLIM__VALUE_STATE; /* from a checkpoint */
        if (comes_in && home.turned)
            PLIM_TRY(make_reorder(l, &home.seen, &home.layout.md, &made));
        else if (comes_in && !plim__layout_equal(&dense, &home.layout))
            PLIM_TRY(make_rearrangement(l, &dense, &home.layout, &made));
        PLIM_TRY(place_weight_made(l, v, &home.layout, home.turned ? &home.seen : NULL, made));
    }
    PLIM_TRY(need_place(l, v));
    first_place(l, v)->next = -1; /* copies in other layouts hold what it was before */
    return plim__vec_push(&l->out, first_place(l, v)->operand) ? PLIM_OK : no_memory(l);
}

size_t plim__lower_kept_bytes(const plim__lower *l, size_t i) {
    const struct place *place = first_place(l, plim__node_in(l->node, i));
    return place ? plim__layout_bytes(&place->layout) : 0;
}

const plim__layout *plim__lower_peek(const plim__lower *l, size_t i) {
    plim_value v = plim__node_in(l->node, i);
    const struct place *place = v < 0 ? NULL : first_place(l, v);
    if (place) return &place->layout;
    plim__lower *mutable = (plim__lower *)l; /* a weight that is not placed yet will be dense */
    mutable->peeked = v < 0 ? (plim__layout){0} : plim__layout_dense(value_of(l, v)->dtype, &value_of(l, v)->shape);
    return &mutable->peeked;
}

/* --- outputs -------------------------------------------------------------------------------------------------- */

plim_status plim__lower_output(plim__lower *l, size_t i, const plim__layout *layout) {
    plim_value v = plim__node_out(l->node, i);
    plim__operand operand = {-1, 0};
    if (v >= 0) {
        const plim__value *value = value_of(l, v);
        plim__layout dense = plim__layout_dense(value->dtype, &value->shape);
        PLIM_TRY(plim__lower_buffer(l, plim__layout_bytes(layout ? layout : &dense), PLIM__BUFFER_ACTIVATION, v,
                                    &operand.buffer));
        PLIM_TRY(add_place(l, v, layout ? layout : &dense, operand));
    }
    return plim__vec_push(&l->out, operand) ? PLIM_OK : no_memory(l);
}

plim_status plim__lower_output_md(plim__lower *l, size_t i, const dnnl_memory_desc_t *md) {
    plim_value v = plim__node_out(l->node, i);
    if (v < 0) return plim__lower_output(l, i, NULL);
    const plim__value *value = value_of(l, v);
    plim__layout layout = plim__layout_from_md(md, value->dtype, &value->shape);
    dnnl_memory_desc_t dense_like;
    if (layout.blocked && md->ndims != value->shape.rank && dense_md_like(md, &dense_like) &&
        dnnl_memory_desc_equal(&dense_like, md))
        return plim__lower_output(l, i, NULL);
    return plim__lower_output(l, i, &layout);
}

plim_status plim__lower_view_output(plim__lower *l, size_t output, size_t input, const plim__layout *layout,
                                    int64_t offset) {
    plim_value v = plim__node_in(l->node, input), out = plim__node_out(l->node, output);
    if (out < 0) return PLIM_OK;
    if (!(l->node->op->flags & PLIM__OP_VIEW))
        return plim__lower_fail(l, PLIM_INTERNAL, "a view that the row of the operator does not allow");
    PLIM_TRY(need_place(l, v));
    /* the layout was computed from what plim__lower_input or _peek showed: the plain place, if any */
    plim__operand operand = first_place(l, v)->operand;
    if (l->in.count > 0) operand = l->in.items[l->in.count - 1];
    operand.offset += offset;
    return add_place(l, out, layout, operand);
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

void plim__lower_may_spill(plim__lower *l) {
    if (l->out.count > 0 && l->out.count <= 32) l->spill |= 1u << (l->out.count - 1);
}

plim_status plim__lower_product(plim__lower *l, plim__product product) {
    size_t i = 0, count = l->program->products.count;
    while (i < count && !plim__product_equal(&l->program->products.items[i], &product)) i++;
    return i < count || plim__vec_push(&l->program->products, product) ? PLIM_OK : no_memory(l);
}

plim_status plim__lower_emit(plim__lower *l, const char *label, plim__kernel run, void *state,
                             void (*release)(void *)) {
    plim__step step = {.run = run,
                       .state = state,
                       .release = release,
                       .node = l->node_index,
                       .phase = l->node->phase,
                       .writes = (l->node->op->flags & PLIM__OP_WRITES) != 0,
                       .spill = l->spill,
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
    return no_memory(l);
}

void plim__lower_reset(plim__lower *l) {
    l->in.count = l->out.count = 0;
    l->scratch = l->inplace_in = l->inplace_out = -1;
    l->spill = 0;
}
