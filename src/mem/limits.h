/* What the machine allows this process: every limit on memory that applies, and the one that binds first. */
#ifndef PLIM_MEM_LIMITS_H
#define PLIM_MEM_LIMITS_H

#include <sys/types.h>

#include "mem/cgroup.h"
#include "plimsoll/machine.h"

/* PLIM_NO_LIMIT stands for "none" in every limit; bytes throughout. */
typedef struct plim__limits {
    uint64_t available;   /* what this process can still take before the first limit */
    plim_limiter limiter; /* ... which is this one */

    uint64_t memory_total, memory_available; /* MemTotal, MemAvailable */
    uint64_t swap_total, swap_free;
    int overcommit;                   /* vm.overcommit_memory: 0 heuristic, 1 always, 2 never; -1 unknown */
    uint64_t commit_limit, committed; /* CommitLimit binds in mode 2 only */

    plim__cgroup cgroup;
    plim__cgroup_state cgroup_state;

    uint64_t rlimit_as, rlimit_data, rlimit_rss; /* soft limits; Linux does not enforce RSS */
    uint64_t virtual_bytes, data_bytes;          /* VmSize, VmData: what counts against them now */

    bool shm_present;
    uint64_t shm_total, shm_used; /* /dev/shm */
} plim__limits;

/* Reads all of it for a process (0 for this one). `root` is put before every path: "" for the machine. What can't be
 * read is left as no limit; only a machine without /proc is an error. */
plim_status plim__limits_read(const char *root, pid_t pid, plim__limits *limits, plim_error *error);

/* What a process that plans its memory may hold in all, when it holds `resident` bytes now: within every limit, and
 * within what the cgroup's soft limit wishes for, so that an administrator can ask for memory before a hard limit falls.
 * Less than `resident` when a limit has fallen below what is used. *name (may be NULL) is what bounds it. */
uint64_t plim__limits_allowance(const plim__limits *limits, uint64_t resident, const char **name);
/* For this process, as the machine is now; UINT64_MAX where that cannot be known. */
uint64_t plim__limits_allowed_now(void);

/* "the cgroup's memory.limit_in_bytes", "MemAvailable", "ulimit -v": what to tell a person. Never NULL. */
const char *plim__limiter_name(const plim__limits *limits);
const char *plim__limiter_text(plim_limiter limiter, int cgroup_version);
/* The same for users of the library. */
void plim__limits_publish(const plim__limits *from, plim_limits *to);
/* "cgroup", "physical", "rlimit_as": for JSON. */
const char *plim__limiter_word(plim_limiter limiter);
/* The most this process can ever have: the tightest of physical memory, the cgroup and the rlimits; `*limiter` says
 * which. */
uint64_t plim__limits_ceiling(const plim__limits *limits, plim_limiter *limiter);

/* The use of /dev/shm alone; false when it is not there. */
bool plim__limits_shm(const char *root, uint64_t *total, uint64_t *used);

#endif
