/* The compute engine. */
#include "kernel/machine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include <omp.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/host.h"
#include "plimsoll/bytes.h"

/* --- before oneDNN and OpenMP are asked, who end the process where they cannot have what they need ------------- */

/* Address space that making a program's kernels may take, and making one. */
#define PROGRAM_ROOM ((size_t)16 << 20)
#define KERNEL_ROOM  ((size_t)4 << 20)

static plim_status check_room(size_t bytes, plim_error *error) {
    char text[PLIM_BYTES_TEXT];
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room != MAP_FAILED) {
        munmap(room, bytes);
        return PLIM_OK;
    }
    return plim__fail(error, PLIM_NO_MEMORY,
                      "out of memory: making kernels needs %s of address space (see ulimit -v, ulimit -d)",
                      plim_bytes_format(bytes, text));
}

plim_status plim__machine_check_kernel(plim_error *error) { return check_room(KERNEL_ROOM, error); }

static void *wait_for(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* As many as OpenMP will start, all at once; their stacks stay with the C library, for OpenMP's. */
static plim_status try_threads(int threads, plim_error *error) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *made = plim__alloc_array((size_t)threads, sizeof *made);
    int count = 0, result = 0;
    if (!made) return plim__fail_memory(error, "threads", (size_t)threads * sizeof *made);
    pthread_mutex_lock(&gate);
    while (count < threads && (result = pthread_create(&made[count], NULL, wait_for, &gate)) == 0) count++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < count; i++) pthread_join(made[i], NULL);
    plim__free(made);
    if (result == 0) return PLIM_OK;
    return plim__fail(error, PLIM_NO_MEMORY,
                      "out of memory: %d of %d threads cannot be started (see --threads, ulimit -v, -s and -u)",
                      threads - count, threads);
}

static plim_status check_threads(int threads, plim_error *error) {
    if (plim__host_keeps_openmp() && threads != omp_get_max_threads())
        return plim__fail(error, PLIM_INVALID,
                          "%d threads: OpenMP has %d, and plim_host_options.keep_openmp keeps them", threads,
                          omp_get_max_threads());
    static atomic_int known = 1; /* so many have been there */
    if (threads > atomic_load(&known)) {
        PLIM_TRY(try_threads(threads - 1, error));
        atomic_store(&known, threads);
    }
    return PLIM_OK;
}

/* -------------------------------------------------------------------------------------------------------------- */

plim_status plim__machine_create(int threads, plim__machine **machine, plim_error *error) {
    *machine = NULL;
    if (threads < 1) threads = 1;
    PLIM_TRY(check_threads(threads, error));
    PLIM_TRY(check_room(PROGRAM_ROOM, error));
    plim__machine *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "the compute engine", sizeof *made);
    made->threads = threads;
    plim__machine_enter(made);
    if (dnnl_engine_create(&made->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&made->stream, made->engine, dnnl_stream_default_flags) != dnnl_success) {
        plim__machine_free(made);
        return plim__fail(error, PLIM_NO_MEMORY, "oneDNN cannot create its engine");
    }
    *machine = made;
    return PLIM_OK;
}

void plim__machine_free(plim__machine *machine) {
    if (!machine) return;
    if (machine->stream) dnnl_stream_destroy(machine->stream);
    if (machine->engine) dnnl_engine_destroy(machine->engine);
    plim__free(machine);
}

void plim__machine_enter(const plim__machine *machine) {
    if (!plim__host_keeps_openmp()) omp_set_num_threads(machine->threads);
}

void plim__machine_forget(void) {
    int capacity = 0;
    if (plim__host_keeps_kernels()) return;
    if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success || capacity == 0) return;
    dnnl_set_primitive_cache_capacity(0);
    dnnl_set_primitive_cache_capacity(capacity);
}

plim_status plim__machine_warm(int threads, plim_error *error) {
    enum { SIDE = 64 };
    static const float a[SIDE * SIDE];
    float c[SIDE * SIDE];
    if (threads < 1) threads = 1;
    PLIM_TRY(check_threads(threads, error));
    PLIM_TRY(check_room(PROGRAM_ROOM, error));
    if (!plim__host_keeps_openmp()) omp_set_num_threads(threads);
    dnnl_sgemm('N', 'N', SIDE, SIDE, SIDE, 1, a, SIDE, a, SIDE, 0, c, SIDE);
    dnnl_sgemm('N', 'T', 1, SIDE, SIDE, 1, a, SIDE, a, SIDE, 0, c, SIDE); /* a vector has code of its own */
    return PLIM_OK;
}

void plim__machine_library(char *text, size_t size) {
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, size, "%d.%d.%d", version->major, version->minor, version->patch);
}
