/* Convolutions whose channels fill no block have them last: no padding in memory, and the gradients of the same network whose
 * channels are filled up by hand, with weights of zero. */
#include "run/one_batch.h"

enum { ODD = 29, ROUND = 32, IMAGE = 24, CLASSES = 10 };

static plim_graph *g; /* the network that is being made */
static int64_t width; /* its channels: ODD or ROUND */

/* Weights of the odd network, with zeros where the round one has more channels. */
static plim_value parameter(const char *name, int rank, const int64_t *odd, float at, float spread) {
    static float values[ROUND * ROUND * 25];
    int64_t dims[4], count = 1, index[4];
    for (int i = 0; i < rank; i++) count *= dims[i] = odd[i] == ODD ? width : odd[i];
    for (int64_t k = 0; k < count; k++) {
        int64_t rest = k, where = 0;
        bool real = true;
        for (int i = rank - 1; i >= 0; rest /= dims[i], i--) index[i] = rest % dims[i];
        for (int i = 0; i < rank; i++) {
            real = real && index[i] < odd[i];
            where = where * odd[i] + index[i];
        }
        values[k] = real ? at + spread * ((float)(where * 7919 % 1009) / 504 - 1) : 0;
    }
    return plim_graph_parameter(g, name, PLIM_F32, rank, dims, values);
}

static plim_value conv(const char *name, plim_value x, int64_t channels, int64_t kernel, int64_t stride) {
    plim_value w = parameter(name, 4, (int64_t[]){ODD, channels, kernel, kernel}, 0,
                             1 / sqrtf((float)(channels * kernel * kernel)));
    int32_t node = plim_graph_node(g, "Conv", NULL, (plim_value[]){x, w}, 2, 1);
    plim_graph_set_ints(g, node, "pads", (int64_t[]){kernel / 2, kernel / 2, kernel / 2, kernel / 2}, 4);
    plim_graph_set_ints(g, node, "strides", (int64_t[]){stride, stride}, 2);
    return plim_graph_node_output(g, node, 0);
}

/* Far from the bend of the ReLU behind it: rounding must not decide which way a gradient goes. */
static plim_value norm(const char *name, plim_value x) {
    static const char *const parts[] = {"scale", "bias", "mean", "variance"};
    plim_value inputs[5] = {x};
    for (int i = 0; i < 4; i++) {
        char full[32];
        snprintf(full, sizeof full, "%s.%s", name, parts[i]);
        inputs[i + 1] = parameter(full, 1, (int64_t[]){ODD}, i == 0 ? 0.1f : i == 3 ? 1 : 0, i == 1 ? 3 : 0);
    }
    return plim_graph_apply(g, "BatchNormalization", inputs, 5);
}

static plim_graph *network(int64_t channels) {
    g = plim_graph_create();
    width = channels;
    int64_t batch = plim_graph_symbol(g, "N");
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){batch, 3, IMAGE, IMAGE}), first;
    x = norm("n1", conv("c1", x, 3, 5, 1));
    x = plim_graph_apply(g, "Relu", &x, 1);
    int32_t pool = plim_graph_node(g, "MaxPool", NULL, &x, 1, 1);
    plim_graph_set_ints(g, pool, "kernel_shape", (int64_t[]){2, 2}, 2);
    plim_graph_set_ints(g, pool, "strides", (int64_t[]){2, 2}, 2);
    first = x = plim_graph_node_output(g, pool, 0);
    x = norm("n2", conv("c2", x, ODD, 3, 1));
    x = plim_graph_apply(g, "Tanh", &x, 1);
    x = plim_graph_apply(g, "Add", (plim_value[]){x, first}, 2);
    x = conv("c3", x, ODD, 3, 2);
    x = conv("c4", x, ODD, 1, 1);
    x = plim_graph_apply(g, "GlobalAveragePool", &x, 1);
    x = plim_graph_apply(g, "Flatten", &x, 1);
    plim_value head = parameter("head", 2, (int64_t[]){ODD, CLASSES}, 0, 0.3f);
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){x, head}, 2), "scores");
    return g;
}

/* Without what belongs to channels that are not there. */
static void collect_real(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    static float kept[ODD * ODD * 25];
    int64_t count = 1, real = 0, cut[4];
    for (int i = 0; i < rank; i++) {
        cut[i] = dims[i] == ROUND ? ODD : dims[i];
        count *= dims[i];
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t rest = k;
        bool inside = true;
        for (int i = rank - 1; i >= 0; rest /= dims[i], i--) inside = inside && rest % dims[i] < cut[i];
        if (inside) kept[real++] = values[k];
    }
    collect(context, name, rank, cut, kept);
}

static struct gradients gradients_with(int64_t channels, uint64_t *arena) {
    plim_graph *model = network(channels);
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 2,
                              .no_winograd = 1, /* which lies in blocks */
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_SGD)};
    plim_trainer *trainer;
    plim_trainer_stats stats;
    must(plim_trainer_create(model, &o, &trainer, &error));
    plim_trainer_get_stats(trainer, &stats);
    *arena = stats.arena_bytes;
    plim_batch batch = batch_of(trainer);
    struct gradients all = {0};
    plim_step_result result;
    must(plim_trainer_gradients(trainer, &batch, collect_real, &all, &error));
    must(plim_trainer_step(trainer, &batch, &result, &error));
    all.loss = result.loss;
    batch_free(&batch);
    plim_trainer_free(trainer);
    plim_graph_free(model);
    return all;
}

static void odd_channels_compute_what_filled_ones_do_in_less_memory(void **state) {
    (void)state;
    uint64_t odd_bytes, round_bytes;
    struct gradients odd = gradients_with(ODD, &odd_bytes), whole = gradients_with(ROUND, &round_bytes);
    double off = distance(&whole, &odd);
    print_message("%zu gradients differ by %.2g, losses by %.2g; arenas %.1f and %.1f KiB\n", odd.count, off,
                  fabs(odd.loss - whole.loss) / whole.loss, (double)odd_bytes / 1024, (double)round_bytes / 1024);
    assert_true(off < 5e-6);
    assert_true(fabs(odd.loss - whole.loss) < 1e-6 * whole.loss);
    assert_true((double)odd_bytes < 0.97 * (double)round_bytes);
    free(odd.values);
    free(whole.values);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(odd_channels_compute_what_filled_ones_do_in_less_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
