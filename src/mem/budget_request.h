/* Asking a running training for another budget, from another process: a small file that the training reads. */
#ifndef PLIM_MEM_BUDGET_REQUEST_H
#define PLIM_MEM_BUDGET_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plimsoll/status.h"

/* Leaves a request for process `pid`. A process that takes no requests is PLIM_NOT_FOUND. */
plim_status plim__budget_request_send(pid_t pid, uint64_t bytes, plim_error *error);
/* This process takes requests from now on, until plim__budget_request_close. */
plim_status plim__budget_request_open(plim_error *error);
/* The request that came last; false when there is none. It is taken away. */
bool plim__budget_request_take(uint64_t *bytes);
void plim__budget_request_close(void);

#endif
