/* Predictions from models: figures that can be counted by hand, cures that save, cards that are found. */
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define MIB ((uint64_t)1 << 20)

static plim_graph *zoo(const char *name) {
    plim_graph *graph = NULL;
    plim_error error;
    assert_int_equal(plim_zoo_create(name, &(plim_zoo_options){0}, &graph, &error), PLIM_OK);
    return graph;
}

static plim_prediction_result predict(const plim_graph *graph, plim_model_options options, const char *card) {
    plim_prediction *prediction = NULL;
    plim_prediction_result result;
    plim_pool_options pool = {0};
    plim_gpu gpu;
    plim_error error;
    if (card) assert_int_equal(plim_gpu_find(card, &gpu, &error), PLIM_OK);
    assert_int_equal(plim_prediction_create(graph, &options, &prediction, &error), PLIM_OK);
    assert_int_equal(plim_prediction_run(prediction, card ? &gpu : NULL, &pool, &result, &error), PLIM_OK);
    plim_prediction_free(prediction);
    return result;
}

static uint64_t kind(const plim_prediction_result *result, const char *word) {
    for (size_t i = 0; plim_prediction_kind(i); i++)
        if (strcmp(plim_prediction_kind(i), word) == 0) return result->kinds[i];
    fail_msg("no kind %s", word);
    return 0;
}

/* 784 x 512, 512 x 512, 512 x 10 with biases: 669,706 numbers. Adam keeps two for each, and its step makes one more. */
static void weights_gradients_and_state_of_a_perceptron_are_exact(void **state) {
    (void)state;
    plim_graph *graph = zoo("mlp");
    const uint64_t weights = 4 * (784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10);
    plim_prediction_result adam = predict(graph, (plim_model_options){.batch = 1, .optimizer = PLIM_MODEL_ADAMW}, NULL);
    assert_int_equal(kind(&adam, "weight"), weights);
    assert_int_equal(kind(&adam, "gradient"), weights);
    assert_int_equal(kind(&adam, "optimizer"), 3 * weights);
    plim_prediction_result fused =
        predict(graph, (plim_model_options){.batch = 1, .optimizer = PLIM_MODEL_ADAMW_FUSED}, NULL);
    assert_int_equal(kind(&fused, "optimizer"), 2 * weights);
    plim_graph_free(graph);
}

static void more_samples_need_more(void **state) {
    (void)state;
    const char *names[] = {"mlp", "resnet18", "gpt2-tiny", "mobilenet_v2", "unet", "vit-tiny"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plim_graph *graph = zoo(names[i]);
        uint64_t last = 0;
        for (int64_t batch = 16; batch <= 64; batch *= 2) {
            plim_prediction_result result = predict(graph, (plim_model_options){.batch = batch}, NULL);
            assert_true(result.requested > last);
            assert_true(result.requested <= result.allocated && result.allocated <= result.reserved);
            last = result.requested;
        }
        plim_graph_free(graph);
    }
}

/* torchvision's networks with the same batch and optimizer, captured from PyTorch 2.13 on fake tensors. */
static void networks_need_what_pytorch_asks_for(void **state) {
    (void)state;
    const struct {
        const char *name;
        double mebibytes;
    } captured[] = {{"resnet50", 2946.8}, {"resnet18", 832.5}, {"mobilenet_v2", 2447.1}};
    for (size_t i = 0; i < sizeof captured / sizeof *captured; i++) {
        plim_graph *graph = zoo(captured[i].name);
        plim_prediction_result result =
            predict(graph, (plim_model_options){.batch = 32, .optimizer = PLIM_MODEL_ADAMW}, NULL);
        double error = (double)result.requested / (double)MIB / captured[i].mebibytes - 1;
        assert_true(error > -0.005 && error < 0.005);
        plim_graph_free(graph);
    }
}

static void the_limit_holds_for_every_stack(void **state) {
    (void)state;
    const char *names[] = {"resnet18", "mobilenet_v2", "gpt2-tiny"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plim_graph *graph = zoo(names[i]);
        plim_model_options options = {.batch = 32, .optimizer = PLIM_MODEL_ADAMW};
        plim_pool_options pool = {0};
        plim_prediction *prediction = NULL;
        plim_prediction_result result;
        plim_prediction_range range;
        plim_gpu gpu;
        assert_int_equal(plim_gpu_find("RTX 3060", &gpu, NULL), PLIM_OK);
        assert_int_equal(plim_prediction_create(graph, &options, &prediction, NULL), PLIM_OK);
        assert_int_equal(plim_prediction_find_range(prediction, &gpu, &pool, &range, NULL), PLIM_OK);
        assert_int_equal(plim_prediction_run(prediction, &gpu, &pool, &result, NULL), PLIM_OK);
        uint64_t reserved = result.replay.stats.reserved_peak;
        assert_true(range.stacks >= 4 && range.fitting == range.stacks);
        assert_true(range.least <= reserved && reserved <= range.most && range.least < range.most);
        assert_int_equal(range.limit, range.most + range.most / 25 + 20 * MIB + result.libraries);
        /* The same figures as without the range: the run does not depend on what was asked before. */
        assert_int_equal(reserved, predict(graph, options, "RTX 3060").replay.stats.reserved_peak);
        plim_prediction_free(prediction);
        plim_graph_free(graph);
    }
}

/* A card between the least and the most that the stacks need: some fit, not all. */
static void a_card_in_the_range_fits_some_stacks_only(void **state) {
    (void)state;
    plim_graph *graph = zoo("mobilenet_v2");
    plim_model_options options = {.batch = 32, .optimizer = PLIM_MODEL_ADAMW};
    plim_pool_options pool = {0};
    plim_prediction *prediction = NULL;
    plim_prediction_range range;
    plim_gpu gpu = {.name = "a card", .memory = 64 * 1024 * MIB, .capability = 86};
    assert_int_equal(plim_prediction_create(graph, &options, &prediction, NULL), PLIM_OK);
    size_t between = 0;
    for (uint64_t memory = 2300; memory <= 3300; memory += 50) {
        gpu.memory = memory * MIB;
        assert_int_equal(plim_prediction_find_range(prediction, &gpu, &pool, &range, NULL), PLIM_OK);
        assert_true(range.limit <= gpu.memory);
        between += range.fitting > 0 && range.fitting < range.stacks;
    }
    assert_true(between > 0);
    plim_prediction_free(prediction);
    plim_graph_free(graph);
}

static void operators_without_a_row_are_named_once(void **state) {
    (void)state;
    plim_graph *graph = plim_graph_create();
    const float numbers[64] = {0};
    plim_value x = plim_graph_input(graph, "x", PLIM_F32, 2, (const int64_t[]){4, 64});
    plim_value rest = plim_graph_apply(graph, "Floor", &x, 1); /* has no gradient: nothing is saved */
    plim_value inputs[] = {rest, plim_graph_parameter(graph, "w", PLIM_F32, 1, (const int64_t[]){64}, numbers)};
    x = plim_graph_apply(graph, "Add", inputs, 2);
    const char *const ops[] = {"Softsign", "Celu", "Softsign", "Sign", "Relu"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) x = plim_graph_apply(graph, ops[i], &x, 1);
    plim_graph_output(graph, x, "y");
    plim_prediction_result result = predict(graph, (plim_model_options){.batch = 4}, NULL);
    assert_string_equal(result.notes, "operators that count as saving their inputs: Softsign, Celu, Sign");
    plim_graph_free(graph);
}

static void every_cure_that_applies_is_simulated(void **state) {
    (void)state;
    plim_graph *graph = zoo("gpt2-tiny");
    plim_model_options options = {.batch = 256, .optimizer = PLIM_MODEL_ADAMW};
    plim_pool_options pool = {0};
    plim_gpu gpu;
    assert_int_equal(plim_gpu_find("RTX 3060", &gpu, NULL), PLIM_OK);
    uint64_t now = predict(graph, options, "RTX 3060").reserved;
    size_t less = 0, tried = 0;
    plim_prediction_cure cure;
    plim_prediction_job job = {graph, &options, &gpu, &pool};
    for (size_t i = 0; plim_prediction_try(&job, i, &cure, NULL) == PLIM_OK; i++) {
        tried++;
        if (!cure.applies) continue;
        assert_true(cure.reserved > 0);
        if (strstr(cure.name, "batch") || strcmp(cure.name, "mixed precision") == 0 || strstr(cure.name, "recomp"))
            assert_true(cure.reserved < now);
        less += cure.reserved < now;
    }
    assert_true(tried >= 10);
    assert_true(less >= 6);
    plim_graph_free(graph);
}

static void the_largest_batch_fits_and_a_larger_one_does_not(void **state) {
    (void)state;
    plim_graph *graph = zoo("resnet18");
    plim_model_options options = {.batch = 8, .optimizer = PLIM_MODEL_ADAMW};
    plim_pool_options pool = {0};
    plim_gpu gpu;
    int64_t batch = 0;
    plim_prediction_job job = {graph, &options, &gpu, &pool};
    assert_int_equal(plim_gpu_find("2GiB", &gpu, NULL), PLIM_OK);
    assert_int_equal(plim_prediction_largest_batch(&job, &batch, NULL), PLIM_OK);
    assert_in_range(batch, 16, 200);
    options.batch = batch;
    assert_true(predict(graph, options, "2GiB").fits);
    options.batch = batch + batch / 16 + 2;
    assert_false(predict(graph, options, "2GiB").fits);
    assert_int_equal(plim_gpu_find("200MiB", &gpu, NULL), PLIM_OK);
    options.batch = 8;
    assert_int_equal(plim_prediction_largest_batch(&job, &batch, NULL), PLIM_OK);
    assert_int_equal(batch, 0);
    plim_graph_free(graph);
}

static void cards_are_found_by_every_spelling(void **state) {
    (void)state;
    const struct {
        const char *text, *name;
    } cases[] = {{"RTX 3060", "RTX 3060"},     {"NVIDIA GeForce RTX 3060", "RTX 3060"},
                 {"rtx3060ti", "RTX 3060 Ti"}, {"NVIDIA A100-SXM4-40GB", "A100 40GB"},
                 {"a100", "A100 40GB"},        {"Tesla T4", "T4"},
                 {"H100 PCIe", "H100"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plim_gpu gpu;
        assert_int_equal(plim_gpu_find(cases[i].text, &gpu, NULL), PLIM_OK);
        assert_string_equal(gpu.name, cases[i].name);
    }
    plim_gpu gpu;
    assert_int_equal(plim_gpu_find("12GiB", &gpu, NULL), PLIM_OK);
    assert_int_equal(gpu.memory, 12 * 1024 * MIB);
    assert_int_equal(plim_gpu_find("RTX 3060 12GB", &gpu, NULL), PLIM_OK); /* the number on the box */
    assert_string_equal(gpu.name, "RTX 3060");
    assert_int_equal(gpu.memory, 12037 * MIB);
    assert_int_equal(plim_gpu_find("RTX 3060 8 GB", &gpu, NULL), PLIM_OK); /* sold with less too */
    assert_true(gpu.memory < 8 * 1024 * MIB && gpu.memory > 7 * 1024 * MIB);
    assert_int_equal(plim_gpu_find("T4 16GB", &gpu, NULL), PLIM_OK);
    assert_int_equal(gpu.memory, 15102 * MIB);
    assert_int_equal(plim_gpu_find("L40 48GB", &gpu, NULL), PLIM_OK);
    assert_string_equal(gpu.name, "L40");
}

/* A length must not be taken for the batch: what is unsaid is refused. */
static void an_open_axis_that_is_not_the_batch_needs_its_size(void **state) {
    (void)state;
    plim_graph *graph = plim_graph_create();
    int64_t n = plim_graph_symbol(graph, "N"), length = plim_graph_symbol(graph, "length");
    plim_value x = plim_graph_input(graph, "x", PLIM_F32, 3, (const int64_t[]){n, length, 64});
    plim_graph_output(graph, plim_graph_apply(graph, "Relu", &x, 1), "y");
    plim_prediction *prediction = NULL;
    plim_error error;
    plim_model_options options = {.batch = 8};
    assert_int_equal(plim_prediction_create(graph, &options, &prediction, &error), PLIM_SHAPE);
    assert_non_null(strstr(error.message, "--size length=N"));
    uint64_t asked[2];
    for (int i = 0; i < 2; i++) {
        plim_size size = {"length", i ? 1024 : 512};
        options.sizes = &size;
        options.size_count = 1;
        asked[i] = predict(graph, options, NULL).requested;
    }
    assert_true(asked[0] >= (uint64_t)8 * 512 * 64 * 4 && asked[1] == 2 * asked[0] - 8); /* two numbers of the loss */
    plim_graph_free(graph);
}

static void an_unknown_card_is_refused_with_those_that_are_near(void **state) {
    (void)state;
    plim_gpu gpu;
    plim_error error;
    assert_int_equal(plim_gpu_find("RTX 3061", &gpu, &error), PLIM_NOT_FOUND);
    assert_non_null(strstr(error.message, "RTX 3060"));
    assert_int_equal(plim_gpu_find("", &gpu, &error), PLIM_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_gradients_and_state_of_a_perceptron_are_exact),
        cmocka_unit_test(more_samples_need_more),
        cmocka_unit_test(networks_need_what_pytorch_asks_for),
        cmocka_unit_test(the_limit_holds_for_every_stack),
        cmocka_unit_test(a_card_in_the_range_fits_some_stacks_only),
        cmocka_unit_test(operators_without_a_row_are_named_once),
        cmocka_unit_test(every_cure_that_applies_is_simulated),
        cmocka_unit_test(the_largest_batch_fits_and_a_larger_one_does_not),
        cmocka_unit_test(cards_are_found_by_every_spelling),
        cmocka_unit_test(an_open_axis_that_is_not_the_batch_needs_its_size),
        cmocka_unit_test(an_unknown_card_is_refused_with_those_that_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
