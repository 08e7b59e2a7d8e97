/* What is known of a command that was watched, once it is over. */
#include "diagnose/watch_findings.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "plimsoll/bytes.h"

/* The initial name space of processes has a fixed number. Only there are the log's process ids ours. */
static bool log_speaks_our_pids(void) {
    char text[64] = "";
    ssize_t size = readlink("/proc/self/ns/pid", text, sizeof text - 1);
    return size > 0 && strcmp(text, "pid:[4026531836]") == 0;
}

static void read_log(plim__watch *watch, plim__kernel_log *log, plim__death_facts *facts) {
    plim__kernel_kill kills[PLIM_KERNEL_KILLS];
    facts->log_read = log->fd >= 0 && log_speaks_our_pids();
    facts->machine_kills = plim__kernel_log_count(log);
    size_t others = 0;
    /* the count rises before the signal is sent, the line is written after it: wait for the line a little */
    for (int patience = 0; facts->log_read && patience < 5 && !facts->ours; patience++) {
        size_t count = plim__kernel_log_kills(log, kills, PLIM_KERNEL_KILLS);
        for (size_t i = 0; i < count; i++) {
            if (!plim__watch_knew(watch, kills[i].pid)) {
                others++;
                facts->other = true;
                facts->other_kill = kills[i];
                continue;
            }
            if (!facts->ours || kills[i].pid == facts->pid) facts->kill = kills[i];
            facts->ours = true;
            facts->ours_in_group = facts->kill.in_group;
        }
        if (facts->machine_kills <= others) break;
        if (!facts->ours) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    /* the kernel killed in the group, but others, and the command died by a signal of its own: its pid is always known
     */
    if (facts->log_read && !facts->ours && others && facts->signal == SIGKILL) facts->group_kills = 0;
}

static void read_groups(plim__watch *watch, plim__death_facts *facts) {
    const plim__watch_group *groups;
    size_t count = plim__watch_groups(watch, &groups);
    for (size_t i = 0; i < count; i++) {
        uint64_t now;
        if (!plim__cgroup_oom_kills(&groups[i].group, &now)) continue;
        facts->group_counted = true;
        if (now > groups[i].kills_before) facts->group_kills += now - groups[i].kills_before;
    }
}

/* --- the samples ---------------------------------------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void sum_up(plim__findings *findings, const plim__sample *samples, size_t count, plim__death_facts *facts) {
    facts->available_least = PLIM_NO_LIMIT;
    for (size_t i = 0; i < count; i++) {
        const plim__sample *s = &samples[i];
        findings->peak = larger(findings->peak, s->rss_peak);
        findings->swap_most = larger(findings->swap_most, s->swap);
        findings->shm_most = larger(findings->shm_most, s->shm);
        findings->gpu_most = larger(findings->gpu_most, s->gpu);
        findings->pss_most = larger(findings->pss_most, s->pss);
        if (s->processes > findings->processes_most) findings->processes_most = s->processes;
        if (s->available && s->available < facts->available_least) facts->available_least = s->available;
    }
}

static plim_status make_points(plim__findings *findings, const plim__sample *samples, size_t count, bool died_of_memory,
                               plim_error *error) {
    findings->points = plim__alloc_array(count + 1, sizeof *findings->points);
    findings->x = plim__alloc_array(count + 1, sizeof *findings->x);
    findings->peaks = plim__alloc_array(count + 1, sizeof *findings->peaks);
    if (!findings->points || !findings->x || !findings->peaks)
        return plim__fail_memory(error, "the memory curve", (count + 1) * sizeof *findings->points);
    for (size_t i = 0; i < count; i++) {
        const plim__sample *s = &samples[i];
        findings->points[i] = (plim__curve_point){s->seconds, (double)(s->rss + s->swap), s->step};
        findings->x[i] = s->seconds;
        findings->peaks[i] = (double)(s->rss_peak + s->swap);
    }
    findings->count = count;
    double last = count ? findings->points[count - 1].bytes : 0;
    /* A jump that was faster than the samples is known from the kernel's mark only; when memory was what ended the
     * command, it was at the end. */
    if (died_of_memory && !findings->peak_was_sampled && (double)findings->peak > last) {
        int64_t step = count ? samples[count - 1].step : -1;
        findings->points[count] = (plim__curve_point){findings->seconds, (double)findings->peak, step};
        findings->x[count] = findings->seconds;
        findings->peaks[count] = (double)findings->peak;
        findings->count++;
    }
    return PLIM_OK;
}

plim_status plim__findings_make(plim__findings *findings, plim__watch *watch, plim__kernel_log *log,
                                const plim__ending *ending, plim_error *error) {
    memset(findings, 0, sizeof *findings);
    const plim__sample *samples = plim__watch_samples(watch);
    size_t count = plim__watch_count(watch);
    int status = ending->status;
    plim__death_facts facts = {.pid = ending->pid, .exit_code = WIFSIGNALED(status) ? -1 : WEXITSTATUS(status)};
    facts.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    findings->signal = facts.signal;
    findings->leave_with = facts.signal ? 128 + facts.signal : facts.exit_code;
    findings->seconds = ending->seconds;
    struct rusage own;
    if (getrusage(RUSAGE_SELF, &own) == 0)
        findings->watch_cpu_seconds = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                                      (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1e-6;
    plim__watch_limits(watch, &findings->limits);
    findings->ceiling = plim__limits_ceiling(&findings->limits, &findings->ceiling_limiter);
    findings->grower_known = plim__watch_grew_most(watch, &findings->grower);
    sum_up(findings, samples, count, &facts);
    read_groups(watch, &facts);
    read_log(watch, log, &facts);
    uint64_t mark = larger((uint64_t)ending->usage->ru_maxrss * 1024, facts.ours ? facts.kill.rss : 0);
    findings->peak_was_sampled = (double)mark <= 1.02 * (double)findings->peak;
    findings->peak = larger(findings->peak, mark);
    uint64_t shm_now;
    if (plim__limits_shm("", &facts.shm_total, &shm_now)) findings->shm_most = larger(findings->shm_most, shm_now);
    facts.shm_most = findings->shm_most;
    facts.peak = findings->peak;
    facts.machine_total = findings->limits.memory_total;
    facts.group_limited = findings->limits.cgroup_state.limit < facts.machine_total;
    facts.limit = facts.group_limited ? findings->limits.cgroup_state.limit : facts.machine_total;
    plim__death_explain(&facts, &findings->death);
    plim_status made = make_points(findings, samples, count, findings->death.memory, error);
    if (made != PLIM_OK) return plim__findings_free(findings), made;
    plim__curve_classify(findings->points, findings->count, &findings->curve);
    return PLIM_OK;
}

void plim__findings_free(plim__findings *findings) {
    plim__free(findings->points);
    plim__free(findings->x);
    plim__free(findings->peaks);
    findings->points = NULL;
    findings->x = findings->peaks = NULL;
    findings->count = 0;
}

double plim__findings_seconds_left(const plim__findings *findings) {
    const plim__curve *curve = &findings->curve;
    if (curve->kind != PLIM_CURVE_GROWTH || findings->ceiling == PLIM_NO_LIMIT || findings->death.memory) return 0;
    double room = (double)findings->ceiling - curve->last;
    return room > 0 ? room / curve->bytes_per_second : 0;
}

static const char *text_of(double bytes, char *buffer) {
    return plim_bytes_format(bytes > 0 ? (uint64_t)bytes : 0, buffer);
}

void plim__findings_curve_text(const plim__findings *findings, char *buffer, size_t size) {
    const plim__curve *curve = &findings->curve;
    char a[PLIM_BYTES_TEXT], b[PLIM_BYTES_TEXT], step[PLIM_BYTES_TEXT + 24] = "";
    switch (curve->kind) {
    case PLIM_CURVE_GROWTH:
        if (curve->per_step_known) snprintf(step, sizeof step, ", %s per step", text_of(curve->bytes_per_step, b));
        snprintf(buffer, size, "memory grew by %s per minute%s, and had not levelled off: a leak",
                 text_of(curve->bytes_per_second * 60, a), step);
        break;
    case PLIM_CURVE_CLIFF:
        snprintf(buffer, size, "a cliff: memory jumped by %s within %.2f s at the end", text_of(curve->jump_bytes, a),
                 curve->jump_seconds);
        break;
    case PLIM_CURVE_PLATEAU:
        snprintf(buffer, size, "memory stayed on a plateau, between %s and %s: no leak", text_of(curve->low, a),
                 text_of(curve->peak, b));
        break;
    case PLIM_CURVE_SHORT: snprintf(buffer, size, "it ran too short to say how its memory grows"); break;
    }
}
