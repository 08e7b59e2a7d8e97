/* What the machine leaves to a plan that has no budget. */
#ifndef PLIM_RUN_ROOM_H
#define PLIM_RUN_ROOM_H

#include <stdint.h>

#include "plimsoll/status.h"

/* PLIM_BUDGET when the process would be ended by its memory cgroup if it took `bytes` more; the message names the limit and
 * the budget to use. */
plim_status plim__room_check(uint64_t bytes, plim_error *error);

#endif
