/* Frozen layers in few bits train as a model whose weights were rounded to these bits beforehand, at any budget; and a model with
 * nothing frozen is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/packed.h"
#include "run/same_trainer.h"

#define BATCH 6

static plim_error error;

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

/* --- a model with each form of a layer ------------------------------------------------------------------------ */

static const char *const frozen[] = {"first.weight", "second.weight", "third.weight"};
static const int64_t shapes[3][2] = {{50, 100}, {130, 100}, {66, 130}};

/* What the form makes of a matrix; as it is without one. */
static void round_to(plim__packed_form form, int64_t rows, int64_t columns, float *x) {
    plim__packed p = {form, rows, columns};
    if (!form) return;
    uint8_t *bytes = calloc(1, plim__packed_bytes(&p)), *codes = bytes + plim__packed_codes(&p);
    plim__packed_write(&p, 0, rows * columns, x, bytes);
    for (int64_t i = 0; i < rows * columns; i++) {
        uint32_t bits = form == PLIM__PACKED_BF16 ? (uint32_t)((uint16_t *)(void *)bytes)[i] << 16 : 0;
        float scale = 0;
        if (form == PLIM__PACKED_BF16) {
            memcpy(&x[i], &bits, sizeof bits);
            continue;
        }
        memcpy(&scale, bytes + i / plim__packed_block(&p) * 4, sizeof scale);
        x[i] = form == PLIM__PACKED_NF4 ? plim__nf4_levels[i % 2 ? codes[i / 2] & 15 : codes[i / 2] >> 4] * scale
                                        : (float)(int8_t)codes[i] * (scale / 127);
    }
    free(bytes);
}

static plim_value weight(plim_graph *g, const char *name, const int64_t dims[2], plim__packed_form form) {
    size_t count = (size_t)(dims[0] * dims[1]);
    float *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = ((float)(i * 7919 % 2003) - 1001) / 6000;
    round_to(form, dims[0], dims[1], x);
    plim_value made = plim_graph_parameter(g, name, PLIM_F32, 2, dims, x);
    free(x);
    return made;
}

/* MatMul, a Transpose in front of one, and Gemm, each behind something trained; the last layer is frozen or not. */
static plim_graph *model_of(plim__packed_form form) {
    plim_graph *g = plim_graph_create();
    float scale[50], shift[66];
    for (int i = 0; i < 50; i++) scale[i] = 1 + (float)i / 100;
    for (int i = 0; i < 66; i++) shift[i] = (float)i / 200;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){plim_graph_symbol(g, "batch"), 3, 50});
    x = plim_graph_apply(g, "Mul",
                         (plim_value[]){x, plim_graph_parameter(g, "scale", PLIM_F32, 1, (int64_t[]){50}, scale)}, 2);
    x = plim_graph_apply(g, "MatMul", (plim_value[]){x, weight(g, frozen[0], shapes[0], form)}, 2);
    x = plim_graph_apply(g, "Tanh", &x, 1);
    int32_t turn = plim_graph_node(g, "Transpose", NULL, (plim_value[]){weight(g, frozen[1], shapes[1], form)}, 1, 1);
    plim_graph_set_ints(g, turn, "perm", (int64_t[]){1, 0}, 2);
    x = plim_graph_apply(g, "MatMul", (plim_value[]){x, plim_graph_node_output(g, turn, 0)}, 2);
    x = plim_graph_apply(g, "Tanh", &x, 1);
    int32_t mean = plim_graph_node(g, "ReduceMean", NULL, &x, 1, 1);
    plim_graph_set_ints(g, mean, "axes", (int64_t[]){1}, 1);
    plim_graph_set_int(g, mean, "keepdims", 0);
    plim_value c = plim_graph_parameter(g, "shift", PLIM_F32, 1, (int64_t[]){66}, shift);
    int32_t gemm = plim_graph_node(
        g, "Gemm", NULL, (plim_value[]){plim_graph_node_output(g, mean, 0), weight(g, frozen[2], shapes[2], form), c},
        3, 1);
    plim_graph_set_int(g, gemm, "transB", 1);
    x = plim_graph_node_output(g, gemm, 0);
    x = plim_graph_apply(g, "Tanh", &x, 1);
    plim_value head = weight(g, "head.weight", (int64_t[]){66, 70}, PLIM__UNPACKED);
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){x, head}, 2), "scores");
    must(plim_graph_status(g, &error));
    return g;
}

static plim_trainer_options options_of(plim_base base) {
    return (plim_trainer_options){.batch = BATCH,
                                  .threads = 2,
                                  .base = base,
                                  .freeze = frozen,
                                  .freeze_count = 3,
                                  .allow = PLIM_ALLOW_EXACT, /* naming a form allows it */
                                  .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                  .optimizer = plim_optimizer_default(PLIM_SGD)};
}

/* --- promises ------------------------------------------------------------------------------------------------- */

static float features[BATCH * 3 * 50];
static int64_t labels[BATCH];

static plim_batch batch_of(void) {
    for (int i = 0; i < BATCH * 3 * 50; i++) features[i] = (float)(i * 31 % 97) / 48 - 1;
    for (int i = 0; i < BATCH; i++) labels[i] = i * 11 % 70;
    plim_batch batch = {.count = BATCH, .target = labels};
    batch.inputs[0] = features;
    return batch;
}

static void must_be_near(plim_trainer *a, plim_trainer *b, const char *what) {
    assert_int_equal(plim_trainer_tensor_count(a), plim_trainer_tensor_count(b));
    for (size_t t = 0; t < plim_trainer_tensor_count(a); t++) {
        float x[66 * 70], y[66 * 70];
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(a, t, &tensor);
        must(plim_trainer_read(a, t, x, &error));
        must(plim_trainer_read(b, t, y, &error));
        size_t count = 1;
        for (int i = 0; i < tensor.rank; i++) count *= (size_t)tensor.dims[i];
        for (size_t i = 0; i < count; i++)
            if (fabsf(x[i] - y[i]) > 1e-6f)
                fail_msg("%s: %s[%zu] is %g, not %g", what, tensor.name, i, (double)x[i], (double)y[i]);
    }
}

static void packed_layers_train_as_rounded_ones(void **state) {
    (void)state;
    for (int form = PLIM__PACKED_BF16; form < PLIM__PACKED_FILE; form++) {
        plim_base base;
        assert_true(plim_base_find(plim__packed_name((plim__packed_form)form), &base));
        plim_graph *exact = model_of(PLIM__UNPACKED), *rounded = model_of((plim__packed_form)form);
        plim_trainer_options packed = options_of(base), plain = options_of(PLIM_BASE_DEFAULT);
        packed.optimizer.rate = plain.optimizer.rate = 0.5;
        plim_trainer *a, *b;
        must(plim_trainer_create(exact, &packed, &a, &error));
        must(plim_trainer_create(rounded, &plain, &b, &error));
        plim_trainer_stats stats;
        plim_trainer_get_stats(a, &stats);
        assert_int_equal(stats.base, base);
        assert_int_equal(stats.class_, PLIM_LOSSY);
        size_t whole = 4 * (50 * 100 + 130 * 100 + 66 * 130), left = 0;
        for (int i = 0; i < 3; i++)
            left += plim__packed_bytes(&(plim__packed){(plim__packed_form)form, shapes[i][0], shapes[i][1]});
        assert_int_equal(stats.base_saved, whole - left);
        plim_batch batch = batch_of();
        for (int i = 0; i < 3; i++) {
            plim_step_result ours, theirs;
            must(plim_trainer_step(a, &batch, &ours, &error));
            must(plim_trainer_step(b, &batch, &theirs, &error));
            if (fabs(ours.loss - theirs.loss) > 1e-6 * fabs(theirs.loss))
                fail_msg("%s: a loss of %.9g, not %.9g", plim_base_name(base), ours.loss, theirs.loss);
        }
        must_be_near(a, b, plim_base_name(base));
        plim_trainer_free(a);
        plim_trainer_free(b);
        plim_graph_free(exact);
        plim_graph_free(rounded);
    }
}

/* The same numbers, in sums of another order; the last layer too, and nothing of them in the arena. */
static void layers_in_the_file_train_as_those_in_memory(void **state) {
    (void)state;
    static const char *const all[] = {"*.weight"};
    char path[] = "base.XXXXXX.onnx";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    close(fd);
    plim_graph *built = model_of(PLIM__UNPACKED), *model;
    must(plim_graph_save(built, path, &error));
    must(plim_graph_load(path, &model, &error));
    plim_trainer_options there = options_of(PLIM_BASE_FILE), here = options_of(PLIM_BASE_DEFAULT);
    there.freeze = here.freeze = all;
    there.freeze_count = here.freeze_count = 1;
    there.optimizer.rate = here.optimizer.rate = 0.5;
    plim_trainer *a, *b;
    plim_trainer_stats stats;
    assert_int_equal(plim_trainer_create(built, &there, &a, &error), PLIM_INVALID); /* its weights are in memory */
    must(plim_trainer_create(model, &there, &a, &error));
    must(plim_trainer_create(model, &here, &b, &error));
    plim_trainer_get_stats(a, &stats);
    assert_int_equal(stats.class_, PLIM_REORDERED);
    assert_int_equal(stats.base_saved, 4 * (50 * 100 + 130 * 100 + 66 * 130 + 66 * 70));
    plim_batch batch = batch_of();
    for (int i = 0; i < 3; i++) {
        plim_step_result ours, theirs;
        must(plim_trainer_step(a, &batch, &ours, &error));
        must(plim_trainer_step(b, &batch, &theirs, &error));
        if (fabs(ours.loss - theirs.loss) > 1e-6 * fabs(theirs.loss))
            fail_msg("step %d: a loss of %.9g, not %.9g", i, ours.loss, theirs.loss);
    }
    must_be_near(a, b, "in the file");
    assert_int_equal(truncate(path, 2000),
                     0); /* the disk fails: a status that names the file, and a trainer that can be freed */
    plim_step_result result;
    assert_int_equal(plim_trainer_step(a, &batch, &result, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, path));
    plim_trainer_free(a);
    plim_trainer_free(b);
    plim_graph_free(model);
    plim_graph_free(built);
    unlink(path);
}

static void the_last_layer_stays_as_it_is(void **state) {
    (void)state;
    static const char *const all[] = {"*.weight"};
    plim_graph *model = model_of(PLIM__UNPACKED);
    plim_trainer_options o = options_of(PLIM_BASE_NF4), less = o;
    o.freeze = all;
    o.freeze_count = 1;
    plim_trainer *a, *b;
    plim_trainer_stats whole, three;
    must(plim_trainer_create(model, &o, &a, &error));
    must(plim_trainer_create(model, &less, &b, &error));
    plim_trainer_get_stats(a, &whole);
    plim_trainer_get_stats(b, &three);
    assert_int_equal(whole.base_saved, three.base_saved);
    plim_trainer_free(a);
    plim_trainer_free(b);
    plim_graph_free(model);
}

static void nothing_frozen_is_refused(void **state) {
    (void)state;
    plim_graph *model = model_of(PLIM__UNPACKED);
    plim_trainer_options o = options_of(PLIM_BASE_NF4);
    plim_trainer *trainer = NULL;
    o.freeze_count = 0;
    assert_int_equal(plim_trainer_create(model, &o, &trainer, &error), PLIM_INVALID);
    assert_null(trainer);
    assert_non_null(strstr(error.message, "no layer is frozen"));
    o = options_of((plim_base)77);
    assert_int_equal(plim_trainer_create(model, &o, &trainer, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "plim_base"));
    plim_graph_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(packed_layers_train_as_rounded_ones),
                                       cmocka_unit_test(layers_in_the_file_train_as_those_in_memory),
                                       cmocka_unit_test(the_last_layer_stays_as_it_is),
                                       cmocka_unit_test(nothing_frozen_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
