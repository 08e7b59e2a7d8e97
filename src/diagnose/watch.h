/* Watches the memory of a process and its descendants from beside: a thread that samples, and slows down so that it
 * takes less than a hundredth of one core.
 *
 * Four kinds of look, each as often as its own cost allows:
 *   quick   RSS of each known process, the use of the cgroup           10 ms to 1 s
 *   near    children of known processes                                20 ms and up
 *   wide    new processes, swap, /dev/shm, GPUs, cgroups they moved to 100 ms and up
 *   deep    PSS, when several processes share pages                    2 s and up
 * What falls between two looks is caught by the kernel's own high-water marks. */
#ifndef PLIM_DIAGNOSE_WATCH_H
#define PLIM_DIAGNOSE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "diagnose/watch_gpu.h"
#include "mem/limits.h"
#include "plimsoll/status.h"

typedef struct plim__sample {
    double seconds;    /* since the start */
    uint64_t rss;      /* of all processes of the tree together; pages shared between them count in each */
    uint64_t rss_peak; /* the most since the sample before: equal to rss unless samples were thinned out */
    uint64_t pss;      /* 0 when not known */
    uint64_t swap;
    uint64_t cgroup;    /* use of the first process's cgroup, 0 without one */
    uint64_t shm;       /* use of /dev/shm, by anyone */
    uint64_t available; /* the machine's MemAvailable */
    uint64_t gpu;       /* held by the tree on all GPUs; by anyone when the driver does not tell whose */
    int64_t step;       /* -1 when none was told */
    uint32_t processes;
} plim__sample;

enum { PLIM_WATCH_GROUPS = 8, PLIM_WATCH_SAMPLES = 8192 };

/* A cgroup that a process of the tree was seen in. */
typedef struct plim__watch_group {
    plim__cgroup group;
    uint64_t kills_before, peak_before; /* when it was first seen */
} plim__watch_group;

/* How one process of the tree grew after it was first seen. */
typedef struct plim__watch_grower {
    pid_t pid;
    char name[64];
    uint64_t first, most; /* resident bytes */
} plim__watch_grower;

typedef struct plim__watch_options {
    pid_t pid;
    int64_t (*step)(void *context); /* asked at each look; NULL for none */
    void *context;
    FILE *record; /* gets every sample as a line of JSON; NULL for none; stays the caller's */
    bool gpus;
} plim__watch_options;

typedef struct plim__watch plim__watch;

/* Starts sampling at once. */
plim_status plim__watch_start(plim__watch **watch, const plim__watch_options *options, plim_error *error);
/* Stops the thread; the samples stay until the watch is freed. */
void plim__watch_stop(plim__watch *watch);
void plim__watch_free(plim__watch *watch); /* NULL is fine */

/* The latest sample; false before the first. May be called at any time. */
bool plim__watch_latest(plim__watch *watch, plim__sample *sample);

/* What the first process may use: read when it started, and again when it moved to another cgroup. At any time. */
void plim__watch_limits(plim__watch *watch, plim__limits *limits);

/* After plim__watch_stop: */
size_t plim__watch_count(const plim__watch *watch);
const plim__sample *plim__watch_samples(const plim__watch *watch);
size_t plim__watch_groups(const plim__watch *watch, const plim__watch_group **groups);
/* The process that grew most; false when none was seen twice. */
bool plim__watch_grew_most(const plim__watch *watch, plim__watch_grower *grower);
/* Was this process ever part of the tree? */
bool plim__watch_knew(const plim__watch *watch, pid_t pid);

#endif
