/* Choosing the scale. It is a float32, as in PyTorch: one that would be infinite does not grow. */
#include "run/scaling.h"

#include <math.h>

#define FIRST       65536.0
#define GROWTH      2.0f
#define BACKOFF     0.5f
#define GROWS_EVERY 2000

float plim__scaling_now(const plim_progress *p) { return (float)(p->loss_scale > 0 ? p->loss_scale : FIRST); }

static void count_good(plim_progress *p, float scale) {
    p->skipped_in_row = 0;
    if (++p->good_in_row < GROWS_EVERY) return;
    p->good_in_row = 0;
    if (isfinite(scale * GROWTH)) p->loss_scale = (double)(scale * GROWTH);
}

void plim__scaling_count(plim_progress *p, bool finite) {
    float scale = plim__scaling_now(p);
    p->loss_scale = (double)scale;
    if (finite) {
        count_good(p, scale);
        return;
    }
    p->skipped_updates++;
    p->skipped_in_row++;
    p->good_in_row = 0;
    p->loss_scale = (double)(scale * BACKOFF);
}

bool plim__scaling_is_stuck(const plim_progress *p) { return p->skipped_in_row + 1 >= PLIM__SCALING_MOST_SKIPPED; }
