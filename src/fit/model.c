#include "fit/model.h"

#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "core/error.h"
#include "fit/autograd.h"
#include "fit/autograd_rows.h"
#include "fit/graph_mode.h"
#include "fit/predict.h"
#include "grad/gradient.h"
#include "grad/training.h"
#include "graph/pass.h"
#include "graph/passes/kernels.h"
#include "kernel/processor.h"

static const struct optimizer_row {
    const char *word;
    uint64_t state, work; /* bytes for four bytes of a parameter */
} optimizers[] = {
#define ROW(name, word, state, work) {word, state, work},
    PLIM_MODEL_OPTIMIZER_LIST(ROW)
#undef ROW
};

bool plim_model_optimizer_find(const char *word, plim_model_optimizer *optimizer) {
    for (size_t i = 0; word && i < PLIM_MODEL_OPTIMIZERS; i++)
        if (strcmp(optimizers[i].word, word) == 0) return *optimizer = (plim_model_optimizer)i, true;
    return false;
}

static const char *const precisions[] = {
#define WORD(name, text) text,
    PLIM_MODEL_PRECISION_LIST(WORD)
#undef WORD
};

bool plim_model_precision_find(const char *word, plim_model_precision *precision) {
    for (size_t i = 0; word && i < PLIM_MODEL_PRECISIONS; i++)
        if (strcmp(precisions[i], word) == 0) return *precision = (plim_model_precision)i, true;
    return false;
}

/* --- the graph ------------------------------------------------------------------------------------------------ */

static plim_status check_sizes(const plim_graph *g, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        for (size_t i = 0; !node->dead && i < node->outputs.count; i++) {
            plim_value out = node->outputs.items[i];
            if (out >= 0 && !plim__shape_is_concrete(&g->values.items[out].shape))
                return plim__fail(error, PLIM_SHAPE,
                                  "the size of '%s' (%s) is not known: give the sizes of symbols with --size NAME=N",
                                  g->values.items[out].name, node->op_name);
        }
    }
    return PLIM_OK;
}

static bool is_batch(const plim_graph *g, const char *symbol) {
    for (size_t i = 0; i < g->inputs.count; i++) {
        const plim__shape *shape = &g->values.items[g->inputs.items[i]].shape;
        const char *first = shape->rank > 0 ? plim_graph_symbol_name(g, shape->dims[0]) : NULL;
        if (first && strcmp(first, symbol) == 0) return true;
    }
    return false;
}

/* An open axis that is not the batch's must not get the size of the batch unsaid: a length of 8 where it is 1024 would promise
 * that anything fits. */
static plim_status check_open_axes(const plim_graph *g, const plim_model_options *o, plim_error *error) {
    for (size_t i = 0; i < g->inputs.count; i++) {
        const plim__value *input = &g->values.items[g->inputs.items[i]];
        for (int k = 1; k < input->shape.rank; k++) {
            const char *symbol = plim_graph_symbol_name(g, input->shape.dims[k]);
            bool known = !symbol || is_batch(g, symbol);
            for (size_t j = 0; !known && j < o->size_count; j++) known = strcmp(o->sizes[j].symbol, symbol) == 0;
            if (known) continue;
            char place[160];
            snprintf(place, sizeof place, "%.140s.%d", input->name, k);
            return plim__fail(error, PLIM_SHAPE, "axis %d of the model's input '%.200s' is open: give --size %s=N", k,
                              input->name, *symbol == '?' ? place : symbol);
        }
    }
    return PLIM_OK;
}

static plim_status prepare(plim_graph *g, const plim_model_options *o, plim_error *error) {
    int64_t batch = o->micro > 0 ? o->micro : o->batch > 0 ? o->batch : 1;
    PLIM_TRY(check_open_axes(g, o, error));
    plim__fix_constants(g);
    PLIM_TRY(plim__batch_norms_to_training_mode(g, error));
    PLIM_TRY(plim__bind_sizes(g, o->sizes, o->size_count, batch, error));
    PLIM_TRY(plim__infer_graph(g, plim__processor_fold, NULL, error));
    PLIM_TRY(plim__dropouts_to_training_mode(g, 0, error));
    PLIM_TRY(plim__graph_sort(g, error));
    PLIM_TRY(plim__graph_prune(g, error));
    /* what an exporter spelled out and PyTorch has as one kernel; not what only Plimsoll joins */
    PLIM_TRY(plim__passes_run(g, "fuse-linear,conv-parts,pool-first,fuse-loss,table-first," PLIM__KERNEL_PASSES, true,
                              error));
    PLIM_TRY(plim__kernels_join(g, error));
    PLIM_TRY(plim__infer_graph(g, plim__processor_fold, NULL, error));
    PLIM_TRY(plim__graph_sort(g, error));
    PLIM_TRY(plim__graph_prune(g, error));
    return check_sizes(g, error);
}

plim_status plim__model_prepare(const plim_graph *model, const plim_model_options *options, plim_graph **graph,
                                plim_error *error) {
    *graph = NULL;
    PLIM_TRY(plim_graph_status(model, error));
    plim_graph *g = plim_graph_clone(model);
    if (!g) return plim__fail_memory(error, "a copy of the model", 1);
    plim_status status = prepare(g, options, error);
    if (status == PLIM_OK)
        *graph = g;
    else
        plim_graph_free(g);
    return status;
}

/* --- a step --------------------------------------------------------------------------------------------------- */

typedef struct steps {
    plim__autograd a;
    PLIM_VEC(uint32_t) cuts; /* nodes after which one tensor alone goes on: blocks for recomputing end there */
    uint32_t labels;         /* the answers that the program gives to the loss */
    uint32_t logits, loss;   /* what the program still holds of the last step */
} steps;

static bool is_trained(const plim__autograd *a, size_t v) {
    return a->needs[v] && a->g->values.items[v].kind == PLIM__VALUE_PARAMETER && a->uses[v] > 0;
}

static void load_weights(steps *s) {
    plim__autograd *a = &s->a;
    plim__tape_phase(&a->tape, PLIM__PHASE_LOAD);
    for (size_t v = 0; v < a->g->values.count; v++) {
        if (!plim__autograd_is_weight(a, (plim_value)v) || !a->uses[v]) continue;
        bool large = a->g->values.items[v].kind != PLIM__VALUE_CONSTANT || plim__autograd_bytes(a, (plim_value)v) > 64;
        if (large)
            a->storage[v] = plim__tape_new(&a->tape, a->g->values.items[v].name, "weight", PLIM__KIND_WEIGHT,
                                           plim__autograd_bytes(a, (plim_value)v));
    }
    for (size_t n = 0; a->options->lora && n < a->g->nodes.count; n++) {
        const plim__node *node = &a->g->nodes.items[n];
        plim_value weight = plim__node_in(node, 1);
        plim__torch_kind kind = plim__torch_kind_of(node->op_name);
        bool product = kind == PLIM__TORCH_MATMUL || kind == PLIM__TORCH_GEMM;
        if (node->dead || !product || !plim__autograd_is_weight(a, weight)) continue;
        const plim__shape *shape = &a->g->values.items[weight].shape;
        if (shape->rank != 2) continue;
        uint64_t bytes = (uint64_t)(shape->dims[0] + shape->dims[1]) * (uint64_t)a->options->lora * 4;
        plim__tape_new(&a->tape, "adapter", "weight", PLIM__KIND_WEIGHT, bytes);
        plim__tape_new(&a->tape, "adapter", "gradient", PLIM__KIND_GRADIENT, bytes);
        plim__tape_new(&a->tape, "adapter", "state", PLIM__KIND_OPTIMIZER,
                       bytes / 4 * optimizers[a->options->optimizer].state);
    }
}

/* One class for every row of scores: 64 bits each. A model that ends in its own loss has its answers among its inputs. */
static uint64_t bytes_of_labels(const plim__autograd *a) {
    plim_value out = a->g->outputs.count ? a->g->outputs.items[0] : PLIM_NO_VALUE;
    if (out < 0) return 0;
    const plim__shape *shape = &a->g->values.items[out].shape;
    int64_t elements = plim__shape_elements(shape);
    int64_t classes = shape->rank > 3 ? shape->dims[1] : shape->rank > 1 ? shape->dims[shape->rank - 1] : elements;
    return elements > 1 && classes > 0 ? (uint64_t)(elements / classes) * 8 : 0;
}

static void feed(steps *s) {
    plim__autograd *a = &s->a;
    uint64_t labels = bytes_of_labels(a);
    plim__tape_drop(&a->tape, s->labels);
    s->labels = labels ? plim__tape_new(&a->tape, "labels", "data", PLIM__KIND_DATA, labels) : 0;
    for (size_t i = 0; i < a->g->inputs.count; i++) {
        plim_value in = a->g->inputs.items[i];
        if (!a->uses[in]) continue;
        plim__tape_drop(&a->tape, a->storage[in]);
        a->storage[in] =
            plim__tape_new(&a->tape, a->g->values.items[in].name, "data", PLIM__KIND_DATA, plim__autograd_bytes(a, in));
        a->left[in] = a->uses[in] + 1; /* the program holds its batch */
    }
}

static void give_outputs_back(plim__autograd *a) {
    for (size_t i = 0; i < a->g->outputs.count; i++) {
        plim_value value = a->g->outputs.items[i];
        if (plim__autograd_is_weight(a, value)) continue;
        plim__tape_drop(&a->tape, a->storage[value]);
        a->storage[value] = 0;
    }
}

/* Cross entropy on the first output: log-softmax is saved, and has a gradient of its own. */
static void take_loss(steps *s) {
    plim__autograd *a = &s->a;
    plim_value out = a->g->outputs.count ? a->g->outputs.items[0] : PLIM_NO_VALUE;
    if (out < 0) return;
    uint64_t bytes = plim__autograd_bytes(a, out) / (a->width[out] ? a->width[out] : 4) * 4;
    plim__tape_drop(&a->tape, s->logits);
    s->logits = plim__tape_hold(&a->tape, a->storage[out]);
    bool scalar = bytes <= 4;
    uint32_t scores = scalar ? 0 : plim__tape_new(&a->tape, "log-softmax", "loss", PLIM__KIND_ACTIVATION, bytes);
    plim__tape_drop(&a->tape, s->loss);
    s->loss = plim__tape_new(&a->tape, "loss", "loss", PLIM__KIND_ACTIVATION, 4);
    uint32_t total = scalar ? 0 : plim__tape_new(&a->tape, "total weight", "loss", PLIM__KIND_ACTIVATION, 4);
    plim__tape_phase(&a->tape, PLIM__PHASE_BACKWARD);
    uint32_t one = scalar ? 0 : plim__tape_new(&a->tape, "nll gradient", "loss", PLIM__KIND_ACTIVATION, bytes);
    uint32_t all =
        plim__tape_new(&a->tape, "score gradient", "loss", PLIM__KIND_ACTIVATION, plim__autograd_bytes(a, out));
    plim__tape_drop(&a->tape, one);
    plim__tape_drop(&a->tape, scores);
    plim__tape_drop(&a->tape, total);
    plim__autograd_deliver(a, out, all);
    give_outputs_back(a);
}

static void drop_casts(plim__autograd *a) {
    for (size_t v = 0; v < a->g->values.count; v++) {
        plim__tape_drop(&a->tape, a->half[v]);
        a->half[v] = 0;
    }
}

/* Where exactly one tensor that needs a gradient is alive, spread so that blocks save about the same. */
static bool find_cuts(steps *s) {
    plim__autograd *a = &s->a;
    size_t since = 0, alive = 0;
    for (size_t v = 0; v < a->g->values.count; v++) a->left[v] = a->uses[v];
    for (size_t n = 0; n < a->g->nodes.count; n++) {
        const plim__node *node = &a->g->nodes.items[n];
        if (node->dead) continue;
        bool weight = false;
        for (size_t i = 0; i < node->outputs.count; i++) {
            plim_value out = node->outputs.items[i];
            alive += out >= 0 && a->needs[out] && a->uses[out] > 0;
        }
        for (size_t i = 0; i < node->inputs.count; i++) {
            plim_value in = node->inputs.items[i];
            if (in < 0) continue;
            weight = weight || a->g->values.items[in].kind == PLIM__VALUE_PARAMETER;
            alive -= --a->left[in] == 0 && a->needs[in] && a->g->values.items[in].kind == PLIM__VALUE_NODE;
        }
        since += weight;
        if (alive == 1 && since >= 4) {
            if (!plim__vec_push(&s->cuts, (uint32_t)(n + 1))) return false;
            since = 0;
        }
    }
    return true;
}

static void run_plain(steps *s) {
    plim__autograd_forward(&s->a, 0, s->a.g->nodes.count);
    take_loss(s);
    plim__autograd_backward(&s->a, 0, s->a.g->nodes.count);
}

/* What is alive now and goes into the block behind: held until that block has run again. */
static void hold_crossing(steps *s, uint32_t *held) {
    plim__autograd *a = &s->a;
    for (size_t v = 0; v < a->g->values.count; v++)
        held[v] = plim__autograd_is_weight(a, (plim_value)v) ? 0 : plim__tape_hold(&a->tape, a->storage[v]);
}

/* Runs a block again from what was held at its start, this time saving what autograd needs, and then backward. */
static void repeat_block(steps *s, size_t from, size_t to, const uint32_t *held) {
    plim__autograd *a = &s->a;
    for (size_t v = 0; v < a->g->values.count; v++) {
        if (!held[v]) continue;
        a->storage[v] = plim__tape_hold(&a->tape, held[v]);
        a->left[v] = INT32_MAX;
    }
    plim__tape_phase(&a->tape, PLIM__PHASE_RECOMPUTE);
    a->saving = true;
    plim__autograd_forward(a, from, to);
    for (size_t v = 0; v < a->g->values.count; v++) {
        if (plim__autograd_is_weight(a, (plim_value)v)) continue;
        plim__tape_drop(&a->tape, a->storage[v]);
        a->storage[v] = 0;
    }
    plim__tape_phase(&a->tape, PLIM__PHASE_BACKWARD);
    plim__autograd_backward(a, from, to);
    for (size_t v = 0; v < a->g->values.count; v++) plim__tape_drop(&a->tape, held[v]);
}

/* Forward that saves nothing but what enters each block; the last block is not run twice. */
static void run_blocks(steps *s) {
    plim__autograd *a = &s->a;
    size_t blocks = s->cuts.count + 1, values = a->g->values.count + 1;
    uint32_t *held = plim__alloc_zero(blocks * values, sizeof *held);
    if (!held) {
        a->tape.failed = true;
        return;
    }
    for (size_t b = 0; b < blocks; b++) {
        size_t from = b ? s->cuts.items[b - 1] : 0, to = b + 1 < blocks ? s->cuts.items[b] : a->g->nodes.count;
        a->saving = b + 1 == blocks;
        if (!a->saving) hold_crossing(s, held + b * values);
        plim__autograd_forward(a, from, to);
    }
    take_loss(s);
    plim__autograd_backward(a, blocks > 1 ? s->cuts.items[blocks - 2] : 0, a->g->nodes.count);
    for (size_t b = blocks - 1; b-- > 0;)
        repeat_block(s, b ? s->cuts.items[b - 1] : 0, s->cuts.items[b], held + b * values);
    a->saving = true;
    plim__free(held);
}

/* `share` bytes for four bytes of each weight. */
static void add_shares(plim__autograd *a, uint64_t share, const char *what) {
    for (size_t v = 0; share && v < a->g->values.count; v++) {
        if (!is_trained(a, v)) continue;
        uint64_t bytes = plim__autograd_bytes(a, (plim_value)v);
        for (uint64_t left = share; left; left -= left < 4 ? left : 4)
            plim__tape_new(&a->tape, a->g->values.items[v].name, what, PLIM__KIND_OPTIMIZER,
                           bytes / 4 * (left < 4 ? left : 4));
    }
}

static void update(steps *s, bool first) {
    plim__autograd *a = &s->a;
    const struct optimizer_row *row = &optimizers[a->options->optimizer];
    if (a->options->graph_mode) return; /* each weight was, when its gradient was whole */
    plim__tape_phase(&a->tape, PLIM__PHASE_UPDATE);
    if (first) add_shares(a, row->state, "state");
    size_t from = a->tape.storages.count;
    add_shares(a, row->work, "step");
    for (size_t i = from; i < a->tape.storages.count; i++) plim__tape_drop(&a->tape, (uint32_t)i);
}

static void zero_gradients(steps *s) {
    plim__autograd *a = &s->a;
    for (size_t v = 0; v < a->g->values.count; v++) {
        plim__tape_drop(&a->tape, a->gradient[v]);
        a->gradient[v] = 0;
    }
}

static void run_step(steps *s, uint64_t number) {
    plim__autograd *a = &s->a;
    int64_t rounds = a->options->micro > 0 ? 2 : 1; /* what holds for two holds for more */
    plim__tape_mark(&a->tape, PLIM__MARK_STEP, number, NULL);
    if (!a->options->graph_mode) zero_gradients(s);
    if (a->options->graph_mode && !number) add_shares(a, optimizers[a->options->optimizer].state, "state");
    for (int64_t round = 0; round < rounds; round++) {
        plim__tape_phase(&a->tape, PLIM__PHASE_FORWARD);
        feed(s);
        a->saved.count = 0;
        if (a->options->graph_mode)
            plim__graph_mode_pass(a, s->cuts.items, s->cuts.count, round + 1 == rounds);
        else if (s->cuts.count)
            run_blocks(s);
        else
            run_plain(s);
        drop_casts(a);
    }
    update(s, number == 0);
}

/* What the page's head shows. */
static plim_status describe(plim__timeline *timeline, const plim_model_options *o, plim_error *error) {
    char batch[32];
    snprintf(batch, sizeof batch, "%lld", (long long)(o->batch > 0 ? o->batch : 1));
    PLIM_TRY(plim__timeline_set_title(timeline, "Two predicted training steps", error));
    PLIM_TRY(plim__timeline_add_fact(timeline, "batch", batch, error));
    PLIM_TRY(plim__timeline_add_fact(timeline, "optimizer", optimizers[o->optimizer].word, error));
    return plim__timeline_add_fact(timeline, "precision", precisions[o->precision], error);
}

plim_status plim__model_steps(const plim_graph *graph, const plim_model_options *options, plim__timeline *timeline,
                              plim_error *error) {
    steps s = {0};
    plim_status status = plim__autograd_init(&s.a, graph, options, timeline, error);
    if (status == PLIM_OK) {
        if (options->checkpoint && !find_cuts(&s)) s.a.tape.failed = true;
        load_weights(&s);
        for (uint64_t number = 0; number < 2; number++) run_step(&s, number);
        if (s.a.tape.failed) status = plim__fail_memory(error, "a predicted step", graph->nodes.count);
    }
    if (status == PLIM_OK && *s.a.unknown) status = plim__timeline_add_fact(timeline, "note", s.a.unknown, error);
    if (status == PLIM_OK) status = describe(timeline, options, error);
    if (status == PLIM_OK) status = plim__timeline_finish(timeline, error);
    plim__vec_free(&s.cuts);
    plim__autograd_free(&s.a);
    return status;
}

plim_status plim_prediction_create(const plim_graph *model, const plim_model_options *options,
                                   plim_prediction **prediction, plim_error *error) {
    if (!prediction) return plim__fail(error, PLIM_INVALID, "a prediction needs a place");
    *prediction = NULL;
    if (!model || !options) return plim__fail(error, PLIM_INVALID, "a prediction needs a model and options");
    plim_model_options o;
    PLIM__OPTIONS(plim_model_options, o, options, error);
    if (o.optimizer < 0 || o.optimizer >= PLIM_MODEL_OPTIMIZERS || o.precision < 0 ||
        o.precision >= PLIM_MODEL_PRECISIONS || o.batch < 0 || o.micro < 0 || o.lora < 0)
        return plim__fail(error, PLIM_INVALID, "optimizer, precision, batch, micro-batch or rank is out of range");
    if (o.micro > (o.batch > 0 ? o.batch : 1))
        return plim__fail(error, PLIM_INVALID, "a batch of %lld has no micro-batches of %lld",
                          (long long)(o.batch > 0 ? o.batch : 1), (long long)o.micro);
    plim_graph *graph = NULL;
    PLIM_TRY(plim__model_prepare(model, &o, &graph, error));
    plim_status status = plim__prediction_create(prediction, error);
    if (status == PLIM_OK) status = plim__model_steps(graph, &o, &(*prediction)->replay.timeline, error);
    plim_graph_free(graph);
    if (status == PLIM_OK) return PLIM_OK;
    plim_prediction_free(*prediction);
    *prediction = NULL;
    return status;
}
