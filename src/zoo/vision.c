/* Networks for images and tables: lenet, residual nets, mobilenet_v2, unet, tabular. Images are (N, channels, size, size). */
#include <stdio.h>

#include "zoo/layers.h"
#include "zoo/models.h"

static plim_value image_input(plim__maker *m, int64_t channels, int64_t size) {
    channels = plim__size_or(m->o.channels, channels);
    size = plim__size_or(m->o.image, size);
    return plim_graph_input(m->g, "image", PLIM_F32, 4,
                            (int64_t[]){plim_graph_symbol(m->g, "N"), channels, size, size});
}

/* Hidden layers on (N, in), and a head. */
static void make_perceptron(plim__maker *m, plim_value x, int64_t in, int64_t width, int64_t classes) {
    for (int64_t i = 0; i < plim__size_or(m->o.layers, 2); i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%lld", (long long)i);
        x = plim__make_relu(m, plim__make_linear(m, x, name, in, width));
        in = width;
    }
    plim_graph_output(m->g, plim__make_linear(m, x, "head", in, classes), "logits");
}

void plim__zoo_mlp(plim__maker *m) {
    int64_t size = plim__size_or(m->o.image, 28), channels = plim__size_or(m->o.channels, 1);
    plim_value x = plim__make_flatten(m, image_input(m, 1, 28));
    make_perceptron(m, x, channels * size * size, plim__size_or(m->o.width, 512), plim__size_or(m->o.classes, 10));
}

void plim__zoo_tabular(plim__maker *m) {
    int64_t features = plim__size_or(m->o.features, 8);
    int64_t batch = plim_graph_symbol(m->g, "N"), columns = m->o.seq, size = plim__size_or(m->o.hidden, 8);
    plim_value x = plim_graph_input(m->g, "x", PLIM_F32, 2, (int64_t[]){batch, features});
    if (m->o.vocab > 0 && columns > 0) { /* rows of an embedding for the categories, beside the numbers */
        plim_value rows = plim_graph_input(m->g, "categories", PLIM_I64, 2, (int64_t[]){batch, columns});
        plim_value table =
            plim__make_weight(m, "embedding", "weight", 2, (int64_t[]){m->o.vocab, size}, PLIM__INIT_NORMAL(1));
        plim_value found = plim__make_flatten(m, plim__make_apply(m, "Gather", table, rows));
        int32_t joined = plim_graph_node(m->g, "Concat", NULL, (plim_value[]){x, found}, 2, 1);
        plim_graph_set_int(m->g, joined, "axis", 1);
        x = plim_graph_node_output(m->g, joined, 0);
        features += columns * size;
    }
    make_perceptron(m, x, features, plim__size_or(m->o.width, 64), plim__size_or(m->o.classes, 2));
}

void plim__zoo_lenet(plim__maker *m) {
    int64_t size = plim__size_or(m->o.image, 28), width = plim__size_or(m->o.width, 32),
            channels = plim__size_or(m->o.channels, 1);
    plim_value x = image_input(m, 1, 28);
    x = plim__make_relu(
        m,
        plim__make_conv(m, x, "conv1", (plim__conv){.in = channels, .out = width, .kernel = 5, .pad = 2, .bias = 1}));
    x = plim__make_max_pool(m, x, 2, 2, 0);
    x = plim__make_relu(
        m,
        plim__make_conv(m, x, "conv2", (plim__conv){.in = width, .out = 2 * width, .kernel = 5, .pad = 2, .bias = 1}));
    x = plim__make_flatten(m, plim__make_max_pool(m, x, 2, 2, 0));
    int64_t cells = size / 2 / 2 * (size / 2 / 2);
    x = plim__make_relu(m, plim__make_linear(m, x, "fc1", 2 * width * cells, 8 * width));
    plim_graph_output(m->g, plim__make_linear(m, x, "fc2", 8 * width, plim__size_or(m->o.classes, 10)), "logits");
}

/* --- residual nets: torchvision's layers under torchvision's names, so that its weights load ------------------ */

/* `names` are those of the convolution and the norm behind `prefix`. */
static plim_value conv_norm(plim__maker *m, plim_value x, const char *prefix, const char *const names[2],
                            plim__conv c) {
    char conv[128], norm[128];
    snprintf(conv, sizeof conv, "%s%s", prefix, names[0]);
    snprintf(norm, sizeof norm, "%s%s", prefix, names[1]);
    c.fan_out = 1;
    return plim__make_batch_norm(m, plim__make_conv(m, x, conv, c), norm, c.out);
}

static const char *const layer_names[][2] = {
    {"downsample.0", "downsample.1"}, {"conv1", "bn1"}, {"conv2", "bn2"}, {"conv3", "bn3"}};

struct block {
    int64_t in, width, stride, expansion;
};

/* Two 3×3 convolutions, or 1×1, 3×3, 1×1 with `expansion` 4. */
static plim_value residual_block(plim__maker *m, plim_value x, const char *prefix, struct block b) {
    int64_t in = b.in, width = b.width, stride = b.stride, expansion = b.expansion;
    plim_value y;
    if (expansion == 1) {
        y = plim__make_relu(m,
                            conv_norm(m, x, prefix, layer_names[1],
                                      (plim__conv){.in = in, .out = width, .kernel = 3, .stride = stride, .pad = 1}));
        y = conv_norm(m, y, prefix, layer_names[2], (plim__conv){.in = width, .out = width, .kernel = 3, .pad = 1});
    } else {
        y = plim__make_relu(m,
                            conv_norm(m, x, prefix, layer_names[1], (plim__conv){.in = in, .out = width, .kernel = 1}));
        y = plim__make_relu(
            m, conv_norm(m, y, prefix, layer_names[2],
                         (plim__conv){.in = width, .out = width, .kernel = 3, .stride = stride, .pad = 1}));
        y = conv_norm(m, y, prefix, layer_names[3], (plim__conv){.in = width, .out = width * expansion, .kernel = 1});
    }
    if (stride != 1 || in != width * expansion) {
        x = conv_norm(m, x, prefix, layer_names[0],
                      (plim__conv){.in = in, .out = width * expansion, .kernel = 1, .stride = stride});
    }
    return plim__make_relu(m, plim__make_add(m, y, x));
}

static void residual_net(plim__maker *m, const int blocks[4], int64_t expansion) {
    int64_t width = plim__size_or(m->o.width, 64), in = width;
    plim_value x = image_input(m, 3, 224);
    x = plim__make_relu(
        m, conv_norm(
               m, x, "", layer_names[1],
               (plim__conv){.in = plim__size_or(m->o.channels, 3), .out = width, .kernel = 7, .stride = 2, .pad = 3}));
    x = plim__make_max_pool(m, x, 3, 2, 1);
    for (int stage = 0; stage < 4; stage++)
        for (int b = 0; b < blocks[stage]; b++) {
            char prefix[64];
            snprintf(prefix, sizeof prefix, "layer%d.%d.", stage + 1, b);
            x = residual_block(m, x, prefix, (struct block){in, width << stage, stage && !b ? 2 : 1, expansion});
            in = (width << stage) * expansion;
        }
    x = plim__make_flatten(m, plim__make_apply(m, "GlobalAveragePool", x, PLIM_NO_VALUE));
    plim_graph_output(m->g, plim__make_linear(m, x, "fc", in, plim__size_or(m->o.classes, 1000)), "logits");
}

void plim__zoo_resnet18(plim__maker *m) { residual_net(m, (int[]){2, 2, 2, 2}, 1); }
void plim__zoo_resnet34(plim__maker *m) { residual_net(m, (int[]){3, 4, 6, 3}, 1); }
void plim__zoo_resnet50(plim__maker *m) { residual_net(m, (int[]){3, 4, 6, 3}, 4); }

/* --- mobilenet_v2, with torchvision's names too --------------------------------------------------------------- */

/* `name` is a layer's; its convolution and its norm are numbered, one after the other. */
static plim_value mobile_layer(plim__maker *m, plim_value x, const char *name, int first, plim__conv c) {
    char conv[16], norm[16];
    snprintf(conv, sizeof conv, ".%d", first);
    snprintf(norm, sizeof norm, ".%d", first + 1);
    return conv_norm(m, x, name, (const char *const[]){conv, norm}, c);
}

static plim_value inverted_residual(plim__maker *m, plim_value x, int number, struct block b) {
    char name[64];
    int64_t in = b.in, out = b.width, stride = b.stride, hidden = in * b.expansion;
    int layer = 0;
    plim_value y = x;
    if (b.expansion != 1) {
        snprintf(name, sizeof name, "features.%d.conv.%d", number, layer++);
        y = plim__make_relu6(m, mobile_layer(m, y, name, 0, (plim__conv){.in = in, .out = hidden, .kernel = 1}));
    }
    snprintf(name, sizeof name, "features.%d.conv.%d", number, layer++);
    y = plim__make_relu6(
        m, mobile_layer(
               m, y, name, 0,
               (plim__conv){.in = hidden, .out = hidden, .kernel = 3, .stride = stride, .pad = 1, .group = hidden}));
    snprintf(name, sizeof name, "features.%d.conv", number);
    y = mobile_layer(m, y, name, layer, (plim__conv){.in = hidden, .out = out, .kernel = 1});
    return stride == 1 && in == out ? plim__make_add(m, y, x) : y;
}

void plim__zoo_mobilenet_v2(plim__maker *m) {
    static const int table[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                   {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}; /* expand, out, count, stride */
    int64_t base = plim__size_or(m->o.width, 32), in = base;
    plim_value x = plim__make_relu6(
        m, mobile_layer(
               m, image_input(m, 3, 224), "features.0", 0,
               (plim__conv){.in = plim__size_or(m->o.channels, 3), .out = base, .kernel = 3, .stride = 2, .pad = 1}));
    int number = 1;
    for (size_t r = 0; r < sizeof table / sizeof *table; r++)
        for (int i = 0; i < table[r][2]; i++) {
            int64_t out = (table[r][1] * base / 32 + 7) / 8 * 8;
            x = inverted_residual(m, x, number++, (struct block){in, out, i ? 1 : table[r][3], table[r][0]});
            in = out;
        }
    int64_t last = base > 32 ? 1280 * base / 32 : 1280;
    x = plim__make_relu6(m, mobile_layer(m, x, "features.18", 0, (plim__conv){.in = in, .out = last, .kernel = 1}));
    x = plim__make_flatten(m, plim__make_apply(m, "GlobalAveragePool", x, PLIM_NO_VALUE));
    plim_graph_output(m->g, plim__make_linear(m, x, "classifier.1", last, plim__size_or(m->o.classes, 1000)), "logits");
}

/* --- unet ----------------------------------------------------------------------------------------------------- */

static plim_value double_conv(plim__maker *m, plim_value x, const char *name, int64_t in, int64_t out) {
    char part[128];
    for (int i = 0; i < 2; i++) {
        snprintf(part, sizeof part, "%s.conv%d", name, i + 1);
        x = plim__make_conv(m, x, part, (plim__conv){.in = i ? out : in, .out = out, .kernel = 3, .pad = 1});
        snprintf(part, sizeof part, "%s.bn%d", name, i + 1);
        x = plim__make_relu(m, plim__make_batch_norm(m, x, part, out));
    }
    return x;
}

void plim__zoo_unet(plim__maker *m) {
    int64_t width = plim__size_or(m->o.width, 64);
    plim_value x = image_input(m, 3, 256), skips[4];
    char name[64];
    int64_t in = plim__size_or(m->o.channels, 3);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "down%d", i + 1);
        skips[i] = double_conv(m, x, name, in, width << i);
        x = plim__make_max_pool(m, skips[i], 2, 2, 0);
        in = width << i;
    }
    x = double_conv(m, x, "bottom", in, width << 4);
    for (int i = 3; i >= 0; i--) {
        snprintf(name, sizeof name, "up%d.up", i + 1);
        x = plim__make_conv_transpose(
            m, x, name, (plim__conv){.in = width << (i + 1), .out = width << i, .kernel = 2, .stride = 2});
        int32_t joined = plim_graph_node(m->g, "Concat", NULL, (plim_value[]){skips[i], x}, 2, 1);
        plim_graph_set_int(m->g, joined, "axis", 1);
        snprintf(name, sizeof name, "up%d", i + 1);
        x = double_conv(m, plim_graph_node_output(m->g, joined, 0), name, width << (i + 1), width << i);
    }
    x = plim__make_conv(m, x, "head",
                        (plim__conv){.in = width, .out = plim__size_or(m->o.classes, 2), .kernel = 1, .bias = 1});
    plim_graph_output(m->g, x, "logits");
}
