/* Inputs of nodes that are not the parameters which their calls name.
 *
 * The nodes that one call became form a group. Parameters that the call names and no node of the group reads are put in
 * place of inputs that the call does not name, in order: both lists follow the arguments of the call.
 *
 *   call   linear(%x, %p_fc_weight, %p_fc_bias)     fc.bias was equal to ln.bias, and merged with it
 *   node   Gemm(x, fc.weight, ln.bias)              → Gemm(x, fc.weight, fc.bias), which starts as a copy
 *   node   Gemm(x, fc.weight)                       → with a rule that removes zero biases: fc.bias of zeros
 *   node   MatMul(x, val_3)                         → val_3 was computed from fc.weight: Transpose(fc.weight)
 *   node   Add(val_4, ln.bias)                      → val_4 was computed from fc.weight and a table: only fc.bias is split
 *
 * A norm without parameters has ones and zeros in the file, and so has the instance norm that a group norm becomes, with its
 * parameters after it. Where another norm's parameters equal these, and were merged with them, they are constants again. So is
 * a number repeated over a tensor that a node reads as a parameter which its call does not name, while another's does; that
 * is said, since the call may have named a view of it.
 */
#include <string.h>

#include "core/error.h"
#include "graph/passes/export/names.h"
#include "graph/passes/export/restore.h"
#include "graph/passes/match.h"

enum { MOST = 64 }; /* parameters of one call; larger ones are left as they are */

struct input {
    int32_t node;
    size_t index;
};

struct group {
    plim__call call;
    int64_t named[MOST]; /* lines of the signature, in order */
    bool taken[MOST];
    size_t named_count;
    struct input loose[MOST]; /* inputs that the call does not name */
    bool again[MOST];         /* ... or names, and an earlier input is that already */
    size_t loose_count;
    int32_t biasless; /* a node whose bias was removed; -1 for none */
    bool usable;
};

static int find_named(const struct group *group, int64_t listed) {
    for (size_t i = 0; i < group->named_count; i++)
        if (group->named[i] == listed) return (int)i;
    return -1;
}

static void read_call(const plim__restoring *r, const char *text, struct group *group) {
    char name[PLIM__NAME_SIZE];
    *group = (struct group){.biasless = -1};
    group->usable = plim__call_read(text, &group->call);
    for (const char *at = text; group->usable && plim__placeholder_next(&at, name);) {
        int64_t listed = plim__restoring_placeholder(r, name);
        if (listed < 0 || find_named(group, listed) >= 0) continue;
        if (group->named_count == MOST)
            group->usable = false;
        else
            group->named[group->named_count++] = listed;
    }
}

/* Whether this may stand for a parameter: it is one itself, or was computed from one. */
static bool may_be_loose(const plim__restoring *r, const plim__value *value) {
    if (value->kind != PLIM__VALUE_PARAMETER) return false;
    return value->role == PLIM__ROLE_FOLDED || plim__restoring_target(r, value->name) >= 0;
}

/* Whether the node is a norm with ones and zeros of the exporter: the call has no parameters for it, or other nodes have. */
static bool has_constants(const plim__call *call, const plim__node *node) {
    static const struct norm {
        const char *call, *op;
        size_t weight; /* the argument; 0: the node never has the module's */
    } norms[] = {{"group_norm", "InstanceNormalization", 0},     {"layer_norm", "LayerNormalization", 2},
                 {"native_layer_norm", "LayerNormalization", 2}, {"rms_norm", "RMSNormalization", 2},
                 {"instance_norm", "InstanceNormalization", 1},  {"batch_norm", "BatchNormalization", 1},
                 {"batch_norm", "InstanceNormalization", 1}};
    char name[PLIM__NAME_SIZE];
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        if (plim__call_is(call, norms[i].call) && strcmp(node->op_name, norms[i].op) == 0)
            return !norms[i].weight || !plim__call_argument(call, norms[i].weight, name, sizeof name);
    return false;
}

static plim_status part_constants(plim__restoring *r, const plim__node_origin *origin, const struct group *group) {
    plim_graph *g = r->g;
    if (!group->usable || !has_constants(&group->call, &g->nodes.items[origin->node])) return PLIM_OK;
    for (size_t i = 1; i < 3 && i < g->nodes.items[origin->node].inputs.count; i++) {
        plim_value from = g->nodes.items[origin->node].inputs.items[i];
        int64_t listed = from < 0 ? -1 : plim__restoring_target(r, g->values.items[from].name);
        if (listed < 0 || find_named(group, listed) >= 0 || !g->values.items[from].tensor) continue;
        plim_value own =
            plim__graph_add_tensor(g, NULL, PLIM__VALUE_CONSTANT, plim__tensor_retain(g->values.items[from].tensor));
        if (own >= 0) g->nodes.items[origin->node].inputs.items[i] = own;
    }
    return plim_graph_status(g, r->error);
}

static void add_node(const plim__restoring *r, const plim__node_origin *origin, struct group *group) {
    const plim__node *node = &r->g->nodes.items[origin->node];
    if (origin->rules && strstr(origin->rules, "FuseBatchNorm")) group->usable = false; /* restore_norms */
    bool removed = origin->rules && strstr(origin->rules, "RemoveOptionalBias") && plim__node_in(node, 2) < 0;
    if (removed) group->biasless = origin->node;
    for (size_t i = 0; group->usable && i < node->inputs.count; i++) {
        const plim__value *value = node->inputs.items[i] < 0 ? NULL : &r->g->values.items[node->inputs.items[i]];
        if (!value || !may_be_loose(r, value)) continue;
        int named = find_named(group, plim__restoring_target(r, value->name));
        bool again = named >= 0 && group->taken[named];
        if (named >= 0) group->taken[named] = r->named[group->named[named]] = true;
        if (named >= 0 && !again) continue;
        if (group->loose_count == MOST) {
            group->usable = false;
        } else {
            group->again[group->loose_count] = again;
            group->loose[group->loose_count++] = (struct input){origin->node, i};
        }
    }
}

/* A parameter may be read twice. */
static void drop_repeated(struct group *group) {
    size_t kept = 0;
    for (size_t i = 0; i < group->loose_count; i++)
        if (!group->again[i]) group->loose[kept++] = group->loose[i];
    group->loose_count = kept;
}

/* --- putting parameters back ---------------------------------------------------------------------------------------- */

int64_t plim__layer_channels(const plim_graph *g, const plim__node *node) {
    plim_value weight = plim__node_in(node, 1);
    if (weight < 0 || g->values.items[weight].shape.rank < 2) return -1;
    const plim__shape *shape = &g->values.items[weight].shape;
    if (strcmp(node->op_name, "Conv") == 0) return shape->dims[0];
    if (strcmp(node->op_name, "ConvTranspose") == 0) return shape->dims[1] * plim__node_int(node, "group", 1);
    if (strcmp(node->op_name, "Gemm") == 0) return shape->dims[plim__node_int(node, "transB", 0) ? 0 : 1];
    return -1;
}

plim_value plim__layer_weight(const plim__node *node) {
    static const char *const layers[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN"};
    for (size_t i = 0; !*node->domain && i < sizeof layers / sizeof *layers; i++)
        if (strcmp(node->op_name, layers[i]) == 0) return plim__node_in(node, 1);
    return PLIM_NO_VALUE;
}

static plim_status restore_bias(plim__restoring *r, int32_t n, int64_t listed) {
    const plim__node *node = &r->g->nodes.items[n];
    int64_t channels = plim__layer_channels(r->g, node);
    plim_value weight = plim__node_in(node, 1), bias = plim_graph_find(r->g, r->signature.items.items[listed].target);
    if (channels < 1) return PLIM_OK;
    const plim__shape shape = {.rank = 1, .dims = {channels}};
    if (bias >= 0) {
        PLIM_TRY(plim__restoring_check(r, n, &bias, &shape));
        if (bias < 0) return PLIM_OK;
    } else {
        plim__tensor *tensor;
        PLIM_TRY(plim__tensor_create(r->g->values.items[weight].dtype, &shape, &tensor, r->error));
        memset(tensor->data, 0, tensor->bytes);
        bias = plim__restoring_add(r, listed, PLIM__ROLE_ZERO_BIAS, tensor);
        r->biases++;
    }
    if (bias >= 0 && r->g->nodes.items[n].inputs.count > 2)
        r->g->nodes.items[n].inputs.items[2] = bias;
    else if (bias >= 0)
        plim__node_add_input(r->g, n, bias);
    return plim_graph_status(r->g, r->error);
}

/* The shape that the module has it in. */
static plim__shape shape_in_module(const plim__value *from, bool transposed) {
    if (transposed) return (plim__shape){.rank = 2, .dims = {from->shape.dims[1], from->shape.dims[0]}};
    return (plim__shape){.rank = 1, .dims = {plim__shape_elements(&from->shape)}};
}

/* What `from` holds, in the shape that the module has it in, and what makes `from` of it again. */
static plim_status undo_view(plim__restoring *r, plim__value *from, bool transposed, plim__tensor **tensor) {
    if (transposed) return plim__tensor_transposed(from->tensor, tensor, r->error);
    plim__shape flat = shape_in_module(from, false);
    return plim__tensor_reshaped(from->tensor, &flat, tensor, r->error);
}

static plim_value redo_view(plim__restoring *r, plim_value parameter, plim_value from, bool transposed) {
    plim_graph *g = r->g;
    plim__shape shape = g->values.items[from].shape;
    int32_t node;
    if (transposed) {
        node = plim_graph_node(g, "Transpose", NULL, &parameter, 1, 1);
        plim_graph_set_ints(g, node, "perm", (const int64_t[]){1, 0}, 2);
    } else {
        plim_value dims = plim_graph_constant(g, NULL, PLIM_I64, 1, (const int64_t[]){shape.rank}, shape.dims);
        node = plim_graph_node(g, "Reshape", NULL, (const plim_value[]){parameter, dims}, 2, 1);
    }
    return plim_graph_node_output(g, node, 0);
}

/* The input was computed from the parameter by what the call does first. PLIM_NO_VALUE when that is not known. */
static plim_status restore_view(plim__restoring *r, const struct group *group, struct input at, int64_t listed,
                                plim_value *made) {
    plim_graph *g = r->g;
    plim_value from = g->nodes.items[at.node].inputs.items[at.index];
    bool product = strcmp(g->nodes.items[at.node].op_name, "MatMul") == 0 && at.index == 1 &&
                   g->values.items[from].shape.rank == 2;
    bool transposed = product && plim__call_is(&group->call, "linear");
    bool flattened = plim__call_is(&group->call, "group_norm") || plim__call_is(&group->call, "prelu");
    *made = PLIM_NO_VALUE;
    if (!transposed && !flattened) return PLIM_OK;
    plim_value parameter = plim_graph_find(g, r->signature.items.items[listed].target);
    if (parameter >= 0) {
        plim__shape shape = shape_in_module(&g->values.items[from], transposed);
        PLIM_TRY(plim__restoring_check(r, at.node, &parameter, &shape));
    } else {
        plim__tensor *tensor;
        PLIM_TRY(undo_view(r, &g->values.items[from], transposed, &tensor));
        parameter = plim__restoring_add(r, listed, PLIM__ROLE_VIEW, tensor);
        r->views++;
    }
    if (parameter >= 0) *made = redo_view(r, parameter, from, transposed);
    return plim_graph_status(g, r->error);
}

static plim_status restore_input(plim__restoring *r, const struct group *group, struct input at, int64_t listed) {
    plim_graph *g = r->g;
    plim_value from = g->nodes.items[at.node].inputs.items[at.index], made;
    if (g->values.items[from].role == PLIM__ROLE_FOLDED) {
        PLIM_TRY(restore_view(r, group, at, listed, &made));
    } else {
        made = plim_graph_find(g, r->signature.items.items[listed].target);
        if (made >= 0) {
            plim__shape shape = g->values.items[from].shape;
            PLIM_TRY(plim__restoring_check(r, at.node, &made, &shape));
        } else {
            made = plim__restoring_add(r, listed, PLIM__ROLE_SPLIT, plim__tensor_retain(g->values.items[from].tensor));
            r->split++;
        }
    }
    if (made >= 0) g->nodes.items[at.node].inputs.items[at.index] = made;
    return plim_graph_status(g, r->error);
}

/* A value that was computed from several of the call's parameters stands for all of them: these are lost, and what is left can be
 * told apart. Returns how many are left. */
static size_t drop_computed(const plim__restoring *r, struct group *group, int64_t *left, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < group->loose_count; i++) {
        const plim_graph *g = r->g;
        const plim__value *value =
            &g->values.items[g->nodes.items[group->loose[i].node].inputs.items[group->loose[i].index]];
        int64_t at = value->role == PLIM__ROLE_FOLDED ? plim__map_get(&r->folded, value->name, -1) : -1;
        char name[PLIM__NAME_SIZE];
        if (at < 0) group->loose[kept++] = group->loose[i];
        for (const char *text = at < 0 ? NULL : r->provenance->values.items[at].folded;
             text && plim__quoted_next(&text, name);)
            for (size_t k = 0; k < count; k++)
                if (left[k] == plim__restoring_target(r, name))
                    memmove(left + k, left + k + 1, (--count - k) * sizeof *left);
    }
    group->loose_count = kept;
    return count;
}

/* Whether the input is the weight of a linear layer whose call names one that is left: computed from another parameter, it was merged
 * with what was computed from an equal one (layers that are copies of each other). */
static bool is_own_weight(const plim__restoring *r, const struct group *group, struct input at, const int64_t *left,
                          size_t count) {
    char name[PLIM__NAME_SIZE];
    bool product = strcmp(r->g->nodes.items[at.node].op_name, "MatMul") == 0 && at.index == 1;
    if (!product || !plim__call_is(&group->call, "linear") || !plim__call_argument(&group->call, 1, name, sizeof name))
        return false;
    int64_t listed = plim__restoring_placeholder(r, name);
    for (size_t k = 0; k < count; k++)
        if (listed >= 0 && left[k] == listed) return true;
    return false;
}

/* A value that was computed from none of the parameters that are left stands for none of them: F.linear(x, w.t(), b). */
static void drop_foreign(const plim__restoring *r, struct group *group, const int64_t *left, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < group->loose_count; i++) {
        const plim__node *node = &r->g->nodes.items[group->loose[i].node];
        const plim__value *value = &r->g->values.items[node->inputs.items[group->loose[i].index]];
        int64_t at = value->role == PLIM__ROLE_FOLDED ? plim__map_get(&r->folded, value->name, -1) : -1;
        bool own = at < 0 || is_own_weight(r, group, group->loose[i], left, count);
        char name[PLIM__NAME_SIZE];
        for (const char *text = own || at < 0 ? NULL : r->provenance->values.items[at].folded;
             text && plim__quoted_next(&text, name);)
            for (size_t k = 0; k < count; k++) own |= left[k] == plim__restoring_target(r, name);
        group->again[kept] = group->again[i];
        if (own) group->loose[kept++] = group->loose[i];
    }
    group->loose_count = kept;
}

static plim_status restore_group(plim__restoring *r, struct group *group) {
    int64_t left[MOST];
    size_t count = 0;
    for (size_t i = 0; i < group->named_count; i++)
        if (!group->taken[i]) left[count++] = group->named[i];
    if (!group->usable || count == 0) return PLIM_OK;
    drop_foreign(r, group, left, count);
    if (count < group->loose_count) drop_repeated(group);
    if (group->biasless >= 0 && count == group->loose_count + 1) {
        bool first = plim__call_is(&group->call, "addmm");
        PLIM_TRY(restore_bias(r, group->biasless, first ? left[0] : left[count - 1]));
        if (first)
            memmove(left, left + 1, --count * sizeof *left);
        else
            count--;
    }
    if (count != group->loose_count) count = drop_computed(r, group, left, count);
    if (count != group->loose_count) return PLIM_OK; /* which is which is not known */
    for (size_t i = 0; i < count; i++) PLIM_TRY(restore_input(r, group, group->loose[i], left[i]));
    return PLIM_OK;
}

/* --- constants ------------------------------------------------------------------------------------------------------- */

enum { MOST_MERGED = 4096 }; /* elements: the exporter leaves larger tensors apart */

/* Whether all its elements are the same number. */
static bool is_uniform(const plim_graph *g, plim__tensor *tensor) {
    int64_t count = tensor ? plim__shape_elements(&tensor->shape) : 0;
    if (count < 1 || count > MOST_MERGED || !plim__match_load(g, tensor)) return false;
    for (int64_t i = 1; i < count; i++)
        if (plim__tensor_at(tensor, i) != plim__tensor_at(tensor, 0)) return false;
    return true;
}

/* Inputs of a group that has all its parameters, and reads one more. */
static plim_status part_others(plim__restoring *r, struct group *group) {
    plim_graph *g = r->g;
    for (size_t i = 0; i < group->named_count; i++)
        if (!group->taken[i]) return PLIM_OK;
    for (size_t i = 0; group->usable && i < group->loose_count; i++) {
        struct input at = group->loose[i];
        plim_value from = g->nodes.items[at.node].inputs.items[at.index];
        const plim__value *value = &g->values.items[from];
        int64_t listed = plim__restoring_target(r, value->name);
        if (group->again[i] || listed < 0 || !r->named[listed] || !plim__role_trained(value->role) ||
            !is_uniform(g, value->tensor))
            continue;
        PLIM_TRY(plim__graph_remark(g, PLIM_REMARK_DOUBT,
                                    "node '%.200s' reads '%.200s', which its call does not name: taken for a constant "
                                    "that the exporter merged with an equal parameter, and not trained there",
                                    plim__node_label(g, &g->nodes.items[at.node]), value->name));
        plim_value own =
            plim__graph_add_tensor(g, NULL, PLIM__VALUE_CONSTANT, plim__tensor_retain(g->values.items[from].tensor));
        if (own >= 0) g->nodes.items[at.node].inputs.items[at.index] = own;
    }
    return plim_graph_status(g, r->error);
}

/* A parameter that nothing reads any more, since the calls of its readers name another: one of a file's two names lies, or the
 * parameter's own layer is gone. */
static plim_status say_renamed(plim__restoring *r) {
    plim_graph *g = r->g;
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        int64_t listed = value->tensor ? plim__restoring_target(r, value->name) : -1;
        if (listed < 0 || r->named[listed] || value->role != PLIM__ROLE_PARAMETER ||
            plim__graph_is_used(g, (plim_value)v))
            continue;
        for (size_t w = 0; w < g->values.count; w++)
            if (g->values.items[w].role == PLIM__ROLE_SPLIT && g->values.items[w].tensor == value->tensor)
                PLIM_TRY(plim__graph_remark(g, PLIM_REMARK_DOUBT,
                                            "no call names '%.200s', and what reads it was made by a call that names "
                                            "'%.200s': it is trained under that name",
                                            g->values.items[v].name, g->values.items[w].name));
    }
    return PLIM_OK;
}

/* --- groups --------------------------------------------------------------------------------------------------------- */

/* next[i] is the next origin whose call has the same result; first ones are marked. */
static plim_status link_groups(const plim__restoring *r, int32_t *next, bool *first) {
    const plim__provenance *p = r->provenance;
    plim__map last = {0};
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < p->nodes.count && status == PLIM_OK; i++) {
        char name[PLIM__NAME_SIZE];
        const char *call = p->nodes.items[i].call;
        size_t length = call ? strcspn(call, " ") : 0;
        next[i] = -1;
        if (length == 0 || length >= sizeof name) continue;
        memcpy(name, call, length);
        name[length] = 0;
        int64_t before = plim__map_get(&last, name, -1);
        if (before >= 0) next[before] = (int32_t)i;
        first[i] = before < 0;
        if (!plim__map_put(&last, name, (int64_t)i))
            status = plim__fail_memory(r->error, "the exporter's calls", length);
    }
    plim__map_free(&last);
    return status;
}

/* What `restore` does to each group of nodes. */
static plim_status for_groups(plim__restoring *r, const int32_t *next, const bool *first,
                              plim_status (*restore)(plim__restoring *r, struct group *group)) {
    const plim__provenance *p = r->provenance;
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < p->nodes.count && status == PLIM_OK; i++) {
        if (!first[i]) continue;
        struct group group;
        read_call(r, p->nodes.items[i].call, &group);
        for (int32_t k = (int32_t)i; k >= 0 && status == PLIM_OK; k = next[k]) {
            status = part_constants(r, &p->nodes.items[k], &group);
            if (status == PLIM_OK) add_node(r, &p->nodes.items[k], &group);
        }
        if (status == PLIM_OK) status = restore(r, &group);
    }
    return status;
}

plim_status plim__restore_parameters(plim__restoring *r) {
    size_t count = r->provenance->nodes.count;
    int32_t *next = plim__alloc_array(count, sizeof *next);
    bool *first = plim__alloc_zero(count, sizeof *first);
    r->named = plim__alloc_zero(r->signature.items.count, sizeof *r->named);
    plim_status status = next && first && r->named ? link_groups(r, next, first)
                                                   : plim__fail_memory(r->error, "the exporter's calls", count);
    if (status == PLIM_OK) status = for_groups(r, next, first, restore_group);
    if (status == PLIM_OK) status = say_renamed(r);
    if (status == PLIM_OK) status = for_groups(r, next, first, part_others);
    plim__free(r->named);
    plim__free(next);
    plim__free(first);
    return status;
}
