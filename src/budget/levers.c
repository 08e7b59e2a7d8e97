/* From levers to programs. */
#include "budget/levers.h"

#include "core/error.h"
#include "plan/recompute.h"

size_t plim__task_programs(const plim__task *task, int64_t micro) {
    int64_t rest = task->training.batch % micro, last = task->last_samples % micro;
    return 1 + (size_t)(rest > 0) + (size_t)(last > 0 && last != rest) + (size_t)(task->irregular && micro > 1);
}

plim__training_options plim__levers_training(const plim__task *task, const plim__levers *levers) {
    plim__training_options options = task->training;
    options.batch = levers->micro_batch;
    options.whole = task->training.batch;
    options.sums = levers->micro_batch < task->training.batch;
    options.loss_rows = levers->loss_rows;
    options.state_bits = levers->state_bits;
    options.precision = levers->precision;
    options.stream = levers->stream;
    return options;
}

double plim__program_seconds(const plim__program *program, const double *seconds, int64_t runs) {
    double sum = 0;
    for (size_t s = 0; s < program->steps.count; s++)
        sum += seconds[s] * (program->steps.items[s].phase == PLIM__UPDATE ? 1 : (double)runs);
    return sum;
}

/* The order and the repetitions for a limit. */
static plim_status schedule_for(const plim__task *task, const plim__levers *levers, plim__variant *v, bool sums,
                                plim__frontier_point *point, plim_error *error) {
    plim__depend *depend = NULL;
    double *seconds = plim__costs_of(task->costs, v->lowered);
    plim_status status = seconds ? PLIM_OK : plim__fail_memory(error, "a plan", sizeof *seconds);
    if (status == PLIM_OK)
        status = plim__depend_create(v->lowered, &(plim__depend_options){.update_in_backward = !sums}, &depend, error);
    if (status == PLIM_OK)
        status = plim__recompute(depend,
                                 &(plim__recompute_options){
                                     .seconds = seconds, .threads = task->target.threads, .memory = task->search_bytes},
                                 levers->transient_limit, point, error);
    plim__depend_free(depend);
    plim__free(seconds);
    return status;
}

plim_status plim__levers_pack(const plim__task *task, const plim__levers *levers, const plim__base *base,
                              plim__variant *variant, plim_error *error) {
    plim__frontier_point point = {0};
    bool sums = plim__levers_training(task, levers).sums;
    plim_status status = schedule_for(task, levers, variant, sums, &point, error);
    if (status == PLIM_OK) status = plim__variant_pack(variant, &point.schedule, levers->spill, base, error);
    plim__schedule_free(&point.schedule);
    return status;
}

/* Parts of one batch combine alike, whatever their sizes. */
static plim_status check_part(const plim__variant *v, const plim__variant *like, plim_error *error) {
    const plim__batch_verdict *own = &v->training->split, *usual = &like->training->split;
    if (own->split >= usual->split && own->combine == usual->combine) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID, "%lld samples cannot be split off a batch: %s", (long long)v->samples,
                      own->why);
}

plim_status plim__levers_apply(const plim__task *task, const plim__levers *levers, const plim__base *base,
                               plim__variant **variant, plim_error *error) {
    plim__training_options options = plim__levers_training(task, levers);
    PLIM_TRY(plim__variant_create(task->model, &options, task->target, base ? base->like : NULL, variant, error));
    (*variant)->useful_bytes = task->useful_bytes;
    plim_status status = base && options.sums ? check_part(*variant, base->like, error) : PLIM_OK;
    if (status == PLIM_OK) status = plim__levers_pack(task, levers, base, *variant, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__variant_free(*variant);
    *variant = NULL;
    return status;
}

static plim_status check_schedule(const plim__variant *v, bool sums, const plim__schedule *schedule,
                                  plim_error *error) {
    plim__depend *depend = NULL;
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->steps[i] < 0 || (size_t)schedule->steps[i] >= v->lowered->steps.count)
            return plim__fail(error, PLIM_INVALID, "the plan is not one of this model: it names step %d of %zu",
                              (int)schedule->steps[i], v->lowered->steps.count);
    PLIM_TRY(plim__depend_create(v->lowered, &(plim__depend_options){.update_in_backward = !sums}, &depend, error));
    plim_error why = {0};
    bool valid = plim__schedule_is_valid(depend, schedule, &why);
    plim__depend_free(depend);
    return valid ? PLIM_OK : plim__fail(error, PLIM_INVALID, "the plan is not one of this model: %s", why.message);
}

plim_status plim__levers_pack_alike(const plim__task *task, const plim__levers *levers, const plim__base *base,
                                    plim__variant *variant, bool *same, plim_error *error) {
    const plim__variant *like = base->like;
    *same = like->schedule.count > 0 && like->lowered->steps.count == variant->lowered->steps.count;
    if (!*same) return PLIM_OK;
    plim_status status = check_schedule(variant, plim__levers_training(task, levers).sums, &like->schedule, error);
    *same = status == PLIM_OK;
    if (!*same) return status == PLIM_INVALID ? PLIM_OK : status;
    return plim__variant_pack(variant, &like->schedule, levers->spill, base, error);
}

plim_status plim__levers_apply_schedule(const plim__task *task, const plim__levers *levers,
                                        const plim__schedule *schedule, plim__variant **variant, plim_error *error) {
    plim__training_options options = plim__levers_training(task, levers);
    PLIM_TRY(plim__variant_create(task->model, &options, task->target, NULL, variant, error));
    plim_status status = check_schedule(*variant, options.sums, schedule, error);
    if (status == PLIM_OK) status = plim__variant_pack(*variant, schedule, levers->spill, NULL, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__variant_free(*variant);
    *variant = NULL;
    return status;
}

double plim__variant_seconds(const plim__variant *v, const plim__task *task) {
    int64_t runs = (task->training.batch + v->samples - 1) / v->samples;
    double sum = 0;
    for (size_t s = 0; s < v->program->steps.count; s++) {
        const plim__step *step = &v->program->steps.items[s];
        sum += plim__costs_seconds(task->costs, step) * (step->phase == PLIM__UPDATE ? 1 : (double)runs);
    }
    return sum + 2 * (double)plim__spill_updated_bytes(v->lowered) / task->costs->disk;
}
