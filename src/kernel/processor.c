/* The processor: engines, and what oneDNN and OpenMP take from the process. */
#include "kernel/processor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <omp.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/host.h"
#include "kernel/fetch.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "kernel/product_heap.h"
#include "kernel/quiet.h"
#include "mem/reserve.h"
#include "mem/threads.h"
#include "plimsoll/bytes.h"
#include "program/fold.h"

/* Address space that making a program's kernels may take. */
#define PROGRAM_ROOM ((size_t)16 << 20)

static plim_status check_room(plim_error *error) {
    char text[PLIM_BYTES_TEXT];
    void *room = mmap(NULL, PROGRAM_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room != MAP_FAILED) {
        munmap(room, PROGRAM_ROOM);
        return plim__reserve_fill(error);
    }
    return plim__fail(error, PLIM_NO_MEMORY,
                      "out of memory: making kernels needs %s of address space (see ulimit -v, ulimit -d)",
                      plim_bytes_format(PROGRAM_ROOM, text));
}

static plim_status check_threads(int threads, plim_error *error) {
    if (plim__host_keeps_openmp() && threads != omp_get_max_threads())
        return plim__fail(error, PLIM_INVALID,
                          "%d threads: OpenMP has %d, and plim_host_options.keep_openmp keeps them", threads,
                          omp_get_max_threads());
    return plim__threads_start(threads, error);
}

/* -------------------------------------------------------------------------------------------------------------- */

static plim_status enter(const plim__engine *engine, plim_error *error) {
    PLIM_TRY(plim__threads_check_fork(engine->threads, error));
    if (!plim__host_keeps_openmp()) omp_set_num_threads(engine->threads);
    return plim__reserve_fill(error);
}

static void close_engine(plim__engine *engine) {
    if (!engine) return;
    if (engine->stream) dnnl_stream_destroy(engine->stream);
    if (engine->engine) dnnl_engine_destroy(engine->engine);
    plim__free(engine);
}

static plim_status open_engine(int threads, plim__engine **engine, plim_error *error) {
    *engine = NULL;
    if (threads < 1) threads = 1;
    PLIM_TRY(check_threads(threads, error));
    PLIM_TRY(check_room(error));
    plim__engine *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "the compute engine", sizeof *made);
    made->threads = threads;
    if (!plim__host_keeps_openmp()) omp_set_num_threads(threads);
    if (dnnl_engine_create(&made->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&made->stream, made->engine, dnnl_stream_default_flags) != dnnl_success) {
        close_engine(made);
        return plim__fail(error, PLIM_NO_MEMORY, "oneDNN cannot create its engine");
    }
    *engine = made;
    return PLIM_OK;
}

static plim_status run(plim__kernel kernel, const plim__call *call) {
    plim__quiet quiet = plim__quiet_begin();
    plim_status status = kernel(call);
    plim__quiet_end(&quiet);
    return status;
}

/* Kernels return when they are done. */
static plim_status wait(plim__engine *engine) {
    (void)engine;
    return PLIM_OK;
}

static plim_status copy(plim__engine *engine, void *to, const void *from, size_t bytes) {
    (void)engine;
    memcpy(to, from, bytes);
    return PLIM_OK;
}

static plim_status clear(plim__engine *engine, void *to, size_t bytes) {
    (void)engine;
    memset(to, 0, bytes);
    return PLIM_OK;
}

static bool layout_equal(const plim__layout *a, const plim__layout *b) {
    return dnnl_memory_desc_equal(plim__md(a), plim__md(b));
}

/* Below, oneDNN emulates it, or has no kernels for it. */
static bool multiplies(plim_dtype dtype) {
    return dtype == PLIM_BF16 &&
           (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}

static bool retype(plim__layout *layout, plim_dtype dtype) {
    dnnl_memory_desc_t md = *plim__md(layout);
    if (md.format_kind != dnnl_blocked || md.data_type != dnnl_f32 || md.extra.flags != dnnl_memory_extra_flag_none ||
        dtype != PLIM_BF16)
        return false;
    md.data_type = dnnl_bf16;
    memcpy(layout->native.bytes, &md, sizeof md);
    layout->dtype = dtype;
    return true;
}

static size_t layout_bytes(const plim__layout *layout) { return dnnl_memory_desc_get_size(plim__md(layout)); }

const plim__device plim__processor = {.name = "processor",
                                      .host = true,
                                      .open = open_engine,
                                      .close = close_engine,
                                      .enter = enter,
                                      .run = run,
                                      .wait = wait,
                                      .memory = &plim__host_memory,
                                      .write = copy,
                                      .read = copy,
                                      .clear = clear,
                                      .lower = plim__lower_by_row,
                                      .rearrange = plim__reorder_create,
                                      .rearranges = plim__reorder_is_direct,
                                      .same_axes = plim__reorder_same_axes,
                                      .layout_equal = layout_equal,
                                      .multiplies = multiplies,
                                      .retype = retype,
                                      .layout_bytes = layout_bytes,
                                      .fetch = &plim__fetch,
                                      .fetch_room = PLIM__FETCH_ROOM,
                                      .fold = plim__processor_fold,
                                      .packed = plim__product_packed};

plim_status plim__processor_fold(plim_graph *g, int32_t node, void *context, plim_error *error) {
    (void)context;
    return plim__program_fold(g, node, &plim__processor, error);
}

void plim__processor_trim(void) {
    int capacity = 0;
    if (plim__host_keeps_kernels()) return;
    if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success || capacity == 0) return;
    dnnl_set_primitive_cache_capacity(0);
    dnnl_set_primitive_cache_capacity(capacity);
}

plim_status plim__processor_warm(int threads, plim_error *error) {
    enum { SIDE = 64 };
    static const float a[SIDE * SIDE];
    float c[SIDE * SIDE];
    if (threads < 1) threads = 1;
    PLIM_TRY(check_threads(threads, error));
    PLIM_TRY(check_room(error));
    if (!plim__host_keeps_openmp()) omp_set_num_threads(threads);
    plim__quiet quiet = plim__quiet_begin();
    dnnl_sgemm('N', 'N', SIDE, SIDE, SIDE, 1, a, SIDE, a, SIDE, 0, c, SIDE);
    dnnl_sgemm('N', 'T', 1, SIDE, SIDE, 1, a, SIDE, a, SIDE, 0, c, SIDE); /* a vector has code of its own */
    dnnl_sgemm('N', 'T', 2, SIDE, SIDE, 1, a, SIDE, a, SIDE, 0, c, SIDE); /* and so have a few rows with AVX-512 */
    plim__quiet_end(&quiet);
    volatile double x = 1.5; /* losses and updates compute with these: their tables are resident from now on */
    x = exp(x) + log(x) + pow(x, x);
    return PLIM_OK;
}

bool plim__processor_uses_avx512(void) {
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

void plim__processor_library(char *text, size_t size) {
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, size, "%d.%d.%d", version->major, version->minor, version->patch);
}
