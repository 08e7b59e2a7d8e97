/* Plans for people: what the trainer would do, and what it could do. */
#include "plimsoll/plan.h"

#include <string.h>

#include "core/arguments.h"
#include "mem/limits.h"
#include "plan/peak.h"
#include "run/trainer.h"

struct plim_plan {
    plim_plan_report report;
    plim_trainer *trainer; /* whose names the report shows */
    char *why;
    plim__batch_verdict split; /* of the whole batch */
    size_t base_bytes,
        packed_bytes; /* of the first trainer: later ones find what was searched for before resident too */
};

static plim_status make_trainer(const plim_graph *model, const plim_trainer_options *options, bool explore, int effort,
                                const plim_plan *plan, plim_trainer **trainer, plim_error *error) {
    plim_trainer *t = *trainer = plim__alloc_zero(1, sizeof *t);
    if (!t) return plim__fail_memory(error, "a plan", sizeof *t);
    plim_trainer_options planning = *options;
    planning.plan_only = 1;
    t->explore = explore;
    t->effort = effort;
    t->base_bytes = plan->base_bytes;
    t->packed_bytes = plan->packed_bytes;
    return plim__trainer_make(t, model, &planning, error);
}

static const char *kind_of(const plim_graph *g, const plim__buffer *buffer) {
    static const char *const names[] = {"weight", "optimizer", "data", "activation", "gradient", "workspace"};
    bool gradient = buffer->value >= 0 && g->values.items[buffer->value].is_gradient;
    return names[gradient ? PLIM__BUFFER_GRADIENT : buffer->kind];
}

static void list_peak(const plim__variant *v, plim_plan_report *report) {
    int32_t buffers[PLIM_PLAN_TENSORS];
    const plim_graph *g = v->training->graph;
    report->peak_count = (int)plim__peak_largest(v->program, v->plan, buffers, PLIM_PLAN_TENSORS);
    for (int i = 0; i < report->peak_count; i++) {
        const plim__buffer *buffer = &v->program->buffers.items[buffers[i]];
        plim_plan_tensor *tensor = &report->peak[i];
        *tensor =
            (plim_plan_tensor){.name = "", .op = "", .layer = "", .kind = kind_of(g, buffer), .bytes = buffer->bytes};
        if (buffer->value < 0) continue;
        const plim__value *value = &g->values.items[buffer->value];
        tensor->name = value->name;
        tensor->dtype = value->dtype;
        tensor->rank = value->shape.rank;
        memcpy(tensor->dims, value->shape.dims, sizeof tensor->dims);
        if (value->producer < 0) continue;
        tensor->op = g->nodes.items[value->producer].op_name;
        tensor->layer = g->nodes.items[value->producer].name;
    }
}

/* --- the largest batch ---------------------------------------------------------------------------------------- */

/* Whether a batch fits in one piece, by making the plan for it. */
static plim_status try_batch(const plim_graph *model, const plim_trainer_options *options, int64_t batch,
                             const plim_plan *plan, bool *fits, plim_error *error) {
    plim_trainer_options o = *options;
    o.batch = batch;
    o.accumulate = 1;
    o.allow = PLIM_ALLOW_EXACT;
    plim_trainer *t;
    plim_status status = make_trainer(model, &o, false, -1, plan, &t, error);
    *fits = status == PLIM_OK;
    bool refused = t && t->refused;
    plim_trainer_free(t);
    return refused ? PLIM_OK : status;
}

/* What passes at the least grows with the batch: so much of it should fit. */
static int64_t guess_batch(const plim_plan_report *r, int64_t batch, uint64_t limit) {
    uint64_t kept = r->unconstrained.weights + r->unconstrained.optimizer, least = UINT64_MAX, spilled = 0,
             besides = r->unconstrained.process_bytes - r->unconstrained.arena_bytes;
    for (int i = 0; i < r->frontier_count; i++) {
        const plim_plan_candidate *way = &r->frontier[i];
        if (way->accumulate == 1 && way->arena_bytes + way->spilled < least) least = way->arena_bytes + way->spilled;
        if (way->spilled > spilled) spilled = way->spilled;
    }
    limit += spilled; /* so much of what is kept need not be */
    if (least == UINT64_MAX || least <= kept || limit <= kept + besides) return batch;
    double room = (double)(limit - kept - besides) / (double)(least - kept);
    return room > (1 << 20) ? (int64_t)1 << 20 : room * (double)batch < 1 ? 1 : (int64_t)(room * (double)batch);
}

/* Begins with a guess, then takes an eighth more or less: every answer was tried. */
static plim_status find_largest_batch(const plim_graph *model, const plim_trainer_options *options, plim_plan *plan,
                                      plim_error *error) {
    plim_plan_report *report = &plan->report;
    int64_t asked = options->batch > 0 ? options->batch : 1, good = 0, bad = INT64_MAX;
    if (report->fits && report->chosen.accumulate == 1) good = asked;
    int64_t batch = guess_batch(report, asked, options->budget);
    for (int tries = 0; tries < 4 && batch > good && batch < bad; tries++) {
        bool fits;
        PLIM_TRY(try_batch(model, options, batch, plan, &fits, error));
        if (fits)
            good = batch;
        else
            bad = batch;
        int64_t step = batch / 8 > 0 ? batch / 8 : 1;
        batch += fits ? step : -step;
    }
    report->largest_batch = good;
    return PLIM_OK;
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

/* The plan without a budget is that with one that is never reached. */
#define ENDLESS ((uint64_t)1 << 60)

static plim_status plan_unconstrained(const plim_graph *model, const plim_trainer_options *options, plim_plan *plan,
                                      plim_error *error) {
    plim_trainer_options o = *options;
    o.budget = ENDLESS;
    PLIM_TRY(make_trainer(model, &o, false, 0, plan, &plan->trainer, error));
    if (!plan->base_bytes) plan->base_bytes = plan->trainer->base_bytes;
    plan->report.unconstrained = plim__trainer_way(plan->trainer);
    plan->split = plan->trainer->main->training->split;
    plan->report.prevents_split = *plan->split.why ? plan->split.why : NULL;
    return PLIM_OK;
}

static void forget_trainer(plim_plan *plan) {
    plim_trainer_free(plan->trainer);
    plan->trainer = NULL;
}

static plim_status plan_chosen(const plim_graph *model, const plim_trainer_options *options, plim_plan *plan,
                               plim_error *error) {
    plim_plan_report *report = &plan->report;
    plim_trainer_options o = *options;
    plim_trainer *t;
    plim_error why = {0};
    if (!o.budget) o.budget = ENDLESS;
    plim_status status = make_trainer(model, &o, true, 0, plan, &t, &why);
    report->fits = status == PLIM_OK;
    for (size_t i = 0; t && i < t->rows.count && i < PLIM_PLAN_POINTS; i++)
        report->frontier[report->frontier_count++] = t->rows.items[i];
    report->minimum_budget_bytes = t ? t->least_budget : 0;
    if (status == PLIM_OK) {
        report->chosen = plim__trainer_way(t);
        plan->trainer = t;
        return PLIM_OK;
    }
    bool refused = t && t->refused;
    plim_trainer_free(t);
    if (!refused) return plim__fail(error, status, "%s", why.message);
    plan->why = plim__strdup(why.message);
    report->why = plan->why;
    return plan->why ? PLIM_OK : plim__fail_memory(error, "a plan", sizeof why);
}

static plim_status make(const plim_graph *model, const plim_trainer_options *options, plim_plan *plan,
                        plim_error *error) {
    plim_plan_report *report = &plan->report;
    report->budget_bytes = options->budget;
    PLIM_TRY(plan_unconstrained(model, options, plan, error));
    forget_trainer(plan); /* it must not be resident while memory is measured for the chosen one */
    PLIM_TRY(plan_chosen(model, options, plan, error));
    if (!plan->trainer) PLIM_TRY(plan_unconstrained(model, options, plan, error)); /* nothing fits: that one is shown */
    list_peak(plan->trainer->main, report);
    plim_trainer_options limited = *options;
    if (!limited.budget) {
        plim__limits limits;
        if (plim__limits_read("", 0, &limits, NULL) == PLIM_OK) limited.budget = limits.available;
    }
    report->largest_batch_limit = limited.budget;
    plan->packed_bytes = plan->trainer->packed_bytes; /* products of more samples take the same, nearly */
    return limited.budget ? find_largest_batch(model, &limited, plan, error) : PLIM_OK;
}

plim_status plim_plan_create(const plim_graph *model, const plim_trainer_options *options, plim_plan **plan,
                             plim_error *error) {
    PLIM__NEED(plan, error);
    *plan = NULL;
    PLIM__NEED(model, error);
    plim_trainer_options o;
    PLIM_TRY(plim__trainer_options_read(options, &o, error));
    *plan = plim__alloc_zero(1, sizeof **plan);
    if (!*plan) return plim__fail_memory(error, "a plan", sizeof **plan);
    plim_status status = make(model, &o, *plan, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim_plan_free(*plan);
    *plan = NULL;
    return status;
}

void plim_plan_free(plim_plan *plan) {
    if (!plan) return;
    plim_trainer_free(plan->trainer);
    plim__free(plan->why);
    plim__free(plan);
}

const plim_plan_report *plim_plan_get_report(const plim_plan *plan) { return &plan->report; }
const plim_trainer *plim__plan_trainer(const plim_plan *plan) { return plan->trainer; }
