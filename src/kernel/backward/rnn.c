/* Backward of a plain RNN: h' = f(X·Wᵀ + h·Rᵀ + b). What f gave is Y itself. */
#include <string.h>

#include "kernel/backward/recurrent.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

static dnnl_status_t again(const plim__backward_pass *p) {
    (void)p;
    return dnnl_success;
}

static dnnl_status_t step(const plim__backward_pass *p, int64_t k) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, t = plim__backward_time(p, k);
    float *gates = p->gates + t * f->batch * h;
    for (int64_t b = 0; b < f->batch; b++) {
        const float *y = p->y + plim__backward_row(p, t, b), *dy = p->dy ? p->dy + plim__backward_row(p, t, b) : NULL;
        float *gate = gates + b * h, *dh = p->dh + b * h;
        if (!plim__backward_runs(p, t, b)) {
            memset(gate, 0, (size_t)h * sizeof *gate);
            continue;
        }
        for (int64_t u = 0; u < h; u++) gate[u] = (dh[u] + (dy ? dy[u] : 0)) * plim__cell_slope(p, 0, y[u]);
        memset(dh, 0, (size_t)h * sizeof *dh);
    }
    return plim__backward_product(&(plim__gemm){'N', 'N', f->batch, h, h, gates, h, p->r, h, 1, p->dh, h});
}

plim_status plim__lower_rnn_grad(plim__lower *l) {
    static const plim__cell_backward cell = {again, step, NULL, false};
    return plim__lower_recurrent_grad(l, PLIM__CELL_RNN, &cell);
}
