/* Random operators draw by counters: the same seed gives the same numbers, a batch that is split draws what the whole one
 * draws, gradients follow what was drawn, and the numbers are distributed as they should be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static plim_error error;

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

#define SAMPLES 8
#define WIDTH   32

/* y = (x·w) · noise, by one random operator. */
static plim_graph *model_of(const char *op) {
    plim_graph *g = plim_graph_create();
    float w[WIDTH * WIDTH];
    for (int i = 0; i < WIDTH * WIDTH; i++) w[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){plim_graph_symbol(g, "batch"), WIDTH});
    plim_value weight = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){WIDTH, WIDTH}, w);
    plim_value h = plim_graph_apply(g, "MatMul", (plim_value[]){x, weight}, 2), p = h;
    if (strcmp(op, "Bernoulli") == 0) p = plim_graph_apply(g, "Sigmoid", &h, 1);
    plim_value noise = plim_graph_apply(g, op, &p, 1);
    plim_graph_output(g, plim_graph_apply(g, "Mul", (plim_value[]){h, noise}, 2), "y");
    must(plim_graph_status(g, &error));
    return g;
}

static void collect(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    (void)name;
    (void)rank;
    memcpy(context, values, (size_t)(dims[0] * dims[1]) * sizeof *values);
}

static void gradients_of(const plim_graph *g, int64_t accumulate, uint64_t seed, float *into) {
    static float x[SAMPLES * WIDTH], target[SAMPLES * WIDTH];
    for (int i = 0; i < SAMPLES * WIDTH; i++) x[i] = (float)(i * 53 % 89) / 89 - 0.4f;
    plim_trainer_options o = {
        .loss = plim_loss_default(PLIM_LOSS_MSE), .batch = SAMPLES, .accumulate = accumulate, .seed = seed};
    plim_trainer *t;
    must(plim_trainer_create(g, &o, &t, &error));
    must(plim_trainer_gradients(t, &(plim_batch){.count = SAMPLES, .inputs = {x}, .target = target}, collect, into,
                                &error));
    plim_trainer_free(t);
}

static double distance(const float *a, const float *b) {
    double worst = 0, largest = 0;
    for (int i = 0; i < WIDTH * WIDTH; i++) {
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)a[i]));
    }
    return largest > 0 ? worst / largest : 1;
}

static void a_split_batch_draws_what_the_whole_one_draws(void **state) {
    (void)state;
    static const char *const ops[] = {"RandomUniformLike", "RandomNormalLike", "Bernoulli"};
    static float whole[WIDTH * WIDTH], split[WIDTH * WIDTH], again[WIDTH * WIDTH], other[WIDTH * WIDTH];
    for (size_t i = 0; i < 3; i++) {
        plim_graph *g = model_of(ops[i]);
        gradients_of(g, 1, 1, whole);
        gradients_of(g, 1, 1, again);
        gradients_of(g, 4, 1, split);
        gradients_of(g, 1, 2, other);
        assert_true(distance(whole, again) == 0);
        assert_true(distance(whole, split) < 1e-5);
        assert_true(distance(whole, other) > 1e-3);
        plim_graph_free(g);
    }
}

/* Mean and deviation of many numbers of one run. */
static void moments(const char *op, const char *name, float value, double mean, double deviation) {
    enum { COUNT = 20000 };
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){COUNT});
    int32_t n = plim_graph_node(g, op, NULL, &x, 1, 1);
    if (name) plim_graph_set_float(g, n, name, value);
    plim_graph_output(g, plim_graph_node_output(g, n, 0), "y");
    plim_session *s;
    must(plim_session_create(g, &(plim_session_options){.threads = 2}, &s, &error));
    float *in = plim_session_input(s, "x");
    for (int i = 0; in && i < COUNT; i++) in[i] = 0.3f;
    must(plim_session_run(s, &error));
    const float *y = plim_session_output(s, "y");
    double sum = 0, squares = 0;
    for (int i = 0; i < COUNT; i++) sum += (double)y[i], squares += (double)y[i] * (double)y[i];
    double got = sum / COUNT, spread = sqrt(squares / COUNT - got * got);
    if (fabs(got - mean) > 4 * deviation / sqrt(COUNT) || fabs(spread - deviation) > 0.02 * deviation)
        fail_msg("%s: mean %g, deviation %g", op, got, spread);
    plim_session_free(s);
    plim_graph_free(g);
}

static void numbers_are_distributed_as_they_should_be(void **state) {
    (void)state;
    moments("RandomUniformLike", NULL, 0, 0.5, sqrt(1 / 12.));
    moments("RandomUniformLike", "low", -3, -1, 4 * sqrt(1 / 12.));
    moments("RandomNormalLike", NULL, 0, 0, 1);
    moments("RandomNormalLike", "scale", 5, 0, 5);
    moments("Bernoulli", NULL, 0, 0.3, sqrt(0.21));
}

static void classes_are_drawn_by_their_shares(void **state) {
    (void)state;
    enum { COUNT = 10000 };
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){2, 3});
    int32_t n = plim_graph_node(g, "Multinomial", NULL, &x, 1, 1);
    plim_graph_set_int(g, n, "sample_size", COUNT);
    plim_graph_output(g, plim_graph_node_output(g, n, 0), "y");
    plim_session *s;
    must(plim_session_create(g, NULL, &s, &error));
    float *scores = plim_session_input(s, "x");
    const float shares[] = {0.2f, 0.5f, 0.3f, 0, 1, 0};
    for (int i = 0; i < 6; i++) scores[i] = logf(shares[i]);
    must(plim_session_run(s, &error));
    const int32_t *y = plim_session_output(s, "y");
    for (int row = 0; row < 2; row++) {
        double counts[3] = {0};
        for (int i = 0; i < COUNT; i++) counts[y[row * COUNT + i]]++;
        for (int c = 0; c < 3; c++) assert_true(fabs(counts[c] / COUNT - (double)shares[row * 3 + c]) < 0.02);
    }
    plim_session_free(s);
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_batch_draws_what_the_whole_one_draws),
        cmocka_unit_test(numbers_are_distributed_as_they_should_be),
        cmocka_unit_test(classes_are_drawn_by_their_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
