/* Evaluation: the loss of each batch, weighted, over one epoch.
 *
 *   kind of loss      a short batch                                      weight of a batch
 *   cross entropy     filled up with labels that are ignored             Σ class weights of what counts
 *   single elements   filled up; the first elements are counted          elements that count
 *   the model's own   batches are cut into parts of one size             samples, or Σ weights of targets that count;
 *                                                                        a sum adds up */
#include "plimsoll/evaluate.h"

#include <math.h>
#include <string.h>

#include "core/arguments.h"
#include "plimsoll/measures.h"
#include "run/feed.h"
#include "run/session_parts.h"

int64_t plim_evaluation_batch(const plim_loss *loss, const plim_data *data) {
    plim_data_info info;
    plim_data_get_info(data, &info);
    if (!data || !loss || loss->kind != PLIM_LOSS_MODEL) return info.batch;
    if (info.skips_bad) return 1;                                /* any number may come, and only this one divides it */
    int64_t part = info.batch, rest = info.samples % info.batch; /* the largest part that divides both */
    while (rest > 0) {
        int64_t left = part % rest;
        part = rest;
        rest = left;
    }
    return part;
}

struct work {
    plim_session *session;
    const plim_data *data;
    const plim__evaluated *evaluated;
    plim__wants wants;
    plim_feed feed;
    size_t sample_bytes[PLIM_MOST_INPUTS]; /* of each input */
    int64_t target_elements;               /* of a sample */
    double loss, weight, correct;          /* sums */
    plim_evaluation *result;
    plim_measures *measures; /* NULL: none */
    plim_error *error;
};

static plim_value find(const plim_graph *g, const char *name) {
    for (size_t i = 0; i < g->inputs.count; i++)
        if (strcmp(g->values.items[g->inputs.items[i]].name, name) == 0) return g->inputs.items[i];
    return PLIM_NO_VALUE;
}

static size_t bytes_of(const plim_graph *g, plim_value v) {
    const plim__value *value = &g->values.items[v];
    return (size_t)plim__shape_elements(&value->shape) * (size_t)plim_dtype_bits(value->dtype) / 8;
}

static plim_status prepare(struct work *w, plim_data *data) {
    const plim_graph *g = plim_session_graph(w->session);
    w->evaluated = plim__session_evaluated(w->session);
    if (!w->evaluated) return plim__fail(w->error, PLIM_INVALID, "the session was made without a loss");
    plim_value count = find(g, PLIM__COUNT_NAME);
    w->wants = (plim__wants){.graph = g, .target = find(g, PLIM__TARGET_NAME), .classes = w->evaluated->classes};
    for (size_t i = 0; i < g->inputs.count; i++)
        if (g->inputs.items[i] != w->wants.target && g->inputs.items[i] != count)
            plim__wants_add(&w->wants, g->inputs.items[i]);
    if (w->wants.count > 0) {
        const plim__shape *first = &g->values.items[w->wants.inputs[0]].shape;
        w->wants.samples = first->rank > 0 ? first->dims[0] : 0;
    }
    if (w->wants.samples < 1) return plim__fail(w->error, PLIM_SHAPE, "the model's inputs are not batches of samples");
    PLIM_TRY(plim__feed_match(&w->wants, data, &w->feed, w->error));
    for (size_t i = 0; i < w->wants.count; i++)
        w->sample_bytes[i] = bytes_of(g, w->wants.inputs[i]) / (size_t)w->wants.samples;
    if (w->wants.target >= 0)
        w->target_elements = plim__shape_elements(&g->values.items[w->wants.target].shape) / w->wants.samples;
    w->result->classifies = w->evaluated->classes > 0;
    return PLIM_OK;
}

/* `count` samples from `from` on; the rest of the input is zeros. */
static void feed_input(const struct work *w, plim_value input, const void *field, size_t sample, int64_t from,
                       int64_t count) {
    char *memory = plim_session_input(w->session, w->wants.graph->values.items[input].name);
    if (!memory) return; /* no step reads it */
    memcpy(memory, (const char *)field + (size_t)from * sample, (size_t)count * sample);
    memset(memory + (size_t)count * sample, 0, (size_t)(w->wants.samples - count) * sample);
}

static plim_status bad_label(const struct work *w, const plim_data_batch *batch, int64_t at, int64_t label) {
    char name[400];
    plim_data_batch_sample_name(w->data, batch, at, name, sizeof name);
    return plim__fail(w->error, PLIM_INVALID, "label %lld of %s lies outside the model's %lld classes",
                      (long long)label, name, (long long)w->evaluated->classes);
}

static plim_status feed_classes(struct work *w, const plim_data_batch *batch, int64_t from, int64_t count) {
    const int64_t *labels = (const int64_t *)batch->fields[w->feed.target] + from * w->target_elements;
    int64_t *target = plim_session_input(w->session, PLIM__TARGET_NAME), ignored = w->evaluated->ignored,
            places = count * w->target_elements, all = w->wants.samples * w->target_elements;
    for (int64_t i = 0; i < all; i++) {
        target[i] = i < places ? labels[i] : ignored;
        if (target[i] == ignored) continue;
        if (target[i] < 0 || target[i] >= w->evaluated->classes)
            return bad_label(w, batch, from + i / w->target_elements, target[i]);
        w->result->count++;
    }
    return PLIM_OK;
}

static plim_status check_numbers(const struct work *w, const plim_data_batch *batch, int64_t from, int64_t count) {
    const float *numbers = (const float *)batch->fields[w->feed.target] + from * w->target_elements;
    for (int64_t i = 0; i < count * w->target_elements; i++) {
        char name[400];
        if (isfinite(numbers[i])) continue;
        plim_data_batch_sample_name(w->data, batch, from + i / w->target_elements, name, sizeof name);
        return plim__fail(w->error, PLIM_NUMERIC, "the data holds %s in its target, %s",
                          isnan(numbers[i]) ? "NaN" : "Inf", name);
    }
    return PLIM_OK;
}

static plim_status feed_target(struct work *w, const plim_data_batch *batch, int64_t from, int64_t count) {
    if (w->wants.target < 0) {
        w->result->count += count;
        return PLIM_OK;
    }
    if (w->evaluated->classes > 0) return feed_classes(w, batch, from, count);
    PLIM_TRY(check_numbers(w, batch, from, count));
    feed_input(w, w->wants.target, batch->fields[w->feed.target], (size_t)w->target_elements * sizeof(float), from,
               count);
    *(int64_t *)plim_session_input(w->session, PLIM__COUNT_NAME) = count * w->target_elements;
    w->result->count += count * w->target_elements;
    return PLIM_OK;
}

static double number(const struct work *w, const char *output) {
    const float *at = plim_session_output(w->session, output);
    return at ? (double)*at : 0;
}

static plim_status measure(struct work *w, const plim_data_batch *batch, int64_t from, int64_t count) {
    const float *scores = plim_session_output(w->session, PLIM__SCORES_NAME);
    const char *field = w->feed.target >= 0 ? batch->fields[w->feed.target] : NULL;
    if (!scores || !field)
        return plim__fail(w->error, PLIM_INVALID, "there are no scores to measure: it was made without .scores");
    size_t skipped = (size_t)(from * w->target_elements);
    if (w->evaluated->classes > 0)
        return plim_measures_add_classes(w->measures, scores, (const int64_t *)(const void *)field + skipped, count,
                                         w->target_elements, w->error);
    return plim_measures_add_numbers(w->measures, scores, (const float *)(const void *)field + skipped, count,
                                     w->error);
}

static plim_status run_part(struct work *w, const plim_data_batch *batch, int64_t from, int64_t count) {
    for (size_t i = 0; i < w->wants.count; i++)
        feed_input(w, w->wants.inputs[i], batch->fields[w->feed.inputs[i]], w->sample_bytes[i], from, count);
    PLIM_TRY(feed_target(w, batch, from, count));
    PLIM_TRY(plim_session_run(w->session, w->error));
    double weight = w->evaluated->weighs   ? number(w, PLIM__WEIGHT_NAME)
                    : w->wants.target >= 0 ? (double)(count * w->target_elements)
                                           : (double)count;
    if (w->evaluated->sums)
        w->loss += number(w, PLIM__LOSS_NAME);
    else if (weight > 0)
        w->loss += weight * number(w, PLIM__LOSS_NAME);
    w->weight += weight;
    w->correct += number(w, PLIM__CORRECT_NAME);
    return w->measures ? measure(w, batch, from, count) : PLIM_OK;
}

/* In pieces as large as the session takes. */
static plim_status run_batch(struct work *w, const plim_data_batch *batch) {
    int64_t size = w->wants.samples;
    if (w->wants.target < 0 && batch->count % size != 0)
        return plim__fail(
            w->error, PLIM_SHAPE,
            "a batch of %lld samples came to a session that takes %lld, and the model's own loss wants all",
            (long long)batch->count, (long long)size);
    for (int64_t from = 0; from < batch->count; from += size)
        PLIM_TRY(run_part(w, batch, from, batch->count - from < size ? batch->count - from : size));
    w->result->samples += batch->count;
    return PLIM_OK;
}

static plim_status evaluate(plim_session *session, plim_data *data, plim_measures *measures, plim_evaluation *result,
                            plim_error *error) {
    struct work w = {.session = session, .data = data, .result = result, .measures = measures, .error = error};
    plim_data_batch batch;
    *result = (plim_evaluation){0};
    plim_measures_clear(measures);
    PLIM_TRY(prepare(&w, data));
    for (bool last = false; !last; last = batch.last) {
        PLIM_TRY(plim_data_next(data, &batch, error));
        if (batch.count == 0 && !batch.last) break;
        PLIM_TRY(run_batch(&w, &batch));
    }
    if (w.evaluated->some) result->count = (int64_t)w.weight;
    if (w.weight > 0) result->loss = w.evaluated->sums ? w.loss : w.loss / w.weight;
    if (result->classifies && result->count) result->accuracy = w.correct / (double)result->count;
    return PLIM_OK;
}

plim_status plim_evaluate(plim_session *session, plim_data *data, plim_evaluation *result, plim_error *error) {
    PLIM__NEED(result, error);
    *result = (plim_evaluation){0};
    PLIM__NEED(session, error);
    PLIM__NEED(data, error);
    return evaluate(session, data, NULL, result, error);
}

plim_status plim_evaluate_measured(plim_session *session, plim_data *data, plim_measures *measures,
                                   plim_evaluation *result, plim_error *error) {
    PLIM__NEED(result, error);
    *result = (plim_evaluation){0};
    PLIM__NEED(session, error);
    PLIM__NEED(data, error);
    PLIM__NEED(measures, error);
    return evaluate(session, data, measures, result, error);
}
