/* RNN, GRU and LSTM compute what ONNX's formulas say, for every direction, layout, length and irregular size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

enum { RNN, GRU, LSTM };
static const char *const names[] = {"RNN", "GRU", "LSTM"};
static const int gate_counts[] = {1, 3, 4};

typedef struct network {
    int cell, steps, batch, inputs, hidden, threads;
    const char *direction; /* "forward" where NULL */
    bool batch_first, reset_after, input_forget, lengths, states, bias, peepholes;
    float clip;
    double (*gate)(double), (*fresh)(double), (*squash)(double); /* sigmoid, tanh, tanh where NULL */
    const char *activations[3];
} network;

typedef struct data {
    float *x, *w, *r, *b, *h0, *c0, *p;
    int32_t *lengths;
    float *y, *y_h, *y_c; /* expected */
} data;

static uint32_t seed = 7;
static float next_random(void) {
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / (float)(1 << 23) - 1;
}

static float *randoms(int count, float scale) {
    float *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values);
    for (int i = 0; i < count; i++) values[i] = next_random() * scale;
    return values;
}

static int directions(const network *n) { return n->direction && n->direction[0] == 'b' ? 2 : 1; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double relu(double x) { return x > 0 ? x : 0; }
static double hard_sigmoid(double x) { return fmin(fmax(0.2 * x + 0.5, 0), 1); }
static double softsign(double x) { return x / (1 + fabs(x)); }

static double apply(const network *n, double (*f)(double), double x) {
    return f(n->clip > 0 ? fmin(fmax(x, -(double)n->clip), (double)n->clip) : x);
}

/* --- the formulas, one element at a time ---------------------------------------------------------------------- */

static int state_at(const network *n, int d, int b) {
    return (n->batch_first ? b * directions(n) + d : d * n->batch + b) * n->hidden;
}

static double dot(const float *w, const double *x, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += (double)w[i] * x[i];
    return sum;
}

static void cell(const network *n, const data *a, int d, const double *x, double *h, double *c) {
    int H = n->hidden, G = gate_counts[n->cell];
    const float *w = a->w + d * G * H * n->inputs, *r = a->r + d * G * H * H, *b = a->b + d * 2 * G * H,
                *p = a->p + d * 3 * H;
    double (*f)(double) = n->gate ? n->gate : n->cell == RNN ? tanh : sigmoid;
    double (*g)(double) = n->fresh ? n->fresh : tanh, (*q)(double) = n->squash ? n->squash : tanh;
    double *pre = calloc((size_t)(5 * H), sizeof *pre), *rec = calloc((size_t)(5 * H), sizeof *rec),
           *reset = rec + 4 * H;
    for (int u = 0; u < G * H; u++) {
        pre[u] = dot(w + u * n->inputs, x, n->inputs) + (n->bias ? (double)b[u] : 0);
        rec[u] = dot(r + u * H, h, H) + (n->bias ? (double)b[G * H + u] : 0);
    }
    if (n->cell == RNN)
        for (int u = 0; u < H; u++) h[u] = apply(n, f, pre[u] + rec[u]);
    if (n->cell == GRU) {
        for (int u = 0; u < 2 * H; u++) pre[u] = apply(n, f, pre[u] + rec[u]); /* z, r */
        for (int u = 0; u < H; u++) reset[u] = pre[H + u] * h[u];
        for (int u = 0; u < H; u++) {
            double inner = dot(r + (2 * H + u) * H, reset, H) + (n->bias ? (double)b[(G + 2) * H + u] : 0);
            rec[u] = apply(n, g, pre[2 * H + u] + (n->reset_after ? pre[H + u] * rec[2 * H + u] : inner));
        }
        for (int u = 0; u < H; u++) h[u] = (1 - pre[u]) * rec[u] + pre[u] * h[u];
    }
    for (int u = 0; n->cell == LSTM && u < H; u++) {
        double peep_i = n->peepholes ? (double)p[u] : 0, peep_o = n->peepholes ? (double)p[H + u] : 0;
        double peep_f = n->peepholes ? (double)p[2 * H + u] : 0;
        double in = apply(n, f, pre[u] + rec[u] + peep_i * c[u]);
        double forget = n->input_forget ? 1 - in : apply(n, f, pre[2 * H + u] + rec[2 * H + u] + peep_f * c[u]);
        c[u] = forget * c[u] + in * apply(n, g, pre[3 * H + u] + rec[3 * H + u]);
        h[u] = apply(n, f, pre[H + u] + rec[H + u] + peep_o * c[u]) * apply(n, q, c[u]);
    }
    free(pre), free(rec);
}

static void expect(const network *n, data *a) {
    int D = directions(n), H = n->hidden;
    double *h = calloc((size_t)H, sizeof *h), *c = calloc((size_t)H, sizeof *c),
           *x = calloc((size_t)n->inputs + 1, sizeof *x);
    for (int d = 0; d < D; d++)
        for (int b = 0; b < n->batch; b++) {
            int length = n->lengths ? a->lengths[b] : n->steps;
            bool reverse = d == 1 || (n->direction && n->direction[0] == 'r');
            for (int u = 0; u < H; u++) {
                h[u] = n->states ? (double)a->h0[state_at(n, d, b) + u] : 0;
                c[u] = n->states ? (double)a->c0[state_at(n, d, b) + u] : 0;
            }
            for (int i = 0; i < length; i++) {
                int t = reverse ? length - 1 - i : i;
                const float *from = a->x + (n->batch_first ? b * n->steps + t : t * n->batch + b) * n->inputs;
                float *y = a->y + (n->batch_first ? (b * n->steps + t) * D + d : (t * D + d) * n->batch + b) * H;
                for (int k = 0; k < n->inputs; k++) x[k] = (double)from[k];
                cell(n, a, d, x, h, c);
                for (int u = 0; u < H; u++) y[u] = (float)h[u];
            }
            for (int u = 0; u < H; u++) {
                a->y_h[state_at(n, d, b) + u] = (float)h[u];
                a->y_c[state_at(n, d, b) + u] = (float)c[u];
            }
        }
    free(h), free(c), free(x);
}

/* --- the same through a session ------------------------------------------------------------------------------- */

static data make_data(const network *n) {
    int D = directions(n), H = n->hidden, G = gate_counts[n->cell], state = D * n->batch * H, y = n->steps * state;
    float scale = 1 / sqrtf((float)H);
    data a = {randoms(n->steps * n->batch * n->inputs, 1),
              randoms(D * G * H * n->inputs, scale),
              randoms(D * G * H * H, scale),
              randoms(D * 2 * G * H, 0.5f),
              randoms(state, 1),
              randoms(state, 1),
              randoms(D * 3 * H, 0.5f),
              malloc((size_t)n->batch * sizeof(int32_t) + 1),
              calloc((size_t)y + 1, 4),
              calloc((size_t)state + 1, 4),
              calloc((size_t)state + 1, 4)};
    for (int b = 0; b < n->batch; b++) a.lengths[b] = (int32_t)((n->steps + b * 3) % (n->steps + 1));
    return a;
}

static void free_data(data *a) {
    free(a->x), free(a->w), free(a->r), free(a->b), free(a->h0), free(a->c0), free(a->p), free(a->lengths);
    free(a->y), free(a->y_h), free(a->y_c);
}

static void set_activations(plim_graph *g, int32_t node, const network *n) {
    if (!n->activations[0]) return;
    int each = n->cell + 1, count = each * directions(n);
    plim__attribute list = {.name = strdup("activations"), .type = PLIM__ATTRIBUTE_STRINGS, .length = (size_t)count};
    list.strings = calloc((size_t)count, sizeof *list.strings);
    for (int i = 0; i < count; i++) list.strings[i] = strdup(n->activations[i % each]);
    assert_true(plim__node_set_attribute(g, node, list));
}

static plim_graph *make_graph(const network *n, const data *a) {
    int64_t D = directions(n), H = n->hidden, G = gate_counts[n->cell], B = n->batch, T = n->steps, I = n->inputs;
    bool first = n->batch_first;
    plim_graph *g = plim_graph_create();
    plim_value in[8];
    in[0] = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){first ? B : T, first ? T : B, I});
    in[1] = plim_graph_parameter(g, "w", PLIM_F32, 3, (int64_t[]){D, G * H, I}, a->w);
    in[2] = plim_graph_parameter(g, "r", PLIM_F32, 3, (int64_t[]){D, G * H, H}, a->r);
    in[3] = n->bias ? plim_graph_parameter(g, "b", PLIM_F32, 2, (int64_t[]){D, 2 * G * H}, a->b) : PLIM_NO_VALUE;
    in[4] = n->lengths ? plim_graph_input(g, "lengths", PLIM_I32, 1, &B) : PLIM_NO_VALUE;
    in[5] = n->states ? plim_graph_input(g, "h0", PLIM_F32, 3, (int64_t[]){first ? B : D, first ? D : B, H})
                      : PLIM_NO_VALUE;
    in[6] = n->states && n->cell == LSTM
                ? plim_graph_input(g, "c0", PLIM_F32, 3, (int64_t[]){first ? B : D, first ? D : B, H})
                : PLIM_NO_VALUE;
    in[7] = n->peepholes ? plim_graph_parameter(g, "p", PLIM_F32, 2, (int64_t[]){D, 3 * H}, a->p) : PLIM_NO_VALUE;
    size_t outputs = n->cell == LSTM ? 3 : 2;
    int32_t node = plim_graph_node(g, names[n->cell], NULL, in, n->cell == LSTM ? 8 : 6, outputs);
    if (n->direction) plim_graph_set_string(g, node, "direction", n->direction);
    if (first) plim_graph_set_int(g, node, "layout", 1);
    if (n->reset_after) plim_graph_set_int(g, node, "linear_before_reset", 1);
    if (n->input_forget) plim_graph_set_int(g, node, "input_forget", 1);
    if (n->clip > 0) plim_graph_set_float(g, node, "clip", n->clip);
    set_activations(g, node, n);
    static const char *const out[] = {"y", "y_h", "y_c"};
    for (size_t i = 0; i < outputs; i++) plim_graph_output(g, plim_graph_node_output(g, node, i), out[i]);
    return g;
}

static void compare(const plim_session *s, const char *name, const float *expected, int count) {
    const float *y = plim_session_output(s, name);
    for (int i = 0; i < count; i++)
        if (!(fabsf(y[i] - expected[i]) < 2e-5f))
            fail_msg("%s[%d] is %g, expected %g", name, i, (double)y[i], (double)expected[i]);
}

static void check(const network *n) {
    data a = make_data(n);
    plim_graph *g = make_graph(n, &a);
    plim_session *s = NULL;
    plim_error error = {0};
    int state = directions(n) * n->batch * n->hidden;
    if (plim_session_create(g, &(plim_session_options){.threads = n->threads}, &s, &error) != PLIM_OK)
        fail_msg("%s", error.message);
    expect(n, &a);
    for (int run = 0; run < 2; run++) { /* nothing is left over from the first */
        memcpy(plim_session_input(s, "x"), a.x, (size_t)(n->steps * n->batch * n->inputs) * 4);
        if (n->lengths) memcpy(plim_session_input(s, "lengths"), a.lengths, (size_t)n->batch * 4);
        if (n->states) memcpy(plim_session_input(s, "h0"), a.h0, (size_t)state * 4);
        if (n->states && n->cell == LSTM) memcpy(plim_session_input(s, "c0"), a.c0, (size_t)state * 4);
        if (plim_session_run(s, &error) != PLIM_OK) fail_msg("%s", error.message);
        compare(s, "y", a.y, n->steps * state);
        compare(s, "y_h", a.y_h, state);
        if (n->cell == LSTM) compare(s, "y_c", a.y_c, state);
    }
    plim_session_free(s);
    plim_graph_free(g);
    free_data(&a);
}

/* --- promises ------------------------------------------------------------------------------------------------- */

static void every_direction_layout_and_length_is_right(void **state) {
    (void)state;
    static const char *const all[] = {"forward", "reverse", "bidirectional"};
    for (int c = RNN; c <= LSTM; c++)
        for (int d = 0; d < 3; d++)
            for (int flags = 0; flags < 8; flags++)
                check(&(network){.cell = c,
                                 .steps = 5,
                                 .batch = 3,
                                 .inputs = 4,
                                 .hidden = 7,
                                 .threads = 1,
                                 .direction = all[d],
                                 .batch_first = flags & 1,
                                 .lengths = flags & 2,
                                 .states = flags & 4,
                                 .bias = flags & 2,
                                 .reset_after = c == GRU && flags & 4});
}

static void sizes_that_do_not_fill_vectors_or_tiles_are_right(void **state) {
    (void)state;
    static const int hidden[] = {1, 4, 15, 16, 17, 33}, batch[] = {1, 2, 5, 6, 7, 11, 13, 25};
    for (int c = RNN; c <= LSTM; c++)
        for (size_t h = 0; h < 6; h++)
            for (size_t b = 0; b < 8; b++)
                check(&(network){.cell = c,
                                 .steps = 2,
                                 .batch = batch[b],
                                 .inputs = 3,
                                 .hidden = hidden[h],
                                 .threads = 1,
                                 .bias = true,
                                 .reset_after = b & 1 && c == GRU,
                                 .batch_first = b & 2});
}

static void threads_and_chunks_of_time_change_nothing(void **state) {
    (void)state;
    for (int c = RNN; c <= LSTM; c++)
        for (int k = 0; k < 8; k++) /* threads own samples, and where these are few, units */
            check(&(network){.cell = c,
                             .steps = 45,
                             .batch = k & 4 ? 7 : 26,
                             .inputs = 3,
                             .hidden = k & 4 ? 150 : 100,
                             .threads = k & 1 ? 3 : 2,
                             .direction = k & 2 ? "bidirectional" : "reverse",
                             .bias = true,
                             .reset_after = k & 1 && c == GRU,
                             .batch_first = k & 2,
                             .lengths = k & 1});
}

static void peepholes_clip_and_coupled_gates_are_right(void **state) {
    (void)state;
    network n = {.cell = LSTM,
                 .steps = 4,
                 .batch = 3,
                 .inputs = 5,
                 .hidden = 9,
                 .threads = 1,
                 .bias = true,
                 .states = true,
                 .direction = "bidirectional",
                 .peepholes = true};
    check(&n);
    n.input_forget = true;
    check(&n);
    n.clip = 0.3f;
    check(&n);
    check(&(network){.cell = GRU, .steps = 4, .batch = 3, .inputs = 5, .hidden = 9, .threads = 1, .clip = 0.2f});
}

static void other_activations_are_right(void **state) {
    (void)state;
    network n = {.cell = LSTM,
                 .steps = 3,
                 .batch = 2,
                 .inputs = 5,
                 .hidden = 6,
                 .threads = 1,
                 .direction = "bidirectional",
                 .gate = hard_sigmoid,
                 .fresh = relu,
                 .squash = softsign,
                 .activations = {"HardSigmoid", "Relu", "Softsign"}};
    check(&n);
    n.cell = GRU;
    check(&n);
    n.cell = RNN;
    n.gate = softsign;
    n.activations[0] = "softsign"; /* names are not case sensitive */
    check(&n);
}

static void sequences_without_steps_or_samples_keep_their_state(void **state) {
    (void)state;
    for (int c = RNN; c <= LSTM; c++) {
        check(&(network){.cell = c, .steps = 0, .batch = 2, .inputs = 3, .hidden = 4, .threads = 1, .states = true});
        check(&(network){.cell = c, .steps = 2, .batch = 0, .inputs = 3, .hidden = 4, .threads = 1});
        check(&(network){
            .cell = c, .steps = 2, .batch = 2, .inputs = 0, .hidden = 4, .threads = 1, .states = true, .bias = true});
    }
}

static void a_length_beyond_the_steps_is_refused(void **state) {
    (void)state;
    network n = {.cell = LSTM, .steps = 3, .batch = 2, .inputs = 2, .hidden = 4, .threads = 1, .lengths = true};
    static const int32_t bad[] = {4, -1, INT32_MAX};
    data a = make_data(&n);
    plim_graph *g = make_graph(&n, &a);
    plim_session *s = NULL;
    plim_error error = {0};
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_OK);
    for (int i = 0; i < 3; i++) {
        memcpy(plim_session_input(s, "x"), a.x, 3 * 2 * 2 * 4);
        memcpy(plim_session_input(s, "lengths"), (int32_t[]){1, bad[i]}, 8);
        assert_int_equal(plim_session_run(s, &error), PLIM_INVALID);
        assert_non_null(strstr(error.message, "sequence_lens[1]"));
    }
    plim_session_free(s);
    plim_graph_free(g);
    free_data(&a);
}

static void weights_that_do_not_fit_are_named(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){3, 2, 5});
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 3, (int64_t[]){1, 16, 6}, NULL);
    plim_value r = plim_graph_parameter(g, "r", PLIM_F32, 3, (int64_t[]){1, 16, 4}, NULL);
    plim_graph_output(g, plim_graph_apply(g, "LSTM", (plim_value[]){x, w, r}, 3), "y");
    plim_session *s = NULL;
    plim_error error = {0};
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_SHAPE);
    assert_non_null(strstr(error.message, "W is [1,16,6], expected [1,16,5]"));
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_direction_layout_and_length_is_right),
        cmocka_unit_test(sizes_that_do_not_fill_vectors_or_tiles_are_right),
        cmocka_unit_test(threads_and_chunks_of_time_change_nothing),
        cmocka_unit_test(peepholes_clip_and_coupled_gates_are_right),
        cmocka_unit_test(other_activations_are_right),
        cmocka_unit_test(sequences_without_steps_or_samples_keep_their_state),
        cmocka_unit_test(a_length_beyond_the_steps_is_refused),
        cmocka_unit_test(weights_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
