/* Optimizer state in 8 bits: the maps, codes and scales of bitsandbytes, updates through them, any arrangement of a weight,
 * and only where it was allowed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "grad/training.h"
#include "kernel/processor.h"
#include "kernel/update/state8.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/runner.h"
#include "state8_numbers.h"

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

/* --- numbers of bitsandbytes ---------------------------------------------------------------------------------- */

static void the_maps_are_those_of_bitsandbytes(void **state) {
    (void)state;
    assert_memory_equal(plim__state8_signed()->code, signed_code, sizeof signed_code);
    assert_memory_equal(plim__state8_unsigned()->code, unsigned_code, sizeof unsigned_code);
}

static void compare_codes(const plim__state8_map *map, const uint32_t *numbers, const uint8_t *codes,
                          const uint32_t *scales, int64_t count) {
    for (int64_t from = 0; from < count; from += PLIM__STATE8_BLOCK) {
        int64_t n = count - from < PLIM__STATE8_BLOCK ? count - from : PLIM__STATE8_BLOCK;
        float x[PLIM__STATE8_BLOCK];
        uint8_t made[PLIM__STATE8_BLOCK];
        memcpy(x, numbers + from, (size_t)n * sizeof *x);
        float scale = plim__state8_pack(map, n, x, false, made);
        assert_int_equal(plim__float_to_bits(scale), scales[from / PLIM__STATE8_BLOCK]);
        for (int64_t i = 0; i < n; i++)
            if (made[i] != codes[from + i])
                fail_msg("number %lld, %g of %g: code %d, not %d", (long long)(from + i), (double)x[i], (double)scale,
                         made[i], codes[from + i]);
    }
}

static void random_blocks_get_the_codes_and_scales_of_bitsandbytes(void **state) {
    (void)state;
    compare_codes(plim__state8_signed(), signed_numbers, signed_codes, signed_scales, sizeof signed_codes);
    compare_codes(plim__state8_unsigned(), unsigned_numbers, unsigned_codes, unsigned_scales, sizeof unsigned_codes);
}

/* The table that is looked up, beside a search through all codes: at every bound and its neighbours, and at random. */
static void every_number_gets_its_nearest_code(void **state) {
    (void)state;
    const plim__state8_map *maps[] = {plim__state8_signed(), plim__state8_unsigned()};
    uint64_t random = 11;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 40000; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            float y = i < 255    ? maps[k]->bounds[i]
                      : i < 510  ? nextafterf(maps[k]->bounds[i - 255], 2)
                      : i < 1000 ? nextafterf(maps[k]->bounds[i % 255], -2)
                                 : (float)(random >> 40) / (float)(1 << 23) - 1;
            if (i >= 20000) y *= powf(10, -(float)(random >> 61));
            if (k && y < 0) y = -y;
            float pair[2] = {y, 1};
            uint8_t codes[2];
            plim__state8_pack(maps[k], 2, pair, false, codes);
            int best = 0;
            for (int c = 1; c < 256; c++)
                if (fabs((double)maps[k]->code[c] - (double)y) < fabs((double)maps[k]->code[best] - (double)y))
                    best = c;
            double own = fabs((double)maps[k]->code[codes[0]] - (double)y),
                   right = fabs((double)maps[k]->code[best] - (double)y);
            if (own > right + 1e-7) fail_msg("%.9g becomes code %d, %d is nearer", (double)y, codes[0], best);
        }
}

static void what_is_not_a_number_is_not_hidden(void **state) {
    (void)state;
    float x[3] = {1, NAN, 2};
    uint8_t codes[3];
    assert_true(isnan(plim__state8_pack(plim__state8_signed(), 3, x, false, codes)));
    float zeros[3] = {0};
    float scale = plim__state8_pack(plim__state8_unsigned(), 3, zeros, true, codes);
    plim__state8_unpack(plim__state8_unsigned(), 3, codes, scale, x);
    assert_true(scale == 0 && x[0] == 0 && x[1] == 0);
}

/* --- updates -------------------------------------------------------------------------------------------------- */

#define COUNT   5000
#define UPDATES 12

static float number(int64_t k) { return (float)(k % 1000) / 500 - 1; }

static void compare_updates(plim_optimizer o, const float *right, size_t samples) {
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    int64_t count = COUNT;
    static float x[COUNT];
    for (int64_t k = 0; k < COUNT; k++) x[k] = number(k * 31);
    plim_value parameter = plim_graph_parameter(g, "x", PLIM_F32, 1, &count, x);
    plim_value gradient = plim_graph_input(g, "g", PLIM_F32, 1, &count);
    plim_value update = plim_graph_input(g, "update", PLIM_F64, 1, (int64_t[]){2});
    size_t saved = 0;
    plim__updates updates = {.parameters = &parameter,
                             .gradients = &gradient,
                             .count = 1,
                             .update = update,
                             .scale = PLIM_NO_VALUE,
                             .state_bits = 8,
                             .saved = &saved};
    must(plim__optimizer_append(g, &o, &updates, &error), &error);
    size_t states = o.kind == PLIM_ADAMW ? 2 : 1;
    assert_int_equal(saved, states * (3 * COUNT - 4 * 20)); /* a byte for four, and 20 scales */
    plim_graph_output(g, parameter, NULL);
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    plim__program *program = NULL;
    plim__plan *plan = NULL;
    plim__runner *runner = NULL;
    must(plim__program_create(g, plim__on_processor(2), NULL, &program, &error), &error);
    must(plim__plan_create(program, NULL, &plan, &error), &error);
    must(plim__runner_create(program, plan, NULL, &runner, &error), &error);
    for (int64_t t = 1; t <= UPDATES; t++) {
        float *d = plim__runner_at(runner, program->values[gradient]);
        for (int64_t k = 0; k < COUNT; k++)
            d[k] = number((k * 7919 + t * 104729 + k * k * (t + 1)) % 1000) * (1 + (float)(k / 256 % 5));
        memcpy(plim__runner_at(runner, program->values[update]), (double[]){o.rate, (double)t}, 2 * sizeof(double));
        must(plim__runner_run(runner, &error), &error);
    }
    const float *y = plim__runner_at(runner, program->values[parameter]);
    for (size_t i = 0; i < samples; i++)
        if (fabs((double)y[i * 79] - (double)right[i]) > 2e-5)
            fail_msg("%s, weight %zu: %.9g, not %.9g", plim_optimizer_name(o.kind), i * 79, (double)y[i * 79],
                     (double)right[i]);
    plim__runner_free(runner);
    plim__plan_free(plan);
    plim__program_free(program);
    plim_graph_free(g);
}

#define SAMPLES(list) list, sizeof list / sizeof *list

static void updates_go_through_the_quantization_of_bitsandbytes(void **state) {
    (void)state;
    plim_optimizer o = plim_optimizer_default(PLIM_ADAMW);
    o.rate = 0.01;
    compare_updates(o, SAMPLES(adamw_weights));
    compare_updates((plim_optimizer){PLIM_SGD, .rate = 0.01, .momentum = 0.9}, SAMPLES(momentum_weights));
    o = plim_optimizer_default(PLIM_RMSPROP);
    o.rate = 0.01;
    compare_updates(o, SAMPLES(rmsprop_weights));
    o = plim_optimizer_default(PLIM_LION);
    o.rate = 0.01;
    compare_updates(o, SAMPLES(lion_weights));
}

/* --- networks ------------------------------------------------------------------------------------------------- */

static plim_graph *lenet(void) {
    plim_graph *g = NULL;
    plim_error error = {0};
    must(plim_zoo_create("lenet", &(plim_zoo_options){.width = 20}, &g, &error),
         &error); /* 20 channels: padded blocks */
    return g;
}

static plim_trainer *trainer_of(const plim_graph *g, int64_t bits) {
    plim_trainer *t = NULL;
    plim_error error = {0};
    plim_trainer_options options = {.batch = 4,
                                    .threads = 2,
                                    .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    options.optimizer.state_bits = bits;
    must(plim_trainer_create(g, &options, &t, &error), &error);
    return t;
}

/* One update; the loss before it. */
static double step(plim_trainer *t, int number_of) {
    static float x[4 * 28 * 28];
    int64_t labels[4];
    plim_error error = {0};
    for (int64_t k = 0; k < 4 * 28 * 28; k++) x[k] = number(k * 37 + number_of * 101);
    for (int64_t k = 0; k < 4; k++) labels[k] = (k * 3 + number_of) % 10;
    plim_batch batch = {.count = 4, .inputs = {x}, .target = labels};
    plim_step_result result;
    must(plim_trainer_step(t, &batch, &result, &error), &error);
    return result.loss;
}

static void *read_tensor(plim_trainer *t, const char *name, plim_trainer_tensor *tensor) {
    plim_error error = {0};
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_get_tensor(t, i, tensor);
        if (strcmp(tensor->name, name) != 0) continue;
        void *data = malloc(tensor->bytes);
        assert_non_null(data);
        must(plim_trainer_read(t, i, data, &error), &error);
        return data;
    }
    fail_msg("there is no '%s'", name);
    return NULL;
}

struct gradient {
    const char *name;
    float *values;
    size_t count;
};

static void take_gradient(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    struct gradient *g = context;
    if (strcmp(name, g->name) != 0) return;
    g->count = 1;
    for (int i = 0; i < rank; i++) g->count *= (size_t)dims[i];
    g->values = malloc(g->count * sizeof *values);
    assert_non_null(g->values);
    memcpy(g->values, values, g->count * sizeof *values);
}

/* Weights of convolutions lie in blocks; their state is in row-major order all the same. The first update starts at zeros,
 * so that its weights are those of float32 to the bit. */
static void states_are_in_plain_order_wherever_the_weight_lies(void **state) {
    (void)state;
    static const char *const names[] = {"conv2.weight", "fc1.weight"};
    plim_graph *g = lenet();
    plim_trainer *wide = trainer_of(g, 32), *narrow = trainer_of(g, 8);
    struct gradient gradients[2] = {{.name = names[0]}, {.name = names[1]}};
    static float x[4 * 28 * 28];
    int64_t labels[4] = {0, 3, 6, 9};
    for (int64_t k = 0; k < 4 * 28 * 28; k++) x[k] = number(k * 37);
    plim_batch batch = {.count = 4, .inputs = {x}, .target = labels};
    plim_error error = {0};
    for (int i = 0; i < 2; i++)
        must(plim_trainer_gradients(narrow, &batch, take_gradient, &gradients[i], &error), &error);
    step(wide, 0);
    step(narrow, 0);
    for (int i = 0; i < 2; i++) {
        char name[64];
        plim_trainer_tensor tensor;
        float *a = read_tensor(wide, names[i], &tensor), *b = read_tensor(narrow, names[i], &tensor);
        assert_memory_equal(a, b, tensor.bytes);
        snprintf(name, sizeof name, "%s.m", names[i]);
        uint8_t *codes = read_tensor(narrow, name, &tensor), right[PLIM__STATE8_BLOCK];
        assert_int_equal(tensor.dtype, PLIM_U8);
        assert_int_equal(tensor.bytes, gradients[i].count);
        snprintf(name, sizeof name, "%s.m.absmax", names[i]);
        float *scales = read_tensor(narrow, name, &tensor), m[PLIM__STATE8_BLOCK];
        for (size_t from = 0; from < gradients[i].count; from += PLIM__STATE8_BLOCK) {
            size_t rest = gradients[i].count - from, n = rest < PLIM__STATE8_BLOCK ? rest : PLIM__STATE8_BLOCK;
            for (size_t k = 0; k < n; k++) m[k] = 0.1f * gradients[i].values[from + k];
            float scale = plim__state8_pack(plim__state8_signed(), (int64_t)n, m, false, right);
            if (fabsf(scale - scales[from / PLIM__STATE8_BLOCK]) > 1e-5f * scale)
                fail_msg("%s: scale %zu", names[i], from);
            for (size_t k = 0; k < n; k++) /* the gradient was computed by another program: a bound may be crossed */
                if (abs(codes[from + k] - right[k]) > 1) fail_msg("%s: code %zu", names[i], from + k);
        }
        free(a), free(b), free(codes), free(scales), free(gradients[i].values);
    }
    plim_trainer_free(wide);
    plim_trainer_free(narrow);
    plim_graph_free(g);
}

static size_t state_bytes(const plim_trainer *t, bool floats_only) {
    size_t bytes = 0;
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        if (tensor.role == PLIM_ROLE_OPTIMIZER && (!floats_only || tensor.dtype == PLIM_F32)) bytes += tensor.bytes;
    }
    return bytes;
}

static void training_learns_as_with_float32(void **state) {
    (void)state;
    plim_graph *g = lenet();
    plim_trainer *wide = trainer_of(g, 32), *narrow = trainer_of(g, 8);
    double first = 0, losses[2] = {0};
    for (int i = 0; i < 40; i++) {
        double a = step(wide, i % 4), b = step(narrow, i % 4);
        if (i == 0) first = a;
        if (i >= 28) losses[0] += a / 12, losses[1] += b / 12;
    }
    if (!(losses[0] < 0.8 * first) || fabs(losses[0] - losses[1]) > 0.01 * losses[0])
        fail_msg("from %g: %g with float32, %g with 8 bits", first, losses[0], losses[1]);
    plim_trainer_stats a, b;
    plim_trainer_get_stats(wide, &a);
    plim_trainer_get_stats(narrow, &b);
    assert_int_equal(a.class_, PLIM_EXACT);
    assert_int_equal(b.class_, PLIM_LOSSY);
    assert_true(state_bytes(narrow, false) * 3 < state_bytes(wide, false));
    assert_true(b.arena_bytes < a.arena_bytes);
    plim_trainer_tensor tensor;
    float *x = read_tensor(wide, "fc1.weight", &tensor), *y = read_tensor(narrow, "fc1.weight", &tensor);
    assert_memory_not_equal(x, y, tensor.bytes); /* lossy it is */
    free(x), free(y);
    plim_trainer_free(wide);
    plim_trainer_free(narrow);
    plim_graph_free(g);
}

/* --- where it is done ----------------------------------------------------------------------------------------- */

static plim_plan_report report_of(const plim_graph *g, plim_allow allow, int64_t bits, uint64_t budget) {
    plim_plan *plan = NULL;
    plim_error error = {0};
    plim_trainer_options options = {.batch = 4,
                                    .threads = 2,
                                    .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAMW),
                                    .budget = budget,
                                    .no_spill = 1,
                                    .allow = allow};
    options.optimizer.state_bits = bits;
    must(plim_plan_create(g, &options, &plan, &error), &error);
    plim_plan_report report = *plim_plan_get_report(plan);
    plim_plan_free(plan);
    return report;
}

static void plans_use_it_only_where_that_is_allowed_and_asked_for(void **state) {
    (void)state;
    plim_graph *g = NULL;
    plim_error error = {0};
    must(plim_zoo_create("mlp", &(plim_zoo_options){.width = 1024, .layers = 3}, &g, &error), &error);
    plim_plan_report usual = report_of(g, PLIM_ALLOW_REORDERED, 0, 0), any = report_of(g, PLIM_ALLOW_LOSSY, 0, 0),
                     chosen = report_of(g, PLIM_ALLOW_REORDERED, 8, 0);
    assert_int_equal(usual.unconstrained.state_saved, 0);
    assert_int_equal(any.unconstrained.state_saved, 0); /* there is room for float32 */
    assert_true(chosen.unconstrained.state_saved > 0 && chosen.unconstrained.class_ == PLIM_LOSSY);
#ifndef __SANITIZE_ADDRESS__ /* holds memory of its own, which no plan knows of */
    assert_true(any.minimum_budget_bytes + ((uint64_t)8 << 20) < usual.minimum_budget_bytes);
    uint64_t tight = usual.minimum_budget_bytes - ((uint64_t)4 << 20);
    plim_plan_report refused = report_of(g, PLIM_ALLOW_REORDERED, 0, tight),
                     fits = report_of(g, PLIM_ALLOW_LOSSY, 0, tight);
    assert_false(refused.fits);
    assert_true(fits.fits && fits.chosen.state_saved > 0 && fits.chosen.class_ == PLIM_LOSSY);
    assert_true(fits.chosen.process_bytes <= tight);
#endif
    plim_graph_free(g);
}

static void an_embedding_and_small_tensors_stay_in_32_bits(void **state) {
    (void)state;
    plim_graph *g = NULL;
    plim_error error = {0};
    plim_trainer *t = NULL;
    must(plim_zoo_create("gpt2-tiny", &(plim_zoo_options){.seq = 16, .layers = 1}, &g, &error), &error);
    plim_trainer_options options = {
        .batch = 1, .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY), .optimizer = plim_optimizer_default(PLIM_LION)};
    options.optimizer.state_bits = 8;
    must(plim_trainer_create(g, &options, &t, &error), &error);
    bool embedding = false, large = false;
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        if (strcmp(tensor.name, "wte.weight.m") == 0) embedding = tensor.dtype == PLIM_F32;
        if (strcmp(tensor.name, "h.0.mlp.fc.weight.m") == 0) large = tensor.dtype == PLIM_U8;
        if (strcmp(tensor.name, "h.0.mlp.fc.bias.m") == 0) assert_int_equal(tensor.dtype, PLIM_F32);
    }
    assert_true(embedding && large);
    plim_trainer_free(t);
    options.optimizer = plim_optimizer_default(PLIM_ADAGRAD);
    options.optimizer.state_bits = 8;
    assert_int_equal(plim_trainer_create(g, &options, &t, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "adagrad"));
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_maps_are_those_of_bitsandbytes),
        cmocka_unit_test(random_blocks_get_the_codes_and_scales_of_bitsandbytes),
        cmocka_unit_test(every_number_gets_its_nearest_code),
        cmocka_unit_test(what_is_not_a_number_is_not_hidden),
        cmocka_unit_test(updates_go_through_the_quantization_of_bitsandbytes),
        cmocka_unit_test(states_are_in_plain_order_wherever_the_weight_lies),
        cmocka_unit_test(training_learns_as_with_float32),
        cmocka_unit_test(plans_use_it_only_where_that_is_allowed_and_asked_for),
        cmocka_unit_test(an_embedding_and_small_tensors_stay_in_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
