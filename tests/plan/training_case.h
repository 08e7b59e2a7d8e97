/* A network of the zoo as a program that trains: forward, loss, backward and a plain update of every weight,
 *     w -= 0.01 g
 * over the bytes of both as they lie (a made-up rule where layouts differ, but one that any error in a gradient or in
 * the order of steps shows in). */
#ifndef PLIM_TESTS_TRAINING_CASE_H
#define PLIM_TESTS_TRAINING_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grad/gradient.h"
#include "graph/pass.h"
#include "kernel/processor.h"
#include "plan/plan.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

struct training_case {
    plim_graph *graph;
    plim__program *program;
    plim_value loss;
};

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static plim_value case_labels(plim_graph *g, int rank, const int64_t *dims, int64_t classes) {
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    int64_t *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t k = 0; k < count; k++) values[k] = (k * 7 + 3) % classes;
    plim_value labels = plim_graph_constant(g, "labels", PLIM_I64, rank, dims, values);
    free(values);
    return labels;
}

/* Scores are (N, C), (N, C, H, W), or (N, T, C), which become (N T, C). */
static plim_value case_loss(plim_graph *g) {
    plim_value scores = plim_graph_output_at(g, 0);
    plim__shape shape = g->values.items[scores].shape;
    int64_t classes = shape.dims[shape.rank == 3 ? 2 : 1], rows = shape.dims[0], two = 2;
    if (shape.rank == 3) {
        rows *= shape.dims[1];
        plim_value flat = plim_graph_constant(g, NULL, PLIM_I64, 1, &two, (int64_t[]){rows, classes});
        scores = plim_graph_apply(g, "Reshape", (plim_value[]){scores, flat}, 2);
    }
    plim_value labels = shape.rank == 4
                            ? case_labels(g, 3, (int64_t[]){shape.dims[0], shape.dims[2], shape.dims[3]}, classes)
                            : case_labels(g, 1, &rows, classes);
    return plim_graph_apply(g, "SoftmaxCrossEntropyLoss", (plim_value[]){scores, labels}, 2);
}

struct case_update {
    size_t weights, gradients;
};

static plim_status case_run_update(const plim__call *call) {
    const struct case_update *u = call->state;
    float *w = call->out[0];
    const float *g = call->in[0];
    for (size_t k = 0; k < u->weights; k++) w[k] -= 0.01f * g[k % u->gradients];
    return PLIM_OK;
}

static void case_add_update(plim__program *program, plim_value parameter, plim_value gradient) {
    size_t at = 0;
    while (at < program->loads.count && program->loads.items[at].value != parameter) at++;
    if (at == program->loads.count || program->values[gradient].buffer < 0) return;
    int32_t weight = program->loads.items[at].buffer;
    plim__operand from = program->values[gradient];
    struct case_update *state = plim__alloc(sizeof *state);
    plim__operand *operands = plim__alloc_array(2, sizeof *operands);
    assert_true(state && operands);
    *state = (struct case_update){program->buffers.items[weight].bytes / sizeof(float),
                                  program->buffers.items[from.buffer].bytes / sizeof(float)};
    operands[0] = (plim__operand){from.buffer, 0};
    operands[1] = (plim__operand){weight, 0};
    plim__step step = {.run = case_run_update,
                       .state = state,
                       .release = plim__free,
                       .node = -1,
                       .label = "update",
                       .operands = operands,
                       .in_count = 1,
                       .out_count = 1,
                       .scratch = -1,
                       .inplace_in = -1,
                       .inplace_out = -1,
                       .phase = PLIM__UPDATE,
                       .writes = true};
    step.cost.bytes = (double)(2 * program->buffers.items[weight].bytes + program->buffers.items[from.buffer].bytes);
    assert_true(plim__vec_push(&program->steps, step));
}

static void case_create(struct training_case *c, const char *name, const plim_zoo_options *options, int64_t batch,
                        int threads) {
    plim_error error = {0};
    plim_graph *g = NULL;
    must(plim_zoo_create(name, options, &g, &error), &error);
    must(plim__graph_bind(g, NULL, batch, &error), &error);
    must(plim__infer_graph(g, plim__processor_fold, NULL, &error), &error);
    plim_value loss = case_loss(g);
    plim_graph_output(g, loss, "loss");
    must(plim_graph_status(g, &error), &error);
    must(plim__batch_norms_to_training_mode(g, &error), &error);
    must(plim__infer_graph(g, plim__processor_fold, NULL, &error), &error);
    g->outputs.items[0] = plim_graph_find(g, "loss"); /* the loss alone: scores are not kept for the caller */
    g->outputs.count = 1;
    must(plim__graph_prune(g, &error), &error);
    must(plim__passes_run(g, NULL, true, &error), &error);
    must(plim__infer_graph(g, plim__processor_fold, NULL, &error), &error);
    plim_value *parameters = malloc(g->values.count * sizeof *parameters), *gradients;
    size_t count = 0;
    for (size_t v = 0; v < g->values.count; v++)
        if (g->values.items[v].kind == PLIM__VALUE_PARAMETER) parameters[count++] = (plim_value)v;
    gradients = malloc((count + 1) * sizeof *gradients);
    c->loss = plim_graph_find(g, "loss");
    must(plim__gradients_build(g, c->loss, parameters, count, gradients, &error), &error);
    must(plim__infer_graph(g, plim__processor_fold, NULL, &error), &error);
    c->graph = g;
    must(plim__program_create(g, plim__on_processor(threads), NULL, &c->program, &error), &error);
    for (size_t i = 0; i < count; i++)
        if (gradients[i] >= 0) case_add_update(c->program, parameters[i], gradients[i]);
    free(parameters);
    free(gradients);
}

static void case_free(struct training_case *c) {
    plim__program_free(c->program);
    plim_graph_free(c->graph);
}

/* Seconds from counts, the same on every machine: 200 GFLOP/s and 10 GB/s. Steps that count nothing move their bytes. */
static double *case_seconds(const plim__program *program) {
    double *seconds = malloc((program->steps.count + 1) * sizeof *seconds);
    assert_non_null(seconds);
    for (size_t s = 0; s < program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        double bytes = 0;
        for (int32_t i = 0; i < step->in_count + step->out_count; i++)
            if (step->operands[i].buffer >= 0) bytes += (double)program->buffers.items[step->operands[i].buffer].bytes;
        seconds[s] = step->cost.flops / 200e9 + bytes / 10e9 + 1e-6;
    }
    return seconds;
}

#endif
