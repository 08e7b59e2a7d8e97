/* The shape of memory over time: a plateau, a cliff at the end, or steady growth with its rate. */
#ifndef PLIM_DIAGNOSE_CURVE_H
#define PLIM_DIAGNOSE_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/watch.h"

typedef struct plim__curve_point {
    double seconds;
    double bytes;
    int64_t step; /* of the training loop, counted over epochs; -1 when the output has told none */
} plim__curve_point;

typedef plim_curve plim__curve_kind;

typedef struct plim__curve {
    plim__curve_kind kind;
    double first, last, peak, low; /* bytes; `low` is the least of the fitted stretch */
    double from, to;               /* seconds: the stretch that the trend was fitted to */
    double bytes_per_second;       /* growth only */
    bool per_step_known;
    double bytes_per_step;
    double jump_bytes, jump_seconds; /* cliff only */
} plim__curve;

/* Points in order of time. Needs no memory of its own: long series are binned.
 *
 * The trend is Theil and Sen's (the median slope of all pairs) over the lows of equal stretches of time, so that
 * neither the teeth of a garbage collector nor single peaks bend it. Start-up is left out: the fit starts at a third, a
 * half or two thirds of the run, at the earliest that is nearly as straight as the best. */
void plim__curve_classify(const plim__curve_point *points, size_t count, plim__curve *curve);

/* "plateau", "growth", "cliff", "short". */
const char *plim__curve_word(plim__curve_kind kind);

#endif
