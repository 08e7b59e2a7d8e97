/* Trains a model in one piece and in several, and tells how far the weights are apart. For tests. */
#ifndef PLIM_TESTS_SPLIT_RUN_H
#define PLIM_TESTS_SPLIT_RUN_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

enum { STEPS = 4, WIDTH = 8, UPDATES = 3, MOST_SAMPLES = 16 };

/* Models have the inputs x (N, STEPS, WIDTH) and, where they want them, labels (N, STEPS), some of which are -1. */
struct split_run {
    plim_class class_;
    char why[200];
    double losses[UPDATES];
    size_t count;
    float *weights;
    int64_t micro_batch;
};

static inline plim_value split_input(plim_graph *g) {
    return plim_graph_input(g, "x", PLIM_F32, 3, (const int64_t[]){plim_graph_symbol(g, "N"), STEPS, WIDTH});
}

static inline plim_value split_labels(plim_graph *g) {
    return plim_graph_input(g, "labels", PLIM_I64, 2, (const int64_t[]){plim_graph_symbol(g, "N"), STEPS});
}

static inline plim_value split_weight(plim_graph *g, int rank, const int64_t *dims, uint64_t seed, double scale) {
    float values[1024];
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    assert_true(count <= 1024);
    for (size_t i = 0; i < count; i++) values[i] = (float)(scale * (double)plim__random_normal(seed, 1, i));
    return plim_graph_parameter(g, NULL, PLIM_F32, rank, dims, values);
}

static inline plim_value split_matrix(plim_graph *g, int64_t rows, int64_t columns, uint64_t seed) {
    return split_weight(g, 2, (const int64_t[]){rows, columns}, seed, 1.2 / sqrt((double)rows));
}

static inline plim_value split_ints(plim_graph *g, int64_t count, const int64_t *values) {
    return plim_graph_constant(g, NULL, PLIM_I64, 1, &count, values);
}

static inline plim_value split_number(plim_graph *g, float value) {
    return plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &value);
}

static inline plim_value split_one(plim_graph *g, const char *op, plim_value x) {
    return plim_graph_apply(g, op, &x, 1);
}

static inline plim_value split_two(plim_graph *g, const char *op, plim_value a, plim_value b) {
    return plim_graph_apply(g, op, (const plim_value[]){a, b}, 2);
}

/* A node of one output with an integer attribute. */
static inline plim_value split_with_int(plim_graph *g, const char *op, plim_value x, const char *name, int64_t value) {
    int32_t n = plim_graph_node(g, op, NULL, &x, 1, 1);
    plim_graph_set_int(g, n, name, value);
    return plim_graph_node_output(g, n, 0);
}

static inline plim_value split_with_ints(plim_graph *g, const char *op, plim_value x, const char *name,
                                         const int64_t *values, size_t count) {
    int32_t n = plim_graph_node(g, op, NULL, &x, 1, 1);
    plim_graph_set_ints(g, n, name, values, count);
    return plim_graph_node_output(g, n, 0);
}

/* Over one axis, which stays; over all of them with -1, none of which does. Opset 17: axes of a sum are an input. */
static inline plim_value split_reduce(plim_graph *g, const char *op, plim_value x, int64_t axis) {
    bool sum = strcmp(op, "ReduceSum") == 0;
    plim_value inputs[] = {x, sum && axis >= 0 ? split_ints(g, 1, &axis) : PLIM_NO_VALUE};
    int32_t n = plim_graph_node(g, op, NULL, inputs, sum && axis >= 0 ? 2 : 1, 1);
    if (!sum && axis >= 0) plim_graph_set_ints(g, n, "axes", &axis, 1);
    plim_graph_set_int(g, n, "keepdims", axis >= 0);
    return plim_graph_node_output(g, n, 0);
}

static inline plim_value split_reshape(plim_graph *g, plim_value x, int64_t count, const int64_t *dims) {
    return split_two(g, "Reshape", x, split_ints(g, count, dims));
}

static inline void split_fill(float *x, int64_t *labels, int64_t samples, int update) {
    for (int64_t i = 0; i < samples * STEPS * WIDTH; i++) x[i] = plim__random_normal(7, (uint64_t)update, (uint64_t)i);
    for (int64_t i = 0; i < samples * STEPS; i++) {
        uint64_t bits = plim__random_bits(9, (uint64_t)update, (uint64_t)i);
        /* samples have targets in very different numbers */
        labels[i] = (int64_t)(bits % 16) < 2 + 10 * (i / STEPS % 3) / 2 ? (int64_t)(bits >> 8) % WIDTH : -1;
    }
}

/* Returns what failed: making the trainer (the class is PLIM_EXACT then) or an update; such a run has no weights. */
static inline plim_status split_train(const plim_graph *model, int64_t samples, int64_t pieces, plim_loss_kind loss,
                                      struct split_run *run) {
    static float x[MOST_SAMPLES * STEPS * WIDTH], target[MOST_SAMPLES * STEPS * WIDTH];
    static int64_t labels[MOST_SAMPLES * STEPS];
    plim_trainer_options o = {.batch = samples,
                              .accumulate = pieces,
                              .seed = 3,
                              .threads = 1,
                              .loss = plim_loss_default(loss),
                              .optimizer = plim_optimizer_default(PLIM_SGD)};
    plim_error error = {0};
    plim_trainer *t;
    o.optimizer.rate = 0.05;
    *run = (struct split_run){0};
    plim_status status = plim_trainer_create(model, &o, &t, &error);
    if (status != PLIM_OK) {
        snprintf(run->why, sizeof run->why, "%.190s", error.message);
        return status;
    }
    plim_trainer_stats stats;
    plim_trainer_get_stats(t, &stats);
    run->class_ = stats.class_;
    run->micro_batch = stats.micro_batch;
    snprintf(run->why, sizeof run->why, "%.190s", stats.prevents_split ? stats.prevents_split : "");
    for (int u = 0; u < UPDATES; u++) {
        plim_step_result result;
        split_fill(x, labels, samples, u);
        for (int64_t i = 0; i < samples * STEPS * WIDTH; i++) target[i] = (float)sin((double)x[i] * 3);
        plim_batch batch = {samples, {x, labels}, loss == PLIM_LOSS_CROSS_ENTROPY ? (void *)labels : (void *)target};
        status = plim_trainer_step(t, &batch, &result, &error);
        if (status != PLIM_OK) {
            snprintf(run->why, sizeof run->why, "%.190s", error.message);
            plim_trainer_free(t);
            return status;
        }
        run->losses[u] = result.loss;
    }
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        run->weights = realloc(run->weights, run->count * sizeof(float) + tensor.bytes);
        if (plim_trainer_read(t, i, run->weights + run->count, &error) != PLIM_OK) fail_msg("%s", error.message);
        run->count += tensor.bytes / sizeof(float);
    }
    plim_trainer_free(t);
    return PLIM_OK;
}

/* How far two runs are apart, relative to what training changed since `before`. */
static inline double split_distance(const struct split_run *a, const struct split_run *b, const float *before) {
    double apart = 0, moved = 0, size = 0;
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        double d = (double)a->weights[i] - (double)b->weights[i], m = (double)a->weights[i] - (double)before[i];
        apart += d * d;
        moved += m * m;
        size += (double)before[i] * (double)before[i];
    }
    return sqrt(apart) / (sqrt(moved) + 1e-3 * sqrt(size));
}

/* The weights before any update: those of a run that learns nothing. */
static inline float *split_begin(const plim_graph *model, int64_t samples, plim_loss_kind loss, size_t count) {
    plim_trainer_options o = {
        .batch = samples, .threads = 1, .loss = plim_loss_default(loss), .optimizer = plim_optimizer_default(PLIM_SGD)};
    plim_error error = {0};
    plim_trainer *t;
    float *weights = malloc(count * sizeof *weights + 1), *at = weights;
    if (plim_trainer_create(model, &o, &t, &error) != PLIM_OK) fail_msg("%s", error.message);
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        if (plim_trainer_read(t, i, at, &error) != PLIM_OK) fail_msg("%s", error.message);
        at += tensor.bytes / sizeof(float);
    }
    plim_trainer_free(t);
    return weights;
}

#endif
