/* The control groups of a process, versions 1 and 2: limits of memory, its use, whether the kernel killed for it, and the
 * quota of processor time.
 *
 * A process is bound by its own group and by every group above it, so limits are read at each level that can be seen
 * from here: in a container the mount shows only a part of the tree. `root` is put before every path: "" is the real
 * machine, tests give a folder with a made-up one. */
#ifndef PLIM_MEM_CGROUP_H
#define PLIM_MEM_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "mem/procfs.h"

/* Where a group is. */
typedef struct plim__cgroup {
    int version;           /* 1, 2; 0 when there is no memory controller */
    char mount[PATH_MAX];  /* the folder where the hierarchy is mounted, with the root before it */
    char folder[PATH_MAX]; /* the group's own folder: the mount, or below it */
} plim__cgroup;

/* Finds the group of a process (0 for this one). A machine without one gives version 0. */
void plim__cgroup_find(const char *root, pid_t pid, plim__cgroup *group);

/* What a group says now. What it does not say is PLIM_NO_LIMIT for limits and 0 for use. */
typedef struct plim__cgroup_state {
    uint64_t usage, peak;            /* bytes charged to the own group, and the most there ever were */
    uint64_t limit;                  /* the tightest hard limit of the group and those above */
    char limit_folder[PATH_MAX];     /* the group that sets it; "" for none, or one that can't be seen from here */
    uint64_t high;                   /* version 2: above this the kernel slows the group down and reclaims */
    uint64_t soft;                   /* version 1: a wish, which nothing enforces while memory is plenty */
    uint64_t swap_limit, swap_usage; /* swap alone: version 1's memory+swap less memory */
    uint64_t available; /* what can still be charged before a limit: over all levels, with reclaimable file pages */
    uint64_t soft_available;      /* the same before the wish is no longer met */
    uint64_t excess, soft_excess; /* what must be given back until a limit that fell is met: 0 while it is */
    uint64_t oom_kills;           /* processes the kernel killed for memory, in the group (version 2: and below) */
} plim__cgroup_state;

void plim__cgroup_read(const plim__cgroup *group, plim__cgroup_state *state);

/* The two figures that sampling needs, cheaply. False when the group is gone. */
bool plim__cgroup_usage(const plim__cgroup *group, uint64_t *usage);
bool plim__cgroup_oom_kills(const plim__cgroup *group, uint64_t *kills);
bool plim__cgroup_peak(const plim__cgroup *group, uint64_t *peak);

/* How many processors a process (0 for this one) may use all the time, by the tightest quota of its group and those above:
 * 1.5 of them, say. 0 where nothing limits it. */
double plim__cgroup_processors(const char *root, pid_t pid);

#endif
