/* The loss as training has it, behind a model that does not train.
 *
 * A short batch is filled up. Of class numbers, what fills up is a label that is ignored; of single elements, the first
 * `plimsoll.count` are counted; a loss that the model has itself is given whole batches only. */
#include "grad/evaluation.h"

#include <string.h>

#include "core/error.h"
#include "grad/training.h"
#include "graph/pass.h"

/* --- evaluation mode ------------------------------------------------------------------------------------------ */

static bool is_read(const plim_graph *g, plim_value v) {
    for (size_t n = 0; v >= 0 && n < g->nodes.count; n++)
        for (size_t i = 0; !g->nodes.items[n].dead && i < g->nodes.items[n].inputs.count; i++)
            if (g->nodes.items[n].inputs.items[i] == v) return true;
    return false;
}

/* What exporters make in training mode: statistics and masks after the first output. */
static bool has_one_result(const plim_graph *g, const plim__node *node) {
    for (size_t i = 1; i < node->outputs.count; i++)
        if (is_read(g, node->outputs.items[i])) return false;
    return true;
}

/* A norm that is called again reads what its statistics became in the call before: without training, what they are. */
static void keep_statistics(plim_graph *g, const plim__node *norm) {
    for (size_t i = 1; i < norm->outputs.count && i < 3; i++)
        if (is_read(g, norm->outputs.items[i]))
            plim__graph_replace(g, norm->outputs.items[i], norm->inputs.items[i + 2]);
}

plim_status plim__evaluation_set(plim_graph *g, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *node = &g->nodes.items[n];
        if (node->dead || *node->domain) continue;
        bool norm = strcmp(node->op_name, "BatchNormalization") == 0 && node->inputs.count == 5;
        bool dropout = strcmp(node->op_name, "Dropout") == 0;
        if (norm && plim__node_int(node, "training_mode", 0)) keep_statistics(g, node);
        if ((!norm && !dropout) || !has_one_result(g, node)) continue;
        if (node->outputs.count > 1) node->outputs.count = 1;
        if (dropout && node->inputs.count > 1) node->inputs.count = 1;
        if (norm && plim__node_int(node, "training_mode", 0)) plim_graph_set_int(g, (int32_t)n, "training_mode", 0);
    }
    bool changed;
    PLIM_TRY(plim_graph_status(g, error));
    return plim__pass_drop_path(g, &changed,
                                error); /* also where weights still change, and passes for inference do not run */
}

/* --- the loss ------------------------------------------------------------------------------------------------- */

/* The node behind `loss` counts only this many elements. */
static plim_status count_elements(plim_graph *g, plim_value loss, plim_error *error) {
    plim_value count = plim_graph_input(g, PLIM__COUNT_NAME, PLIM_I64, 0, (const int64_t[]){0});
    plim__node *node = &g->nodes.items[g->values.items[loss].producer];
    if (node->inputs.count > 2)
        node->inputs.items[2] = count; /* before what says which count */
    else
        plim__node_add_input(g, g->values.items[loss].producer, count);
    return plim_graph_status(g, error);
}

/* What the loss applies to; PLIM_NO_VALUE where the model has its own. */
static plim_value find_scores(const plim_graph *g, const plim_loss *loss) {
    if (loss->kind == PLIM_LOSS_MODEL || g->outputs.count == 0) return PLIM_NO_VALUE;
    for (size_t i = 0; loss->output && i < g->outputs.count; i++)
        if (strcmp(g->values.items[g->outputs.items[i]].name, loss->output) == 0) return g->outputs.items[i];
    return loss->output ? plim_graph_find(g, loss->output) : g->outputs.items[0];
}

plim_status plim__evaluation_weigh(plim_graph *g, const plim_graph *model, const plim__training_options *options,
                                   plim__evaluated *made, plim_error *error) {
    plim__batch_verdict verdict;
    char *name;
    PLIM_TRY(plim__training_judge_weight(model, options, &verdict, &name, error));
    plim_value loss = name ? plim_graph_find(g, name) : PLIM_NO_VALUE, weight;
    plim__free(name);
    made->sums = verdict.split != PLIM__SPLIT_NEVER && verdict.combine == PLIM__COMBINE_SUM;
    if (loss < 0) return PLIM_OK;
    PLIM_TRY(plim__loss_weight(g, loss, &weight, error));
    plim_graph_output(g, weight, PLIM__WEIGHT_NAME);
    made->weighs = true;
    PLIM_TRY(plim_graph_status(g, error));
    return plim__graph_sort(g, error);
}

plim_status plim__evaluation_append(plim_graph *g, const plim_loss *loss, bool scores, plim__evaluated *made,
                                    plim_error *error) {
    plim__loss_parts parts;
    plim_value scored = scores ? find_scores(g, loss) : PLIM_NO_VALUE;
    plim_loss own = *loss;
    if (own.kind == PLIM_LOSS_CROSS_ENTROPY && !own.ignores) {
        own.ignores = 1;
        own.ignore_index = PLIM__NO_CLASS;
    }
    PLIM_TRY(plim__evaluation_set(g, error));
    PLIM_TRY(plim__loss_append(g, &own, &parts, error));
    *made = (plim__evaluated){.classes = plim__loss_classes(g, parts.target), .ignored = own.ignore_index};
    if (parts.target >= 0 && own.kind != PLIM_LOSS_CROSS_ENTROPY) PLIM_TRY(count_elements(g, parts.loss, error));
    g->outputs.count = 0;
    plim_graph_output(g, parts.loss, PLIM__LOSS_NAME);
    made->some = own.counts != NULL;
    made->weighs = parts.correct >= 0 || made->some;
    if (made->weighs) plim_graph_output(g, parts.weight, PLIM__WEIGHT_NAME);
    if (parts.correct >= 0) plim_graph_output(g, parts.correct, PLIM__CORRECT_NAME);
    if (scored != PLIM_NO_VALUE) plim_graph_output(g, scored, PLIM__SCORES_NAME);
    PLIM_TRY(plim_graph_status(g, error));
    return plim__graph_sort(g, error);
}
