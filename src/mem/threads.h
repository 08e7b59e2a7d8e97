/* OpenMP's threads. libgomp ends the process where it cannot start one, and in a forked child it waits for ever for those of
 * the parent: both are met before it is asked. */
#ifndef PLIM_MEM_THREADS_H
#define PLIM_MEM_THREADS_H

#include <sched.h>

#include "plimsoll/status.h"

/* Starts a team of `threads` for the calling thread, where it has none yet. PLIM_NO_MEMORY: the system does not give them;
 * PLIM_UNSUPPORTED: more than one, in a child that was forked after its parent's team had started. */
plim_status plim__threads_start(int threads, plim_error *error);
/* The second of these conditions alone; cheap enough for each run. */
plim_status plim__threads_check_fork(int threads, plim_error *error);

/* The calling thread and the others of its team may run on these processors alone from now on. */
void plim__threads_place(int threads, const cpu_set_t *processors);

/* How many threads this process can use at a time: the processors that it may run on, and no more than the quota of its
 * control group pays for, rounded; at least 1. `root` as in mem/cgroup.h. */
int plim__threads_useful(const char *root);

#endif
