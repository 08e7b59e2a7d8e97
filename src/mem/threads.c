/* Teams of OpenMP, started where a failure can be told. */
#include "mem/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include <omp.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/host.h"
#include "mem/cgroup.h"
#include "mem/reserve.h"
#include "mem/signals.h"

/* The process that started a team last; 0: none has. */
static _Atomic(pid_t) started_in;

plim_status plim__threads_check_fork(int threads, plim_error *error) {
    pid_t parent = threads > 1 ? atomic_load_explicit(&started_in, memory_order_relaxed) : 0;
    if (parent == 0 || parent == getpid()) return PLIM_OK;
    return plim__fail(
        error, PLIM_UNSUPPORTED,
        "%d threads: this process was forked after OpenMP had started threads in its parent, which are not "
        "here; use one thread, or fork before the first call, or start a program of its own (exec, spawn)",
        threads);
}

static void *wait_for(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* As many as OpenMP will start, all at once; their stacks stay with the C library, for OpenMP's. */
static plim_status try_threads(int threads, plim_error *error) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *made = plim__alloc_array((size_t)threads, sizeof *made);
    int count = 0, result = 0;
    if (!made) return plim__fail_memory(error, "threads", (size_t)threads * sizeof *made);
    pthread_mutex_lock(&gate);
    while (count < threads && (result = pthread_create(&made[count], NULL, wait_for, &gate)) == 0) count++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < count; i++) pthread_join(made[i], NULL);
    plim__free(made);
    if (result == 0) return PLIM_OK;
    return plim__fail(error, PLIM_NO_MEMORY,
                      "out of memory: %d of %d threads cannot be started (see --threads, ulimit -v, -s and -u)",
                      threads - count, threads);
}

plim_status plim__threads_start(int threads, plim_error *error) {
    static _Thread_local int known = 1; /* the most of a team of this thread: each has a team of its own */
    PLIM_TRY(plim__threads_check_fork(threads, error));
    if (threads <= known) return PLIM_OK;
    PLIM_TRY(plim__reserve_fill(error));
    PLIM_TRY(try_threads(threads - 1, error));
    atomic_store(&started_in, getpid());
#pragma omp parallel num_threads(threads)
    if (omp_get_thread_num() > 0 && !plim__host_keeps_signals()) /* now, while what was tried still holds */
        plim__signals_hold(NULL);
    known = threads;
    return PLIM_OK;
}

void plim__threads_place(int threads, const cpu_set_t *processors) {
#pragma omp parallel num_threads(threads)
    (void)sched_setaffinity(0, sizeof *processors, processors); /* what cannot be moved stays */
}

int plim__threads_useful(const char *root) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    double quota = plim__cgroup_processors(root, 0);
    if (quota > 0 && quota + 0.5 < (double)count) count = (int)(quota + 0.5);
    return count > 1 ? count : 1;
}
