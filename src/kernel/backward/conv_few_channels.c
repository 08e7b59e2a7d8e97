/* Weight gradients of convolutions that read few channels (a grey image: one). oneDNN pads channels to a block of 8 or
 * 16 and computes with the padding: eight times the work for a grey image. Here every weight is a tap on the image
 * (kernel/simd/conv_weight.h), and only what there is is computed.
 *
 *   dy (N, O, ...) in blocks of channels, x (N, C, H, W) dense  ->  dw (O, C, KH, KW), dbias (O), dense
 *
 * Threads share (sample, 16 output channels) pairs. Sums over one sample are floats, sums over samples doubles, one set
 * a thread:
 *
 *   scratch:  | thread 0: totals (O, taps + 1) doubles | sums (taps + 1, 16) | padded image (C, rows, columns) | ... */
#include <omp.h>
#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"
#include "kernel/forward/conv.h"
#include "kernel/loops.h"
#include "kernel/onednn.h"
#include "kernel/simd/conv_weight.h"

struct few {
    int64_t samples, channels, height, width; /* of x */
    int64_t before[2];
    int64_t rows, columns;           /* of the padded image: as far as windows reach */
    int64_t outputs, block, plane;   /* channels of dy, how many lie together, floats of a plane of these */
    size_t bytes, at_sums, at_image; /* of the scratch memory of a thread */
    plim__conv_taps taps;
    int64_t offset[];
};

static void pad(const struct few *s, const float *x, float *image) {
    int64_t rows = s->rows - s->before[0] < s->height ? s->rows - s->before[0] : s->height;
    int64_t columns = s->columns - s->before[1] < s->width ? s->columns - s->before[1] : s->width;
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t r = 0; r < rows; r++)
            memcpy(image + (c * s->rows + s->before[0] + r) * s->columns + s->before[1],
                   x + (c * s->height + r) * s->width, (size_t)columns * sizeof *x);
}

/* 16 channels of one sample, from `first` on; fewer at the end. */
static void add(const struct few *s, const float *dy, int64_t first, const float *image, float *sums, double *totals) {
    int64_t n = s->outputs - first < PLIM__TAP_CHANNELS ? s->outputs - first : PLIM__TAP_CHANNELS;
    int64_t entries = s->taps.count + 1, second = s->block == PLIM__TAP_CHANNELS ? s->block / 2 : s->plane;
    if (n < PLIM__TAP_CHANNELS) second = 0; /* summed twice, used once */
    plim__simd_conv_weight_table()->sums(&s->taps, dy + first / s->block * s->plane, second, image, sums);
    for (int64_t c = 0; c < n; c++)
        for (int64_t t = 0; t < entries; t++)
            totals[(first + c) * entries + t] += (double)sums[t * PLIM__TAP_CHANNELS + c];
}

static void thread_part(const struct few *s, const plim__call *call, int64_t from, int64_t to, char *mine) {
    int64_t groups = (s->outputs + PLIM__TAP_CHANNELS - 1) / PLIM__TAP_CHANNELS, padded = -1;
    float *image = (float *)(mine + s->at_image);
    memset(mine, 0, s->bytes); /* the border of the image stays so */
    for (int64_t task = from; task < to; task++) {
        int64_t sample = task / groups;
        if (sample != padded) pad(s, (const float *)call->in[1] + sample * s->channels * s->height * s->width, image);
        padded = sample;
        add(s, (const float *)call->in[0] + sample * (s->outputs / s->block) * s->plane,
            task % groups * PLIM__TAP_CHANNELS, image, (float *)(mine + s->at_sums), (double *)mine);
    }
}

static plim_status run(const plim__call *call) {
    const struct few *s = call->state;
    int64_t groups = (s->outputs + PLIM__TAP_CHANNELS - 1) / PLIM__TAP_CHANNELS, taps = s->taps.count;
    int team = 1;
#pragma omp parallel
    {
        int64_t from, to;
#pragma omp single
        team = omp_get_num_threads();
        plim__loop_part(s->samples * groups, omp_get_thread_num(), team, &from, &to);
        thread_part(s, call, from, to, (char *)call->scratch + (size_t)omp_get_thread_num() * s->bytes);
    }
    float *dw = call->out[0], *bias = call->out[1];
    for (int64_t o = 0; o < s->outputs; o++)
        for (int64_t t = 0; t <= taps; t++) {
            double sum = 0;
            for (int k = 0; k < team; k++)
                sum += ((double *)((char *)call->scratch + (size_t)k * s->bytes))[o * (taps + 1) + t];
            if (t < taps)
                dw[o * taps + t] = (float)sum;
            else if (bias)
                bias[o] = (float)sum;
        }
    return PLIM_OK;
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

/* How many channels of dy lie together in this layout: 8, 16, or 0 for another one. */
static int64_t block_of(const plim__conv_geometry *g, const dnnl_memory_desc_t *dy) {
    for (int64_t block = 8; block <= 16; block *= 2) {
        dnnl_memory_desc_t md;
        if (g->y[1] % block == 0 &&
            dnnl_memory_desc_init_by_tag(&md, 4, g->y, dnnl_f32, block == 8 ? dnnl_nChw8c : dnnl_nChw16c) ==
                dnnl_success &&
            dnnl_memory_desc_equal(&md, dy))
            return block;
    }
    return 0;
}

static bool fits(const plim__conv_geometry *g, const dnnl_memory_desc_t *x) {
    if (g->rank != 4 || g->weight_rank != 4 || g->x[0] < 1 || g->y[2] < 1 || g->y[3] < 1) return false;
    if (g->before[0] < 0 || g->before[1] < 0) return false;
    return x->padded_dims[1] >= 4 * g->x[1]; /* less would not repay leaving its kernel */
}

static int64_t reach(const plim__conv_geometry *g, int axis) {
    return (g->y[2 + axis] - 1) * g->stride[axis] + (g->w[2 + axis] - 1) * (g->dilation[axis] + 1) + 1;
}

static void describe(const plim__conv_geometry *g, int64_t block, struct few *s) {
    *s = (struct few){.samples = g->x[0],
                      .channels = g->x[1],
                      .height = g->x[2],
                      .width = g->x[3],
                      .before = {g->before[0], g->before[1]},
                      .rows = reach(g, 0),
                      .columns = reach(g, 1),
                      .outputs = g->y[1],
                      .block = block,
                      .plane = g->y[2] * g->y[3] * block};
    s->taps = (plim__conv_taps){.rows = g->y[2],
                                .columns = g->y[3],
                                .pixel = block,
                                .down = g->stride[0] * s->columns,
                                .along = g->stride[1],
                                .count = g->w[1] * g->w[2] * g->w[3],
                                .offset = s->offset};
    int64_t *offset = s->offset;
    for (int64_t c = 0; c < g->w[1]; c++)
        for (int64_t h = 0; h < g->w[2]; h++)
            for (int64_t w = 0; w < g->w[3]; w++)
                *offset++ = (c * s->rows + h * (g->dilation[0] + 1)) * s->columns + w * (g->dilation[1] + 1);
    size_t entries = (size_t)s->taps.count + 1;
    s->at_sums = (size_t)s->outputs * entries * sizeof(double);
    s->at_image = s->at_sums + entries * PLIM__TAP_CHANNELS * sizeof(float);
    s->bytes = s->at_image + (size_t)(s->channels * s->rows * s->columns) * sizeof(float);
    s->bytes = (s->bytes + 63) / 64 * 64;
}

static plim_status connect(plim__lower *l, const struct few *s, const dnnl_memory_desc_t *dy) {
    PLIM_TRY(plim__lower_input_md(l, 0, dy));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_output(l, 1, NULL));
    return plim__lower_scratch(l, (size_t)plim__lower_threads(l) * s->bytes);
}

plim_status plim__lower_few_channels(plim__lower *l, const plim__conv_geometry *g, const dnnl_memory_desc_t *x,
                                     const dnnl_memory_desc_t *dy, bool *done) {
    int64_t block = block_of(g, dy);
    *done = false;
    if (!fits(g, x) || !block) return PLIM_OK;
    struct few *s = NULL;
    PLIM_TRY(plim__lower_state(l, sizeof *s + (size_t)(g->w[1] * g->w[2] * g->w[3]) * sizeof s->offset[0], &s));
    describe(g, block, s);
    plim_status status = connect(l, s, dy);
    if (status != PLIM_OK) {
        plim__free(s);
        return status;
    }
    *done = true;
    return plim__lower_emit(l, "ConvGradWeight", run, s, plim__free);
}
