/* Checking gradients: what the backward pass of a graph computes, against central differences.
 *
 *     plim_gradient_result r;
 *     plim_gradient_check(graph, &(plim_gradient_options){.batch = 3}, &r, &error);
 *     printf("%g at %s[%lld]\n", r.error, r.value, (long long)r.index);
 *
 * The loss is a sum of all elements of one output, each with a random weight, added in double precision. Every float
 * input (filled with seeded random numbers) and every parameter is differentiated. */
#ifndef PLIMSOLL_GRADIENT_H
#define PLIMSOLL_GRADIENT_H

#include "plimsoll/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the default everywhere. */
typedef struct plim_gradient_options {
    size_t size;        /* sizeof(plim_gradient_options), or 0; see plimsoll.h */
    const char *output; /* default: the first one */
    double epsilon;     /* step of the differences, for values around 1; default 0.01. Two steps, this one and half
                            * of it, are combined, so that the error is of fourth order. */
    uint64_t seed;
    int64_t samples;  /* entries of each value that are checked; default 24, chosen by the seed */
    double low, high; /* range of random inputs; default -1 to 1 */
    int threads;      /* default 1 */
    int64_t batch;    /* as in plim_session_options */
    const plim_size *sizes;
    size_t size_count;
    const plim_fixed_input *fixed; /* inputs that are not floats: indices, labels, masks */
    size_t fixed_count;
} plim_gradient_options;

typedef struct plim_gradient_result {
    double error;    /* the largest difference, relative to the largest gradient entry of the same value */
    char value[128]; /* where it is */
    int64_t index;
    double analytic, numeric; /* there */
    size_t values;            /* how many values were differentiated */
    size_t checked, skipped;  /* entries; skipped where the function has a kink inside the step */
} plim_gradient_result;

/* PLIM_UNSUPPORTED names the first operator without a gradient. The graph is not changed. */
PLIM_API plim_status plim_gradient_check(const plim_graph *graph, const plim_gradient_options *options,
                                         plim_gradient_result *result, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
