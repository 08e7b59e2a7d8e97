/* Recording. */
#include "run/recording.h"

#include <math.h>
#include <stddef.h>

#include "budget/picture.h"
#include "budget/recorded.h"
#include "core/error.h"
#include "format/trace_script.h"
#include "mem/heap.h"
#include "mem/resident.h"
#include "plimsoll/measures.h"
#include "report/plan_timeline.h"
#include "run/trainer.h"

/* Whole updates are recorded until there were this many births, deaths and operators: 16 bytes each. */
#define MOST_EVENTS ((uint64_t)4 << 20)
/* The first updates are all sampled, then every second one, every third ... */
#define ALL_SAMPLED 4096

struct scripted {
    plim__instance instance;
    plim__trace_script script;
};

enum { MEASURED = 10 };

struct plim__recording {
    plim__trace *trace;
    int64_t every, updates; /* updates: since the recording began */
    uint64_t events;
    uint32_t resident, loss;    /* series */
    uint32_t budgets, budgeted; /* series: the budget, where it changes, and the update of that */
    uint64_t budget;            /* the last of them */
    uint32_t scales, scaled;    /* the same of the loss scale */
    double scale;
    uint32_t validated, validation, accuracy; /* series: the update that was validated, its loss, its accuracy */
    uint32_t measured[MEASURED]; /* series: measures of validations, one more than their numbers; 0: none */
    uint32_t program;            /* buffer: the process without the arena */
    bool held;                   /* these and persistent buffers were born */
    int late;                    /* variants that were defined between updates */
    PLIM_VEC(struct scripted) variants;
};

/* --- beginning and end ---------------------------------------------------------------------------------------- */

/* A run by a saved plan has not searched for others: those that were saved with it are shown. */
static plim_status add_saved_frontier(const char *path, plim__timeline *head, plim_error *error) {
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
    plim_status status = plim__training_plan_picture_head(t->plan, title, &head, error);
    if (status == PLIM_OK)
        status = t->plan->request.saved ? add_saved_frontier(t->plan->request.saved, &head, error)
                                        : plim__training_plan_picture_alternatives(t->plan, command, &head, error);
    if (status == PLIM_OK) status = plim__trace_write_head(r->trace, &head, error);
    plim__timeline_free(&head);
    PLIM_TRY(status);
    PLIM_TRY(plim__trace_define_series(r->trace, "resident memory", &r->resident, error));
    PLIM_TRY(plim__trace_define_numbers(r->trace, "loss", &r->loss, error));
    if (t->plan->bounds.budget) {
        PLIM_TRY(plim__trace_define_series(r->trace, "budget", &r->budgets, error));
        PLIM_TRY(plim__trace_define_numbers(r->trace, "budget update", &r->budgeted, error));
    }
    if (t->plan->main->training->loss_scale >= 0) {
        PLIM_TRY(plim__trace_define_numbers(r->trace, "loss scale", &r->scales, error));
        PLIM_TRY(plim__trace_define_numbers(r->trace, "loss scale update", &r->scaled, error));
    }
    if (t->plan->request.evaluates <= 0) return PLIM_OK;
    PLIM_TRY(plim__trace_define_numbers(r->trace, "validated update", &r->validated, error));
    PLIM_TRY(plim__trace_define_numbers(r->trace, "validation loss", &r->validation, error));
    return plim__trace_define_numbers(r->trace, "validation accuracy", &r->accuracy, error);
}

/* A series begins with its first number: which measures there are depends on the job. */
static void add_measure(struct plim__recording *r, size_t which, const char *name, double value) {
    if (!isfinite(value)) return;
    if (!r->measured[which]) {
        uint32_t id;
        if (plim__trace_define_numbers(r->trace, name, &id, NULL) != PLIM_OK) return;
        r->measured[which] = id + 1;
    }
    plim__trace_sample_number(r->trace, r->measured[which] - 1, value);
}

static void add_measures(struct plim__recording *r, const plim_measures *measures) {
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
        {"validation precision", offsetof(plim_measures_summary, precision)},
        {"validation recall", offsetof(plim_measures_summary, recall)},
        {"validation F1", offsetof(plim_measures_summary, f1)},
        {"validation top-5", offsetof(plim_measures_summary, top5)},
        {"validation ROC AUC", offsetof(plim_measures_summary, auc)},
        {"validation MAE", offsetof(plim_measures_summary, mean_absolute)},
        {"validation RMSE", offsetof(plim_measures_summary, root_mean_square)},
        {"validation R2", offsetof(plim_measures_summary, r2)},
        {"validation IoU", offsetof(plim_measures_summary, iou)}, /* the last: of pixels alone */
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    _Static_assert((int)ROWS < (int)MEASURED, "each has its series");
    plim_measures_summary s;
    plim_measures_get(measures, &s);
    for (size_t i = 0; i < (s.places > 1 ? ROWS : ROWS - 1); i++)
        add_measure(r, i, rows[i].name, *(const double *)(const void *)((const char *)&s + rows[i].offset));
}

void plim__recording_validated(plim_trainer *t, const plim_evaluation *evaluation, const plim_measures *measures,
                               bool text) {
    struct plim__recording *r = t->recording;
    if (!r || !r->held || !r->validated) return;
    plim__trace_sample_number(r->trace, r->validated, (double)t->progress.updates);
    plim__trace_sample_number(r->trace, r->validation, evaluation->loss);
    if (evaluation->classifies) plim__trace_sample_number(r->trace, r->accuracy, evaluation->accuracy);
    if (measures) add_measures(r, measures);
    if (text) add_measure(r, MEASURED - 1, "validation perplexity", exp(evaluation->loss));
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
    PLIM_TRY(plim__trace_add_comparison(trace, "weights and state", t->plan->planned_persistent,
                                        t->arena.persistent_bytes, error));
    PLIM_TRY(plim__trace_add_comparison(trace, "everything else in the arena",
                                        t->plan->planned_arena - t->plan->planned_persistent, t->arena.transient_bytes,
                                        error));
    PLIM_TRY(plim__trace_add_comparison(trace, "arena", t->plan->planned_arena, used, error));
    return t->plan->process.planned_bytes
               ? plim__trace_add_comparison(trace, "process, at its highest", t->plan->process.planned_bytes,
                                            plim__resident_peak(), error)
               : PLIM_OK;
}

plim_status plim__trainer_record_end(plim_trainer *t, plim_error *error) {
    struct plim__recording *r = t->recording;
    if (!r) return PLIM_OK;
    plim_status status = t->plan->main ? compare(t, r->trace, error) : PLIM_OK;
    plim_status closed = plim__trace_close(r->trace, status == PLIM_OK ? error : NULL);
    r->trace = NULL;
    plim__recording_free(t);
    return status == PLIM_OK ? closed : status;
}

size_t plim__trainer_vacate(plim_trainer *t) {
    if (!t->plan->bounds.budget) return SIZE_MAX;
    plim__arena_abandon(&t->arena);
    plim__heap_trim();
    size_t resident = plim__resident_now() + PLIM__PAGE_MARGIN;
    return t->plan->process.planned_bytes > resident ? t->plan->process.planned_bytes - resident : 0;
}

void plim__recording_free(plim_trainer *t) {
    struct plim__recording *r = t->recording;
    if (!r) return;
    plim__recording_clear(t);
    plim__trace_close(r->trace, NULL);
    plim__vec_free(&r->variants);
    plim__free(r);
    t->recording = NULL;
}

void plim__recording_clear(plim_trainer *t) {
    struct plim__recording *r = t->recording;
    if (!r) return;
    if (r->trace && r->held) {
        plim__trace_script_drop(r->trace, &r->variants.items[0].script);
        plim__trace_died(r->trace, r->program);
    }
    r->held = false;
    for (size_t i = 0; i < r->variants.count; i++) {
        r->variants.items[i].instance.runner->script = NULL;
        plim__trace_script_free(&r->variants.items[i].script);
    }
    r->variants.count = 0;
}

void plim__recording_drop(plim_trainer *t, const plim__variant *variant) {
    struct plim__recording *r = t->recording;
    for (size_t i = 0; r && i < r->variants.count; i++) {
        if (r->variants.items[i].instance.variant != variant) continue;
        plim__trace_script_free(&r->variants.items[i].script);
        r->variants.items[i] = r->variants.items[--r->variants.count]; /* never the first, which is the main one */
        return;
    }
}

/* --- variants ------------------------------------------------------------------------------------------------- */

/* What the variant will do, defined in the trace. */
static plim_status add_variant(struct plim__recording *r, const plim__instance *instance, plim_error *error) {
    const plim__variant *v = instance->variant;
    plim__timeline timeline;
    struct scripted scripted = {.instance = *instance};
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
        if (r->variants.items[i].instance.variant == v) return true;
    return false;
}

static plim_status know_variant(struct plim__recording *r, const plim__instance *instance, plim_error *error) {
    return knows(r, instance->variant) ? PLIM_OK : add_variant(r, instance, error);
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
    PLIM_TRY(know_variant(r, &t->main, error));
    for (size_t i = 0; i < t->tails.count; i++) PLIM_TRY(know_variant(r, &t->tails.items[i], error));
    return t->irregular.variant ? know_variant(r, &t->irregular, error) : PLIM_OK;
}

/* Making a script takes several times what it holds then: in place of transient pages. */
plim_status plim__recording_prepare(plim_trainer *t, plim_error *error) {
    struct plim__recording *r = t->recording;
    if (!r) return PLIM_OK;
    if (t->plan->bounds.budget) plim__arena_release_pages(&t->arena);
    plim_status status = know_variants(t, r, error);
    if (t->plan->bounds.budget) plim__arena_restore_pages(&t->arena);
    return status == PLIM_OK ? hold(t, r, error) : status;
}

/* An undeclared size: another variant takes the place of the one before, and nothing has run yet. */
static plim_status know_late(plim_trainer *t, struct plim__recording *r, const plim__instance *instance,
                             plim_error *error) {
    if (t->plan->bounds.budget) plim__arena_release_pages(&t->arena);
    plim_status status = add_variant(r, instance, error);
    plim__trace_settle(r->trace);
    if (t->plan->bounds.budget) plim__arena_restore_pages(&t->arena);
    r->late++;
    return status;
}

/* --- updates -------------------------------------------------------------------------------------------------- */

static void arm(struct plim__recording *r, bool on) {
    for (size_t i = 0; i < r->variants.count; i++) {
        plim__runner *runner = r->variants.items[i].instance.runner;
        runner->trace = r->trace;
        runner->script = on ? &r->variants.items[i].script : NULL;
        runner->played = -1;
    }
}

plim_status plim__recording_begin(plim_trainer *t, int64_t count, plim_error *error) {
    struct plim__recording *r = t->recording;
    int64_t number = r->updates + 1, rest = count % t->plan->main->samples;
    const plim__instance *other = rest > 0 ? plim__trainer_next(t, rest) : NULL;
    bool late = other && !knows(r, other->variant);
    bool whole = (number <= 3 || number % r->every == 0) && r->events < MOST_EVENTS;
    if (late && t->plan->bounds.budget && r->late == PLIM__RECORDED_IRREGULAR) whole = false;
    if (whole) {
        PLIM_TRY(know_variant(r, &t->main, error));
        if (late) PLIM_TRY(know_late(t, r, other, error));
        if (!r->held) PLIM_TRY(hold(t, r, error));
        plim__trace_step(r->trace, (uint32_t)(t->progress.updates + 1));
        plim__trace_phase(r->trace, PLIM__PHASE_DATA); /* the batch is copied in; forward begins with the first step */
        const plim__trace_script *script = &r->variants.items[0].script;
        r->events +=
            script->first[script->ticks] * (uint64_t)((count + t->plan->main->samples - 1) / t->plan->main->samples);
    }
    arm(r, whole);
    return PLIM_OK;
}

void plim__recording_updated(plim_trainer *t, const plim_step_result *result) {
    struct plim__recording *r = t->recording;
    int64_t number = ++r->updates, stride = number / ALL_SAMPLED + 1;
    arm(r, false);
    if (!r->held) return;
    if (r->budgets && r->budget != t->plan->bounds.budget) {
        r->budget = t->plan->bounds.budget;
        plim__trace_sample(r->trace, r->budgets, r->budget);
        plim__trace_sample_number(r->trace, r->budgeted, (double)t->progress.updates);
    }
    if (number % stride != 0) return;
    if (r->scales && r->scale != result->loss_scale) {
        r->scale = result->loss_scale;
        plim__trace_sample_number(r->trace, r->scales, r->scale);
        plim__trace_sample_number(r->trace, r->scaled, (double)t->progress.updates);
    }
    plim__trace_sample(r->trace, r->resident, plim__resident_now());
    plim__trace_sample_number(r->trace, r->loss, result->loss);
}

void plim__recording_broke(plim_trainer *t) {
    struct plim__recording *r = t->recording;
    for (size_t i = 0; i < r->variants.count; i++) {
        const plim__runner *runner = r->variants.items[i].instance.runner;
        if (runner->script && runner->played >= 0)
            plim__trace_script_break(r->trace, runner->script, (uint32_t)runner->played);
    }
    arm(r, false);
}

void plim__recording_failed(plim_trainer *t, const plim_error *error) {
    plim__recording_broke(t);
    plim__trace_add_fact(t->recording->trace, "failed", error ? error->message : "", NULL);
}
