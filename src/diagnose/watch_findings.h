/* What is known of a command that was watched, once it is over: how it died, how its memory went, what it was allowed.
 */
#ifndef PLIM_DIAGNOSE_WATCH_FINDINGS_H
#define PLIM_DIAGNOSE_WATCH_FINDINGS_H

#include <sys/resource.h>

#include "diagnose/curve.h"
#include "diagnose/death.h"
#include "diagnose/watch.h"

typedef struct plim__findings {
    int leave_with; /* the command's exit code, 128 + number for a signal */
    int signal;     /* 0 when it left by itself */
    double seconds;
    plim__death death;
    plim__curve curve;
    plim__limits limits;
    uint64_t ceiling; /* the tightest fixed limit, and which */
    plim_limiter ceiling_limiter;
    uint64_t peak;         /* of the tree's resident memory */
    bool peak_was_sampled; /* false: the kernel's high-water mark was above all samples */
    uint64_t swap_most, shm_most, gpu_most, pss_most;
    uint32_t processes_most;
    plim__curve_point *points; /* resident and swapped bytes over time, as classified; owned */
    double *x, *peaks;         /* the same for drawing, with the peaks between samples; owned */
    size_t count;
    bool grower_known;
    plim__watch_grower grower; /* the process that grew most */
    double watch_cpu_seconds;  /* of our own process: sampling, copying output, starting */
} plim__findings;

/* How a command ended: `status` and `usage` are wait4's. */
typedef struct plim__ending {
    pid_t pid;
    int status;
    const struct rusage *usage;
    double seconds; /* that it ran */
} plim__ending;

/* The watch must have been stopped. */
plim_status plim__findings_make(plim__findings *findings, plim__watch *watch, plim__kernel_log *log,
                                const plim__ending *ending, plim_error *error);
void plim__findings_free(plim__findings *findings);

/* "memory grew by 12.0 MiB per minute ...": the curve in words. */
void plim__findings_curve_text(const plim__findings *findings, char *buffer, size_t size);
/* Seconds from the end until growth would reach the ceiling; 0 when it does not grow or there is none. */
double plim__findings_seconds_left(const plim__findings *findings);

#endif
