/* From a model to a training graph. */
#include "grad/training.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "grad/base.h"
#include "grad/gradient.h"
#include "graph/pass.h"
#include "graph/passes/export/provenance.h"

/* A running statistic and the value that takes its place after each run, both by name: passes may move values. */
struct statistic {
    char *now, *next;
};

struct work {
    plim_graph *g;
    plim__training *made;
    const plim__training_options *options;
    PLIM_VEC(struct statistic) statistics;
    bool moves; /* buffers that are no statistics of batch norms */
    plim_error *error;
};

static plim_status no_memory(const struct work *w) { return plim__fail_memory(w->error, "a training graph", 1); }

plim_status plim__bind_sizes(plim_graph *g, const plim_size *sizes, size_t count, int64_t batch, plim_error *error) {
    for (size_t i = 0; i < count; i++) PLIM_TRY(plim__graph_bind(g, sizes[i].symbol, sizes[i].size, error));
    return plim__graph_bind(g, NULL, batch > 0 ? batch : 1, error);
}

/* --- before the loss ------------------------------------------------------------------------------------------ */

void plim__fix_constants(plim_graph *g) {
    for (size_t v = 0; v < g->values.count; v++) {
        plim__value *value = &g->values.items[v];
        bool setting = value->role == PLIM__ROLE_DECLARED && value->shape.rank == 0;
        if (value->kind == PLIM__VALUE_PARAMETER && (setting || !plim__role_trained(value->role)))
            value->kind = PLIM__VALUE_CONSTANT;
    }
}

/* What the caller wants trained, whatever the file or the rules say. */
static plim_status choose(struct work *w) {
    for (size_t k = 0; k < w->options->trainable_count; k++) {
        size_t found = 0;
        for (size_t v = 0; v < w->g->values.count; v++) {
            plim__value *value = &w->g->values.items[v];
            if (value->kind != PLIM__VALUE_PARAMETER || fnmatch(w->options->trainable[k], value->name, 0) != 0)
                continue;
            if (!plim__role_trained(value->role) || value->role == PLIM__ROLE_DECLARED) value->role = PLIM__ROLE_CHOSEN;
            found++;
        }
        if (!found)
            return plim__fail(w->error, PLIM_NOT_FOUND, "no tensor of floats matches '%s' (--trainable)",
                              w->options->trainable[k]);
    }
    return PLIM_OK;
}

/* Frozen parameters become constants: no gradient, no state, and nothing saved for them. */
static plim_status freeze(struct work *w) {
    for (size_t k = 0; k < w->options->freeze_count; k++) {
        size_t found = 0;
        for (size_t v = 0; v < w->g->values.count; v++) {
            plim__value *value = &w->g->values.items[v];
            if (value->kind != PLIM__VALUE_PARAMETER || fnmatch(w->options->freeze[k], value->name, 0) != 0) continue;
            value->kind = PLIM__VALUE_CONSTANT;
            found++;
        }
        if (!found)
            return plim__fail(w->error, PLIM_NOT_FOUND, "no parameter matches '%s' (--freeze)", w->options->freeze[k]);
        w->made->frozen_count += found;
    }
    return PLIM_OK;
}

static bool is_training_norm(const plim__node *node) {
    return !node->dead && !*node->domain && strcmp(node->op_name, "BatchNormalization") == 0 &&
           node->inputs.count == 5 && plim__node_int(node, "training_mode", 0) != 0;
}

/* Running statistics are state; what follows them is an output for now, so that it survives every pass. */
static plim_status note_statistic(struct work *w, plim_value now, plim_value next) {
    now = plim__running_root(w->g, now);
    if (now < 0 || next < 0) return PLIM_OK;
    plim__value *value = &w->g->values.items[now];
    for (size_t i = 0; i < w->statistics.count; i++)
        if (strcmp(w->statistics.items[i].now, value->name) == 0) {
            plim__free(w->statistics.items[i].next); /* the layer is called once more */
            w->statistics.items[i].next = plim__strdup(w->g->values.items[next].name);
            return w->statistics.items[i].next ? PLIM_OK : no_memory(w);
        }
    if (value->kind != PLIM__VALUE_PARAMETER && value->kind != PLIM__VALUE_CONSTANT) return PLIM_OK;
    value->kind = PLIM__VALUE_STATE;
    struct statistic names = {plim__strdup(value->name), plim__strdup(w->g->values.items[next].name)};
    if (!names.now || !names.next || !plim__vec_push(&w->statistics, names)) {
        plim__free(names.now);
        plim__free(names.next);
        return no_memory(w);
    }
    return PLIM_OK;
}

/* Buffers that the file says the module moves, and what they become. */
static plim_status note_buffers(struct work *w) {
    plim__signature listed;
    plim_status status = plim__signature_read(w->g->info.signature, &listed, w->error);
    for (size_t i = 0; status == PLIM_OK && i < listed.moved.count; i++) {
        plim_value now = plim_graph_find(w->g, listed.moved.items[i].target),
                   next = plim_graph_find(w->g, listed.moved.items[i].value);
        if (now < 0 || next < 0) continue;
        w->moves = true;
        status = note_statistic(w, now, next);
    }
    plim__signature_free(&listed);
    return status;
}

static plim_status prepare_norms(struct work *w) {
    PLIM_TRY(plim__batch_norms_to_training_mode(w->g, w->error));
    for (size_t n = 0; n < w->g->nodes.count; n++) {
        const plim__node *node = &w->g->nodes.items[n];
        if (!is_training_norm(node)) continue;
        plim_value in[2] = {plim__node_in(node, 3), plim__node_in(node, 4)},
                   out[2] = {plim__node_out(node, 1), plim__node_out(node, 2)};
        for (int i = 0; i < 2; i++) PLIM_TRY(note_statistic(w, in[i], out[i]));
    }
    return note_buffers(w);
}

/* --- the loss ------------------------------------------------------------------------------------------------- */

static plim_status infer(struct work *w) { return plim__infer_graph(w->g, w->options->fold, NULL, w->error); }

/* The graph's only outputs are what training reads; the model's own would keep memory alive. */
static plim_status set_outputs(struct work *w, const plim__loss_parts *parts) {
    w->g->outputs.count = 0;
    plim_graph_output(w->g, parts->loss, "plimsoll.loss");
    plim_graph_output(w->g, parts->weight, "plimsoll.weight");
    if (parts->correct >= 0) plim_graph_output(w->g, parts->correct, "plimsoll.correct");
    for (size_t i = 0; i < w->statistics.count; i++) {
        plim_value next = plim_graph_find(w->g, w->statistics.items[i].next);
        if (next >= 0) plim_graph_output(w->g, next, NULL);
    }
    return plim_graph_status(w->g, w->error);
}

static plim_status add_loss(struct work *w) {
    plim__loss_parts parts = {PLIM_NO_VALUE, PLIM_NO_VALUE, PLIM_NO_VALUE, PLIM_NO_VALUE};
    PLIM_TRY(plim__loss_append(w->g, w->options->loss, &parts, w->error));
    w->made->target = parts.target;
    w->made->classes = plim__loss_classes(w->g, parts.target);
    w->made->loss = parts.loss;
    PLIM_TRY(set_outputs(w, &parts));
    PLIM_TRY(plim__graph_sort(w->g, w->error));
    return plim__graph_prune(w->g, w->error);
}

/* The model for one size of the batch, with its loss, as it is before any pass. */
static plim_status build_forward(struct work *w, const plim_graph *model, int64_t batch) {
    const plim__training_options *o = w->options;
    w->g = w->made->graph = plim_graph_clone(model);
    if (!w->g) return no_memory(w);
    PLIM_TRY(plim__graph_widen(w->g, w->error));
    PLIM_TRY(choose(w));
    plim__fix_constants(w->g);
    PLIM_TRY(freeze(w));
    w->made->base = o->base;
    if (o->base) PLIM_TRY(plim__base_pack(w->g, o->base, &w->made->base_saved, w->error));
    PLIM_TRY(prepare_norms(w));
    PLIM_TRY(plim__bind_sizes(w->g, o->sizes, o->size_count, batch, w->error));
    PLIM_TRY(infer(w));
    PLIM_TRY(plim__dropouts_to_training_mode(w->g, o->seed, w->error)); /* the passes would take them for identities */
    return add_loss(w);
}

static plim_status simplify(struct work *w) {
    PLIM_TRY(plim__passes_run(w->g, NULL, true, w->error));
    PLIM_TRY(infer(w)); /* new nodes need types; folding may find more */
    PLIM_TRY(plim__graph_prune(w->g, w->error));
    if (w->options->loss_rows > 0) PLIM_TRY(plim__linear_losses_fuse(w->g, w->options->loss_rows, w->error));
    w->made->loss = plim_graph_find(w->g, "plimsoll.loss");
    w->made->weight = plim_graph_find(w->g, "plimsoll.weight");
    w->made->correct = plim_graph_find(w->g, "plimsoll.correct");
    return PLIM_OK;
}

/* --- whether the batch can be split --------------------------------------------------------------------------- */

static void work_end(struct work *w) {
    for (size_t i = 0; i < w->statistics.count; i++) {
        plim__free(w->statistics.items[i].now);
        plim__free(w->statistics.items[i].next);
    }
    plim__vec_free(&w->statistics);
}

static plim_status judge_pair(struct work *w, struct work *other, int64_t other_batch) {
    int64_t batch = w->options->batch;
    plim__batch_pair pair = {w->g, other->g, batch, other_batch};
    if (other_batch > batch) pair = (plim__batch_pair){other->g, w->g, other_batch, batch};
    plim__batch *values = plim__alloc_array(pair.whole->values.count, sizeof *values);
    if (!values) return no_memory(w);
    plim__batch_axes_find(&pair, w->made->loss, values, &w->made->split);
    for (size_t v = 0; v < w->g->values.count && v < pair.whole->values.count; v++)
        w->g->values.items[v].batch = values[v];
    plim__free(values);
    return PLIM_OK;
}

/* Builds the model once more: for the whole batch, or for half of it. */
static plim_status judge(struct work *w, const plim_graph *model) {
    int64_t batch = w->options->batch, other = w->options->whole > batch ? w->options->whole : (batch + 1) / 2;
    plim__batch_verdict *split = &w->made->split;
    *split = (plim__batch_verdict){.weight = PLIM_NO_VALUE};
    if (other == batch) return PLIM_OK; /* one sample */
    plim__training made = {0};
    plim_error error = {0};
    struct work twin = {.options = w->options, .made = &made, .error = &error};
    plim_status status = build_forward(&twin, model, other);
    if (status == PLIM_OK) {
        status = judge_pair(w, &twin, other);
    } else if (status == PLIM_NO_MEMORY) {
        plim__fail(w->error, status, "%s", error.message);
    } else {
        snprintf(split->why, sizeof split->why, "with %lld samples: %.120s", (long long)other, error.message);
        status = PLIM_OK;
    }
    if (status == PLIM_OK && w->moves) {
        split->split = PLIM__SPLIT_NEVER;
        snprintf(split->why, sizeof split->why, "the module moves buffers once for each batch");
    }
    work_end(&twin);
    plim_graph_free(made.graph);
    return status;
}

/* Random operators count the samples of the whole batch: {elements before, samples, elements after} the batch axis. */
static plim_status count_samples(struct work *w) {
    for (size_t n = 0; n < w->g->nodes.count; n++) {
        const plim__node *node = &w->g->nodes.items[n];
        if (node->dead || !node->op || !(node->op->flags & PLIM__OP_RANDOM)) continue;
        const plim__value *x = &w->g->values.items[node->inputs.count ? node->inputs.items[0] : node->outputs.items[0]];
        if (x->batch.kind != PLIM__BATCH_AXIS) continue;
        int64_t counts[] = {plim__shape_product(&x->shape, 0, x->batch.axis) * x->batch.outer, w->options->batch,
                            x->batch.inner * plim__shape_product(&x->shape, x->batch.axis + 1, x->shape.rank)};
        plim_graph_set_ints(w->g, (int32_t)n, "samples", counts, 3);
    }
    return plim_graph_status(w->g, w->error);
}

/* A mean over the targets that count is weighted by these, where that is not what the loss brings itself. */
static plim_status weigh_loss(struct work *w) {
    plim_value weight = w->made->split.weight, own = w->g->outputs.items[1];
    if (weight < 0 || weight == own) return PLIM_OK;
    PLIM_TRY(plim__loss_weight(w->g, weight, &weight, w->error));
    PLIM_TRY(plim__graph_swap_names(w->g, weight, own));
    w->g->outputs.items[1] = weight;
    return plim__graph_sort(w->g, w->error);
}

/* --- backward and update -------------------------------------------------------------------------------------- */

/* A node of ours that changes `target`, with everything it needs known. */
static plim_status add_write(struct work *w, const char *op, plim_value target, plim_value value) {
    int32_t n = plim__graph_add_node(w->g, PLIM__DOMAIN, op, NULL, 1);
    plim__node_add_input(w->g, n, target);
    plim__node_add_input(w->g, n, value);
    PLIM_TRY(plim_graph_status(w->g, w->error));
    plim__node *node = &w->g->nodes.items[n];
    node->phase = PLIM__BACKWARD;
    node->op = plim__op_find(node->domain, node->op_name, node->version);
    return node->op ? PLIM_OK : plim__fail(w->error, PLIM_INTERNAL, "there is no operator %s", op);
}

static plim_status find_parameters(struct work *w) {
    int32_t *uses = plim__graph_uses(w->g);
    plim__training *made = w->made;
    made->parameters = plim__alloc_array(w->g->values.count, sizeof *made->parameters);
    made->gradients = plim__alloc_array(w->g->values.count, sizeof *made->gradients);
    for (size_t v = 0; uses && made->parameters && v < w->g->values.count; v++)
        if (w->g->values.items[v].kind == PLIM__VALUE_PARAMETER && w->g->values.items[v].dtype == PLIM_F32 && uses[v])
            made->parameters[made->parameter_count++] = (plim_value)v;
    plim__free(uses);
    return uses && made->parameters && made->gradients ? PLIM_OK : no_memory(w);
}

static plim_value add_input(struct work *w, const char *name, plim_dtype dtype, const plim__shape *shape) {
    plim_value v = plim__graph_add_value(w->g, name, PLIM__VALUE_INPUT, dtype, shape);
    if (v >= 0 && !plim__vec_push(&w->g->inputs, v))
        plim__graph_fail(w->g, PLIM_NO_MEMORY, "out of memory while building a training graph");
    return v;
}

/* Halves have a small range: all gradients are times a number that updates divide by again. */
static plim_status scale_loss(struct work *w, plim_value *objective) {
    w->made->loss_scale = w->made->checked = PLIM_NO_VALUE;
    if (w->options->precision != PLIM_PRECISION_F16) return PLIM_OK;
    w->made->loss_scale = add_input(w, "plimsoll.loss_scale", PLIM_F32, &(plim__shape){.rank = 0});
    PLIM_TRY(plim_graph_status(w->g, w->error));
    plim__gradient d = {.graph = w->g, .node = -1, .error = w->error};
    *objective = plim__gradient_two(&d, "Mul", *objective, w->made->loss_scale);
    return plim_graph_status(w->g, w->error);
}

/* The gradient of the loss; of the loss times the weight of its targets when several runs make a batch, so that they
 * add up to a sum over the whole batch. A loss that is a sum adds up as it is. */
static plim_status add_backward(struct work *w) {
    plim__training *made = w->made;
    plim_value objective = made->loss;
    if (w->options->sums && made->split.combine == PLIM__COMBINE_MEAN) {
        plim__gradient d = {.graph = w->g, .node = -1, .error = w->error};
        objective = plim__gradient_two(&d, "Mul", made->loss, made->weight);
        PLIM_TRY(plim_graph_status(w->g, w->error));
    }
    PLIM_TRY(scale_loss(w, &objective));
    PLIM_TRY(
        plim__gradients_build(w->g, objective, made->parameters, made->parameter_count, made->gradients, w->error));
    size_t count = 0, all = made->parameter_count; /* those that the loss does not depend on have no gradient */
    for (size_t i = 0; i < made->parameter_count; i++) {
        if (made->gradients[i] < 0) continue;
        made->parameters[count] = made->parameters[i];
        made->gradients[count++] = made->gradients[i];
        w->g->values.items[made->gradients[i]].is_gradient = true;
    }
    made->parameter_count = count;
    if (count == 0)
        return plim__fail(w->error, PLIM_INVALID, "there is nothing to train: the loss depends on no parameter%s",
                          made->frozen_count ? " that is not frozen"
                          : all              ? ""
                                : "; the model has none: weights are tensors of the file (initializers) that "
                                  "are neither buffers nor constants; inspect --weights says what each is");
    return PLIM_OK;
}

/* Variants for other sizes find sums by their names. */
static plim_status add_sums(struct work *w) {
    for (size_t i = 0; i < w->made->parameter_count; i++) {
        plim_value gradient = w->made->gradients[i];
        plim__shape shape = w->g->values.items[gradient].shape;
        plim__str name = {0};
        plim__str_addf(&name, "%s.sum", w->g->values.items[w->made->parameters[i]].name);
        plim_value sum = plim__graph_add_value(w->g, name.failed ? NULL : name.data, PLIM__VALUE_SUM, PLIM_F32, &shape);
        plim__str_free(&name);
        PLIM_TRY(plim_graph_status(w->g, w->error));
        w->g->values.items[sum].is_gradient = true;
        PLIM_TRY(add_write(w, "Accumulate", sum, gradient));
        w->made->gradients[i] = sum;
    }
    return PLIM_OK;
}

static plim_status add_update(struct work *w) {
    plim__training *made = w->made;
    made->update = add_input(w, "plimsoll.update", PLIM_F64, &(plim__shape){.rank = 1, .dims = {2}});
    made->scale = PLIM_NO_VALUE;
    bool checks = made->loss_scale >= 0;
    if (w->options->sums || checks) made->scale = add_input(w, "plimsoll.scale", PLIM_F32, &(plim__shape){.rank = 0});
    if (w->options->sums) PLIM_TRY(add_sums(w));
    PLIM_TRY(plim_graph_status(w->g, w->error));
    plim__updates updates = {.parameters = made->parameters,
                             .gradients = made->gradients,
                             .count = made->parameter_count,
                             .update = made->update,
                             .scale = made->scale,
                             .state_bits = w->options->state_bits,
                             .saved = &made->state_saved,
                             .rates = w->options->rates,
                             .rate_count = w->options->rate_count,
                             .checked = checks ? &made->checked : NULL};
    PLIM_TRY(plim__optimizer_append(w->g, w->options->optimizer, &updates, w->error));
    for (size_t i = 0; i < w->statistics.count; i++) {
        plim_value now = plim_graph_find(w->g, w->statistics.items[i].now),
                   next = plim_graph_find(w->g, w->statistics.items[i].next);
        if (now < 0 || next < 0) continue;
        if (!plim__shape_equal(&w->g->values.items[now].shape, &w->g->values.items[next].shape))
            return plim__fail(w->error, PLIM_CORRUPT, "the file says that '%.100s' becomes '%.100s', of another shape",
                              w->statistics.items[i].now, w->statistics.items[i].next);
        PLIM_TRY(add_write(w, "Assign", now, next));
    }
    return PLIM_OK;
}

/* Inputs bring one sample for each of the batch: a model for another batch would be planned and run for that one. */
static plim_status check_batch(struct work *w) {
    for (size_t i = 0; i < w->g->inputs.count; i++) {
        const plim__value *input = &w->g->values.items[w->g->inputs.items[i]];
        if (i + 1 == w->g->inputs.count && w->made->target >= 0) break; /* ours */
        if (input->shape.rank < 1 || input->shape.dims[0] == w->options->batch) continue;
        char shape[PLIM_SHAPE_TEXT];
        return plim__fail(w->error, PLIM_SHAPE,
                          "the model's input '%.100s' is %s%s: the model is for batches of %lld, not of %lld (a short "
                          "last batch is left out with --drop-last)",
                          input->name, plim_dtype_name(input->dtype), plim__shape_text(&input->shape, w->g, shape),
                          (long long)input->shape.dims[0], (long long)w->options->batch);
    }
    return PLIM_OK;
}

static plim_status build(struct work *w, const plim_graph *model) {
    const plim__training_options *o = w->options;
    PLIM_TRY(plim_graph_status(model, w->error));
    PLIM_TRY(build_forward(w, model, o->batch));
    PLIM_TRY(check_batch(w));
    PLIM_TRY(judge(w, model));
    PLIM_TRY(count_samples(w));
    PLIM_TRY(weigh_loss(w));
    PLIM_TRY(simplify(w));
    PLIM_TRY(find_parameters(w));
    PLIM_TRY(add_backward(w));
    bool half = o->precision == PLIM_PRECISION_F16, narrow = half || o->precision == PLIM_PRECISION_BF16;
    if (!o->whole_saved) PLIM_TRY(plim__gradients_encode(w->g, narrow, &w->made->bits_saved, w->error));
    if (narrow)
        PLIM_TRY(plim__gradients_narrow(w->g, half ? PLIM_F16 : PLIM_BF16, o->narrow_factors, &w->made->narrow_saved,
                                        w->error));
    PLIM_TRY(add_update(w));
    size_t kept = w->made->correct >= 0 ? 3 : 2; /* statistics are persistent, and no outputs any more */
    if (w->g->outputs.count > kept) w->g->outputs.count = kept;
    PLIM_TRY(plim__graph_sort(w->g, w->error));
    return plim__graph_prune(w->g, w->error);
}

plim_status plim__training_create(const plim_graph *model, const plim__training_options *options,
                                  plim__training **training, plim_error *error) {
    struct work w = {.options = options, .error = error};
    w.made = *training = plim__alloc_zero(1, sizeof *w.made);
    if (!w.made) return plim__fail_memory(error, "a training graph", sizeof *w.made);
    plim_status status = build(&w, model);
    work_end(&w);
    if (status == PLIM_OK) return PLIM_OK;
    plim__training_free(w.made);
    *training = NULL;
    return status;
}

void plim__training_free(plim__training *training) {
    if (!training) return;
    plim_graph_free(training->graph);
    plim__free(training->parameters);
    plim__free(training->gradients);
    plim__free(training);
}

plim_status plim__training_judge_weight(const plim_graph *model, const plim__training_options *options,
                                        plim__batch_verdict *verdict, char **weight, plim_error *error) {
    plim__training made = {0};
    plim_error why = {0};
    struct work w = {.options = options, .made = &made, .error = &why};
    *verdict = (plim__batch_verdict){.weight = PLIM_NO_VALUE};
    *weight = NULL;
    plim_status status = build_forward(&w, model, options->batch);
    if (status == PLIM_OK) status = judge(&w, model);
    if (status == PLIM_OK && made.split.weight >= 0) {
        *weight = plim__strdup(w.g->values.items[made.split.weight].name);
        if (!*weight) status = plim__fail_memory(&why, "a name", 1);
    }
    if (status == PLIM_OK) {
        *verdict = made.split;
    } else if (status == PLIM_NO_MEMORY) {
        plim__fail(error, status, "%s", why.message);
    } else {
        snprintf(verdict->why, sizeof verdict->why, "with %lld samples: %.120s", (long long)options->batch,
                 why.message);
        status = PLIM_OK;
    }
    work_end(&w);
    plim_graph_free(made.graph);
    return status;
}

plim_status plim__training_judge(const plim_graph *model, const plim__training_options *options,
                                 plim__batch_verdict *verdict, plim_error *error) {
    char *weight;
    plim_status status = plim__training_judge_weight(model, options, verdict, &weight, error);
    plim__free(weight);
    return status;
}
