/* Variants: build, lower, order, pack. */
#include "plan/variant.h"

#include "core/error.h"
#include "program/stream.h"

/* Many variants are packed while a plan is searched for; placements found later than this hardly differ. */
#define PACK_WORK 20000000

static size_t last_writer(const plim__program *program, plim_value value) {
    int32_t buffer = value < 0 ? -1 : program->values[value].buffer;
    size_t last = 0;
    for (size_t s = 0; buffer >= 0 && s < program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        for (int32_t i = 0; i < step->out_count; i++)
            if (step->operands[step->in_count + i].buffer == buffer) last = s + 1;
    }
    return last;
}

static void find_after_loss(plim__variant *v) {
    plim_value values[] = {v->training->loss, v->training->weight, v->training->correct};
    v->after_loss = 0;
    for (int i = 0; i < 3; i++) {
        size_t last = last_writer(v->program, values[i]);
        if (last > v->after_loss) v->after_loss = last;
    }
    v->after_check = last_writer(v->program, v->training->checked);
}

plim_status plim__variant_create(const plim_graph *model, const plim__training_options *options, plim__target target,
                                 const plim__variant *like, plim__variant **variant, plim_error *error) {
    plim__variant *v = *variant = plim__alloc_zero(1, sizeof *v);
    if (!v) return plim__fail_memory(error, "a plan", sizeof *v);
    v->samples = options->batch;
    plim__training_options with_fold = *options;
    with_fold.fold = target.device->fold;
    bool bf16 = options->narrow_factors && options->precision == PLIM_PRECISION_BF16 && target.device->multiplies &&
                target.device->multiplies(PLIM_BF16);
    with_fold.narrow_factors = bf16;
    target.factors = bf16 ? PLIM_BF16 : PLIM_DTYPE_NONE;
    /* the backward pass has as many nodes again, at least */
    plim_status status = plim__program_check_room(target.room, 2 * model->nodes.count, error);
    if (status == PLIM_OK) status = plim__training_create(model, &with_fold, &v->training, error);
    if (status == PLIM_OK)
        status = plim__program_create(v->training->graph, target, like ? like->lowered : NULL, &v->lowered, error);
    if (status == PLIM_OK && options->stream)
        status = plim__program_stream(v->lowered, like ? like->lowered : NULL, error);
    v->program = v->lowered;
    if (status == PLIM_OK) status = plim__spill_list_make(v->lowered, &v->spillable, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__variant_free(v);
    *variant = NULL;
    return status;
}

static void unpack(plim__variant *v) {
    plim__plan_free(v->plan);
    if (v->program != v->lowered) plim__program_free(v->program);
    v->plan = NULL;
    v->program = v->lowered;
}

plim_status plim__variant_pack(plim__variant *v, const plim__schedule *schedule, size_t spill, const plim__base *base,
                               plim_error *error) {
    const plim__variant *like = base ? base->like : NULL;
    plim__schedule copy = {0};
    if (schedule) PLIM_TRY(plim__schedule_copy(schedule->steps, schedule->count, &copy, error));
    unpack(v);
    plim__schedule_free(&v->schedule);
    v->schedule = copy;
    v->repeated = 0;
    if (like)
        plim__spill_mark_like(v->lowered, like->lowered);
    else
        plim__spill_mark(v->lowered, &v->spillable, spill);
    if (schedule) {
        schedule = &v->schedule;
        plim__program *scheduled;
        PLIM_TRY(plim__schedule_apply(v->lowered, schedule, &scheduled, error));
        v->program = scheduled;
        v->repeated = schedule->count - v->lowered->steps.count;
    }
    plim__plan_options planning = {.shared = like ? like->plan : NULL,
                                   .persistent_from = base ? base->persistent_from : 0,
                                   .pack_work = PACK_WORK,
                                   .useful_bytes = v->useful_bytes};
    PLIM_TRY(plim__plan_create(v->program, &planning, &v->plan, error));
    find_after_loss(v);
    return PLIM_OK;
}

void plim__variant_free(plim__variant *v) {
    if (!v) return;
    unpack(v);
    plim__schedule_free(&v->schedule);
    plim__spill_list_free(&v->spillable);
    plim__program_free(v->lowered);
    plim__training_free(v->training);
    plim__free(v);
}

size_t plim__variant_transient_bytes(const plim__variant *v) {
    return v->plan->arena_bytes - v->plan->persistent_bytes;
}

plim_class plim__split_class(plim__split split) { return split == PLIM__SPLIT_REORDERED ? PLIM_REORDERED : PLIM_LOSSY; }

plim_class plim__variant_run_class(const plim__variant *v, int64_t batch) {
    return v->samples < batch ? plim__split_class(v->training->split.split) : PLIM_EXACT;
}

plim_class plim__variant_class(const plim__variant *v, int64_t batch) {
    const plim__training *t = v->training;
    bool file = t->base == PLIM__PACKED_FILE; /* products in pieces, of the same numbers */
    if (t->state_saved || t->narrow_saved || (t->base_saved && !file)) return PLIM_LOSSY;
    plim_class run = plim__variant_run_class(v, batch);
    return file && run == PLIM_EXACT ? PLIM_REORDERED : run;
}
