/* What the machine allows, for people and for scripts. */
#include "cli/limits_text.h"

#include "plimsoll/bytes.h"

/* As long as the line has room for, up to 24. */
int plim__limits_bar(const plim__terminal *terminal) {
    int room = terminal->is_terminal ? terminal->width - 35 : 24;
    return room > 24 ? 24 : room < 4 ? 4 : room;
}

static void add_bar(plim__str *out, const plim__terminal *terminal, const char *name, uint64_t used, uint64_t total,
                    const char *note) {
    char a[PLIM_BYTES_TEXT], b[PLIM_BYTES_TEXT];
    double share = total ? (double)used / (double)total : 0;
    plim__style style = share > 0.9 ? PLIM_STYLE_RED : share > 0.7 ? PLIM_STYLE_YELLOW : PLIM_STYLE_GREEN;
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "%-9s", name);
    plim__terminal_bar(out, terminal, &(plim__bar_part){(double)used, style, 0}, 1, (double)total,
                       plim__limits_bar(terminal));
    plim__str_addf(out, " %10s of %10s%s\n", plim_bytes_format(used, a), plim_bytes_format(total, b), note);
}

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static const char *or_none(uint64_t bytes, char buffer[PLIM_BYTES_TEXT]) {
    return bytes == PLIM_NO_LIMIT ? "no limit" : plim_bytes_format(bytes, buffer);
}

static void add_cgroup(plim__str *out, const plim__terminal *terminal, const plim_limits *limits) {
    char text[PLIM_BYTES_TEXT];
    plim__str note = {0};
    if (limits->cgroup_version == 0) return;
    plim__str_addf(&note, "  v%d", limits->cgroup_version);
    if (limits->cgroup_high != PLIM_NO_LIMIT)
        plim__str_addf(&note, ", high %s", plim_bytes_format(limits->cgroup_high, text));
    if (limits->cgroup_oom_kills)
        plim__str_addf(&note, ", %llu killed for memory so far", (unsigned long long)limits->cgroup_oom_kills);
    if (limits->cgroup_limit != PLIM_NO_LIMIT)
        add_bar(out, terminal, "cgroup", limits->cgroup_usage, limits->cgroup_limit, plim__str_text(&note));
    else {
        plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "%-9s", "cgroup");
        plim__str_addf(out, "%s in use, no limit%s\n", plim_bytes_format(limits->cgroup_usage, text),
                       plim__str_text(&note));
    }
    plim__str_free(&note);
}

void plim__limits_text(plim__str *out, const plim__terminal *terminal, const plim_limits *limits) {
    static const char *const modes[] = {"heuristic", "always", "never"};
    char a[PLIM_BYTES_TEXT], b[PLIM_BYTES_TEXT], c[PLIM_BYTES_TEXT];
    add_bar(out, terminal, "memory", minus(limits->memory_total, limits->memory_available), limits->memory_total, "");
    if (limits->swap_total)
        add_bar(out, terminal, "swap", minus(limits->swap_total, limits->swap_free), limits->swap_total, "");
    add_cgroup(out, terminal, limits);
    if (limits->shm_present) add_bar(out, terminal, "/dev/shm", limits->shm_used, limits->shm_total, "");
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "%-9s", "ulimit");
    plim__str_addf(out, "address space %s, data %s, resident %s\n", or_none(limits->rlimit_as, a),
                   or_none(limits->rlimit_data, b), or_none(limits->rlimit_rss, c));
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "%-9s", "commit");
    plim__str_addf(out, "%s promised, overcommit %s%s%s\n", plim_bytes_format(limits->committed, a),
                   limits->overcommit >= 0 ? modes[limits->overcommit] : "unknown",
                   limits->overcommit == 2 ? ", limit " : "",
                   limits->overcommit == 2 ? plim_bytes_format(limits->commit_limit, b) : "");
    plim__str_addf(out, "A new process can take %s; %s is reached first.\n", or_none(limits->available, a),
                   plim_limits_name(limits));
}

static json_t *number(uint64_t bytes) { return bytes >= INT64_MAX ? json_null() : json_integer((json_int_t)bytes); }

json_t *plim__limits_json(const plim_limits *limits) {
    json_t *cgroup = json_null();
    if (limits->cgroup_version)
        cgroup = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "version", limits->cgroup_version, "folder",
                           limits->cgroup_folder, "usage", number(limits->cgroup_usage), "peak",
                           number(limits->cgroup_peak), "limit", number(limits->cgroup_limit), "high",
                           number(limits->cgroup_high), "available", number(limits->cgroup_available), "swap_limit",
                           number(limits->cgroup_swap_limit), "oom_kills", (json_int_t)limits->cgroup_oom_kills);
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "available",
                     number(limits->available), "limiter", plim_limiter_name(limits->limiter), "memory_total",
                     number(limits->memory_total), "memory_available", number(limits->memory_available), "swap_total",
                     number(limits->swap_total), "swap_free", number(limits->swap_free), "overcommit",
                     limits->overcommit, "commit_limit", number(limits->commit_limit), "committed",
                     number(limits->committed), "cgroup", cgroup, "rlimit_as", number(limits->rlimit_as), "rlimit_data",
                     number(limits->rlimit_data), "rlimit_rss", number(limits->rlimit_rss), "shm_total",
                     limits->shm_present ? number(limits->shm_total) : json_null(), "shm_used",
                     limits->shm_present ? number(limits->shm_used) : json_null());
}
