/* Sessions: clone, bind sizes, infer and fold, rewrite, lower, plan, reserve, load. */
#include "plimsoll/session.h"

#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "grad/evaluation.h"
#include "grad/gradient.h"
#include "grad/training.h"
#include "graph/pass.h"
#include "plan/peak.h"
#include "program/fold.h"
#include "run/session_parts.h"

struct plim_session {
    plim_graph *graph;
    plim__program *program;
    plim__plan *plan;
    plim__runner *runner;
    bool evaluates; /* it was made with a loss */
    plim__evaluated evaluated;
};

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

static plim_status prepare(plim_session *s, const plim_graph *model, const plim_session_options *options,
                           const plim__shared *shared, plim_error *error) {
    PLIM_TRY(plim_graph_status(model, error));
    s->graph = plim_graph_clone(model);
    if (!s->graph) return plim__fail_memory(error, "a copy of the graph", sizeof *s->graph);
    for (size_t i = 0; i < options->fixed_count; i++) PLIM_TRY(fix_input(s->graph, &options->fixed[i], error));
    PLIM_TRY(plim__bind_sizes(s->graph, options->sizes, options->size_count, options->batch, error));
    plim__fold fold = plim__pass_listed(options->without, "fold") ? NULL : plim__kernel_fold;
    PLIM_TRY(plim__infer_graph(s->graph, fold, NULL, error));
    if (options->loss) PLIM_TRY(plim__evaluation_append(s->graph, options->loss, &s->evaluated, error));
    s->evaluates = options->loss != NULL;
    PLIM_TRY(plim__gradient_operators_expand(s->graph, NULL, error));
    PLIM_TRY(plim__graph_prune(s->graph, error));
    PLIM_TRY(plim__passes_run(s->graph, options->without, shared != NULL, error));
    PLIM_TRY(plim__infer_graph(s->graph, fold, NULL, error)); /* new nodes need types; folding may find more */
    PLIM_TRY(plim__graph_prune(s->graph, error));
    PLIM_TRY(plim__program_create(s->graph, options->threads > 0 ? options->threads : 1,
                                  shared ? shared->program : NULL, &s->program, error));
    plim__plan_options planning = {0};
    if (shared) planning = (plim__plan_options){.shared = shared->plan, .kept_from = shared->kept_from};
    PLIM_TRY(plim__plan_create(s->program, &planning, &s->plan, error));
    if (options->plan_only || shared) return PLIM_OK;
    PLIM_TRY(plim__runner_create(s->program, s->plan, NULL, &s->runner, error));
    return options->measure ? plim__runner_measure(s->runner, error) : PLIM_OK;
}

plim_status plim__session_create_shared(const plim_graph *model, const plim_session_options *options,
                                        const plim__shared *shared, plim_session **session, plim_error *error) {
    static const plim_session_options defaults;
    *session = plim__alloc_zero(1, sizeof **session);
    if (!*session) return plim__fail_memory(error, "a session", sizeof **session);
    plim_status status = prepare(*session, model, options ? options : &defaults, shared, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim_session_free(*session);
    *session = NULL;
    return status;
}

plim_status plim__session_start(plim_session *s, plim__arena *arena, plim_error *error) {
    PLIM_TRY(plim__runner_create(s->program, s->plan, arena, &s->runner, error));
    return plim__runner_load(s->runner, error);
}

static plim_status check_options(const plim_session_options *o, plim_error *error) {
    PLIM_TRY(plim__threads_check(o->threads, error));
    if (o->batch < 0) return plim__fail(error, PLIM_INVALID, "a batch of %lld samples", (long long)o->batch);
    if (o->size_count && !o->sizes)
        return plim__fail(error, PLIM_INVALID, "there are %zu sizes, but sizes is NULL", o->size_count);
    if (o->fixed_count && !o->fixed)
        return plim__fail(error, PLIM_INVALID, "there are %zu fixed inputs, but fixed is NULL", o->fixed_count);
    for (size_t i = 0; i < o->size_count; i++)
        if (!o->sizes[i].symbol) return plim__fail(error, PLIM_INVALID, "sizes[%zu].symbol is NULL", i);
    for (size_t i = 0; i < o->fixed_count; i++)
        if (!o->fixed[i].name || !o->fixed[i].data || (o->fixed[i].rank > 0 && !o->fixed[i].dims))
            return plim__fail(error, PLIM_INVALID, "fixed[%zu] has no name, dims or data", i);
    return PLIM_OK;
}

plim_status plim_session_create(const plim_graph *model, const plim_session_options *options, plim_session **session,
                                plim_error *error) {
    plim_session_options o;
    plim_loss loss;
    PLIM__NEED(session, error);
    *session = NULL;
    PLIM__NEED(model, error);
    PLIM__OPTIONS(plim_session_options, o, options, error);
    PLIM_TRY(check_options(&o, error));
    if (o.loss) {
        PLIM_TRY(plim__loss_resolve(o.loss, &loss, error));
        o.loss = &loss;
    }
    return plim__session_create_shared(model, &o, NULL, session, error);
}

void plim_session_free(plim_session *s) {
    if (!s) return;
    plim__runner_free(s->runner);
    plim__plan_free(s->plan);
    plim__program_free(s->program);
    plim_graph_free(s->graph);
    plim__free(s);
}

const plim_graph *plim_session_graph(const plim_session *s) { return s->graph; }
const plim__program *plim__session_program(const plim_session *s) { return s->program; }
const plim__plan *plim__session_plan(const plim_session *s) { return s->plan; }
plim__runner *plim__session_runner(plim_session *s) { return s->runner; }
const plim__evaluated *plim__session_evaluated(const plim_session *s) { return s->evaluates ? &s->evaluated : NULL; }

static plim_value named(const plim_graph *g, const plim_value *values, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(g->values.items[values[i]].name, name) == 0) return values[i];
    return PLIM_NO_VALUE;
}

void *plim_session_input(plim_session *s, const char *name) {
    plim_value v = named(s->graph, s->graph->inputs.items, s->graph->inputs.count, name);
    return v < 0 || !s->runner ? NULL : plim__runner_at(s->runner, s->program->values[v]);
}

const void *plim_session_output(const plim_session *s, const char *name) {
    plim_value v = named(s->graph, s->graph->outputs.items, s->graph->outputs.count, name);
    return v < 0 || !s->runner ? NULL : plim__runner_at(s->runner, s->program->values[v]);
}

plim_status plim_session_run(plim_session *s, plim_error *error) {
    if (!s->runner) return plim__fail(error, PLIM_INVALID, "this session only plans");
    return plim__runner_run(s->runner, error);
}

/* --- what it will use ----------------------------------------------------------------------------------------- */

void plim_session_get_stats(const plim_session *s, plim_session_stats *stats) {
    *stats = (plim_session_stats){.arena_bytes = s->plan->arena_bytes,
                                  .lower_bound_bytes = s->plan->lower_bound_bytes,
                                  .steps = s->program->steps.count,
                                  .nodes = plim_graph_node_count(s->graph)};
    for (size_t b = 0; b < s->program->buffers.count; b++) {
        if (!plim__peak_holds(s->program, s->plan, b)) continue;
        size_t bytes = s->program->buffers.items[b].bytes;
        switch (s->program->buffers.items[b].kind) {
        case PLIM__BUFFER_WEIGHT:
        case PLIM__BUFFER_STATE: stats->weight_bytes += bytes; break;
        case PLIM__BUFFER_INPUT: stats->input_bytes += bytes; break;
        case PLIM__BUFFER_WORKSPACE: stats->workspace_bytes += bytes; break;
        default: stats->activation_bytes += bytes;
        }
    }
    for (size_t i = 0; i < s->program->steps.count; i++) stats->flops += s->program->steps.items[i].cost.flops;
}

static const char *kind_name(plim__buffer_kind kind) {
    static const char *const names[] = {"weight", "state", "input", "activation", "gradient", "workspace"};
    return names[kind];
}

size_t plim_session_peak_tensors(const plim_session *s, plim_session_tensor *tensors, size_t most) {
    int32_t *buffers = plim__alloc_array(most, sizeof *buffers);
    size_t count = buffers ? plim__peak_largest(s->program, s->plan, buffers, most) : 0;
    for (size_t i = 0; i < count; i++) {
        const plim__buffer *buffer = &s->program->buffers.items[buffers[i]];
        tensors[i] =
            (plim_session_tensor){.name = "", .op = "", .kind = kind_name(buffer->kind), .bytes = buffer->bytes};
        if (buffer->value < 0) continue;
        const plim__value *value = &s->graph->values.items[buffer->value];
        tensors[i].name = value->name;
        tensors[i].op = value->producer >= 0 ? s->graph->nodes.items[value->producer].op_name : "";
        tensors[i].dtype = value->dtype;
        tensors[i].rank = value->shape.rank;
        memcpy(tensors[i].dims, value->shape.dims, sizeof tensors[i].dims);
    }
    plim__free(buffers);
    return count;
}

size_t plim_session_step_count(const plim_session *s) { return s->program->steps.count; }

void plim_session_get_step(const plim_session *s, size_t index, plim_session_step *out) {
    const plim__step *step = &s->program->steps.items[index];
    *out = (plim_session_step){.label = step->label,
                               .node = step->node >= 0 ? s->graph->nodes.items[step->node].name : "",
                               .seconds = s->runner && s->runner->seconds ? s->runner->seconds[index] : 0,
                               .flops = step->cost.flops,
                               .bytes = step->cost.bytes};
}
