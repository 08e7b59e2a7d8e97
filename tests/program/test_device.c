/* A second device: the processor's kernels on memory that only the device may touch. It is locked (PROT_NONE) except while
 * a kernel or a function of the device runs, so whoever else reads or writes it ends the test. */
#include <string.h>
#include <sys/mman.h>

#include "grad/training.h"
#include "kernel/processor.h"
#include "plan/variant.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/runner.h"

#define BATCH 4
#define RUNS  3

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

/* --- the device ------------------------------------------------------------------------------------------------ */

static plim__arena *locked; /* the arena that is locked; NULL: none yet */
static size_t reserves, releases, writes, reads, clears, waits, kernels;

static void lock(bool closed) {
    if (!locked) return;
    int access = closed ? PROT_NONE : PROT_READ | PROT_WRITE;
    assert_int_equal(mprotect(locked->persistent, locked->persistent_bytes, access), 0);
    assert_int_equal(mprotect(locked->transient, locked->transient_bytes, access), 0);
}

static bool inside(const void *at, size_t bytes) {
    const char *p = at;
    return (p >= locked->persistent && p + bytes <= locked->persistent + locked->persistent_bytes) ||
           (p >= locked->transient && p + bytes <= locked->transient + locked->transient_bytes);
}

static plim_status reserve(plim__arena *arena, size_t persistent_bytes, size_t transient_bytes, plim_error *error) {
    reserves++;
    plim_status status = plim__processor.reserve(arena, persistent_bytes, transient_bytes, error);
    locked = status == PLIM_OK ? arena : NULL;
    lock(true);
    return status;
}

static void release(plim__arena *arena) {
    releases++;
    lock(false);
    locked = NULL;
    plim__processor.release(arena);
}

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

/* A kernel of the processor that unlocks the memory while it runs. */
struct wrapped {
    plim__kernel run;
    void *state;
    void (*release)(void *);
};

static plim_status run_wrapped(const plim__call *call) {
    const struct wrapped *w = call->state;
    plim__call inner = *call;
    inner.state = w->state;
    kernels++;
    lock(false);
    plim_status status = w->run(&inner);
    lock(true);
    return status;
}

static void release_wrapped(void *state) {
    struct wrapped *w = state;
    if (w->release) w->release(w->state);
    plim__free(w);
}

static void wrap(plim__kernel *run, void **state, void (**release_it)(void *)) {
    struct wrapped *w = plim__alloc(sizeof *w);
    assert_non_null(w);
    *w = (struct wrapped){*run, *state, *release_it};
    *run = run_wrapped;
    *state = w;
    *release_it = release_wrapped;
}

/* --- training on a device --------------------------------------------------------------------------------------- */

struct trained {
    float losses[RUNS];
    float *weights; /* of all parameters, one after the other */
    size_t count;
};

static void feed(plim__runner *runner, plim_value v, const void *data) {
    const plim__value *value = &runner->program->graph->values.items[v];
    size_t bytes;
    plim_error error = {0};
    must(plim__shape_bytes(&value->shape, value->dtype, &bytes, &error), &error);
    const plim__device *device = runner->program->target.device;
    must(device->write(runner->program->engine, plim__runner_at(runner, runner->program->values[v]), data, bytes),
         &error);
}

static void feed_all(plim__runner *runner, const plim__training *training, int run) {
    const plim_graph *g = runner->program->graph;
    for (size_t i = 0; i < g->inputs.count; i++) {
        plim_value v = g->inputs.items[i];
        double update[2] = {0.05, run + 1.0};
        int64_t elements = plim__shape_elements(&g->values.items[v].shape), labels[BATCH];
        float *x = plim__alloc_array((size_t)elements, sizeof *x);
        assert_non_null(x);
        for (int64_t k = 0; k < elements; k++) x[k] = (float)((k * 37 + run * 11) % 101) / 50 - 1;
        for (int k = 0; k < BATCH; k++) labels[k] = (k * 3 + run) % 10;
        feed(runner, v, v == training->update ? (void *)update : v == training->target ? (void *)labels : (void *)x);
        plim__free(x);
    }
}

static void read_weights(plim__runner *runner, struct trained *to) {
    const plim__program *program = runner->program;
    plim_error error = {0};
    for (size_t i = 0; i < program->loads.count; i++) {
        const plim__value *value = &program->graph->values.items[program->loads.items[i].value];
        if (value->kind != PLIM__VALUE_PARAMETER) continue;
        size_t count = (size_t)plim__shape_elements(&value->shape);
        to->weights = plim__realloc(to->weights, to->count + count, sizeof *to->weights);
        assert_non_null(to->weights);
        must(plim__runner_read_tensor(runner, &program->loads.items[i], to->weights + to->count, &error), &error);
        /* and back again, as a checkpoint would */
        must(plim__runner_write_tensor(runner, &program->loads.items[i], to->weights + to->count, &error), &error);
        to->count += count;
    }
}

static struct trained train(const plim__device *device) {
    plim_error error = {0};
    plim_graph *model;
    plim__variant *v;
    plim__runner *runner;
    struct trained result = {0};
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    plim_optimizer optimizer = plim_optimizer_default(PLIM_SGD);
    optimizer.momentum = 0.9;
    must(plim_zoo_create("lenet", &(plim_zoo_options){.width = 16}, &model, &error), &error);
    plim__training_options options = {.loss = &loss, .optimizer = &optimizer, .batch = BATCH};
    must(plim__variant_create(model, &options, (plim__target){device, 2}, NULL, &v, &error), &error);
    if (device != &plim__processor) {
        for (size_t s = 0; s < v->lowered->steps.count; s++) {
            plim__step *step = &v->lowered->steps.items[s];
            wrap(&step->run, &step->state, &step->release);
        }
        for (size_t i = 0; i < v->lowered->loads.count; i++) {
            plim__rearrangement *in = &v->lowered->loads.items[i].in, *back = &v->lowered->loads.items[i].back;
            if (in->run) wrap(&in->run, &in->state, &in->release);
            if (back->run) wrap(&back->run, &back->state, &back->release);
        }
    }
    must(plim__variant_pack(v, NULL, 0, NULL, &error), &error);
    must(plim__runner_create(v->program, v->plan, NULL, &runner, &error), &error);
    for (int run = 0; run < RUNS; run++) {
        feed_all(runner, v->training, run);
        must(plim__runner_run(runner, &error), &error);
        must(device->read(v->program->engine, &result.losses[run],
                          plim__runner_at(runner, v->program->values[v->training->loss]), sizeof(float)),
             &error);
    }
    read_weights(runner, &result);
    plim__runner_free(runner);
    plim__variant_free(v);
    plim_graph_free(model);
    return result;
}

static void another_device_trains_to_the_same_bits_and_only_it_touches_its_memory(void **state) {
    (void)state;
    plim__device far = plim__processor;
    far.name = "locked memory";
    far.host = false;
    far.reserve = reserve;
    far.release = release;
    far.write = copy_in;
    far.read = copy_out;
    far.clear = clear;
    far.wait = wait;
    struct trained near = train(&plim__processor), away = train(&far);
    assert_true(near.count > 1000);
    assert_int_equal(near.count, away.count);
    assert_memory_equal(near.losses, away.losses, sizeof near.losses);
    assert_memory_equal(near.weights, away.weights, near.count * sizeof *near.weights);
    assert_true(near.losses[0] != near.losses[RUNS - 1]); /* it did train */
    assert_int_equal(reserves, 1);
    assert_int_equal(releases, 1);
    assert_true(waits >= RUNS && writes > RUNS * 2 && reads > RUNS && clears > 0 && kernels > RUNS * 10);
    plim__free(near.weights);
    plim__free(away.weights);
}

static void a_device_that_cannot_reserve_leaves_nothing_behind(void **state) {
    (void)state;
    plim_error error = {0};
    plim__arena arena = {0};
    assert_int_equal(plim__processor.reserve(&arena, (size_t)1 << 60, 64, &error), PLIM_NO_MEMORY);
    assert_true(*error.message);
    assert_null(arena.persistent);
    plim__processor.release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_device_trains_to_the_same_bits_and_only_it_touches_its_memory),
        cmocka_unit_test(a_device_that_cannot_reserve_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
