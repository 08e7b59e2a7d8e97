/* Counting classes, and grouping samples by them. */
#include "data/classes.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

static const plim_data_field *target_of(const plim__data_source *source) {
    for (int i = 0; i < source->field_count; i++)
        if (source->fields[i].target) return &source->fields[i];
    return NULL;
}

int64_t plim__classes_of(const plim__data_source *source) {
    const plim_data_field *target = target_of(source);
    return target && target->dtype == PLIM_I64 && target->rank == 0 && source->ops->read_target ? target->classes : 0;
}

/* Tells the class of every sample of the part, in the order of the part. */
static plim_status visit(const plim__data_source *source, const plim__order *order,
                         void (*see)(void *context, int64_t place, int64_t number), void *context, plim_error *error) {
    int64_t classes = plim__classes_of(source);
    plim__scratch scratch = {0};
    plim_status status = PLIM_OK;
    for (int64_t i = 0; i < order->count && status == PLIM_OK; i++) {
        int64_t number = 0, index = plim__order_source(order, i);
        status = source->ops->read_target(source, index, &scratch, &number, error);
        if (status == PLIM_OK && (number < 0 || number >= classes))
            status = plim__fail(error, PLIM_INVALID, "sample %lld has class %lld; there are %lld", (long long)index,
                                (long long)number, (long long)classes);
        if (status == PLIM_OK) see(context, i, number);
    }
    plim__scratch_free(&scratch);
    return status;
}

static void count_one(void *context, int64_t place, int64_t number) {
    (void)place;
    ((int64_t *)context)[number]++;
}

plim_status plim__classes_count(const plim__data_source *source, const plim__order *order, int64_t *counts,
                                plim_error *error) {
    int64_t classes = plim__classes_of(source);
    if (classes < 1) return plim__fail(error, PLIM_INVALID, "the data has no classes whose samples could be counted");
    memset(counts, 0, (size_t)classes * sizeof *counts);
    return visit(source, order, count_one, counts, error);
}

typedef struct grouping {
    int64_t *next, *members; /* next: where the next member of each class goes */
} grouping;

static void place_one(void *context, int64_t place, int64_t number) {
    grouping *g = context;
    g->members[g->next[number]++] = place;
}

plim_status plim__classes_group(const plim__data_source *source, const plim__order *order,
                                plim__order_classes **classes, uint64_t *bytes, plim_error *error) {
    int64_t count = plim__classes_of(source), kinds = 0, before = 0;
    *classes = NULL;
    if (count < 1)
        return plim__fail(error, PLIM_INVALID, "the data has no classes that could be made equally frequent");
    *bytes = sizeof **classes + (2 * (uint64_t)count + (uint64_t)order->count) * sizeof(int64_t);
    plim__order_classes *made = plim__alloc((size_t)*bytes);
    if (!made) return plim__fail_memory(error, "samples by class", (size_t)*bytes);
    int64_t *ends = (int64_t *)(void *)(made + 1);
    grouping g = {.next = ends + count, .members = ends + 2 * count};
    *made = (plim__order_classes){.ends = ends, .members = g.members};
    plim_status status = plim__classes_count(source, order, g.next, error);
    for (int64_t i = 0; status == PLIM_OK && i < count; i++) { /* classes without samples do not come */
        int64_t members = g.next[i];
        g.next[i] = before;
        before += members;
        if (members > 0) ends[kinds++] = before;
        if (members > made->most) made->most = members;
    }
    made->count = kinds;
    if (status == PLIM_OK) status = visit(source, order, place_one, &g, error);
    if (status == PLIM_OK)
        *classes = made;
    else
        plim__free(made);
    return status;
}
