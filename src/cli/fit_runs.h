/* Several records of one job: runs that differ in what the job leaves open, such as the order of independent operators or the
 * length of its lines. Each is simulated; the likely figure is that of the middle one, the range spans all of them. */
#ifndef PLIM_CLI_FIT_RUNS_H
#define PLIM_CLI_FIT_RUNS_H

#include "cli/command.h"

enum { PLIM__FIT_RUNS_MOST = 64 };

typedef struct plim__fit_run {
    const char *path;
    uint64_t allocated, reserved;
    bool fits;
} plim__fit_run;

typedef struct plim__fit_runs {
    size_t count;                            /* 0: there is one record only */
    plim__fit_run runs[PLIM__FIT_RUNS_MOST]; /* by allocated bytes, least first */
    plim_prediction_range range;             /* over all runs; only with a card */
} plim__fit_runs;

/* `gpu` may be NULL. */
plim_status plim__fit_runs_measure(const plim__args *args, const plim_gpu *gpu, const plim_pool_options *pool,
                                   plim__fit_runs *runs, plim_error *error);
const char *plim__fit_runs_middle(const plim__fit_runs *runs); /* its path; of an even number the larger one */
size_t plim__fit_runs_fitting(const plim__fit_runs *runs);
json_t *plim__fit_runs_json(const plim__fit_runs *runs);

#endif
