/* The header of a safetensors file. */
#include "format/safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"

enum { MOST_DIMENSIONS = 64 };

static plim_status broken(const plim__safetensors_place *file, const char *name, const char *what, plim_error *error) {
    return plim__fail(error, PLIM_CORRUPT, "'%s' is not a valid safetensors file: tensor '%.200s' %s", file->path, name,
                      what);
}

static plim_status read_shape(const plim__safetensors_place *file, const json_t *shape,
                              plim__safetensors_tensor *tensor, plim_error *error) {
    if (!json_is_array(shape) || json_array_size(shape) > MOST_DIMENSIONS)
        return broken(file, tensor->name, "has no shape", error);
    size_t rank = json_array_size(shape);
    tensor->dims = plim__alloc_array(rank ? rank : 1, sizeof *tensor->dims);
    if (!tensor->dims) return plim__fail_memory(error, "a safetensors header", rank * sizeof *tensor->dims);
    for (size_t i = 0; i < rank; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return broken(file, tensor->name, "has a dimension that is not a size", error);
        tensor->dims[i] = json_integer_value(dim);
    }
    tensor->rank = (int)rank;
    if (!plim__element_count((int)rank, tensor->dims, &tensor->elements) ||
        !plim__element_bytes(tensor->element, tensor->elements, &tensor->bytes))
        return plim__fail(error, PLIM_OVERFLOW, "'%s': tensor '%.200s' has more bytes than fit in 64 bits", file->path,
                          tensor->name);
    return PLIM_OK;
}

static plim_status read_place(const plim__safetensors_place *file, const json_t *offsets,
                              plim__safetensors_tensor *tensor, plim_error *error) {
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last) ||
        json_integer_value(first) < 0 || json_integer_value(last) < json_integer_value(first))
        return broken(file, tensor->name, "has no valid data_offsets", error);
    uint64_t begin = (uint64_t)json_integer_value(first), end = (uint64_t)json_integer_value(last);
    if (end > file->bytes) return broken(file, tensor->name, "ends after the end of the file (is it cut off?)", error);
    if (end - begin != tensor->bytes) return broken(file, tensor->name, "has another size than its shape needs", error);
    tensor->offset = file->offset + begin;
    return PLIM_OK;
}

static plim_status read_tensor(const plim__safetensors_place *file, const char *name, const json_t *entry,
                               plim__safetensors_tensor *tensor, plim_error *error) {
    tensor->name = plim__strdup(name);
    if (!tensor->name) return plim__fail_memory(error, "a safetensors header", strlen(name));
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dtype) return broken(file, name, "has no dtype", error);
    tensor->element = plim__element_find(dtype);
    if (!tensor->element || tensor->element->bits == 0)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s': tensor '%.200s' has the unknown dtype '%.60s'", file->path,
                          name, dtype);
    PLIM_TRY(read_shape(file, json_object_get(entry, "shape"), tensor, error));
    return read_place(file, json_object_get(entry, "data_offsets"), tensor, error);
}

static int by_place(const void *a, const void *b) {
    const plim__safetensors_tensor *left = a, *right = b;
    if (left->offset != right->offset) return left->offset < right->offset ? -1 : 1;
    return left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

/* Values that are no text, which the format forbids, are left out. */
static plim_status read_notes(json_t *map, plim__safetensors *file, plim_error *error) {
    const char *key;
    json_t *value;
    size_t most = json_object_size(map);
    file->notes = plim__alloc_zero(most ? most : 1, sizeof *file->notes);
    if (!file->notes) return plim__fail_memory(error, "a safetensors header", most * sizeof *file->notes);
    json_object_foreach(map, key, value) {
        if (!json_is_string(value)) continue;
        plim__safetensors_note *note = &file->notes[file->note_count++];
        note->key = plim__strdup(key);
        note->value = plim__strdup(json_string_value(value));
        if (!note->key || !note->value)
            return plim__fail_memory(error, "a safetensors header", json_string_length(value));
    }
    return PLIM_OK;
}

static plim_status read_entries(const plim__safetensors_place *where, json_t *root, plim__safetensors *file,
                                plim_error *error) {
    const char *name;
    json_t *entry;
    size_t most = json_object_size(root);
    file->tensors = plim__alloc_zero(most ? most : 1, sizeof *file->tensors);
    if (!file->tensors) return plim__fail_memory(error, "a safetensors header", most * sizeof *file->tensors);
    json_object_foreach(root, name, entry) {
        if (strcmp(name, "__metadata__") == 0)
            PLIM_TRY(read_notes(entry, file, error));
        else
            PLIM_TRY(read_tensor(where, name, entry, &file->tensors[file->count++], error));
    }
    qsort(file->tensors, file->count, sizeof *file->tensors, by_place);
    for (size_t i = 1; i < file->count; i++)
        if (file->tensors[i].offset < file->tensors[i - 1].offset + file->tensors[i - 1].bytes)
            return broken(where, file->tensors[i].name, "overlaps another", error);
    return PLIM_OK;
}

plim_status plim__safetensors_parse(plim__safetensors *file, const char *json, size_t length,
                                    plim__safetensors_place place, plim_error *error) {
    *file = (plim__safetensors){0};
    json_error_t problem;
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &problem);
    if (!json_is_object(root)) {
        json_decref(root);
        return plim__fail(error, PLIM_CORRUPT, "'%s' is not a valid safetensors file: its header is not a JSON object",
                          place.path);
    }
    plim_status status = read_entries(&place, root, file, error);
    json_decref(root);
    if (status != PLIM_OK) plim__safetensors_close(file);
    return status;
}

plim_status plim__safetensors_open(plim__safetensors *file, int fd, const char *path, plim_error *error) {
    *file = (plim__safetensors){0};
    unsigned char prefix[8];
    struct stat info;
    if (fstat(fd, &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
    PLIM_TRY(plim__file_read_at(fd, prefix, sizeof prefix, 0, path, error));
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | prefix[i];
    if (length > PLIM__SAFETENSORS_MAX_HEADER)
        return plim__fail(error, PLIM_CORRUPT, "'%s' claims a safetensors header of %llu bytes; at most %d are read",
                          path, (unsigned long long)length, PLIM__SAFETENSORS_MAX_HEADER);
    if (length + 8 > (uint64_t)info.st_size)
        return plim__fail(error, PLIM_CORRUPT, "'%s' ends inside of its safetensors header", path);
    char *json = plim__alloc((size_t)length + 1);
    if (!json) return plim__fail_memory(error, "a safetensors header", length);
    plim_status status = plim__file_read_at(fd, json, (size_t)length, 8, path, error);
    if (status == PLIM_OK)
        status = plim__safetensors_parse(
            file, json, (size_t)length,
            (plim__safetensors_place){path, length + 8, (uint64_t)info.st_size - length - 8}, error);
    plim__free(json);
    return status;
}

void plim__safetensors_close(plim__safetensors *file) {
    for (size_t i = 0; i < file->count; i++) {
        plim__free(file->tensors[i].name);
        plim__free(file->tensors[i].dims);
    }
    for (size_t i = 0; i < file->note_count; i++) {
        plim__free((void *)(uintptr_t)file->notes[i].key);
        plim__free((void *)(uintptr_t)file->notes[i].value);
    }
    plim__free(file->notes);
    plim__free(file->tensors);
    *file = (plim__safetensors){0};
}

plim_status plim__safetensors_list(const plim__safetensors *file, plim__tensor_visit visit, void *user,
                                   plim_error *error) {
    for (size_t i = 0; i < file->count; i++) {
        const plim__safetensors_tensor *tensor = &file->tensors[i];
        plim__tensor_info info = {.name = tensor->name,
                                  .element = tensor->element,
                                  .rank = tensor->rank,
                                  .dims = tensor->dims,
                                  .elements = tensor->elements,
                                  .bytes = tensor->bytes};
        PLIM_TRY(visit(user, &info, error));
    }
    return PLIM_OK;
}
