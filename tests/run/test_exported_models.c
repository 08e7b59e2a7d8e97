/* Files that PyTorch exported train what the module trains, under its names, and say what is lost: tests/run/exports, made by
 * make_exports.py beside the numbers that PyTorch computes. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/safetensors.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

enum { BATCH = 4, STEPS = 3, MOST = 4096 };

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static const char *path_of(const char *name, const char *end) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/run/exports/%s%s", PLIM_SOURCE_DIR, name, end);
    return path;
}

static plim_graph *load(const char *name) {
    plim_error error = {0};
    plim_graph *g;
    must(plim_graph_load(path_of(name, ".onnx"), &g, &error), &error);
    return g;
}

/* --- what PyTorch computed ------------------------------------------------------------------------------------------ */

struct numbers {
    int fd;
    plim__safetensors file;
};

static struct numbers open_numbers(const char *path) {
    struct numbers n = {.fd = open(path, O_RDONLY)};
    plim_error error = {0};
    assert_true(n.fd >= 0);
    must(plim__safetensors_open(&n.file, n.fd, path, &error), &error);
    return n;
}

static void close_numbers(struct numbers *n) {
    plim__safetensors_close(&n->file);
    close(n->fd);
}

static const plim__safetensors_tensor *find(const struct numbers *n, const char *name) {
    for (size_t i = 0; i < n->file.count; i++)
        if (strcmp(n->file.tensors[i].name, name) == 0) return &n->file.tensors[i];
    return NULL;
}

static const plim__safetensors_tensor *read_tensor(const struct numbers *n, const char *name, void *into, size_t size) {
    const plim__safetensors_tensor *tensor = find(n, name);
    if (!tensor) return NULL;
    assert_true(tensor->bytes <= size);
    assert_true(pread(n->fd, into, tensor->bytes, (off_t)tensor->offset) == (ssize_t)tensor->bytes);
    return tensor;
}

/* --- training ------------------------------------------------------------------------------------------------------- */

/* Three updates; the trained weights go to `out`. */
static void train(plim_graph *model, const struct numbers *numbers, const char *out) {
    static char x[MOST * 8];
    static float y[MOST];
    plim_error error = {0};
    plim_trainer *trainer;
    const plim__safetensors_tensor *data = read_tensor(numbers, "x", x, sizeof x),
                                   *targets = read_tensor(numbers, "y", y, sizeof y);
    plim_trainer_options o = {
        .batch = BATCH, .loss = plim_loss_default(PLIM_LOSS_MSE), .optimizer = plim_optimizer_default(PLIM_SGD)};
    o.optimizer.rate = 0.05;
    must(plim_trainer_create(model, &o, &trainer, &error), &error);
    for (int s = 0; s < STEPS; s++) {
        plim_batch batch = {.count = BATCH,
                            .inputs = {x + (uint64_t)s * data->bytes / STEPS},
                            .target = y + (uint64_t)s * targets->elements / STEPS};
        plim_step_result result;
        must(plim_trainer_step(trainer, &batch, &result, &error), &error);
    }
    must(plim_trainer_save(trainer, out, &error), &error);
    plim_trainer_free(trainer);
}

/* Every tensor of PyTorch's state is in the file, in its shape, with its numbers. */
static void compare(const struct numbers *expected, const char *path, const char *tied) {
    static float ours[MOST], theirs[MOST];
    struct numbers got = open_numbers(path);
    size_t compared = 0;
    for (size_t i = 0; i < expected->file.count; i++) {
        const char *name = expected->file.tensors[i].name;
        if (strncmp(name, "after:", 6) != 0 || (tied && strcmp(name + 6, tied) == 0)) continue;
        const plim__safetensors_tensor *a = read_tensor(&got, name + 6, ours, sizeof ours),
                                       *b = read_tensor(expected, name, theirs, sizeof theirs);
        if (!a) fail_msg("%s is not in the trained file", name + 6);
        assert_int_equal(a->rank, b->rank);
        for (int k = 0; k < a->rank; k++) assert_int_equal(a->dims[k], b->dims[k]);
        for (uint64_t k = 0; k < b->elements; k++)
            if (!(fabs((double)ours[k] - (double)theirs[k]) <= 2e-6 * fmax(1, fabs((double)theirs[k]))))
                fail_msg("%s[%d] is %.9g, not %.9g", name + 6, (int)k, (double)ours[k], (double)theirs[k]);
        compared++;
    }
    assert_true(compared >= 4);
    close_numbers(&got);
}

static const char *remark_of(const plim_graph *g, plim_remark_kind wanted) {
    plim_remark_kind kind;
    const char *text;
    for (size_t i = 0; (text = plim_graph_remark_at(g, i, &kind)); i++)
        if (kind == wanted) return text;
    return NULL;
}

static void trains_as_pytorch(const char *name, const char *tied) {
    char out[] = "/tmp/plimsoll-XXXXXX.safetensors";
    int fd = mkstemps(out, 12);
    assert_true(fd >= 0);
    close(fd);
    plim_graph *g = load(name);
    plim_error error = {0};
    plim_baked_batch baked;
    must(plim_graph_free_batch(g, &baked, &error), &error);
    assert_null(remark_of(g, PLIM_REMARK_LOST));
    struct numbers numbers = open_numbers(path_of(name, ".safetensors"));
    train(g, &numbers, out);
    compare(&numbers, out, tied);
    close_numbers(&numbers);
    plim_graph_free(g);
    unlink(out);
}

/* --- tests ---------------------------------------------------------------------------------------------------------- */

static void merged_and_removed_parameters_are_trained_apart(void **state) {
    (void)state;
    trains_as_pytorch("merged", NULL);
}

static void layers_that_start_as_copies_are_trained_apart(void **state) {
    (void)state;
    trains_as_pytorch("copies", NULL);
}

static void folded_batch_norms_that_are_new_are_put_back(void **state) {
    (void)state;
    trains_as_pytorch("norms_new", NULL);
}

/* Roundings part two runs of a network: it starts from the very numbers that the module has. */
static void weights_that_were_folded_are_the_modules_to_the_last_bit(void **state) {
    (void)state;
    static float ours[MOST], theirs[MOST];
    char out[] = "/tmp/plimsoll-XXXXXX.safetensors";
    int fd = mkstemps(out, 12);
    assert_true(fd >= 0);
    close(fd);
    plim_graph *g = load("norms_new");
    plim_error error = {0};
    plim_trainer *trainer;
    plim_trainer_options o = {.batch = BATCH, .loss = plim_loss_default(PLIM_LOSS_MSE)};
    must(plim_trainer_create(g, &o, &trainer, &error), &error);
    must(plim_trainer_save(trainer, out, &error), &error);
    struct numbers expected = open_numbers(path_of("norms_new", ".safetensors")), got = open_numbers(out);
    static const char *const names[] = {"a.weight", "b.weight", "b.bias"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char start[32];
        snprintf(start, sizeof start, "start:%s", names[i]);
        const plim__safetensors_tensor *b = read_tensor(&expected, start, theirs, sizeof theirs);
        assert_non_null(b);
        assert_non_null(read_tensor(&got, names[i], ours, sizeof ours));
        assert_memory_equal(ours, theirs, b->bytes);
    }
    close_numbers(&got);
    close_numbers(&expected);
    plim_trainer_free(trainer);
    plim_graph_free(g);
    unlink(out);
}

/* The momentum and epsilon of a module that are not PyTorch's defaults, from both forms of export. */
static void statistics_follow_the_data_as_slowly_as_the_module_says(void **state) {
    (void)state;
    trains_as_pytorch("norms_slow", NULL);
    trains_as_pytorch("norms_slow_kept", NULL);
}

/* detach is a word in the call of a node, or of the node that reads what it gave. */
static void gradients_stop_where_the_module_detaches(void **state) {
    (void)state;
    trains_as_pytorch("stopped", NULL);
    trains_as_pytorch("stopped_kept", NULL);
}

static void a_batch_norm_that_is_called_twice_moves_its_statistics_twice(void **state) {
    (void)state;
    trains_as_pytorch("norms_again", NULL);
}

/* The power iteration of a spectral norm goes on where the last step left it; nothing reads its other vector. */
static void buffers_that_the_module_moves_follow(void **state) {
    (void)state;
    trains_as_pytorch("spectral", "0.parametrizations.weight.0._u");
}

static void reshaped_parameters_have_their_shape_again(void **state) {
    (void)state;
    trains_as_pytorch("views", NULL);
}

/* What was computed from two tensors is lost, and does not keep others from being told apart. */
static void parameters_beside_computed_ones_are_apart_again(void **state) {
    (void)state;
    plim_graph *g = load("computed");
    plim_graph_weight weight;
    plim_value v;
    bool a = false, b = false;
    for (size_t i = 0; (v = plim_graph_weight_at(g, i, &weight)) != PLIM_NO_VALUE; i++) {
        a |= weight.trained && strcmp(plim_graph_value_name(g, v), "a.bias") == 0;
        b |= weight.trained && strcmp(plim_graph_value_name(g, v), "b.bias") == 0;
    }
    assert_true(a && b);
    const char *lost = remark_of(g, PLIM_REMARK_LOST);
    assert_non_null(lost);
    assert_non_null(strstr(lost, "1 parameter away, which cannot be trained: a.weight;"));
    plim_graph_free(g);
}

/* A parameter that is trained where it is read, while a constant that was computed from it stays: never without a word. */
static void constants_that_were_computed_from_trained_parameters_are_said(void **state) {
    (void)state;
    plim_graph *g = load("partly");
    const char *lost = remark_of(g, PLIM_REMARK_LOST);
    assert_non_null(lost);
    assert_non_null(strstr(lost, "computed constants from 1 parameter that is trained elsewhere"));
    assert_non_null(strstr(lost, "is missing: book; torch.onnx.export("));
    plim_graph_free(g);
}

static void recurrent_layers_have_the_weights_of_the_module_again(void **state) {
    (void)state;
    trains_as_pytorch("recurrent", NULL);
}

static void rows_for_padding_stay_and_tied_weights_are_one(void **state) {
    (void)state;
    trains_as_pytorch("padded", "e.weight"); /* is out.weight */
}

/* The last layer changes the row for padding of a table that both read; the embedding does not. */
static void rows_for_padding_of_tied_tables_get_the_other_gradient_only(void **state) {
    (void)state;
    trains_as_pytorch("padded_tied", "e.weight"); /* is out.weight */
    trains_as_pytorch("padded_tied_kept", "e.weight");
}

/* GroupNorm(4, 4) is an InstanceNormalization of ones and zeros, like the parameters of a LayerNorm(4) that is new. */
static void constants_that_were_merged_with_parameters_are_not_trained(void **state) {
    (void)state;
    trains_as_pytorch("plain", NULL);
    trains_as_pytorch("bounded", NULL);
    plim_graph *g = load("bounded"); /* here only the call tells, and that is said */
    const char *doubt = remark_of(g, PLIM_REMARK_DOUBT);
    assert_non_null(doubt);
    assert_non_null(strstr(doubt, "reads 'n.weight', which its call does not name"));
    plim_graph_free(g);
}

static void biases_of_zeros_that_are_computed_are_none(void **state) {
    (void)state;
    trains_as_pytorch("solid", NULL);
}

static void buffers_stay_and_scalars_are_trained(void **state) {
    (void)state;
    trains_as_pytorch("buffers", NULL);
}

/* --- stochastic depth ----------------------------------------------------------------------------------------------- */

/* The largest difference between what a session of the graph computes from x and what PyTorch does in evaluation mode. */
static double far_from_evaluation(const char *name, plim_session_options o) {
    static float x[MOST], expected[MOST];
    plim_error error = {0};
    plim_graph *g = load(name);
    struct numbers numbers = open_numbers(path_of(name, ".safetensors"));
    const plim__safetensors_tensor *in = read_tensor(&numbers, "x", x, sizeof x),
                                   *out = read_tensor(&numbers, "eval", expected, sizeof expected);
    plim_session *session;
    o.batch = BATCH * STEPS;
    o.threads = 1;
    must(plim_session_create(g, &o, &session, &error), &error);
    memcpy(plim_session_input(session, "x"), x, in->bytes);
    must(plim_session_run(session, &error), &error);
    const plim_graph *made = plim_session_graph(session);
    const float *got = plim_session_output(session, plim_graph_value_name(made, plim_graph_output_at(made, 0)));
    double far = 0;
    for (uint64_t i = 0; i < out->elements; i++) far = fmax(far, fabs((double)got[i] - (double)expected[i]));
    plim_session_free(session);
    close_numbers(&numbers);
    plim_graph_free(g);
    return far;
}

static void a_norm_that_is_called_twice_takes_its_statistics_as_they_are_in_evaluation(void **state) {
    (void)state;
    assert_true(far_from_evaluation("norms_again", (plim_session_options){0}) < 1e-6);
}

static void stochastic_depth_drops_nothing_in_evaluation(void **state) {
    (void)state;
    assert_true(far_from_evaluation("stochastic", (plim_session_options){.evaluation = PLIM_EVALUATION_AS_TRAINED}) <
                1e-5);
    assert_true(far_from_evaluation("stochastic", (plim_session_options){0}) < 1e-5);
    assert_true(far_from_evaluation("stochastic", (plim_session_options){.without = "no-drop-path"}) > 0.1);
}

static void a_name_that_the_exporter_used_twice_is_refused_with_the_remedy(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g;
    assert_int_equal(plim_graph_load(path_of("twice", ".onnx"), &g, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "'sub' is defined twice"));
    assert_non_null(strstr(error.message, "rename it in the module"));
}

static void a_baked_batch_trains_with_another_one(void **state) {
    (void)state;
    plim_graph *g = load("baked");
    plim_error error = {0};
    plim_baked_batch baked;
    plim_trainer *trainer;
    plim_trainer_options o = {.batch = BATCH, .loss = plim_loss_default(PLIM_LOSS_MSE)};
    assert_int_equal(plim_trainer_create(g, &o, &trainer, &error), PLIM_SHAPE); /* not a plan for 2 that says 4 */
    assert_non_null(strstr(error.message, "batches of 2, not of 4"));
    must(plim_graph_free_batch(g, &baked, &error), &error);
    assert_int_equal(baked.samples, 2);
    assert_true(baked.freed);
    plim_graph_free(g);
    trains_as_pytorch("baked", NULL);
    trains_as_pytorch("pyramid", NULL); /* sizes of a Resize hold the batch */
}

/* A model for two samples and no others: gradients of four are the mean of those of its parts. */
static void sum_gradients(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    double *sum = context;
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    if (strcmp(name, "a.weight") != 0) return;
    for (int64_t i = 0; i < count; i++) *sum += (double)values[i] * (double)(i + 1);
}

static void gradients_of_parts_are_those_of_the_whole_batch(void **state) {
    (void)state;
    static float x[MOST], y[MOST];
    struct numbers numbers = open_numbers(path_of("baked", ".safetensors"));
    assert_non_null(read_tensor(&numbers, "x", x, sizeof x));
    assert_non_null(read_tensor(&numbers, "y", y, sizeof y));
    double sums[2] = {0, 0};
    for (int64_t parts = 1; parts <= 2; parts++) {
        plim_graph *g = load("baked");
        plim_error error = {0};
        plim_baked_batch baked;
        plim_trainer *trainer;
        if (parts == 1) must(plim_graph_free_batch(g, &baked, &error), &error);
        plim_trainer_options o = {.batch = BATCH, .accumulate = parts, .loss = plim_loss_default(PLIM_LOSS_MSE)};
        must(plim_trainer_create(g, &o, &trainer, &error), &error);
        plim_batch batch = {.count = BATCH, .inputs = {x}, .target = y};
        must(plim_trainer_gradients(trainer, &batch, sum_gradients, &sums[parts - 1], &error), &error);
        plim_trainer_free(trainer);
        plim_graph_free(g);
    }
    assert_true(fabs(sums[0]) > 1e-3);
    assert_true(fabs(sums[0] - sums[1]) <= 1e-5 * fabs(sums[0]));
    close_numbers(&numbers);
}

static void trained_batch_norms_that_were_folded_are_said_to_be_lost(void **state) {
    (void)state;
    plim_graph *g = load("norms_trained");
    const char *text = remark_of(g, PLIM_REMARK_LOST);
    assert_non_null(text);
    assert_non_null(strstr(text, "2 batch norms"));
    assert_non_null(strstr(text, "n, m"));
    assert_non_null(strstr(text, "optimize=False"));
    assert_null(remark_of(g, PLIM_REMARK_RESTORED));
    plim_graph_free(g);
}

/* --- Keras ----------------------------------------------------------------------------------------------------------- */

/* ONNX adds two biases where Keras has one: both trained would be one trained twice as fast. */
static void one_bias_of_a_recurrent_layer_of_keras_is_trained_once(void **state) {
    (void)state;
    trains_as_pytorch("keras_lstm", NULL); /* numbers of Keras */
}

static void what_is_lost_of_a_model_of_keras_is_said_by_layer(void **state) {
    (void)state;
    plim_graph *g = load("keras_plain");
    const char *lost = remark_of(g, PLIM_REMARK_LOST), *doubt = remark_of(g, PLIM_REMARK_DOUBT);
    assert_non_null(lost);
    assert_non_null(strstr(lost, "1 batch norm away: functional_1_1/batch_normalization_1;"));
    assert_non_null(doubt);
    assert_non_null(strstr(doubt, "1 layer has no bias to train: functional_1_1/second_1;"));
    plim_graph_free(g);
}

static bool has_remark(const char *name, const char *words) {
    plim_graph *g = load(name);
    plim_remark_kind kind;
    const char *text;
    bool found = false;
    for (size_t i = 0; (text = plim_graph_remark_at(g, i, &kind)); i++)
        found |= kind == PLIM_REMARK_DOUBT && strstr(text, words);
    plim_graph_free(g);
    return found;
}

/* Exports by the default call, which has no dropout in it, and by the recommended one. */
static void dropout_that_evaluation_mode_left_out_is_said(void **state) {
    (void)state;
    assert_true(has_remark("merged", "exported in evaluation mode"));
    assert_true(has_remark("norms_new", "exported in evaluation mode"));
    assert_false(has_remark("stochastic", "exported in evaluation mode"));
    assert_false(has_remark("buffers", "exported in evaluation mode"));
}

static void metadata_that_lies_is_said(void **state) {
    (void)state;
    plim_graph *g = load("lies");
    plim_remark_kind kind;
    const char *text;
    bool contradicted = false, ghost = false, whole = false, shape = false;
    for (size_t i = 0; (text = plim_graph_remark_at(g, i, &kind)); i++) {
        contradicted |= kind == PLIM_REMARK_DOUBT && strstr(text, "'n.weight' is a parameter");
        ghost |= kind == PLIM_REMARK_LOST && strstr(text, "ghost");
        whole |= kind == PLIM_REMARK_DOUBT && strstr(text, "'whole' as a parameter, but it is no tensor of floats");
        shape |=
            kind == PLIM_REMARK_DOUBT && strstr(text, "'c.weight' is declared as float32[99,6], and its tensor is");
    }
    assert_true(contradicted && ghost && whole && shape);
    plim_graph_weight weight;
    for (size_t i = 0; i < 100; i++) {
        plim_value v = plim_graph_weight_at(g, i, &weight);
        if (v >= 0 && strcmp(plim_graph_value_name(g, v), "n.weight") == 0) assert_false(weight.trained);
    }
    plim_graph_free(g);
}

/* Whether a tensor with this name is there and trained. */
static bool is_trained(const char *model, const char *name) {
    plim_graph *g = load(model);
    plim_graph_weight weight;
    plim_value v;
    bool trained = false;
    for (size_t i = 0; (v = plim_graph_weight_at(g, i, &weight)) != PLIM_NO_VALUE; i++)
        trained |= strcmp(plim_graph_value_name(g, v), name) == 0 && weight.trained;
    plim_graph_free(g);
    return trained;
}

static void parts_under_no_grad_are_said(void **state) {
    (void)state;
    assert_true(has_remark("apart", "2 parameters are read in a part of the module under torch.no_grad()"));
    assert_true(has_remark("apart", "trained here: a.weight, a.bias; where it is"));
    assert_false(has_remark("stopped_kept", "torch.no_grad()"));
}

static void calls_and_lists_that_lie_are_not_followed_and_said(void **state) {
    (void)state;
    assert_true(has_remark("lies_calls", "names 'c.weight', whose shape is not that of what the node reads"));
    assert_true(has_remark("lies_calls", "names 'a.weight', whose shape is not that of what the node reads"));
    plim_graph *g = load("lies_calls"); /* it still runs */
    plim_session *session;
    plim_error error = {0};
    must(plim_session_create(g, &(plim_session_options){.batch = BATCH}, &session, &error), &error);
    plim_session_free(session);
    plim_graph_free(g);
    assert_true(has_remark("lies_names", "no call names 'a.weight', and what reads it was made by a call that names"));
    assert_false(has_remark("merged", "no call names"));
    assert_true(has_remark("lies_unlisted", "2 weights of layers are not in the exporter's list"));
    assert_false(has_remark("merged", "in the exporter's list"));
    assert_false(is_trained("lies_unlisted", "a.weight"));
    assert_true(is_trained("lies_unlisted", "b.weight"));
    assert_true(has_remark("lies_list", "list of parameters and buffers cannot be read"));
    assert_true(is_trained("lies_list", "a.weight"));
    assert_true(has_remark("lies_mask", "'mask' is a mask"));
    assert_false(is_trained("lies_mask", "mask"));
    assert_true(is_trained("lies_mask", "qkv.weight"));
}

static void without_metadata_rules_decide_and_say_why(void **state) {
    (void)state;
    plim_graph *g = load("stripped");
    plim_graph_weight weight;
    plim_value v;
    size_t seen = 0;
    for (size_t i = 0; (v = plim_graph_weight_at(g, i, &weight)) != PLIM_NO_VALUE; i++) {
        const char *name = plim_graph_value_name(g, v);
        if (strcmp(name, "mask") == 0) seen += !weight.trained && strstr(weight.why, "mask");
        if (strcmp(name, "centre") == 0) seen += !weight.trained && strstr(weight.why, "input");
        if (strncmp(name, "qkv.", 4) == 0) seen += weight.trained != 0;
    }
    assert_int_equal(seen, 4);
    assert_non_null(remark_of(g, PLIM_REMARK_DOUBT));
    plim_graph_free(g);
}

/* What was put back is in the file that is written, with its names and roles. */
/* Stopped gradients and moved buffers are in the written file, too. */
static void what_was_stopped_is_stopped_when_it_is_read_again(void **state) {
    (void)state;
    static const char *const names[] = {"stopped", "spectral"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[] = "/tmp/plimsoll-XXXXXX.onnx", out[] = "/tmp/plimsoll-XXXXXX.safetensors";
        int fd = mkstemps(path, 5), other = mkstemps(out, 12);
        assert_true(fd >= 0 && other >= 0);
        close(fd);
        close(other);
        plim_error error = {0};
        plim_graph *g = load(names[k]), *again;
        must(plim_graph_save(g, path, &error), &error);
        must(plim_graph_load(path, &again, &error), &error);
        struct numbers numbers = open_numbers(path_of(names[k], ".safetensors"));
        train(again, &numbers, out);
        compare(&numbers, out, "0.parametrizations.weight.0._u");
        close_numbers(&numbers);
        plim_graph_free(g);
        plim_graph_free(again);
        unlink(path);
        unlink(out);
    }
}

static void a_restored_model_is_the_same_when_it_is_read_again(void **state) {
    (void)state;
    static const char *const names[] = {"merged", "norms_new", "views", "buffers", "recurrent", "norms_again"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[] = "/tmp/plimsoll-XXXXXX.onnx";
        int fd = mkstemps(path, 5);
        assert_true(fd >= 0);
        close(fd);
        plim_error error = {0};
        plim_graph *g = load(names[k]), *again;
        must(plim_graph_save(g, path, &error), &error);
        must(plim_graph_load(path, &again, &error), &error);
        plim_graph_weight a, b;
        plim_value v;
        for (size_t i = 0; (v = plim_graph_weight_at(again, i, &b)) != PLIM_NO_VALUE; i++) {
            bool found = false;
            plim_value old;
            for (size_t j = 0; !found && (old = plim_graph_weight_at(g, j, &a)) != PLIM_NO_VALUE; j++)
                found = strcmp(plim_graph_value_name(g, old), plim_graph_value_name(again, v)) == 0;
            assert_true(found);
            assert_int_equal(a.trained, b.trained);
        }
        assert_int_equal(plim_graph_remark_count(again), 0);
        plim_graph_free(g);
        plim_graph_free(again);
        unlink(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_and_removed_parameters_are_trained_apart),
        cmocka_unit_test(layers_that_start_as_copies_are_trained_apart),
        cmocka_unit_test(folded_batch_norms_that_are_new_are_put_back),
        cmocka_unit_test(weights_that_were_folded_are_the_modules_to_the_last_bit),
        cmocka_unit_test(statistics_follow_the_data_as_slowly_as_the_module_says),
        cmocka_unit_test(gradients_stop_where_the_module_detaches),
        cmocka_unit_test(a_batch_norm_that_is_called_twice_moves_its_statistics_twice),
        cmocka_unit_test(buffers_that_the_module_moves_follow),
        cmocka_unit_test(a_norm_that_is_called_twice_takes_its_statistics_as_they_are_in_evaluation),
        cmocka_unit_test(stochastic_depth_drops_nothing_in_evaluation),
        cmocka_unit_test(a_name_that_the_exporter_used_twice_is_refused_with_the_remedy),
        cmocka_unit_test(reshaped_parameters_have_their_shape_again),
        cmocka_unit_test(parameters_beside_computed_ones_are_apart_again),
        cmocka_unit_test(constants_that_were_computed_from_trained_parameters_are_said),
        cmocka_unit_test(recurrent_layers_have_the_weights_of_the_module_again),
        cmocka_unit_test(rows_for_padding_stay_and_tied_weights_are_one),
        cmocka_unit_test(rows_for_padding_of_tied_tables_get_the_other_gradient_only),
        cmocka_unit_test(biases_of_zeros_that_are_computed_are_none),
        cmocka_unit_test(constants_that_were_merged_with_parameters_are_not_trained),
        cmocka_unit_test(buffers_stay_and_scalars_are_trained),
        cmocka_unit_test(a_baked_batch_trains_with_another_one),
        cmocka_unit_test(gradients_of_parts_are_those_of_the_whole_batch),
        cmocka_unit_test(trained_batch_norms_that_were_folded_are_said_to_be_lost),
        cmocka_unit_test(one_bias_of_a_recurrent_layer_of_keras_is_trained_once),
        cmocka_unit_test(what_is_lost_of_a_model_of_keras_is_said_by_layer),
        cmocka_unit_test(dropout_that_evaluation_mode_left_out_is_said),
        cmocka_unit_test(metadata_that_lies_is_said),
        cmocka_unit_test(parts_under_no_grad_are_said),
        cmocka_unit_test(calls_and_lists_that_lie_are_not_followed_and_said),
        cmocka_unit_test(without_metadata_rules_decide_and_say_why),
        cmocka_unit_test(what_was_stopped_is_stopped_when_it_is_read_again),
        cmocka_unit_test(a_restored_model_is_the_same_when_it_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
