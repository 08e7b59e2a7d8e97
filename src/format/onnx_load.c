/* ModelProto to plim_graph. One walk over the file finds the parts; then each part is decoded by itself, in the order
 * that building a graph wants (weights, inputs, nodes, outputs), which is not the order of the file.
 *
 * Node inputs may name values that come later: such a value is made when it is first named, gets its producer when
 * that node is reached, and is an error when it has none in the end. In a subgraph, such a value is one of the graph
 * around it, and becomes an input of both.
 *
 * An If whose condition the file tells is replaced by its branch. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "format/onnx_read.h"
#include "graph/passes/export/restore.h"
#include "graph/passes/inline.h"
#include "graph/passes/widen.h"
#include "onnx/onnx.pb-c.h"

enum {
    MOST_ATTRIBUTES = 1024, /* of a node */
    MOST_OPSETS = 256,      /* of a model: like attributes, they are searched one by one */
    MOST_NESTED = 16,       /* subgraphs in subgraphs */
};

typedef PLIM_VEC(plim__span) span_list;

typedef struct loader {
    plim__onnx_reader *reader;
    int depth; /* 0 for the model's graph, more for subgraphs */
    plim_graph *g;
    span_list graphs, nodes, initializers, sparse, inputs, outputs, value_infos, functions;
    plim__map
        not_tensors;     /* values that a graph cannot hold, to what they are: strings, sequences, ... (static text) */
    plim__functions own; /* functions of the model */
    plim__map output_names;
    plim__provenance provenance; /* of the model's graph */
    plim_error *error;
} loader;

/* --- finding the parts ---------------------------------------------------------------------------------------- */

static plim_status add_span(loader *l, span_list *list, plim__span span) {
    return plim__vec_push(list, span) ? PLIM_OK
                                      : plim__fail_memory(l->error, "the model's parts", list->count * sizeof span);
}

static plim_status index_graph(loader *l, plim__span span) {
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&l->reader->wire, &at, span.end, &field, l->error));
        span_list *list = field.number == 1    ? &l->nodes
                          : field.number == 5  ? &l->initializers
                          : field.number == 15 ? &l->sparse
                          : field.number == 11 ? &l->inputs
                          : field.number == 12 ? &l->outputs
                          : field.number == 13 ? &l->value_infos
                                               : NULL;
        if (!list) continue;
        if (field.type != PLIM__WIRE_BYTES)
            return plim__fail(l->error, PLIM_CORRUPT, "the graph's field %u at byte %" PRIu64 " is not a message",
                              field.number, field.whole.at);
        PLIM_TRY(add_span(l, list, field.body));
    }
    return PLIM_OK;
}

static plim_status index_model(loader *l) {
    uint64_t end = l->reader->wire.size;
    if (end == 0) return plim__fail(l->error, PLIM_CORRUPT, "the file is empty");
    for (uint64_t at = 0; at < end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&l->reader->wire, &at, end, &field, l->error));
        if (field.type != PLIM__WIRE_BYTES) continue;
        if (field.number == 25) PLIM_TRY(add_span(l, &l->functions, field.body));
        if (field.number != 7) continue;
        PLIM_TRY(add_span(l, &l->graphs, field.body));
        PLIM_TRY(index_graph(l, field.body));
    }
    if (l->graphs.count) return PLIM_OK;
    return plim__fail(l->error, PLIM_CORRUPT, "it holds no graph, so it is not an ONNX model");
}

/* --- what the model says about itself ------------------------------------------------------------------------------
 */

static plim_status keep_text(loader *l, char **to, const char *from) {
    if (!from) return PLIM_OK;
    plim__free(*to);
    *to = plim__strdup(from);
    return *to ? PLIM_OK : plim__fail_memory(l->error, "the model's metadata", strlen(from));
}

static plim_status set_opsets(loader *l, const Onnx__ModelProto *proto) {
    for (size_t i = 0; i < l->g->info.opsets.count; i++) plim__free(l->g->info.opsets.items[i].domain);
    l->g->info.opsets.count = 0; /* a new graph has a default */
    if (proto->n_opset_import > MOST_OPSETS)
        return plim__fail(l->error, PLIM_UNSUPPORTED, "it imports %zu opsets", proto->n_opset_import);
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const char *domain = proto->opset_import[i]->domain ? proto->opset_import[i]->domain : "";
        int64_t version = proto->opset_import[i]->version;
        if (strcmp(domain, "ai.onnx") == 0) domain = "";
        if (version < 1 || version > INT_MAX)
            return plim__fail(l->error, PLIM_CORRUPT, "the opset of domain '%s' is %" PRId64, domain, version);
        if (!*domain && version > PLIM__ONNX_NEWEST_OPSET)
            return plim__fail(l->error, PLIM_UNSUPPORTED, "opset %" PRId64 " is not supported; the newest is %d",
                              version, PLIM__ONNX_NEWEST_OPSET);
        if (!plim__graph_set_opset(l->g, domain, version))
            return plim__fail_memory(l->error, "an opset", sizeof version);
    }
    if (proto->ir_version < 3 && !plim__graph_opset(l->g, "") && !plim__graph_set_opset(l->g, "", 1))
        return plim__fail_memory(l->error, "an opset", 1); /* opsets came with IR version 3 */
    return PLIM_OK;
}

static plim_status set_properties(loader *l, const Onnx__ModelProto *proto) {
    for (size_t i = 0; i < proto->n_metadata_props; i++) {
        const char *key = proto->metadata_props[i]->key, *value = proto->metadata_props[i]->value;
        struct plim__property p = {plim__strdup(key ? key : ""), plim__strdup(value ? value : "")};
        if (p.key && p.value && plim__vec_push(&l->g->info.properties, p)) continue;
        plim__free(p.key);
        plim__free(p.value);
        return plim__fail_memory(l->error, "the model's metadata", sizeof p);
    }
    return PLIM_OK;
}

static plim_status set_info(loader *l, const Onnx__ModelProto *proto) {
    plim__model_info *info = &l->g->info;
    if (!proto->has_ir_version || proto->ir_version < 1)
        return plim__fail(l->error, PLIM_CORRUPT, "it has no IR version, so it is not an ONNX model");
    info->ir_version = proto->ir_version;
    info->model_version = proto->model_version;
    PLIM_TRY(keep_text(l, &info->producer_name, proto->producer_name));
    PLIM_TRY(keep_text(l, &info->producer_version, proto->producer_version));
    PLIM_TRY(keep_text(l, &info->model_domain, proto->domain));
    PLIM_TRY(keep_text(l, &info->doc, proto->doc_string));
    PLIM_TRY(set_opsets(l, proto));
    return set_properties(l, proto);
}

static plim_status read_info(loader *l) {
    plim__span all = {0, l->reader->wire.size};
    uint64_t plain = PLIM__FIELD(1) | PLIM__FIELD(2) | PLIM__FIELD(3) | PLIM__FIELD(4) | PLIM__FIELD(5) |
                     PLIM__FIELD(6) | PLIM__FIELD(8) | PLIM__FIELD(14);
    Onnx__ModelProto *model;
    PLIM_TRY(plim__wire_decode(&l->reader->wire, all, plain, &onnx__model_proto__descriptor, &model, l->error));
    plim_status status = set_info(l, model);
    plim__wire_release(model);
    for (size_t i = 0; status == PLIM_OK && i < l->graphs.count; i++) {
        Onnx__GraphProto *graph;
        PLIM_TRY(plim__wire_decode(&l->reader->wire, l->graphs.items[i], PLIM__FIELD(2), &onnx__graph_proto__descriptor,
                                   &graph, l->error));
        status = keep_text(l, &l->g->info.graph_name, graph->name);
        plim__wire_release(graph);
    }
    return status;
}

/* --- weights and inputs ---------------------------------------------------------------------------------------------
 */

static bool trainable(plim_dtype dtype) {
    return dtype == PLIM_F32 || dtype == PLIM_F16 || dtype == PLIM_BF16 || dtype == PLIM_F64;
}

static plim_status put_not_tensor(loader *l, const char *name, const char *what) {
    bool put = plim__map_put(&l->not_tensors, name, (int64_t)(intptr_t)what);
    return put ? PLIM_OK : plim__fail_memory(l->error, name, 1);
}

static const char *not_tensor(const loader *l, const char *name) {
    return (const char *)(intptr_t)plim__map_get(&l->not_tensors, name, 0);
}

static plim_status add_initializer(loader *l, plim__span span, bool sparse, plim__onnx_head *head) {
    plim__tensor *tensor = NULL;
    if (sparse) {
        PLIM_TRY(plim__onnx_read_sparse(l->reader, span, head, &tensor, l->error));
    } else {
        PLIM_TRY(plim__onnx_read_head(l->reader, span, head, l->error));
        if (head->dtype == PLIM_STRING) return put_not_tensor(l, head->name, "a tensor of strings");
        PLIM_TRY(plim__onnx_read_payload(l->reader, span, head, &tensor, l->error));
    }
    if (!*head->name) {
        plim__tensor_release(tensor);
        return plim__fail(l->error, PLIM_CORRUPT, "an initializer has no name");
    }
    bool parameter = !sparse && trainable(tensor->dtype);
    plim__graph_add_tensor(l->g, head->name, parameter ? PLIM__VALUE_PARAMETER : PLIM__VALUE_CONSTANT, tensor);
    return plim_graph_status(l->g, l->error);
}

static plim_status read_initializers(loader *l, const span_list *list, bool sparse) {
    for (size_t i = 0; i < list->count; i++) {
        plim__onnx_head head;
        plim_status status = add_initializer(l, list->items[i], sparse, &head);
        if (status != PLIM_OK) plim__fail_context(l->error, status, "initializer %zu", i);
        plim__onnx_head_free(&head);
        PLIM_TRY(status);
    }
    return PLIM_OK;
}

/* Whether what is declared of a weight is so. */
static bool is_declared(const plim__onnx_value *declared, const plim__value *weight) {
    bool same = declared->dtype == PLIM_DTYPE_NONE || declared->dtype == weight->dtype;
    same &= declared->shape.rank < 0 || declared->shape.rank == weight->shape.rank;
    for (int i = 0; same && i < declared->shape.rank; i++)
        same = declared->shape.dims[i] < 0 || declared->shape.dims[i] == weight->shape.dims[i];
    return same;
}

/* An input that has an initializer is a weight: before IR version 4 every weight was listed as an input too. */
static plim_status check_weight(loader *l, const plim__onnx_value *declared, const plim__value *weight) {
    if (is_declared(declared, weight)) return PLIM_OK;
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    return plim__fail(l->error, PLIM_CORRUPT, "the input '%s' is %s%s, but its initializer is %s%s", declared->name,
                      plim_dtype_name(declared->dtype), plim__shape_text(&declared->shape, l->g, a),
                      plim_dtype_name(weight->dtype), plim__shape_text(&weight->shape, l->g, b));
}

static plim_status add_input(loader *l, plim__span span, plim__onnx_value *declared) {
    PLIM_TRY(plim__onnx_read_value(l->reader, span, true, declared, l->error));
    if (!*declared->name) return plim__fail(l->error, PLIM_CORRUPT, "an input has no name");
    bool list = l->depth && declared->other && strcmp(declared->other, PLIM__ONNX_SEQUENCE) == 0; /* a loop's */
    if (declared->other && !list) /* the node that uses it is named */
        return put_not_tensor(l, declared->name, declared->other);
    if (not_tensor(l, declared->name)) return PLIM_OK;
    plim_value known = plim_graph_find(l->g, declared->name);
    if (known != PLIM_NO_VALUE && l->g->values.items[known].tensor)
        return check_weight(l, declared, &l->g->values.items[known]);
    if (declared->dtype == PLIM_DTYPE_NONE && l->depth == 0)
        return plim__fail(l->error, PLIM_CORRUPT, "the input '%s' has no element type", declared->name);
    plim_value value =
        plim__graph_add_value(l->g, declared->name, PLIM__VALUE_INPUT, declared->dtype, &declared->shape);
    PLIM_TRY(plim_graph_status(l->g, l->error));
    return plim__vec_push(&l->g->inputs, value) ? PLIM_OK : plim__fail_memory(l->error, "an input", sizeof value);
}

/* --- nodes ---------------------------------------------------------------------------------------------------- */

static plim_status connect_input(loader *l, int32_t node, const char *name) {
    plim_value value = PLIM_NO_VALUE;
    if (*name) {
        if (not_tensor(l, name))
            return plim__fail(l->error, PLIM_UNSUPPORTED,
                              "unsupported: operator %s whose input '%s' is %s, not a tensor of numbers",
                              l->g->nodes.items[node].op_name, name, not_tensor(l, name));
        value = plim_graph_find(l->g, name);
        if (value == PLIM_NO_VALUE)
            value = plim__graph_add_value(l->g, name, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
    }
    plim__node_add_input(l->g, node, value);
    return plim_graph_status(l->g, l->error);
}

static plim_status connect_output(loader *l, int32_t node, const char *name) {
    plim_value value = PLIM_NO_VALUE;
    if (*name) {
        value = plim_graph_find(l->g, name);
        const plim__value *known = value == PLIM_NO_VALUE ? NULL : &l->g->values.items[value];
        if (known && known->tensor) /* PyTorch's exporter does not check its names without optimizing */
            return plim__fail(
                l->error, PLIM_CORRUPT,
                "its output '%s' is defined twice: a tensor of the module has that name too; rename it in "
                "the module and export again",
                name);
        if ((known && (known->kind != PLIM__VALUE_NODE || known->producer >= 0)) || not_tensor(l, name))
            return plim__fail(l->error, PLIM_CORRUPT, "its output '%s' is defined twice", name);
        if (!known) value = plim__graph_add_value(l->g, name, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
        PLIM_TRY(plim_graph_status(l->g, l->error));
    }
    plim__node_add_output(l->g, node, value);
    return plim_graph_status(l->g, l->error);
}

/* Below: nodes have graphs that have nodes. */
static plim_status read_graph_attribute(loader *l, plim__span span, int32_t node, plim__attribute *attribute);

static plim_status read_attributes(loader *l, plim__span span, int32_t node) {
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&l->reader->wire, &at, span.end, &field, l->error));
        if (field.number != 5 || field.type != PLIM__WIRE_BYTES) continue;
        plim__attribute attribute;
        plim_status status = plim__onnx_read_attribute(l->reader, field.body, &attribute, l->error);
        if (status == PLIM_OK && attribute.type == PLIM__ATTRIBUTE_GRAPH)
            status = read_graph_attribute(l, field.body, node, &attribute);
        if (status == PLIM_OK && plim__node_attribute(&l->g->nodes.items[node], attribute.name))
            status = plim__fail(l->error, PLIM_CORRUPT, "the attribute '%s' is there twice", attribute.name);
        if (status == PLIM_OK && l->g->nodes.items[node].attributes.count >= MOST_ATTRIBUTES)
            status = plim__fail(l->error, PLIM_UNSUPPORTED, "it has more than %d attributes", MOST_ATTRIBUTES);
        if (status != PLIM_OK) {
            plim__attribute_free(&attribute);
            return status;
        }
        plim__node_set_attribute(l->g, node, attribute);
        PLIM_TRY(plim_graph_status(l->g, l->error));
    }
    return PLIM_OK;
}

/* Only nodes that read weights, and those that stop a gradient, matter to what is trained. */
static bool reads_weights(const loader *l, int32_t node) {
    const plim__node *made = &l->g->nodes.items[node];
    for (size_t i = 0; i < made->inputs.count; i++)
        if (made->inputs.items[i] >= 0 && l->g->values.items[made->inputs.items[i]].kind == PLIM__VALUE_PARAMETER)
            return true;
    return false;
}

static plim_status add_node(loader *l, plim__span span, const Onnx__NodeProto *proto) {
    const char *domain = proto->domain && strcmp(proto->domain, "ai.onnx") != 0 ? proto->domain : "";
    if (!proto->op_type || !*proto->op_type) return plim__fail(l->error, PLIM_CORRUPT, "it has no operator");
    if (strcmp(domain, PLIM__DOMAIN) == 0) /* they trust those who make them */
        return plim__fail(l->error, PLIM_UNSUPPORTED, "unsupported: operator %s::%.100s, which files do not have",
                          domain, proto->op_type);
    int version = plim__graph_opset(l->g, domain);
    if (!version && !*domain)
        return plim__fail(l->error, PLIM_CORRUPT, "the model does not say which opset its operators are of");
    int32_t node = plim__graph_add_node(l->g, domain, proto->op_type, proto->name, version);
    PLIM_TRY(plim_graph_status(l->g, l->error));
    for (size_t i = 0; i < proto->n_input; i++) PLIM_TRY(connect_input(l, node, proto->input[i]));
    for (size_t i = 0; i < proto->n_output; i++) PLIM_TRY(connect_output(l, node, proto->output[i]));
    plim__node_origin origin = {.node = node};
    if (l->depth == 0) PLIM_TRY(plim__onnx_read_node_origin(l->reader, span, &origin, l->error));
    l->provenance.mixed |= origin.traced && !origin.apart;
    if (origin.apart && !plim__vec_push(&l->provenance.apart, node)) {
        plim__node_origin_free(&origin);
        return plim__fail_memory(l->error, "the exporter's metadata", sizeof node);
    }
    if (origin.call && (reads_weights(l, node) || strstr(origin.call, "detach")))
        PLIM_TRY(plim__provenance_add_node(&l->provenance, origin, l->error));
    else
        plim__node_origin_free(&origin);
    return read_attributes(l, span, node);
}

static plim_status read_node(loader *l, plim__span span, size_t number) {
    Onnx__NodeProto *proto;
    uint64_t plain = PLIM__FIELD(1) | PLIM__FIELD(2) | PLIM__FIELD(3) | PLIM__FIELD(4) | PLIM__FIELD(7);
    plim_status status =
        plim__wire_decode(&l->reader->wire, span, plain, &onnx__node_proto__descriptor, &proto, l->error);
    if (status == PLIM_OK) status = add_node(l, span, proto);
    const char *op = status != PLIM_OK && proto && proto->op_type ? proto->op_type : "?";
    if (status != PLIM_OK && proto && proto->name && *proto->name)
        plim__fail_context(l->error, status, "node '%.200s' (%.100s)", proto->name, op);
    else if (status != PLIM_OK)
        plim__fail_context(l->error, status, "node %zu (%.100s)", number, op);
    plim__wire_release(proto);
    return status;
}

static plim_status check_producers(loader *l) {
    for (size_t n = 0; n < l->g->nodes.count; n++) {
        const plim__node *node = &l->g->nodes.items[n];
        for (size_t i = 0; i < node->inputs.count; i++) {
            const plim__value *value = node->inputs.items[i] < 0 ? NULL : &l->g->values.items[node->inputs.items[i]];
            if (value && value->kind == PLIM__VALUE_NODE && value->producer < 0)
                return plim__fail(l->error, PLIM_CORRUPT,
                                  "node '%.200s' (%.100s) uses the value '%.200s', which nothing produces",
                                  plim__node_label(l->g, node), node->op_name, value->name);
        }
    }
    return PLIM_OK;
}

/* --- outputs and hints ---------------------------------------------------------------------------------------- */

/* What the file says about a computed value is a hint until shapes are inferred. */
static void set_hint(plim__value *value, const plim__onnx_value *declared) {
    if (value->kind != PLIM__VALUE_NODE) return;
    if (value->dtype == PLIM_DTYPE_NONE) value->dtype = declared->dtype;
    if (value->shape.rank < 0) value->shape = declared->shape;
}

static plim_status add_output(loader *l, plim__span span, plim__onnx_value *declared) {
    PLIM_TRY(plim__onnx_read_value(l->reader, span, true, declared, l->error));
    plim_value value = plim_graph_find(l->g, declared->name);
    if (value == PLIM_NO_VALUE && l->depth && *declared->name) /* a subgraph may hand on what it captures */
        value = plim__graph_add_value(l->g, declared->name, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
    bool list = l->depth && declared->other && strcmp(declared->other, PLIM__ONNX_SEQUENCE) == 0;
    const char *other = declared->other && !list ? declared->other : not_tensor(l, declared->name);
    int32_t producer = value == PLIM_NO_VALUE ? -1 : l->g->values.items[value].producer;
    if (other)
        return plim__fail(l->error, PLIM_UNSUPPORTED,
                          "unsupported: operator %s whose output '%s' is %s, not a tensor of numbers",
                          producer < 0 ? "Identity" : l->g->nodes.items[producer].op_name, declared->name, other);
    if (value == PLIM_NO_VALUE)
        return plim__fail(l->error, PLIM_CORRUPT, "nothing produces the output '%s'", declared->name);
    if (plim__map_get(&l->output_names, declared->name, 0))
        return plim__fail(l->error, PLIM_CORRUPT, "the output '%s' is declared twice", declared->name);
    set_hint(&l->g->values.items[value], declared);
    if (!plim__map_put(&l->output_names, declared->name, 1) || !plim__vec_push(&l->g->outputs, value))
        return plim__fail_memory(l->error, "an output", sizeof value);
    return PLIM_OK;
}

static plim_status add_hint(loader *l, plim__span span, plim__onnx_value *declared) {
    PLIM_TRY(plim__onnx_read_value(l->reader, span, false, declared, l->error));
    plim_value value = plim_graph_find(l->g, declared->name);
    if (value == PLIM_NO_VALUE || declared->other) return PLIM_OK;
    const plim__value *weight = &l->g->values.items[value];
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    if (l->depth == 0 && weight->tensor && weight->kind == PLIM__VALUE_PARAMETER && !is_declared(declared, weight))
        PLIM_TRY(plim__graph_remark(
            l->g, PLIM_REMARK_DOUBT, "'%.200s' is declared as %s%s, and its tensor is %s%s: the tensor counts",
            weight->name, plim_dtype_name(declared->dtype), plim__shape_text(&declared->shape, l->g, a),
            plim_dtype_name(weight->dtype), plim__shape_text(&weight->shape, l->g, b)));
    set_hint(&l->g->values.items[value], declared);
    if (l->depth == 0 && l->g->values.items[value].tensor)
        return plim__onnx_read_value_origin(l->reader, span, declared->name, &l->provenance, l->error);
    return PLIM_OK;
}

static plim_status each_value(loader *l, const span_list *list,
                              plim_status (*add)(loader *, plim__span, plim__onnx_value *)) {
    for (size_t i = 0; i < list->count; i++) {
        plim__onnx_value declared;
        plim_status status = add(l, list->items[i], &declared);
        plim__free(declared.name);
        PLIM_TRY(status);
    }
    return PLIM_OK;
}

/* --- subgraphs ------------------------------------------------------------------------------------------------ */

/* The parts of a graph whose opsets and functions are known. */
static plim_status read_graph(loader *l) {
    PLIM_TRY(read_initializers(l, &l->initializers, false));
    PLIM_TRY(read_initializers(l, &l->sparse, true));
    PLIM_TRY(each_value(l, &l->inputs, add_input));
    for (size_t i = 0; i < l->nodes.count; i++) PLIM_TRY(read_node(l, l->nodes.items[i], i));
    return PLIM_OK;
}

static void free_lists(loader *l) {
    span_list *lists[] = {&l->graphs, &l->nodes,   &l->initializers, &l->sparse,
                          &l->inputs, &l->outputs, &l->value_infos,  &l->functions};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) plim__vec_free(lists[i]);
    plim__map_free(&l->not_tensors);
    plim__map_free(&l->output_names);
}

/* What the subgraph uses and does not make comes from around it. */
static plim_status capture(loader *l, size_t *captured) {
    for (size_t v = 0; v < l->g->values.count; v++) {
        plim__value *value = &l->g->values.items[v];
        if (value->kind != PLIM__VALUE_NODE || value->producer >= 0) continue;
        value->kind = PLIM__VALUE_INPUT;
        if (!plim__vec_push(&l->g->inputs, (plim_value)v)) return plim__fail_memory(l->error, "an input", sizeof v);
        ++*captured;
    }
    return PLIM_OK;
}

static plim_status read_inside(loader *l, plim__span span, size_t *captured) {
    if (l->depth > MOST_NESTED)
        return plim__fail(l->error, PLIM_UNSUPPORTED, "unsupported: subgraphs that nest deeper than %d", MOST_NESTED);
    PLIM_TRY(index_graph(l, span));
    PLIM_TRY(read_graph(l));
    PLIM_TRY(each_value(l, &l->outputs, add_output));
    PLIM_TRY(capture(l, captured));
    return plim__graph_sort(l->g, l->error);
}

/* Symbols of a subgraph are its own. What the program does not know about matters only if the subgraph is needed, so the
 * graph keeps that failure. */
static plim_status read_subgraph(loader *outer, plim__span span, plim__attribute *attribute) {
    plim__onnx_reader *reader = outer->reader;
    plim_error error = {0};
    loader l = {.reader = reader, .depth = outer->depth + 1, .error = &error};
    l.g = attribute->graph = plim_graph_create();
    if (!l.g) return plim__fail_memory(outer->error, "a graph", sizeof *l.g);
    for (size_t i = 0; i < outer->g->info.opsets.count; i++)
        if (!plim__graph_set_opset(l.g, outer->g->info.opsets.items[i].domain, outer->g->info.opsets.items[i].version))
            return plim__fail_memory(outer->error, "an opset", sizeof(int64_t));
    plim__map symbols = reader->symbol_names;
    reader->symbol_names = (plim__map){0};
    reader->g = l.g;
    plim_status status = read_inside(&l, span, &attribute->captured);
    plim__map_free(&reader->symbol_names);
    reader->symbol_names = symbols;
    reader->g = outer->g;
    free_lists(&l);
    if (status == PLIM_UNSUPPORTED) {
        plim__graph_fail(l.g, status, "%s", error.message);
        attribute->captured = 0;
        return PLIM_OK;
    }
    if (status != PLIM_OK && outer->error) *outer->error = error;
    return status;
}

/* `span` is the attribute's. */
static plim_status read_graph_attribute(loader *l, plim__span span, int32_t node, plim__attribute *attribute) {
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&l->reader->wire, &at, span.end, &field, l->error));
        if (field.number != 6 || field.type != PLIM__WIRE_BYTES || attribute->graph) continue;
        plim_status status = read_subgraph(l, field.body, attribute);
        if (status != PLIM_OK) return plim__fail_context(l->error, status, "%.100s", attribute->name);
    }
    for (size_t i = 0; i < attribute->captured; i++) {
        const plim_graph *inner = attribute->graph;
        size_t own = inner->inputs.count - attribute->captured;
        PLIM_TRY(connect_input(l, node, inner->values.items[inner->inputs.items[own + i]].name));
    }
    return PLIM_OK;
}

/* --- functions ------------------------------------------------------------------------------------------------ */

/* Domains that the model does not import are of the version that the function wants; the others are the model's, since
 * the operators of both must be the same. */
static plim_status take_opsets(loader *l, const loader *outer, const Onnx__FunctionProto *proto) {
    bool ok = true;
    for (size_t i = 0; ok && i < outer->g->info.opsets.count; i++)
        ok = plim__graph_set_opset(l->g, outer->g->info.opsets.items[i].domain, outer->g->info.opsets.items[i].version);
    for (size_t i = 0; ok && i < proto->n_opset_import; i++) {
        const char *domain = proto->opset_import[i]->domain ? proto->opset_import[i]->domain : "";
        int64_t version = proto->opset_import[i]->version;
        if (version < 1 || version > INT_MAX)
            return plim__fail(l->error, PLIM_CORRUPT, "the opset of domain '%s' is %" PRId64, domain, version);
        if (plim__graph_opset(outer->g, domain)) continue;
        ok = plim__graph_set_opset(l->g, domain, version) && plim__graph_set_opset(outer->g, domain, version);
    }
    return ok ? PLIM_OK : plim__fail_memory(l->error, "an opset", sizeof(int64_t));
}

static plim_status add_ends(loader *l, char *const *names, size_t count, bool outputs) {
    for (size_t i = 0; i < count; i++) {
        plim_value v = outputs ? plim_graph_find(l->g, names[i]) : PLIM_NO_VALUE;
        if (outputs && v < 0) return plim__fail(l->error, PLIM_CORRUPT, "nothing produces its output '%s'", names[i]);
        if (!outputs)
            v = plim__graph_add_value(l->g, names[i], PLIM__VALUE_INPUT, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
        PLIM_TRY(plim_graph_status(l->g, l->error));
        if (!(outputs ? plim__vec_push(&l->g->outputs, v) : plim__vec_push(&l->g->inputs, v)))
            return plim__fail_memory(l->error, "a function", sizeof v);
    }
    return PLIM_OK;
}

static plim_status read_defaults(loader *l, plim__span span, plim__function *function) {
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&l->reader->wire, &at, span.end, &field, l->error));
        if (field.type != PLIM__WIRE_BYTES) continue;
        if (field.number == 7) PLIM_TRY(add_span(l, &l->nodes, field.body));
        if (field.number != 11) continue;
        plim__attribute attribute;
        plim_status status = plim__onnx_read_attribute(l->reader, field.body, &attribute, l->error);
        if (status == PLIM_OK && !plim__vec_push(&function->defaults, attribute))
            status = plim__fail_memory(l->error, "an attribute", sizeof attribute);
        if (status != PLIM_OK) {
            plim__attribute_free(&attribute);
            return status;
        }
    }
    return PLIM_OK;
}

/* The body of a function: what it uses is an input of it, or made in it. */
static plim_status read_body(loader *l, plim__span span, const Onnx__FunctionProto *proto, plim__function *function) {
    PLIM_TRY(read_defaults(l, span, function));
    PLIM_TRY(add_ends(l, proto->input, proto->n_input, false));
    l->reader->in_function = true;
    plim_status status = PLIM_OK;
    for (size_t i = 0; status == PLIM_OK && i < l->nodes.count; i++) status = read_node(l, l->nodes.items[i], i);
    l->reader->in_function = false;
    PLIM_TRY(status);
    PLIM_TRY(check_producers(l));
    PLIM_TRY(add_ends(l, proto->output, proto->n_output, true));
    return plim__graph_sort(l->g, l->error);
}

static plim_status read_function(loader *outer, plim__span span, const Onnx__FunctionProto *proto) {
    const char *domain = proto->domain && strcmp(proto->domain, "ai.onnx") != 0 ? proto->domain : "";
    char key[PLIM__FUNCTION_KEY];
    plim__function made = {.body = plim_graph_create()};
    if (!made.body || !plim__vec_push(&outer->own.list, made)) {
        plim_graph_free(made.body);
        return plim__fail_memory(outer->error, "a function", sizeof made);
    }
    plim__function_key(key, domain, proto->name ? proto->name : "");
    if (plim__map_get(&outer->own.names, key, -1) >= 0)
        return plim__fail(outer->error, PLIM_UNSUPPORTED, "unsupported: two functions with the name '%s'", key);
    if (!plim__map_put(&outer->own.names, key, (int64_t)outer->own.list.count - 1))
        return plim__fail_memory(outer->error, "a function", sizeof key);
    loader l = {.reader = outer->reader, .depth = 1, .g = made.body, .error = outer->error};
    outer->reader->g = l.g;
    plim_status status = take_opsets(&l, outer, proto);
    if (status == PLIM_OK) status = read_body(&l, span, proto, &outer->own.list.items[outer->own.list.count - 1]);
    outer->reader->g = outer->g;
    free_lists(&l);
    return status == PLIM_OK ? status : plim__fail_context(outer->error, status, "function '%.200s'", key);
}

static plim_status read_functions(loader *l) {
    for (size_t i = 0; i < l->functions.count; i++) {
        Onnx__FunctionProto *proto;
        uint64_t plain = PLIM__FIELD(1) | PLIM__FIELD(4) | PLIM__FIELD(5) | PLIM__FIELD(9) | PLIM__FIELD(10);
        PLIM_TRY(plim__wire_decode(&l->reader->wire, l->functions.items[i], plain, &onnx__function_proto__descriptor,
                                   &proto, l->error));
        plim_status status = read_function(l, l->functions.items[i], proto);
        plim__wire_release(proto);
        PLIM_TRY(status);
    }
    return PLIM_OK;
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

static plim_status load(loader *l) {
    PLIM_TRY(index_model(l));
    PLIM_TRY(read_info(l));
    PLIM_TRY(read_functions(l));
    PLIM_TRY(read_graph(l));
    PLIM_TRY(check_producers(l));
    PLIM_TRY(plim__functions_inline(l->g, &l->own, l->error));
    PLIM_TRY(each_value(l, &l->outputs, add_output));
    if (l->outputs.count == 0) return plim__fail(l->error, PLIM_CORRUPT, "the graph has no outputs");
    PLIM_TRY(each_value(l, &l->value_infos, add_hint));
    for (size_t i = 0; i < l->graphs.count; i++)
        PLIM_TRY(plim__onnx_read_signature(l->reader, l->graphs.items[i], &l->provenance, l->error));
    PLIM_TRY(plim__export_restore(l->g, &l->provenance, l->error));
    if (plim__graph_remark_types(l->g) != PLIM_OK) return plim_graph_status(l->g, l->error);
    PLIM_TRY(plim__graph_take_known_branches(l->g, l->error));
    return plim__graph_sort(l->g, l->error);
}

static plim_status load_from(plim__onnx_reader *reader, plim_graph **graph, plim_error *error) {
    loader l = {.reader = reader, .g = plim_graph_create(), .error = error};
    if (!l.g) return plim__fail_memory(error, "a graph", sizeof *l.g);
    reader->g = l.g;
    plim_status status = load(&l);
    free_lists(&l);
    plim__functions_free(&l.own);
    plim__provenance_free(&l.provenance);
    if (status == PLIM_OK)
        *graph = l.g;
    else
        plim_graph_free(l.g);
    return status;
}

plim_status plim_graph_load(const char *path, plim_graph **graph, plim_error *error) {
    PLIM__NEED(graph, error);
    *graph = NULL;
    PLIM__NEED(path, error);
    plim__onnx_reader reader;
    plim_status status = plim__onnx_open(&reader, path, error);
    if (status == PLIM_OK) status = load_from(&reader, graph, error);
    plim__onnx_close(&reader);
    return plim__onnx_finish(path, status, error);
}

plim_status plim_graph_load_memory(const void *data, size_t size, plim_graph **graph, plim_error *error) {
    PLIM__NEED(graph, error);
    *graph = NULL;
    PLIM__NEED(data, error);
    plim__onnx_reader reader;
    plim__onnx_open_memory(&reader, data, size);
    plim_status status = load_from(&reader, graph, error);
    plim__onnx_close(&reader);
    return plim__onnx_finish("the model in memory", status, error);
}
