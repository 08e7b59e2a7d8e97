/* Bits in place of saved tensors: fewer bytes, the same weights to the bit, and only where nothing else reads the tensor. */
#include <stdlib.h>
#include <string.h>

#include "grad/training.h"
#include "kernel/processor.h"
#include "plan/plan.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/runner.h"

#define UPDATES 3
#define BATCH   2

static plim_value random_weight(plim_graph *g, const char *name, int rank, const int64_t *dims) {
    static uint64_t state = 7;
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    float *data = malloc((size_t)count * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[i] = (float)(state >> 40) / (float)(1 << 23) - 1;
    }
    plim_value v = plim_graph_parameter(g, name, PLIM_F32, rank, dims, data);
    free(data);
    return v;
}

static plim_value conv(plim_graph *g, plim_value x, const char *name, int64_t in, int64_t out) {
    plim_value w = random_weight(g, name, 4, (int64_t[]){out, in, 3, 3});
    int32_t node = plim_graph_node(g, "Conv", NULL, (plim_value[]){x, w}, 2, 1);
    plim_graph_set_ints(g, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    return plim_graph_node_output(g, node, 0);
}

static plim_value pool(plim_graph *g, plim_value x) {
    int32_t node = plim_graph_node(g, "AveragePool", NULL, &x, 1, 1);
    plim_graph_set_ints(g, node, "kernel_shape", (int64_t[]){2, 2}, 2);
    plim_graph_set_ints(g, node, "strides", (int64_t[]){2, 2}, 2);
    return plim_graph_node_output(g, node, 0);
}

static plim_value activate(plim_graph *g, const char *name, plim_value x) {
    float low = -0.5f, high = 0.75f;
    if (strcmp(name, "Clip") == 0)
        return plim_graph_apply(g, name,
                                (plim_value[]){x, plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &low),
                                               plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &high)},
                                3);
    return plim_graph_apply(g, name, &x, 1);
}

/* Two branches of 20 channels (blocks of 16 have padding) whose activations go into pools and a concat: nothing but their
 * own backward passes reads them there. With `reread`, a convolution does. */
static plim_graph *network(const char *activation, bool reread) {
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){plim_graph_symbol(g, "N"), 3, 18, 18}), parts[2];
    for (int i = 0; i < 2; i++) parts[i] = activate(g, activation, conv(g, x, i ? "b.weight" : "a.weight", 3, 20));
    for (int i = 0; i < 2; i++)
        parts[i] = reread ? conv(g, parts[i], i ? "d.weight" : "c.weight", 20, 20) : pool(g, parts[i]);
    int32_t node = plim_graph_node(g, "Concat", NULL, parts, 2, 1);
    plim_graph_set_int(g, node, "axis", 1);
    plim_value y = plim_graph_node_output(g, node, 0);
    y = plim_graph_apply(g, "GlobalAveragePool", &y, 1);
    int32_t flat = plim_graph_node(g, "Flatten", NULL, &y, 1, 1);
    plim_graph_set_int(g, flat, "axis", 1);
    y = plim_graph_node_output(g, flat, 0);
    plim_value w = random_weight(g, "head.weight", 2, (int64_t[]){40, 5});
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){y, w}, 2), "logits");
    return g;
}

static void feed(plim__runner *r, const plim__training *t, int update) {
    const plim_graph *g = t->graph;
    for (size_t i = 0; i < g->inputs.count; i++) {
        plim_value v = g->inputs.items[i];
        void *at = plim__runner_at(r, r->program->values[v]);
        int64_t count = plim__shape_elements(&g->values.items[v].shape);
        if (v == t->update)
            memcpy(at, (double[]){0.05, update + 1}, 2 * sizeof(double));
        else
            for (int64_t k = 0; k < count; k++)
                if (v == t->target)
                    ((int64_t *)at)[k] = (k + update) % 5;
                else
                    ((float *)at)[k] = (float)((k * 37 + update * 11) % 101) / 50.0f - 1.0f;
    }
}

struct trained {
    size_t bits_saved, arena;
    char *weights;
    size_t bytes;
};

static struct trained train(const plim_graph *model, bool whole_saved, int threads) {
    plim_error error = {0};
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    plim_optimizer optimizer = plim_optimizer_default(PLIM_ADAMW);
    plim__training_options options = {.loss = &loss,
                                      .optimizer = &optimizer,
                                      .batch = BATCH,
                                      .whole_saved = whole_saved,
                                      .fold = plim__processor_fold};
    plim__training *training = NULL;
    plim__program *program = NULL;
    plim__plan *plan = NULL;
    plim__runner *runner = NULL;
    bool ok = plim__training_create(model, &options, &training, &error) == PLIM_OK &&
              plim__program_create(training->graph, plim__on_processor(threads), NULL, &program, &error) == PLIM_OK &&
              plim__plan_create(program, NULL, &plan, &error) == PLIM_OK &&
              plim__runner_create(program, plan, NULL, &runner, &error) == PLIM_OK;
    if (!ok) fail_msg("%s", error.message);
    for (int u = 0; u < UPDATES; u++) {
        feed(runner, training, u);
        if (plim__runner_run(runner, &error) != PLIM_OK) fail_msg("%s", error.message);
    }
    struct trained made = {.bits_saved = training->bits_saved, .arena = plan->arena_bytes};
    for (size_t i = 0; i < program->loads.count; i++) {
        const plim__load *load = &program->loads.items[i];
        const plim__value *value = &training->graph->values.items[load->value];
        if (value->kind != PLIM__VALUE_PARAMETER) continue;
        size_t bytes = (size_t)plim__shape_elements(&value->shape) * sizeof(float);
        made.weights = realloc(made.weights, made.bytes + bytes);
        assert_non_null(made.weights);
        if (plim__runner_read_tensor(runner, load, made.weights + made.bytes, &error) != PLIM_OK)
            fail_msg("%s", error.message);
        made.bytes += bytes;
    }
    plim__runner_free(runner);
    plim__plan_free(plan);
    plim__program_free(program);
    plim__training_free(training);
    return made;
}

static void weights_are_the_same_to_the_bit_in_fewer_bytes(void **state) {
    (void)state;
    static const char *const names[] = {"Relu", "LeakyRelu", "Clip", "ThresholdedRelu", "HardSigmoid", "Shrink"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int threads = 1; threads <= 2; threads++) {
            plim_graph *g = network(names[i], false);
            struct trained whole = train(g, true, threads), bits = train(g, false, threads);
            size_t elements = BATCH * 20 * 18 * 18;
            if (bits.bits_saved != 2 * (elements * 4 - elements / 32 * 4))
                fail_msg("%s saves %zu bytes less", names[i], bits.bits_saved);
            assert_int_equal(whole.bits_saved, 0);
            assert_true(bits.bytes > 0 && bits.bytes == whole.bytes);
            if (memcmp(whole.weights, bits.weights, bits.bytes) != 0) fail_msg("%s: weights differ", names[i]);
            if (bits.arena >= whole.arena)
                fail_msg("%s: %zu bytes, %zu with whole tensors", names[i], bits.arena, whole.arena);
            free(whole.weights);
            free(bits.weights);
            plim_graph_free(g);
        }
}

static void the_plan_tells_how_much(void **state) {
    (void)state;
    plim_graph *g = network("Relu", false);
    plim_plan *plan = NULL;
    plim_error error = {0};
    plim_trainer_options options = {.batch = BATCH, .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY)};
    if (plim_plan_create(g, &options, &plan, &error) != PLIM_OK) fail_msg("%s", error.message);
    size_t elements = BATCH * 20 * 18 * 18;
    const plim_plan_report *report = plim_plan_get_report(plan);
    assert_int_equal(report->unconstrained.bits_saved, 2 * (elements * 4 - elements / 32 * 4));
    assert_int_equal(report->unconstrained.class_, PLIM_EXACT);
    plim_plan_free(plan);
    plim_graph_free(g);
}

/* The weights' gradient of the next convolution reads the activation: it lives on, and bits would only be more. */
static void a_tensor_that_something_else_reads_stays_whole(void **state) {
    (void)state;
    plim_graph *g = network("Relu", true);
    struct trained made = train(g, false, 1);
    assert_int_equal(made.bits_saved, 0);
    free(made.weights);
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights_are_the_same_to_the_bit_in_fewer_bytes),
                                       cmocka_unit_test(the_plan_tells_how_much),
                                       cmocka_unit_test(a_tensor_that_something_else_reads_stays_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
