/* Losses and their gradients are those that PyTorch computes; a loss that does not fit says why. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "grad/gradient.h"
#include "grad/training.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

struct numbers {
    const char *name;
    double loss, weight;
    int right;
    double norm, mix;
};
#include "loss_numbers.h"

#define DIMS(...)                                                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define MOST 130000

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static void fill(float *to, int64_t count, int salt, double scale, double base) {
    for (int64_t k = 0; k < count; k++) {
        float x = (float)(sin((double)k * 0.7310585 + salt * 1.25) * scale);
        to[k] = (float)base + x;
    }
}

static const struct numbers *find(const char *name) {
    for (size_t i = 0; i < sizeof loss_numbers / sizeof *loss_numbers; i++)
        if (strcmp(loss_numbers[i].name, name) == 0) return &loss_numbers[i];
    fail_msg("no numbers of '%s'", name);
    return NULL;
}

/* A model that is nothing but its scores, its loss, and the gradient of the scores. */
struct trained {
    plim_session *session;
    plim__loss_parts parts;
    char names[5][64]; /* of target, loss, weight, correct, gradient */
    int64_t elements, targets;
};

static void name_of(const plim_graph *g, plim_value v, char name[64]) {
    snprintf(name, 64, "%s", v < 0 ? "" : plim_graph_value_name(g, v));
}

static const float counts[] = {1, 0, 1, 0, 0, 1}; /* of (2, 3) targets, or rows of them */

static struct trained train(const plim_loss *loss, int threads, int rank, const int64_t *dims) {
    struct trained t = {0};
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, rank, dims), gradient;
    plim_graph_output(g, plim_graph_apply(g, "Identity", &x, 1), "scores");
    if (loss->counts) plim_graph_output(g, plim_graph_constant(g, NULL, PLIM_F32, 2, dims, counts), loss->counts);
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    must(plim__loss_append(g, loss, &t.parts, &error), &error);
    must(plim__gradients_build(g, t.parts.loss, &x, 1, &gradient, &error), &error);
    plim_value all[] = {t.parts.target, t.parts.loss, t.parts.weight, t.parts.correct, gradient};
    t.elements = plim__shape_elements(&g->values.items[x].shape);
    t.targets = plim__shape_elements(&g->values.items[t.parts.target].shape);
    for (int i = 0; i < 5; i++) {
        if (i > 0 && all[i] >= 0) plim_graph_output(g, all[i], NULL);
        name_of(g, all[i], t.names[i]);
    }
    must(plim_session_create(g, &(plim_session_options){.threads = threads}, &t.session, &error), &error);
    plim_graph_free(g);
    return t;
}

static const float *output(const struct trained *t, int which) {
    const float *at = plim_session_output(t->session, t->names[which]);
    assert_non_null(at);
    return at;
}

static void near(const char *what, const char *name, double found, double right, double scale) {
    if (!(fabs(found - right) <= 1e-5 * fabs(scale)))
        fail_msg("%s: %s is %.9g, PyTorch has %.9g", name, what, found, right);
}

static void compare(const struct trained *t, const struct numbers *right) {
    double squares = 0, mix = 0;
    for (int64_t k = 0; k < t->elements; k++) {
        double d = (double)output(t, 4)[k];
        squares += d * d;
        mix += d * cos((double)k * 0.11);
    }
    near("the loss", right->name, (double)*output(t, 1), right->loss, right->loss);
    near("the weight", right->name, (double)*output(t, 2), right->weight, right->weight);
    if (right->right >= 0) assert_int_equal((int)*output(t, 3), right->right);
    near("the norm of the gradient", right->name, sqrt(squares), right->norm, right->norm);
    near("the mix of the gradient", right->name, mix, right->mix, right->norm);
}

/* --- cross entropy -------------------------------------------------------------------------------------------- */

static void classes(const char *name, plim_loss loss, double scale, bool weighted, int rank, const int64_t *dims) {
    int64_t count = dims[rank == 3 ? 2 : 1];
    static float weights[64], first[MOST];
    if (weighted) {
        fill(weights, count, 1, 0.5, 1);
        loss.class_weights = weights;
        loss.class_count = (size_t)count;
    }
    for (int threads = 1; threads < 4; threads++) {
        plim_error error = {0};
        struct trained t = train(&loss, threads, rank, dims);
        fill(plim_session_input(t.session, "x"), t.elements, 3, scale, 0);
        int64_t *targets = plim_session_input(t.session, t.names[0]);
        for (int64_t k = 0; k < t.targets; k++)
            targets[k] = loss.ignores && k % 5 == 0 ? loss.ignore_index : (k * 7 + 3) % count;
        must(plim_session_run(t.session, &error), &error);
        compare(&t, find(name));
        if (threads > 1)
            assert_memory_equal(first, output(&t, 4), (size_t)t.elements * sizeof *first);
        else
            memcpy(first, output(&t, 4), (size_t)t.elements * sizeof *first);
        plim_session_free(t.session);
    }
}

static plim_loss entropy(bool ignores, int64_t ignored, double smoothing) {
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    loss.ignores = ignores;
    loss.ignore_index = ignored;
    loss.label_smoothing = smoothing;
    return loss;
}

static void cross_entropy_is_that_of_pytorch_on_any_number_of_threads(void **state) {
    (void)state;
    classes("rows", entropy(false, 0, 0), 3, false, DIMS(7, 10));
    classes("wide", entropy(false, 0, 0), 3, false, DIMS(3, 5003));
    classes("tokens", entropy(false, 0, 0), 3, false, DIMS(2, 5, 37));
    classes("images", entropy(false, 0, 0), 3, false, DIMS(2, 6, 17, 23));
    classes("large scores", entropy(false, 0, 0), 3000, false, DIMS(7, 10));
    classes("one class", entropy(false, 0, 0), 3, false, DIMS(5, 1));
}

static void ignored_targets_smoothing_and_class_weights_are_those_of_pytorch(void **state) {
    (void)state;
    classes("rows ignored", entropy(true, -100, 0), 3, false, DIMS(16, 10));
    classes("tokens ignored", entropy(true, 4, 0), 3, false, DIMS(2, 8, 33));
    classes("images ignored", entropy(true, 255, 0), 3, false, DIMS(2, 6, 9, 31));
    classes("rows smoothed", entropy(false, 0, 0.1), 3, false, DIMS(7, 10));
    classes("images smoothed", entropy(false, 0, 0.3), 3, false, DIMS(2, 6, 9, 31));
    classes("rows weighted", entropy(false, 0, 0), 3, true, DIMS(7, 10));
    classes("images weighted", entropy(false, 0, 0), 3, true, DIMS(2, 6, 9, 31));
    classes("rows all", entropy(true, -100, 0.2), 3, true, DIMS(16, 10));
    classes("tokens all", entropy(true, 4, 0.2), 3, true, DIMS(2, 8, 33));
    classes("images all", entropy(true, 255, 0.2), 3, true, DIMS(2, 6, 9, 31));
}

static void a_batch_of_ignored_targets_costs_nothing_and_teaches_nothing(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    struct trained t = train(&loss, 1, DIMS(3, 4));
    int64_t *targets = plim_session_input(t.session, t.names[0]);
    float *x = plim_session_input(t.session, "x");
    for (int i = 0; i < 12; i++) x[i] = i == 5 ? NAN : (float)i;
    for (int i = 0; i < 3; i++) targets[i] = -100;
    must(plim_session_run(t.session, &error), &error);
    for (int i = 1; i < 4; i++) assert_true(*output(&t, i) == 0);
    for (int i = 0; i < 12; i++) assert_true(output(&t, 4)[i] == 0);
    plim_session_free(t.session);
}

static void a_label_out_of_range_is_named(void **state) {
    (void)state;
    for (int images = 0; images < 2; images++) {
        static const int64_t wrong[] = {10, -1, -100, INT64_MAX};
        plim_loss loss = entropy(true, 255, 0);
        struct trained t = images ? train(&loss, 1, DIMS(2, 10, 3, 1)) : train(&loss, 1, DIMS(6, 10));
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            plim_error error = {0};
            char text[64];
            memset(plim_session_input(t.session, "x"), 0, 60 * sizeof(float));
            memset(plim_session_input(t.session, t.names[0]), 0, 6 * sizeof(int64_t));
            ((int64_t *)plim_session_input(t.session, t.names[0]))[4] = wrong[i];
            assert_int_equal(plim_session_run(t.session, &error), PLIM_INVALID);
            snprintf(text, sizeof text, "label %lld at position 4 ", (long long)wrong[i]);
            if (!strstr(error.message, text) || !strstr(error.message, "10 classes")) fail_msg("%s", error.message);
        }
        plim_session_free(t.session);
    }
}

static void what_is_not_a_number_shows_in_the_loss(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    struct trained t = train(&loss, 1, DIMS(2, 3));
    memcpy(plim_session_input(t.session, "x"), (float[]){1, NAN, 2, 0, 0, 0}, 6 * sizeof(float));
    memset(plim_session_input(t.session, t.names[0]), 0, 2 * sizeof(int64_t));
    must(plim_session_run(t.session, &error), &error);
    assert_true(isnan(*output(&t, 1)));
    memcpy(plim_session_input(t.session, "x"), (float[]){1, -INFINITY, 2, 0, 0, 0}, 6 * sizeof(float));
    must(plim_session_run(t.session, &error), &error);
    near("the loss", "with a class that is ruled out", (double)*output(&t, 1), (log(1 + exp(1)) + log(3)) / 2, 1);
    assert_true(output(&t, 4)[1] == 0);
    plim_session_free(t.session);
}

/* --- single elements ------------------------------------------------------------------------------------------ */

static void elements(const char *name, plim_loss loss, int rank, const int64_t *dims) {
    static float first[MOST];
    bool logits = loss.kind == PLIM_LOSS_BCE_WITH_LOGITS;
    for (int threads = 1; threads < 4; threads++) {
        plim_error error = {0};
        struct trained t = train(&loss, threads, rank, dims);
        fill(plim_session_input(t.session, "x"), t.elements, 3, 3, 0);
        fill(plim_session_input(t.session, t.names[0]), t.targets, 5, logits ? 0.5 : 2, logits ? 0.5 : 0);
        must(plim_session_run(t.session, &error), &error);
        compare(&t, find(name));
        if (threads > 1) assert_true(first[0] == *output(&t, 1));
        first[0] = *output(&t, 1);
        plim_session_free(t.session);
    }
}

static void losses_of_single_elements_are_those_of_pytorch_on_any_number_of_threads(void **state) {
    (void)state;
    plim_loss huber = plim_loss_default(PLIM_LOSS_HUBER);
    assert_true(huber.delta == 1);
    huber.delta = 1.5;
    elements("mse", plim_loss_default(PLIM_LOSS_MSE), DIMS(5, 7));
    elements("l1", plim_loss_default(PLIM_LOSS_L1), DIMS(5, 7));
    elements("huber", huber, DIMS(5, 7));
    elements("bce", plim_loss_default(PLIM_LOSS_BCE_WITH_LOGITS), DIMS(5, 7));
    elements("bce long", plim_loss_default(PLIM_LOSS_BCE_WITH_LOGITS), DIMS(3, 41, 997));
    elements("mse long", plim_loss_default(PLIM_LOSS_MSE), DIMS(3, 41, 997));
}

static void scores_far_from_zero_have_a_finite_loss(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss loss = plim_loss_default(PLIM_LOSS_BCE_WITH_LOGITS);
    struct trained t = train(&loss, 1, DIMS(1, 4));
    memcpy(plim_session_input(t.session, "x"), (float[]){200, -200, 1e30f, -1e30f}, 4 * sizeof(float));
    memcpy(plim_session_input(t.session, t.names[0]), (float[]){1, 0, 1, 0.5f}, 4 * sizeof(float));
    must(plim_session_run(t.session, &error), &error);
    near("the loss", "bce far out", (double)*output(&t, 1), 0.5e30 / 4, 1e30);
    for (int i = 0; i < 3; i++) assert_true(output(&t, 4)[i] == 0);
    near("the gradient", "bce far out", (double)output(&t, 4)[3], -0.5 / 4, 1);
    plim_session_free(t.session);
}

/* --- some of them --------------------------------------------------------------------------------------------- */

static void the_mean_is_over_the_elements_that_count(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss loss = plim_loss_default(PLIM_LOSS_MSE);
    double sum = 0, norm = 0, right = 0;
    loss.counts = "m";
    struct trained t = train(&loss, 2, DIMS(2, 3, 4));
    float *x = plim_session_input(t.session, "x"), *y = plim_session_input(t.session, t.names[0]);
    fill(x, 24, 3, 3, 0);
    fill(y, 24, 5, 2, 0);
    for (int i = 0; i < 24; i++)
        sum += (double)counts[i / 4] * ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    for (int i = 0; i < 24; i++) right += (double)counts[i / 4] * fabs((double)x[i] - (double)y[i]) * 2 / 12;
    must(plim_session_run(t.session, &error), &error);
    near("the loss", "mse of some", (double)*output(&t, 1), sum / 12, 1);
    assert_true(*output(&t, 2) == 12);
    for (int i = 0; i < 24; i++) {
        assert_true(counts[i / 4] != 0 || output(&t, 4)[i] == 0);
        norm += fabs((double)output(&t, 4)[i]);
    }
    near("the gradient", "mse of some", norm, right, 1);
    plim_session_free(t.session);
}

/* What does not count may be any number, as padding is. */
static void classes_that_do_not_count_are_those_that_are_ignored(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss loss = entropy(true, -100, 0);
    float first[24] = {0};
    for (int way = 0; way < 3;
         way++) { /* marked in the targets; by the model; by the model, and nothing else is ignored */
        loss.counts = way ? "m" : NULL;
        loss.ignores = way < 2;
        struct trained t = train(&loss, 1, DIMS(2, 3, 4));
        fill(plim_session_input(t.session, "x"), 24, 3, 3, 0);
        int64_t *targets = plim_session_input(t.session, t.names[0]);
        for (int i = 0; i < 6; i++) targets[i] = counts[i] != 0 ? i % 4 : way ? 77 : -100;
        must(plim_session_run(t.session, &error), &error);
        assert_true(*output(&t, 2) == 3);
        if (way == 0)
            memcpy(first, output(&t, 4), sizeof first);
        else
            assert_memory_equal(first, output(&t, 4), sizeof first);
        plim_session_free(t.session);
    }
}

/* --- weights that come with the samples ------------------------------------------------------------------------- */

/* Σ weight · loss / targets, as Keras has it: by a loss of the sample alone, which the tests above hold against PyTorch. */
static void samples_are_weighed_and_the_mean_is_over_all(plim_loss loss, bool classes, int64_t axes) {
    static const float weights[] = {0.5f, 2, 0, 1.5f, 3, 1};
    float sum = 0, gradients[24], x[24], y[24];
    plim_error error = {0};
    int64_t each = axes == 1 ? 12 : 4; /* scores of a weight */
    fill(x, 24, 3, 3, 0);
    fill(y, 24, 5, 0.4, 0.5);
    for (int64_t i = 0; i < 24 / each; i++) { /* each alone */
        struct trained one = train(&loss, 1, DIMS(1, each / 4, 4));
        memcpy(plim_session_input(one.session, "x"), x + i * each, (size_t)each * sizeof *x);
        for (int64_t k = 0; classes && k < each / 4; k++)
            ((int64_t *)plim_session_input(one.session, one.names[0]))[k] = (i * each / 4 + k) % 4;
        if (!classes) memcpy(plim_session_input(one.session, one.names[0]), y + i * each, (size_t)each * sizeof *y);
        must(plim_session_run(one.session, &error), &error);
        float share = weights[i] * (float)each / 24;
        sum += share * *output(&one, 1);
        for (int64_t k = 0; k < each; k++) gradients[i * each + k] = share * output(&one, 4)[k];
        plim_session_free(one.session);
    }
    loss.sample_weights = axes;
    struct trained t = train(&loss, 2, DIMS(2, 3, 4));
    memcpy(plim_session_input(t.session, "x"), x, sizeof x);
    memcpy(plim_session_input(t.session, PLIM_SAMPLE_WEIGHTS), weights, (size_t)(24 / each) * sizeof *weights);
    for (int k = 0; classes && k < 6; k++) ((int64_t *)plim_session_input(t.session, t.names[0]))[k] = k % 4;
    if (!classes) memcpy(plim_session_input(t.session, t.names[0]), y, sizeof y);
    must(plim_session_run(t.session, &error), &error);
    near("the loss", plim_loss_name(loss.kind), (double)*output(&t, 1), (double)sum, 1);
    assert_true(*output(&t, 2) == (classes ? 6 : 24));
    for (int k = 0; k < 24; k++)
        near("a gradient", plim_loss_name(loss.kind), (double)output(&t, 4)[k], (double)gradients[k], 0.1);
    plim_session_free(t.session);
}

static void every_loss_weighs_samples(void **state) {
    (void)state;
    for (int64_t axes = 1; axes <= 2; axes++) {
        samples_are_weighed_and_the_mean_is_over_all(entropy(true, -100, 0), true, axes);
        samples_are_weighed_and_the_mean_is_over_all(entropy(false, 0, 0.1), true, axes);
        for (int kind = PLIM_LOSS_BCE_WITH_LOGITS; kind <= PLIM_LOSS_HUBER; kind++)
            samples_are_weighed_and_the_mean_is_over_all(plim_loss_default((plim_loss_kind)kind), false, axes);
    }
}

/* Images have their classes before their positions: a weight is for all positions of one. */
static void an_image_is_weighed_as_a_whole(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss loss = entropy(true, -100, 0);
    float plain[48] = {0};
    for (int64_t axes = 0; axes <= 1; axes++) {
        loss.sample_weights = axes;
        struct trained t = train(&loss, 2, DIMS(2, 4, 2, 3));
        fill(plim_session_input(t.session, "x"), 48, 3, 3, 0);
        if (axes) memcpy(plim_session_input(t.session, PLIM_SAMPLE_WEIGHTS), (float[]){0.5f, 3}, 2 * sizeof(float));
        int64_t *targets = plim_session_input(t.session, t.names[0]);
        for (int i = 0; i < 12; i++) targets[i] = i % 4;
        must(plim_session_run(t.session, &error), &error);
        for (int k = 0; k < 48; k++)
            if (axes)
                near("a gradient", "image", (double)output(&t, 4)[k], (k < 24 ? 0.5 : 3) * (double)plain[k], 0.1);
            else
                plain[k] = output(&t, 4)[k];
        plim_session_free(t.session);
    }
}

/* --- what fits ------------------------------------------------------------------------------------------------ */

static void refused(plim_graph *g, plim_loss loss, const char *why) {
    plim_error error = {0};
    plim__loss_parts parts;
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    plim_status status = plim__loss_append(g, &loss, &parts, &error);
    if (status != PLIM_INVALID || !strstr(error.message, why))
        fail_msg("expected '%s', found status %d: %s", why, (int)status, error.message);
    plim_graph_free(g);
}

static plim_graph *model(const char *op, plim_dtype dtype, int rank, const int64_t *dims) {
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", dtype, rank, dims);
    plim_graph_output(g, plim_graph_apply(g, op, &x, 1), "y");
    return g;
}

static void a_loss_that_does_not_fit_is_refused(void **state) {
    (void)state;
    plim_loss ce = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY), bad = ce;
    refused(model("Relu", PLIM_F32, DIMS(3)), ce, "does not fit the output 'y' (float32[3])");
    refused(model("Relu", PLIM_F64, DIMS(3, 4)), ce, "float32");
    refused(model("Relu", PLIM_F32, DIMS(3, 0)), ce, "no classes");
    refused(model("Softmax", PLIM_F32, DIMS(3, 4)), ce, "scores before it, 'x'");
    bad.output = "z";
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), bad, "no output 'z'");
    bad = ce;
    bad.label_smoothing = 1.5;
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), bad, "label smoothing is 1.5");
    bad = ce;
    bad.class_weights = (float[]){1, 2, 3};
    bad.class_count = 3;
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), bad, "3 class weights for the model's 4 classes");
    bad.class_weights = (float[]){1, 2, 3, -1};
    bad.class_count = 4;
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), bad, "weight of class 3 is -1");
    bad.class_weights = (float[]){1, 2, 3, 4};
    bad.counts = "y";
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), bad, "class weights cannot be combined with 'y'");
    bad = ce;
    bad.counts = "z";
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), bad, "no output 'z' that says which targets count");
    bad.counts = "y";
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), bad, "'y' (float32[3,4]) cannot say which of the targets [3] count");
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), plim_loss_default(PLIM_LOSS_MODEL), "one float32 number");
    bad = plim_loss_default(PLIM_LOSS_MODEL);
    bad.sample_weights = 1;
    refused(model("Relu", PLIM_F32, DIMS(1, 1)), bad, "weights of samples are its own affair");
    refused(plim_graph_create(), ce, "no output");
    plim_loss huber = plim_loss_default(PLIM_LOSS_HUBER);
    huber.delta = 0;
    refused(model("Relu", PLIM_F32, DIMS(3, 4)), huber, "delta of the huber loss is 0");
    refused(model("Relu", PLIM_F64, DIMS(3, 4)), plim_loss_default(PLIM_LOSS_MSE), "must be float32");
    refused(model("Relu", PLIM_F32, DIMS(0, 4)), plim_loss_default(PLIM_LOSS_L1), "is empty");
    refused(model("Sigmoid", PLIM_F32, DIMS(3, 4)), plim_loss_default(PLIM_LOSS_BCE_WITH_LOGITS),
            "scores before it, 'x'");
}

static void the_logarithm_of_a_softmax_is_taken_once(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss ce = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    plim__loss_parts parts;
    plim_graph *g = model("LogSoftmax", PLIM_F32, DIMS(3, 4));
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    must(plim__loss_append(g, &ce, &parts, &error), &error);
    const plim__node *node = &g->nodes.items[g->values.items[parts.loss].producer];
    assert_int_equal(node->inputs.items[0], plim_graph_find(g, "x"));
    plim_graph_free(g);
}

static void a_loss_in_the_model_counts_its_samples(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss own = plim_loss_default(PLIM_LOSS_MODEL);
    plim__loss_parts parts;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, DIMS(3, 4));
    plim_graph_output(g, plim_graph_apply(g, "Relu", &x, 1), "y");
    plim_graph_output(g, plim_graph_apply(g, "ReduceMean", &x, 1), "cost");
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    must(plim__loss_append(g, &own, &parts, &error), &error);
    assert_true(parts.target < 0 && parts.correct < 0);
    assert_string_equal(plim_graph_value_name(g, parts.loss), "cost");
    assert_true(*(const float *)plim__graph_constant_tensor(g, parts.weight)->data == 3);
    plim_graph_free(g);
}

/* Scores from a linear layer with dropout, every extra of the loss, fused, with gradients, planned. */
static plim_status everything(plim_error *error) {
    float class_weights[] = {1, 2, 3, 4};
    plim_loss loss = entropy(true, -100, 0.1);
    loss.class_weights = class_weights;
    loss.class_count = 4;
    plim__loss_parts parts;
    plim_value gradient;
    plim_session *s = NULL;
    plim_graph *g = plim_graph_create();
    if (!g) return PLIM_NO_MEMORY;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, DIMS(3, 5)),
               w = plim_graph_parameter(g, "w", PLIM_F32, DIMS(5, 4), NULL);
    plim_value dropped = plim_graph_apply(g, "Dropout", &x, 1);
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){dropped, w}, 2), "y");
    plim_status status = plim_graph_status(g, error);
    if (status == PLIM_OK) status = plim__infer_graph(g, NULL, NULL, error);
    if (status == PLIM_OK) status = plim__dropouts_to_training_mode(g, 1, error);
    if (status == PLIM_OK) status = plim__loss_append(g, &loss, &parts, error);
    if (status == PLIM_OK) {
        g->outputs.count = 0;
        plim_graph_output(g, parts.loss, NULL);
        status = plim__linear_losses_fuse(g, 2, error);
    }
    if (status == PLIM_OK) status = plim__gradients_build(g, parts.loss, &w, 1, &gradient, error);
    if (status == PLIM_OK) {
        plim_graph_output(g, gradient, NULL);
        status = plim_session_create(g, &(plim_session_options){.plan_only = 1, .threads = 1}, &s, error);
    }
    plim_session_free(s);
    plim_graph_free(g);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    plim_error error = {0};
    size_t before = plim__alloc_count();
    must(everything(&error), &error);
    size_t total = plim__alloc_count() - before;
    assert_true(total > 50);
    for (size_t n = 1; n <= total; n++) {
        plim__alloc_fail_at(n);
        plim_status status = everything(&error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK && status != PLIM_NO_MEMORY) fail_msg("allocation %zu: %s", n, error.message);
    }
}

static void losses_have_names(void **state) {
    (void)state;
    plim_loss_kind kind;
    for (int i = 0; i <= PLIM_LOSS_MODEL; i++) {
        assert_int_equal(plim_loss_find(plim_loss_name((plim_loss_kind)i), &kind), 1);
        assert_int_equal(kind, i);
    }
    assert_int_equal(plim_loss_find("hinge", &kind), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cross_entropy_is_that_of_pytorch_on_any_number_of_threads),
        cmocka_unit_test(ignored_targets_smoothing_and_class_weights_are_those_of_pytorch),
        cmocka_unit_test(a_batch_of_ignored_targets_costs_nothing_and_teaches_nothing),
        cmocka_unit_test(a_label_out_of_range_is_named),
        cmocka_unit_test(what_is_not_a_number_shows_in_the_loss),
        cmocka_unit_test(losses_of_single_elements_are_those_of_pytorch_on_any_number_of_threads),
        cmocka_unit_test(scores_far_from_zero_have_a_finite_loss),
        cmocka_unit_test(the_mean_is_over_the_elements_that_count),
        cmocka_unit_test(classes_that_do_not_count_are_those_that_are_ignored),
        cmocka_unit_test(a_loss_that_does_not_fit_is_refused),
        cmocka_unit_test(the_logarithm_of_a_softmax_is_taken_once),
        cmocka_unit_test(every_loss_weighs_samples),
        cmocka_unit_test(an_image_is_weighed_as_a_whole),
        cmocka_unit_test(a_loss_in_the_model_counts_its_samples),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(losses_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
