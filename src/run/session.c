/* Sessions: prepared by src/plan/inference.h, then run in an arena of their own or in that of a trainer. */
#include "plimsoll/session.h"

#include <string.h>

#include "core/arguments.h"
#include "grad/training.h"
#include "kernel/processor.h"
#include "plan/peak.h"
#include "run/session_parts.h"

struct plim_session {
    plim__inference *made;
    bool owned;           /* `made` is freed with the session */
    plim__runner *runner; /* NULL: it only plans */
};

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

static plim_status start(plim_session *s, const plim_session_options *options, plim_error *error) {
    if (options->plan_only) return PLIM_OK;
    PLIM_TRY(plim__runner_create(s->made->program, s->made->plan, NULL, &s->runner, error));
    return options->measure ? plim__runner_measure(s->runner, error) : PLIM_OK;
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
    *session = plim__alloc_zero(1, sizeof **session);
    if (!*session) return plim__fail_memory(error, "a session", sizeof **session);
    (*session)->owned = true;
    plim_status status =
        plim__inference_create(model, &o, plim__on_processor(o.threads), NULL, &(*session)->made, error);
    if (status == PLIM_OK) status = start(*session, &o, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim_session_free(*session);
    *session = NULL;
    return status;
}

plim_status plim__session_start(plim__inference *made, plim__arena *arena, plim_session **session, plim_error *error) {
    *session = plim__alloc_zero(1, sizeof **session);
    if (!*session) return plim__fail_memory(error, "a session", sizeof **session);
    (*session)->made = made;
    plim_status status = plim__runner_create(made->program, made->plan, arena, &(*session)->runner, error);
    if (status == PLIM_OK) status = plim__runner_load((*session)->runner, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim_session_free(*session);
    *session = NULL;
    return status;
}

void plim_session_free(plim_session *s) {
    if (!s) return;
    plim__runner_free(s->runner);
    if (s->owned) plim__inference_free(s->made);
    plim__free(s);
}

const plim_graph *plim_session_graph(const plim_session *s) { return s ? s->made->graph : NULL; }
const plim__program *plim__session_program(const plim_session *s) { return s->made->program; }
const plim__plan *plim__session_plan(const plim_session *s) { return s->made->plan; }
plim__runner *plim__session_runner(plim_session *s) { return s->runner; }
const plim__evaluated *plim__session_evaluated(const plim_session *s) {
    return s->made->evaluates ? &s->made->evaluated : NULL;
}

static plim_value named(const plim_graph *g, const plim_value *values, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(g->values.items[values[i]].name, name) == 0) return values[i];
    return PLIM_NO_VALUE;
}

void *plim_session_input(plim_session *s, const char *name) {
    if (!s || !name) return NULL;
    plim_value v = named(s->made->graph, s->made->graph->inputs.items, s->made->graph->inputs.count, name);
    return v < 0 || !s->runner ? NULL : plim__runner_at(s->runner, s->made->program->values[v]);
}

const void *plim_session_output(const plim_session *s, const char *name) {
    if (!s || !name) return NULL;
    plim_value v = named(s->made->graph, s->made->graph->outputs.items, s->made->graph->outputs.count, name);
    return v < 0 || !s->runner ? NULL : plim__runner_at(s->runner, s->made->program->values[v]);
}

plim_status plim_session_run(plim_session *session, plim_error *error) {
    PLIM__NEED(session, error);
    if (!session->runner) return plim__fail(error, PLIM_INVALID, "this session only plans");
    return plim__runner_run(session->runner, error);
}

/* --- what it will use ----------------------------------------------------------------------------------------- */

void plim_session_get_stats(const plim_session *s, plim_session_stats *stats) {
    if (!stats) return;
    *stats = (plim_session_stats){0};
    if (!s) return;
    *stats = (plim_session_stats){.arena_bytes = s->made->plan->arena_bytes,
                                  .lower_bound_bytes = s->made->plan->lower_bound_bytes,
                                  .steps = s->made->program->steps.count,
                                  .nodes = plim_graph_node_count(s->made->graph)};
    for (size_t b = 0; b < s->made->program->buffers.count; b++) {
        if (!plim__peak_holds(s->made->program, s->made->plan, b)) continue;
        size_t bytes = s->made->program->buffers.items[b].bytes;
        switch (s->made->program->buffers.items[b].kind) {
        case PLIM__BUFFER_WEIGHT:
        case PLIM__BUFFER_STATE: stats->weight_bytes += bytes; break;
        case PLIM__BUFFER_INPUT: stats->input_bytes += bytes; break;
        case PLIM__BUFFER_WORKSPACE: stats->workspace_bytes += bytes; break;
        default: stats->activation_bytes += bytes;
        }
    }
    for (size_t i = 0; i < s->made->program->steps.count; i++)
        stats->flops += s->made->program->steps.items[i].cost.flops;
}

static const char *kind_name(plim__buffer_kind kind) {
    static const char *const names[] = {"weight", "state", "input", "activation", "gradient", "workspace"};
    return names[kind];
}

size_t plim_session_peak_tensors(const plim_session *s, plim_session_tensor *tensors, size_t most) {
    if (!s || !tensors || !most) return 0;
    if (most > s->made->program->buffers.count) most = s->made->program->buffers.count;
    int32_t *buffers = plim__alloc_array(most, sizeof *buffers);
    size_t count = buffers ? plim__peak_largest(s->made->program, s->made->plan, buffers, most) : 0;
    for (size_t i = 0; i < count; i++) {
        const plim__buffer *buffer = &s->made->program->buffers.items[buffers[i]];
        tensors[i] =
            (plim_session_tensor){.name = "", .op = "", .kind = kind_name(buffer->kind), .bytes = buffer->bytes};
        if (buffer->value < 0) continue;
        const plim__value *value = &s->made->graph->values.items[buffer->value];
        tensors[i].name = value->name;
        tensors[i].op = value->producer >= 0 ? s->made->graph->nodes.items[value->producer].op_name : "";
        tensors[i].dtype = value->dtype;
        tensors[i].rank = value->shape.rank;
        memcpy(tensors[i].dims, value->shape.dims, sizeof tensors[i].dims);
    }
    plim__free(buffers);
    return count;
}

size_t plim_session_step_count(const plim_session *s) { return s ? s->made->program->steps.count : 0; }

void plim_session_get_step(const plim_session *s, size_t index, plim_session_step *out) {
    if (!out) return;
    *out = (plim_session_step){.label = "", .node = ""};
    if (index >= plim_session_step_count(s)) return;
    const plim__step *step = &s->made->program->steps.items[index];
    *out = (plim_session_step){.label = step->label,
                               .node = step->node >= 0 ? s->made->graph->nodes.items[step->node].name : "",
                               .product = step->product,
                               .seconds = s->runner && s->runner->seconds ? s->runner->seconds[index] : 0,
                               .flops = step->cost.flops,
                               .bytes = step->cost.bytes};
}
