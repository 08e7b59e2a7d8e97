/* Models as exporters write them load, predict what PyTorch predicts and train by PyTorch's gradients, whatever the spelling
 * (tests/run/make_forms.py makes the files); attention is fused in all of them. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/half.h"
#include "format/safetensors.h"
#include "graph/graph.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

struct form {
    char path[512];
    plim__safetensors numbers;
    int fd;
    plim_graph *model;
};

static plim_error error;

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

static void open_form(struct form *f, const char *name) {
    *f = (struct form){0};
    snprintf(f->path, sizeof f->path, PLIM_SOURCE_DIR "/tests/run/forms/%s.safetensors", name);
    f->fd = open(f->path, O_RDONLY);
    assert_true(f->fd >= 0);
    must(plim__safetensors_open(&f->numbers, f->fd, f->path, &error));
    snprintf(f->path, sizeof f->path, PLIM_SOURCE_DIR "/tests/run/forms/%s.onnx", name);
    must(plim_graph_load(f->path, &f->model, &error));
}

static void close_form(struct form *f) {
    plim__safetensors_close(&f->numbers);
    close(f->fd);
    plim_graph_free(f->model);
}

/* The data of an entry, to be freed; NULL when there is none. */
static void *read_entry(const struct form *f, const char *name, const plim__safetensors_tensor **entry) {
    for (size_t i = 0; i < f->numbers.count; i++) {
        const plim__safetensors_tensor *t = &f->numbers.tensors[i];
        if (strcmp(t->name, name) != 0) continue;
        void *data = malloc(t->bytes + 1);
        assert_int_equal(pread(f->fd, data, t->bytes, (off_t)t->offset), (ssize_t)t->bytes);
        *entry = t;
        return data;
    }
    return NULL;
}

/* Within a share of the largest; gradients that are zero but for rounding (of a bias of keys) are as good as zero. */
static void compare(const char *what, const float *got, const float *right, uint64_t count, double share) {
    double largest = 0, worst = 0;
    for (uint64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)right[i]));
        double off = fabs((double)got[i] - (double)right[i]);
        worst = off > worst || isnan(off) ? off : worst;
    }
    if (!(worst <= share * largest + 1e-7)) fail_msg("%s is off by %.3g, the largest is %.3g", what, worst, largest);
}

static const char *input_name(const struct form *f, size_t i) {
    return f->model->values.items[f->model->inputs.items[i]].name;
}

static void *read_input(const struct form *f, size_t i, const plim__safetensors_tensor **entry) {
    char key[128];
    snprintf(key, sizeof key, "in.%s", input_name(f, i));
    void *data = read_entry(f, key, entry);
    assert_non_null(data);
    return data;
}

static void predicts(const struct form *f, const plim_session_options *options, double share) {
    const plim__safetensors_tensor *entry = NULL;
    float *right = read_entry(f, "out", &entry);
    plim_session *session;
    plim_session_options o = *options;
    o.batch = entry->dims[0];
    must(plim_session_create(f->model, &o, &session, &error));
    uint64_t count = entry->elements;
    for (size_t i = 0; i < f->model->inputs.count; i++) {
        void *data = read_input(f, i, &entry);
        memcpy(plim_session_input(session, input_name(f, i)), data, entry->bytes);
        free(data);
    }
    must(plim_session_run(session, &error));
    const plim_graph *g = plim_session_graph(session);
    compare("the output", plim_session_output(session, g->values.items[g->outputs.items[0]].name), right, count, share);
    plim_session_free(session);
    free(right);
}

struct seen {
    const struct form *form;
    size_t count;
    double share;
};

static void check_gradient(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    struct seen *s = context;
    const plim__safetensors_tensor *entry = NULL;
    char key[256];
    (void)rank;
    (void)dims;
    snprintf(key, sizeof key, "grad.%s", name);
    float *right = read_entry(s->form, key, &entry);
    if (!right) return; /* a table that the exporter did not mark */
    compare(key, values, right, entry->elements, s->share);
    free(right);
    s->count++;
}

static void trains(const struct form *f, int64_t accumulate, double share) {
    const plim__safetensors_tensor *entry = NULL;
    plim_batch batch = {0};
    for (size_t i = 0; i < f->model->inputs.count; i++) batch.inputs[i] = read_input(f, i, &entry);
    batch.target = read_entry(f, "target", &entry);
    batch.count = entry->dims[0];
    plim_trainer_options options = {
        .loss = plim_loss_default(PLIM_LOSS_MSE), .batch = batch.count, .accumulate = accumulate, .threads = 2};
    plim_trainer *trainer;
    must(plim_trainer_create(f->model, &options, &trainer, &error));
    struct seen seen = {f, 0, share};
    must(plim_trainer_gradients(trainer, &batch, check_gradient, &seen, &error));
    size_t expected = 0;
    for (size_t i = 0; i < f->numbers.count; i++) expected += strncmp(f->numbers.tensors[i].name, "grad.", 5) == 0;
    assert_int_equal(seen.count, expected);
    assert_true(expected > 0);
    plim_trainer_free(trainer);
    for (size_t i = 0; i < f->model->inputs.count; i++) free((void *)(uintptr_t)batch.inputs[i]);
    free((void *)(uintptr_t)batch.target);
}

/* How many nodes of this operator predictions run. */
static size_t count_op(const struct form *f, const char *op) {
    plim_session *session;
    must(plim_session_create(f->model, &(plim_session_options){.batch = 3, .plan_only = 1}, &session, &error));
    const plim_graph *g = plim_session_graph(session);
    size_t count = 0;
    for (size_t n = 0; n < g->nodes.count; n++)
        count += !g->nodes.items[n].dead && strcmp(g->nodes.items[n].op_name, op) == 0;
    plim_session_free(session);
    return count;
}

static void check_forms(const char *const *names, size_t count, bool attention) {
    for (size_t i = 0; i < count; i++) {
        struct form f;
        print_message("%s\n", names[i]);
        open_form(&f, names[i]);
        predicts(&f, &(plim_session_options){.threads = 1}, 1e-5);
        trains(&f, 1, 1e-4);
        trains(&f, 3, 1e-4);
        if (attention) {
            assert_int_equal(count_op(&f, "Softmax"), 0);
            assert_true(count_op(&f, "Attention") > 0);
        }
        close_form(&f);
    }
}
#define CHECK(names, attention) check_forms(names, sizeof names / sizeof *names, attention)

static void attention_in_every_spelling_is_fused_and_right(void **state) {
    (void)state;
    static const char *const names[] = {"gpt2",
                                        "gpt2_eager",
                                        "llama",
                                        "mistral",
                                        "bert_masked",
                                        "vit",
                                        "learned_bias",
                                        "attention23",
                                        "attention23_causal",
                                        "attention23_groups",
                                        "attention23_mask"};
    CHECK(names, true);
}

static void operators_that_are_spelled_out_are_right(void **state) {
    (void)state;
    static const char *const names[] = {"bloom", "rotary23", "sequences", "loop", "scan", "functions"};
    CHECK(names, false);
}

static void transposed_convolutions_of_one_channel_train(void **state) {
    (void)state;
    static const char *const names[] = {"conv_transpose", "conv_transpose_groups", "conv_transpose_line"};
    CHECK(names, false);
}

/* Training computes in float32, whatever the file's type; the trained file has its own again. */
static void models_in_other_types_train_in_float32(void **state) {
    (void)state;
    static const struct {
        const char *name;
        plim_dtype dtype;
    } forms[] = {{"float16", PLIM_F16}, {"bfloat16", PLIM_BF16}, {"float64", PLIM_F64}, {"autocast", PLIM_F32}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct form f;
        print_message("%s\n", forms[i].name);
        open_form(&f, forms[i].name);
        bool said = false;
        for (size_t r = 0; r < plim_graph_remark_count(f.model); r++)
            said |= strstr(plim_graph_remark_at(f.model, r, NULL), "training computes in float32") != NULL;
        assert_true(said);
        trains(&f, 1, 1e-4);
        trains(&f, 3, 1e-4);
        plim_trainer *trainer;
        plim_trainer_options options = {.loss = plim_loss_default(PLIM_LOSS_MSE), .batch = 3};
        must(plim_trainer_create(f.model, &options, &trainer, &error));
        char path[] = "/tmp/plimsoll-form-XXXXXX.onnx";
        close(mkstemps(path, 5));
        must(plim_trainer_save(trainer, path, &error));
        plim_graph *saved;
        must(plim_graph_load(path, &saved, &error));
        unlink(path);
        size_t weights = 0;
        for (size_t v = 0; v < saved->values.count; v++) {
            const plim__value *now = &saved->values.items[v];
            plim_value was = now->kind == PLIM__VALUE_PARAMETER ? plim_graph_find(f.model, now->name) : PLIM_NO_VALUE;
            if (was < 0) continue;
            plim__tensor *a = now->tensor, *b = f.model->values.items[was].tensor;
            must(plim__tensor_load(a, &error));
            must(plim__tensor_load(b, &error));
            assert_int_equal(a->dtype, forms[i].dtype);
            if (forms[i].dtype == PLIM_F64) /* float32 holds 24 of its bits */
                for (int64_t k = 0; k < plim__shape_elements(&a->shape); k++)
                    assert_true(plim__tensor_at(a, k) == (double)(float)plim__tensor_at(b, k));
            else
                assert_memory_equal(a->data, b->data, a->bytes);
            weights++;
        }
        assert_int_equal(weights, 6);
        plim_graph_free(saved);
        plim_trainer_free(trainer);
        close_form(&f);
    }
}

static void write_as(plim_dtype dtype, void *memory, uint64_t i, float x) {
    if (dtype == PLIM_F16) ((uint16_t *)memory)[i] = plim__float_to_half(x);
    if (dtype == PLIM_BF16) ((uint16_t *)memory)[i] = plim__float_to_bfloat(x);
    if (dtype == PLIM_F64) ((double *)memory)[i] = (double)x;
}

static float read_as(plim_dtype dtype, const void *memory, uint64_t i) {
    if (dtype == PLIM_F16) return plim__half_to_float(((const uint16_t *)memory)[i]);
    if (dtype == PLIM_BF16) return plim__bfloat_to_float(((const uint16_t *)memory)[i]);
    return (float)((const double *)memory)[i];
}

/* A layer norm has no form in these types: it computes in float32, says so, and takes and gives the model's own type. */
static void models_in_other_types_run_with_their_own_inputs_and_outputs(void **state) {
    (void)state;
    static const struct {
        const char *name;
        plim_dtype dtype;
        double share;
    } forms[] = {{"float16", PLIM_F16, 2e-3}, {"bfloat16", PLIM_BF16, 2e-2}, {"float64", PLIM_F64, 1e-5}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct form f;
        const plim__safetensors_tensor *out = NULL, *in = NULL;
        plim_session *session;
        print_message("%s\n", forms[i].name);
        open_form(&f, forms[i].name);
        float *right = read_entry(&f, "out", &out), *data = read_input(&f, 0, &in);
        must(plim_session_create(f.model, &(plim_session_options){.batch = 3, .threads = 1}, &session, &error));
        const plim_graph *g = plim_session_graph(session);
        plim_value x = plim_graph_input_at(g, 0), y = plim_graph_output_at(g, 0);
        assert_int_equal(plim_graph_value_dtype(g, x), forms[i].dtype);
        assert_int_equal(plim_graph_value_dtype(g, y), forms[i].dtype);
        size_t before = plim_graph_remark_count(f.model);
        assert_int_equal(plim_graph_remark_count(g), before + 1);
        assert_non_null(strstr(plim_graph_remark_at(g, before, NULL), "it computes in float32"));
        void *memory = plim_session_input(session, plim_graph_value_name(g, x));
        for (uint64_t k = 0; k < in->elements; k++) write_as(forms[i].dtype, memory, k, data[k]);
        must(plim_session_run(session, &error));
        const void *got = plim_session_output(session, plim_graph_value_name(g, y));
        float *made = malloc(out->elements * sizeof *made);
        for (uint64_t k = 0; k < out->elements; k++) made[k] = read_as(forms[i].dtype, got, k);
        compare("the output", made, right, out->elements, forms[i].share);
        plim_session_free(session);
        free(made);
        free(right);
        free(data);
        close_form(&f);
    }
}

/* Data sets are in float32, and so are the scores that predictions are made of. */
static void models_in_other_types_predict_from_data_in_float32(void **state) {
    (void)state;
    static const char *const names[] = {"float16", "bfloat16", "float64"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct form f;
        open_form(&f, names[i]);
        predicts(&f, &(plim_session_options){.threads = 1, .evaluation = PLIM_EVALUATION_AS_TRAINED}, 1e-5);
        close_form(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_in_other_types_run_with_their_own_inputs_and_outputs),
        cmocka_unit_test(models_in_other_types_predict_from_data_in_float32),
        cmocka_unit_test(attention_in_every_spelling_is_fused_and_right),
        cmocka_unit_test(operators_that_are_spelled_out_are_right),
        cmocka_unit_test(transposed_convolutions_of_one_channel_train),
        cmocka_unit_test(models_in_other_types_train_in_float32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
