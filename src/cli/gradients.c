/* Gradients to files. */
#include "cli/gradients.h"

#include <string.h>

#include "core/error.h"
#include "format/safetensors.h"

struct collected {
    PLIM_VEC(plim__weight) items;
    PLIM_VEC(float *) data;
    bool failed; /* memory was short */
};

static void collect(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    struct collected *c = context;
    plim__weight item = {.name = plim__strdup(name), .dtype = PLIM_F32, .shape = plim__shape_of(rank, dims)};
    size_t bytes = (size_t)plim__shape_elements(&item.shape) * sizeof *values;
    float *copy = plim__alloc(bytes);
    if (item.name && copy && !c->failed && plim__vec_reserve(&c->items, c->items.count + 1) &&
        plim__vec_reserve(&c->data, c->data.count + 1)) {
        memcpy(copy, values, bytes);
        c->items.items[c->items.count++] = item;
        c->data.items[c->data.count++] = copy;
        return;
    }
    plim__free((void *)(uintptr_t)item.name);
    plim__free(copy);
    c->failed = true;
}

static const void *look(void *context, size_t index) { return ((const struct collected *)context)->data.items[index]; }

static plim_status dump(plim_trainer *trainer, plim_data *data, const char *path, struct collected *c,
                        plim_error *error) {
    plim_feed feed;
    plim_data_batch batch;
    PLIM_TRY(plim_trainer_match(trainer, data, &feed, error));
    PLIM_TRY(plim_data_next(data, &batch, error));
    plim_batch given = plim_feed_batch(trainer, &feed, &batch);
    PLIM_TRY(plim_trainer_gradients(trainer, &given, collect, c, error));
    if (c->failed) return plim__fail_memory(error, "gradients", sizeof(float));
    plim__weights weights = {.items = c->items.items, .count = c->items.count, .context = c, .look = look};
    return plim__safetensors_write(path, &weights, NULL, 0, error);
}

plim_status plim__gradients_dump(plim_trainer *trainer, plim_data *data, const char *path, plim_error *error) {
    struct collected c = {0};
    plim_data_position start = plim_data_tell(data);
    plim_status status = dump(trainer, data, path, &c, error);
    if (status == PLIM_OK) status = plim_data_seek(data, start, error);
    for (size_t i = 0; i < c.items.count; i++) {
        plim__free((void *)(uintptr_t)c.items.items[i].name);
        plim__free(c.data.items[i]);
    }
    plim__vec_free(&c.items);
    plim__vec_free(&c.data);
    return status;
}
