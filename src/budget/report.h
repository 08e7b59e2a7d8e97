/* What a public plan is made of: a training plan, and the report on it. */
#ifndef PLIM_BUDGET_REPORT_H
#define PLIM_BUDGET_REPORT_H

#include "budget/training_plan.h"

struct plim_plan {
    plim_plan_report report;
    plim__training_plan *training; /* the chosen one; where nothing fits, the unconstrained one, which is only shown */
    char *why;
    plim__batch_verdict split; /* of the whole batch */
};

/* Takes the chosen plan out, for running, and frees the rest. PLIM_BUDGET when nothing fits. */
plim_status plim__plan_release(plim_plan *plan, plim__training_plan **training, plim_error *error);

#endif
