/* Transposed convolutions whose windows do not overlap (kernel = stride, as in networks that go up again by 2): every
 * input pixel makes a block of output pixels of its own. A convolution of 1 x 1 with a channel for each place in the
 * block does the arithmetic, and its channels are laid out to where they belong, the bias added on the way.
 *
 *   x (N, C, H, W)  ->  1 x 1, places x O channels, a few samples at a time  ->  y (N, O, H kh, W kw)
 *
 * oneDNN's own primitive for these takes three times as long, and as much scratch memory as y again. */
#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"
#include "kernel/forward/conv.h"
#include "kernel/onednn.h"

#define MOST_BLOCK  16
#define PIECE_BYTES ((int64_t)8 << 20) /* of channels between the two, at a time */

struct upsample {
    plim__rearrangement product; /* in: x, weights   out: channels of all places */
    int64_t samples, piece;      /* of the batch; at a time */
    int64_t height, width, outputs, blocks, block, rows, columns;
    int64_t x_bytes, between; /* of a sample of x; bytes from one part of the scratch memory to the other */
    bool bias;
};

static void release(void *state) {
    struct upsample *s = state;
    if (s->product.release) s->product.release(s->product.state);
    plim__free(s);
}

/* One row of output pixels of one block of channels. */
static inline void lay_out_row(const struct upsample *s, float *y, const float *places, int64_t apart,
                               const float *bias, int64_t block) {
    for (int64_t j = 0; j < s->columns; j++) {
        const float *from = places + j * apart;
        float *to = y + j * block;
        for (int64_t w = 0; w < s->width; w++)
            for (int64_t c = 0; c < block; c++) to[w * s->columns * block + c] = from[w * block + c] + bias[c];
    }
}

static void lay_out(const struct upsample *s, float *y, const float *channels, const float *bias) {
    int64_t plane = s->height * s->width * s->block, apart = s->blocks * plane;
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < s->piece * s->blocks; b++)
        for (int64_t h = 0; h < s->height; h++)
            for (int64_t i = 0; i < s->rows; i++) {
                int64_t sample = b / s->blocks, o = b % s->blocks;
                const float *from = channels + (sample * s->rows * s->columns + i * s->columns) * apart + o * plane +
                                    h * s->width * s->block;
                float *to = y + ((b * s->height + h) * s->rows + i) * s->width * s->columns * s->block;
                float add[MOST_BLOCK] = {0};
                int64_t left = s->outputs - o * s->block;
                if (s->bias)
                    memcpy(add, bias + o * s->block, (size_t)(left < s->block ? left : s->block) * sizeof *add);
                if (s->block == 8)
                    lay_out_row(s, to, from, apart, add, 8);
                else
                    lay_out_row(s, to, from, apart, add, 16);
            }
}

static plim_status run(const plim__call *call) {
    const struct upsample *s = call->state;
    float *channels = call->scratch;
    int64_t y_floats = s->blocks * s->block * s->height * s->rows * s->width * s->columns;
    for (int64_t n = 0; n < s->samples; n += s->piece) {
        void *in[] = {(char *)call->in[0] + n * s->x_bytes, call->in[1]}, *out[] = {channels};
        plim__call product = {.state = s->product.state,
                              .in = in,
                              .out = out,
                              .scratch = (char *)call->scratch + s->between,
                              .error = call->error};
        PLIM_TRY(s->product.run(&product));
        lay_out(s, (float *)call->out[0] + n * y_floats, channels, s->bias ? call->in[2] : NULL);
    }
    return PLIM_OK;
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

static bool fits(const plim__conv_geometry *g) {
    if (g->rank != 4 || g->weight_rank != 4 || g->x[0] < 1) return false;
    for (int i = 0; i < 2; i++)
        if (g->w[i + 2] != g->stride[i] || g->before[i] || g->after[i] || (g->dilation[i] && g->stride[i] > 1))
            return false;
    return g->stride[0] * g->stride[1] > 1;
}

struct layouts {
    int64_t piece, block; /* samples at a time, channels in a block */
    dnnl_memory_desc_t x, piece_x, w, product_w, channels, y;
};

/* Channels as their blocks have them; 0 where more than an eighth of that would be padding. */
static int64_t in_blocks(int64_t channels, int64_t block) {
    int64_t padded = (channels + block - 1) / block * block;
    return (padded - channels) * 8 <= padded ? padded : 0;
}

static bool make_layouts(const plim__conv_geometry *g, struct layouts *m) {
    int64_t piece = m->piece, block = m->block;
    int64_t places = g->stride[0] * g->stride[1], o = in_blocks(g->y[1], block), c = in_blocks(g->x[1], block);
    dnnl_format_tag_t image = block == 8 ? dnnl_nChw8c : dnnl_nChw16c,
                      plain = block == 8 ? dnnl_OIhw8i8o : dnnl_OIhw16i16o,
                      grouped = block == 8 ? dnnl_gOIw8i8o : dnnl_gOIw16i16o;
    if (!o || !c) return false;
    dnnl_dims_t piece_x = {piece, c, g->x[2], g->x[3]}, channels = {piece, places * o, g->x[2], g->x[3]};
    return dnnl_memory_desc_init_by_tag(&m->x, 4, g->x, dnnl_f32, image) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(&m->piece_x, 4, piece_x, dnnl_f32, image) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(&m->w, 4, (dnnl_dims_t){places, g->y[1], g->x[1], 1}, dnnl_f32, grouped) ==
               dnnl_success &&
           dnnl_memory_desc_init_by_tag(&m->product_w, 4, (dnnl_dims_t){places * o, c, 1, 1}, dnnl_f32, plain) ==
               dnnl_success &&
           dnnl_memory_desc_init_by_tag(&m->channels, 4, channels, dnnl_f32, image) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(&m->y, 4, g->y, dnnl_f32, image) == dnnl_success;
}

/* A fast convolution for these layouts; false when there is none. */
static bool describe(plim__lower *l, const struct layouts *m, dnnl_primitive_desc_t *pd) {
    dnnl_convolution_desc_t desc;
    dnnl_primitive_attr_t attr;
    if (plim__lower_attr(l, &attr) != PLIM_OK) return false;
    dnnl_status_t status = dnnl_convolution_forward_desc_init(
        &desc, dnnl_forward_inference, dnnl_convolution_direct, &m->piece_x, &m->product_w, NULL, &m->channels,
        (dnnl_dims_t){1, 1}, (dnnl_dims_t){0, 0}, (dnnl_dims_t){0, 0});
    if (status == dnnl_success) status = dnnl_primitive_desc_create(pd, &desc, attr, plim__lower_dnnl_engine(l), NULL);
    dnnl_primitive_attr_destroy(attr);
    if (status != dnnl_success) return false;
    const char *name = "";
    dnnl_primitive_desc_query(*pd, dnnl_query_impl_info_str, 0, &name);
    if (strncmp(name, "jit", 3) == 0) return true;
    dnnl_primitive_desc_destroy(*pd);
    return false;
}

static int64_t samples_at_a_time(const plim__conv_geometry *g) {
    int64_t bytes = g->y[1] * g->y[2] * g->y[3] * (int64_t)sizeof(float), piece = 1;
    for (int64_t n = 1; n <= g->x[0]; n++)
        if (g->x[0] % n == 0 && n * bytes <= PIECE_BYTES) piece = n;
    return piece;
}

static plim_status connect(plim__lower *l, const plim__conv_geometry *g, const struct layouts *m, bool bias) {
    int64_t places = g->stride[0] * g->stride[1];
    dnnl_memory_desc_t seen; /* (C, O, places) in memory */
    dnnl_memory_desc_init_by_strides(&seen, 4, (dnnl_dims_t){places, g->y[1], g->x[1], 1}, dnnl_f32,
                                     (dnnl_dims_t){1, places, g->y[1] * places, 1});
    PLIM_TRY(plim__lower_input_md(l, 0, &m->x));
    PLIM_TRY(plim__lower_input_seen(l, 1, &seen, &m->w));
    if (bias) PLIM_TRY(plim__lower_input(l, 2, PLIM__DENSE, NULL));
    return plim__lower_output_md(l, 0, &m->y);
}

static plim_status make(plim__lower *l, const plim__conv_geometry *g, const struct layouts *m, dnnl_primitive_desc_t pd,
                        struct upsample **out) {
    struct upsample *s = NULL;
    plim_status status = plim__lower_state(l, sizeof *s, &s);
    if (status != PLIM_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    *s = (struct upsample){.samples = g->x[0],
                           .piece = m->piece,
                           .height = g->x[2],
                           .width = g->x[3],
                           .outputs = g->y[1],
                           .blocks = in_blocks(g->y[1], m->block) / m->block,
                           .block = m->block,
                           .rows = g->stride[0],
                           .columns = g->stride[1],
                           .x_bytes = (int64_t)dnnl_memory_desc_get_size(&m->piece_x) / m->piece,
                           .between = ((int64_t)dnnl_memory_desc_get_size(&m->channels) + 63) / 64 * 64,
                           .bias = plim__lower_has_input(l, 2)};
    plim__argument arguments[] = {
        {DNNL_ARG_SRC, m->piece_x, 0}, {DNNL_ARG_WEIGHTS, m->product_w, 1}, {DNNL_ARG_DST, m->channels, PLIM__OUT(0)}};
    status = plim__primitive_create(l, pd, arguments, 3, &s->product);
    if (status == PLIM_OK) status = plim__lower_scratch(l, (size_t)s->between + s->product.scratch);
    if (status != PLIM_OK) {
        release(s);
        return status;
    }
    *out = s;
    return PLIM_OK;
}

plim_status plim__lower_upsample(plim__lower *l, const plim__conv_geometry *g, bool *done) {
    struct layouts m;
    dnnl_primitive_desc_t pd;
    struct upsample *s;
    m.piece = samples_at_a_time(g);
    m.block = MOST_BLOCK;
    *done = false;
    if (!fits(g)) return PLIM_OK;
    while (m.block >= 8 && !(make_layouts(g, &m) && describe(l, &m, &pd))) m.block /= 2;
    if (m.block < 8) return PLIM_OK;
    PLIM_TRY(make(l, g, &m, pd, &s));
    plim_status status = connect(l, g, &m, s->bias);
    if (status != PLIM_OK) {
        release(s);
        return status;
    }
    *done = true;
    return plim__lower_emit(l, "ConvTranspose", run, s, release);
}
