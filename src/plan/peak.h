/* Who holds memory when most of it is in use. */
#ifndef PLIM_PLAN_PEAK_H
#define PLIM_PLAN_PEAK_H

#include "plan/plan.h"

/* Whether a buffer has memory of its own at the plan's peak. */
bool plim__peak_holds(const plim__program *program, const plim__plan *plan, size_t buffer);
/* The largest of them, the largest first; how many were written. */
size_t plim__peak_largest(const plim__program *program, const plim__plan *plan, int32_t *buffers, size_t most);

#endif
