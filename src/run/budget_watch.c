/* Following a budget that changes. */
#include "run/budget_watch.h"

#include <stdio.h>

#include "core/clock.h"
#include "mem/budget_request.h"
#include "mem/limits.h"
#include "plimsoll/bytes.h"

static plim_status change(plim__budget_watch *watch, plim_trainer *trainer, uint64_t budget, const char *why,
                          bool *changed, plim_error *error) {
    char text[PLIM_BYTES_TEXT], arena[PLIM_BYTES_TEXT];
    plim_error detail = {0};
    plim_status status = plim_trainer_set_budget(trainer, budget, &detail);
    plim_trainer_stats stats;
    if (status == PLIM_BUDGET || status == PLIM_NO_MEMORY) {
        snprintf(watch->notice, sizeof watch->notice, "%s %s, but: %.160s", why, plim_bytes_format(budget, text),
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
    *changed = true;
    return PLIM_OK;
}

plim_status plim__budget_watch_poll(plim__budget_watch *watch, plim_trainer *trainer, bool *changed,
                                    plim_error *error) {
    double now = plim__clock_seconds();
    uint64_t wanted;
    *changed = false;
    if (now < watch->next) return PLIM_OK;
    watch->next = now + 1;
    if (plim__budget_request_take(&wanted))
        return change(watch, trainer, wanted, "asked for a budget of", changed, error);
    if (!watch->automatic || now < watch->patience) return PLIM_OK;
    plim_trainer_stats stats;
    plim_trainer_get_stats(trainer, &stats);
    uint64_t allowed = plim__limits_allowed_now();
    if (allowed >= stats.process_bytes || allowed >= watch->budget) return PLIM_OK;
    return change(watch, trainer, allowed - allowed / 50, "the machine now allows", changed, error);
}
