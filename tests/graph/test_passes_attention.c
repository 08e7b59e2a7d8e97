/* fuse-attention: softmax(q·k)·v as exporters write it, with every kind of mask. The answers stay the same, the
 * pass fires, `causal` is only what really is, and near misses are left alone. */
#include "graph/pass_case.h"

#define HEADS 2
#define WIDTH 8

enum mask_kind {
    NO_MASK,
    ADDED_INPUT,
    ADDED_TRIANGLE,
    WHERE_TRIANGLE,
    WHERE_INVERTED,
    ADDED_CONSTANT,
    ADDED_ZERO_ROW,
    WHERE_ROW,
    ADDED_ONE_HEAD
};

struct attention_case {
    int64_t queries, keys;
    enum mask_kind mask;
    float multiply, divide; /* 0: not */
    int64_t axis;           /* of softmax */
    bool seen;              /* the probabilities are an output too */
};

/* (rows, keys): 0 where the key is visible, -1e9 (or, as bools, false) elsewhere; the last query sees every key. */
static plim_value triangle(plim_graph *g, int64_t rows, int64_t keys, bool boolean, bool inverted) {
    float added[256];
    uint8_t shown[256];
    assert_true(rows * keys <= 256);
    for (int64_t i = 0; i < rows * keys; i++) {
        bool visible = i % keys <= i / keys + keys - rows;
        added[i] = visible ? 0 : -1e9f;
        shown[i] = visible != inverted;
    }
    return plim_graph_constant(g, NULL, boolean ? PLIM_BOOL : PLIM_F32, 4, DIMS(1, 1, rows, keys),
                               boolean ? (const void *)shown : (const void *)added);
}

static plim_value row(plim_graph *g, int64_t keys, bool boolean) { /* one row for every query: all keys visible */
    float zeros[64] = {0};
    uint8_t ones[64];
    memset(ones, 1, sizeof ones);
    return plim_graph_constant(g, NULL, boolean ? PLIM_BOOL : PLIM_F32, 4, DIMS(1, 1, 1, keys),
                               boolean ? (const void *)ones : (const void *)zeros);
}

static plim_value mask_scores(plim_graph *g, plim_value scores, const struct attention_case *c) {
    int64_t rows = c->queries, keys = c->keys;
    float constant[256];
    switch (c->mask) {
    case NO_MASK: return scores;
    case ADDED_INPUT: return two(g, "Add", scores, input_of(g, "mask", 4, DIMS(2, 1, rows, keys)));
    case ADDED_TRIANGLE: return two(g, "Add", scores, triangle(g, rows, keys, false, false));
    case WHERE_TRIANGLE: return three(g, "Where", triangle(g, rows, keys, true, false), scores, scalar_of(g, -1e9f));
    case WHERE_INVERTED: return three(g, "Where", triangle(g, rows, keys, true, true), scalar_of(g, -1e9f), scores);
    case ADDED_CONSTANT:
        fill_random(constant, (size_t)(rows * keys), 5);
        return two(g, "Add", scores, plim_graph_constant(g, NULL, PLIM_F32, 2, DIMS(rows, keys), constant));
    case ADDED_ZERO_ROW: return two(g, "Add", scores, row(g, keys, false));
    case WHERE_ROW: return three(g, "Where", row(g, keys, true), scores, scalar_of(g, -1e9f));
    case ADDED_ONE_HEAD: return two(g, "Add", scores, input_of(g, "mask", 4, DIMS(1, HEADS, rows, keys)));
    }
    return scores;
}

static void build_attention(plim_graph *g, const struct attention_case *c) {
    plim_value q = input_of(g, "q", 4, DIMS(2, HEADS, c->queries, WIDTH)),
               k = input_of(g, "k", 4, DIMS(2, HEADS, c->keys, WIDTH));
    plim_value v = input_of(g, "v", 4, DIMS(2, HEADS, c->keys, WIDTH));
    plim_value scores = two(g, "MatMul", q, transposed(g, k, DIMS(0, 1, 3, 2), 4));
    if (c->multiply != 0) scores = with_scalar(g, "Mul", scores, c->multiply);
    if (c->divide != 0) scores = with_scalar(g, "Div", scores, c->divide);
    plim_value shares = with_int(g, "Softmax", mask_scores(g, scores, c), "axis", c->axis ? c->axis : -1);
    plim_graph_output(g, two(g, "MatMul", shares, v), "y");
    if (c->seen) plim_graph_output(g, shares, "shares");
}

#define CASE(name, ...)                                                                                                \
    static void name(plim_graph *g) {                                                                                  \
        build_attention(g, &(struct attention_case){.queries = 7, .keys = 7, __VA_ARGS__});                            \
    }
CASE(build_plain, .mask = NO_MASK)
CASE(build_multiplied, .multiply = 0.35f)
CASE(build_divided, .divide = 2.83f)
CASE(build_masked, .mask = ADDED_INPUT, .divide = 2.83f)
CASE(build_masked_heads, .mask = ADDED_ONE_HEAD, .multiply = 0.35f)
CASE(build_causal_add, .mask = ADDED_TRIANGLE, .multiply = 0.35f)
CASE(build_causal_where, .mask = WHERE_TRIANGLE, .divide = 2.83f)
CASE(build_causal_inverted, .mask = WHERE_INVERTED, .divide = 2.83f)
CASE(build_constant, .mask = ADDED_CONSTANT)
CASE(build_zero_row, .mask = ADDED_ZERO_ROW)
CASE(build_where_row, .mask = WHERE_ROW)
CASE(build_other_axis, .axis = 2)
CASE(build_seen, .seen = true)
#undef CASE

/* Three new queries after four cached keys, as a decoder asks. */
static void build_cached(plim_graph *g) {
    build_attention(g, &(struct attention_case){.queries = 3, .keys = 7, .mask = ADDED_TRIANGLE, .multiply = 0.35f});
}
static void build_cross(plim_graph *g) {
    build_attention(g, &(struct attention_case){.queries = 3, .keys = 11, .multiply = 0.35f});
}
static void build_single_query(plim_graph *g) {
    build_attention(g, &(struct attention_case){.queries = 1, .keys = 11, .mask = ADDED_TRIANGLE, .multiply = 0.35f});
}

static void is_causal(const plim_graph *g) {
    assert_int_equal(plim__node_int(find_op(g, "Attention"), "causal", 0), 1);
    assert_int_equal(count_op(g, "Where") + count_op(g, "Add"), 0);
}
static void is_not_causal(const plim_graph *g) {
    assert_int_equal(plim__node_int(find_op(g, "Attention"), "causal", 0), 0);
}
static void has_mask(const plim_graph *g) {
    is_not_causal(g);
    assert_true(plim__node_in(find_op(g, "Attention"), 3) >= 0);
}
static void has_no_softmax(const plim_graph *g) {
    is_not_causal(g);
    assert_int_equal(count_op(g, "Softmax"), 0);
}

static void plain_attention_is_one_operator(void **state) {
    (void)state;
    check_pass(build_plain, "fuse-attention", "Attention", 1, has_no_softmax);
    check_pass(build_multiplied, "fuse-attention", "Attention", 1, has_no_softmax);
    check_pass(build_divided, "fuse-attention", "Attention", 1, has_no_softmax);
    check_pass(build_cross, "fuse-attention", "Attention", 1, has_no_softmax);
}

static void an_added_mask_stays_a_mask(void **state) {
    (void)state;
    check_pass(build_masked, "fuse-attention", "Attention", 1, has_mask);
    check_pass(build_masked_heads, "fuse-attention", "Attention", 1, has_mask);
    check_pass(build_constant, "fuse-attention", "Attention", 1, has_mask);
}

static void a_triangular_mask_becomes_causal(void **state) {
    (void)state;
    check_pass(build_causal_add, "fuse-attention", "Attention", 1, is_causal);
    check_pass(build_causal_where, "fuse-attention", "Attention", 1, is_causal);
    check_pass(build_causal_inverted, "fuse-attention", "Attention", 1, is_causal);
    check_pass(build_cached, "fuse-attention", "Attention", 1, is_causal);
    check_pass(build_single_query, "fuse-attention", "Attention", 1, NULL);
}

/* One row of a mask is broadcast over the queries; it hides nothing, and is no triangle. */
static void a_row_of_a_mask_is_not_causal(void **state) {
    (void)state;
    check_pass(build_zero_row, "fuse-attention", "Attention", 1, is_not_causal);
    check_pass(build_where_row, "fuse-attention", "Attention", 1, has_mask);
}

static void what_is_almost_attention_is_left_alone(void **state) {
    (void)state;
    check_pass(build_other_axis, "fuse-attention", "Attention", 0, NULL);
    check_pass(build_seen, "fuse-attention", "Attention", 0, NULL);
}

/* A scalar with more axes than what it scales makes the result larger: the pattern must allow for that. */
static void build_scale_of_higher_rank(plim_graph *g) {
    plim_value q = input_of(g, "q", 3, DIMS(2, 7, WIDTH)), k = input_of(g, "k", 3, DIMS(2, WIDTH, 7)),
               v = input_of(g, "v", 4, DIMS(1, 2, 7, WIDTH));
    float half = 0.5f;
    plim_value scores =
        two(g, "Mul", two(g, "MatMul", q, k), plim_graph_constant(g, NULL, PLIM_F32, 4, DIMS(1, 1, 1, 1), &half));
    plim_graph_output(g, two(g, "MatMul", with_int(g, "Softmax", scores, "axis", -1), v), "y");
}
/* A mask that gives the scores a larger batch. */
static void build_mask_that_broadcasts_the_scores(plim_graph *g) {
    plim_value q = input_of(g, "q", 4, DIMS(1, HEADS, 7, WIDTH)), k = input_of(g, "k", 4, DIMS(1, HEADS, WIDTH, 7)),
               v = input_of(g, "v", 4, DIMS(1, HEADS, 7, WIDTH));
    plim_value scores = two(g, "Add", two(g, "MatMul", q, k), input_of(g, "mask", 4, DIMS(3, 1, 7, 7)));
    plim_graph_output(g, two(g, "MatMul", with_int(g, "Softmax", scores, "axis", -1), v), "y");
}
/* A Where whose condition gives the scores a larger batch. */
static void build_where_that_broadcasts_the_scores(plim_graph *g) {
    plim_value q = input_of(g, "q", 4, DIMS(1, HEADS, 7, WIDTH)), k = input_of(g, "k", 4, DIMS(1, HEADS, WIDTH, 7)),
               v = input_of(g, "v", 4, DIMS(1, HEADS, 7, WIDTH));
    uint8_t shown[3 * 49];
    for (int i = 0; i < 3 * 49; i++) shown[i] = i % 7 <= i % 49 / 7;
    plim_value condition = plim_graph_constant(g, NULL, PLIM_BOOL, 4, DIMS(3, 1, 7, 7), shown);
    plim_value scores = three(g, "Where", condition, two(g, "MatMul", q, k), scalar_of(g, -1e9f));
    plim_graph_output(g, two(g, "MatMul", with_int(g, "Softmax", scores, "axis", -1), v), "y");
}

static void broadcasts_of_the_scores_are_not_lost(void **state) {
    (void)state;
    check_pass(build_scale_of_higher_rank, "fuse-attention", "Attention", 0, NULL);
    check_pass(build_mask_that_broadcasts_the_scores, "fuse-attention", "Attention", 0, NULL);
    check_pass(build_where_that_broadcasts_the_scores, "fuse-attention", "Attention", 0, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_attention_is_one_operator),
        cmocka_unit_test(an_added_mask_stays_a_mask),
        cmocka_unit_test(a_triangular_mask_becomes_causal),
        cmocka_unit_test(a_row_of_a_mask_is_not_causal),
        cmocka_unit_test(what_is_almost_attention_is_left_alone),
        cmocka_unit_test(broadcasts_of_the_scores_are_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
