/* Recording. */
#include "run/recording.h"

#include "core/error.h"
#include "format/trace_script.h"
#include "mem/resident.h"
#include "report/plan_timeline.h"
#include "run/picture.h"
#include "run/trainer.h"

/* Whole updates are recorded until there were so many births, deaths and operators: 16 bytes each. */
#define MOST_EVENTS ((uint64_t)4 << 20)
/* Bytes that a page of the record takes for each of them while it is made. */
#define PAGE_BYTES 48
/* So many updates are all sampled, then every second one, every third ... */
#define ALL_SAMPLED 4096

struct scripted {
    plim__variant *variant;
    plim__trace_script script;
};

struct plim__recording {
    plim__trace *trace;
    int64_t every, updates; /* updates: since the recording began */
    uint64_t events;
    uint32_t resident, loss; /* series */
    uint32_t program;        /* buffer: the process without the arena */
    bool held;               /* these and what is kept were born */
    PLIM_VEC(struct scripted) variants;
};

/* --- beginning and end ---------------------------------------------------------------------------------------- */

/* A run by a saved plan has not looked for others: those that were saved with it are shown. */
static plim_status add_saved_ways(const char *path, plim__timeline *head, plim_error *error) {
    plim__timeline saved;
    plim__timeline_init(&saved, PLIM__SOURCE_PLAN);
    plim_status status = plim__trace_read(path, &saved, error);
    for (size_t i = 0; status == PLIM_OK && i < saved.frontier.count; i++) {
        const plim__timeline_plan *way = &saved.frontier.items[i];
        status = plim__timeline_add_frontier(head, way->budget, way->peak, way->seconds,
                                             plim__timeline_get(&saved, way->label),
                                             plim__timeline_get(&saved, way->command), way->chosen, error);
    }
    plim__timeline_free(&saved);
    return status;
}

static plim_status write_head(const plim_trainer *t, struct plim__recording *r, const char *title, const char *command,
                              plim_error *error) {
    plim__timeline head;
    plim__timeline_init(&head, PLIM__SOURCE_RUN);
    plim_status status = plim__trainer_picture_head(t, title, &head, error);
    if (status == PLIM_OK)
        status = t->options.plan ? add_saved_ways(t->options.plan, &head, error)
                                 : plim__trainer_picture_ways(t, command, &head, error);
    if (status == PLIM_OK) status = plim__trace_write_head(r->trace, &head, error);
    plim__timeline_free(&head);
    PLIM_TRY(status);
    PLIM_TRY(plim__trace_define_series(r->trace, "resident memory", &r->resident, error));
    return plim__trace_define_numbers(r->trace, "loss", &r->loss, error);
}

plim_status plim__trainer_record(plim_trainer *t, const char *path, const char *title, const char *command,
                                 int64_t every, plim_error *error) {
    struct plim__recording *r = plim__alloc_zero(1, sizeof *r);
    if (!r) return plim__fail_memory(error, "a recording", sizeof *r);
    plim__recording_free(t);
    t->recording = r;
    r->every = every > 0 ? every : 100;
    plim_status status = plim__trace_open(path, PLIM__SOURCE_RUN, &r->trace, error);
    if (status == PLIM_OK) status = write_head(t, r, title, command, error);
    if (status != PLIM_OK) plim__recording_free(t);
    return status;
}

static plim_status compare(const plim_trainer *t, plim__trace *trace, plim_error *error) {
    size_t used = t->arena.kept_bytes + t->arena.passing_bytes;
    PLIM_TRY(plim__trace_add_comparison(trace, "weights and state", t->planned_kept, t->arena.kept_bytes, error));
    PLIM_TRY(plim__trace_add_comparison(trace, "everything else in the arena", t->planned_arena - t->planned_kept,
                                        t->arena.passing_bytes, error));
    PLIM_TRY(plim__trace_add_comparison(trace, "arena", t->planned_arena, used, error));
    return t->planned_process ? plim__trace_add_comparison(trace, "process, at its highest", t->planned_process,
                                                           plim__resident_peak(), error)
                              : PLIM_OK;
}

plim_status plim__trainer_record_end(plim_trainer *t, plim_error *error) {
    struct plim__recording *r = t->recording;
    if (!r) return PLIM_OK;
    plim_status status = t->main ? compare(t, r->trace, error) : PLIM_OK;
    plim_status closed = plim__trace_close(r->trace, status == PLIM_OK ? error : NULL);
    r->trace = NULL;
    plim__recording_free(t);
    if (t->options.budget) plim__arena_lend(&t->arena); /* a page of the record is made beside it, within the budget */
    return status == PLIM_OK ? closed : status;
}

void plim__recording_free(plim_trainer *t) {
    struct plim__recording *r = t->recording;
    if (!r) return;
    plim__recording_forget(t);
    plim__trace_close(r->trace, NULL);
    plim__vec_free(&r->variants);
    plim__free(r);
    t->recording = NULL;
}

void plim__recording_forget(plim_trainer *t) {
    struct plim__recording *r = t->recording;
    if (!r) return;
    if (r->trace && r->held) {
        plim__trace_script_drop(r->trace, &r->variants.items[0].script);
        plim__trace_died(r->trace, r->program);
    }
    r->held = false;
    for (size_t i = 0; i < r->variants.count; i++) {
        if (r->variants.items[i].variant->runner) r->variants.items[i].variant->runner->script = NULL;
        plim__trace_script_free(&r->variants.items[i].script);
    }
    r->variants.count = 0;
}

void plim__recording_drop(plim_trainer *t, const plim__variant *variant) {
    struct plim__recording *r = t->recording;
    for (size_t i = 0; r && i < r->variants.count; i++) {
        if (r->variants.items[i].variant != variant) continue;
        plim__trace_script_free(&r->variants.items[i].script);
        r->variants.items[i] = r->variants.items[--r->variants.count]; /* never the first, which is the main one */
        return;
    }
}

/* --- variants ------------------------------------------------------------------------------------------------- */

/* What the variant will do, defined in the trace. */
static plim_status add_variant(struct plim__recording *r, plim__variant *v, plim_error *error) {
    plim__timeline timeline;
    struct scripted scripted = {.variant = v};
    plim__timeline_init(&timeline, PLIM__SOURCE_RUN);
    plim_status status = plim__plan_timeline(v->training->graph, v->program, v->plan, &timeline, error);
    if (status == PLIM_OK) status = plim__trace_script_make(r->trace, &timeline, &scripted.script, error);
    if (status == PLIM_OK && !plim__vec_push(&r->variants, scripted))
        status = plim__fail_memory(error, "a recording", sizeof scripted);
    if (status != PLIM_OK) plim__trace_script_free(&scripted.script);
    plim__timeline_free(&timeline);
    return status;
}

static plim_status know_variant(struct plim__recording *r, plim__variant *v, plim_error *error) {
    for (size_t i = 0; i < r->variants.count; i++)
        if (r->variants.items[i].variant == v) return PLIM_OK;
    return add_variant(r, v, error);
}

/* What is there before the first recorded update: the arena's weights and state, and the process around it. */
static plim_status hold(plim_trainer *t, struct plim__recording *r, plim_error *error) {
    size_t resident = plim__resident_now(), arena = t->arena.kept_bytes + t->arena.passing_bytes;
    plim__timeline_buffer program = {.name = "program, libraries, stacks and data",
                                     .kind = PLIM__KIND_PROCESS,
                                     .bytes = resident > arena ? resident - arena : 0,
                                     .offset = PLIM__NO_OFFSET};
    PLIM_TRY(plim__trace_define_buffer(r->trace, &program, &r->program, error));
    plim__trace_phase(r->trace, PLIM__PHASE_LOAD);
    plim__trace_born(r->trace, r->program);
    plim__trace_script_keep(r->trace, &r->variants.items[0].script);
    r->held = true;
    return PLIM_OK;
}

/* A page of the record is made where the arena was, within the budget. */
static uint64_t most_events(const plim_trainer *t) {
    if (!t->options.budget) return MOST_EVENTS;
    uint64_t room = t->planned_arena - t->planned_kept;
    if (t->options.budget > t->planned_process) room += t->options.budget - t->planned_process;
    return room / PAGE_BYTES < MOST_EVENTS ? room / PAGE_BYTES : MOST_EVENTS;
}

/* --- updates -------------------------------------------------------------------------------------------------- */

static void arm(struct plim__recording *r, bool on) {
    for (size_t i = 0; i < r->variants.count; i++) {
        plim__runner *runner = r->variants.items[i].variant->runner;
        runner->trace = r->trace;
        runner->script = on ? &r->variants.items[i].script : NULL;
        runner->played = -1;
    }
}

plim_status plim__recording_begin(plim_trainer *t, int64_t count, plim_error *error) {
    struct plim__recording *r = t->recording;
    int64_t number = r->updates + 1, rest = count % t->main->samples;
    bool whole = (number <= 3 || number % r->every == 0) && r->events < most_events(t);
    if (whole) {
        PLIM_TRY(know_variant(r, t->main, error));
        if (rest > 0) PLIM_TRY(know_variant(r, plim__trainer_next(t, rest), error));
        if (!r->held) PLIM_TRY(hold(t, r, error));
        plim__trace_step(r->trace, (uint32_t)(t->progress.updates + 1));
        plim__trace_phase(r->trace, PLIM__PHASE_DATA); /* the batch is copied in; forward begins with the first step */
        const plim__trace_script *script = &r->variants.items[0].script;
        r->events += script->first[script->ticks] * (uint64_t)((count + t->main->samples - 1) / t->main->samples);
    }
    arm(r, whole);
    return PLIM_OK;
}

void plim__recording_updated(plim_trainer *t, const plim_step_result *result) {
    struct plim__recording *r = t->recording;
    int64_t number = ++r->updates, stride = number / ALL_SAMPLED + 1;
    arm(r, false);
    if (!r->held || number % stride != 0) return;
    plim__trace_sample(r->trace, r->resident, plim__resident_now());
    plim__trace_sample_number(r->trace, r->loss, result->loss);
}

void plim__recording_broke(plim_trainer *t) {
    struct plim__recording *r = t->recording;
    for (size_t i = 0; i < r->variants.count; i++) {
        const plim__runner *runner = r->variants.items[i].variant->runner;
        if (runner->script && runner->played >= 0)
            plim__trace_script_break(r->trace, runner->script, (uint32_t)runner->played);
    }
    arm(r, false);
}

void plim__recording_failed(plim_trainer *t, const plim_error *error) {
    plim__recording_broke(t);
    plim__trace_add_fact(t->recording->trace, "failed", error ? error->message : "", NULL);
}
