/* Schedules that repeat and move steps compute the same bits in the memory they promise. */
#include "plan/order.h"
#include "plan/recompute.h"
#include "run/runner.h"
#include "synthetic.h"
#include "training_case.h"

/* --- running ---------------------------------------------------------------------------------------------------- */

struct outcome {
    char *bytes; /* what is persistent and what the caller reads, after some runs */
    size_t count;
};

static void append(struct outcome *o, const void *data, size_t bytes) {
    o->bytes = realloc(o->bytes, o->count + bytes + 1);
    assert_non_null(o->bytes);
    memcpy(o->bytes + o->count, data, bytes);
    o->count += bytes;
}

static void fill_inputs(const plim__program *p, const plim__runner *runner, int round) {
    for (size_t b = 0; b < p->buffers.count; b++) {
        if (p->buffers.items[b].kind != PLIM__BUFFER_INPUT) continue;
        void *to = plim__runner_at(runner, (plim__operand){(int32_t)b, 0});
        if (!to) continue;
        plim_value v = p->buffers.items[b].value;
        size_t words = p->buffers.items[b].bytes / 8;
        if (p->graph && v >= 0 && p->graph->values.items[v].dtype == PLIM_F32)
            for (size_t k = 0; k < 2 * words; k++) ((float *)to)[k] = sinf((float)(k * 7 + (size_t)round) * 0.37f);
        else
            for (size_t k = 0; k < words; k++) ((int64_t *)to)[k] = (int64_t)(k * 7 + (size_t)round) % 11;
    }
}

static struct outcome run_program(const plim__program *p, const plim__program *original, int rounds) {
    plim_error error = {0};
    struct outcome o = {0};
    plim__plan *plan = NULL;
    plim__runner *runner = NULL;
    must(plim__plan_create(p, &(plim__plan_options){.pack_work = 20000000}, &plan, &error), &error);
    if (!plim__plan_is_valid(plan, p, &error)) fail_msg("%s", error.message);
    must(plim__runner_create(p, plan, NULL, &runner, &error), &error);
    for (int round = 0; round < rounds; round++) {
        fill_inputs(p, runner, round);
        must(plim__runner_run(runner, &error), &error);
        for (size_t b = 0; b < original->buffers.count; b++)
            if (original->buffers.items[b].output || original->buffers.items[b].persistent)
                append(&o, plim__runner_at(runner, (plim__operand){(int32_t)b, 0}), original->buffers.items[b].bytes);
    }
    plim__runner_free(runner);
    plim__plan_free(plan);
    return o;
}

static int64_t transient_bytes(const plim__program *p) {
    plim_error error = {0};
    plim__plan *plan = NULL;
    must(plim__plan_create(p, &(plim__plan_options){.pack_work = 20000000}, &plan, &error), &error);
    int64_t bytes = (int64_t)(plan->lower_bound_bytes - plan->persistent_bytes);
    plim__plan_free(plan);
    return bytes;
}

static void expect_same(const plim__program *program, const plim__depend *d, const plim__frontier_point *point,
                        const struct outcome *right, int rounds) {
    plim_error error = {0};
    plim__program *lean = NULL;
    if (!plim__schedule_is_valid(d, &point->schedule, &error)) fail_msg("%s", error.message);
    must(plim__schedule_apply(program, &point->schedule, &lean, &error), &error);
    assert_int_equal(transient_bytes(lean), point->peak_bytes);
    struct outcome found = run_program(lean, program, rounds);
    assert_int_equal(found.count, right->count);
    assert_memory_equal(found.bytes, right->bytes, right->count);
    free(found.bytes);
    plim__program_free(lean);
}

static void expect_monotone(const plim__frontier *f) {
    assert_true(f->points.count > 0);
    assert_true(f->points.items[0].extra_seconds == 0);
    for (size_t i = 1; i < f->points.count; i++) {
        assert_true(f->points.items[i].peak_bytes < f->points.items[i - 1].peak_bytes);
        assert_true(f->points.items[i].extra_seconds > f->points.items[i - 1].extra_seconds);
    }
}

/* Runs some points of the frontier, the highest and the lowest among them. */
static void check_program(const plim__program *program, const double *seconds, bool update_in_backward, int effort,
                          double factor, int rounds) {
    plim_error error = {0};
    plim__depend *d = NULL;
    plim__frontier *f = NULL;
    must(plim__depend_create(program, &(plim__depend_options){update_in_backward}, &d, &error), &error);
    must(plim__frontier_create(d, &(plim__recompute_options){.seconds = seconds, .effort = effort}, &f, &error),
         &error);
    expect_monotone(f);
    size_t count = f->points.count;
    double reached = (double)f->points.items[0].peak_bytes / (double)f->points.items[count - 1].peak_bytes;
    if (reached < factor) fail_msg("memory falls by %.2f, not by %.2f", reached, factor);
    if (update_in_backward) assert_true(f->points.items[0].peak_bytes <= transient_bytes(program));
    struct outcome right = run_program(program, program, rounds);
    for (int k = 0; k < 3; k++) expect_same(program, d, &f->points.items[(count - 1) * (size_t)k / 2], &right, rounds);
    free(right.bytes);
    plim__frontier_free(f);
    plim__depend_free(d);
}

/* --- networks of the zoo ------------------------------------------------------------------------------------------ */

static void check_model(const char *name, plim_zoo_options options, int64_t batch, double factor) {
    struct training_case c;
    case_create(&c, name, &options, batch, 1);
    double *seconds = case_seconds(c.program);
    check_program(c.program, seconds, true, 2, factor, 2);
    check_program(c.program, seconds, false, -1, 1, 2);
    free(seconds);
    case_free(&c);
}

/* Under sanitizers the search takes ten times as long: small networks have to do. */
#ifdef __SANITIZE_ADDRESS__
#define SLOW true
#else
#define SLOW false
#endif

static void lenet_trains_to_the_same_bits(void **state) {
    (void)state;
    check_model("lenet", (plim_zoo_options){0}, 64, 1);
}

static void resnet_trains_to_the_same_bits(void **state) {
    (void)state;
    check_model("resnet18", (plim_zoo_options){.image = 64, .width = 16}, 4, 1);
    if (!SLOW) check_model("resnet50", (plim_zoo_options){.image = 64, .width = 16}, 2, 1);
}

static void mobilenet_trains_to_the_same_bits(void **state) {
    (void)state;
    if (SLOW) skip();
    check_model("mobilenet_v2", (plim_zoo_options){.image = 64}, 2, 1.3);
}

static void unet_trains_to_the_same_bits(void **state) {
    (void)state;
    check_model("unet", (plim_zoo_options){.image = 64, .width = 16}, 2, 2.5);
}

static void gpt_trains_to_the_same_bits(void **state) {
    (void)state;
    check_model("gpt2-tiny", (plim_zoo_options){.classes = 64, .seq = 32, .width = 64, .layers = 6, .heads = 4}, 4, 3);
}

static void vit_trains_to_the_same_bits(void **state) {
    (void)state;
    if (SLOW) skip();
    check_model("vit-tiny", (plim_zoo_options){.image = 64}, 2, 1.2);
}

static void lstm_trains_to_the_same_bits(void **state) {
    (void)state;
    check_model("lstm", (plim_zoo_options){.seq = 12, .width = 32}, 2, 1);
}

/* Planning alone, at full size. */
static void expect_low(const char *name, plim_zoo_options options, int64_t batch, double factor) {
    struct training_case c;
    plim_error error = {0};
    plim__depend *d = NULL;
    plim__frontier *f = NULL;
    case_create(&c, name, &options, batch, 2);
    must(plim__depend_create(c.program, &(plim__depend_options){true}, &d, &error), &error);
    must(plim__frontier_create(d, &(plim__recompute_options){.effort = -1}, &f, &error), &error);
    expect_monotone(f);
    double reached = (double)f->points.items[0].peak_bytes / (double)f->points.items[f->points.count - 1].peak_bytes;
    if (reached < factor) fail_msg("%s: memory falls by %.2f, not by %.2f", name, reached, factor);
    plim__frontier_free(f);
    plim__depend_free(d);
    case_free(&c);
}

static void deep_networks_get_by_with_little(void **state) {
    (void)state;
    if (SLOW) skip();
    expect_low("resnet50", (plim_zoo_options){0}, 16, 4.9); /* 4.91 with AVX-512's layouts, 5.0 with AVX2's */
    expect_low("unet", (plim_zoo_options){.image = 256}, 8, 3.5);
    expect_low("gpt2-tiny", (plim_zoo_options){.classes = 500, .seq = 128, .width = 128, .layers = 24, .heads = 4}, 16,
               6);
}

/* --- programs made by hand ---------------------------------------------------------------------------------------- */

/* A random one: mostly a chain, with skips. */
static struct synthetic_net synthetic_random(uint64_t seed, int count) {
    struct synthetic_net net = {.count = count};
    uint64_t n = 0;
    for (int i = 0; i < count; i++) {
        net.words[i] = (1 + plim__random_bits(seed, 1, n++) % 8) * 64;
        net.saves_output[i] = plim__random_bits(seed, 2, n++) % 3 == 0;
        net.saves_inputs[i] = plim__random_bits(seed, 3, n++) % 4 != 0;
        net.random[i] = plim__random_bits(seed, 4, n++) % 4 == 0;
        net.scratch[i] = plim__random_bits(seed, 5, n++) % 4 == 0 ? 128 : 0;
        net.inputs[i][0] = i - 1;
        net.inputs[i][1] = net.inputs[i][2] = -1;
        if (i > 2 && plim__random_bits(seed, 6, n++) % 3 == 0)
            net.inputs[i][1] = (int)(plim__random_bits(seed, 7, n++) % (uint64_t)(i - 1));
        if (i > 0 && plim__random_bits(seed, 8, n++) % 4 == 0) {
            net.inplace[i] = true;
            net.words[i] = net.words[i - 1];
        }
    }
    return net;
}

/* Skips, workspaces, outputs over inputs, random steps (which draw the same again), weights that change. */
static void random_networks_compute_the_same_bits(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed += SLOW ? 7 : 1) {
        struct synthetic_net net = synthetic_random(seed, 4 + (int)(seed % 20));
        net.updates = seed % 2 == 0;
        plim__program *p = synthetic_build(&net);
        check_program(p, NULL, seed % 4 == 0, (int)(seed % 3) - 1, 1, 3);
        plim__program_free(p);
    }
}

/* A chain of dropout-like steps: each is random and is done again. */
static void a_repeated_random_step_draws_the_same(void **state) {
    (void)state;
    struct synthetic_net net = {.count = 16, .updates = true};
    for (int i = 0; i < net.count; i++) {
        net.words[i] = 512;
        net.random[i] = net.saves_inputs[i] = true;
        net.inputs[i][0] = i - 1;
        net.inputs[i][1] = net.inputs[i][2] = -1;
    }
    plim__program *p = synthetic_build(&net);
    check_program(p, NULL, true, 0, 2.5, 4);
    plim__program_free(p);
}

/* The weight is read again by a repetition: the update waits for it, wherever the schedule puts it. */
static void nothing_is_repeated_after_its_weight_has_changed(void **state) {
    (void)state;
    struct synthetic_net net = synthetic_random(3, 6);
    net.updates = true;
    plim__program *p = synthetic_build(&net);
    plim_error error = {0};
    plim__depend *d = NULL;
    plim__schedule s = {0};
    must(plim__depend_create(p, &(plim__depend_options){true}, &d, &error), &error);
    must(plim__schedule_create(d, &s, &error), &error);
    assert_true(plim__schedule_is_valid(d, &s, NULL));
    plim__schedule worse = {0};
    s.steps = realloc(s.steps, (s.count + 1) * sizeof *s.steps);
    s.steps[s.count] = 0; /* the first step, after the last update */
    must(plim__schedule_copy(s.steps, s.count + 1, &worse, &error), &error);
    assert_false(plim__schedule_is_valid(d, &worse, &error));
    assert_non_null(strstr(error.message, "has changed"));
    worse.steps[worse.count - 1] = s.steps[s.count - 1]; /* an update twice */
    assert_false(plim__schedule_is_valid(d, &worse, &error));
    worse.count = s.count - 1; /* one step missing */
    assert_false(plim__schedule_is_valid(d, &worse, &error));
    plim__schedule_free(&worse);
    plim__schedule_free(&s);
    plim__depend_free(d);
    plim__program_free(p);
}

/* --- order and targets ------------------------------------------------------------------------------------------- */

static void an_order_never_needs_more_than_the_given_one(void **state) {
    (void)state;
    for (uint64_t seed = 100; seed < 160; seed += SLOW ? 7 : 1) {
        struct synthetic_net net = synthetic_random(seed, 5 + (int)(seed % 40));
        net.updates = true;
        plim__program *p = synthetic_build(&net);
        plim_error error = {0};
        for (int kind = 0; kind < 4; kind++) {
            plim__depend *d = NULL;
            plim__schedule s = {0};
            plim__meter *meter = NULL;
            must(plim__depend_create(p, &(plim__depend_options){kind % 2 == 0}, &d, &error), &error);
            must(plim__schedule_create(d, &s, &error), &error);
            must(plim__meter_create(d, &meter, &error), &error);
            int64_t given = plim__meter_run(meter, s.steps, s.count);
            must(plim__order(d, kind / 2 ? PLIM__ORDER_LOWEST : PLIM__ORDER_NEAR, &s, &error), &error);
            if (!plim__schedule_is_valid(d, &s, &error)) fail_msg("%s", error.message);
            assert_true(plim__meter_run(meter, s.steps, s.count) <= given);
            plim__meter_free(meter);
            plim__schedule_free(&s);
            plim__depend_free(d);
        }
        plim__program_free(p);
    }
}

/* Without updates in backward all gradients of a chain wait for the end. */
static void an_update_in_backward_frees_its_gradient(void **state) {
    (void)state;
    struct training_case c;
    case_create(&c, "mlp", &(plim_zoo_options){.layers = 8, .width = 256}, 1, 1);
    plim_error error = {0};
    int64_t peaks[2];
    for (int k = 0; k < 2; k++) {
        plim__depend *d = NULL;
        plim__frontier *f = NULL;
        must(plim__depend_create(c.program, &(plim__depend_options){k == 1}, &d, &error), &error);
        must(plim__frontier_create(d, NULL, &f, &error), &error);
        peaks[k] = f->points.items[0].peak_bytes;
        plim__frontier_free(f);
        plim__depend_free(d);
    }
    assert_true(peaks[1] < peaks[0] / 2);
    case_free(&c);
}

static void one_target_is_met_or_the_lowest_is_given(void **state) {
    (void)state;
    struct synthetic_net net = synthetic_random(12, 24);
    plim__program *p = synthetic_build(&net);
    plim_error error = {0};
    plim__depend *d = NULL;
    plim__frontier *f = NULL;
    must(plim__depend_create(p, NULL, &d, &error), &error);
    must(plim__frontier_create(d, NULL, &f, &error), &error);
    int64_t most = f->points.items[0].peak_bytes, least = f->points.items[f->points.count - 1].peak_bytes;
    for (int k = 0; k <= 4; k++) {
        plim__frontier_point point;
        int64_t target = least + (most - least) * k / 4;
        must(plim__recompute(d, NULL, target, &point, &error), &error);
        assert_true(point.peak_bytes <= target);
        plim__schedule_free(&point.schedule);
        assert_non_null(plim__frontier_find(f, target));
    }
    plim__frontier_point point;
    must(plim__recompute(d, NULL, 1, &point, &error), &error);
    assert_true(point.peak_bytes > 1 && point.peak_bytes <= least * 11 / 10);
    assert_null(plim__frontier_find(f, 1));
    plim__schedule_free(&point.schedule);
    plim__frontier_free(f);
    plim__depend_free(d);
    plim__program_free(p);
}

static void the_same_search_gives_the_same_frontier(void **state) {
    (void)state;
    struct synthetic_net net = synthetic_random(7, 40);
    plim__program *p = synthetic_build(&net);
    plim_error error = {0};
    plim__depend *d = NULL;
    plim__frontier *f[2] = {0};
    must(plim__depend_create(p, NULL, &d, &error), &error);
    for (int k = 0; k < 2; k++) must(plim__frontier_create(d, NULL, &f[k], &error), &error);
    assert_int_equal(f[0]->points.count, f[1]->points.count);
    for (size_t i = 0; i < f[0]->points.count; i++) {
        const plim__schedule *a = &f[0]->points.items[i].schedule, *b = &f[1]->points.items[i].schedule;
        assert_int_equal(a->count, b->count);
        assert_memory_equal(a->steps, b->steps, a->count * sizeof *a->steps);
    }
    for (int k = 0; k < 2; k++) plim__frontier_free(f[k]);
    plim__depend_free(d);
    plim__program_free(p);
}

static plim_status everything(const plim__program *p, plim_error *error) {
    plim__depend *d = NULL;
    plim__frontier *f = NULL;
    plim__program *lean = NULL;
    plim_status status = plim__depend_create(p, NULL, &d, error);
    if (status == PLIM_OK) status = plim__frontier_create(d, NULL, &f, error);
    if (status == PLIM_OK)
        status = plim__schedule_apply(p, &f->points.items[f->points.count - 1].schedule, &lean, error);
    plim__program_free(lean);
    plim__frontier_free(f);
    plim__depend_free(d);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    struct synthetic_net net = synthetic_random(9, 7);
    plim__program *p = synthetic_build(&net);
    plim_error error = {0};
    size_t before = plim__alloc_count();
    must(everything(p, &error), &error);
    size_t count = plim__alloc_count() - before;
    for (size_t n = 1; n <= count; n += n < 200 ? 1 : 17) {
        plim__alloc_fail_at(n);
        assert_int_equal(everything(p, &error), PLIM_NO_MEMORY);
        plim__alloc_fail_at(0);
    }
    must(everything(p, &error), &error);
    plim__program_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_networks_compute_the_same_bits),
        cmocka_unit_test(a_repeated_random_step_draws_the_same),
        cmocka_unit_test(nothing_is_repeated_after_its_weight_has_changed),
        cmocka_unit_test(an_order_never_needs_more_than_the_given_one),
        cmocka_unit_test(an_update_in_backward_frees_its_gradient),
        cmocka_unit_test(one_target_is_met_or_the_lowest_is_given),
        cmocka_unit_test(the_same_search_gives_the_same_frontier),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(deep_networks_get_by_with_little),
        cmocka_unit_test(lenet_trains_to_the_same_bits),
        cmocka_unit_test(resnet_trains_to_the_same_bits),
        cmocka_unit_test(mobilenet_trains_to_the_same_bits),
        cmocka_unit_test(unet_trains_to_the_same_bits),
        cmocka_unit_test(gpt_trains_to_the_same_bits),
        cmocka_unit_test(vit_trains_to_the_same_bits),
        cmocka_unit_test(lstm_trains_to_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
