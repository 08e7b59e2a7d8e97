/* Rates of steps, from small networks that together have the usual operators. */
#include "run/measure.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/arguments.h"
#include "kernel/processor.h"
#include "mem/cpu_load.h"
#include "mem/heap.h"
#include "mem/spill.h"
#include "plimsoll/machine.h"
#include "plimsoll/plan.h"
#include "plimsoll/zoo.h"
#include "run/trainer.h"

struct samples {
    PLIM_VEC(plim__timed) items;
};

static bool collect(const plim__program *program, const double *least, struct samples *all) {
    for (size_t s = 0; s < program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        plim__timed timed = {.seconds = least[s], .flops = step->cost.flops, .bytes = step->cost.bytes};
        snprintf(timed.label, sizeof timed.label, "%s", step->label);
        if (!plim__vec_push(&all->items, timed)) return false;
    }
    return true;
}

/* The fastest of a few rounds counts. */
static plim_status run_rounds(plim_trainer *t, int rounds, double *least, plim_error *error) {
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    int count = plim_trainer_fields(t, fields);
    plim_data *data;
    plim_data_batch batch;
    plim_feed feed;
    plim_data_options options = {.batch = t->plan->request.batch, .fields = fields, .field_count = count, .depth = 2};
    PLIM_TRY(plim_data_create("synthetic", &options, &data, error));
    plim_status status = plim_trainer_match(t, data, &feed, error);
    if (status == PLIM_OK) status = plim_data_next(data, &batch, error);
    for (int round = 0; status == PLIM_OK && round < rounds; round++) {
        plim_batch given = plim_feed_batch(t, &feed, &batch);
        status = plim_trainer_step(t, &given, NULL, error);
        for (size_t s = 0; status == PLIM_OK && s < t->plan->main->program->steps.count; s++)
            if (round == 0 || t->main.runner->seconds[s] < least[s]) least[s] = t->main.runner->seconds[s];
    }
    plim_data_free(data);
    return status;
}

/* Each kind once in the caches and once far beyond them. */
static const struct network {
    const char *name;
    plim_zoo_options options;
    int64_t batch;
    int rounds;
} networks[] = {
    {"resnet18", {.image = 112, .classes = 10, .width = 32}, 4, 3},
    {"resnet18", {.image = 128, .classes = 10}, 4, 2},
    {"gpt2-tiny", {.width = 256, .heads = 4, .layers = 1, .seq = 128}, 4, 3},
    {"gpt2-tiny", {.width = 512, .heads = 8, .layers = 1, .seq = 256, .classes = 4096}, 3, 2},
    {"unet", {.image = 64, .width = 16}, 2, 3},
    {"unet", {.image = 96, .width = 32}, 2, 2},
    {"mobilenet_v2", {.image = 64, .classes = 10}, 4, 3},
    {"mobilenet_v2", {.image = 128, .classes = 10}, 8, 2},
    {"lenet", {0}, 64, 3},
    {"lstm", {.width = 64, .seq = 32}, 8, 2},
};

static plim_status measure_one(const struct network *n, int threads, struct samples *all, plim_error *error) {
    plim_graph *model;
    plim_trainer *t;
    PLIM_TRY(plim_zoo_create(n->name, &n->options, &model, error));
    plim_trainer_options options = {.batch = n->batch,
                                    .threads = threads,
                                    .measure = 1,
                                    .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    plim_status status = plim_trainer_create(model, &options, &t, error);
    if (status == PLIM_OK) {
        double *least = plim__alloc_array(t->plan->main->program->steps.count, sizeof *least);
        status = least ? run_rounds(t, n->rounds, least, error) : plim__fail_memory(error, "measuring", sizeof *least);
        if (status == PLIM_OK && !collect(t->plan->main->program, least, all))
            status = plim__fail_memory(error, "measuring", sizeof *least);
        plim__free(least);
        plim_trainer_free(t);
    }
    plim_graph_free(model);
    return status;
}

/* Where state would be spilled to; where that cannot be, nothing depends on it. */
static void measure_disk(plim__costs *costs) {
    costs->disk = PLIM__DEFAULT_DISK;
    plim__spill_rate(plim__spill_default_folder(), &costs->disk, NULL);
}

plim_status plim__costs_measure(int threads, plim__costs *costs, plim_error *error) {
    struct samples all = {0};
    plim_status status = PLIM_OK;
    plim__cpu_load load = plim__cpu_load_begin();
    for (size_t i = 0; status == PLIM_OK && i < sizeof networks / sizeof *networks; i++)
        status = measure_one(&networks[i], threads, &all, error);
    if (status == PLIM_OK) {
        plim__costs_fit(costs, all.items.items, all.items.count);
        costs->others = plim__cpu_load_others(&load);
        measure_disk(costs);
    }
    plim__vec_free(&all.items);
    return status;
}

plim_status plim__costs_renew(int threads, plim__costs *costs, plim_error *error) {
    PLIM_TRY(plim__costs_measure(threads, costs, error));
    plim__costs_store(threads, costs);
    return PLIM_OK;
}

static void publish(const plim__costs *from, bool measured, plim_machine_costs *to) {
    *to = (plim_machine_costs){.measured = measured,
                               .flops = from->flops,
                               .bytes = from->bytes,
                               .step_seconds = from->step,
                               .disk_bytes = from->disk,
                               .busy = from->others};
    for (size_t i = 0; i < from->count && i < PLIM_MACHINE_RATES; i++) {
        plim_machine_rate *rate = &to->rates[to->rate_count++];
        memcpy(rate->label, from->rates[i].label, sizeof rate->label);
        rate->flops = from->rates[i].flops;
        rate->bytes = from->rates[i].bytes;
    }
}

plim_status plim_machine_get_costs(int threads, plim_machine_costs *costs, plim_error *error) {
    plim__costs known;
    PLIM__NEED(costs, error);
    memset(costs, 0, sizeof *costs);
    PLIM_TRY(plim__threads_check(threads, error));
    bool measured = plim__costs_known(threads > 0 ? threads : 1, &known);
    publish(&known, measured, costs);
    return PLIM_OK;
}

/* Not while others have the processors, nor where it would have to be done again each time. */
#define WAITING_NANOSECONDS 200000000

static bool is_worth_it(int threads) {
    plim__cpu_load load = plim__cpu_load_begin();
    if (!plim__costs_storable(threads)) return false;
    (void)nanosleep(&(struct timespec){.tv_nsec = WAITING_NANOSECONDS}, NULL);
    return plim__cpu_load_others(&load) <= PLIM__BUSY;
}

plim_status plim_machine_measure(int threads, int again, plim_machine_costs *costs, plim_error *error) {
    plim__costs known;
    if (costs) memset(costs, 0, sizeof *costs);
    PLIM_TRY(plim__threads_check(threads, error));
    if (threads < 1) threads = 1;
    bool measured = !again && plim__costs_known(threads, &known);
    if (again || (!measured && is_worth_it(threads))) {
        PLIM_TRY(plim__costs_renew(threads, &known, error));
        measured = true;
    }
    if (costs) publish(&known, measured, costs);
    return PLIM_OK;
}

plim_status plim_machine_prepare(int threads, plim_error *error) {
    PLIM_TRY(plim__threads_check(threads, error));
    plim__heap_prepare();
    return plim__processor_warm(threads, error);
}
