/* Products that multiply bfloat16, on processors that can: loss and gradients differ from float32's by no more than PyTorch's autocast's
 * do, what the backward pass reads is what the forward pass has converted, and a smaller budget gives the same weights. */
#include "kernel/processor.h"
#include "run/narrow_trainer.h"

static bool can(void) { return plim__processor.multiplies(PLIM_BF16); }

/* Measured, and rounded up to twice of that: what a norm clips can fall on the other side of its bound. */
static const struct {
    const char *name;
    plim_zoo_options sizes;
    double loss, gradients;
} networks[] = {
    {"lenet", {.width = 8}, 0.001, 0.036},
    {"resnet18", {.image = 64, .width = 8, .classes = 10}, 0.01, 0.84},
    {"unet", {.image = 32, .width = 8}, 0.01, 0.1},
    {"gpt2-tiny", {.seq = 16, .width = 32, .layers = 2, .heads = 2}, 0.001, 0.03},
    {"vit-tiny", {.width = 48, .layers = 2, .heads = 3}, 0.005, 0.03},
    {"llama",
     {.seq = 16, .width = 64, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 96, .classes = 64},
     0.001,
     0.03},
    {"bert", {.seq = 16, .width = 64, .layers = 2, .heads = 4, .hidden = 96, .vocab = 64}, 0.005, 0.03},
};

static void losses_and_gradients_differ_by_the_rounding(void **state) {
    (void)state;
    if (!can()) skip();
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        plim_graph *model = zoo(networks[i].name, networks[i].sizes);
        struct gradients wide = gradients_of(model, PLIM_PRECISION_F32),
                         narrow = gradients_of(model, PLIM_PRECISION_BF16);
        double loss = fabs(narrow.loss / wide.loss - 1), off = distance(&wide, &narrow);
        print_message("%s: the loss differs by %.2g, gradients by %.2g\n", networks[i].name, loss, off);
        if (!(loss < networks[i].loss)) fail_msg("%s: the loss differs by %g", networks[i].name, loss);
        if (!(off > 0 && off < networks[i].gradients)) fail_msg("%s: gradients differ by %g", networks[i].name, off);
        if (wide.loss == narrow.loss) fail_msg("%s: products multiply float32", networks[i].name);
        free(wide.values);
        free(narrow.values);
        plim_graph_free(model);
    }
}

static plim_value clipped(plim_graph *g, plim_value x, float most) {
    float least = -most;
    return plim_graph_apply(g, "Clip",
                            (plim_value[]){x, plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &least),
                                           plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &most)},
                            3);
}

/* Sums of products of small whole numbers are exact in float32: so are the scores, and the loss. Matrices as they come: turned,
 * in pairs, vectors, rows of several axes, with addends. */
static plim_graph *whole_numbers(void) {
    plim_graph *g = plim_graph_create();
    static float weights[4000];
    for (uint32_t i = 0; i < 4000; i++) weights[i] = (float)((i * 2654435761u >> 16) % 3) - 1;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){plim_graph_symbol(g, "N"), 6, 20});
    x = plim_graph_apply(g, "Round", &x, 1);
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){24, 20}, weights);
    int32_t turn = plim_graph_node(g, "Transpose", NULL, &w, 1, 1);
    plim_graph_set_ints(g, turn, "perm", (int64_t[]){1, 0}, 2);
    plim_value y = plim_graph_apply(g, "MatMul", (plim_value[]){x, plim_graph_node_output(g, turn, 0)}, 2);
    y = plim_graph_apply(g, "Add",
                         (plim_value[]){y, plim_graph_parameter(g, "bias", PLIM_F32, 1, (int64_t[]){24}, weights)}, 2);
    int32_t other = plim_graph_node(g, "Transpose", NULL, &x, 1, 1);
    plim_graph_set_ints(g, other, "perm", (int64_t[]){0, 2, 1}, 3);
    plim_value pairs = plim_graph_apply(g, "MatMul", (plim_value[]){plim_graph_node_output(g, other, 0), y}, 2);
    pairs = clipped(g, pairs, 100);
    plim_value v = plim_graph_parameter(g, "v", PLIM_F32, 1, (int64_t[]){24}, weights + 5);
    plim_value rows = plim_graph_apply(g, "MatMul", (plim_value[]){pairs, v}, 2);
    plim_value head = plim_graph_parameter(g, "head", PLIM_F32, 2, (int64_t[]){5, 20}, weights + 1);
    int32_t gemm = plim_graph_node(g, "Gemm", NULL, (plim_value[]){rows, head}, 2, 1);
    plim_graph_set_int(g, gemm, "transB", 1);
    plim_graph_output(g, plim_graph_node_output(g, gemm, 0), "scores");
    return g;
}

/* Convolutions as they come: of few channels, of each channel by itself, turned round, of two tensors behind each other. */
static plim_graph *convolutions(void) {
    plim_graph *g = plim_graph_create();
    static float weights[20000];
    for (uint32_t i = 0; i < 20000; i++) weights[i] = (float)((i * 2654435761u >> 16) % 3) - 1;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){plim_graph_symbol(g, "N"), 3, 8, 8});
    x = plim_graph_apply(g, "Round", &x, 1);
    static const struct {
        const char *op, *name;
        int64_t shape[4], group;
    } layers[] = {{"Conv", "few", {20, 3, 3, 3}, 1},
                  {"Conv", "each", {20, 1, 3, 3}, 20},
                  {"Conv", "groups", {32, 10, 3, 3}, 2},
                  {"ConvTranspose", "turned", {32, 16, 3, 3}, 1},
                  {"Conv", "both", {16, 36, 3, 3}, 1}};
    plim_value early = PLIM_NO_VALUE;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        if (i == 4) { /* behind what the first layer made */
            int32_t both = plim_graph_node(g, "Concat", NULL, (plim_value[]){x, early}, 2, 1);
            plim_graph_set_int(g, both, "axis", 1);
            x = plim_graph_node_output(g, both, 0);
        }
        plim_value w = plim_graph_parameter(g, layers[i].name, PLIM_F32, 4, layers[i].shape, weights + i);
        int32_t node = plim_graph_node(g, layers[i].op, NULL, (plim_value[]){x, w}, 2, 1);
        plim_graph_set_ints(g, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
        plim_graph_set_int(g, node, "group", layers[i].group);
        x = clipped(g, plim_graph_node_output(g, node, 0), 200);
        if (i == 0) early = x;
    }
    x = plim_graph_apply(g, "GlobalAveragePool", &x, 1);
    x = plim_graph_apply(g, "Flatten", &x, 1);
    float part = 1.0f / 64; /* scores of which none is all that counts */
    x = plim_graph_apply(g, "Mul", (plim_value[]){x, plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &part)}, 2);
    plim_graph_output(g, x, "scores");
    return g;
}

static void must_have_the_same_loss(plim_graph *model) {
    struct gradients wide = gradients_of(model, PLIM_PRECISION_F32), narrow = gradients_of(model, PLIM_PRECISION_BF16);
    if (wide.loss != narrow.loss) fail_msg("the loss is %.9g, not %.9g", narrow.loss, wide.loss);
    double off = distance(&wide, &narrow);
    double size = 0;
    for (size_t i = 0; i < wide.count; i++) size += fabs((double)wide.values[i]);
    print_message("loss %g, gradients %g differ by %.2g\n", wide.loss, size, off);
    if (!(off > 0 && off < 0.02)) fail_msg("gradients differ by %g", off);
    free(narrow.values);
    free(wide.values);
    plim_graph_free(model);
}

static void whole_numbers_give_the_same_loss(void **state) {
    (void)state;
    if (!can()) skip();
    must_have_the_same_loss(whole_numbers());
    must_have_the_same_loss(convolutions());
}

static uint64_t activations_of(const plim_graph *model, plim_precision precision) {
    plim_trainer_options o = {.batch = 16,
                              .precision = precision,
                              .allow = PLIM_ALLOW_EXACT,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY)};
    plim_plan *plan;
    must(plim_plan_create(model, &o, &plan, &error));
    uint64_t bytes = plim_plan_get_report(plan)->unconstrained.activations;
    plim_plan_free(plan);
    return bytes;
}

/* What products have converted waits, and nothing of float32 beside it. */
static void as_little_waits_as_where_products_are_wide(void **state) {
    (void)state;
    if (!can()) skip();
    const char *names[] = {"resnet18", "vit-tiny"};
    for (int i = 0; i < 2; i++) {
        plim_graph *model = zoo(names[i], (plim_zoo_options){.image = i ? 0 : 64, .width = i ? 0 : 16, .classes = 10});
        double share =
            (double)activations_of(model, PLIM_PRECISION_BF16) / (double)activations_of(model, PLIM_PRECISION_F32);
        print_message("%s: %.2f of its activations\n", names[i], share);
        if (share > 0.6) fail_msg("%s: activations are %.2f of float32's", names[i], share);
        plim_graph_free(model);
    }
}

static void a_smaller_budget_gives_the_same_weights(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* memory of their own, which no plan knows of */
#endif
    if (!can()) skip();
    must_be_the_same_at_the_least_budget(PLIM_PRECISION_BF16);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(losses_and_gradients_differ_by_the_rounding),
                                       cmocka_unit_test(whole_numbers_give_the_same_loss),
                                       cmocka_unit_test(as_little_waits_as_where_products_are_wide),
                                       cmocka_unit_test(a_smaller_budget_gives_the_same_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
