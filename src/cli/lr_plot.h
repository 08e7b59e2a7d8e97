/* Losses over learning rates: collecting them, finding the rate, drawing. */
#ifndef PLIM_CLI_LR_PLOT_H
#define PLIM_CLI_LR_PLOT_H

#include "cli/command.h"

enum { PLIM__LR_MOST = 10000 };

typedef struct plim__lr_curve {
    double rates[PLIM__LR_MOST], losses[PLIM__LR_MOST], smooth[PLIM__LR_MOST];
    size_t count;
    double best;  /* the least smoothed loss */
    size_t delay; /* updates by which the smoothed loss follows */
    double keep;  /* of the mean, from one loss to the next */
} plim__lr_curve;

/* For this number of updates: the mean follows over the same share of the rates for any number. */
void plim__lr_curve_begin(plim__lr_curve *curve, int64_t updates);
/* Smoothed: an exponential mean with 0.9 for a hundred updates, put right for its beginning. What does not fit any more is left
 * out. */
void plim__lr_curve_add(plim__lr_curve *curve, double rate, double loss);
/* Four times the best loss, some updates after the beginning. */
bool plim__lr_curve_diverges(const plim__lr_curve *curve);
/* Where the loss falls fastest by the logarithm of the rate, before its least: of the smoothed one, less the delay of
 * smoothing. 0: nowhere. */
double plim__lr_curve_find(const plim__lr_curve *curve);
/* A chart of some lines on standard output: smoothed losses at the rates that made them, so without the delay. */
void plim__lr_curve_print(const plim__lr_curve *curve, double found);
/* An SVG file. */
plim_status plim__lr_curve_save(const plim__lr_curve *curve, double found, const char *path, plim_error *error);

#endif
