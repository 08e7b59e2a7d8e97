/* Rules for files that do not say which of their tensors are parameters.
 *
 * A tensor is a weight unless every node that reads it reads it as something else, or its numbers are those of a mask or a
 * table. Rules read one tensor and its readers, so that a reader of `inspect` can follow them. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/scalar.h"
#include "graph/passes/export/restore.h"

/* --- how a tensor is used ------------------------------------------------------------------------------------------- */

enum { LONGEST_ROW = 1 << 14 }; /* of tensors whose numbers are examined */
#define MASKED -1e4             /* what is added to scores that do not count is below */

static bool is(const plim__node *node, const char *name) { return !*node->domain && strcmp(node->op_name, name) == 0; }

static bool is_any(const plim__node *node, const char *const *names) {
    for (; *names; names++)
        if (is(node, *names)) return true;
    return false;
}

static const plim__node *producer(const plim_graph *g, plim_value v) {
    return v >= 0 && g->values.items[v].producer >= 0 ? &g->nodes.items[g->values.items[v].producer] : NULL;
}

static plim_value other_input(const plim__node *node, size_t index) { return plim__node_in(node, index == 0 ? 1 : 0); }

/* Sizes, bounds and ratios: floats that are no weights wherever they are read like this. */
static bool is_setting(const plim__node *node, size_t index) {
    static const char *const ops[] = {"Resize", "Upsample", "Clip", "Pad", "OneHot", "Dropout", "Range", "Pow", NULL};
    return index > 0 && is_any(node, ops);
}

static bool is_statistic(const plim__node *node, size_t index) {
    return is(node, "BatchNormalization") && node->inputs.count == 5 && index >= 3;
}

/* The data itself, or what a mean and a scale have made of it. */
static bool is_data(const plim_graph *g, plim_value v, int depth) {
    static const char *const ops[] = {"Sub", "Div", "Mul", "Add", "Cast", "Transpose", NULL};
    if (v < 0) return false;
    if (g->values.items[v].kind == PLIM__VALUE_INPUT) return g->values.items[v].dtype == PLIM_F32;
    const plim__node *node = producer(g, v);
    return node && depth < 6 && is_any(node, ops) && is_data(g, plim__node_in(node, 0), depth + 1);
}

static bool is_normalizer(const plim_graph *g, const plim__node *node, size_t index) {
    static const char *const ops[] = {"Sub", "Div", "Mul", "Add", NULL};
    return is_any(node, ops) && is_data(g, other_input(node, index), 0);
}

/* One number that scales: not the slope of a PRelu, not the bias of a layer with one output. */
static bool is_number(const plim_graph *g, const plim__node *node, size_t index) {
    static const char *const scales[] = {"Mul", "Div", "Pow", "Max", "Min", "Sqrt", "Equal", "Greater", "Less", NULL};
    static const char *const layers[] = {"MatMul", "Gemm", "Conv", "ConvTranspose", NULL};
    if (is_any(node, scales)) return true;
    const plim__node *before = producer(g, other_input(node, index));
    return (is(node, "Add") || is(node, "Sub")) && !(before && is_any(before, layers));
}

/* Group norm is written as an instance norm of reshaped data, with a scale and a bias that do nothing. */
static bool is_idle_norm(const plim_graph *g, const plim__node *node, size_t index) {
    const plim__node *before = producer(g, plim__node_in(node, 0));
    return is(node, "InstanceNormalization") && index > 0 && before && is(before, "Reshape");
}

/* --- what its numbers are ------------------------------------------------------------------------------------------- */

struct numbers {
    bool ones, zeros;
    bool mask, masks;   /* nothing but 0 and what masks; something that masks */
    bool halves, pairs; /* sines and cosines, in halves of rows or in turns */
};

/* Columns in pairs (j, j + half) or (2j, 2j + 1) with a² + b² = 1: angles. */
static bool are_angles(plim_dtype dtype, const void *row, int64_t width, bool interleaved) {
    for (int64_t j = 0; j < width / 2; j++) {
        double a = plim__scalar_get(dtype, row, interleaved ? 2 * j : j),
               b = plim__scalar_get(dtype, row, interleaved ? 2 * j + 1 : j + width / 2);
        if (!(fabs(a * a + b * b - 1) < 1e-4)) return false;
    }
    return true;
}

static void examine_row(plim_dtype dtype, const void *row, int64_t width, struct numbers *n) {
    for (int64_t i = 0; i < width && (n->ones || n->zeros || n->mask); i++) {
        double x = plim__scalar_get(dtype, row, i);
        n->ones &= x == 1;
        n->zeros &= x == 0;
        n->mask &= x == 0 || x <= MASKED;
        n->masks |= x <= MASKED;
    }
    n->halves = n->halves && are_angles(dtype, row, width, false);
    n->pairs = n->pairs && are_angles(dtype, row, width, true);
}

/* Row by row, and no further than something is left to find: a weight is seen to be one at its first numbers. */
static plim_status examine(const plim__tensor *tensor, struct numbers *n, plim_error *error) {
    int rank = tensor->shape.rank;
    int64_t count = plim__shape_elements(&tensor->shape), width = rank ? tensor->shape.dims[rank - 1] : 1;
    *n = (struct numbers){0};
    if (count < 1 || width > LONGEST_ROW || (!tensor->data && !tensor->source)) return PLIM_OK;
    size_t bytes = tensor->bytes / (size_t)(count / width);
    bool angles = rank >= 2 && width >= 4 && width % 2 == 0 && count > width;
    *n = (struct numbers){.ones = true, .zeros = true, .mask = true, .halves = angles, .pairs = angles};
    void *row = plim__alloc(bytes);
    plim_status status = row ? PLIM_OK : plim__fail_memory(error, "a row of a tensor", bytes);
    for (size_t at = 0; at < tensor->bytes && status == PLIM_OK; at += bytes) {
        if (tensor->data)
            memcpy(row, (const char *)tensor->data + at, bytes);
        else
            status =
                plim__file_read_at(tensor->source->fd, row, bytes, tensor->offset + at, tensor->source->path, error);
        if (status == PLIM_OK) examine_row(tensor->dtype, row, width, n);
        if (!n->ones && !n->zeros && !n->mask && !n->halves && !n->pairs) break;
    }
    plim__free(row);
    n->mask &= n->masks;
    return status;
}

plim_status plim__tensor_find_role(const plim__tensor *tensor, plim__role *role, plim_error *error) {
    struct numbers n;
    PLIM_TRY(examine(tensor, &n, error));
    *role = n.mask ? PLIM__ROLE_MASK : n.halves || n.pairs ? PLIM__ROLE_POSITIONS : PLIM__ROLE_WEIGHT;
    return PLIM_OK;
}

/* --- the rules ------------------------------------------------------------------------------------------------------ */

/* What all readers agree on. */
struct readers {
    size_t count;
    bool setting, statistic, normalizer, number, idle, pointwise;
};

static void add_reader(const plim_graph *g, const plim__node *node, size_t index, struct readers *all) {
    static const char *const pointwise[] = {"Add", "Sub", "Mul", "Where", "Slice", "Gather", "Unsqueeze", NULL};
    if (all->count++ == 0)
        all->setting = all->statistic = all->normalizer = all->number = all->idle = all->pointwise = true;
    all->setting &= is_setting(node, index);
    all->statistic &= is_statistic(node, index);
    all->normalizer &= is_normalizer(g, node, index);
    all->number &= is_number(g, node, index);
    all->idle &= is_idle_norm(g, node, index);
    all->pointwise &= is_any(node, pointwise);
}

static bool is_named_statistic(const char *name) {
    static const char *const ends[] = {"moving_mean", "moving_variance", "running_mean", "running_var"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length >= strlen(ends[i]) && strcmp(name + length - strlen(ends[i]), ends[i]) == 0) return true;
    return false;
}

static plim_status find_role(const plim__value *value, const struct readers *all, plim__role *role, plim_error *error) {
    int64_t elements = plim__shape_elements(&value->shape);
    *role = PLIM__ROLE_WEIGHT;
    if (value->shape.rank == 0)
        *role = PLIM__ROLE_NUMBER;
    else if (all->count == 0)
        return PLIM_OK;
    else if (all->statistic || is_named_statistic(value->name))
        *role = PLIM__ROLE_STATISTIC;
    else if (all->setting)
        *role = PLIM__ROLE_INDEX;
    else if (all->normalizer)
        *role = PLIM__ROLE_NORMALIZER;
    else if (elements == 1 && all->number)
        *role = PLIM__ROLE_NUMBER;
    if (*role != PLIM__ROLE_WEIGHT || (!all->idle && !all->pointwise)) return PLIM_OK;
    struct numbers n;
    PLIM_TRY(examine(value->tensor, &n, error));
    if (all->idle && n.ones) *role = PLIM__ROLE_ONES;
    if (all->idle && n.zeros) *role = PLIM__ROLE_ZEROS;
    if (all->pointwise && n.mask) *role = PLIM__ROLE_MASK;
    if (all->pointwise && (n.halves || n.pairs)) *role = PLIM__ROLE_POSITIONS;
    return PLIM_OK;
}

plim_status plim__graph_find_roles(plim_graph *g, plim_error *error) {
    struct readers *readers = plim__alloc_zero(g->values.count, sizeof *readers);
    if (!readers) return plim__fail_memory(error, "the uses of values", g->values.count * sizeof *readers);
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        for (size_t i = 0; !node->dead && i < node->inputs.count; i++)
            if (node->inputs.items[i] >= 0) add_reader(g, node, i, &readers[node->inputs.items[i]]);
    }
    plim_status status = PLIM_OK;
    for (size_t v = 0; v < g->values.count && status == PLIM_OK; v++) {
        plim__value *value = &g->values.items[v];
        if (value->kind == PLIM__VALUE_PARAMETER && value->tensor)
            status = find_role(value, &readers[v], &value->role, error);
    }
    plim__free(readers);
    return status;
}
