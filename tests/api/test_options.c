/* Options structs grow without breaking: older and newer ones are read, zero is the default, wrong sizes are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

/* As a program has them that was compiled before the loss was a field. */
struct older_session_options {
    size_t size;
    int threads;
    int64_t batch;
};

/* As a program has them that was compiled after this library. */
struct newer_zoo_options {
    plim_zoo_options known;
    int64_t later;
};

static plim_graph *model(void) {
    plim_graph *g = NULL;
    assert_int_equal(plim_zoo_create("mlp", &(plim_zoo_options){.width = 8}, &g, NULL), PLIM_OK);
    return g;
}

static int64_t rows_of(const plim_session *session) {
    const plim_graph *g = plim_session_graph(session);
    int64_t dims[PLIM_MAX_RANK];
    plim_graph_value_shape(g, plim_graph_input_at(g, 0), dims);
    return dims[0];
}

static void an_older_struct_is_read_as_far_as_it_goes(void **state) {
    (void)state;
    plim_graph *g = model();
    plim_session *session;
    plim_error error;
    size_t bytes = sizeof(struct older_session_options);
    struct older_session_options *o = malloc(bytes); /* the sanitizers see every byte that is read behind it */
    *o = (struct older_session_options){.size = bytes, .threads = 1, .batch = 5};
    assert_int_equal(plim_session_create(g, (const plim_session_options *)(const void *)o, &session, &error), PLIM_OK);
    assert_int_equal(rows_of(session), 5);
    plim_session_free(session);
    plim_graph_free(g);
    free(o);
}

static void a_newer_struct_is_refused_only_where_it_asks_for_more(void **state) {
    (void)state;
    plim_graph *g = NULL;
    plim_error error;
    struct newer_zoo_options o = {.known = {.size = sizeof o, .width = 8}};
    assert_int_equal(plim_zoo_create("mlp", &o.known, &g, &error), PLIM_OK);
    plim_graph_free(g);
    o.later = 1;
    assert_int_equal(plim_zoo_create("mlp", &o.known, &g, &error), PLIM_UNSUPPORTED);
    assert_null(g);
    assert_non_null(strstr(error.message, "plim_zoo_options"));
}

static void a_size_that_was_never_set_is_refused(void **state) {
    (void)state;
    const size_t sizes[] = {1, sizeof(size_t) - 1, 1 << 20, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        plim_graph *g = NULL;
        plim_error error;
        assert_int_equal(plim_zoo_create("mlp", &(plim_zoo_options){.size = sizes[i]}, &g, &error), PLIM_INVALID);
        assert_non_null(strstr(error.message, "sizeof(plim_zoo_options)"));
    }
}

static plim_status train_with(plim_optimizer optimizer, plim_error *error) {
    plim_graph *g = model();
    plim_trainer *t = NULL;
    plim_status status = plim_trainer_create(g, &(plim_trainer_options){.optimizer = optimizer}, &t, error);
    plim_trainer_free(t);
    plim_graph_free(g);
    return status;
}

static void an_optimizer_has_its_defaults_or_all_of_its_settings(void **state) {
    (void)state;
    plim_error error;
    for (int kind = PLIM_SGD; kind <= PLIM_LION; kind++) {
        assert_int_equal(train_with((plim_optimizer){.kind = (plim_optimizer_kind)kind}, &error), PLIM_OK);
        assert_int_equal(train_with(plim_optimizer_default((plim_optimizer_kind)kind), &error), PLIM_OK);
    }
    /* betas that were not set are not silently zero, nor silently something else */
    assert_int_equal(train_with((plim_optimizer){.kind = PLIM_ADAM, .rate = 1e-3}, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "beta1"));
    assert_non_null(strstr(error.message, "PLIM_ZERO"));
    plim_optimizer o = plim_optimizer_default(PLIM_ADAM);
    o.beta1 = o.beta2 = PLIM_ZERO;
    assert_int_equal(train_with(o, &error), PLIM_OK);
    o.beta2 = 1;
    assert_int_equal(train_with(o, &error), PLIM_INVALID);
    o = plim_optimizer_default(PLIM_RMSPROP);
    o.alpha = 0;
    assert_int_equal(train_with(o, &error), PLIM_INVALID);
    o = plim_optimizer_default(PLIM_ADAFACTOR);
    o.beta2 = 0;
    assert_int_equal(train_with(o, &error), PLIM_INVALID);
    o = plim_optimizer_default(PLIM_SGD);
    o.reserved[2] = 1;
    assert_int_equal(train_with(o, &error), PLIM_UNSUPPORTED);
}

/* PLIM_ZERO computes as 0: a learning rate of it changes no weight, betas of it make Adam move by the sign. */
static void a_zero_that_is_meant_is_zero(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){plim_graph_symbol(g, "N"), 1});
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){1, 1}, &(float){2});
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2), "y");
    const struct {
        double rate, betas;
        float after;
    } cases[] = {{PLIM_ZERO, 0.9, 2}, {0.5, PLIM_ZERO, 1.5f}};
    for (size_t i = 0; i < 2; i++) {
        plim_error error = {0};
        plim_trainer *t;
        plim_trainer_options o = {.loss = {.kind = PLIM_LOSS_MSE}, .optimizer = plim_optimizer_default(PLIM_ADAM)};
        o.optimizer.rate = cases[i].rate;
        o.optimizer.beta1 = o.optimizer.beta2 = cases[i].betas;
        assert_int_equal(plim_trainer_create(g, &o, &t, &error), PLIM_OK);
        float input = 1, target = 0, weight = 0;
        for (int step = 0; step < 2; step++) {
            assert_int_equal(plim_trainer_step(t, &(plim_batch){1, {&input}, &target}, NULL, &error), PLIM_OK);
            assert_int_equal(plim_trainer_read(t, 0, &weight, &error), PLIM_OK);
            assert_true(weight - cases[i].after < 1e-6f && cases[i].after - weight < 1e-6f);
            if (i == 1) break;
        }
        plim_trainer_free(t);
    }
    plim_graph_free(g);
}

static void null_options_are_all_defaults(void **state) {
    (void)state;
    plim_graph *g = NULL;
    plim_session *session = NULL;
    plim_trainer *trainer = NULL;
    plim_plan *plan = NULL;
    plim_gradient_result gradients;
    plim_error error;
    assert_int_equal(plim_zoo_create("mlp", NULL, &g, &error), PLIM_OK);
    assert_int_equal(plim_session_create(g, NULL, &session, &error), PLIM_OK);
    assert_int_equal(plim_trainer_create(g, NULL, &trainer, &error), PLIM_OK);
    assert_int_equal(plim_plan_create(g, NULL, &plan, &error), PLIM_OK);
    assert_int_equal(plim_gradient_check(g, NULL, &gradients, &error), PLIM_OK);
    float images[4 * 784] = {0};
    int64_t labels[4] = {0, 1, 2, 3}, four = 4;
    plim_data_array arrays[] = {{"image", PLIM_F32, 4, (const int64_t[]){4, 1, 28, 28}, images, 0},
                                {"label", PLIM_I64, 1, &four, labels, 1}};
    plim_data *data = NULL;
    assert_int_equal(plim_data_create_arrays(arrays, 2, NULL, &data, &error), PLIM_OK);
    plim_data_free(data); /* batches of 32 are its default, those of a trainer are of one */
    assert_int_equal(plim_data_create_arrays(arrays, 2, &(plim_data_options){.batch = 1}, &data, &error), PLIM_OK);
    assert_int_equal(plim_fit(trainer, data, NULL, NULL, &error), PLIM_OK);
    assert_int_equal(plim_host_configure(NULL, &error), PLIM_OK);
    plim_data_free(data);
    plim_plan_free(plan);
    plim_trainer_free(trainer);
    plim_session_free(session);
    plim_graph_free(g);
}

static void versions_agree(void **state) {
    (void)state;
    assert_string_equal(plim_version(), PLIM_VERSION_STRING);
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", PLIM_VERSION_MAJOR, PLIM_VERSION_MINOR, PLIM_VERSION_PATCH);
    assert_string_equal(plim_version(), text);
    assert_true(PLIM_VERSION == PLIM_VERSION_NUMBER(PLIM_VERSION_MAJOR, PLIM_VERSION_MINOR, PLIM_VERSION_PATCH));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_struct_is_read_as_far_as_it_goes),
        cmocka_unit_test(a_newer_struct_is_refused_only_where_it_asks_for_more),
        cmocka_unit_test(a_size_that_was_never_set_is_refused),
        cmocka_unit_test(an_optimizer_has_its_defaults_or_all_of_its_settings),
        cmocka_unit_test(a_zero_that_is_meant_is_zero),
        cmocka_unit_test(null_options_are_all_defaults),
        cmocka_unit_test(versions_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
