/* Values in 16 bits, for products that multiply such numbers.
 *
 * A value stays float32 where it was made. When a product first asks for it in 16 bits, one step converts the whole buffer that
 * it lies in, element for element: the buffer's twin. Whatever is a view of that buffer, or of a view of it, is a view of the
 * twin in the same way, at half the offset; so forward and backward pass, and both products that read a gradient, share one
 * conversion, and the float32 buffer can go as soon as its other readers are done.
 *
 *   x  float32  ─┬─→ add, norm, ...
 *                └─→ twin(x) ─┬─→ product of the forward pass
 *                             └─→ its transpose, a view: product of the backward pass
 *
 * Weights are converted again for the backward pass: they are there anyway, and a twin would wait beside them. */
#include <string.h>

#include "program/lower_state.h"

static const plim__device *device_of(const plim__lower *l) { return l->program->target.device; }

/* The same order of elements of another type; false where the device has no such layout. */
static bool retype(const plim__lower *l, plim__layout *layout, plim_dtype dtype) {
    if (layout->blocked) return device_of(l)->retype && device_of(l)->retype(layout, dtype);
    layout->dtype = dtype;
    return true;
}

static struct twin *twin_of(plim__lower *l, int32_t buffer) {
    return (size_t)buffer < l->twins.count ? &l->twins.items[buffer] : NULL;
}

void plim__twin_drop(plim__lower *l, int32_t buffer) {
    struct twin *twin = twin_of(l, buffer);
    if (twin) twin->buffer = -1;
}

static plim_status remember(plim__lower *l, int32_t buffer, int32_t made) {
    while (l->twins.count <= (size_t)buffer)
        if (!plim__vec_push(&l->twins, ((struct twin){.buffer = -1}))) return plim__lower_no_memory(l);
    l->twins.items[buffer] = (struct twin){made, l->node ? l->node->phase : PLIM__FORWARD};
    return PLIM_OK;
}

/* A step that converts from one buffer to a new one. */
static plim_status convert(plim__lower *l, plim_value v, const plim__arrangement *from, plim__operand source,
                           const plim__arrangement *to, plim__operand *operand) {
    plim__rearrangement made;
    PLIM_TRY(device_of(l)->rearrange(l, from, to, &made));
    size_t bytes = plim__layout_bytes(&to->layout);
    *operand = (plim__operand){-1, 0};
    plim_status status = plim__lower_buffer(l, bytes, PLIM__BUFFER_ACTIVATION, v, &operand->buffer);
    if (status != PLIM_OK) {
        if (made.release) made.release(made.state);
        return status;
    }
    return plim__place_copy_step(l, "narrow", made, source, *operand,
                                 (double)(plim__layout_bytes(&from->layout) + bytes));
}

/* The twin of the buffer that a place of v lies in. */
static plim_status twin(plim__lower *l, plim_value v, plim__operand place, plim_dtype dtype, plim__operand *operand) {
    const plim__buffer *buffer = &l->program->buffers.items[place.buffer];
    const struct twin *there = twin_of(l, place.buffer);
    plim__phase now = l->node ? l->node->phase : PLIM__FORWARD;
    bool serves = there && there->buffer >= 0 && (!buffer->persistent || there->phase == now);
    *operand = (plim__operand){serves ? there->buffer : -1, place.offset / 2};
    if (serves) return PLIM_OK;
    plim__shape flat = {.rank = 1, .dims = {(int64_t)(buffer->bytes / sizeof(float))}};
    plim__arrangement from = {.layout = plim__layout_dense(PLIM_F32, &flat)},
                      to = {.layout = plim__layout_dense(dtype, &flat)};
    plim__operand made;
    PLIM_TRY(convert(l, v, &from, (plim__operand){place.buffer, 0}, &to, &made));
    operand->buffer = made.buffer;
    return remember(l, place.buffer, made.buffer);
}

static bool same(const plim__lower *l, const plim__arrangement *a, const plim__arrangement *b) {
    return plim__layout_equal(&a->layout, &b->layout) && ((!a->turned && !b->turned) || device_of(l)->same_axes(a, b));
}

/* A place of v whose twin lies as wanted; -1 for none. */
static int32_t find_alike(const plim__lower *l, plim_value v, const plim__arrangement *want) {
    for (int32_t p = l->first[v]; p >= 0; p = l->places.items[p].next) {
        plim__arrangement as = *l->places.items[p].as;
        if (as.layout.dtype == PLIM_F32 && retype(l, &as.layout, want->layout.dtype) && same(l, &as, want)) return p;
    }
    return -1;
}

/* In another arrangement than any of its places: weights at once, what else there is by way of its twin, which others read. */
static plim_status rearranged(plim__lower *l, plim_value v, const plim__arrangement *want, plim__operand *operand) {
    struct place from = *plim__place_first(l, v);
    plim__arrangement as = *from.as, dense = {.layout = plim__layout_dense(PLIM_F32, &plim__lower_value(l, v)->shape)};
    if (!device_of(l)->rearranges(&as, want)) {
        PLIM_TRY(plim__place_dense(l, v, &from.operand));
        as = dense;
    }
    bool weight = plim__place_is_weight(plim__lower_value(l, v));
    if (!weight || (!as.layout.blocked && !want->layout.blocked)) {
        plim__layout narrow = as.layout;
        if (!as.turned && retype(l, &narrow, want->layout.dtype)) {
            PLIM_TRY(twin(l, v, from.operand, want->layout.dtype, &from.operand));
            as.layout = narrow;
        }
    }
    PLIM_TRY(convert(l, v, &as, from.operand, want, operand));
    return weight ? PLIM_OK : plim__place_add(l, v, want, *operand);
}

plim_status plim__twin_get(plim__lower *l, plim_value v, const plim__arrangement *want, plim__operand *operand) {
    bool weight = plim__place_is_weight(plim__lower_value(l, v));
    const struct place *place = weight ? NULL : plim__place_find(l, v, want);
    if (place) {
        *operand = place->operand;
        return PLIM_OK;
    }
    PLIM_TRY(plim__place_need(l, v));
    int32_t alike = find_alike(l, v, want);
    if (alike >= 0) return twin(l, v, l->places.items[alike].operand, want->layout.dtype, operand);
    return rearranged(l, v, want, operand);
}

/* --- for lower functions -------------------------------------------------------------------------------------- */

plim_status plim__lower_input_narrow(plim__lower *l, size_t i, plim_dtype dtype, bool (*readable)(const plim__layout *),
                                     plim__layout *layout) {
    plim_value v = plim__node_in(l->node, i);
    PLIM_TRY(plim__place_need(l, v));
    plim__arrangement want = {.layout = plim__layout_dense(dtype, &plim__lower_value(l, v)->shape)};
    for (int32_t p = l->first[v]; p >= 0; p = l->places.items[p].next) {
        const plim__arrangement *as = l->places.items[p].as;
        if (as->layout.dtype != PLIM_F32 || as->turned || !readable(&as->layout)) continue;
        want.layout = as->layout;
        want.layout.dtype = dtype;
        break;
    }
    *layout = want.layout;
    return plim__lower_input_as(l, i, &want);
}

plim_status plim__lower_output_narrow(plim__lower *l, size_t i, bool *done) {
    plim_value v = plim__node_in(l->node, i), out = plim__node_out(l->node, 0);
    const plim__value *value = plim__lower_value(l, out);
    const struct place *place = plim__place_first(l, v);
    *done = l->program->target.factors == value->dtype && place && place->operand.offset == 0 &&
            plim__layout_bytes(&place->as->layout) == l->program->buffers.items[place->operand.buffer].bytes;
    if (!*done) return PLIM_OK;
    plim__operand operand;
    PLIM_TRY(twin(l, v, place->operand, value->dtype, &operand));
    plim__shape flat = {.rank = 1, .dims = {(int64_t)(plim__layout_bytes(&place->as->layout) / sizeof(float))}};
    return plim__place_add(l, out, &(plim__arrangement){.layout = plim__layout_dense(value->dtype, &flat)}, operand);
}
