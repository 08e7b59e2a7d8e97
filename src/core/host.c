/* Settings of the host process. */
#include "plimsoll/host.h"

#include <stdatomic.h>

#include "core/arguments.h"
#include "core/host.h"

static atomic_bool heap, openmp, kernels, libraries, signals, affinity, files;

plim_status plim_host_configure(const plim_host_options *options, plim_error *error) {
    plim_host_options o;
    PLIM__OPTIONS(plim_host_options, o, options, error);
    atomic_store(&heap, o.keep_heap != 0);
    atomic_store(&openmp, o.keep_openmp != 0);
    atomic_store(&kernels, o.keep_kernels != 0);
    atomic_store(&libraries, o.keep_libraries != 0);
    atomic_store(&signals, o.keep_signals != 0);
    atomic_store(&affinity, o.keep_affinity != 0);
    atomic_store(&files, o.no_cache_files != 0);
    return PLIM_OK;
}

bool plim__host_keeps_heap(void) { return atomic_load(&heap); }
bool plim__host_keeps_openmp(void) { return atomic_load(&openmp); }
bool plim__host_keeps_kernels(void) { return atomic_load(&kernels); }
bool plim__host_keeps_libraries(void) { return atomic_load(&libraries); }
bool plim__host_keeps_signals(void) { return atomic_load(&signals); }
bool plim__host_keeps_affinity(void) { return atomic_load(&affinity); }
bool plim__host_keeps_files(void) { return atomic_load(&files); }
