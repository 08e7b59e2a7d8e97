/* Copies out of one level of blocks: full blocks first, then what the last one holds. */
#include "kernel/unblock.h"

#include "kernel/copy.h"

/* Up to this prime what oneDNN writes is less than the estimate of a primitive's code is off by. */
#define LARGE_PRIME 4096

/* Indices of the blocked axis, an axis of their own behind the others: i = block · size + within. */
struct part {
    int64_t dims[PLIM__COPY_MAX_RANK], to[PLIM__COPY_MAX_RANK], from[PLIM__COPY_MAX_RANK];
    int64_t to_start, from_start; /* in elements */
};

struct unblock {
    int rank, parts, threads;
    size_t element_size;
    struct part part[2];
};

/* Trial division: numbers of pixels have at most some million candidates, and most a small factor. */
static bool has_large_prime(int64_t n) {
    for (int64_t p = 2; p <= LARGE_PRIME && n > LARGE_PRIME; p++)
        while (n % p == 0) n /= p;
    return n > LARGE_PRIME;
}

static bool is_plain(const dnnl_memory_desc_t *md) {
    return md->format_kind == dnnl_blocked && md->format_desc.blocking.inner_nblks == 0 && md->offset0 == 0;
}

bool plim__unblock_applies(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to) {
    if (from->format_kind != dnnl_blocked || from->format_desc.blocking.inner_nblks != 1 || from->offset0 != 0 ||
        !is_plain(to) || from->ndims != to->ndims || from->data_type != to->data_type ||
        from->ndims + 1 > PLIM__COPY_MAX_RANK)
        return false;
    int64_t pixels = 1;
    int axis = (int)from->format_desc.blocking.inner_idxs[0];
    for (int i = 1; i < from->ndims; i++)
        if (i != axis && __builtin_mul_overflow(pixels, from->dims[i], &pixels)) return true;
    return pixels > LARGE_PRIME && has_large_prime(pixels);
}

/* `count` blocks from the `first` on, of each the first `size` elements. */
static void add_part(struct unblock *s, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to, int64_t first,
                     int64_t count, int64_t size) {
    const dnnl_blocking_desc_t *a = &from->format_desc.blocking, *b = &to->format_desc.blocking;
    int axis = (int)a->inner_idxs[0];
    struct part *part = &s->part[s->parts++];
    for (int i = 0; i < from->ndims; i++) {
        part->dims[i] = i == axis ? count : from->dims[i];
        part->from[i] = a->strides[i];
        part->to[i] = i == axis ? b->strides[i] * a->inner_blks[0] : b->strides[i];
    }
    part->dims[from->ndims] = size;
    part->from[from->ndims] = 1;
    part->to[from->ndims] = b->strides[axis];
    part->from_start = first * a->strides[axis];
    part->to_start = first * a->inner_blks[0] * b->strides[axis];
}

static plim_status run_unblock(const plim__call *call) {
    const struct unblock *s = call->state;
    for (int i = 0; i < s->parts; i++) {
        const struct part *part = &s->part[i];
        plim__strided how = {s->rank, part->dims, part->to, part->from, s->element_size};
        plim__copy_strided((char *)call->out[0] + (size_t)part->to_start * s->element_size,
                           (const char *)call->in[0] + (size_t)part->from_start * s->element_size, &how, s->threads);
    }
    return PLIM_OK;
}

plim_status plim__unblock_create(plim__lower *l, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                                 plim__rearrangement *made) {
    struct unblock *s = plim__alloc_zero(1, sizeof *s);
    if (!s) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    int axis = (int)from->format_desc.blocking.inner_idxs[0];
    int64_t size = from->format_desc.blocking.inner_blks[0], full = from->dims[axis] / size,
            rest = from->dims[axis] % size;
    s->rank = from->ndims + 1;
    s->threads = plim__lower_threads(l);
    s->element_size = from->data_type == dnnl_f32 || from->data_type == dnnl_s32    ? 4
                      : from->data_type == dnnl_f16 || from->data_type == dnnl_bf16 ? 2
                                                                                    : 1;
    if (full) add_part(s, from, to, 0, full, size);
    if (rest) add_part(s, from, to, full, 1, rest);
    *made = (plim__rearrangement){.run = run_unblock, .state = s, .release = plim__free};
    return PLIM_OK;
}
