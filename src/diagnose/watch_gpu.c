/* GPU memory through NVML. The few types below are its published binary interface. */
#include "diagnose/watch_gpu.h"

#include <dlfcn.h>
#include <string.h>

#include "core/alloc.h"

typedef void *device_handle;

typedef struct memory_info {
    unsigned long long total, free, used;
} memory_info;

/* Versions 2 and 3 of the process list share this layout. */
typedef struct process_info {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
} process_info;

enum { NVML_SUCCESS = 0 };

struct plim__gpus {
    void *library;
    int (*init)(void), (*shutdown)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, device_handle *);
    int (*memory)(device_handle, memory_info *);
    int (*name)(device_handle, char *, unsigned);
    int (*compute)(device_handle, unsigned *, process_info *);
    int (*graphics)(device_handle, unsigned *, process_info *);
    size_t devices;
    device_handle handles[PLIM_GPU_MOST];
    process_info list[PLIM_GPU_PROCESSES_MOST];
};

/* dlsym gives an object pointer; copying its bytes is the way to a function pointer that ISO C allows. */
static bool look_up(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool bind_all(plim__gpus *gpus) {
    void *library = gpus->library;
    bool good = look_up(library, "nvmlInit_v2", &gpus->init) && look_up(library, "nvmlShutdown", &gpus->shutdown) &&
                look_up(library, "nvmlDeviceGetCount_v2", &gpus->count) &&
                look_up(library, "nvmlDeviceGetHandleByIndex_v2", &gpus->handle) &&
                look_up(library, "nvmlDeviceGetMemoryInfo", &gpus->memory);
    look_up(library, "nvmlDeviceGetName", &gpus->name);
    if (!look_up(library, "nvmlDeviceGetComputeRunningProcesses_v3", &gpus->compute))
        look_up(library, "nvmlDeviceGetComputeRunningProcesses_v2", &gpus->compute);
    if (!look_up(library, "nvmlDeviceGetGraphicsRunningProcesses_v3", &gpus->graphics))
        look_up(library, "nvmlDeviceGetGraphicsRunningProcesses_v2", &gpus->graphics);
    return good;
}

static bool open_devices(plim__gpus *gpus, const char **why) {
    unsigned count = 0;
    *why = "NVML does not start: no driver is loaded";
    if (gpus->init() != NVML_SUCCESS) return false;
    if (gpus->count(&count) != NVML_SUCCESS || count == 0) {
        *why = "NVML finds no GPU";
        gpus->shutdown();
        return false;
    }
    for (unsigned i = 0; i < count && gpus->devices < PLIM_GPU_MOST; i++)
        if (gpus->handle(i, &gpus->handles[gpus->devices]) == NVML_SUCCESS) gpus->devices++;
    return true;
}

plim__gpus *plim__gpus_open(const char **why) {
    plim__gpus *gpus = plim__alloc_zero(1, sizeof *gpus);
    *why = "out of memory";
    if (!gpus) return NULL;
    gpus->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    *why = "no NVIDIA driver library (libnvidia-ml.so.1)";
    if (gpus->library) *why = "libnvidia-ml.so.1 is too old";
    if (gpus->library && bind_all(gpus) && open_devices(gpus, why)) return gpus;
    if (gpus->library) dlclose(gpus->library);
    plim__free(gpus);
    return NULL;
}

void plim__gpus_close(plim__gpus *gpus) {
    if (!gpus) return;
    gpus->shutdown();
    dlclose(gpus->library);
    plim__free(gpus);
}

size_t plim__gpus_count(const plim__gpus *gpus) { return gpus ? gpus->devices : 0; }

bool plim__gpus_read(plim__gpus *gpus, size_t device, plim__gpu *gpu) {
    memory_info info;
    *gpu = (plim__gpu){0};
    if (device >= gpus->devices || gpus->memory(gpus->handles[device], &info) != NVML_SUCCESS) return false;
    if (!gpus->name || gpus->name(gpus->handles[device], gpu->name, sizeof gpu->name) != NVML_SUCCESS) gpu->name[0] = 0;
    gpu->total = info.total;
    gpu->used = info.used;
    return true;
}

size_t plim__gpus_processes(plim__gpus *gpus, plim__gpu_process *processes, size_t most) {
    size_t written = 0;
    for (size_t device = 0; device < gpus->devices; device++)
        for (int graphics = 0; graphics < 2; graphics++) {
            int (*list)(device_handle, unsigned *, process_info *) = graphics ? gpus->graphics : gpus->compute;
            unsigned count = PLIM_GPU_PROCESSES_MOST;
            if (!list || list(gpus->handles[device], &count, gpus->list) != NVML_SUCCESS) continue;
            for (unsigned i = 0; i < count && i < PLIM_GPU_PROCESSES_MOST && written < most; i++) {
                if (gpus->list[i].bytes == ~0ULL) continue; /* not told, as on Windows and in WSL */
                processes[written++] = (plim__gpu_process){(pid_t)gpus->list[i].pid, (int)device, gpus->list[i].bytes};
            }
        }
    return written;
}
