/* Every operator on real numbers has a gradient, or is listed here with the reason why not. */
#include <stdio.h>
#include <string.h>

#include "ops/op.h"
#include "plim_test.h"

/* Results that are not real numbers, or do not depend on real inputs. */
static const char *const nothing_to_differentiate[] = {
    "Not",
    "BitwiseNot",
    "IsNaN",
    "IsInf",
    "Equal",
    "Greater",
    "Less",
    "GreaterOrEqual",
    "LessOrEqual",
    "And",
    "Or",
    "Xor",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "BitShift",
    "ArgMax",
    "ArgMin",
    "NonZero",
    "Unique",
    "NonMaxSuppression",
    "Constant",
    "Shape",
    "Size",
    "ConstantOfShape",
    "Range",
    "EyeLike",
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "QLinearMatMul",
    "ConvInteger",
    "QLinearConv",
    "RandomNormal",
    "RandomUniform",
    "RandomNormalLike",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
    "HannWindow",
    "HammingWindow",
    "BlackmanWindow",
};
/* Fused for inference only: training graphs do not have them. */
static const char *const inference_only[] = {"FusedConv", "FusedBatchNorm"};
/* Missing. */
static const char *const missing[] = {
    "OneHot", "Compress", "CenterCropPad", "Col2Im", "GridSample",      "AffineGrid",
    "RNN",    "Det",      "DFT",           "STFT",   "MelWeightMatrix",
};

#define LISTED(list, name) listed(list, sizeof list / sizeof *list, name)
static int listed(const char *const *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0) return 1;
    return 0;
}

static int is_backward(const char *name) {
    size_t length = strlen(name);
    const char *at = strstr(name, "Grad");
    return at && (size_t)(at - name) + 4 <= length;
}

static void every_operator_has_a_gradient_or_a_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < plim__op_count; i++) {
        const plim__op *op = &plim__ops[i];
        if (strcmp(op->domain, "") != 0 && strcmp(op->domain, PLIM__DOMAIN) != 0) continue; /* optimizers */
        if (op->flags & PLIM__OP_WRITES) continue; /* updates come after everything that is differentiated */
        int reason =
            LISTED(nothing_to_differentiate, op->name) + LISTED(inference_only, op->name) + LISTED(missing, op->name);
        bool backward =
            strcmp(op->domain, PLIM__DOMAIN) == 0 &&
            (is_backward(op->name) || strcmp(op->name, "MaxPoolTrain") == 0 || strcmp(op->name, "LayerNormTrain") == 0);
        if (!op->gradient && !reason && !backward) fail_msg("%s (opset %d) has no gradient", op->name, op->since);
        if (op->gradient && reason) fail_msg("%s has a gradient by now: take it off the list", op->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_operator_has_a_gradient_or_a_reason)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
