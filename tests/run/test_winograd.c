/* Winograd's form of convolutions: taken where it is faster, on processors that have it; the same gradients but for rounding, the
 * same weights at every budget, in sessions too, and none of it where it is declined or what is measured would depend on a budget. */
#include "kernel/simd/simd.h"
#include "run/one_batch.h"
#include "run/same_trainer.h"
#include "run/session_parts.h"
#include "run/trainer.h"

static plim_trainer *trainer_of(const plim_graph *model, int no_winograd, uint64_t budget) {
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 2,
                              .budget = budget,
                              .allow = PLIM_ALLOW_EXACT,
                              .no_winograd = no_winograd,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_SGD)};
    plim_trainer *trainer;
    must(plim_trainer_create(model, &o, &trainer, &error));
    return trainer;
}

static plim_graph *network(int image) {
    return zoo("resnet18", (plim_zoo_options){.image = image, .width = 64, .classes = 10});
}

static int count_steps(const plim__program *program, const char *label) {
    int count = 0;
    for (size_t s = 0; s < program->steps.count; s++) count += strcmp(program->steps.items[s].label, label) == 0;
    return count;
}

static int steps_named(const plim_trainer *trainer, const char *label) {
    return count_steps(trainer->plan->main->program, label);
}

static void need_avx512(void) {
    if (plim__isa_best() != PLIM__ISA_AVX512) skip();
}

static void it_is_taken_forward_and_for_both_gradients(void **state) {
    (void)state;
    need_avx512();
    plim_graph *model = network(224); /* workspaces grow with the processor's caches: all fit beside its first images */
    plim_trainer *trainer = trainer_of(model, 0, 0), *direct = trainer_of(model, 1, 0);
    static const char *const labels[] = {"ConvWinograd", "ConvGradInputWinograd", "ConvGradWeightWinograd"};
    for (size_t i = 0; i < 3; i++) {
        if (steps_named(trainer, labels[i]) < 4) fail_msg("%s: %d", labels[i], steps_named(trainer, labels[i]));
        assert_int_equal(steps_named(direct, labels[i]), 0);
    }
    plim_trainer_free(direct);
    plim_trainer_free(trainer);
    plim_graph_free(model);
}

/* conv, tanh, conv, sum with what it began from: nothing with a kink, where rounding would decide which way a gradient goes. */
static plim_graph *smooth(void) {
    plim_graph *g = plim_graph_create();
    static float weights[64 * 64 * 9];
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) weights[i] = (float)(i * 7919 % 1009) / 12e3f - 0.04f;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){plim_graph_symbol(g, "N"), 3, 64, 64}), first = x;
    for (int i = 0; i < 3; i++) {
        char name[] = {(char)('a' + i), 0};
        plim_value w = plim_graph_parameter(g, name, PLIM_F32, 4, (int64_t[]){64, i ? 64 : 3, 3, 3}, weights);
        int32_t node = plim_graph_node(g, "Conv", NULL, (plim_value[]){x, w}, 2, 1);
        plim_graph_set_ints(g, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
        x = plim_graph_node_output(g, node, 0);
        x = plim_graph_apply(g, "Tanh", &x, 1);
        if (i == 0) first = x;
    }
    x = plim_graph_apply(g, "Add", (plim_value[]){x, first}, 2);
    x = plim_graph_apply(g, "GlobalAveragePool", &x, 1);
    x = plim_graph_apply(g, "Flatten", &x, 1);
    plim_graph_output(g, x, "scores");
    return g;
}

static void gradients_differ_by_rounding(void **state) {
    (void)state;
    need_avx512();
    plim_graph *model = smooth();
    plim_trainer *trainer = trainer_of(model, 0, 0), *direct = trainer_of(model, 1, 0);
    assert_int_equal(steps_named(trainer, "ConvWinograd"), 2);
    assert_int_equal(steps_named(trainer, "ConvGradInputWinograd"), 2);
    assert_int_equal(steps_named(trainer, "ConvGradWeightWinograd"), 2);
    struct gradients a = gradients_by(trainer), b = gradients_by(direct);
    double off = distance(&b, &a);
    print_message("gradients differ by %.2g, losses by %.2g\n", off, fabs(a.loss - b.loss) / b.loss);
    assert_true(off > 0 && off < 3e-5); /* sums of products alone differ by 1e-6 */
    assert_true(fabs(a.loss - b.loss) < 1e-6 * b.loss);
    free(a.values);
    free(b.values);
    plim_trainer_free(direct);
    plim_trainer_free(trainer);
    plim_graph_free(model);
}

static void every_budget_gives_the_same_weights(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* memory of their own, which no plan knows of */
#endif
    need_avx512();
    plim_graph *model = network(112);
    plim_plan *plan;
    plim_trainer_options o = {.batch = BATCH, .threads = 2, .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY)};
    must(plim_plan_create(model, &o, &plan, &error));
    uint64_t least = plim_plan_get_report(plan)->minimum_budget_bytes;
    plim_plan_free(plan);
    plim_trainer *tight = trainer_of(model, 0, least + ((uint64_t)8 << 20)), *whole = trainer_of(model, 0, 0);
    plim_trainer_stats stats;
    plim_trainer_get_stats(tight, &stats);
    assert_true(stats.repeated > 0 && steps_named(tight, "ConvWinograd") > 0);
    plim_batch batch = batch_of(whole);
    plim_step_result result;
    for (int i = 0; i < 3; i++) {
        must(plim_trainer_step(whole, &batch, &result, &error));
        must(plim_trainer_step(tight, &batch, &result, &error));
    }
    must_be_equal(whole, tight, "within a budget");
    batch_free(&batch);
    plim_trainer_free(tight);
    plim_trainer_free(whole);
    plim_graph_free(model);
}

static void sessions_take_it_unless_it_is_left_out(void **state) {
    (void)state;
    need_avx512();
    plim_graph *model = smooth();
    plim_session *taken, *direct;
    must(plim_session_create(model, &(plim_session_options){.batch = BATCH}, &taken, &error));
    must(plim_session_create(model, &(plim_session_options){.batch = BATCH, .without = "winograd"}, &direct, &error));
    assert_int_equal(count_steps(plim__session_program(taken), "ConvWinograd"), 2);
    assert_int_equal(count_steps(plim__session_program(direct), "ConvWinograd"), 0);
    float *x[] = {plim_session_input(taken, "x"), plim_session_input(direct, "x")};
    for (size_t i = 0; i < (size_t)BATCH * 3 * 64 * 64; i++) x[0][i] = x[1][i] = (float)(i * 31 % 97) / 97;
    must(plim_session_run(taken, &error));
    must(plim_session_run(direct, &error));
    const plim_graph *running = plim_session_graph(direct);
    plim_value y = running->outputs.items[0];
    const float *a = plim_session_output(taken, plim_graph_value_name(running, y)),
                *b = plim_session_output(direct, plim_graph_value_name(running, y));
    int64_t count = plim__shape_product(&running->values.items[y].shape, 0, running->values.items[y].shape.rank);
    double off = 0, largest = 0;
    for (int64_t i = 0; i < count; i++) {
        off = fmax(off, fabs((double)a[i] - b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    print_message("results differ by %.2g of the largest\n", off / largest);
    assert_true(off > 0 && off < 5e-6 * largest);
    plim_session_free(direct);
    plim_session_free(taken);
    plim_graph_free(model);
}

static void evaluation_beside_training_is_direct(void **state) {
    (void)state;
    need_avx512();
    plim_graph *model = network(112);
    plim_trainer_options o = {
        .batch = BATCH, .threads = 2, .evaluates = BATCH, .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY)};
    plim_trainer *trainer;
    must(plim_trainer_create(model, &o, &trainer, &error));
    assert_non_null(trainer->plan->evaluation);
    assert_int_equal(count_steps(trainer->plan->evaluation->program, "ConvWinograd"), 0);
    plim_trainer_free(trainer);
    plim_graph_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_taken_forward_and_for_both_gradients), cmocka_unit_test(gradients_differ_by_rounding),
        cmocka_unit_test(every_budget_gives_the_same_weights), cmocka_unit_test(sessions_take_it_unless_it_is_left_out),
        cmocka_unit_test(evaluation_beside_training_is_direct)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
