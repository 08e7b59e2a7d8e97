/* The shape of memory over time. */
#include "diagnose/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BINS = 32, FEW_BINS = 10, FEWEST_POINTS = 8 };

static const double mib = 1024 * 1024;

/* --- robust statistics on at most MOST_BINS values ------------------------------------------------------------ */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The median of the slopes of all pairs; *tau is how much more pairs rise than fall, -1 to 1. */
static double theil_sen(const double *x, const double *y, size_t count, double *tau) {
    double slopes[MOST_BINS * (MOST_BINS - 1) / 2];
    size_t pairs = 0;
    long rising = 0, falling = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            if (x[j] <= x[i]) continue;
            slopes[pairs++] = (y[j] - y[i]) / (x[j] - x[i]);
            rising += y[j] > y[i];
            falling += y[j] < y[i];
        }
    *tau = pairs ? (double)(rising - falling) / (double)pairs : 0;
    return median(slopes, pairs);
}

/* --- the lows of equal stretches ------------------------------------------------------------------------------ */

typedef struct lows {
    double x[MOST_BINS], y[MOST_BINS], step[MOST_BINS];
    size_t count;
} lows;

static void find_lows(const plim__curve_point *points, size_t count, size_t bins, lows *out) {
    double first = points[0].seconds, span = points[count - 1].seconds - first;
    out->count = 0;
    size_t current = bins;
    for (size_t i = 0; i < count; i++) {
        size_t bin = (size_t)((points[i].seconds - first) / span * (double)bins);
        if (bin >= bins) bin = bins - 1;
        if (bin != current || out->count == 0) {
            current = bin;
            out->count++;
            out->y[out->count - 1] = INFINITY;
        }
        size_t at = out->count - 1;
        if (points[i].bytes >= out->y[at]) continue;
        out->x[at] = points[i].seconds;
        out->y[at] = points[i].bytes;
        out->step[at] = (double)points[i].step;
    }
}

/* --- growth --------------------------------------------------------------------------------------------------- */

typedef struct fit {
    bool grows;
    double slope, roughness; /* roughness: the median distance from the line, as a share of the rise */
    lows lows;
} fit;

static double median_of_range(const double *values, size_t from, size_t to) {
    double copy[MOST_BINS];
    memcpy(copy, values + from, (to - from) * sizeof *copy);
    return median(copy, to - from);
}

/* A warming cache rises and levels off: then the second half of the stretch rises far less than the first. A short
 * stretch of such a curve is nearly straight, so that `least`, the share that the second half must have of the first,
 * is higher there. */
static bool levels_off(const lows *l, double least) {
    size_t piece = l->count >= 12 ? l->count / 6 : 2, middle = (l->count - piece) / 2;
    double begin = median_of_range(l->y, 0, piece), half = median_of_range(l->y, middle, middle + piece);
    double end = median_of_range(l->y, l->count - piece, l->count);
    return end - half < least * (half - begin);
}

static fit fit_growth(const plim__curve_point *points, size_t count, size_t bins, double least_tau,
                      double least_second_half) {
    fit result = {0};
    if (count < FEWEST_POINTS || points[count - 1].seconds - points[0].seconds < 0.5) return result;
    lows *l = &result.lows;
    find_lows(points, count, bins, l);
    if (l->count < FEWEST_POINTS) return result;
    double tau, residuals[MOST_BINS], intercepts[MOST_BINS];
    result.slope = theil_sen(l->x, l->y, l->count, &tau);
    double rise = result.slope * (l->x[l->count - 1] - l->x[0]), level = l->y[0];
    for (size_t i = 0; i < l->count; i++) intercepts[i] = l->y[i] - result.slope * l->x[i];
    double intercept = median(intercepts, l->count);
    for (size_t i = 0; i < l->count; i++) residuals[i] = fabs(l->y[i] - result.slope * l->x[i] - intercept);
    double residual = median(residuals, l->count);
    result.roughness = rise > 0 ? residual / rise : INFINITY;
    result.grows = tau >= least_tau && rise >= fmax(2 * mib, 0.01 * level) && residual * 4 <= rise &&
                   !levels_off(l, least_second_half);
    return result;
}

/* Fine bins first; coarse ones see through the teeth of a slow collector, and must be clearer. */
static fit fit_stretch(const plim__curve_point *points, size_t count, double least_second_half) {
    fit fine = fit_growth(points, count, MOST_BINS, 0.6, least_second_half);
    return fine.grows ? fine : fit_growth(points, count, FEW_BINS, 0.75, least_second_half);
}

static size_t index_at(const plim__curve_point *points, size_t count, double seconds) {
    size_t i = 0;
    while (i < count && points[i].seconds < seconds) i++;
    return i;
}

static void fit_steps(const lows *l, plim__curve *curve) {
    double x[MOST_BINS], y[MOST_BINS], tau;
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->step[i] < 0 || (count && l->step[i] <= x[count - 1])) continue;
        x[count] = l->step[i];
        y[count++] = l->y[i];
    }
    if (count < FEWEST_POINTS) return;
    curve->bytes_per_step = theil_sen(x, y, count, &tau);
    curve->per_step_known = curve->bytes_per_step > 0;
}

static bool find_growth(const plim__curve_point *points, size_t count, plim__curve *curve) {
    static const double starts[] = {1.0 / 3, 1.0 / 2, 2.0 / 3};
    double first = points[0].seconds, span = points[count - 1].seconds - first, smoothest = INFINITY;
    fit fits[3];
    size_t from[3];
    for (int i = 0; i < 3; i++) {
        from[i] = index_at(points, count, first + span * starts[i]);
        fits[i] = fit_stretch(points + from[i], count - from[i], i == 0 ? 0.5 : 0.7);
        /* growth that began late must have gone on for some time to count */
        if (i && !fits[0].grows && span * (1 - starts[i]) < 5) fits[i].grows = false;
        if (fits[i].grows && fits[i].roughness < smoothest) smoothest = fits[i].roughness;
    }
    for (int i = 0; i < 3; i++) {
        if (!fits[i].grows || fits[i].roughness > 1.25 * smoothest + 0.02) continue;
        curve->kind = PLIM_CURVE_GROWTH;
        curve->bytes_per_second = fits[i].slope;
        curve->from = points[from[i]].seconds;
        curve->to = points[count - 1].seconds;
        fit_steps(&fits[i].lows, curve);
        return true;
    }
    return false;
}

/* --- the cliff ------------------------------------------------------------------------------------------------ */

/* The index where the final jump starts, `count` when there is none: a fifth of the peak and more, in a fiftieth of the
 * run or a quarter of a second. */
static size_t find_cliff(const plim__curve_point *points, size_t count, double peak, plim__curve *curve) {
    double end = points[count - 1].seconds, window = fmax(1, 0.02 * (end - points[0].seconds));
    size_t from = index_at(points, count, end - window), top = from;
    if (from > 0) from--; /* samples may be further apart than the window */
    size_t low = from;
    for (size_t i = from; i < count; i++)
        if (points[i].bytes > points[top].bytes) top = i;
    for (size_t i = from; i < top; i++)
        if (points[i].bytes <= points[low].bytes) low = i;
    double jump = points[top].bytes - points[low].bytes;
    for (size_t i = 0; i < low; i++)
        if (points[i].bytes > points[top].bytes - jump / 2) return count;
    if (jump < 0.2 * peak || jump < 16 * mib || low >= top) return count;
    curve->jump_bytes = jump;
    curve->jump_seconds = points[top].seconds - points[low].seconds;
    return low;
}

/* A process that leaves gives its memory back on the way: that fall is not part of the curve, nor are shells that stay a moment
 * longer. */
static size_t before_leaving(const plim__curve_point *points, size_t count) {
    size_t kept = count;
    double end = points[count - 1].seconds, window = fmax(1, 0.1 * (end - points[0].seconds)), high = 0;
    for (size_t i = index_at(points, count, end - window); i < count; i++) high = fmax(high, points[i].bytes);
    while (kept > 1 && points[kept - 1].bytes < 0.6 * high && end - points[kept - 2].seconds <= window) kept--;
    while (kept > 1 && points[kept - 1].bytes < points[kept - 2].bytes && end - points[kept - 2].seconds <= window)
        kept--;
    bool empties = points[count - 1].bytes < 0.6 * points[kept - 1].bytes;
    return empties && kept >= FEWEST_POINTS ? kept : count;
}

void plim__curve_classify(const plim__curve_point *points, size_t count, plim__curve *curve) {
    *curve = (plim__curve){.kind = PLIM_CURVE_SHORT};
    if (count == 0) return;
    count = before_leaving(points, count);
    curve->first = points[0].bytes;
    curve->last = points[count - 1].bytes;
    curve->low = INFINITY;
    for (size_t i = 0; i < count; i++) curve->peak = fmax(curve->peak, points[i].bytes);
    curve->from = points[0].seconds;
    curve->to = points[count - 1].seconds;
    size_t cliff = find_cliff(points, count, curve->peak, curve), before = cliff < count ? cliff + 1 : count;
    bool long_enough = before >= FEWEST_POINTS && points[before - 1].seconds - points[0].seconds >= 1;
    if (long_enough) {
        curve->kind = PLIM_CURVE_PLATEAU;
        bool grew = find_growth(points, before, curve);
        /* no cliff: growth that just went on, or the last of many stairs */
        bool went_on = curve->jump_bytes <= 2 * curve->bytes_per_second * curve->jump_seconds;
        bool was_more = curve->jump_bytes <= curve->bytes_per_second * (curve->to - curve->from);
        if (grew && !went_on && !was_more) {
            curve->kind = PLIM_CURVE_PLATEAU;
            curve->bytes_per_second = curve->bytes_per_step = 0;
            curve->per_step_known = false;
        }
    }
    if (cliff < count && curve->kind != PLIM_CURVE_GROWTH) curve->kind = PLIM_CURVE_CLIFF;
    if (curve->kind != PLIM_CURVE_CLIFF) curve->jump_bytes = curve->jump_seconds = 0;
    double fitted =
        curve->kind == PLIM_CURVE_PLATEAU ? points[0].seconds + (curve->to - points[0].seconds) / 3 : curve->from;
    for (size_t i = index_at(points, before, fitted); i < before; i++) curve->low = fmin(curve->low, points[i].bytes);
    if (!isfinite(curve->low)) curve->low = curve->first;
}

const char *plim__curve_word(plim__curve_kind kind) {
    static const char *const words[] = {"short", "plateau", "growth", "cliff"};
    return (unsigned)kind < sizeof words / sizeof *words ? words[kind] : "short";
}
