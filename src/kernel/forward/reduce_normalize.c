/* MeanVarianceNormalization: y = (x - mean) / deviation, in two passes, so that large means cost no digits. */
#include <string.h>

#include "core/alloc.h"
#include "kernel/elementwise.h"
#include "kernel/forward/reduce.h"
#include "kernel/lowers.h"

typedef struct mvn {
    plim__reduction mean, deviation; /* of x; of x - mean */
    plim__loop subtract, divide;
    plim__loop_body difference, quotient;
    size_t statistics; /* bytes of the means, rounded up */
    int threads;
} mvn;

/* scratch: [ means or deviations | accumulators of threads ] */
static plim_status run_mvn(const plim__call *call) {
    const mvn *s = call->state;
    char *statistics = call->scratch, *rest = statistics + s->statistics, *x = call->in[0], *y = call->out[0];
    plim__reduction_run(&s->mean, x, statistics, rest, s->threads);
    plim__loop_run(&s->subtract, (char *[]){y, x, statistics}, s->difference, NULL);
    plim__reduction_run(&s->deviation, y, statistics, rest, s->threads);
    plim__loop_run(&s->divide, (char *[]){y, y, statistics}, s->quotient, NULL);
    return PLIM_OK;
}

static void fit(plim__loop *loop, const plim__layout *out, const plim__layout *in, const plim__layout *statistics) {
    plim__loop_start(loop, &out->shape);
    plim__loop_add(loop, out);
    plim__loop_add(loop, in);
    plim__loop_add(loop, statistics);
    plim__loop_finish(loop);
}

plim_status plim__lower_mvn(plim__lower *l) {
    plim_dtype dtype = plim__lower_input_dtype(l, 0);
    plim__shape shape = *plim__lower_input_shape(l, 0), small = shape;
    bool axes[PLIM_MAX_RANK] = {false};
    size_t count;
    if (!plim__fold_loops_of(dtype) || !plim__unary_body(PLIM__FUNCTION_Sqrt, dtype))
        return plim__lower_unsupported_type(l, 0);
    if (plim__node_ints(plim__lower_node(l), "axes", &count))
        plim__lower_fold_axes(l, axes);
    else
        for (int i = 0; i < shape.rank; i++) axes[i] = i != 1;
    for (int i = 0; i < shape.rank; i++)
        if (axes[i]) small.dims[i] = 1;
    plim__layout x, y = plim__layout_dense(dtype, &shape), statistics = plim__layout_dense(dtype, &small);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    size_t bytes = (plim__layout_bytes(&statistics) + 63) / 64 * 64;
    PLIM_TRY(plim__lower_scratch(l, bytes + plim__reduction_scratch(plim__lower_threads(l))));
    mvn *s = plim__alloc(sizeof *s);
    if (!s) return plim__lower_fail(l, PLIM_NO_MEMORY, "no memory for its loops");
    *s = (mvn){.difference = plim__binary_body(PLIM__BINARY_Sub, dtype),
               .quotient = plim__binary_body(PLIM__BINARY_Div, dtype),
               .statistics = bytes,
               .threads = plim__lower_threads(l)};
    plim__reduction_init(&s->mean, &x, axes, PLIM__FOLD_SUM, PLIM__END_MEAN);
    plim__reduction_init(&s->deviation, &y, axes, PLIM__FOLD_SUM_SQUARE, PLIM__END_DEVIATION);
    fit(&s->subtract, &y, &x, &statistics);
    fit(&s->divide, &y, &y, &statistics);
    return plim__lower_emit(l, plim__lower_node(l)->op->name, run_mvn, s, plim__free);
}
