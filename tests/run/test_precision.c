/* What waits for the backward pass in 16 bits, where products multiply float32: half of its bytes, the same forward pass, gradients
 * that differ by the rounding and nothing else, and the same weights at every budget. Products of 16 bits: test_narrow_products.c. */
#include "run/narrow_trainer.h"

/* bfloat16 has 8 bits: a number moves by 2^-9 of itself at most. Where a norm clips, what was close to the bound may fall on its
 * other side, and that counts for more: twice what was measured is the most for networks that do. */
static const struct {
    const char *name;
    plim_zoo_options sizes;
    double most;
} networks[] = {
    {"lenet", {.width = 8}, 0.01},
    {"resnet18", {.image = 64, .width = 8, .classes = 10}, 0.13},
    {"unet", {.image = 32, .width = 8}, 0.04},
    {"gpt2-tiny", {.seq = 16, .width = 32, .layers = 2, .heads = 2}, 0.01},
    {"vit-tiny", {.width = 48, .layers = 2, .heads = 3}, 0.01},
    {"llama", {.seq = 16, .width = 64, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 96, .classes = 64}, 0.01},
    {"bert", {.seq = 16, .width = 64, .layers = 2, .heads = 4, .hidden = 96, .vocab = 64}, 0.01},
};

static void only_gradients_change_and_by_no_more_than_the_rounding(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        plim_graph *model = zoo(networks[i].name, networks[i].sizes);
        struct gradients wide = gradients_of(model, PLIM_PRECISION_F32),
                         narrow = gradients_of(model, PLIM_PRECISION_BF16),
                         half = gradients_of(model, PLIM_PRECISION_F16);
        if (wide.loss != narrow.loss || wide.loss != half.loss)
            fail_msg("%s: the loss is %.9g and %.9g, not %.9g", networks[i].name, narrow.loss, half.loss, wide.loss);
        double off = distance(&wide, &narrow), off_half = distance(&wide, &half);
        print_message("%s: gradients differ by %.2g (bf16), %.2g (fp16)\n", networks[i].name, off, off_half);
        if (!(off > 0 && off < networks[i].most)) fail_msg("%s: gradients differ by %g", networks[i].name, off);
        if (!(off_half > 0 && off_half < off)) /* three bits more */
            fail_msg("%s: with fp16 gradients differ by %g", networks[i].name, off_half);
        free(wide.values);
        free(narrow.values);
        free(half.values);
        plim_graph_free(model);
    }
}

/* Small whole numbers are the same in 16 bits: then so is every gradient, to the bit. Through views, blocked layouts with
 * padding, and a tensor with several readers. */
static plim_graph *whole_numbers(void) {
    plim_graph *g = plim_graph_create();
    static float weights[20 * 3 * 9 + 20 * 20 * 9 + 80 * 5];
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) weights[i] = (float)(i * 7 % 3) - 1;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){plim_graph_symbol(g, "N"), 3, 8, 8});
    x = plim_graph_apply(g, "Round", &x, 1);
    for (int i = 0; i < 2; i++) {
        plim_value w = plim_graph_parameter(g, i ? "b" : "a", PLIM_F32, 4, (int64_t[]){20, i ? 20 : 3, 3, 3},
                                            weights + (i ? 540 : 0));
        int32_t node = plim_graph_node(g, "Conv", NULL, (plim_value[]){x, w}, 2, 1);
        plim_graph_set_ints(g, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
        plim_graph_set_ints(g, node, "strides", (int64_t[]){2, 2}, 2);
        float low = -4, high = 4;
        x = plim_graph_apply(g, "Clip",
                             (plim_value[]){plim_graph_node_output(g, node, 0),
                                            plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &low),
                                            plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &high)},
                             3);
    }
    int32_t turn = plim_graph_node(g, "Transpose", NULL, &x, 1, 1);
    plim_graph_set_ints(g, turn, "perm", (int64_t[]){0, 2, 3, 1}, 4);
    int32_t flat = plim_graph_node(g, "Flatten", NULL, (plim_value[]){plim_graph_node_output(g, turn, 0)}, 1, 1);
    x = plim_graph_node_output(g, flat, 0);
    x = plim_graph_apply(g, "Mul", (plim_value[]){x, x}, 2);
    plim_value head = plim_graph_parameter(g, "head", PLIM_F32, 2, (int64_t[]){80, 5}, weights + 4140);
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){x, head}, 2), "scores");
    return g;
}

static void numbers_that_need_no_rounding_give_the_same_gradients(void **state) {
    (void)state;
    plim_graph *model = whole_numbers();
    struct gradients wide = gradients_of(model, PLIM_PRECISION_F32);
    for (plim_precision p = PLIM_PRECISION_BF16; p <= PLIM_PRECISION_F16; p++) {
        struct gradients narrow = gradients_of(model, p);
        assert_true(wide.count > 4000 && wide.count == narrow.count);
        assert_memory_equal(wide.values, narrow.values, wide.count * sizeof *wide.values);
        free(narrow.values);
    }
    free(wide.values);
    plim_graph_free(model);
}

static const plim_plan_report *plan_of(const plim_graph *model, plim_precision precision, plim_plan **plan) {
    plim_trainer_options o = {.batch = 16,
                              .precision = precision,
                              .allow = PLIM_ALLOW_EXACT,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY)};
    must(plim_plan_create(model, &o, plan, &error));
    return plim_plan_get_report(*plan);
}

static void the_plan_tells_how_much_and_that_it_is_lossy(void **state) {
    (void)state;
    plim_graph *model = zoo("resnet18", (plim_zoo_options){.image = 64, .width = 16, .classes = 10});
    plim_plan *wide, *narrow, *half;
    const plim_plan_candidate *a = &plan_of(model, PLIM_PRECISION_F32, &wide)->unconstrained,
                              *b = &plan_of(model, PLIM_PRECISION_BF16, &narrow)->unconstrained,
                              *c = &plan_of(model, PLIM_PRECISION_F16, &half)->unconstrained;
    assert_int_equal(a->class_, PLIM_EXACT);
    assert_int_equal(b->class_, PLIM_LOSSY);
    assert_int_equal(a->precision, PLIM_PRECISION_F32);
    assert_int_equal(b->precision, PLIM_PRECISION_BF16);
    assert_int_equal(a->narrow_saved, 0);
    assert_true(b->narrow_saved > 0);
    assert_int_equal(c->class_, PLIM_LOSSY);
    assert_int_equal(c->precision, PLIM_PRECISION_F16);
    assert_true(c->narrow_saved == b->narrow_saved);
    if ((double)b->activations > 0.6 * (double)a->activations)
        fail_msg("activations: %llu bytes, %llu in float32", (unsigned long long)b->activations,
                 (unsigned long long)a->activations);
    plim_plan_free(half);
    plim_plan_free(narrow);
    plim_plan_free(wide);
    plim_graph_free(model);
}

static void a_smaller_budget_gives_the_same_weights(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* memory of their own, which no plan knows of */
#endif
    must_be_the_same_at_the_least_budget(PLIM_PRECISION_BF16);
    must_be_the_same_at_the_least_budget(PLIM_PRECISION_F16);
}

int main(void) {
    setenv("DNNL_MAX_CPU_ISA", "AVX512_CORE", 1); /* no arithmetic in 16 bits, whatever the processor has */
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_gradients_change_and_by_no_more_than_the_rounding),
                                       cmocka_unit_test(numbers_that_need_no_rounding_give_the_same_gradients),
                                       cmocka_unit_test(the_plan_tells_how_much_and_that_it_is_lossy),
                                       cmocka_unit_test(a_smaller_budget_gives_the_same_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
