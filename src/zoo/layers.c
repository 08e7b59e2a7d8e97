/* Layers. */
#include "zoo/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <omp.h>

#include "core/alloc.h"
#include "core/random.h"
#include "graph/graph.h"
#include "mem/threads.h"

/* Weights are the same with any number. */
static int threads_for(int64_t count) {
    int threads = count > 65536 ? omp_get_max_threads() : 1;
    return plim__threads_start(threads, NULL) == PLIM_OK ? threads : 1;
}

static void fill(plim__maker *m, float *data, int64_t count, plim__init init) {
    double scale = init.scale;
    uint64_t stream = m->drawn++;
    switch (init.distribution) {
    case PLIM__ZERO: memset(data, 0, (size_t)count * sizeof *data); break;
    case PLIM__ONE:
        for (int64_t i = 0; i < count; i++) data[i] = 1;
        break;
    case PLIM__UNIFORM:
        for (int64_t i = 0; i < count; i++)
            data[i] = (float)((2 * (double)plim__random_uniform(m->seed, stream, (uint64_t)i) - 1) * scale);
        break;
    case PLIM__NORMAL:
#pragma omp parallel for num_threads(threads_for(count))
        for (int64_t i = 0; i < count; i++)
            data[i] = (float)((double)plim__random_normal(m->seed, stream, (uint64_t)i) * scale);
        break;
    }
}

plim_value plim__make_weight(plim__maker *m, const char *prefix, const char *name, int rank, const int64_t *dims,
                             plim__init init) {
    plim__shape shape = plim__shape_of(rank, dims);
    int64_t count = plim__shape_elements(&shape);
    char full[256];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    if (count <= 0) {
        plim__graph_fail(m->g, PLIM_INVALID, "these sizes leave no room for the weight '%s'", full);
        return PLIM_NO_VALUE;
    }
    float *data = plim__alloc_array((size_t)count, sizeof *data);
    if (!data) {
        plim__graph_fail(m->g, PLIM_NO_MEMORY, "out of memory: the weight '%s' needs %lld bytes", full,
                         (long long)count * 4);
        return PLIM_NO_VALUE;
    }
    fill(m, data, count, init);
    return plim_graph_parameter_take(m->g, full, PLIM_F32, rank, dims, data);
}

plim_value plim__make_apply(plim__maker *m, const char *op, plim_value a, plim_value b) {
    return plim_graph_apply(m->g, op, (plim_value[]){a, b}, b == PLIM_NO_VALUE ? 1 : 2);
}

plim_value plim__make_add(plim__maker *m, plim_value a, plim_value b) { return plim__make_apply(m, "Add", a, b); }
plim_value plim__make_relu(plim__maker *m, plim_value x) { return plim__make_apply(m, "Relu", x, PLIM_NO_VALUE); }
plim_value plim__make_scalar(plim__maker *m, float value) {
    return plim_graph_constant(m->g, NULL, PLIM_F32, 0, NULL, &value);
}
plim_value plim__make_ints(plim__maker *m, const int64_t *values, int64_t count) {
    return plim_graph_constant(m->g, NULL, PLIM_I64, 1, &count, values);
}

plim_value plim__make_reshape(plim__maker *m, plim_value x, int rank, const int64_t *dims) {
    return plim__make_apply(m, "Reshape", x, plim__make_ints(m, dims, rank));
}

plim_value plim__make_transpose(plim__maker *m, plim_value x, int rank, const int64_t *order) {
    int32_t node = plim_graph_node(m->g, "Transpose", NULL, &x, 1, 1);
    plim_graph_set_ints(m->g, node, "perm", order, (size_t)rank);
    return plim_graph_node_output(m->g, node, 0);
}

plim_value plim__make_flatten(plim__maker *m, plim_value x) {
    int32_t node = plim_graph_node(m->g, "Flatten", NULL, &x, 1, 1);
    plim_graph_set_int(m->g, node, "axis", 1);
    return plim_graph_node_output(m->g, node, 0);
}

static void set_window(plim__maker *m, int32_t node, int64_t kernel, int64_t stride, int64_t pad) {
    plim_graph_set_ints(m->g, node, "kernel_shape", (int64_t[]){kernel, kernel}, 2);
    plim_graph_set_ints(m->g, node, "strides", (int64_t[]){stride, stride}, 2);
    plim_graph_set_ints(m->g, node, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
}

plim_value plim__make_conv(plim__maker *m, plim_value x, const char *name, plim__conv c) {
    int64_t group = c.group ? c.group : 1, area = c.kernel * c.kernel, fan_in = c.in / group * area,
            fan_out = c.out / group * area;
    int64_t dims[] = {c.out, c.in / group, c.kernel, c.kernel};
    double bound = 1 / sqrt((double)fan_in); /* kaiming_uniform with a = √5 */
    plim_value inputs[3] = {x, PLIM_NO_VALUE, PLIM_NO_VALUE};
    inputs[1] = c.fan_out
                    ? plim__make_weight(m, name, "weight", 4, dims, PLIM__INIT_NORMAL(sqrt(2.0 / (double)fan_out)))
                    : plim__make_weight(m, name, "weight", 4, dims, PLIM__INIT_UNIFORM(bound));
    if (c.bias) inputs[2] = plim__make_weight(m, name, "bias", 1, dims, PLIM__INIT_UNIFORM(bound));
    int32_t node = plim_graph_node(m->g, "Conv", name, inputs, c.bias ? 3 : 2, 1);
    set_window(m, node, c.kernel, c.stride ? c.stride : 1, c.pad);
    plim_graph_set_int(m->g, node, "group", group);
    return plim_graph_node_output(m->g, node, 0);
}

plim_value plim__make_conv_transpose(plim__maker *m, plim_value x, const char *name, plim__conv c) {
    double bound = 1 / sqrt((double)(c.out * c.kernel * c.kernel)); /* PyTorch counts the fan of the stored axis 1 */
    plim_value w = plim__make_weight(m, name, "weight", 4, (int64_t[]){c.in, c.out, c.kernel, c.kernel},
                                     PLIM__INIT_UNIFORM(bound));
    plim_value b = plim__make_weight(m, name, "bias", 1, (int64_t[]){c.out}, PLIM__INIT_UNIFORM(bound));
    int32_t node = plim_graph_node(m->g, "ConvTranspose", name, (plim_value[]){x, w, b}, 3, 1);
    set_window(m, node, c.kernel, c.stride, 0);
    return plim_graph_node_output(m->g, node, 0);
}

plim_value plim__make_batch_norm(plim__maker *m, plim_value x, const char *name, int64_t channels) {
    static const struct {
        const char *name;
        plim__distribution distribution;
    } parts[] = {{"weight", PLIM__ONE}, {"bias", PLIM__ZERO}, {"running_mean", PLIM__ZERO}, {"running_var", PLIM__ONE}};
    plim_value inputs[5] = {x};
    for (int i = 0; i < 4; i++)
        inputs[i + 1] = plim__make_weight(m, name, parts[i].name, 1, &channels, (plim__init){parts[i].distribution, 0});
    int32_t node = plim_graph_node(m->g, "BatchNormalization", name, inputs, 5, 1);
    plim_graph_set_float(m->g, node, "epsilon", 1e-5f);
    plim_graph_set_float(m->g, node, "momentum", 0.9f);
    return plim_graph_node_output(m->g, node, 0);
}

plim_value plim__make_relu6(plim__maker *m, plim_value x) {
    return plim_graph_apply(m->g, "Clip", (plim_value[]){x, plim__make_scalar(m, 0), plim__make_scalar(m, 6)}, 3);
}

plim_value plim__make_max_pool(plim__maker *m, plim_value x, int64_t kernel, int64_t stride, int64_t pad) {
    int32_t node = plim_graph_node(m->g, "MaxPool", NULL, &x, 1, 1);
    set_window(m, node, kernel, stride, pad);
    return plim_graph_node_output(m->g, node, 0);
}

plim_value plim__make_linear(plim__maker *m, plim_value x, const char *name, int64_t in, int64_t out) {
    double bound = 1 / sqrt((double)in);
    plim_value w = plim__make_weight(m, name, "weight", 2, (int64_t[]){out, in}, PLIM__INIT_UNIFORM(bound));
    plim_value b = plim__make_weight(m, name, "bias", 1, (int64_t[]){out}, PLIM__INIT_UNIFORM(bound));
    int32_t node = plim_graph_node(m->g, "Gemm", name, (plim_value[]){x, w, b}, 3, 1);
    plim_graph_set_int(m->g, node, "transB", 1);
    return plim_graph_node_output(m->g, node, 0);
}

plim_value plim__make_projection(plim__maker *m, plim_value x, const char *name, int64_t in, int64_t out,
                                 double deviation) {
    plim_value w = plim__make_weight(m, name, "weight", 2, (int64_t[]){in, out}, PLIM__INIT_NORMAL(deviation));
    plim_value b = plim__make_weight(m, name, "bias", 1, (int64_t[]){out}, PLIM__INIT_ZERO);
    return plim__make_add(m, plim__make_apply(m, "MatMul", x, w), b);
}

plim_value plim__make_dense(plim__maker *m, plim_value x, const char *name, plim__dense d) {
    plim_value w = plim__make_weight(m, name, "weight", 2, (int64_t[]){d.out, d.in}, PLIM__INIT_NORMAL(d.deviation));
    plim_value y = plim__make_apply(m, "MatMul", x, plim__make_transpose(m, w, 2, (int64_t[]){1, 0}));
    return d.bias ? plim__make_add(m, y, plim__make_weight(m, name, "bias", 1, &d.out, PLIM__INIT_ZERO)) : y;
}

plim_value plim__make_layer_norm(plim__maker *m, plim_value x, const char *name, int64_t width, float epsilon) {
    plim_value w = plim__make_weight(m, name, "weight", 1, &width, PLIM__INIT_ONE),
               b = plim__make_weight(m, name, "bias", 1, &width, PLIM__INIT_ZERO);
    int32_t node = plim_graph_node(m->g, "LayerNormalization", name, (plim_value[]){x, w, b}, 3, 1);
    plim_graph_set_int(m->g, node, "axis", -1);
    plim_graph_set_float(m->g, node, "epsilon", epsilon);
    return plim_graph_node_output(m->g, node, 0);
}

/* Opset 17 has no Gelu: spelled out, as exporters do. */
plim_value plim__make_gelu(plim__maker *m, plim_value x, int tanh_form) {
    plim_value inner;
    if (tanh_form) {
        plim_value cube = plim__make_apply(m, "Pow", x, plim__make_scalar(m, 3));
        plim_value sum = plim__make_add(m, x, plim__make_apply(m, "Mul", cube, plim__make_scalar(m, 0.044715f)));
        inner = plim__make_apply(m, "Tanh", plim__make_apply(m, "Mul", sum, plim__make_scalar(m, 0.7978845608f)),
                                 PLIM_NO_VALUE);
    } else {
        inner = plim__make_apply(m, "Erf", plim__make_apply(m, "Div", x, plim__make_scalar(m, 1.4142135624f)),
                                 PLIM_NO_VALUE);
    }
    plim_value gate = plim__make_add(m, inner, plim__make_scalar(m, 1));
    return plim__make_apply(m, "Mul", plim__make_apply(m, "Mul", x, plim__make_scalar(m, 0.5f)), gate);
}

plim_value plim__make_causal_mask(plim__maker *m, int64_t seq) {
    uint8_t *mask = seq > 0 ? plim__alloc_array((size_t)seq, (size_t)seq) : NULL;
    if (!mask) {
        plim__graph_fail(m->g, PLIM_NO_MEMORY, "out of memory: the causal mask");
        return PLIM_NO_VALUE;
    }
    for (int64_t i = 0; i < seq * seq; i++) mask[i] = i % seq <= i / seq;
    plim_value v = plim_graph_constant(m->g, "causal_mask", PLIM_BOOL, 4, (int64_t[]){1, 1, seq, seq}, mask);
    plim__free(mask);
    return v;
}

plim_value plim__make_heads(plim__maker *m, const plim_value parts[3], const plim__transformer *t) {
    plim_value split[3];
    for (size_t i = 0; i < 3; i++) /* (N, heads, T, size); keys (N, heads, size, T) */
        split[i] = plim__make_transpose(m, parts[i], 4, i == 1 ? (int64_t[]){0, 2, 3, 1} : (int64_t[]){0, 2, 1, 3});
    plim_value scores = plim__make_apply(m, "MatMul", split[0], split[1]);
    int64_t size = t->width / t->heads;
    float scale = (float)(1 / sqrt((double)size));
    scores = plim__make_apply(m, "Mul", scores, plim__make_scalar(m, scale));
    if (t->visible != PLIM_NO_VALUE)
        scores = plim_graph_apply(m->g, "Where",
                                  (plim_value[]){t->visible, scores, plim__make_scalar(m, -3.4028235e38f)}, 3);
    int32_t softmax = plim_graph_node(m->g, "Softmax", NULL, &scores, 1, 1);
    plim_graph_set_int(m->g, softmax, "axis", -1);
    plim_value mixed = plim__make_apply(m, "MatMul", plim_graph_node_output(m->g, softmax, 0), split[2]);
    return plim__make_reshape(m, plim__make_transpose(m, mixed, 4, (int64_t[]){0, 2, 1, 3}), 3,
                              (int64_t[]){0, t->seq, t->width});
}

plim_value plim__make_attention(plim__maker *m, plim_value x, const char *name, const plim__transformer *t) {
    char part[256];
    int64_t width = t->width;
    snprintf(part, sizeof part, "%s.qkv", name);
    plim_value qkv = plim__make_projection(m, x, part, width, 3 * width, 0.02), parts[3];
    int32_t node = plim_graph_node(m->g, "Split", NULL,
                                   (plim_value[]){qkv, plim__make_ints(m, (int64_t[]){width, width, width}, 3)}, 2, 3);
    plim_graph_set_int(m->g, node, "axis", 2);
    for (size_t i = 0; i < 3; i++)
        parts[i] = plim__make_reshape(m, plim_graph_node_output(m->g, node, i), 4,
                                      (int64_t[]){0, t->seq, t->heads, width / t->heads});
    snprintf(part, sizeof part, "%s.proj", name);
    return plim__make_projection(m, plim__make_heads(m, parts, t), part, width, width, t->out_deviation);
}
