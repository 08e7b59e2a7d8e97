/* The tables of a plan: what each lever saves, and what other budgets would cost, with the chosen plan among them. */
#ifndef PLIM_CLI_PLAN_TABLE_H
#define PLIM_CLI_PLAN_TABLE_H

#include "cli/terminal.h"
#include "plimsoll/plan.h"

/* At most 80 columns on a terminal that has them, fewer columns of figures on a narrower one. */
void plim__plan_table_print(const plim_plan_report *report, const plim__terminal *terminal);
void plim__plan_levers_print(const plim_plan_report *report, const plim__terminal *terminal);

#endif
