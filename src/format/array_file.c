/* Arrays in files, as the public API has them. */
#include "plimsoll/array.h"

#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "format/npy.h"
#include "format/safetensors.h"

plim_status plim_array_load(const char *path, plim_array *array, plim_error *error) {
    plim__npy_header header;
    PLIM__NEED(array, error);
    memset(array, 0, sizeof *array);
    PLIM__NEED(path, error);
    PLIM_TRY(plim__npy_read(path, &header, &array->data, error));
    array->dtype = header.dtype;
    array->rank = header.rank;
    for (int i = 0; i < header.rank; i++) array->dims[i] = header.dims[i];
    array->bytes = header.bytes;
    return PLIM_OK;
}

void plim_array_free(plim_array *array) {
    if (!array) return;
    plim__free(array->data);
    memset(array, 0, sizeof *array);
}

/* That an array is what it says, before anything is read of it. */
static plim_status check(const plim_array *array, plim_error *error) {
    const char *name = array->name ? array->name : "";
    if (array->rank < 0 || array->rank > PLIM_MAX_RANK)
        return plim__fail(error, PLIM_INVALID, "array '%s' has rank %d, expected from 0 to %d", name, array->rank,
                          PLIM_MAX_RANK);
    int64_t elements = 1;
    size_t bytes;
    for (int i = 0; i < array->rank; i++)
        if (array->dims[i] < 0 || __builtin_mul_overflow(elements, array->dims[i], &elements))
            return plim__fail(error, PLIM_INVALID, "array '%s' has size %lld on axis %d", name,
                              (long long)array->dims[i], i);
    if (plim_dtype_bits(array->dtype) == 0 || !plim_dtype_bytes(array->dtype, elements, &bytes))
        return plim__fail(error, PLIM_DTYPE, "array '%s' is of type %s", name, plim_dtype_name(array->dtype));
    if (bytes != array->bytes)
        return plim__fail(error, PLIM_INVALID, "array '%s' has %zu bytes, its shape needs %zu", name, array->bytes,
                          bytes);
    if (bytes && !array->data) return plim__fail(error, PLIM_INVALID, "array '%s' has no data", name);
    return PLIM_OK;
}

plim_status plim_array_save(const plim_array *array, const char *path, plim_error *error) {
    PLIM__NEED(array, error);
    PLIM__NEED(path, error);
    PLIM_TRY(check(array, error));
    return plim__npy_write(path, array->dtype, array->rank, array->dims, array->data, error);
}

static const void *data_of(void *context, size_t index) { return ((const plim_array *)context)[index].data; }

plim_status plim_arrays_save(const plim_array *arrays, size_t count, const char *path, plim_error *error) {
    PLIM__NEED(path, error);
    if (count) PLIM__NEED(arrays, error);
    for (size_t i = 0; i < count; i++) {
        if (!arrays[i].name) return plim__fail(error, PLIM_INVALID, "arrays[%zu] has no name", i);
        PLIM_TRY(check(&arrays[i], error));
    }
    plim__weight *items = plim__alloc_array(count, sizeof *items);
    if (!items) return plim__fail_memory(error, "the names of arrays", count * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = (plim__weight){arrays[i].name, arrays[i].dtype, plim__shape_of(arrays[i].rank, arrays[i].dims)};
    plim__weights weights = {.items = items,
                             .count = count,
                             .context = (void *)(uintptr_t)arrays, /* only read */
                             .view = data_of};
    plim_status status = plim__safetensors_write(path, &weights, NULL, 0, error);
    plim__free(items);
    return status;
}
