/* How a process died: told by its status, the kernel's counters and log, and what was seen of its memory. */
#ifndef PLIM_DIAGNOSE_DEATH_H
#define PLIM_DIAGNOSE_DEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plimsoll/watch.h"

/* --- the kernel's word ---------------------------------------------------------------------------------------- */

/* A process that the kernel killed for memory, from its log. */
typedef struct plim__kernel_kill {
    pid_t pid;
    char name[32];
    uint64_t rss;  /* anonymous + file + shared bytes */
    bool in_group; /* a cgroup's limit, not the whole machine */
} plim__kernel_kill;

enum { PLIM_KERNEL_KILLS = 16 };

/* One message of the log ("Memory cgroup out of memory: Killed process 42 (python) total-vm:..kB, anon-rss:..kB, ...").
 */
bool plim__kernel_kill_parse(const char *message, plim__kernel_kill *kill);

/* What the kernel had counted and said before the command started. */
typedef struct plim__kernel_log {
    int fd; /* /dev/kmsg at its end; -1 when it may not be read */
    uint64_t kills_before;
} plim__kernel_log;

void plim__kernel_log_open(plim__kernel_log *log);
/* What happened since, at most `most`; returns how many. */
size_t plim__kernel_log_kills(plim__kernel_log *log, plim__kernel_kill *kills, size_t most);
/* Processes killed for memory on the whole machine since. */
uint64_t plim__kernel_log_count(const plim__kernel_log *log);
void plim__kernel_log_close(plim__kernel_log *log);

/* --- the verdict ---------------------------------------------------------------------------------------------- */

typedef plim_death plim__death_kind;

typedef struct plim__death_facts {
    int exit_code;            /* -1 when a signal ended it */
    int signal;               /* 0 when it left by itself */
    uint64_t group_kills;     /* counted in its cgroups while it ran: also when the whole machine was short */
    bool group_counted;       /* that count could be read, so that 0 means none */
    bool group_limited;       /* a cgroup's limit is the one below */
    uint64_t machine_kills;   /* counted on the machine while it ran */
    bool log_read;            /* the kernel's log could be read */
    bool ours, ours_in_group; /* it names a process of the tree as killed */
    bool other;               /* it names one that was never seen in the tree */
    plim__kernel_kill other_kill;
    plim__kernel_kill kill; /* that one; the command itself when it is among them */
    pid_t pid;
    uint64_t shm_total, shm_most; /* /dev/shm, and the most of it that was in use */
    uint64_t peak;                /* of the tree */
    uint64_t limit;               /* the tightest of cgroup and machine; PLIM_NO_LIMIT for none */
    uint64_t available_least;     /* the least MemAvailable seen; PLIM_NO_LIMIT when unknown */
    uint64_t machine_total;
} plim__death_facts;

enum { PLIM_DEATH_EVIDENCE = 6 };

typedef struct plim__death {
    plim__death_kind kind;
    bool certain;
    bool memory; /* lack of memory ended it */
    char sentence[320];
    size_t evidence_count;
    char evidence[PLIM_DEATH_EVIDENCE][256];
} plim__death;

void plim__death_explain(const plim__death_facts *facts, plim__death *death);
/* "oom_cgroup", "killed": for JSON. */
const char *plim__death_word(plim__death_kind kind);
/* "SIGKILL"; "signal 42" for those without a name. */
void plim__signal_name(int number, char *buffer, size_t size);

#endif
