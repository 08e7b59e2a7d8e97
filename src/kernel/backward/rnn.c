/* Backward of a plain RNN: h' = f(X·Wᵀ + h·Rᵀ + b). What f gave is Y itself. */
#include <string.h>

#include "kernel/backward/recurrent.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

static void step(const plim__backward_pass *p, int64_t k, struct plim__units units) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, t = plim__backward_time(p, k), n = units.to - units.from;
    float *gates = p->gates + t * f->batch * h;
    for (int64_t b = units.first; b < units.last; b++) {
        int64_t from = units.from;
        const float *y = p->y + plim__backward_row(p, t, b) + from, *dy = plim__backward_dy(p, t, b, from);
        float *gate = gates + b * h + from, *dh = p->dh + b * h + from;
        if (!plim__backward_runs(p, t, b)) {
            memset(gate, 0, (size_t)n * sizeof *gate);
            continue;
        }
        for (int64_t u = 0; u < n; u++) gate[u] = (dh[u] + dy[u]) * plim__cell_slope(p, 0, y[u]);
        memset(dh, 0, (size_t)n * sizeof *dh);
    }
    plim__recurrent_meet(f);
    if (k == 0 && !p->wants_dh0) return;
    plim__backward_recur(p, &(struct plim__recurrence){.x = gates, .x_step = h, .gates = 1, .y = p->dh, .add = true},
                         units);
}

plim_status plim__lower_rnn_grad(plim__lower *l) {
    static const plim__cell_backward cell = {step, NULL, false};
    return plim__lower_recurrent_grad(l, PLIM__CELL_RNN, &cell);
}
