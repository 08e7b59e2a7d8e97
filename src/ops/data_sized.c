/* Operators whose output size depends on what their input holds: NonZero, Unique, NonMaxSuppression. A plan
 * has to know every size, so they are computed here when the input is constant and refused otherwise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/movement.h"

static plim_status known_input(plim__infer *ctx, size_t i, plim__tensor **tensor) {
    *tensor = plim__graph_constant_tensor(ctx->graph, plim__node_in(ctx->node, i));
    if (!*tensor)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s whose output size depends on data",
                                ctx->node->op_name);
    return plim__tensor_load(*tensor, ctx->error);
}

static plim_status new_indices(plim__infer *ctx, int rank, const int64_t *dims, plim__tensor **tensor) {
    plim__shape shape = plim__shape_of(rank, dims);
    return plim__tensor_create(PLIM_I64, &shape, tensor, ctx->error);
}

/* --- NonZero -------------------------------------------------------------------------------------------------- */

plim_status plim__infer_non_zero(plim__infer *ctx) {
    plim__tensor *x, *result;
    PLIM_TRY(known_input(ctx, 0, &x));
    int64_t elements = plim__shape_elements(&x->shape), found = 0;
    int rank = x->shape.rank > 0 ? x->shape.rank : 1;
    for (int64_t i = 0; i < elements; i++) found += plim__tensor_at(x, i) != 0;
    PLIM_TRY(new_indices(ctx, 2, (int64_t[]){rank, found}, &result));
    int64_t *index = result->data, next = 0;
    for (int64_t i = 0; i < elements; i++) {
        if (plim__tensor_at(x, i) == 0) continue;
        for (int64_t a = rank - 1, rest = i; a >= 0; a--) {
            int64_t dim = x->shape.rank > 0 ? x->shape.dims[a] : 1;
            index[a * found + next] = rest % dim;
            rest /= dim;
        }
        next++;
    }
    return plim__infer_constant(ctx, 0, result);
}

/* --- Unique --------------------------------------------------------------------------------------------------- */

/* The tensor as `items` slices along one axis: element (o, item, i) of [outer, items, inner]. */
typedef struct slices {
    const plim__tensor *x;
    int64_t outer, items, inner;
} slices;

static int compare_elements(const plim__tensor *x, int64_t a, int64_t b) {
    if (x->dtype == PLIM_I64) {
        const int64_t *data = x->data;
        return (data[a] > data[b]) - (data[a] < data[b]);
    }
    double left = plim__tensor_at(x, a), right = plim__tensor_at(x, b);
    return (left > right) - (left < right);
}

static int compare_items(const slices *s, int64_t a, int64_t b) {
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            int order = compare_elements(s->x, (o * s->items + a) * s->inner + i, (o * s->items + b) * s->inner + i);
            if (order != 0) return order;
        }
    return 0;
}

static int by_value_then_place(const void *a, const void *b, void *context) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    int order = compare_items(context, left, right);
    return order != 0 ? order : (left > right) - (left < right);
}

static int by_place(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* first[] = places of the distinct items in order of the answer. Returns how many. */
static int64_t find_distinct(const slices *s, int64_t *sorted, int64_t *first, bool by_size) {
    int64_t distinct = 0;
    for (int64_t i = 0; i < s->items; i++) sorted[i] = i;
    qsort_r(sorted, (size_t)s->items, sizeof *sorted, by_value_then_place, (void *)s);
    for (int64_t i = 0; i < s->items; i++)
        if (i == 0 || compare_items(s, sorted[i - 1], sorted[i]) != 0) first[distinct++] = sorted[i];
    if (!by_size) qsort(first, (size_t)distinct, sizeof *first, by_place);
    return distinct;
}

static plim_status give_distinct(plim__infer *ctx, const slices *s, int axis, const int64_t *first, int64_t distinct) {
    plim__shape shape = s->x->shape;
    if (axis < 0)
        shape = plim__shape_of(1, &distinct);
    else
        shape.dims[axis] = distinct;
    plim__tensor *result;
    PLIM_TRY(plim__tensor_create(s->x->dtype, &shape, &result, ctx->error));
    size_t width = (size_t)s->inner * (size_t)plim_dtype_bits(s->x->dtype) / 8;
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t k = 0; k < distinct; k++)
            memcpy((char *)result->data + (size_t)(o * distinct + k) * width,
                   (const char *)s->x->data + (size_t)(o * s->items + first[k]) * width, width);
    return plim__infer_constant(ctx, 0, result);
}

/* Indices of first occurrence, the inverse, and the counts. */
static plim_status give_places(plim__infer *ctx, const slices *s, const int64_t *first, int64_t distinct) {
    plim__tensor *places = NULL, *inverse = NULL, *counts = NULL;
    plim_status status = new_indices(ctx, 1, &distinct, &places);
    if (status == PLIM_OK) status = new_indices(ctx, 1, &s->items, &inverse);
    if (status == PLIM_OK) status = new_indices(ctx, 1, &distinct, &counts);
    if (status != PLIM_OK) {
        plim__tensor_release(places);
        plim__tensor_release(inverse);
        plim__tensor_release(counts);
        return status;
    }
    int64_t *inverse_data = inverse->data, *count_data = counts->data;
    for (int64_t k = 0; k < distinct; k++) {
        ((int64_t *)places->data)[k] = first[k];
        count_data[k] = 0;
    }
    for (int64_t i = 0; i < s->items; i++) {
        int64_t k = 0;
        while (k + 1 < distinct && compare_items(s, i, first[k]) != 0) k++;
        inverse_data[i] = k;
        count_data[k]++;
    }
    status = plim__infer_constant(ctx, 1, places);
    plim_status second = plim__infer_constant(ctx, 2, inverse), third = plim__infer_constant(ctx, 3, counts);
    return status != PLIM_OK ? status : second != PLIM_OK ? second : third;
}

plim_status plim__infer_unique(plim__infer *ctx) {
    plim__tensor *x;
    int axis = -1;
    PLIM_TRY(known_input(ctx, 0, &x));
    if (plim_dtype_bits(x->dtype) % 8 != 0 || x->dtype == PLIM_C64 || x->dtype == PLIM_C128)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Unique of %s", plim_dtype_name(x->dtype));
    slices s = {x, 1, plim__shape_elements(&x->shape), 1};
    if (plim__node_attribute(ctx->node, "axis")) {
        PLIM_TRY(plim__axis_read(ctx, "axis", 0, x->shape.rank, &axis));
        s = (slices){x, plim__shape_product(&x->shape, 0, axis), x->shape.dims[axis],
                     plim__shape_product(&x->shape, axis + 1, x->shape.rank)};
    }
    int64_t *sorted = plim__alloc_array((size_t)s.items * 2 + 1, sizeof *sorted);
    if (!sorted) return plim__fail_memory(ctx->error, "the order of Unique", (size_t)s.items * 16);
    int64_t *first = sorted + s.items,
            distinct = find_distinct(&s, sorted, first, plim__node_int(ctx->node, "sorted", 1) != 0);
    plim_status status = give_distinct(ctx, &s, axis, first, distinct);
    if (status == PLIM_OK) status = give_places(ctx, &s, first, distinct);
    plim__free(sorted);
    return status;
}

/* --- NonMaxSuppression ---------------------------------------------------------------------------------------- */

typedef struct suppression {
    const float *boxes; /* [N, 4] of one batch */
    int64_t box_count;
    bool centered;
    float overlap, threshold;
    int64_t most;
} suppression;

typedef struct corners {
    float top, left, bottom, right;
} corners;

static corners box_corners(const suppression *s, int64_t box) {
    const float *b = s->boxes + 4 * box;
    if (s->centered) /* x, y, width, height */
        return (corners){b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
    return (corners){fminf(b[0], b[2]), fminf(b[1], b[3]), fmaxf(b[0], b[2]), fmaxf(b[1], b[3])};
}

static float overlap(corners a, corners b) {
    float height = fminf(a.bottom, b.bottom) - fmaxf(a.top, b.top),
          width = fminf(a.right, b.right) - fmaxf(a.left, b.left);
    if (!(height > 0) || !(width > 0)) return 0;
    float common = height * width;
    float all = (a.bottom - a.top) * (a.right - a.left) + (b.bottom - b.top) * (b.right - b.left) - common;
    return all > 0 ? common / all : 0;
}

/* Boxes of one class, best first, that overlap no better one too much. Returns how many are in `kept`. */
static int64_t suppress(const suppression *s, const float *scores, int64_t *kept, char *done) {
    int64_t count = 0;
    memset(done, 0, (size_t)s->box_count);
    while (count < s->most) {
        int64_t best = -1;
        for (int64_t i = 0; i < s->box_count; i++)
            if (!done[i] && scores[i] > s->threshold && (best < 0 || scores[i] > scores[best])) best = i;
        if (best < 0) break;
        done[best] = 1;
        bool free = true;
        for (int64_t k = 0; free && k < count; k++)
            free = overlap(box_corners(s, best), box_corners(s, kept[k])) <= s->overlap;
        if (free) kept[count++] = best;
    }
    return count;
}

static plim_status suppress_all(plim__infer *ctx, suppression *s, const plim__tensor *boxes,
                                const plim__tensor *scores) {
    int64_t batches = scores->shape.dims[0], classes = scores->shape.dims[1], n = s->box_count;
    PLIM_VEC(int64_t) found = {0};
    int64_t *kept = plim__alloc_array((size_t)n + 1, sizeof *kept);
    char *done = plim__alloc_array((size_t)n + 1, 1);
    bool room = kept && done;
    for (int64_t at = 0; room && at < batches * classes; at++) {
        s->boxes = (const float *)boxes->data + at / classes * n * 4;
        int64_t count = suppress(s, (const float *)scores->data + at * n, kept, done);
        for (int64_t k = 0; room && k < count; k++)
            room = plim__vec_push(&found, at / classes) && plim__vec_push(&found, at % classes) &&
                   plim__vec_push(&found, kept[k]);
    }
    plim__free(kept);
    plim__free(done);
    plim__tensor *result = NULL;
    plim_status status =
        room ? new_indices(ctx, 2, (int64_t[]){(int64_t)found.count / 3, 3}, &result)
             : plim__fail_memory(ctx->error, "the boxes that are kept", (unsigned long long)n * sizeof *kept);
    if (status == PLIM_OK) {
        if (found.count) memcpy(result->data, found.items, found.count * sizeof *found.items);
        status = plim__infer_constant(ctx, 0, result);
    }
    plim__vec_free(&found);
    return status;
}

static plim_status optional_scalar(plim__infer *ctx, size_t i, double missing, double *value) {
    plim__tensor *tensor;
    *value = missing;
    if (!plim__infer_has(ctx, i)) return PLIM_OK;
    PLIM_TRY(known_input(ctx, i, &tensor));
    if (plim__shape_elements(&tensor->shape) != 1)
        return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu is not a scalar", i);
    *value = plim__tensor_at(tensor, 0);
    return PLIM_OK;
}

plim_status plim__infer_non_max_suppression(plim__infer *ctx) {
    plim__tensor *boxes, *scores;
    double most, iou, threshold;
    PLIM_TRY(known_input(ctx, 0, &boxes));
    PLIM_TRY(known_input(ctx, 1, &scores));
    PLIM_TRY(optional_scalar(ctx, 2, 0, &most));
    PLIM_TRY(optional_scalar(ctx, 3, 0, &iou));
    PLIM_TRY(optional_scalar(ctx, 4, -HUGE_VAL, &threshold));
    const plim__shape *b = &boxes->shape, *c = &scores->shape;
    if (b->rank != 3 || c->rank != 3 || b->dims[2] != 4 || b->dims[0] != c->dims[0] || b->dims[1] != c->dims[2])
        return plim__infer_fail(ctx, PLIM_SHAPE, "boxes and scores do not fit together");
    if (boxes->dtype != PLIM_F32 || scores->dtype != PLIM_F32)
        return plim__infer_fail(ctx, PLIM_DTYPE, "boxes or scores are not float32");
    suppression s = {.box_count = b->dims[1],
                     .centered = plim__node_int(ctx->node, "center_point_box", 0) != 0,
                     .overlap = (float)iou,
                     .threshold = (float)threshold,
                     .most = most > (double)b->dims[1] ? b->dims[1]
                             : most > 0                ? (int64_t)most
                                                       : 0};
    return suppress_all(ctx, &s, boxes, scores);
}
