/* The cases of every operator with a gradient, with the range of numbers and the tolerance that suit them. */
#ifndef PLIM_TEST_GRAD_CASES_TABLE_H
#define PLIM_TEST_GRAD_CASES_TABLE_H

#include "cases.h"
#include "cases_network.h"
#include "graph/graph.h"
#include "ops/op.h"

static const struct gradient_case cases[] = {
    {"Abs Neg Identity Sign Shrink Relu Elu Selu Celu Softplus Softsign ThresholdedRelu HardSwish HardSigmoid Erf Sin "
     "Cos "
     "Tan Atan Sinh Cosh Tanh Asinh Sigmoid Exp Mish Swish plimsoll::Swish",
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
    {"plimsoll::PackedMatMul", packed_product, 2, -1, 1, 0, 2e-3},
    {"plimsoll::RmsNorm", rms_norm, 2, -1, 1, 0, 2e-3},
    {"plimsoll::Attention", attention, 4, -1, 1, 0, 2e-3},
    {"SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss plimsoll::CrossEntropy", class_loss, 4, -1, 1, 0, 2e-3},
    {"plimsoll::ElementLoss", element_loss, 12, -1, 1, 0.03, 3e-3},
    {"RNN GRU LSTM plimsoll::TableRNN plimsoll::TableGRU plimsoll::TableLSTM", recurrent, 14, -0.6, 0.6, 5e-3, 1e-2},
    {"plimsoll::LinearCrossEntropy", linear_loss, 2, -1, 1, 0, 2e-3},
    {"Dropout", one_input, 1, -1, 1, 0, 1e-3},
    {"Det", determinant, 2, -1, 1, 0, 1e-3},
    {"GridSample", grid_sample, 19, -1.4, 1.4, 1e-4, 1e-2},
    {"AffineGrid", affine_grid, 4, -1, 1, 0, 1e-3},
    {"Col2Im", col2im, 2, -1, 1, 0, 1e-3},
};

/* The opset that its cases are of: 20, or the newest that has the operator. */
static int case_opset(const char *name) {
    int found = 0;
    for (size_t i = 0; i < plim__op_count; i++)
        if (!*plim__ops[i].domain && strcmp(plim__ops[i].name, name) == 0 && plim__ops[i].until > found)
            found = plim__ops[i].until;
    for (size_t i = 0; i < plim__op_count; i++)
        if (!*plim__ops[i].domain && strcmp(plim__ops[i].name, name) == 0 && plim__ops[i].since <= 20 && found > 20)
            return 20;
    return found;
}

#endif
