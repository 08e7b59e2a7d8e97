/* The compute engine. */
#include "kernel/machine.h"

#include <stdio.h>

#include <omp.h>

#include "core/alloc.h"
#include "core/error.h"

plim_status plim__machine_create(int threads, plim__machine **machine, plim_error *error) {
    *machine = NULL;
    plim__machine *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "the compute engine", sizeof *made);
    made->threads = threads > 0 ? threads : 1;
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

void plim__machine_enter(const plim__machine *machine) { omp_set_num_threads(machine->threads); }

void plim__machine_forget(void) {
    int capacity = 0;
    if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success || capacity == 0) return;
    dnnl_set_primitive_cache_capacity(0);
    dnnl_set_primitive_cache_capacity(capacity);
}

void plim__machine_warm(int threads) {
    enum { SIDE = 64 };
    static const float a[SIDE * SIDE];
    float c[SIDE * SIDE];
    omp_set_num_threads(threads > 0 ? threads : 1);
    dnnl_sgemm('N', 'N', SIDE, SIDE, SIDE, 1, a, SIDE, a, SIDE, 0, c, SIDE);
    dnnl_sgemm('N', 'T', 1, SIDE, SIDE, 1, a, SIDE, a, SIDE, 0, c, SIDE); /* a vector has code of its own */
}

void plim__machine_library(char *text, size_t size) {
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, size, "%d.%d.%d", version->major, version->minor, version->patch);
}
