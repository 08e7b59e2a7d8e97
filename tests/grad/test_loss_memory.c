/* The scores of a language model are the largest thing in its training step: they exist once. */
#include <string.h>

#include "grad/gradient.h"
#include "grad/training.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

#define ROWS    1024
#define WIDTH   64
#define CLASSES 50257

/* The end of a language model: hidden states (4, 256, 64) times the embeddings of 50,257 tokens, and the loss. */
static plim_graph *language_model(int64_t chunk_rows, plim_value gradients[2]) {
    plim_error error = {0};
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    plim__loss_parts parts;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){4, ROWS / 4, WIDTH});
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){WIDTH, CLASSES}, NULL);
    plim_value y = plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2);
    plim_graph_output(g, y, "scores");
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    must(plim__loss_append(g, &loss, &parts, &error), &error);
    g->outputs.count = 0;
    if (chunk_rows) must(plim__linear_losses_fuse(g, chunk_rows, &error), &error);
    must(plim__gradients_build(g, parts.loss, (plim_value[]){x, w}, 2, gradients, &error), &error);
    plim_graph_output(g, parts.loss, NULL);
    for (int i = 0; i < 2; i++) plim_graph_output(g, gradients[i], NULL);
    must(plim_graph_status(g, &error), &error);
    return g;
}

static size_t arena_bytes(int64_t chunk_rows) {
    plim_error error = {0};
    plim_value gradients[2];
    plim_graph *g = language_model(chunk_rows, gradients);
    plim_session *s = NULL;
    plim_session_stats stats;
    must(plim_session_create(g, &(plim_session_options){.plan_only = 1, .threads = 2}, &s, &error), &error);
    plim_session_get_stats(s, &stats);
    plim_session_free(s);
    plim_graph_free(g);
    return stats.arena_bytes;
}

static const size_t row = sizeof(float) * CLASSES, weights = sizeof(float) * WIDTH * CLASSES,
                    states = sizeof(float) * ROWS * WIDTH;

static void scores_of_50257_classes_never_exist_twice(void **state) {
    (void)state;
    size_t bytes = arena_bytes(0), scores = ROWS * row;
    print_message("arena %zu bytes: scores %zu, weights %zu\n", bytes, scores, weights);
    /* the scores; the weights and their gradient, each perhaps once more in oneDNN's order; what stays small */
    assert_true(bytes > scores);
    assert_true(bytes < scores + 4 * weights + 4 * states + (1 << 20));
    assert_true(bytes < scores + scores / 2);
}

static void scores_of_a_fused_loss_are_those_of_a_chunk(void **state) {
    (void)state;
    for (int64_t chunk = 1; chunk <= 256; chunk *= 16) {
        size_t bytes = arena_bytes(chunk);
        print_message("%3lld rows at a time: arena %zu bytes\n", (long long)chunk, bytes);
        assert_true(bytes < (size_t)chunk * row + 2 * weights + 4 * states + (1 << 20));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_of_50257_classes_never_exist_twice),
        cmocka_unit_test(scores_of_a_fused_loss_are_those_of_a_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
