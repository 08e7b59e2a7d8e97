/* Reading targets ahead. */
#include "data/targets.h"

#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/error.h"

#define MOST_BYTES ((uint64_t)1 << 30)

typedef struct look {
    const plim__data_source *source;
    const plim_data_field *field;
    const plim__target_rules *rules;
    int64_t first; /* the class of the first sample */
    bool differ;   /* there is another */
} look;

static const char *call_sample(const look *l, int64_t index, char text[512]) {
    if (l->source->ops->sample_name)
        l->source->ops->sample_name(l->source, index, text, 512);
    else
        snprintf(text, 512, "sample %lld", (long long)index);
    return text;
}

static plim_status judge_numbers(const look *l, int64_t index, const float *values, plim_error *error) {
    char name[512];
    for (size_t i = 0; i < l->field->bytes / sizeof *values; i++)
        if (!isfinite(values[i]))
            return plim__fail(error, PLIM_NUMERIC, "the data holds %s in its target '%s', %s",
                              isnan(values[i]) ? "NaN" : "Inf", l->field->name, call_sample(l, index, name));
    return PLIM_OK;
}

static plim_status judge_classes(look *l, int64_t index, const int64_t *labels, plim_error *error) {
    const plim__target_rules *rules = l->rules;
    char name[512];
    for (size_t i = 0; rules->classes > 0 && i < l->field->bytes / sizeof *labels; i++)
        if ((labels[i] < 0 || labels[i] >= rules->classes) && !(rules->ignores && labels[i] == rules->ignore_index))
            return plim__fail(error, PLIM_INVALID, "label %lld of %s is out of range for the model's %lld classes",
                              (long long)labels[i], call_sample(l, index, name), (long long)rules->classes);
    l->differ |= *labels != l->first;
    return PLIM_OK;
}

static plim_status judge_all(look *l, const plim__order *order, void *room, plim_error *error) {
    plim__scratch scratch = {0};
    plim_status status = PLIM_OK;
    for (int64_t i = 0; i < order->count && status == PLIM_OK; i++) {
        int64_t index = plim__order_source(order, i);
        status = l->source->ops->read_target(l->source, index, &scratch, room, error);
        if (status != PLIM_OK) break;
        if (i == 0 && l->field->dtype == PLIM_I64) l->first = *(const int64_t *)room;
        status =
            l->field->dtype == PLIM_F32 ? judge_numbers(l, index, room, error) : judge_classes(l, index, room, error);
    }
    plim__scratch_free(&scratch);
    return status;
}

static plim_status one_class(const look *l, int64_t count, plim_error *error) {
    const char *name = l->source->ops->class_name ? l->source->ops->class_name(l->source, l->first) : NULL;
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)l->first);
    return plim__fail(error, PLIM_INVALID, "all %lld samples are of one class, '%s': there is nothing to tell apart",
                      (long long)count, name ? name : number);
}

plim_status plim__targets_check(const plim__data_source *source, const plim__order *order,
                                const plim__target_rules *rules, plim_error *error) {
    look l = {.source = source, .rules = rules};
    for (int i = 0; i < source->field_count && !l.field; i++)
        if (source->fields[i].target) l.field = &source->fields[i];
    if (!l.field || !source->ops->read_target || (l.field->dtype != PLIM_F32 && l.field->dtype != PLIM_I64) ||
        l.field->bytes == 0 || (uint64_t)order->count > MOST_BYTES / l.field->bytes)
        return PLIM_OK;
    void *room = plim__alloc(l.field->bytes);
    if (!room) return plim__fail_memory(error, "a target", l.field->bytes);
    plim_status status = judge_all(&l, order, room, error);
    plim__free(room);
    bool judged = rules->several && rules->classes > 1 && l.field->dtype == PLIM_I64 && l.field->rank == 0;
    if (status == PLIM_OK && judged && order->count > 1 && !l.differ) return one_class(&l, order->count, error);
    return status;
}
