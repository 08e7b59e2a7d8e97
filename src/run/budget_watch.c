/* Following a budget that changes. */
#include "plimsoll/budget.h"

#include <stdbool.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/clock.h"
#include "mem/budget_request.h"
#include "mem/limits.h"
#include "plimsoll/bytes.h"

struct plim_budget_watch {
    bool automatic;  /* follows what the machine allows */
    bool requests;   /* takes requests of other processes */
    double next;     /* when to inspect limits and requests again */
    double patience; /* until when a limit that cannot be met is left alone; requests are heard at once */
    uint64_t budget; /* that the trainer has now */
    char notice[sizeof(plim_error)]; /* what happened last: one line, "" when nothing did */
};

plim_status plim_budget_watch_create(const plim_budget_watch_options *options, plim_budget_watch **watch,
                                     plim_error *error) {
    plim_budget_watch_options o;
    PLIM__NEED(watch, error);
    *watch = NULL;
    PLIM__OPTIONS(plim_budget_watch_options, o, options, error);
    plim_budget_watch *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "the watch of a budget", sizeof *made);
    made->automatic = o.automatic;
    made->budget = o.budget;
    made->requests = o.requests && plim__budget_request_open(NULL) == PLIM_OK; /* else no process can ask */
    *watch = made;
    return PLIM_OK;
}

void plim_budget_watch_free(plim_budget_watch *watch) {
    if (!watch) return;
    if (watch->requests) plim__budget_request_close();
    plim__free(watch);
}

const char *plim_budget_watch_notice(const plim_budget_watch *watch) { return watch ? watch->notice : ""; }
uint64_t plim_budget_watch_budget(const plim_budget_watch *watch) { return watch ? watch->budget : 0; }

plim_status plim_budget_request(int pid, uint64_t bytes, plim_error *error) {
    if (pid <= 0 || bytes == 0)
        return plim__fail(error, PLIM_INVALID, "process %d cannot be asked for a budget of %llu bytes", pid,
                          (unsigned long long)bytes);
    return plim__budget_request_send(pid, bytes, error);
}

static plim_status change(plim_budget_watch *watch, plim_trainer *trainer, uint64_t budget, const char *why,
                          int *changed, plim_error *error) {
    char text[PLIM_BYTES_TEXT], arena[PLIM_BYTES_TEXT];
    plim_error detail = {0};
    plim_status status = plim_trainer_set_budget(trainer, budget, &detail);
    plim_trainer_stats stats;
    if (status == PLIM_BUDGET || status == PLIM_NO_MEMORY) {
        snprintf(watch->notice, sizeof watch->notice, "%s %s, but: %s", why, plim_bytes_format(budget, text),
                 detail.message);
        watch->patience = plim__clock_seconds() + 10;
        return PLIM_OK;
    }
    if (status != PLIM_OK) {
        if (error) *error = detail;
        return status;
    }
    plim_trainer_get_stats(trainer, &stats);
    snprintf(watch->notice, sizeof watch->notice, "%s %s: planned again, arena %s, micro-batch %lld x %lld", why,
             plim_bytes_format(budget, text), plim_bytes_format(stats.arena_bytes, arena), (long long)stats.micro_batch,
             (long long)stats.accumulate);
    watch->budget = budget;
    if (changed) *changed = 1;
    return PLIM_OK;
}

plim_status plim_budget_watch_poll(plim_budget_watch *watch, plim_trainer *trainer, int *changed, plim_error *error) {
    double now = plim__clock_seconds();
    uint64_t wanted;
    if (changed) *changed = 0;
    PLIM__NEED(watch, error);
    PLIM__NEED(trainer, error);
    *watch->notice = 0;
    if (now < watch->next) return PLIM_OK;
    watch->next = now + 1;
    if (watch->requests && plim__budget_request_take(&wanted))
        return change(watch, trainer, wanted, "asked for a budget of", changed, error);
    if (!watch->automatic || now < watch->patience) return PLIM_OK;
    plim_trainer_stats stats;
    plim_trainer_get_stats(trainer, &stats);
    uint64_t allowed = plim__limits_allowed_now();
    if (allowed >= stats.process_bytes || allowed >= watch->budget) return PLIM_OK;
    return change(watch, trainer, allowed - allowed / 50, "the machine now allows", changed, error);
}
