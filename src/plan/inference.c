/* Inference: clone, bind sizes, infer and fold, rewrite, lower, plan. */
#include "plan/inference.h"

#include <string.h>

#include "core/error.h"
#include "grad/base.h"
#include "grad/evaluation.h"
#include "grad/gradient.h"
#include "grad/training.h"
#include "graph/pass.h"
#include "plan/spill.h"
#include "program/stream.h"

/* The input becomes a constant with the given data. */
static plim_status fix_input(plim_graph *g, const plim_fixed_input *fixed, plim_error *error) {
    size_t at = 0;
    while (at < g->inputs.count && strcmp(g->values.items[g->inputs.items[at]].name, fixed->name) != 0) at++;
    if (at == g->inputs.count) return plim__fail(error, PLIM_NOT_FOUND, "the model has no input '%s'", fixed->name);
    plim__value *value = &g->values.items[g->inputs.items[at]];
    if (value->dtype != fixed->dtype)
        return plim__fail(error, PLIM_DTYPE, "input '%s' is %s, expected %s", fixed->name,
                          plim_dtype_name(fixed->dtype), plim_dtype_name(value->dtype));
    if (fixed->rank < 0 || fixed->rank > PLIM_MAX_RANK)
        return plim__fail(error, PLIM_SHAPE, "input '%s' has rank %d", fixed->name, fixed->rank);
    plim__shape shape = plim__shape_of(fixed->rank, fixed->dims);
    PLIM_TRY(plim__tensor_create(fixed->dtype, &shape, &value->tensor, error));
    memcpy(value->tensor->data, fixed->data, value->tensor->bytes);
    value->kind = PLIM__VALUE_CONSTANT;
    value->shape = shape;
    memmove(g->inputs.items + at, g->inputs.items + at + 1, (--g->inputs.count - at) * sizeof *g->inputs.items);
    return PLIM_OK;
}

/* A model of one size, or with inputs that are given once, tells nothing: its batches count by their samples. */
static plim_status weigh_own_loss(plim__inference *made, const plim_graph *model, const plim_session_options *options,
                                  plim__fold fold, plim_error *error) {
    if (options->loss->kind != PLIM_LOSS_MODEL || options->batch < 1 || options->fixed_count) return PLIM_OK;
    plim__training_options training = {.loss = options->loss,
                                       .batch = options->batch > 1 ? options->batch : 2,
                                       .sizes = options->sizes,
                                       .size_count = options->size_count,
                                       .fold = fold};
    return plim__evaluation_weigh(made->graph, model, &training, &made->evaluated, error);
}

/* A copy of the model, in the types that it is computed in: what is trained, evaluated or predicted from data is in float32
 * throughout. */
static plim_status copy_model(plim__inference *made, const plim_graph *model, bool as_trained, plim_error *error) {
    PLIM_TRY(plim_graph_status(model, error));
    made->graph = plim_graph_clone(model);
    if (!made->graph) return plim__fail_memory(error, "a copy of the graph", sizeof *made->graph);
    if (as_trained) return plim__graph_widen(made->graph, error);
    if (!made->widened) return PLIM_OK;
    PLIM_TRY(plim__graph_widen_inside(made->graph, error));
    return plim__graph_remark(
        made->graph, PLIM_REMARK_LOST,
        "it computes in float32: not all of its operators have a form in its own type; inputs and "
        "outputs are cast");
}

static plim_status prepare(plim__inference *made, const plim_graph *model, const plim_session_options *options,
                           plim__target target, const plim__shared *shared, plim_error *error) {
    PLIM_TRY(
        copy_model(made, model, options->loss || options->evaluation == PLIM_EVALUATION_AS_TRAINED || shared, error));
    if (shared) PLIM_TRY(plim__base_pack_like(made->graph, shared->program->graph, error));
    for (size_t i = 0; i < options->fixed_count; i++) PLIM_TRY(fix_input(made->graph, &options->fixed[i], error));
    PLIM_TRY(plim__bind_sizes(made->graph, options->sizes, options->size_count, options->batch, error));
    plim__fold fold = plim__pass_listed(options->without, "fold") ? NULL : target.device->fold;
    PLIM_TRY(plim__infer_graph(made->graph, fold, NULL, error));
    if (options->loss) {
        PLIM_TRY(plim__evaluation_append(made->graph, options->loss, options->scores, &made->evaluated, error));
        PLIM_TRY(weigh_own_loss(made, model, options, fold, error));
    }
    if (options->evaluation && !options->loss) PLIM_TRY(plim__evaluation_set(made->graph, error));
    made->evaluates = options->loss != NULL;
    PLIM_TRY(plim__gradient_operators_expand(made->graph, NULL, error));
    PLIM_TRY(plim__graph_prune(made->graph, error));
    PLIM_TRY(plim__passes_run(made->graph, options->without, shared != NULL, error));
    PLIM_TRY(plim__infer_graph(made->graph, fold, NULL, error)); /* new nodes need types; folding may find more */
    PLIM_TRY(plim__graph_prune(made->graph, error));
    PLIM_TRY(plim__program_create(made->graph, target, shared ? shared->program : NULL, &made->program, error));
    plim__plan_options planning = {0};
    if (shared) {
        planning = (plim__plan_options){.shared = shared->plan, .persistent_from = shared->persistent_from};
        PLIM_TRY(plim__program_stream_each(made->program, shared->program, error));
        plim__spill_mark_like(made->program, shared->program);
    }
    return plim__plan_create(made->program, &planning, &made->plan, error);
}

static void clear(plim__inference *made) {
    plim__plan_free(made->plan);
    plim__program_free(made->program);
    plim_graph_free(made->graph);
    *made = (plim__inference){0};
}

static plim_status make(const plim_graph *model, const plim_session_options *options, plim__target target,
                        const plim__shared *shared, plim__inference *made, plim_error *error) {
    plim_status status = prepare(made, model, options, target, shared, error);
    if (status != PLIM_UNSUPPORTED || options->loss || options->evaluation == PLIM_EVALUATION_AS_TRAINED || shared ||
        !plim__graph_is_narrow(model))
        return status;
    clear(made);
    made->widened = true;
    return prepare(made, model, options, target, shared, error);
}

plim_status plim__inference_create(const plim_graph *model, const plim_session_options *options, plim__target target,
                                   const plim__shared *shared, plim__inference **inference, plim_error *error) {
    *inference = plim__alloc_zero(1, sizeof **inference);
    if (!*inference) return plim__fail_memory(error, "a session", sizeof **inference);
    /* evaluation beside training is direct: its batch depends on the budget, and what it measures must not */
    target.winograd = !shared && !plim__pass_listed(options->without, "winograd");
    plim_status status = make(model, options, target, shared, *inference, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__inference_free(*inference);
    *inference = NULL;
    return status;
}

void plim__inference_free(plim__inference *made) {
    if (!made) return;
    clear(made);
    plim__free(made);
}
