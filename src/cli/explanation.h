/* An explanation on a terminal and as JSON; `explain` and `run` both show them. */
#ifndef PLIM_CLI_EXPLANATION_H
#define PLIM_CLI_EXPLANATION_H

#include <jansson.h>

#include "cli/terminal.h"
#include "plimsoll/diagnose.h"

/* What failed, where the memory is, why, what to try. */
void plim__explanation_print(plim__str *out, const plim__terminal *terminal, const plim_explanation *explanation);
/* The fields that scripts read; NULL when memory is short. */
json_t *plim__explanation_json(const plim_explanation *explanation);

#endif
