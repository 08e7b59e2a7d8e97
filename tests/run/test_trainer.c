/* A trainer learns; the same run gives the same bits; micro-batches give the gradient of the whole batch; a loss that
 * is not finite names the first operator that is not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static plim_trainer_options options_of(int64_t batch) {
    plim_trainer_options o = {.batch = batch,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_SGD),
                              .threads = 2};
    o.optimizer.rate = 0.05;
    o.optimizer.momentum = 0.9;
    return o;
}

struct run {
    plim_graph *model;
    plim_trainer *trainer;
    float *image;
    int64_t *labels;
    double losses[16];
};

#define PIXELS 784

/* Images whose brightness tells their class. */
static struct run begin(const char *zoo, plim_trainer_options o, int64_t samples) {
    struct run r = {0};
    plim_error error = {0};
    must(plim_zoo_create(zoo, &(plim_zoo_options){.width = 8}, &r.model, &error), &error);
    must(plim_trainer_create(r.model, &o, &r.trainer, &error), &error);
    r.image = malloc((size_t)samples * PIXELS * sizeof *r.image);
    r.labels = malloc((size_t)samples * sizeof *r.labels);
    for (int64_t i = 0; i < samples; i++) {
        r.labels[i] = i % 10;
        for (int64_t k = 0; k < PIXELS; k++)
            r.image[i * PIXELS + k] = (float)(sin((double)(k * (1 + r.labels[i]))) + 0.3 * sin((double)(i * k)));
    }
    return r;
}

static void learn(struct run *r, int steps, int64_t count) {
    plim_error error = {0};
    for (int i = 0; i < steps; i++) {
        plim_step_result result;
        must(plim_trainer_step(r->trainer, &(plim_batch){count, {r->image}, r->labels}, &result, &error), &error);
        r->losses[i] = result.loss;
        assert_int_equal(result.update, i + 1);
    }
}

static void end(struct run *r) {
    plim_trainer_free(r->trainer);
    plim_graph_free(r->model);
    free(r->image);
    free(r->labels);
}

/* All that is learned, one after the other. */
static float *weights(plim_trainer *t, size_t *count) {
    *count = 0;
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        *count += tensor.bytes / sizeof(float);
    }
    float *all = malloc(*count * sizeof *all), *at = all;
    plim_error error = {0};
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        must(plim_trainer_read(t, i, at, &error), &error);
        at += tensor.bytes / sizeof(float);
    }
    return all;
}

static void it_learns(void **state) {
    (void)state;
    struct run r = begin("lenet", options_of(20), 20);
    learn(&r, 15, 20);
    assert_true(r.losses[14] < 0.5 * r.losses[0]);
    end(&r);
}

static void the_same_run_gives_the_same_bits(void **state) {
    (void)state;
    float *first = NULL;
    size_t count;
    for (int round = 0; round < 2; round++) {
        struct run r = begin("lenet", options_of(20), 20);
        learn(&r, 5, 20);
        float *now = weights(r.trainer, &count);
        if (round)
            assert_memory_equal(first, now, count * sizeof *now);
        else
            first = now;
        if (round) free(now);
        end(&r);
    }
    free(first);
}

/* One step in one piece, in pieces that fit, and in pieces with a rest. */
static void micro_batches_give_the_gradient_of_the_batch(void **state) {
    (void)state;
    float *whole = NULL;
    static const int64_t pieces[] = {1, 2, 3, 7, 20};
    for (int k = 0; k < 5; k++) {
        plim_trainer_options o = options_of(20);
        o.accumulate = pieces[k];
        struct run r = begin("lenet", o, 20);
        learn(&r, 1, 20);
        size_t count;
        float *now = weights(r.trainer, &count);
        if (k == 0) {
            whole = now;
        } else {
            for (size_t i = 0; i < count; i++)
                if (!(fabs((double)whole[i] - (double)now[i]) <= 1e-5 * fmax(fabs((double)whole[i]), 0.05)))
                    fail_msg("%lld pieces: entry %zu is %.9g, expected %.9g", (long long)pieces[k], i, (double)now[i],
                             (double)whole[i]);
            free(now);
        }
        end(&r);
    }
    free(whole);
}

static void a_short_batch_is_right(void **state) {
    (void)state;
    struct run large = begin("lenet", options_of(20), 20), small = begin("lenet", options_of(7), 20);
    learn(&large, 3, 7);
    learn(&small, 3, 7);
    size_t count;
    float *a = weights(large.trainer, &count), *b = weights(small.trainer, &count);
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 1e-5)) fail_msg("entry %zu: %g, %g", i, (double)a[i], (double)b[i]);
    free(a);
    free(b);
    end(&large);
    end(&small);
}

/* 20 samples in micro-batches of 5, two of each class; class 3 does not count, class 0 counts four times. */
static void targets_are_counted_and_weighed(void **state) {
    (void)state;
    static const float class_weights[10] = {4, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    plim_trainer_options o = options_of(20);
    o.accumulate = 4;
    o.loss.ignore_index = 3;
    o.loss.class_weights = class_weights;
    o.loss.class_count = 10;
    struct run r = begin("lenet", o, 20);
    plim_error error = {0};
    plim_step_result result;
    must(plim_trainer_step(r.trainer, &(plim_batch){20, {r.image}, r.labels}, &result, &error), &error);
    assert_true(result.targets == 18);
    assert_true(result.weight == 16 + 2 * 4);
    assert_true(result.correct >= 0 && result.correct <= 18);
    end(&r);
}

static void frozen_weights_stay(void **state) {
    (void)state;
    plim_trainer_options o = options_of(20);
    const char *freeze[] = {"conv*"};
    o.freeze = freeze;
    o.freeze_count = 1;
    struct run r = begin("lenet", o, 20);
    plim_trainer_tensor tensor;
    for (size_t i = 0; i < plim_trainer_tensor_count(r.trainer); i++) {
        plim_trainer_get_tensor(r.trainer, i, &tensor);
        assert_int_not_equal(strncmp(tensor.name, "conv", 4), 0);
    }
    learn(&r, 2, 20);
    end(&r);
    o.freeze = (const char *const[]){"nothing.*"};
    plim_graph *model = NULL;
    plim_trainer *t;
    plim_error error = {0};
    must(plim_zoo_create("lenet", NULL, &model, &error), &error);
    assert_int_equal(plim_trainer_create(model, &o, &t, &error), PLIM_NOT_FOUND);
    assert_non_null(strstr(error.message, "nothing.*"));
    plim_graph_free(model);
}

static void bad_numbers_are_named(void **state) {
    (void)state;
    struct run r = begin("lenet", options_of(20), 20);
    size_t count;
    float *before = weights(r.trainer, &count);
    plim_error error = {0};
    plim_batch batch = {20, {r.image}, r.labels};
    r.image[3 * PIXELS + 5] = NAN;
    assert_int_equal(plim_trainer_step(r.trainer, &batch, NULL, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "sample 3 of the batch"));
    r.image[3 * PIXELS + 5] = 0;
    plim_trainer_tensor last; /* behind it no rectifier takes what is not a number for 0 */
    size_t at = 0;
    for (plim_trainer_get_tensor(r.trainer, at, &last); strcmp(last.name, "fc2.weight") != 0;)
        plim_trainer_get_tensor(r.trainer, ++at, &last);
    float *usual = malloc(last.bytes), *huge = malloc(last.bytes); /* finite, until something is done with them */
    must(plim_trainer_read(r.trainer, at, usual, &error), &error);
    for (size_t k = 0; k < last.bytes / sizeof *huge; k++) huge[k] = 3e38f;
    must(plim_trainer_write(r.trainer, at, huge, &error), &error);
    assert_int_equal(plim_trainer_step(r.trainer, &batch, NULL, &error), PLIM_NUMERIC);
    assert_non_null(strstr(error.message, "node '"));
    must(plim_trainer_write(r.trainer, at, usual, &error), &error);
    free(usual);
    free(huge);
    r.labels[2] = 10;
    assert_int_equal(plim_trainer_step(r.trainer, &batch, NULL, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "10"));
    float *after = weights(r.trainer, &count);
    assert_memory_equal(before, after, count * sizeof *after);
    r.labels[2] = 2;
    must(plim_trainer_step(r.trainer, &batch, NULL, &error), &error);
    free(before);
    free(after);
    end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns),
        cmocka_unit_test(the_same_run_gives_the_same_bits),
        cmocka_unit_test(micro_batches_give_the_gradient_of_the_batch),
        cmocka_unit_test(a_short_batch_is_right),
        cmocka_unit_test(targets_are_counted_and_weighed),
        cmocka_unit_test(frozen_weights_stay),
        cmocka_unit_test(bad_numbers_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
