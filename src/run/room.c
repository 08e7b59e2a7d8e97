/* Whether the machine has room for a plan that was made without a budget: a group's limit ends the process without a word, a
 * limit of addresses fails in the middle, so both are asked before the arena is taken. */
#include "run/room.h"

#include <stdbool.h>

#include "core/error.h"
#include "plimsoll/bytes.h"
#include "plimsoll/machine.h"

/* Where pages can be swapped out, exceeding the group's limit is slow, not deadly. */
static bool is_deadly(const plim_limits *limits) {
    return limits->limiter == PLIM_LIMITER_CGROUP && (limits->swap_free == 0 || limits->cgroup_swap_limit == 0);
}

/* What is mapped counts there, not what is resident. */
static bool is_rlimit(const plim_limits *limits) {
    return limits->limiter == PLIM_LIMITER_RLIMIT_AS || limits->limiter == PLIM_LIMITER_RLIMIT_DATA;
}

plim_status plim__room_check(uint64_t bytes, plim_error *error) {
    plim_limits limits;
    const char *name = "";
    char needs[PLIM_BYTES_TEXT], has[PLIM_BYTES_TEXT];
    if (plim_limits_read(0, &limits, NULL) != PLIM_OK) return PLIM_OK;
    bool deadly = is_deadly(&limits), rlimit = is_rlimit(&limits);
    uint64_t allowed = plim_machine_budget(&name), resident = plim_process_resident();
    bool fits = rlimit ? bytes <= limits.available : resident + bytes <= allowed;
    if ((!deadly && !rlimit) || allowed == 0 || fits) return PLIM_OK;
    return plim__fail(
        error, rlimit ? PLIM_NO_MEMORY : PLIM_BUDGET,
        "without a budget this takes %s, and %s leaves %s: %s; --budget auto, or --budget %lluMiB, makes a "
        "plan that fits, where there is one",
        plim_bytes_format(resident + bytes, needs), name, plim_bytes_format(allowed, has),
        rlimit ? "the memory would be refused" : "the kernel would end it", (unsigned long long)(allowed >> 20));
}
