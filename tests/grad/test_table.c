/* Every operator with real inputs and outputs has a gradient, or is listed here with the reason why not; and every
 * gradient agrees with central differences, for usual shapes, inputs that broadcast, odd sizes and empty axes. */
#include "cases.h"
#include "cases_network.h"
#include "graph/graph.h"
#include "ops/op.h"

static const struct gradient_case cases[] = {
    {"Abs Neg Identity Sign Shrink Relu Elu Selu Celu Softplus Softsign ThresholdedRelu HardSwish HardSigmoid Erf Sin "
     "Cos "
     "Tan Atan Sinh Cosh Tanh Asinh Sigmoid Exp Mish plimsoll::Swish",
     one_input, 1, -1, 1, 0, 1e-3},
    {"Sqrt Reciprocal Log", one_input, 1, 0.5, 2, 0, 1e-3},
    {"Asin Acos Atanh", one_input, 1, -0.8, 0.8, 0, 1e-3},
    {"Acosh", one_input, 1, 1.5, 3, 0, 1e-3},
    {"Ceil Floor Round", one_input, 1, 0.05, 0.45, 0, 1e-3}, /* flat, as in PyTorch */
    {"LeakyRelu", sloped, 2, -1, 1, 0, 1e-3},
    {"Gelu", gelu, 2, -3, 3, 0, 1e-3},
    {"Clip", clip, 3, -1, 1, 1e-4, 2e-2},
    {"Cast CastLike", casts, 1, -1, 1, 0, 1e-3},
    {"Add Sub Mul", two_inputs, 2, -1, 1, 0, 1e-3},
    {"Div Pow", two_inputs, 2, 0.5, 2, 0, 1e-3},
    {"Mod", two_inputs, 2, 2, 4, 1e-3, 2e-3},
    {"Max Min", two_inputs, 2, -1, 1, 5e-4, 2e-3},
    {"Sum Mean Max Min", three_inputs, 2, -1, 1, 5e-4, 2e-3},
    {"PRelu", slopes, 1, -1, 1, 1e-3, 2e-3},
    {"Where", choice, 2, -1, 1, 1e-3, 2e-3},
    {"ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare", reduction, 3,
     0.5, 1.5, 0.02, 2e-3},
    {"ReduceMax ReduceMin", reduction, 3, 0.5, 1.5, 1e-4, 5e-3},
    {"Softmax LogSoftmax", along_axis, 3, -1, 1, 0, 2e-3},
    {"Hardmax", along_axis, 3, -1, 1, 1e-5, 1e-3},
    {"LpNormalization", norm_of_axis, 4, 0.3, 1.5, 0, 2e-3},
    {"CumSum", cumulative, 4, -1, 1, 0, 1e-3},
    {"Reshape Flatten Squeeze Unsqueeze Expand Tile CenterCropPad", movement, 1, -1, 1, 0, 1e-3},
    {"Transpose", transpose, 2, -1, 1, 0, 1e-3},
    {"Slice", slice, 4, -1, 1, 0, 1e-3},
    {"Split", split, 1, -1, 1, 0, 1e-3},
    {"Concat", concat, 3, -1, 1, 0, 1e-3},
    {"Pad", pad, 4, -1, 1, 0, 1e-3},
    {"Resize Upsample", resize, 12, -1, 1, 0, 1e-3},
    {"DepthToSpace SpaceToDepth", space, 2, -1, 1, 0, 1e-3},
    {"ReverseSequence", reversed, 1, -1, 1, 0, 1e-3},
    {"Einsum", einsum, 8, -1, 1, 0, 1e-3},
    {"Trilu", triangle, 2, -1, 1, 0, 1e-3},
    {"EyeLike", ones_like, 1, -1, 1, 0, 1e-3},
    {"Gather GatherElements", gather, 2, -1, 1, 0, 1e-3},
    {"GatherND", gather_nd, 2, -1, 1, 0, 1e-3},
    {"Scatter ScatterElements ScatterND", scatter, 5, -1, 1, 1e-3, 2e-3},
    {"TopK", top_k, 2, -1, 1, 1e-5, 5e-3},
    {"OneHot", one_hot, 2, -1, 1, 0, 1e-3},
    {"Compress", compress, 3, -1, 1, 0, 1e-3},
    {"Conv ConvTranspose", conv, 3, -1, 1, 0.05, 2e-3},
    {"MaxPool", pool, 3, -1, 1, 2e-4, 1e-2},
    {"AveragePool", pool, 2, -1, 1, 0, 2e-3},
    {"LpPool", pool, 2, 0.3, 1.5, 0, 2e-3},
    {"GlobalAveragePool", global_pool, 1, -1, 1, 0.05, 2e-3},
    {"GlobalMaxPool", global_pool, 1, -1, 1, 1e-3, 2e-3},
    {"GlobalLpPool", global_pool, 1, 0.3, 1.5, 0.05, 5e-3},
    {"MaxUnpool", unpool, 3, -1, 1, 0, 1e-3},
    {"BatchNormalization", batch_norm, 4, -1, 1, 5e-4, 2e-2},
    {"plimsoll::BatchNormTrain", batch_norm_train, 1, -1, 1, 0, 5e-3},
    {"LayerNormalization", layer_norm, 3, -1, 1, 0, 2e-3},
    {"InstanceNormalization GroupNormalization", channel_norm, 1, -1, 1, 0, 5e-3},
    {"LRN", local_response, 2, -1, 1, 0, 2e-3},
    {"MeanVarianceNormalization", mean_variance, 2, -1, 1, 0, 5e-3},
    {"MatMul", matmul, 5, -1, 1, 0, 1e-3},
    {"Gemm", gemm, 4, -1, 1, 0, 1e-3},
    {"plimsoll::Linear plimsoll::FusedGemm", fused, 8, -1, 1, 2e-3, 3e-3},
    {"plimsoll::Attention", attention, 4, -1, 1, 0, 2e-3},
    {"SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss plimsoll::CrossEntropy", class_loss, 4, -1, 1, 0, 2e-3},
    {"plimsoll::ElementLoss", element_loss, 4, -1, 1, 0.03, 3e-3},
    {"RNN GRU LSTM", recurrent, 14, -0.6, 0.6, 5e-3, 1e-2},
    {"plimsoll::LinearCrossEntropy", linear_loss, 2, -1, 1, 0, 2e-3},
    {"Dropout", one_input, 1, -1, 1, 0, 1e-3},
    {"Det", determinant, 2, -1, 1, 0, 1e-3},
    {"GridSample", grid_sample, 19, -1.4, 1.4, 1e-4, 1e-2},
    {"AffineGrid", affine_grid, 4, -1, 1, 0, 1e-3},
    {"Col2Im", col2im, 2, -1, 1, 0, 1e-3},
};

/* Operators without a gradient, and why. */
static const struct {
    const char *why, *ops;
} without[] = {
    {"results that are not real numbers",
     "Not IsNaN IsInf Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor ArgMax ArgMin NonZero NonMaxSuppression "
     "Shape Size QuantizeLinear DynamicQuantizeLinear"},
    {"inputs that are not real numbers",
     "BitwiseNot BitwiseAnd BitwiseOr BitwiseXor BitShift MatMulInteger QLinearMatMul "
     "ConvInteger QLinearConv ConstantOfShape HannWindow HammingWindow BlackmanWindow"},
    {"constants by the time gradients are built: their sizes depend on what is in them", "Unique Range Constant"},
    {"its branch has taken its place by the time gradients are built", "If"},
    {"weights that are stored as integers are not trained", "DequantizeLinear"},
    {"fused for inference only: training graphs do not have them", "plimsoll::FusedConv plimsoll::FusedBatchNorm"},
    {"made by gradients: there are no second ones",
     "plimsoll::MaxPoolTrain plimsoll::LayerNormTrain plimsoll::LinearCrossEntropyTrain"},
};

static void name_of(const plim__op *op, char name[64]) {
    snprintf(name, 64, "%s%s%s", op->domain, *op->domain ? "::" : "", op->name);
}

/* Whether a list of names separated by spaces has this one. */
static bool lists(const char *list_of, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list_of; (at = strstr(at, name)); at += length)
        if ((at == list_of || at[-1] == ' ') && (at[length] == 0 || at[length] == ' ')) return true;
    return false;
}

static bool is_checked(const char *name) {
    if (strcmp(name, "plimsoll::DropoutTrain") == 0) return true; /* every run draws anew: see test_dropout.c */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (lists(cases[i].ops, name)) return true;
    return false;
}

static const char *reason_for(const char *name) {
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (lists(without[i].ops, name)) return without[i].why;
    return NULL;
}

static void every_operator_has_a_gradient_that_is_checked_or_a_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < plim__op_count; i++) {
        const plim__op *op = &plim__ops[i];
        char name[64];
        name_of(op, name);
        bool own = strcmp(op->domain, PLIM__DOMAIN) == 0;
        if (*op->domain && !own) continue;                                              /* optimizers */
        if (op->flags & PLIM__OP_WRITES || (own && strstr(op->name, "Grad"))) continue; /* updates, backward passes */
        const char *why = reason_for(name);
        if (plim__op_has_gradient(op) && why)
            fail_msg("%s has a gradient by now, though it is listed under '%s'", name, why);
        if (!plim__op_has_gradient(op) && !why)
            fail_msg("%s (opset %d) has neither a gradient nor a reason", name, op->since);
        if (plim__op_has_gradient(op) && !is_checked(name)) fail_msg("%s has a gradient that nothing checks", name);
    }
}

/* The newest opset that has the operator. */
static int newest(const char *name) {
    int found = 0;
    for (size_t i = 0; i < plim__op_count; i++)
        if (!*plim__ops[i].domain && strcmp(plim__ops[i].name, name) == 0 && plim__ops[i].until > found)
            found = plim__ops[i].until;
    return found;
}

static void check_case(const struct gradient_case *c, const char *op, enum kind kind, int variant) {
    static const char *const names[] = {"", ", broadcasting", ", odd sizes", ", an empty axis"};
    plim_graph *g = plim_graph_create();
    char what[96];
    int opset = newest(op);
    if (opset) assert_true(plim__graph_set_opset(g, "", opset > 20 ? 20 : opset));
    plim_value y = c->build(g, op, kind, variant);
    plim_error error = {0};
    if (plim_graph_status(g, &error) != PLIM_OK) fail_msg("%s: %s", op, error.message);
    snprintf(what, sizeof what, "%s %d%s", op, variant, names[kind]);
    plim_gradient_options options = {
        .low = c->low, .high = c->high, .epsilon = c->epsilon, .seed = (uint64_t)variant, .samples = 10};
    if (y < 0)
        plim_graph_free(g);
    else
        expect_right(what, g, y, &options, c->tolerance);
}

static void check_kind(enum kind kind) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char ops[512], *rest = ops;
        snprintf(ops, sizeof ops, "%s", cases[i].ops);
        for (const char *op; (op = strtok_r(rest, " ", &rest));)
            for (int variant = 0; variant < cases[i].variants; variant++) {
                bool binary =
                    cases[i].build == two_inputs || cases[i].build == three_inputs || cases[i].build == choice;
                if (binary && variant && kind != WIDE) continue; /* the variants are ways to broadcast */
                check_case(&cases[i], op, kind, variant);
            }
    }
}

static void gradients_agree_with_differences(void **state) {
    (void)state;
    check_kind(USUAL);
}
static void gradients_of_inputs_that_broadcast(void **state) {
    (void)state;
    check_kind(WIDE);
}
static void gradients_of_odd_sizes(void **state) {
    (void)state;
    check_kind(ODD);
}
static void gradients_of_empty_axes(void **state) {
    (void)state;
    check_kind(EMPTY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_has_a_gradient_that_is_checked_or_a_reason),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(gradients_of_inputs_that_broadcast),
        cmocka_unit_test(gradients_of_odd_sizes),
        cmocka_unit_test(gradients_of_empty_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
