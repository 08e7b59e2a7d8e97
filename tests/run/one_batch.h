/* One batch that fits any model of the zoo, the gradients that a trainer finds for it, and how far two of them are apart. */
#ifndef PLIM_TESTS_RUN_ONE_BATCH_H
#define PLIM_TESTS_RUN_ONE_BATCH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define BATCH 8

static plim_error error;

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

static inline plim_graph *zoo(const char *name, plim_zoo_options sizes) {
    plim_graph *model;
    must(plim_zoo_create(name, &sizes, &model, &error));
    return model;
}

/* Free its fields with batch_free. */
static plim_batch batch_of(const plim_trainer *trainer) {
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    int count = plim_trainer_fields(trainer, fields);
    plim_batch batch = {.count = BATCH};
    for (int f = 0; f < count; f++) {
        size_t number = BATCH;
        for (int i = 0; i < fields[f].rank; i++) number *= (size_t)fields[f].dims[i];
        void *data = calloc(number, 8);
        assert_non_null(data);
        for (size_t i = 0; i < number; i++)
            if (fields[f].dtype == PLIM_F32)
                ((float *)data)[i] = (float)(i * 7919 % 251) / 125 - 1;
            else
                ((int64_t *)data)[i] = (int64_t)(i * 31 % (size_t)(fields[f].classes > 0 ? fields[f].classes : 2));
        if (fields[f].target)
            batch.target = data;
        else
            batch.inputs[f] = data;
    }
    return batch;
}

static void batch_free(plim_batch *batch) {
    for (int i = 0; i < PLIM_MOST_INPUTS; i++) free((void *)batch->inputs[i]);
    free((void *)batch->target);
}

struct gradients {
    float *values;
    size_t count;
    double loss;
};

static void collect(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    struct gradients *all = context;
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    (void)name;
    all->values = realloc(all->values, (all->count + count) * sizeof *all->values);
    assert_non_null(all->values);
    memcpy(all->values + all->count, values, count * sizeof *values);
    all->count += count;
}

static inline struct gradients gradients_by(plim_trainer *trainer) {
    plim_batch batch = batch_of(trainer);
    struct gradients all = {0};
    plim_step_result result;
    must(plim_trainer_gradients(trainer, &batch, collect, &all, &error));
    must(plim_trainer_step(trainer, &batch, &result, &error));
    all.loss = result.loss;
    batch_free(&batch);
    return all;
}

/* |a - b| / |a|, as norms. */
static double distance(const struct gradients *a, const struct gradients *b) {
    double off = 0, size = 0;
    assert_true(a->count > 0 && a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        double d = (double)a->values[i] - (double)b->values[i];
        off += d * d;
        size += (double)a->values[i] * (double)a->values[i];
    }
    return sqrt(off / size);
}

#endif
