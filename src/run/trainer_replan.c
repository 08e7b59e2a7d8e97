/* Another plan for a run that is under way, for another budget or for sizes that nobody had announced: what is learned goes
 * to a file without a name, everything else is made anew, and training goes on where it was. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "run/recording.h"
#include "run/trainer.h"

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

static plim_status move_tensor(plim_trainer *t, size_t index, int fd, uint64_t *offset, bool out, plim_error *error) {
    plim_trainer_tensor tensor;
    plim_trainer_get_tensor(t, index, &tensor);
    void *dense = staging(t, tensor.bytes);
    if (!dense) return plim__fail_memory(error, "putting a weight aside", tensor.bytes);
    plim_status status = out ? plim_trainer_read(t, index, dense, error)
                             : plim__file_read_at(fd, dense, tensor.bytes, *offset, "weights put aside", error);
    if (status == PLIM_OK)
        status = out ? write_all(fd, dense, tensor.bytes, error) : plim_trainer_write(t, index, dense, error);
    *offset += tensor.bytes;
    end_staging(t, dense);
    return status;
}

/* Another plan may keep things in another order: by name. */
struct saved {
    char *name;
    uint64_t offset;
};

static plim_status save(plim_trainer *t, int fd, struct saved *list, plim_error *error) {
    uint64_t offset = 0;
    for (size_t i = 0; i < t->tensors.count; i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        list[i].offset = offset;
        list[i].name = plim__strdup(tensor.name);
        if (!list[i].name) return plim__fail_memory(error, "putting weights aside", 1);
        PLIM_TRY(move_tensor(t, i, fd, &offset, true, error));
    }
    return PLIM_OK;
}

static plim_status restore(plim_trainer *t, int fd, const struct saved *list, size_t count, plim_error *error) {
    for (size_t i = 0; i < t->tensors.count; i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        size_t k = 0;
        while (k < count && strcmp(list[k].name, tensor.name) != 0) k++;
        if (k == count) return plim__fail(error, PLIM_INTERNAL, "'%s' was not put aside", tensor.name);
        uint64_t offset = list[k].offset;
        PLIM_TRY(move_tensor(t, i, fd, &offset, false, error));
    }
    return PLIM_OK;
}

/* Whether the budget can be met, before anything is given up. What passes is not needed meanwhile: its pages are
 * there for planning. */
static plim_status try_plan(plim_trainer *t, uint64_t budget, plim_error *error) {
    plim_trainer_options options = t->options;
    options.plan_only = 1;
    options.plan = NULL;
    options.alternatives = 0;
    options.data_held_bytes = UINT64_MAX;                             /* all data buffers are there by now */
    options.budget = budget ? budget + t->arena.persistent_bytes : 0; /* the weights still are; no budget stays none */
    plim_trainer *trial;
    plim__arena_release_pages(&t->arena);
    plim_status status = plim_trainer_create(t->model, &options, &trial, error);
    plim_trainer_free(trial);
    if (status != PLIM_OK) plim__arena_restore_pages(&t->arena);
    return status;
}

static plim_status begin_again(plim_trainer *t, const plim_trainer_options *options, int fd, const struct saved *list,
                               size_t count, plim_error *error) {
    plim__trainer_end(t);
    t->options = *options;
    t->options.plan = NULL;
    t->explore = false; /* training waits */
    PLIM_TRY(plim__trainer_begin(t, error));
    PLIM_TRY(restore(t, fd, list, count, error));
    return plim__recording_prepare(t, error);
}

/* If the new plan cannot be started after all, the old one is. */
static plim_status change(plim_trainer *t, const plim_trainer_options *wanted, int fd, struct saved *list,
                          plim_error *error) {
    size_t count = t->tensors.count;
    plim_trainer_options before = t->options;
    before.data_held_bytes = wanted->data_held_bytes;
    PLIM_TRY(save(t, fd, list, error));
    plim_status status = begin_again(t, wanted, fd, list, count, error);
    if (status == PLIM_OK) {
        t->replans++;
        return PLIM_OK;
    }
    plim_error second;
    if (begin_again(t, &before, fd, list, count, &second) != PLIM_OK) {
        plim__trainer_end(t);
        return plim__fail(error, second.status, "the old plan cannot be taken up again: %s", second.message);
    }
    return status;
}

plim_status plim__trainer_plan_again(plim_trainer *t, const plim_trainer_options *wanted, plim_error *error) {
    const char *folder =
        plim__trainer_spill_folder(t); /* /tmp is memory on many machines, and memory is what is short */
    int fd = plim__file_unnamed(folder);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot make a file in '%s' to put weights aside", folder);
    size_t count = t->tensors.count;
    struct saved *list = plim__alloc_zero(count, sizeof *list);
    plim_status status = list ? change(t, wanted, fd, list, error)
                              : plim__fail_memory(error, "putting weights aside", count * sizeof *list);
    for (size_t i = 0; list && i < count; i++) plim__free(list[i].name);
    plim__free(list);
    close(fd);
    return status;
}

plim_status plim_trainer_set_budget(plim_trainer *t, uint64_t budget, plim_error *error) {
    if (!t->main || !t->main->runner) return plim__fail(error, PLIM_INVALID, "this trainer only plans");
    PLIM_TRY(try_plan(t, budget, error));
    plim_trainer_options wanted = t->options;
    wanted.budget = budget;
    wanted.data_held_bytes = UINT64_MAX; /* all data buffers are there by now */
    return plim__trainer_plan_again(t, &wanted, error);
}
