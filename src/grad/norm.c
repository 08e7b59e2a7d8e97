/* Gradients of normalisations, attention and dropout. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "grad/gradient.h"

/* dx, dscale, dbias from one node; inputs 0, 1 and 2 of the differentiated one are x, scale and bias. */
static plim_status three(plim__gradient *d, const char *op, const plim_value *inputs, size_t count) {
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, op, inputs, count, 3);
    plim__gradient_copy_attributes(d, node);
    plim_value dx = plim__gradient_end(d, node);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    PLIM_TRY(plim__gradient_set(d, 0, dx));
    PLIM_TRY(plim__gradient_set(d, 1, plim_graph_node_output(d->graph, node, 1)));
    return plim__gradient_set(d, 2, plim_graph_node_output(d->graph, node, 2));
}

/* --- batch norm ----------------------------------------------------------------------------------------------- */

/* A node whose output is a value that exists already. */
static void produce(plim_graph *g, const char *op, plim_value a, plim_value b, plim_value y) {
    int32_t node = plim__graph_add_node(g, "", op, NULL, PLIM__GRADIENT_OPSET);
    plim__node_add_input(g, node, a);
    plim__node_add_input(g, node, b);
    plim__node_add_output(g, node, y);
}

plim_value plim__running_root(const plim_graph *g, plim_value v) {
    while (v >= 0 && g->values.items[v].producer >= 0) {
        const plim__node *node = &g->nodes.items[g->values.items[v].producer];
        bool norm = !*node->domain && strcmp(node->op_name, "BatchNormalization") == 0;
        if (*node->domain || (!norm && strcmp(node->op_name, "Identity") != 0)) break;
        if (norm && v != plim__node_out(node, 1) && v != plim__node_out(node, 2)) break;
        v = plim__node_in(node, !norm ? 0 : v == plim__node_out(node, 1) ? 3 : 4);
    }
    return v;
}

static plim_value scaled(plim_graph *g, plim_value x, double factor) {
    if (x < 0) return x;
    float number = (float)factor;
    plim_value constant = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &number);
    plim__shape shape = {.rank = 1, .dims = {plim__shape_elements(&g->values.items[x].shape)}};
    plim_value y = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_F32, &shape);
    produce(g, "Mul", x, constant, y);
    return y;
}

/* PyTorch's running variance is the unbiased one, that of Keras 3 the population's; Keras calls it moving_variance. */
static double variance_correction(const plim_graph *g, plim_value statistic, double count) {
    const char *name = g->values.items[statistic].name;
    if (name && strstr(name, "moving_variance")) return 1; /* with .next behind it where the layer is called again */
    return count > 1 ? count / (count - 1) : 1;
}

/* running' = momentum · running + (1 - momentum) · batch. */
static void running(plim_graph *g, plim_value old, plim_value batch, double momentum, double correction,
                    plim_value to) {
    if (to < 0) return;
    produce(g, "Add", scaled(g, old, momentum), scaled(g, batch, (1 - momentum) * correction), to);
}

/* A number that is known, an attribute in older opsets and an input in newer ones; `missing` when there is none, false
 * when it is computed. */
static bool known_bound(const plim_graph *g, const plim__node *node, size_t input, const char *name, float missing,
                        float *bound) {
    *bound = plim__node_float(node, name, missing);
    plim_value v = plim__node_in(node, input);
    if (v < 0) return true;
    plim__tensor *tensor = plim__graph_constant_tensor(g, v);
    if (!tensor || plim__shape_elements(&tensor->shape) != 1 || plim__tensor_load(tensor, NULL) != PLIM_OK)
        return false;
    *bound = (float)plim__tensor_at(tensor, 0);
    return true;
}

/* ReLU, or a Clip that leaves 0 as it is: padding of blocked layouts stays 0. */
static bool clips(const plim_graph *g, const plim__node *node, float *low, float *high) {
    *low = 0;
    *high = INFINITY;
    if (node->dead || *node->domain) return false;
    if (strcmp(node->op_name, "Relu") == 0) return true;
    return strcmp(node->op_name, "Clip") == 0 && known_bound(g, node, 1, "min", -INFINITY, low) &&
           known_bound(g, node, 2, "max", INFINITY, high) && *low <= 0 && *high >= 0;
}

/* A batch norm takes the ReLU or Clip that alone reads it along: one pass less forward, one less backward, and nothing
 * but its input is saved. */
static void take_activation(plim_graph *g, int32_t n) {
    plim_value y = plim__node_out(&g->nodes.items[n], 0);
    int32_t user = plim__graph_only_user(g, y);
    float low, high;
    if (user < 0 || !clips(g, &g->nodes.items[user], &low, &high)) return;
    plim_graph_set_float(g, n, "low", low);
    plim_graph_set_float(g, n, "high", high);
    plim_value z = g->nodes.items[user].outputs.items[0];
    g->nodes.items[n].outputs.items[0] = z;
    g->values.items[z].producer = n;
    g->values.items[y].producer = -1;
    g->nodes.items[user].dead = true;
}

static plim_status train_batch_norm(plim_graph *g, int32_t n, plim_error *error) {
    plim_value in[5], out[3] = {plim__node_out(&g->nodes.items[n], 0), plim__node_out(&g->nodes.items[n], 1),
                                plim__node_out(&g->nodes.items[n], 2)};
    memcpy(in, g->nodes.items[n].inputs.items, sizeof in);
    plim__shape x = g->values.items[in[0]].shape, channel = {.rank = 1, .dims = {x.rank > 1 ? x.dims[1] : 1}};
    double momentum = (double)plim__node_float(&g->nodes.items[n], "momentum", 0.9f);
    double count = x.rank > 1 && x.dims[1] > 0 ? (double)plim__shape_elements(&x) / (double)x.dims[1] : 1;
    plim_value mean = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_F32, &channel);
    plim_value variance = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_F32, &channel);
    PLIM_TRY(plim_graph_status(g, error));
    char *name = plim__strdup("BatchNormTrain"), *domain = plim__strdup(PLIM__DOMAIN);
    if (!name || !domain) {
        plim__free(name);
        plim__free(domain);
        return plim__fail_memory(error, "a graph", sizeof in);
    }
    plim__node *node = &g->nodes.items[n];
    plim__free(node->op_name);
    plim__free(node->domain);
    node->op_name = name;
    node->domain = domain;
    node->version = 1;
    node->op = plim__op_find(PLIM__DOMAIN, "BatchNormTrain", 1);
    node->inputs.count = 3;
    node->outputs.count = 1;
    plim__node_add_output(g, n, mean);
    plim__node_add_output(g, n, variance);
    running(g, in[3], mean, momentum, 1, out[1]);
    running(g, in[4], variance, momentum, variance_correction(g, in[4], count), out[2]);
    if (g->failure.status == PLIM_OK) take_activation(g, n);
    return plim_graph_status(g, error);
}

static bool is_batch_norm(const plim__node *node) {
    return !node->dead && !*node->domain && strcmp(node->op_name, "BatchNormalization") == 0 && node->inputs.count == 5;
}

/* Batch norms of one layer that is called several times follow each other: each moves what the one before it left. */
static void follow_earlier(plim_graph *g, int32_t n, size_t i) {
    plim_value root = plim__running_root(g, plim__node_in(&g->nodes.items[n], i)), latest = root;
    if (root < 0) return;
    for (int32_t m = 0; m < n; m++) {
        plim_value next = plim__node_out(&g->nodes.items[m], i - 2);
        if (is_batch_norm(&g->nodes.items[m]) && next >= 0 &&
            plim__running_root(g, plim__node_in(&g->nodes.items[m], i)) == root)
            latest = next;
    }
    plim__node_set_input(g, n, i, latest);
}

/* The running statistic of input i comes out as output i - 2, under the input's name with ".next". */
static void add_running(plim_graph *g, int32_t n, size_t i) {
    plim_value from = plim__node_in(&g->nodes.items[n], i);
    if (plim__node_out(&g->nodes.items[n], i - 2) >= 0 || from < 0) return;
    char name[256];
    int length = snprintf(name, sizeof name, "%s.next", g->values.items[from].name);
    bool usable = length > 0 && (size_t)length < sizeof name && plim__map_get(&g->names, name, -1) < 0;
    plim__shape shape = g->values.items[from].shape;
    plim_value to =
        plim__graph_add_value(g, usable ? name : NULL, PLIM__VALUE_NODE, g->values.items[from].dtype, &shape);
    if (g->nodes.items[n].outputs.count < i - 1)
        plim__node_add_output(g, n, to);
    else if (to >= 0) {
        g->nodes.items[n].outputs.items[i - 2] = to;
        g->values.items[to].producer = n;
    }
}

plim_status plim__batch_norms_to_training_mode(plim_graph *g, plim_error *error) {
    size_t count = g->nodes.count;
    for (size_t n = 0; n < count; n++) {
        if (!is_batch_norm(&g->nodes.items[n])) continue;
        plim_graph_set_int(g, (int32_t)n, "training_mode", 1);
        for (size_t i = 3; i < 5; i++) {
            follow_earlier(g, (int32_t)n, i);
            add_running(g, (int32_t)n, i);
        }
    }
    return plim_graph_status(g, error);
}

plim_status plim__batch_norms_train(plim_graph *g, plim_error *error) {
    size_t count = g->nodes.count;
    for (size_t n = 0; n < count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || *node->domain || strcmp(node->op_name, "BatchNormalization") != 0 ||
            !plim__node_int(node, "training_mode", 0))
            continue;
        PLIM_TRY(train_batch_norm(g, (int32_t)n, error));
    }
    return plim__ops_resolve(g, error);
}

plim_status plim__gradient_batch_norm_train(plim__gradient *d) {
    if (plim__gradient_of_output(d, 0) < 0) return PLIM_OK;
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 0),  plim__gradient_input(d, 1),
                           plim__gradient_output(d, 1),    plim__gradient_output(d, 2), plim__gradient_input(d, 2)};
    bool clipped = plim__node_attribute(plim__gradient_self(d), "low") != NULL;
    return three(d, "BatchNormGrad", inputs, clipped ? 6 : 5);
}

/* Statistics that are computed or trained: dmean = -scale · sum(dy) / deviation, dvariance = -scale · sum(dy · (x - mean))
 * / (2 deviation³). */
static plim_status fixed_statistics(plim__gradient *d, plim_value ratio, plim_value total, plim_value deviation) {
    plim_value scale = plim__gradient_input(d, 1);
    if (plim__gradient_wanted(d, 3)) {
        plim_value share = plim__gradient_two(d, "Div", plim__gradient_two(d, "Mul", total, scale), deviation);
        PLIM_TRY(plim__gradient_set(d, 3, plim__gradient_one(d, "Neg", share)));
    }
    if (!plim__gradient_wanted(d, 4)) return PLIM_OK;
    plim_value variance = plim__gradient_two(d, "Mul", deviation, deviation);
    plim_value share = plim__gradient_two(d, "Div", plim__gradient_two(d, "Mul", ratio, scale), variance);
    return plim__gradient_set(d, 4, plim__gradient_scale(d, share, -0.5));
}

/* With fixed statistics it is a scale and a shift for each channel. */
plim_status plim__gradient_batch_norm(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0), x = plim__gradient_input(d, 0);
    plim__shape shape = plim__gradient_shape(d, x),
                channel = {.rank = shape.rank > 1 ? shape.rank - 1 : 1, .dims = {0}};
    for (int i = 0; i < channel.rank; i++) channel.dims[i] = i == 0 ? (shape.rank > 1 ? shape.dims[1] : 1) : 1;
    bool axes[PLIM_MAX_RANK];
    for (int i = 0; i < PLIM_MAX_RANK; i++) axes[i] = shape.rank < 2 || i != 1;
    plim_value epsilon =
        plim__gradient_scalar(d, PLIM_F32, (double)plim__node_float(plim__gradient_self(d), "epsilon", 1e-5f));
    plim_value deviation =
        plim__gradient_one(d, "Sqrt", plim__gradient_two(d, "Add", plim__gradient_input(d, 4), epsilon));
    plim__shape own = plim__gradient_shape(d, plim__gradient_input(d, 1));
    if (plim__gradient_wanted(d, 0)) {
        plim_value factor =
            plim__gradient_reshape(d, plim__gradient_two(d, "Div", plim__gradient_input(d, 1), deviation), &channel);
        PLIM_TRY(plim__gradient_set(d, 0, plim__gradient_two(d, "Mul", dy, factor)));
    }
    plim_value ratio = PLIM_NO_VALUE, total = PLIM_NO_VALUE; /* sums of dy (x - mean) / deviation, and of dy */
    if (plim__gradient_wanted(d, 1) || plim__gradient_wanted(d, 4)) {
        plim_value mean = plim__gradient_reshape(d, plim__gradient_input(d, 3), &channel);
        plim_value sum =
            plim__gradient_sum(d, plim__gradient_two(d, "Mul", dy, plim__gradient_two(d, "Sub", x, mean)), axes, false);
        ratio = plim__gradient_two(d, "Div", plim__gradient_reshape(d, sum, &own), deviation);
        PLIM_TRY(plim__gradient_set(d, 1, ratio));
    }
    if (plim__gradient_wanted(d, 2) || plim__gradient_wanted(d, 3)) {
        total = plim__gradient_reshape(d, plim__gradient_sum(d, dy, axes, false), &own);
        PLIM_TRY(plim__gradient_set(d, 2, total));
    }
    return fixed_statistics(d, ratio, total, deviation);
}

/* --- the other norms ------------------------------------------------------------------------------------------ */

/* Mean m and inverse deviation v as outputs: dx = dm / n - dv · v³ · (x - m) / n. */
static plim_status through_statistics(plim__gradient *d) {
    plim_value x = plim__gradient_input(d, 0), m = plim__gradient_output(d, 1), v = plim__gradient_output(d, 2);
    plim_value dm = plim__gradient_of_output(d, 1), dv = plim__gradient_of_output(d, 2);
    plim__shape shape = plim__gradient_shape(d, x);
    int axis = 0;
    plim__axis_normalize(plim__node_int(plim__gradient_self(d), "axis", -1), shape.rank, &axis);
    double count = (double)plim__shape_product(&shape, axis, shape.rank), share = count > 0 ? 1 / count : 0;
    if (dm >= 0)
        PLIM_TRY(plim__gradient_set(d, 0, plim__gradient_expand(d, plim__gradient_scale(d, dm, share), &shape)));
    if (dv < 0) return PLIM_OK;
    plim_value cube = plim__gradient_two(d, "Mul", v, plim__gradient_two(d, "Mul", v, v));
    plim_value factor = plim__gradient_scale(d, plim__gradient_two(d, "Mul", dv, cube), -share);
    return plim__gradient_set(d, 0, plim__gradient_two(d, "Mul", factor, plim__gradient_two(d, "Sub", x, m)));
}

/* Somebody reads mean or inverse deviation: the variance comes from the latter. */
static plim_status layer_norm_with_statistics(plim__gradient *d) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    int axis = 0;
    plim__axis_normalize(plim__node_int(plim__gradient_self(d), "axis", -1), shape.rank, &axis);
    for (int i = axis; i < shape.rank; i++) shape.dims[i] = 1;
    plim_value mean = plim__gradient_need_output(d, 1, PLIM_F32, &shape),
               inverse = plim__gradient_need_output(d, 2, PLIM_F32, &shape), dy = plim__gradient_of_output(d, 0);
    PLIM_TRY(through_statistics(d));
    if (dy < 0) return plim_graph_status(d->graph, d->error);
    double epsilon = (double)plim__node_float(plim__gradient_self(d), "epsilon", 1e-5f);
    plim_value wide = plim__gradient_one(d, "Reciprocal", plim__gradient_two(d, "Mul", inverse, inverse));
    plim_value variance = plim__gradient_two(d, "Sub", wide, plim__gradient_scalar(d, PLIM_F32, epsilon));
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    plim_value inputs[] = {dy, plim__gradient_input(d, 0), plim__gradient_input(d, 1), mean, variance};
    return three(d, "LayerNormGrad", inputs, 5);
}

/* Scale and bias, where there is one, have the sizes of the axes that are normalised; ONNX lets them be broadcast. */
static bool has_plain_scale(const plim__gradient *d) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    int axis = 0;
    plim__axis_normalize(plim__node_int(plim__gradient_self(d), "axis", -1), shape.rank, &axis);
    plim__shape own = plim__shape_of(shape.rank - axis, shape.dims + axis);
    for (size_t i = 1; i < 3; i++) {
        plim_value v = plim__gradient_input(d, i);
        plim__shape given = v >= 0 ? plim__gradient_shape(d, v) : own;
        if (!plim__shape_equal(&given, &own)) return false;
    }
    return true;
}

plim_status plim__gradient_layer_norm(plim__gradient *d) {
    if (!has_plain_scale(d)) return plim__gradient_unsupported(d, "with a scale or bias that is broadcast ");
    if (plim__gradient_output(d, 1) >= 0 || plim__gradient_output(d, 2) >= 0) return layer_norm_with_statistics(d);
    PLIM_TRY(plim__gradient_become(d, "LayerNormTrain", 3));
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 0), plim__gradient_input(d, 1),
                           plim__gradient_output(d, 1), plim__gradient_output(d, 2)};
    return three(d, "LayerNormGrad", inputs, 5);
}

/* Nothing but the input is saved: the root is computed again. */
plim_status plim__gradient_rms_norm(plim__gradient *d) {
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 0), plim__gradient_input(d, 1)};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "RmsNormGrad", inputs, 3, 2);
    plim__gradient_copy_attributes(d, node);
    plim_value dx = plim__gradient_end(d, node);
    PLIM_TRY(plim__gradient_set(d, 0, dx));
    return plim__gradient_set(d, 1, plim_graph_node_output(d->graph, node, 1));
}

plim_status plim__gradient_channel_norm(plim__gradient *d) {
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 0), plim__gradient_input(d, 1)};
    return three(d, "ChannelNormGrad", inputs, 3);
}

/* y = x / |x|: dx = (dy - y' · sum(dy · y)) / |x|, y' = y for p = 2 and sign(x) for p = 1. |x| = x / y is computed again. Where
 * it is 0, y is 0 and so is dx: the numerator is multiplied by sign(|x|), and 1 - sign(|x|) is added to what it is divided by. */
plim_status plim__gradient_lp_normalization(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0), x = plim__gradient_input(d, 0), y = plim__gradient_output(d, 0);
    int axis = 0;
    plim__shape shape = plim__gradient_shape(d, x);
    plim__axis_normalize(plim__node_int(plim__gradient_self(d), "axis", -1), shape.rank, &axis);
    bool axes[PLIM_MAX_RANK] = {false}, ones = plim__node_int(plim__gradient_self(d), "p", 2) == 1;
    axes[axis] = true;
    plim_value along = plim__gradient_sum(d, plim__gradient_two(d, "Mul", dy, y), axes, true);
    plim_value size =
        ones ? plim__gradient_sum(d, plim__gradient_one(d, "Abs", x), axes, true)
             : plim__gradient_one(d, "Sqrt", plim__gradient_sum(d, plim__gradient_two(d, "Mul", x, x), axes, true));
    plim_value direction = ones ? plim__gradient_one(d, "Sign", x) : y;
    plim_value rest = plim__gradient_two(d, "Sub", dy, plim__gradient_two(d, "Mul", direction, along));
    plim_value some = plim__gradient_one(d, "Sign", size), one = plim__gradient_scalar(d, PLIM_F32, 1);
    plim_value divisor = plim__gradient_two(d, "Add", size, plim__gradient_two(d, "Sub", one, some));
    rest = plim__gradient_two(d, "Mul", rest, some);
    return plim__gradient_set(d, 0, plim__gradient_two(d, "Div", rest, divisor));
}

static plim_value mean_over(plim__gradient *d, plim_value x, const bool *axes, double count) {
    return plim__gradient_scale(d, plim__gradient_sum(d, x, axes, true), 1 / count);
}

/* y = (x - mean) / deviation: dx = (dy - mean(dy) - y · mean(dy · y)) / deviation. */
plim_status plim__gradient_mvn(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0), x = plim__gradient_input(d, 0), y = plim__gradient_output(d, 0);
    plim__shape shape = plim__gradient_shape(d, x);
    size_t given;
    const int64_t *list = plim__node_ints(plim__gradient_self(d), "axes", &given);
    bool axes[PLIM_MAX_RANK] = {false};
    double count = 1;
    for (int i = 0; !list && i < shape.rank; i++) axes[i] = i != 1;
    for (size_t i = 0; list && i < given; i++) {
        int axis;
        if (!plim__axis_normalize(list[i], shape.rank, &axis)) return plim__gradient_unsupported(d, "with these axes ");
        axes[axis] = true;
    }
    for (int i = 0; i < shape.rank; i++)
        if (axes[i]) count *= (double)shape.dims[i];
    plim_value centred = plim__gradient_two(d, "Sub", x, mean_over(d, x, axes, count));
    plim_value deviation =
        plim__gradient_one(d, "Sqrt", mean_over(d, plim__gradient_two(d, "Mul", centred, centred), axes, count));
    plim_value rest = plim__gradient_two(d, "Sub", dy, mean_over(d, dy, axes, count));
    rest = plim__gradient_two(
        d, "Sub", rest,
        plim__gradient_two(d, "Mul", y, mean_over(d, plim__gradient_two(d, "Mul", dy, y), axes, count)));
    return plim__gradient_set(d, 0, plim__gradient_two(d, "Div", rest, deviation));
}

/* --- attention, dropout --------------------------------------------------------------------------------------- */

/* Zeros for the keys that each query sees, -inf for those after it. */
static plim_value hidden_future(plim__gradient *d, int64_t queries, int64_t keys) {
    float *mask = plim__alloc_array((size_t)(queries * keys), sizeof *mask);
    if (!mask) {
        plim__graph_fail(d->graph, PLIM_NO_MEMORY, "out of memory while building gradients");
        return PLIM_NO_VALUE;
    }
    for (int64_t i = 0; i < queries; i++)
        for (int64_t j = 0; j < keys; j++) mask[i * keys + j] = j <= i + keys - queries ? 0 : -INFINITY;
    plim_value made = plim_graph_constant(d->graph, NULL, PLIM_F32, 2, (int64_t[]){queries, keys}, mask);
    plim__free(mask);
    return made;
}

/* A mask that is trained (relative positions): the gradient of the scores, which exists here in full, summed to the
 * mask's shape. */
static plim_status attention_mask(plim__gradient *d) {
    const plim__node *node = plim__gradient_self(d);
    plim_value q = plim__gradient_input(d, 0), k = plim__gradient_input(d, 1), v = plim__gradient_input(d, 2),
               mask = plim__gradient_input(d, 3), dy = plim__gradient_of_output(d, 0);
    double scale = (double)plim__node_float(node, "scale", 1);
    bool causal = plim__node_int(node, "causal", 0) != 0;
    plim_value scores = plim__gradient_scale(d, plim__gradient_two(d, "MatMul", q, k), scale);
    plim__shape shape = plim__gradient_shape(d, scores);
    scores = plim__gradient_two(d, "Add", scores, mask);
    if (causal)
        scores = plim__gradient_two(d, "Add", scores,
                                    hidden_future(d, shape.dims[shape.rank - 2], shape.dims[shape.rank - 1]));
    int order[PLIM_MAX_RANK], rank = plim__gradient_shape(d, v).rank;
    for (int i = 0; i < rank; i++) order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    plim_value dweights = plim__gradient_two(d, "MatMul", dy, plim__gradient_transpose(d, v, order));
    plim_value weights = plim__gradient_one(d, "Softmax", scores);
    if (plim__node_int(plim__gradient_self(d), "guarded", 0))
        weights = plim__gradient_choose(d, plim__gradient_one(d, "IsNaN", weights),
                                        plim__gradient_scalar(d, PLIM_F32, 0), weights);
    if (plim__node_attribute(plim__gradient_self(d), "ratio")) { /* what was dropped has no slope */
        int32_t drop = plim__gradient_begin(d, PLIM__DOMAIN, "DropoutTrain", &dweights, 1, 1);
        plim__gradient_copy_attributes(d, drop);
        dweights = plim__gradient_end(d, drop);
    }
    plim_value inputs[] = {dweights, weights};
    if (inputs[0] < 0 || inputs[1] < 0) return plim_graph_status(d->graph, d->error);
    int32_t slope = plim__gradient_begin(d, PLIM__DOMAIN, "SoftmaxGrad", inputs, 2, 1);
    plim_graph_set_int(d->graph, slope, "axis", -1);
    return plim__gradient_set(d, 3, plim__gradient_unbroadcast(d, plim__gradient_end(d, slope), mask));
}

/* Nothing but q, k and v is saved: the weights are computed again. */
plim_status plim__gradient_attention(plim__gradient *d) {
    if (plim__gradient_wanted(d, 3)) PLIM_TRY(attention_mask(d));
    plim_value mask = plim__gradient_input(d, 3);
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 0), plim__gradient_input(d, 1),
                           plim__gradient_input(d, 2), mask};
    return three(d, "AttentionGrad", inputs, mask >= 0 ? 5 : 4);
}

/* Dropped elements have no slope, the others that of the scale. Without a training mode nothing is dropped. */
plim_status plim__gradient_dropout(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    plim__tensor *training = plim__graph_constant_tensor(d->graph, plim__gradient_input(d, 2)),
                 *ratio = plim__graph_constant_tensor(d->graph, plim__gradient_input(d, 1));
    bool drops = training && plim__tensor_load(training, d->error) == PLIM_OK && plim__tensor_at(training, 0) != 0;
    double share = 0.5;
    if (ratio && plim__tensor_load(ratio, d->error) == PLIM_OK) share = plim__tensor_at(ratio, 0);
    if (!drops || share == 0) return plim__gradient_set(d, 0, dy);
    plim__shape shape = plim__gradient_shape(d, dy);
    plim_value mask = plim__gradient_need_output(d, 1, PLIM_BOOL, &shape);
    plim_value none = plim__gradient_scalar(d, plim__gradient_dtype(d, dy), 0),
               kept = plim__gradient_scale(d, dy, 1 / (1 - share));
    return plim__gradient_set(d, 0, plim__gradient_choose(d, mask, kept, none));
}
