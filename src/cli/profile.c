/* Profiles. */
#include "cli/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plim__profile_row row;

void plim__profile_add(plim__profile *p, const plim_session_step *step) {
    size_t k = 0;
    while (k < p->count && strcmp(p->rows[k].label, step->label) != 0) k++;
    p->seconds += step->seconds;
    if (step->product) p->kernel_seconds += step->seconds;
    if (k == PLIM__MOST_PROFILE_ROWS) return;
    if (k == p->count) p->rows[p->count++] = (row){.label = step->label};
    p->rows[k].seconds += step->seconds;
    p->rows[k].flops += step->flops;
    p->rows[k].count++;
}

static int slower_first(const void *a, const void *b) {
    double x = ((const row *)a)->seconds, y = ((const row *)b)->seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

void plim__profile_sort(plim__profile *p) { qsort(p->rows, p->count, sizeof *p->rows, slower_first); }

static double rate(const row *r) { return r->seconds > 0 ? r->flops / r->seconds : 0; }
static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

void plim__profile_print(const plim__profile *p) {
    printf("%-28s %6s %10s %7s %10s\n", "step", "count", "ms", "share", "GFLOP/s");
    for (size_t i = 0; i < p->count; i++)
        printf("%-28s %6d %10.3f %6.1f%% %10.1f\n", p->rows[i].label, p->rows[i].count, p->rows[i].seconds * 1e3,
               100 * share(p->rows[i].seconds, p->seconds), rate(&p->rows[i]) * 1e-9);
    printf("%-28s %6s %10.3f, of which convolutions and matrix products %.1f%%\n", "all", "", p->seconds * 1e3,
           100 * share(p->kernel_seconds, p->seconds));
}

json_t *plim__profile_json(const plim__profile *p) {
    json_t *steps = json_array();
    for (size_t i = 0; i < p->count; i++)
        json_array_append_new(steps,
                              json_pack("{s:s, s:i, s:f, s:f, s:f}", "label", p->rows[i].label, "count",
                                        p->rows[i].count, "seconds", p->rows[i].seconds, "share",
                                        share(p->rows[i].seconds, p->seconds), "flops_per_second", rate(&p->rows[i])));
    return json_pack("{s:f, s:f, s:o}", "seconds", p->seconds, "kernel_share", share(p->kernel_seconds, p->seconds),
                     "steps", steps);
}
