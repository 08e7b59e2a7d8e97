/* Builds a model in code, checks its gradients, trains it on two spirals, and saves it as ONNX.
 *
 *     build_model SPIRALS.onnx */
#include <math.h>
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 256, WIDTH = 32 };

static double uniform(double low, double high) { return low + (high - low) * rand() / RAND_MAX; }

/* x (N, in) → x W + b (N, out) */
static plim_value linear(plim_graph *g, plim_value x, const char *name, int64_t in, int64_t out) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    float values[WIDTH * WIDTH];
    for (int64_t i = 0; i < in * out; i++) values[i] = (float)uniform(-sqrt(3.0 / (double)in), sqrt(3.0 / (double)in));
    plim_value w = plim_graph_parameter(g, weight, PLIM_F32, 2, (int64_t[]){in, out}, values);
    plim_value b = plim_graph_parameter(g, bias, PLIM_F32, 1, &out, NULL);
    plim_value product = plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2);
    return plim_graph_apply(g, "Add", (plim_value[]){product, b}, 2);
}

/* Failures need no checks on the way: the graph keeps the first one, and plim_graph_status tells it. */
static plim_graph *make_model(void) {
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "point", PLIM_F32, 2, (int64_t[]){plim_graph_symbol(g, "N"), 2});
    x = linear(g, x, "first", 2, WIDTH);
    x = plim_graph_apply(g, "Tanh", &x, 1);
    x = linear(g, x, "second", WIDTH, WIDTH);
    x = plim_graph_apply(g, "Tanh", &x, 1);
    plim_graph_output(g, linear(g, x, "head", WIDTH, 2), "logits");
    return g;
}

static void draw_batch(float points[BATCH][2], int64_t labels[BATCH]) {
    for (int i = 0; i < BATCH; i++) {
        double t = uniform(0.5, 3), angle = 3 * t + 3.14159265 * (double)(labels[i] = rand() % 2);
        points[i][0] = (float)(t * cos(angle) + uniform(-0.1, 0.1));
        points[i][1] = (float)(t * sin(angle) + uniform(-0.1, 0.1));
    }
}

static plim_status train(plim_trainer *trainer, plim_error *error) {
    float points[BATCH][2];
    int64_t labels[BATCH];
    plim_step_result step;
    for (int i = 0; i < 2000; i++) {
        draw_batch(points, labels);
        plim_status status = plim_trainer_step(
            trainer, &(plim_batch){.count = BATCH, .inputs = {points}, .target = labels}, &step, error);
        if (status != PLIM_OK) return status;
        if (i % 500 == 499) printf("step %d  loss %.4f  right %.0f of %d\n", i + 1, step.loss, step.correct, BATCH);
    }
    return PLIM_OK;
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: %s SPIRALS.onnx\n", argv[0]), 2;
    plim_error error;
    plim_gradient_result check;
    plim_trainer *trainer = NULL;
    plim_trainer_options options = {.batch = BATCH,
                                    .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAM)};
    options.optimizer.rate = 0.005;
    srand(1);
    plim_graph *model = make_model();
    plim_status status = plim_graph_status(model, &error);
    if (status == PLIM_OK) status = plim_gradient_check(model, &(plim_gradient_options){.batch = 4}, &check, &error);
    if (status == PLIM_OK) printf("gradients: %zu entries within %.0e of differences\n", check.checked, check.error);
    if (status == PLIM_OK) status = plim_trainer_create(model, &options, &trainer, &error);
    if (status == PLIM_OK) status = train(trainer, &error);
    if (status == PLIM_OK) status = plim_trainer_save(trainer, argv[1], &error);

    if (status != PLIM_OK) fprintf(stderr, "%s\n", error.message);
    plim_trainer_free(trainer);
    plim_graph_free(model);
    return status == PLIM_OK ? 0 : 1;
}
