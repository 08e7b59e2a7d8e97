/* Files of Keras, which tf2onnx writes for inference: it says nothing of parameters, so names and values have to.
 *
 *   .../norm_1/batchnorm/mul           part of a batch norm that is no BatchNormalization: folded away
 *   .../norm_2/mul reads norm_1's      equal tensors were merged: of one number, they are the scales and biases of two layers
 *   .../dense_1/MatMul without a bias  a bias of zeros was removed, or the layer has none: the file is the same
 *   LSTM with B = [bias, 0]            Keras has one bias where ONNX adds two: the second one is no parameter
 *   const_fold_opt__12                 a number that was computed, as the bound of a loop; or a weight without its layer's name
 */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "graph/passes/export/names.h"
#include "graph/passes/export/restore.h"
#include "graph/passes/match.h"

enum { MOST_ELEMENTS = 1 << 16 }; /* of tensors that are read for equal numbers */

static bool copy_name(const char *from, size_t length, char name[PLIM__NAME_SIZE]) {
    if (length == 0 || length >= PLIM__NAME_SIZE) return false;
    memcpy(name, from, length);
    name[length] = 0;
    return true;
}

/* "model/norm_1/batchnorm/mul" → "model/norm_1"; false when `within` is no part of it. */
static bool name_before(const char *text, const char *within, char name[PLIM__NAME_SIZE]) {
    const char *found = text ? strstr(text, within) : NULL;
    return found && copy_name(text, (size_t)(found - text), name);
}

/* "model/dense_1/MatMul" → "model/dense_1". */
static bool layer_name(const plim__node *node, char name[PLIM__NAME_SIZE]) {
    if (name_before(node->name, "/Tensordot", name)) return true;
    const char *slash = node->name ? strrchr(node->name, '/') : NULL;
    return slash && copy_name(node->name, (size_t)(slash - node->name), name);
}

static bool is_parameter(const plim_graph *g, plim_value v) {
    return v >= 0 && g->values.items[v].kind == PLIM__VALUE_PARAMETER && g->values.items[v].shape.rank > 0;
}

/* Names that were listed, each once. */
struct listed {
    plim__name_list list;
    plim__map seen;
};

static plim_status list_name(struct listed *l, const char *name, plim_error *error) {
    if (plim__map_get(&l->seen, name, 0)) return PLIM_OK;
    plim__name_list_add(&l->list, name);
    return plim__map_put(&l->seen, name, 1) ? PLIM_OK : plim__fail_memory(error, "names of layers", strlen(name));
}

static void listed_free(struct listed *l) {
    plim__name_list_free(&l->list);
    plim__map_free(&l->seen);
}

/* --- batch norms ---------------------------------------------------------------------------------------------------- */

static plim_status note_norms(plim_graph *g, plim_error *error) {
    struct listed norms = {0};
    plim_status status = PLIM_OK;
    for (size_t n = 0; n < g->nodes.count && status == PLIM_OK; n++) {
        const plim__node *node = &g->nodes.items[n];
        char name[PLIM__NAME_SIZE];
        if (!node->dead && !plim__match_op(node, "BatchNormalization") && name_before(node->name, "/batchnorm/", name))
            status = list_name(&norms, name, error);
    }
    if (status == PLIM_OK && norms.list.count)
        status =
            plim__graph_remark(g, PLIM_REMARK_LOST,
                               "the exporter folded %zu batch norm%s away: %s; no option of Keras's exporter keeps "
                               "them: plimsoll.export(model, path) of the Python package does",
                               norms.list.count, norms.list.count == 1 ? "" : "s", plim__name_list_text(&norms.list));
    listed_free(&norms);
    return status;
}

/* --- biases of zeros ------------------------------------------------------------------------------------------------ */

/* Whether a node that adds a parameter reads the value, possibly reshaped or transposed, or one that is not to have a bias
 * before it: a batch norm, the second half of a separable convolution. */
static bool is_biased(const plim_graph *g, plim_value v, int depth) {
    int32_t user = plim__graph_only_user(g, v);
    const plim__node *node = user < 0 ? NULL : &g->nodes.items[user];
    if (!node || depth > 3) return false;
    if (plim__match_op(node, "Conv") || (node->name && strstr(node->name, "/batchnorm/"))) return true;
    if (plim__match_op(node, "Add")) return is_parameter(g, plim__match_other(node, v));
    bool moves = plim__match_op(node, "Reshape") || plim__match_op(node, "Transpose") ||
                 plim__match_op(node, "Squeeze") || plim__match_op(node, "Unsqueeze");
    return moves && is_biased(g, node->outputs.items[0], depth + 1);
}

/* Products with a weight, to which nothing is added. */
static bool lacks_bias(const plim_graph *g, const plim__node *node) {
    static const char *const ops[] = {"MatMul", "Gemm", "Conv", "ConvTranspose"};
    bool layer = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) layer |= plim__match_op(node, ops[i]);
    return layer && is_parameter(g, plim__node_in(node, 1)) && plim__node_in(node, 2) < 0 &&
           !(node->name && strstr(node->name, "/batchnorm/")) && !is_biased(g, node->outputs.items[0], 0);
}

/* Layer and group norms compute moments; whether a parameter is added in the same layer. */
static bool norm_lacks_bias(const plim_graph *g, const plim__node *node, char name[PLIM__NAME_SIZE]) {
    if (node->dead || !name_before(node->name, "/moments/", name)) return false;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *other = &g->nodes.items[n];
        char layer[PLIM__NAME_SIZE];
        if (plim__match_op(other, "Add") && layer_name(other, layer) && strcmp(layer, name) == 0 &&
            (is_parameter(g, other->inputs.items[0]) || is_parameter(g, other->inputs.items[1])))
            return false;
    }
    return true;
}

static plim_status note_biases(plim_graph *g, plim_error *error) {
    struct listed layers = {0};
    plim_status status = PLIM_OK;
    for (size_t n = 0; n < g->nodes.count && status == PLIM_OK; n++) {
        const plim__node *node = &g->nodes.items[n];
        char name[PLIM__NAME_SIZE];
        if ((lacks_bias(g, node) && layer_name(node, name)) || norm_lacks_bias(g, node, name))
            status = list_name(&layers, name, error);
    }
    size_t count = layers.list.count;
    if (status == PLIM_OK && count)
        status = plim__graph_remark(g, PLIM_REMARK_DOUBT,
                                    "%zu layer%s no bias to train: %s; Keras's exporter removes biases of zeros; "
                                    "plimsoll.export(model, path) of the Python package keeps them",
                                    count, count == 1 ? " has" : "s have", plim__name_list_text(&layers.list));
    listed_free(&layers);
    return status;
}

/* --- merged tensors --------------------------------------------------------------------------------------------------- */

/* Scales and biases that start as one number are equal in many layers, and were merged; other equal ones are shared. */
static plim_status is_uniform(plim__tensor *tensor, bool *uniform, plim_error *error) {
    int64_t count = plim__shape_elements(&tensor->shape);
    *uniform = false;
    if (tensor->dtype != PLIM_F32 || count < 1 || count > MOST_ELEMENTS) return PLIM_OK;
    PLIM_TRY(plim__tensor_load(tensor, error));
    for (int64_t i = 1; i < count; i++)
        if (((const float *)tensor->data)[i] != ((const float *)tensor->data)[0]) return PLIM_OK;
    *uniform = true;
    return PLIM_OK;
}

/* "model/norm_1/Reshape:0" in the layer "model/norm_2" → "model/norm_2/Reshape:0". */
static bool name_in(const char *layer, const char *of, char name[PLIM__NAME_SIZE]) {
    const char *slash = strrchr(of, '/');
    int length = slash ? snprintf(name, PLIM__NAME_SIZE, "%s%s", layer, slash) : -1;
    return length > 0 && length < PLIM__NAME_SIZE;
}

/* Input i of node n is a tensor of another layer: it gets one of its own, that starts as it is. */
static plim_status split_input(plim_graph *g, int32_t n, size_t i, size_t *split, plim_error *error) {
    plim_value v = g->nodes.items[n].inputs.items[i];
    char layer[PLIM__NAME_SIZE], name[PLIM__NAME_SIZE];
    bool uniform;
    if (!is_parameter(g, v) || !g->values.items[v].tensor || !layer_name(&g->nodes.items[n], layer) ||
        !name_in(layer, g->values.items[v].name, name) || strcmp(name, g->values.items[v].name) == 0)
        return PLIM_OK;
    PLIM_TRY(is_uniform(g->values.items[v].tensor, &uniform, error));
    if (!uniform || !plim__role_trained(g->values.items[v].role)) return PLIM_OK;
    plim_value own = plim_graph_find(g, name);
    if (own < 0) {
        own = plim__graph_add_tensor(g, name, PLIM__VALUE_PARAMETER, plim__tensor_retain(g->values.items[v].tensor));
        PLIM_TRY(plim_graph_status(g, error));
        g->values.items[own].role = PLIM__ROLE_SPLIT;
        (*split)++;
    }
    if (is_parameter(g, own)) g->nodes.items[n].inputs.items[i] = own;
    return PLIM_OK;
}

static plim_status split_merged(plim_graph *g, plim_error *error) {
    size_t split = 0;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (!plim__match_op(node, "Mul") && !plim__match_op(node, "Add")) continue;
        for (size_t i = 0; i < 2; i++) PLIM_TRY(split_input(g, (int32_t)n, i, &split, error));
    }
    if (split == 0) return PLIM_OK;
    return plim__graph_remark(g, PLIM_REMARK_RESTORED,
                              "%zu parameter%s that the exporter had merged with equal ones of other layers %s apart "
                              "again",
                              split, split == 1 ? "" : "s", split == 1 ? "is" : "are");
}

/* --- one bias of a recurrent layer ------------------------------------------------------------------------------------ */

/* B is [directions, 2 · width]: whether the second halves of its rows are 0. */
static bool is_half(const plim__tensor *b) {
    int64_t rows = b->shape.dims[0], width = b->shape.dims[1] / 2;
    for (int64_t i = 0; i < rows * width; i++)
        if (((const float *)b->data)[i / width * 2 * width + width + i % width] != 0) return false;
    return true;
}

/* The first halves become the parameter, under its name, and zeros are appended to it. */
static plim_status split_bias(plim_graph *g, int32_t n, plim_error *error) {
    plim_value v = g->nodes.items[n].inputs.items[3];
    const plim__tensor *b = g->values.items[v].tensor;
    int64_t rows = b->shape.dims[0], width = b->shape.dims[1] / 2;
    plim__tensor *half;
    PLIM_TRY(plim__tensor_create(PLIM_F32, &(plim__shape){.rank = 2, .dims = {rows, width}}, &half, error));
    for (int64_t i = 0; i < rows; i++)
        memcpy((float *)half->data + i * width, (const float *)b->data + 2 * i * width, (size_t)width * sizeof(float));
    plim_value made = plim__graph_add_tensor(g, NULL, PLIM__VALUE_PARAMETER, half);
    plim_value pads =
        plim_graph_constant(g, NULL, PLIM_I64, 1, (const int64_t[]){4}, (const int64_t[]){0, 0, 0, width});
    plim_value padded = plim_graph_apply(g, "Pad", (const plim_value[]){made, pads}, 2);
    PLIM_TRY(plim_graph_status(g, error));
    g->values.items[made].role = PLIM__ROLE_WEIGHT;
    g->nodes.items[n].inputs.items[3] = padded;
    PLIM_TRY(plim__graph_swap_names(g, v, made));
    plim__tensor_release(g->values.items[v].tensor);
    g->values.items[v].tensor = NULL;
    g->values.items[v].kind = PLIM__VALUE_CONSTANT;
    return PLIM_OK;
}

static plim_status split_biases(plim_graph *g, plim_error *error) {
    static const char *const ops[] = {"LSTM", "GRU", "RNN"};
    if (plim__graph_opset(g, "") < 11) return PLIM_OK; /* Pad took no inputs */
    for (size_t n = 0, count = g->nodes.count; n < count; n++) {
        const plim__node *node = &g->nodes.items[n];
        bool recurrent = false;
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) recurrent |= plim__match_op(node, ops[i]);
        plim_value b = recurrent ? plim__node_in(node, 3) : PLIM_NO_VALUE;
        if (!is_parameter(g, b) || plim__graph_only_user(g, b) < 0) continue;
        plim__tensor *tensor = g->values.items[b].tensor;
        if (tensor->dtype != PLIM_F32 || tensor->shape.rank != 2 || tensor->shape.dims[1] % 2) continue;
        PLIM_TRY(plim__tensor_load(tensor, error));
        if (is_half(tensor)) PLIM_TRY(split_bias(g, (int32_t)n, error));
    }
    return PLIM_OK;
}

/* Numbers that tf2onnx computed or TensorFlow has as constants, as the bounds of loops: they are known when shapes are
 * inferred. */
static void fix_numbers(plim_graph *g) {
    static const char computed[] = "const_fold_opt__", constant[] = "/Const:0";
    for (size_t v = 0; v < g->values.count; v++) {
        plim__value *value = &g->values.items[v];
        if (value->kind != PLIM__VALUE_PARAMETER || value->shape.rank != 0) continue;
        const char *end = strstr(value->name, constant);
        if (strncmp(value->name, computed, sizeof computed - 1) == 0 || (end && end[sizeof constant - 1] == 0))
            value->kind = PLIM__VALUE_CONSTANT;
    }
}

/* --- names ------------------------------------------------------------------------------------------------------------- */

/* What a tensor is to the node that reads it as input i; NULL where that says nothing. */
static const char *word_of(const plim__node *node, size_t i, bool *recurrent) {
    static const char *const products[] = {"MatMul", "Gemm", "Conv", "ConvTranspose"}, *const loops[] = {"LSTM", "GRU",
                                                                                                         "RNN"};
    static const char *const words[] = {NULL, "kernel", "recurrent_kernel", "bias"};
    *recurrent = false;
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) *recurrent |= plim__match_op(node, loops[k]);
    if (*recurrent) return i < sizeof words / sizeof *words ? words[i] : NULL;
    for (size_t k = 0; k < sizeof products / sizeof *products; k++)
        if (plim__match_op(node, products[k])) return i == 1 ? "kernel" : i == 2 ? "bias" : NULL;
    return NULL;
}

/* The layer that a node is of: by its name, of a recurrent one by that of the node before it. */
static bool reader_layer(const plim_graph *g, const plim__node *node, bool recurrent, char name[PLIM__NAME_SIZE]) {
    if (!recurrent) return node->name && strchr(node->name, '/') && copy_name(node->name, strlen(node->name), name);
    plim_value x = plim__node_in(node, 0);
    int32_t before = x < 0 ? -1 : g->values.items[x].producer;
    return before >= 0 && layer_name(&g->nodes.items[before], name);
}

/* Weights that tf2onnx computed have no layer in their names: const_fold_opt__24, W0__30. */
static plim_status name_weights(plim_graph *g, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        for (size_t i = 1; !node->dead && i < node->inputs.count && i < 4; i++) {
            char layer[PLIM__NAME_SIZE], name[PLIM__NAME_SIZE + 32];
            bool recurrent;
            plim_value v = node->inputs.items[i];
            const char *word = is_parameter(g, v) ? word_of(node, i, &recurrent) : NULL;
            if (!word || strchr(g->values.items[v].name, '/') || !reader_layer(g, node, recurrent, layer)) continue;
            int length = snprintf(name, sizeof name, "%s/%s", layer, word);
            if (length > 0 && (size_t)length < sizeof name && plim_graph_find(g, name) < 0)
                PLIM_TRY(plim__graph_rename(g, v, name));
        }
    }
    return plim_graph_status(g, error);
}

plim_status plim__export_restore_keras(plim_graph *g, plim_error *error) {
    fix_numbers(g);
    PLIM_TRY(name_weights(g, error));
    PLIM_TRY(split_biases(g, error));
    PLIM_TRY(split_merged(g, error));
    PLIM_TRY(note_norms(g, error));
    return note_biases(g, error);
}
