/* Models as TensorFlow's graph mode trains them, beside the most bytes that TensorFlow 2.21 held for the same Keras models with
 * operators in the order of a GPU (bench/keras_graph.py), without the work spaces of the processor's kernels. */
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static plim_value weight(plim_graph *g, int rank, const int64_t *dims) {
    static int count;
    static float zeros[9216 * 512];
    char name[32];
    snprintf(name, sizeof name, "w%d", count++);
    return plim_graph_parameter(g, name, PLIM_F32, rank, dims, zeros);
}

static plim_value dense(plim_graph *g, plim_value x, int64_t from, int64_t to, const char *activation) {
    plim_value product =
        plim_graph_apply(g, "MatMul", (const plim_value[]){x, weight(g, 2, (const int64_t[]){from, to})}, 2);
    plim_value sum = plim_graph_apply(g, "Add", (const plim_value[]){product, weight(g, 1, &to)}, 2);
    return activation ? plim_graph_apply(g, activation, &sum, 1) : sum;
}

static plim_value conv(plim_graph *g, plim_value x, int64_t from, int64_t to) {
    plim_value inputs[] = {x, weight(g, 4, (const int64_t[]){to, from, 3, 3}), weight(g, 1, &to)};
    int32_t node = plim_graph_node(g, "Conv", NULL, inputs, 3, 1);
    plim_graph_set_ints(g, node, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
    plim_value out = plim_graph_node_output(g, node, 0);
    return plim_graph_apply(g, "Relu", &out, 1);
}

static plim_value pool(plim_graph *g, plim_value x) {
    int32_t node = plim_graph_node(g, "MaxPool", NULL, &x, 1, 1);
    plim_graph_set_ints(g, node, "kernel_shape", (const int64_t[]){2, 2}, 2);
    plim_graph_set_ints(g, node, "strides", (const int64_t[]){2, 2}, 2);
    return plim_graph_node_output(g, node, 0);
}

static plim_value recurrent(plim_graph *g, plim_value x, const char *op, int64_t gates, int64_t from, int64_t units) {
    int32_t turn = plim_graph_node(g, "Transpose", NULL, &x, 1, 1);
    plim_graph_set_ints(g, turn, "perm", (const int64_t[]){1, 0, 2}, 3);
    plim_value inputs[] = {plim_graph_node_output(g, turn, 0), weight(g, 3, (const int64_t[]){1, gates * units, from}),
                           weight(g, 3, (const int64_t[]){1, gates * units, units}),
                           weight(g, 2, (const int64_t[]){1, 2 * gates * units})};
    int32_t node = plim_graph_node(g, op, NULL, inputs, 4, 2);
    plim_graph_set_int(g, node, "hidden_size", units);
    plim_value last = plim_graph_node_output(g, node, 1);
    return plim_graph_apply(g, "Squeeze", &last, 1);
}

static plim_prediction_result predict(plim_graph *g, plim_value out, plim_model_options options) {
    plim_prediction *prediction = NULL;
    plim_prediction_result result;
    plim_pool_options allocator = {.kind = PLIM_POOL_TENSORFLOW};
    plim_error error;
    plim_graph_output(g, out, "y");
    assert_int_equal(plim_prediction_create(g, &options, &prediction, &error), PLIM_OK);
    assert_int_equal(plim_prediction_run(prediction, NULL, &allocator, &result, &error), PLIM_OK);
    plim_prediction_free(prediction);
    plim_graph_free(g);
    return result;
}

static void a_perceptron_needs_what_tensorflow_held(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (const int64_t[]){1024, 1024});
    x = dense(g, dense(g, dense(g, x, 1024, 4096, "Tanh"), 4096, 1024, NULL), 1024, 10, NULL);
    plim_prediction_result r = predict(g, x, (plim_model_options){.graph_mode = true});
    assert_in_range(r.requested, 92346444 - 92346,
                    92350540 + 92346); /* both in ten runs; labels and biases are 0.1 % */
}

static void a_convolutional_network_needs_what_tensorflow_held(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (const int64_t[]){64, 3, 48, 48});
    x = pool(g, conv(g, conv(g, x, 3, 32), 32, 32));
    x = pool(g, conv(g, conv(g, x, 32, 64), 64, 64));
    x = plim_graph_apply(g, "Flatten", &x, 1);
    x = dense(g, dense(g, x, 9216, 512, "Relu"), 512, 10, NULL);
    plim_prediction_result r = predict(g, x, (plim_model_options){.graph_mode = true});
    assert_in_range(r.requested * 1000 >> 20, 109970 - 330, 109970 + 330);
}

/* Gradients wait for their updates, and these wait in a queue behind the gradients of the layers before. */
static void updates_run_between_gradients(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (const int64_t[]){1024, 1024});
    x = dense(g, dense(g, dense(g, x, 1024, 2048, "Relu"), 2048, 2048, "Relu"), 2048, 10, NULL);
    plim_prediction_result r = predict(g, x, (plim_model_options){.graph_mode = true, .optimizer = PLIM_MODEL_ADAM});
    assert_in_range(r.requested * 1000 >> 20, 124400 - 370, 124400 + 370);
}

/* What each step of a loop keeps for its gradients is held for all steps at once. */
static void loops_keep_what_each_step_needs(void **state) {
    (void)state;
    static const struct {
        const char *op;
        int64_t gates, units, batch;
        plim_model_optimizer optimizer;
        uint64_t held; /* thousandths of a MiB */
    } cases[] = {{"LSTM", 4, 256, 128, PLIM_MODEL_ADAM, 71493}, {"GRU", 3, 128, 256, PLIM_MODEL_RMSPROP, 66841}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (const int64_t[]){cases[i].batch, 64, 128});
        x = recurrent(g, x, cases[i].op, cases[i].gates, 128, cases[i].units);
        plim_prediction_result r = predict(g, dense(g, x, cases[i].units, 10, NULL),
                                           (plim_model_options){.graph_mode = true, .optimizer = cases[i].optimizer});
        assert_string_equal(r.notes, "");
        assert_in_range(r.requested * 1000 >> 20, cases[i].held * 985 / 1000, cases[i].held * 1015 / 1000);
    }
}

/* Twice the steps, twice what they keep, however many there are. */
static void long_loops_are_predicted_at_once(void **state) {
    (void)state;
    uint64_t requested[2];
    for (int i = 0; i < 2; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (const int64_t[]){4, 400000 << i, 8});
        x = recurrent(g, x, "LSTM", 4, 8, 16);
        requested[i] = predict(g, dense(g, x, 16, 10, NULL), (plim_model_options){.graph_mode = true}).requested;
    }
    assert_in_range(requested[1], requested[0] * 198 / 100, requested[0] * 202 / 100);
    assert_in_range(requested[0], 400000ull * 4 * 4 * (7 * 16 + 8), 400000ull * 4 * 4 * (7 * 16 + 4 * 8));
}

/* The share that is dropped is a number of the file, as exporters write it. CUDA's mask has a byte for each element. */
static void dropout_saves_a_mask_of_one_byte(void **state) {
    (void)state;
    for (int graph_mode = 0; graph_mode < 2; graph_mode++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (const int64_t[]){4096, 256});
        const float half = 0.5f;
        plim_value sum = dense(g, x, 256, 256, NULL);
        plim_value ratio = plim_graph_parameter(g, "ratio", PLIM_F32, 0, NULL, &half);
        plim_value dropped = plim_graph_apply(g, "Dropout", (const plim_value[]){sum, ratio}, 2);
        plim_prediction_result r =
            predict(g, dense(g, dropped, 256, 1, NULL), (plim_model_options){.graph_mode = graph_mode == 1});
        assert_string_equal(r.notes, "");
        /* PyTorch: the dropped output, its mask and its gradient; then the gradient before the drop. In the graph the
         * output is written over the sum, and so is the gradient. */
        const uint64_t large = 4096 * 256 * 4, mask = 4096 * 256;
        uint64_t activations = 0;
        for (size_t i = 0; plim_prediction_kind(i); i++)
            if (strcmp(plim_prediction_kind(i), "activation") == 0) activations = r.kinds[i];
        uint64_t counted = 2 * large + mask;
        assert_in_range(activations, counted, counted + 65536);
    }
}

static void changes_are_said_in_the_words_of_keras(void **state) {
    (void)state;
    for (int graph_mode = 0; graph_mode < 2; graph_mode++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (const int64_t[]){64, 256});
        plim_graph_output(g, dense(g, dense(g, x, 256, 256, "Relu"), 256, 10, NULL), "y");
        plim_model_options options = {.graph_mode = graph_mode == 1, .optimizer = PLIM_MODEL_ADAMW, .batch = 64};
        plim_pool_options pool = {.kind = graph_mode ? PLIM_POOL_TENSORFLOW : PLIM_POOL_PYTORCH};
        plim_prediction_job job = {.model = g, .options = &options, .pool = &pool};
        plim_prediction_cure cure;
        int torch = 0, keras = 0;
        for (size_t i = 0; plim_prediction_try(&job, i, &cure, NULL) == PLIM_OK; i++) {
            torch += cure.applies && (strstr(cure.meaning, "torch") || strstr(cure.meaning, "bitsandbytes"));
            keras += cure.applies && (strstr(cure.meaning, "keras") || strstr(cure.meaning, "tf."));
        }
        assert_int_equal(torch > 0, graph_mode == 0);
        assert_int_equal(keras > 0, graph_mode == 1);
        plim_graph_free(g);
    }
}

/* What holds for one batch at once: more passes need less, and the blocks of recomputation do not make the step larger. */
static void smaller_batches_and_recomputation_need_less(void **state) {
    (void)state;
    uint64_t requested[3];
    for (int i = 0; i < 3; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (const int64_t[]){plim_graph_symbol(g, "n"), 256});
        for (int layer = 0; layer < 16; layer++) x = dense(g, x, 256, 256, "Relu");
        plim_model_options options = {.graph_mode = true, .optimizer = PLIM_MODEL_ADAM, .batch = 8192};
        options.micro = i == 1 ? 4096 : 0;
        options.checkpoint = i == 2;
        requested[i] = predict(g, dense(g, x, 256, 10, NULL), options).requested;
    }
    assert_true(requested[1] < requested[0] * 6 / 10); /* half of the activations, and sums of gradients */
    /* the inputs of eight blocks of two layers, one block, and the gradients in it */
    assert_true(requested[2] < requested[0] * 7 / 10);
}

static void a_micro_batch_is_no_larger_than_the_batch(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (const int64_t[]){plim_graph_symbol(g, "n"), 256});
    plim_graph_output(g, dense(g, x, 256, 10, NULL), "y");
    plim_prediction *prediction = NULL;
    plim_error error;
    plim_model_options options = {.batch = 32, .micro = 100};
    assert_int_equal(plim_prediction_create(g, &options, &prediction, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "100"));
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perceptron_needs_what_tensorflow_held),
        cmocka_unit_test(a_convolutional_network_needs_what_tensorflow_held),
        cmocka_unit_test(updates_run_between_gradients),
        cmocka_unit_test(loops_keep_what_each_step_needs),
        cmocka_unit_test(long_loops_are_predicted_at_once),
        cmocka_unit_test(dropout_saves_a_mask_of_one_byte),
        cmocka_unit_test(changes_are_said_in_the_words_of_keras),
        cmocka_unit_test(smaller_batches_and_recomputation_need_less),
        cmocka_unit_test(a_micro_batch_is_no_larger_than_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
