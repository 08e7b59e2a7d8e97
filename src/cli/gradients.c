/* Gradients to files. */
#include "cli/gradients.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/vec.h"
#include "plimsoll/array.h"

struct collected {
    PLIM_VEC(plim_array) items;
    bool failed; /* memory was short */
};

static void collect(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    struct collected *c = context;
    int64_t elements = 1;
    for (int i = 0; i < rank; i++) elements *= dims[i];
    plim_array item = {.dtype = PLIM_F32, .rank = rank, .bytes = (size_t)elements * sizeof *values};
    for (int i = 0; i < rank; i++) item.dims[i] = dims[i];
    char *copy = plim__strdup(name);
    item.name = copy;
    item.data = plim__alloc(item.bytes);
    if (copy && item.data && !c->failed && plim__vec_push(&c->items, item)) {
        memcpy(item.data, values, item.bytes);
        return;
    }
    plim__free(copy);
    plim__free(item.data);
    c->failed = true;
}

static plim_status dump(plim_trainer *trainer, plim_data *data, const char *path, struct collected *c,
                        plim_error *error) {
    plim_feed feed;
    plim_data_batch batch;
    PLIM_TRY(plim_trainer_match(trainer, data, &feed, error));
    PLIM_TRY(plim_data_next(data, &batch, error));
    plim_batch given = plim_feed_batch(trainer, &feed, &batch);
    PLIM_TRY(plim_trainer_gradients(trainer, &given, collect, c, error));
    if (c->failed) return plim__fail_memory(error, "gradients", sizeof(float));
    return plim_arrays_save(c->items.items, c->items.count, path, error);
}

plim_status plim__gradients_dump(plim_trainer *trainer, plim_data *data, const char *path, plim_error *error) {
    struct collected c = {0};
    plim_data_position start = plim_data_tell(data);
    plim_status status = dump(trainer, data, path, &c, error);
    if (status == PLIM_OK) status = plim_data_seek(data, start, error);
    for (size_t i = 0; i < c.items.count; i++) {
        plim__free((void *)(uintptr_t)c.items.items[i].name);
        plim__free(c.items.items[i].data);
    }
    plim__vec_free(&c.items);
    return status;
}
