/* Evaluation. */
#include "plimsoll/evaluate.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "graph/graph.h"

/* How the first output and the target lie: outer × classes × inner scores, outer × inner labels, for each sample. */
struct shape {
    int input, target; /* fields of the data */
    const char *input_name;
    const float *scores;
    int64_t outer, classes, inner; /* of one sample */
    bool classifies;
    int64_t batch;
};

static int64_t sample_elements(const plim_data_field *field) {
    int64_t elements = 1;
    for (int i = 0; i < field->rank; i++) elements *= field->dims[i];
    return elements;
}

static plim_status find_fields(plim_data *data, struct shape *s, plim_error *error) {
    s->input = s->target = -1;
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++) {
        if (field->target && s->target < 0) s->target = i;
        if (!field->target && s->input < 0) s->input = i;
    }
    if (s->input < 0 || s->target < 0)
        return plim__fail(error, PLIM_INVALID, "the data has no %s", s->input < 0 ? "input" : "target");
    return PLIM_OK;
}

static plim_status fit_input(plim_session *session, plim_data *data, struct shape *s, plim_error *error) {
    const plim_graph *g = plim_session_graph(session);
    if (g->inputs.count != 1)
        return plim__fail(error, PLIM_UNSUPPORTED, "the model has %zu inputs; evaluation feeds one", g->inputs.count);
    const plim__value *value = &g->values.items[g->inputs.items[0]];
    const plim_data_field *field = plim_data_field_at(data, s->input);
    s->input_name = value->name;
    s->batch = value->shape.rank > 0 ? value->shape.dims[0] : 0;
    char shape[PLIM_SHAPE_TEXT];
    if (value->dtype != field->dtype || s->batch < 1 ||
        plim__shape_elements(&value->shape) != s->batch * sample_elements(field))
        return plim__fail(error, PLIM_SHAPE,
                          "the data's '%s' (%s, %lld numbers a sample) does not fit the model's input '%s' (%s%s)",
                          field->name, plim_dtype_name(field->dtype), (long long)sample_elements(field), value->name,
                          plim_dtype_name(value->dtype), plim__shape_text(&value->shape, g, shape));
    plim_data_info info;
    plim_data_info_get(data, &info);
    return info.batch <= s->batch
               ? PLIM_OK
               : plim__fail(error, PLIM_SHAPE, "the data comes in batches of %lld, the session takes %lld",
                            (long long)info.batch, (long long)s->batch);
}

static plim_status fit_output(plim_session *session, plim_data *data, struct shape *s, plim_error *error) {
    const plim_graph *g = plim_session_graph(session);
    const plim__value *value = &g->values.items[g->outputs.items[0]];
    const plim_data_field *field = plim_data_field_at(data, s->target);
    const plim__shape *y = &value->shape;
    int64_t labels = sample_elements(field);
    s->scores = plim_session_output(session, value->name);
    s->classifies = field->dtype == PLIM_I64;
    if (value->dtype != PLIM_F32 || y->rank < 1 || y->dims[0] != s->batch)
        return plim__fail(error, PLIM_SHAPE, "the model's output '%s' is not a batch of float32", value->name);
    int64_t scores = plim__shape_product(y, 1, y->rank);
    if (!s->classifies) {
        s->outer = 1;
        s->classes = scores;
        s->inner = 1;
        if (scores == labels && field->dtype == PLIM_F32) return PLIM_OK;
    } else if (y->rank >= 2 && scores == labels * y->dims[y->rank - 1]) {
        s->outer = labels;
        s->classes = y->dims[y->rank - 1];
        s->inner = 1;
        return PLIM_OK;
    } else if (y->rank >= 3 && scores == labels * y->dims[1]) {
        s->outer = 1;
        s->classes = y->dims[1];
        s->inner = labels;
        return PLIM_OK;
    }
    char shape[PLIM_SHAPE_TEXT];
    return plim__fail(error, PLIM_SHAPE,
                      "the target '%s' (%s, %lld numbers a sample) does not fit the model's output '%s' (float32%s)",
                      field->name, plim_dtype_name(field->dtype), (long long)labels, value->name,
                      plim__shape_text(y, g, shape));
}

/* Cross entropy of one position; classes lie `step` apart. */
static double cross_entropy(const float *scores, int64_t classes, int64_t step, int64_t label, bool *right) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
        if (scores[c * step] > scores[best * step]) best = c;
    double sum = 0, peak = (double)scores[best * step];
    for (int64_t c = 0; c < classes; c++) sum += exp((double)scores[c * step] - peak);
    *right = best == label;
    return log(sum) + peak - (double)scores[label * step];
}

static plim_status score_classes(const struct shape *s, const plim_data_batch *batch, plim_evaluation *r,
                                 plim_error *error) {
    const int64_t *labels = batch->fields[s->target];
    int64_t places = batch->count * s->outer * s->inner;
    for (int64_t i = 0; i < places; i++) {
        int64_t unit = i / s->inner, at = i % s->inner;
        if (labels[i] < 0 || labels[i] >= s->classes)
            return plim__fail(error, PLIM_INVALID, "label %lld of sample %lld lies outside the model's %lld classes",
                              (long long)labels[i], (long long)(batch->position + i / (s->outer * s->inner)),
                              (long long)s->classes);
        bool right;
        r->loss +=
            cross_entropy(s->scores + unit * s->classes * s->inner + at, s->classes, s->inner, labels[i], &right);
        r->accuracy += right;
        r->count++;
    }
    return PLIM_OK;
}

static void score_numbers(const struct shape *s, const plim_data_batch *batch, plim_evaluation *r) {
    const float *targets = batch->fields[s->target];
    for (int64_t i = 0; i < batch->count * s->classes; i++) {
        double difference = (double)s->scores[i] - (double)targets[i];
        r->loss += difference * difference;
        r->count++;
    }
}

plim_status plim_evaluate(plim_session *session, plim_data *data, plim_evaluation *result, plim_error *error) {
    struct shape s = {0};
    *result = (plim_evaluation){0};
    PLIM_TRY(find_fields(data, &s, error));
    PLIM_TRY(fit_input(session, data, &s, error));
    PLIM_TRY(fit_output(session, data, &s, error));
    result->classifies = s.classifies;
    size_t sample = plim_data_field_at(data, s.input)->bytes;
    plim_data_batch batch;
    for (bool last = false; !last; last = batch.last) {
        PLIM_TRY(plim_data_next(data, &batch, error));
        if (batch.count == 0 && !batch.last) break;
        char *memory = plim_session_input(session, s.input_name);
        memcpy(memory, batch.fields[s.input], (size_t)batch.count * sample);
        memset(memory + (size_t)batch.count * sample, 0, (size_t)(s.batch - batch.count) * sample);
        PLIM_TRY(plim_session_run(session, error));
        if (s.classifies)
            PLIM_TRY(score_classes(&s, &batch, result, error));
        else
            score_numbers(&s, &batch, result);
        result->samples += batch.count;
    }
    if (result->count) {
        result->loss /= (double)result->count;
        result->accuracy /= (double)result->count;
    }
    return PLIM_OK;
}
