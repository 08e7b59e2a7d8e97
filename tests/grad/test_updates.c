/* What surrounds the rules of optimizers: settings, schedules, states, sums over micro-batches, scales. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "grad/training.h"
#include "kernel/processor.h"
#include "ops/op.h"
#include "plim_test.h"
#include "run/runner.h"

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

/* --- a graph that is updated ----------------------------------------------------------------------------------- */

struct machine {
    plim_graph *g;
    plim__program *program;
    plim__plan *plan;
    plim__runner *runner;
};

static void start(struct machine *m, int threads) {
    plim_error error = {0};
    must(plim_graph_status(m->g, &error), &error);
    must(plim__infer_graph(m->g, NULL, NULL, &error), &error); /* nodes without outputs survive it */
    must(plim__graph_prune(m->g, &error), &error);
    must(plim__program_create(m->g, plim__on_processor(threads), NULL, &m->program, &error), &error);
    must(plim__plan_create(m->program, NULL, &m->plan, &error), &error);
    must(plim__runner_create(m->program, m->plan, NULL, &m->runner, &error), &error);
}

static void *at(const struct machine *m, const char *name) {
    plim_value v = plim_graph_find(m->g, name);
    void *p = v < 0 ? NULL : plim__runner_at(m->runner, m->program->values[v]);
    if (!p) fail_msg("'%s' is nowhere", name);
    return p;
}

static void run(struct machine *m) {
    plim_error error = {0};
    must(plim__runner_run(m->runner, &error), &error);
}

static void stop(struct machine *m) {
    plim__runner_free(m->runner);
    plim__plan_free(m->plan);
    plim__program_free(m->program);
    plim_graph_free(m->g);
}

static void add_write(plim_graph *g, const char *op, plim_value state, plim_value value) {
    int32_t node = plim__graph_add_node(g, PLIM__DOMAIN, op, NULL, 1);
    plim__node_add_input(g, node, state);
    plim__node_add_input(g, node, value);
    g->nodes.items[node].phase = PLIM__BACKWARD;
}

/* One parameter "x" that is updated by the input "g", scaled by the input "scale" where that is wanted. */
static struct machine updated(const plim_optimizer *o, int64_t count, const float *x, bool scaled) {
    struct machine m = {.g = plim_graph_create()};
    plim_error error = {0};
    plim_value parameter = plim_graph_parameter(m.g, "x", PLIM_F32, 1, &count, x);
    plim_value gradient = plim_graph_input(m.g, "g", PLIM_F32, 1, &count);
    plim_value update = plim_graph_input(m.g, "update", PLIM_F64, 1, (int64_t[]){2});
    plim_value scale = scaled ? plim_graph_input(m.g, "scale", PLIM_F32, 0, NULL) : PLIM_NO_VALUE;
    must(plim__optimizer_append(
             m.g, o,
             &(plim__updates){
                 .parameters = &parameter, .gradients = &gradient, .count = 1, .update = update, .scale = scale},
             &error),
         &error);
    plim_graph_output(m.g, parameter, NULL);
    start(&m, 2);
    return m;
}

static void update(struct machine *m, double rate, double number, const float *g, size_t count) {
    memcpy(at(m, "update"), (double[]){rate, number}, 2 * sizeof(double));
    memcpy(at(m, "g"), g, count * sizeof *g);
    run(m);
}

/* --- settings -------------------------------------------------------------------------------------------------- */

static void defaults_are_those_of_pytorch(void **state) {
    (void)state;
    const plim_optimizer right[] = {
        {PLIM_SGD, .rate = 1e-3},
        {PLIM_ADAM, .rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        {PLIM_ADAMW, .rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-2},
        {PLIM_RMSPROP, .rate = 1e-2, .alpha = 0.99, .epsilon = 1e-8},
        {PLIM_ADAGRAD, .rate = 1e-2, .epsilon = 1e-10},
        {PLIM_ADAFACTOR, .rate = 1e-2, .beta2 = -0.8, .epsilon = 1e-3, .threshold = 1},
        {PLIM_LION, .rate = 1e-4, .beta1 = 0.9, .beta2 = 0.99},
    };
    static const char *const names[] = {"sgd", "adam", "adamw", "rmsprop", "adagrad", "adafactor", "lion"};
    for (size_t i = 0; i < 7; i++) {
        plim_optimizer o = plim_optimizer_default(right[i].kind);
        plim_optimizer_kind kind = PLIM_SGD;
        assert_true(o.rate == right[i].rate && o.momentum == right[i].momentum && o.beta1 == right[i].beta1);
        assert_true(o.beta2 == right[i].beta2 && o.alpha == right[i].alpha && o.epsilon == right[i].epsilon);
        assert_true(o.threshold == right[i].threshold && o.weight_decay == right[i].weight_decay);
        assert_true(o.dampening == 0 && o.rate_decay == 0 && o.clip_norm == 0 && o.clip_value == 0 && !o.nesterov);
        assert_true(plim_optimizer_find(names[i], &kind));
        assert_int_equal(kind, right[i].kind);
        assert_string_equal(plim_optimizer_name(kind), names[i]);
    }
    assert_false(plim_optimizer_find("sgd2", NULL));
    assert_false(plim_optimizer_find(NULL, NULL));
}

static void expect_refusal(plim_optimizer o, const char *part) {
    plim_graph *g = plim_graph_create();
    plim_error error = {0};
    plim__updates none = {.update = PLIM_NO_VALUE, .scale = PLIM_NO_VALUE};
    plim_status status = plim__optimizer_append(g, &o, &none, &error);
    if (status != PLIM_INVALID || !strstr(error.message, part))
        fail_msg("%s: %s; expected '%s'", plim_status_name(status), error.message, part);
    plim_graph_free(g);
}

static void settings_that_make_no_sense_are_named(void **state) {
    (void)state;
    plim_optimizer sgd = plim_optimizer_default(PLIM_SGD), adam = plim_optimizer_default(PLIM_ADAM), o;
    expect_refusal((o = sgd, o.rate = -1, o), "optimizer sgd: the learning rate is -1");
    expect_refusal((o = sgd, o.rate = NAN, o), "learning rate");
    expect_refusal((o = sgd, o.nesterov = 1, o), "nesterov needs a momentum");
    expect_refusal((o = sgd, o.nesterov = 1, o.momentum = 0.9, o.dampening = 0.1, o), "nesterov");
    expect_refusal((o = sgd, o.clip_norm = -2, o), "largest norm");
    expect_refusal((o = sgd, o.clip_value = INFINITY, o), "largest gradient");
    expect_refusal((o = adam, o.beta1 = 1, o), "beta1 is 1, it must be from 0 to below 1");
    expect_refusal((o = adam, o.beta2 = -0.1, o), "beta2");
    expect_refusal((o = adam, o.weight_decay = -1, o), "weight decay");
    expect_refusal((o = plim_optimizer_default(PLIM_ADAFACTOR), o.threshold = 0.5, o), "threshold");
    expect_refusal((o = plim_optimizer_default(PLIM_ADAFACTOR), o.beta2 = 0.9, o), "decay exponent");
    expect_refusal((o = sgd, o.kind = (plim_optimizer_kind)77, o), "no optimizer 77");
}

static void schedules_end_where_they_should(void **state) {
    (void)state;
    plim_schedule_kind kind;
    assert_true(plim_schedule_find("cosine", &kind) && kind == PLIM_COSINE);
    assert_false(plim_schedule_find("cosinus", &kind));
    plim_schedule s = {PLIM_COSINE, .warmup = 4, .total = 24, .least = 0.1};
    assert_true(fabs(plim_schedule_factor(&s, 0) - 0.25) < 1e-12);
    assert_true(fabs(plim_schedule_factor(&s, 3) - 1) < 1e-12);
    assert_true(fabs(plim_schedule_factor(&s, 4) - 1) < 1e-12);
    assert_true(fabs(plim_schedule_factor(&s, 14) - 0.55) < 1e-12);
    assert_true(fabs(plim_schedule_factor(&s, 24) - 0.1) < 1e-12);
    assert_true(fabs(plim_schedule_factor(&s, 1000000) - 0.1) < 1e-12);
    s = (plim_schedule){PLIM_LINEAR, .total = 10};
    assert_true(fabs(plim_schedule_factor(&s, 5) - 0.5) < 1e-12 && plim_schedule_factor(&s, 10) == 0);
    s = (plim_schedule){.kind = PLIM_LINEAR}; /* the end is not known */
    assert_true(plim_schedule_factor(&s, 5) == 1);
    s = (plim_schedule){PLIM_STEP, .every = 3};
    assert_true(plim_schedule_factor(&s, 2) == 1 && fabs(plim_schedule_factor(&s, 6) - 0.01) < 1e-12);
    s = (plim_schedule){PLIM_COSINE, .warmup = 10, .total = 5, .least = 0.3}; /* over before it began */
    assert_true(plim_schedule_factor(&s, 9) == 1 && fabs(plim_schedule_factor(&s, 10) - 0.3) < 1e-12);
}

/* --- states ---------------------------------------------------------------------------------------------------- */

static void states_are_named_after_parameters_and_only_as_many_as_needed(void **state) {
    (void)state;
    static const struct {
        plim_optimizer_kind kind;
        double momentum;
        const char *has, *has_not;
    } cases[] = {{PLIM_SGD, 0, NULL, "w.momentum"},     {PLIM_SGD, 0.9, "w.momentum", "w.v"},
                 {PLIM_ADAMW, 0, "w.m", "w.momentum"},  {PLIM_ADAM, 0, "w.v", NULL},
                 {PLIM_RMSPROP, 0, "w.v", "w.m"},       {PLIM_RMSPROP, 0.5, "w.momentum", NULL},
                 {PLIM_LION, 0, "w.m", "w.v"},          {PLIM_ADAGRAD, 0, "w.v", "w.m"},
                 {PLIM_ADAFACTOR, 0, "w.column", "w.v"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plim_graph *g = plim_graph_create();
        plim_error error = {0};
        plim_optimizer o = plim_optimizer_default(cases[i].kind);
        o.momentum = cases[i].momentum;
        int64_t dims[] = {3, 5};
        plim_value w[] = {plim_graph_parameter(g, "w", PLIM_F32, 2, dims, NULL),
                          plim_graph_parameter(g, "frozen", PLIM_F32, 2, dims, NULL)};
        plim_value d[] = {plim_graph_input(g, "g", PLIM_F32, 2, dims), PLIM_NO_VALUE};
        plim_value u = plim_graph_input(g, "u", PLIM_F64, 1, (int64_t[]){2});
        must(plim__optimizer_append(
                 g, &o,
                 &(plim__updates){.parameters = w, .gradients = d, .count = 2, .update = u, .scale = PLIM_NO_VALUE},
                 &error),
             &error);
        if (cases[i].has) assert_true(plim_graph_find(g, cases[i].has) >= 0);
        if (cases[i].has_not) assert_true(plim_graph_find(g, cases[i].has_not) < 0);
        for (size_t v = 0; v < g->values.count; v++)
            if (g->values.items[v].kind == PLIM__VALUE_STATE) assert_true(g->values.items[v].name[0] == 'w');
        for (size_t n = 0; n < g->nodes.count; n++) assert_int_equal(g->nodes.items[n].phase, PLIM__UPDATE);
        plim_graph_free(g);
    }
}

static void a_name_that_is_taken_does_not_hinder(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_error error = {0};
    plim_optimizer o = plim_optimizer_default(PLIM_ADAM);
    int64_t five = 5;
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 1, &five, NULL),
               d = plim_graph_input(g, "w.m", PLIM_F32, 1, &five);
    plim_value u = plim_graph_input(g, "u", PLIM_F64, 1, (int64_t[]){2});
    must(plim__optimizer_append(
             g, &o,
             &(plim__updates){.parameters = &w, .gradients = &d, .count = 1, .update = u, .scale = PLIM_NO_VALUE},
             &error),
         &error);
    assert_true(plim_graph_find(g, "w.m_") >= 0);
    plim_graph_free(g);
}

/* Where blocks are padded, gradient, weight and state are zero. */
static void zeros_stay_zeros_without_epsilon(void **state) {
    (void)state;
    for (int kind = PLIM_SGD; kind <= PLIM_LION; kind++) {
        plim_optimizer o = plim_optimizer_default((plim_optimizer_kind)kind);
        o.epsilon = 0;
        o.weight_decay = 0.1;
        float x[3] = {0, 1, 0}, g[3] = {0, 0.5f, 0};
        struct machine m = updated(&o, 3, x, false);
        for (int n = 1; n < 4; n++) update(&m, 0.1, n, g, 3);
        const float *y = at(&m, "x");
        if (y[0] != 0 || y[2] != 0 || !(y[1] < 1))
            fail_msg("%s: %g %g %g", plim_optimizer_name(o.kind), (double)y[0], (double)y[1], (double)y[2]);
        stop(&m);
    }
}

static void what_is_not_a_number_shows(void **state) {
    (void)state;
    for (int kind = PLIM_SGD; kind <= PLIM_LION; kind++)
        for (int norm = 0; norm < 2; norm++) {
            plim_optimizer o = plim_optimizer_default((plim_optimizer_kind)kind);
            o.clip_value = 0.5;
            o.clip_norm = norm ? 1 : 0;
            float x[2] = {1, 2}, g[2] = {NAN, 1};
            struct machine m = updated(&o, 2, x, false);
            update(&m, 0.1, 1, g, 2);
            assert_true(isnan(((float *)at(&m, "x"))[0]));
            stop(&m);
        }
}

static void gradients_are_scaled_before_they_are_clipped(void **state) {
    (void)state;
    plim_optimizer o = plim_optimizer_default(PLIM_SGD);
    float x[2] = {0, 0}, g[2] = {300, -400}, scale = 0.001f;
    struct machine m = updated(&o, 2, x, true);
    *(float *)at(&m, "scale") = scale;
    update(&m, 1, 1, g, 2);
    assert_true(fabsf(((float *)at(&m, "x"))[1] - 0.4f) < 1e-6f);
    stop(&m);
    o.clip_value = 0.35;
    m = updated(&o, 2, x, true);
    *(float *)at(&m, "scale") = scale;
    update(&m, 1, 1, g, 2);
    assert_true(fabsf(((float *)at(&m, "x"))[0] + 0.3f) < 1e-6f && ((float *)at(&m, "x"))[1] == 0.35f);
    stop(&m);
    o.clip_value = 0;
    o.clip_norm = 0.1; /* the norm is 0.5 */
    m = updated(&o, 2, x, true);
    *(float *)at(&m, "scale") = scale;
    update(&m, 1, 1, g, 2);
    assert_true(fabsf(((float *)at(&m, "x"))[0] + 0.06f) < 1e-6f && fabsf(((float *)at(&m, "x"))[1] - 0.08f) < 1e-6f);
    stop(&m);
    o.clip_norm = 10;
    m = updated(&o, 2, x, true);
    *(float *)at(&m, "scale") = scale;
    update(&m, 1, 1, g, 2);
    assert_true(((float *)at(&m, "x"))[0] == -300 * scale); /* untouched */
    stop(&m);
}

/* --- micro-batches --------------------------------------------------------------------------------------------- */

#define LARGE 70001 /* more than a block, more than one thread */

static void sums_begin_anew_with_a_batch(void **state) {
    (void)state;
    struct machine m = {.g = plim_graph_create()};
    int64_t count = LARGE;
    plim__shape shape = {.rank = 1, .dims = {count}};
    plim_value x = plim_graph_input(m.g, "x", PLIM_F32, 1, &count);
    add_write(m.g, "Accumulate", plim__graph_add_value(m.g, "sum", PLIM__VALUE_SUM, PLIM_F32, &shape), x);
    start(&m, 2);
    for (int n = 0; n < 5; n++) {
        float *to = at(&m, "x");
        for (int64_t i = 0; i < count; i++) to[i] = (float)(i % 7 + n);
        m.runner->first = n == 0 || n == 3;
        run(&m);
        const float *sum = at(&m, "sum");
        for (int64_t i = 0; i < count; i++) {
            float part = (float)(i % 7), right = n < 3 ? part * (float)(n + 1) + (float)(n * (n + 1) / 2)
                                                       : part * (float)(n - 2) + (float)(n == 3 ? 3 : 7);
            if (sum[i] != right) fail_msg("run %d: sum[%lld] is %g", n, (long long)i, (double)sum[i]);
        }
    }
    stop(&m);
}

/* state = state + transposed x: as it is read in the next run. */
static void assigned_values_are_there_in_the_next_run(void **state) {
    (void)state;
    struct machine m = {.g = plim_graph_create()};
    int64_t dims[] = {3, 2}, turned[] = {2, 3};
    plim__shape shape = plim__shape_of(2, dims);
    plim_value held = plim__graph_add_value(m.g, "held", PLIM__VALUE_STATE, PLIM_F32, &shape);
    plim_value x = plim_graph_input(m.g, "x", PLIM_F32, 2, turned);
    plim_value y = plim_graph_apply(m.g, "Transpose", &x, 1);
    plim_value z = plim_graph_apply(m.g, "Add", (plim_value[]){held, y}, 2);
    plim_graph_output(m.g, z, "next");
    add_write(m.g, "Assign", held, z);
    start(&m, 1);
    for (int n = 1; n < 4; n++) {
        memcpy(at(&m, "x"), (float[]){1, 2, 3, 4, 5, 6}, 6 * sizeof(float));
        run(&m);
        const float *next = at(&m, "next"), right[] = {1, 4, 2, 5, 3, 6};
        for (int i = 0; i < 6; i++) assert_true(next[i] == right[i] * (float)n);
    }
    stop(&m);
}

static void what_is_not_kept_cannot_be_assigned(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_error error = {0};
    int64_t three = 3;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, &three);
    add_write(g, "Assign", x, x);
    assert_int_equal(plim__infer_graph(g, NULL, NULL, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "'x' is not persistent"));
    plim_graph_free(g);
}

/* Appends an optimizer while the n-th allocation fails; 0: none does. Returns how many there were. */
static size_t append_failing(plim_optimizer_kind kind, size_t n) {
    plim_graph *g = plim_graph_create();
    plim_error error = {0};
    plim_optimizer o = plim_optimizer_default(kind);
    o.clip_norm = 1;
    int64_t dims[] = {3, 5};
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, dims, NULL);
    plim_value d = plim_graph_input(g, "g", PLIM_F32, 2, dims);
    plim_value u = plim_graph_input(g, "u", PLIM_F64, 1, (int64_t[]){2});
    size_t before = plim__alloc_count();
    plim__alloc_fail_at(n);
    plim_status status = plim__optimizer_append(
        g, &o, &(plim__updates){.parameters = &w, .gradients = &d, .count = 1, .update = u, .scale = PLIM_NO_VALUE},
        &error);
    plim__alloc_fail_at(0);
    size_t count = plim__alloc_count() - before;
    if (status != (n ? PLIM_NO_MEMORY : PLIM_OK) || (n && !*error.message))
        fail_msg("allocation %zu: %s, %s", n, plim_status_name(status), error.message);
    plim_graph_free(g);
    return count;
}

static void failed_allocations_are_told(void **state) {
    (void)state;
    for (int kind = PLIM_ADAMW; kind <= PLIM_ADAFACTOR; kind++) {
        size_t total = append_failing((plim_optimizer_kind)kind, 0);
        assert_true(total > 20);
        for (size_t n = 1; n <= total; n++) append_failing((plim_optimizer_kind)kind, n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_pytorch),
        cmocka_unit_test(settings_that_make_no_sense_are_named),
        cmocka_unit_test(schedules_end_where_they_should),
        cmocka_unit_test(states_are_named_after_parameters_and_only_as_many_as_needed),
        cmocka_unit_test(a_name_that_is_taken_does_not_hinder),
        cmocka_unit_test(zeros_stay_zeros_without_epsilon),
        cmocka_unit_test(what_is_not_a_number_shows),
        cmocka_unit_test(gradients_are_scaled_before_they_are_clipped),
        cmocka_unit_test(sums_begin_anew_with_a_batch),
        cmocka_unit_test(assigned_values_are_there_in_the_next_run),
        cmocka_unit_test(what_is_not_kept_cannot_be_assigned),
        cmocka_unit_test(failed_allocations_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
