/* Layers: nodes with their weights, initialised as PyTorch's modules are. Names follow PyTorch's too, so
 * that weights can be carried over. */
#ifndef PLIM_ZOO_LAYERS_H
#define PLIM_ZOO_LAYERS_H

#include "plimsoll/graph.h"
#include "plimsoll/zoo.h"

typedef struct plim__maker {
    plim_graph *g;
    uint64_t seed;
    uint64_t drawn; /* tensors so far: each has a random stream of its own */
    plim_zoo_options o;
} plim__maker;

typedef enum plim__init {
    PLIM__INIT_ZERO,
    PLIM__INIT_ONE,
    PLIM__INIT_UNIFORM, /* in ±scale */
    PLIM__INIT_NORMAL,  /* deviation scale */
} plim__init;

plim_value plim__make_weight(plim__maker *m, const char *prefix, const char *name, int rank, const int64_t *dims,
                             plim__init init, double scale);

typedef struct plim__conv {
    int64_t in, out, kernel, stride, pad, group; /* 0: stride 1, group 1 */
    int bias;
    int fan_out; /* kaiming_normal with fan_out, as torchvision's residual nets; otherwise Conv2d's default */
} plim__conv;

plim_value plim__make_conv(plim__maker *m, plim_value x, const char *name, plim__conv c);
plim_value plim__make_conv_transpose(plim__maker *m, plim_value x, const char *name, int64_t in, int64_t out,
                                     int64_t kernel, int64_t stride);
plim_value plim__make_batch_norm(plim__maker *m, plim_value x, const char *name, int64_t channels);
plim_value plim__make_relu(plim__maker *m, plim_value x);
plim_value plim__make_relu6(plim__maker *m, plim_value x);
plim_value plim__make_max_pool(plim__maker *m, plim_value x, int64_t kernel, int64_t stride, int64_t pad);
/* nn.Linear on (N, in): weight (out, in), bias (out). */
plim_value plim__make_linear(plim__maker *m, plim_value x, const char *name, int64_t in, int64_t out);
/* On (..., in): weight (in, out) drawn with `init`; a bias of zeros. */
plim_value plim__make_projection(plim__maker *m, plim_value x, const char *name, int64_t in, int64_t out,
                                 double deviation);
plim_value plim__make_layer_norm(plim__maker *m, plim_value x, const char *name, int64_t width, float epsilon);
plim_value plim__make_gelu(plim__maker *m, plim_value x, int tanh_form);
/* (N, T, width) to itself: heads, softmax, projection; causal for language models. */
plim_value plim__make_attention(plim__maker *m, plim_value x, const char *name, int64_t seq, int64_t width,
                                int64_t heads, plim_value causal, double out_deviation);

/* Small things. */
plim_value plim__make_add(plim__maker *m, plim_value a, plim_value b);
plim_value plim__make_reshape(plim__maker *m, plim_value x, int rank,
                              const int64_t *dims); /* 0 keeps a size, -1 is the rest */
plim_value plim__make_transpose(plim__maker *m, plim_value x, int rank, const int64_t *order);
plim_value plim__make_flatten(plim__maker *m, plim_value x);
plim_value plim__make_scalar(plim__maker *m, float value);
plim_value plim__make_ints(plim__maker *m, const int64_t *values, int64_t count);
plim_value plim__make_apply(plim__maker *m, const char *op, plim_value a, plim_value b); /* b may be PLIM_NO_VALUE */

#endif
