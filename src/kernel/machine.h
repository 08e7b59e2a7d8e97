/* The compute engine: oneDNN's engine and stream, and the number of threads. One a program. */
#ifndef PLIM_KERNEL_MACHINE_H
#define PLIM_KERNEL_MACHINE_H

#include <oneapi/dnnl/dnnl.h>

#include "plimsoll/status.h"

typedef struct plim__machine {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads;
} plim__machine;

plim_status plim__machine_create(int threads, plim__machine **machine, plim_error *error);
void plim__machine_free(plim__machine *machine);
/* oneDNN remembers kernels that nobody uses any more: gives their memory back. */
void plim__machine_forget(void);
/* Makes what oneDNN's matrix product makes at its first call (code, tables), so that it is resident when memory is
 * reckoned with. */
plim_status plim__machine_warm(int threads, plim_error *error);
/* Whether there is room for one more kernel: oneDNN does not always survive that there is none. */
plim_status plim__machine_check_kernel(plim_error *error);
/* Sets the thread count for the calling thread; call before creating or running kernels. */
void plim__machine_enter(const plim__machine *machine);
/* The version of oneDNN: "3.9.1". */
void plim__machine_library(char *text, size_t size);

#endif
