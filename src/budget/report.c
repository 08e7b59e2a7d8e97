/* Public plans: what training would do, and what it could do. */
#include "budget/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "budget/picture.h"
#include "budget/saved_plan.h"
#include "core/arguments.h"
#include "format/trace_script.h"
#include "mem/limits.h"
#include "plan/peak.h"

/* What all the plans of one report are made from. */
struct draft {
    const plim_graph *model;
    plim__request request;
    plim__bounds bounds; /* base_bytes are those of the first plan: later ones find earlier searches resident too */
    plim_plan *plan;
};

static plim_status make_plan(const struct draft *draft, plim__purpose purpose, uint64_t budget,
                             plim__training_plan **plan, plim_error *error) {
    plim__request request = draft->request;
    plim__bounds bounds = draft->bounds;
    request.purpose = purpose;
    bounds.budget = budget;
    return plim__training_plan_create(draft->model, &request, &bounds, plan, error);
}

/* --- the peak ------------------------------------------------------------------------------------------------- */

static const char *kind_of(const plim_graph *g, const plim__buffer *buffer) {
    static const char *const names[] = {"weight", "optimizer", "data", "activation", "gradient", "workspace"};
    bool gradient = buffer->value >= 0 && g->values.items[buffer->value].is_gradient;
    return names[gradient ? PLIM__BUFFER_GRADIENT : buffer->kind];
}

/* What holds memory at the peak. */
struct row {
    int32_t buffer; /* the largest of its value */
    uint64_t bytes;
    int layouts;
};

/* Buffers of one value are one row: kernels may want it in several layouts at once. How many rows there are. */
static int merge_layouts(const plim__program *program, const int32_t *buffers, size_t count, struct row *rows) {
    int made = 0;
    for (size_t i = 0; i < count; i++) {
        const plim__buffer *buffer = &program->buffers.items[buffers[i]];
        int k = 0;
        while (k < made && (buffer->value < 0 || program->buffers.items[rows[k].buffer].value != buffer->value)) k++;
        if (k == made) rows[made++] = (struct row){.buffer = buffers[i]};
        rows[k].bytes += buffer->bytes;
        rows[k].layouts++;
    }
    return made;
}

static int by_bytes(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->buffer - y->buffer;
}

static void list_peak(const plim__variant *v, plim_plan_report *report) {
    enum { READ = 4 * PLIM_PLAN_TENSORS };
    int32_t buffers[READ];
    struct row rows[READ];
    const plim_graph *g = v->training->graph;
    int count = merge_layouts(v->program, buffers, plim__peak_largest(v->program, v->plan, buffers, READ), rows);
    qsort(rows, (size_t)count, sizeof *rows, by_bytes);
    report->peak_count = count < PLIM_PLAN_TENSORS ? count : PLIM_PLAN_TENSORS;
    for (int i = 0; i < report->peak_count; i++) {
        const plim__buffer *buffer = &v->program->buffers.items[rows[i].buffer];
        plim_plan_tensor *tensor = &report->peak[i];
        *tensor = (plim_plan_tensor){.name = "",
                                     .op = "",
                                     .layer = "",
                                     .kind = kind_of(g, buffer),
                                     .bytes = rows[i].bytes,
                                     .layouts = rows[i].layouts};
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

/* Between a batch that fits and one that does not. */
struct between {
    uint64_t limit;
    plim__purpose purpose; /* of the plans that are tried */
    int64_t good, bad;     /* 0, INT64_MAX: not found yet */
    size_t tries;          /* that are left */
    size_t packed_bytes;   /* 0: not known, and measured where plans are made to tell */
};

/* Samples that a batch of the data holds: there may be fewer than were asked for. */
static int64_t held_at(const plim__request *r, int64_t batch) {
    return r->samples > 0 && r->samples < batch ? r->samples : batch;
}

/* Whether a batch fits in one piece, by making the plan for it. */
static plim_status try_batch(const struct draft *draft, struct between *b, int64_t batch, plim_error *error) {
    struct draft one = *draft;
    if (one.request.data_bytes)
        one.request.data_bytes += (uint64_t)(held_at(&one.request, batch) - held_at(&one.request, one.request.batch)) *
                                  one.request.data_sample_bytes;
    one.request.batch = batch;
    one.request.accumulate = 1;
    one.request.allow = PLIM_EXACT;
    plim__training_plan *plan;
    one.bounds.packed_bytes = b->packed_bytes;
    plim_status status = make_plan(&one, b->purpose, b->limit, &plan, error);
    if (plan) b->packed_bytes = plan->process.packed_bytes; /* nearly the same for some samples more */
    *(status == PLIM_OK ? &b->good : &b->bad) = batch;
    b->tries--;
    plim__training_plan_free(plan);
    return status == PLIM_NO_MEMORY ? status : PLIM_OK; /* a batch that cannot be built is none that fits */
}

/* The least transient bytes grow with the batch: how many samples of them should fit. */
static int64_t guess_batch(const plim_plan_report *r, int64_t batch, uint64_t limit) {
    uint64_t persistent = r->unconstrained.weights + r->unconstrained.optimizer, least = UINT64_MAX, spilled = 0,
             overhead = r->unconstrained.process_bytes - r->unconstrained.arena_bytes;
    for (int i = 0; i < r->frontier_count; i++) {
        const plim_plan_candidate *c = &r->frontier[i];
        if (c->accumulate == 1 && c->arena_bytes + c->spilled < least) least = c->arena_bytes + c->spilled;
        if (c->spilled > spilled) spilled = c->spilled;
    }
    limit += spilled; /* which need not be in memory */
    if (least == UINT64_MAX || least <= persistent || limit <= persistent + overhead) return batch;
    double room = (double)(limit - persistent - overhead) / (double)(least - persistent);
    return room > (1 << 20) ? (int64_t)1 << 20 : room * (double)batch < 1 ? 1 : (int64_t)(room * (double)batch);
}

/* Steps of programs that are built for it, at most, and batches that are tried, within a budget twice. */
#define BATCH_STEPS ((size_t)12000)
#define MOST_TRIES  12
/* Batches are told apart to this part of them before the sum that decides is asked. */
#define BATCH_GRAIN 32

/* The next one to try between one that fits and one that does not. */
static int64_t next_batch(int64_t good, int64_t bad) {
    if (bad == INT64_MAX) return 2 * good;
    if (good > 0 && bad / good > 4) return (int64_t)sqrt((double)good * (double)bad);
    return good + (bad - good) / 2;
}

/* Begins with a guess, then halves what is between the largest that fits and the smallest that does not. */
static plim_status find_nearly(const struct draft *draft, struct between *b, plim_error *error) {
    int64_t batch = guess_batch(&draft->plan->report, draft->request.batch, b->limit);
    if (batch <= b->good) batch = next_batch(b->good, b->bad);
    while (b->tries > 0 && b->bad - b->good > 1 + b->good / BATCH_GRAIN) {
        PLIM_TRY(try_batch(draft, b, batch, error));
        batch = next_batch(b->good, b->bad);
    }
    return PLIM_OK;
}

/* Where to look next. A quick search is right, or finds too little: what it says does not fit is asked first, and far above
 * that next. */
static int64_t next_exactly(const struct between *b, const struct between *quick, int64_t asked, int64_t *step) {
    int64_t low = b->good > asked ? b->good : quick->good;
    if (b->bad == INT64_MAX && b->good < quick->bad && quick->bad < INT64_MAX) return quick->bad;
    if (b->bad == INT64_MAX || low >= b->bad) *step = 2 * *step + low / 64;
    if (b->bad == INT64_MAX) return low + *step;
    if (low >= b->bad) low = b->bad - *step;
    if (low < asked) low = asked;
    if (b->bad - low > 1) return low + (b->bad - low) / 2;
    return low > b->good ? low : low + 1; /* one of the two was not tried yet */
}

/* Each one tried as `plan` and `train` decide. */
static plim_status find_exactly(const struct draft *draft, struct between *b, const struct between *quick,
                                plim_error *error) {
    int64_t step = 1, asked = b->good;
    while (b->tries > 0 && b->bad - b->good > 1)
        PLIM_TRY(try_batch(draft, b, next_exactly(b, quick, asked, &step), error));
    return PLIM_OK;
}

/* Every answer was tried; within a budget the last ones as `plan` and `train` decide on them. What the machine has left differs from one
 * second to the next: there the first answer is as good as any. */
static plim_status find_largest_batch(const struct draft *draft, uint64_t limit, plim_error *error) {
    plim_plan_report *report = &draft->plan->report;
    size_t tries = BATCH_STEPS / (draft->plan->training->main->lowered->steps.count + 1);
    if (tries > MOST_TRIES) tries = MOST_TRIES;
    int64_t asked = report->fits && report->chosen.accumulate == 1 ? draft->request.batch : 0;
    struct between nearly = {
        limit, PLIM__PLAN_TO_TRY, asked, INT64_MAX, tries, draft->plan->training->process.packed_bytes};
    PLIM_TRY(find_nearly(draft, &nearly, error));
    report->largest_batch = nearly.good;
    report->largest_batch_open = nearly.bad - nearly.good > 1 + nearly.good / BATCH_GRAIN;
    if (!tries || !draft->bounds.budget) return PLIM_OK;
    struct between exactly = {limit, PLIM__PLAN_TO_TELL, asked, INT64_MAX, 2 * tries, 0};
    PLIM_TRY(find_exactly(draft, &exactly, &nearly, error));
    report->largest_batch = exactly.good;
    report->largest_batch_open = exactly.bad - exactly.good > 1;
    return PLIM_OK;
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

static plim_status plan_unconstrained(struct draft *draft, plim_error *error) {
    plim_plan *plan = draft->plan;
    PLIM_TRY(make_plan(draft, PLIM__PLAN_TO_RUN, PLIM__ENDLESS, &plan->training, error));
    if (!draft->bounds.base_bytes) draft->bounds.base_bytes = plan->training->process.base_bytes;
    plan->report.unconstrained = plim__training_plan_summary(plan->training);
    plan->split = plan->training->main->training->split;
    plan->report.prevents_split = *plan->split.why ? plan->split.why : NULL;
    return PLIM_OK;
}

static plim_status plan_chosen(struct draft *draft, plim_error *error) {
    plim_plan_report *report = &draft->plan->report;
    uint64_t budget = draft->bounds.budget ? draft->bounds.budget : PLIM__ENDLESS;
    plim__training_plan *made;
    plim_error why = {0};
    plim_status status = make_plan(draft, PLIM__PLAN_TO_SHOW, budget, &made, &why);
    if (status != PLIM_OK && status != PLIM_BUDGET) return plim__fail(error, status, "%s", why.message);
    for (size_t i = 0; i < made->alternatives.count && i < PLIM_PLAN_POINTS; i++)
        report->frontier[report->frontier_count++] = made->alternatives.items[i];
    for (int i = 0; i < made->lever_count; i++) report->levers[report->lever_count++] = made->levers[i];
    report->minimum_budget_bytes = made->least_budget;
    report->fits = status == PLIM_OK;
    if (report->fits) {
        report->chosen = plim__training_plan_summary(made);
        draft->plan->training = made;
        return PLIM_OK;
    }
    plim__training_plan_free(made);
    report->why = draft->plan->why = plim__strdup(why.message);
    return report->why ? PLIM_OK : plim__fail_memory(error, "a plan", sizeof why);
}

static plim_status make(struct draft *draft, plim_error *error) {
    plim_plan *plan = draft->plan;
    plan->report.budget_bytes = draft->bounds.budget;
    PLIM_TRY(plan_unconstrained(draft, error));
    plim__training_plan_free(plan->training); /* it must not be resident while memory is measured for the chosen one */
    plan->training = NULL;
    PLIM_TRY(plan_chosen(draft, error));
    if (!plan->training) PLIM_TRY(plan_unconstrained(draft, error)); /* nothing fits: that one is shown */
    if (!plan->training) return plim__fail(error, PLIM_INTERNAL, "there is no plan to describe");
    list_peak(plan->training->main, &plan->report);
    uint64_t limit = draft->bounds.budget;
    plim__limits limits;
    if (!limit && plim__limits_read("", 0, &limits, NULL) == PLIM_OK) limit = limits.available;
    plan->report.largest_batch_limit = limit;
    return limit ? find_largest_batch(draft, limit, error) : PLIM_OK;
}

plim_status plim_plan_create(const plim_graph *model, const plim_trainer_options *options, plim_plan **plan,
                             plim_error *error) {
    PLIM__NEED(plan, error);
    *plan = NULL;
    PLIM__NEED(model, error);
    plim_trainer_options o;
    PLIM_TRY(plim__trainer_options_read(options, &o, error));
    PLIM_TRY(plim__trainable_check(model, error));
    *plan = plim__alloc_zero(1, sizeof **plan);
    if (!*plan) return plim__fail_memory(error, "a plan", sizeof **plan);
    struct draft draft = {.model = model, .plan = *plan};
    plim__request_read(&o, &draft.request, &draft.bounds);
    plim_status status = make(&draft, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim_plan_free(*plan);
    *plan = NULL;
    return status;
}

void plim_plan_free(plim_plan *plan) {
    if (!plan) return;
    plim__training_plan_free(plan->training);
    plim__free(plan->why);
    plim__free(plan);
}

const plim_plan_report *plim_plan_get_report(const plim_plan *plan) { return plan ? &plan->report : NULL; }

/* The heap is tidied once more: plans for other batches were made and freed since. */
static plim_status make_ready(plim__training_plan *plan, uint64_t budget, plim_error *error) {
    plan->request.purpose = PLIM__PLAN_TO_RUN;
    plan->bounds.budget = budget;
    plan->bounds.base_bytes = 0;
    if (!budget) return PLIM_OK;
    PLIM_TRY(plim__process_measure(plan, error));
    plim__process_count_planning(plan);
    if (plim__process_fits_as_measured(plan)) return PLIM_OK;
    return plim__fail(error, PLIM_BUDGET, "the plan was made for a smaller process: this one holds more by now");
}

plim_status plim__plan_release(plim_plan *plan, plim__training_plan **training, plim_error *error) {
    *training = NULL;
    plim_status status = plan->report.fits
                             ? make_ready(plan->training, plan->report.budget_bytes, error)
                             : plim__fail(error, PLIM_BUDGET, "there is no plan to train by: %s", plan->report.why);
    if (status == PLIM_OK) {
        *training = plan->training;
        plan->training = NULL;
    }
    plim_plan_free(plan);
    return status;
}

/* --- saving --------------------------------------------------------------------------------------------------- */

plim_status plim__plan_save(const plim_plan *plan, plim__timeline *picture, const char *path, plim_error *error) {
    const plim_plan_report *report = &plan->report;
    if (!report->fits) return plim__fail(error, PLIM_BUDGET, "there is no plan to save: %s", report->why);
    plim__free(picture->plan);
    picture->plan = NULL;
    PLIM_TRY(plim__saved_plan_text(plan->training, report->budget_bytes, &picture->plan, error));
    return plim__trace_write_timeline(picture, path, error);
}

plim_status plim_plan_save(const plim_plan *plan, const char *title, const char *command, const char *path,
                           plim_error *error) {
    plim__timeline timeline;
    PLIM__NEED(plan, error);
    PLIM__NEED(path, error);
    if (!title) title = "";
    if (!command) command = "plimsoll plan --budget";
    plim__timeline_init(&timeline, PLIM__SOURCE_PLAN);
    plim_status status = plim__plan_picture(plan, title, command, &timeline, error);
    if (status == PLIM_OK) status = plim__plan_save(plan, &timeline, path, error);
    plim__timeline_free(&timeline);
    return status;
}
