/* Every operator with real inputs and outputs has a gradient, or is listed here with the reason why not; and every
 * gradient agrees with central differences, for usual shapes, inputs that broadcast, irregular sizes and empty axes. */
#include "cases_table.h"

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
    {"spelled out by the time gradients are built: other nodes have taken their places",
     "Loop Scan SequenceConstruct SequenceEmpty SequenceInsert SequenceErase SequenceAt SequenceLength SplitToSequence "
     "ConcatFromSequence SequenceMap Attention RotaryEmbedding RMSNormalization"},
    {"drawn without an input, or not real numbers", "RandomUniform RandomNormal Multinomial"},
    {"weights that are stored as integers are not trained", "DequantizeLinear"},
    {"its table is frozen and stays in the file", "plimsoll::FileGather"},
    {"fused for inference only: training graphs do not have them", "plimsoll::FusedConv plimsoll::FusedBatchNorm"},
    {"made by gradients: there are no second ones",
     "plimsoll::MaxPoolTrain plimsoll::LayerNormTrain plimsoll::LinearCrossEntropyTrain plimsoll::GruTrain "
     "plimsoll::LstmTrain plimsoll::TableGruTrain plimsoll::TableLstmTrain plimsoll::HardSigmoidBits "
     "plimsoll::ReluBits plimsoll::LeakyReluBits "
     "plimsoll::ThresholdedReluBits plimsoll::ShrinkBits plimsoll::ClipBits plimsoll::Narrow plimsoll::Widen"},
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
    if (lists("plimsoll::DropoutTrain RandomUniformLike RandomNormalLike Bernoulli", name))
        return true; /* every run draws other numbers: see test_dropout.c, test_random.c */
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

static void check_case(const struct gradient_case *c, const char *op, enum kind kind, int variant) {
    static const char *const names[] = {"", ", broadcasting", ", irregular sizes", ", an empty axis"};
    plim_graph *g = plim_graph_create();
    char what[96];
    int opset = case_opset(op);
    if (opset) assert_true(plim__graph_set_opset(g, "", opset));
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
                if (binary && variant && kind != WIDE) continue; /* the variants are forms of broadcasting */
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
static void gradients_of_irregular_sizes(void **state) {
    (void)state;
    check_kind(IRREGULAR);
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
        cmocka_unit_test(gradients_of_irregular_sizes),
        cmocka_unit_test(gradients_of_empty_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
