/* Cases of convolutions, pools, norms, products, losses and recurrent networks. */
#ifndef PLIM_TEST_GRAD_CASES_NETWORK_H
#define PLIM_TEST_GRAD_CASES_NETWORK_H

#include "cases.h"

static void set_window(plim_graph *g, int32_t n, int64_t kernel, int64_t stride, int64_t before, int64_t after) {
    if (kernel) plim_graph_set_ints(g, n, "kernel_shape", (int64_t[]){kernel, kernel}, 2);
    plim_graph_set_ints(g, n, "strides", (int64_t[]){stride, stride}, 2);
    plim_graph_set_ints(g, n, "pads", (int64_t[]){before, before, after, after}, 4);
}

/* (N, C, H, W) of a kind; no batch for EMPTY. */
static plim_value image(plim_graph *g, enum kind kind, int64_t channels) {
    switch (kind) {
    case USUAL: return real_input(g, "x", DIMS(2, channels, 7, 9));
    case IRREGULAR: return real_input(g, "x", DIMS(1, 17, 23, 31));
    case EMPTY: return real_input(g, "x", DIMS(0, channels, 7, 9));
    default: return PLIM_NO_VALUE;
    }
}
static int64_t channels_of(enum kind kind, int64_t usual) { return kind == IRREGULAR ? 17 : usual; }

/* Plain, in groups (depthwise for IRREGULAR), with stride and uneven padding. */
static plim_value conv(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = image(g, kind, 4);
    if (x < 0) return x;
    int64_t c = channels_of(kind, 4), group = variant == 1 ? (kind == IRREGULAR ? 17 : 2) : 1;
    bool turned = strcmp(op, "ConvTranspose") == 0;
    int64_t out = variant == 1 ? c : 6;
    plim_value w =
        turned ? real_input(g, "w", DIMS(c, out / group, 3, 3)) : real_input(g, "w", DIMS(out, c / group, 3, 3));
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, w, real_input(g, "b", DIMS(out))}, 3, 1);
    set_window(g, n, 0, variant == 2 ? 2 : 1, 1, variant == 2 ? 0 : 1);
    plim_graph_set_int(g, n, "group", group);
    return plim_graph_node_output(g, n, 0);
}

static plim_value pool(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = image(g, kind, 3);
    if (x < 0) return x;
    bool maximum = strcmp(op, "MaxPool") == 0, norm = strcmp(op, "LpPool") == 0;
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, maximum && variant == 2 ? 2 : 1);
    set_window(g, n, 3, 2, variant == 1, 1);
    if (!maximum && !norm && variant == 1) plim_graph_set_int(g, n, "count_include_pad", 1);
    if (norm) plim_graph_set_int(g, n, "p", 1 + variant);
    if (maximum && variant == 2) { /* somebody reads the places too */
        plim_value places = plim_graph_node_output(g, n, 1);
        int32_t cast = plim_graph_node(g, "Cast", NULL, &places, 1, 1);
        plim_graph_set_int(g, cast, "to", PLIM_F32);
        float zero = 0;
        plim_value in[] = {plim_graph_node_output(g, cast, 0), plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &zero)};
        plim_value nothing = plim_graph_apply(g, "Min", in, 2);
        return plim_graph_apply(g, "Add", (plim_value[]){plim_graph_node_output(g, n, 0), nothing}, 2);
    }
    return plim_graph_node_output(g, n, 0);
}

static plim_value global_pool(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = image(g, kind, 3);
    (void)variant;
    return x < 0 ? x : plim__graph_apply(g, op, &x, 1);
}

/* The second variant has an output larger than what was pooled, the third a smaller one. */
static plim_value unpool(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const int64_t sizes[][4] = {{1, 1, 4, 4}, {1, 1, 5, 6}, {1, 1, 4, 4}};
    if (kind == WIDE || kind == EMPTY || (kind == IRREGULAR && variant)) return PLIM_NO_VALUE;
    int64_t places[17 * 23];
    for (int64_t i = 0; i < 17 * 23; i++) places[i] = i / 23 * 2 * 46 + i % 23 * 2;
    plim_value in[] = {
        kind == IRREGULAR ? real_input(g, "x", DIMS(1, 1, 17, 23)) : real_input(g, "x", DIMS(1, 1, 2, 2)),
        kind == IRREGULAR ? ints(g, DIMS(1, 1, 17, 23), places) : ints(g, DIMS(1, 1, 2, 2), (int64_t[]){5, 2, 8, 15}),
        list(g, 4, sizes[variant])};
    int32_t n = plim__graph_node(g, op, NULL, in, variant ? 3 : 2, 1);
    set_window(g, n, 2, 2, 0, 0);
    return plim_graph_node_output(g, n, 0);
}

/* --- norms ---------------------------------------------------------------------------------------------------- */

/* Fixed statistics, trained ones, those of the batch, those of the batch with a ReLU behind. */
static plim_value batch_norm(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = image(g, kind, 5);
    int64_t c = channels_of(kind, 5);
    float mean[17], variance[17];
    if (x < 0 || (kind == EMPTY && variant > 1)) return PLIM_NO_VALUE;
    for (int i = 0; i < 17; i++) mean[i] = 0.1f * (float)(i % 4), variance[i] = 0.5f + 0.1f * (float)(i % 5);
    plim_value in[] = {x, real_input(g, "scale", 1, &c), real_input(g, "bias", 1, &c),
                       variant == 1 ? plim_graph_parameter(g, "mean", PLIM_F32, 1, &c, mean)
                                    : plim_graph_constant(g, NULL, PLIM_F32, 1, &c, mean),
                       variant == 1 ? plim_graph_parameter(g, "variance", PLIM_F32, 1, &c, variance)
                                    : plim_graph_constant(g, NULL, PLIM_F32, 1, &c, variance)};
    int32_t n = plim__graph_node(g, op, NULL, in, 5, variant > 1 ? 3 : 1);
    plim_graph_set_int(g, n, "training_mode", variant > 1);
    plim_value y = plim_graph_node_output(g, n, 0);
    return plim_graph_apply(g, variant == 3 ? "Relu" : "Tanh", &y, 1);
}

static plim_value batch_norm_train(plim_graph *g, const char *op, enum kind kind, int variant) {
    (void)variant;
    plim_value x = image(g, kind, 5);
    int64_t c = channels_of(kind, 5);
    if (x < 0 || kind == EMPTY) return PLIM_NO_VALUE;
    plim_value in[] = {x, real_input(g, "scale", 1, &c), real_input(g, "bias", 1, &c)};
    int32_t n = plim__graph_node(g, op, NULL, in, 3, 3);
    return plim_graph_apply(g, "Tanh", (plim_value[]){plim_graph_node_output(g, n, 0)}, 1);
}

/* Without and with a bias, and with a loss that depends on mean and deviation too. */
static plim_value layer_norm(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = kind == EMPTY ? real_input(g, "x", DIMS(0, 5, 7)) : plain(g, "x", kind);
    int64_t width = kind == IRREGULAR ? 31 : 7;
    if (x < 0) return x;
    int32_t n =
        plim__graph_node(g, op, NULL, (plim_value[]){x, real_input(g, "s", 1, &width), real_input(g, "b", 1, &width)},
                         variant ? 3 : 2, variant == 2 ? 3 : 1);
    plim_value y = plim_graph_node_output(g, n, 0);
    if (variant == 0) y = plim_graph_apply(g, "Add", (plim_value[]){y, real_input(g, "r", 1, &width)}, 2);
    for (size_t i = 1; variant == 2 && i < 3; i++)
        y = plim_graph_apply(g, "Mul", (plim_value[]){y, plim_graph_node_output(g, n, i)}, 2);
    return y;
}

static plim_value channel_norm(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = image(g, kind, 6);
    int64_t c = channels_of(kind, 6);
    bool groups = strcmp(op, "GroupNormalization") == 0;
    (void)variant;
    if (x < 0) return x;
    if (groups) c = kind == IRREGULAR ? 17 : 3; /* until opset 21, a scale a group */
    plim_value in[] = {x, real_input(g, "s", 1, &c), real_input(g, "b", 1, &c)};
    int32_t n = plim__graph_node(g, op, NULL, in, 3, 1);
    if (groups) plim_graph_set_int(g, n, "num_groups", c);
    return plim_graph_node_output(g, n, 0);
}

static plim_value local_response(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = image(g, kind, 7);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, 1);
    plim_graph_set_int(g, n, "size", 3 + variant);
    plim_graph_set_float(g, n, "alpha", 0.5f);
    return plim_graph_node_output(g, n, 0);
}

static plim_value mean_variance(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = image(g, kind == EMPTY ? WIDE : kind, 3);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, 1);
    if (variant) plim_graph_set_ints(g, n, "axes", (int64_t[]){2, 3}, 2);
    return plim_graph_node_output(g, n, 0);
}

/* --- products ------------------------------------------------------------------------------------------------- */

static plim_value matmul(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const struct {
        int a_rank, b_rank;
        int64_t a[4], b[4];
    } wide[] = {{3, 2, {2, 5, 7}, {7, 3}},
                {4, 3, {4, 1, 5, 7}, {2, 7, 3}},
                {1, 3, {7}, {2, 7, 3}},
                {3, 1, {2, 5, 7}, {7}},
                {1, 1, {7}, {7}}};
    if (kind != WIDE && variant) return PLIM_NO_VALUE;
    plim_value a = PLIM_NO_VALUE, b = PLIM_NO_VALUE;
    if (kind == USUAL) a = real_input(g, "a", DIMS(2, 5, 7)), b = real_input(g, "b", DIMS(2, 7, 3));
    if (kind == IRREGULAR) a = real_input(g, "a", DIMS(17, 23)), b = real_input(g, "b", DIMS(23, 31));
    if (kind == EMPTY) a = real_input(g, "a", DIMS(0, 4)), b = real_input(g, "b", DIMS(4, 3));
    if (kind == WIDE) {
        a = real_input(g, "a", wide[variant].a_rank, wide[variant].a);
        b = real_input(g, "b", wide[variant].b_rank, wide[variant].b);
    }
    return plim__graph_apply(g, op, (plim_value[]){a, b}, 2);
}

static plim_value gemm(plim_graph *g, const char *op, enum kind kind, int variant) {
    int64_t m = kind == IRREGULAR ? 17
                : kind == EMPTY   ? 0
                                  : 5,
            k = kind == IRREGULAR ? 23 : 7, n = kind == IRREGULAR ? 31 : 3;
    bool ta = variant & 1, tb = variant & 2;
    plim_value a = ta ? real_input(g, "a", DIMS(k, m)) : real_input(g, "a", DIMS(m, k));
    plim_value b = tb ? real_input(g, "b", DIMS(n, k)) : real_input(g, "b", DIMS(k, n));
    plim_value c = kind == WIDE && ta ? real_input(g, "c", DIMS(m, 1))
                   : kind == WIDE     ? real_input(g, "c", DIMS(n))
                                      : real_input(g, "c", DIMS(m, n));
    int32_t node = plim__graph_node(g, op, NULL, (plim_value[]){a, b, c}, 3, 1);
    plim_graph_set_int(g, node, "transA", ta);
    plim_graph_set_int(g, node, "transB", tb);
    plim_graph_set_float(g, node, "alpha", 0.5f);
    plim_graph_set_float(g, node, "beta", 2);
    return plim_graph_node_output(g, node, 0);
}

/* What the fusing pass makes: every activation, with bias and residual. */
static plim_value fused(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const activations[] = {NULL, "relu", "elu", "sigmoid", "gelu_erf", "hardswish", "swish", "clip"};
    if (kind == WIDE) return PLIM_NO_VALUE;
    bool product = strcmp(op, "plimsoll::FusedGemm") == 0;
    int64_t rows = kind == IRREGULAR ? 17
                   : kind == EMPTY   ? 0
                                     : 6,
            k = kind == IRREGULAR ? 23 : 5, width = kind == IRREGULAR ? 31 : 4;
    plim_value in[] = {real_input(g, "x", DIMS(rows, k)), real_input(g, "w", DIMS(k, width)),
                       real_input(g, "b", DIMS(width)), real_input(g, "r", DIMS(rows, width))};
    int32_t n = plim__graph_node(g, op, NULL, in, product ? 3 : 4, 1);
    if (activations[variant]) plim_graph_set_string(g, n, "activation", activations[variant]);
    plim_graph_set_float(g, n, "activation_alpha", variant == 7 ? -0.5f : variant == 1 ? 0 : 1);
    plim_graph_set_float(g, n, "activation_beta", 0.5f);
    return plim_graph_node_output(g, n, 0);
}

/* Over the last axis, or the last two. */
static plim_value rms_norm(plim_graph *g, const char *op, enum kind kind, int variant) {
    int64_t rows = kind == IRREGULAR ? 17 : kind == EMPTY ? 0 : 5, width = kind == IRREGULAR ? 23 : 4;
    if (kind == WIDE) return PLIM_NO_VALUE;
    plim_value x = real_input(g, "x", DIMS(rows, 3, width)),
               scale = variant ? real_input(g, "scale", DIMS(3, width)) : real_input(g, "scale", DIMS(width));
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, scale}, 2, 1);
    plim_graph_set_int(g, n, "axis", variant ? 1 : -1);
    plim_graph_set_float(g, n, "epsilon", 1e-3f);
    return plim_graph_node_output(g, n, 0);
}

/* Alone, causal, with a constant mask, with a trained one (causal too for WIDE). */
static plim_value attention(plim_graph *g, const char *op, enum kind kind, int variant) {
    int64_t heads = 3, queries = kind == IRREGULAR ? 17 : 5, keys = kind == IRREGULAR ? 23 : 6,
            batch = kind == EMPTY ? 0 : 2;
    float numbers[17 * 23];
    for (int i = 0; i < 17 * 23; i++) numbers[i] = (float)(i * 7 % 5) * 0.3f;
    plim_value mask = PLIM_NO_VALUE;
    if (variant == 2) mask = plim_graph_constant(g, NULL, PLIM_F32, DIMS(queries, keys), numbers);
    if (variant == 3)
        mask = kind == WIDE ? real_input(g, "mask", DIMS(heads, 1, keys)) : real_input(g, "mask", DIMS(queries, keys));
    plim_value in[] = {real_input(g, "q", DIMS(batch, heads, queries, 4)),
                       real_input(g, "k", DIMS(batch, heads, 4, keys)), real_input(g, "v", DIMS(batch, heads, keys, 7)),
                       mask};
    int32_t n = plim__graph_node(g, op, NULL, in, mask < 0 ? 3 : 4, 1);
    plim_graph_set_float(g, n, "scale", 0.5f);
    plim_graph_set_int(g, n, "causal", variant == 1 || (variant == 3 && kind == WIDE));
    return plim_graph_node_output(g, n, 0);
}

/* --- losses --------------------------------------------------------------------------------------------------- */

/* Reductions, then the log-probabilities of the softmax. Ours: without and with weights of samples. */
static plim_value class_loss(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const reductions[] = {"mean", "sum", "none", "sum"};
    int64_t rows = kind == IRREGULAR ? 17 : kind == EMPTY ? 0 : 8, classes = kind == IRREGULAR ? 23 : 4, labels[17];
    bool own = strcmp(op, "plimsoll::CrossEntropy") == 0, softmax = strcmp(op, "SoftmaxCrossEntropyLoss") == 0;
    if (kind == WIDE || (kind == EMPTY && variant == 0)) return PLIM_NO_VALUE; /* the mean of nothing */
    if (own && (variant > 1 || kind == EMPTY)) return PLIM_NO_VALUE;
    if (variant == 3 && !softmax) return PLIM_NO_VALUE;
    for (int64_t i = 0; i < 17; i++) labels[i] = i == 4 ? -100 : i * 5 % classes;
    float weights[23];
    for (int i = 0; i < 23; i++) weights[i] = 0.25f + 0.1f * (float)(i % 4);
    plim_value in[] = {real_input(g, "x", DIMS(rows, classes)), ints(g, DIMS(rows), labels),
                       plim_graph_constant(g, NULL, PLIM_F32, DIMS(classes), weights),
                       own && variant ? plim_graph_constant(g, NULL, PLIM_F32, DIMS(rows), weights) : PLIM_NO_VALUE};
    int32_t n = plim__graph_node(g, op, NULL, in, own && variant ? 4 : 3, own ? 3 : variant == 3 ? 2 : 1);
    if (!own) plim_graph_set_string(g, n, "reduction", reductions[variant]);
    plim_graph_set_int(g, n, "ignore_index", -100);
    plim_value y = plim_graph_node_output(g, n, 0);
    return variant == 3 ? plim_graph_apply(g, "Mul", (plim_value[]){plim_graph_node_output(g, n, 1), y}, 2) : y;
}

/* The last linear layer inside the loss, its weights transposed or not. */
static plim_value linear_loss(plim_graph *g, const char *op, enum kind kind, int variant) {
    if (kind == WIDE || kind == EMPTY) return PLIM_NO_VALUE; /* the mean of nothing */
    int64_t rows = kind == IRREGULAR ? 17 : 8, k = kind == IRREGULAR ? 23 : 5, classes = kind == IRREGULAR ? 31 : 4,
            labels[17];
    for (int64_t i = 0; i < 17; i++) labels[i] = i == 4 ? -100 : i * 5 % classes;
    plim_value in[] = {real_input(g, "x", DIMS(rows, k)),
                       variant ? real_input(g, "w", DIMS(classes, k)) : real_input(g, "w", DIMS(k, classes)),
                       ints(g, DIMS(rows), labels), real_input(g, "b", DIMS(classes))};
    int32_t n = plim__graph_node(g, op, NULL, in, 4, 3);
    plim_graph_set_int(g, n, "transB", variant);
    plim_graph_set_int(g, n, "ignore_index", -100);
    return plim_graph_node_output(g, n, 0);
}

/* Variants: four kinds of all elements, of rows that count, and of these with weights of samples. */
static plim_value element_loss(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const kinds[] = {"bce_with_logits", "mse", "l1", "huber"};
    static float targets[17 * 23], counts[17];
    static const float weights[] = {0.5f, 2, 0};
    static const int64_t shapes[][3] = {[USUAL] = {3, 5, 7}, [IRREGULAR] = {1, 17, 23}};
    if (kind == WIDE || kind == EMPTY) return PLIM_NO_VALUE; /* the mean of nothing */
    for (int i = 0; i < 17 * 23; i++) targets[i] = (float)(i * 7 % 11) / 11;
    for (int i = 0; i < 17; i++) counts[i] = (float)(i % 3 != 0);
    plim_value in[] = {real_input(g, "x", 3, shapes[kind]),
                       plim_graph_constant(g, NULL, PLIM_F32, 3, shapes[kind], targets), PLIM_NO_VALUE,
                       plim_graph_constant(g, NULL, PLIM_F32, 2, shapes[kind], counts),
                       plim_graph_constant(g, NULL, PLIM_F32, 1, shapes[kind], weights)};
    int32_t n = plim__graph_node(g, op, NULL, in, variant < 4 ? 2 : variant < 8 ? 4 : 5, 1);
    plim_graph_set_string(g, n, "kind", kinds[variant % 4]);
    plim_graph_set_float(g, n, "delta", 0.3f);
    return plim_graph_node_output(g, n, 0);
}

/* --- recurrent ------------------------------------------------------------------------------------------------ */

static void activations(plim_graph *g, int32_t n, int each, int64_t directions, int variant) {
    static const char *const names[] = {"Sigmoid", "Softsign",    "Tanh", "Affine",   "ScaledTanh", "HardSigmoid",
                                        "Elu",     "LeakyRelu",   "Relu", "Softplus", "Sigmoid",    "ThresholdedRelu",
                                        "Tanh",    "HardSigmoid", "Tanh"};
    const char *list_of[6];
    for (int i = 0; i < each * directions; i++) list_of[i] = names[(variant * 3 + i % each) % 15];
    plim_graph_set_strings(g, n, "activations", list_of, (size_t)(each * directions));
}

/* Which row of a table is taken: some more often than others, one never, some counted from the end. */
static plim_value taken_rows(plim_graph *g, int64_t t, int64_t b) {
    int64_t rows[17 * 3];
    for (int64_t k = 0; k < 17 * 3; k++) rows[k] = k % 5 == 0 ? -1 : k * k % 3;
    return ints(g, DIMS(t, b), rows);
}

/* Variants: 0 to 2 directions; 3 batch first; 4 lengths; 5 lengths backwards; 6 clip; 7 cells or peepholes, or resets after
 * the product; 8 to 12 activations; 13 input_forget. The last states are read by every other one. */
static plim_value recurrent(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    static const int32_t lengths[] = {5, 2, 0};
    bool lstm = strstr(op, "LSTM"), gru = strstr(op, "GRU"), first = variant == 3, late = variant & 1;
    bool table = strstr(op, "Table");
    if (kind == WIDE || (kind != USUAL && variant > 2) || (variant == 13 && !lstm) || (table && first))
        return PLIM_NO_VALUE;
    int64_t t = kind == IRREGULAR ? 17 : 5, b = kind == EMPTY ? 0 : 3, i = kind == IRREGULAR ? 23 : 4,
            h = kind == IRREGULAR ? 31 : 6;
    int64_t gates = lstm ? 4 : gru ? 3 : 1;
    const char *direction = variant < 3 ? directions[variant] : directions[variant == 5 ? 1 : variant == 4 ? 0 : 2];
    int64_t d = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    plim_value in[] = {table   ? PLIM_NO_VALUE
                       : first ? real_input(g, "x", DIMS(b, t, i))
                               : real_input(g, "x", DIMS(t, b, i)),
                       table ? PLIM_NO_VALUE : real_input(g, "w", DIMS(d, gates * h, i)),
                       real_input(g, "r", DIMS(d, gates * h, h)),
                       real_input(g, "b", DIMS(d, 2 * gates * h)),
                       variant == 4 || variant == 5 ? plim_graph_constant(g, NULL, PLIM_I32, DIMS(3), lengths)
                                                    : PLIM_NO_VALUE,
                       first ? real_input(g, "h", DIMS(b, d, h)) : real_input(g, "h", DIMS(d, b, h)),
                       PLIM_NO_VALUE,
                       PLIM_NO_VALUE};
    if (table) {
        in[0] = real_input(g, "products", DIMS(4, d * gates * h));
        in[1] = taken_rows(g, t, b);
    }
    if (lstm) in[6] = first ? real_input(g, "c", DIMS(b, d, h)) : real_input(g, "c", DIMS(d, b, h));
    if (lstm && variant == 7) in[7] = real_input(g, "p", DIMS(d, 3 * h));
    int32_t n = plim__graph_node(g, op, NULL, in, lstm ? 8 : 6, lstm ? 3 : 2);
    plim_graph_set_int(g, n, "hidden_size", h);
    plim_graph_set_string(g, n, "direction", direction);
    if (first) plim_graph_set_int(g, n, "layout", 1);
    if (variant == 6) plim_graph_set_float(g, n, "clip", 0.4f);
    if (variant >= 7 && gru) plim_graph_set_int(g, n, "linear_before_reset", late);
    if (variant >= 8 && variant <= 12) activations(g, n, lstm ? 3 : gru ? 2 : 1, d, variant - 8);
    if (variant == 13) plim_graph_set_int(g, n, "input_forget", 1);
    plim_value y = plim_graph_node_output(g, n, late ? 1 : 0);
    if (late && lstm) y = plim_graph_apply(g, "Mul", (plim_value[]){y, plim_graph_node_output(g, n, 2)}, 2);
    return y;
}

/* --- products with packed weights ------------------------------------------------------------------------------ */

/* In 16 bits, as it lies and turned. */
static plim_value packed_product(plim_graph *g, const char *op, enum kind kind, int variant) {
    int64_t rows = kind == IRREGULAR ? 17 : 3, columns = kind == IRREGULAR ? 23 : 6;
    uint8_t packed[17 * 23 * 2];
    if (kind == WIDE) return PLIM_NO_VALUE;
    for (int64_t k = 0; k < rows * columns; k++) {
        float w = (float)(k * 7 % 11) / 8 - 0.5f; /* few enough bits */
        memcpy(packed + 2 * k, (const char *)&w + 2, 2);
    }
    plim_value in[] = {real_input(g, "x", DIMS(kind == EMPTY ? 0 : 4, variant ? columns : rows)),
                       plim_graph_constant(g, NULL, PLIM_U8, DIMS(2 * rows * columns), packed)};
    int32_t n = plim__graph_node(g, op, NULL, in, 2, 1);
    plim_graph_set_int(g, n, "rows", rows);
    plim_graph_set_int(g, n, "columns", columns);
    plim_graph_set_int(g, n, "transB", variant);
    plim_graph_set_string(g, n, "packing", "bf16");
    return plim_graph_node_output(g, n, 0);
}

/* --- the rest ------------------------------------------------------------------------------------------------- */

static plim_value triangle(plim_graph *g, const char *op, enum kind kind, int variant) {
    int64_t above = 1;
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, ints(g, 0, NULL, &above)}, 2, 1);
    plim_graph_set_int(g, n, "upper", variant);
    return plim_graph_node_output(g, n, 0);
}

static plim_value determinant(plim_graph *g, const char *op, enum kind kind, int variant) {
    float flat[] = {1, 2, 3, 2, 4, 6, 0, 1, 5}; /* has no inverse */
    if (kind == WIDE || (variant && kind != USUAL)) return PLIM_NO_VALUE;
    plim_value x = variant             ? plim_graph_parameter(g, "x", PLIM_F32, DIMS(3, 3), flat)
                   : kind == IRREGULAR ? real_input(g, "x", DIMS(17, 5, 5))
                   : kind == EMPTY     ? real_input(g, "x", DIMS(0, 3, 3))
                                       : real_input(g, "x", DIMS(2, 4, 4));
    return plim__graph_apply(g, op, &x, 1);
}

static plim_value ones_like(plim_graph *g, const char *op, enum kind kind, int variant) {
    (void)variant;
    if (kind == WIDE) return PLIM_NO_VALUE;
    plim_value x = kind == IRREGULAR ? real_input(g, "x", DIMS(17, 23)) : real_input(g, "x", DIMS(kind ? 0 : 3, 4));
    return plim_graph_apply(g, "Add", (plim_value[]){plim__graph_apply(g, op, &x, 1), x}, 2);
}

/* Modes × paddings × corners; the grid reaches beyond the image. */
static plim_value grid_sample(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const modes[] = {"linear", "cubic", "nearest"}, *const paddings[] = {"zeros", "border",
                                                                                            "reflection"};
    if (kind == WIDE || (kind == IRREGULAR && variant > 2)) return PLIM_NO_VALUE;
    int64_t n = kind == EMPTY ? 0 : 2;
    plim_value in[] = {
        kind == IRREGULAR ? real_input(g, "x", DIMS(1, 17, 23, 31)) : real_input(g, "x", DIMS(n, 3, 5, 6)),
        kind == IRREGULAR ? real_input(g, "grid", DIMS(1, 5, 3, 2)) : real_input(g, "grid", DIMS(n, 4, 3, 2))};
    if (variant == 18) { /* three axes */
        in[0] = real_input(g, "y", DIMS(n, 2, 3, 4, 5));
        in[1] = real_input(g, "places", DIMS(n, 2, 3, 2, 3));
    }
    int32_t node = plim__graph_node(g, op, NULL, in, 2, 1);
    plim_graph_set_string(g, node, "mode", variant == 18 ? "linear" : modes[variant / 6]);
    plim_graph_set_string(g, node, "padding_mode", paddings[variant / 2 % 3]);
    plim_graph_set_int(g, node, "align_corners", variant & 1);
    return plim_graph_node_output(g, node, 0);
}

static plim_value affine_grid(plim_graph *g, const char *op, enum kind kind, int variant) {
    if (kind == WIDE) return PLIM_NO_VALUE;
    bool deep = variant > 1;
    int64_t n = kind == EMPTY ? 0 : 2,
            size[] = {n, 1, kind == IRREGULAR ? 17 : 3, kind == IRREGULAR ? 23 : 4, kind == IRREGULAR ? 31 : 2};
    plim_value theta = deep ? real_input(g, "theta", DIMS(n, 3, 4)) : real_input(g, "theta", DIMS(n, 2, 3));
    int32_t node = plim__graph_node(g, op, NULL, (plim_value[]){theta, list(g, deep ? 5 : 4, size)}, 2, 1);
    plim_graph_set_int(g, node, "align_corners", variant & 1);
    return plim_graph_node_output(g, node, 0);
}

/* Windows that overlap, windows with gaps and padding. */
static plim_value col2im(plim_graph *g, const char *op, enum kind kind, int variant) {
    if (kind == WIDE) return PLIM_NO_VALUE;
    int64_t n = kind == EMPTY ? 0 : 2, high = kind == IRREGULAR ? 23 : 5, wide = kind == IRREGULAR ? 31 : 6;
    int64_t pad = variant, stride = 1 + variant, rows = (high + 2 * pad - 2) / stride + 1,
            columns = (wide + 2 * pad - 3) / stride + 1;
    plim_value x = real_input(g, "x", DIMS(n, 2 * 6, rows * columns));
    plim_value in[] = {x, list(g, 2, (int64_t[]){high, wide}), list(g, 2, (int64_t[]){2, 3})};
    int32_t node = plim__graph_node(g, op, NULL, in, 3, 1);
    plim_graph_set_ints(g, node, "strides", (int64_t[]){stride, stride}, 2);
    plim_graph_set_ints(g, node, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
    return plim_graph_node_output(g, node, 0);
}

#endif
