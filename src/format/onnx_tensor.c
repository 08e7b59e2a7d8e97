/* TensorProto and SparseTensorProto. Data in the layout of memory (raw_data, packed float_data and double_data) stays
 * in the file when it is large; numbers of variable length (int32_data, int64_data, uint64_data) are counted first
 * and then decoded straight into the tensor, so that a wrong length costs no allocation. */
#include <inttypes.h>
#include <string.h>

#include "core/error.h"
#include "format/onnx_read.h"
#include "onnx/onnx.pb-c.h"

plim_status plim__onnx_dtype(const char *name, int64_t number, plim_dtype *dtype, plim_error *error) {
    *dtype = PLIM_DTYPE_NONE;
    if (number == 0) return plim__fail(error, PLIM_CORRUPT, "'%s' has no element type", name);
    if (number < 0 || number >= PLIM_DTYPE_COUNT)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' has the unknown element type number %" PRId64, name, number);
    *dtype = (plim_dtype)number;
    return PLIM_OK;
}

plim_status plim__onnx_shape(const char *name, plim_dtype dtype, plim__onnx_dims dims, plim__shape *shape,
                             size_t *bytes, plim_error *error) {
    *bytes = 0;
    if (dims.rank > PLIM_MAX_RANK)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' has rank %zu; up to %d is supported", name, dims.rank,
                          PLIM_MAX_RANK);
    for (size_t i = 0; i < dims.rank; i++)
        if (dims.sizes[i] < 0)
            return plim__fail(error, PLIM_CORRUPT, "'%s' has the negative dimension %" PRId64, name, dims.sizes[i]);
    *shape = plim__shape_of((int)dims.rank, dims.sizes);
    if (dtype == PLIM_STRING) return PLIM_OK;
    plim_status status = plim__shape_bytes(shape, dtype, bytes, error);
    return status == PLIM_OK ? status : plim__fail_context(error, status, "'%s'", name);
}

/* --- heads ---------------------------------------------------------------------------------------------------- */

static plim_status parse_count(const char *name, const char *key, const char *text, uint64_t *value,
                               plim_error *error) {
    uint64_t result = 0;
    bool bad = !*text;
    for (const char *c = text; *c && !bad; c++)
        bad = *c < '0' || *c > '9' || __builtin_mul_overflow(result, 10u, &result) ||
              __builtin_add_overflow(result, (uint64_t)(*c - '0'), &result);
    *value = result;
    return bad ? plim__fail(error, PLIM_CORRUPT, "the %s of external data of '%s' is '%.40s'", key, name, text)
               : PLIM_OK;
}

static plim_status read_location(const Onnx__TensorProto *proto, plim__onnx_head *head, plim_error *error) {
    head->external = true;
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const char *key = proto->external_data[i]->key, *value = proto->external_data[i]->value;
        if (!key || !value) continue;
        if (strcmp(key, "offset") == 0) PLIM_TRY(parse_count(head->name, key, value, &head->offset, error));
        if (strcmp(key, "length") == 0) {
            PLIM_TRY(parse_count(head->name, key, value, &head->length, error));
            head->has_length = true;
        }
        if (strcmp(key, "location") == 0) {
            plim__free(head->location);
            head->location = plim__strdup(value);
            if (!head->location) return plim__fail_memory(error, head->name, strlen(value));
        }
    }
    if (head->location) return PLIM_OK;
    return plim__fail(error, PLIM_CORRUPT, "external data of '%s' has no location", head->name);
}

static plim_status fill_head(const Onnx__TensorProto *proto, plim__onnx_head *head, plim_error *error) {
    head->name = plim__strdup(proto->name ? proto->name : "");
    if (!head->name) return plim__fail_memory(error, "a tensor's name", 1);
    if (proto->segment)
        return plim__fail(error, PLIM_UNSUPPORTED, "the tensor '%s' is split into segments", head->name);
    PLIM_TRY(plim__onnx_dtype(head->name, proto->data_type, &head->dtype, error));
    PLIM_TRY(plim__onnx_shape(head->name, head->dtype, (plim__onnx_dims){proto->n_dims, proto->dims}, &head->shape,
                              &head->bytes, error));
    if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        PLIM_TRY(read_location(proto, head, error));
    return PLIM_OK;
}

plim_status plim__onnx_read_head(plim__onnx_reader *reader, plim__span span, plim__onnx_head *head, plim_error *error) {
    *head = (plim__onnx_head){0};
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&reader->wire, &at, span.end, &field, error));
        if (field.number != 9 || field.type != PLIM__WIRE_BYTES) continue;
        head->has_raw = true;
        head->raw = field.body;
    }
    Onnx__TensorProto *proto;
    uint64_t plain =
        PLIM__FIELD(1) | PLIM__FIELD(2) | PLIM__FIELD(3) | PLIM__FIELD(8) | PLIM__FIELD(13) | PLIM__FIELD(14);
    PLIM_TRY(plim__wire_decode(&reader->wire, span, plain, &onnx__tensor_proto__descriptor, &proto, error));
    plim_status status = fill_head(proto, head, error);
    plim__wire_release(proto);
    return status;
}

void plim__onnx_head_free(plim__onnx_head *head) {
    plim__free(head->name);
    plim__free(head->location);
    *head = (plim__onnx_head){0};
}

/* --- data ----------------------------------------------------------------------------------------------------- */

static plim_status wrong_size(const plim__onnx_head *head, uint64_t found, const char *unit, plim_error *error) {
    char text[PLIM_SHAPE_TEXT];
    return plim__fail(error, PLIM_CORRUPT, "the tensor '%s' holds %" PRIu64 " %s; its shape %s%s needs %zu bytes",
                      head->name, found, unit, plim_dtype_name(head->dtype), plim__shape_text(&head->shape, NULL, text),
                      head->bytes);
}

static plim_status read_block(plim__onnx_reader *reader, plim__span span, const plim__onnx_head *head,
                              plim__tensor **tensor, plim_error *error) {
    if (reader->source && head->bytes > PLIM__ONNX_INLINE)
        return plim__tensor_in_file(head->dtype, &head->shape, reader->source, span.at, tensor, error);
    PLIM_TRY(plim__tensor_create(head->dtype, &head->shape, tensor, error));
    plim_status status = plim__wire_read(&reader->wire, span, (*tensor)->data, error);
    if (status == PLIM_OK) return status;
    plim__tensor_release(*tensor);
    *tensor = NULL;
    return status;
}

/* How ONNX keeps a dtype without raw_data: the field, its wire type, and the bytes of one number in memory. */
struct typed {
    uint32_t number;
    int wire;
    size_t width;
};

static struct typed typed_field(plim_dtype dtype) {
    switch (dtype) {
    case PLIM_F32:
    case PLIM_C64: return (struct typed){4, PLIM__WIRE_FIXED32, 4};
    case PLIM_F64:
    case PLIM_C128: return (struct typed){10, PLIM__WIRE_FIXED64, 8};
    case PLIM_I64: return (struct typed){7, PLIM__WIRE_VARINT, 8};
    case PLIM_U32: return (struct typed){11, PLIM__WIRE_VARINT, 4};
    case PLIM_U64: return (struct typed){11, PLIM__WIRE_VARINT, 8};
    default: /* int32_data, also for 16-bit floats; two 4-bit numbers share one */
        return (struct typed){5, PLIM__WIRE_VARINT,
                              plim_dtype_bits(dtype) < 8 ? 1 : (size_t)plim_dtype_bits(dtype) / 8};
    }
}

/* One pass over a tensor's numbers: counts them, and with `into` stores the first `room`. */
struct pass {
    struct typed typed;
    unsigned char *into;
    uint64_t count, room;
    plim__span block; /* the last packed field */
    int blocks;
};

static plim_status pass_varints(plim__wire *wire, plim__span span, struct pass *pass, plim_error *error) {
    for (uint64_t at = span.at; at < span.end; pass->count++) {
        uint64_t value;
        PLIM_TRY(plim__wire_varint(wire, &at, span.end, &value, error));
        if (pass->into && pass->count < pass->room) /* little-endian: the low bytes come first */
            memcpy(pass->into + pass->count * pass->typed.width, &value, pass->typed.width);
    }
    return PLIM_OK;
}

static plim_status pass_fixed(plim__wire *wire, plim__span span, struct pass *pass, plim_error *error) {
    uint64_t count = plim__span_length(span) / pass->typed.width;
    if (count * pass->typed.width != plim__span_length(span))
        return plim__fail(error, PLIM_CORRUPT, "the numbers at byte %" PRIu64 " are not whole", span.at);
    pass->block = span;
    pass->blocks++;
    if (pass->into && pass->count + count <= pass->room)
        PLIM_TRY(plim__wire_read(wire, span, pass->into + pass->count * pass->typed.width, error));
    pass->count += count;
    return PLIM_OK;
}

static plim_status pass_numbers(plim__wire *wire, plim__span span, struct pass *pass, plim_error *error) {
    pass->count = 0;
    pass->blocks = 0;
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(wire, &at, span.end, &field, error));
        if (field.number != pass->typed.number) continue;
        if (field.type != PLIM__WIRE_BYTES && field.type != pass->typed.wire) continue; /* as protobuf does */
        if (pass->typed.wire == PLIM__WIRE_VARINT)
            PLIM_TRY(pass_varints(wire, field.body, pass, error));
        else
            PLIM_TRY(pass_fixed(wire, field.body, pass, error));
    }
    return PLIM_OK;
}

static plim_status read_typed(plim__onnx_reader *reader, plim__span span, const plim__onnx_head *head,
                              plim__tensor **tensor, plim_error *error) {
    struct pass pass = {.typed = typed_field(head->dtype)};
    plim_status status = pass_numbers(&reader->wire, span, &pass, error);
    if (status != PLIM_OK) return plim__fail_context(error, status, "the data of '%s'", head->name);
    if (pass.count != head->bytes / pass.typed.width) return wrong_size(head, pass.count, "numbers", error);
    if (pass.typed.wire != PLIM__WIRE_VARINT && pass.blocks == 1)
        return read_block(reader, pass.block, head, tensor, error);
    PLIM_TRY(plim__tensor_create(head->dtype, &head->shape, tensor, error));
    pass.room = pass.count;
    pass.into = (*tensor)->data;
    status = pass_numbers(&reader->wire, span, &pass, error);
    if (status == PLIM_OK && pass.count != pass.room)
        status = plim__fail(error, PLIM_IO, "the file changes while it is read");
    if (status == PLIM_OK) return status;
    plim__tensor_release(*tensor);
    *tensor = NULL;
    return status;
}

plim_status plim__onnx_read_payload(plim__onnx_reader *reader, plim__span span, const plim__onnx_head *head,
                                    plim__tensor **tensor, plim_error *error) {
    *tensor = NULL;
    if (head->dtype == PLIM_STRING)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' is a tensor of strings", head->name);
    if (head->external) return plim__onnx_read_external(reader, head, tensor, error);
    if (head->has_raw && (plim__span_length(head->raw) > 0 || head->bytes == 0)) {
        if (plim__span_length(head->raw) != head->bytes)
            return wrong_size(head, plim__span_length(head->raw), "bytes", error);
        return read_block(reader, head->raw, head, tensor, error);
    }
    return read_typed(reader, span, head, tensor, error);
}

/* --- sparse tensors ------------------------------------------------------------------------------------------------
 */

/* values and indices brought into memory */
static plim_status load_part(plim__onnx_reader *reader, plim__span span, plim__tensor **tensor, plim_error *error) {
    plim__onnx_head head;
    plim_status status = plim__onnx_read_head(reader, span, &head, error);
    if (status == PLIM_OK) status = plim__onnx_read_payload(reader, span, &head, tensor, error);
    if (status == PLIM_OK) status = plim__tensor_load(*tensor, error);
    plim__onnx_head_free(&head);
    return status;
}

/* indices are (NNZ) places in the flat tensor, or (NNZ, rank) coordinates. */
static plim_status scatter(const plim__onnx_head *head, const plim__tensor *values, const plim__tensor *indices,
                           plim__tensor *dense, plim_error *error) {
    int rank = head->shape.rank, columns = indices->shape.rank == 2 ? rank : 1;
    int64_t count = plim__shape_elements(&values->shape), total = plim__shape_elements(&head->shape);
    bool fits = values->shape.rank == 1 && values->dtype == head->dtype && indices->dtype == PLIM_I64 &&
                (indices->shape.rank == 1 || (indices->shape.rank == 2 && indices->shape.dims[1] == rank)) &&
                indices->shape.dims[0] == count;
    if (!fits)
        return plim__fail(error, PLIM_CORRUPT, "the indices and values of the sparse '%s' do not fit", head->name);
    size_t width = (size_t)plim_dtype_bits(head->dtype) / 8;
    const int64_t *index = indices->data;
    for (int64_t k = 0; k < count; k++, index += columns) {
        int64_t place = columns == 1 && indices->shape.rank == 1 ? index[0] : 0;
        bool inside = true;
        for (int d = 0; indices->shape.rank == 2 && d < rank && inside; d++) {
            inside = index[d] >= 0 && index[d] < head->shape.dims[d];
            if (inside) place = place * head->shape.dims[d] + index[d];
        }
        if (!inside || place < 0 || place >= total)
            return plim__fail(error, PLIM_CORRUPT, "index %" PRId64 " of the sparse '%s' lies outside its shape", k,
                              head->name);
        memcpy((char *)dense->data + (size_t)place * width, (const char *)values->data + (size_t)k * width, width);
    }
    return PLIM_OK;
}

static plim_status make_dense(plim__onnx_reader *reader, const plim__onnx_head *head, plim__span value_span,
                              plim__span index_span, plim__tensor **tensor, plim_error *error) {
    if (plim_dtype_bits(head->dtype) < 8)
        return plim__fail(error, PLIM_UNSUPPORTED, "the sparse '%s' has element type %s", head->name,
                          plim_dtype_name(head->dtype));
    if (head->bytes > reader->dense_allowance)
        return plim__fail(error, PLIM_UNSUPPORTED, "the sparse '%s' would grow to %zu bytes, far more than its file",
                          head->name, head->bytes);
    reader->dense_allowance -= head->bytes;
    plim__tensor *values = NULL, *indices = NULL;
    plim_status status = load_part(reader, value_span, &values, error);
    if (status == PLIM_OK) status = load_part(reader, index_span, &indices, error);
    if (status == PLIM_OK) status = plim__tensor_create(head->dtype, &head->shape, tensor, error);
    if (status == PLIM_OK) {
        memset((*tensor)->data, 0, (*tensor)->bytes);
        status = scatter(head, values, indices, *tensor, error);
    }
    plim__tensor_release(values);
    plim__tensor_release(indices);
    if (status != PLIM_OK) {
        plim__tensor_release(*tensor);
        *tensor = NULL;
    }
    return status;
}

plim_status plim__onnx_read_sparse(plim__onnx_reader *reader, plim__span span, plim__onnx_head *head,
                                   plim__tensor **tensor, plim_error *error) {
    *head = (plim__onnx_head){0};
    plim__span value_span = {0}, index_span = {0};
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&reader->wire, &at, span.end, &field, error));
        if (field.type == PLIM__WIRE_BYTES && field.number == 1) value_span = field.body;
        if (field.type == PLIM__WIRE_BYTES && field.number == 2) index_span = field.body;
    }
    PLIM_TRY(plim__onnx_read_head(reader, value_span, head, error));
    Onnx__SparseTensorProto *proto;
    PLIM_TRY(
        plim__wire_decode(&reader->wire, span, PLIM__FIELD(3), &onnx__sparse_tensor_proto__descriptor, &proto, error));
    plim_status status = plim__onnx_shape(head->name, head->dtype, (plim__onnx_dims){proto->n_dims, proto->dims},
                                          &head->shape, &head->bytes, error);
    plim__wire_release(proto);
    if (status != PLIM_OK || !tensor) return status;
    *tensor = NULL;
    if (head->dtype == PLIM_STRING)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' is a sparse tensor of strings", head->name);
    return make_dense(reader, head, value_span, index_span, tensor, error);
}
