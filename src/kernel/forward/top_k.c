/* TopK. Every element becomes an unsigned key that sorts as the element does (inverted for the smallest), so
 * one selection serves all types: a heap of the k best, whose root is the worst of them, then sorted. Equal
 * elements keep the order of their indices. NaN counts as the largest. */
#include <omp.h>
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "ops/movement.h"

struct entry {
    uint64_t key;
    int64_t index;
};

struct top_k {
    plim_dtype dtype;
    bool smallest;
    int64_t outer, length, inner, k;
    size_t element_size;
    int threads;
};

static uint64_t float_key(double value) {
    uint64_t bits;
    if (value == 0) value = 0; /* -0 equals 0 */
    if (isnan(value)) return UINT64_MAX;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t element_key(plim_dtype dtype, const void *data, int64_t i) {
    if (dtype == PLIM_I64) return (uint64_t)((const int64_t *)data)[i] ^ (uint64_t)1 << 63;
    if (dtype == PLIM_U64) return ((const uint64_t *)data)[i];
    return float_key(plim__scalar_get(dtype, data, i));
}

static bool better(struct entry a, struct entry b) { return a.key != b.key ? a.key > b.key : a.index < b.index; }

/* Restores the heap below `at`: a parent is never better than its children. */
static void sink(struct entry *heap, int64_t count, int64_t at) {
    struct entry moving = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && better(heap[child], heap[child + 1])) child++;
        if (!better(moving, heap[child])) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void select_line(const struct top_k *s, const void *x, int64_t first, struct entry *heap) {
    for (int64_t i = 0; i < s->length; i++) {
        uint64_t key = element_key(s->dtype, x, first + i * s->inner);
        struct entry entry = {s->smallest ? ~key : key, i};
        if (i < s->k) {
            heap[i] = entry;
            if (i == s->k - 1)
                for (int64_t p = s->k / 2; p >= 0; p--) sink(heap, s->k, p);
        } else if (better(entry, heap[0])) {
            heap[0] = entry;
            sink(heap, s->k, 0);
        }
    }
    for (int64_t left = s->k; left > 1;) { /* the worst goes last */
        struct entry worst = heap[0];
        heap[0] = heap[--left];
        heap[left] = worst;
        sink(heap, left, 0);
    }
}

static plim_status run_top_k(const plim__call *call) {
    const struct top_k *s = call->state;
    int64_t lines = s->outer * s->inner;
    if (s->k == 0) return PLIM_OK;
    int threads = plim__copy_threads(lines * s->length, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t line = 0; line < lines; line++) {
        struct entry *heap = (struct entry *)call->scratch + omp_get_thread_num() * s->k;
        int64_t o = line / s->inner, i = line % s->inner, from = o * s->length * s->inner + i,
                to = o * s->k * s->inner + i;
        select_line(s, call->in[0], from, heap);
        for (int64_t k = 0; k < s->k; k++) {
            int64_t source = from + heap[k].index * s->inner, target = to + k * s->inner;
            if (call->out[0])
                memcpy((char *)call->out[0] + (size_t)target * s->element_size,
                       (const char *)call->in[0] + (size_t)source * s->element_size, s->element_size);
            if (call->out[1]) ((int64_t *)call->out[1])[target] = heap[k].index;
        }
    }
    return PLIM_OK;
}

plim_status plim__lower_top_k(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    const plim__shape *x = plim__lower_input_shape(l, 0);
    size_t shown = plim__lower_has_output(l, 0) ? 0 : 1;
    plim_dtype dtype = plim__lower_input_dtype(l, 0);
    size_t element_size;
    struct top_k *s;
    int axis;
    if (!plim__scalar_known(dtype)) return plim__lower_unsupported(l, "with this element type");
    PLIM_TRY(plim__lower_element_size(l, dtype, &element_size));
    PLIM_TRY(plim__axis_read(&reading, "axis", -1, x->rank, &axis));
    int64_t k = plim__lower_output_shape(l, shown)->dims[axis];
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_output(l, 1, NULL));
    PLIM_TRY(plim__lower_scratch(l, (size_t)k * (size_t)plim__lower_threads(l) * sizeof(struct entry)));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct top_k){dtype,
                        plim__node_int(plim__lower_node(l), "largest", 1) == 0,
                        plim__shape_product(x, 0, axis),
                        x->dims[axis],
                        plim__shape_product(x, axis + 1, x->rank),
                        k,
                        element_size,
                        plim__lower_threads(l)};
    return plim__lower_emit(l, "TopK", run_top_k, s, plim__free);
}
