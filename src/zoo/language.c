/* Language models with the parts and names of the public checkpoints (Hugging Face's), so that their weights load by
 * name: LLaMA and BERT. */
#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "graph/graph.h"
#include "zoo/layers.h"
#include "zoo/models.h"

#define DEVIATION 0.02 /* of all weights: both families' initializer_range */

static bool divides(plim__maker *m, const char *what, int64_t whole, int64_t parts) {
    if (parts > 0 && whole % parts == 0) return true;
    plim__graph_fail(m->g, PLIM_INVALID, "%s: %lld does not divide by %lld", what, (long long)whole, (long long)parts);
    return false;
}

static plim_value tokens_of(plim__maker *m, int64_t seq) {
    return plim_graph_input(m->g, "tokens", PLIM_I64, 2, (int64_t[]){plim_graph_symbol(m->g, "N"), seq});
}

/* Rows [0, rows) and, of the last axis, [from, to). */
static plim_value slice(plim__maker *m, plim_value x, int64_t rows, int64_t from, int64_t to) {
    return plim_graph_apply(m->g, "Slice",
                            (plim_value[]){x, plim__make_ints(m, (int64_t[]){0, from}, 2),
                                           plim__make_ints(m, (int64_t[]){rows, to}, 2),
                                           plim__make_ints(m, (int64_t[]){0, -1}, 2)},
                            4);
}

/* --- llama ---------------------------------------------------------------------------------------------------- */

typedef struct llama {
    int64_t seq, width, heads, kv_heads, size, hidden;
    plim_value cosines, sines; /* (T, 1, size / 2) */
    plim__transformer t;
} llama;

/* One table (T, 1, size) with the cosines before the sines of each row: that is how a reader of the file knows that it
 * is no weight. Angles are rounded to float32 where the public code does so. */
static void make_rotations(plim__maker *m, llama *l) {
    int64_t half = l->size / 2, rows = l->seq < 2 ? 2 : l->seq;
    float *table = plim__alloc_array((size_t)(rows * l->size), sizeof *table);
    if (!table) {
        plim__graph_fail(m->g, PLIM_NO_MEMORY, "out of memory: the table of positions");
        return;
    }
    for (int64_t i = 0; i < half; i++) {
        float frequency = 1 / powf(10000, (float)(2 * i) / (float)l->size);
        for (int64_t t = 0; t < rows; t++) {
            double angle = (double)((float)t * frequency);
            table[t * l->size + i] = (float)cos(angle);
            table[t * l->size + half + i] = (float)sin(angle);
        }
    }
    plim_value both = plim_graph_constant(m->g, "rotary", PLIM_F32, 3, (int64_t[]){rows, 1, l->size}, table);
    plim__free(table);
    l->cosines = slice(m, both, l->seq, 0, half);
    l->sines = slice(m, both, l->seq, half, l->size);
}

/* (N, T, width) to (N, T, heads, size). */
static plim_value heads_of(plim__maker *m, const llama *l, plim_value x, const char *name, int64_t heads) {
    x = plim__make_dense(m, x, name, (plim__dense){l->width, heads * l->size, DEVIATION, 0});
    return plim__make_reshape(m, x, 4, (int64_t[]){0, l->seq, heads, l->size});
}

/* Each pair (x[i], x[i + size / 2]) turned by the angle of its position. */
static plim_value rotate(plim__maker *m, const llama *l, plim_value x) {
    int64_t half = l->size / 2;
    int32_t parts =
        plim_graph_node(m->g, "Split", NULL, (plim_value[]){x, plim__make_ints(m, (int64_t[]){half, half}, 2)}, 2, 2);
    plim_graph_set_int(m->g, parts, "axis", 3);
    plim_value a = plim_graph_node_output(m->g, parts, 0), b = plim_graph_node_output(m->g, parts, 1);
    plim_value turned[] = {
        plim__make_apply(m, "Sub", plim__make_apply(m, "Mul", a, l->cosines), plim__make_apply(m, "Mul", b, l->sines)),
        plim__make_apply(m, "Add", plim__make_apply(m, "Mul", b, l->cosines), plim__make_apply(m, "Mul", a, l->sines))};
    int32_t joined = plim_graph_node(m->g, "Concat", NULL, turned, 2, 1);
    plim_graph_set_int(m->g, joined, "axis", 3);
    return plim_graph_node_output(m->g, joined, 0);
}

/* Each head of keys or values for the heads of queries that share it: (N, T, kv_heads, size) to (N, T, heads, size). */
static plim_value shared(plim__maker *m, const llama *l, plim_value x) {
    int64_t each = l->heads / l->kv_heads;
    if (each == 1) return x;
    x = plim__make_reshape(m, x, 5, (int64_t[]){0, l->seq, l->kv_heads, 1, l->size});
    x = plim__make_apply(m, "Expand", x, plim__make_ints(m, (int64_t[]){1, 1, 1, each, 1}, 5));
    return plim__make_reshape(m, x, 4, (int64_t[]){0, l->seq, l->heads, l->size});
}

/* x / sqrt(mean(x²) + ε) · weight */
static plim_value rms_norm(plim__maker *m, const llama *l, plim_value x, const char *name) {
    plim_value weight = plim__make_weight(m, name, "weight", 1, &l->width, PLIM__INIT_ONE);
    plim_value square = plim__make_apply(m, "Mul", x, x);
    int32_t mean = plim_graph_node(m->g, "ReduceMean", NULL, &square, 1, 1);
    plim_graph_set_ints(m->g, mean, "axes", (int64_t[]){-1}, 1);
    plim_value root = plim__make_add(m, plim_graph_node_output(m->g, mean, 0), plim__make_scalar(m, 1e-5f));
    root = plim__make_apply(m, "Sqrt", root, PLIM_NO_VALUE);
    return plim__make_apply(m, "Mul", plim__make_apply(m, "Div", x, root), weight);
}

static plim_value llama_attention(plim__maker *m, const llama *l, plim_value x, const char *prefix) {
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    plim_value parts[3];
    char name[96];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s.self_attn.%s", prefix, names[i]);
        parts[i] = heads_of(m, l, x, name, i == 0 ? l->heads : l->kv_heads);
        if (i < 2) parts[i] = rotate(m, l, parts[i]);
        if (i > 0) parts[i] = shared(m, l, parts[i]);
    }
    snprintf(name, sizeof name, "%s.self_attn.o_proj", prefix);
    return plim__make_dense(m, plim__make_heads(m, parts, &l->t), name,
                            (plim__dense){l->width, l->width, DEVIATION, 0});
}

/* down(silu(gate(x)) · up(x)) */
static plim_value gated(plim__maker *m, const llama *l, plim_value x, const char *prefix) {
    char name[96];
    snprintf(name, sizeof name, "%s.mlp.gate_proj", prefix);
    plim_value gate = plim__make_dense(m, x, name, (plim__dense){l->width, l->hidden, DEVIATION, 0});
    gate = plim__make_apply(m, "Mul", gate, plim__make_apply(m, "Sigmoid", gate, PLIM_NO_VALUE));
    snprintf(name, sizeof name, "%s.mlp.up_proj", prefix);
    plim_value up = plim__make_dense(m, x, name, (plim__dense){l->width, l->hidden, DEVIATION, 0});
    snprintf(name, sizeof name, "%s.mlp.down_proj", prefix);
    return plim__make_dense(m, plim__make_apply(m, "Mul", gate, up), name,
                            (plim__dense){l->hidden, l->width, DEVIATION, 0});
}

static bool llama_sizes(plim__maker *m, llama *l) {
    const plim_zoo_options *o = &m->o;
    l->seq = plim__size_or(o->seq, 256);
    l->width = plim__size_or(o->width, 2048);
    l->heads = plim__size_or(o->heads, 32);
    l->kv_heads = plim__size_or(o->kv_heads, l->heads < 8 ? 1 : l->heads / 8);
    l->hidden = plim__size_or(o->hidden, l->width * 11 / 4);
    if (!divides(m, "the width into heads", l->width, l->heads) ||
        !divides(m, "the heads of queries among those of keys", l->heads, l->kv_heads) ||
        !divides(m, "a head into pairs that turn", l->size = l->width / l->heads, 2))
        return false;
    if (l->size >= 4) return true;
    plim__graph_fail(m->g, PLIM_INVALID, "a head of %lld numbers is too small for positions; at least 4",
                     (long long)l->size);
    return false;
}

void plim__zoo_llama(plim__maker *m) {
    llama l = {0};
    if (!llama_sizes(m, &l)) return;
    int64_t vocabulary = plim__size_or(m->o.classes, 32000), layers = plim__size_or(m->o.layers, 22);
    plim_value tokens = tokens_of(m, l.seq);
    plim_value table = plim__make_weight(m, "model.embed_tokens", "weight", 2, (int64_t[]){vocabulary, l.width},
                                         PLIM__INIT_NORMAL(DEVIATION));
    make_rotations(m, &l);
    l.t = (plim__transformer){
        .seq = l.seq, .width = l.width, .heads = l.heads, .visible = plim__make_causal_mask(m, l.seq)};
    plim_value x = plim__make_apply(m, "Gather", table, tokens);
    for (int64_t i = 0; i < layers; i++) {
        char prefix[48], name[96];
        snprintf(prefix, sizeof prefix, "model.layers.%lld", (long long)i);
        snprintf(name, sizeof name, "%s.input_layernorm", prefix);
        x = plim__make_add(m, x, llama_attention(m, &l, rms_norm(m, &l, x, name), prefix));
        snprintf(name, sizeof name, "%s.post_attention_layernorm", prefix);
        x = plim__make_add(m, x, gated(m, &l, rms_norm(m, &l, x, name), prefix));
    }
    x = rms_norm(m, &l, x, "model.norm");
    plim_graph_output(m->g, plim__make_dense(m, x, "lm_head", (plim__dense){l.width, vocabulary, DEVIATION, 0}),
                      "logits");
}

/* --- bert ----------------------------------------------------------------------------------------------------- */

#define BERT_EPSILON 1e-12f

static plim_value bert_dense(plim__maker *m, plim_value x, const char *prefix, const char *part, plim__dense d) {
    char name[128];
    snprintf(name, sizeof name, "%s.%s", prefix, part);
    d.deviation = DEVIATION;
    d.bias = 1;
    return plim__make_dense(m, x, name, d);
}

static plim_value bert_norm(plim__maker *m, plim_value x, const char *prefix, const char *part, int64_t width) {
    char name[128];
    snprintf(name, sizeof name, "%s.%s", prefix, part);
    return plim__make_layer_norm(m, x, name, width, BERT_EPSILON);
}

/* Words, the first segment and positions. */
static plim_value bert_embeddings(plim__maker *m, plim_value tokens, int64_t vocabulary, const plim__transformer *t) {
    static const char prefix[] = "bert.embeddings";
    int64_t positions = t->seq < 512 ? 512 : t->seq;
    const struct {
        const char *name;
        int64_t rows;
    } tables[] = {{"word_embeddings.weight", vocabulary},
                  {"position_embeddings.weight", positions},
                  {"token_type_embeddings.weight", 2}};
    plim_value made[3];
    for (int i = 0; i < 3; i++)
        made[i] = plim__make_weight(m, prefix, tables[i].name, 2, (int64_t[]){tables[i].rows, t->width},
                                    PLIM__INIT_NORMAL(DEVIATION));
    plim_value x = plim__make_apply(m, "Gather", made[0], tokens);
    x = plim__make_add(m, x, slice(m, made[2], 1, 0, t->width));
    x = plim__make_add(m, x, slice(m, made[1], t->seq, 0, t->width));
    return bert_norm(m, x, prefix, "LayerNorm", t->width);
}

/* (N, 1, 1, T): true for tokens that are not [PAD], whose number is 0. */
static plim_value not_padding(plim__maker *m, plim_value tokens, int64_t seq) {
    plim_value zero = plim_graph_constant(m->g, NULL, PLIM_I64, 0, NULL, &(int64_t){0});
    plim_value same = plim__make_apply(m, "Equal", tokens, zero);
    return plim__make_reshape(m, plim__make_apply(m, "Not", same, PLIM_NO_VALUE), 4, (int64_t[]){0, 1, 1, seq});
}

static plim_value bert_layer(plim__maker *m, plim_value x, int64_t hidden, const plim__transformer *t, int64_t index) {
    static const char *const names[] = {"attention.self.query", "attention.self.key", "attention.self.value"};
    int64_t width = t->width;
    char prefix[64];
    plim_value parts[3];
    snprintf(prefix, sizeof prefix, "bert.encoder.layer.%lld", (long long)index);
    for (int i = 0; i < 3; i++)
        parts[i] = plim__make_reshape(m, bert_dense(m, x, prefix, names[i], (plim__dense){.in = width, .out = width}),
                                      4, (int64_t[]){0, t->seq, t->heads, width / t->heads});
    plim_value y = bert_dense(m, plim__make_heads(m, parts, t), prefix, "attention.output.dense",
                              (plim__dense){.in = width, .out = width});
    x = bert_norm(m, plim__make_add(m, y, x), prefix, "attention.output.LayerNorm", width);
    y = bert_dense(m, x, prefix, "intermediate.dense", (plim__dense){.in = width, .out = hidden});
    y = bert_dense(m, plim__make_gelu(m, y, 0), prefix, "output.dense", (plim__dense){.in = hidden, .out = width});
    return bert_norm(m, plim__make_add(m, y, x), prefix, "output.LayerNorm", width);
}

void plim__zoo_bert(plim__maker *m) {
    const plim_zoo_options *o = &m->o;
    plim__transformer t = {
        .seq = plim__size_or(o->seq, 128), .width = plim__size_or(o->width, 768), .heads = plim__size_or(o->heads, 12)};
    int64_t hidden = plim__size_or(o->hidden, 4 * t.width), layers = plim__size_or(o->layers, 12);
    if (!divides(m, "the width into heads", t.width, t.heads)) return;
    plim_value tokens = tokens_of(m, t.seq);
    plim_value x = bert_embeddings(m, tokens, plim__size_or(o->vocab, 30522), &t);
    t.visible = not_padding(m, tokens, t.seq);
    for (int64_t i = 0; i < layers; i++) x = bert_layer(m, x, hidden, &t, i);
    int32_t first =
        plim_graph_node(m->g, "Gather", NULL,
                        (plim_value[]){x, plim_graph_constant(m->g, NULL, PLIM_I64, 0, NULL, &(int64_t){0})}, 2, 1);
    plim_graph_set_int(m->g, first, "axis", 1);
    x = bert_dense(m, plim_graph_node_output(m->g, first, 0), "bert.pooler", "dense",
                   (plim__dense){.in = t.width, .out = t.width});
    x = plim__make_apply(m, "Tanh", x, PLIM_NO_VALUE);
    int64_t classes = plim__size_or(o->classes, 2);
    plim_graph_output(m->g, plim__make_dense(m, x, "classifier", (plim__dense){t.width, classes, DEVIATION, 1}),
                      "logits");
}
