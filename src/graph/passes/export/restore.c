/* What the exporter lists becomes the role of each value; what it lists and no node reads any more is lost, unless it can
 * be put back. */
#include "graph/passes/export/restore.h"

#include <ctype.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "graph/passes/export/names.h"

int64_t plim__restoring_target(const plim__restoring *r, const char *name) {
    return plim__map_get(&r->signature.targets, name, -1);
}

int64_t plim__restoring_placeholder(const plim__restoring *r, const char *name) {
    return plim__map_get(&r->signature.placeholders, name, -1);
}

plim_value plim__restoring_add(plim__restoring *r, int64_t listed, plim__role role, plim__tensor *tensor) {
    plim_value v = plim__graph_add_tensor(r->g, r->signature.items.items[listed].target, PLIM__VALUE_PARAMETER, tensor);
    if (v < 0) return v;
    bool buffer = plim__role_trained(role) && r->signature.items.items[listed].kind != PLIM__LISTED_PARAMETER;
    r->g->values.items[v].role = buffer ? PLIM__ROLE_BUFFER : role;
    r->fates[listed] = PLIM__FATE_FOUND;
    return v;
}

plim_status plim__restoring_check(plim__restoring *r, int32_t node, plim_value *found, const plim__shape *shape) {
    plim_graph *g = r->g;
    if (*found < 0 || plim__shape_equal(&g->values.items[*found].shape, shape)) return PLIM_OK;
    const char *name = g->values.items[*found].name;
    *found = PLIM_NO_VALUE;
    return plim__graph_remark(
        g, PLIM_REMARK_DOUBT,
        "the call of node '%.200s' names '%.200s', whose shape is not that of what the node reads: "
        "the node is left as it is",
        plim__node_label(g, &g->nodes.items[node]), name);
}

/* --- roles ---------------------------------------------------------------------------------------------------------- */

/* Whether what a value was folded from holds a parameter. */
static bool from_parameter(const plim__restoring *r, const plim__value_origin *origin) {
    char name[PLIM__NAME_SIZE];
    for (const char *at = origin->folded; at && plim__quoted_next(&at, name);) {
        int64_t listed = plim__restoring_target(r, name);
        if (listed >= 0 && r->signature.items.items[listed].kind == PLIM__LISTED_PARAMETER) return true;
    }
    return false;
}

/* The exporter's words about a value itself, where the signature is gone. */
static plim__role role_of_kind(const char *kind) {
    if (kind && strcmp(kind, "PARAMETER") == 0) return PLIM__ROLE_PARAMETER;
    if (kind && strcmp(kind, "BUFFER") == 0) return PLIM__ROLE_BUFFER;
    return PLIM__ROLE_UNLISTED;
}

static plim_status set_role(plim__restoring *r, plim__value *value) {
    int64_t listed = plim__restoring_target(r, value->name), at = plim__map_get(&r->folded, value->name, -1);
    const plim__value_origin *origin = at >= 0 ? &r->provenance->values.items[at] : NULL;
    value->role = role_of_kind(origin ? origin->kind : NULL);
    if (origin && origin->folded && from_parameter(r, origin)) value->role = PLIM__ROLE_FOLDED;
    if (listed < 0) return PLIM_OK;
    r->fates[listed] = PLIM__FATE_FOUND;
    plim__role own = r->signature.items.items[listed].kind == PLIM__LISTED_PARAMETER ? PLIM__ROLE_PARAMETER
                     : r->signature.items.items[listed].kind == PLIM__LISTED_BUFFER  ? PLIM__ROLE_BUFFER
                                                                                     : PLIM__ROLE_UNLISTED;
    bool differs = origin && origin->kind && *origin->kind && role_of_kind(origin->kind) != own;
    value->role = differs ? PLIM__ROLE_CONTRADICTED : own;
    if (!differs) return PLIM_OK;
    return plim__graph_remark(r->g, PLIM_REMARK_DOUBT,
                              "'%.200s' is a %s in the exporter's list and a %.40s where the value is declared; it is "
                              "not trained (--trainable '%.200s' would)",
                              value->name, own == PLIM__ROLE_PARAMETER ? "parameter" : "buffer", origin->kind,
                              value->name);
}

/* Modules have tables of positions and masks as parameters that need no gradient, which the exporter does not say. */
static plim_status fix_table(plim__restoring *r, plim__value *value) {
    if (value->role != PLIM__ROLE_PARAMETER || value->shape.rank < 2) return PLIM_OK;
    plim__role role;
    PLIM_TRY(plim__tensor_find_role(value->tensor, &role, r->error));
    if (role == PLIM__ROLE_WEIGHT || (role == PLIM__ROLE_POSITIONS && value->shape.rank != 2)) return PLIM_OK;
    value->role = role;
    return plim__graph_remark(
        r->g, PLIM_REMARK_DOUBT, "'%.200s' is %s, and is not trained (--trainable '%.200s' would)", value->name,
        role == PLIM__ROLE_MASK ? "a mask (0, and far below)" : "a table of sines and cosines", value->name);
}

static plim_status set_roles(plim__restoring *r) {
    for (size_t v = 0; v < r->g->values.count; v++) {
        if (r->g->values.items[v].kind != PLIM__VALUE_PARAMETER) continue;
        PLIM_TRY(set_role(r, &r->g->values.items[v]));
        PLIM_TRY(fix_table(r, &r->g->values.items[v]));
    }
    return PLIM_OK;
}

/* Parameters that are no float: a list that lies, or a type that cannot be trained. */
static plim_status check_types(plim__restoring *r) {
    for (size_t i = 0; i < r->signature.items.count; i++) {
        const plim__listed *one = &r->signature.items.items[i];
        plim_value v = plim_graph_find(r->g, one->target);
        const plim__value *value = v < 0 ? NULL : &r->g->values.items[v];
        if (!value || one->kind != PLIM__LISTED_PARAMETER || value->kind == PLIM__VALUE_PARAMETER) continue;
        r->fates[i] = PLIM__FATE_SAID;
        PLIM_TRY(plim__graph_remark(
            r->g, PLIM_REMARK_DOUBT, "the exporter lists '%.200s' as a parameter, but it is %s; it is not trained",
            one->target, value->kind == PLIM__VALUE_CONSTANT ? "no tensor of floats" : "no initializer"));
    }
    return PLIM_OK;
}

/* Parameters that are trained where they are read, and that a constant was computed from which nodes read as well. */
static void find_partly(const plim__restoring *r, const plim__value *value, plim__name_list *partly, plim__map *seen) {
    int64_t at = plim__map_get(&r->folded, value->name, -1);
    char name[PLIM__NAME_SIZE];
    for (const char *text = at >= 0 ? r->provenance->values.items[at].folded : NULL;
         text && plim__quoted_next(&text, name);) {
        int64_t listed = plim__restoring_target(r, name);
        bool found = listed >= 0 && r->fates[listed] == PLIM__FATE_FOUND &&
                     r->signature.items.items[listed].kind == PLIM__LISTED_PARAMETER;
        if (!found || plim__map_get(seen, name, 0)) continue;
        plim__name_list_add(partly, name);
        (void)plim__map_put(seen, name, 1); /* without memory a name is said twice */
    }
}

static plim_status note_partly(plim__restoring *r, plim__name_list *partly) {
    if (partly->count == 0) return PLIM_OK;
    return plim__graph_remark(r->g, PLIM_REMARK_LOST,
                              "the exporter computed constants from %zu parameter%s that %s trained elsewhere: these "
                              "stay as they are, and their part of the gradient is missing: %s; " PLIM__KEEP,
                              partly->count, partly->count == 1 ? "" : "s", partly->count == 1 ? "is" : "are",
                              plim__name_list_text(partly));
}

/* Values that a parameter has taken the place of; those that are still read are said. */
static plim_status drop_folded(plim__restoring *r) {
    int32_t *uses = plim__graph_uses(r->g);
    if (!uses) return plim__fail_memory(r->error, "the uses of values", r->g->values.count * sizeof *uses);
    plim__name_list partly = {0};
    plim__map seen = {0};
    for (size_t v = 0; v < r->g->values.count; v++) {
        plim__value *value = &r->g->values.items[v];
        if (value->role != PLIM__ROLE_FOLDED) continue;
        if (uses[v]) {
            find_partly(r, value, &partly, &seen);
            continue;
        }
        plim__tensor_release(value->tensor);
        value->tensor = NULL;
        value->kind = PLIM__VALUE_CONSTANT;
    }
    plim__free(uses);
    plim_status status = note_partly(r, &partly);
    plim__name_list_free(&partly);
    plim__map_free(&seen);
    return status;
}

/* --- what is lost --------------------------------------------------------------------------------------------------- */

/* Parameters that a call names or a value was computed from, and that are not there. */
static void find_lost(plim__restoring *r) {
    char name[PLIM__NAME_SIZE];
    for (size_t i = 0; i < r->provenance->nodes.count; i++)
        for (const char *at = r->provenance->nodes.items[i].call; at && plim__placeholder_next(&at, name);) {
            int64_t listed = plim__restoring_placeholder(r, name);
            if (listed >= 0 && r->fates[listed] == PLIM__FATE_UNUSED) r->fates[listed] = PLIM__FATE_LOST;
        }
    for (size_t i = 0; i < r->provenance->values.count; i++)
        for (const char *at = r->provenance->values.items[i].folded; at && plim__quoted_next(&at, name);) {
            int64_t listed = plim__restoring_target(r, name);
            if (listed >= 0 && r->fates[listed] == PLIM__FATE_UNUSED) r->fates[listed] = PLIM__FATE_LOST;
        }
}

/* Weights of layers that the list does not name, and that were not computed from anything: it may lack them. */
static plim_status note_unlisted(plim__restoring *r) {
    plim__name_list missing = {0};
    for (size_t n = 0; r->signature.items.count && n < r->g->nodes.count; n++) {
        const plim__node *node = &r->g->nodes.items[n];
        plim_value v = node->dead ? PLIM_NO_VALUE : plim__layer_weight(node);
        const plim__value *value = v < 0 ? NULL : &r->g->values.items[v];
        if (!value || value->kind != PLIM__VALUE_PARAMETER || value->role != PLIM__ROLE_UNLISTED) continue;
        int64_t at = plim__map_get(&r->folded, value->name, -1);
        bool computed = at >= 0 && r->provenance->values.items[at].folded;
        if (!computed && plim__restoring_target(r, value->name) < 0) plim__name_list_add(&missing, value->name);
    }
    plim_status status = PLIM_OK;
    if (missing.count)
        status =
            plim__graph_remark(r->g, PLIM_REMARK_DOUBT,
                               "%zu weight%s of layers %s not in the exporter's list of parameters and buffers, and "
                               "not trained (--trainable GLOB would): %s",
                               missing.count, missing.count == 1 ? "" : "s", missing.count == 1 ? "is" : "are",
                               plim__name_list_text(&missing));
    plim__name_list_free(&missing);
    return status;
}

/* Whether the exporter has rewritten anything. */
static bool is_optimized(const plim__provenance *p) {
    for (size_t i = 0; i < p->nodes.count; i++)
        if (p->nodes.items[i].rules) return true;
    for (size_t i = 0; i < p->values.count; i++)
        if (p->values.items[i].folded) return true;
    return false;
}

/* Whether the graph has what the exporter's optimizer never leaves: constants as nodes, and nodes that do nothing. */
static bool is_as_written(const plim_graph *g) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (!*node->domain && (strcmp(node->op_name, "Constant") == 0 || strcmp(node->op_name, "Identity") == 0))
            return true;
    }
    return false;
}

/* Nodes that are gone leave nothing that tells a parameter which they read from one that no node ever did. */
static plim_status note_absent(plim__restoring *r, plim__name_list *absent) {
    if (absent->count == 0 || (!is_optimized(r->provenance) && is_as_written(r->g))) return PLIM_OK;
    const char *them = absent->count == 1 ? "it" : "them";
    return plim__graph_remark(
        r->g, PLIM_REMARK_DOUBT,
        "%zu parameter%s of the module %s not in the file: the module does not use %s, or ties %s "
        "to others, or the exporter computed %s away or merged %s with equal ones, which then get their gradients: "
        "%s; " PLIM__KEEP,
        absent->count, absent->count == 1 ? "" : "s", absent->count == 1 ? "is" : "are", them, them, them, them,
        plim__name_list_text(absent));
}

static plim_status note_lost(plim__restoring *r) {
    plim__name_list lost = {0}, absent = {0};
    bool stripped = r->provenance->nodes.count == 0; /* nothing says what is used: whatever is missing may be */
    for (size_t i = 0; i < r->signature.items.count; i++) {
        bool unused = r->fates[i] == PLIM__FATE_UNUSED;
        if (r->signature.items.items[i].kind != PLIM__LISTED_PARAMETER || (!unused && r->fates[i] != PLIM__FATE_LOST))
            continue;
        plim__name_list_add(unused && !stripped ? &absent : &lost, r->signature.items.items[i].target);
    }
    plim_status status = PLIM_OK;
    if (lost.count)
        status =
            plim__graph_remark(r->g, PLIM_REMARK_LOST,
                               "the exporter computed %zu parameter%s away, which cannot be trained: %s; " PLIM__KEEP,
                               lost.count, lost.count == 1 ? "" : "s", plim__name_list_text(&lost));
    if (status == PLIM_OK) status = note_absent(r, &absent);
    plim__name_list_free(&lost);
    plim__name_list_free(&absent);
    return status;
}

/* Dropout of a module in evaluation mode leaves nothing in a file. A file that was not optimized was exported for training, one
 * with something random or with batch norms in training mode in that mode. */
static plim_status note_mode(plim__restoring *r) {
    static const char *const random[] = {"Dropout", "RandomUniformLike", "RandomUniform", "Bernoulli"};
    if (!is_optimized(r->provenance)) return PLIM_OK;
    for (size_t n = 0; n < r->g->nodes.count; n++) {
        const plim__node *node = &r->g->nodes.items[n];
        if (node->dead || *node->domain) continue;
        for (size_t i = 0; i < sizeof random / sizeof *random; i++)
            if (strcmp(node->op_name, random[i]) == 0) return PLIM_OK;
        if (strcmp(node->op_name, "BatchNormalization") == 0 && plim__node_int(node, "training_mode", 0))
            return PLIM_OK;
    }
    return plim__graph_remark(
        r->g, PLIM_REMARK_DOUBT,
        "the file drops nothing at random: if the module has dropout, stochastic depth or buffers "
        "that it moves while it trains, it was exported in evaluation mode, which leaves them out; "
        "torch.onnx.export(model.train(), "
        "args, path, dynamo=True, optimize=False) keeps them");
}

static plim_status note_restored(plim__restoring *r) {
    if (r->padded)
        PLIM_TRY(plim__graph_remark(r->g, PLIM_REMARK_RESTORED,
                                    "%zu embedding%s a row for padding, which gets no gradient there", r->padded,
                                    r->padded == 1 ? " has" : "s have"));
    if (r->stopped)
        PLIM_TRY(plim__graph_remark(r->g, PLIM_REMARK_RESTORED,
                                    "the gradient stops where the module detaches: %zu time%s", r->stopped,
                                    r->stopped == 1 ? "" : "s"));
    if (!r->split && !r->biases && !r->views) return PLIM_OK;
    return plim__graph_remark(r->g, PLIM_REMARK_RESTORED,
                              "parameters are as in the module again: %zu had been merged with equal ones, %zu biases "
                              "of zeros removed, %zu transposed or reshaped",
                              r->split, r->biases, r->views);
}

/* The list as it is to be written: without what no node reads, so that a reader does not take it for lost. */
static plim_status keep_signature(plim__restoring *r) {
    static const char *const kinds[] = {"PARAMETER", "BUFFER", "CONSTANT_TENSOR"};
    plim__str text = {0};
    plim__str_add(&text, "\n# inputs\n");
    for (size_t i = 0; i < r->signature.items.count; i++) {
        const plim__listed *one = &r->signature.items.items[i];
        if (r->fates[i] == PLIM__FATE_UNUSED) continue;
        plim__str_addf(&text, "%s: %s target='%s'\n", one->placeholder, kinds[one->kind], one->target);
    }
    plim__str_add(&text, "\n# outputs\n");
    for (size_t i = 0; i < r->signature.moved.count; i++)
        if (r->signature.moved.items[i].followed)
            plim__str_addf(&text, "%s: BUFFER_MUTATION target='%s'\n", r->signature.moved.items[i].value,
                           r->signature.moved.items[i].target);
    if (text.failed) {
        plim__str_free(&text);
        return plim__fail_memory(r->error, "the exporter's list of parameters", text.length);
    }
    plim__free(r->g->info.signature);
    r->g->info.signature = text.data;
    return PLIM_OK;
}

/* --- all of it ------------------------------------------------------------------------------------------------------ */

static plim_status restore(plim__restoring *r) {
    const plim__provenance *p = r->provenance;
    r->fates = plim__alloc_zero(r->signature.items.count, sizeof *r->fates);
    if (!r->fates) return plim__fail_memory(r->error, "the exporter's list of parameters", r->signature.items.count);
    for (size_t i = 0; i < p->values.count; i++)
        if (!plim__map_put(&r->folded, p->values.items[i].name, (int64_t)i))
            return plim__fail_memory(r->error, "the exporter's list of values", p->values.count);
    PLIM_TRY(set_roles(r));
    PLIM_TRY(check_types(r));
    PLIM_TRY(plim__restore_parameters(r));
    PLIM_TRY(plim__restore_recurrent(r));
    PLIM_TRY(plim__restore_norms(r));
    PLIM_TRY(plim__restore_embeddings(r));
    PLIM_TRY(plim__restore_gradients(r));
    PLIM_TRY(drop_folded(r));
    find_lost(r);
    PLIM_TRY(note_restored(r));
    PLIM_TRY(note_lost(r));
    PLIM_TRY(note_unlisted(r));
    PLIM_TRY(note_mode(r));
    PLIM_TRY(plim_graph_status(r->g, r->error));
    return r->signature.items.count ? keep_signature(r) : PLIM_OK;
}

plim_status plim__export_restore(plim_graph *g, const plim__provenance *provenance, plim_error *error) {
    plim__restoring r = {.g = g, .provenance = provenance, .error = error};
    bool kinds = false;
    for (size_t i = 0; i < provenance->values.count; i++) kinds |= provenance->values.items[i].kind != NULL;
    plim_status status = plim__export_drop_zero_biases(g, error);
    if (status == PLIM_OK) status = plim__signature_read(provenance->signature, &r.signature, error);
    bool said = r.signature.items.count || kinds;
    if (status == PLIM_OK && provenance->signature && !r.signature.items.count)
        status =
            plim__graph_remark(g, PLIM_REMARK_DOUBT,
                               "the exporter's list of parameters and buffers cannot be read: %s, and nothing that it "
                               "merged or removed is put back",
                               kinds ? "what each tensor says of itself decides" : "rules decide");
    if (status == PLIM_OK) status = said ? restore(&r) : plim__graph_find_roles(g, error);
    if (status == PLIM_OK && !said) status = plim__export_note_unsaid(g, error);
    if (status == PLIM_OK) status = plim_graph_status(g, error);
    plim__signature_free(&r.signature);
    plim__map_free(&r.folded);
    plim__free(r.fates);
    return status;
}
