/* oneDNN primitives as kernels: scratchpads in user mode, data handles set when they change. */
#include <string.h>

#include "core/error.h"
#include "core/hash.h"
#include "kernel/onednn.h"
#include "kernel/simd/simd.h"
#include "mem/reserve.h"

#define MOST_ARGUMENTS 24

/* What a primitive takes of its own, its arguments included; as seen with networks of 10 to 10,000 layers. */
#define PRIMITIVE_BYTES          ((size_t)4608)
#define CONVOLUTION_BYTES        ((size_t)1536 << 10)
#define CONVOLUTION_BYTES_AVX512 ((size_t)2816 << 10)

struct primitive {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    int count; /* arguments, the scratchpad included as the last one when there is one */
    bool scratch;
    int addend; /* in operand that out operand 0 must hold before; -1 for none */
    size_t addend_bytes;
    dnnl_exec_arg_t arguments[MOST_ARGUMENTS];
    int operands[MOST_ARGUMENTS];
    void *handles[MOST_ARGUMENTS]; /* what each memory points to now */
};

static void release_primitive(void *state) {
    struct primitive *p = state;
    for (int i = 0; i < p->count; i++)
        if (p->arguments[i].memory) dnnl_memory_destroy(p->arguments[i].memory);
    if (p->primitive) dnnl_primitive_destroy(p->primitive);
    plim__free(p);
}

static void copy_bytes(void *to, const void *from, size_t bytes) {
    const size_t piece = 1 << 18;
    int64_t pieces = (int64_t)((bytes + piece - 1) / piece);
#pragma omp parallel for if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++) {
        size_t start = (size_t)i * piece;
        memcpy((char *)to + start, (const char *)from + start, bytes - start < piece ? bytes - start : piece);
    }
}

static plim_status run_primitive(const plim__call *call) {
    struct primitive *p = (struct primitive *)call->state; /* handles are a cache, not a change of meaning */
    if (p->addend >= 0 && call->in[p->addend] != call->out[0])
        copy_bytes(call->out[0], call->in[p->addend], p->addend_bytes);
    for (int i = 0; i < p->count; i++) {
        bool scratch = p->scratch && i == p->count - 1;
        int k = p->operands[i];
        void *handle = scratch ? call->scratch : k >= 0 ? call->in[k] : call->out[-1 - k];
        if (handle == p->handles[i]) continue;
        if (dnnl_memory_set_data_handle(p->arguments[i].memory, handle) != dnnl_success) return PLIM_INTERNAL;
        p->handles[i] = handle;
    }
    if (plim__reserve_is_spent() && plim__reserve_fill(NULL) != PLIM_OK) return PLIM_NO_MEMORY;
    dnnl_status_t status = dnnl_primitive_execute(p->primitive, p->stream, p->count, p->arguments);
    if (status == dnnl_success) status = dnnl_stream_wait(p->stream);
    return status == dnnl_success ? PLIM_OK : status == dnnl_out_of_memory ? PLIM_NO_MEMORY : PLIM_INTERNAL;
}

/* Convolutions by way of a matrix product: a part of the library that no other kernel for AVX-512 touches before it runs. */
#define GEMM_PART       1
#define GEMM_PART_BYTES ((size_t)192 << 10)

static bool has_avx512(void) { return plim__isa_best() == PLIM__ISA_AVX512; }

/* Pages of the library that convolutions touch: there are more kernels for AVX-512. */
static size_t convolution_bytes(void) { return has_avx512() ? CONVOLUTION_BYTES_AVX512 : CONVOLUTION_BYTES; }

/* Code that equal primitives share: oneDNN keeps it as long as one of them lives. */
static size_t code_bytes(dnnl_primitive_kind_t kind) {
    size_t kibibytes = kind == dnnl_reorder ? 10 : kind == dnnl_convolution ? 25 : 20;
    if (has_avx512()) kibibytes = kind == dnnl_reorder ? 20 : kind == dnnl_convolution ? 50 : 66;
    return kibibytes << 10;
}

static void add_md(plim__hash *hash, const dnnl_memory_desc_t *md) {
    plim__hash_add_number(hash, (int64_t)md->data_type * 16 + (int64_t)md->format_kind);
    for (int i = 0; i < md->ndims; i++) plim__hash_add_number(hash, md->dims[i]);
    if (md->format_kind != dnnl_blocked) return;
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    for (int i = 0; i < md->ndims; i++) plim__hash_add_number(hash, b->strides[i]);
    for (int i = 0; i < b->inner_nblks; i++) plim__hash_add_number(hash, b->inner_blks[i] * 16 + b->inner_idxs[i]);
}

static const char *name_of(dnnl_primitive_desc_t pd) {
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return name;
}

/* Bytes that it keeps for the columns of its output. */
static size_t row_bytes(dnnl_primitive_desc_t pd) {
    const dnnl_memory_desc_t *y = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    if (!y || y->ndims < 1 || strncmp(name_of(pd), "brgconv:", 8) != 0) return 0;
    return (size_t)y->dims[y->ndims - 1] * PLIM__COLUMN_BYTES;
}

/* The same for primitives that oneDNN makes one code for, but for a few that differ in a parameter only. */
static uint64_t code_of(dnnl_primitive_desc_t pd, dnnl_primitive_kind_t kind, const plim__argument *arguments,
                        int count) {
    plim__hash hash = PLIM_HASH_START;
    plim__hash_add_text(&hash, name_of(pd));
    plim__hash_add_number(&hash, kind);
    for (int i = 0; i < count; i++) {
        plim__hash_add_number(&hash, arguments[i].id);
        add_md(&hash, &arguments[i].md);
    }
    return plim__hash_value(&hash);
}

static dnnl_status_t add_argument(struct primitive *p, int id, const dnnl_memory_desc_t *md, int operand,
                                  dnnl_engine_t engine) {
    int i = p->count;
    dnnl_status_t status = dnnl_memory_create(&p->arguments[i].memory, md, engine, DNNL_MEMORY_NONE);
    if (status != dnnl_success) return status;
    p->arguments[i].arg = id;
    p->operands[i] = operand;
    p->count++;
    return dnnl_success;
}

/* What it will take of the process. */
static plim_status count_bytes(plim__lower *l, dnnl_primitive_desc_t pd, const plim__argument *arguments, int count) {
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind);
    size_t code = code_bytes(kind) + row_bytes(pd);
    PLIM_TRY(plim__lower_code(l, code_of(pd, kind, arguments, count), code,
                              kind == dnnl_convolution ? convolution_bytes() : 0));
    if (kind == dnnl_convolution && has_avx512() && strstr(name_of(pd), "gemm"))
        PLIM_TRY(plim__lower_library_part(l, GEMM_PART, GEMM_PART_BYTES));
    return plim__lower_own(l, PRIMITIVE_BYTES);
}

plim_status plim__primitive_create(plim__lower *l, dnnl_primitive_desc_t pd, const plim__argument *arguments, int count,
                                   plim__rearrangement *made) {
    dnnl_engine_t engine = plim__lower_dnnl_engine(l);
    plim_status room = plim__reserve_fill(plim__lower_error(l));
    if (room == PLIM_OK) room = count_bytes(l, pd, arguments, count);
    struct primitive *p = room == PLIM_OK && count < MOST_ARGUMENTS ? plim__alloc_zero(1, sizeof *p) : NULL;
    if (!p) {
        dnnl_primitive_desc_destroy(pd);
        return room != PLIM_OK ? room : plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    }
    p->stream = plim__lower_engine(l)->stream;
    p->addend = -1;
    dnnl_status_t status = dnnl_primitive_create(&p->primitive, pd);
    for (int i = 0; status == dnnl_success && i < count; i++)
        status = add_argument(p, arguments[i].id, &arguments[i].md, arguments[i].operand, engine);
    const dnnl_memory_desc_t *scratchpad = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    size_t scratch = scratchpad ? dnnl_memory_desc_get_size(scratchpad) : 0;
    if (status == dnnl_success && scratch) {
        p->scratch = true;
        status = add_argument(p, DNNL_ARG_SCRATCHPAD, scratchpad, 0, engine);
    }
    dnnl_primitive_desc_destroy(pd);
    if (status != dnnl_success) {
        release_primitive(p);
        plim_status failed = plim__lower_dnnl(l, status, "primitive");
        return failed != PLIM_OK ? failed : PLIM_INTERNAL;
    }
    *made = (plim__rearrangement){.run = run_primitive, .state = p, .release = release_primitive, .scratch = scratch};
    return PLIM_OK;
}

/* A matrix that lies row by row, or transposed. */
static void lies(const dnnl_memory_desc_t *md, char *t, int64_t *step) {
    const dnnl_dim_t *dims = md->dims + md->ndims - 2, *strides = md->format_desc.blocking.strides + md->ndims - 2;
    bool rows = strides[1] == 1 && (dims[1] > 1 || strides[0] != 1);
    *t = rows ? 'N' : 'T';
    *step = rows ? strides[0] : strides[1];
    if (*step < dims[rows ? 1 : 0]) *step = dims[rows ? 1 : 0];
}

/* oneDNN makes most matrix products by its sgemm; several of them are shared out among threads. */
static plim_status list_product(plim__lower *l, dnnl_primitive_desc_t pd) {
    dnnl_primitive_kind_t kind;
    if (dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind) != dnnl_success || kind != dnnl_matmul ||
        !strstr(name_of(pd), "gemm"))
        return PLIM_OK;
    const dnnl_memory_desc_t *a = dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0),
                             *b = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0),
                             *c = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    int last = c->ndims - 1;
    plim__product p = {.m = c->dims[last - 1], .n = c->dims[last], .k = a->dims[last]};
    char unused;
    for (int i = 0; i < last - 1; i++) p.alone |= c->dims[i] > 1;
    lies(a, &p.ta, &p.lda);
    lies(b, &p.tb, &p.ldb);
    lies(c, &unused, &p.ldc);
    return plim__lower_product(l, p);
}

plim_status plim__lower_dnnl(plim__lower *l, dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return PLIM_OK;
    if (status == dnnl_out_of_memory) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory in oneDNN (%s)", what);
    if (status == dnnl_unimplemented)
        return plim__lower_fail(l, PLIM_UNSUPPORTED, "unsupported: oneDNN has no kernel for this %s", what);
    return plim__lower_fail(l, PLIM_INTERNAL, "oneDNN refuses this %s (status %d)", what, (int)status);
}

plim_status plim__lower_attr(plim__lower *l, dnnl_primitive_attr_t *attr) {
    PLIM_TRY(plim__reserve_fill(plim__lower_error(l)));
    PLIM_TRY(plim__lower_dnnl(l, dnnl_primitive_attr_create(attr), "attribute"));
    return plim__lower_dnnl(l, dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user), "attribute");
}

plim_status plim__lower_primitive(plim__lower *l, const char *label, dnnl_primitive_desc_t pd,
                                  const plim__argument *arguments, int count) {
    return plim__lower_primitive_onto(l, label, pd, arguments, count, -1);
}

plim_status plim__lower_primitive_onto(plim__lower *l, const char *label, dnnl_primitive_desc_t pd,
                                       const plim__argument *arguments, int count, int addend) {
    plim__rearrangement made;
    plim_status status = list_product(l, pd);
    if (status != PLIM_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    PLIM_TRY(plim__primitive_create(l, pd, arguments, count, &made));
    struct primitive *p = made.state;
    p->addend = addend;
    for (int i = 0; addend >= 0 && i < count; i++)
        if (arguments[i].operand == PLIM__OUT(0)) p->addend_bytes = dnnl_memory_desc_get_size(&arguments[i].md);
    if (addend >= 0) plim__lower_inplace(l, addend, 0);
    status = plim__lower_scratch(l, made.scratch);
    if (status != PLIM_OK) {
        made.release(made.state);
        return status;
    }
    return plim__lower_emit(l, label, made.run, made.state, made.release);
}
