/* Settings: building, exploring, and what is left when the program is gone. */
#include "budget/setting.h"

#include <string.h>

#include "core/error.h"
#include "mem/pages.h"
#include "plan/recompute.h"

#define PAGE ((size_t)65536) /* of whole pages, on any machine */

/* --- building --------------------------------------------------------------------------------------------------- */

/* Of weights that are streamed, the window is always there. */
static size_t persistent_bytes(const plim__program *program) {
    size_t bytes = plim__streamed_bytes(program) ? plim__spill_window_bytes(program) : 0;
    for (size_t b = 0; b < program->buffers.count; b++)
        if (program->buffers.items[b].persistent && !program->buffers.items[b].streamed)
            bytes += (program->buffers.items[b].bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT;
    return bytes;
}

/* What some step holds at once, whatever the order. */
static size_t least_transient(const plim__depend *d) {
    int64_t most = 0;
    for (size_t s = 0; s < d->step_count; s++) {
        int64_t bytes = d->scratch[s] - (d->over[s] >= 0 ? d->bytes[d->onto[s]] : 0);
        for (int32_t i = d->reads.start[s]; i < d->reads.start[s + 1]; i++) bytes += d->bytes[d->reads.items[i]];
        for (int32_t i = d->makes.start[s]; i < d->makes.start[s + 1]; i++) bytes += d->bytes[d->makes.items[i]];
        if (bytes > most) most = bytes;
    }
    return (size_t)most;
}

/* What is left of a batch after all micro-batches must be splittable likewise. */
static plim_status judge_rest(const plim__task *task, const plim__setting *s, int64_t rest, bool *splits,
                              plim_error *error) {
    plim__training_options options = plim__levers_training(task, &s->levers);
    plim__batch_verdict verdict;
    options.batch = rest;
    options.fold = task->target.device->fold;
    if (!*splits || rest == 0) return PLIM_OK;
    PLIM_TRY(plim__training_judge(task->model, &options, &verdict, error));
    *splits =
        verdict.split >= s->variant->training->split.split && verdict.combine == s->variant->training->split.combine;
    return PLIM_OK;
}

static plim_status judge(const plim__task *task, const plim__setting *s, bool *splits, plim_error *error) {
    int64_t micro = s->levers.micro_batch;
    *splits = s->variant->training->split.split != PLIM__SPLIT_NEVER;
    PLIM_TRY(judge_rest(task, s, task->training.batch % micro, splits, error));
    return judge_rest(task, s, task->last_samples % micro, splits, error);
}

static plim__depend_options depend_options(const plim__task *task, const plim__setting *s) {
    return (plim__depend_options){.update_in_backward = !plim__levers_training(task, &s->levers).sums};
}

static plim_status note(plim__setting *s, const plim__task *task, plim_error *error) {
    const plim__program *program = s->variant->lowered;
    plim__depend_options options = depend_options(task, s);
    plim__depend *depend;
    double *seconds = plim__costs_of(task->costs, program);
    if (!seconds) return plim__fail_memory(error, "a plan", sizeof *seconds);
    s->runs = (task->training.batch + s->levers.micro_batch - 1) / s->levers.micro_batch;
    s->update_seconds = plim__program_seconds(program, seconds, s->runs);
    plim__free(seconds);
    s->step_count = program->steps.count;
    s->persistent_bytes = persistent_bytes(program);
    s->streamed_bytes = plim__streamed_bytes(program);
    s->window = s->streamed_bytes ? 0 : plim__spill_window_bytes(program);
    s->update_seconds += 2 * (double)plim__spill_updated_bytes(program) / task->costs->disk;
    s->program_bytes = plim__program_bytes(program);
    s->programs = plim__task_programs(task, s->levers.micro_batch);
    s->working_bytes = plim__working_bytes(s->step_count);
    s->class = plim__variant_class(s->variant, task->training.batch);
    s->split = s->variant->training->split.split;
    s->classes = s->variant->training->classes;
    if (s->class < PLIM_REORDERED && s->levers.loss_rows > 0) s->class = PLIM_REORDERED;
    s->unasked = s->class;
    bool state = s->variant->training->state_saved && task->training.optimizer->state_bits != 8,
         precision = s->variant->training->narrow_saved && task->training.precision == PLIM_PRECISION_DEFAULT;
    if (!state && !precision) { /* what is lossy was asked for, if anything is */
        s->unasked = plim__variant_run_class(s->variant, task->training.batch);
        if (s->unasked < PLIM_REORDERED && s->levers.loss_rows > 0) s->unasked = PLIM_REORDERED;
    }
    PLIM_TRY(plim__spill_list_make(program, &s->spillable, error));
    PLIM_TRY(plim__depend_create(program, &options, &depend, error));
    s->least_transient = least_transient(depend);
    plim__depend_free(depend);
    return PLIM_OK;
}

static bool means_unbuildable(plim_status status) {
    return status == PLIM_SHAPE || status == PLIM_DTYPE || status == PLIM_UNSUPPORTED || status == PLIM_INVALID ||
           status == PLIM_CORRUPT || status == PLIM_OVERFLOW;
}

/* Parts for which the model cannot be built, or which do not make a batch, are no failure: the whole, which was asked for,
 * is. Nor are programs that planning has no room for. */
static plim_status build(plim__setting *s, const plim__task *task, plim_error *error) {
    bool requested = s->levers.micro_batch == task->most_samples, splits = true;
    plim_status status = plim__setting_revive(s, task, error);
    if (status == PLIM_OK && !requested) status = judge(task, s, &splits, error);
    s->usable = status == PLIM_OK && splits;
    if (s->usable) return note(s, task, error);
    plim__setting_release(s);
    return status == PLIM_BUDGET || (!requested && means_unbuildable(status)) ? PLIM_OK : status;
}

plim_status plim__setting_create(const plim__task *task, plim__levers levers, plim__setting **setting,
                                 plim_error *error) {
    plim__setting *s = *setting = plim__alloc_zero(1, sizeof *s);
    if (!s) return plim__fail_memory(error, "a plan", sizeof *s);
    s->levers = levers;
    plim_status status = build(s, task, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__setting_free(s);
    *setting = NULL;
    return status;
}

plim_status plim__setting_revive(plim__setting *s, const plim__task *task, plim_error *error) {
    plim__training_options options = plim__levers_training(task, &s->levers);
    return s->variant ? PLIM_OK : plim__variant_create(task->model, &options, task->target, NULL, &s->variant, error);
}

void plim__setting_release(plim__setting *s) {
    plim__variant_free(s->variant);
    s->variant = NULL;
}

void plim__setting_free(plim__setting *s) {
    if (!s) return;
    plim__setting_release(s);
    plim__spill_list_free(&s->spillable);
    plim__vec_free(&s->points);
    plim__pages_give(s->pages, s->page_bytes);
    plim__free(s);
}

/* --- points ------------------------------------------------------------------------------------------------------- */

static size_t page_bytes(size_t steps) { return (steps * sizeof(int32_t) + PAGE) / PAGE * PAGE; }

static plim_status take_points(plim__setting *s, const plim__frontier *frontier, plim_error *error) {
    size_t steps = 0, at = 0;
    for (size_t i = 0; i < frontier->points.count; i++) steps += frontier->points.items[i].schedule.count;
    s->pages = plim__pages_take(page_bytes(steps));
    if (!s->pages) return plim__fail_memory(error, "schedules", page_bytes(steps));
    s->page_bytes = page_bytes(steps);
    for (size_t i = 0; i < frontier->points.count; i++) {
        const plim__frontier_point *from = &frontier->points.items[i];
        size_t count = from->schedule.count;
        plim__point point = {from->peak_bytes, from->extra_seconds, {s->pages + at, count}};
        memcpy(s->pages + at, from->schedule.steps, count * sizeof *s->pages);
        if (!plim__vec_push(&s->points, point)) return plim__fail_memory(error, "schedules", sizeof point);
        at += count;
    }
    if (s->points.count > 0) {
        s->first_transient = (size_t)s->points.items[0].peak_bytes;
        s->last_transient = (size_t)s->points.items[s->points.count - 1].peak_bytes;
        s->last_seconds = s->points.items[s->points.count - 1].extra_seconds;
    }
    s->explored = true;
    return PLIM_OK;
}

plim_status plim__setting_explore(plim__setting *s, const plim__task *task, int effort, int64_t least,
                                  plim_error *error) {
    PLIM_TRY(plim__setting_revive(s, task, error));
    plim__depend_options options = depend_options(task, s);
    plim__depend *depend = NULL;
    plim__frontier *frontier = NULL;
    double *seconds = plim__costs_of(task->costs, s->variant->lowered);
    plim__recompute_options search = {.seconds = seconds,
                                      .effort = effort,
                                      .threads = task->target.threads,
                                      .memory = task->search_bytes,
                                      .work = s->work,
                                      .least = least};
    plim_status status = seconds ? PLIM_OK : plim__fail_memory(error, "a plan", sizeof *seconds);
    if (status == PLIM_OK) status = plim__depend_create(s->variant->lowered, &options, &depend, error);
    if (status == PLIM_OK) status = plim__frontier_create(depend, &search, &frontier, error);
    if (status == PLIM_OK) status = take_points(s, frontier, error);
    plim__frontier_free(frontier);
    plim__depend_free(depend);
    plim__free(seconds);
    return status;
}

const plim__point *plim__setting_point(const plim__setting *s, int64_t bytes) {
    for (size_t i = 0; i < s->points.count; i++)
        if (s->points.items[i].peak_bytes <= bytes) return &s->points.items[i];
    return NULL;
}

void plim__setting_keep(plim__setting *s, const bool *wanted) {
    size_t count = 0, at = 0;
    for (size_t i = 0; i < s->points.count; i++) {
        plim__point point = s->points.items[i];
        if (!wanted[i]) continue;
        memmove(s->pages + at, point.schedule.steps, point.schedule.count * sizeof *s->pages);
        point.schedule.steps = s->pages + at;
        at += point.schedule.count;
        s->points.items[count++] = point;
    }
    size_t bytes = page_bytes(at);
    s->points.count = count;
    if (!s->pages || bytes >= s->page_bytes) return;
    plim__pages_give((char *)s->pages + bytes, s->page_bytes - bytes);
    s->page_bytes = bytes;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* As seen with networks of 10 to 500 layers: what searching holds is the most of it. */
#define WORKING_BYTES      ((size_t)1984 << 10)
#define WORKING_STEP_BYTES ((size_t)640)
#define PACKING_BYTES      ((size_t)768 << 10)
#define PACKING_STEP_BYTES ((size_t)192)

size_t plim__working_bytes(size_t steps) { return WORKING_BYTES + steps * WORKING_STEP_BYTES; }
size_t plim__packing_bytes(size_t steps) { return PACKING_BYTES + steps * PACKING_STEP_BYTES; }
