/* Headers of the arrays in an .npz archive. Only the first bytes of each entry are inflated. */
#include "format/npz.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

plim__tensor_info plim__npy_tensor_info(const plim__npy_header *header, const char *name) {
    const plim__element *element =
        header->dtype == PLIM_DTYPE_NONE ? plim__element_opaque() : plim__element_find(plim_dtype_name(header->dtype));
    return (plim__tensor_info){.name = name,
                               .element = element,
                               .rank = header->rank,
                               .dims = header->dims,
                               .elements = (uint64_t)header->elements,
                               .bytes = header->bytes};
}

static plim_status inflate_header(const plim__zip *zip, const plim__zip_entry *entry, plim__npy_header *header,
                                  plim_error *error) {
    unsigned char prefix[PLIM__NPY_PREFIX] = {0};
    size_t got, size = 0;
    PLIM_TRY(plim__zip_read_start(zip, entry, prefix, sizeof prefix, &got, error));
    PLIM_TRY(plim__npy_parse_prefix(prefix, &size, error));
    char *text = plim__alloc(size);
    if (!text) return plim__fail_memory(error, "an .npy header", size);
    plim_status status = plim__zip_read_start(zip, entry, text, size, &got, error);
    if (status == PLIM_OK) status = plim__npy_parse_header(text, got, header, error);
    plim__free(text);
    return status;
}

plim_status plim__npz_read_header(const plim__zip *zip, const plim__zip_entry *entry, plim__npy_header *header,
                                  plim_error *error) {
    plim_status status = inflate_header(zip, entry, header, error);
    if (status == PLIM_OK &&
        (entry->bytes < header->data_offset || entry->bytes - header->data_offset != header->bytes))
        status = plim__fail(error, PLIM_CORRUPT, "its header promises %zu bytes of data, the archive %llu in all",
                            header->bytes, (unsigned long long)entry->bytes);
    if (status == PLIM_OK) return PLIM_OK;
    return plim__fail_context(error, status, "entry '%.200s' of '%s'", entry->name, zip->path);
}

plim_status plim__npz_list(const plim__zip *zip, plim__tensor_visit visit, void *context, plim_error *error) {
    for (size_t i = 0; i < zip->count; i++) {
        const plim__zip_entry *entry = &zip->entries[i];
        size_t length = strlen(entry->name);
        if (length < 4 || strcmp(entry->name + length - 4, ".npy") != 0)
            return plim__fail(error, PLIM_UNSUPPORTED,
                              "'%s' is a zip archive with '%.200s' in it: neither .npz nor .pt", zip->path,
                              entry->name);
        plim__npy_header header;
        PLIM_TRY(plim__npz_read_header(zip, entry, &header, error));
        char name[256];
        length = length - 4 < sizeof name - 1 ? length - 4 : sizeof name - 1;
        memcpy(name, entry->name, length);
        name[length] = 0;
        plim__tensor_info info = plim__npy_tensor_info(&header, name);
        PLIM_TRY(visit(context, &info, error));
    }
    return PLIM_OK;
}
