/* What the library changes in the process that it is part of, and how to decline that. plimsoll.h lists the effects. */
#ifndef PLIMSOLL_HOST_H
#define PLIMSOLL_HOST_H

#include <stddef.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is the default in every field: the library makes the settings that a budget needs. */
typedef struct plim_host_options {
    size_t size;   /* sizeof(plim_host_options), or 0; see plimsoll.h */
    int keep_heap; /* leave malloc as it is: no mallopt, no malloc_trim, no blocks that plug holes; and huge pages, which
                           are turned off within a budget otherwise. Planned memory of the process is then less certain:
                           give budgets some percent of room. */
    int keep_openmp;    /* leave OpenMP's number of threads as it is: .threads of all options must then be that number,
                           omp_get_max_threads(); another one is PLIM_INVALID */
    int keep_kernels;   /* leave oneDNN's cache of kernels as it is, also where it holds memory that a budget needs */
    int no_cache_files; /* neither read nor write measured rates in the user's cache folder */
    int keep_libraries; /* leave what oneDNN, libgomp and the C++ library call as it is: an allocation that fails inside of
                           them may then end the process */
    int keep_affinity; /* plim_fit leaves its threads on all processors, also where busy programs use them too */
    int keep_signals;  /* leave signal masks as they are: where oneDNN uses AVX2, a handler that runs on the stack of a
                           thread that computes may then damage memory (plimsoll.h) */
} plim_host_options;

/* For the whole process; to be called before anything else of the library runs. NULL restores the defaults. What was set
 * before (malloc's settings) is not undone. */
PLIM_API plim_status plim_host_configure(const plim_host_options *options, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
