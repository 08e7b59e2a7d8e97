/* Adafactor, whose second moments are stored as one number a row and one a column of the last two axes; src/ops/update.h
 * has the formulas.
 *
 *   gradient (matrices, rows, columns)   row (matrices, rows)   column (matrices, columns)
 *
 * Rows, columns and parts are units of work of a fixed size: sums do not depend on how many threads there are. */
#include <float.h>
#include <string.h>

#include "kernel/lowers.h"
#include "kernel/update/update.h"

#define STRIP 128  /* columns whose sums are made together */
#define PARTS 1024 /* most groups of rows whose directions are summed up on their own */

struct direction {
    int64_t matrices, rows, columns; /* 1, 1, n for vectors, which have no column state */
    bool factored;
    double clip, exponent;
};

/* torch.lerp, which is exact at both ends. */
static float blend(float from, double to, double weight) {
    float t = (float)to, w = (float)weight;
    return w < 0.5f ? from + w * (t - from) : t - (t - from) * (1 - w);
}

static void blend_rows(const struct direction *s, const plim__update_numbers *u, const float *g, float *row, double w,
                       int threads) {
    int64_t count = s->matrices * s->rows;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t r = 0; r < count; r++)
        row[r] = blend(row[r], plim__updates()->row_squares(u, s->columns, g + r * s->columns) / (double)s->columns, w);
}

static void blend_columns(const struct direction *s, const plim__update_numbers *u, const float *g, float *column,
                          double w, int threads) {
    int64_t strips = (s->columns + STRIP - 1) / STRIP, count = s->matrices * strips;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t t = 0; t < count; t++) {
        int64_t m = t / strips, first = t % strips * STRIP;
        int64_t width = s->columns - first < STRIP ? s->columns - first : STRIP;
        double sums[STRIP] = {0};
        const float *at = g + m * s->rows * s->columns + first;
        for (int64_t r = 0; r < s->rows; r++) plim__updates()->column_squares(u, width, at + r * s->columns, sums);
        float *to = column + m * s->columns + first;
        for (int64_t c = 0; c < width; c++) to[c] = blend(to[c], sums[c] / (double)s->rows, w);
    }
}

/* The mean of a matrix's row state, at least epsilon. */
static float row_mean(const struct direction *s, const float *row, int64_t matrix) {
    double sum = 0;
    for (int64_t r = 0; r < s->rows; r++) sum += (double)row[matrix * s->rows + r];
    float mean = (float)(sum / (double)s->rows);
    return mean < FLT_EPSILON ? FLT_EPSILON : mean; /* false for NaN */
}

/* Rows from `first` to `last` - 1 of all matrices together; their sum of d². */
static double direct_rows(const plim__call *call, const plim__update_numbers *u, int64_t first, int64_t last) {
    const struct direction *s = call->state;
    const float *g = call->in[2], *row = call->out[2], *column = call->out[3];
    float *d = call->out[0];
    double sum = 0;
    float mean = 0;
    for (int64_t r = first; r < last; r++) {
        int64_t matrix = r / s->rows, at = r * s->columns;
        if (r == first || r % s->rows == 0) mean = row_mean(s, row, matrix);
        sum += plim__updates()->direct(u, s->columns, d + at, g + at, column + matrix * s->columns, row[r] / mean);
    }
    return sum;
}

static double factored(const struct direction *s, const plim__update_numbers *u, const plim__call *call, double w) {
    const float *g = call->in[2];
    float *row = call->out[2], *column = call->out[3];
    double *partial = call->scratch, sum = 0;
    int64_t rows = s->matrices * s->rows, part = (rows + PARTS - 1) / PARTS,
            parts = part ? (rows + part - 1) / part : 0;
    int threads = plim__loop_threads(rows * s->columns);
    blend_rows(s, u, g, row, w, threads);
    blend_columns(s, u, g, column, w, threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t p = 0; p < parts; p++) {
        int64_t last = (p + 1) * part < rows ? (p + 1) * part : rows;
        partial[p] = direct_rows(call, u, p * part, last);
    }
    for (int64_t p = 0; p < parts; p++) sum += partial[p];
    return sum;
}

static double plain(const struct direction *s, const plim__update_numbers *u, const plim__call *call, double w) {
    const float *g = call->in[2];
    float *d = call->out[0], *v = call->out[2];
    double *partial = call->scratch, sum = 0;
    int64_t blocks = plim__update_blocks(s->columns);
    int threads = plim__loop_threads(s->columns);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        int64_t n = plim__update_block_size(s->columns, b), at = b * PLIM__UPDATE_BLOCK;
        plim__updates()->blend_squares(u, n, v + at, g + at, (float)w);
        partial[b] = plim__updates()->direct(u, n, d + at, g + at, v + at, 1);
    }
    for (int64_t b = 0; b < blocks; b++) sum += partial[b];
    return sum;
}

/* in: update, scale, gradient     out: direction, sum of squares, row or v, column */
static plim_status run_direction(const plim__call *call) {
    const struct direction *s = call->state;
    double t = ((const double *)call->in[0])[1], w = pow(t, s->exponent);
    plim__update_numbers u = plim__update_numbers_of(call->in[1], s->clip);
    *(double *)call->out[1] = s->factored ? factored(s, &u, call, w) : plain(s, &u, call, w);
    return PLIM_OK;
}

plim_status plim__lower_adafactor_direction(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *shape = plim__lower_input_shape(l, 2);
    bool matrix = shape->rank > 1;
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 2; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    plim__lower_inplace(l, 2, 0);
    PLIM_TRY(plim__lower_written(l, 3, -1));
    if (matrix) PLIM_TRY(plim__lower_written(l, 4, -1));
    int64_t elements = plim__shape_elements(shape), partial = matrix ? PARTS : plim__update_blocks(elements);
    PLIM_TRY(plim__lower_scratch(l, (size_t)partial * sizeof(double)));
    struct direction *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct direction){.matrices = matrix ? plim__shape_product(shape, 0, shape->rank - 2) : 1,
                            .rows = matrix ? shape->dims[shape->rank - 2] : 1,
                            .columns = matrix ? shape->dims[shape->rank - 1] : elements,
                            .factored = matrix,
                            .clip = plim__update_get(node, "clip_value"),
                            .exponent = plim__update_get(node, "beta2")};
    return plim__lower_emit(l, "AdafactorDirection", run_direction, s, plim__free);
}

/* --- the step -------------------------------------------------------------------------------------------------- */

struct step {
    int64_t elements, padded; /* without and with padding */
    double decay, epsilon, threshold;
    double factor; /* of the rate */
};

/* in: update, sum of squares, direction     out: parameter */
static plim_status run_step(const plim__call *call) {
    const struct step *s = call->state;
    double rate = ((const double *)call->in[0])[0] * s->factor, t = ((const double *)call->in[0])[1];
    double root = sqrt((double)s->elements), length = sqrt(*(const double *)call->in[1]);
    const float *d = call->in[2];
    float *x = call->out[0];
    if (s->elements == 0) return PLIM_OK;
    double size = sqrt(plim__sum_squares(x, s->padded, call->scratch)) / root;
    double alpha = (size < s->epsilon ? s->epsilon : size) * fmin(rate, 1 / sqrt(t));
    double excess = length / (root * s->threshold);
    float keep = (float)(1 - rate * s->decay), step = (float)(excess > 1 ? alpha / excess : alpha);
    int64_t blocks = plim__update_blocks(s->padded);
    int threads = plim__loop_threads(s->padded);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        int64_t at = b * PLIM__UPDATE_BLOCK;
        plim__updates()->step(plim__update_block_size(s->padded, b), x + at, d + at, keep, step);
    }
    return PLIM_OK;
}

plim_status plim__lower_adafactor_update(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_written(l, 2, -1));
    PLIM_TRY(plim__lower_input_like(l, 3, 2));
    int64_t padded = (int64_t)(plim__lower_persistent_bytes(l, 2) / sizeof(float));
    PLIM_TRY(plim__lower_scratch(l, (size_t)plim__update_blocks(padded) * sizeof(double)));
    struct step *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct step){.elements = plim__shape_elements(plim__lower_input_shape(l, 2)),
                       .padded = padded,
                       .decay = plim__update_get(node, "weight_decay"),
                       .epsilon = plim__update_get(node, "epsilon"),
                       .threshold = plim__update_get(node, "threshold"),
                       .factor = plim__update_factor(node)};
    return plim__lower_emit(l, "AdafactorUpdate", run_step, s, plim__free);
}
