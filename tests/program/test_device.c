/* A second device: the processor's kernels on memory that only the device may touch. It is locked (PROT_NONE) except while
 * a kernel or a function of the device runs, so whoever else reads or writes it ends the test. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "budget/training_plan.h"
#include "kernel/processor.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "program/lower_state.h"
#include "run/trainer.h"

#define BATCH 4
#define RUNS  3
#define IMAGE (28 * 28)

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

/* --- the device ------------------------------------------------------------------------------------------------ */

static struct {
    char *memory;
    size_t bytes;
} blocks[8]; /* all that was taken and not given back */
static size_t taken, grown, given, writes, reads, clears, waits, kernels;

static void lock(bool closed) {
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].memory)
            assert_int_equal(mprotect(blocks[i].memory, blocks[i].bytes, closed ? PROT_NONE : PROT_READ | PROT_WRITE),
                             0);
}

static bool inside(const void *at, size_t bytes) {
    const char *p = at;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].memory && p >= blocks[i].memory && p + bytes <= blocks[i].memory + blocks[i].bytes) return true;
    return false;
}

static void set_block(const char *old, char *memory, size_t bytes) {
    size_t i = 0;
    while (blocks[i].memory != old) i++;
    blocks[i].memory = memory;
    blocks[i].bytes = bytes;
}

static char *take(size_t bytes) {
    char *memory = plim__host_memory.take(bytes);
    assert_non_null(memory);
    taken++;
    set_block(NULL, memory, bytes ? bytes : 1);
    lock(true);
    return memory;
}

static char *grow(char *memory, size_t bytes, size_t wanted) {
    lock(false);
    char *moved = plim__host_memory.grow(memory, bytes, wanted);
    assert_non_null(moved);
    grown++;
    set_block(memory, moved, wanted);
    lock(true);
    return moved;
}

static void discard(char *memory, size_t bytes) { plim__host_memory.discard(memory, bytes); }

static void restore(char *memory, size_t bytes) {
    lock(false);
    plim__host_memory.restore(memory, bytes);
    lock(true);
}

static void give(char *memory, size_t bytes) {
    given++;
    set_block(memory, NULL, 0);
    plim__host_memory.give(memory, bytes);
}

static const plim__memory locked_memory = {
    .take = take, .grow = grow, .discard = discard, .restore = restore, .give = give};

static plim_status copy_in(plim__engine *engine, void *to, const void *from, size_t bytes) {
    writes++;
    assert_true(inside(to, bytes));
    lock(false);
    plim_status status = plim__processor.write(engine, to, from, bytes);
    lock(true);
    return status;
}

static plim_status copy_out(plim__engine *engine, void *to, const void *from, size_t bytes) {
    reads++;
    assert_true(inside(from, bytes));
    lock(false);
    plim_status status = plim__processor.read(engine, to, from, bytes);
    lock(true);
    return status;
}

static plim_status clear(plim__engine *engine, void *to, size_t bytes) {
    clears++;
    assert_true(inside(to, bytes));
    lock(false);
    plim_status status = plim__processor.clear(engine, to, bytes);
    lock(true);
    return status;
}

static plim_status wait(plim__engine *engine) {
    waits++;
    return plim__processor.wait(engine);
}

static plim_status run_unlocked(plim__kernel kernel, const plim__call *call) {
    kernels++;
    lock(false);
    plim_status status = plim__processor.run(kernel, call);
    lock(true);
    return status;
}

static plim__device far_device(void) {
    plim__device far = plim__processor;
    far.name = "locked memory";
    far.host = false;
    far.memory = &locked_memory;
    far.write = copy_in;
    far.read = copy_out;
    far.clear = clear;
    far.run = run_unlocked;
    far.wait = wait;
    return far;
}

/* --- training on a device --------------------------------------------------------------------------------------- */

struct trained {
    double losses[RUNS];
    float *weights; /* of all tensors of the trainer, one after the other */
    size_t count;
    double gradients; /* the sum of their magnitudes */
};

static void add_gradients(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    struct trained *result = context;
    size_t count = 1;
    (void)name;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    for (size_t i = 0; i < count; i++) result->gradients += fabs((double)values[i]);
}

static void read_weights(plim_trainer *trainer, struct trained *to) {
    plim_error error = {0};
    for (size_t i = 0; i < plim_trainer_tensor_count(trainer); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(trainer, i, &tensor);
        size_t count = tensor.bytes / sizeof *to->weights;
        to->weights = plim__realloc(to->weights, to->count + count, sizeof *to->weights);
        assert_non_null(to->weights);
        must(plim_trainer_read(trainer, i, to->weights + to->count, &error), &error);
        must(plim_trainer_write(trainer, i, to->weights + to->count, &error), &error); /* as a checkpoint would */
        to->count += count;
    }
}

static plim_trainer *create(const plim__device *device, const plim_graph *model) {
    plim_error error = {0};
    plim_trainer_options options;
    plim__request request;
    plim__bounds bounds;
    plim__training_plan *plan;
    plim_trainer *trainer;
    plim_optimizer optimizer = plim_optimizer_default(PLIM_SGD);
    optimizer.momentum = 0.9;
    plim_trainer_options o = {.size = sizeof o, .optimizer = optimizer, .batch = BATCH, .accumulate = 2, .threads = 2};
    must(plim__trainer_options_read(&o, &options, &error), &error);
    plim__request_read(&options, &request, &bounds);
    bounds.device = device;
    must(plim__training_plan_create(model, &request, &bounds, &plan, &error), &error);
    must(plim__trainer_create(plan, &trainer, &error), &error);
    return trainer;
}

/* Whole batches, one whose last micro-batch is another program's (the arena grows for it), and gradients. */
static struct trained train(const plim__device *device) {
    plim_error error = {0};
    plim_graph *model;
    struct trained result = {0};
    must(plim_zoo_create("lenet", &(plim_zoo_options){.size = sizeof(plim_zoo_options), .width = 16}, &model, &error),
         &error);
    plim_trainer *trainer = create(device, model);
    float *images = plim__alloc_array(BATCH * IMAGE, sizeof *images);
    assert_non_null(images);
    int64_t labels[BATCH];
    plim_batch batch = {.inputs = {images}, .target = labels};
    for (int run = 0; run < RUNS; run++) {
        plim_step_result step;
        for (int k = 0; k < BATCH * IMAGE; k++) images[k] = (float)((k * 37 + run * 11) % 101) / 50 - 1;
        for (int k = 0; k < BATCH; k++) labels[k] = (k * 3 + run) % 10;
        batch.count = run == 1 ? BATCH - 1 : BATCH;
        must(plim_trainer_step(trainer, &batch, &step, &error), &error);
        result.losses[run] = step.loss;
        if (run == RUNS - 1) must(plim_trainer_gradients(trainer, &batch, add_gradients, &result, &error), &error);
    }
    read_weights(trainer, &result);
    images[7] = NAN;
    assert_int_equal(plim_trainer_step(trainer, &batch, NULL, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "the data holds NaN"));
    plim__free(images);
    plim_trainer_free(trainer);
    plim_graph_free(model);
    return result;
}

static void another_device_trains_to_the_same_bits_and_only_it_touches_its_memory(void **state) {
    (void)state;
    plim__device far = far_device();
    struct trained near = train(&plim__processor), away = train(&far);
    assert_true(near.count > 1000);
    assert_int_equal(near.count, away.count);
    assert_memory_equal(near.losses, away.losses, sizeof near.losses);
    assert_memory_equal(near.weights, away.weights, near.count * sizeof *near.weights);
    assert_true(near.losses[0] != near.losses[RUNS - 1]); /* it did train */
    assert_true(near.gradients > 0 && near.gradients == away.gradients);
    assert_int_equal(taken, 4); /* the trainer's arena, and that of the gradients */
    assert_int_equal(given, taken);
    assert_true(grown > 0);
    assert_true(waits >= RUNS && writes > RUNS * 2 && reads > RUNS && clears > 0 && kernels > RUNS * 10);
    plim__free(near.weights);
    plim__free(away.weights);
}

static void a_device_that_cannot_reserve_leaves_nothing_behind(void **state) {
    (void)state;
    plim_error error = {0};
    plim__arena arena = {0};
    assert_int_equal(plim__arena_reserve(&arena, &plim__host_memory, (size_t)1 << 60, 64, &error), PLIM_NO_MEMORY);
    assert_true(*error.message);
    assert_null(arena.persistent);
    plim__arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_device_trains_to_the_same_bits_and_only_it_touches_its_memory),
        cmocka_unit_test(a_device_that_cannot_reserve_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
