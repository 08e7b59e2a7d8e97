/* From buffers, steps and offsets to lives and marks. */
#include "report/plan_timeline.h"

#include <string.h>

#include "core/error.h"
#include "core/str.h"

static plim__memory_kind kind_of(const plim_graph *g, const plim__buffer *buffer) {
    if (buffer->value >= 0 && g->values.items[buffer->value].is_gradient) return PLIM__KIND_GRADIENT;
    switch (buffer->kind) {
    case PLIM__BUFFER_WEIGHT: return PLIM__KIND_WEIGHT;
    case PLIM__BUFFER_STATE: return PLIM__KIND_OPTIMIZER;
    case PLIM__BUFFER_INPUT: return PLIM__KIND_DATA;
    case PLIM__BUFFER_ACTIVATION: return PLIM__KIND_ACTIVATION;
    case PLIM__BUFFER_GRADIENT: return PLIM__KIND_GRADIENT;
    case PLIM__BUFFER_WORKSPACE: return PLIM__KIND_WORKSPACE;
    }
    return PLIM__KIND_OTHER;
}

/* A schedule gives what is done again buffers of its own, behind those of the program that it was made from. */
static bool is_again(const plim__program *program, const plim__step *step) {
    for (int32_t i = step->in_count; program->original && i < step->in_count + step->out_count; i++)
        if (step->operands[i].buffer >= (int32_t)program->original->buffers.count) return true;
    return false;
}

static plim__memory_phase phase_of(const plim__program *program, const plim__step *step) {
    if (is_again(program, step)) return PLIM__PHASE_RECOMPUTE;
    return step->phase == PLIM__UPDATE     ? PLIM__PHASE_UPDATE
           : step->phase == PLIM__BACKWARD ? PLIM__PHASE_BACKWARD
                                           : PLIM__PHASE_FORWARD;
}

/* "layer1.conv2, ConvGradInput": in the backward pass the layer alone would be that of the forward pass. */
static const char *tell_step(const plim_graph *g, const plim__program *program, const plim__step *step,
                             plim__str *into) {
    const char *name = step->node >= 0 ? g->nodes.items[step->node].name : NULL;
    bool again = is_again(program, step), forward = step->phase == PLIM__FORWARD;
    plim__str_clear(into);
    if (name && *name) plim__str_add(into, name);
    if (!into->length || !forward) plim__str_addf(into, "%s%s", into->length ? ", " : "", step->label);
    if (again) plim__str_add(into, " (again)");
    return plim__str_text(into);
}

/* Values without a name of their own have a letter and a number; what made them tells more. */
static bool is_made_up(const char *name) {
    return name[0] == 'v' && name[1] && !name[1 + strspn(name + 1, "0123456789")];
}

static const char *name_of_step(const plim_graph *g, const plim__step *step) {
    const char *name = step->node >= 0 ? g->nodes.items[step->node].name : NULL;
    return name && *name ? name : step->label;
}

/* What is known about a buffer: from the value it holds, and from the step that uses it first: a weight belongs to
 * that layer, and scratch has no other name. */
static void describe(const plim_graph *g, const plim__program *program, size_t index, int32_t user,
                     plim__timeline_buffer *out, plim__str *made_up) {
    const plim__buffer *buffer = &program->buffers.items[index];
    out->kind = kind_of(g, buffer);
    if (user >= 0 && !buffer->persistent) out->phase = phase_of(program, &program->steps.items[user]);
    if (buffer->value >= 0) {
        const plim__value *value = &g->values.items[buffer->value];
        out->name = value->name;
        out->dtype = value->dtype;
        out->dims = value->shape.dims;
        out->rank = value->shape.rank > 0 ? (size_t)value->shape.rank : 0;
        if (value->producer >= 0) {
            out->layer = g->nodes.items[value->producer].name;
            out->operation = g->nodes.items[value->producer].op_name;
            if (!is_made_up(value->name) || !*out->layer) return;
            plim__str_clear(made_up);
            plim__str_addf(made_up, "%s, %s", out->layer, out->operation);
            if (!made_up->failed) out->name = plim__str_text(made_up);
            return;
        }
    }
    if (user < 0) return;
    const plim__step *step = &program->steps.items[user];
    out->layer = name_of_step(g, step);
    out->operation = step->label;
    if (!out->name) out->name = out->layer;
}

/* The first step that touches each buffer; -1 when none does. */
static int32_t *find_users(const plim__program *program) {
    int32_t *users = plim__alloc_array(program->buffers.count, sizeof *users);
    for (size_t b = 0; users && b < program->buffers.count; b++) users[b] = -1;
    for (size_t s = program->steps.count; users && s-- > 0;) {
        const plim__step *step = &program->steps.items[s];
        for (int32_t i = 0; i < step->in_count + step->out_count; i++)
            if (step->operands[i].buffer >= 0) users[step->operands[i].buffer] = (int32_t)s;
        if (step->scratch >= 0) users[step->scratch] = (int32_t)s;
    }
    return users;
}

static plim_status add_lives(const plim_graph *g, const plim__program *program, const plim__plan *plan,
                             const int32_t *users, plim__timeline *timeline, plim_error *error) {
    plim__str made_up = {0};
    plim_status status = PLIM_OK;
    for (size_t b = 0; status == PLIM_OK && b < plan->buffer_count; b++) {
        const plim__buffer *buffer = &program->buffers.items[b];
        bool kept = buffer->persistent;
        /* a buffer that is written over another one has no memory of its own */
        if (plan->offsets[b] < 0 || plan->home[b] != (int32_t)b || buffer->bytes == 0) continue;
        if (!kept && plan->lives[b].born > plan->lives[b].died) continue;
        plim__timeline_buffer out = {
            .bytes = (buffer->bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT,
            .offset = (uint64_t)plan->offsets[b],
            .born = kept ? 0 : (uint32_t)plan->lives[b].born,
            .died = kept ? PLIM__NEVER : (uint32_t)plan->lives[b].died + 1,
        };
        describe(g, program, b, users[b], &out, &made_up);
        status = plim__timeline_add(timeline, &out, error);
    }
    plim__str_free(&made_up);
    return status;
}

/* Where each phase begins. An update within the backward pass is part of it; what is done again stands out. */
static plim_status add_phases(const plim__program *program, plim__timeline *timeline, plim_error *error) {
    size_t count = program->steps.count, last = 0; /* behind the last step of the backward pass */
    for (size_t s = 0; s < count; s++)
        if (program->steps.items[s].phase == PLIM__BACKWARD) last = s + 1;
    plim__memory_phase current = PLIM__PHASE_NONE;
    for (size_t s = 0; s < count; s++) {
        plim__memory_phase phase = phase_of(program, &program->steps.items[s]);
        if (phase == PLIM__PHASE_UPDATE && s < last) phase = PLIM__PHASE_BACKWARD;
        if (phase != current)
            PLIM_TRY(plim__timeline_add_mark(timeline, PLIM__MARK_PHASE, (uint32_t)s, phase, NULL, error));
        current = phase;
    }
    return PLIM_OK;
}

static plim_status add_operators(const plim_graph *g, const plim__program *program, plim__timeline *timeline,
                                 plim_error *error) {
    plim__str text = {0};
    plim_status status = PLIM_OK;
    for (uint32_t s = 0; status == PLIM_OK && s < program->steps.count; s++)
        status = plim__timeline_add_mark(timeline, PLIM__MARK_OPERATOR, s, 0,
                                         tell_step(g, program, &program->steps.items[s], &text), error);
    plim__str_free(&text);
    return status;
}

plim_status plim__plan_timeline(const plim_graph *g, const plim__program *program, const plim__plan *plan,
                                plim__timeline *timeline, plim_error *error) {
    timeline->source = PLIM__SOURCE_PLAN;
    int32_t *users = find_users(program);
    if (!users) return plim__fail_memory(error, "the users of buffers", program->buffers.count * sizeof *users);
    plim_status status = add_lives(g, program, plan, users, timeline, error);
    plim__free(users);
    if (status != PLIM_OK) return status;
    PLIM_TRY(add_phases(program, timeline, error));
    PLIM_TRY(add_operators(g, program, timeline, error));
    if (timeline->ticks < program->steps.count) timeline->ticks = (uint32_t)program->steps.count;
    return plim__timeline_finish(timeline, error);
}
