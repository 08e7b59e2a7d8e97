/* Networks for sequences and patches: gpt2, vision transformers, an lstm and a gru. */
#include <math.h>
#include <stdio.h>

#include "graph/graph.h"
#include "zoo/layers.h"
#include "zoo/models.h"

static plim_value block(plim__maker *m, plim_value x, const char *prefix, const plim__transformer *t) {
    int64_t width = t->width;
    char name[128];
    snprintf(name, sizeof name, "%s.ln_1", prefix);
    plim_value y = plim__make_layer_norm(m, x, name, width, t->epsilon);
    snprintf(name, sizeof name, "%s.attn", prefix);
    x = plim__make_add(m, x, plim__make_attention(m, y, name, t));
    snprintf(name, sizeof name, "%s.ln_2", prefix);
    y = plim__make_layer_norm(m, x, name, width, t->epsilon);
    snprintf(name, sizeof name, "%s.mlp.fc", prefix);
    y = plim__make_gelu(m, plim__make_projection(m, y, name, width, 4 * width, 0.02), t->tanh_gelu);
    snprintf(name, sizeof name, "%s.mlp.proj", prefix);
    return plim__make_add(m, x, plim__make_projection(m, y, name, 4 * width, width, t->out_deviation));
}

/* What was asked for, and the model's own sizes for the rest. */
static plim_zoo_options with_defaults(const plim__maker *m, plim_zoo_options sizes) {
    return (plim_zoo_options){.classes = plim__size_or(m->o.classes, sizes.classes),
                              .image = plim__size_or(m->o.image, sizes.image),
                              .channels = plim__size_or(m->o.channels, sizes.channels),
                              .seq = plim__size_or(m->o.seq, sizes.seq),
                              .width = plim__size_or(m->o.width, sizes.width),
                              .layers = plim__size_or(m->o.layers, sizes.layers),
                              .heads = plim__size_or(m->o.heads, sizes.heads)};
}

static void gpt(plim__maker *m, int64_t context, plim_zoo_options sizes) {
    plim_zoo_options o = with_defaults(m, sizes);
    if (context < o.seq) context = o.seq;
    if (o.width % o.heads) {
        plim__graph_fail(m->g, PLIM_INVALID, "a width of %lld does not divide into %lld heads", (long long)o.width,
                         (long long)o.heads);
        return;
    }
    plim_value tokens = plim_graph_input(m->g, "tokens", PLIM_I64, 2, (int64_t[]){plim_graph_symbol(m->g, "N"), o.seq});
    plim_value wte = plim__make_weight(m, "wte", "weight", 2, (int64_t[]){o.classes, o.width}, PLIM__INIT_NORMAL(0.02));
    plim_value wpe = plim__make_weight(m, "wpe", "weight", 2, (int64_t[]){context, o.width}, PLIM__INIT_NORMAL(0.01));
    plim_value slice[] = {wpe, plim__make_ints(m, (int64_t[]){0}, 1), plim__make_ints(m, &(int64_t){o.seq}, 1),
                          plim__make_ints(m, (int64_t[]){0}, 1)};
    plim_value positions = context == o.seq ? wpe : plim_graph_apply(m->g, "Slice", slice, 4);
    plim_value x = plim__make_add(m, plim__make_apply(m, "Gather", wte, tokens), positions);
    const plim__transformer t = {.seq = o.seq,
                                 .width = o.width,
                                 .heads = o.heads,
                                 .visible = plim__make_causal_mask(m, o.seq),
                                 .tanh_gelu = 1,
                                 .epsilon = 1e-5f,
                                 .out_deviation = 0.02 / sqrt(2 * (double)o.layers)};
    for (int64_t i = 0; i < o.layers; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "h.%lld", (long long)i);
        x = block(m, x, prefix, &t);
    }
    x = plim__make_layer_norm(m, x, "ln_f", o.width, t.epsilon);
    plim_graph_output(m->g, plim__make_apply(m, "MatMul", x, plim__make_transpose(m, wte, 2, (int64_t[]){1, 0})),
                      "logits");
}

void plim__zoo_gpt2(plim__maker *m) {
    gpt(m, 1024, (plim_zoo_options){.classes = 50257, .seq = 256, .width = 768, .layers = 12, .heads = 12});
}

void plim__zoo_gpt2_tiny(plim__maker *m) {
    gpt(m, 128, (plim_zoo_options){.classes = 256, .seq = 128, .width = 128, .layers = 4, .heads = 4});
}

/* The class token, repeated for each sample: (N, 1, width). */
static plim_value class_token(plim__maker *m, plim_value patches, int64_t width) {
    plim_value token = plim__make_weight(m, "cls", "token", 3, (int64_t[]){1, 1, width}, PLIM__INIT_NORMAL(0.02));
    plim_value shape = plim__make_apply(m, "Shape", patches, PLIM_NO_VALUE);
    plim_value batch = plim__make_apply(m, "Gather", shape, plim__make_ints(m, (int64_t[]){0}, 1));
    int32_t joined = plim_graph_node(m->g, "Concat", NULL,
                                     (plim_value[]){batch, plim__make_ints(m, (int64_t[]){1, width}, 2)}, 2, 1);
    plim_graph_set_int(m->g, joined, "axis", 0);
    return plim__make_apply(m, "Expand", token, plim_graph_node_output(m->g, joined, 0));
}

static void vit(plim__maker *m, int64_t patch, plim_zoo_options sizes) {
    plim_zoo_options o = with_defaults(m, sizes);
    int64_t size = o.image, width = o.width, heads = o.heads, channels = o.channels;
    if (width % heads || size % patch) {
        plim__graph_fail(m->g, PLIM_INVALID, "the width must divide into %lld heads and the image into patches of %lld",
                         (long long)heads, (long long)patch);
        return;
    }
    int64_t side = size / patch, seq = side * side + 1;
    plim_value x =
        plim_graph_input(m->g, "image", PLIM_F32, 4, (int64_t[]){plim_graph_symbol(m->g, "N"), channels, size, size});
    x = plim__make_conv(m, x, "patch_embed",
                        (plim__conv){.in = channels, .out = width, .kernel = patch, .stride = patch, .bias = 1});
    x = plim__make_transpose(m, plim__make_reshape(m, x, 3, (int64_t[]){0, width, side * side}), 3,
                             (int64_t[]){0, 2, 1});
    int32_t joined = plim_graph_node(m->g, "Concat", NULL, (plim_value[]){class_token(m, x, width), x}, 2, 1);
    plim_graph_set_int(m->g, joined, "axis", 1);
    x = plim__make_add(m, plim_graph_node_output(m->g, joined, 0),
                       plim__make_weight(m, "pos", "embed", 3, (int64_t[]){1, seq, width}, PLIM__INIT_NORMAL(0.02)));
    const plim__transformer t = {
        .seq = seq, .width = width, .heads = heads, .visible = PLIM_NO_VALUE, .epsilon = 1e-6f, .out_deviation = 0.02};
    for (int64_t i = 0; i < o.layers; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "blocks.%lld", (long long)i);
        x = block(m, x, prefix, &t);
    }
    x = plim__make_layer_norm(m, x, "norm", width, 1e-6f);
    int32_t first =
        plim_graph_node(m->g, "Gather", NULL,
                        (plim_value[]){x, plim_graph_constant(m->g, NULL, PLIM_I64, 0, NULL, &(int64_t){0})}, 2, 1);
    plim_graph_set_int(m->g, first, "axis", 1);
    plim_graph_output(m->g, plim__make_linear(m, plim_graph_node_output(m->g, first, 0), "head", width, o.classes),
                      "logits");
}

void plim__zoo_vit_tiny(plim__maker *m) {
    vit(m, 4, (plim_zoo_options){.image = 32, .channels = 3, .width = 192, .layers = 6, .heads = 3, .classes = 10});
}

void plim__zoo_vit_b16(plim__maker *m) {
    vit(m, 16,
        (plim_zoo_options){.image = 224, .channels = 3, .width = 768, .layers = 12, .heads = 12, .classes = 1000});
}

/* A kind of recurrent layer; prefix names its weights. */
struct recurrent {
    const char *op, *prefix;
    int64_t gates;
};

static plim_value recurrent_layer(plim__maker *m, plim_value x, const struct recurrent *kind, int64_t i,
                                  int64_t width) {
    double bound = 1 / sqrt((double)width);
    int64_t units = kind->gates * width;
    char name[32];
    snprintf(name, sizeof name, "%s.%lld", kind->prefix, (long long)i);
    plim_value w = plim__make_weight(m, name, "weight_ih", 3, (int64_t[]){1, units, width}, PLIM__INIT_UNIFORM(bound));
    plim_value r = plim__make_weight(m, name, "weight_hh", 3, (int64_t[]){1, units, width}, PLIM__INIT_UNIFORM(bound));
    plim_value b = plim__make_weight(m, name, "bias", 2, (int64_t[]){1, 2 * units}, PLIM__INIT_UNIFORM(bound));
    int32_t node = plim_graph_node(m->g, kind->op, name, (plim_value[]){x, w, r, b}, 4, 1);
    plim_graph_set_int(m->g, node, "hidden_size", width);
    if (kind->gates == 3) plim_graph_set_int(m->g, node, "linear_before_reset", 1); /* as PyTorch's GRU */
    return plim__make_apply(m, "Squeeze", plim_graph_node_output(m->g, node, 0), plim__make_ints(m, (int64_t[]){1}, 1));
}

/* tokens (N, T) → embedding → recurrent layers → logits (N, T, classes). */
static void recurrent(plim__maker *m, const struct recurrent *kind) {
    int64_t vocabulary = plim__size_or(m->o.classes, 256), seq = plim__size_or(m->o.seq, 64),
            width = plim__size_or(m->o.width, 256), layers = plim__size_or(m->o.layers, 2);
    double bound = 1 / sqrt((double)width);
    plim_value tokens = plim_graph_input(m->g, "tokens", PLIM_I64, 2, (int64_t[]){plim_graph_symbol(m->g, "N"), seq});
    plim_value table =
        plim__make_weight(m, "embedding", "weight", 2, (int64_t[]){vocabulary, width}, PLIM__INIT_NORMAL(1));
    plim_value x = plim__make_transpose(m, plim__make_apply(m, "Gather", table, tokens), 3, (int64_t[]){1, 0, 2});
    for (int64_t i = 0; i < layers; i++) x = recurrent_layer(m, x, kind, i, width);
    x = plim__make_transpose(m, x, 3, (int64_t[]){1, 0, 2});
    plim_graph_output(m->g, plim__make_projection(m, x, "head", width, vocabulary, bound / sqrt(3)), "logits");
}

void plim__zoo_lstm(plim__maker *m) { recurrent(m, &(struct recurrent){"LSTM", "lstm", 4}); }
void plim__zoo_gru(plim__maker *m) { recurrent(m, &(struct recurrent){"GRU", "gru", 3}); }
