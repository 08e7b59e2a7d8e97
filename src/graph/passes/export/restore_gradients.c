/* Where a module stops its gradient, and buffers that it moves while it trains.
 *
 *   call   detach(%sigmoid)                   Identity(sigmoid), which gets a mark: no gradient goes through it
 *   call   mul(%linear, %detach)              Mul(linear, sigmoid): the exporter removed the Identity, and it comes back
 *   trace  File "<eval_with_key>.7"           torch.no_grad() or autocast, which nothing tells apart: said
 *   list   div: BUFFER_MUTATION target='u'    u becomes div after each step; what reads div gets no gradient through it
 *
 * A buffer that kept its gradient would ask for the graph of the step before, which is gone: PyTorch refuses that, so a
 * module computes what a buffer becomes without gradients. */
#include <ctype.h>
#include <string.h>

#include "core/error.h"
#include "graph/passes/export/names.h"
#include "graph/passes/export/restore.h"
#include "graph/passes/match.h"

/* detach, detach_3: names of calls that stop the gradient. */
static bool names_detach(const char *name) {
    if (strncmp(name, "detach", 6) != 0) return false;
    const char *rest = name + 6;
    if (*rest == '_') rest++;
    while (isdigit((unsigned char)*rest)) rest++;
    return !*rest;
}

/* A copy of the value that no gradient goes through. */
static plim_value stop(plim_graph *g, plim_value value) {
    int32_t node = plim_graph_node(g, "Identity", NULL, &value, 1, 1);
    plim_graph_set_int(g, node, PLIM__DETACHED, 1);
    plim_value made = plim_graph_node_output(g, node, 0);
    if (made >= 0) {
        g->values.items[made].dtype = g->values.items[value].dtype;
        g->values.items[made].shape = g->values.items[value].shape;
    }
    return made;
}

/* The input that is the only one whose name the call does not have, or that stands where `argument` does; -1 when neither
 * tells. */
static int find_input(const plim_graph *g, const plim__node *node, const plim__call *call, size_t argument) {
    char name[PLIM__NAME_SIZE];
    size_t tensors = 0, place = 0, inputs = 0;
    int only = -1, unnamed = 0;
    for (size_t i = 0; i < call->count; i++) {
        if (i == argument) place = tensors;
        tensors += plim__call_argument(call, i, name, sizeof name);
    }
    for (size_t i = 0; i < node->inputs.count; i++) {
        plim_value v = node->inputs.items[i];
        if (v < 0 || g->values.items[v].producer < 0) {
            inputs += v >= 0;
            continue;
        }
        inputs++;
        bool named = false;
        for (size_t k = 0; k < call->count; k++)
            named |= plim__call_argument(call, k, name, sizeof name) && strcmp(name, g->values.items[v].name) == 0;
        if (!named) only = (int)i, unnamed++;
    }
    if (unnamed == 1) return only;
    return inputs == tensors && inputs == node->inputs.count ? (int)place : -1;
}

/* Whether a node of another origin has the same call: its inputs are not the call's alone. */
static bool has_company(const plim__provenance *p, size_t i) {
    const char *call = p->nodes.items[i].call;
    size_t length = strcspn(call, " ");
    for (size_t k = i < 8 ? 0 : i - 8; k < p->nodes.count && k < i + 8; k++)
        if (k != i && p->nodes.items[k].call && strncmp(p->nodes.items[k].call, call, length + 1) == 0) return true;
    return false;
}

/* A call that reads what a removed Identity gave. */
static plim_status put_back(plim__restoring *r, size_t i, const plim__call *call, plim__name_list *lost) {
    plim_graph *g = r->g;
    int32_t n = r->provenance->nodes.items[i].node;
    char name[PLIM__NAME_SIZE];
    for (size_t k = 0; k < call->count; k++) {
        if (!plim__call_argument(call, k, name, sizeof name) || !names_detach(name) || plim_graph_find(g, name) >= 0)
            continue;
        int input = has_company(r->provenance, i) ? -1 : find_input(g, &g->nodes.items[n], call, k);
        if (input < 0) {
            plim__name_list_add(lost, plim__node_label(g, &g->nodes.items[n]));
            continue;
        }
        plim_value made = stop(g, g->nodes.items[n].inputs.items[input]);
        if (made >= 0) plim__node_set_input(g, n, (size_t)input, made);
        r->stopped++;
    }
    return plim_graph_status(g, r->error);
}

static plim_status stop_calls(plim__restoring *r, plim__name_list *lost) {
    for (size_t i = 0; i < r->provenance->nodes.count; i++) {
        const plim__node_origin *origin = &r->provenance->nodes.items[i];
        plim__call call;
        if (!origin->call || !strstr(origin->call, "detach") || !plim__call_read(origin->call, &call)) continue;
        if (plim__call_is(&call, "detach") && plim__match_op(&r->g->nodes.items[origin->node], "Identity")) {
            plim_graph_set_int(r->g, origin->node, PLIM__DETACHED, 1);
            r->stopped++;
        } else {
            PLIM_TRY(put_back(r, i, &call, lost));
        }
    }
    return plim_graph_status(r->g, r->error);
}

/* --- parts without gradients ------------------------------------------------------------------------------------------ */

/* Which values depend on something that is trained; in any order of the nodes. */
static void find_dependent(const plim_graph *g, bool *depends) {
    for (size_t v = 0; v < g->values.count; v++)
        depends[v] = g->values.items[v].kind == PLIM__VALUE_PARAMETER && plim__role_trained(g->values.items[v].role);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t n = 0; n < g->nodes.count; n++) {
            const plim__node *node = &g->nodes.items[n];
            bool any = false;
            if (node->dead || plim__node_attribute(node, PLIM__DETACHED)) continue;
            for (size_t i = 0; i < node->inputs.count; i++)
                any |= node->inputs.items[i] >= 0 && depends[node->inputs.items[i]];
            for (size_t i = 0; any && i < node->outputs.count; i++) {
                plim_value out = node->outputs.items[i];
                if (out < 0 || depends[out]) continue;
                depends[out] = changed = true;
            }
        }
    }
}

/* Parameters that nodes apart read, once each; whether they read other values that depend on some, from outside their part. */
static bool list_apart(const plim__restoring *r, bool *depends, plim__name_list *names) {
    const plim_graph *g = r->g;
    bool through = false;
    for (size_t i = 0; i < r->provenance->apart.count; i++) {
        const plim__node *node = &g->nodes.items[r->provenance->apart.items[i]];
        for (size_t k = 0; k < node->outputs.count; k++) /* nodes are in order: readers inside the part come later */
            if (node->outputs.items[k] >= 0) depends[node->outputs.items[k]] = false;
        for (size_t k = 0; k < node->inputs.count; k++) {
            plim_value v = node->inputs.items[k];
            if (v < 0 || !depends[v]) continue;
            if (g->values.items[v].kind == PLIM__VALUE_PARAMETER) {
                plim__name_list_add(names, g->values.items[v].name);
                depends[v] = false; /* named once */
            } else {
                through = true;
            }
        }
    }
    return through;
}

/* What a module computes under torch.no_grad() is in the file as anything else, and so is what it computes with autocast set: only
 * the stack traces of these nodes begin in code that the exporter made. */
static plim_status note_apart(plim__restoring *r) {
    if (!r->provenance->apart.count || !r->provenance->mixed) return PLIM_OK;
    bool *depends = plim__alloc_zero(r->g->values.count, sizeof *depends);
    if (!depends) return plim__fail_memory(r->error, "the uses of values", r->g->values.count);
    plim__name_list names = {0};
    find_dependent(r->g, depends);
    bool through = list_apart(r, depends, &names);
    plim__free(depends);
    plim_status status = PLIM_OK;
    if (names.count)
        status = plim__graph_remark(
            r->g, PLIM_REMARK_DOUBT,
            "%zu parameter%s read in a part of the module under torch.no_grad() or autocast, which the file does not "
            "tell apart, and trained here: %s;%s where it is torch.no_grad(), --freeze GLOB, or detach() in the module",
            names.count, names.count == 1 ? " is" : "s are", plim__name_list_text(&names),
            through ? " gradients go through it here, also to what is before it;" : "");
    else if (through)
        status = plim__graph_remark(r->g, PLIM_REMARK_DOUBT,
                                    "the module computes a part under torch.no_grad() or autocast, which the file does "
                                    "not tell apart: gradients go "
                                    "through it here; detach() in the place of torch.no_grad() is kept");
    plim__name_list_free(&names);
    return status;
}

/* --- buffers ---------------------------------------------------------------------------------------------------------- */

/* Statistics of batch norms move by themselves, and are no matter of this file. */
static bool is_of_norm(const plim_graph *g, plim_value buffer) {
    for (size_t n = 0; n < g->nodes.count; n++)
        for (size_t i = 3; i < 5 && plim__match_op(&g->nodes.items[n], "BatchNormalization"); i++)
            if (plim__node_in(&g->nodes.items[n], i) == buffer) return true;
    return false;
}

static bool is_counter(const char *name) {
    static const char end[] = "num_batches_tracked";
    size_t length = strlen(name);
    return length >= sizeof end - 1 && strcmp(name + length - (sizeof end - 1), end) == 0;
}

/* Readers of what a buffer becomes get no gradient through it. */
static void stop_readers(plim_graph *g, plim_value next) {
    size_t count = g->nodes.count;
    plim_value made = stop(g, next);
    for (size_t n = 0; made >= 0 && n < count; n++)
        for (size_t i = 0; i < g->nodes.items[n].inputs.count; i++)
            if (g->nodes.items[n].inputs.items[i] == next) plim__node_set_input(g, (int32_t)n, i, made);
}

static void follow_buffers(plim__restoring *r, plim__name_list *still, plim__name_list *absent) {
    plim_graph *g = r->g;
    for (size_t i = 0; i < r->signature.moved.count; i++) {
        plim__moved *one = &r->signature.moved.items[i];
        plim_value now = plim_graph_find(g, one->target), next = plim_graph_find(g, one->value);
        if (is_counter(one->target) || (now >= 0 && is_of_norm(g, now))) continue;
        bool made = next >= 0 && g->values.items[next].producer >= 0;
        if (made) stop_readers(g, next);
        one->followed = made && now >= 0 && g->values.items[now].role == PLIM__ROLE_BUFFER;
        if (!one->followed) plim__name_list_add(now < 0 ? absent : still, one->target);
    }
}

static plim_status note(plim__restoring *r, plim__name_list *lost, plim__name_list *still, plim__name_list *absent) {
    if (lost->count)
        PLIM_TRY(plim__graph_remark(r->g, PLIM_REMARK_LOST,
                                    "the module stops the gradient (detach) before %zu node%s, and the file does not "
                                    "show at which input: gradients go through: %s; " PLIM__KEEP,
                                    lost->count, lost->count == 1 ? "" : "s", plim__name_list_text(lost)));
    if (still->count)
        PLIM_TRY(plim__graph_remark(r->g, PLIM_REMARK_LOST,
                                    "the module moves %zu buffer%s while it trains, and the file has not what %s: "
                                    "here %s as in the file: %s",
                                    still->count, still->count == 1 ? "" : "s",
                                    still->count == 1 ? "it becomes" : "they become",
                                    still->count == 1 ? "it stays" : "they stay", plim__name_list_text(still)));
    if (absent->count == 0) return PLIM_OK;
    return plim__graph_remark(r->g, PLIM_REMARK_DOUBT,
                              "the module moves %zu buffer%s while it trains that nothing in the file reads: no "
                              "trained file has %s: %s",
                              absent->count, absent->count == 1 ? "" : "s", absent->count == 1 ? "it" : "them",
                              plim__name_list_text(absent));
}

plim_status plim__restore_gradients(plim__restoring *r) {
    plim__name_list lost = {0}, still = {0}, absent = {0};
    plim_status status = stop_calls(r, &lost);
    if (status == PLIM_OK) follow_buffers(r, &still, &absent);
    if (status == PLIM_OK) status = plim_graph_status(r->g, r->error);
    if (status == PLIM_OK) status = note(r, &lost, &still, &absent);
    if (status == PLIM_OK) status = note_apart(r);
    plim__name_list_free(&lost);
    plim__name_list_free(&still);
    plim__name_list_free(&absent);
    return status;
}
