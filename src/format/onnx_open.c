/* Opening a file for the ONNX reader, closing it, and the last touch on its messages. */
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "format/onnx_read.h"

/* Sparse tensors may become this much larger than the file, in all. */
static uint64_t dense_allowance(uint64_t file_size) { return (UINT64_C(1) << 20) + 64 * file_size; }

plim_status plim__onnx_open(plim__onnx_reader *reader, const char *path, plim_error *error) {
    *reader = (plim__onnx_reader){.folder = -1};
    plim_error local;
    if (!error) error = &local;
    reader->source = plim__source_open(path, error);
    if (!reader->source) return error->status;
    PLIM_TRY(plim__wire_from_file(&reader->wire, reader->source->fd, reader->source->path, error));
    reader->dense_allowance = dense_allowance(reader->wire.size);
    return PLIM_OK;
}

void plim__onnx_open_memory(plim__onnx_reader *reader, const void *data, size_t size) {
    *reader = (plim__onnx_reader){.folder = -1, .dense_allowance = dense_allowance(size)};
    plim__wire_from_memory(&reader->wire, data, size);
}

void plim__onnx_close(plim__onnx_reader *reader) {
    plim__wire_close(&reader->wire);
    plim__source_release(reader->source);
    if (reader->folder >= 0) close(reader->folder);
    for (size_t i = 0; i < reader->externals.count; i++) plim__source_release(reader->externals.items[i].source);
    plim__vec_free(&reader->externals);
    plim__map_free(&reader->external_names);
    plim__map_free(&reader->symbol_names);
}

plim_status plim__onnx_finish(const char *path, plim_status status, plim_error *error) {
    if (status == PLIM_OK || !error) return status;
    if (!strstr(error->message, path)) plim__fail_context(error, status, "%.400s", path);
    for (char *c = error->message; *c; c++) /* names from the file may hold anything */
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    return status;
}
