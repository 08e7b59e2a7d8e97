/* Parts of ONNX files without a graph: one tensor, or the list of a model's weights. */
#include <string.h>

#include "core/error.h"
#include "format/onnx_read.h"

static plim_status read_tensor(plim__onnx_reader *reader, plim__onnx_head *head, plim__tensor **tensor,
                               plim_error *error) {
    plim__span all = {0, reader->wire.size};
    for (uint64_t at = 0; at < all.end;) { /* what is a tensor's segment here is the content of the other two */
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&reader->wire, &at, all.end, &field, error));
        if (field.number == 3)
            return plim__fail(error, PLIM_UNSUPPORTED, "it holds a sequence, an optional or a tensor in segments");
    }
    PLIM_TRY(plim__onnx_read_head(reader, all, head, error));
    PLIM_TRY(plim__onnx_read_payload(reader, all, head, tensor, error));
    return plim__tensor_load(*tensor, error);
}

plim_status plim__onnx_read_tensor_file(const char *path, plim__tensor **tensor, char **name, plim_error *error) {
    *tensor = NULL;
    if (name) *name = NULL;
    plim__onnx_reader reader;
    plim__onnx_head head = {0};
    plim_status status = plim__onnx_open(&reader, path, error);
    if (status == PLIM_OK) status = read_tensor(&reader, &head, tensor, error);
    if (status != PLIM_OK) {
        plim__tensor_release(*tensor);
        *tensor = NULL;
    } else if (name) {
        *name = head.name;
        head.name = NULL;
    }
    plim__onnx_head_free(&head);
    plim__onnx_close(&reader);
    return plim__onnx_finish(path, status, error);
}

/* --- weights -------------------------------------------------------------------------------------------------- */

struct listing {
    plim__onnx_weight_callback callback;
    void *context;
    bool stopped;
};

static plim_status tell(plim__onnx_reader *reader, const plim__wire_field *field, struct listing *listing,
                        plim_error *error) {
    plim__onnx_head head;
    plim_status status = field->number == 15 ? plim__onnx_read_sparse(reader, field->body, &head, NULL, error)
                                             : plim__onnx_read_head(reader, field->body, &head, error);
    if (status == PLIM_OK) {
        plim__onnx_weight weight = {head.name, head.dtype, head.shape, head.bytes, head.external};
        listing->stopped = !listing->callback(&weight, listing->context);
    }
    plim__onnx_head_free(&head);
    return status;
}

static plim_status list_graph(plim__onnx_reader *reader, plim__span span, struct listing *listing, plim_error *error) {
    for (uint64_t at = span.at; at < span.end && !listing->stopped;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&reader->wire, &at, span.end, &field, error));
        if (field.type == PLIM__WIRE_BYTES && (field.number == 5 || field.number == 15))
            PLIM_TRY(tell(reader, &field, listing, error));
    }
    return PLIM_OK;
}

static plim_status list_model(plim__onnx_reader *reader, struct listing *listing, plim_error *error) {
    bool found = false;
    for (uint64_t at = 0; at < reader->wire.size && !listing->stopped;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&reader->wire, &at, reader->wire.size, &field, error));
        if (field.number != 7 || field.type != PLIM__WIRE_BYTES) continue;
        found = true;
        PLIM_TRY(list_graph(reader, field.body, listing, error));
    }
    return found ? PLIM_OK : plim__fail(error, PLIM_CORRUPT, "it holds no graph, so it is not an ONNX model");
}

plim_status plim__onnx_list_weights(const char *path, plim__onnx_weight_callback callback, void *context,
                                    plim_error *error) {
    plim__onnx_reader reader;
    struct listing listing = {callback, context, false};
    plim_status status = plim__onnx_open(&reader, path, error);
    if (status == PLIM_OK) status = list_model(&reader, &listing, error);
    plim__onnx_close(&reader);
    return plim__onnx_finish(path, status, error);
}
