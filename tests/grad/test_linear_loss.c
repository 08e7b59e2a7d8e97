/* A linear layer inside the loss: the same loss and the same gradients, with the scores of a few rows in memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grad/gradient.h"
#include "grad/training.h"
#include "graph/pass.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static void fill(float *to, int64_t count, int salt, double scale) {
    for (int64_t k = 0; k < count; k++) to[k] = (float)(sin((double)k * 0.7310585 + salt * 1.25) * scale);
}

#define ROWS    12
#define DEPTH   7
#define CLASSES 35

enum form { MATMUL, WITH_BIAS, TRANSPOSED, GEMM, RESHAPED, FORMS };

/* x (3, 4, 7) or (12, 7) → scores (..., 35) */
static plim_value scores(plim_graph *g, enum form form, plim_value x, plim_value w, plim_value bias) {
    plim_value y;
    if (form == GEMM) {
        int32_t n = plim_graph_node(g, "Gemm", NULL, (plim_value[]){x, w, bias}, 3, 1);
        plim_graph_set_int(g, n, "transB", 1);
        return plim_graph_node_output(g, n, 0);
    }
    if (form == TRANSPOSED) w = plim_graph_apply(g, "Transpose", &w, 1);
    y = plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2);
    if (form == WITH_BIAS) y = plim_graph_apply(g, "Add", (plim_value[]){y, bias}, 2);
    if (form == RESHAPED) {
        int64_t two = 2;
        plim_value shape = plim_graph_constant(g, NULL, PLIM_I64, 1, &two, (int64_t[]){ROWS, CLASSES});
        y = plim_graph_apply(g, "Reshape", (plim_value[]){y, shape}, 2);
    }
    return y;
}

struct result {
    float loss, weight, correct, dx[ROWS * DEPTH], dw[DEPTH * CLASSES], dbias[CLASSES];
    bool fused, at_once;
};

/* What the gradient is of. */
enum objective { MEAN, SUM, HALF, OBJECTIVES };

static plim_value objective(plim_graph *g, enum objective what, const plim__loss_parts *parts) {
    plim_error error = {0};
    float half = 0.5f;
    plim_value factor = what == SUM ? parts->weight : plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &half);
    if (what == MEAN) return parts->loss;
    plim_value y = plim_graph_apply(g, "Mul", (plim_value[]){parts->loss, factor}, 2);
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    return y;
}

/* chunk 0: not fused. */
static struct result *train(enum form form, enum objective what, plim_loss loss, int64_t chunk, int threads,
                            bool frozen) {
    struct result *r = calloc(1, sizeof *r);
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim__loss_parts parts;
    bool wide = form != GEMM, turned = form == GEMM || form == TRANSPOSED, bias = form == GEMM || form == WITH_BIAS;
    plim_value x = wide ? plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){3, 4, DEPTH})
                        : plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){ROWS, DEPTH});
    float weights[DEPTH * CLASSES], biases[CLASSES];
    fill(weights, DEPTH * CLASSES, 2, 1);
    fill(biases, CLASSES, 4, 0.5);
    int64_t classes = CLASSES;
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2,
                                        turned ? (int64_t[]){CLASSES, DEPTH} : (int64_t[]){DEPTH, CLASSES}, weights);
    plim_value b = bias ? plim_graph_parameter(g, "b", PLIM_F32, 1, &classes, biases) : PLIM_NO_VALUE;
    plim_graph_output(g, scores(g, form, x, w, b), "scores");
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    must(plim__loss_append(g, &loss, &parts, &error), &error);
    g->outputs.count = 0;
    plim_value outs[6] = {parts.loss, parts.weight, parts.correct};
    for (int i = 0; i < 3; i++) plim_graph_output(g, outs[i], NULL);
    must(plim__passes_run(g, NULL, true, &error), &error);
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    if (chunk) must(plim__linear_losses_fuse(g, chunk, &error), &error);
    r->fused = strcmp(g->nodes.items[g->values.items[parts.loss].producer].op_name, "LinearCrossEntropy") == 0;
    plim_value targets[3] = {x, frozen ? b : w, frozen ? PLIM_NO_VALUE : b};
    size_t count = frozen ? (bias ? 2 : 1) : bias ? 3 : 2;
    must(plim__gradients_build(g, objective(g, what, &parts), targets, count, outs + 3, &error), &error);
    const char *op = g->nodes.items[g->values.items[parts.loss].producer].op_name;
    r->at_once = strcmp(op, "LinearCrossEntropyTrain") == 0;
    for (size_t i = 0; i < count; i++) plim_graph_output(g, outs[3 + i], NULL);
    plim_session *s = NULL;
    must(plim_session_create(g, &(plim_session_options){.threads = threads}, &s, &error), &error);
    fill(plim_session_input(s, "x"), ROWS * DEPTH, 3, 1);
    int64_t *labels = plim_session_input(s, "plimsoll.target");
    for (int64_t i = 0; i < ROWS; i++)
        labels[i] = loss.ignores && i % 5 == 0 ? loss.ignore_index : (i * 7 + 3) % CLASSES;
    must(plim_session_run(s, &error), &error);
    r->loss = *(const float *)plim_session_output(s, plim_graph_value_name(g, outs[0]));
    r->weight = *(const float *)plim_session_output(s, plim_graph_value_name(g, outs[1]));
    r->correct = *(const float *)plim_session_output(s, plim_graph_value_name(g, outs[2]));
    float *to[3] = {r->dx, frozen ? r->dbias : r->dw, r->dbias};
    for (size_t i = 0; i < count; i++)
        memcpy(to[i], plim_session_output(s, plim_graph_value_name(g, outs[3 + i])),
               (size_t)plim__shape_elements(&g->values.items[outs[3 + i]].shape) * sizeof(float));
    plim_session_free(s);
    plim_graph_free(g);
    return r;
}

static void equal(const char *what, const float *a, const float *b, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)b[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 2e-6 * most))
            fail_msg("%s[%zu] is %g, expected %g", what, i, (double)a[i], (double)b[i]);
}

static void compare(enum form form, enum objective what, plim_loss loss, int64_t chunk, int threads, bool frozen) {
    struct result *whole = train(form, what, loss, 0, threads, frozen),
                  *parts = train(form, what, loss, chunk, threads, frozen);
    assert_false(whole->fused);
    assert_true(parts->fused && parts->at_once == (what != HALF));
    equal("loss", &parts->loss, &whole->loss, 1);
    assert_true(parts->weight == whole->weight && parts->correct == whole->correct && whole->loss > 0);
    equal("dx", parts->dx, whole->dx, ROWS * DEPTH);
    equal("dw", parts->dw, whole->dw, DEPTH * CLASSES);
    equal("dbias", parts->dbias, whole->dbias, CLASSES);
    free(whole);
    free(parts);
}

static plim_loss every_extra(void) {
    static float weights[CLASSES];
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    fill(weights, CLASSES, 1, 0.5);
    for (int i = 0; i < CLASSES; i++) weights[i] += 1;
    loss.class_weights = weights;
    loss.class_count = CLASSES;
    loss.label_smoothing = 0.1;
    return loss;
}

static void chunks_of_rows_give_the_loss_and_gradients_of_all(void **state) {
    (void)state;
    plim_loss plain = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    plain.ignores = 0;
    for (int form = 0; form < FORMS; form++)
        for (int what = 0; what < OBJECTIVES; what++)
            for (int threads = 1; threads < 3; threads++) {
                compare((enum form)form, (enum objective)what, plain, 1, threads, false);
                compare((enum form)form, (enum objective)what, plain, 5, threads, false);
                compare((enum form)form, (enum objective)what, every_extra(), 5, threads, false);
                compare((enum form)form, (enum objective)what, every_extra(), 1000, threads, false);
            }
}

static void frozen_weights_have_no_gradient(void **state) {
    (void)state;
    for (int what = 0; what < OBJECTIVES; what++) {
        compare(WITH_BIAS, (enum objective)what, every_extra(), 5, 2, true);
        compare(TRANSPOSED, (enum objective)what, every_extra(), 5, 2, true);
    }
}

static void scores_that_somebody_reads_stay(void **state) {
    (void)state;
    plim_error error = {0};
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    plim__loss_parts parts;
    for (int kept = 0; kept < 2; kept++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){ROWS, DEPTH});
        plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){DEPTH, CLASSES}, NULL);
        plim_graph_output(g, scores(g, MATMUL, x, w, PLIM_NO_VALUE), "scores");
        must(plim__infer_graph(g, NULL, NULL, &error), &error);
        must(plim__loss_append(g, &loss, &parts, &error), &error);
        if (!kept) g->outputs.count = 0;
        plim_graph_output(g, parts.loss, NULL);
        must(plim__linear_losses_fuse(g, 4, &error), &error);
        const plim__node *node = &g->nodes.items[g->values.items[parts.loss].producer];
        assert_string_equal(node->op_name, kept ? "CrossEntropy" : "LinearCrossEntropy");
        assert_int_equal(plim__linear_losses_fuse(g, 0, &error), PLIM_INVALID);
        plim_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_of_rows_give_the_loss_and_gradients_of_all),
        cmocka_unit_test(frozen_weights_have_no_gradient),
        cmocka_unit_test(scores_that_somebody_reads_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
