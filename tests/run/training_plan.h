/* Plans of trainer options, for tests that need no trainer. */
#ifndef PLIM_TESTS_RUN_TRAINING_PLAN_H
#define PLIM_TESTS_RUN_TRAINING_PLAN_H

#include "budget/training_plan.h"
#include "plim_test.h"

static inline plim__training_plan *plan_of(const plim_graph *model, const plim_trainer_options *options,
                                           plim__purpose purpose) {
    plim__request request;
    plim__bounds bounds;
    plim__training_plan *plan;
    plim_error error = {0};
    plim__request_read(options, &request, &bounds);
    request.purpose = purpose;
    if (plim__training_plan_create(model, &request, &bounds, &plan, &error) != PLIM_OK) fail_msg("%s", error.message);
    return plan;
}

#endif
