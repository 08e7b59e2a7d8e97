/* ONNX models are read as they are meant, in every encoding; what is wrong with a file is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "format/load_case.h"
#include "format/onnx.h"
#include "graph/graph.h"

/* A model with one initializer "w" made from `tensor` (freed) and an Identity to make it used. */
static bytes model_with(bytes *tensor) {
    bytes graph = {0};
    add_node(&graph, "Identity", "w", NULL, "y");
    add_message(&graph, 5, tensor);
    add_value(&graph, 12, "y", 1, 0, NULL);
    return model_of(&graph, 8, 17);
}

static const plim__value *value(const plim_graph *g, const char *name) {
    plim_value v = plim_graph_find(g, name);
    assert_true(v >= 0);
    return &g->values.items[v];
}

/* --- what is read ----------------------------------------------------------------------------------------------------
 */

static void a_small_model_is_read_whole(void **state) {
    (void)state;
    bytes model = small_model(8, 13);
    plim_graph *g = must_load(&model);
    assert_int_equal(plim_graph_input_count(g), 1);
    assert_int_equal(plim_graph_output_count(g), 1);
    assert_int_equal(plim_graph_node_count(g), 1);
    assert_string_equal(g->nodes.items[0].op_name, "Add");
    assert_int_equal(g->nodes.items[0].version, 13);
    assert_int_equal(value(g, "w")->kind, PLIM__VALUE_PARAMETER);
    assert_int_equal(value(g, "x")->kind, PLIM__VALUE_INPUT);
    assert_string_equal(plim_graph_symbol_name(g, value(g, "x")->shape.dims[0]), "N");
    assert_int_equal(value(g, "x")->shape.dims[0], value(g, "y")->shape.dims[0]);
    assert_true(((float *)value(g, "w")->tensor->data)[1] == -2);
    assert_string_equal(g->info.graph_name, "small");
    plim_graph_free(g);
}

static void dimensions_that_are_not_told_are_symbols_of_their_own(void **state) {
    (void)state;
    bytes graph = {0};
    add_node(&graph, "Relu", "x", NULL, "y");
    add_value(&graph, 11, "x", 1, 3, (int64_t[]){-2, -2, 4});
    add_value(&graph, 12, "y", 1, 1, (int64_t[]){-2});
    bytes model = model_of(&graph, 8, 17);
    plim_graph *g = must_load(&model);
    const int64_t *dims = value(g, "x")->shape.dims;
    assert_true(dims[0] < 0 && dims[1] < 0 && dims[0] != dims[1]);
    assert_int_equal(dims[2], 4);
    plim_graph_free(g);
}

static void a_weight_listed_as_an_input_is_a_weight(void **state) {
    (void)state;
    bytes graph = {0};
    float w[2] = {0};
    add_node(&graph, "Add", "x", "w", "y");
    add_raw_tensor(&graph, tensor_head("w", 1, 1, (int64_t[]){2}), w, sizeof w);
    add_value(&graph, 11, "w", 1, 1, (int64_t[]){2});
    add_value(&graph, 11, "x", 1, 1, (int64_t[]){2});
    add_value(&graph, 12, "y", 1, 1, (int64_t[]){2});
    bytes model = model_of(&graph, 3, 9);
    plim_graph *g = must_load(&model);
    assert_int_equal(plim_graph_input_count(g), 1);
    assert_string_equal(plim_graph_value_name(g, plim_graph_input_at(g, 0)), "x");
    plim_graph_free(g);
}

static void nodes_in_any_order_are_sorted(void **state) {
    (void)state;
    bytes graph = {0};
    add_node(&graph, "Relu", "b", NULL, "y");
    add_node(&graph, "Neg", "a", NULL, "b");
    add_node(&graph, "Abs", "x", NULL, "a");
    add_value(&graph, 11, "x", 1, 0, NULL);
    add_value(&graph, 12, "y", 1, 0, NULL);
    bytes model = model_of(&graph, 8, 17);
    plim_graph *g = must_load(&model);
    assert_string_equal(g->nodes.items[0].op_name, "Abs");
    assert_string_equal(g->nodes.items[2].op_name, "Relu");
    plim_graph_free(g);
}

/* Each dtype as numbers in its typed field, packed and one by one; -3 and 5 everywhere they fit. */
static void check_typed(plim_dtype dtype, unsigned field, int packed) {
    int wide = dtype == PLIM_F32 || dtype == PLIM_F64;
    int64_t numbers[4] = {5, 1, 0, dtype == PLIM_U8 || dtype == PLIM_BOOL ? 1 : -3};
    bytes t = tensor_head("w", (int)dtype, 1, (int64_t[]){4}), list = {0};
    for (int i = 0; i < 4; i++) {
        float f = (float)numbers[i];
        double d = (double)numbers[i];
        bytes *to = packed ? &list : &t;
        if (!packed) add_varint(to, field << 3 | (dtype == PLIM_F32 ? 5u : dtype == PLIM_F64 ? 1u : 0u));
        if (dtype == PLIM_F32)
            add_raw(to, &f, 4);
        else if (dtype == PLIM_F64)
            add_raw(to, &d, 8);
        else
            add_varint(to, (uint64_t)numbers[i]);
    }
    if (packed) add_message(&t, field, &list);
    bytes model = model_with(&t);
    plim_graph *g = must_load(&model);
    plim__tensor *tensor = value(g, "w")->tensor;
    assert_int_equal(tensor->dtype, dtype);
    for (int i = 0; i < 4; i++) {
        uint64_t bits = 0;
        size_t width = (size_t)plim_dtype_bits(dtype) / 8;
        memcpy(&bits, (char *)tensor->data + (size_t)i * width, width);
        if (wide)
            assert_true(plim__tensor_at(tensor, i) == (double)numbers[i]);
        else
            assert_true(bits == ((uint64_t)numbers[i] & (width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * width)) - 1)));
    }
    plim_graph_free(g);
}

static void every_typed_field_is_read(void **state) {
    (void)state;
    static const struct {
        plim_dtype dtype;
        unsigned field;
    } cases[] = {
        {PLIM_F32, 4},  {PLIM_F64, 10}, {PLIM_I64, 7},  {PLIM_U32, 11},     {PLIM_U64, 11},
        {PLIM_I32, 5},  {PLIM_I16, 5},  {PLIM_I8, 5},   {PLIM_U16, 5},      {PLIM_U8, 5},
        {PLIM_BOOL, 5}, {PLIM_F16, 5},  {PLIM_BF16, 5}, {PLIM_F8E4M3FN, 5}, {PLIM_F8E5M2, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int packed = 0; packed < 2; packed++) check_typed(cases[i].dtype, cases[i].field, packed);
}

static void four_bit_numbers_come_two_in_a_byte(void **state) {
    (void)state;
    bytes t = tensor_head("w", PLIM_I4, 1, (int64_t[]){3});
    add_int(&t, 5, 0x21);
    add_int(&t, 5, 0x0f);
    bytes model = model_with(&t);
    plim_graph *g = must_load(&model);
    assert_int_equal(value(g, "w")->tensor->bytes, 2);
    assert_memory_equal(value(g, "w")->tensor->data, "\x21\x0f", 2);
    assert_int_equal(value(g, "w")->kind, PLIM__VALUE_CONSTANT);
    plim_graph_free(g);
}

static void complex_numbers_are_pairs_of_floats(void **state) {
    (void)state;
    float pair[2] = {1, 2};
    bytes t = tensor_head("w", PLIM_C64, 1, (int64_t[]){1});
    add_block(&t, 4, pair, sizeof pair);
    bytes model = model_with(&t);
    plim_graph *g = must_load(&model);
    assert_memory_equal(value(g, "w")->tensor->data, pair, sizeof pair);
    plim_graph_free(g);
}

static bytes sparse_model(const int64_t *indices, int rank, size_t count, int64_t rows) {
    bytes sparse = {0}, graph = {0};
    float numbers[3] = {7, 8, 9};
    bytes values = tensor_head("w", PLIM_F32, 1, (int64_t[]){3}),
          places = tensor_head("", PLIM_I64, rank, (int64_t[]){3, 2});
    add_block(&values, 9, numbers, sizeof numbers);
    add_block(&places, 9, indices, count * sizeof *indices);
    add_message(&sparse, 1, &values);
    add_message(&sparse, 2, &places);
    add_int(&sparse, 3, rows);
    add_int(&sparse, 3, 2);
    add_node(&graph, "Identity", "w", NULL, "y");
    add_message(&graph, 15, &sparse);
    add_value(&graph, 12, "y", 1, 0, NULL);
    return model_of(&graph, 8, 17);
}

static void sparse_weights_become_dense(void **state) {
    (void)state;
    static const float expected[6] = {7, 0, 0, 8, 9, 0};
    bytes flat = sparse_model((int64_t[]){0, 3, 4}, 1, 3, 3),
          grid = sparse_model((int64_t[]){0, 0, 1, 1, 2, 0}, 2, 6, 3);
    for (int i = 0; i < 2; i++) {
        plim_graph *g = must_load(i ? &grid : &flat);
        assert_memory_equal(value(g, "w")->tensor->data, expected, sizeof expected);
        assert_int_equal(value(g, "w")->kind, PLIM__VALUE_CONSTANT);
        plim_graph_free(g);
    }
    bytes outside = sparse_model((int64_t[]){0, 3, 6}, 1, 3, 3),
          below = sparse_model((int64_t[]){0, 0, 1, -1, 2, 0}, 2, 6, 3);
    bytes huge = sparse_model((int64_t[]){0, 3, 4}, 1, 3, INT64_C(1) << 40);
    must_refuse(&outside, PLIM_CORRUPT, "sparse 'w'", "outside");
    must_refuse(&below, PLIM_CORRUPT, "sparse 'w'", "outside");
    must_refuse(&huge, PLIM_UNSUPPORTED, "sparse 'w'", "far more than its file");
}

static void add_attribute(bytes *node, const char *name, int type, bytes *content) {
    bytes a = {0};
    add_text(&a, 1, name);
    add_raw(&a, content->data, content->size);
    if (type) add_int(&a, 20, type);
    free(content->data);
    *content = (bytes){0};
    add_message(node, 5, &a);
}

static void attributes_of_every_type_are_kept(void **state) {
    (void)state;
    bytes node = node_of("Thing", "x", NULL, "y"), c = {0}, graph = {0};
    add_int(&c, 3, -7);
    add_attribute(&node, "i", 2, &c);
    float f = 0.5f;
    add_varint(&c, 2 << 3 | 5);
    add_raw(&c, &f, 4);
    add_attribute(&node, "f", 0, &c); /* without a type, as the first IR version wrote it */
    add_text(&c, 4, "hello");
    add_attribute(&node, "s", 3, &c);
    add_int(&c, 8, 1);
    add_int(&c, 8, -2);
    add_attribute(&node, "ints", 7, &c);
    add_block(&c, 7, &f, 4);
    add_attribute(&node, "floats", 6, &c);
    add_text(&c, 9, "a");
    add_text(&c, 9, "");
    add_attribute(&node, "strings", 8, &c);
    bytes t = tensor_head("", PLIM_U8, 1, (int64_t[]){2});
    add_block(&t, 9, "ab", 2);
    add_message(&c, 5, &t);
    add_attribute(&node, "t", 4, &c);
    bytes inner = {0};
    add_text(&inner, 2, "then");
    add_message(&c, 6, &inner);
    add_attribute(&node, "g", 5, &c);
    add_attribute(&node, "none", 7, &c); /* an empty list */
    add_message(&graph, 1, &node);
    add_value(&graph, 11, "x", 1, 0, NULL);
    add_value(&graph, 12, "y", 1, 0, NULL);
    bytes model = model_of(&graph, 8, 17);
    plim_graph *g = must_load(&model);
    const plim__node *n = &g->nodes.items[0];
    size_t count;
    assert_int_equal(plim__node_int(n, "i", 0), -7);
    assert_true(plim__node_float(n, "f", 0) == 0.5f);
    assert_string_equal(plim__node_string(n, "s", ""), "hello");
    assert_int_equal(plim__node_ints(n, "ints", &count)[1], -2);
    assert_int_equal(count, 2);
    assert_true(plim__node_floats(n, "floats", &count)[0] == 0.5f);
    assert_string_equal(plim__node_attribute(n, "strings")->strings[0], "a");
    assert_memory_equal(plim__node_attribute(n, "t")->tensor->data, "ab", 2);
    assert_int_equal(plim__node_attribute(n, "g")->type, PLIM__ATTRIBUTE_GRAPH);
    assert_int_equal(plim__node_attribute(n, "none")->length, 0);
    plim_graph_free(g);
}

/* --- what is refused ------------------------------------------------------------------------------------------ */

static void weights_of_the_wrong_length_are_named(void **state) {
    (void)state;
    for (int64_t dim = 1; dim <= 3; dim += 2) { /* two numbers for one and for three elements */
        float numbers[2] = {1, 2};
        bytes raw = tensor_head("w", 1, 1, &dim), typed = tensor_head("w", 1, 1, &dim),
              ints = tensor_head("w", 7, 1, &dim);
        add_block(&raw, 9, numbers, sizeof numbers);
        add_block(&typed, 4, numbers, sizeof numbers);
        add_block(&ints, 7, "\1\2", 2);
        bytes a = model_with(&raw), b = model_with(&typed), c = model_with(&ints);
        must_refuse(&a, PLIM_CORRUPT, "tensor 'w' holds 8 bytes", dim == 1 ? "float32[1]" : "float32[3]");
        must_refuse(&b, PLIM_CORRUPT, "tensor 'w' holds 2 numbers", "float32");
        must_refuse(&c, PLIM_CORRUPT, "tensor 'w' holds 2 numbers", "int64");
    }
}

static void impossible_shapes_are_refused(void **state) {
    (void)state;
    int64_t huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40}, negative[1] = {-5}, many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    bytes a = tensor_head("w", 1, 2, huge), b = tensor_head("w", 1, 1, negative), c = tensor_head("w", 1, 9, many);
    bytes d = tensor_head("w", 99, 1, many), e = tensor_head("w", 0, 1, many);
    bytes ma = model_with(&a), mb = model_with(&b), mc = model_with(&c), md = model_with(&d), me = model_with(&e);
    must_refuse(&ma, PLIM_OVERFLOW, "'w'", NULL);
    must_refuse(&mb, PLIM_CORRUPT, "'w' has the negative dimension -5", NULL);
    must_refuse(&mc, PLIM_UNSUPPORTED, "'w' has rank 9", NULL);
    must_refuse(&md, PLIM_UNSUPPORTED, "'w' has the unknown element type number 99", NULL);
    must_refuse(&me, PLIM_CORRUPT, "'w' has no element type", NULL);
    int64_t *dims[] = {huge, negative, many};
    int ranks[] = {2, 1, 9};
    plim_status expected[] = {PLIM_OVERFLOW, PLIM_CORRUPT, PLIM_UNSUPPORTED};
    for (int i = 0; i < 3; i++) {
        bytes graph = {0};
        add_value(&graph, 11, "image", 1, ranks[i], dims[i]);
        add_value(&graph, 12, "image", 1, 0, NULL);
        bytes model = model_of(&graph, 8, 17);
        must_refuse(&model, expected[i], "'image'", NULL);
    }
}

static bytes graph_with_nodes(const char *const (*nodes)[4], size_t count) {
    bytes graph = {0};
    for (size_t i = 0; i < count; i++) add_node(&graph, nodes[i][0], nodes[i][1], nodes[i][2], nodes[i][3]);
    add_value(&graph, 11, "x", 1, 0, NULL);
    add_value(&graph, 12, "y", 1, 0, NULL);
    return model_of(&graph, 8, 17);
}

static void broken_graphs_are_refused_by_name(void **state) {
    (void)state;
    bytes cycle = graph_with_nodes(
        (const char *const[][4]){{"Add", "x", "b", "a"}, {"Neg", "a", NULL, "b"}, {"Abs", "x", NULL, "y"}}, 3);
    must_refuse(&cycle, PLIM_CORRUPT, "cycle", "'a'");
    bytes itself = graph_with_nodes((const char *const[][4]){{"Add", "x", "y", "y"}}, 1);
    must_refuse(&itself, PLIM_CORRUPT, "cycle", "'y'");
    bytes missing = graph_with_nodes((const char *const[][4]){{"Add", "x", "ghost", "y"}}, 1);
    must_refuse(&missing, PLIM_CORRUPT, "node 'y' (Add)", "'ghost'");
    bytes twice = graph_with_nodes((const char *const[][4]){{"Neg", "x", NULL, "y"}, {"Abs", "x", NULL, "y"}}, 2);
    must_refuse(&twice, PLIM_CORRUPT, "node 'y' (Abs)", "'y' is defined twice");
    bytes over_input = graph_with_nodes((const char *const[][4]){{"Neg", "x", NULL, "x"}}, 1);
    must_refuse(&over_input, PLIM_CORRUPT, "'x' is defined twice", NULL);
    bytes no_output = graph_with_nodes((const char *const[][4]){{"Neg", "x", NULL, "z"}}, 1);
    must_refuse(&no_output, PLIM_CORRUPT, "output 'y'", NULL);
    bytes empty_name = graph_with_nodes((const char *const[][4]){{"", "x", NULL, "y"}}, 1);
    must_refuse(&empty_name, PLIM_CORRUPT, "no operator", NULL);
    bytes odd = graph_with_nodes((const char *const[][4]){{"Neg", "two\nlines", NULL, "y"}}, 1);
    must_refuse(&odd, PLIM_CORRUPT, "two?lines", NULL);
}

static void opsets_outside_the_range_are_refused(void **state) {
    (void)state;
    bytes newer = small_model(10, 25), zero = small_model(8, 0), fine = small_model(10, 24), old = small_model(3, 6);
    must_refuse(&newer, PLIM_UNSUPPORTED, "opset 25", "24");
    must_refuse(&zero, PLIM_CORRUPT, "opset", NULL);
    plim_graph_free(must_load(&fine));
    plim_graph_free(must_load(&old));
}

static void sequences_and_strings_are_refused_by_name(void **state) {
    (void)state;
    bytes graph = {0}, type = {0}, value_info = {0}, nothing = {0};
    add_message(&type, 4, &nothing);
    add_text(&value_info, 1, "list");
    add_message(&value_info, 2, &type);
    add_message(&graph, 11, &value_info);
    add_node(&graph, "SequenceLength", "list", NULL, "y");
    add_value(&graph, 12, "y", 7, 0, NULL);
    bytes sequence = model_of(&graph, 8, 17);
    must_refuse(&sequence, PLIM_UNSUPPORTED, "unsupported: operator SequenceLength", "'list' is a sequence");

    bytes words = tensor_head("w", PLIM_STRING, 1, (int64_t[]){1});
    add_text(&words, 6, "word");
    bytes strings = model_with(&words);
    must_refuse(&strings, PLIM_UNSUPPORTED, "node 'y' (Identity)", "'w' is a tensor of strings");
}

/* --- functions ------------------------------------------------------------------------------------------------- */

/* A function own::F of one input "a" and one output "b", and a model that is y = F(x); the function's node is `op` from
 * one value to another. */
static bytes model_with_function(const char *op, const char *domain, const char *from, const char *to) {
    bytes graph = {0}, function = {0}, node = node_of(op, from, NULL, to), import = {0},
          call = node_of("F", "x", NULL, "y");
    if (domain) add_text(&node, 7, domain);
    add_text(&call, 7, "own");
    add_message(&graph, 1, &call);
    add_value(&graph, 11, "x", 1, 1, (int64_t[]){3});
    add_value(&graph, 12, "y", 1, 1, (int64_t[]){3});
    add_text(&function, 1, "F");
    add_text(&function, 4, "a");
    add_text(&function, 5, "b");
    add_message(&function, 7, &node);
    add_text(&function, 10, "own");
    bytes model = model_of(&graph, 8, 17);
    add_text(&import, 1, "own");
    add_int(&import, 2, 1);
    add_message(&model, 8, &import);
    add_message(&model, 25, &function);
    return model;
}

static void a_call_of_a_function_becomes_its_body(void **state) {
    (void)state;
    bytes model = model_with_function("Neg", NULL, "a", "b");
    plim_graph *g = must_load(&model);
    size_t found = 0;
    for (size_t n = 0; n < g->nodes.count; n++)
        found += !g->nodes.items[n].dead && strcmp(g->nodes.items[n].op_name, "Neg") == 0;
    assert_int_equal(found, 1);
    plim_graph_free(g);
}

static void functions_that_are_wrong_are_refused_by_name(void **state) {
    (void)state;
    bytes itself = model_with_function("F", "own", "a", "b");
    must_refuse(&itself, PLIM_UNSUPPORTED, "do they call themselves?", "(F)");
    bytes nothing = model_with_function("Neg", NULL, "c", "b");
    must_refuse(&nothing, PLIM_CORRUPT, "function 'own::F'", "'c', which nothing produces");
    bytes unmade = model_with_function("Neg", NULL, "a", "c");
    must_refuse(&unmade, PLIM_CORRUPT, "function 'own::F'", "nothing produces its output 'b'");
    bytes twice = model_with_function("Neg", NULL, "a", "b"), function = {0};
    add_text(&function, 1, "F");
    add_text(&function, 10, "own");
    add_message(&twice, 25, &function);
    must_refuse(&twice, PLIM_UNSUPPORTED, "two functions with the name 'own::F'", NULL);
    bytes counts = small_model(8, 17), empty = {0};
    add_text(&empty, 1, "Add");
    add_message(&counts, 25, &empty);
    must_refuse(&counts, PLIM_CORRUPT, "node 'y' (Add)", "takes 0 inputs");
}

static void an_unused_string_is_no_obstacle(void **state) {
    (void)state;
    bytes words = tensor_head("label", PLIM_STRING, 1, (int64_t[]){1}), graph = {0};
    add_text(&words, 6, "word");
    add_message(&graph, 5, &words);
    add_node(&graph, "Neg", "x", NULL, "y");
    add_value(&graph, 11, "x", 1, 0, NULL);
    add_value(&graph, 12, "y", 1, 0, NULL);
    bytes model = model_of(&graph, 8, 17);
    plim_graph_free(must_load(&model));
}

static void an_input_that_contradicts_its_weight_is_refused(void **state) {
    (void)state;
    bytes graph = {0};
    add_node(&graph, "Neg", "w", NULL, "y");
    add_raw_tensor(&graph, tensor_head("w", 1, 1, (int64_t[]){1}), "abcd", 4);
    add_value(&graph, 11, "w", 1, 1, (int64_t[]){2});
    add_value(&graph, 12, "y", 1, 1, (int64_t[]){2});
    bytes model = model_of(&graph, 3, 9);
    must_refuse(&model, PLIM_CORRUPT, "input 'w' is float32[2]", "float32[1]");
}

/* --- files ---------------------------------------------------------------------------------------------------- */

static long resident_peak_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* The file has a hole where the weights are, so it costs no disk. */
static void weights_stay_in_the_file_until_they_are_wanted(void **state) {
    (void)state;
    const int64_t elements = INT64_C(96) << 20; /* 384 MiB */
    bytes t = tensor_head("w", 1, 1, &elements), graph = {0};
    add_varint(&t, 9 << 3 | 2);
    add_varint(&t, (uint64_t)elements * 4);
    add_node(&graph, "Neg", "w", NULL, "y");
    add_value(&graph, 12, "y", 1, 1, &elements);
    add_varint(&graph, 5 << 3 | 2);
    add_varint(&graph, t.size + (uint64_t)elements * 4);
    add_raw(&graph, t.data, t.size);
    free(t.data);
    bytes model = {0}, import = {0};
    add_int(&model, 1, 8);
    add_int(&import, 2, 17);
    add_message(&model, 8, &import);
    add_varint(&model, 7 << 3 | 2);
    add_varint(&model, graph.size + (uint64_t)elements * 4);
    add_raw(&model, graph.data, graph.size);
    free(graph.data);
    char path[] = "/tmp/plimsoll-onnx-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, model.data, model.size), (ssize_t)model.size);
    size_t size = model.size;
    free(model.data);
    assert_int_equal(ftruncate(fd, (off_t)size + elements * 4 - 2), 0);
    assert_int_equal(pwrite(fd, "\1\2", 2, (off_t)size + elements * 4 - 2), 2);
    long before = resident_peak_kib();
    plim_graph *g;
    if (plim_graph_load(path, &g, &error) != PLIM_OK) fail_msg("%s", error.message);
    const plim__tensor *tensor = value(g, "w")->tensor;
    assert_null(tensor->data);
    assert_int_equal(tensor->offset, size);
    assert_int_equal(tensor->bytes, elements * 4);
    assert_true(resident_peak_kib() - before < 16 << 10);
    plim_graph_free(g);
    assert_int_equal(ftruncate(fd, (off_t)size + 100), 0);
    assert_int_equal(plim_graph_load(path, &g, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, path));
    close(fd);
    unlink(path);
}

static void files_that_cannot_be_read_are_named(void **state) {
    (void)state;
    plim_graph *g;
    assert_int_equal(plim_graph_load("/nowhere/model.onnx", &g, &error), PLIM_NOT_FOUND);
    assert_non_null(strstr(error.message, "/nowhere/model.onnx"));
    assert_null(g);
    assert_int_equal(plim_graph_load("/tmp", &g, &error), PLIM_IO);
    assert_non_null(strstr(error.message, "folder"));
    assert_int_equal(plim_graph_load("/dev/null", &g, &error), PLIM_IO);
    assert_int_equal(plim_graph_load("/nowhere/model.onnx", &g, NULL), PLIM_NOT_FOUND);
    assert_int_equal(plim_graph_load_memory(NULL, 0, &g, &error), PLIM_INVALID);
    assert_int_equal(plim_graph_load_memory("", 0, &g, &error), PLIM_CORRUPT);
    assert_int_equal(plim_graph_load_memory("hello world", 11, &g, &error), PLIM_CORRUPT);
}

struct listed {
    size_t count, bytes;
    char names[64];
};

static bool note(const plim__onnx_weight *weight, void *context) {
    struct listed *listed = context;
    listed->count++;
    listed->bytes += weight->bytes;
    snprintf(listed->names + strlen(listed->names), sizeof listed->names - strlen(listed->names), "%s:%s%d ",
             weight->name, plim_dtype_name(weight->dtype), weight->shape.rank);
    return true;
}

static void weights_are_listed_from_their_headers(void **state) {
    (void)state;
    bytes graph = {0}, outside = tensor_head("far", 10, 2, (int64_t[]){1000, 1000}), entry = {0};
    add_text(&entry, 1, "location");
    add_text(&entry, 2, "not-there.bin");
    add_message(&outside, 13, &entry);
    add_int(&outside, 14, 1);
    add_raw_tensor(&graph, tensor_head("near", 1, 1, (int64_t[]){1}), "abcd", 4);
    add_message(&graph, 5, &outside);
    bytes model = model_of(&graph, 8, 17);
    char path[] = "/tmp/plimsoll-onnx-XXXXXX";
    close(mkstemp(path));
    assert_int_equal(plim__file_write(path, model.data, model.size, &error), PLIM_OK);
    struct listed listed = {0};
    if (plim__onnx_list_weights(path, note, &listed, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_string_equal(listed.names, "near:float321 far:float162 ");
    assert_int_equal(listed.bytes, 4 + 2000000);
    assert_int_equal(plim__file_write(path, "", 0, &error), PLIM_OK);
    assert_int_equal(plim__onnx_list_weights(path, note, &listed, &error), PLIM_CORRUPT);
    unlink(path);
    free(model.data);
}

static void tensor_files_are_read_into_memory(void **state) {
    (void)state;
    bytes t = tensor_head("input", 7, 2, (int64_t[]){1, 2});
    add_block(&t, 7, "\5\6", 2);
    char path[] = "/tmp/plimsoll-onnx-XXXXXX";
    close(mkstemp(path));
    assert_int_equal(plim__file_write(path, t.data, t.size, &error), PLIM_OK);
    plim__tensor *tensor;
    char *name;
    if (plim__onnx_read_tensor_file(path, &tensor, &name, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_string_equal(name, "input");
    assert_int_equal(tensor->shape.dims[1], 2);
    assert_int_equal(((int64_t *)tensor->data)[1], 6);
    plim__tensor_release(tensor);
    plim__free(name);
    bytes sequence = {0};
    add_text(&sequence, 1, "s");
    add_int(&sequence, 2, 1);
    add_message(&sequence, 3, &t);
    assert_int_equal(plim__file_write(path, sequence.data, sequence.size, &error), PLIM_OK);
    assert_int_equal(plim__onnx_read_tensor_file(path, &tensor, NULL, &error), PLIM_UNSUPPORTED);
    assert_null(tensor);
    free(sequence.data);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_model_is_read_whole),
        cmocka_unit_test(dimensions_that_are_not_told_are_symbols_of_their_own),
        cmocka_unit_test(a_weight_listed_as_an_input_is_a_weight),
        cmocka_unit_test(nodes_in_any_order_are_sorted),
        cmocka_unit_test(every_typed_field_is_read),
        cmocka_unit_test(four_bit_numbers_come_two_in_a_byte),
        cmocka_unit_test(complex_numbers_are_pairs_of_floats),
        cmocka_unit_test(sparse_weights_become_dense),
        cmocka_unit_test(attributes_of_every_type_are_kept),
        cmocka_unit_test(weights_of_the_wrong_length_are_named),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(broken_graphs_are_refused_by_name),
        cmocka_unit_test(opsets_outside_the_range_are_refused),
        cmocka_unit_test(a_call_of_a_function_becomes_its_body),
        cmocka_unit_test(functions_that_are_wrong_are_refused_by_name),
        cmocka_unit_test(sequences_and_strings_are_refused_by_name),
        cmocka_unit_test(an_unused_string_is_no_obstacle),
        cmocka_unit_test(an_input_that_contradicts_its_weight_is_refused),
        cmocka_unit_test(weights_stay_in_the_file_until_they_are_wanted),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(weights_are_listed_from_their_headers),
        cmocka_unit_test(tensor_files_are_read_into_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
