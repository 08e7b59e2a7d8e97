/* Stretches of work that no signal handler may interrupt: oneDNN's matrix product for AVX2 keeps values below its stack
 * pointer, where the frame of a handler overwrites them. */
#ifndef PLIM_KERNEL_QUIET_H
#define PLIM_KERNEL_QUIET_H

#include <signal.h>
#include <stdbool.h>

typedef struct plim__quiet {
    bool held; /* else handlers do no harm here, or the host keeps its signals */
    sigset_t before;
} plim__quiet;

plim__quiet plim__quiet_begin(void);
void plim__quiet_end(const plim__quiet *quiet);

#endif
