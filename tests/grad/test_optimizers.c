/* Optimizers update as PyTorch's do: by given gradients, and by those of a network whose weights lie in blocks with
 * padding; with weight decay, clipping and schedules; bit for bit the same on one thread and on two. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grad/gradient.h"
#include "grad/training.h"
#include "kernel/processor.h"
#include "kernel/simd/simd.h"
#include "plim_test.h"
#include "run/runner.h"

struct numbers {
    const char *name;
    double norm, mix;
};
#include "optimizer_numbers.h"

#define STEPS 20
#define MOST  8

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static void fill(float *to, int64_t count, int salt, double scale) {
    for (int64_t k = 0; k < count; k++) to[k] = (float)(sin((double)k * 0.7310585 + salt * 1.25) * scale);
}

/* --- cases: an optimizer, a schedule, and what PyTorch makes of both ------------------------------------------- */

struct test {
    const char *name;
    plim_optimizer optimizer;
    plim_schedule schedule;
    const struct numbers *fed, *network;
};

#define CASE(name, schedule, ...)  {#name, {__VA_ARGS__}, schedule, fed_##name, network_##name},
#define GIVEN(name, schedule, ...) {#name, {__VA_ARGS__}, schedule, fed_##name, NULL},
#define ALWAYS                                                                                                         \
    { .kind = PLIM_CONSTANT }
#define WARM                                                                                                           \
    { PLIM_CONSTANT, .warmup = 5 }
#define HALVED                                                                                                         \
    { PLIM_STEP, .every = 6, .gamma = 0.5 }
#define COSINE                                                                                                         \
    { PLIM_COSINE, .warmup = 5, .total = STEPS, .least = 0.1 }
#define LINEAR                                                                                                         \
    { PLIM_LINEAR, .total = STEPS, .least = 0.2 }
#define BETAS .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8

/* clang-format off */
static const struct test tests[] = {
    CASE(sgd, ALWAYS, PLIM_SGD, .rate = 0.05)
    CASE(sgd_momentum, ALWAYS, PLIM_SGD, .rate = 0.05, .momentum = 0.9, .weight_decay = 0.01)
    CASE(sgd_dampening, ALWAYS, PLIM_SGD, .rate = 0.05, .momentum = 0.8, .dampening = 0.3)
    CASE(sgd_nesterov, ALWAYS, PLIM_SGD, .rate = 0.05, .momentum = 0.9, .nesterov = 1, .weight_decay = 0.02)
    CASE(sgd_both, ALWAYS, PLIM_SGD, .rate = 0.1, .momentum = 0.9, .clip_norm = 0.3, .clip_value = 0.01)
    CASE(adam, ALWAYS, PLIM_ADAM, .rate = 1e-3, BETAS)
    CASE(adam_decay, ALWAYS, PLIM_ADAM, .rate = 0.01, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.1)
    CASE(adamw, ALWAYS, PLIM_ADAMW, .rate = 1e-3, BETAS, .weight_decay = 0.01)
    CASE(adamw_norm, ALWAYS, PLIM_ADAMW, .rate = 0.01, BETAS, .weight_decay = 0.1, .clip_norm = 0.5)
    CASE(adamw_value, ALWAYS, PLIM_ADAMW, .rate = 0.01, BETAS, .weight_decay = 0.01, .clip_value = 0.02)
    CASE(rmsprop, ALWAYS, PLIM_RMSPROP, .rate = 0.001, .alpha = 0.99, .epsilon = 1e-8)
    CASE(rmsprop_momentum, ALWAYS, PLIM_RMSPROP, .rate = 0.001, .alpha = 0.9, .momentum = 0.9, .epsilon = 1e-8,
         .weight_decay = 0.1)
    CASE(adagrad, ALWAYS, PLIM_ADAGRAD, .rate = 0.01, .epsilon = 1e-10)
    CASE(adagrad_decay, ALWAYS, PLIM_ADAGRAD, .rate = 0.05, .epsilon = 1e-10, .rate_decay = 0.1, .weight_decay = 0.1)
    CASE(adafactor, ALWAYS, PLIM_ADAFACTOR, .rate = 0.01, .beta2 = -0.8, .epsilon = 1e-3, .threshold = 1)
    GIVEN(adafactor_fast, ALWAYS, PLIM_ADAFACTOR, .rate = 0.6, .beta2 = -0.8, .epsilon = 0.1, .threshold = 1)
    CASE(adafactor_decay, ALWAYS, PLIM_ADAFACTOR, .rate = 0.05, .beta2 = -0.5, .epsilon = 1e-3, .threshold = 1.5,
         .weight_decay = 0.1, .clip_norm = 0.4)
    CASE(lion, ALWAYS, PLIM_LION, .rate = 1e-4, .beta1 = 0.9, .beta2 = 0.99)
    CASE(lion_decay, ALWAYS, PLIM_LION, .rate = 0.003, .beta1 = 0.95, .beta2 = 0.98, .weight_decay = 0.5,
         .clip_value = 0.1)
    CASE(constant, WARM, PLIM_SGD, .rate = 0.05)
    CASE(step, HALVED, PLIM_SGD, .rate = 0.05)
    CASE(cosine, COSINE, PLIM_ADAMW, .rate = 0.01, BETAS, .weight_decay = 0.01)
    CASE(linear, LINEAR, PLIM_ADAM, .rate = 0.01, BETAS)
};
/* clang-format on */
#define TESTS (sizeof tests / sizeof *tests)

/* --- a graph that trains --------------------------------------------------------------------------------------- */

struct training {
    plim_graph *g;
    plim_value parameters[MOST], gradients[MOST];
    size_t count;
    plim__program *program;
    plim__plan *plan;
    plim__runner *runner;
};

static void finish(struct training *t, const plim_optimizer *o, int threads) {
    plim_error error = {0};
    plim_value update = plim_graph_input(t->g, "plimsoll.update", PLIM_F64, 1, (int64_t[]){2});
    plim__updates updates = {.parameters = t->parameters,
                             .gradients = t->gradients,
                             .count = t->count,
                             .update = update,
                             .scale = PLIM_NO_VALUE};
    must(plim__optimizer_append(t->g, o, &updates, &error), &error);
    for (size_t i = 0; i < t->count; i++) plim_graph_output(t->g, t->parameters[i], NULL);
    must(plim__graph_sort(t->g, &error), &error);
    must(plim__graph_prune(t->g, &error), &error);
    must(plim__program_create(t->g, plim__on_processor(threads), NULL, &t->program, &error), &error);
    must(plim__plan_create(t->program, NULL, &t->plan, &error), &error);
    assert_true(plim__plan_is_valid(t->plan, t->program, &error));
    must(plim__runner_create(t->program, t->plan, NULL, &t->runner, &error), &error);
}

static void *at(const struct training *t, const char *name) {
    plim_value v = plim_graph_find(t->g, name);
    void *p = v < 0 ? NULL : plim__runner_at(t->runner, t->program->values[v]);
    if (!p) fail_msg("'%s' is nowhere", name);
    return p;
}

static void step(struct training *t, const struct test *test, int n) {
    plim_error error = {0};
    double *update = at(t, "plimsoll.update");
    update[0] = test->optimizer.rate * plim_schedule_factor(&test->schedule, n);
    update[1] = n + 1;
    must(plim__runner_run(t->runner, &error), &error);
}

static void release(struct training *t) {
    plim__runner_free(t->runner);
    plim__plan_free(t->plan);
    plim__program_free(t->program);
    plim_graph_free(t->g);
}

static void compare(const struct training *t, const struct test *test, const struct numbers *right, double tolerance) {
    for (size_t i = 0; i < t->count; i++) {
        const plim__value *value = &t->g->values.items[t->parameters[i]];
        assert_string_equal(value->name, right[i].name);
        const float *x = at(t, value->name);
        double squares = 0, mix = 0;
        for (int64_t k = 0; k < plim__shape_elements(&value->shape); k++) {
            squares += (double)x[k] * (double)x[k];
            mix += (double)x[k] * cos((double)k * 0.11);
        }
        double norm = sqrt(squares), off = fmax(fabs(norm - right[i].norm), fabs(mix - right[i].mix)) / right[i].norm;
        if (getenv("PLIM_SHOW_ERRORS")) print_message("%-18s %-14s %.1e\n", test->name, right[i].name, off);
        if (!(off < tolerance))
            fail_msg("%s: %s has norm %.9g, mix %.9g; PyTorch has %.9g, %.9g", test->name, right[i].name, norm, mix,
                     right[i].norm, right[i].mix);
    }
}

static void expect_same_weights(const struct training *a, const struct training *b) {
    for (size_t i = 0; i < a->count; i++) {
        const plim__value *value = &a->g->values.items[a->parameters[i]];
        assert_memory_equal(at(a, value->name), at(b, value->name), (size_t)plim__shape_elements(&value->shape) * 4);
    }
}

/* --- given gradients ------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int rank;
    int64_t dims[4];
} shapes[] = {{"vector", 1, {37}},
              {"filter", 4, {5, 3, 3, 3}},
              {"matrix", 2, {23, 31}},
              {"number", 1, {1}},
              {"large", 2, {129, 257}}};
#define SHAPES (sizeof shapes / sizeof *shapes)

static plim_value parameter(struct training *t, const char *name, int rank, const int64_t *dims, int salt,
                            double scale) {
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    float *data = malloc((size_t)count * sizeof *data);
    fill(data, count, salt, scale);
    plim_value v = plim_graph_parameter_take(t->g, name, PLIM_F32, rank, dims, data);
    t->parameters[t->count++] = v;
    return v;
}

static struct training train_fed(const struct test *test, int threads) {
    struct training t = {.g = plim_graph_create()};
    for (size_t i = 0; i < SHAPES; i++) {
        char name[32];
        parameter(&t, shapes[i].name, shapes[i].rank, shapes[i].dims, (int)i, 0.5);
        snprintf(name, sizeof name, "%s.given", shapes[i].name);
        t.gradients[i] = plim_graph_input(t.g, name, PLIM_F32, shapes[i].rank, shapes[i].dims);
    }
    finish(&t, &test->optimizer, threads);
    for (int n = 0; n < STEPS; n++) {
        for (size_t i = 0; i < SHAPES; i++) {
            char name[32];
            snprintf(name, sizeof name, "%s.given", shapes[i].name);
            fill(at(&t, name), plim__shape_elements(&t.g->values.items[t.parameters[i]].shape), 10 * n + (int)i + 7,
                 0.03 + 0.002 * n);
        }
        step(&t, test, n);
    }
    return t;
}

static void given_gradients_update_as_in_pytorch(void **state) {
    (void)state;
    for (size_t i = 0; i < TESTS; i++) {
        struct training one = train_fed(&tests[i], 1), two = train_fed(&tests[i], 2);
        compare(&one, &tests[i], tests[i].fed, 2e-6);
        expect_same_weights(&one, &two);
        release(&one);
        release(&two);
    }
}

/* --- a network ------------------------------------------------------------------------------------------------- */

static plim_value weight(struct training *t, const char *name, int rank, const int64_t *dims) {
    int salt = 0;
    for (const char *c = name; *c; c++) salt += *c;
    return parameter(t, name, rank, dims, salt, 0.3);
}

struct window {
    int64_t stride, pad, group;
};

static plim_value conv(struct training *t, const char *op, plim_value x, plim_value w, plim_value b,
                       struct window window) {
    int64_t stride = window.stride, pad = window.pad;
    int32_t n = plim_graph_node(t->g, op, NULL, (plim_value[]){x, w, b}, b < 0 ? 2 : 3, 1);
    plim_graph_set_ints(t->g, n, "strides", (int64_t[]){stride, stride}, 2);
    plim_graph_set_ints(t->g, n, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
    plim_graph_set_int(t->g, n, "group", window.group);
    return plim_graph_node_output(t->g, n, 0);
}

static struct training train_network(const struct test *test, int threads) {
    struct training t = {.g = plim_graph_create()};
    plim_error error = {0};
    plim_value y = plim_graph_input(t.g, "x", PLIM_F32, 4, (int64_t[]){4, 3, 8, 8});
    plim_value w = weight(&t, "conv1.weight", 4, (int64_t[]){5, 3, 3, 3});
    y = conv(&t, "Conv", y, w, weight(&t, "conv1.bias", 1, (int64_t[]){5}), (struct window){1, 1, 1});
    y = plim_graph_apply(t.g, "Tanh", &y, 1);
    y = conv(&t, "Conv", y, weight(&t, "conv2.weight", 4, (int64_t[]){6, 5, 3, 3}), PLIM_NO_VALUE,
             (struct window){2, 1, 1});
    y = plim_graph_apply(t.g, "Tanh", &y, 1);
    y = conv(&t, "ConvTranspose", y, weight(&t, "up.weight", 4, (int64_t[]){6, 6, 2, 2}), PLIM_NO_VALUE,
             (struct window){2, 0, 1});
    y = plim_graph_apply(t.g, "Tanh", &y, 1);
    y = conv(&t, "Conv", y, weight(&t, "group.weight", 4, (int64_t[]){8, 3, 1, 1}), PLIM_NO_VALUE,
             (struct window){1, 0, 2});
    y = plim_graph_apply(t.g, "GlobalAveragePool", &y, 1);
    y = plim_graph_apply(t.g, "Flatten", &y, 1);
    w = weight(&t, "fc.weight", 2, (int64_t[]){17, 8});
    int32_t fc =
        plim_graph_node(t.g, "Gemm", NULL, (plim_value[]){y, w, weight(&t, "fc.bias", 1, (int64_t[]){17})}, 3, 1);
    plim_graph_set_int(t.g, fc, "transB", 1);
    int64_t four = 4, labels[4];
    for (int64_t k = 0; k < 4; k++) labels[k] = (k * 7 + 3) % 17;
    plim_value target = plim_graph_constant(t.g, NULL, PLIM_I64, 1, &four, labels);
    y = plim_graph_apply(t.g, "SoftmaxCrossEntropyLoss", (plim_value[]){plim_graph_node_output(t.g, fc, 0), target}, 2);
    must(plim_graph_status(t.g, &error), &error);
    must(plim__infer_graph(t.g, plim__processor_fold, NULL, &error), &error);
    must(plim__gradients_build(t.g, y, t.parameters, t.count, t.gradients, &error), &error);
    finish(&t, &test->optimizer, threads);
    for (int n = 0; n < STEPS; n++) {
        fill(at(&t, "x"), 4 * 3 * 64, n + 3, 1);
        step(&t, test, n);
    }
    return t;
}

static bool any_padding(const struct training *t) {
    bool found = false;
    for (size_t b = 0; b < t->program->buffers.count; b++) {
        const plim__buffer *buffer = &t->program->buffers.items[b];
        size_t bytes = 0;
        if (!buffer->persistent || buffer->value < 0) continue;
        const plim__value *value = &t->g->values.items[buffer->value];
        plim__shape_bytes(&value->shape, value->dtype, &bytes, NULL);
        found |= buffer->bytes > bytes;
    }
    return found;
}

static void networks_train_as_in_pytorch(void **state) {
    (void)state;
    for (size_t i = 0; i < TESTS; i++) {
        if (!tests[i].network) continue;
        struct training one = train_network(&tests[i], 1);
        if (i == 0 && plim__isa_best() != PLIM__ISA_BASELINE) assert_true(any_padding(&one));
        compare(&one, &tests[i], tests[i].network, 5e-5);
        release(&one);
    }
}

int main(void) {
    const struct CMUnitTest all[] = {
        cmocka_unit_test(given_gradients_update_as_in_pytorch),
        cmocka_unit_test(networks_train_as_in_pytorch),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
