/* What each lever saves by itself, and what it costs: for a person to read. */
#ifndef PLIM_BUDGET_LEVER_TABLE_H
#define PLIM_BUDGET_LEVER_TABLE_H

#include "budget/candidates.h"
#include "plimsoll/plan.h"

/* Rows for the levers that were explored, `choice` being what was chosen; at most PLIM_PLAN_LEVERS. */
int plim__lever_table(const plim__candidates *candidates, const plim__candidate *choice, plim_plan_lever *rows);

#endif
