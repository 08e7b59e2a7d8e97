/* Random models out of operators that may mix samples: the batch is split with the same result, or it is not split. */
#include "run/split_run.h"

enum { GRAPHS = 500, MOST_DEPTH = 6 };

/* A model while it grows: a value of three axes, whose meaning moves with transpositions. */
struct growth {
    plim_graph *g;
    uint64_t state;
    plim_value x;
    int axes[3]; /* which of samples (0), steps (1) and width (2) each axis is */
    char recipe[200];
};

static uint64_t draw(struct growth *w, uint64_t below) {
    w->state = plim__random_mix(w->state);
    return w->state % below;
}

static uint64_t seed(struct growth *w) { return draw(w, UINT64_MAX); }

static void note(struct growth *w, const char *what, int number) {
    size_t used = strlen(w->recipe);
    snprintf(w->recipe + used, sizeof w->recipe - used, " %s%d", what, number);
}

static int64_t size_of(const struct growth *w, int axis) {
    static const int64_t sizes[] = {-1, STEPS, WIDTH};
    return sizes[w->axes[axis]];
}

static int axis_of(const struct growth *w, int meaning) {
    for (int i = 0; i < 3; i++)
        if (w->axes[i] == meaning) return i;
    return -1;
}

/* Any axis; that of the samples less often than others, so that many models can be split. */
static int some_axis(struct growth *w) {
    int axis = (int)draw(w, 3);
    if (w->axes[axis] == 0 && draw(w, 3) != 0) axis = axis_of(w, 1 + (int)draw(w, 2));
    return axis;
}

static void tame(struct growth *w) { w->x = split_one(w->g, "Tanh", w->x); }

/* --- steps ---------------------------------------------------------------------------------------------------- */

static void linear(struct growth *w) {
    if (w->axes[2] == 0) return;
    int64_t size = size_of(w, 2);
    w->x = split_two(w->g, "MatMul", w->x, split_matrix(w->g, size, size, seed(w)));
    if (draw(w, 2)) w->x = split_two(w->g, "Add", w->x, split_weight(w->g, 1, &size, seed(w), 0.3));
    tame(w);
}

static void activate(struct growth *w) {
    static const char *const ops[] = {"Tanh", "Sigmoid", "Elu", "Softplus", "Erf"};
    w->x = split_one(w->g, ops[draw(w, 5)], w->x);
}

static void normalize(struct growth *w) {
    static const char *const ops[] = {"Softmax", "LogSoftmax", "LpNormalization"};
    int axis = some_axis(w);
    note(w, "axis", w->axes[axis]);
    w->x = split_with_int(w->g, ops[draw(w, 3)], w->x, "axis", axis);
    tame(w);
}

static void subtract_statistic(struct growth *w) {
    static const char *const ops[] = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceLogSumExp", "ReduceL2"};
    static const char *const how[] = {"Sub", "Mul", "Div"};
    int axis = some_axis(w);
    note(w, "axis", w->axes[axis]);
    plim_value statistic = split_reduce(w->g, ops[draw(w, 5)], w->x, axis);
    if (draw(w, 2)) statistic = split_one(w->g, "Exp", split_one(w->g, "Tanh", statistic));
    w->x = split_two(w->g, how[draw(w, 2)], w->x, statistic);
    tame(w);
}

static void running_sum(struct growth *w) {
    int64_t axis = some_axis(w);
    note(w, "axis", w->axes[axis]);
    w->x = split_two(w->g, "CumSum", w->x, plim_graph_constant(w->g, NULL, PLIM_I64, 0, NULL, &axis));
    tame(w);
}

static void transpose(struct growth *w) {
    static const int64_t orders[][3] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int64_t *order = orders[draw(w, 5)];
    int before[3];
    memcpy(before, w->axes, sizeof before);
    for (int i = 0; i < 3; i++) w->axes[i] = before[order[i]];
    w->x = split_with_ints(w->g, "Transpose", w->x, "perm", order, 3);
}

/* Two axes become one, something happens to the rows, and they come apart: as before, or (rarely) otherwise. */
static void merge(struct growth *w) {
    bool first = draw(w, 2) != 0, wrong = draw(w, 6) == 0;
    int64_t merged[2] = {first ? -1 : size_of(w, 0), first ? size_of(w, 2) : -1}, apart[3];
    for (int i = 0; i < 3; i++) apart[i] = size_of(w, i);
    if (merged[first ? 1 : 0] == -1) return; /* only one size may be left open */
    w->x = split_reshape(w->g, w->x, 2, merged);
    if (draw(w, 2)) {
        int64_t axis = (int64_t)draw(w, 4) == 0;
        if (first) axis = !axis;
        note(w, "row", (int)axis);
        w->x = split_with_int(w->g, "Softmax", w->x, "axis", axis);
    }
    if (first && draw(w, 2)) w->x = split_two(w->g, "MatMul", w->x, split_matrix(w->g, merged[1], merged[1], seed(w)));
    int a = first ? 0 : 1, b = first ? 1 : 2;
    if (wrong && (w->axes[a] == 0 || w->axes[b] == 0)) {
        int64_t size = apart[a];
        int meaning = w->axes[a];
        apart[a] = apart[b], w->axes[a] = w->axes[b];
        apart[b] = size, w->axes[b] = meaning;
        note(w, "wrong", a);
    }
    w->x = split_reshape(w->g, w->x, 3, apart);
    tame(w);
}

static plim_value concat(struct growth *w, plim_value a, plim_value b, int axis) {
    int32_t n = plim_graph_node(w->g, "Concat", NULL, (const plim_value[]){a, b}, 2, 1);
    plim_graph_set_int(w->g, n, "axis", axis);
    return plim_graph_node_output(w->g, n, 0);
}

static plim_value slice(struct growth *w, plim_value x, int axis, int64_t from, int64_t to, int64_t step) {
    int64_t at = axis;
    plim_value inputs[] = {x, split_ints(w->g, 1, &from), split_ints(w->g, 1, &to), split_ints(w->g, 1, &at),
                           split_ints(w->g, 1, &step)};
    return plim_graph_apply(w->g, "Slice", inputs, 5);
}

static void twice(struct growth *w) {
    int axis = (int)draw(w, 3);
    plim_value both = split_one(w->g, "Sin", concat(w, w->x, split_one(w->g, "Neg", w->x), axis));
    int32_t n = plim_graph_node(w->g, "Split", NULL, &both, 1, 2);
    plim_graph_set_int(w->g, n, "axis", axis);
    note(w, "axis", w->axes[axis]);
    w->x = split_two(w->g, "Sub", plim_graph_node_output(w->g, n, 0), plim_graph_node_output(w->g, n, 1));
}

static void reverse(struct growth *w) {
    int axis = some_axis(w);
    note(w, "axis", w->axes[axis]);
    w->x = split_two(w->g, "Mul", w->x, slice(w, w->x, axis, -1, INT64_MIN + 1, -1));
}

static void roll(struct growth *w) {
    int axis = some_axis(w);
    note(w, "axis", w->axes[axis]);
    plim_value rolled = concat(w, slice(w, w->x, axis, 1, INT64_MAX, 1), slice(w, w->x, axis, 0, 1, 1), axis);
    w->x = split_two(w->g, "Add", w->x, rolled);
}

/* Along the second axis, each of the first for itself. */
static void attend(struct growth *w) {
    plim_value turned = split_with_ints(w->g, "Transpose", w->x, "perm", (const int64_t[]){0, 2, 1}, 3);
    plim_value weights = split_with_int(w->g, "Softmax", split_two(w->g, "MatMul", w->x, turned), "axis", -1);
    w->x = split_two(w->g, "MatMul", weights, w->x);
}

static void contract(struct growth *w) {
    static const char *const equations[][2] = {
        {"abc,abd->acd", "acd,abc->abd"}, {"abc,dbc->ad", "ad,dbc->abc"}, {"abc,adc->abd", "abd,adc->abc"}};
    uint64_t which = draw(w, 5) % 3; /* the second one mixes along the first axis */
    plim_value each = w->x;
    for (int i = 0; i < 2; i++) {
        int32_t n = plim_graph_node(w->g, "Einsum", NULL, (const plim_value[]){each, w->x}, 2, 1);
        plim_graph_set_string(w->g, n, "equation", equations[which][i]);
        each = split_one(w->g, "Tanh", plim_graph_node_output(w->g, n, 0));
    }
    if (which == 0) return; /* another shape where the last two axes differ; only its rule is of interest */
    w->x = each;
}

static void gather(struct growth *w) {
    int meaning = 1 + (int)draw(w, 2), axis = axis_of(w, meaning);
    int64_t count = meaning == 1 ? STEPS : WIDTH, indices[WIDTH];
    for (int64_t i = 0; i < count; i++) indices[i] = (int64_t)draw(w, (uint64_t)count);
    int32_t n =
        plim_graph_node(w->g, "Gather", NULL, (const plim_value[]){w->x, split_ints(w->g, count, indices)}, 2, 1);
    plim_graph_set_int(w->g, n, "axis", axis);
    w->x = plim_graph_node_output(w->g, n, 0);
}

static void recur(struct growth *w) { /* over the first axis; the second are its samples */
    if (w->axes[2] == 0) return;
    int64_t size = size_of(w, 2), dims[] = {1, size, size};
    plim_value inputs[] = {w->x, split_weight(w->g, 3, dims, seed(w), 0.4), split_weight(w->g, 3, dims, seed(w), 0.4)};
    int32_t n = plim_graph_node(w->g, "RNN", NULL, inputs, 3, 1);
    plim_graph_set_int(w->g, n, "hidden_size", size);
    w->x = split_two(w->g, "Squeeze", plim_graph_node_output(w->g, n, 0), split_ints(w->g, 1, &(int64_t){1}));
}

static void drop(struct growth *w) { w->x = split_one(w->g, "Dropout", w->x); }

/* A number that follows from the size of an axis. */
static void scale_by_size(struct growth *w) {
    int64_t axis = some_axis(w);
    note(w, "axis", w->axes[axis]);
    plim_value size = split_two(w->g, "Gather", split_one(w->g, "Shape", w->x), split_ints(w->g, 1, &axis));
    w->x = split_two(w->g, "Div", w->x, split_with_int(w->g, "Cast", size, "to", 1));
    if (draw(w, 2)) w->x = split_two(w->g, "Mul", w->x, split_number(w->g, 4));
}

static void pick(struct growth *w) { /* the larger half along an axis, twice */
    int axis = axis_of(w, 1 + (int)draw(w, 2));
    int64_t count = size_of(w, axis) / 2;
    int32_t n = plim_graph_node(w->g, "TopK", NULL, (const plim_value[]){w->x, split_ints(w->g, 1, &count)}, 2, 2);
    plim_graph_set_int(w->g, n, "axis", axis);
    plim_value values = plim_graph_node_output(w->g, n, 0);
    w->x = concat(w, values, split_one(w->g, "Neg", values), axis);
}

static const struct {
    const char *name;
    void (*apply)(struct growth *w);
} steps[] = {
    {"linear", linear},   {"activate", activate},   {"normalize", normalize}, {"statistic", subtract_statistic},
    {"sum", running_sum}, {"transpose", transpose}, {"merge", merge},         {"twice", twice},
    {"reverse", reverse}, {"roll", roll},           {"attend", attend},       {"contract", contract},
    {"gather", gather},   {"recur", recur},         {"drop", drop},           {"scale", scale_by_size},
    {"pick", pick},       {"linear", linear},       {"transpose", transpose}};
enum { STEP_KINDS = sizeof steps / sizeof *steps };

/* --- losses --------------------------------------------------------------------------------------------------- */

static void add_loss(struct growth *w) {
    plim_graph *g = w->g;
    plim_value square = split_two(g, "Mul", w->x, w->x), loss;
    uint64_t kind = draw(w, 7);
    note(w, "loss", (int)kind);
    switch (kind) {
    case 0: loss = split_two(g, "Mul", split_reduce(g, "ReduceSum", square, -1), split_number(g, 0.02f)); break;
    case 1: loss = split_one(g, "Sqrt", split_reduce(g, "ReduceMean", square, -1)); break;
    case 2: { /* over samples first */
        plim_value each = split_reduce(g, "ReduceMean", square, axis_of(w, 0));
        loss = split_reduce(g, "ReduceSum", each, -1);
        break;
    }
    case 3: { /* targets that count */
        int64_t order[] = {axis_of(w, 0), axis_of(w, 2), axis_of(w, 1)};
        plim_value scores = split_with_ints(g, "Transpose", w->x, "perm", order, 3);
        int32_t n =
            plim_graph_node(g, "SoftmaxCrossEntropyLoss", NULL, (const plim_value[]){scores, split_labels(g)}, 2, 1);
        plim_graph_set_int(g, n, "ignore_index", -1);
        plim_graph_set_string(g, n, "reduction", draw(w, 3) ? "mean" : "sum");
        loss = split_two(g, "Mul", plim_graph_node_output(g, n, 0), split_number(g, 0.3f));
        break;
    }
    case 4: { /* the worst sample */
        loss = split_reduce(g, "ReduceMax", split_reduce(g, "ReduceMean", square, axis_of(w, 1)), -1);
        break;
    }
    default: loss = split_reduce(g, "ReduceMean", square, -1); break;
    }
    plim_graph_output(g, loss, "loss");
}

static plim_graph *grow(uint64_t number, char *recipe) {
    struct growth w = {.g = plim_graph_create(), .state = plim__random_mix(number), .axes = {0, 1, 2}};
    w.x = split_two(w.g, "MatMul", split_input(w.g), split_matrix(w.g, WIDTH, WIDTH, seed(&w)));
    int depth = 1 + (int)draw(&w, MOST_DEPTH);
    for (int i = 0; i < depth; i++) {
        uint64_t kind = draw(&w, STEP_KINDS);
        note(&w, steps[kind].name, i);
        steps[kind].apply(&w);
    }
    add_loss(&w);
    strcpy(recipe, w.recipe);
    plim_error error = {0};
    if (plim_graph_status(w.g, &error) != PLIM_OK) fail_msg("%s: %s", recipe, error.message);
    return w.g;
}

/* --- the comparison ------------------------------------------------------------------------------------------- */

enum outcome { SPLIT, REFUSED, UNBUILT, WRONG };

static enum outcome compare(uint64_t number) {
    static const int64_t sizes[] = {4, 6, 8, 12}, cuts[] = {2, 3, 4};
    char recipe[200];
    plim_graph *g = grow(number, recipe);
    int64_t samples = sizes[number % 4], pieces = number % 5 == 0 ? samples : cuts[number % 3];
    struct split_run whole, parts;
    enum outcome outcome = UNBUILT;
    if (split_train(g, samples, 1, PLIM_LOSS_MODEL, &whole) == PLIM_OK) {
        float *before = split_begin(g, samples, PLIM_LOSS_MODEL, whole.count);
        if (split_train(g, samples, pieces, PLIM_LOSS_MODEL, &parts) == PLIM_OK) {
            double distance = split_distance(&whole, &parts, before);
            outcome = parts.class_ == PLIM_LOSSY ? REFUSED : distance < 1e-4 ? SPLIT : WRONG;
            if (outcome == WRONG)
                print_error("graph %d (%d samples, %d pieces) is %s and %g apart:%s\n", (int)number, (int)samples,
                            (int)pieces, plim_class_name(parts.class_), distance, recipe);
            free(parts.weights);
        } else { /* it cannot be built, or a part of it has no targets at all */
            outcome = parts.class_ == PLIM_REORDERED ? WRONG : REFUSED;
            if (outcome == WRONG) print_error("graph %d: %s:%s\n", (int)number, parts.why, recipe);
        }
        free(before);
        free(whole.weights);
    } else if (!strstr(whole.why, "nothing to train")) {
        print_message("graph %d cannot be built: %s\n", (int)number, whole.why);
    }
    plim_graph_free(g);
    return outcome;
}

static void random_models_are_split_with_the_same_result_or_not_at_all(void **state) {
    (void)state;
    int counts[4] = {0};
    uint64_t number = 0;
    while (counts[SPLIT] + counts[REFUSED] + counts[WRONG] < GRAPHS) {
        counts[compare(number++)]++;
        assert_true(counts[UNBUILT] < GRAPHS / 4); /* the generator is at fault */
    }
    print_message("%d split, %d refused, %d wrong, %d that cannot be built\n", counts[SPLIT], counts[REFUSED],
                  counts[WRONG], counts[UNBUILT]);
    assert_int_equal(counts[WRONG], 0);
    assert_true(counts[SPLIT] > GRAPHS * 35 / 100);
    assert_true(counts[REFUSED] > GRAPHS * 15 / 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_models_are_split_with_the_same_result_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
