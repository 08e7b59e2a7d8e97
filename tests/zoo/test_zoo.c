/* Every zoo model, at a small size: it plans validly and tightly, agrees with onnxruntime (references in data/,
 * made once by make_zoo_data.py), survives being written and read, and its seed decides its weights. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "format/npy.h"
#include "graph/graph.h"
#include "graph/pass.h"
#include "kernel/processor.h"
#include "plan/plan.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static const struct small {
    const char *name;
    plim_zoo_options options;
} small[] = {
    {"mlp", {.width = 16}},
    {"lenet", {.width = 4}},
    {"resnet18", {.image = 32, .width = 8, .classes = 10}},
    {"resnet34", {.image = 32, .width = 8, .classes = 10}},
    {"resnet50", {.image = 32, .width = 8, .classes = 10}},
    {"mobilenet_v2", {.image = 32, .width = 8, .classes = 10}},
    {"unet", {.image = 16, .width = 4}},
    {"gpt2", {.seq = 8, .width = 16, .layers = 2, .heads = 2, .classes = 40}},
    {"gpt2-tiny", {.seq = 8, .width = 16, .layers = 2, .heads = 2, .classes = 40}},
    {"vit-tiny", {.image = 16, .width = 24, .layers = 2, .heads = 3}},
    {"vit-b16", {.image = 32, .width = 24, .layers = 2, .heads = 3, .classes = 10}},
    {"lstm", {.seq = 6, .width = 8, .classes = 20}},
    {"gru", {.seq = 6, .width = 8, .classes = 20}},
    {"tabular", {.features = 5, .width = 8}},
    {"llama", {.seq = 8, .width = 32, .layers = 2, .heads = 4, .kv_heads = 2, .classes = 40}},
    {"bert", {.seq = 8, .width = 16, .layers = 2, .heads = 2, .vocab = 40}},
};
#define SMALL (sizeof small / sizeof *small)

static plim_graph *make(const char *name, const plim_zoo_options *options) {
    plim_graph *g = NULL;
    plim_error error = {0};
    if (plim_zoo_create(name, options, &g, &error) != PLIM_OK) fail_msg("%s: %s", name, error.message);
    return g;
}

static plim_session *session_of(const char *name, const plim_graph *g, const plim_session_options *options) {
    plim_session *s = NULL;
    plim_error error = {0};
    if (plim_session_create(g, options, &s, &error) != PLIM_OK) fail_msg("%s: %s", name, error.message);
    return s;
}

/* The numbers that make_zoo_data.py feeds. */
static void fill(plim_session *s) {
    const plim_graph *g = plim_session_graph(s);
    for (size_t i = 0; i < g->inputs.count; i++) {
        const plim__value *value = &g->values.items[g->inputs.items[i]];
        void *memory = plim_session_input(s, value->name);
        for (int64_t k = 0; k < plim__shape_elements(&value->shape); k++)
            if (value->dtype == PLIM_I64)
                ((int64_t *)memory)[k] = k * 7 % 19;
            else
                ((float *)memory)[k] = (float)(k * 37 % 101) / 50.0f - 1.0f;
    }
}

static const float *run(const char *name, plim_session *s, size_t *bytes) {
    const plim_graph *g = plim_session_graph(s);
    const plim__value *out = &g->values.items[g->outputs.items[0]];
    plim_error error = {0};
    fill(s);
    if (plim_session_run(s, &error) != PLIM_OK) fail_msg("%s: %s", name, error.message);
    *bytes = (size_t)plim__shape_elements(&out->shape) * sizeof(float);
    return plim_session_output(s, out->name);
}

static void the_list_and_the_small_ones_here_are_the_same(void **state) {
    (void)state;
    size_t count;
    const plim_zoo_entry *entries = plim_zoo_list(&count);
    assert_int_equal(count, SMALL);
    for (size_t i = 0; i < count; i++) assert_string_equal(entries[i].name, small[i].name);
}

/* The first output with 1 and 2 threads, beside what another program computed with the same numbers. */
static void compare(const char *name, const plim_graph *g, const char *reference_file) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/zoo/data/%s", PLIM_SOURCE_DIR, reference_file);
    plim__npy_header header;
    void *right;
    plim_error error = {0};
    if (plim__npy_read(path, &header, &right, &error) != PLIM_OK) fail_msg("%s", error.message);
    for (int threads = 1; threads <= 2; threads++) {
        plim_session *s = session_of(name, g, &(plim_session_options){.batch = 2, .threads = threads});
        size_t bytes;
        const float *y = run(name, s, &bytes), *reference = right;
        assert_int_equal(bytes, header.bytes);
        double largest = 0, difference = 0;
        for (size_t k = 0; k < bytes / sizeof *y; k++) {
            largest = fmax(largest, fabs((double)reference[k]));
            difference = fmax(difference, isfinite(y[k]) ? fabs((double)y[k] - (double)reference[k]) : INFINITY);
        }
        if (difference > 1e-5 * largest)
            fail_msg("%s, %d threads: differs by %g of a largest %g", name, threads, difference, largest);
        plim_session_free(s);
    }
    plim__free(right);
}

static void every_model_agrees_with_onnxruntime(void **state) {
    (void)state;
    for (size_t i = 0; i < SMALL; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.npy", small[i].name);
        plim_graph *g = make(small[i].name, &small[i].options);
        compare(small[i].name, g, file);
        plim_graph_free(g);
    }
}

/* Files of transformers (make_public_data.py): bfloat16 in shards, and names that end in gamma and beta. */
static void public_checkpoints_load_by_name_and_agree_with_transformers(void **state) {
    (void)state;
    static const struct {
        struct small model;
        const char *weights, *logits;
        size_t tensors;
    } public[] = {
        {{"llama",
          {.seq = 12, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 44, .classes = 40, .seed = 5}},
         "llama/model.safetensors.index.json",
         "llama/logits.npy",
         21},
        {{"bert", {.seq = 12, .width = 16, .layers = 2, .heads = 4, .vocab = 40, .classes = 3, .seed = 5}},
         "bert/model.safetensors",
         "bert/logits.npy",
         41}};
    for (size_t i = 0; i < sizeof public / sizeof *public; i++) {
        plim_graph *g = make(public[i].model.name, &public[i].model.options), *file = NULL;
        char path[512], onnx[] = "/tmp/plim_zoo_XXXXXX";
        plim_error error = {0};
        plim_weights_loaded loaded;
        int fd = mkstemp(onnx);
        assert_true(fd >= 0);
        close(fd);
        if (plim_graph_save(g, onnx, &error) != PLIM_OK || plim_graph_load(onnx, &file, &error) != PLIM_OK)
            fail_msg("%s", error.message);
        snprintf(path, sizeof path, "%s/tests/zoo/data/%s", PLIM_SOURCE_DIR, public[i].weights);
        for (int k = 0; k < 2; k++) { /* the zoo's own graph, and the one from a file, whose tables are initializers */
            plim_graph *model = k ? file : g;
            if (plim_graph_load_weights(model, path, &loaded, &error) != PLIM_OK) fail_msg("%s", error.message);
            assert_int_equal(loaded.loaded, public[i].tensors);
            assert_int_equal(loaded.replaced + loaded.unused, 0);
            compare(public[i].model.name, model, public[i].logits);
            plim_graph_free(model);
        }
        unlink(onnx);
    }
}

static void a_checkpoint_of_another_size_is_refused_by_name(void **state) {
    (void)state;
    plim_graph *g = make("bert", &(plim_zoo_options){.seq = 12, .width = 16, .layers = 2, .heads = 4, .vocab = 41});
    plim_error error = {0};
    assert_int_equal(plim_graph_load_weights(g, PLIM_SOURCE_DIR "/tests/zoo/data/bert/model.safetensors", NULL, &error),
                     PLIM_SHAPE);
    assert_non_null(strstr(error.message, "word_embeddings"));
    plim_graph_free(g);
}

static void check_weight(const plim_graph *g, const char *name, const char *shape) {
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (!value->tensor || !value->name || strcmp(value->name, name) != 0) continue;
        char text[128] = "";
        for (int d = 0; d < value->shape.rank; d++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", d ? "x" : "",
                     (long long)value->shape.dims[d]);
        assert_string_equal(text, shape);
        return;
    }
    fail_msg("there is no '%s'", name);
}

/* So that a state dict of torchvision loads as it is (data/torchvision.txt, by make_torchvision_names.py). */
static void residual_nets_have_the_names_of_torchvision(void **state) {
    (void)state;
    FILE *file = fopen(PLIM_SOURCE_DIR "/tests/zoo/data/torchvision.txt", "r");
    assert_non_null(file);
    char model[64], name[128], shape[64], last[64] = "";
    plim_graph *g = NULL;
    size_t checked = 0;
    for (; fscanf(file, "%63s %127s %63s", model, name, shape) == 3; checked++) {
        if (strcmp(model, last) != 0) {
            plim_graph_free(g);
            g = make(model, NULL);
            snprintf(last, sizeof last, "%s", model);
        }
        check_weight(g, name, shape);
    }
    assert_int_equal(checked, 813);
    plim_graph_free(g);
    fclose(file);
}

/* The session's own way to a plan, with the plan in hand. */
static void plan_model(const char *name, const plim_graph *model, int64_t batch) {
    plim_graph *g = plim_graph_clone(model);
    plim__program *program = NULL;
    plim__plan *plan = NULL;
    plim_error error = {0};
    bool ok = plim__graph_bind(g, NULL, batch, &error) == PLIM_OK &&
              plim__infer_graph(g, plim__processor_fold, NULL, &error) == PLIM_OK &&
              plim__graph_prune(g, &error) == PLIM_OK && plim__passes_run(g, NULL, false, &error) == PLIM_OK &&
              plim__infer_graph(g, plim__processor_fold, NULL, &error) == PLIM_OK &&
              plim__graph_prune(g, &error) == PLIM_OK &&
              plim__program_create(g, plim__on_processor(2), NULL, &program, &error) == PLIM_OK &&
              plim__plan_create(program, NULL, &plan, &error) == PLIM_OK;
    if (!ok) fail_msg("%s: %s", name, error.message);
    if (!plim__graph_is_valid(g, &error) || !plim__plan_is_valid(plan, program, &error))
        fail_msg("%s: %s", name, error.message);
    if ((double)plan->arena_bytes > 1.02 * (double)plan->lower_bound_bytes ||
        plan->arena_bytes < plan->lower_bound_bytes)
        fail_msg("%s: an arena of %zu bytes for a lower bound of %zu", name, plan->arena_bytes,
                 plan->lower_bound_bytes);
    plim__plan_free(plan);
    plim__program_free(program);
    plim_graph_free(g);
}

static void every_plan_is_valid_and_tight(void **state) {
    (void)state;
    for (size_t i = 0; i < SMALL; i++) {
        plim_graph *g = make(small[i].name, &small[i].options);
        plan_model(small[i].name, g, 1);
        plan_model(small[i].name, g, 3);
        plim_graph_free(g);
    }
}

static void the_models_of_the_benchmark_have_tight_plans(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t batch;
        plim_zoo_options options;
    } full[] = {
        {"resnet50", 16, {0}}, {"unet", 2, {0}}, {"mobilenet_v2", 16, {0}}, {"gpt2", 4, {.classes = 512, .layers = 6}}};
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        plim_graph *g = make(full[i].name, &full[i].options);
        plan_model(full[i].name, g, full[i].batch);
        plim_graph_free(g);
    }
}

static void writing_and_reading_changes_no_bit_of_the_answer(void **state) {
    (void)state;
    for (size_t i = 0; i < SMALL; i++) {
        char path[] = "/tmp/plim_zoo_XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        plim_graph *g = make(small[i].name, &small[i].options), *again = NULL;
        plim_error error = {0};
        if (plim_graph_save(g, path, &error) != PLIM_OK || plim_graph_load(path, &again, &error) != PLIM_OK)
            fail_msg("%s: %s", small[i].name, error.message);
        plim_session *a = session_of(small[i].name, g, &(plim_session_options){.batch = 2}),
                     *b = session_of(small[i].name, again, &(plim_session_options){.batch = 2});
        size_t bytes, same;
        const float *x = run(small[i].name, a, &bytes), *y = run(small[i].name, b, &same);
        assert_int_equal(bytes, same);
        assert_memory_equal(x, y, bytes);
        plim_session_free(a);
        plim_session_free(b);
        plim_graph_free(g);
        plim_graph_free(again);
        unlink(path);
    }
}

static void the_seed_decides_the_weights(void **state) {
    (void)state;
    plim_graph *g[3];
    for (size_t i = 0; i < 3; i++) g[i] = make("lenet", &(plim_zoo_options){.width = 4, .seed = i == 2 ? 7 : 3});
    bool differs = false;
    for (size_t v = 0; v < g[0]->values.count; v++) {
        plim__tensor *a = g[0]->values.items[v].tensor, *b = g[1]->values.items[v].tensor,
                     *c = g[2]->values.items[v].tensor;
        if (!a) continue;
        assert_memory_equal(a->data, b->data, a->bytes);
        differs |= memcmp(a->data, c->data, a->bytes) != 0;
    }
    assert_true(differs);
    for (size_t i = 0; i < 3; i++) plim_graph_free(g[i]);
}

static void an_unknown_model_is_not_found(void **state) {
    (void)state;
    plim_graph *g = (plim_graph *)&g;
    plim_error error = {0};
    assert_int_equal(plim_zoo_create("vgg99", NULL, &g, &error), PLIM_NOT_FOUND);
    assert_non_null(strstr(error.message, "vgg99"));
    assert_null(g);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct small bad[] = {{"gpt2-tiny", {.width = 30, .heads = 4}},
                                       {"llama", {.width = 24, .heads = 4, .kv_heads = 3}},
                                       {"llama", {.width = 8, .heads = 4}},
                                       {"bert", {.width = 30, .heads = 4}},
                                       {"vit-tiny", {.image = 7}},
                                       {"unet", {.image = 10}},
                                       {"resnet18", {.image = 4, .width = 8}},
                                       {"lenet", {.image = 4}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) { /* refused with a message, or made and then really runs */
        plim_graph *g = NULL;
        plim_session *s = NULL;
        plim_error error = {0};
        plim_status status = plim_zoo_create(bad[i].name, &bad[i].options, &g, &error);
        if (status == PLIM_OK) status = plim_session_create(g, NULL, &s, &error);
        if (status == PLIM_OK) status = plim_session_run(s, &error);
        if (status != PLIM_OK && !*error.message)
            fail_msg("%s: %s without a message", bad[i].name, plim_status_name(status));
        if (i < 4) assert_int_not_equal(status, PLIM_OK); /* 30 channels do not divide into 4 heads, for one */
        plim_session_free(s);
        plim_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_and_the_small_ones_here_are_the_same),
        cmocka_unit_test(every_model_agrees_with_onnxruntime),
        cmocka_unit_test(public_checkpoints_load_by_name_and_agree_with_transformers),
        cmocka_unit_test(residual_nets_have_the_names_of_torchvision),
        cmocka_unit_test(a_checkpoint_of_another_size_is_refused_by_name),
        cmocka_unit_test(every_plan_is_valid_and_tight),
        cmocka_unit_test(the_models_of_the_benchmark_have_tight_plans),
        cmocka_unit_test(writing_and_reading_changes_no_bit_of_the_answer),
        cmocka_unit_test(the_seed_decides_the_weights),
        cmocka_unit_test(an_unknown_model_is_not_found),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
