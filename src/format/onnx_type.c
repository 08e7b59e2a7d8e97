/* ValueInfoProto: the name, element type and shape of a graph's inputs, outputs and inner values. Types can nest
 * without bound (a sequence of sequences of ...), so only the tensor type is ever decoded. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "format/onnx_read.h"
#include "onnx/onnx.pb-c.h"

/* A symbol of its own for a dimension that the file does not tell. Its name begins with a question mark, which no
 * dim_param keeps, so it is new without a search. */
static plim_status fresh_symbol(plim_graph *g, int64_t *dim, plim_error *error) {
    char name[32];
    snprintf(name, sizeof name, "?%zu", g->symbols.count);
    char *copy = plim__strdup(name);
    if (!copy || !plim__vec_push(&g->symbols, copy)) {
        plim__free(copy);
        return plim__fail_memory(error, "a symbol", sizeof name);
    }
    *dim = -(int64_t)g->symbols.count;
    return PLIM_OK;
}

/* plim_graph_symbol searches a list; a map keeps files with many symbols linear. */
static plim_status named_symbol(plim__onnx_reader *reader, const char *name, int64_t *dim, plim_error *error) {
    *dim = plim__map_get(&reader->symbol_names, name, 0);
    if (*dim < 0) return PLIM_OK;
    char *copy = plim__strdup(name);
    if (!copy || !plim__vec_push(&reader->g->symbols, copy)) {
        plim__free(copy);
        return plim__fail_memory(error, "a symbol", strlen(name));
    }
    *dim = -(int64_t)reader->g->symbols.count;
    return plim__map_put(&reader->symbol_names, name, *dim) ? PLIM_OK
                                                            : plim__fail_memory(error, "a symbol", strlen(name));
}

static plim_status read_dims(plim__onnx_reader *reader, const Onnx__TensorShapeProto *proto, bool fresh,
                             plim__onnx_value *value, plim_error *error) {
    if (proto->n_dim > PLIM_MAX_RANK)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' has rank %zu; up to %d is supported", value->name,
                          proto->n_dim, PLIM_MAX_RANK);
    plim__shape shape = {.rank = (int)proto->n_dim};
    int64_t known[PLIM_MAX_RANK]; /* symbols as 1, to see whether the rest overflows */
    for (size_t i = 0; i < proto->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = proto->dim[i];
        known[i] = 1;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            known[i] = shape.dims[i] = dim->dim_value;
        } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && dim->dim_param[0] &&
                   dim->dim_param[0] != '?') {
            PLIM_TRY(named_symbol(reader, dim->dim_param, &shape.dims[i], error));
        } else {
            if (!fresh) return PLIM_OK; /* the shape stays unknown */
            PLIM_TRY(fresh_symbol(reader->g, &shape.dims[i], error));
        }
    }
    plim__shape checked;
    size_t bytes;
    plim_dtype dtype = value->dtype ? value->dtype : PLIM_U8;
    PLIM_TRY(plim__onnx_shape(value->name, dtype, (plim__onnx_dims){proto->n_dim, known}, &checked, &bytes, error));
    value->shape = shape;
    return PLIM_OK;
}

static plim_status read_tensor_type(plim__onnx_reader *reader, plim__span span, bool fresh, plim__onnx_value *value,
                                    plim_error *error) {
    Onnx__TypeProto__Tensor *proto;
    PLIM_TRY(plim__wire_decode(&reader->wire, span, PLIM__FIELD(1) | PLIM__FIELD(2),
                               &onnx__type_proto__tensor__descriptor, &proto, error));
    plim_status status = PLIM_OK;
    if (proto->elem_type != 0) status = plim__onnx_dtype(value->name, proto->elem_type, &value->dtype, error);
    if (status == PLIM_OK && proto->shape) status = read_dims(reader, proto->shape, fresh, value, error);
    plim__wire_release(proto);
    return status;
}

static plim_status read_type(plim__onnx_reader *reader, plim__span span, bool fresh, plim__onnx_value *value,
                             plim_error *error) {
    plim__span tensor = {0};
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&reader->wire, &at, span.end, &field, error));
        switch (field.number) {
        case 1:
            if (field.type == PLIM__WIRE_BYTES) tensor = field.body;
            break;
        case 4: value->other = PLIM__ONNX_SEQUENCE; break;
        case 5: value->other = "a map"; break;
        case 7: value->other = "an opaque value"; break;
        case 8: value->other = "a sparse tensor"; break;
        case 9: value->other = "an optional"; break;
        default: break;
        }
    }
    return value->other ? PLIM_OK : read_tensor_type(reader, tensor, fresh, value, error);
}

plim_status plim__onnx_read_value(plim__onnx_reader *reader, plim__span span, bool fresh, plim__onnx_value *value,
                                  plim_error *error) {
    *value = (plim__onnx_value){.shape = PLIM_SHAPE_UNKNOWN};
    Onnx__ValueInfoProto *proto;
    PLIM_TRY(
        plim__wire_decode(&reader->wire, span, PLIM__FIELD(1), &onnx__value_info_proto__descriptor, &proto, error));
    value->name = plim__strdup(proto->name ? proto->name : "");
    plim__wire_release(proto);
    if (!value->name) return plim__fail_memory(error, "a value's name", 1);
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&reader->wire, &at, span.end, &field, error));
        if (field.number == 2 && field.type == PLIM__WIRE_BYTES)
            PLIM_TRY(read_type(reader, field.body, fresh, value, error));
    }
    return PLIM_OK;
}
