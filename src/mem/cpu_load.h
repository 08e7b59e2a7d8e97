/* How busy others keep the processors that this process may use: what was timed meanwhile took too long. */
#ifndef PLIM_MEM_CPU_LOAD_H
#define PLIM_MEM_CPU_LOAD_H

#include <sched.h>

typedef struct plim__cpu_load {
    cpu_set_t processors;
    double busy, all, own; /* seconds of these processors so far: used by anybody, passed, used by this process */
} plim__cpu_load;

plim__cpu_load plim__cpu_load_begin(void);
/* The share of these processors' time since then that went to other processes, or to other machines on the same host;
 * 0 where the kernel does not tell. Begins again, with the same processors. */
double plim__cpu_load_others(plim__cpu_load *begin);

/* From the text of /proc/stat, of processors that `mine` says. */
void plim__cpu_load_parse(const char *text, int (*mine)(int processor, void *context), void *context,
                          plim__cpu_load *load);

#endif
