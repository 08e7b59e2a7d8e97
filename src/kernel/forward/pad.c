/* Pad and CenterCropPad: copies through a table of source indices for each axis. */
#include "kernel/forward/pad.h"

#include <string.h>

#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "ops/movement.h"

plim_status plim__mapped_create(plim__lower *l, const plim__layout *x, const plim__shape *out, plim__mapped **mapped) {
    int64_t entries = 0;
    size_t element_size;
    PLIM_TRY(plim__lower_element_size(l, x->dtype, &element_size));
    for (int i = 0; i < out->rank; i++)
        if (__builtin_add_overflow(entries, out->dims[i], &entries) || entries > INT64_MAX / 16)
            return plim__lower_fail(l, PLIM_OVERFLOW, "axis %d is too long", i);
    PLIM_TRY(plim__lower_state(l, sizeof **mapped + (size_t)entries * sizeof *(*mapped)->tables, mapped));
    plim__mapped *m = *mapped;
    m->rank = out->rank;
    m->threads = plim__lower_threads(l);
    m->element_size = element_size;
    int64_t *next = m->tables;
    for (int i = 0; i < out->rank; i++) {
        m->axes[i] = (plim__map_axis){out->dims[i], x->strides[i], next};
        m->table[i] = next;
        next += out->dims[i];
    }
    return PLIM_OK;
}

plim_status plim__run_mapped(const plim__call *call) {
    const plim__mapped *m = call->state;
    const void *fill = m->fill_operand >= 0 ? call->in[m->fill_operand] : m->fill;
    plim__copy_mapped(call->out[0], call->in[0], &(plim__lookup){m->rank, m->axes, fill, m->element_size}, m->threads);
    return PLIM_OK;
}

/* Where index i (of a line of n elements, counted from its first) is read when it lies outside. */
static int64_t outside(plim__pad_mode mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case PLIM__PAD_EDGE: return i < 0 ? 0 : n - 1;
    case PLIM__PAD_WRAP: return (i % n + n) % n;
    case PLIM__PAD_REFLECT: {
        if (n == 1) return 0;
        int64_t period = 2 * (n - 1), at = (i % period + period) % period;
        return at < n ? at : period - at;
    }
    default: return -1;
    }
}

/* Negative pads cut first; what is left is then reflected, repeated or wrapped. */
static void pad_table(const plim__pad *pad, int axis, int64_t in, int64_t out, int64_t *table) {
    int64_t cut_before = pad->before[axis] < 0 ? -pad->before[axis] : 0,
            cut_after = pad->after[axis] < 0 ? -pad->after[axis] : 0;
    int64_t kept = in - cut_before - cut_after, before = pad->before[axis] > 0 ? pad->before[axis] : 0;
    for (int64_t i = 0; i < out; i++) {
        int64_t at = kept > 0 ? outside(pad->mode, i - before, kept) : -1;
        table[i] = at < 0 ? -1 : at + cut_before;
    }
}

static plim_status pad_value(plim__lower *l, const plim__pad *pad, plim__mapped *m) {
    m->fill_operand = -1;
    if (pad->value_is_input) {
        m->fill_operand = 1;
        return plim__lower_input(l, 2, PLIM__DENSE, NULL);
    }
    plim_dtype dtype = plim__lower_output_dtype(l, 0);
    plim__scalar_set(dtype, m->fill, 0, (double)pad->value);
    return PLIM_OK;
}

plim_status plim__lower_pad(plim__lower *l) {
    if (plim__lower_is_empty(l)) return plim__lower_output(l, 0, NULL);
    plim__infer reading = plim__lower_reading(l);
    plim__pad pad;
    plim__layout x;
    plim__mapped *m;
    const plim__shape *out = plim__lower_output_shape(l, 0);
    PLIM_TRY(plim__pad_read(&reading, &pad));
    bool padded = false; /* exporters write a Pad before every pool, often of nothing */
    for (int i = 0; i < out->rank; i++) padded |= pad.before[i] != 0 || pad.after[i] != 0;
    if (!padded) return plim__lower_forward(l);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    PLIM_TRY(plim__mapped_create(l, &x, out, &m));
    for (int i = 0; i < out->rank; i++) pad_table(&pad, i, x.shape.dims[i], out->dims[i], m->table[i]);
    plim_status status = pad_value(l, &pad, m);
    if (status == PLIM_OK) status = plim__lower_output(l, 0, NULL);
    if (status == PLIM_OK) return plim__lower_emit(l, "Pad", plim__run_mapped, m, plim__free);
    plim__free(m);
    return status;
}

/* The middle is kept: one more is cut or added at the end when the difference is odd. */
plim_status plim__lower_center_crop_pad(plim__lower *l) {
    if (plim__lower_is_empty(l)) return plim__lower_output(l, 0, NULL);
    plim__layout x;
    plim__mapped *m;
    const plim__shape *out = plim__lower_output_shape(l, 0);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__mapped_create(l, &x, out, &m));
    m->fill_operand = -1;
    for (int a = 0; a < out->rank; a++) {
        int64_t in = x.shape.dims[a], size = out->dims[a], first = size <= in ? (in - size) / 2 : -((size - in) / 2);
        for (int64_t i = 0; i < size; i++) m->table[a][i] = first + i >= 0 && first + i < in ? first + i : -1;
    }
    return plim__lower_emit(l, "CenterCropPad", plim__run_mapped, m, plim__free);
}
