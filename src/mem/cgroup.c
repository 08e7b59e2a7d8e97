/* The memory control group of a process: found through /proc/PID/cgroup and the mounts, read level by level. */
#include "mem/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The names of the same thing in the two versions. */
typedef struct file_names {
    const char *limit, *high, *soft, *usage, *peak, *swap_limit, *swap_usage, *events, *inactive;
} file_names;

static const file_names version_names[3] = {
    [1] = {"memory.limit_in_bytes", NULL, "memory.soft_limit_in_bytes", "memory.usage_in_bytes",
           "memory.max_usage_in_bytes", "memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes",
           "memory.oom_control", "total_inactive_file"},
    [2] = {"memory.max", "memory.high", NULL, "memory.current", "memory.peak", "memory.swap.max", "memory.swap.current",
           "memory.events", "inactive_file"},
};

/* --- where it is ---------------------------------------------------------------------------------------------- */

/* What is searched for. */
typedef struct hierarchy {
    int version;
    const char *controller; /* version 1 has a hierarchy of each */
} hierarchy;

/* Is `word` one of the comma-separated words of `list`, which ends at `end`? */
static bool lists(const char *list, const char *end, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if ((size_t)(stop - at) == length && strncmp(at, word, length) == 0) return true;
        at = stop + 1;
    }
    return false;
}

/* The path of the process in the hierarchy, from /proc/PID/cgroup: "4:memory:/a/b" (version 1) or "0::/a/b" (2). */
static bool path_in_hierarchy(char *text, const hierarchy *h, char *path, size_t size) {
    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n'), *next = end ? end + 1 : NULL;
        if (end) *end = 0;
        char *controllers = strchr(line, ':'), *where = controllers ? strchr(controllers + 1, ':') : NULL;
        if (where) {
            bool match = h->version == 2 ? strncmp(line, "0::", 3) == 0 : lists(controllers + 1, where, h->controller);
            if (match) snprintf(path, size, "%s", where + 1);
            if (end) *end = '\n';
            if (match) return true;
        } else if (end) {
            *end = '\n';
        }
        line = next;
    }
    return false;
}

/* mountinfo writes blanks and backslashes as \040 and \134. */
static void unescape(char *text) {
    char *to = text;
    for (char *from = text; *from; from++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
            *to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 3;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
}

/* One line of mountinfo: "35 31 0:32 ROOT MOUNT options ... - TYPE source super-options". */
static bool is_mount(char *line, const hierarchy *h, char **mount_root, char **mount) {
    char *dash = strstr(line, " - ");
    if (!dash) return false;
    char type[32], super[512];
    if (sscanf(dash + 3, "%31s %*s %511s", type, super) != 2) return false;
    if (strcmp(type, h->version == 2 ? "cgroup2" : "cgroup") != 0) return false;
    if (h->version == 1 && !lists(super, super + strlen(super), h->controller)) return false;
    char *field = line, *fields[5];
    for (int i = 0; i < 5; i++) {
        fields[i] = field;
        field = strchr(field, ' ');
        if (!field) return false;
        *field++ = 0;
    }
    *mount_root = fields[3];
    *mount = fields[4];
    unescape(*mount_root);
    unescape(*mount);
    return true;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void go_up(char *folder, const char *mount) {
    char *slash = strrchr(folder, '/');
    if (slash && (size_t)(slash - folder) >= strlen(mount))
        *slash = 0;
    else
        folder[0] = 0;
}

/* The folder of `path` (as the kernel names it) below a mount that shows `mount_root`. A path outside of what is
 * mounted (a container that shares the host's group names, "/../x" of a namespace) leaves the mount itself: the closest
 * group that can be seen. */
static void place(plim__cgroup *group, const char *mount_root, const char *path) {
    size_t skip = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
    bool inside =
        strncmp(path, mount_root, skip) == 0 && (path[skip] == '/' || path[skip] == 0) && !strstr(path, "/..");
    const char *below = inside ? path + skip : "";
    if (strcmp(below, "/") == 0) below = "";
    int length = snprintf(group->folder, sizeof group->folder, "%s%s", group->mount, below);
    if (length < 0 || (size_t)length >= sizeof group->folder)
        snprintf(group->folder, sizeof group->folder, "%s", group->mount);
    while (group->folder[0] && !is_folder(group->folder)) go_up(group->folder, group->mount);
    if (!group->folder[0]) snprintf(group->folder, sizeof group->folder, "%s", group->mount);
}

static bool find_version(const char *root, const char *path, const hierarchy *h, plim__cgroup *group) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(name, "re");
    if (!file) return false;
    char line[3 * PATH_MAX];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        char *mount_root, *mount;
        if (!is_mount(line, h, &mount_root, &mount)) continue;
        int length = snprintf(group->mount, sizeof group->mount, "%s%s", root, mount);
        if (length < 0 || (size_t)length >= sizeof group->mount) continue;
        place(group, mount_root, path);
        found = true;
    }
    fclose(file);
    return found;
}

static void find(const char *root, pid_t pid, const char *controller, plim__cgroup *group) {
    *group = (plim__cgroup){0};
    char self[32] = "self", text[16384], path[PATH_MAX];
    if (pid > 0) snprintf(self, sizeof self, "%ld", (long)pid);
    if (plim__procfs_read(text, sizeof text, "%s/proc/%s/cgroup", root, self) < 0) return;
    /* hybrid machines mount both: the controller is in the one that names it */
    for (hierarchy h = {1, controller}; h.version <= 2; h.version++)
        if (path_in_hierarchy(text, &h, path, sizeof path) && find_version(root, path, &h, group)) {
            group->version = h.version;
            return;
        }
    *group = (plim__cgroup){0};
}

void plim__cgroup_find(const char *root, pid_t pid, plim__cgroup *group) { find(root, pid, "memory", group); }

/* --- what it says --------------------------------------------------------------------------------------------- */

static uint64_t number_or(uint64_t otherwise, const char *folder, const char *name) {
    uint64_t value;
    return name && plim__procfs_number(&value, "%s/%s", folder, name) ? value : otherwise;
}

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* The least that any bound leaves, and the most by which any is exceeded. */
static void bind(uint64_t bound, uint64_t used, uint64_t *available, uint64_t *excess) {
    if (bound == PLIM_NO_LIMIT) return;
    if (minus(bound, used) < *available) *available = minus(bound, used);
    if (minus(used, bound) > *excess) *excess = minus(used, bound);
}

/* Adds what one level, the own group or one above, says about limits. */
static void read_level(plim__cgroup_state *state, const char *folder, const file_names *names, int version,
                       bool topmost) {
    uint64_t limit = number_or(PLIM_NO_LIMIT, folder, names->limit), usage = number_or(0, folder, names->usage);
    uint64_t high = number_or(PLIM_NO_LIMIT, folder, names->high), soft = number_or(PLIM_NO_LIMIT, folder, names->soft),
             swap = number_or(PLIM_NO_LIMIT, folder, names->swap_limit);
    char stat[16384];
    uint64_t inactive = 0, hierarchical = PLIM_NO_LIMIT;
    if (plim__procfs_read(stat, sizeof stat, "%s/memory.stat", folder) > 0) {
        plim__procfs_field(stat, names->inactive, &inactive);
        if (version == 1 && topmost) plim__procfs_field(stat, "hierarchical_memory_limit", &hierarchical);
    }
    if (limit < state->limit) {
        state->limit = limit;
        snprintf(state->limit_folder, sizeof state->limit_folder, "%s", folder);
    }
    if (hierarchical < (1ULL << 62) && hierarchical < state->limit) { /* set by a group that is not shown here */
        state->limit = limit = hierarchical;
        state->limit_folder[0] = 0;
    }
    if (high < state->high) state->high = high;
    uint64_t used = minus(usage, inactive);
    bind(limit < high ? limit : high, used, &state->available, &state->excess);
    bind(soft, used, &state->soft_available, &state->soft_excess);
    if (soft < state->soft) state->soft = soft;
    if (version == 1 && swap != PLIM_NO_LIMIT) swap = minus(swap, limit == PLIM_NO_LIMIT ? swap : limit);
    if (swap < state->swap_limit) state->swap_limit = swap;
}

void plim__cgroup_read(const plim__cgroup *group, plim__cgroup_state *state) {
    *state = (plim__cgroup_state){.limit = PLIM_NO_LIMIT,
                                  .high = PLIM_NO_LIMIT,
                                  .soft = PLIM_NO_LIMIT,
                                  .swap_limit = PLIM_NO_LIMIT,
                                  .available = PLIM_NO_LIMIT,
                                  .soft_available = PLIM_NO_LIMIT};
    if (group->version != 1 && group->version != 2) return;
    const file_names *names = &version_names[group->version];
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", group->folder);
    for (; folder[0]; go_up(folder, group->mount)) {
        bool topmost = strcmp(folder, group->mount) == 0;
        read_level(state, folder, names, group->version, topmost);
        if (topmost) break;
    }
    state->usage = number_or(0, group->folder, names->usage);
    state->peak = number_or(0, group->folder, names->peak);
    state->swap_usage = number_or(0, group->folder, names->swap_usage);
    if (group->version == 1) state->swap_usage = minus(state->swap_usage, state->usage);
    if (!plim__cgroup_oom_kills(group, &state->oom_kills)) state->oom_kills = 0;
}

bool plim__cgroup_usage(const plim__cgroup *group, uint64_t *usage) {
    return group->version > 0 &&
           plim__procfs_number(usage, "%s/%s", group->folder, version_names[group->version].usage);
}

bool plim__cgroup_peak(const plim__cgroup *group, uint64_t *peak) {
    return group->version > 0 && plim__procfs_number(peak, "%s/%s", group->folder, version_names[group->version].peak);
}

bool plim__cgroup_oom_kills(const plim__cgroup *group, uint64_t *kills) {
    char text[1024];
    return group->version > 0 &&
           plim__procfs_read(text, sizeof text, "%s/%s", group->folder, version_names[group->version].events) > 0 &&
           plim__procfs_field(text, "oom_kill", kills);
}

/* --- processors ----------------------------------------------------------------------------------------------- */

/* Of one level: microseconds of processor time in each period. */
static double quota_of(const char *folder, int version) {
    char text[64];
    unsigned long long quota = 0, period = 0;
    if (version == 2) { /* "max 100000", "150000 100000" */
        if (plim__procfs_read(text, sizeof text, "%s/cpu.max", folder) <= 0) return 0;
        if (sscanf(text, "%llu %llu", &quota, &period) != 2) return 0;
    } else { /* -1: none */
        if (plim__procfs_read(text, sizeof text, "%s/cpu.cfs_quota_us", folder) <= 0 || text[0] == '-') return 0;
        if (sscanf(text, "%llu", &quota) != 1) return 0;
        if (plim__procfs_read(text, sizeof text, "%s/cpu.cfs_period_us", folder) <= 0) return 0;
        if (sscanf(text, "%llu", &period) != 1) return 0;
    }
    return period > 0 ? (double)quota / (double)period : 0;
}

double plim__cgroup_processors(const char *root, pid_t pid) {
    plim__cgroup group;
    double least = 0;
    find(root, pid, "cpu", &group);
    if (group.version == 0) return 0;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", group.folder);
    for (; folder[0]; go_up(folder, group.mount)) {
        double quota = quota_of(folder, group.version);
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
        if (strcmp(folder, group.mount) == 0) break;
    }
    return least;
}
