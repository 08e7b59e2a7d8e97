/* Wide images and long signals: what oneDNN keeps for each column of a row is counted, and where it would be more than the row it
 * is done without. Each run is a process of its own, whose resident peak the kernel counts. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define MEBIBYTE ((uint64_t)1 << 20)

static plim_value convolution(plim_graph *g, plim_value x, const int64_t *dims, int rank) {
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    float *values = calloc(count, sizeof *values);
    assert_non_null(values);
    plim_value in[] = {x, plim_graph_parameter(g, NULL, PLIM_F32, rank, dims, values)};
    free(values);
    int32_t node = plim_graph_node(g, "Conv", NULL, in, 2, 1);
    plim_graph_set_ints(g, node, "pads", (int64_t[]){1, 1, 1, 1, 1, 1}, (size_t)(2 * (rank - 2)));
    return plim_graph_node_output(g, node, 0);
}

/* Rows of 1024 and a few channels: activations are small, the columns are many. */
static plim_graph *wide_images(void) {
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){plim_graph_symbol(g, "N"), 3, 8, 1024});
    for (int64_t i = 0, channels = 3; i < 8; i++, channels = 15 + i) {
        x = convolution(g, x, (int64_t[]){16 + i, channels, 3, 3}, 4);
        x = plim_graph_apply(g, "Relu", &x, 1);
    }
    x = plim_graph_apply(g, "GlobalAveragePool", &x, 1);
    plim_graph_output(g, plim_graph_apply(g, "Flatten", &x, 1), "y");
    return g;
}

/* A million samples, pooled, then one mean over all that is left. */
static plim_graph *long_signal(void) {
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){plim_graph_symbol(g, "N"), 1, 1000000});
    x = convolution(g, x, (int64_t[]){2, 1, 3}, 3);
    int32_t pool = plim_graph_node(g, "MaxPool", NULL, &x, 1, 1);
    plim_graph_set_ints(g, pool, "kernel_shape", (int64_t[]){2}, 1);
    plim_graph_set_ints(g, pool, "strides", (int64_t[]){2}, 1);
    x = plim_graph_node_output(g, pool, 0);
    x = convolution(g, x, (int64_t[]){3, 2, 5}, 3);
    x = plim_graph_apply(g, "GlobalAveragePool", &x, 1);
    plim_graph_output(g, plim_graph_apply(g, "Flatten", &x, 1), "y");
    return g;
}

/* 4 times a prime are the pixels of each channel: oneDNN unrolls what does not divide evenly. */
static plim_graph *prime_volume(void) {
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 5, (int64_t[]){plim_graph_symbol(g, "N"), 1, 2, 2, 262147});
    x = convolution(g, x, (int64_t[]){3, 1, 3, 3, 3}, 5);
    x = plim_graph_apply(g, "Sin", &x, 1);
    x = convolution(g, x, (int64_t[]){20, 3, 3, 3, 3}, 5);
    x = plim_graph_apply(g, "Sin", &x, 1);
    x = convolution(g, x, (int64_t[]){2, 20, 3, 3, 3}, 5);
    x = plim_graph_apply(g, "GlobalAveragePool", &x, 1);
    plim_graph_output(g, plim_graph_apply(g, "Flatten", &x, 1), "y");
    return g;
}

/* Trains three updates; 0, or a line that says what is wrong. */
static int train(plim_graph *(*model)(void), int64_t batch, size_t sample, uint64_t budget) {
    plim_error error = {0};
    plim_graph *g = model();
    plim_trainer *trainer = NULL;
    plim_trainer_options options = {.batch = batch, .budget = budget, .loss = {.kind = PLIM_LOSS_CROSS_ENTROPY}};
    float *x = calloc((size_t)batch * sample, sizeof *x);
    int64_t *y = calloc((size_t)batch, sizeof *y);
    plim_batch data = {.count = batch, .inputs = {x}, .target = y};
    plim_step_result result;
    plim_status status = plim_trainer_create(g, &options, &trainer, &error);
    for (int i = 0; status == PLIM_OK && i < 3; i++) status = plim_trainer_step(trainer, &data, &result, &error);
    uint64_t peak = plim_process_resident_peak();
    if (status != PLIM_OK) printf("within %llu: %s\n", (unsigned long long)budget, error.message);
    if (peak > budget) printf("held %llu, the budget is %llu\n", (unsigned long long)peak, (unsigned long long)budget);
    plim_trainer_free(trainer);
    plim_graph_free(g);
    free(x);
    free(y);
    return status == PLIM_OK && peak <= budget ? 0 : 1;
}

static void must_hold(plim_graph *(*model)(void), int64_t batch, size_t sample, uint64_t budget) {
#ifdef __SANITIZE_ADDRESS__ /* holds memory of its own, which no plan knows of */
    skip();
#endif
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int failed = train(model, batch, sample, budget);
        fflush(stdout);
        _exit(failed);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

static void wide_images_stay_within_a_budget(void **state) {
    (void)state;
    for (uint64_t budget = 36; budget <= 44; budget += 2) must_hold(wide_images, 4, 3 * 8 * 1024, budget * MEBIBYTE);
}

static void a_long_signal_takes_little_more_than_its_tensors(void **state) {
    (void)state;
    must_hold(long_signal, 1, 1000000, 200 * MEBIBYTE);
}

static void a_prime_number_of_pixels_takes_no_code_for_each(void **state) {
    (void)state;
    must_hold(prime_volume, 1, 4 * 262147, 320 * MEBIBYTE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_images_stay_within_a_budget),
        cmocka_unit_test(a_long_signal_takes_little_more_than_its_tensors),
        cmocka_unit_test(a_prime_number_of_pixels_takes_no_code_for_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
