/* Gradients against central differences: one session computes the gradients, another the outputs around a point. */
#include "plimsoll/gradient.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "core/random.h"
#include "grad/gradient.h"
#include "graph/pass.h"
#include "kernel/processor.h"

#define DEFAULT_SAMPLES 24
#define DEFAULT_EPSILON 0.01

/* A value that is differentiated, fed as an input of both sessions. */
struct variable {
    char *name, *gradient; /* gradient: name of the output that holds it; NULL when the loss does not depend on it */
    int64_t count;
    float *data;
};

struct check {
    const plim_gradient_options *options;
    plim_graph *graph;
    char *output;
    plim_value value; /* the output */
    int64_t output_count;
    float *weights; /* of the output's elements in the loss */
    PLIM_VEC(struct variable) variables;
    plim_session *forward, *backward;
};

static void release(struct check *c) {
    for (size_t i = 0; i < c->variables.count; i++) {
        plim__free(c->variables.items[i].name);
        plim__free(c->variables.items[i].gradient);
        plim__free(c->variables.items[i].data);
    }
    plim__vec_free(&c->variables);
    plim__free(c->weights);
    plim__free(c->output);
    plim_session_free(c->forward);
    plim_session_free(c->backward);
    plim_graph_free(c->graph);
}

/* The same stages as training: sizes bound, shapes known, constants folded, patterns recognised. */
static plim_status prepare(struct check *c, plim_error *error) {
    plim_graph *g = c->graph;
    const plim_gradient_options *o = c->options;
    for (size_t i = 0; i < o->size_count; i++)
        PLIM_TRY(plim__graph_bind(g, o->sizes[i].symbol, o->sizes[i].size, error));
    PLIM_TRY(plim__graph_bind(g, NULL, o->batch > 0 ? o->batch : 1, error));
    PLIM_TRY(plim__infer_graph(g, plim__processor_fold, NULL, error));
    PLIM_TRY(plim__graph_prune(g, error));
    PLIM_TRY(plim__passes_run(g, NULL, true, error));
    PLIM_TRY(plim__infer_graph(g, plim__processor_fold, NULL, error));
    return plim__graph_prune(g, error);
}

static plim_status fix_inputs(struct check *c, plim_error *error) {
    for (size_t i = 0; i < c->options->fixed_count; i++) {
        const plim_fixed_input *fixed = &c->options->fixed[i];
        plim_value v = plim_graph_find(c->graph, fixed->name);
        if (v < 0 || c->graph->values.items[v].kind != PLIM__VALUE_INPUT || fixed->rank < 0 ||
            fixed->rank > PLIM_MAX_RANK)
            return plim__fail(error, PLIM_NOT_FOUND, "the model has no input '%s' of rank %d", fixed->name,
                              fixed->rank);
        plim__value *value = &c->graph->values.items[v];
        plim__shape shape = plim__shape_of(fixed->rank, fixed->dims);
        PLIM_TRY(plim__tensor_create(fixed->dtype, &shape, &value->tensor, error));
        memcpy(value->tensor->data, fixed->data, value->tensor->bytes);
        value->kind = PLIM__VALUE_CONSTANT;
        value->shape = shape;
        size_t kept = 0;
        for (size_t k = 0; k < c->graph->inputs.count; k++)
            if (c->graph->inputs.items[k] != v) c->graph->inputs.items[kept++] = c->graph->inputs.items[k];
        c->graph->inputs.count = kept;
    }
    return PLIM_OK;
}

/* Parameters become inputs, so that both sessions can be fed with changed ones. */
static plim_status add_variable(struct check *c, plim_value v, plim_error *error) {
    plim__value *value = &c->graph->values.items[v];
    struct variable made = {.count = plim__shape_elements(&value->shape)};
    made.name = plim__strdup(value->name);
    made.data = plim__alloc_array((size_t)made.count, sizeof *made.data);
    plim_status status =
        made.name && made.data ? PLIM_OK : plim__fail_memory(error, "a gradient check", (size_t)made.count * 4);
    const plim_gradient_options *o = c->options;
    double low = o->low < o->high ? o->low : -1, high = o->low < o->high ? o->high : 1;
    if (status == PLIM_OK && value->kind == PLIM__VALUE_PARAMETER)
        status = plim__tensor_read(value->tensor, made.data, error);
    else
        for (int64_t i = 0; status == PLIM_OK && i < made.count; i++)
            made.data[i] =
                (float)(low + (high - low) * (double)plim__random_uniform(o->seed, (uint64_t)v, (uint64_t)i));
    if (status == PLIM_OK && value->kind == PLIM__VALUE_PARAMETER) {
        value->kind = PLIM__VALUE_INPUT;
        plim__tensor_release(value->tensor);
        value->tensor = NULL;
        if (!plim__vec_push(&c->graph->inputs, v)) status = plim__fail_memory(error, "a gradient check", sizeof v);
    }
    if (status == PLIM_OK && !plim__vec_push(&c->variables, made))
        status = plim__fail_memory(error, "a gradient check", sizeof made);
    if (status != PLIM_OK) {
        plim__free(made.name);
        plim__free(made.data);
    }
    return status;
}

static plim_status find_variables(struct check *c, plim_error *error) {
    int32_t *uses = plim__graph_uses(c->graph);
    if (!uses) return plim__fail_memory(error, "a gradient check", c->graph->values.count * sizeof *uses);
    plim_status status = PLIM_OK;
    for (size_t v = 0; status == PLIM_OK && v < c->graph->values.count; v++) {
        const plim__value *value = &c->graph->values.items[v];
        bool fed = value->kind == PLIM__VALUE_INPUT, trained = value->kind == PLIM__VALUE_PARAMETER && uses[v] > 0;
        if (fed && value->dtype != PLIM_F32)
            status = plim__fail(error, PLIM_DTYPE, "input '%s' is %s: give it as a fixed input", value->name,
                                plim_dtype_name(value->dtype));
        else if ((fed || trained) && value->dtype == PLIM_F32)
            status = add_variable(c, (plim_value)v, error);
    }
    plim__free(uses);
    return status;
}

static plim_status find_output(struct check *c, plim_error *error) {
    const plim_graph *g = c->graph;
    c->value = PLIM_NO_VALUE;
    for (size_t i = 0; i < g->outputs.count; i++) {
        const char *name = g->values.items[g->outputs.items[i]].name;
        if (c->options->output ? strcmp(name, c->options->output) == 0 : i == 0) c->value = g->outputs.items[i];
    }
    if (c->value < 0)
        return plim__fail(error, PLIM_NOT_FOUND, "the model has no output '%s'",
                          c->options->output ? c->options->output : "");
    if (g->values.items[c->value].dtype != PLIM_F32)
        return plim__fail(error, PLIM_DTYPE, "output '%s' is not float32", g->values.items[c->value].name);
    c->output = plim__strdup(g->values.items[c->value].name);
    c->output_count = plim__shape_elements(&g->values.items[c->value].shape);
    c->weights = plim__alloc_array((size_t)c->output_count, sizeof *c->weights);
    if (!c->output || !c->weights) return plim__fail_memory(error, "a gradient check", (size_t)c->output_count * 4);
    for (int64_t i = 0; i < c->output_count; i++)
        c->weights[i] = 2 * plim__random_uniform(c->options->seed, 0x6c6f7373, (uint64_t)i) - 1;
    return PLIM_OK;
}

/* loss = sum(output · weights), as nodes. */
static plim_value add_loss(struct check *c) {
    plim__shape shape = c->graph->values.items[c->value].shape;
    plim_value w = plim_graph_constant(c->graph, NULL, PLIM_F32, shape.rank, shape.dims, c->weights);
    plim_value product = plim_graph_apply(c->graph, "Mul", (plim_value[]){c->value, w}, 2);
    int32_t sum = plim_graph_node(c->graph, "ReduceSum", NULL, &product, 1, 1);
    plim_graph_set_int(c->graph, sum, "keepdims", 0);
    return plim_graph_node_output(c->graph, sum, 0);
}

static plim_status session_of(struct check *c, plim_session **session, plim_error *error) {
    plim_session_options options = {.threads = c->options->threads};
    return plim_session_create(c->graph, &options, session, error);
}

static plim_status differentiate(struct check *c, plim_error *error) {
    plim_graph *g = c->graph;
    size_t count = c->variables.count;
    plim_value *targets = plim__alloc_array(count, sizeof *targets),
               *gradients = plim__alloc_array(count, sizeof *gradients);
    plim_status status =
        targets && gradients ? PLIM_OK : plim__fail_memory(error, "a gradient check", count * sizeof *targets);
    for (size_t i = 0; status == PLIM_OK && i < count; i++) targets[i] = plim_graph_find(g, c->variables.items[i].name);
    plim_value loss = add_loss(c);
    if (status == PLIM_OK) status = plim_graph_status(g, error);
    if (status == PLIM_OK) status = plim__infer_graph(g, NULL, NULL, error);
    if (status == PLIM_OK) status = plim__gradients_build(g, loss, targets, count, gradients, error);
    g->outputs.count = 0;
    for (size_t i = 0; status == PLIM_OK && i < count; i++) {
        if (gradients[i] < 0) continue;
        c->variables.items[i].gradient = plim__strdup(g->values.items[gradients[i]].name);
        if (!c->variables.items[i].gradient) status = plim__fail_memory(error, "a gradient check", 1);
        plim_graph_output(g, gradients[i], NULL);
    }
    plim__free(targets);
    plim__free(gradients);
    if (status == PLIM_OK) status = session_of(c, &c->backward, error);
    /* the differences are taken of the forward pass as training runs it */
    g->outputs.count = 0;
    plim_graph_output(g, c->value, NULL);
    if (status == PLIM_OK) status = plim__graph_prune(g, error);
    return status == PLIM_OK ? session_of(c, &c->forward, error) : status;
}

static plim_status run(const struct check *c, plim_session *s, plim_error *error) {
    for (size_t i = 0; i < c->variables.count; i++) {
        void *to = plim_session_input(s, c->variables.items[i].name);
        if (to && c->variables.items[i].count)
            memcpy(to, c->variables.items[i].data, (size_t)c->variables.items[i].count * sizeof(float));
    }
    return plim_session_run(s, error);
}

static plim_status loss_at(const struct check *c, float *entry, float value, double *loss, plim_error *error) {
    float kept = *entry;
    *entry = value;
    plim_status status = run(c, c->forward, error);
    *entry = kept;
    PLIM_TRY(status);
    const float *y = plim_session_output(c->forward, c->output);
    *loss = 0;
    for (int64_t i = 0; i < c->output_count; i++) *loss += (double)y[i] * (double)c->weights[i];
    return PLIM_OK;
}

static plim_status central(const struct check *c, float *entry, double h, double *slope, plim_error *error) {
    double up, down;
    float high = (float)((double)*entry + h), low = (float)((double)*entry - h);
    PLIM_TRY(loss_at(c, entry, high, &up, error));
    PLIM_TRY(loss_at(c, entry, low, &down, error));
    *slope = (up - down) / ((double)high - (double)low);
    return PLIM_OK;
}

/* The slope from steps h and h/2; false in *smooth when they disagree: a kink lies between. */
static plim_status numeric_slope(const struct check *c, float *entry, double scale, double *slope, bool *smooth,
                                 plim_error *error) {
    double h = (c->options->epsilon > 0 ? c->options->epsilon : DEFAULT_EPSILON) * fmax(1, fabs((double)*entry));
    for (int attempt = 0; attempt < 2; attempt++, h /= 8) {
        double wide, narrow;
        PLIM_TRY(central(c, entry, h, &wide, error));
        PLIM_TRY(central(c, entry, h / 2, &narrow, error));
        *slope = narrow + (narrow - wide) / 3;
        *smooth = fabs(wide - narrow) <= 0.01 * scale + 1e-5;
        if (*smooth) break;
    }
    return PLIM_OK;
}

/* One entry of a variable. */
struct entry {
    struct variable *of;
    int64_t index;
    double analytic; /* its gradient */
    double scale;    /* the largest of the variable */
};

static plim_status check_entry(const struct check *c, const struct entry *entry, plim_gradient_result *result,
                               plim_error *error) {
    double numeric, scale = entry->scale;
    bool smooth;
    PLIM_TRY(numeric_slope(c, &entry->of->data[entry->index], scale, &numeric, &smooth, error));
    if (!smooth) {
        result->skipped++;
        return PLIM_OK;
    }
    result->checked++;
    double off = fabs(numeric - entry->analytic) / fmax(fmax(scale, fabs(numeric)), 1e-3);
    if (off <= result->error) return PLIM_OK; /* not for NaN */
    result->error = off;
    result->index = entry->index;
    result->analytic = entry->analytic;
    result->numeric = numeric;
    snprintf(result->value, sizeof result->value, "%s", entry->of->name);
    return PLIM_OK;
}

static plim_status compare(struct check *c, plim_gradient_result *result, plim_error *error) {
    int64_t samples = c->options->samples > 0 ? c->options->samples : DEFAULT_SAMPLES;
    PLIM_TRY(run(c, c->backward, error));
    for (size_t i = 0; i < c->variables.count; i++) {
        struct variable *x = &c->variables.items[i];
        const float *gradient = x->gradient ? plim_session_output(c->backward, x->gradient) : NULL;
        if (x->gradient && !gradient) return plim__fail(error, PLIM_INTERNAL, "the gradient of '%s' is lost", x->name);
        double scale = 0;
        for (int64_t k = 0; gradient && k < x->count; k++) scale = fmax(scale, fabs((double)gradient[k]));
        result->values++;
        int64_t tries = x->count < samples ? x->count : samples;
        for (int64_t k = 0; k < tries; k++) {
            int64_t index =
                x->count <= samples
                    ? k
                    : (int64_t)(plim__random_bits(c->options->seed, i + 1, (uint64_t)k) % (uint64_t)x->count);
            struct entry entry = {x, index, gradient ? (double)gradient[index] : 0, scale};
            PLIM_TRY(check_entry(c, &entry, result, error));
        }
    }
    return PLIM_OK;
}

static plim_status check_options(const plim_gradient_options *o, plim_error *error) {
    PLIM_TRY(plim__threads_check(o->threads, error));
    if (o->batch < 0 || o->samples < 0)
        return plim__fail(error, PLIM_INVALID, "batch and samples must not be negative");
    if (!(o->epsilon >= 0) || isinf(o->epsilon) || !isfinite(o->low) || !isfinite(o->high))
        return plim__fail(error, PLIM_INVALID, "epsilon, low and high must be finite, and epsilon not negative");
    if ((o->size_count && !o->sizes) || (o->fixed_count && !o->fixed))
        return plim__fail(error, PLIM_INVALID, "sizes or fixed is NULL, but there are some");
    return PLIM_OK;
}

plim_status plim_gradient_check(const plim_graph *graph, const plim_gradient_options *options,
                                plim_gradient_result *result, plim_error *error) {
    plim_gradient_options o;
    PLIM__NEED(result, error);
    *result = (plim_gradient_result){.index = -1};
    PLIM__NEED(graph, error);
    PLIM__OPTIONS(plim_gradient_options, o, options, error);
    PLIM_TRY(check_options(&o, error));
    PLIM_TRY(plim_graph_status(graph, error));
    struct check c = {.options = &o, .graph = plim_graph_clone(graph)};
    plim_status status =
        c.graph ? fix_inputs(&c, error) : plim__fail_memory(error, "a copy of the graph", sizeof *c.graph);
    if (status == PLIM_OK) status = prepare(&c, error);
    if (status == PLIM_OK) status = find_output(&c, error);
    if (status == PLIM_OK) status = find_variables(&c, error);
    if (status == PLIM_OK) status = differentiate(&c, error);
    if (status == PLIM_OK) status = compare(&c, result, error);
    release(&c);
    return status;
}
