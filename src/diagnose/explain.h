/* Reading several logs with one explainer, for those who read many. */
#ifndef PLIM_DIAGNOSE_EXPLAIN_H
#define PLIM_DIAGNOSE_EXPLAIN_H

#include "plimsoll/diagnose.h"

/* Drops the log that was read; the explainer is as new. */
void plim__explainer_reset(plim_explainer *explainer);

#endif
