/* What is written is what was there: models load again as they were, in one file or in two, and a write that fails
 * leaves nothing behind. */
#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "format/onnx.h"
#include "format/onnx_bytes.h"
#include "format/weights_case.h"
#include "graph/graph.h"

#define CONFORMANCE "/usr/share/libonnx-testdata/data"

static plim_error error;
static char folder[64];

static const char *in_folder(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/plimsoll-save-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static size_t files_in_folder(void) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* --- equality ------------------------------------------------------------------------------------------------- */

static const char *name_of(const plim_graph *g, plim_value v) { return v < 0 ? "" : g->values.items[v].name; }

static bool same_tensor(plim__tensor *a, plim__tensor *b) {
    if (!a || !b) return a == b;
    if (a->dtype != b->dtype || !plim__shape_equal(&a->shape, &b->shape)) return false;
    if (plim__tensor_load(a, NULL) != PLIM_OK || plim__tensor_load(b, NULL) != PLIM_OK) return false;
    return memcmp(a->data, b->data, a->bytes) == 0;
}

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static bool same_attribute(const plim__attribute *a, const plim__attribute *b) {
    if (a->type != b->type || a->length != b->length || a->i != b->i || memcmp(&a->f, &b->f, sizeof a->f) != 0)
        return false;
    if (a->s && memcmp(a->s, b->s, a->length) != 0) return false;
    if (a->ints && memcmp(a->ints, b->ints, a->length * sizeof *a->ints) != 0) return false;
    if (a->floats && memcmp(a->floats, b->floats, a->length * sizeof *a->floats) != 0) return false;
    for (size_t i = 0; a->strings && i < a->length; i++)
        if (strcmp(a->strings[i], b->strings[i]) != 0) return false;
    return same_tensor(a->tensor, b->tensor);
}

static bool same_names(const plim_graph *a, const plim_graph *b, const plim_value *x, const plim_value *y,
                       size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(name_of(a, x[i]), name_of(b, y[i])) != 0) return false;
    return true;
}

static bool same_node(const plim_graph *a, const plim_graph *b, const plim__node *x, const plim__node *y) {
    bool same = same_text(x->name, y->name) && same_text(x->op_name, y->op_name) && same_text(x->domain, y->domain) &&
                x->version == y->version && x->inputs.count == y->inputs.count &&
                x->outputs.count == y->outputs.count && x->attributes.count == y->attributes.count;
    same = same && same_names(a, b, x->inputs.items, y->inputs.items, x->inputs.count) &&
           same_names(a, b, x->outputs.items, y->outputs.items, x->outputs.count);
    for (size_t i = 0; same && i < x->attributes.count; i++) {
        const plim__attribute *other = plim__node_attribute(y, x->attributes.items[i].name);
        same = other && same_attribute(&x->attributes.items[i], other);
    }
    return same;
}

static bool same_value(const plim_graph *a, const plim_graph *b, const plim__value *x) {
    plim_value v = plim_graph_find(b, x->name);
    if (v < 0) return x->tensor != NULL; /* a weight that nothing uses is not written */
    const plim__value *y = &b->values.items[v];
    char p[PLIM_SHAPE_TEXT], q[PLIM_SHAPE_TEXT];
    plim__shape_text(&x->shape, a, p);
    plim__shape_text(&y->shape, b, q);
    bool shapes = strcmp(p, q) == 0 || (strchr(p, '?') && strchr(q, '?')); /* unnamed symbols are numbered again */
    bool hint = x->kind == PLIM__VALUE_NODE && (x->dtype == PLIM_DTYPE_NONE || x->shape.rank < 0);
    return x->kind == y->kind && (hint || (x->dtype == y->dtype && shapes)) && same_tensor(x->tensor, y->tensor);
}

static bool same_info(const plim__model_info *a, const plim__model_info *b) {
    bool same = a->ir_version == b->ir_version && a->model_version == b->model_version && same_text(a->doc, b->doc) &&
                same_text(a->producer_version, b->producer_version) && same_text(a->model_domain, b->model_domain) &&
                a->opsets.count == b->opsets.count && a->properties.count == b->properties.count;
    if (a->producer_name) same = same && same_text(a->producer_name, b->producer_name);
    if (a->graph_name && *a->graph_name) same = same && same_text(a->graph_name, b->graph_name);
    for (size_t i = 0; same && i < a->opsets.count; i++)
        same = strcmp(a->opsets.items[i].domain, b->opsets.items[i].domain) == 0 &&
               a->opsets.items[i].version == b->opsets.items[i].version;
    for (size_t i = 0; same && i < a->properties.count; i++)
        same = strcmp(a->properties.items[i].key, b->properties.items[i].key) == 0 &&
               strcmp(a->properties.items[i].value, b->properties.items[i].value) == 0;
    return same;
}

static bool same_graph(const plim_graph *a, const plim_graph *b) {
    bool same = same_info(&a->info, &b->info) && a->nodes.count == b->nodes.count &&
                a->inputs.count == b->inputs.count && a->outputs.count == b->outputs.count;
    same = same && same_names(a, b, a->inputs.items, b->inputs.items, a->inputs.count) &&
           same_names(a, b, a->outputs.items, b->outputs.items, a->outputs.count);
    for (size_t i = 0; same && i < a->nodes.count; i++) same = same_node(a, b, &a->nodes.items[i], &b->nodes.items[i]);
    for (size_t i = 0; same && i < a->values.count; i++) same = same_value(a, b, &a->values.items[i]);
    return same;
}

/* --- tests ---------------------------------------------------------------------------------------------------------
 */

static plim_graph *must_load(const char *path) {
    plim_graph *g;
    if (plim_graph_load(path, &g, &error) != PLIM_OK) fail_msg("%s", error.message);
    return g;
}

static size_t tried, refused;

static int round_trip(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)info, (void)walk;
    size_t length = strlen(path);
    if (type != FTW_F || length < 5 || strcmp(path + length - 5, ".onnx") != 0) return 0;
    tried++;
    plim_graph *g;
    if (plim_graph_load(path, &g, &error) != PLIM_OK) {
        refused++;
        if (error.status != PLIM_UNSUPPORTED) fail_msg("%s", error.message);
        return 0;
    }
    for (int split = 0; split < 2; split++) {
        const char *copy = in_folder("copy.onnx");
        if (plim__onnx_save_limited(g, NULL, copy, split ? 0 : UINT64_MAX, &error) != PLIM_OK)
            fail_msg("%s: %s", path, error.message);
        plim_graph *again = must_load(copy);
        if (!same_graph(g, again)) fail_msg("%s changed when it was written and read again", path);
        plim_graph_free(again);
    }
    plim_graph_free(g);
    return 0;
}

static void conformance_models_survive_a_round_trip(void **state) {
    (void)state;
    if (access(CONFORMANCE, R_OK) != 0) skip();
    nftw(CONFORMANCE, round_trip, 8, FTW_PHYS);
    assert_true(tried >= 1000);
    assert_true(refused < 30);
}

/* A model with a large and a small weight, metadata, two domains and a symbolic batch. */
static plim_graph *rich_graph(void) {
    plim_graph *g = plim_graph_create();
    static float weights[64 * 64];
    for (int i = 0; i < 64 * 64; i++) weights[i] = (float)i / 7;
    int64_t n = plim_graph_symbol(g, "batch");
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){n, 64});
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){64, 64}, weights);
    plim_value b = plim_graph_parameter(g, "b", PLIM_F32, 1, (int64_t[]){64}, weights);
    plim_value unused = plim_graph_parameter(g, "unused", PLIM_F32, 1, (int64_t[]){64}, weights);
    (void)unused;
    int32_t gemm = plim_graph_node(g, "Gemm", "fc", (plim_value[]){x, w, b}, 3, 1);
    plim_graph_set_int(g, gemm, "transB", 1);
    plim_graph_set_float(g, gemm, "alpha", 0.5f);
    int32_t own = plim_graph_node(g, "com.example::Thing", NULL,
                                  (plim_value[]){plim_graph_node_output(g, gemm, 0), PLIM_NO_VALUE, b}, 3, 1);
    plim_graph_set_ints(g, own, "sizes", (int64_t[]){1, -2, 3}, 3);
    plim_graph_set_string(g, own, "mode", "fast");
    plim_value y = plim_graph_node_output(g, own, 0);
    plim_graph_output(g, y, "y");
    g->values.items[y].dtype = PLIM_F32;
    g->values.items[y].shape = plim__shape_of(2, (int64_t[]){n, 64});
    struct plim__property property = {plim__strdup("author"), plim__strdup("somebody")};
    assert_true(plim__vec_push(&g->info.properties, property));
    g->info.doc = plim__strdup("a model");
    g->info.model_version = 3;
    if (plim_graph_status(g, &error) != PLIM_OK) fail_msg("%s", error.message);
    return g;
}

static void a_graph_built_in_code_is_written_and_read(void **state) {
    (void)state;
    plim_graph *g = rich_graph();
    const char *path = in_folder("rich.onnx");
    if (plim_graph_save(g, path, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim_graph *again = must_load(path);
    assert_int_equal(plim_graph_find(again, "unused"), PLIM_NO_VALUE);
    assert_null(plim__graph_tensor(again, plim_graph_find(again, "w"))->data);     /* still in the file */
    assert_non_null(plim__graph_tensor(again, plim_graph_find(again, "b"))->data); /* small */
    plim__free(again->info.producer_version);                                      /* the writer's own */
    again->info.producer_version = NULL;
    assert_true(same_graph(g, again));
    plim_graph_free(again);
    plim_graph_free(g);
}

static void a_model_may_be_written_over_the_file_it_came_from(void **state) {
    (void)state;
    plim_graph *g = rich_graph();
    const char *path = in_folder("rich.onnx");
    for (int split = 0; split < 2; split++) {
        assert_int_equal(plim__onnx_save_limited(g, NULL, path, split ? 0 : UINT64_MAX, &error), PLIM_OK);
        for (int i = 0; i < 3; i++) {
            plim_graph *again = must_load(path);
            if (plim__onnx_save_limited(again, NULL, path, split ? 0 : UINT64_MAX, &error) != PLIM_OK)
                fail_msg("%s", error.message);
            plim__tensor *w = plim__graph_tensor(again, plim_graph_find(again, "w"));
            assert_true(same_tensor(w, plim__graph_tensor(g, plim_graph_find(g, "w"))));
            plim_graph_free(again);
        }
    }
    plim_graph_free(g);
}

/* Only the data differs, also where the file that is replaced is still the source of the rest. */
static void changed_weights_replace_those_of_the_model(void **state) {
    (void)state;
    plim_graph *g = rich_graph();
    const char *path = in_folder("rich.onnx");
    static float trained[64 * 64];
    plim__weight item = {"w", PLIM_F32, {2, {64, 64}}};
    weights_case c = {.data = {trained}, .fails_at = SIZE_MAX};
    plim__weights changed = case_weights(&c, &item, 1);
    for (int split = 0; split < 2; split++) {
        assert_int_equal(plim__onnx_save_limited(g, NULL, path, split ? 0 : UINT64_MAX, &error), PLIM_OK);
        for (int i = 0; i < 4; i++) {
            for (int k = 0; k < 64 * 64; k++) trained[k] = (float)(k * i) - 3;
            c.in_place = i % 2;
            plim_graph *before = must_load(path);
            if (plim__onnx_save_limited(before, &changed, path, split ? 0 : UINT64_MAX, &error) != PLIM_OK)
                fail_msg("%s", error.message);
            plim_graph *after = must_load(path);
            plim__tensor *w = plim__graph_tensor(after, plim_graph_find(after, "w"));
            assert_int_equal(plim__tensor_load(w, &error), PLIM_OK);
            assert_memory_equal(w->data, trained, sizeof trained);
            plim__tensor_release(before->values.items[plim_graph_find(before, "w")].tensor);
            before->values.items[plim_graph_find(before, "w")].tensor = plim__tensor_retain(w);
            assert_true(same_graph(before, after));
            plim_graph_free(before);
            plim_graph_free(after);
        }
    }
    c.in_place = false;
    c.fails_at = 0;
    assert_int_equal(plim__onnx_save_changed(g, &changed, path, &error), PLIM_IO);
    item.name = "x";
    assert_int_equal(plim__onnx_save_changed(g, &changed, path, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "no weight 'x'"));
    item = (plim__weight){"b", PLIM_F16, {1, {64}}};
    assert_int_equal(plim__onnx_save_changed(g, &changed, path, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "'b' is float32[64] in the model, not float16[64]"));
    assert_int_equal(files_in_folder(), 2);
    plim_graph_free(must_load(path));
    plim_graph_free(g);
}

static void large_models_keep_their_weights_beside_them(void **state) {
    (void)state;
    plim_graph *g = rich_graph();
    const char *path = in_folder("large.onnx");
    if (plim__onnx_save_limited(g, NULL, path, 4096, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_int_equal(files_in_folder(), 2);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size < 4096);
    plim_graph *again = must_load(path);
    assert_true(same_tensor(plim__graph_tensor(again, plim_graph_find(again, "w")),
                            plim__graph_tensor(g, plim_graph_find(g, "w"))));
    plim_graph_free(again);
    plim_graph_free(g);
}

/* The limit on a file's size stands for a full disk: the write fails in the middle. */
static void a_write_that_fails_leaves_nothing_behind(void **state) {
    (void)state;
    plim_graph *g = rich_graph();
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    small = old;
    small.rlim_cur = 8192;
    for (int split = 0; split < 2; split++) {
        setrlimit(RLIMIT_FSIZE, &small);
        plim_status status = plim__onnx_save_limited(g, NULL, in_folder("full.onnx"), split ? 0 : UINT64_MAX, &error);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_not_equal(status, PLIM_OK);
        assert_non_null(strstr(error.message, "full.onnx"));
        assert_int_equal(files_in_folder(), 0);
    }
    assert_int_equal(plim_graph_save(g, "/nowhere/model.onnx", &error), PLIM_NOT_FOUND);
    plim_graph_free(g);
}

static void running_out_of_memory_while_writing_is_told(void **state) {
    (void)state;
    plim_graph *g = rich_graph();
    plim_status status = PLIM_NO_MEMORY;
    for (size_t n = 1; status != PLIM_OK; n++) {
        assert_true(n < 1000);
        plim__alloc_fail_at(n);
        status = plim__onnx_save_limited(g, NULL, in_folder("rich.onnx"), 0, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) {
            assert_int_equal(status, PLIM_NO_MEMORY);
            assert_int_equal(files_in_folder(), 0);
        }
    }
    plim_graph_free(g);
}

/* --- external data -------------------------------------------------------------------------------------------- */

/* A model whose weight "w", float32[4], is at `location`. */
static plim_status load_external(const char *location, const char *offset, const char *length, plim_graph **g) {
    bytes graph = {0}, t = tensor_head("w", 1, 1, (int64_t[]){4});
    const char *pairs[3][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    for (int i = 0; i < 3; i++) {
        if (!pairs[i][1]) continue;
        bytes entry = {0};
        add_text(&entry, 1, pairs[i][0]);
        add_text(&entry, 2, pairs[i][1]);
        add_message(&t, 13, &entry);
    }
    add_int(&t, 14, 1);
    add_message(&graph, 5, &t);
    add_node(&graph, "Neg", "w", NULL, "y");
    add_value(&graph, 12, "y", 1, 1, (int64_t[]){4});
    bytes model = model_of(&graph, 8, 17);
    assert_int_equal(plim__file_write(in_folder("m/model.onnx"), model.data, model.size, &error), PLIM_OK);
    free(model.data);
    return plim_graph_load(in_folder("m/model.onnx"), g, &error);
}

static void must_refuse_external(const char *location, const char *offset, const char *length, plim_status status,
                                 const char *words) {
    plim_graph *g;
    plim_status got = load_external(location, offset, length, &g);
    assert_null(g);
    if (got != status || !strstr(error.message, words) || !strstr(error.message, "'w'"))
        fail_msg("'%s': expected %s with '%s', got %s: %s", location ? location : "", plim_status_name(status), words,
                 plim_status_name(got), error.message);
}

static int make_external_folder(void **state) {
    if (make_folder(state) != 0) return -1;
    float numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    mkdir(in_folder("m"), 0755);
    mkdir(in_folder("m/sub"), 0755);
    plim__file_write(in_folder("secret"), numbers, sizeof numbers, NULL);
    plim__file_write(in_folder("m/data"), numbers, sizeof numbers, NULL);
    plim__file_write(in_folder("m/sub/data"), numbers, sizeof numbers, NULL);
    char target[256];
    strcpy(target, in_folder("secret"));
    return symlink(target, in_folder("m/link")) || symlink("..", in_folder("m/up")) ||
           mkfifo(in_folder("m/pipe"), 0600);
}

static void external_data_in_the_models_folder_is_read(void **state) {
    (void)state;
    static const char *const places[] = {"data", "sub/data", "./sub//data"};
    for (size_t i = 0; i < 3; i++) {
        plim_graph *g;
        if (load_external(places[i], "8", i ? "16" : NULL, &g) != PLIM_OK) fail_msg("%s", error.message);
        float first;
        memcpy(&first, plim__graph_tensor(g, plim_graph_find(g, "w"))->data, sizeof first);
        assert_true(first == 2);
        plim_graph_free(g);
    }
}

static void external_data_elsewhere_is_refused(void **state) {
    (void)state;
    must_refuse_external("../secret", NULL, NULL, PLIM_INVALID, "leaves the model's folder");
    must_refuse_external("sub/../../secret", NULL, NULL, PLIM_INVALID, "leaves the model's folder");
    must_refuse_external("sub/..", NULL, NULL, PLIM_INVALID, "leaves the model's folder");
    must_refuse_external(in_folder("secret"), NULL, NULL, PLIM_INVALID, "absolute");
    must_refuse_external("link", NULL, NULL, PLIM_INVALID, "symbolic link");
    must_refuse_external("up/secret", NULL, NULL, PLIM_INVALID, "symbolic link");
    must_refuse_external("pipe", NULL, NULL, PLIM_INVALID, "not a regular file");
    must_refuse_external("sub", NULL, NULL, PLIM_INVALID, "not a regular file");
    must_refuse_external("", NULL, NULL, PLIM_INVALID, "empty");
    must_refuse_external("missing", NULL, NULL, PLIM_NOT_FOUND, "missing");
    must_refuse_external(NULL, NULL, NULL, PLIM_CORRUPT, "no location");
}

static void external_data_of_the_wrong_size_is_refused(void **state) {
    (void)state;
    must_refuse_external("data", "20", NULL, PLIM_CORRUPT, "ends beyond");
    must_refuse_external("data", "18446744073709551615", NULL, PLIM_CORRUPT, "ends beyond");
    must_refuse_external("data", "18446744073709551616", NULL, PLIM_CORRUPT, "offset");
    must_refuse_external("data", "-4", NULL, PLIM_CORRUPT, "offset");
    must_refuse_external("data", "0", "12", PLIM_CORRUPT, "12 bytes");
    must_refuse_external("data", "0", "20", PLIM_CORRUPT, "20 bytes");
    must_refuse_external("data", "0", "x", PLIM_CORRUPT, "length");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
#define WITH_DATA(test) cmocka_unit_test_setup_teardown(test, make_external_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(conformance_models_survive_a_round_trip),
        IN_FOLDER(a_graph_built_in_code_is_written_and_read),
        IN_FOLDER(a_model_may_be_written_over_the_file_it_came_from),
        IN_FOLDER(changed_weights_replace_those_of_the_model),
        IN_FOLDER(large_models_keep_their_weights_beside_them),
        IN_FOLDER(a_write_that_fails_leaves_nothing_behind),
        IN_FOLDER(running_out_of_memory_while_writing_is_told),
        WITH_DATA(external_data_in_the_models_folder_is_read),
        WITH_DATA(external_data_elsewhere_is_refused),
        WITH_DATA(external_data_of_the_wrong_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
