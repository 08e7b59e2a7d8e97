/* Packing problems in files, as the public API has them. */
#include "core/alloc.h"
#include "core/arguments.h"
#include "plan/pack_csv.h"

struct plim_pack_file {
    plim__pack_csv csv;
};

plim_status plim_pack_file_load(const char *path, plim_pack_file **file, plim_error *error) {
    PLIM__NEED(file, error);
    *file = NULL;
    PLIM__NEED(path, error);
    plim_pack_file *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a packing problem", sizeof *made);
    plim_status status = plim__pack_csv_read(&made->csv, path, error);
    if (status == PLIM_OK)
        *file = made;
    else
        plim_pack_file_free(made);
    return status;
}

void plim_pack_file_free(plim_pack_file *file) {
    if (!file) return;
    plim__pack_csv_free(&file->csv);
    plim__free(file);
}

size_t plim_pack_file_count(const plim_pack_file *file) { return file ? file->csv.count : 0; }
const plim_pack_buffer *plim_pack_file_buffers(const plim_pack_file *file) { return file ? file->csv.buffers : NULL; }

plim_status plim_pack_file_print(const plim_pack_file *file, const int64_t *offsets, char **text, plim_error *error) {
    PLIM__NEED(text, error);
    *text = NULL;
    PLIM__NEED(file, error);
    if (file->csv.count) PLIM__NEED(offsets, error);
    plim__str out = {0};
    plim__pack_csv_print(&file->csv, offsets, &out);
    if (out.failed) {
        plim__str_free(&out);
        return plim__fail_memory(error, "the table", out.length);
    }
    *text = out.data;
    return PLIM_OK;
}
