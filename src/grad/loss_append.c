/* Puts the loss behind a model: finds what it applies to, checks that the two fit, and adds one fused operator. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "grad/training.h"
#include "ops/op.h"

static const char *const names[] = {"cross_entropy", "bce_with_logits", "mse", "l1", "huber", "model"};
#define KINDS (sizeof names / sizeof *names)

plim_loss plim_loss_default(plim_loss_kind kind) {
    return (plim_loss){.kind = kind,
                       .ignores = kind == PLIM_LOSS_CROSS_ENTROPY,
                       .ignore_index = -100,
                       .label_smoothing = 0,
                       .delta = 1};
}

plim_status plim__loss_resolve(const plim_loss *given, plim_loss *loss, plim_error *error) {
    *loss = *given;
    if ((size_t)loss->kind >= KINDS) return plim__fail(error, PLIM_INVALID, "there is no loss %d", (int)loss->kind);
    for (size_t i = 0; i < sizeof loss->reserved / sizeof *loss->reserved; i++)
        if (loss->reserved[i])
            return plim__fail(error, PLIM_UNSUPPORTED, "the loss sets a field that this version does not have");
    if (loss->class_count && !loss->class_weights)
        return plim__fail(error, PLIM_INVALID, "the loss has %zu classes, but class_weights is NULL",
                          loss->class_count);
    bool empty = !loss->output && !loss->counts && !loss->sample_weights && !loss->ignores && !loss->ignore_index &&
                 loss->label_smoothing == 0 && !loss->class_weights && loss->delta == 0;
    if (empty) *loss = plim_loss_default(loss->kind);
    if (loss->sample_weights < 0)
        return plim__fail(error, PLIM_INVALID, "sample weights of %lld axes", (long long)loss->sample_weights);
    return PLIM_OK;
}

int plim_loss_find(const char *name, plim_loss_kind *kind) {
    for (size_t i = 0; name && i < KINDS; i++)
        if (strcmp(names[i], name) == 0) {
            if (kind) *kind = (plim_loss_kind)i;
            return 1;
        }
    return 0;
}

const char *plim_loss_name(plim_loss_kind kind) { return (size_t)kind < KINDS ? names[kind] : "?"; }

/* --- building ------------------------------------------------------------------------------------------------- */

/* A node of ours with outputs that have no types yet. -1 after a failure, which the graph remembers. */
static int32_t begin(plim_graph *g, const char *op, const plim_value *inputs, size_t count,
                     const char *const *output_names, size_t outputs) {
    int32_t node = plim__graph_add_node(g, PLIM__DOMAIN, op, "plimsoll.loss", 1);
    for (size_t i = 0; i < count; i++) plim__node_add_input(g, node, inputs[i]);
    for (size_t i = 0; node >= 0 && i < outputs; i++) {
        bool free = plim__map_get(&g->names, output_names[i], -1) < 0;
        plim__node_add_output(g, node,
                              plim__graph_add_value(g, free ? output_names[i] : NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE,
                                                    &PLIM_SHAPE_UNKNOWN));
    }
    return g->failure.status == PLIM_OK ? node : -1;
}

static plim_status infer(plim_graph *g, int32_t n, plim_error *error) {
    PLIM_TRY(plim_graph_status(g, error));
    plim__node *node = &g->nodes.items[n];
    node->op = plim__op_find(node->domain, node->op_name, node->version);
    if (!node->op) return plim__fail(error, PLIM_INTERNAL, "operator %s does not exist", node->op_name);
    plim__infer ctx = {g, node, error};
    return node->op->infer(&ctx);
}

static plim_value number(plim_graph *g, double value) {
    float single = (float)value;
    return plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &single);
}

static plim_value add_target(plim_graph *g, plim_dtype dtype, const plim__shape *shape) {
    return plim_graph_input(g, "plimsoll.target", dtype, shape->rank, shape->dims);
}

/* Weights that come with the samples, for the first axes of the targets; PLIM_NO_VALUE: none. Before the target, which is
 * the last input. */
static plim_status add_weights(plim_graph *g, const plim_loss *loss, const plim__shape *targets, plim_value *weights,
                               plim_error *error) {
    char text[PLIM_SHAPE_TEXT];
    *weights = PLIM_NO_VALUE;
    if (loss->sample_weights > targets->rank)
        return plim__fail(error, PLIM_SHAPE, "the samples' weights have %lld axes, and the targets are %s",
                          (long long)loss->sample_weights, plim__shape_text(targets, g, text));
    if (loss->sample_weights > 0)
        *weights = plim_graph_input(g, PLIM_SAMPLE_WEIGHTS, PLIM_F32, (int)loss->sample_weights, targets->dims);
    return plim_graph_status(g, error);
}

/* --- what it applies to --------------------------------------------------------------------------------------- */

static bool is_scalar(const plim_graph *g, plim_value v) {
    return g->values.items[v].dtype == PLIM_F32 && plim__shape_elements(&g->values.items[v].shape) == 1;
}

/* The value that the loss names, or the first output (the first single number, for a loss that is there already). */
static plim_status find_output(const plim_graph *g, const plim_loss *loss, plim_value *output, plim_error *error) {
    *output = PLIM_NO_VALUE;
    if (loss->output) {
        *output = plim_graph_find(g, loss->output);
        if (*output < 0)
            return plim__fail(error, PLIM_INVALID, "the model has no output '%.100s' for the loss", loss->output);
        return PLIM_OK;
    }
    for (size_t i = 0; i < g->outputs.count && *output < 0; i++)
        if (loss->kind != PLIM_LOSS_MODEL || is_scalar(g, g->outputs.items[i])) *output = g->outputs.items[i];
    if (*output >= 0) return PLIM_OK;
    return g->outputs.count == 0
               ? plim__fail(error, PLIM_INVALID, "the model has no output that a loss could apply to")
               : plim__fail(error, PLIM_INVALID, "no output of the model is one float32 number, as a loss is");
}

static plim_status misfit(const plim_graph *g, const plim_loss *loss, plim_value v, const char *why,
                          plim_error *error) {
    char text[PLIM_SHAPE_TEXT];
    const plim__value *value = &g->values.items[v];
    return plim__fail(error, PLIM_INVALID, "loss %s does not fit the output '%s' (%s%s): %s",
                      plim_loss_name(loss->kind), value->name, plim_dtype_name(value->dtype),
                      plim__shape_text(&value->shape, g, text), why);
}

/* The node that makes a value, looking through Identity. */
static const plim__node *maker_of(const plim_graph *g, plim_value v) {
    for (;;) {
        int32_t n = g->values.items[v].producer;
        if (n < 0) return NULL;
        const plim__node *node = &g->nodes.items[n];
        if (*node->domain || strcmp(node->op_name, "Identity") != 0) return node;
        v = node->inputs.items[0];
    }
}

static bool is_op(const plim__node *node, const char *name) {
    return node && !*node->domain && strcmp(node->op_name, name) == 0;
}

/* Which targets count: PLIM_NO_VALUE where all do. */
static plim_status find_counts(const plim_graph *g, const plim_loss *loss, const plim__shape *targets,
                               plim_value *counts, plim_error *error) {
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    *counts = PLIM_NO_VALUE;
    if (!loss->counts) return PLIM_OK;
    *counts = plim_graph_find(g, loss->counts);
    if (loss->class_weights)
        return plim__fail(error, PLIM_INVALID,
                          "class weights cannot be combined with '%.100s', which says which targets "
                          "count",
                          loss->counts);
    if (*counts < 0)
        return plim__fail(error, PLIM_INVALID, "the model has no output '%.100s' that says which targets count",
                          loss->counts);
    const plim__value *value = &g->values.items[*counts];
    bool fits = value->dtype == PLIM_F32 && value->shape.rank <= targets->rank;
    for (int i = 0; fits && i < value->shape.rank; i++) fits = value->shape.dims[i] == targets->dims[i];
    if (fits) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID, "'%s' (%s%s) cannot say which of the targets %s count", value->name,
                      plim_dtype_name(value->dtype), plim__shape_text(&value->shape, g, a),
                      plim__shape_text(targets, g, b));
}

/* An operator of ONNX at the opset that this program was written for, with its type. */
static plim_value apply(plim_graph *g, const char *op, const plim_value *inputs, size_t count, plim_error *error) {
    if (g->failure.status != PLIM_OK) return PLIM_NO_VALUE;
    int32_t n = plim__graph_add_node(g, "", op, "plimsoll.weight", PLIM__DEFAULT_OPSET);
    for (size_t i = 0; i < count; i++) plim__node_add_input(g, n, inputs[i]);
    plim_value out = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
    plim__node_add_output(g, n, out);
    if (strcmp(op, "ReduceSum") == 0) plim_graph_set_int(g, n, "keepdims", 0);
    return infer(g, n, error) == PLIM_OK ? out : PLIM_NO_VALUE;
}

static plim_value label(plim_graph *g, plim_dtype dtype, int64_t value) {
    int32_t narrow = (int32_t)value;
    return plim_graph_constant(g, NULL, dtype, 0, NULL, dtype == PLIM_I32 ? (void *)&narrow : (void *)&value);
}

/* --- cross entropy -------------------------------------------------------------------------------------------- */

/* Whether a softmax runs over this axis alone. Before opset 13 it ran over all axes from its own on. */
static bool is_over(const plim_graph *g, const plim__node *softmax, int class_axis) {
    int rank = g->values.items[softmax->inputs.items[0]].shape.rank, axis;
    if (!plim__axis_normalize(plim__node_int(softmax, "axis", softmax->version < 13 ? 1 : -1), rank, &axis))
        return false;
    return axis == class_axis && (softmax->version >= 13 || axis == rank - 1);
}

/* The logarithm of a softmax is left out: cross entropy takes it anyway, and twice is the same as once. */
static plim_status find_scores(const plim_graph *g, const plim_loss *loss, int axis, plim_value *scores,
                               plim_error *error) {
    const plim__node *maker = maker_of(g, *scores);
    if (is_op(maker, "LogSoftmax") && is_over(g, maker, axis)) *scores = maker->inputs.items[0];
    if (!is_op(maker, "Softmax") || !is_over(g, maker, axis)) return PLIM_OK;
    return plim__fail(
        error, PLIM_INVALID,
        "loss %s does not fit the output '%s': it holds probabilities (Softmax); let the loss apply to the "
        "scores before it, '%s'",
        plim_loss_name(loss->kind), g->values.items[*scores].name, g->values.items[maker->inputs.items[0]].name);
}

static plim_status check_weights(const plim_loss *loss, int64_t classes, plim_error *error) {
    if (!(loss->label_smoothing >= 0 && loss->label_smoothing <= 1))
        return plim__fail(error, PLIM_INVALID, "label smoothing is %g, expected 0 to 1", loss->label_smoothing);
    if (!loss->class_weights) return PLIM_OK;
    if (loss->class_count > INT64_MAX || (int64_t)loss->class_count != classes)
        return plim__fail(error, PLIM_INVALID, "%zu class weights for the model's %lld classes", loss->class_count,
                          (long long)classes);
    for (size_t i = 0; i < loss->class_count; i++)
        if (!(loss->class_weights[i] >= 0 && isfinite(loss->class_weights[i])))
            return plim__fail(error, PLIM_INVALID, "the weight of class %zu is %g", i, (double)loss->class_weights[i]);
    return PLIM_OK;
}

/* Targets that do not count become the class that is ignored. */
static plim_status mark_targets(plim_graph *g, plim_value counts, int64_t ignored, plim_value *targets,
                                plim_error *error) {
    const plim__shape *target = &g->values.items[*targets].shape;
    int64_t axes[PLIM_MAX_RANK];
    size_t missing = 0;
    for (int i = g->values.items[counts].shape.rank; i < target->rank; i++) axes[missing++] = i;
    if (missing) {
        plim_value last = plim_graph_constant(g, NULL, PLIM_I64, 1, (const int64_t[]){(int64_t)missing}, axes);
        counts = apply(g, "Unsqueeze", (plim_value[]){counts, last}, 2, error);
    }
    plim_value never = apply(g, "Equal", (plim_value[]){counts, number(g, 0)}, 2, error);
    *targets = apply(g, "Where", (plim_value[]){never, label(g, PLIM_I64, ignored), *targets}, 3, error);
    return plim_graph_status(g, error);
}

static plim_status append_cross_entropy(plim_graph *g, const plim_loss *loss, plim_value scores,
                                        plim__loss_parts *parts, plim_error *error) {
    static const char *const outputs[] = {"plimsoll.loss", "plimsoll.weight", "plimsoll.correct"};
    plim__shape x = g->values.items[scores].shape, target = {.rank = x.rank - 1};
    if (g->values.items[scores].dtype != PLIM_F32) return misfit(g, loss, scores, "scores must be float32", error);
    if (x.rank < 2) return misfit(g, loss, scores, "scores are (N, C), (N, T, C) or (N, C, H, W)", error);
    int axis = x.rank == 3 ? 2 : 1; /* tokens have their classes last, images before their positions */
    if (x.dims[axis] < 1) return misfit(g, loss, scores, "there are no classes", error);
    if (x.dims[axis] > INT32_MAX) return misfit(g, loss, scores, "there are too many classes", error);
    for (int i = 0; i < target.rank; i++) target.dims[i] = x.dims[i < axis ? i : i + 1];
    PLIM_TRY(find_scores(g, loss, axis, &scores, error));
    PLIM_TRY(check_weights(loss, x.dims[axis], error));
    plim_value counts;
    PLIM_TRY(find_counts(g, loss, &target, &counts, error));
    int64_t ignored = loss->ignores ? loss->ignore_index : PLIM__NO_CLASS;
    plim_value weights;
    PLIM_TRY(add_weights(g, loss, &target, &weights, error));
    plim_value given = add_target(g, PLIM_I64, &target), inputs[4] = {scores, given, PLIM_NO_VALUE, weights};
    if (counts >= 0) PLIM_TRY(mark_targets(g, counts, ignored, &inputs[1], error));
    if (loss->class_weights) inputs[2] = plim_graph_constant(g, NULL, PLIM_F32, 1, &x.dims[axis], loss->class_weights);
    int32_t n = begin(g, "CrossEntropy", inputs, weights >= 0 ? 4 : loss->class_weights ? 3 : 2, outputs, 3);
    plim_graph_set_int(g, n, "axis", axis);
    if (loss->ignores || counts >= 0) plim_graph_set_int(g, n, "ignore_index", ignored);
    if (loss->label_smoothing > 0) plim_graph_set_float(g, n, "label_smoothing", (float)loss->label_smoothing);
    PLIM_TRY(infer(g, n, error));
    const plim_value *out = g->nodes.items[n].outputs.items;
    *parts = (plim__loss_parts){.target = given, .loss = out[0], .weight = out[1], .correct = out[2]};
    return PLIM_OK;
}

/* --- losses of single elements -------------------------------------------------------------------------------- */

static plim_status append_elements(plim_graph *g, const plim_loss *loss, plim_value scores, plim__loss_parts *parts,
                                   plim_error *error) {
    static const char *const outputs[] = {"plimsoll.loss", "plimsoll.weight"};
    plim__shape shape = g->values.items[scores].shape;
    const plim__node *maker = maker_of(g, scores);
    if (g->values.items[scores].dtype != PLIM_F32) return misfit(g, loss, scores, "it must be float32", error);
    if (plim__shape_elements(&shape) < 1) return misfit(g, loss, scores, "it is empty", error);
    if (loss->kind == PLIM_LOSS_HUBER && !(loss->delta > 0 && isfinite(loss->delta)))
        return plim__fail(error, PLIM_INVALID, "the delta of the huber loss is %g, expected more than 0", loss->delta);
    if (loss->kind == PLIM_LOSS_BCE_WITH_LOGITS && is_op(maker, "Sigmoid"))
        return plim__fail(
            error, PLIM_INVALID,
            "loss %s does not fit the output '%s': it holds probabilities (Sigmoid); let the loss apply to "
            "the scores before it, '%s'",
            plim_loss_name(loss->kind), g->values.items[scores].name, g->values.items[maker->inputs.items[0]].name);
    plim_value counts, weights;
    PLIM_TRY(find_counts(g, loss, &shape, &counts, error));
    PLIM_TRY(add_weights(g, loss, &shape, &weights, error));
    plim_value inputs[] = {scores, add_target(g, PLIM_F32, &shape), PLIM_NO_VALUE, counts, weights};
    size_t count = weights >= 0 ? 5 : counts >= 0 ? 4 : 2;
    int32_t n = begin(g, "ElementLoss", inputs, count, outputs, counts >= 0 ? 2 : 1);
    plim_graph_set_string(g, n, "kind", plim_loss_name(loss->kind));
    plim_graph_set_float(g, n, "delta", (float)loss->delta);
    PLIM_TRY(infer(g, n, error));
    *parts = (plim__loss_parts){.target = inputs[1], .loss = plim_graph_node_output(g, n, 0), .correct = PLIM_NO_VALUE};
    parts->weight = counts >= 0 ? plim_graph_node_output(g, n, 1) : number(g, (double)plim__shape_elements(&shape));
    return plim_graph_status(g, error);
}

/* --- a loss that the model has itself ------------------------------------------------------------------------- */

static plim_status append_model(plim_graph *g, const plim_loss *loss, plim_value output, plim__loss_parts *parts,
                                plim_error *error) {
    if (!is_scalar(g, output)) return misfit(g, loss, output, "a loss is one float32 number", error);
    if (loss->counts) return misfit(g, loss, output, "which targets count is its own affair", error);
    if (loss->sample_weights) return misfit(g, loss, output, "the weights of samples are its own affair", error);
    const plim__shape *first = g->inputs.count ? &g->values.items[g->inputs.items[0]].shape : NULL;
    double batch = first && first->rank > 0 ? (double)first->dims[0] : 1;
    *parts = (plim__loss_parts){.target = PLIM_NO_VALUE, .loss = output, .correct = PLIM_NO_VALUE};
    parts->weight = number(g, batch);
    return plim_graph_status(g, error);
}

plim_status plim__loss_append(plim_graph *g, const plim_loss *loss, plim__loss_parts *parts, plim_error *error) {
    plim_value output;
    *parts = (plim__loss_parts){PLIM_NO_VALUE, PLIM_NO_VALUE, PLIM_NO_VALUE, PLIM_NO_VALUE};
    PLIM_TRY(plim_graph_status(g, error));
    PLIM_TRY(find_output(g, loss, &output, error));
    switch (loss->kind) {
    case PLIM_LOSS_CROSS_ENTROPY: return append_cross_entropy(g, loss, output, parts, error);
    case PLIM_LOSS_MODEL: return append_model(g, loss, output, parts, error);
    case PLIM_LOSS_BCE_WITH_LOGITS:
    case PLIM_LOSS_MSE:
    case PLIM_LOSS_L1:
    case PLIM_LOSS_HUBER: return append_elements(g, loss, output, parts, error);
    }
    return plim__fail(error, PLIM_INVALID, "there is no loss number %d", (int)loss->kind);
}

/* --- the weight of a loss of the model's own ------------------------------------------------------------------ */

/* Σ over targets of (ignored ? 0 : w[target]). */
plim_status plim__loss_weight(plim_graph *g, plim_value loss, plim_value *weight, plim_error *error) {
    const plim__node *node = &g->nodes.items[g->values.items[loss].producer];
    plim_value targets = plim__node_in(node, 1), classes = plim__node_in(node, 2), each = number(g, 1);
    bool ignores = plim__node_attribute(node, "ignore_index") != NULL;
    int64_t ignored = plim__node_int(node, "ignore_index", 0);
    plim_dtype dtype = g->values.items[targets].dtype;
    plim_value is_ignored = PLIM_NO_VALUE;
    if (ignores) is_ignored = apply(g, "Equal", (plim_value[]){targets, label(g, dtype, ignored)}, 2, error);
    if (classes >= 0) {
        plim_value known = targets;
        if (ignores) known = apply(g, "Where", (plim_value[]){is_ignored, label(g, dtype, 0), targets}, 3, error);
        each = apply(g, "Gather", (plim_value[]){classes, known}, 2, error);
    }
    if (ignores) each = apply(g, "Where", (plim_value[]){is_ignored, number(g, 0), each}, 3, error);
    *weight = apply(g, "ReduceSum", &each, 1, error);
    return *weight >= 0 ? plim_graph_status(g, error) : plim__fail(error, PLIM_INTERNAL, "a loss cannot be weighed");
}

int64_t plim__loss_classes(const plim_graph *g, plim_value target) {
    if (target < 0 || g->values.items[target].dtype != PLIM_I64) return 0;
    int64_t targets = plim__shape_elements(&g->values.items[target].shape);
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (!node->dead && is_op(node, "Where") && plim__node_in(node, 2) == target)
            target = plim__node_out(node, 0); /* those that do not count are marked */
        else if (!node->dead && plim__node_in(node, 1) == target && targets > 0)
            return plim__shape_elements(&g->values.items[plim__node_in(node, 0)].shape) / targets;
    }
    return 0;
}
