/* GPU memory through NVIDIA's management library, when the driver brings one; nothing is linked against it. */
#ifndef PLIM_DIAGNOSE_WATCH_GPU_H
#define PLIM_DIAGNOSE_WATCH_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PLIM_GPU_MOST = 16, PLIM_GPU_PROCESSES_MOST = 256 };

typedef struct plim__gpu {
    char name[96];
    uint64_t total, used; /* bytes; used by anyone, driver included */
} plim__gpu;

typedef struct plim__gpu_process {
    pid_t pid; /* as the driver sees it: in a container this may be another name space */
    int device;
    uint64_t bytes;
} plim__gpu_process;

typedef struct plim__gpus plim__gpus;

/* NULL when there is no such library, no driver or no device; *why is then one sentence. */
plim__gpus *plim__gpus_open(const char **why);
void plim__gpus_close(plim__gpus *gpus);
size_t plim__gpus_count(const plim__gpus *gpus);
/* False when the driver no longer answers for this device. */
bool plim__gpus_read(plim__gpus *gpus, size_t device, plim__gpu *gpu);
/* The processes that hold memory on any device; returns how many were written, at most `most`. */
size_t plim__gpus_processes(plim__gpus *gpus, plim__gpu_process *processes, size_t most);

#endif
