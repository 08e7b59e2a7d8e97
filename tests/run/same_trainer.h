/* Two trainers hold the same: weights, statistics and state, bit by bit. */
#ifndef PLIM_TESTS_RUN_SAME_TRAINER_H
#define PLIM_TESTS_RUN_SAME_TRAINER_H

#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static inline void *read_tensor(plim_trainer *trainer, const char *name) {
    plim_error failure;
    plim_trainer_tensor tensor;
    for (size_t i = 0; i < plim_trainer_tensor_count(trainer); i++) {
        plim_trainer_get_tensor(trainer, i, &tensor);
        if (strcmp(tensor.name, name) != 0) continue;
        void *bytes = malloc(tensor.bytes);
        if (plim_trainer_read(trainer, i, bytes, &failure) != PLIM_OK) fail_msg("%s", failure.message);
        return bytes;
    }
    fail_msg("there is no '%s'", name);
    return NULL;
}

static inline void must_be_equal(plim_trainer *a, plim_trainer *b, const char *what) {
    assert_int_equal(plim_trainer_tensor_count(a), plim_trainer_tensor_count(b));
    for (size_t i = 0; i < plim_trainer_tensor_count(a); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(a, i, &tensor);
        char *one = read_tensor(a, tensor.name), *two = read_tensor(b, tensor.name);
        if (memcmp(one, two, tensor.bytes) != 0) fail_msg("%s: '%s' differs", what, tensor.name);
        free(one);
        free(two);
    }
}

#endif
