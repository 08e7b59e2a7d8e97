/* A budget that changes while training runs: the machine's limit falls, or another process asks.
 *
 *     plim_budget_watch *watch;
 *     plim_budget_watch_create(&(plim_budget_watch_options){.budget = budget, .requests = 1}, &watch, &error);
 *     ... after each step:  plim_budget_watch_poll(watch, trainer, &changed, &error);
 *     plim_budget_watch_free(watch);
 */
#ifndef PLIMSOLL_BUDGET_H
#define PLIMSOLL_BUDGET_H

#include "plimsoll/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_budget_watch plim_budget_watch;

/* Zero is the default in every field. */
typedef struct plim_budget_watch_options {
    size_t size;     /* sizeof(plim_budget_watch_options), or 0; see plimsoll.h */
    uint64_t budget; /* that the trainer has now */
    int automatic;   /* follow what the machine allows: plan again when that falls below what is planned */
    int requests; /* take requests of plim_budget_request, by a small file in $XDG_RUNTIME_DIR or /tmp that is removed
                        with the watch. Where it cannot be written there are no requests, and that is no failure. One watch
                        of a process takes them. */
} plim_budget_watch_options;

PLIM_API plim_status plim_budget_watch_create(const plim_budget_watch_options *options, plim_budget_watch **watch,
                                              plim_error *error);
PLIM_API void plim_budget_watch_free(plim_budget_watch *watch);

/* Between two steps, as often as you like: it inspects limits and requests once a second, and plans again where that is
 * needed. *changed (may be NULL) tells. A budget that cannot be met is not a failure: training goes on as it is, and the
 * notice says so. */
PLIM_API plim_status plim_budget_watch_poll(plim_budget_watch *watch, plim_trainer *trainer, int *changed,
                                            plim_error *error);
/* What the last poll did: one line, "" when it did nothing. */
PLIM_API const char *plim_budget_watch_notice(const plim_budget_watch *watch);
/* The budget that the trainer has now; 0: none. */
PLIM_API uint64_t plim_budget_watch_budget(const plim_budget_watch *watch);

/* Asks the training in process `pid` to go on within another budget. PLIM_NOT_FOUND when it takes no requests. */
PLIM_API plim_status plim_budget_request(int pid, uint64_t bytes, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
