/* Recording. */
#include "run/recording.h"

#include "budget/picture.h"
#include "core/error.h"
#include "format/trace_script.h"
#include "mem/heap.h"
#include "mem/resident.h"
#include "report/plan_timeline.h"
#include "report/report.h"
#include "run/trainer.h"

/* Whole updates are recorded until there were so many births, deaths and operators: 16 bytes each. */
#define MOST_EVENTS ((uint64_t)4 << 20)
/* A trace with its block of records, and pages of the program that nothing else uses. */
#define TRACE_BYTES ((size_t)96 << 10)
/* What a definition takes in the timeline of a page: its names, mostly. */
#define DEFINED_BYTES ((size_t)320)
/* So many sizes of batches that nobody announced are recorded whole: each has names of its own. */
#define MOST_LATE 8
/* A page is made with so much to spare. */
#define ROOM_MARGIN ((size_t)128 << 10)
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
    int late;                /* variants that were defined between updates */
    PLIM_VEC(struct scripted) variants;
};

/* --- beginning and end ---------------------------------------------------------------------------------------- */

/* A run by a saved plan has not looked for others: those that were saved with it are shown. */
static plim_status add_saved_ways(const char *path, plim__timeline *head, plim_error *error) {
    plim__timeline saved;
    plim__timeline_init(&saved, PLIM__SOURCE_PLAN);
    plim_status status = plim__trace_read(path, &saved, error);
    for (size_t i = 0; status == PLIM_OK && i < saved.frontier.count; i++) {
        const plim__timeline_point point = plim__timeline_point_at(&saved, i);
        status = plim__timeline_add_frontier(head, &point, error);
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
    if (status == PLIM_OK) status = plim__recording_prepare(t, error);
    if (status != PLIM_OK) plim__recording_free(t);
    return status;
}

static plim_status compare(const plim_trainer *t, plim__trace *trace, plim_error *error) {
    size_t used = t->arena.persistent_bytes + t->arena.transient_bytes;
    PLIM_TRY(plim__trace_add_comparison(trace, "weights and state", t->planned_kept, t->arena.persistent_bytes, error));
    PLIM_TRY(plim__trace_add_comparison(trace, "everything else in the arena", t->planned_arena - t->planned_kept,
                                        t->arena.transient_bytes, error));
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
    return status == PLIM_OK ? closed : status;
}

size_t plim__trainer_vacate(plim_trainer *t) {
    if (!t->options.budget) return SIZE_MAX;
    plim__arena_abandon(&t->arena);
    plim__heap_trim();
    size_t resident = plim__resident_now() + ROOM_MARGIN;
    return t->planned_process > resident ? t->planned_process - resident : 0;
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

static bool knows(const struct plim__recording *r, const plim__variant *v) {
    for (size_t i = 0; i < r->variants.count; i++)
        if (r->variants.items[i].variant == v) return true;
    return false;
}

static plim_status know_variant(struct plim__recording *r, plim__variant *v, plim_error *error) {
    return knows(r, v) ? PLIM_OK : add_variant(r, v, error);
}

/* What is there before the first recorded update: the arena's weights and state, and the process around it. */
static plim_status hold(plim_trainer *t, struct plim__recording *r, plim_error *error) {
    size_t resident = plim__resident_now(), arena = t->arena.persistent_bytes + t->arena.transient_bytes;
    plim__timeline_buffer program = {.name = "program, libraries, stacks and data",
                                     .kind = PLIM__KIND_PROCESS,
                                     .bytes = resident > arena ? resident - arena : 0,
                                     .offset = PLIM__NO_OFFSET};
    PLIM_TRY(plim__trace_define_buffer(r->trace, &program, &r->program, error));
    plim__trace_settle(r->trace);
    plim__trace_phase(r->trace, PLIM__PHASE_LOAD);
    plim__trace_born(r->trace, r->program);
    plim__trace_script_keep(r->trace, &r->variants.items[0].script);
    r->held = true;
    return PLIM_OK;
}

static plim_status know_variants(plim_trainer *t, struct plim__recording *r, plim_error *error) {
    PLIM_TRY(know_variant(r, t->main, error));
    for (size_t i = 0; i < t->tails.count; i++) PLIM_TRY(know_variant(r, t->tails.items[i], error));
    return t->odd ? know_variant(r, t->odd, error) : PLIM_OK;
}

/* Making a script takes several times what it holds then: where what passes will be. */
plim_status plim__recording_prepare(plim_trainer *t, plim_error *error) {
    struct plim__recording *r = t->recording;
    if (!r) return PLIM_OK;
    if (t->options.budget) plim__arena_release_pages(&t->arena);
    plim_status status = know_variants(t, r, error);
    if (t->options.budget) plim__arena_restore_pages(&t->arena);
    return status == PLIM_OK ? hold(t, r, error) : status;
}

/* A size that nobody announced: another variant takes the place of the one before, and nothing has run yet. */
static plim_status know_late(plim_trainer *t, struct plim__recording *r, plim__variant *v, plim_error *error) {
    if (t->options.budget) plim__arena_release_pages(&t->arena);
    plim_status status = add_variant(r, v, error);
    plim__trace_settle(r->trace);
    if (t->options.budget) plim__arena_restore_pages(&t->arena);
    r->late++;
    return status;
}

/* --- what it takes -------------------------------------------------------------------------------------------- */

/* A cue for each operator, birth and death; where the cues of each tick begin; what is kept. */
static size_t script_bytes(const plim__program *program) {
    size_t steps = program->steps.count, buffers = program->buffers.count;
    return (steps + 2 * buffers) * sizeof(plim__trace_cue) + (steps + buffers) * sizeof(uint32_t);
}

/* A page of a single update: the least that can be shown. */
static size_t page_bytes(const plim_trainer *t) {
    const plim__program *program = t->main->program;
    size_t steps = program->steps.count, buffers = program->buffers.count, bytes = PLIM__PAGE_BYTES + ROOM_MARGIN;
    size_t runs = (size_t)((t->options.batch + t->main->samples - 1) / t->main->samples);
    bytes += (steps + buffers) * DEFINED_BYTES;
    bytes += (t->tails.count + (t->odd ? MOST_LATE : 0)) * (steps + buffers) * DEFINED_BYTES;
    return bytes + runs * (steps * 2 * sizeof(plim__timeline_mark) +
                           buffers * (sizeof(plim__timeline_life) + 4 * sizeof(double)));
}

size_t plim__recording_bytes(const plim_trainer *t) {
    if (!t->options.records) return 0;
    size_t bytes = TRACE_BYTES + script_bytes(t->main->program), arena = t->kept_bytes + t->passing_bytes;
    for (size_t i = 0; i < t->tails.count; i++) bytes += script_bytes(t->tails.items[i]->program);
    if (t->odd) bytes += script_bytes(t->odd->program);
    size_t page = t->options.records > 1 ? page_bytes(t) : 0;
    return page > arena ? bytes + page - arena : bytes;
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
    plim__variant *other = rest > 0 ? plim__trainer_next(t, rest) : NULL;
    bool late = other && !knows(r, other);
    bool whole = (number <= 3 || number % r->every == 0) && r->events < MOST_EVENTS;
    if (late && t->options.budget && r->late == MOST_LATE) whole = false;
    if (whole) {
        PLIM_TRY(know_variant(r, t->main, error));
        if (late) PLIM_TRY(know_late(t, r, other, error));
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
