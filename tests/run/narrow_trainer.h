/* Trainers in 16 bits, beside the same in float32. */
#ifndef PLIM_TESTS_RUN_NARROW_TRAINER_H
#define PLIM_TESTS_RUN_NARROW_TRAINER_H

#include "run/one_batch.h"
#include "run/same_trainer.h"

static plim_trainer *trainer_of(const plim_graph *model, plim_precision precision, uint64_t budget) {
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 2,
                              .precision = precision,
                              .budget = budget,
                              .allow = PLIM_ALLOW_EXACT,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    plim_trainer *trainer;
    must(plim_trainer_create(model, &o, &trainer, &error));
    return trainer;
}

static struct gradients gradients_of(const plim_graph *model, plim_precision precision) {
    plim_trainer *trainer = trainer_of(model, precision, 0);
    struct gradients all = gradients_by(trainer);
    plim_trainer_free(trainer);
    return all;
}

/* Recompute repeats the rounding too. */
static void must_be_the_same_at_the_least_budget(plim_precision precision) {
    plim_graph *model = zoo("vit-tiny", (plim_zoo_options){.width = 96, .layers = 4, .heads = 3});
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 2,
                              .precision = precision,
                              .allow = PLIM_ALLOW_EXACT,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    plim_plan *plan;
    must(plim_plan_create(model, &o, &plan, &error));
    uint64_t least = plim_plan_get_report(plan)->minimum_budget_bytes;
    plim_plan_free(plan);
    plim_trainer *tight = trainer_of(model, precision, least + (1 << 20)), *free_one = trainer_of(model, precision, 0);
    plim_trainer_stats stats;
    plim_trainer_get_stats(tight, &stats);
    assert_true(stats.repeated > 0);
    assert_int_equal(stats.precision, precision);
    plim_batch batch = batch_of(free_one);
    plim_step_result result;
    for (int i = 0; i < 3; i++) {
        must(plim_trainer_step(free_one, &batch, &result, &error));
        must(plim_trainer_step(tight, &batch, &result, &error));
    }
    must_be_equal(free_one, tight, "at the smallest budget");
    batch_free(&batch);
    plim_trainer_free(tight);
    plim_trainer_free(free_one);
    plim_graph_free(model);
}

#endif
