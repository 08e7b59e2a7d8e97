/* Batch norms that the exporter folded into the layer before them.
 *
 * A folded layer has w' = w · s and b' = (b - mean) · s + bias with s = scale / sqrt(variance + ε): the five can not be
 * told from the two, but for a batch norm that has never been trained. Its mean and bias are 0, so b' = 0 wherever the
 * layer has no bias of its own; then scale and variance are 1 as well, and w = w' · sqrt(1 + ε). In a trained network b'
 * is not 0. A scale of 0 (residual branches that start closed) leaves w' = 0, and w is lost.
 *
 * The exporter rounded w' = w · s once, to half of its last place. Divided by the very s that it used, in double, and rounded,
 * that is w to the last bit, but for one weight in 200,000: a network whose roundings decide starts as the module does.
 *
 * So batch norms are put back where every layer without a bias of its own has b' = 0 and there is such a layer, but for
 * those with w' = 0. Notes say both what is put back and what is lost. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "graph/passes/export/names.h"
#include "graph/passes/export/restore.h"

enum evidence {
    UNTRAINED, /* b' = 0, and the layer has no bias of its own */
    UNCLEAR,   /* it has one, which b' may be */
    TRAINED,   /* b' ≠ 0 without one */
    CLOSED,    /* w' = 0 */
    UNKNOWN,   /* not a layer that can be unfolded */
};

struct norm {
    int32_t node;
    int64_t parts[4]; /* scale, bias, mean, variance as lines of the signature; -1 for none */
    int64_t own_bias; /* of the layer: a line of the signature, or -1 */
    int64_t channels;
    double momentum, epsilon;
    enum evidence evidence;
};

typedef PLIM_VEC(struct norm) norm_list;

/* --- evidence ------------------------------------------------------------------------------------------------------- */

/* Whether all elements are 0; reads no further than the first one that is not. */
static plim_status is_zero(const plim__tensor *tensor, bool *zero, plim_error *error) {
    unsigned char bytes[4096];
    *zero = false;
    if (!tensor->data && !tensor->source) return PLIM_OK; /* computed from another one: not from a file */
    for (size_t done = 0; done < tensor->bytes;) {
        size_t size = tensor->bytes - done < sizeof bytes ? tensor->bytes - done : sizeof bytes;
        if (tensor->data)
            memcpy(bytes, (const unsigned char *)tensor->data + done, size);
        else
            PLIM_TRY(plim__file_read_at(tensor->source->fd, bytes, size, tensor->offset + done, tensor->source->path,
                                        error));
        for (size_t i = 0; i < size; i++)
            if (bytes[i] && !(bytes[i] == 0x80 && (i & 3) == 3)) return PLIM_OK; /* -0 is 0 too */
        done += size;
    }
    *zero = true;
    return PLIM_OK;
}

/* "layer.weight" → the line of "layer.bias", -1 for none. */
static int64_t bias_beside(const plim__restoring *r, const char *weight) {
    char name[PLIM__NAME_SIZE];
    size_t length = strlen(weight);
    if (length < 6 || length >= sizeof name || strcmp(weight + length - 6, "weight") != 0) return -1;
    memcpy(name, weight, length - 6);
    memcpy(name + length - 6, "bias", sizeof "bias");
    return plim__restoring_target(r, name);
}

static plim_status find_evidence(const plim__restoring *r, struct norm *norm) {
    const plim_graph *g = r->g;
    const plim__node *node = &g->nodes.items[norm->node];
    plim_value weight = plim__node_in(node, 1), bias = plim__node_in(node, 2);
    norm->evidence = UNKNOWN;
    plim__tensor *w = plim__graph_tensor(g, weight), *b = plim__graph_tensor(g, bias);
    if (!w || w->dtype != PLIM_F32 || (bias >= 0 && (!b || b->dtype != PLIM_F32)) || norm->parts[2] < 0) return PLIM_OK;
    norm->channels = plim__layer_channels(g, node);
    if (norm->channels < 1 || plim__restoring_target(r, g->values.items[weight].name) < 0) return PLIM_OK;
    norm->own_bias = bias_beside(r, g->values.items[weight].name);
    for (size_t k = 0; k < 4;
         k++) { /* a norm that is used twice is there; anything else that is there is a call that lies */
        plim_value found =
            norm->parts[k] < 0 ? -1 : plim_graph_find(g, r->signature.items.items[norm->parts[k]].target);
        const plim__shape row = {.rank = 1, .dims = {norm->channels}};
        if (found >= 0 && !plim__shape_equal(&g->values.items[found].shape, &row)) return PLIM_OK;
    }
    bool zero_weight, zero_bias = true;
    PLIM_TRY(is_zero(w, &zero_weight, r->error));
    if (b) PLIM_TRY(is_zero(b, &zero_bias, r->error));
    norm->evidence = zero_weight ? CLOSED : norm->own_bias >= 0 ? UNCLEAR : zero_bias ? UNTRAINED : TRAINED;
    return PLIM_OK;
}

static plim_status find_norms(const plim__restoring *r, norm_list *norms) {
    for (size_t i = 0; i < r->provenance->nodes.count; i++) {
        const plim__node_origin *origin = &r->provenance->nodes.items[i];
        plim__call call;
        if (!origin->rules || !strstr(origin->rules, "FuseBatchNorm") || !plim__call_read(origin->call, &call))
            continue;
        struct norm norm = {.node = origin->node, .own_bias = -1, .momentum = 0.1, .epsilon = 1e-5};
        for (size_t k = 0; k < 4; k++) {
            char name[PLIM__NAME_SIZE];
            norm.parts[k] =
                plim__call_argument(&call, k + 1, name, sizeof name) ? plim__restoring_placeholder(r, name) : -1;
        }
        plim__call_number(&call, 0, &norm.momentum);
        plim__call_number(&call, 1, &norm.epsilon);
        PLIM_TRY(find_evidence(r, &norm));
        if (!plim__vec_push(norms, norm)) return plim__fail_memory(r->error, "batch norms", sizeof norm);
    }
    return PLIM_OK;
}

/* --- putting one back ----------------------------------------------------------------------------------------------- */

static plim_status fill(plim__restoring *r, const struct norm *norm, float number, plim__tensor **tensor) {
    plim__shape shape = {.rank = 1, .dims = {norm->channels}};
    PLIM_TRY(plim__tensor_create(PLIM_F32, &shape, tensor, r->error));
    for (int64_t c = 0; c < norm->channels; c++) ((float *)(*tensor)->data)[c] = number;
    return PLIM_OK;
}

/* 1 / s, with s computed as the exporter does: in float32, rounded three times. */
static double unfolding_factor(double epsilon) {
    float variance = 1.0F + (float)epsilon, root = sqrtf(variance), scale = 1.0F / root;
    return 1.0 / (double)scale;
}

/* Every element as it was before the batch norm was folded into it. */
static plim_status unscale(plim__restoring *r, plim_value v, double epsilon) {
    plim__tensor *old = r->g->values.items[v].tensor, *made = NULL;
    size_t rows = (size_t)old->shape.dims[0];
    double *factors = plim__alloc_array(rows, sizeof *factors);
    if (!factors) return plim__fail_memory(r->error, "the factors of a weight", rows * sizeof *factors);
    for (size_t i = 0; i < rows; i++) factors[i] = unfolding_factor(epsilon);
    plim_status status = plim__tensor_scaled(old, factors, &made, r->error);
    plim__free(factors);
    if (status != PLIM_OK) return status;
    r->g->values.items[v].tensor = made;
    plim__tensor_release(old);
    return PLIM_OK;
}

/* The layer as it was: its weight, and its own bias or none. */
static plim_status restore_layer(plim__restoring *r, const struct norm *norm) {
    plim__node *node = &r->g->nodes.items[norm->node];
    plim_value bias = plim__node_in(node, 2);
    PLIM_TRY(unscale(r, node->inputs.items[1], norm->epsilon));
    if (norm->own_bias < 0) {
        if (node->inputs.count > 2) node->inputs.count = 2;
        return PLIM_OK;
    }
    if (bias >= 0) return unscale(r, bias, norm->epsilon);
    plim__tensor *zeros;
    PLIM_TRY(fill(r, norm, 0, &zeros));
    bias = plim__restoring_add(r, norm->own_bias, PLIM__ROLE_ZERO_BIAS, zeros);
    if (bias >= 0 && node->inputs.count > 2)
        node->inputs.items[2] = bias;
    else if (bias >= 0)
        plim__node_add_input(r->g, norm->node, bias);
    return plim_graph_status(r->g, r->error);
}

static plim_status restore_norm(plim__restoring *r, const struct norm *norm) {
    static const float fresh[4] = {1, 0, 0, 1};
    plim_graph *g = r->g;
    plim_value inputs[5];
    PLIM_TRY(restore_layer(r, norm));
    for (size_t k = 0; k < 4; k++) {
        plim__tensor *tensor;
        PLIM_TRY(fill(r, norm, fresh[k], &tensor));
        plim__role role = k < 2 ? PLIM__ROLE_NORM : PLIM__ROLE_NORM_STATISTIC;
        bool there = norm->parts[k] >= 0 && plim_graph_find(g, r->signature.items.items[norm->parts[k]].target) >= 0;
        if (norm->parts[k] >= 0 && !there)
            inputs[k + 1] = plim__restoring_add(r, norm->parts[k], role, tensor);
        else /* without a scale and a bias of its own; or a norm that is used twice */
            inputs[k + 1] = plim__graph_add_tensor(g, NULL, PLIM__VALUE_CONSTANT, tensor);
        if (there) inputs[k + 1] = plim_graph_find(g, r->signature.items.items[norm->parts[k]].target);
    }
    PLIM_TRY(plim_graph_status(g, r->error));
    plim_value out = g->nodes.items[norm->node].outputs.items[0];
    plim_value between = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
    if (between < 0) return plim_graph_status(g, r->error);
    g->nodes.items[norm->node].outputs.items[0] = inputs[0] = between;
    g->values.items[between].producer = norm->node;
    int32_t made = plim__graph_add_node(g, "", "BatchNormalization", NULL, plim__graph_opset(g, ""));
    for (size_t k = 0; k < 5; k++) plim__node_add_input(g, made, inputs[k]);
    plim__node_add_output(g, made, out);
    plim_graph_set_float(g, made, "epsilon", (float)norm->epsilon);
    plim_graph_set_float(g, made, "momentum", (float)(1 - norm->momentum));
    return plim_graph_status(g, r->error);
}

/* --- all of them ---------------------------------------------------------------------------------------------------- */

/* "layer1.bn" of its weight or its mean. */
static void add_name(const plim__restoring *r, const struct norm *norm, plim__name_list *list) {
    int64_t listed = norm->parts[0] >= 0 ? norm->parts[0] : norm->parts[2];
    const char *target = listed < 0 ? "?" : r->signature.items.items[listed].target, *dot = strrchr(target, '.');
    char name[PLIM__NAME_SIZE];
    size_t length = dot ? (size_t)(dot - target) : strlen(target);
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, target, length);
    name[length] = 0;
    plim__name_list_add(list, name);
}

static void mark_said(plim__restoring *r, const struct norm *norm) {
    for (size_t k = 0; k < 4; k++)
        if (norm->parts[k] >= 0 && r->fates[norm->parts[k]] != PLIM__FATE_FOUND)
            r->fates[norm->parts[k]] = PLIM__FATE_SAID;
    if (norm->own_bias >= 0 && r->fates[norm->own_bias] != PLIM__FATE_FOUND) r->fates[norm->own_bias] = PLIM__FATE_SAID;
}

static plim_status note(plim__restoring *r, const norm_list *norms, bool untrained) {
    plim__name_list put_back = {0}, lost = {0}, closed = {0};
    for (size_t i = 0; i < norms->count; i++) {
        const struct norm *norm = &norms->items[i];
        bool back = untrained && norm->evidence <= UNCLEAR;
        bool shut = untrained && norm->evidence == CLOSED;
        add_name(r, norm, back ? &put_back : shut ? &closed : &lost);
        if (!back) mark_said(r, norm);
    }
    plim_status status = PLIM_OK;
    if (put_back.count)
        status = plim__graph_remark(
            r->g, PLIM_REMARK_RESTORED,
            "%zu batch norm%s that the exporter had folded into the layer before %s put back as "
            "untrained (scale 1, bias 0, mean 0, variance 1), which the biases of the layers show: %s",
            put_back.count, put_back.count == 1 ? "" : "s", put_back.count == 1 ? "it is" : "them are",
            plim__name_list_text(&put_back));
    if (status == PLIM_OK && lost.count)
        status =
            plim__graph_remark(r->g, PLIM_REMARK_LOST,
                               "the exporter folded %zu batch norm%s into the layers before them: there are no batch "
                               "norms to train, and no statistics to follow the data: %s; " PLIM__KEEP,
                               lost.count, lost.count == 1 ? "" : "s", plim__name_list_text(&lost));
    if (status == PLIM_OK && closed.count)
        status =
            plim__graph_remark(r->g, PLIM_REMARK_LOST,
                               "the exporter folded %zu batch norm%s with a scale of 0 into the layers before them, "
                               "whose weights are now 0: %s; " PLIM__KEEP,
                               closed.count, closed.count == 1 ? "" : "s", plim__name_list_text(&closed));
    plim__name_list_free(&put_back);
    plim__name_list_free(&lost);
    plim__name_list_free(&closed);
    return status;
}

plim_status plim__restore_norms(plim__restoring *r) {
    norm_list norms = {0};
    plim_status status = find_norms(r, &norms);
    size_t untrained = 0, trained = 0;
    for (size_t i = 0; i < norms.count; i++) {
        untrained += norms.items[i].evidence == UNTRAINED;
        trained += norms.items[i].evidence == TRAINED;
    }
    bool restorable = untrained && !trained;
    for (size_t i = 0; i < norms.count && restorable && status == PLIM_OK; i++)
        if (norms.items[i].evidence <= UNCLEAR) status = restore_norm(r, &norms.items[i]);
    if (status == PLIM_OK && norms.count) status = note(r, &norms, restorable);
    plim__vec_free(&norms);
    return status;
}
