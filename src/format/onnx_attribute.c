/* AttributeProto: numbers, strings and tensors become attributes; subgraphs and rarer kinds stay as their bytes, so
 * that they can be written back. */
#include <string.h>

#include "core/error.h"
#include "format/onnx_read.h"
#include "onnx/onnx.pb-c.h"

#define TYPE(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

/* What an attribute holds beside its plain fields. */
struct parts {
    plim__span tensor;
    bool has_tensor, has_graph, has_other;
};

static plim_status find_parts(plim__wire *wire, plim__span span, struct parts *parts, plim_error *error) {
    *parts = (struct parts){0};
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(wire, &at, span.end, &field, error));
        switch (field.number) {
        case 5:
            parts->has_tensor = field.type == PLIM__WIRE_BYTES;
            parts->tensor = field.body;
            break;
        case 6: parts->has_graph = true; break;
        case 10:
        case 11:
        case 14:
        case 15:
        case 22:
        case 23: parts->has_other = true; break;
        default: break;
        }
    }
    return PLIM_OK;
}

/* Files of the first IR versions do not tell the type; the field that is there does. */
static int type_of(const Onnx__AttributeProto *proto, const struct parts *parts) {
    if (proto->has_type && proto->type != TYPE(UNDEFINED)) return (int)proto->type;
    if (parts->has_tensor) return TYPE(TENSOR);
    if (parts->has_graph) return TYPE(GRAPH);
    if (parts->has_other) return TYPE(TENSORS);
    if (proto->has_f) return TYPE(FLOAT);
    if (proto->has_i) return TYPE(INT);
    if (proto->has_s) return TYPE(STRING);
    if (proto->n_floats) return TYPE(FLOATS);
    if (proto->n_ints) return TYPE(INTS);
    if (proto->n_strings) return TYPE(STRINGS);
    return TYPE(UNDEFINED);
}

static plim_status copy(void **to, const void *from, size_t count, size_t size, plim_error *error) {
    *to = plim__alloc_array(count + 1, size);
    if (!*to) return plim__fail_memory(error, "an attribute", count * size);
    if (count) memcpy(*to, from, count * size);
    memset((char *)*to + count * size, 0, size);
    return PLIM_OK;
}

static plim_status copy_strings(const Onnx__AttributeProto *proto, plim__attribute *attribute, plim_error *error) {
    attribute->strings = plim__alloc_zero(proto->n_strings, sizeof *attribute->strings);
    if (!attribute->strings) return plim__fail_memory(error, "an attribute", proto->n_strings);
    attribute->length = proto->n_strings;
    for (size_t i = 0; i < proto->n_strings; i++)
        PLIM_TRY(copy((void **)&attribute->strings[i], proto->strings[i].data, proto->strings[i].len, 1, error));
    return PLIM_OK;
}

static plim_status read_tensor(plim__onnx_reader *reader, const struct parts *parts, plim__attribute *attribute,
                               plim_error *error) {
    if (!parts->has_tensor) return plim__fail(error, PLIM_CORRUPT, "it has no tensor");
    plim__onnx_head head;
    plim_status status = plim__onnx_read_head(reader, parts->tensor, &head, error);
    if (status == PLIM_OK) status = plim__onnx_read_payload(reader, parts->tensor, &head, &attribute->tensor, error);
    plim__onnx_head_free(&head);
    return status;
}

static plim_status keep_bytes(plim__onnx_reader *reader, plim__span span, plim__attribute *attribute,
                              plim_error *error) {
    attribute->length = (size_t)plim__span_length(span);
    attribute->s = plim__alloc(attribute->length + 1);
    if (!attribute->s) return plim__fail_memory(error, "an attribute", attribute->length);
    attribute->s[attribute->length] = 0;
    return plim__wire_read(&reader->wire, span, attribute->s, error);
}

static plim_status fill(plim__onnx_reader *reader, plim__span span, const Onnx__AttributeProto *proto,
                        const struct parts *parts, plim__attribute *attribute, plim_error *error) {
    switch (type_of(proto, parts)) {
    case TYPE(UNDEFINED): return plim__fail(error, PLIM_CORRUPT, "it has no value");
    case TYPE(INT):
        attribute->type = PLIM__ATTRIBUTE_INT;
        attribute->i = proto->i;
        return PLIM_OK;
    case TYPE(FLOAT):
        attribute->type = PLIM__ATTRIBUTE_FLOAT;
        attribute->f = proto->f;
        return PLIM_OK;
    case TYPE(STRING):
        attribute->type = PLIM__ATTRIBUTE_STRING;
        attribute->length = proto->s.len;
        return copy((void **)&attribute->s, proto->s.data, proto->s.len, 1, error);
    case TYPE(INTS):
        attribute->type = PLIM__ATTRIBUTE_INTS;
        attribute->length = proto->n_ints;
        return copy((void **)&attribute->ints, proto->ints, proto->n_ints, sizeof *proto->ints, error);
    case TYPE(FLOATS):
        attribute->type = PLIM__ATTRIBUTE_FLOATS;
        attribute->length = proto->n_floats;
        return copy((void **)&attribute->floats, proto->floats, proto->n_floats, sizeof *proto->floats, error);
    case TYPE(STRINGS): attribute->type = PLIM__ATTRIBUTE_STRINGS; return copy_strings(proto, attribute, error);
    case TYPE(TENSOR): attribute->type = PLIM__ATTRIBUTE_TENSOR; return read_tensor(reader, parts, attribute, error);
    case TYPE(GRAPH): attribute->type = PLIM__ATTRIBUTE_GRAPH; return keep_bytes(reader, span, attribute, error);
    default: attribute->type = PLIM__ATTRIBUTE_OTHER; return keep_bytes(reader, span, attribute, error);
    }
}

static plim_status refer(const plim__onnx_reader *reader, const Onnx__AttributeProto *proto, plim__attribute *attribute,
                         plim_error *error) {
    if (!reader->in_function)
        return plim__fail(error, PLIM_CORRUPT, "the attribute '%s' refers to an attribute of a function", proto->name);
    attribute->type = PLIM__ATTRIBUTE_REFERENCE;
    attribute->name = plim__strdup(proto->name);
    attribute->s = plim__strdup(proto->ref_attr_name);
    attribute->length = strlen(proto->ref_attr_name);
    return attribute->name && attribute->s ? PLIM_OK : plim__fail_memory(error, "an attribute", attribute->length);
}

plim_status plim__onnx_read_attribute(plim__onnx_reader *reader, plim__span span, plim__attribute *attribute,
                                      plim_error *error) {
    *attribute = (plim__attribute){0};
    struct parts parts;
    PLIM_TRY(find_parts(&reader->wire, span, &parts, error));
    Onnx__AttributeProto *proto;
    uint64_t plain = PLIM__FIELD(1) | PLIM__FIELD(2) | PLIM__FIELD(3) | PLIM__FIELD(4) | PLIM__FIELD(7) |
                     PLIM__FIELD(8) | PLIM__FIELD(9) | PLIM__FIELD(20) | PLIM__FIELD(21);
    PLIM_TRY(plim__wire_decode(&reader->wire, span, plain, &onnx__attribute_proto__descriptor, &proto, error));
    plim_status status = PLIM_OK;
    if (!proto->name || !*proto->name)
        status = plim__fail(error, PLIM_CORRUPT, "an attribute has no name");
    else if (proto->ref_attr_name && *proto->ref_attr_name)
        status = refer(reader, proto, attribute, error);
    else {
        attribute->name = plim__strdup(proto->name);
        status = attribute->name ? fill(reader, span, proto, &parts, attribute, error)
                                 : plim__fail_memory(error, "an attribute", strlen(proto->name));
        if (status != PLIM_OK) plim__fail_context(error, status, "attribute '%s'", proto->name);
    }
    plim__wire_release(proto);
    return status;
}
