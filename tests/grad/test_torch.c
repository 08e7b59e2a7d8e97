/* The gradients of whole networks are those that PyTorch computes, entry by entry, on one thread and on two, bit for bit
 * the same when run again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grad/gradient.h"
#include "graph/pass.h"
#include "kernel/processor.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

struct numbers {
    const char *name;
    double norm, mix, largest, entries[24];
};
#include "torch_numbers.h"

#define MOST 100

static void fill(float *to, int64_t count, int salt, double scale, double base) {
    for (int64_t k = 0; k < count; k++) {
        uint32_t h = (uint32_t)k * 2654435761u + (uint32_t)salt * 97u;
        h = (h ^ (h >> 15)) * 2246822519u;
        h ^= h >> 13;
        float x = (float)(((double)h / 2147483648.0 - 1) * scale);
        to[k] = (float)base + x;
    }
}

/* The weights of make_torch_numbers.py. */
static void set_weights(plim_graph *g) {
    for (size_t v = 0; v < g->values.count; v++) {
        plim__value *value = &g->values.items[v];
        if (value->kind != PLIM__VALUE_PARAMETER) continue;
        int salt = 0;
        for (const char *c = value->name; *c; c++) salt += *c;
        int64_t fan = 1;
        for (int i = 1; i < value->shape.rank; i++) fan *= value->shape.dims[i];
        double scale = value->shape.rank == 1 ? 0.1 : fmin(0.5, 1.5 / sqrt((double)fan));
        bool norm = value->shape.rank == 1 && strstr(value->name, ".weight");
        assert_int_equal(plim__tensor_load(value->tensor, NULL), PLIM_OK);
        fill(value->tensor->data, plim__shape_elements(&value->shape), salt, scale, norm ? 1 : 0);
    }
}

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static plim_value labels(plim_graph *g, int64_t count, int64_t classes) {
    int64_t values[2048];
    assert_true(count <= 2048);
    for (int64_t k = 0; k < count; k++) values[k] = (k * 7 + 3) % classes;
    return plim_graph_constant(g, "labels", PLIM_I64, 1, &count, values);
}

/* Puts the loss behind the scores, as (rows, classes). */
static plim_value add_loss(plim_graph *g, plim_value scores, int64_t rows, int64_t classes) {
    int64_t two = 2;
    plim_value shape = plim_graph_constant(g, NULL, PLIM_I64, 1, &two, (int64_t[]){rows, classes});
    scores = plim_graph_apply(g, "Reshape", (plim_value[]){scores, shape}, 2);
    return plim_graph_apply(g, "SoftmaxCrossEntropyLoss", (plim_value[]){scores, labels(g, rows, classes)}, 2);
}

static void compare(const plim_session *s, const plim_graph *g, const plim_value *gradients,
                    const struct numbers *right, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const float *d = plim_session_output(s, g->values.items[gradients[i]].name);
        assert_non_null(d);
        double squares = 0, mix = 0, worst = 0;
        int64_t size = plim__shape_elements(&g->values.items[gradients[i]].shape);
        for (int64_t j = 0; j < ENTRIES; j++)
            worst = fmax(worst, fabs((double)d[(7919 * j + 13) * 104729 % size] - right[i].entries[j]));
        if (!(worst <= 1e-4 * right[i].largest))
            fail_msg("%s: an entry is off by %.3g, the largest is %.3g", right[i].name, worst, right[i].largest);
        for (int64_t k = 0; k < size; k++) {
            squares += (double)d[k] * (double)d[k];
            mix += (double)d[k] * cos((double)k * 0.11);
        }
        double norm = sqrt(squares), off = fmax(fabs(norm - right[i].norm), fabs(mix - right[i].mix)) / right[i].norm;
        if (getenv("PLIM_SHOW_ERRORS"))
            print_message("%-32s %.1e %.1e\n", right[i].name, off, worst / right[i].largest);
        if (!(off < 1e-4))
            fail_msg("%s: norm %.9g, mix %.9g; PyTorch has %.9g, %.9g", right[i].name, norm, mix, right[i].norm,
                     right[i].mix);
    }
}

/* An input. */
struct fed {
    const char *name;
    const void *data;
    size_t bytes;
};

/* What PyTorch computes. */
struct expected {
    double loss;
    const struct numbers *gradients;
    size_t count;
};

static void expect_torch(plim_graph *g, plim_value loss, int64_t batch, int threads, struct fed input,
                         struct expected right) {
    size_t count = right.count;
    plim_error error = {0};
    plim_value targets[MOST], gradients[MOST];
    assert_true(count <= MOST);
    plim_graph_output(g, loss, "loss");
    must(plim_graph_status(g, &error), &error);
    must(plim__graph_bind(g, NULL, batch, &error), &error);
    must(plim__batch_norms_to_training_mode(g, &error), &error);
    must(plim__infer_graph(g, plim__processor_fold, NULL, &error), &error);
    must(plim__graph_prune(g, &error), &error);
    must(plim__passes_run(g, NULL, true, &error), &error);
    must(plim__infer_graph(g, plim__processor_fold, NULL, &error), &error);
    for (size_t i = 0; i < count; i++) {
        targets[i] = plim_graph_find(g, right.gradients[i].name);
        if (targets[i] < 0) fail_msg("there is no weight '%s'", right.gradients[i].name);
    }
    must(plim__gradients_build(g, plim_graph_find(g, "loss"), targets, count, gradients, &error), &error);
    for (size_t i = 0; i < count; i++) plim_graph_output(g, gradients[i], NULL);
    plim_session *s = NULL;
    must(plim_session_create(g, &(plim_session_options){.threads = threads}, &s, &error), &error);
    float *before[MOST] = {0};
    for (int round = 0; round < 2; round++) {
        memcpy(plim_session_input(s, input.name), input.data, input.bytes);
        must(plim_session_run(s, &error), &error);
        double found = (double)*(const float *)plim_session_output(s, "loss");
        if (!(fabs(found - right.loss) < 1e-5 * fabs(right.loss)))
            fail_msg("the loss is %.9g, PyTorch has %.9g", found, right.loss);
        compare(s, g, gradients, right.gradients, count);
        for (size_t i = 0; i < count; i++) {
            size_t size = (size_t)plim__shape_elements(&g->values.items[gradients[i]].shape) * sizeof(float);
            const float *now = plim_session_output(s, g->values.items[gradients[i]].name);
            if (round)
                assert_memory_equal(before[i], now, size);
            else
                before[i] = memcpy(malloc(size), now, size);
        }
    }
    for (size_t i = 0; i < count; i++) free(before[i]);
    plim_session_free(s);
    plim_graph_free(g);
}

static void lenet(void **state) {
    (void)state;
    for (int threads = 1; threads < 3; threads++) {
        plim_graph *g = NULL;
        plim_error error = {0};
        float image[3 * 28 * 28];
        must(plim_zoo_create("lenet", &(plim_zoo_options){.width = 8}, &g, &error), &error);
        set_weights(g);
        fill(image, 3 * 28 * 28, 3, 1, 0);
        plim_value loss = add_loss(g, plim_graph_output_at(g, 0), 3, 10);
        expect_torch(g, loss, 3, threads, (struct fed){"image", image, sizeof image},
                     (struct expected){lenet_loss, lenet_numbers, sizeof lenet_numbers / sizeof *lenet_numbers});
    }
}

static plim_value norm(plim_graph *g, plim_value x, const char *name) {
    char text[32];
    int64_t c = 16;
    float zero[16] = {0}, one[16];
    for (int i = 0; i < 16; i++) one[i] = 1;
    snprintf(text, sizeof text, "%s.weight", name);
    plim_value scale = plim_graph_parameter(g, text, PLIM_F32, 1, &c, NULL);
    snprintf(text, sizeof text, "%s.bias", name);
    plim_value bias = plim_graph_parameter(g, text, PLIM_F32, 1, &c, NULL);
    plim_value inputs[] = {x, scale, bias, plim_graph_constant(g, NULL, PLIM_F32, 1, &c, zero),
                           plim_graph_constant(g, NULL, PLIM_F32, 1, &c, one)};
    int32_t n = plim_graph_node(g, "BatchNormalization", NULL, inputs, 5, 3);
    plim_graph_set_int(g, n, "training_mode", 1);
    return plim_graph_node_output(g, n, 0);
}

static plim_value conv(plim_graph *g, plim_value x, const char *name) {
    plim_value w = plim_graph_parameter(g, name, PLIM_F32, 4, (int64_t[]){16, 16, 3, 3}, NULL);
    int32_t n = plim_graph_node(g, "Conv", NULL, (plim_value[]){x, w}, 2, 1);
    plim_graph_set_ints(g, n, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    return plim_graph_node_output(g, n, 0);
}

static void a_residual_block_with_batch_norm(void **state) {
    (void)state;
    for (int threads = 1; threads < 3; threads++) {
        static float image[4 * 16 * 9 * 9];
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){4, 16, 9, 9});
        plim_value y = norm(g, conv(g, x, "conv1.weight"), "bn1");
        y = norm(g, conv(g, plim_graph_apply(g, "Relu", &y, 1), "conv2.weight"), "bn2");
        y = plim_graph_apply(g, "Add", (plim_value[]){x, y}, 2);
        y = plim_graph_apply(g, "Relu", &y, 1);
        y = plim_graph_apply(g, "GlobalAveragePool", &y, 1);
        y = plim_graph_apply(g, "Flatten", &y, 1);
        plim_value w = plim_graph_parameter(g, "fc.weight", PLIM_F32, 2, (int64_t[]){5, 16}, NULL),
                   b = plim_graph_parameter(g, "fc.bias", PLIM_F32, 1, (int64_t[]){5}, NULL);
        int32_t n = plim_graph_node(g, "Gemm", NULL, (plim_value[]){y, w, b}, 3, 1);
        plim_graph_set_int(g, n, "transB", 1);
        set_weights(g);
        fill(image, 4 * 16 * 81, 3, 1, 0);
        plim_value loss = add_loss(g, plim_graph_node_output(g, n, 0), 4, 5);
        expect_torch(
            g, loss, 1, threads, (struct fed){"x", image, sizeof image},
            (struct expected){residual_loss, residual_numbers, sizeof residual_numbers / sizeof *residual_numbers});
    }
}

static void a_transformer(void **state) {
    (void)state;
    for (int threads = 1; threads < 3; threads++) {
        plim_graph *g = NULL;
        plim_error error = {0};
        int64_t tokens[24];
        must(plim_zoo_create("gpt2-tiny",
                             &(plim_zoo_options){.classes = 40, .seq = 12, .width = 32, .layers = 2, .heads = 4}, &g,
                             &error),
             &error);
        set_weights(g);
        for (int64_t k = 0; k < 24; k++) tokens[k] = (k * 7 + 3) % 40;
        plim_value loss = add_loss(g, plim_graph_output_at(g, 0), 24, 40);
        expect_torch(g, loss, 2, threads, (struct fed){"tokens", tokens, sizeof tokens},
                     (struct expected){gpt_loss, gpt_numbers, sizeof gpt_numbers / sizeof *gpt_numbers});
    }
}

static void resnet18_and_unet(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        plim_graph *g = NULL;
        plim_error error = {0};
        static float image[8 * 3 * 32 * 32];
        bool segment = i & 1;
        plim_zoo_options options = {.width = segment ? 4 : 8, .image = 32, .classes = segment ? 3 : 10};
        must(plim_zoo_create(segment ? "unet" : "resnet18", &options, &g, &error), &error);
        set_weights(g);
        int64_t batch = segment ? 2 : 8;
        fill(image, batch * 3 * 32 * 32, 3, 1, 0);
        plim_value scores = plim_graph_output_at(g, 0);
        if (segment) {
            int32_t n = plim_graph_node(g, "Transpose", NULL, &scores, 1, 1);
            plim_graph_set_ints(g, n, "perm", (int64_t[]){0, 2, 3, 1}, 4);
            scores = plim_graph_node_output(g, n, 0);
        }
        plim_value loss = add_loss(g, scores, segment ? 2 * 32 * 32 : 8, segment ? 3 : 10);
        expect_torch(g, loss, batch, 1 + i / 2,
                     (struct fed){"image", image, (size_t)batch * 3 * 32 * 32 * sizeof *image},
                     (struct expected){segment ? unet_loss : resnet18_loss, segment ? unet_numbers : resnet18_numbers,
                                       segment ? sizeof unet_numbers / sizeof *unet_numbers
                                               : sizeof resnet18_numbers / sizeof *resnet18_numbers});
    }
}

static void expect_torch_lstm(int64_t batch, int64_t words, struct expected right) {
    for (int threads = 1; threads < 3; threads++) {
        plim_graph *g = NULL;
        plim_error error = {0};
        int64_t tokens[96], count = batch * 6;
        must(plim_zoo_create("lstm", &(plim_zoo_options){.classes = words, .seq = 6, .width = 16, .layers = 2}, &g,
                             &error),
             &error);
        set_weights(g);
        for (int64_t k = 0; k < count; k++) tokens[k] = (k * 7 + 3) % words;
        plim_value loss = add_loss(g, plim_graph_output_at(g, 0), count, words);
        expect_torch(g, loss, batch, threads, (struct fed){"tokens", tokens, (size_t)count * sizeof *tokens}, right);
    }
}

static void lstm(void **state) {
    (void)state;
    expect_torch_lstm(3, 20, (struct expected){lstm_loss, lstm_numbers, sizeof lstm_numbers / sizeof *lstm_numbers});
}

/* Few enough that the table comes first (graph/passes/table.c). */
static void lstm_of_few_words(void **state) {
    (void)state;
    expect_torch_lstm(16, 5,
                      (struct expected){lstm_of_few_words_loss, lstm_of_few_words_numbers,
                                        sizeof lstm_of_few_words_numbers / sizeof *lstm_of_few_words_numbers});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenet),         cmocka_unit_test(a_residual_block_with_batch_norm),
        cmocka_unit_test(a_transformer), cmocka_unit_test(resnet18_and_unet),
        cmocka_unit_test(lstm),          cmocka_unit_test(lstm_of_few_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
