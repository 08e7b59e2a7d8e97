/* The scale of the loss for halves: as torch.amp.GradScaler chooses it. All gradients are times the scale, which keeps small ones
 * from vanishing; where one is not finite, the update is skipped and the scale halved; after 2,000 good updates it doubles.
 * What there is to remember is a part of plim_progress. */
#ifndef PLIM_RUN_SCALING_H
#define PLIM_RUN_SCALING_H

#include <stdbool.h>

#include "plimsoll/train.h"

/* Skipped updates in a row that end a run: the scale is a millionth of what it was by then, so it is not what overflows. */
#define PLIM__SCALING_MOST_SKIPPED 20

/* For the next update. */
float plim__scaling_now(const plim_progress *progress);
/* An update was made, or skipped since its gradients were not finite: chooses the next scale. */
void plim__scaling_count(plim_progress *progress, bool finite);
/* Whether another skipped update is one too many. */
bool plim__scaling_is_stuck(const plim_progress *progress);

#endif
