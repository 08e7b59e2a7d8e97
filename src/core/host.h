/* Which settings of the host process the library leaves alone; include/plimsoll/host.h is how a program says so. */
#ifndef PLIM_CORE_HOST_H
#define PLIM_CORE_HOST_H

#include <stdbool.h>

bool plim__host_keeps_heap(void);
bool plim__host_keeps_openmp(void);
bool plim__host_keeps_kernels(void);
bool plim__host_keeps_libraries(void);
bool plim__host_keeps_signals(void);
bool plim__host_keeps_affinity(void);
bool plim__host_keeps_files(void);

#endif
