/* Splitting a batch never changes the answer silently: models that mix samples in every known way, each with its true
 * class, and whatever is called reordered ends with the weights of the unsplit run. */
#include "run/split_run.h"

enum { SAMPLES = 16 };

static plim_value hidden(plim_graph *g) {
    return split_one(g, "Tanh", split_two(g, "MatMul", split_input(g), split_matrix(g, WIDTH, WIDTH, 1)));
}

static plim_value scores(plim_graph *g, plim_value x) {
    return split_two(g, "MatMul", x, split_matrix(g, WIDTH, WIDTH, 2));
}

static plim_value squares(plim_graph *g, plim_value x) {
    plim_value d = split_two(g, "Sub", scores(g, x), split_number(g, 0.5f));
    return split_two(g, "Mul", d, d);
}

static void mean_loss(plim_graph *g, plim_value x) {
    plim_graph_output(g, split_reduce(g, "ReduceMean", squares(g, x), -1), "loss");
}

static plim_value transposed(plim_graph *g, plim_value x, int64_t a, int64_t b, int64_t c) {
    return split_with_ints(g, "Transpose", x, "perm", (const int64_t[]){a, b, c}, 3);
}

static plim_value normalized(plim_graph *g, plim_value x, int64_t axis) { /* statistics along an axis, spelled out */
    plim_value d = split_two(g, "Sub", x, split_reduce(g, "ReduceMean", x, axis));
    plim_value variance = split_reduce(g, "ReduceMean", split_two(g, "Mul", d, d), axis);
    return split_two(g, "Div", d, split_one(g, "Sqrt", split_two(g, "Add", variance, split_number(g, 1e-5f))));
}

static plim_value class_loss(plim_graph *g, plim_value x, plim_value labels, const char *reduction, bool ignores) {
    int32_t n = plim_graph_node(g, "SoftmaxCrossEntropyLoss", NULL, (const plim_value[]){x, labels}, 2, 1);
    if (ignores) plim_graph_set_int(g, n, "ignore_index", -1);
    plim_graph_set_string(g, n, "reduction", reduction);
    return plim_graph_node_output(g, n, 0);
}

/* A part of the batch axis. */
static plim_value cut(plim_graph *g, plim_value x, int64_t from, int64_t to, int64_t step) {
    plim_value inputs[] = {x, split_ints(g, 1, &from), split_ints(g, 1, &to), split_ints(g, 1, &(int64_t){0}),
                           split_ints(g, 1, &step)};
    return plim_graph_apply(g, "Slice", inputs, 5);
}

static plim_value batch_size(plim_graph *g, plim_value x) {
    return split_two(g, "Gather", split_one(g, "Shape", x), split_ints(g, 1, &(int64_t){0}));
}

/* --- combined losses ------------------------------------------------------------------------------------------ */

static void plain(plim_graph *g) { mean_loss(g, hidden(g)); }

static void sum(plim_graph *g) {
    plim_value all = split_reduce(g, "ReduceSum", squares(g, hidden(g)), -1);
    plim_graph_output(g, split_two(g, "Mul", all, split_number(g, 0.01f)), "loss");
}

static void sum_over_samples(plim_graph *g) { /* a mean, spelled out */
    plim_value h = hidden(g), n = split_with_int(g, "Cast", batch_size(g, h), "to", 1);
    plim_value each = split_two(g, "Div", split_reduce(g, "ReduceSum", squares(g, h), -1), n);
    plim_graph_output(g, split_two(g, "Mul", each, split_number(g, 0.03f)), "loss");
}

static void mean_and_decay(plim_graph *g) {
    plim_value w = split_matrix(g, WIDTH, WIDTH, 5);
    plim_value out = squares(g, split_two(g, "MatMul", hidden(g), w));
    plim_value decay = split_reduce(g, "ReduceMean", split_two(g, "Mul", w, w), -1);
    plim_graph_output(g, split_two(g, "Add", split_reduce(g, "ReduceMean", out, -1), decay), "loss");
}

static void sum_and_decay(plim_graph *g) {
    plim_value w = split_matrix(g, WIDTH, WIDTH, 5);
    plim_value out = squares(g, split_two(g, "MatMul", hidden(g), w));
    plim_value decay = split_reduce(g, "ReduceSum", split_two(g, "Mul", w, w), -1);
    plim_value all = split_two(g, "Add", split_reduce(g, "ReduceSum", out, -1), decay);
    plim_graph_output(g, split_two(g, "Mul", all, split_number(g, 0.01f)), "loss");
}

static void root_of_mean(plim_graph *g) {
    plim_graph_output(g, split_one(g, "Sqrt", split_reduce(g, "ReduceMean", squares(g, hidden(g)), -1)), "loss");
}

static void ignored_targets(plim_graph *g) {
    plim_value x = transposed(g, scores(g, hidden(g)), 0, 2, 1); /* (N, classes, steps) */
    plim_graph_output(g, class_loss(g, x, split_labels(g), "mean", true), "loss");
}

static void ignored_targets_with_class_weights(plim_graph *g) {
    plim_value x = transposed(g, scores(g, hidden(g)), 0, 2, 1);
    float weights[WIDTH];
    for (int i = 0; i < WIDTH; i++) weights[i] = (float)(i + 1) / 4;
    plim_value w = plim_graph_constant(g, NULL, PLIM_F32, 1, (const int64_t[]){WIDTH}, weights);
    int32_t n = plim_graph_node(g, "SoftmaxCrossEntropyLoss", NULL, (const plim_value[]){x, split_labels(g), w}, 3, 1);
    plim_graph_set_int(g, n, "ignore_index", -1);
    plim_graph_output(g, plim_graph_node_output(g, n, 0), "loss");
}

static void summed_targets(plim_graph *g) {
    plim_value x = transposed(g, scores(g, hidden(g)), 0, 2, 1);
    plim_value loss = class_loss(g, x, split_labels(g), "sum", true);
    plim_graph_output(g, split_two(g, "Mul", loss, split_number(g, 0.02f)), "loss");
}

/* --- samples for themselves ----------------------------------------------------------------------------------- */

static void dropout(plim_graph *g) { mean_loss(g, split_one(g, "Dropout", hidden(g))); }

static void dropout_with_time_first(plim_graph *g) {
    mean_loss(g, split_one(g, "Dropout", transposed(g, hidden(g), 1, 0, 2)));
}

static void dropout_of_a_weight(plim_graph *g) {
    plim_value w = split_one(g, "Dropout", split_matrix(g, WIDTH, WIDTH, 8));
    mean_loss(g, split_two(g, "MatMul", hidden(g), w));
}

static void rows_of_all_samples(plim_graph *g) {
    plim_value rows = split_reshape(g, hidden(g), 2, (const int64_t[]){-1, WIDTH});
    plim_value x = split_with_int(g, "Softmax", scores(g, rows), "axis", 1);
    mean_loss(g, split_reshape(g, x, 3, (const int64_t[]){-1, STEPS, WIDTH}));
}

static void attention(plim_graph *g) {
    plim_value h = hidden(g), weights = split_two(g, "MatMul", h, transposed(g, h, 0, 2, 1));
    mean_loss(g, split_two(g, "MatMul", split_with_int(g, "Softmax", weights, "axis", -1), h));
}

static plim_value recurrent(plim_graph *g, plim_value x) { /* (time, samples, WIDTH) */
    plim_value inputs[] = {x, split_weight(g, 3, (const int64_t[]){1, WIDTH, WIDTH}, 11, 0.4),
                           split_weight(g, 3, (const int64_t[]){1, WIDTH, WIDTH}, 12, 0.4)};
    int32_t n = plim_graph_node(g, "RNN", NULL, inputs, 3, 1);
    plim_graph_set_int(g, n, "hidden_size", WIDTH);
    return split_two(g, "Squeeze", plim_graph_node_output(g, n, 0), split_ints(g, 1, &(int64_t){1}));
}

static void recurrent_over_time(plim_graph *g) { mean_loss(g, recurrent(g, transposed(g, hidden(g), 1, 0, 2))); }

static void pairs_of_batches(plim_graph *g) { /* two branches through one layer, as siamese networks have */
    plim_value h = hidden(g), other = split_one(g, "Neg", split_one(g, "Exp", h)), both;
    int32_t n = plim_graph_node(g, "Concat", NULL, (const plim_value[]){h, other}, 2, 1);
    plim_graph_set_int(g, n, "axis", 0);
    both = split_one(g, "Tanh", scores(g, plim_graph_node_output(g, n, 0)));
    int32_t s = plim_graph_node(g, "Split", NULL, &both, 1, 2);
    plim_graph_set_int(g, s, "axis", 0);
    mean_loss(g, split_two(g, "Sub", plim_graph_node_output(g, s, 0), plim_graph_node_output(g, s, 1)));
}

/* --- mixtures ------------------------------------------------------------------------------------------------- */

static void softmax_of_batch(plim_graph *g) { mean_loss(g, split_with_int(g, "Softmax", hidden(g), "axis", 0)); }

static void running_sum_of_batch(plim_graph *g) {
    mean_loss(g, split_two(g, "CumSum", hidden(g), plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &(int64_t){0})));
}

static void maximum_of_batch(plim_graph *g) {
    plim_value h = hidden(g);
    mean_loss(g, split_two(g, "Sub", h, split_reduce(g, "ReduceMax", h, 0)));
}

static void batch_in_a_sequence(plim_graph *g) {
    plim_value x = split_reshape(g, hidden(g), 3, (const int64_t[]){STEPS, -1, WIDTH});
    mean_loss(g, recurrent(g, x));
}

static void all_in_one_row(plim_graph *g) {
    plim_value row = split_with_int(g, "Flatten", hidden(g), "axis", 0);
    plim_value x = split_with_int(g, "Softmax", row, "axis", 1);
    mean_loss(g, split_reshape(g, x, 3, (const int64_t[]){-1, STEPS, WIDTH}));
}

static void reversed(plim_graph *g) {
    plim_value h = hidden(g);
    mean_loss(g, split_two(g, "Mul", h, cut(g, h, -1, INT64_MIN + 1, -1)));
}

static void rolled(plim_graph *g) {
    plim_value h = hidden(g);
    int32_t n =
        plim_graph_node(g, "Concat", NULL, (const plim_value[]){cut(g, h, 1, INT64_MAX, 1), cut(g, h, 0, 1, 1)}, 2, 1);
    plim_graph_set_int(g, n, "axis", 0);
    mean_loss(g, split_two(g, "Mul", h, plim_graph_node_output(g, n, 0)));
}

static plim_value einsum(plim_graph *g, const char *equation, plim_value a, plim_value b) {
    int32_t n = plim_graph_node(g, "Einsum", NULL, (const plim_value[]){a, b}, 2, 1);
    plim_graph_set_string(g, n, "equation", equation);
    return plim_graph_node_output(g, n, 0);
}

static void einsum_between_samples(plim_graph *g) {
    plim_value h = hidden(g), each = einsum(g, "abc,dbc->ad", h, h);
    mean_loss(g, einsum(g, "ad,dbc->abc", split_with_int(g, "Softmax", each, "axis", 1), h));
}

static void product_of_samples(plim_graph *g) {
    plim_value h = split_with_int(g, "Flatten", hidden(g), "axis", 1);
    plim_value each = split_two(g, "MatMul", h, split_with_ints(g, "Transpose", h, "perm", (const int64_t[]){1, 0}, 2));
    plim_value x = split_two(g, "MatMul", split_with_int(g, "Softmax", each, "axis", 1), h);
    mean_loss(g, split_reshape(g, x, 3, (const int64_t[]){-1, STEPS, WIDTH}));
}

static void contrastive(plim_graph *g) { /* InfoNCE: each sample against all others */
    plim_value h = hidden(g), a = split_with_int(g, "Flatten", h, "axis", 1);
    plim_value b = split_with_int(g, "Flatten", split_one(g, "Tanh", scores(g, h)), "axis", 1);
    plim_value bt = split_with_ints(g, "Transpose", b, "perm", (const int64_t[]){1, 0}, 2);
    plim_value n = split_two(g, "Squeeze", batch_size(g, h), split_ints(g, 1, &(int64_t){0}));
    plim_value zero = plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &(int64_t){0}),
               one = plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &(int64_t){1});
    plim_value labels = plim_graph_apply(g, "Range", (const plim_value[]){zero, n, one}, 3);
    plim_graph_output(g, class_loss(g, split_two(g, "MatMul", a, bt), labels, "mean", false), "loss");
}

static void batch_norm_spelled_out(plim_graph *g) { mean_loss(g, normalized(g, hidden(g), 0)); }

static void mean_removed(plim_graph *g) {
    plim_value h = hidden(g);
    mean_loss(g, split_two(g, "Sub", h, split_reduce(g, "ReduceMean", h, 0)));
}

static void mean_variance_normalization(plim_graph *g) {
    mean_loss(g, split_with_ints(g, "MeanVarianceNormalization", hidden(g), "axes", (const int64_t[]){0, 1}, 2));
}

static void layer_norm_of_batch(plim_graph *g) {
    plim_value x = split_reshape(g, transposed(g, hidden(g), 1, 2, 0), 3, (const int64_t[]){STEPS, WIDTH, -1});
    mean_loss(g, transposed(g, normalized(g, x, 2), 2, 0, 1));
}

static void instance_norm_of_batch(plim_graph *g) {
    static const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1}, zeros[8];
    plim_value inputs[] = {transposed(g, hidden(g), 1, 2, 0),
                           plim_graph_constant(g, NULL, PLIM_F32, 1, (const int64_t[]){WIDTH}, ones),
                           plim_graph_constant(g, NULL, PLIM_F32, 1, (const int64_t[]){WIDTH}, zeros)};
    mean_loss(g, transposed(g, plim_graph_apply(g, "InstanceNormalization", inputs, 3), 2, 0, 1));
}

static void batch_norm(plim_graph *g) {
    static float ones[] = {1, 1, 1, 1}, zeros[4];
    const int64_t dims[] = {STEPS};
    plim_value inputs[] = {hidden(g), plim_graph_parameter(g, NULL, PLIM_F32, 1, dims, ones),
                           plim_graph_parameter(g, NULL, PLIM_F32, 1, dims, zeros),
                           plim_graph_parameter(g, NULL, PLIM_F32, 1, dims, zeros),
                           plim_graph_parameter(g, NULL, PLIM_F32, 1, dims, ones)};
    mean_loss(g, plim_graph_apply(g, "BatchNormalization", inputs, 5));
}

static void samples_by_number(plim_graph *g) { /* a constant that counts the samples of what it is built for */
    plim_value h = hidden(g), n = split_two(g, "Squeeze", batch_size(g, h), split_ints(g, 1, &(int64_t){0}));
    plim_value zero = plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &(int64_t){0}),
               one = plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &(int64_t){1});
    plim_value range = plim_graph_apply(g, "Range", (const plim_value[]){zero, n, one}, 3);
    plim_value each = split_reshape(g, split_with_int(g, "Cast", range, "to", 1), 3, (const int64_t[]){-1, 1, 1});
    mean_loss(g, split_two(g, "Mul", h, each));
}

static void recurrent_over_samples(plim_graph *g) { mean_loss(g, recurrent(g, hidden(g))); }

/* --- all of them ---------------------------------------------------------------------------------------------- */

#define MODEL(name, class_)                                                                                            \
    { #name, name, class_ }
static const struct {
    const char *name;
    void (*build)(plim_graph *g);
    plim_class class_;
} models[] = {
    MODEL(plain, PLIM_REORDERED),
    MODEL(sum, PLIM_REORDERED),
    MODEL(sum_over_samples, PLIM_REORDERED),
    MODEL(mean_and_decay, PLIM_REORDERED),
    MODEL(sum_and_decay, PLIM_LOSSY),
    MODEL(root_of_mean, PLIM_LOSSY),
    MODEL(ignored_targets, PLIM_REORDERED),
    MODEL(ignored_targets_with_class_weights, PLIM_REORDERED),
    MODEL(summed_targets, PLIM_REORDERED),
    MODEL(dropout, PLIM_REORDERED),
    MODEL(dropout_with_time_first, PLIM_REORDERED),
    MODEL(dropout_of_a_weight, PLIM_REORDERED),
    MODEL(rows_of_all_samples, PLIM_REORDERED),
    MODEL(attention, PLIM_REORDERED),
    MODEL(recurrent_over_time, PLIM_REORDERED),
    MODEL(pairs_of_batches, PLIM_REORDERED),
    MODEL(softmax_of_batch, PLIM_LOSSY),
    MODEL(running_sum_of_batch, PLIM_LOSSY),
    MODEL(maximum_of_batch, PLIM_LOSSY),
    MODEL(batch_in_a_sequence, PLIM_LOSSY),
    MODEL(all_in_one_row, PLIM_LOSSY),
    MODEL(reversed, PLIM_LOSSY),
    MODEL(rolled, PLIM_LOSSY),
    MODEL(einsum_between_samples, PLIM_LOSSY),
    MODEL(product_of_samples, PLIM_LOSSY),
    MODEL(contrastive, PLIM_LOSSY),
    MODEL(batch_norm_spelled_out, PLIM_LOSSY),
    MODEL(mean_removed, PLIM_LOSSY),
    MODEL(mean_variance_normalization, PLIM_LOSSY),
    MODEL(layer_norm_of_batch, PLIM_LOSSY),
    MODEL(instance_norm_of_batch, PLIM_LOSSY),
    MODEL(batch_norm, PLIM_LOSSY),
    MODEL(samples_by_number, PLIM_LOSSY),
    MODEL(recurrent_over_samples, PLIM_LOSSY),
};
enum { MODELS = sizeof models / sizeof *models };

static plim_graph *build(size_t i) {
    plim_graph *g = plim_graph_create();
    plim_error error = {0};
    models[i].build(g);
    if (plim_graph_status(g, &error) != PLIM_OK) fail_msg("%s: %s", models[i].name, error.message);
    return g;
}

/* Pieces that fit, pieces with a rest, single samples. */
static void every_model_has_its_true_class(void **state) {
    (void)state;
    static const int64_t pieces[] = {2, 3, 7, SAMPLES};
    int wrong = 0;
    for (size_t i = 0; i < MODELS; i++) {
        plim_graph *g = build(i);
        struct split_run whole, parts;
        if (split_train(g, SAMPLES, 1, PLIM_LOSS_MODEL, &whole) != PLIM_OK)
            fail_msg("%s: %s", models[i].name, whole.why);
        float *before = split_begin(g, SAMPLES, PLIM_LOSS_MODEL, whole.count);
        double largest = 0;
        for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
            if (split_train(g, SAMPLES, pieces[k], PLIM_LOSS_MODEL, &parts) != PLIM_OK)
                fail_msg("%s: %s", models[i].name, parts.why);
            double distance = split_distance(&whole, &parts, before);
            if (distance > largest) largest = distance;
            bool honest = parts.class_ != PLIM_REORDERED || distance < 2e-5;
            bool named = parts.class_ == PLIM_REORDERED ? !*parts.why : *parts.why != 0;
            if (parts.class_ != models[i].class_ || !honest || !named) {
                print_error("%s in %d pieces: %s (%s), weights %g apart\n", models[i].name, (int)pieces[k],
                            plim_class_name(parts.class_), parts.why, distance);
                wrong++;
            }
            free(parts.weights);
        }
        /* a class that is too strict would be a lie as well */
        if (models[i].class_ == PLIM_LOSSY && largest < 1e-3) {
            print_error("%s is called lossy, and is not: %g\n", models[i].name, largest);
            wrong++;
        }
        free(before);
        free(whole.weights);
        plim_graph_free(g);
    }
    assert_int_equal(wrong, 0);
}

/* The search for a plan splits what it may, and nothing else. */
static void plans_split_only_what_they_may(void **state) {
    (void)state;
    for (size_t i = 0; i < MODELS; i++) {
        plim_graph *g = build(i);
        plim_error error = {0};
        for (int lossy = 0; lossy < 2; lossy++) {
            plim_trainer_options o = {.batch = 8192,
                                      .threads = 1,
                                      .allow = lossy ? PLIM_ALLOW_LOSSY : PLIM_ALLOW_REORDERED,
                                      .no_spill = 1,
                                      .loss = plim_loss_default(PLIM_LOSS_MODEL),
                                      .optimizer = plim_optimizer_default(PLIM_SGD)};
            plim_class most = lossy ? PLIM_LOSSY : PLIM_REORDERED;
            plim_plan *plan;
            if (plim_plan_create(g, &o, &plan, &error) != PLIM_OK) fail_msg("%s: %s", models[i].name, error.message);
            const plim_plan_report *report = plim_plan_get_report(plan);
            bool split = false;
            for (int k = 0; k < report->frontier_count; k++) {
                split |= report->frontier[k].micro_batch < o.batch;
                if (report->frontier[k].class_ > most) fail_msg("%s: a plan that is not allowed", models[i].name);
            }
            if (split && models[i].class_ > most) fail_msg("%s is split", models[i].name);
            if (!split && models[i].class_ == PLIM_REORDERED) fail_msg("%s is not split", models[i].name);
            if (models[i].class_ == PLIM_LOSSY)
                assert_non_null(report->prevents_split);
            else
                assert_null(report->prevents_split);
            plim_plan_free(plan);
        }
        plim_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_has_its_true_class),
        cmocka_unit_test(plans_split_only_what_they_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
