/* What the machine allows this process. */
#include "mem/limits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/error.h"
#include "mem/resident.h"

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* "Max address space         unlimited            unlimited            bytes": the soft limit. */
static uint64_t rlimit_of(const char *text, const char *name) {
    const char *line = strstr(text, name);
    if (!line) return PLIM_NO_LIMIT;
    line += strlen(name);
    while (*line == ' ') line++;
    return isdigit((unsigned char)*line) ? strtoull(line, NULL, 10) : PLIM_NO_LIMIT;
}

static void read_rlimits(const char *root, const char *self, plim__limits *limits) {
    limits->rlimit_as = limits->rlimit_data = limits->rlimit_rss = PLIM_NO_LIMIT;
    char text[8192];
    if (plim__procfs_read(text, sizeof text, "%s/proc/%s/limits", root, self) > 0) {
        limits->rlimit_as = rlimit_of(text, "Max address space");
        limits->rlimit_data = rlimit_of(text, "Max data size");
        limits->rlimit_rss = rlimit_of(text, "Max resident set");
    }
    if (plim__procfs_read(text, sizeof text, "%s/proc/%s/status", root, self) > 0) {
        plim__procfs_field(text, "VmSize", &limits->virtual_bytes);
        plim__procfs_field(text, "VmData", &limits->data_bytes);
    }
}

static bool read_machine(const char *root, plim__limits *limits) {
    char text[8192];
    if (plim__procfs_read(text, sizeof text, "%s/proc/meminfo", root) <= 0) return false;
    if (!plim__procfs_field(text, "MemTotal", &limits->memory_total)) return false;
    uint64_t free = 0, cached = 0;
    if (!plim__procfs_field(text, "MemAvailable", &limits->memory_available)) { /* before Linux 3.14 */
        plim__procfs_field(text, "MemFree", &free);
        plim__procfs_field(text, "Cached", &cached);
        limits->memory_available = free + cached;
    }
    plim__procfs_field(text, "SwapTotal", &limits->swap_total);
    plim__procfs_field(text, "SwapFree", &limits->swap_free);
    limits->commit_limit = PLIM_NO_LIMIT;
    plim__procfs_field(text, "CommitLimit", &limits->commit_limit);
    plim__procfs_field(text, "Committed_AS", &limits->committed);
    uint64_t mode;
    limits->overcommit =
        plim__procfs_number(&mode, "%s/proc/sys/vm/overcommit_memory", root) && mode <= 2 ? (int)mode : -1;
    return true;
}

bool plim__limits_shm(const char *root, uint64_t *total, uint64_t *used) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/dev/shm", root);
    struct statvfs info;
    if (statvfs(path, &info) != 0) return false;
    *total = (uint64_t)info.f_blocks * info.f_frsize;
    *used = minus(info.f_blocks, info.f_bfree) * info.f_frsize;
    return true;
}

static void bind(plim__limits *limits, uint64_t room, plim_limiter limiter) {
    if (room >= limits->available) return;
    limits->available = room;
    limits->limiter = limiter;
}

static void find_limiter(plim__limits *limits) {
    limits->available = PLIM_NO_LIMIT;
    limits->limiter = PLIM_LIMITER_NONE;
    const plim__cgroup_state *group = &limits->cgroup_state;
    bind(limits, limits->memory_available, PLIM_LIMITER_PHYSICAL);
    bind(limits, group->available, group->high < group->limit ? PLIM_LIMITER_CGROUP_HIGH : PLIM_LIMITER_CGROUP);
    if (limits->rlimit_as != PLIM_NO_LIMIT)
        bind(limits, minus(limits->rlimit_as, limits->virtual_bytes), PLIM_LIMITER_RLIMIT_AS);
    if (limits->rlimit_data != PLIM_NO_LIMIT)
        bind(limits, minus(limits->rlimit_data, limits->data_bytes), PLIM_LIMITER_RLIMIT_DATA);
    if (limits->overcommit == 2 && limits->commit_limit != PLIM_NO_LIMIT)
        bind(limits, minus(limits->commit_limit, limits->committed), PLIM_LIMITER_COMMIT);
}

plim_status plim__limits_read(const char *root, pid_t pid, plim__limits *limits, plim_error *error) {
    memset(limits, 0, sizeof *limits);
    char self[32] = "self";
    if (pid > 0) snprintf(self, sizeof self, "%ld", (long)pid);
    if (!read_machine(root, limits)) return plim__fail(error, PLIM_IO, "cannot read %s/proc/meminfo", root);
    read_rlimits(root, self, limits);
    plim__cgroup_find(root, pid, &limits->cgroup);
    plim__cgroup_read(&limits->cgroup, &limits->cgroup_state);
    limits->shm_present = plim__limits_shm(root, &limits->shm_total, &limits->shm_used);
    find_limiter(limits);
    return PLIM_OK;
}

const char *plim__limiter_text(plim_limiter limiter, int cgroup_version) {
    switch (limiter) {
    case PLIM_LIMITER_PHYSICAL: return "the machine's available memory";
    case PLIM_LIMITER_CGROUP:
        return cgroup_version == 1 ? "the cgroup's memory.limit_in_bytes" : "the cgroup's memory.max";
    case PLIM_LIMITER_CGROUP_HIGH: return "the cgroup's memory.high";
    case PLIM_LIMITER_RLIMIT_AS: return "the address space limit (ulimit -v)";
    case PLIM_LIMITER_RLIMIT_DATA: return "the data size limit (ulimit -d)";
    case PLIM_LIMITER_COMMIT: return "the machine's commit limit (vm.overcommit_memory = 2)";
    default: return "nothing known";
    }
}

const char *plim__limiter_name(const plim__limits *limits) {
    return plim__limiter_text(limits->limiter, limits->cgroup.version);
}

const char *plim__limiter_word(plim_limiter limiter) {
    static const char *const words[PLIM_LIMITER_COUNT] = {"none",      "physical",    "cgroup", "cgroup_high",
                                                          "rlimit_as", "rlimit_data", "commit"};
    return (unsigned)limiter < PLIM_LIMITER_COUNT ? words[limiter] : "none";
}

uint64_t plim__limits_ceiling(const plim__limits *limits, plim_limiter *limiter) {
    const struct {
        uint64_t bytes;
        plim_limiter limiter;
    } all[] = {
        {limits->memory_total, PLIM_LIMITER_PHYSICAL},         {limits->cgroup_state.limit, PLIM_LIMITER_CGROUP},
        {limits->cgroup_state.high, PLIM_LIMITER_CGROUP_HIGH}, {limits->rlimit_as, PLIM_LIMITER_RLIMIT_AS},
        {limits->rlimit_data, PLIM_LIMITER_RLIMIT_DATA},
    };
    size_t best = 0;
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        if (all[i].bytes < all[best].bytes) best = i;
    if (limiter) *limiter = all[best].limiter;
    return all[best].bytes;
}

uint64_t plim__limits_allowance(const plim__limits *limits, uint64_t resident, const char **name) {
    const plim__cgroup_state *group = &limits->cgroup_state;
    bool soft = group->soft_available < limits->available || group->soft_excess > group->excess;
    uint64_t left = soft ? group->soft_available : limits->available,
             excess = soft ? group->soft_excess : group->excess;
    if (name) *name = soft ? "the cgroup's memory.soft_limit_in_bytes" : plim__limiter_name(limits);
    if (left == PLIM_NO_LIMIT) return PLIM_NO_LIMIT;
    /* pages of libraries may be resident here and charged to the group that read them first: it can go, and then they are
     * charged to this one */
    uint64_t most = plim__limits_ceiling(limits, NULL), allowed = minus(left + resident, excess);
    if (soft && group->soft < most) most = group->soft;
    return allowed < most ? allowed : most;
}

uint64_t plim__limits_allowed_now(void) {
    plim__limits limits;
    if (plim__limits_read("", 0, &limits, NULL) != PLIM_OK) return UINT64_MAX;
    return plim__limits_allowance(&limits, plim__resident_now(), NULL);
}
