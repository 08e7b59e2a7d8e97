/* The batch axis through elementwise operators, sums and products. */
#include "ops/batch.h"

/* A mean over the batch: its parts have it too, about as large. What is computed from it mixes samples. */
static bool is_statistic(const plim__batch *b) {
    return (b->kind == PLIM__BATCH_SUM && b->power == -1) || (b->kind == PLIM__BATCH_RATIO && b->power == 0);
}

struct terms {
    size_t count;
    const plim__batch *batches[PLIM__BATCH_FACTORS];
    const plim__shape *shapes[PLIM__BATCH_FACTORS];
    int rank; /* of the result */
};

static bool read_terms(const plim__batch_rule *r, struct terms *t) {
    *t = (struct terms){.rank = plim__batch_out_shape(r, 0)->rank};
    for (size_t i = 0; i < r->node->inputs.count; i++) {
        if (!plim__batch_has(r, i)) continue;
        if (t->count == PLIM__BATCH_FACTORS || plim__batch_in(r, i)->kind == PLIM__BATCH_UNKNOWN) return false;
        t->batches[t->count] = plim__batch_in(r, i);
        t->shapes[t->count++] = plim__batch_shape(r, i);
    }
    return t->count > 0;
}

/* Before opset 7 an attribute aligned the second input. */
static bool is_legacy(const plim__node *node) {
    return !*node->domain && node->version < 7 && plim__node_attribute(node, "broadcast");
}

/* The one axis of the result along which the samples of all terms lie; kind NONE when no term has any. False when they
 * do not lie alike, or a term that is no batch has one element for each. */
static bool common_axis(const struct terms *t, plim__batch *axis) {
    *axis = (plim__batch){.kind = PLIM__BATCH_NONE};
    for (size_t i = 0; i < t->count; i++) {
        if (t->batches[i]->kind != PLIM__BATCH_AXIS) continue;
        plim__batch here = *t->batches[i];
        here.axis = (int16_t)(here.axis + t->rank - t->shapes[i]->rank);
        if (axis->kind == PLIM__BATCH_AXIS && (axis->axis != here.axis || !plim__batch_aligned(axis, &here)))
            return false;
        if (axis->kind != PLIM__BATCH_AXIS) *axis = here;
    }
    for (size_t i = 0; axis->kind == PLIM__BATCH_AXIS && i < t->count; i++) {
        int at = axis->axis - (t->rank - t->shapes[i]->rank);
        if (t->batches[i]->kind != PLIM__BATCH_AXIS && at >= 0 && t->shapes[i]->dims[at] != 1) return false;
    }
    return true;
}

/* Any function of the elements. */
void plim__batch_pointwise(plim__batch_rule *r) {
    struct terms t;
    plim__batch axis;
    bool statistics = false;
    if (is_legacy(r->node) || !read_terms(r, &t) || !common_axis(&t, &axis)) return;
    for (size_t i = 0; i < t.count; i++) {
        bool statistic = is_statistic(t.batches[i]);
        if (!statistic && (t.batches[i]->power != 0 || t.batches[i]->kind == PLIM__BATCH_SUM)) return;
        statistics |= statistic;
    }
    axis.power = 0;
    r->mixes |= statistics;
    plim__batch_set(r, 0, axis);
}

/* The same function, linear: whatever combines still does. */
void plim__batch_linear(plim__batch_rule *r) { plim__batch_set(r, 0, *plim__batch_in(r, 0)); }

void plim__batch_cast(plim__batch_rule *r) {
    plim_dtype dtype = r->pair->whole->values.items[r->node->outputs.items[0]].dtype;
    const plim__batch *x = plim__batch_in(r, 0);
    bool exact = x->power == 0 && (x->kind == PLIM__BATCH_AXIS || x->kind == PLIM__BATCH_NONE);
    if (exact || dtype == PLIM_F32 || dtype == PLIM_F64) plim__batch_set(r, 0, *x);
}

/* --- sums ----------------------------------------------------------------------------------------------------- */

/* Without samples side by side: sums add up to sums, means to means, and a mean may have a constant added. */
static plim__batch add_combined(const struct terms *t) {
    plim__batch sum = {.kind = PLIM__BATCH_NONE, .power = t->batches[0]->power};
    bool constants = false;
    for (size_t i = 0; i < t->count; i++) {
        const plim__batch *b = t->batches[i];
        if (b->kind == PLIM__BATCH_NONE) {
            if (b->power != 0) return (plim__batch){0};
            constants = true;
        } else if (sum.kind == PLIM__BATCH_NONE) {
            sum = *b;
        } else if (sum.kind != b->kind || sum.power != b->power ||
                   (b->kind == PLIM__BATCH_RATIO && b->weight != sum.weight)) {
            return (plim__batch){0};
        }
    }
    return constants && sum.kind != PLIM__BATCH_NONE && !is_statistic(&sum) ? (plim__batch){0} : sum;
}

static plim__batch add_terms(plim__batch_rule *r, const struct terms *t) {
    plim__batch axis;
    bool statistics = false;
    if (!common_axis(t, &axis)) return (plim__batch){0};
    if (axis.kind != PLIM__BATCH_AXIS) return add_combined(t);
    for (size_t i = 0; i < t->count; i++) {
        bool statistic = is_statistic(t->batches[i]);
        if (!statistic && (t->batches[i]->power != axis.power || t->batches[i]->kind == PLIM__BATCH_SUM))
            return (plim__batch){0};
        statistics |= statistic;
    }
    if (statistics && axis.power != 0) return (plim__batch){0};
    r->mixes |= statistics;
    return axis;
}

plim__batch plim__batch_add(plim__batch_rule *r) {
    struct terms t;
    return read_terms(r, &t) ? add_terms(r, &t) : (plim__batch){0};
}

void plim__batch_sum(plim__batch_rule *r) {
    if (!is_legacy(r->node))
        plim__batch_set(r, 0, plim__batch_add(r));
    else if (plim__batch_is_axis(r, 0) && plim__batch_are_fixed(r, 1))
        plim__batch_move(r, 0, plim__batch_in(r, 0)->axis);
}

/* --- products ------------------------------------------------------------------------------------------------- */

/* The label of the samples, the same in all factors that have some; false when there are two, or when another factor
 * has an element for each. */
static bool sample_label(const plim__batch_product *p, int *label, plim__batch *axis) {
    *label = -1;
    for (size_t k = 0; k < p->count; k++) {
        const plim__batch *b = &p->batches[k];
        if (b->kind != PLIM__BATCH_AXIS) continue;
        int own = p->labels[k][b->axis];
        for (int i = 0; i < p->shapes[k]->rank; i++)
            if (i != b->axis && p->labels[k][i] == own) return false; /* a diagonal */
        if (*label >= 0 && (*label != own || !plim__batch_aligned(axis, b))) return false;
        *label = own;
        *axis = *b;
    }
    for (size_t k = 0; *label >= 0 && k < p->count; k++)
        for (int i = 0; p->batches[k].kind != PLIM__BATCH_AXIS && i < p->shapes[k]->rank; i++)
            if (p->labels[k][i] == *label && p->shapes[k]->dims[i] != 1) return false;
    return true;
}

/* No factor has samples side by side. */
static plim__batch multiply_combined(plim__batch_rule *r, const plim__batch_product *p) {
    plim__batch result = {.kind = PLIM__BATCH_NONE};
    bool statistics = true;
    int power = 0, combined = 0;
    for (size_t k = 0; k < p->count; k++) {
        const plim__batch *b = &p->batches[k];
        power += b->power;
        statistics &= is_statistic(b) || (b->kind == PLIM__BATCH_NONE && b->power == 0);
        if (b->kind == PLIM__BATCH_NONE) continue;
        combined++;
        result = *b;
    }
    if (combined > 1) { /* a product of means is no mean of products */
        r->mixes |= statistics;
        return (plim__batch){.kind = statistics ? PLIM__BATCH_NONE : PLIM__BATCH_UNKNOWN};
    }
    result.power = (int16_t)power;
    return result;
}

plim__batch plim__batch_multiply(plim__batch_rule *r, const plim__batch_product *p) {
    int label, power = 0;
    plim__batch axis;
    bool statistics = false;
    for (size_t k = 0; k < p->count; k++)
        if (p->batches[k].kind == PLIM__BATCH_UNKNOWN) return (plim__batch){0};
    if (!sample_label(p, &label, &axis)) return (plim__batch){0};
    if (label < 0) return multiply_combined(r, p);
    for (size_t k = 0; k < p->count; k++) {
        const plim__batch *b = &p->batches[k];
        if (is_statistic(b))
            statistics = true;
        else if (b->kind == PLIM__BATCH_SUM || b->kind == PLIM__BATCH_RATIO)
            return (plim__batch){0};
        else
            power += b->power;
    }
    r->mixes |= statistics;
    axis.power = (int16_t)power;
    for (int i = 0; i < p->out_rank; i++)
        if (p->out_labels[i] == label) {
            axis.axis = (int16_t)i;
            return axis;
        }
    return (plim__batch){.kind = PLIM__BATCH_SUM, .power = (int16_t)power};
}

/* Elementwise: labels are the axes of the result. */
static bool read_factors(const plim__batch_rule *r, plim__batch_product *p) {
    struct terms t;
    if (is_legacy(r->node) || !read_terms(r, &t)) return false;
    *p = (plim__batch_product){.count = t.count, .out_rank = t.rank};
    for (int i = 0; i < t.rank; i++) p->out_labels[i] = i;
    for (size_t k = 0; k < t.count; k++) {
        p->batches[k] = *t.batches[k];
        p->shapes[k] = t.shapes[k];
        for (int i = 0; i < t.shapes[k]->rank; i++) p->labels[k][i] = i + t.rank - t.shapes[k]->rank;
    }
    return true;
}

void plim__batch_mul(plim__batch_rule *r) {
    plim__batch_product p;
    if (read_factors(r, &p))
        plim__batch_set(r, 0, plim__batch_multiply(r, &p));
    else if (is_legacy(r->node))
        plim__batch_sum(r);
}

void plim__batch_div(plim__batch_rule *r) {
    plim__batch_product p;
    if (!read_factors(r, &p)) {
        if (is_legacy(r->node)) plim__batch_sum(r);
        return;
    }
    plim__batch *divisor = &p.batches[1];
    if (is_statistic(divisor)) {
        r->mixes = true;
        *divisor = (plim__batch){.kind = PLIM__BATCH_NONE};
    }
    if (divisor->kind == PLIM__BATCH_SUM || divisor->kind == PLIM__BATCH_RATIO) return;
    divisor->power = (int16_t)-divisor->power;
    plim__batch_set(r, 0, plim__batch_multiply(r, &p));
}

/* --- matrix products ------------------------------------------------------------------------------------------ */

#define LABEL_K 100
#define LABEL_M 101
#define LABEL_N 102

/* (.., M, K) · (.., K, N): axes before the last two broadcast, counted from the right. */
static void label_matrix(const plim__shape *shape, bool first, int *labels) {
    int rank = shape->rank;
    for (int i = 0; i < rank; i++) labels[i] = rank - 1 - i;
    if (rank == 1) {
        labels[0] = LABEL_K;
        return;
    }
    labels[rank - 2] = first ? LABEL_M : LABEL_K;
    labels[rank - 1] = first ? LABEL_K : LABEL_N;
}

void plim__batch_matmul(plim__batch_rule *r) {
    const plim__shape *a = plim__batch_shape(r, 0), *b = plim__batch_shape(r, 1), *out = plim__batch_out_shape(r, 0);
    plim__batch_product p = {
        .count = 2, .batches = {*plim__batch_in(r, 0), *plim__batch_in(r, 1)}, .shapes = {a, b}, .out_rank = out->rank};
    label_matrix(a, true, p.labels[0]);
    label_matrix(b, false, p.labels[1]);
    int last = out->rank - 1, hidden = 2;
    if (b->rank > 1) p.out_labels[last--] = LABEL_N;
    if (a->rank > 1) p.out_labels[last--] = LABEL_M;
    while (last >= 0) p.out_labels[last--] = hidden++;
    plim__batch_set(r, 0, plim__batch_multiply(r, &p));
}

void plim__batch_gemm(plim__batch_rule *r) {
    bool ta = plim__node_int(r->node, "transA", 0) != 0, tb = plim__node_int(r->node, "transB", 0) != 0;
    plim__batch_product p = {.count = 2,
                             .batches = {*plim__batch_in(r, 0), *plim__batch_in(r, 1)},
                             .shapes = {plim__batch_shape(r, 0), plim__batch_shape(r, 1)},
                             .labels = {{LABEL_M, LABEL_K}, {LABEL_K, LABEL_N}},
                             .out_rank = 2,
                             .out_labels = {LABEL_M, LABEL_N}};
    if (p.shapes[0]->rank != 2 || p.shapes[1]->rank != 2) return;
    if (ta) p.labels[0][0] = LABEL_K, p.labels[0][1] = LABEL_M;
    if (tb) p.labels[1][0] = LABEL_N, p.labels[1][1] = LABEL_K;
    plim__batch product = plim__batch_multiply(r, &p);
    if (plim__batch_has(r, 2)) {
        struct terms t = {.count = 2,
                          .batches = {&product, plim__batch_in(r, 2)},
                          .shapes = {plim__batch_out_shape(r, 0), plim__batch_shape(r, 2)},
                          .rank = 2};
        bool unknown = product.kind == PLIM__BATCH_UNKNOWN || t.batches[1]->kind == PLIM__BATCH_UNKNOWN;
        product = unknown ? (plim__batch){0} : add_terms(r, &t);
    }
    plim__batch_set(r, 0, product);
}
