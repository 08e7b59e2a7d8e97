/* Walks along one axis: ArgMax, ArgMin, CumSum. The data is [outer, n, inner]. */
#include <string.h>

#include "core/alloc.h"
#include "core/half.h"
#include "kernel/elementwise.h"
#include "kernel/lowers.h"

typedef struct lines lines;
typedef void (*line_loop)(const lines *s, void *out, const void *in, int64_t outer);

struct lines {
    int64_t outer, n, inner;
    line_loop loop;   /* does one of `outer` */
    bool least, last; /* ArgMin; the last of equals */
    bool reverse, exclusive;
    bool late_axis; /* the axis is known only when the step runs: input 1 */
    plim_dtype axis_dtype;
    plim__shape shape;
};

/* [outer, n, inner] around an axis; false when it is out of range. */
static bool choose_axis(lines *s, int64_t axis) {
    int normal = 0, rank = s->shape.rank;
    if (rank > 0 && !plim__axis_normalize(axis, rank, &normal)) return false;
    s->outer = plim__shape_product(&s->shape, 0, normal);
    s->n = rank > 0 ? s->shape.dims[normal] : 1;
    s->inner = plim__shape_product(&s->shape, rank > 0 ? normal + 1 : 0, rank);
    return true;
}

static plim_status run_lines(const plim__call *call) {
    const lines *s = call->state;
    lines late;
    if (s->late_axis) {
        late = *s;
        int64_t axis = s->axis_dtype == PLIM_I64 ? *(const int64_t *)call->in[1] : *(const int32_t *)call->in[1];
        if (!choose_axis(&late, axis)) return PLIM_SHAPE;
        s = &late;
    }
    int threads = plim__loop_threads(s->outer * s->n * s->inner);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < s->outer; i++) s->loop(s, call->out[0], call->in[0], i);
    return PLIM_OK;
}

/* --- the place of an extreme: the first NaN, if there is one -------------------------------------------------- */

#define ARG(dtype, T, C, load, store)                                                                                  \
    static void arg_##dtype(const lines *s, void *out, const void *in, int64_t outer) {                                \
        int64_t *y = (int64_t *)out + outer * s->inner;                                                                \
        const T *x = (const T *)in + outer * s->n * s->inner;                                                          \
        for (int64_t j = 0; j < s->inner; j++, x++) {                                                                  \
            C best = load(x[0]);                                                                                       \
            y[j] = 0;                                                                                                  \
            for (int64_t i = 1; i < s->n; i++) {                                                                       \
                C v = load(x[i * s->inner]);                                                                           \
                bool better = s->least ? v < best : v > best;                                                          \
                if (better || (s->last && v == best) || (v != v && best == best)) best = v, y[j] = i;                  \
            }                                                                                                          \
        }                                                                                                              \
    }
#define ARG_WHOLE(dtype, T, W) ARG(dtype, T, T, PLIM__AS_IS, PLIM__AS_IS)
PLIM__HALVES(ARG)
ARG(F32, float, float, PLIM__AS_IS, PLIM__AS_IS)
ARG(F64, double, double, PLIM__AS_IS, PLIM__AS_IS)
PLIM__WHOLES(ARG_WHOLE)

/* --- running sums --------------------------------------------------------------------------------------------- */

/* y[i] = y[i - 1] + x[i], or + x[i - 1] when exclusive; from the other end when reversed. */
#define CUMSUM(dtype, T, C, load, store)                                                                               \
    static void cumsum_##dtype(const lines *s, void *out, const void *in, int64_t outer) {                             \
        int64_t step = s->reverse ? -s->inner : s->inner;                                                              \
        int64_t start = outer * s->n * s->inner + (s->reverse ? (s->n - 1) * s->inner : 0);                            \
        const T *x = (const T *)in + start;                                                                            \
        T *y = (T *)out + start;                                                                                       \
        for (int64_t i = 0; i < s->n; i++, x += step, y += step) {                                                     \
            for (int64_t j = 0; j < s->inner; j++) {                                                                   \
                C before = i ? load(y[j - step]) : 0;                                                                  \
                C more = !s->exclusive ? load(x[j]) : i ? load(x[j - step]) : 0;                                       \
                y[j] = (T)store(before + more);                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }
#define CUMSUM_WHOLE(dtype, T, W) CUMSUM(dtype, T, W, (W), (T))
PLIM__HALVES(CUMSUM)
CUMSUM(F32, float, float, PLIM__AS_IS, PLIM__AS_IS)
CUMSUM(F64, double, double, PLIM__AS_IS, PLIM__AS_IS)
PLIM__WHOLES(CUMSUM_WHOLE)

/* --- lowering ------------------------------------------------------------------------------------------------- */

#define TABLE(label)                                                                                                   \
    {                                                                                                                  \
        [PLIM_F32] = label##_F32, [PLIM_F64] = label##_F64, [PLIM_F16] = label##_F16, [PLIM_BF16] = label##_BF16,      \
        [PLIM_I8] = label##_I8, [PLIM_I16] = label##_I16, [PLIM_I32] = label##_I32, [PLIM_I64] = label##_I64,          \
        [PLIM_U8] = label##_U8, [PLIM_U16] = label##_U16, [PLIM_U32] = label##_U32, [PLIM_U64] = label##_U64           \
    }
static const line_loop arg_loops[PLIM_DTYPE_COUNT] = TABLE(arg), cumsum_loops[PLIM_DTYPE_COUNT] = TABLE(cumsum);

static plim_status lower_lines(plim__lower *l, lines line, int64_t axis) {
    line.shape = *plim__lower_input_shape(l, 0);
    if (!line.loop) return plim__lower_unsupported_type(l, 0);
    if (!line.late_axis && !choose_axis(&line, axis)) return plim__lower_fail(l, PLIM_SHAPE, "axis is out of range");
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    if (line.late_axis) PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    lines *state = plim__alloc(sizeof *state);
    if (!state) return plim__lower_fail(l, PLIM_NO_MEMORY, "no memory for its loop");
    *state = line;
    return plim__lower_emit(l, plim__lower_node(l)->op->name, run_lines, state, plim__free);
}

static plim_status lower_arg(plim__lower *l, bool least) {
    const plim__node *node = plim__lower_node(l);
    lines line = {.loop = arg_loops[plim__lower_input_dtype(l, 0)],
                  .least = least,
                  .last = plim__node_int(node, "select_last_index", 0) != 0};
    return lower_lines(l, line, plim__node_int(node, "axis", 0));
}

plim_status plim__lower_arg_max(plim__lower *l) { return lower_arg(l, false); }
plim_status plim__lower_arg_min(plim__lower *l) { return lower_arg(l, true); }

plim_status plim__lower_cumsum(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    plim__tensor *axis = plim__lower_constant(l, 1);
    plim_dtype axis_dtype = plim__lower_input_dtype(l, 1);
    int64_t value = 0;
    size_t count;
    if (plim__shape_elements(plim__lower_input_shape(l, 1)) != 1 || (axis_dtype != PLIM_I64 && axis_dtype != PLIM_I32))
        return plim__lower_fail(l, PLIM_SHAPE, "the axis is not one integer");
    if (axis) PLIM_TRY(plim__tensor_ints(axis, &value, 1, &count, plim__lower_error(l)));
    lines line = {.loop = cumsum_loops[plim__lower_input_dtype(l, 0)],
                  .reverse = plim__node_int(node, "reverse", 0) != 0,
                  .exclusive = plim__node_int(node, "exclusive", 0) != 0,
                  .late_axis = !axis,
                  .axis_dtype = axis_dtype};
    return lower_lines(l, line, value);
}
