/* plim_graph to ModelProto. A message that holds weights is written in two parts: protobuf-c packs its plain fields,
 * then the large field follows as a tag, a length and streamed bytes. Lengths come first on the wire, so everything
 * nested is emitted twice: once into a sink that only counts, once for real.
 *
 *   ModelProto   plain fields | graph: NodeProto* | initializer: plain fields, raw_data | inputs, outputs, value infos
 *
 * Weights that training has changed come from a plim__weights, the others from where the graph has them. Either may be
 * the file that is being replaced: it stays open and whole until its successor is on the disk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "core/file.h"
#include "core/str.h"
#include "format/onnx.h"
#include "format/onnx_wire.h"
#include "graph/graph.h"
#include "graph/passes/export/provenance.h"
#include "graph/passes/match.h"
#include "onnx/onnx.pb-c.h"
#include "plimsoll/version.h"

enum {
    CHUNK = 1 << 20,      /* of weights on their way from one file to the other */
    KEEP_INSIDE = 1024,   /* smaller tensors stay in the model when the others move to a file of their own */
    EXTERNAL_ALIGN = 4096 /* so that others can map the weights */
};
#define ONE_FILE_LIMIT ((UINT64_C(1) << 31) - (UINT64_C(1) << 20))
#define INSIDE         UINT64_MAX

/* Where bytes go: to a file, or nowhere but into the count. The first failure sticks. */
typedef struct sink {
    plim__file_writer *writer; /* NULL: count only */
    uint64_t count;
    plim_status status;
    plim_error *error;
} sink;

typedef struct saver {
    const plim_graph *g;
    const char *data_name;        /* file name of external data, NULL for none */
    bool *written;                /* values that are initializers of the file */
    uint64_t *offsets;            /* of each value in the external data, INSIDE for the rest */
    void *chunk;                  /* for what is read on its way */
    const plim__weights *changed; /* NULL for none */
    size_t *indices;              /* of each value in `changed`; NULL likewise */
    plim__str listed;             /* which values are parameters, where the file must say it */
} saver;

static void put(sink *out, const void *bytes, size_t size) {
    out->count += size;
    if (out->writer && out->status == PLIM_OK)
        out->status = plim__file_writer_write(out->writer, bytes, size, out->error);
}

static void put_varint(sink *out, uint64_t value) {
    unsigned char bytes[10];
    size_t size = 0;
    do {
        bytes[size++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    put(out, bytes, size);
}

static void put_header(sink *out, uint32_t number, uint64_t length) {
    put_varint(out, number << 3 | PLIM__WIRE_BYTES);
    put_varint(out, length);
}

/* A message of plain fields, without its own tag and length. */
static void put_plain(sink *out, const void *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    if (!out->writer) {
        out->count += size;
        return;
    }
    unsigned char *bytes = plim__alloc(size);
    if (!bytes) {
        if (out->status == PLIM_OK) out->status = plim__fail_memory(out->error, "a part of the model", size);
        return;
    }
    protobuf_c_message_pack(message, bytes);
    put(out, bytes, size);
    plim__free(bytes);
}

/* A nested message whose body a function emits. */
typedef void body_function(sink *out, const saver *s, const void *what);

static void put_nested(sink *out, uint32_t number, body_function *body, const saver *s, const void *what) {
    sink counter = {.error = out->error, .status = out->status};
    body(&counter, s, what);
    put_header(out, number, counter.count);
    if (counter.status != PLIM_OK) out->status = counter.status;
    if (out->writer && out->status == PLIM_OK)
        body(out, s, what);
    else
        out->count += counter.count;
}

/* --- tensors -------------------------------------------------------------------------------------------------- */

/* In parts, as far as the chunk goes. */
static void copy_from_file(sink *out, const saver *s, const plim__tensor *tensor) {
    for (size_t done = 0; done < tensor->bytes && out->status == PLIM_OK;) {
        size_t size = tensor->bytes - done < CHUNK ? tensor->bytes - done : CHUNK;
        out->status = plim__file_read_at(tensor->source->fd, s->chunk, size, tensor->offset + done,
                                         tensor->source->path, out->error);
        if (out->status == PLIM_OK) put(out, s->chunk, size);
        done += size;
    }
}

/* `index` is that of the weight in s->changed, or PLIM__NO_WEIGHT. */
static void put_data(sink *out, const saver *s, const plim__tensor *tensor, size_t index) {
    const void *data = tensor->data;
    if (!out->writer) {
        out->count += tensor->bytes;
        return;
    }
    if (out->status != PLIM_OK) return;
    if (index != PLIM__NO_WEIGHT) {
        out->status = plim__weights_data(s->changed, index, s->chunk, &data, out->error);
    } else if (!data && tensor->source) {
        copy_from_file(out, s, tensor);
        return;
    } else if (!data) { /* computed from another one */
        out->status = plim__tensor_read(tensor, s->chunk, out->error);
        data = s->chunk;
    }
    if (out->status == PLIM_OK) put(out, data, tensor->bytes);
}

/* A tensor with the name it has in the file. */
struct named_tensor {
    const char *name; /* NULL for none */
    const plim__tensor *tensor;
    uint64_t offset; /* in the external data, or INSIDE */
    size_t index;    /* in the changed weights, or PLIM__NO_WEIGHT */
};

static void put_tensor(sink *out, const saver *s, const void *what) {
    const struct named_tensor *named = what;
    const plim__tensor *tensor = named->tensor;
    Onnx__TensorProto proto = ONNX__TENSOR_PROTO__INIT;
    proto.name = (char *)(uintptr_t)named->name;
    proto.n_dims = (size_t)tensor->shape.rank;
    proto.dims = (int64_t *)(uintptr_t)tensor->shape.dims;
    proto.has_data_type = 1;
    proto.data_type = (int32_t)tensor->dtype;
    char offset[24], length[24];
    Onnx__StringStringEntryProto entries[3], *list[3];
    char *pairs[3][2] = {{"location", (char *)(uintptr_t)s->data_name}, {"offset", offset}, {"length", length}};
    if (named->offset != INSIDE) {
        snprintf(offset, sizeof offset, "%" PRIu64, named->offset);
        snprintf(length, sizeof length, "%zu", tensor->bytes);
        for (int i = 0; i < 3; i++) {
            entries[i] = (Onnx__StringStringEntryProto)ONNX__STRING_STRING_ENTRY_PROTO__INIT;
            entries[i].key = pairs[i][0];
            entries[i].value = pairs[i][1];
            list[i] = &entries[i];
        }
        proto.n_external_data = 3;
        proto.external_data = list;
        proto.has_data_location = 1;
        proto.data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    }
    put_plain(out, &proto);
    if (named->offset != INSIDE) return;
    put_header(out, 9, tensor->bytes);
    put_data(out, s, tensor, named->index);
}

/* --- nodes ---------------------------------------------------------------------------------------------------------
 */

#define TYPE(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

static void put_strings(sink *out, const plim__attribute *a) {
    for (size_t i = 0; i < a->length; i++) {
        size_t length = strlen(a->strings[i]);
        put_header(out, 9, length);
        put(out, a->strings[i], length);
    }
}

static void put_attribute(sink *out, const saver *s, const void *what) {
    const plim__attribute *a = what;
    if (a->rewritten && out->status == PLIM_OK)
        out->status =
            plim__fail(out->error, PLIM_UNSUPPORTED,
                       "the subgraph '%s' had functions of the model in it, and cannot be written back", a->name);
    if (a->type == PLIM__ATTRIBUTE_GRAPH || a->type == PLIM__ATTRIBUTE_OTHER) {
        put(out, a->s, a->length);
        return;
    }
    Onnx__AttributeProto proto = ONNX__ATTRIBUTE_PROTO__INIT;
    proto.name = a->name;
    proto.has_type = 1;
    switch (a->type) {
    case PLIM__ATTRIBUTE_INT:
        proto.type = TYPE(INT);
        proto.has_i = 1;
        proto.i = a->i;
        break;
    case PLIM__ATTRIBUTE_FLOAT:
        proto.type = TYPE(FLOAT);
        proto.has_f = 1;
        proto.f = a->f;
        break;
    case PLIM__ATTRIBUTE_STRING:
        proto.type = TYPE(STRING);
        proto.has_s = 1;
        proto.s = (ProtobufCBinaryData){a->length, (uint8_t *)a->s};
        break;
    case PLIM__ATTRIBUTE_INTS:
        proto.type = TYPE(INTS);
        proto.n_ints = a->length;
        proto.ints = a->ints;
        break;
    case PLIM__ATTRIBUTE_FLOATS:
        proto.type = TYPE(FLOATS);
        proto.n_floats = a->length;
        proto.floats = a->floats;
        break;
    case PLIM__ATTRIBUTE_STRINGS: proto.type = TYPE(STRINGS); break;
    default: proto.type = TYPE(TENSOR); break;
    }
    put_plain(out, &proto);
    if (a->type == PLIM__ATTRIBUTE_STRINGS) put_strings(out, a);
    if (a->type == PLIM__ATTRIBUTE_TENSOR)
        put_nested(out, 5, put_tensor, s, &(struct named_tensor){NULL, a->tensor, INSIDE, PLIM__NO_WEIGHT});
}

static void put_names(sink *out, const saver *s, uint32_t number, const plim_value *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *name = values[i] < 0 ? "" : s->g->values.items[values[i]].name;
        put_header(out, number, strlen(name));
        put(out, name, strlen(name));
    }
}

static void put_property(sink *out, uint32_t number, const char *key, const char *value) {
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    entry.key = (char *)(uintptr_t)key;
    entry.value = (char *)(uintptr_t)value;
    put_header(out, number, onnx__string_string_entry_proto__get_packed_size(&entry));
    put_plain(out, &entry);
}

/* The call of PyTorch that says so: an attribute of ours would make the file one for us alone. */
#define DETACH                                                                                                         \
    "%detach : [num_users=1] = call_function[target=torch.ops.aten.detach.default](args = (%x,), kwargs = {})"

static void put_node(sink *out, const saver *s, const void *what) {
    const plim__node *node = what;
    put_names(out, s, 1, node->inputs.items, node->inputs.count - plim__node_captured(node));
    put_names(out, s, 2, node->outputs.items, node->outputs.count);
    Onnx__NodeProto proto = ONNX__NODE_PROTO__INIT;
    proto.name = *node->name ? node->name : NULL;
    proto.op_type = node->op_name;
    proto.domain = *node->domain ? node->domain : NULL;
    put_plain(out, &proto);
    for (size_t i = 0; i < node->attributes.count; i++)
        if (strcmp(node->attributes.items[i].name, PLIM__DETACHED) != 0)
            put_nested(out, 5, put_attribute, s, &node->attributes.items[i]);
    if (plim__node_attribute(node, PLIM__DETACHED)) put_property(out, 9, PLIM__KEY_CALL, DETACH);
}

/* --- values ----------------------------------------------------------------------------------------------------------
 */

static void put_value(sink *out, const saver *s, const void *what) {
    const plim__value *value = what;
    Onnx__ValueInfoProto proto = ONNX__VALUE_INFO_PROTO__INIT;
    Onnx__TypeProto type = ONNX__TYPE_PROTO__INIT;
    Onnx__TypeProto__Tensor tensor = ONNX__TYPE_PROTO__TENSOR__INIT;
    Onnx__TensorShapeProto shape = ONNX__TENSOR_SHAPE_PROTO__INIT;
    Onnx__TensorShapeProto__Dimension dims[PLIM_MAX_RANK], *list[PLIM_MAX_RANK];
    for (int i = 0; i < value->shape.rank; i++) {
        const char *symbol = plim_graph_symbol_name(s->g, value->shape.dims[i]);
        list[i] = &dims[i];
        dims[i] = (Onnx__TensorShapeProto__Dimension)ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT;
        if (symbol && *symbol == '?') continue; /* not told in the file it came from */
        dims[i].value_case = symbol ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                                    : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (symbol)
            dims[i].dim_param = (char *)(uintptr_t)symbol;
        else
            dims[i].dim_value = value->shape.dims[i];
    }
    proto.name = value->name;
    if (value->dtype != PLIM_DTYPE_NONE) proto.type = &type;
    type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type.tensor_type = &tensor;
    tensor.has_elem_type = 1;
    tensor.elem_type = (int32_t)value->dtype;
    if (value->shape.rank >= 0) tensor.shape = &shape;
    shape.n_dim = value->shape.rank > 0 ? (size_t)value->shape.rank : 0;
    shape.dim = list;
    put_plain(out, &proto);
}

static bool is_output(const plim_graph *g, plim_value value) {
    for (size_t i = 0; i < g->outputs.count; i++)
        if (g->outputs.items[i] == value) return true;
    return false;
}

/* Inner values whose type is known; nodes that are dead or dropped leave values without a use. */
static void put_value_infos(sink *out, const saver *s) {
    for (size_t n = 0; n < s->g->nodes.count; n++) {
        const plim__node *node = &s->g->nodes.items[n];
        for (size_t i = 0; !node->dead && i < node->outputs.count; i++) {
            plim_value v = node->outputs.items[i];
            const plim__value *value = v < 0 ? NULL : &s->g->values.items[v];
            if (value && value->dtype != PLIM_DTYPE_NONE && value->shape.rank >= 0 && !is_output(s->g, v))
                put_nested(out, 13, put_value, s, value);
        }
    }
}

/* --- graph and model ------------------------------------------------------------------------------------------ */

static size_t changed_index(const saver *s, size_t value) { return s->indices ? s->indices[value] : PLIM__NO_WEIGHT; }

static void put_graph(sink *out, const saver *s, const void *what) {
    const plim_graph *g = what;
    for (size_t n = 0; n < g->nodes.count && out->status == PLIM_OK; n++)
        if (!g->nodes.items[n].dead) put_nested(out, 1, put_node, s, &g->nodes.items[n]);
    const char *name = g->info.graph_name && *g->info.graph_name ? g->info.graph_name : "main";
    put_header(out, 2, strlen(name));
    put(out, name, strlen(name));
    for (size_t v = 0; v < g->values.count && out->status == PLIM_OK; v++) {
        const plim__value *value = &g->values.items[v];
        if (s->written[v])
            put_nested(out, 5, put_tensor, s,
                       &(struct named_tensor){value->name, value->tensor, s->offsets[v], changed_index(s, v)});
    }
    for (size_t i = 0; i < g->inputs.count; i++)
        put_nested(out, 11, put_value, s, &g->values.items[g->inputs.items[i]]);
    for (size_t v = 0; g->info.ir_version < 4 && v < g->values.count; v++) /* old files list weights as inputs too */
        if (s->written[v]) put_nested(out, 11, put_value, s, &g->values.items[v]);
    for (size_t i = 0; i < g->outputs.count; i++)
        put_nested(out, 12, put_value, s, &g->values.items[g->outputs.items[i]]);
    put_value_infos(out, s);
    const char *signature = g->info.signature ? g->info.signature : s->listed.data;
    if (signature) put_property(out, 16, PLIM__KEY_SIGNATURE, signature);
}

static void put_opset(sink *out, const char *domain, int64_t version) {
    Onnx__OperatorSetIdProto proto = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    proto.domain = (char *)(uintptr_t)domain;
    proto.has_version = 1;
    proto.version = version;
    put_header(out, 8, onnx__operator_set_id_proto__get_packed_size(&proto));
    put_plain(out, &proto);
}

/* Also domains of nodes that passes have added and no import declares. */
static void put_opsets(sink *out, const plim_graph *g) {
    for (size_t i = 0; i < g->info.opsets.count; i++)
        put_opset(out, g->info.opsets.items[i].domain, g->info.opsets.items[i].version);
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        bool known = node->dead || plim__graph_opset(g, node->domain) != 0;
        for (size_t m = 0; m < n && !known; m++)
            known = !g->nodes.items[m].dead && strcmp(g->nodes.items[m].domain, node->domain) == 0;
        if (!known) put_opset(out, node->domain, node->version > 0 ? node->version : 1);
    }
}

static void put_model(sink *out, const saver *s) {
    const plim__model_info *info = &s->g->info;
    Onnx__ModelProto proto = ONNX__MODEL_PROTO__INIT;
    proto.has_ir_version = 1;
    proto.ir_version = info->ir_version > 0 ? info->ir_version : 8;
    proto.producer_name = info->producer_name ? info->producer_name : "plimsoll";
    proto.producer_version = info->producer_version ? info->producer_version
                             : info->producer_name  ? NULL
                                                    : PLIM_VERSION_STRING;
    proto.domain = info->model_domain;
    proto.has_model_version = info->model_version != 0;
    proto.model_version = info->model_version;
    proto.doc_string = info->doc;
    put_plain(out, &proto);
    put_opsets(out, s->g);
    for (size_t i = 0; i < info->properties.count; i++)
        put_property(out, 14, info->properties.items[i].key, info->properties.items[i].value);
    put_nested(out, 7, put_graph, s, s->g);
}

/* --- files ---------------------------------------------------------------------------------------------------- */

/* Room for the largest part that is not in memory as it is, and for copying from file to file. */
static plim_status make_chunk(saver *s, plim_error *error) {
    size_t bytes = 0;
    if (s->changed) {
        PLIM_TRY(plim__weights_match(s->g, s->changed, &s->indices, error));
        PLIM_TRY(plim__weights_scratch(s->changed, &bytes, error));
    }
    if (bytes < CHUNK) bytes = CHUNK;
    for (size_t v = 0; v < s->g->values.count; v++) {
        const plim__tensor *tensor = s->g->values.items[v].tensor;
        if (tensor && !tensor->data && !tensor->source && tensor->bytes > bytes) bytes = tensor->bytes;
    }
    s->chunk = plim__alloc(bytes);
    return s->chunk ? PLIM_OK : plim__fail_memory(error, "writing a model", bytes);
}

/* Weights are written when something uses them. A subgraph may use them by name, so then all are. */
static plim_status choose_weights(saver *s, plim_error *error) {
    const plim_graph *g = s->g;
    int32_t *uses = plim__graph_uses(g);
    s->written = plim__alloc_zero(g->values.count, sizeof *s->written);
    s->offsets = plim__alloc_array(g->values.count, sizeof *s->offsets);
    plim_status status = uses && s->written && s->offsets
                             ? make_chunk(s, error)
                             : plim__fail_memory(error, "writing a model", g->values.count * sizeof *s->offsets);
    bool subgraphs = false;
    for (size_t n = 0; n < g->nodes.count; n++)
        for (size_t i = 0; !g->nodes.items[n].dead && i < g->nodes.items[n].attributes.count; i++)
            subgraphs |= g->nodes.items[n].attributes.items[i].type >= PLIM__ATTRIBUTE_GRAPH;
    for (size_t v = 0; status == PLIM_OK && v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        bool holds = value->kind == PLIM__VALUE_CONSTANT || value->kind == PLIM__VALUE_PARAMETER ||
                     value->kind == PLIM__VALUE_STATE;
        s->offsets[v] = INSIDE;
        s->written[v] = holds && value->tensor && (uses[v] > 0 || subgraphs);
        if (holds && !value->tensor && uses[v] > 0)
            status = plim__fail(error, PLIM_INVALID, "the value '%s' has no data to write", value->name);
    }
    plim__free(uses);
    return status;
}

/* A graph that a program made has constants and parameters; in a file both are initializers. Where there are constants that a
 * reader could take for weights, parameters are listed as PyTorch's exporter does it. Graphs of files stay as they are. */
static plim_status list_parameters(saver *s, plim_error *error) {
    const plim_graph *g = s->g;
    bool doubt = false;
    if (g->info.signature || g->info.producer_name) return PLIM_OK;
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        doubt |=
            s->written[v] && value->kind == PLIM__VALUE_CONSTANT && value->dtype == PLIM_F32 && value->shape.rank > 0;
    }
    bool *statistics = doubt ? plim__alloc_zero(g->values.count, sizeof *statistics) : NULL;
    if (!statistics) return doubt ? plim__fail_memory(error, "a list of parameters", g->values.count) : PLIM_OK;
    plim__match_statistics(g, statistics);
    plim__str_add(&s->listed, "\n# inputs\n");
    for (size_t v = 0; v < g->values.count; v++)
        if (s->written[v] && g->values.items[v].kind == PLIM__VALUE_PARAMETER)
            plim__str_addf(&s->listed, "p_%zu: %s target='%s'\n", v, statistics[v] ? "BUFFER" : "PARAMETER",
                           g->values.items[v].name);
    plim__str_add(&s->listed, "\n# outputs\n");
    plim__free(statistics);
    return s->listed.failed ? plim__fail_memory(error, "a list of parameters", s->listed.length) : PLIM_OK;
}

/* Gives every large weight its place in the external data. */
static void place_external(saver *s) {
    uint64_t at = 0;
    for (size_t v = 0; v < s->g->values.count; v++) {
        if (!s->written[v] || s->g->values.items[v].tensor->bytes < KEEP_INSIDE) continue;
        s->offsets[v] = at = (at + EXTERNAL_ALIGN - 1) / EXTERNAL_ALIGN * EXTERNAL_ALIGN;
        at += s->g->values.items[v].tensor->bytes;
    }
}

static plim_status write_external(saver *s, plim__file_writer *writer, plim_error *error) {
    static const char zeros[EXTERNAL_ALIGN];
    sink out = {.writer = writer, .error = error};
    for (size_t v = 0; v < s->g->values.count && out.status == PLIM_OK; v++) {
        if (s->offsets[v] == INSIDE) continue;
        put(&out, zeros, (size_t)(s->offsets[v] - out.count));
        put_data(&out, s, s->g->values.items[v].tensor, changed_index(s, v));
    }
    return out.status;
}

static plim_status write_model(saver *s, const char *path, plim_error *error) {
    plim__file_writer writer;
    PLIM_TRY(plim__file_writer_open(&writer, path, error));
    sink out = {.writer = &writer, .error = error};
    put_model(&out, s);
    if (out.status == PLIM_OK) out.status = plim__file_writer_commit(&writer, error);
    plim__file_writer_discard(&writer);
    return out.status;
}

/* The weights go to their place first: a reader that finds the model finds them. */
static plim_status write_both(saver *s, const char *path, const char *data_path, plim_error *error) {
    plim__file_writer data = {0}, model = {0};
    plim_status status = plim__file_writer_open(&data, data_path, error);
    if (status == PLIM_OK) status = write_external(s, &data, error);
    if (status == PLIM_OK) status = plim__file_writer_open(&model, path, error);
    if (status == PLIM_OK) {
        sink out = {.writer = &model, .error = error};
        put_model(&out, s);
        status = out.status;
    }
    if (status == PLIM_OK) status = plim__file_writer_flush(&data, error);
    if (status == PLIM_OK) status = plim__file_writer_flush(&model, error); /* then two renames are left to do */
    if (status == PLIM_OK) status = plim__file_writer_commit(&data, error);
    if (status == PLIM_OK) status = plim__file_writer_commit(&model, error);
    plim__file_writer_discard(&data);
    plim__file_writer_discard(&model);
    return status;
}

static plim_status save_external(saver *s, const char *path, uint64_t limit, plim_error *error) {
    size_t length = strlen(path) + sizeof ".data";
    char *data_path = plim__alloc(length);
    if (!data_path) return plim__fail_memory(error, "a path", length);
    snprintf(data_path, length, "%s.data", path);
    const char *slash = strrchr(data_path, '/');
    s->data_name = slash ? slash + 1 : data_path;
    place_external(s);
    sink counter = {.error = error};
    put_model(&counter, s);
    plim_status status = counter.status;
    if (status == PLIM_OK && counter.count > limit && counter.count > ONE_FILE_LIMIT)
        status = plim__fail(error, PLIM_UNSUPPORTED,
                            "the model needs %" PRIu64 " bytes beside its weights; a file holds 2 GiB", counter.count);
    if (status == PLIM_OK) status = write_both(s, path, data_path, error);
    plim__free(data_path);
    return status;
}

plim_status plim__onnx_save_limited(const plim_graph *graph, const plim__weights *changed, const char *path,
                                    uint64_t limit, plim_error *error) {
    PLIM_TRY(plim_graph_status(graph, error));
    saver s = {.g = graph, .changed = changed};
    plim_status status = choose_weights(&s, error);
    if (status == PLIM_OK) status = list_parameters(&s, error);
    if (status == PLIM_OK) {
        sink counter = {.error = error};
        put_model(&counter, &s);
        status = counter.status;
        if (status == PLIM_OK)
            status = counter.count > limit ? save_external(&s, path, limit, error) : write_model(&s, path, error);
    }
    plim__str_free(&s.listed);
    plim__free(s.written);
    plim__free(s.offsets);
    plim__free(s.chunk);
    plim__free(s.indices);
    return status;
}

plim_status plim__onnx_save_changed(const plim_graph *graph, const plim__weights *changed, const char *path,
                                    plim_error *error) {
    return plim__onnx_save_limited(graph, changed, path, ONE_FILE_LIMIT, error);
}

plim_status plim_graph_save(const plim_graph *graph, const char *path, plim_error *error) {
    PLIM__NEED(graph, error);
    PLIM__NEED(path, error);
    return plim__onnx_save_limited(graph, NULL, path, ONE_FILE_LIMIT, error);
}
