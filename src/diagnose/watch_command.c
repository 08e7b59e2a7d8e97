/* The public face of watching a command: launch, samples, the steps that its output tells, and what was found. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/clock.h"
#include "diagnose/watch_findings.h"
#include "diagnose/watch_launch.h"
#include "diagnose/watch_steps.h"
#include "plimsoll/watch.h"

struct plim_watch {
    plim_watch_options options;
    plim__launch *launch;
    plim__watch *watch; /* NULL: the command runs, but cannot be watched */
    plim_error failure; /* ... and this is why */
    plim__kernel_log log;
    pthread_mutex_t lock;
    plim__steps steps[2]; /* of each stream */
    double start;
    bool finished;
    struct rusage usage;
    plim__findings findings;
    plim_watch_result result;
};

void plim_watch_prepare(void) { plim__launch_prepare(); }

/* Every byte that the command writes comes by here, right before it goes out. */
static void tap(void *context, int stream, const char *data, size_t size) {
    plim_watch *w = context;
    if (w->options.output) w->options.output(w->options.context, stream, data, size);
    pthread_mutex_lock(&w->lock);
    plim__steps_feed(&w->steps[stream == 2], data, size);
    pthread_mutex_unlock(&w->lock);
}

static int64_t current_step(void *context) {
    plim_watch *w = context;
    pthread_mutex_lock(&w->lock);
    int64_t out = plim__steps_now(&w->steps[0]), err = plim__steps_now(&w->steps[1]);
    pthread_mutex_unlock(&w->lock);
    return out >= 0 ? out : err;
}

plim_status plim_watch_create(char *const *argv, const plim_watch_options *options, plim_watch **watch,
                              plim_error *error) {
    if (!watch) return plim__fail(error, PLIM_INVALID, "plim_watch_create: there is no place for the watch");
    *watch = NULL;
    if (!argv || !argv[0]) return plim__fail(error, PLIM_INVALID, "plim_watch_create: there is no command");
    plim_watch_options o;
    PLIM__OPTIONS(plim_watch_options, o, options, error);
    plim_watch *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "the watch", sizeof *made);
    made->options = o;
    pthread_mutex_init(&made->lock, NULL);
    plim__steps_start(&made->steps[0]);
    plim__steps_start(&made->steps[1]);
    plim__kernel_log_open(&made->log);
    made->start = plim__clock_seconds();
    plim_status status = plim__launch_start(&made->launch, argv, tap, made, error);
    if (status != PLIM_OK) {
        plim_watch_free(made);
        return status;
    }
    const plim__watch_options watching = {
        .pid = plim__launch_pid(made->launch), .step = current_step, .context = made, .record = o.record, .gpus = true};
    if (plim__watch_start(&made->watch, &watching, &made->failure) != PLIM_OK) made->watch = NULL;
    *watch = made;
    return PLIM_OK;
}

void plim_watch_free(plim_watch *w) {
    if (!w) return;
    plim__launch_free(w->launch);
    plim__watch_free(w->watch);
    plim__findings_free(&w->findings);
    plim__kernel_log_close(&w->log);
    pthread_mutex_destroy(&w->lock);
    plim__free(w);
}

plim_watch_event plim_watch_wait(plim_watch *w, double seconds) {
    if (!w || w->finished) return PLIM_WATCH_DONE;
    if (!(seconds > 0.001)) seconds = 0.001;
    switch (plim__launch_wait(w->launch, seconds < 1e6 ? seconds : 1e6)) {
    case PLIM_LAUNCH_DONE: return PLIM_WATCH_DONE;
    case PLIM_LAUNCH_REQUEST: return PLIM_WATCH_REQUEST;
    default: return PLIM_WATCH_TICK;
    }
}

int plim_watch_get_sample(plim_watch *w, plim_watch_sample *sample) {
    plim__sample s;
    if (!sample) return 0;
    *sample = (plim_watch_sample){.step = -1};
    if (!w || !w->watch || !plim__watch_latest(w->watch, &s)) return 0;
    *sample = (plim_watch_sample){.seconds = s.seconds,
                                  .rss = s.rss,
                                  .rss_peak = s.rss_peak,
                                  .pss = s.pss,
                                  .swap = s.swap,
                                  .cgroup = s.cgroup,
                                  .shm = s.shm,
                                  .available = s.available,
                                  .gpu = s.gpu,
                                  .step = s.step,
                                  .processes = s.processes};
    return 1;
}

plim_status plim_watch_get_limits(plim_watch *w, plim_limits *limits, plim_error *error) {
    if (!limits) return plim__fail(error, PLIM_INVALID, "plim_watch_get_limits: there is no place for the limits");
    memset(limits, 0, sizeof *limits);
    if (!w) return plim__fail(error, PLIM_INVALID, "plim_watch_get_limits: there is no watch");
    if (!w->watch) {
        if (error) *error = w->failure;
        return w->failure.status;
    }
    plim__limits now;
    plim__watch_limits(w->watch, &now);
    plim__limits_publish(&now, limits);
    return PLIM_OK;
}

int plim_watch_write(plim_watch *w, int stream, const char *data, size_t size) {
    if (!w || w->finished || !data || (stream != 1 && stream != 2)) return 0;
    return plim__launch_write(w->launch, stream, data, size);
}

int plim_watch_exit_code(const plim_watch *w) {
    if (!w) return -1;
    struct rusage usage;
    int status = plim__launch_status(w->launch, &usage);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* --- what was found ------------------------------------------------------------------------------------------- */

static void publish_end(const plim__findings *f, plim_watch_result *r) {
    r->exit_code = f->leave_with;
    r->signal = f->signal;
    if (f->signal) plim__signal_name(f->signal, r->signal_name, sizeof r->signal_name);
    r->seconds = f->seconds;
    r->death = f->death.kind;
    r->by_memory = f->death.memory;
    r->certain = f->death.certain;
    memcpy(r->sentence, f->death.sentence, sizeof r->sentence);
    r->evidence_count = (int)f->death.evidence_count;
    memcpy(r->evidence, f->death.evidence, sizeof r->evidence);
}

static void publish_curve(const plim__findings *f, plim_watch_result *r) {
    r->grower_pid = -1;
    if (f->grower_known) {
        memcpy(r->grower, f->grower.name, sizeof r->grower);
        r->grower_pid = f->grower.pid;
        r->grower_bytes = f->grower.most - f->grower.first;
    }
    const plim__curve *curve = &f->curve;
    r->curve = curve->kind;
    plim__findings_curve_text(f, r->curve_sentence, sizeof r->curve_sentence);
    r->from = curve->from;
    r->to = curve->to;
    r->bytes_per_second = curve->bytes_per_second;
    r->per_step_known = curve->per_step_known;
    r->bytes_per_step = curve->bytes_per_step;
    r->jump_bytes = curve->jump_bytes;
    r->jump_seconds = curve->jump_seconds;
    r->seconds_to_limit = plim__findings_seconds_left(f);
}

static void publish(const plim__findings *f, plim_watch_result *r) {
    publish_end(f, r);
    publish_curve(f, r);
    plim__limits_publish(&f->limits, &r->limits);
    r->limits.ceiling = f->ceiling;
    r->limits.ceiling_limiter = f->ceiling_limiter;
    r->peak = f->peak;
    r->peak_sampled = f->peak_was_sampled;
    r->pss_peak = f->pss_most;
    r->swap_peak = f->swap_most;
    r->shm_peak = f->shm_most;
    r->gpu_peak = f->gpu_most;
    r->processes_peak = f->processes_most;
    r->times = f->x;
    r->bytes = f->peaks;
    r->count = f->count;
    r->watch_cpu_seconds = f->watch_cpu_seconds;
}

plim_status plim_watch_finish(plim_watch *w, const plim_watch_result **result, plim_error *error) {
    if (!result) return plim__fail(error, PLIM_INVALID, "plim_watch_finish: there is no place for the result");
    *result = NULL;
    if (!w) return plim__fail(error, PLIM_INVALID, "plim_watch_finish: there is no watch");
    if (!w->finished) {
        double seconds = plim__clock_seconds() - w->start;
        if (w->watch) plim__watch_stop(w->watch);
        plim__launch_finish(w->launch);
        w->finished = true;
        int status = plim__launch_status(w->launch, &w->usage);
        plim__ending ending = {plim__launch_pid(w->launch), status, &w->usage, seconds};
        if (w->watch) (void)plim__findings_make(&w->findings, w->watch, &w->log, &ending, &w->failure);
        if (w->failure.status == PLIM_OK) publish(&w->findings, &w->result);
    }
    if (w->failure.status != PLIM_OK) {
        if (error) *error = w->failure;
        return w->failure.status;
    }
    *result = &w->result;
    return PLIM_OK;
}

const char *plim_death_name(plim_death death) { return plim__death_word(death); }
const char *plim_curve_name(plim_curve curve) { return plim__curve_word(curve); }
