/* Files that do not say which of their tensors are parameters: what their names and their producer show is lost.
 *
 *   onnx::Conv_152                     a weight that PyTorch's older exporter computed: a batch norm was folded into it
 *   .../moving_mean                    read by something else than a batch norm: its statistics do not follow the data
 */
#include <string.h>

#include "core/error.h"
#include "graph/passes/export/names.h"
#include "graph/passes/export/restore.h"

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static plim_status note_computed(plim_graph *g) {
    plim__name_list norms = {0}, others = {0};
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (value->kind != PLIM__VALUE_PARAMETER || !begins(value->name, "onnx::")) continue;
        plim__name_list_add(begins(value->name, "onnx::Conv") ? &norms : &others, value->name);
    }
    plim_status status = PLIM_OK;
    if (norms.count)
        status =
            plim__graph_remark(g, PLIM_REMARK_LOST,
                               "the exporter computed %zu weight%s of convolutions, as it does when it folds batch "
                               "norms away: %s; " PLIM__KEEP,
                               norms.count, norms.count == 1 ? "" : "s", plim__name_list_text(&norms));
    if (status == PLIM_OK && others.count)
        status = plim__graph_remark(g, PLIM_REMARK_LOST,
                                    "%zu weight%s lost the name that the module has for it: %s; " PLIM__KEEP,
                                    others.count, others.count == 1 ? "" : "s", plim__name_list_text(&others));
    plim__name_list_free(&norms);
    plim__name_list_free(&others);
    return status;
}

static plim_status note_statistics(plim_graph *g) {
    plim__name_list fixed = {0};
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || strcmp(node->op_name, "BatchNormalization") == 0) continue;
        for (size_t i = 0; i < node->inputs.count; i++) {
            plim_value v = node->inputs.items[i];
            if (v >= 0 && g->values.items[v].kind == PLIM__VALUE_PARAMETER &&
                g->values.items[v].role == PLIM__ROLE_STATISTIC)
                plim__name_list_add(&fixed, g->values.items[v].name);
        }
    }
    plim_status status = PLIM_OK;
    if (fixed.count)
        status =
            plim__graph_remark(g, PLIM_REMARK_LOST,
                               "%zu statistic%s of batch norms that the exporter wrote as arithmetic, which do not "
                               "follow the data: %s",
                               fixed.count, fixed.count == 1 ? "" : "s", plim__name_list_text(&fixed));
    plim__name_list_free(&fixed);
    return status;
}

plim_status plim__export_note_unsaid(plim_graph *g, plim_error *error) {
    const char *producer = g->info.producer_name ? g->info.producer_name : "";
    bool keras = begins(producer, "tf2onnx") || begins(producer, "keras"), torch = begins(producer, "pytorch");
    if (keras) PLIM_TRY(plim__export_restore_keras(g, error));
    if (torch) PLIM_TRY(note_computed(g));
    PLIM_TRY(note_statistics(g));
    if (!keras && !torch) return PLIM_OK;
    return plim__graph_remark(
        g, PLIM_REMARK_DOUBT,
        "the file does not say which tensors are parameters: rules decided (inspect --weights lists them)%s",
        torch ? ", and biases of zeros may be missing; torch.onnx.export(..., dynamo=True, optimize=False) says it"
              : "");
}
