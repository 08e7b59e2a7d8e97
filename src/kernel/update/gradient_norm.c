/* The norm of all gradients together, and the factor that brings it down to a limit, as torch.nn.utils.clip_grad_norm_
 * has it. Sums are in double precision and in a fixed order. */
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "kernel/update/update.h"

double plim__sum_squares(const float *x, int64_t n, double *partial) {
    int64_t blocks = plim__update_blocks(n);
    int threads = plim__loop_threads(n);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t b = 0; b < blocks; b++)
        partial[b] = plim__updates()->squares(plim__update_block_size(n, b), x + b * PLIM__UPDATE_BLOCK);
    double sum = 0;
    for (int64_t b = 0; b < blocks; b++) sum += partial[b];
    return sum;
}

struct norm {
    int64_t elements;
};

static plim_status run_squares(const plim__call *call) {
    const struct norm *s = call->state;
    *(double *)call->out[0] = plim__sum_squares(call->in[0], s->elements, call->scratch);
    return PLIM_OK;
}

/* In whatever order the elements lie: padding adds zeros. */
plim_status plim__lower_gradient_squares(plim__lower *l) {
    bool whole = plim__layout_is_whole(plim__lower_peek(l, 0));
    plim__layout layout;
    PLIM_TRY(plim__lower_input(l, 0, whole ? PLIM__ANY : PLIM__DENSE, &layout));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    int64_t elements = (int64_t)(plim__layout_bytes(&layout) / sizeof(float));
    PLIM_TRY(plim__lower_scratch(l, (size_t)plim__update_blocks(elements) * sizeof(double)));
    struct norm *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->elements = elements;
    return plim__lower_emit(l, "GradientSquares", run_squares, s, plim__free);
}

struct limit {
    double norm; /* 0: none */
    size_t count;
    bool checks;
};

/* in: scale, sums of squares      out: scale */
static plim_status run_scale(const plim__call *call) {
    const struct limit *s = call->state;
    double scale = call->in[0] ? (double)*(const float *)call->in[0] : 1, squares = 0;
    for (size_t i = 1; i <= s->count; i++) squares += *(const double *)call->in[i];
    double factor = s->norm > 0 ? s->norm / (sqrt(squares) * fabs(scale) + 1e-6) : 1;
    if (s->checks && !isfinite(squares)) factor = (double)NAN;
    *(float *)call->out[0] = (float)(factor < 1 || isnan(factor) ? scale * factor : scale); /* NaN must show */
    return PLIM_OK;
}

plim_status plim__lower_gradient_scale(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    for (size_t i = 0; i < node->inputs.count; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    struct limit *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct limit){plim__update_get(node, "clip_norm"), node->inputs.count - 1,
                        plim__node_int(node, "checks", 0) != 0};
    return plim__lower_emit(l, "GradientScale", run_scale, s, plim__free);
}
