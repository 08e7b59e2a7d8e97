/* Signals that wait: a handler of the host must not run on the stack of a thread while some kernels do. */
#ifndef PLIM_MEM_SIGNALS_H
#define PLIM_MEM_SIGNALS_H

#include <signal.h>

/* Of the calling thread: all but those that an instruction itself raises. What arrives is delivered after the release. */
void plim__signals_hold(sigset_t *before);
void plim__signals_release(const sigset_t *before);

#endif
