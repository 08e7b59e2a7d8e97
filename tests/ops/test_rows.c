/* The rows of the operator table are true: what they require is checked, what they say that gradients read is what is
 * read, and what they allow in memory is what lowering does. */
#include "core/str.h"
#include "grad/cases_table.h"
#include "grad/gradient.h"
#include "kernel/processor.h"
#include "ops/op.h"
#include "program/program.h"

/* --- inputs that are left out ---------------------------------------------------------------------------------- */

#define MOST 24

/* A node of the row on new inputs, without those of the mask. */
static plim_graph *graph_of(const plim__op *op, size_t count, uint32_t absent, const plim_dtype *dtypes,
                            const plim__shape *shapes) {
    plim_graph *g = plim_graph_create();
    int32_t node = plim__graph_add_node(g, op->domain, op->name, "the_node", op->until);
    for (size_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "in%zu", i);
        plim_value v = PLIM_NO_VALUE;
        if (!(absent >> i & 1)) {
            v = plim__graph_add_value(g, name, PLIM__VALUE_INPUT, dtypes[i], &shapes[i]);
            assert_true(plim__vec_push(&g->inputs, v));
        }
        plim__node_add_input(g, node, v);
    }
    for (int i = 0; i < (op->min_out > 0 ? op->min_out : 1) && i < op->max_out; i++) {
        plim_value out = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
        plim__node_add_output(g, node, out);
        plim_graph_output(g, out, NULL);
    }
    return g;
}

static size_t most_inputs(const plim__op *op) {
    return op->max_in == PLIM__MANY ? (size_t)op->min_in + 3 : (size_t)op->max_in;
}

static void a_required_input_that_is_left_out_is_refused_and_named(void **state) {
    (void)state;
    plim_dtype dtypes[MOST];
    plim__shape shapes[MOST];
    for (size_t i = 0; i < MOST; i++) dtypes[i] = PLIM_F32, shapes[i] = (plim__shape){.rank = 1, .dims = {1}};
    size_t tried = 0;
    for (size_t k = 0; k < plim__op_count; k++) {
        const plim__op *op = &plim__ops[k];
        assert_true(most_inputs(op) <= MOST);
        for (size_t i = 0; i < most_inputs(op); i++) {
            plim_graph *g = graph_of(op, most_inputs(op), 1u << i, dtypes, shapes);
            plim_error error = {0};
            plim_status status = plim__ops_resolve(g, &error);
            char expected[128];
            snprintf(expected, sizeof expected, "node 'the_node' (%s): input %zu is missing", op->name, i);
            if (!plim__op_requires(op, i))
                assert_int_equal(status, PLIM_OK);
            else if (status != PLIM_CORRUPT || strcmp(error.message, expected) != 0)
                fail_msg("%s without input %zu: %s, %s", op->name, i, plim_status_name(status), error.message);
            tried += plim__op_requires(op, i);
            plim_graph_free(g);
        }
    }
    assert_true(tried > 300);
}

static void a_required_output_that_is_left_out_is_refused_and_named(void **state) {
    (void)state;
    plim_dtype dtypes[MOST];
    plim__shape shapes[MOST];
    for (size_t i = 0; i < MOST; i++) dtypes[i] = PLIM_F32, shapes[i] = (plim__shape){.rank = 1, .dims = {1}};
    for (size_t k = 0; k < plim__op_count; k++) {
        const plim__op *op = &plim__ops[k];
        if (strcmp(op->domain, PLIM__DOMAIN) == 0) continue;
        for (int i = 0; i < op->min_out; i++) {
            plim_graph *g = graph_of(op, most_inputs(op), 0, dtypes, shapes);
            plim_error error = {0};
            char expected[128];
            g->nodes.items[0].outputs.items[i] = PLIM_NO_VALUE;
            snprintf(expected, sizeof expected, "node 'the_node' (%s): output %d is missing", op->name, i);
            assert_int_equal(plim__ops_resolve(g, &error), PLIM_CORRUPT);
            assert_string_equal(error.message, expected);
            plim_graph_free(g);
        }
    }
}

/* Shapes and types are read of inputs that are there, whatever they are: an answer or a message, under the sanitizers
 * nothing else. */
static void optional_inputs_may_be_left_out_anywhere(void **state) {
    (void)state;
    static const plim_dtype types[] = {PLIM_F32, PLIM_I64, PLIM_I32, PLIM_BOOL, PLIM_U8, PLIM_F64};
    uint32_t seed = 1;
    for (size_t k = 0; k < plim__op_count; k++) {
        const plim__op *op = &plim__ops[k];
        if (strcmp(op->domain, PLIM__DOMAIN) == 0) continue; /* no file has these */
        for (int attempt = 0; attempt < 60; attempt++) {
            plim_dtype dtypes[MOST];
            plim__shape shapes[MOST];
            uint32_t absent = 0;
            for (size_t i = 0; i < most_inputs(op); i++) {
                seed = seed * 1664525 + 1013904223;
                dtypes[i] = attempt % 2 ? PLIM_F32 : types[seed >> 24 & 3 ? 0 : (seed >> 16) % 6];
                shapes[i] = (plim__shape){.rank = attempt % 5};
                for (int a = 0; a < shapes[i].rank; a++)
                    shapes[i].dims[a] = 1 + (seed >> (8 + a) & (attempt % 3 ? 0 : 3));
                if (!plim__op_requires(op, i) && seed >> 29 & 1) absent |= 1u << i;
            }
            plim_graph *g = graph_of(op, most_inputs(op), absent, dtypes, shapes);
            plim_error error = {0};
            plim__program *program = NULL;
            plim_status status = plim__infer_graph(g, plim__processor_fold, NULL, &error);
            if (status == PLIM_OK) status = plim__program_create(g, plim__on_processor(1), NULL, &program, &error);
            if (status != PLIM_OK && !*error.message) fail_msg("%s fails without a message", op->name);
            plim__program_free(program);
            plim_graph_free(g);
        }
    }
}

/* --- what happens in the cases of the gradient checks ----------------------------------------------------------- */

static unsigned saved[1024], flags[1024], lowered[1024], built[1024]; /* by row: seen so far */

static size_t row_of(const plim__op *op) { return (size_t)(op - plim__ops); }

static plim_value add_loss(plim_graph *g, plim_value y) {
    plim__shape shape = g->values.items[y].shape;
    float *ones = calloc((size_t)plim__shape_elements(&shape) + 1, sizeof *ones);
    for (int64_t i = 0; i < plim__shape_elements(&shape); i++) ones[i] = 1 + (float)(i % 7);
    plim_value w = plim_graph_constant(g, NULL, PLIM_F32, shape.rank, shape.dims, ones);
    plim_value product = plim_graph_apply(g, "Mul", (plim_value[]){y, w}, 2);
    int32_t sum = plim_graph_node(g, "ReduceSum", NULL, &product, 1, 1);
    plim_graph_set_int(g, sum, "keepdims", 0);
    free(ones);
    return plim_graph_node_output(g, sum, 0);
}

/* Names every live node with a gradient, and notes what each has before gradients are built. */
struct before {
    const plim__op *op;
    plim_value in[MOST], out[MOST];
    size_t ins, outs;
    char name[24];
};

static size_t note_nodes(plim_graph *g, struct before *nodes) {
    size_t count = 0;
    for (size_t n = 0; n < g->nodes.count && count < 64; n++) {
        plim__node *node = &g->nodes.items[n];
        if (node->dead || node->inputs.count > MOST || node->outputs.count > MOST) continue;
        struct before *b = &nodes[count];
        *b = (struct before){.op = node->op, .ins = node->inputs.count, .outs = node->outputs.count};
        snprintf(b->name, sizeof b->name, "tested_%zu", count++);
        if (b->ins) memcpy(b->in, node->inputs.items, b->ins * sizeof *b->in);
        if (b->outs) memcpy(b->out, node->outputs.items, b->outs * sizeof *b->out);
        plim__free(node->name);
        node->name = plim__strdup(b->name);
    }
    return count;
}

/* What the backward nodes of this node read of it. */
static unsigned reads_of(const plim_graph *g, const struct before *b) {
    unsigned reads = 0;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || node->phase != PLIM__BACKWARD || strcmp(node->name, b->name) != 0) continue;
        for (size_t k = 0; k < node->inputs.count; k++) {
            plim_value v = node->inputs.items[k];
            if (v < 0) continue;
            for (size_t i = 0; i < b->ins; i++)
                if (b->in[i] == v) reads |= PLIM__SAVED_IN(i);
            for (size_t i = 0; i < b->outs; i++)
                if (b->out[i] == v) reads |= PLIM__SAVED_OUT(i);
            int32_t p = g->values.items[v].producer;
            if (p < 0 || g->nodes.items[p].phase == PLIM__BACKWARD || strcmp(g->nodes.items[p].name, b->name) != 0)
                continue;
            for (size_t i = 1; i < g->nodes.items[p].outputs.count; i++)
                if (g->nodes.items[p].outputs.items[i] == v && (i >= b->outs || b->out[i] != v))
                    reads |= g->nodes.items[p].op == b->op ? PLIM__SAVED_OUT(i) : PLIM__SAVED_EXTRA;
        }
    }
    return reads;
}

/* Which rows wrote over an input and which were views. */
static void note_memory(const plim_graph *g, const plim__program *program) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead) continue;
        bool runs = plim__node_out(node, 0) >= 0 && /* what is empty has no steps */
                    plim__shape_elements(&g->values.items[node->outputs.items[0]].shape) == 0;
        for (size_t i = 0; i < program->steps.count; i++) {
            if (program->steps.items[i].node != (int32_t)n) continue;
            runs = true;
            if (program->steps.items[i].inplace_in >= 0) flags[row_of(node->op)] |= PLIM__OP_INPLACE;
        }
        if (!runs) flags[row_of(node->op)] |= PLIM__OP_VIEW;
        lowered[row_of(node->op)] = 1;
    }
}

static void observe(plim_graph *g, plim_value y, const char *what) {
    plim_error error = {0};
    static struct before nodes[64];
    plim_value targets[16], gradients[16];
    size_t count = 0;
    plim__program *program = NULL;
    plim_graph_output(g, y, "result");
    if (plim__infer_graph(g, plim__processor_fold, NULL, &error) != PLIM_OK) fail_msg("%s: %s", what, error.message);
    for (size_t v = 0; v < g->values.count && count < 16; v++) {
        plim__value_kind kind = g->values.items[v].kind;
        if ((kind == PLIM__VALUE_INPUT || kind == PLIM__VALUE_PARAMETER) && g->values.items[v].dtype == PLIM_F32)
            targets[count++] = (plim_value)v;
    }
    size_t noted = 0;
    if (g->values.items[y].dtype == PLIM_F32) {
        plim_value loss = add_loss(g, y);
        if (plim__infer_graph(g, NULL, NULL, &error) != PLIM_OK) fail_msg("%s: %s", what, error.message);
        noted = note_nodes(g, nodes);
        if (plim__gradients_build(g, loss, targets, count, gradients, &error) != PLIM_OK)
            fail_msg("%s: %s", what, error.message);
        for (size_t i = 0; i < count; i++)
            if (gradients[i] >= 0) plim_graph_output(g, gradients[i], NULL);
    }
    for (size_t i = 0; i < noted; i++)
        saved[row_of(nodes[i].op)] |= reads_of(g, &nodes[i]), built[row_of(nodes[i].op)] = 1;
    size_t fewer = 0;
    if (plim__gradients_encode(g, false, &fewer, &error) != PLIM_OK) fail_msg("%s: %s", what, error.message);
    if (plim__graph_prune(g, &error) != PLIM_OK ||
        plim__program_create(g, plim__on_processor(1), NULL, &program, &error) != PLIM_OK)
        fail_msg("%s: %s", what, error.message);
    note_memory(g, program);
    plim__program_free(program);
    plim_graph_free(g);
}

static plim_value node_of(plim_graph *g, const char *op, const plim_value *inputs, size_t count) {
    return plim_graph_node_output(g, plim__graph_node(g, op, NULL, inputs, count, 1), 0);
}

/* Operators without a gradient that write over an input. */
static void observe_whole_numbers(void) {
    static const struct {
        const char *op;
        plim_dtype dtype;
        size_t inputs;
    } others[] = {{"Not", PLIM_BOOL, 1},      {"And", PLIM_BOOL, 2},       {"Or", PLIM_BOOL, 2},
                  {"Xor", PLIM_BOOL, 2},      {"BitwiseNot", PLIM_I32, 1}, {"BitwiseAnd", PLIM_I32, 2},
                  {"BitwiseOr", PLIM_I32, 2}, {"BitwiseXor", PLIM_I32, 2}, {"BitShift", PLIM_U8, 2}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        plim_graph *g = plim_graph_create();
        assert_true(plim__graph_set_opset(g, "", 20));
        plim_value in[2];
        for (size_t k = 0; k < others[i].inputs; k++)
            in[k] = plim_graph_input(g, k ? "b" : "a", others[i].dtype, DIMS(4, 6));
        int32_t n = plim_graph_node(g, others[i].op, NULL, in, others[i].inputs, 1);
        plim_graph_set_string(g, n, "direction", "LEFT");
        observe(g, plim_graph_node_output(g, n, 0), others[i].op);
    }
}

/* What moves nothing: one input of many, a cast to the same type, no repeats, no padding, one row picked by a constant. */
static void observe_views(void) {
    static const char *const ops[] = {"Sum", "Mean", "Max", "Min", "Cast", "CastLike", "Tile", "Pad", "Gather"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        plim_graph *g = plim_graph_create();
        plim_value in[2] = {real_input(g, "x", DIMS(4, 6)), PLIM_NO_VALUE};
        if (strcmp(ops[i], "CastLike") == 0) in[1] = real_input(g, "like", DIMS(2));
        if (strcmp(ops[i], "Tile") == 0) in[1] = list(g, 2, (int64_t[]){1, 1});
        if (strcmp(ops[i], "Pad") == 0) in[1] = list(g, 4, (int64_t[4]){0});
        if (strcmp(ops[i], "Gather") == 0) in[1] = ints(g, 0, NULL, (int64_t[]){2});
        int32_t n = plim__graph_node(g, ops[i], NULL, in, in[1] < 0 ? 1 : 2, 1);
        plim_graph_set_int(g, n, "to", 1);
        observe(g, plim_graph_node_output(g, n, 0), ops[i]);
    }
}

/* Forms of operators that the cases of gradients do not have. */
static void observe_forms(void) {
    plim_graph *g = plim_graph_create();
    plim_value pair[] = {real_input(g, "a", DIMS(4, 6)), real_input(g, "b", DIMS(4, 6))};
    observe(g, node_of(g, "Sum", pair, 2), "Sum of two");

    g = plim_graph_create(); /* two gathers from one table: the second gradient is added to the first */
    plim_value table = real_input(g, "table", DIMS(5, 3)), at = list(g, 4, (int64_t[]){0, 2, 2, 4});
    plim_value picked[] = {node_of(g, "Gather", (plim_value[]){table, at}, 2),
                           node_of(g, "Gather", (plim_value[]){table, at}, 2)};
    observe(g, node_of(g, "Mul", picked, 2), "Gather twice");

    g = plim_graph_create(); /* a batch norm in training that takes the ReLU along */
    plim_value norm[] = {real_input(g, "x", DIMS(4, 3, 2, 2)), real_input(g, "s", DIMS(3)), real_input(g, "o", DIMS(3)),
                         plim_graph_constant(g, NULL, PLIM_F32, DIMS(3), (float[3]){0}),
                         plim_graph_constant(g, NULL, PLIM_F32, DIMS(3), (float[]){1, 1, 1})};
    int32_t n = plim_graph_node(g, "BatchNormalization", NULL, norm, 5, 1);
    plim_graph_set_int(g, n, "training_mode", 1);
    plim_value y = plim_graph_node_output(g, n, 0);
    observe(g, node_of(g, "Relu", &y, 1), "BatchNormalization with Relu");

    g = plim_graph_create();
    plim_value train[] = {real_input(g, "x", DIMS(4, 3, 2, 2)), real_input(g, "s", DIMS(3)),
                          real_input(g, "o", DIMS(3))};
    n = plim__graph_node(g, "plimsoll::BatchNormTrain", NULL, train, 3, 3);
    plim_graph_set_float(g, n, "low", 0);
    plim_graph_set_float(g, n, "high", 6);
    observe(g, plim_graph_node_output(g, n, 0), "BatchNormTrain with Clip");

    g = plim_graph_create();
    plim_value loss[] = {real_input(g, "x", DIMS(8, 5)), real_input(g, "w", DIMS(5, 4)),
                         list(g, 8, (int64_t[]){0, 1, 2, 3, 3, 2, 1, 0}), real_input(g, "b", DIMS(4)),
                         plim_graph_constant(g, NULL, PLIM_F32, DIMS(4), (float[]){1, 2, 3, 4})};
    observe(g, plim_graph_node_output(g, plim__graph_node(g, "plimsoll::LinearCrossEntropy", NULL, loss, 5, 3), 0),
            "LinearCrossEntropy with class weights");

    g = plim_graph_create();
    plim_value x = real_input(g, "x", DIMS(4, 6));
    n = plim__graph_node(g, "plimsoll::DropoutTrain", NULL, &x, 1, 1);
    plim_graph_set_float(g, n, "ratio", 0.5f);
    observe(g, plim_graph_node_output(g, n, 0), "DropoutTrain");

    g = plim_graph_create(); /* a matrix of 3 x 6 in 16 bits */
    plim_value packed[] = {real_input(g, "x", DIMS(4, 6)),
                           plim_graph_constant(g, NULL, PLIM_U8, DIMS(36), (uint8_t[36]){0})};
    n = plim__graph_node(g, "plimsoll::PackedMatMul", NULL, packed, 2, 1);
    plim_graph_set_int(g, n, "rows", 3);
    plim_graph_set_int(g, n, "columns", 6);
    plim_graph_set_int(g, n, "transB", 1);
    plim_graph_set_string(g, n, "packing", "bf16");
    observe(g, plim_graph_node_output(g, n, 0), "PackedMatMul");

    static const char *const drawn[] = {"RandomUniformLike", "RandomNormalLike", "Bernoulli"};
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        g = plim_graph_create();
        x = real_input(g, "x", DIMS(4, 6));
        plim_value both[] = {x, node_of(g, drawn[i], &x, 1)};
        observe(g, node_of(g, "Mul", both, 2), drawn[i]);
    }
}

/* Bits are saved where the backward pass reads no more of a tensor. */
static void observe_bits(void) {
    static const char *const ops[] = {"HardSigmoid", "Relu", "LeakyRelu", "ThresholdedRelu", "Shrink", "Clip"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        plim_graph *g = plim_graph_create();
        plim_value pair[] = {real_input(g, "a", DIMS(16, 32)), real_input(g, "b", DIMS(16, 32))};
        plim_value x = node_of(g, "Add", pair, 2);
        pair[0] = node_of(g, ops[i], &x, 1);
        observe(g, node_of(g, "Add", pair, 2), ops[i]);
    }
}

/* Only passes for inference make these; no gradients. */
static void observe_inference(void) {
    static const char *const ops[] = {"plimsoll::FusedConv", "plimsoll::FusedBatchNorm", "LayerNormalization"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        plim_graph *g = plim_graph_create();
        plim_error error = {0};
        plim__program *program = NULL;
        plim_value x = real_input(g, "x", DIMS(2, 8, 6, 6)), c = real_input(g, "c", DIMS(8)),
                   w = real_input(g, "w", DIMS(8, 8, 1, 1)), last = real_input(g, "last", DIMS(6));
        plim_value y = i == 0   ? node_of(g, ops[i], (plim_value[]){x, w, c, node_of(g, "Relu", &x, 1)}, 4)
                       : i == 1 ? node_of(g, ops[i], (plim_value[]){x, c, c, c, c}, 5)
                                : node_of(g, ops[i], (plim_value[]){x, last, last}, 3);
        plim_graph_output(g, y, NULL);
        if (plim__infer_graph(g, NULL, NULL, &error) != PLIM_OK ||
            plim__program_create(g, plim__on_processor(1), NULL, &program, &error) != PLIM_OK)
            fail_msg("%s: %s", ops[i], error.message);
        note_memory(g, program);
        plim__program_free(program);
        plim_graph_free(g);
    }
}

static void observe_all(void) {
    static bool done;
    if (done) return;
    done = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char ops[512], *rest = ops;
        snprintf(ops, sizeof ops, "%s", cases[i].ops);
        for (const char *op; (op = strtok_r(rest, " ", &rest));)
            for (int variant = 0; variant < cases[i].variants; variant++)
                for (int kind = 0; kind < KINDS; kind++) {
                    plim_graph *g = plim_graph_create();
                    int opset = case_opset(op);
                    if (opset) assert_true(plim__graph_set_opset(g, "", opset));
                    plim_value y = cases[i].build(g, op, (enum kind)kind, variant);
                    if (y < 0)
                        plim_graph_free(g);
                    else
                        observe(g, y, op);
                }
    }
    observe_whole_numbers();
    observe_views();
    observe_forms();
    observe_bits();
    observe_inference();
}

/* Of all rows of this operator: opsets differ in what is an input and what an attribute. */
static unsigned union_of(const unsigned *seen, const plim__op *op) {
    unsigned all = 0;
    for (size_t k = 0; k < plim__op_count; k++)
        if (strcmp(plim__ops[k].name, op->name) == 0 && strcmp(plim__ops[k].domain, op->domain) == 0) all |= seen[k];
    return all;
}

static void gradients_read_what_their_rows_list(void **state) {
    (void)state;
    observe_all();
    for (size_t k = 0; k < plim__op_count; k++) {
        const plim__op *op = &plim__ops[k];
        if (!plim__op_has_gradient(op)) continue;
        unsigned reads = union_of(saved, op), ins = PLIM__SAVED_INS;
        if (op->max_in < 15) reads &= ~ins | (PLIM__SAVED_IN(op->max_in) - 1);
        if ((op->saved & ins) == ins && reads & ins) reads |= ins;
        if (!union_of(built, op)) fail_msg("%s has a gradient that no case builds", op->name);
        if (reads != op->saved)
            fail_msg("%s (%d to %d): gradients read %x, the row lists %x", op->name, op->since, op->until, reads,
                     op->saved);
    }
}

static void rows_allow_what_lowering_does(void **state) {
    (void)state;
    observe_all();
    for (size_t k = 0; k < plim__op_count; k++) {
        const plim__op *op = &plim__ops[k];
        unsigned allowed = op->flags & (PLIM__OP_INPLACE | PLIM__OP_VIEW), does = union_of(flags, op);
        if (op->flags & PLIM__OP_WRITES) continue; /* optimizers: made with their state only, in training */
        if (allowed && !union_of(lowered, op)) fail_msg("%s allows what no case shows", op->name);
        if (union_of(lowered, op) && does != allowed)
            fail_msg("%s (%d to %d): does %x, the row allows %x", op->name, op->since, op->until, does, allowed);
    }
}

static void a_row_lists_what_its_gradient_reads_exactly_if_it_has_one(void **state) {
    (void)state;
    for (size_t k = 0; k < plim__op_count; k++)
        if (plim__op_has_gradient(&plim__ops[k]) != (plim__gradient_of_op(&plim__ops[k]) != NULL))
            fail_msg("%s: a gradient without a list, or a list without a gradient", plim__ops[k].name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_required_input_that_is_left_out_is_refused_and_named),
        cmocka_unit_test(a_required_output_that_is_left_out_is_refused_and_named),
        cmocka_unit_test(optional_inputs_may_be_left_out_anywhere),
        cmocka_unit_test(a_row_lists_what_its_gradient_reads_exactly_if_it_has_one),
        cmocka_unit_test(gradients_read_what_their_rows_list),
        cmocka_unit_test(rows_allow_what_lowering_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
