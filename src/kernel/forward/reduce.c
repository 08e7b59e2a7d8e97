/* Running reductions, and the lowering of the Reduce* operators. */
#include "kernel/forward/reduce.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "kernel/forward/elementwise_cast.h"
#include "kernel/loops.h"
#include "kernel/onednn.h"

typedef union accumulator {
    double real;
    int64_t whole;
    uint64_t natural;
} accumulator;

static bool is_real(plim_dtype dtype) {
    return dtype == PLIM_F32 || dtype == PLIM_F64 || dtype == PLIM_F16 || dtype == PLIM_BF16;
}
static bool is_natural(plim_dtype dtype) {
    return dtype == PLIM_U8 || dtype == PLIM_U16 || dtype == PLIM_U32 || dtype == PLIM_U64 || dtype == PLIM_BOOL;
}

/* --- axes ----------------------------------------------------------------------------------------------------- */

static void push_axis(plim__axis_list *list, int64_t dim, int64_t stride) {
    if (dim == 1) return;
    int last = list->rank - 1;
    if (last >= 0 && list->strides[last] == stride * dim) {
        list->dims[last] *= dim;
        list->strides[last] = stride;
        return;
    }
    list->dims[list->rank] = dim;
    list->strides[list->rank++] = stride;
}

/* The order of folding is free: smallest stride last. */
static void sort_folded(plim__axis_list *list) {
    plim__axis_list sorted = *list;
    for (int i = 1; i < sorted.rank; i++) {
        for (int j = i; j > 0 && llabs(sorted.strides[j - 1]) < llabs(sorted.strides[j]); j--) {
            int64_t dim = sorted.dims[j], stride = sorted.strides[j];
            sorted.dims[j] = sorted.dims[j - 1], sorted.strides[j] = sorted.strides[j - 1];
            sorted.dims[j - 1] = dim, sorted.strides[j - 1] = stride;
        }
    }
    *list = (plim__axis_list){0};
    for (int i = 0; i < sorted.rank; i++) push_axis(list, sorted.dims[i], sorted.strides[i]);
}

/* One blocked axis, no padding; when that axis is kept, nothing after it is, so that results come out in order:
 * N C H W is N C/b H W b in memory. */
bool plim__reduction_takes(const plim__layout *in, const bool *axes) {
    if (!in->blocked) return true;
    if (!plim__layout_is_exact(in) || plim__md(in)->ndims != in->shape.rank ||
        plim__md(in)->format_desc.blocking.inner_nblks != 1)
        return false;
    int split = (int)plim__md(in)->format_desc.blocking.inner_idxs[0];
    for (int i = split + 1; i < in->shape.rank && !axes[split]; i++)
        if (!axes[i] && in->shape.dims[i] != 1) return false;
    return true;
}

static int64_t elements_of(const plim__axis_list *list) {
    int64_t product = 1;
    for (int i = 0; i < list->rank; i++) product *= list->dims[i];
    return product;
}

void plim__reduction_init(plim__reduction *r, const plim__layout *in, const bool *axes, plim__fold_kind kind,
                          plim__fold_end end) {
    *r = (plim__reduction){.dtype = in->dtype, .kind = kind, .end = end};
    int64_t bytes = plim_dtype_bits(in->dtype) / 8, block = 1;
    int split = -1;
    if (in->blocked) {
        split = (int)plim__md(in)->format_desc.blocking.inner_idxs[0];
        block = plim__md(in)->format_desc.blocking.inner_blks[0];
    }
    for (int i = 0; i < in->shape.rank; i++) {
        int64_t stride = in->blocked ? plim__md(in)->format_desc.blocking.strides[i] : in->strides[i];
        push_axis(axes[i] ? &r->folded : &r->kept, i == split ? in->shape.dims[i] / block : in->shape.dims[i],
                  stride * bytes);
    }
    if (split >= 0) push_axis(axes[split] ? &r->folded : &r->kept, block, bytes);
    sort_folded(&r->folded);
    r->results = elements_of(&r->kept);
    r->count = elements_of(&r->folded);
    int kept = r->kept.rank - 1, folded = r->folded.rank - 1;
    r->columns = kept >= 0 && (folded < 0 || llabs(r->kept.strides[kept]) < llabs(r->folded.strides[folded]));
}

/* --- running -------------------------------------------------------------------------------------------------- */

static accumulator start_of(plim__fold_kind kind, plim_dtype dtype) {
    bool real = is_real(dtype), natural = is_natural(dtype);
    accumulator a = {.natural = 0};
    switch (kind) {
    case PLIM__FOLD_PROD:
        if (real)
            a.real = 1;
        else
            a.whole = 1;
        break;
    case PLIM__FOLD_MAX:
        if (real)
            a.real = (double)-INFINITY;
        else
            a.whole = natural ? 0 : INT64_MIN;
        break;
    case PLIM__FOLD_MIN:
        if (real)
            a.real = (double)INFINITY;
        else
            a.whole = natural ? -1 : INT64_MAX;
        break;
    default: break;
    }
    return a;
}

/* `width` results, whose elements begin at `in`. */
struct fold {
    const plim__reduction *r;
    plim__fold_kind kind; /* not always the reduction's: exponentials need the largest first */
    const double *shifts;
    const char *in;
    int64_t width;
};

/* Folds elements [from, to) of the outermost folded axis. */
static void fold_part(const struct fold *f, accumulator *accs, int64_t from, int64_t to) {
    const plim__reduction *r = f->r;
    plim__fold_kind kind = f->kind;
    const double *shifts = f->shifts;
    const char *in = f->in;
    int64_t width = f->width;
    const plim__fold_loops *loops = plim__fold_loops_of(r->dtype);
    plim__axis_list axes = r->folded;
    if (axes.rank > 0) {
        in += from * axes.strides[0];
        axes.dims[0] = to - from;
    }
    int inner = r->columns ? axes.rank : axes.rank - 1; /* rows give their last axis to the loop */
    int64_t index[PLIM__FOLD_RANK] = {0}, length = 1, step = (int64_t)plim_dtype_bits(r->dtype) / 8;
    if (r->columns)
        length = width, step = r->kept.strides[r->kept.rank - 1];
    else if (axes.rank > 0)
        length = axes.dims[inner], step = axes.strides[inner];
    if (elements_of(&axes) == 0) return;
    for (;;) {
        if (r->columns)
            loops->column[kind](accs, shifts, in, length, step);
        else
            loops->row[kind](accs, shifts, in, length, step);
        int i = inner - 1;
        for (; i >= 0; i--) {
            in += axes.strides[i];
            if (++index[i] < axes.dims[i]) break;
            in -= axes.strides[i] * axes.dims[i];
            index[i] = 0;
        }
        if (i < 0) return;
    }
}

/* Accumulators of two parts into one. */
static void join(plim__fold_kind kind, plim_dtype dtype, accumulator *into, const accumulator *from, int64_t width) {
    bool sums = kind != PLIM__FOLD_PROD && kind != PLIM__FOLD_MAX && kind != PLIM__FOLD_MIN;
    plim_dtype wide = is_real(dtype) ? PLIM_F64 : is_natural(dtype) ? PLIM_U64 : PLIM_I64;
    plim__fold_kind combine = sums ? PLIM__FOLD_SUM : kind;
    plim__fold_loops_of(wide)->column[combine](into, NULL, (const char *)from, width, 8);
}

/* accs = fold of everything; by several threads when `threads` > 1, each with a part of `parts`. */
static void fold_all(const struct fold *f, accumulator *accs, accumulator *parts, int threads) {
    accumulator start = start_of(f->kind, f->r->dtype);
    int64_t outer = f->r->folded.rank ? f->r->folded.dims[0] : 1, width = f->width;
    for (int64_t i = 0; i < width; i++) accs[i] = start;
    if (threads > outer) threads = (int)(outer > 0 ? outer : 1);
    if (threads == 1) {
        fold_part(f, accs, 0, outer);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        int64_t from, to;
        accumulator *mine = parts + (int64_t)t * PLIM__FOLD_WIDTH;
        for (int64_t i = 0; i < width; i++) mine[i] = start;
        plim__loop_part(outer, t, threads, &from, &to);
        fold_part(f, mine, from, to);
    }
    for (int t = 0; t < threads; t++) join(f->kind, f->r->dtype, accs, parts + (int64_t)t * PLIM__FOLD_WIDTH, width);
}

/* From accumulators to results in the element type. */
static void finish(const plim__reduction *r, accumulator *accs, const double *shifts, char *out, int64_t width) {
    bool real = is_real(r->dtype), doubles = real || r->end >= PLIM__END_SQRT;
    for (int64_t i = 0; i < width; i++) {
        double value = real ? accs[i].real : is_natural(r->dtype) ? (double)accs[i].natural : (double)accs[i].whole;
        switch (r->end) {
        case PLIM__END_NONE: break;
        case PLIM__END_MEAN:
            if (real)
                accs[i].real = value / (double)r->count;
            else if (is_natural(r->dtype))
                accs[i].natural /= r->count ? (uint64_t)r->count : 1;
            else
                accs[i].whole /= r->count ? r->count : 1;
            break;
        case PLIM__END_SQRT: accs[i].real = sqrt(value); break;
        case PLIM__END_DEVIATION: accs[i].real = sqrt(value / (double)r->count) + 1e-9; break;
        case PLIM__END_LOG: accs[i].real = log(value) + (shifts ? shifts[i] : 0); break;
        }
    }
    plim__loop_body cast = plim__cast_body(doubles ? PLIM_F64 : PLIM_I64, r->dtype);
    int64_t bytes = plim_dtype_bits(r->dtype) / 8;
    cast(NULL, width, (char *[]){out, (char *)accs}, (int64_t[]){bytes, 8});
}

struct task {
    const char *in;
    char *out;
    int64_t outer, first, width; /* results [first, first + width) of the kept row `outer` */
};

static void run_task(const plim__reduction *r, const struct task *task, accumulator *parts, int threads) {
    accumulator accs[PLIM__FOLD_WIDTH];
    double shifts[PLIM__FOLD_WIDTH];
    int last = r->columns ? r->kept.rank - 1 : r->kept.rank;
    int64_t row = r->columns ? r->kept.dims[last] : 1, rest = task->outer, width = task->width;
    struct fold f = {.r = r, .in = task->in, .width = width};
    if (r->columns) f.in += task->first * r->kept.strides[last];
    for (int i = last - 1; i >= 0; i--) {
        f.in += rest % r->kept.dims[i] * r->kept.strides[i];
        rest /= r->kept.dims[i];
    }
    if (r->kind == PLIM__FOLD_SUM_EXP) {
        f.kind = PLIM__FOLD_MAX;
        fold_all(&f, accs, parts, threads);
        for (int64_t i = 0; i < width; i++) shifts[i] = isfinite(accs[i].real) ? accs[i].real : 0;
        f.shifts = shifts;
    }
    f.kind = r->kind;
    fold_all(&f, accs, parts, threads);
    finish(r, accs, f.shifts, task->out + (task->outer * row + task->first) * (plim_dtype_bits(r->dtype) / 8), width);
}

size_t plim__reduction_scratch(int threads) {
    return (size_t)(threads > 1 ? threads : 1) * PLIM__FOLD_WIDTH * sizeof(accumulator);
}

void plim__reduction_run(const plim__reduction *r, const void *in, void *out, void *scratch, int threads) {
    int64_t row = r->columns ? r->kept.dims[r->kept.rank - 1] : 1;
    if (r->results == 0) return;
    int64_t outer = r->results / row, pieces = (row + PLIM__FOLD_WIDTH - 1) / PLIM__FOLD_WIDTH, tasks = outer * pieces;
    int useful = plim__loop_threads(r->results * (r->count > 0 ? r->count : 1));
    if (threads > useful) threads = useful;
    bool cut_folds = tasks < threads;
#pragma omp parallel for num_threads(cut_folds ? 1 : threads) if (!cut_folds && threads > 1) schedule(static)
    for (int64_t t = 0; t < tasks; t++) {
        int64_t first = t % pieces * PLIM__FOLD_WIDTH,
                width = row - first < PLIM__FOLD_WIDTH ? row - first : PLIM__FOLD_WIDTH;
        run_task(r, &(struct task){in, out, t / pieces, first, width}, scratch, cut_folds ? threads : 1);
    }
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

bool plim__lower_fold_axes(plim__lower *l, bool axes[PLIM_MAX_RANK]) {
    const plim__node *node = plim__lower_node(l);
    int rank = plim__lower_input_shape(l, 0)->rank;
    size_t count = 0;
    int64_t values[PLIM_MAX_RANK];
    const int64_t *given = plim__node_ints(node, "axes", &count);
    plim__tensor *tensor = plim__lower_has_input(l, 1) ? plim__lower_constant(l, 1) : NULL;
    if (!given && tensor && plim__tensor_ints(tensor, values, PLIM_MAX_RANK, &count, plim__lower_error(l)) == PLIM_OK)
        given = values;
    if (!given || count == 0) {
        bool all = !plim__node_int(node, "noop_with_empty_axes", 0);
        for (int i = 0; i < rank; i++) axes[i] = all;
        return all;
    }
    memset(axes, 0, PLIM_MAX_RANK * sizeof *axes);
    for (size_t k = 0; k < count; k++) {
        int axis;
        if (plim__axis_normalize(given[k], rank, &axis)) axes[axis] = true;
    }
    return true;
}

typedef struct reduce_state {
    plim__reduction reduction;
    int threads;
} reduce_state;

static plim_status run_reduce(const plim__call *call) {
    const reduce_state *state = call->state;
    plim__reduction_run(&state->reduction, call->in[0], call->out[0], call->scratch, state->threads);
    return PLIM_OK;
}

/* Without axes to fold, sums of one element each are still absolute values, squares, logarithms. */
static plim_status lower_reduce(plim__lower *l, plim__fold_kind kind, plim__fold_end end) {
    bool axes[PLIM_MAX_RANK] = {false};
    plim_dtype dtype = plim__lower_input_dtype(l, 0);
    plim__lower_fold_axes(l, axes);
    const plim__fold_loops *loops = plim__fold_loops_of(dtype);
    if (!loops || !loops->row[kind]) return plim__lower_unsupported_type(l, 0);
    plim__layout in;
    bool keep = plim__reduction_takes(plim__lower_peek(l, 0), axes);
    PLIM_TRY(plim__lower_input(l, 0, keep ? PLIM__ANY : PLIM__STRIDED, &in));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_scratch(l, plim__reduction_scratch(plim__lower_threads(l))));
    reduce_state *state = plim__alloc(sizeof *state);
    if (!state) return plim__lower_fail(l, PLIM_NO_MEMORY, "no memory for its loop");
    state->threads = plim__lower_threads(l);
    plim__reduction_init(&state->reduction, &in, axes, kind, end);
    return plim__lower_emit(l, plim__lower_node(l)->op->name, run_reduce, state, plim__free);
}

#define REDUCE(name, kind, end)                                                                                        \
    plim_status plim__lower_reduce_##name(plim__lower *l);                                                             \
    plim_status plim__lower_reduce_##name(plim__lower *l) {                                                            \
        return lower_reduce(l, PLIM__FOLD_##kind, PLIM__END_##end);                                                    \
    }
REDUCE(sum, SUM, NONE)
REDUCE(mean, SUM, MEAN)
REDUCE(max, MAX, NONE)
REDUCE(min, MIN, NONE)
REDUCE(prod, PROD, NONE)
REDUCE(l1, SUM_ABS, NONE)
REDUCE(l2, SUM_SQUARE, SQRT)
REDUCE(sum_square, SUM_SQUARE, NONE)
REDUCE(log_sum, SUM, LOG)
REDUCE(log_sum_exp, SUM_EXP, LOG)
