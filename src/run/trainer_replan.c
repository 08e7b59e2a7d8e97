/* Another plan for a run that is under way, for another budget or for undeclared sizes: trainable state goes to a file
 * without a name, everything else is created again, and training goes on where it was. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "mem/resident.h"
#include "run/recording.h"
#include "run/trainer.h"

/* Weights and state, between two plans: by name, another plan may have them in another order. */
struct saved {
    char *name;
    uint64_t offset;
};

struct aside {
    int fd;
    struct saved *list;
    size_t count;
};

static plim_status write_all(int fd, const char *data, size_t size, plim_error *error) {
    while (size > 0) {
        ssize_t done = write(fd, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return plim__fail(error, PLIM_IO, "cannot put weights aside: %s", strerror(errno));
        data += done;
        size -= (size_t)done;
    }
    return PLIM_OK;
}

/* Memory for one tensor between runs. */
static void *staging(const plim_trainer *t, size_t bytes) {
    return bytes <= t->arena.transient_bytes / 2
               ? t->arena.transient + t->arena.transient_bytes / 2 / PLIM__ALIGNMENT * PLIM__ALIGNMENT
               : plim__alloc(bytes);
}

static void end_staging(const plim_trainer *t, void *memory) {
    char *at = memory;
    if (at < t->arena.transient || at >= t->arena.transient + t->arena.transient_bytes) plim__free(memory);
}

static plim_status move_tensor(plim_trainer *t, size_t index, const struct aside *aside, uint64_t *offset, bool out,
                               plim_error *error) {
    plim_trainer_tensor tensor;
    plim_trainer_get_tensor(t, index, &tensor);
    void *dense = staging(t, tensor.bytes);
    if (!dense) return plim__fail_memory(error, "putting a weight aside", tensor.bytes);
    plim_status status = out ? plim_trainer_read(t, index, dense, error)
                             : plim__file_read_at(aside->fd, dense, tensor.bytes, *offset, "weights put aside", error);
    if (status == PLIM_OK)
        status = out ? write_all(aside->fd, dense, tensor.bytes, error) : plim_trainer_write(t, index, dense, error);
    *offset += tensor.bytes;
    end_staging(t, dense);
    return status;
}

static plim_status save(plim_trainer *t, const struct aside *aside, plim_error *error) {
    uint64_t offset = 0;
    for (size_t i = 0; i < t->tensors.count; i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        aside->list[i].offset = offset;
        aside->list[i].name = plim__strdup(tensor.name);
        if (!aside->list[i].name) return plim__fail_memory(error, "putting weights aside", 1);
        PLIM_TRY(move_tensor(t, i, aside, &offset, true, error));
    }
    return PLIM_OK;
}

static plim_status restore(plim_trainer *t, const struct aside *aside, plim_error *error) {
    for (size_t i = 0; i < t->tensors.count; i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        size_t k = 0;
        while (k < aside->count && strcmp(aside->list[k].name, tensor.name) != 0) k++;
        if (k == aside->count) return plim__fail(error, PLIM_INTERNAL, "'%s' was not put aside", tensor.name);
        uint64_t offset = aside->list[k].offset;
        PLIM_TRY(move_tensor(t, i, aside, &offset, false, error));
    }
    return PLIM_OK;
}

/* Whether the budget can be met, before anything is given up. Transient pages are not needed meanwhile: planning has them. Where
 * the budget of now has no room for a second plan, only giving up the first one tells. */
static plim_status try_plan(plim_trainer *t, const plim__request *given, uint64_t budget, plim_error *error) {
    plim__bounds bounds = t->plan->bounds;
    plim__request wanted = *given;
    wanted.purpose = PLIM__PLAN_TO_TRY;
    plim__training_plan *trial;
    plim__arena_release_pages(&t->arena);
    if (bounds.budget && plim__resident_now() + plim__process_second_plan(t->plan) > bounds.budget) return PLIM_OK;
    bounds.planning_bytes = bounds.budget; /* which holds until the new one does */
    /* weights and programs are still there; no budget stays none */
    bounds.budget = budget ? budget + t->arena.persistent_bytes + t->plan->choice.program_bytes : 0;
    plim_status status = plim__training_plan_create(t->plan->model, &wanted, &bounds, &trial, error);
    if (status == PLIM_BUDGET) { /* by a quick search: a whole one may find more, and names what would do */
        plim__training_plan_free(trial);
        status = plim__training_plan_create(t->plan->model, given, &bounds, &trial, error);
    }
    plim__training_plan_free(trial);
    if (status != PLIM_OK) plim__arena_restore_pages(&t->arena);
    return status;
}

/* Until the plan is made the process may hold `planning` bytes; 0: what the machine allows. */
static plim_status begin_again(plim_trainer *t, const plim__request *request, uint64_t budget, size_t planning,
                               const struct aside *aside, plim_error *error) {
    plim__trainer_stop(t);
    plim__training_plan_clear(t->plan);
    plim__free((char *)t->plan->request.saved); /* that plan is over */
    t->plan->request = *request;
    t->plan->request.saved = NULL;
    t->plan->bounds.planning_bytes = planning;
    t->plan->bounds.budget = budget;
    plim_status status = plim__training_plan_renew(t->plan, error);
    t->plan->bounds.planning_bytes = 0;
    PLIM_TRY(status);
    PLIM_TRY(plim__trainer_start(t, error));
    PLIM_TRY(restore(t, aside, error));
    return plim__recording_prepare(t, error);
}

/* If the new plan cannot be started after all, the old one is: all that was learned is beside it, so that a moment above the
 * budget is the smaller loss. */
static plim_status change(plim_trainer *t, const plim__request *wanted, uint64_t budget, const struct aside *aside,
                          plim_error *error) {
    plim__request before = t->plan->request;
    uint64_t budget_before = t->plan->bounds.budget;
    before.data_held_bytes = wanted->data_held_bytes;
    before.alternatives = wanted->alternatives;
    PLIM_TRY(save(t, aside, error));
    plim_status status = begin_again(t, wanted, budget, budget_before, aside, error);
    if (status == PLIM_OK) {
        t->replans++;
        return PLIM_OK;
    }
    plim_error second;
    if (begin_again(t, &before, budget_before, 0, aside, &second) != PLIM_OK) {
        plim__trainer_stop(t);
        plim__training_plan_clear(t->plan);
        return plim__fail(error, second.status, "the old plan cannot be taken up again: %s", second.message);
    }
    return status;
}

plim_status plim__trainer_plan_again(plim_trainer *t, const plim__request *wanted, uint64_t budget, plim_error *error) {
    plim__request now = *wanted;
    now.alternatives = false;                                         /* training waits */
    const char *folder = plim__bounds_spill_folder(&t->plan->bounds); /* /tmp is memory on many machines */
    struct aside aside = {.fd = plim__file_unnamed(folder), .count = t->tensors.count};
    if (aside.fd < 0) return plim__fail_errno(error, errno, "cannot make a file in '%s' to put weights aside", folder);
    aside.list = plim__alloc_zero(aside.count, sizeof *aside.list);
    plim_status status = aside.list ? change(t, &now, budget, &aside, error)
                                    : plim__fail_memory(error, "putting weights aside", sizeof *aside.list);
    for (size_t i = 0; aside.list && i < aside.count; i++) plim__free(aside.list[i].name);
    plim__free(aside.list);
    close(aside.fd);
    return status;
}

plim_status plim_trainer_set_budget(plim_trainer *t, uint64_t budget, plim_error *error) {
    PLIM_TRY(plim__trainer_check(t, error));
    plim__request wanted = t->plan->request;
    wanted.saved = NULL;
    wanted.alternatives = false;
    wanted.data_held_bytes = UINT64_MAX; /* all data buffers are there by now */
    PLIM_TRY(try_plan(t, &wanted, budget, error));
    return plim__trainer_plan_again(t, &wanted, budget, error);
}
