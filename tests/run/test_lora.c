/* Adapters: they learn what PEFT's learn from the same start, in files that either reads; the base has neither gradients nor
 * state; merged, the model computes the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph.h"
#include "lora_numbers.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define DATA    PLIM_SOURCE_DIR "/tests/run/data/lora/"
#define UPDATES (int)(sizeof peft_losses / sizeof *peft_losses)

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

/* The tiny LLaMA that PEFT had. */
static plim_graph *llama(void) {
    plim_graph *g = NULL;
    plim_error error = {0};
    must(plim_zoo_create(
             "llama",
             &(plim_zoo_options){
                 .seq = 12, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 44, .classes = 40},
             &g, &error),
         &error);
    must(plim_graph_load_weights(g, PLIM_SOURCE_DIR "/tests/zoo/data/llama/model.safetensors.index.json", NULL, &error),
         &error);
    return g;
}

static plim_trainer *trainer_of(const plim_graph *g) {
    plim_trainer *t = NULL;
    plim_error error = {0};
    plim_trainer_options options = {.batch = 2,
                                    .threads = 2,
                                    .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    options.optimizer.rate = 0.01;
    must(plim_trainer_create(g, &options, &t, &error), &error);
    return t;
}

static double step(plim_trainer *t) {
    int64_t tokens[24], target[24];
    plim_error error = {0};
    for (int64_t k = 0; k < 24; k++) tokens[k] = k * 7 % 19, target[k] = (k * 5 + 3) % 40;
    plim_step_result result;
    must(plim_trainer_step(t, &(plim_batch){.count = 2, .inputs = {tokens}, .target = target}, &result, &error),
         &error);
    return result.loss;
}

static void near(const char *what, double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance * fmax(fabs(b), 1e-3))) fail_msg("%s: %.9g, not %.9g", what, a, b);
}

static plim_trainer *train_from(plim_graph *g, const char *from) {
    plim_error error = {0};
    size_t layers = 0;
    must(plim_lora_add(g, &(plim_lora_options){.from = from}, &layers, &error), &error);
    assert_int_equal(layers, 6);
    return trainer_of(g);
}

static void the_loss_goes_as_that_of_peft(void **state) {
    (void)state;
    plim_graph *g = llama();
    plim_trainer *t = train_from(g, DATA "initial");
    for (int i = 0; i < UPDATES; i++) near("the loss", step(t), peft_losses[i], 1e-4);
    near("the last loss", step(t), peft_final_loss, 1e-4);
    plim_trainer_free(t);
    plim_graph_free(g);
}

static void only_adapters_have_gradients_and_state(void **state) {
    (void)state;
    plim_graph *g = llama();
    plim_trainer *t = train_from(g, DATA "initial");
    size_t parameters = 0, states = 0;
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        assert_non_null(strstr(tensor.name, ".lora_"));
        parameters += tensor.role == PLIM_ROLE_PARAMETER;
        states += tensor.role == PLIM_ROLE_OPTIMIZER;
    }
    assert_int_equal(parameters, 12);
    assert_int_equal(states, 24);
    plim_trainer_free(t);
    plim_graph_free(g);
}

static void make_folder(char folder[64]) {
    strcpy(folder, "/tmp/plim_lora_XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static void remove_file(const char *folder, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static void what_is_saved_is_what_peft_learned_and_goes_on(void **state) {
    (void)state;
    char folder[64];
    plim_error error = {0};
    make_folder(folder);
    plim_graph *g = llama(), *again = llama(), *right = llama();
    plim_trainer *t = train_from(g, DATA "initial");
    for (int i = 0; i < UPDATES; i++) step(t);
    must(plim_lora_save(t, folder, &error), &error);
    plim_trainer *ours = train_from(again, folder), *theirs = train_from(right, DATA "final");
    for (size_t i = 0; i < plim_trainer_tensor_count(ours); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(ours, i, &tensor);
        if (tensor.role != PLIM_ROLE_PARAMETER) continue;
        float a[256], b[256];
        assert_true(tensor.bytes <= sizeof a);
        must(plim_trainer_read(ours, i, a, &error), &error);
        must(plim_trainer_read(theirs, i, b, &error), &error);
        for (size_t k = 0; k < tensor.bytes / sizeof *a; k++)
            if (fabsf(a[k] - b[k]) > 2e-3f) fail_msg("%s: %g, not %g", tensor.name, (double)a[k], (double)b[k]);
    }
    near("the loss of what was saved", step(ours), step(t), 1e-6);
    remove_file(folder, "adapter_model.safetensors");
    remove_file(folder, "adapter_config.json");
    rmdir(folder);
    plim_trainer_free(t), plim_trainer_free(ours), plim_trainer_free(theirs);
    plim_graph_free(g), plim_graph_free(again), plim_graph_free(right);
}

static void run(const plim_graph *g, float *out, size_t bytes) {
    plim_session *s = NULL;
    plim_error error = {0};
    must(plim_session_create(g, &(plim_session_options){.batch = 2}, &s, &error), &error);
    int64_t *tokens = plim_session_input(s, "tokens");
    for (int64_t k = 0; k < 24; k++) tokens[k] = k * 7 % 19;
    must(plim_session_run(s, &error), &error);
    memcpy(out, plim_session_output(s, "logits"), bytes);
    plim_session_free(s);
}

static void merged_the_model_computes_the_same_without_them(void **state) {
    (void)state;
    char folder[64], path[128];
    plim_error error = {0};
    make_folder(folder);
    snprintf(path, sizeof path, "%s/merged.onnx", folder);
    plim_graph *g = llama(), *plain = llama(), *merged = NULL;
    plim_trainer *t = train_from(g, DATA "final");
    must(plim_lora_merge(t, path, &error), &error);
    must(plim_graph_load(path, &merged, &error), &error);
    static float a[2 * 12 * 40], b[2 * 12 * 40], before[2 * 12 * 40];
    run(g, a, sizeof a);
    run(merged, b, sizeof b);
    run(plain, before, sizeof before);
    double difference = 0, change = 0;
    for (size_t i = 0; i < sizeof a / sizeof *a; i++) {
        difference = fmax(difference, fabs((double)a[i] - (double)b[i]));
        change = fmax(change, fabs((double)a[i] - (double)before[i]));
    }
    assert_true(change > 0.1);
    if (difference > 1e-4) fail_msg("logits differ by %g", difference);
    assert_int_equal(plim_graph_node_count(merged), plim_graph_node_count(plain));
    for (size_t v = 0; v < merged->values.count; v++) assert_null(strstr(merged->values.items[v].name, "lora_"));
    assert_null(plim_graph_get_note(merged, "plimsoll.lora"));
    remove_file(folder, "merged.onnx");
    rmdir(folder);
    plim_trainer_free(t);
    plim_graph_free(g), plim_graph_free(plain), plim_graph_free(merged);
}

static void new_adapters_change_nothing_at_first(void **state) {
    (void)state;
    plim_graph *g = llama(), *plain = llama(), *bert = NULL;
    plim_error error = {0};
    size_t layers = 0;
    static float a[2 * 12 * 40], b[2 * 12 * 40];
    must(plim_lora_add(g, NULL, &layers, &error), &error);
    assert_int_equal(layers, 4); /* q_proj and v_proj of two layers */
    run(g, a, sizeof a);
    run(plain, b, sizeof b);
    assert_memory_equal(a, b, sizeof a);
    must(plim_zoo_create("bert", &(plim_zoo_options){.seq = 8, .width = 16, .heads = 2, .layers = 3, .vocab = 20},
                         &bert, &error),
         &error);
    const char *targets[] = {"query", "bert.encoder.layer.1.*.dense"};
    must(plim_lora_add(bert, &(plim_lora_options){.targets = targets, .target_count = 2, .dropout = 0.5}, &layers,
                       &error),
         &error);
    assert_int_equal(layers, 3 + 3); /* and attention.output, intermediate, output of layer 1 */
    plim_graph_free(g), plim_graph_free(plain), plim_graph_free(bert);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    plim_error error = {0};
    const char *none[] = {"k_projj"};
    plim_graph *g = llama();
    assert_int_equal(plim_lora_add(g, &(plim_lora_options){.targets = none, .target_count = 1}, NULL, &error),
                     PLIM_NOT_FOUND);
    assert_non_null(strstr(error.message, "k_projj"));
    assert_int_equal(plim_lora_add(g, &(plim_lora_options){.dropout = 1}, NULL, &error), PLIM_INVALID);
    assert_int_equal(plim_lora_add(g, &(plim_lora_options){.from = "/nowhere"}, NULL, &error), PLIM_NOT_FOUND);
    must(plim_lora_add(g, NULL, NULL, &error), &error);
    assert_int_equal(plim_lora_add(g, NULL, NULL, &error), PLIM_INVALID); /* twice */
    plim_graph_free(g);
    must(plim_zoo_create("llama", &(plim_zoo_options){.seq = 8, .width = 32, .heads = 4, .layers = 2, .classes = 40},
                         &g, &error),
         &error);
    assert_int_equal(plim_lora_add(g, &(plim_lora_options){.from = DATA "final"}, NULL, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "another model"));
    plim_graph_free(g);
    g = llama();
    plim_trainer *t = trainer_of(g);
    assert_int_equal(plim_lora_save(t, "/tmp/none", &error), PLIM_INVALID);
    assert_int_equal(plim_lora_merge(t, "/tmp/none.onnx", &error), PLIM_INVALID);
    plim_trainer_free(t);
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_goes_as_that_of_peft),
        cmocka_unit_test(only_adapters_have_gradients_and_state),
        cmocka_unit_test(what_is_saved_is_what_peft_learned_and_goes_on),
        cmocka_unit_test(merged_the_model_computes_the_same_without_them),
        cmocka_unit_test(new_adapters_change_nothing_at_first),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
