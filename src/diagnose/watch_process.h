/* The memory of processes, as /proc tells it: one process cheaply or in detail, all of them, or a tree. */
#ifndef PLIM_DIAGNOSE_WATCH_PROCESS_H
#define PLIM_DIAGNOSE_WATCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/vec.h"

typedef struct plim__process {
    pid_t pid, parent;
    uint64_t started; /* ticks since boot: with the pid it names a process for good */
    char name[64];    /* the command's name, as short as the kernel keeps it */
    uint64_t rss;     /* resident bytes */
    uint64_t shared;  /* of them, also mapped by others or by a file */
    bool detailed;    /* the two below are known (one's own processes, or as root) */
    uint64_t pss;     /* resident, shared pages divided among their users: adds up over processes */
    uint64_t swap;
} plim__process;

typedef PLIM_VEC(plim__process) plim__process_list;

/* Everything that runs, by pid. Names, parents and RSS; no detail. False when memory is short or there is no /proc. */
bool plim__process_scan(plim__process_list *list);
/* Fills one process; false when it is gone. */
bool plim__process_read(pid_t pid, plim__process *process);
/* RSS alone, for sampling. */
bool plim__process_rss(pid_t pid, uint64_t *rss, uint64_t *shared);
/* Adds PSS, swap and true sharing. Walks the process's page tables: dear for large ones. */
bool plim__process_detail(plim__process *process);
/* Swap alone, cheaply. */
bool plim__process_swap(pid_t pid, uint64_t *swap);

/* The command line, cut to fit, with what can't be shown as '?'; the name in brackets when there is none. Returns
 * `buffer`. */
const char *plim__process_command(const plim__process *process, char *buffer, size_t size);

/* The children that the first thread of a process started: a cheap look for new ones, which misses those of other
 * threads. Returns how many were written. */
size_t plim__process_children(pid_t pid, pid_t *children, size_t most);

/* Keeps of `list` only `root` and what descends from it. */
void plim__process_keep_tree(plim__process_list *list, pid_t root);

#endif
