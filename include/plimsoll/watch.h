/* Watching other programs' memory: a command from its start to its end, and a table of all processes.
 *
 *     plim_watch *watch;
 *     plim_watch_create(argv, NULL, &watch, &error);
 *     while (plim_watch_wait(watch, 1.0) != PLIM_WATCH_DONE)
 *         if (plim_watch_get_sample(watch, &sample)) show(sample.rss);
 *     plim_watch_finish(watch, &result, &error);
 *     puts(result->sentence);                              "killed by the kernel: its cgroup was full ..."
 *     plim_watch_free(watch);
 */
#ifndef PLIMSOLL_WATCH_H
#define PLIMSOLL_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plimsoll/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- a command ------------------------------------------------------------------------------------------------ */

typedef struct plim_watch plim_watch;

/* The command's processes at one moment. Bytes. */
typedef struct plim_watch_sample {
    double seconds;    /* since the start */
    uint64_t rss;      /* of all processes of the tree together; pages shared between them count in each */
    uint64_t rss_peak; /* the most since the sample before */
    uint64_t pss;      /* 0 when not known */
    uint64_t swap;
    uint64_t cgroup;    /* use of the first process's cgroup, 0 without one */
    uint64_t shm;       /* use of /dev/shm, by anyone */
    uint64_t available; /* the machine's MemAvailable */
    uint64_t gpu;       /* held by the tree on all GPUs; by anyone when the driver does not tell whose */
    int64_t step;       /* of training, as the command's output tells it; -1 when it does not */
    uint32_t processes;
} plim_watch_sample;

/* Zero is the default in every field. */
typedef struct plim_watch_options {
    size_t size; /* sizeof(plim_watch_options), or 0; see plimsoll.h */
    /* Sees every byte that the command writes, right before it goes out. `stream` is 1 or 2; one call at a time, from
     * threads of the watch. */
    void (*output)(void *context, int stream, const char *data, size_t size);
    void *context;
    FILE *record; /* gets every sample as a line of JSON; stays the caller's */
} plim_watch_options;

/* To be called before the program opens files: a standard stream that is closed stays closed for the command, but its
 * number must not go to a file of the program. */
PLIM_API void plim_watch_prepare(void);

/* Starts a command (argv ends with NULL) with the streams of this process; a terminal stays a terminal, and signals are
 * passed on. Until plim_watch_finish SIGPIPE is ignored, SIGCHLD has its default, and others that are passed on are
 * blocked in the calling thread; orphans of the command become children of this process. PLIM_NOT_FOUND when there is no
 * such command, another status when it cannot be executed. */
PLIM_API plim_status plim_watch_create(char *const *argv, const plim_watch_options *options, plim_watch **watch,
                                       plim_error *error);
PLIM_API void plim_watch_free(plim_watch *watch);

typedef enum plim_watch_event {
    PLIM_WATCH_DONE,    /* the command ended */
    PLIM_WATCH_TICK,    /* the time is over */
    PLIM_WATCH_REQUEST, /* SIGUSR1: the user wants to see something */
} plim_watch_event;

/* Waits for at most `seconds`. */
PLIM_API plim_watch_event plim_watch_wait(plim_watch *watch, double seconds);
/* The latest sample; 0 before the first. */
PLIM_API int plim_watch_get_sample(plim_watch *watch, plim_watch_sample *sample);
/* What the command's first process may use. */
PLIM_API plim_status plim_watch_get_limits(plim_watch *watch, plim_limits *limits, plim_error *error);
/* Writes to a stream (1 or 2) between the command's own bytes; 0, and nothing is written, while the stream is held up. */
PLIM_API int plim_watch_write(plim_watch *watch, int stream, const char *data, size_t size);

/* How the command ended. */
typedef enum plim_death {
    PLIM_DEATH_NONE,        /* exited with 0, and nothing was killed */
    PLIM_DEATH_EXIT,        /* exited with another code */
    PLIM_DEATH_OOM_CGROUP,  /* killed by the kernel: its cgroup was full */
    PLIM_DEATH_OOM_MACHINE, /* killed by the kernel: the machine was full */
    PLIM_DEATH_OOM_CHILD,   /* the kernel killed one of its processes, and it exited because of that */
    PLIM_DEATH_KILLED,      /* SIGKILL from someone else */
    PLIM_DEATH_SHM,         /* SIGBUS with a full /dev/shm */
    PLIM_DEATH_SIGNAL       /* another signal */
} plim_death;
PLIM_API const char *plim_death_name(plim_death death); /* "oom_cgroup", "killed"; never NULL */

/* The shape of memory over time. */
typedef enum plim_curve {
    PLIM_CURVE_SHORT,   /* too little was seen to say */
    PLIM_CURVE_PLATEAU, /* no trend, whatever the swings */
    PLIM_CURVE_GROWTH,  /* grew all along, and had not levelled off: a leak */
    PLIM_CURVE_CLIFF    /* a jump at the very end */
} plim_curve;
PLIM_API const char *plim_curve_name(plim_curve curve); /* "plateau", "growth", "cliff", "short"; never NULL */

#define PLIM_WATCH_EVIDENCE 6

typedef struct plim_watch_result {
    int exit_code;        /* the command's own, 128 + number for a signal */
    int signal;           /* 0 when it exited by itself */
    char signal_name[32]; /* "SIGKILL"; "" without one */
    double seconds;
    /* the end */
    plim_death death;
    int by_memory, certain; /* lack of memory ended it; that is known, not likely */
    char sentence[320];
    int evidence_count;
    char evidence[PLIM_WATCH_EVIDENCE][256];
    /* memory over time */
    plim_curve curve;
    char curve_sentence[256]; /* "memory grew by 12.0 MiB per minute ..." */
    double from, to;          /* seconds: the stretch that the trend was fitted to */
    double bytes_per_second;  /* growth */
    int per_step_known;
    double bytes_per_step;
    double jump_bytes, jump_seconds; /* cliff */
    double seconds_to_limit;         /* from the end, at that growth; 0 when it does not grow or there is no limit */
    /* figures */
    plim_limits limits; /* .ceiling is the tightest fixed one */
    uint64_t peak;      /* of the tree's resident memory */
    int peak_sampled;   /* 0: the kernel's high-water mark was above all samples */
    uint64_t pss_peak, swap_peak, shm_peak, gpu_peak;
    uint32_t processes_peak;
    char grower[64];             /* the process that grew most; "" when none did */
    int64_t grower_pid;          /* -1 likewise */
    uint64_t grower_bytes;       /* by how much */
    const double *times, *bytes; /* resident and swapped bytes over time, with the peaks between samples */
    size_t count;
    double watch_cpu_seconds; /* that watching took */
} plim_watch_result;

/* After PLIM_WATCH_DONE: passes on what is still on its way, gives the terminal and the signals back, and says what was
 * found. The result is valid until the watch is freed. */
PLIM_API plim_status plim_watch_finish(plim_watch *watch, const plim_watch_result **result, plim_error *error);
/* The command's exit code, 128 + number for a signal, after PLIM_WATCH_DONE; also when it could not be watched. */
PLIM_API int plim_watch_exit_code(const plim_watch *watch);

/* --- all processes -------------------------------------------------------------------------------------------- */

typedef struct plim_process_table plim_process_table;

typedef enum plim_process_key {
    PLIM_PROCESS_RSS,
    PLIM_PROCESS_PSS,
    PLIM_PROCESS_SWAP,
    PLIM_PROCESS_SHARED,
    PLIM_PROCESS_GPU,
    PLIM_PROCESS_GROWTH,
    PLIM_PROCESS_PID,
    PLIM_PROCESS_NAME,
    PLIM_PROCESS_KEYS
} plim_process_key;
PLIM_API const char *plim_process_key_name(plim_process_key key); /* "rss"; "?" for what is none */

typedef struct plim_process {
    int pid, parent;
    char name[64];     /* as short as the kernel keeps it */
    char command[512]; /* the command line, cut to fit, with what cannot be shown as '?' */
    uint64_t rss;      /* resident bytes */
    uint64_t shared;   /* of them, also mapped by others or by a file */
    int detailed;      /* the two below are known (own processes, or as root) */
    uint64_t pss;      /* resident, shared pages divided among their users: adds up over processes */
    uint64_t swap;
    uint64_t gpu;     /* bytes on all GPUs */
    int growth_known; /* it was there before */
    double growth;    /* resident bytes a minute, over the last quarter of a minute or more where possible */
} plim_process;

typedef struct plim_process_gpu {
    char name[96];
    uint64_t total, used; /* bytes; used by anyone, driver included */
} plim_process_gpu;

/* Empty until it is updated. GPUs are read through NVIDIA's management library, where there is one. */
PLIM_API plim_status plim_process_table_create(plim_process_table **table, plim_error *error);
PLIM_API void plim_process_table_free(plim_process_table *table);
/* Reads all processes that have memory of their own, with details of the `detailed` largest (of all when the key needs
 * them), and sorts. */
PLIM_API plim_status plim_process_table_update(plim_process_table *table, plim_process_key key, size_t detailed,
                                               plim_error *error);
PLIM_API size_t plim_process_table_count(const plim_process_table *table);
/* All zero past the end. */
PLIM_API void plim_process_table_get(const plim_process_table *table, size_t index, plim_process *process);
PLIM_API size_t plim_process_table_gpu_count(const plim_process_table *table);
/* 0 past the end, and when the driver no longer answers. */
PLIM_API int plim_process_table_get_gpu(plim_process_table *table, size_t index, plim_process_gpu *gpu);
/* Why there are no GPUs: one sentence; "" when there are. */
PLIM_API const char *plim_process_table_gpu_note(const plim_process_table *table);

#ifdef __cplusplus
}
#endif
#endif
