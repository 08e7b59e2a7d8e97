/* The sampling thread. */
#include "diagnose/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/vec.h"
#include "diagnose/watch_process.h"

/* The cost of a look in CPU seconds, times this, is the least time to the next. Together they take less than half a
 * percent of a core; in the first seconds twice that, since much happens then. */
static const double quick_patience = 600, near_patience = 1200, wide_patience = 800, deep_patience = 2000;
static const double beginning = 2;

static double pause_after(double cost, double patience, double now) {
    return cost * (now < beginning ? patience / 2 : patience);
}

enum { GROWERS = 64 };

struct plim__watch {
    plim__watch_options options;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* samples, stopping */
    pthread_cond_t wake;
    bool stopping;
    double start;
    PLIM_VEC(plim__sample) samples;
    plim__process_list tree;
    PLIM_VEC(pid_t) known;
    plim__watch_group groups[PLIM_WATCH_GROUPS];
    uint64_t group_hashes[PLIM_WATCH_GROUPS];
    size_t group_count;
    int group; /* the first process's; -1 for none */
    plim__limits limits;
    plim__gpus *gpus;
    plim__sample slow; /* what the wide and deep looks saw last */
    double next_wide, next_deep, next_children;
    plim__watch_grower growers[GROWERS];
    size_t grower_count;
};

static double thread_cpu(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The index of the group that a process is in, -1 when there is none or no room. Most processes are where others were:
 * their /proc/PID/cgroup is then word for word one that was seen. */
static int remember_group(plim__watch *watch, pid_t pid) {
    char text[4096];
    if (plim__procfs_read(text, sizeof text, "/proc/%ld/cgroup", (long)pid) <= 0) return -1;
    uint64_t hash = 14695981039346656037u;
    for (const char *at = text; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    for (size_t i = 0; i < watch->group_count; i++)
        if (watch->group_hashes[i] == hash) return (int)i;
    /* one that is dying has left its group for the root, after its memory was gone */
    uint64_t rss = 0, shared;
    if (!plim__process_rss(pid, &rss, &shared) || rss == 0) return -1;
    if (watch->group_count == PLIM_WATCH_GROUPS) return -1;
    plim__watch_group *next = &watch->groups[watch->group_count];
    plim__cgroup_find("", pid, &next->group);
    if (next->group.version == 0) return -1;
    if (!plim__cgroup_oom_kills(&next->group, &next->kills_before)) next->kills_before = 0;
    if (!plim__cgroup_peak(&next->group, &next->peak_before)) next->peak_before = 0;
    watch->group_hashes[watch->group_count] = hash;
    return (int)watch->group_count++;
}

/* The first process may move itself to another group, or set a ulimit: a shell does it before it starts the real
 * command. */
static void follow_limits(plim__watch *watch) {
    struct rlimit space, data;
    int group = remember_group(watch, watch->options.pid);
    bool moved = group >= 0 && group != watch->group;
    bool limited = prlimit(watch->options.pid, RLIMIT_AS, NULL, &space) == 0 &&
                   prlimit(watch->options.pid, RLIMIT_DATA, NULL, &data) == 0 &&
                   (space.rlim_cur != watch->limits.rlimit_as || data.rlim_cur != watch->limits.rlimit_data);
    if (!moved && !limited) return;
    if (moved) watch->group = group;
    plim__limits limits;
    if (plim__limits_read("", watch->options.pid, &limits, NULL) != PLIM_OK || limits.virtual_bytes == 0)
        return; /* dying */
    pthread_mutex_lock(&watch->lock);
    watch->limits = limits;
    pthread_mutex_unlock(&watch->lock);
}

static void remember_pid(plim__watch *watch, pid_t pid) {
    for (size_t i = watch->known.count; i-- > 0;)
        if (watch->known.items[i] == pid) return;
    /* without memory for it, a match in the kernel's log is by name only */
    if (watch->known.count < 65536) (void)plim__vec_push(&watch->known, pid);
}

/* --- looks ---------------------------------------------------------------------------------------------------- */

static uint64_t gpu_bytes(plim__watch *watch) {
    plim__gpu_process list[PLIM_GPU_PROCESSES_MOST];
    size_t count = plim__gpus_processes(watch->gpus, list, PLIM_GPU_PROCESSES_MOST);
    uint64_t ours = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < watch->tree.count; k++)
            if (list[i].pid == watch->tree.items[k].pid) ours += list[i].bytes;
    if (count) return ours;
    plim__gpu gpu;
    for (size_t i = 0; i < plim__gpus_count(watch->gpus); i++)
        if (plim__gpus_read(watch->gpus, i, &gpu)) used += gpu.used;
    return used;
}

static void look_wide(plim__watch *watch) {
    plim__process_list found = {0};
    if (plim__process_scan(&found)) {
        plim__process_keep_tree(&found, watch->options.pid);
        plim__vec_free(&watch->tree);
        watch->tree = found;
    } else {
        plim__vec_free(&found);
    }
    watch->slow.swap = 0;
    for (size_t i = 0; i < watch->tree.count; i++) {
        pid_t pid = watch->tree.items[i].pid;
        uint64_t swap = 0;
        if (watch->limits.swap_total && plim__process_swap(pid, &swap)) watch->slow.swap += swap;
        remember_pid(watch, pid);
        remember_group(watch, pid);
    }
    follow_limits(watch);
    uint64_t total;
    if (!plim__limits_shm("", &total, &watch->slow.shm)) watch->slow.shm = 0;
    char text[4096];
    if (plim__procfs_read(text, sizeof text, "/proc/meminfo") > 0)
        plim__procfs_field(text, "MemAvailable", &watch->slow.available);
    if (watch->gpus) watch->slow.gpu = gpu_bytes(watch);
}

static void look_deep(plim__watch *watch) {
    watch->slow.pss = 0;
    for (size_t i = 0; i < watch->tree.count; i++)
        if (plim__process_detail(&watch->tree.items[i])) watch->slow.pss += watch->tree.items[i].pss;
}

/* Between two wide looks: children of what is known, so that a short-lived one is not missed. */
static void look_for_children(plim__watch *watch) {
    for (size_t i = 0; i < watch->tree.count; i++) {
        pid_t children[64];
        size_t count = plim__process_children(watch->tree.items[i].pid, children, 64);
        for (size_t k = 0; k < count; k++) {
            bool known = false;
            for (size_t n = 0; n < watch->tree.count && !known; n++) known = watch->tree.items[n].pid == children[k];
            plim__process process;
            if (known || !plim__process_read(children[k], &process) || !plim__vec_push(&watch->tree, process)) continue;
            remember_pid(watch, children[k]);
            remember_group(watch, children[k]);
        }
    }
}

static void note_growth(plim__watch *watch, const plim__process *process, uint64_t rss) {
    size_t i = 0;
    while (i < watch->grower_count && watch->growers[i].pid != process->pid) i++;
    if (i == GROWERS) return;
    plim__watch_grower *grower = &watch->growers[i];
    if (i == watch->grower_count) {
        *grower = (plim__watch_grower){.pid = process->pid, .first = rss};
        watch->grower_count++;
    }
    memcpy(grower->name, process->name, sizeof grower->name); /* it may have become another program */
    if (rss > grower->most) grower->most = rss;
}

/* True when the tree changed under it: a process is gone. */
static bool look_quick(plim__watch *watch, plim__sample *sample) {
    bool gone = false;
    *sample = watch->slow;
    sample->seconds = plim__clock_seconds() - watch->start;
    for (size_t i = 0; i < watch->tree.count; i++) {
        uint64_t rss, shared;
        if (!plim__process_rss(watch->tree.items[i].pid, &rss, &shared) || rss == 0) /* a zombie holds nothing */
            gone = true;
        else {
            sample->rss += rss, sample->processes++;
            note_growth(watch, &watch->tree.items[i], rss);
        }
    }
    sample->rss_peak = sample->rss;
    if (watch->group < 0 || !plim__cgroup_usage(&watch->groups[watch->group].group, &sample->cgroup))
        sample->cgroup = 0;
    sample->step = watch->options.step ? watch->options.step(watch->options.context) : -1;
    return gone;
}

/* --- keeping -------------------------------------------------------------------------------------------------- */

/* A long run keeps every second sample each time the room is full; peaks move on to the sample that stays. */
static void thin_out(plim__watch *watch) {
    plim__sample *items = watch->samples.items;
    size_t kept = 0;
    for (size_t i = 0; i + 1 < watch->samples.count; i += 2) {
        uint64_t peak = items[i].rss_peak > items[i + 1].rss_peak ? items[i].rss_peak : items[i + 1].rss_peak;
        items[kept] = items[i + 1];
        items[kept++].rss_peak = peak;
    }
    watch->samples.count = kept;
}

static void keep(plim__watch *watch, const plim__sample *sample) {
    pthread_mutex_lock(&watch->lock);
    if (watch->samples.count >= PLIM_WATCH_SAMPLES) thin_out(watch);
    (void)plim__vec_push(&watch->samples, *sample); /* a lost sample is a coarser curve, no failure */
    pthread_mutex_unlock(&watch->lock);
    FILE *record = watch->options.record;
    if (!record) return;
    fprintf(record, "{\"t\":%.3f,\"rss\":%" PRIu64 ",\"pss\":%" PRIu64 ",\"swap\":%" PRIu64 ",\"cgroup\":%" PRIu64,
            sample->seconds, sample->rss, sample->pss, sample->swap, sample->cgroup);
    fprintf(record, ",\"shm\":%" PRIu64 ",\"available\":%" PRIu64 ",\"gpu\":%" PRIu64 ",\"processes\":%" PRIu32,
            sample->shm, sample->available, sample->gpu, sample->processes);
    fprintf(record, sample->step >= 0 ? ",\"step\":%" PRId64 "}\n" : ",\"step\":null}\n", sample->step);
    fflush(record); /* whole lines, so that a record cut short can still be read */
}

/* --- the thread ----------------------------------------------------------------------------------------------- */

static double look(plim__watch *watch) {
    double begin = thread_cpu(), now = plim__clock_seconds() - watch->start;
    if (now >= watch->next_wide) {
        look_wide(watch);
        double cost = thread_cpu() - begin;
        watch->next_wide = now + fmax(now < beginning ? 0.1 : 0.5, pause_after(cost, wide_patience, now));
    }
    double children = thread_cpu();
    if (now >= watch->next_children) {
        look_for_children(watch);
        watch->next_children =
            now + fmax(now < beginning ? 0.02 : 0.1, pause_after(thread_cpu() - children, near_patience, now));
    }
    double deep = thread_cpu();
    if (now >= watch->next_deep && watch->tree.count > 1) {
        look_deep(watch);
        watch->next_deep = now + fmax(2, pause_after(thread_cpu() - deep, deep_patience, now));
    }
    if (watch->tree.count <= 1) watch->slow.pss = 0;
    double quick = thread_cpu();
    plim__sample sample;
    if (look_quick(watch, &sample) && watch->next_wide > now + 0.1) watch->next_wide = now + 0.1;
    if (sample.processes) keep(watch, &sample);
    double end = thread_cpu();
    /* later, a second more or less matters less */
    return fmax(fmax(0.01, pause_after(end - quick, quick_patience, now)), fmin(1, now / 2000));
}

static bool sleep_unless_stopped(plim__watch *watch, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    double nanoseconds = (double)until.tv_nsec + fmod(seconds, 1) * 1e9;
    until.tv_sec += (time_t)seconds + (nanoseconds >= 1e9);
    until.tv_nsec = (long)(nanoseconds >= 1e9 ? nanoseconds - 1e9 : nanoseconds);
    pthread_mutex_lock(&watch->lock);
    int result = 0;
    while (!watch->stopping && result != ETIMEDOUT) result = pthread_cond_timedwait(&watch->wake, &watch->lock, &until);
    bool stopping = watch->stopping;
    pthread_mutex_unlock(&watch->lock);
    return !stopping;
}

static void *run(void *argument) {
    plim__watch *watch = argument;
    const char *why;
    if (watch->options.gpus) watch->gpus = plim__gpus_open(&why); /* may take a second, so not before the start */
    while (sleep_unless_stopped(watch, look(watch))) {}
    return NULL;
}

plim_status plim__watch_start(plim__watch **out, const plim__watch_options *options, plim_error *error) {
    *out = NULL;
    plim__watch *watch = plim__alloc_zero(1, sizeof *watch);
    if (!watch) return plim__fail_memory(error, "the watch", sizeof *watch);
    watch->options = *options;
    watch->start = plim__clock_seconds();
    plim_status status = plim__limits_read("", options->pid, &watch->limits, error);
    if (status != PLIM_OK) return plim__free(watch), status;
    watch->group = remember_group(watch, options->pid);
    remember_pid(watch, options->pid);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* a first sample at once: the command may be over before the thread looks */
    plim__process first;
    plim__sample sample;
    if (plim__process_read(options->pid, &first) && plim__vec_push(&watch->tree, first)) {
        (void)look_quick(watch, &sample);
        if (sample.processes) keep(watch, &sample);
    }
    /* signals are for the thread that waits for the command */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&watch->thread, NULL, run, watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    watch->running = !failed;
    if (failed) {
        plim__watch_free(watch);
        return plim__fail_errno(error, failed, "cannot start the thread that watches memory");
    }
    *out = watch;
    return PLIM_OK;
}

void plim__watch_stop(plim__watch *watch) {
    if (!watch->running) return;
    pthread_mutex_lock(&watch->lock);
    watch->stopping = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    watch->running = false;
}

void plim__watch_free(plim__watch *watch) {
    if (!watch) return;
    plim__watch_stop(watch);
    plim__gpus_close(watch->gpus);
    plim__vec_free(&watch->samples);
    plim__vec_free(&watch->tree);
    plim__vec_free(&watch->known);
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->wake);
    plim__free(watch);
}

bool plim__watch_latest(plim__watch *watch, plim__sample *sample) {
    pthread_mutex_lock(&watch->lock);
    bool any = watch->samples.count > 0;
    if (any) *sample = watch->samples.items[watch->samples.count - 1];
    pthread_mutex_unlock(&watch->lock);
    return any;
}

void plim__watch_limits(plim__watch *watch, plim__limits *limits) {
    pthread_mutex_lock(&watch->lock);
    *limits = watch->limits;
    pthread_mutex_unlock(&watch->lock);
}

size_t plim__watch_count(const plim__watch *watch) { return watch->samples.count; }
const plim__sample *plim__watch_samples(const plim__watch *watch) { return watch->samples.items; }

size_t plim__watch_groups(const plim__watch *watch, const plim__watch_group **groups) {
    *groups = watch->groups;
    return watch->group_count;
}

bool plim__watch_grew_most(const plim__watch *watch, plim__watch_grower *grower) {
    uint64_t most = 0;
    for (size_t i = 0; i < watch->grower_count; i++) {
        const plim__watch_grower *g = &watch->growers[i];
        if (g->most <= g->first || g->most - g->first <= most) continue;
        most = g->most - g->first;
        *grower = *g;
    }
    return most > 0;
}

bool plim__watch_knew(const plim__watch *watch, pid_t pid) {
    for (size_t i = 0; i < watch->known.count; i++)
        if (watch->known.items[i] == pid) return true;
    return false;
}
