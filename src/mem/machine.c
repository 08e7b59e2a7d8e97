/* Limits and use of memory as the public API tells them. */
#include "plimsoll/machine.h"

#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "mem/limits.h"
#include "mem/resident.h"
#include "mem/spill.h"
#include "mem/threads.h"

/* Address space that a run takes in addition to what becomes resident: stacks, generated code, gaps between mappings. */
#define ADDRESSES ((uint64_t)16 << 20)

void plim__limits_publish(const plim__limits *from, plim_limits *to) {
    const plim__cgroup_state *group = &from->cgroup_state;
    *to = (plim_limits){.available = from->available,
                        .limiter = from->limiter,
                        .memory_total = from->memory_total,
                        .memory_available = from->memory_available,
                        .swap_total = from->swap_total,
                        .swap_free = from->swap_free,
                        .overcommit = from->overcommit,
                        .commit_limit = from->commit_limit,
                        .committed = from->committed,
                        .cgroup_version = from->cgroup.version,
                        .cgroup_usage = group->usage,
                        .cgroup_peak = group->peak,
                        .cgroup_limit = group->limit,
                        .cgroup_high = group->high,
                        .cgroup_available = group->available,
                        .cgroup_swap_limit = group->swap_limit,
                        .cgroup_oom_kills = group->oom_kills,
                        .rlimit_as = from->rlimit_as,
                        .rlimit_data = from->rlimit_data,
                        .rlimit_rss = from->rlimit_rss,
                        .virtual_bytes = from->virtual_bytes,
                        .data_bytes = from->data_bytes,
                        .shm_present = from->shm_present,
                        .shm_total = from->shm_total,
                        .shm_used = from->shm_used};
    to->ceiling = plim__limits_ceiling(from, &to->ceiling_limiter);
    snprintf(to->cgroup_folder, sizeof to->cgroup_folder, "%s", from->cgroup.folder);
}

plim_status plim_limits_read(int pid, plim_limits *limits, plim_error *error) {
    plim__limits read;
    PLIM__NEED(limits, error);
    memset(limits, 0, sizeof *limits);
    if (pid < 0) return plim__fail(error, PLIM_INVALID, "plim_limits_read: there is no process %d", pid);
    PLIM_TRY(plim__limits_read("", pid, &read, error));
    plim__limits_publish(&read, limits);
    return PLIM_OK;
}

const char *plim_limits_name(const plim_limits *limits) {
    return limits ? plim__limiter_text(limits->limiter, limits->cgroup_version) : "nothing known";
}

const char *plim_limiter_name(plim_limiter limiter) { return plim__limiter_word(limiter); }

static bool counts_addresses(plim_limiter limiter) {
    return limiter == PLIM_LIMITER_RLIMIT_AS || limiter == PLIM_LIMITER_RLIMIT_DATA || limiter == PLIM_LIMITER_COMMIT;
}

uint64_t plim_machine_budget(const char **limit) {
    plim__limits limits;
    if (limit) *limit = "nothing known";
    if (plim__limits_read("", 0, &limits, NULL) != PLIM_OK) return 0;
    uint64_t allowed = plim__limits_allowance(&limits, plim__resident_now(), limit);
    if (allowed == PLIM_NO_LIMIT) return 0;
    if (!counts_addresses(limits.limiter)) return allowed;
    return allowed > 2 * ADDRESSES ? allowed - ADDRESSES : allowed / 2;
}

uint64_t plim_process_resident(void) { return plim__resident_now(); }
uint64_t plim_process_resident_peak(void) { return plim__resident_peak(); }

const char *plim_spill_default_folder(void) { return plim__spill_default_folder(); }

int plim_machine_threads(void) { return plim__threads_useful(""); }
