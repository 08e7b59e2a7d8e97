/* Series of a run over its updates: the loss, resident memory, validations. */
#ifndef PLIM_REPORT_CURVES_H
#define PLIM_REPORT_CURVES_H

#include "core/json.h"
#include "mem/timeline.h"

/* {"updates": [...], "values": [...]}, at most a few hundred points: means of numbers, the most of bytes. null where updates
 * are not known; NULL without memory. */
json_t *plim__curve_json(const plim__timeline *timeline, const plim__timeline_series *series);

#endif
