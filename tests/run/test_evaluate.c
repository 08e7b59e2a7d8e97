/* The loss of an evaluation is that of the whole set by PyTorch's formulas: for every loss, with a short batch at the end,
 * several inputs, targets that do not count, and a model that was exported in training mode. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define SAMPLES 11 /* two batches of 4, and 3 */
#define BATCH   4
#define LEFT    3
#define RIGHT   2
#define OUT     5
#define EPSILON 1e-5

static const float statistics[2][LEFT] = {{0.3f, -0.2f, 0.1f}, {1.5f, 0.7f, 1.1f}}; /* mean, variance */

static struct {
    float left[SAMPLES * LEFT], right[SAMPLES * RIGHT], wanted[SAMPLES * OUT], a[LEFT * OUT], b[RIGHT * OUT];
    int64_t labels[SAMPLES];
    double scores[SAMPLES][OUT]; /* what the model in evaluation says, in double precision */
} all;

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static void fill(float *to, int count, int salt, double scale) {
    for (int i = 0; i < count; i++) to[i] = (float)(scale * sin(0.73 * i + 1.9 * salt));
}

static int make_all(void **state) {
    (void)state;
    fill(all.left, SAMPLES * LEFT, 1, 2);
    fill(all.right, SAMPLES * RIGHT, 2, 1);
    fill(all.wanted, SAMPLES * OUT, 3, 2);
    fill(all.a, LEFT * OUT, 4, 1);
    fill(all.b, RIGHT * OUT, 5, 1);
    for (int n = 0; n < SAMPLES; n++) {
        all.labels[n] = n * 3 % OUT;
        for (int c = 0; c < OUT; c++) {
            double sum = 0;
            for (int k = 0; k < LEFT; k++)
                sum += ((double)all.left[n * LEFT + k] - (double)statistics[0][k]) /
                       sqrt((double)statistics[1][k] + EPSILON) * (double)all.a[k * OUT + c];
            for (int k = 0; k < RIGHT; k++) sum += (double)all.right[n * RIGHT + k] * (double)all.b[k * OUT + c];
            all.scores[n][c] = sum;
        }
    }
    return 0;
}

typedef enum own { NO_LOSS, MEAN_DISTANCE, SUM_OF_DISTANCES, CLASSES_BUT_IGNORED } own;

#define IGNORED 3

/* The model's own loss: the distance of scores from a third input, or cross entropy with the labels that count. */
static plim_value own_loss(plim_graph *g, plim_value scores, own kind, int64_t n) {
    int64_t out_dims[] = {n, OUT};
    if (kind == CLASSES_BUT_IGNORED) {
        plim_value classes[] = {scores, plim_graph_input(g, "label", PLIM_I64, 1, &n)};
        int32_t node = plim_graph_node(g, "SoftmaxCrossEntropyLoss", NULL, classes, 2, 1);
        plim_graph_set_int(g, node, "ignore_index", IGNORED);
        return plim_graph_node_output(g, node, 0);
    }
    plim_value pair[] = {scores, plim_graph_input(g, "wanted", PLIM_F32, 2, out_dims)};
    plim_value off = plim_graph_apply(g, "Sub", pair, 2), size = plim_graph_apply(g, "Abs", &off, 1);
    int32_t all_of = plim_graph_node(g, kind == SUM_OF_DISTANCES ? "ReduceSum" : "ReduceMean", NULL, &size, 1, 1);
    plim_graph_set_int(g, all_of, "keepdims", 0);
    return plim_graph_node_output(g, all_of, 0);
}

/* scores = BatchNormalization(Dropout(left)) a + right b, both in training mode. */
static plim_graph *make_model(own kind) {
    static const float ones[LEFT] = {1, 1, 1}, zeros[LEFT] = {0}, half = 0.5f;
    static const uint8_t yes = 1;
    plim_graph *g = plim_graph_create();
    plim_error error = {0};
    int64_t n = plim_graph_symbol(g, "N"), left_dims[] = {n, LEFT}, right_dims[] = {n, RIGHT}, a_dims[] = {LEFT, OUT},
            b_dims[] = {RIGHT, OUT}, norm_dims[] = {LEFT};
    plim_value left = plim_graph_input(g, "left", PLIM_F32, 2, left_dims),
               right = plim_graph_input(g, "right", PLIM_F32, 2, right_dims);
    plim_value drop[] = {left, plim_graph_constant(g, NULL, PLIM_F32, 0, norm_dims, &half),
                         plim_graph_constant(g, NULL, PLIM_BOOL, 0, norm_dims, &yes)};
    plim_value norm[] = {plim_graph_apply(g, "Dropout", drop, 3),
                         plim_graph_parameter(g, "norm.scale", PLIM_F32, 1, norm_dims, ones),
                         plim_graph_parameter(g, "norm.shift", PLIM_F32, 1, norm_dims, zeros),
                         plim_graph_parameter(g, "norm.mean", PLIM_F32, 1, norm_dims, statistics[0]),
                         plim_graph_parameter(g, "norm.variance", PLIM_F32, 1, norm_dims, statistics[1])};
    int32_t node = plim_graph_node(g, "BatchNormalization", NULL, norm, 5, 3);
    plim_graph_set_int(g, node, "training_mode", 1);
    plim_graph_set_float(g, node, "epsilon", (float)EPSILON);
    plim_value a[] = {plim_graph_node_output(g, node, 0), plim_graph_parameter(g, "a", PLIM_F32, 2, a_dims, all.a)},
               b[] = {right, plim_graph_parameter(g, "b", PLIM_F32, 2, b_dims, all.b)};
    plim_value sum[] = {plim_graph_apply(g, "MatMul", a, 2), plim_graph_apply(g, "MatMul", b, 2)};
    plim_value scores = plim_graph_apply(g, "Add", sum, 2);
    if (kind) {
        plim_graph_output(g, own_loss(g, scores, kind, n), "loss");
    } else {
        plim_graph_output(g, scores, "scores");
    }
    must(plim_graph_status(g, &error), &error);
    return g;
}

static plim_data *open_data(bool classes) {
    static const int64_t dims[3][2] = {{SAMPLES, RIGHT}, {SAMPLES, LEFT}, {SAMPLES, OUT}};
    plim_data_array arrays[] = {
        {"right", PLIM_F32, 2, dims[0], all.right, 0}, /* found by name */
        {"left", PLIM_F32, 2, dims[1], all.left, 0},
        {"wanted", PLIM_F32, 2, dims[2], all.wanted, 1},
    };
    if (classes) arrays[2] = (plim_data_array){"label", PLIM_I64, 1, dims[2], all.labels, 1};
    plim_data *data;
    plim_error error = {0};
    plim_data_options o = {.batch = BATCH, .epochs = 1, .in_order = 1};
    must(plim_data_create_arrays(arrays, 3, &o, &data, &error), &error);
    return data;
}

/* By a session of its own, and by a trainer in its memory: both say the same. */
static plim_evaluation evaluate_own(const plim_loss *loss, own kind) {
    plim_graph *model = make_model(kind);
    plim_data *data = open_data(loss->kind == PLIM_LOSS_CROSS_ENTROPY || kind == CLASSES_BUT_IGNORED);
    plim_error error = {0};
    plim_session *session;
    plim_evaluation alone, training;
    plim_session_options o = {.batch = plim_evaluation_batch(loss, data), .loss = loss};
    must(plim_session_create(model, &o, &session, &error), &error);
    must(plim_evaluate(session, data, &alone, &error), &error);
    plim_session_free(session);
    must(plim_data_seek(data, (plim_data_position){0, 0}, &error), &error);
    plim_trainer *trainer;
    plim_trainer_options to = {.batch = BATCH, .loss = *loss, .optimizer = plim_optimizer_default(PLIM_SGD)};
    must(plim_trainer_create(model, &to, &trainer, &error), &error);
    must(plim_trainer_evaluate(trainer, data, &training, &error), &error);
    plim_trainer_free(trainer);
    plim_data_free(data);
    plim_graph_free(model);
    assert_true(fabs(alone.loss - training.loss) < 1e-6);
    assert_true(alone.accuracy == training.accuracy);
    assert_int_equal(alone.count, training.count);
    assert_int_equal(alone.samples, SAMPLES);
    return alone;
}

static plim_evaluation evaluate(const plim_loss *loss) { return evaluate_own(loss, NO_LOSS); }

static void assert_near(double got, double expected) {
    if (!(fabs(got - expected) <= 1e-6 * fabs(expected))) fail_msg("%.9g instead of %.9g", got, expected);
}

/* --- numbers -------------------------------------------------------------------------------------------------- */

static double element(plim_loss_kind kind, double x, double t, double delta) {
    double d = x - t;
    switch (kind) {
    case PLIM_LOSS_BCE_WITH_LOGITS: return fmax(x, 0) - x * t + log1p(exp(-fabs(x)));
    case PLIM_LOSS_MSE: return d * d;
    case PLIM_LOSS_L1: return fabs(d);
    default: return fabs(d) < delta ? d * d / 2 : delta * (fabs(d) - delta / 2);
    }
}

static void losses_of_numbers_are_means_over_the_whole_set(void **state) {
    (void)state;
    static const plim_loss_kind kinds[] = {PLIM_LOSS_BCE_WITH_LOGITS, PLIM_LOSS_MSE, PLIM_LOSS_L1, PLIM_LOSS_HUBER};
    for (size_t k = 0; k < 4; k++) {
        plim_loss loss = plim_loss_default(kinds[k]);
        loss.delta = 0.7;
        double sum = 0;
        for (int n = 0; n < SAMPLES; n++)
            for (int c = 0; c < OUT; c++)
                sum += element(kinds[k], all.scores[n][c], (double)all.wanted[n * OUT + c], 0.7);
        plim_evaluation e = evaluate(&loss);
        assert_near(e.loss, sum / (SAMPLES * OUT));
        assert_int_equal(e.count, SAMPLES * OUT);
        assert_false(e.classifies);
    }
}

static void a_loss_in_the_model_is_weighted_by_samples(void **state) {
    (void)state;
    plim_loss loss = plim_loss_default(PLIM_LOSS_MODEL);
    double sum = 0;
    for (int n = 0; n < SAMPLES; n++)
        for (int c = 0; c < OUT; c++) sum += fabs(all.scores[n][c] - (double)all.wanted[n * OUT + c]);
    plim_evaluation e = evaluate_own(&loss, MEAN_DISTANCE);
    assert_near(e.loss, sum / (SAMPLES * OUT));
    assert_int_equal(e.count, SAMPLES);
    e = evaluate_own(&loss, SUM_OF_DISTANCES);
    assert_near(e.loss, sum);
}

static void a_loss_in_the_model_is_weighted_by_the_targets_that_count(void **state) {
    (void)state;
    plim_loss loss = plim_loss_default(PLIM_LOSS_MODEL);
    double sum = 0;
    int count = 0;
    for (int n = 0; n < SAMPLES; n++) {
        double total = 0;
        for (int c = 0; c < OUT; c++) total += exp(all.scores[n][c]);
        if (all.labels[n] == IGNORED) continue;
        sum += log(total) - all.scores[n][all.labels[n]];
        count++;
    }
    assert_true(count < SAMPLES);
    assert_near(evaluate_own(&loss, CLASSES_BUT_IGNORED).loss, sum / count);
}

/* --- classes -------------------------------------------------------------------------------------------------- */

static void check_classes(const plim_loss *loss) {
    double sum = 0, weights = 0, all_weights = 0;
    int count = 0, right = 0;
    for (int c = 0; c < OUT; c++) all_weights += loss->class_weights ? (double)loss->class_weights[c] : 1;
    for (int n = 0; n < SAMPLES; n++) {
        int64_t t = all.labels[n];
        if (loss->ignores && t == loss->ignore_index) continue;
        double total = 0, dot = 0, e = loss->label_smoothing,
               w = loss->class_weights ? (double)loss->class_weights[t] : 1;
        int best = 0;
        for (int c = 0; c < OUT; c++) {
            total += exp(all.scores[n][c]);
            dot += (loss->class_weights ? (double)loss->class_weights[c] : 1) * all.scores[n][c];
            if (all.scores[n][c] > all.scores[n][best]) best = c;
        }
        sum += (1 - e) * w * (log(total) - all.scores[n][t]) + e / OUT * (all_weights * log(total) - dot);
        weights += w;
        count++;
        right += best == t;
    }
    plim_evaluation e = evaluate(loss);
    assert_near(e.loss, sum / weights);
    assert_int_equal(e.count, count);
    assert_true(e.classifies);
    assert_true(fabs(e.accuracy - (double)right / count) < 1e-9);
}

static void cross_entropy_knows_weights_smoothing_and_what_is_ignored(void **state) {
    (void)state;
    static const float weights[OUT] = {0.5f, 2, 1, 0.25f, 3};
    for (int way = 0; way < 16; way++) {
        plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
        loss.ignores = way & 1;
        if (way & 2) loss.ignore_index = 3; /* a class of the model, which counts unless it is ignored */
        if (way & 4) loss.label_smoothing = 0.1;
        if (way & 8) {
            loss.class_weights = weights;
            loss.class_count = OUT;
        }
        check_classes(&loss);
    }
}

static void labels_that_are_no_class_are_named(void **state) {
    (void)state;
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    plim_graph *model = make_model(false);
    int64_t right = all.labels[9];
    all.labels[9] = OUT;
    plim_data *data = open_data(true);
    plim_session *session;
    plim_evaluation e;
    plim_error error = {0};
    must(plim_session_create(model, &(plim_session_options){.batch = BATCH, .loss = &loss}, &session, &error), &error);
    assert_int_equal(plim_evaluate(session, data, &e, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "label 5 of sample 9"));
    plim_session_free(session);
    plim_data_free(data);
    all.labels[9] = right;
    plim_graph_free(model);
}

static void a_session_without_a_loss_is_refused(void **state) {
    (void)state;
    plim_graph *model;
    plim_session *session;
    plim_evaluation e;
    plim_error error = {0};
    plim_data *data = open_data(true);
    must(plim_zoo_create("mlp", NULL, &model, &error), &error);
    must(plim_session_create(model, &(plim_session_options){.batch = BATCH}, &session, &error), &error);
    assert_int_equal(plim_evaluate(session, data, &e, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "without a loss"));
    plim_session_free(session);
    plim_data_free(data);
    plim_graph_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_of_numbers_are_means_over_the_whole_set),
        cmocka_unit_test(a_loss_in_the_model_is_weighted_by_samples),
        cmocka_unit_test(a_loss_in_the_model_is_weighted_by_the_targets_that_count),
        cmocka_unit_test(cross_entropy_knows_weights_smoothing_and_what_is_ignored),
        cmocka_unit_test(labels_that_are_no_class_are_named),
        cmocka_unit_test(a_session_without_a_loss_is_refused),
    };
    return cmocka_run_group_tests(tests, make_all, NULL);
}
