/* Files that were cut, changed or made to hurt: refused or read, never a crash, never more memory than they are
 * worth. Meant to run under the sanitizers too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "core/file.h"
#include "format/onnx.h"
#include "format/onnx_bytes.h"
#include "graph/graph.h"

static plim_error error;

/* Every kind of part that the reader knows. */
static bytes rich_model(void) {
    bytes graph = {0}, node = node_of("Conv", "x", "w", "h"), attribute = {0}, sparse = {0}, extra = {0};
    add_text(&attribute, 1, "pads");
    for (int i = 0; i < 4; i++) add_int(&attribute, 8, 1);
    add_int(&attribute, 20, 7);
    add_message(&node, 5, &attribute);
    add_message(&graph, 1, &node);
    node = node_of("Constant", NULL, NULL, "c");
    bytes t = tensor_head("", 7, 1, (int64_t[]){3});
    add_block(&t, 7, "\1\2\3", 3);
    add_text(&attribute, 1, "value");
    add_message(&attribute, 5, &t);
    add_int(&attribute, 20, 4);
    add_message(&node, 5, &attribute);
    add_message(&graph, 1, &node);
    add_node(&graph, "Add", "h", "s", "z");
    add_node(&graph, "Reshape", "z", "c", "y");
    add_text(&graph, 2, "g");
    float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    add_raw_tensor(&graph, tensor_head("w", 1, 4, (int64_t[]){2, 1, 2, 2}), numbers, sizeof numbers);
    bytes values = tensor_head("s", 1, 1, (int64_t[]){1}), indices = tensor_head("", 7, 1, (int64_t[]){1});
    add_block(&values, 4, numbers, 4);
    add_block(&indices, 7, "\1", 1);
    add_message(&sparse, 1, &values);
    add_message(&sparse, 2, &indices);
    add_int(&sparse, 3, 2);
    add_message(&graph, 15, &sparse);
    add_value(&graph, 11, "x", 1, 4, (int64_t[]){-1, 1, 4, -2});
    add_value(&graph, 12, "y", 1, 3, (int64_t[]){1, 2, 3});
    add_value(&graph, 13, "h", 1, 2, (int64_t[]){-1, 7});
    bytes model = model_of(&graph, 8, 17);
    add_text(&extra, 1, "key");
    add_text(&extra, 2, "text");
    add_message(&model, 14, &extra);
    return model;
}

static bool loads(const unsigned char *data, size_t size) {
    plim_graph *g;
    plim_status status = plim_graph_load_memory(data, size, &g, &error);
    assert_true((status == PLIM_OK) == (g != NULL));
    if (status != PLIM_OK) {
        assert_int_equal(error.status, status);
        assert_true(error.message[0] && !strchr(error.message, '\n'));
    } else {
        assert_true(plim__graph_is_valid(g, NULL));
    }
    plim_graph_free(g);
    return status == PLIM_OK;
}

/* Like loads, but from a file of exactly these bytes, which walks through the window instead. */
static bool loads_from_file(const unsigned char *data, size_t size) {
    char path[] = "/tmp/plimsoll-hostile-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    plim_graph *g;
    bool loaded = plim_graph_load(path, &g, &error) == PLIM_OK;
    plim_graph_free(g);
    unlink(path);
    return loaded;
}

static void cut_files_are_refused_or_whole(void **state) {
    (void)state;
    bytes model = rich_model();
    assert_true(loads(model.data, model.size));
    assert_true(loads_from_file(model.data, model.size));
    size_t loaded = 0;
    for (size_t size = 0; size < model.size; size++) {
        unsigned char *exact = malloc(size + 1); /* so that a sanitizer sees reads past the end */
        memcpy(exact, model.data, size);
        exact = realloc(exact, size ? size : 1);
        loaded += loads(exact, size);
        assert_true(size % 16 != 0 || loads_from_file(exact, size) == loads(exact, size));
        free(exact);
    }
    assert_true(loaded <= 2); /* before and after the metadata that ends the file */
    free(model.data);
}

static void changed_bits_never_crash(void **state) {
    (void)state;
    bytes model = rich_model();
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * model.size; bit++) {
        model.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        refused += !loads(model.data, model.size);
        model.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_true(refused > model.size); /* most of a model matters */
    free(model.data);
}

static void random_bytes_are_refused(void **state) {
    (void)state;
    uint64_t seed = 1;
    unsigned char block[512];
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof block; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            block[i] = (unsigned char)(seed >> 56);
        }
        assert_false(loads(block, sizeof block));
    }
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    bytes model = rich_model();
    plim_status status = PLIM_NO_MEMORY;
    for (size_t n = 1; status != PLIM_OK; n++) {
        assert_true(n < 5000);
        plim_graph *g;
        plim__alloc_fail_at(n);
        status = plim_graph_load_memory(model.data, model.size, &g, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK && status != PLIM_NO_MEMORY) fail_msg("allocation %zu: %s", n, error.message);
        assert_true((status == PLIM_OK) == (g != NULL));
        plim_graph_free(g);
    }
    free(model.data);
}

/* Wraps the message into itself as `field`, many times. */
static bytes nest(unsigned field, unsigned inner, size_t depth) {
    size_t room = depth * 16 + 16, at = room;
    unsigned char *data = malloc(room);
    assert_non_null(data);
    for (size_t i = 0; i < depth; i++) {
        bytes header = {0};
        add_varint(&header, (i % 2 ? field : inner) << 3 | 2);
        add_varint(&header, room - at);
        at -= header.size;
        memcpy(data + at, header.data, header.size);
        free(header.data);
    }
    bytes nested = {0};
    add_raw(&nested, data + at, room - at);
    free(data);
    return nested;
}

static void deep_nesting_does_not_reach_the_stacks_end(void **state) {
    (void)state;
    bytes type = nest(4, 1, 400000), value = {0}, graph = {0}; /* a sequence of sequences of ... */
    add_text(&value, 1, "x");
    add_message(&value, 2, &type);
    add_message(&graph, 11, &value);
    bytes model = model_of(&graph, 8, 17);
    assert_false(loads(model.data, model.size));
    free(model.data);

    bytes subgraph = nest(5, 6, 400000), attribute = {0},
          node = node_of("If", NULL, NULL, "y"); /* attribute.g.node... */
    add_text(&attribute, 1, "then_branch");
    add_message(&attribute, 6, &subgraph);
    add_int(&attribute, 20, 5);
    add_message(&node, 5, &attribute);
    add_message(&graph, 1, &node);
    add_value(&graph, 12, "y", 1, 0, NULL);
    model = model_of(&graph, 8, 17);
    loads(model.data, model.size);
    free(model.data);
}

/* Sizes that are only claimed must not be allocated: 2^44 elements would fail with another status. */
static void claims_without_bytes_cost_nothing(void **state) {
    (void)state;
    int64_t huge[1] = {INT64_C(1) << 44};
    for (int kind = 0; kind < 4; kind++) {
        bytes graph = {0}, t = tensor_head("w", kind == 2 ? 7 : 1, 1, huge);
        if (kind == 1) add_block(&t, 9, "abcd", 4);
        if (kind == 2) add_block(&t, 7, "\1", 1);
        if (kind == 3) add_block(&t, 4, "abcd", 4);
        add_message(&graph, 5, &t);
        add_node(&graph, "Neg", "w", NULL, "y");
        add_value(&graph, 12, "y", 1, 1, huge);
        bytes model = model_of(&graph, 8, 17);
        assert_false(loads(model.data, model.size));
        assert_int_equal(error.status, PLIM_CORRUPT);
        free(model.data);
    }
}

/* Ordering must not take the square of the nodes, nor the stack. */
static void a_long_chain_written_backwards_is_sorted(void **state) {
    (void)state;
    enum { LENGTH = 50000 };
    bytes graph = {0};
    char from[16], to[16];
    for (int i = LENGTH; i > 0; i--) {
        snprintf(from, sizeof from, "v%d", i - 1);
        snprintf(to, sizeof to, "v%d", i);
        add_node(&graph, "Neg", from, NULL, to);
    }
    add_value(&graph, 11, "v0", 1, 0, NULL);
    snprintf(to, sizeof to, "v%d", LENGTH);
    add_value(&graph, 12, to, 1, 0, NULL);
    bytes model = model_of(&graph, 8, 17);
    plim_graph *g;
    assert_int_equal(plim_graph_load_memory(model.data, model.size, &g, &error), PLIM_OK);
    free(model.data);
    for (int i = 0; i < LENGTH; i++) {
        snprintf(to, sizeof to, "v%d", i + 1);
        assert_string_equal(g->nodes.items[i].name, to);
    }
    assert_true(plim__graph_is_valid(g, NULL));
    plim_graph_free(g);
}

static void operators_of_the_engine_are_refused_in_files(void **state) {
    (void)state;
    bytes graph = {0}, node = node_of("ResizeGrad", "x", NULL, "y");
    add_text(&node, 7, "plimsoll");
    add_message(&graph, 1, &node);
    add_text(&graph, 2, "g");
    add_value(&graph, 11, "x", 1, 1, (int64_t[]){4});
    add_value(&graph, 12, "y", 1, 1, (int64_t[]){4});
    bytes model = model_of(&graph, 8, 17);
    assert_false(loads(model.data, model.size));
    assert_int_equal(error.status, PLIM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "plimsoll::ResizeGrad"));
    free(model.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_of_the_engine_are_refused_in_files),
        cmocka_unit_test(cut_files_are_refused_or_whole),
        cmocka_unit_test(changed_bits_never_crash),
        cmocka_unit_test(random_bytes_are_refused),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(deep_nesting_does_not_reach_the_stacks_end),
        cmocka_unit_test(claims_without_bytes_cost_nothing),
        cmocka_unit_test(a_long_chain_written_backwards_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
