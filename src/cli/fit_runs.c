#include "cli/fit_runs.h"

#include <stdlib.h>
#include <string.h>

static int smaller_first(const void *a, const void *b) {
    const plim__fit_run *x = a, *y = b;
    if (x->allocated != y->allocated) return x->allocated < y->allocated ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void join(const plim_prediction_range *one, plim_prediction_range *all) {
    if (!all->stacks || one->least < all->least) all->least = one->least;
    if (one->most > all->most) all->most = one->most;
    if (one->limit > all->limit) all->limit = one->limit;
    all->stacks += one->stacks;
    all->fitting += one->fitting;
}

static plim_status measure(const plim_gpu *gpu, const plim_pool_options *pool, plim__fit_run *run,
                           plim_prediction_range *all, plim_error *error) {
    plim_prediction *prediction = NULL;
    plim_prediction_range range = {0};
    plim_prediction_result result;
    plim_status status = plim_prediction_load(run->path, &prediction, error);
    if (status == PLIM_OK && gpu) status = plim_prediction_find_range(prediction, gpu, pool, &range, error);
    if (status == PLIM_OK) status = plim_prediction_run(prediction, gpu, pool, &result, error);
    plim_prediction_free(prediction);
    if (status != PLIM_OK) return status;
    if (gpu) join(&range, all);
    run->allocated = result.allocated;
    run->reserved = result.reserved;
    run->fits = result.fits;
    return PLIM_OK;
}

plim_status plim__fit_runs_measure(const plim__args *args, const plim_gpu *gpu, const plim_pool_options *pool,
                                   plim__fit_runs *runs, plim_error *error) {
    *runs = (plim__fit_runs){0};
    for (size_t i = 0; i < plim__args_count(args) && i < PLIM__FIT_RUNS_MOST; i++) {
        plim__fit_run *run = &runs->runs[runs->count++];
        run->path = plim__args_at(args, i);
        plim_status status = measure(gpu, pool, run, &runs->range, error);
        if (status != PLIM_OK) return status;
    }
    qsort(runs->runs, runs->count, sizeof *runs->runs, smaller_first);
    return PLIM_OK;
}

const char *plim__fit_runs_middle(const plim__fit_runs *runs) { return runs->runs[runs->count / 2].path; }

size_t plim__fit_runs_fitting(const plim__fit_runs *runs) {
    size_t fitting = 0;
    for (size_t i = 0; i < runs->count; i++) fitting += runs->runs[i].fits;
    return fitting;
}

json_t *plim__fit_runs_json(const plim__fit_runs *runs) {
    if (!runs->count) return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < runs->count; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:b}", "path", runs->runs[i].path, "allocated",
                                              (json_int_t)runs->runs[i].allocated, "reserved",
                                              (json_int_t)runs->runs[i].reserved, "fits", runs->runs[i].fits));
    return list;
}
