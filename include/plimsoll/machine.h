/* The machine and this process: what memory there is, what bounds it, what is in use, how fast it computes.
 *
 *     plim_limits limits;
 *     plim_limits_read(0, &limits, &error);
 *     printf("%s leaves %llu bytes\n", plim_limits_name(&limits), (unsigned long long)limits.available);
 */
#ifndef PLIMSOLL_MACHINE_H
#define PLIMSOLL_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- limits --------------------------------------------------------------------------------------------------- */

/* Stands for "no limit" wherever a limit is given in bytes. */
#define PLIM_NO_LIMIT UINT64_MAX

/* Which limit is reached first. */
typedef enum plim_limiter {
    PLIM_LIMITER_NONE, /* nothing could be read */
    PLIM_LIMITER_PHYSICAL,
    PLIM_LIMITER_CGROUP,
    PLIM_LIMITER_CGROUP_HIGH,
    PLIM_LIMITER_RLIMIT_AS,
    PLIM_LIMITER_RLIMIT_DATA,
    PLIM_LIMITER_COMMIT,
    PLIM_LIMITER_COUNT
} plim_limiter;

#define PLIM_LIMITS_PATH 1024

/* Bytes throughout. */
typedef struct plim_limits {
    uint64_t available;   /* what the process can still take before the first limit */
    plim_limiter limiter; /* ... which is this one */
    uint64_t ceiling;     /* the most that it can ever have: the tightest of physical memory, cgroup and rlimits */
    plim_limiter ceiling_limiter;

    uint64_t memory_total, memory_available; /* MemTotal, MemAvailable */
    uint64_t swap_total, swap_free;
    int overcommit;                   /* vm.overcommit_memory: 0 heuristic, 1 always, 2 never; -1 unknown */
    uint64_t commit_limit, committed; /* CommitLimit binds in mode 2 only */

    int cgroup_version; /* 1 or 2; 0 when there is no memory controller, and the rest is not set */
    char cgroup_folder[PLIM_LIMITS_PATH];
    uint64_t cgroup_usage, cgroup_peak; /* of the group, and the most there ever was */
    uint64_t cgroup_limit, cgroup_high; /* the tightest of the group and those above; where it is slowed down */
    uint64_t cgroup_available, cgroup_swap_limit; /* before the limit is reached; of swap alone */
    uint64_t cgroup_oom_kills;                    /* processes that the kernel killed for memory in it */

    uint64_t rlimit_as, rlimit_data, rlimit_rss; /* soft limits; Linux does not enforce RSS */
    uint64_t virtual_bytes, data_bytes;          /* VmSize, VmData: what counts against them now */

    int shm_present;
    uint64_t shm_total, shm_used; /* /dev/shm */
} plim_limits;

/* Of a process; 0 is this one. What cannot be read is left as no limit; only a machine without /proc is an error. */
PLIM_API plim_status plim_limits_read(int pid, plim_limits *limits, plim_error *error);
/* "the cgroup's memory.limit_in_bytes", "MemAvailable", "ulimit -v": the limit that is reached first, for people. */
PLIM_API const char *plim_limits_name(const plim_limits *limits);
/* "cgroup", "physical", "rlimit_as": for programs. Never NULL. */
PLIM_API const char *plim_limiter_name(plim_limiter limiter);

/* The largest budget that the machine allows this process now, for plim_trainer_options.budget; 0 when that is not known.
 * *limit (may be NULL) names what bounds it. */
PLIM_API uint64_t plim_machine_budget(const char **limit);

/* --- this process --------------------------------------------------------------------------------------------- */

/* Resident bytes now, and at their highest since the program was started (VmRSS, VmHWM); 0 when they cannot be read. */
PLIM_API uint64_t plim_process_resident(void);
PLIM_API uint64_t plim_process_resident_peak(void);

/* How many threads this process can use at a time, for .threads of all options: the processors that it may run on
 * (sched_setaffinity), and no more than a control group's quota of processor time pays for, rounded. At least 1. */
PLIM_API int plim_machine_threads(void);

/* Makes now what the first training would make: heap settings, threads, oneDNN's first code. What they take is then
 * resident (and part of the address space that `ulimit -v` counts) before a budget is chosen. */
PLIM_API plim_status plim_machine_prepare(int threads, plim_error *error);

/* The folder for files that hold what memory has no room for: $TMPDIR, else /var/tmp. */
PLIM_API const char *plim_spill_default_folder(void);

/* --- speed ---------------------------------------------------------------------------------------------------- */

#define PLIM_MACHINE_RATES 96

/* What one kind of step does in a second. */
typedef struct plim_machine_rate {
    char label[32];      /* the step: "Conv", "MatMul" */
    double flops, bytes; /* 0: its time does not depend on them */
} plim_machine_rate;

/* Rates that planning expects. */
typedef struct plim_machine_costs {
    int measured;        /* on this machine; 0: those of an average one */
    double flops, bytes; /* a second, of steps without a rate of their own */
    double step_seconds; /* that every step takes in addition */
    double disk_bytes;   /* a second, of a file that state is spilled to */
    double busy;         /* the share of the processors that other programs had while rates were measured, 0 to 1; above
                  * PLIM_MEASURING_BUSY they are not used, and .measured is 0 */
    plim_machine_rate rates[PLIM_MACHINE_RATES];
    size_t rate_count;
} plim_machine_costs;

/* Bytes that plim_machine_measure needs while it runs, and the share of other programs above which it is disturbed. */
#define PLIM_MEASURING_BYTES ((uint64_t)256 << 20)
#define PLIM_MEASURING_BUSY  0.2

/* Those of the cache folder, or of an average machine. */
PLIM_API plim_status plim_machine_get_costs(int threads, plim_machine_costs *costs, plim_error *error);
/* Measures what operators cost on this machine and writes it to the user's cache folder ($XDG_CACHE_HOME/plimsoll or
 * ~/.cache/plimsoll); unless `again`, only where it is not there yet, can be
 * kept, and other programs leave the processors alone (costs->measured says whether it is there now). It takes some seconds. *costs (may be NULL) gets them. Planning never does it by
 * itself, but takes rates of an average machine where there are no measured ones. Memory is counted either way. */
PLIM_API plim_status plim_machine_measure(int threads, int again, plim_machine_costs *costs, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
