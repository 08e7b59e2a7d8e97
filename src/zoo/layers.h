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

typedef enum plim__distribution {
    PLIM__ZERO,
    PLIM__ONE,
    PLIM__UNIFORM, /* in ±scale */
    PLIM__NORMAL,  /* deviation scale */
} plim__distribution;

typedef struct plim__init {
    plim__distribution distribution;
    double scale;
} plim__init;

#define PLIM__INIT_ZERO         ((plim__init){PLIM__ZERO, 0})
#define PLIM__INIT_ONE          ((plim__init){PLIM__ONE, 0})
#define PLIM__INIT_UNIFORM(...) ((plim__init){PLIM__UNIFORM, __VA_ARGS__})
#define PLIM__INIT_NORMAL(...)  ((plim__init){PLIM__NORMAL, __VA_ARGS__})

/* A size that was asked for, or the model's own. */
static inline int64_t plim__size_or(int64_t given, int64_t standard) { return given ? given : standard; }

plim_value plim__make_weight(plim__maker *m, const char *prefix, const char *name, int rank, const int64_t *dims,
                             plim__init init);

typedef struct plim__conv {
    int64_t in, out, kernel, stride, pad, group; /* 0: stride 1, group 1 */
    int bias;
    int fan_out; /* kaiming_normal with fan_out, as torchvision's residual nets; otherwise Conv2d's default */
} plim__conv;

plim_value plim__make_conv(plim__maker *m, plim_value x, const char *name, plim__conv c);
/* With a bias; uses in, out, kernel and stride. */
plim_value plim__make_conv_transpose(plim__maker *m, plim_value x, const char *name, plim__conv c);
plim_value plim__make_batch_norm(plim__maker *m, plim_value x, const char *name, int64_t channels);
plim_value plim__make_relu(plim__maker *m, plim_value x);
plim_value plim__make_relu6(plim__maker *m, plim_value x);
plim_value plim__make_max_pool(plim__maker *m, plim_value x, int64_t kernel, int64_t stride, int64_t pad);
/* nn.Linear on (N, in): weight (out, in), bias (out). */
plim_value plim__make_linear(plim__maker *m, plim_value x, const char *name, int64_t in, int64_t out);
typedef struct plim__dense {
    int64_t in, out;
    double deviation;
    int bias;
} plim__dense;

/* On (..., in): weight (in, out) drawn with `deviation`; a bias of zeros. */
plim_value plim__make_projection(plim__maker *m, plim_value x, const char *name, int64_t in, int64_t out,
                                 double deviation);
/* nn.Linear on (..., in): weight (out, in) drawn with `deviation`; without a bias, or with one of zeros. */
plim_value plim__make_dense(plim__maker *m, plim_value x, const char *name, plim__dense d);
plim_value plim__make_layer_norm(plim__maker *m, plim_value x, const char *name, int64_t width, float epsilon);
plim_value plim__make_gelu(plim__maker *m, plim_value x, int tanh_form);

/* What the blocks of a transformer have in common. */
typedef struct plim__transformer {
    int64_t seq, width, heads;
    plim_value visible; /* broadcasts to (N, heads, T, T): true where a token attends; or PLIM_NO_VALUE */
    int tanh_gelu;
    float epsilon;
    double out_deviation; /* of projections back into the residual stream */
} plim__transformer;

/* Queries, keys and values (N, T, heads, size) to what the tokens attend to, (N, T, width). */
plim_value plim__make_heads(plim__maker *m, const plim_value parts[3], const plim__transformer *t);
/* (1, 1, T, T): true where a token of a language model attends. */
plim_value plim__make_causal_mask(plim__maker *m, int64_t seq);
/* (N, T, width) to itself: heads, softmax, projection. */
plim_value plim__make_attention(plim__maker *m, plim_value x, const char *name, const plim__transformer *t);

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
