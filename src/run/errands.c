/* Errands of a runner: made with it, sent in every run. */
#include "run/errands.h"

#include <stdalign.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "mem/carrier.h"
#include "mem/spill.h"

struct errand {
    plim__errand base;
    const plim__runner *runner;
    int32_t step, begins, ends;
    bool sent;
    alignas(16) char prepared[PLIM__PREPARED];
};

struct plim__errands {
    const plim__runner *runner;
    struct errand *items; /* in the order of their steps */
    size_t count;
    struct errand **early, **late; /* those that begin before their turn, in order of that; those that end after it */
    size_t early_count, late_count, next_early, next_late;
};

static plim__carrier *carrier_of(const plim__errands *e) { return e->runner->arena->carrier; }

static const plim__step *step_of(const struct errand *errand) {
    return &errand->runner->program->steps.items[errand->step];
}

/* --- making --------------------------------------------------------------------------------------------------- */

static plim_status run_piece(const plim__errand *base, size_t piece, void *room, plim_error *error) {
    const struct errand *errand = (const struct errand *)base;
    plim__call call = plim__runner_call(errand->runner, (size_t)errand->step);
    call.window = room;
    call.error = error;
    return step_of(errand)->pieces->run(&call, errand->prepared, piece);
}

static int by_begin(const void *a, const void *b) {
    const struct errand *x = *(struct errand *const *)a, *y = *(struct errand *const *)b;
    return x->begins != y->begins ? (x->begins > y->begins) - (x->begins < y->begins)
                                  : (x->step > y->step) - (x->step < y->step);
}

static int by_end(const void *a, const void *b) {
    const struct errand *x = *(struct errand *const *)a, *y = *(struct errand *const *)b;
    return x->ends != y->ends ? (x->ends > y->ends) - (x->ends < y->ends) : (x->step > y->step) - (x->step < y->step);
}

static void add(plim__errands *e, int32_t s) {
    const plim__plan *plan = e->runner->plan;
    struct errand *errand = &e->items[e->count++];
    *errand = (struct errand){.base = {.piece = run_piece, .due = plan->begins[s] < s ? s : plan->ends[s] + 1},
                              .runner = e->runner,
                              .step = s,
                              .begins = plan->begins[s],
                              .ends = plan->ends[s]};
    plim__call call = plim__runner_call(e->runner, (size_t)s);
    errand->base.pieces = step_of(errand)->pieces->count(&call);
    if (errand->begins < s) e->early[e->early_count++] = errand;
    if (errand->ends > s) e->late[e->late_count++] = errand;
}

static size_t count_steps(const plim__program *program) {
    size_t count = 0;
    for (size_t s = 0; s < program->steps.count; s++) count += plim__step_in_pieces(program, &program->steps.items[s]);
    return count;
}

plim_status plim__errands_create(const plim__runner *runner, plim__errands **errands, plim_error *error) {
    size_t count = count_steps(runner->program);
    *errands = NULL;
    if (count == 0) return PLIM_OK;
    plim__errands *e = plim__alloc_zero(1, sizeof *e);
    if (!e) return plim__fail_memory(error, "a runner", sizeof *e);
    e->runner = runner;
    e->items = plim__alloc_array(count, sizeof *e->items);
    e->early = plim__alloc_array(count, sizeof *e->early);
    e->late = plim__alloc_array(count, sizeof *e->late);
    if (!e->items || !e->early || !e->late) {
        plim__errands_free(e);
        return plim__fail_memory(error, "a runner", count * sizeof *e->items);
    }
    for (size_t s = 0; s < runner->program->steps.count; s++)
        if (plim__step_in_pieces(runner->program, &runner->program->steps.items[s])) add(e, (int32_t)s);
    if (e->early_count) qsort(e->early, e->early_count, sizeof *e->early, by_begin);
    if (e->late_count) qsort(e->late, e->late_count, sizeof *e->late, by_end);
    *errands = e;
    return PLIM_OK;
}

void plim__errands_free(plim__errands *e) {
    if (!e) return;
    plim__free(e->items);
    plim__free(e->early);
    plim__free(e->late);
    plim__free(e);
}

/* --- running -------------------------------------------------------------------------------------------------- */

static void send(const plim__errands *e, struct errand *errand) {
    const plim__pieces *pieces = step_of(errand)->pieces;
    plim__call call = plim__runner_call(e->runner, (size_t)errand->step);
    if (pieces->prepare) pieces->prepare(&call, errand->prepared);
    errand->sent = true;
    plim__carrier_send(carrier_of(e), &errand->base);
}

static plim_status wait_for(const plim__errands *e, struct errand *errand, plim_error *error) {
    errand->sent = false;
    return plim__carrier_wait(carrier_of(e), &errand->base, error);
}

plim_status plim__errands_start(plim__errands *e, plim_error *error) {
    const plim__runner *runner = e->runner;
    if (plim__carrier_is_forked(carrier_of(e)))
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "this process was forked while weights or optimizer state were in a file, which is its "
                          "parent's; fork before the trainer is made, or train with --no-spill");
    plim__errands_drop(e);
    uintptr_t window = (uintptr_t)(runner->arena->persistent + runner->plan->window), page = PLIM__SPILL_PAGE;
    plim__carrier_settle_in(carrier_of(e), (void *)((window + page - 1) / page * page), runner->program->room_bytes);
    e->next_early = e->next_late = 0;
    return PLIM_OK;
}

/* What is waited for counts as time of its own step. */
static plim_status end_late(const plim__errands *e, struct errand *errand, plim_error *error) {
    double start = e->runner->seconds ? plim__clock_seconds() : 0;
    plim_status status = wait_for(e, errand, error);
    if (e->runner->seconds) e->runner->seconds[errand->step] += plim__clock_seconds() - start;
    return status;
}

plim_status plim__errands_advance(plim__errands *e, size_t s, size_t *failed, plim_error *error) {
    for (; e->next_late < e->late_count && (size_t)e->late[e->next_late]->ends < s; e->next_late++) {
        struct errand *errand = e->late[e->next_late];
        plim_status status = errand->sent ? end_late(e, errand, error) : PLIM_OK;
        *failed = (size_t)errand->step;
        PLIM_TRY(status);
    }
    for (; e->next_early < e->early_count && (size_t)e->early[e->next_early]->begins <= s; e->next_early++)
        if (e->early[e->next_early]->step > (int32_t)s) send(e, e->early[e->next_early]);
    return PLIM_OK;
}

static int of_step(const void *step, const void *errand) {
    int32_t a = *(const int32_t *)step, b = ((const struct errand *)errand)->step;
    return (a > b) - (a < b);
}

plim_status plim__errands_run(plim__errands *e, size_t s, plim_error *error) {
    int32_t step = (int32_t)s;
    struct errand *errand = bsearch(&step, e->items, e->count, sizeof *e->items, of_step);
    if (!errand) return plim__fail(error, PLIM_INTERNAL, "step %zu is not done in pieces", s);
    if (!errand->sent) send(e, errand);
    return errand->ends > step ? PLIM_OK : wait_for(e, errand, error);
}

void plim__errands_drop(plim__errands *e) {
    plim__carrier_drop(carrier_of(e));
    for (size_t i = 0; i < e->count; i++) e->items[i].sent = false;
}
