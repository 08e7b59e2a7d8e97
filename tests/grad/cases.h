/* One case or more for every operator with a gradient: how to build a graph of it, in each of four kinds of shapes. */
#ifndef PLIM_TEST_GRAD_CASES_H
#define PLIM_TEST_GRAD_CASES_H

#include "check.h"

enum kind { USUAL, WIDE, IRREGULAR, EMPTY, KINDS }; /* WIDE: inputs broadcast against each other */

/* Builds the operator on new inputs; PLIM_NO_VALUE where it has no such shape. `variant` counts from 0. */
typedef plim_value (*builder)(plim_graph *g, const char *op, enum kind kind, int variant);

struct gradient_case {
    const char *ops; /* names, separated by spaces */
    builder build;
    int variants;
    double low, high, epsilon, tolerance; /* zero: the defaults */
};

/* --- elementwise ---------------------------------------------------------------------------------------------- */

static plim_value plain(plim_graph *g, const char *name, enum kind kind) {
    switch (kind) {
    case USUAL: return real_input(g, name, DIMS(3, 5, 7));
    case IRREGULAR: return real_input(g, name, DIMS(17, 23, 31));
    case EMPTY: return real_input(g, name, DIMS(3, 0, 7));
    default: return PLIM_NO_VALUE;
    }
}

static plim_value one_input(plim_graph *g, const char *op, enum kind kind, int variant) {
    (void)variant;
    plim_value x = plain(g, "x", kind);
    return x < 0 ? x : plim__graph_apply(g, op, &x, 1);
}

/* Two shapes that broadcast, or do not. */
static void pair(plim_graph *g, enum kind kind, int variant, plim_value *a, plim_value *b) {
    if (kind == USUAL) *a = real_input(g, "a", DIMS(3, 5)), *b = real_input(g, "b", DIMS(3, 5));
    if (kind == WIDE && variant == 0) *a = real_input(g, "a", DIMS(4, 1, 5)), *b = real_input(g, "b", DIMS(3, 1));
    if (kind == WIDE && variant == 1) *a = real_input(g, "a", DIMS(5)), *b = real_input(g, "b", DIMS(4, 3, 5));
    if (kind == IRREGULAR) *a = real_input(g, "a", DIMS(17, 23, 31)), *b = real_input(g, "b", DIMS(17, 23, 31));
    if (kind == EMPTY) *a = real_input(g, "a", DIMS(0, 5)), *b = real_input(g, "b", DIMS(1, 5));
}

static plim_value two_inputs(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value in[2];
    pair(g, kind, variant, &in[0], &in[1]);
    int32_t n = plim__graph_node(g, op, NULL, in, 2, 1);
    if (strcmp(op, "Mod") == 0) plim_graph_set_int(g, n, "fmod", 1);
    return plim_graph_node_output(g, n, 0);
}

static plim_value three_inputs(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value in[3];
    pair(g, kind, variant, &in[0], &in[1]);
    in[2] = kind == WIDE ? real_input(g, "c", DIMS(3, 5)) : plim_graph_apply(g, "Cos", &in[0], 1);
    return plim__graph_apply(g, op, in, 3);
}

static plim_value slopes(plim_graph *g, const char *op, enum kind kind, int variant) { /* PRelu broadcasts one way */
    (void)variant;
    plim_value in[] = {kind == WIDE ? real_input(g, "x", DIMS(2, 5, 3)) : plain(g, "x", kind),
                       kind == WIDE        ? real_input(g, "s", DIMS(5, 1))
                       : kind == IRREGULAR ? real_input(g, "s", DIMS(17, 23, 31))
                       : kind == EMPTY     ? real_input(g, "s", DIMS(1, 1, 7))
                                           : real_input(g, "s", DIMS(3, 5, 7))};
    return plim__graph_apply(g, op, in, 2);
}

/* Bounds that are constants (variant 0) or computed. */
static plim_value clip(plim_graph *g, const char *op, enum kind kind, int variant) {
    float low = -0.5f, high = 0.25f;
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    plim_value in[] = {x, plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &low),
                       plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &high)};
    if (variant) {
        in[1] = plim_graph_parameter(g, "low", PLIM_F32, 0, NULL, &low);
        in[2] = plim_graph_parameter(g, "high", PLIM_F32, 0, NULL, &high);
    }
    return plim__graph_apply(g, op, in, variant == 2 ? 2 : 3);
}

static plim_value choice(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value a, b, zero;
    float number = 0;
    pair(g, kind, variant, &a, &b);
    zero = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &number);
    plim_value condition = plim_graph_apply(g, "Greater", (plim_value[]){a, zero}, 2);
    return plim__graph_apply(g, op, (plim_value[]){condition, a, b}, 3);
}

static plim_value casts(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = plain(g, "x", kind);
    double number = 1;
    if (x < 0) return x;
    bool like = strcmp(op, "CastLike") == 0;
    plim_value in[] = {x, plim_graph_constant(g, NULL, PLIM_F64, 0, NULL, &number)};
    int32_t wide = plim__graph_node(g, op, NULL, in, like ? 2 : 1, 1);
    if (!like) plim_graph_set_int(g, wide, "to", PLIM_F64);
    plim_value y = plim_graph_node_output(g, wide, 0);
    int32_t back = plim_graph_node(g, "Cast", NULL, &y, 1, 1);
    plim_graph_set_int(g, back, "to", PLIM_F32);
    (void)variant;
    return plim_graph_node_output(g, back, 0);
}

static plim_value gelu(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, 1);
    if (variant) plim_graph_set_string(g, n, "approximate", "tanh");
    return plim_graph_node_output(g, n, 0);
}

static plim_value sloped(plim_graph *g, const char *op, enum kind kind, int variant) { /* alpha above and below zero */
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, 1);
    plim_graph_set_float(g, n, "alpha", variant ? -0.3f : 0.7f);
    return plim_graph_node_output(g, n, 0);
}

/* --- reductions, lines ---------------------------------------------------------------------------------------- */

static plim_value reduction(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const int64_t axes[][2] = {{0, 2}, {1, 1}, {-1, -1}};
    plim_value x = plain(g, "x", kind);
    if (x < 0 || (kind == EMPTY && strcmp(op, "ReduceSum") != 0 && strcmp(op, "ReduceL1") != 0)) return PLIM_NO_VALUE;
    if (kind == IRREGULAR && variant == 0) return PLIM_NO_VALUE;
    plim_value in[] = {x, list(g, variant == 0 ? 2 : 1, axes[variant])};
    int32_t n = plim__graph_node(g, op, NULL, in, 2, 1);
    plim_graph_set_int(g, n, "keepdims", variant & 1);
    return plim_graph_node_output(g, n, 0);
}

static plim_value along_axis(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, 1);
    plim_graph_set_int(g, n, "axis", variant);
    return plim_graph_node_output(g, n, 0);
}

static plim_value norm_of_axis(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, 1);
    plim_graph_set_int(g, n, "axis", variant & 1);
    plim_graph_set_int(g, n, "p", 1 + variant / 2);
    return plim_graph_node_output(g, n, 0);
}

static plim_value cumulative(plim_graph *g, const char *op, enum kind kind, int variant) {
    int64_t axis = 1;
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, ints(g, 0, NULL, &axis)}, 2, 1);
    plim_graph_set_int(g, n, "exclusive", variant & 1);
    plim_graph_set_int(g, n, "reverse", variant >> 1);
    return plim_graph_node_output(g, n, 0);
}

/* --- movements ------------------------------------------------------------------------------------------------ */

static int64_t of_kind(enum kind kind, int64_t usual, int64_t irregular) {
    return kind == USUAL ? usual : kind == IRREGULAR ? irregular : 0;
}

/* With the list of integers that says how. */
static plim_value movement(plim_graph *g, const char *op, enum kind kind, int variant) {
    if (kind == WIDE) return PLIM_NO_VALUE;
    int64_t a = of_kind(kind, 4, 17), b = of_kind(kind, 6, 23) + (kind == EMPTY ? 6 : 0),
            c = kind == IRREGULAR ? 31 : 3;
    plim_value x = real_input(g, "x", DIMS(a, b, c)), how = PLIM_NO_VALUE;
    (void)variant;
    if (strcmp(op, "Reshape") == 0) how = list(g, 2, (int64_t[]){a, b * c});
    if (strcmp(op, "Unsqueeze") == 0) how = list(g, 2, (int64_t[]){0, 3});
    if (strcmp(op, "Expand") == 0) {
        x = real_input(g, "y", DIMS(a, 1, c));
        how = list(g, 4, (int64_t[]){2, 1, b, 1});
    }
    if (strcmp(op, "Tile") == 0) how = list(g, 3, (int64_t[]){2, 1, 3});
    if (strcmp(op, "Squeeze") == 0) {
        x = real_input(g, "y", DIMS(a, 1, c, 1));
        how = list(g, 1, (int64_t[]){1});
    }
    if (strcmp(op, "CenterCropPad") == 0) how = list(g, 3, (int64_t[]){a ? a + 3 : 0, b - 1, c});
    return plim__graph_apply(g, op, (plim_value[]){x, how}, how < 0 ? 1 : 2);
}

static plim_value transpose(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const int64_t orders[][3] = {{2, 0, 1}, {1, 0, 2}};
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, 1);
    plim_graph_set_ints(g, n, "perm", orders[variant], 3);
    return plim_graph_node_output(g, n, 0);
}

static plim_value slice(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const int64_t steps[][3] = {{1, 4, 1}, {5, 0, -2}, {0, 6, 2}, {2, 2, 1}};
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    plim_value in[] = {x, list(g, 1, &steps[variant][0]), list(g, 1, &steps[variant][1]),
                       list(g, 1, (int64_t[]){kind == EMPTY ? 2 : 1}), list(g, 1, &steps[variant][2])};
    return plim__graph_apply(g, op, in, 5);
}

static plim_value split(plim_graph *g, const char *op, enum kind kind, int variant) {
    if (kind == WIDE) return PLIM_NO_VALUE;
    int64_t last = of_kind(kind, 4, 28);
    plim_value x = kind == IRREGULAR ? real_input(g, "x", DIMS(17, 31)) : real_input(g, "x", DIMS(3, 3 + last));
    (void)variant;
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, list(g, 3, (int64_t[]){2, 1, last})}, 2, 3);
    plim_graph_set_int(g, n, "axis", 1);
    plim_value parts[] = {plim_graph_node_output(g, n, 0), plim_graph_node_output(g, n, 2)};
    int32_t joined = plim_graph_node(g, "Concat", NULL, (plim_value[]){parts[1], x, parts[0]}, 3, 1);
    plim_graph_set_int(g, joined, "axis", 1);
    return plim_graph_node_output(g, joined, 0);
}

static plim_value concat(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value in[] = {plain(g, "x", kind), plain(g, "y", kind)};
    if (in[0] < 0) return PLIM_NO_VALUE;
    int32_t n = plim__graph_node(g, op, NULL, in, 2, 1);
    plim_graph_set_int(g, n, "axis", variant);
    return plim_graph_node_output(g, n, 0);
}

static plim_value pad(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const modes[] = {"constant", "reflect", "edge", "constant"};
    float fill = 0.5f;
    plim_value x = plain(g, "x", kind);
    if (x < 0 || (kind == EMPTY && variant != 0)) return PLIM_NO_VALUE;
    plim_value in[] = {x, list(g, 6, (int64_t[]){0, 2, 1, 0, 3, variant ? 2 : -1}),
                       plim_graph_parameter(g, "fill", PLIM_F32, 0, NULL, &fill)};
    int32_t n = plim__graph_node(g, op, NULL, in, variant == 3 ? 3 : 2, 1);
    plim_graph_set_string(g, n, "mode", modes[variant]);
    return plim_graph_node_output(g, n, 0);
}

/* mode, coordinates: 3 × 4. */
static plim_value resize(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const modes[] = {"nearest", "linear", "cubic"}, *const how[] = {"half_pixel", "align_corners",
                                                                                       "asymmetric",
                                                                                       "pytorch_half_pixel"};
    if (kind == WIDE || kind == EMPTY) return PLIM_NO_VALUE;
    bool old = strcmp(op, "Upsample") == 0;
    if (old && variant > 1) return PLIM_NO_VALUE;
    float scales[] = {1, 1, 2, !old && variant & 1 ? 0.5f : 1.75f};
    plim_value x = kind == IRREGULAR ? real_input(g, "x", DIMS(1, 17, 23, 31)) : real_input(g, "x", DIMS(2, 3, 5, 6)),
               s = plim_graph_constant(g, NULL, PLIM_F32, DIMS(4), scales);
    plim_value in[] = {x, old ? s : PLIM_NO_VALUE, s};
    int32_t n = plim__graph_node(g, op, NULL, in, old ? 2 : 3, 1);
    plim_graph_set_string(g, n, "mode", old ? modes[variant] : modes[variant / 4]);
    if (!old) plim_graph_set_string(g, n, "coordinate_transformation_mode", how[variant % 4]);
    if (!old && variant == 5) plim_graph_set_int(g, n, "antialias", 1);
    return plim_graph_node_output(g, n, 0);
}

static plim_value space(plim_graph *g, const char *op, enum kind kind, int variant) {
    if (kind == WIDE) return PLIM_NO_VALUE;
    bool irregular = kind == IRREGULAR, deep = strcmp(op, "DepthToSpace") == 0;
    int64_t batch = kind == EMPTY ? 0 : 2;
    plim_value x = !irregular ? real_input(g, "x", DIMS(batch, 8, 4, 6))
                   : deep     ? real_input(g, "x", DIMS(1, 9 * 17, 23, 3))
                              : real_input(g, "x", DIMS(1, 17, 9, 33));
    int32_t n = plim__graph_node(g, op, NULL, &x, 1, 1);
    plim_graph_set_int(g, n, "blocksize", irregular ? 3 : 2);
    if (deep && variant) plim_graph_set_string(g, n, "mode", "CRD");
    return plim_graph_node_output(g, n, 0);
}

static plim_value reversed(plim_graph *g, const char *op, enum kind kind, int variant) {
    if (kind == WIDE) return PLIM_NO_VALUE;
    int64_t lengths[23];
    for (int i = 0; i < 23; i++) lengths[i] = 1 + i % 3;
    (void)variant;
    plim_value x =
        kind == IRREGULAR ? real_input(g, "x", DIMS(17, 23, 31)) : real_input(g, "x", DIMS(3, 5, kind ? 0 : 2));
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, list(g, kind == IRREGULAR ? 23 : 5, lengths)}, 2, 1);
    plim_graph_set_int(g, n, "time_axis", 0);
    plim_graph_set_int(g, n, "batch_axis", 1);
    return plim_graph_node_output(g, n, 0);
}

static plim_value einsum(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const equations[] = {"ij,jk->ik", "ij,jk->k",  "ij,jk->kij", "...ij,...jk->...ik",
                                            "ii,ik->ik", "ij,jk->ij", "ii->",       "iij->ji"};
    if (variant >= 4 && kind != USUAL) return PLIM_NO_VALUE;
    int64_t i = kind == IRREGULAR ? 17
                : kind == EMPTY   ? 0
                                  : 5,
            j = kind == IRREGULAR ? 23 : 7, k = kind == IRREGULAR ? 31 : 3;
    plim_value a = real_input(g, "a", DIMS(i, j)), b = real_input(g, "b", DIMS(j, k));
    size_t count = 2;
    if (variant == 3) a = real_input(g, "c", DIMS(kind == WIDE ? 1 : 2, i, j)), b = real_input(g, "d", DIMS(2, j, k));
    if (variant == 4) a = real_input(g, "c", DIMS(7, 7));
    if (variant == 6) a = real_input(g, "c", DIMS(6, 6)), count = 1;
    if (variant == 7) a = real_input(g, "c", DIMS(4, 4, 3)), count = 1;
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){a, b}, count, 1);
    plim_graph_set_string(g, n, "equation", equations[variant]);
    return plim_graph_node_output(g, n, 0);
}

/* --- indices -------------------------------------------------------------------------------------------------- */

static plim_value gather(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    bool elements = strcmp(op, "GatherElements") == 0;
    int64_t rows = kind == EMPTY ? 0 : 2;
    plim_value at = elements ? ints(g, DIMS(3, rows, 2), (int64_t[]){0, 2, 2, 1, -1, 1, 0, 2, 2, 1, 0, 1})
                             : ints(g, DIMS(2, 3), (int64_t[]){0, 2, 2, -1, 1, 0});
    int axis = kind == EMPTY ? 2 : variant;
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, at}, 2, 1);
    plim_graph_set_int(g, n, "axis", axis);
    return plim_graph_node_output(g, n, 0);
}

static plim_value gather_nd(plim_graph *g, const char *op, enum kind kind, int variant) {
    if (kind == WIDE) return PLIM_NO_VALUE;
    int64_t c = kind == IRREGULAR ? 31 : kind == EMPTY ? 0 : 4;
    plim_value x = real_input(g, "x", DIMS(3, 5, c));
    plim_value at = variant ? ints(g, DIMS(3, 2, 1), (int64_t[]){0, 4, 1, 1, -1, 2})
                            : ints(g, DIMS(3, 2), (int64_t[]){2, 2, 0, 4, 2, 2});
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, at}, 2, 1);
    plim_graph_set_int(g, n, "batch_dims", variant);
    return plim_graph_node_output(g, n, 0);
}

static plim_value scatter(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const char *const reductions[] = {"none", "add", "mul", "max", "min"};
    if (kind == WIDE || (variant && strcmp(op, "Scatter") == 0)) return PLIM_NO_VALUE;
    bool rows = strcmp(op, "ScatterND") == 0;
    int64_t c = kind == IRREGULAR ? 31 : kind == EMPTY ? 0 : 4;
    bool twice = variant > 0; /* the same place more than once: its result must not depend on an order */
    plim_value in[3] = {real_input(g, "x", DIMS(5, c)), PLIM_NO_VALUE, PLIM_NO_VALUE};
    if (rows) {
        in[1] = ints(g, DIMS(3, 1), (int64_t[]){2, 0, twice ? 2 : 4});
        in[2] = real_input(g, "u", DIMS(3, c));
    } else {
        int64_t width = kind == EMPTY ? 0 : 2;
        in[1] = ints(g, DIMS(2, width), (int64_t[]){0, 2, twice ? 0 : 1, twice ? 2 : 3});
        in[2] = real_input(g, "u", DIMS(2, width));
    }
    int32_t n = plim__graph_node(g, op, NULL, in, 3, 1);
    if (variant) plim_graph_set_string(g, n, "reduction", reductions[variant]);
    return plim_graph_node_output(g, n, 0);
}

static plim_value top_k(plim_graph *g, const char *op, enum kind kind, int variant) {
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, list(g, 1, (int64_t[]){3})}, 2, variant ? 1 : 2);
    plim_graph_set_int(g, n, "axis", 2);
    return plim_graph_node_output(g, n, 0);
}

static plim_value one_hot(plim_graph *g, const char *op, enum kind kind, int variant) {
    int64_t depth = 5, classes[31];
    if (kind == WIDE) return PLIM_NO_VALUE;
    for (int i = 0; i < 31; i++) classes[i] = i % 7 - 1;
    plim_value in[] = {list(g,
                            kind == IRREGULAR ? 31
                            : kind == EMPTY   ? 0
                                              : 6,
                            classes),
                       ints(g, 0, NULL, &depth), real_input(g, "values", DIMS(2))};
    int32_t n = plim__graph_node(g, op, NULL, in, 3, 1);
    plim_graph_set_int(g, n, "axis", -variant);
    return plim_graph_node_output(g, n, 0);
}

static plim_value compress(plim_graph *g, const char *op, enum kind kind, int variant) {
    static const bool kept[] = {1, 0, 1, 1, 0};
    plim_value x = plain(g, "x", kind);
    if (x < 0) return x;
    plim_value condition = plim_graph_constant(g, NULL, PLIM_BOOL, DIMS(5), kept);
    int32_t n = plim__graph_node(g, op, NULL, (plim_value[]){x, condition}, 2, 1);
    if (variant) plim_graph_set_int(g, n, "axis", variant == 2 ? -1 : 1);
    return plim_graph_node_output(g, n, 0);
}

#endif
