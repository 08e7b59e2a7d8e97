/* A budget that may change while training runs: the machine's limit falls, or somebody asks. */
#ifndef PLIM_RUN_BUDGET_WATCH_H
#define PLIM_RUN_BUDGET_WATCH_H

#include <stdbool.h>

#include "plimsoll/train.h"

typedef struct plim__budget_watch {
    bool automatic;   /* follows what the machine allows */
    double next;      /* when to look again */
    double patience;  /* until when a limit that cannot be met is left alone; who asks is heard at once */
    uint64_t budget;  /* that the trainer has now */
    char notice[256]; /* what happened last: one line, "" when nothing did */
} plim__budget_watch;

/* Call between steps; looks once a second. Plans again when the budget has become smaller than what is planned, or by
 * request. *changed tells. A budget that cannot be met is told in `notice`, and training goes on as it is. */
plim_status plim__budget_watch_poll(plim__budget_watch *watch, plim_trainer *trainer, bool *changed, plim_error *error);

#endif
