/* Where values are, and in which arrangements.
 *
 * A value may stand in several arrangements at once: the one its producer chose, and copies that its readers asked
 * for. Each is a `place`; asking twice for the same arrangement gives the same place. Weights are placed when the first
 * reader asks, directly in the arrangement it wants, and are rearranged once, at load time. */
#include <string.h>

#include "program/lower_state.h"

static const plim__device *device_of(const plim__lower *l) { return l->program->target.device; }

static plim__arrangement dense_of(const plim__lower *l, plim_value v) {
    const plim__value *value = plim__lower_value(l, v);
    return (plim__arrangement){.layout = plim__layout_dense(value->dtype, &value->shape)};
}

static bool same(const plim__lower *l, const plim__arrangement *a, const plim__arrangement *b) {
    return plim__layout_equal(&a->layout, &b->layout) && ((!a->turned && !b->turned) || device_of(l)->same_axes(a, b));
}

struct place *plim__place_first(const plim__lower *l, plim_value v) {
    return l->first[v] < 0 ? NULL : &l->places.items[l->first[v]];
}

struct place *plim__place_find(const plim__lower *l, plim_value v, const plim__arrangement *as) {
    for (int32_t p = l->first[v]; p >= 0; p = l->places.items[p].next)
        if (same(l, l->places.items[p].as, as)) return &l->places.items[p];
    return NULL;
}

/* Nothing tells the two apart: not even strides of axes of size 1, which `same` does not compare. */
static bool alike(const plim__arrangement *a, const plim__arrangement *b) {
    if (a->turned || b->turned || !plim__layout_equal(&a->layout, &b->layout)) return false;
    for (int i = 0; !a->layout.blocked && i < a->layout.shape.rank; i++)
        if (a->layout.strides[i] != b->layout.strides[i]) return false;
    return true;
}

/* A deep network has thousands of values in a few arrangements, each of more than a kilobyte: neighbours share them. */
#define NEIGHBOURS 64

static const plim__arrangement *remember(plim__lower *l, const plim__arrangement *as) {
    size_t count = l->program->arrangements.count;
    for (size_t i = count; i > 0 && i + NEIGHBOURS > count; i--)
        if (alike(l->program->arrangements.items[i - 1], as)) return l->program->arrangements.items[i - 1];
    plim__arrangement *copy = plim__alloc(sizeof *copy);
    if (!copy || !plim__vec_push(&l->program->arrangements, copy)) {
        plim__free(copy);
        return NULL;
    }
    *copy = *as;
    return copy;
}

plim_status plim__place_add(plim__lower *l, plim_value v, const plim__arrangement *as, plim__operand operand) {
    struct place place = {.as = remember(l, as), .operand = operand, .next = -1};
    if (!place.as) return plim__lower_no_memory(l);
    if (!plim__vec_push(&l->places, place)) return plim__lower_no_memory(l);
    int32_t index = (int32_t)l->places.count - 1;
    int32_t *link = &l->first[v];
    while (*link >= 0) link = &l->places.items[*link].next;
    *link = index;
    return PLIM_OK;
}

/* --- persistent values ---------------------------------------------------------------------------------------- */

bool plim__place_is_weight(const plim__value *value) {
    return value->kind == PLIM__VALUE_CONSTANT || value->kind == PLIM__VALUE_PARAMETER ||
           value->kind == PLIM__VALUE_STATE || value->kind == PLIM__VALUE_SUM;
}

/* A weight gets one more copy for a further arrangement, filled when it is loaded, unless a step changes it: then a step
 * fills the copy in each run. */
static bool may_have_copies(const plim__lower *l, plim_value v) {
    return l->first[v] < 0 || (!l->written[v] && !l->like);
}

static plim__buffer_kind kind_of(const plim__value *value) {
    return value->kind == PLIM__VALUE_STATE ? PLIM__BUFFER_STATE
           : value->kind == PLIM__VALUE_SUM ? PLIM__BUFFER_GRADIENT
                                            : PLIM__BUFFER_WEIGHT;
}

static void release(plim__rearrangement *made) {
    if (made->release) made->release(made->state);
    *made = (plim__rearrangement){0};
}

/* Kernels that only move data are small, and tensors of one shape share them: of what a kernel takes, this part. */
#define LOAD_SHARE(bytes) ((bytes)*2 / 5)

static plim_status rearrange_once(plim__lower *l, const plim__arrangement *from, const plim__arrangement *to,
                                  plim__rearrangement *made) {
    size_t before = l->program->code_bytes;
    *made = (plim__rearrangement){0};
    if (same(l, from, to)) return PLIM_OK;
    PLIM_TRY(device_of(l)->rearrange(l, from, to, made));
    l->program->code_bytes = before + LOAD_SHARE(l->program->code_bytes - before);
    return PLIM_OK;
}

/* From plain memory into the arrangement, or back; nothing when it is plain. */
static plim_status from_plain(plim__lower *l, const plim__arrangement *to, plim__rearrangement *made) {
    plim__arrangement plain = {.layout = plim__layout_dense(to->layout.dtype, &to->layout.shape)};
    return rearrange_once(l, &plain, to, made);
}

static plim_status to_plain(plim__lower *l, const plim__arrangement *from, plim__rearrangement *made) {
    plim__arrangement plain = {.layout = plim__layout_dense(from->layout.dtype, &from->layout.shape)};
    return rearrange_once(l, from, &plain, made);
}

/* A buffer for a persistent value, and what fills it. Takes what `load` owns, also on failure. */
static plim_status place_persistent(plim__lower *l, plim_value v, const plim__arrangement *as, plim__load load) {
    load.value = v;
    load.home = remember(l, as);
    plim_status status = load.home ? PLIM_OK : plim__lower_no_memory(l);
    if (status == PLIM_OK && l->written[v]) status = to_plain(l, as, &load.back);
    if (status == PLIM_OK)
        status =
            plim__lower_buffer(l, plim__layout_bytes(&as->layout), kind_of(plim__lower_value(l, v)), v, &load.buffer);
    if (status == PLIM_OK) {
        l->program->buffers.items[load.buffer].persistent = true;
        if (!plim__vec_push(&l->program->loads, load)) status = plim__lower_no_memory(l);
    }
    if (status == PLIM_OK) return plim__place_add(l, v, as, (plim__operand){load.buffer, 0});
    release(&load.in);
    release(&load.back);
    plim__tensor_release(load.tensor);
    return status;
}

/* A weight in this arrangement, which loading brings it into, unless there is nothing to bring in. */
static plim_status place_weight(plim__lower *l, plim_value v, const plim__arrangement *as, bool comes_in) {
    plim__load load = {.shared = -1};
    if (comes_in) PLIM_TRY(from_plain(l, as, &load.in));
    load.tensor = plim__tensor_retain(plim__lower_value(l, v)->tensor);
    return place_persistent(l, v, as, load);
}

plim_status plim__place_like(plim__lower *l, plim_value v, const plim__arrangement *home) {
    const plim__value *value = plim__lower_value(l, v);
    return place_weight(l, v, home, value->tensor || value->kind == PLIM__VALUE_STATE); /* state: from a checkpoint */
}

/* Constants of two graphs may have the same name by chance; they are the same when their data is. */
plim_status plim__place_adopt(plim__lower *l, plim_value v) {
    const plim__value *value = plim__lower_value(l, v);
    if (!l->like || l->first[v] >= 0 || !plim__place_is_weight(value)) return PLIM_OK;
    for (size_t i = 0; i < l->like->loads.count; i++) {
        const plim__load *load = &l->like->loads.items[i];
        const plim__value *other = &l->like->graph->values.items[load->value];
        if (strcmp(other->name, value->name) != 0 || !plim__tensor_same(other->tensor, value->tensor)) continue;
        return place_persistent(l, v, load->home, (plim__load){.shared = load->buffer});
    }
    return PLIM_OK;
}

plim_status plim__place_need(plim__lower *l, plim_value v) {
    PLIM_TRY(plim__place_adopt(l, v));
    if (l->first[v] >= 0) return PLIM_OK;
    if (!plim__place_is_weight(plim__lower_value(l, v)))
        return plim__lower_fail(l, PLIM_INTERNAL, "'%s' is used before it is made", plim__lower_value(l, v)->name);
    plim__arrangement dense = dense_of(l, v);
    return place_weight(l, v, &dense, true);
}

/* --- copies in other arrangements ------------------------------------------------------------------------------ */

plim_status plim__place_copy_step(plim__lower *l, const char *label, plim__rearrangement made, plim__operand from,
                                  plim__operand to, double bytes) {
    plim__step step = {.run = made.run,
                       .state = made.state,
                       .release = made.release,
                       .node = l->node_index,
                       .phase = l->node ? l->node->phase : PLIM__FORWARD,
                       .label = label,
                       .in_count = 1,
                       .out_count = 1,
                       .scratch = -1,
                       .inplace_in = -1,
                       .inplace_out = -1,
                       .cost.bytes = bytes};
    plim_status status = PLIM_OK;
    if (made.scratch)
        status = plim__lower_buffer(l, made.scratch, PLIM__BUFFER_WORKSPACE, PLIM_NO_VALUE, &step.scratch);
    step.operands = status == PLIM_OK ? plim__alloc_array(2, sizeof *step.operands) : NULL;
    if (step.operands) {
        step.operands[0] = from;
        step.operands[1] = to;
        if (plim__vec_push(&l->program->steps, step)) return PLIM_OK;
    }
    plim__free(step.operands);
    release(&made);
    return status != PLIM_OK ? status : plim__lower_no_memory(l);
}

/* A step of its own that copies a place into a new buffer with another arrangement. */
static plim_status copy(plim__lower *l, plim_value v, const struct place *from, const plim__arrangement *to,
                        plim__operand *operand) {
    plim__rearrangement made;
    PLIM_TRY(device_of(l)->rearrange(l, from->as, to, &made));
    size_t bytes = plim__layout_bytes(&to->layout);
    *operand = (plim__operand){-1, 0};
    plim_status status = plim__lower_buffer(l, bytes, PLIM__BUFFER_ACTIVATION, v, &operand->buffer);
    if (status != PLIM_OK) {
        release(&made);
        return status;
    }
    PLIM_TRY(plim__place_copy_step(l, "reorder", made, from->operand, *operand,
                                   (double)(plim__layout_bytes(&from->as->layout) + bytes)));
    return plim__place_add(l, v, to, *operand);
}

plim_status plim__place_dense(plim__lower *l, plim_value v, plim__operand *operand) {
    plim__arrangement dense = dense_of(l, v);
    PLIM_TRY(plim__place_need(l, v));
    const struct place *place = plim__place_find(l, v, &dense);
    if (place) {
        *operand = place->operand;
        return PLIM_OK;
    }
    struct place from = *plim__place_first(l, v); /* adding places may move them */
    return copy(l, v, &from, &dense, operand);
}

/* In one step where the device can do that, else through plain memory. */
static plim_status copy_to(plim__lower *l, plim_value v, const plim__arrangement *to, bool directly,
                           plim__operand *operand) {
    struct place from = *plim__place_first(l, v);
    plim__arrangement dense = dense_of(l, v);
    if (!directly || !device_of(l)->rearranges(from.as, to)) {
        PLIM_TRY(plim__place_dense(l, v, &from.operand));
        from.as = &dense;
    }
    return copy(l, v, &from, to, operand);
}

plim_status plim__place_get(plim__lower *l, plim_value v, const plim__arrangement *want, plim__operand *operand) {
    PLIM_TRY(plim__place_adopt(l, v));
    if (want->layout.dtype != plim__lower_value(l, v)->dtype) return plim__twin_get(l, v, want, operand);
    const struct place *place = plim__place_find(l, v, want);
    if (!place && plim__place_is_weight(plim__lower_value(l, v)) && may_have_copies(l, v)) {
        PLIM_TRY(place_weight(l, v, want, true));
        place = plim__place_find(l, v, want);
    }
    if (place) {
        *operand = place->operand;
        return PLIM_OK;
    }
    PLIM_TRY(plim__place_need(l, v));
    return copy_to(l, v, want, true, operand);
}

plim_status plim__place_get_like(plim__lower *l, plim_value v, const plim__arrangement *home, plim__operand *operand) {
    PLIM_TRY(plim__place_need(l, v));
    const struct place *place = plim__place_find(l, v, home);
    if (place) {
        *operand = place->operand;
        return PLIM_OK;
    }
    const plim__layout *now = &plim__place_first(l, v)->as->layout;
    return copy_to(l, v, home, now->blocked || !home->layout.blocked || plim__layout_is_dense(now), operand);
}
