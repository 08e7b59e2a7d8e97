/* Shared constant data. Only the owner of a graph touches its tensors, but clones may live in other
 * threads: the counts are atomic, loading is not. */
#include "graph/tensor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/half.h"
#include "core/scalar.h"

plim__source *plim__source_open(const char *path, plim_error *error) {
    plim__source *source = plim__alloc_zero(1, sizeof *source);
    char *copy = plim__strdup(path);
    if (!source || !copy) {
        plim__free(source);
        plim__free(copy);
        plim__fail_memory(error, path, sizeof *source);
        return NULL;
    }
    source->path = copy;
    atomic_init(&source->references, 1);
    source->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (source->fd < 0) {
        plim__fail_errno(error, errno, "cannot open '%s'", path);
        plim__source_release(source);
        return NULL;
    }
    return source;
}

plim__source *plim__source_retain(plim__source *source) {
    if (source) atomic_fetch_add(&source->references, 1);
    return source;
}

void plim__source_release(plim__source *source) {
    if (!source || atomic_fetch_sub(&source->references, 1) > 1) return;
    if (source->fd >= 0) close(source->fd);
    plim__free(source->path);
    plim__free(source);
}

static plim_status make(plim_dtype dtype, const plim__shape *shape, plim__tensor **tensor, plim_error *error) {
    *tensor = NULL;
    size_t bytes;
    PLIM_TRY(plim__shape_bytes(shape, dtype, &bytes, error));
    plim__tensor *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a tensor", sizeof *made);
    atomic_init(&made->references, 1);
    made->dtype = dtype;
    made->shape = *shape;
    made->bytes = bytes;
    *tensor = made;
    return PLIM_OK;
}

plim_status plim__tensor_create(plim_dtype dtype, const plim__shape *shape, plim__tensor **tensor, plim_error *error) {
    PLIM_TRY(make(dtype, shape, tensor, error));
    (*tensor)->data = plim__alloc((*tensor)->bytes);
    if ((*tensor)->data) return PLIM_OK;
    char text[PLIM_SHAPE_TEXT];
    plim_status status = plim__fail(error, PLIM_NO_MEMORY, "out of memory: cannot allocate %zu bytes for a tensor %s%s",
                                    (*tensor)->bytes, plim_dtype_name(dtype), plim__shape_text(shape, NULL, text));
    plim__tensor_release(*tensor);
    *tensor = NULL;
    return status;
}

plim_status plim__tensor_take(plim_dtype dtype, const plim__shape *shape, void *data, plim__tensor **tensor,
                              plim_error *error) {
    plim_status status = make(dtype, shape, tensor, error);
    if (status == PLIM_OK)
        (*tensor)->data = data;
    else
        plim__free(data);
    return status;
}

plim_status plim__tensor_in_file(plim_dtype dtype, const plim__shape *shape, plim__source *source, uint64_t offset,
                                 plim__tensor **tensor, plim_error *error) {
    PLIM_TRY(make(dtype, shape, tensor, error));
    (*tensor)->source = plim__source_retain(source);
    (*tensor)->offset = offset;
    return PLIM_OK;
}

plim_status plim__tensor_scaled(plim__tensor *base, const double *factors, plim__tensor **tensor, plim_error *error) {
    size_t bytes = (size_t)base->shape.dims[0] * sizeof *factors;
    PLIM_TRY(make(base->dtype, &base->shape, tensor, error));
    (*tensor)->factors = plim__alloc(bytes);
    if (!(*tensor)->factors) {
        plim__tensor_release(*tensor);
        *tensor = NULL;
        return plim__fail_memory(error, "the factors of a weight", bytes);
    }
    memcpy((*tensor)->factors, factors, bytes);
    (*tensor)->base = plim__tensor_retain(base);
    return PLIM_OK;
}

plim_status plim__tensor_transposed(plim__tensor *base, plim__tensor **tensor, plim_error *error) {
    *tensor = NULL;
    if (base->shape.rank != 2 || plim_dtype_bits(base->dtype) % 8)
        return plim__fail(error, PLIM_INTERNAL, "only matrices of whole bytes are transposed");
    plim__shape shape = {.rank = 2, .dims = {base->shape.dims[1], base->shape.dims[0]}};
    PLIM_TRY(make(base->dtype, &shape, tensor, error));
    (*tensor)->base = plim__tensor_retain(base);
    return PLIM_OK;
}

plim_status plim__tensor_reshaped(plim__tensor *base, const plim__shape *shape, plim__tensor **tensor,
                                  plim_error *error) {
    if (!base->data && base->source)
        return plim__tensor_in_file(base->dtype, shape, base->source, base->offset, tensor, error);
    PLIM_TRY(plim__tensor_create(base->dtype, shape, tensor, error));
    plim_status status = (*tensor)->bytes == base->bytes
                             ? plim__tensor_read(base, (*tensor)->data, error)
                             : plim__fail(error, PLIM_INTERNAL, "a reshaped tensor has as many elements");
    if (status == PLIM_OK) return PLIM_OK;
    plim__tensor_release(*tensor);
    *tensor = NULL;
    return status;
}

plim_status plim__tensor_cast(plim__tensor *base, plim_dtype dtype, plim__tensor **tensor, plim_error *error) {
    *tensor = NULL;
    if (!plim__scalar_known(base->dtype) || !plim__scalar_known(dtype))
        return plim__fail(error, PLIM_INTERNAL, "%s does not become %s", plim_dtype_name(base->dtype),
                          plim_dtype_name(dtype));
    PLIM_TRY(make(dtype, &base->shape, tensor, error));
    (*tensor)->base = plim__tensor_retain(base);
    return PLIM_OK;
}

plim_status plim__tensor_made_from(plim__tensor *base, plim_dtype dtype, const plim__shape *shape,
                                   plim__packed_form packing, plim__tensor **tensor, plim_error *error) {
    PLIM_TRY(make(dtype, shape, tensor, error));
    (*tensor)->base = plim__tensor_retain(base);
    (*tensor)->packing = packing;
    return PLIM_OK;
}

bool plim__tensor_same(const plim__tensor *a, const plim__tensor *b) {
    if (a == b || !a || !b) return a == b;
    return a->base && b->base && !a->factors && !b->factors && a->packing == b->packing && a->dtype == b->dtype &&
           plim__shape_equal(&a->shape, &b->shape) && plim__tensor_same(a->base, b->base);
}

plim__tensor *plim__tensor_retain(plim__tensor *tensor) {
    if (tensor) atomic_fetch_add(&tensor->references, 1);
    return tensor;
}

void plim__tensor_release(plim__tensor *tensor) {
    if (!tensor || atomic_fetch_sub(&tensor->references, 1) > 1) return;
    plim__free(tensor->data);
    plim__source_release(tensor->source);
    plim__tensor_release(tensor->base);
    plim__free(tensor->factors);
    plim__free(tensor);
}

/* base[r][0..width) to into[0..width)[r]; rows come through a buffer, since the matrix may be large. */
static plim_status read_transposed(const plim__tensor *tensor, unsigned char *into, plim_error *error) {
    const plim__tensor *base = tensor->base;
    size_t rows = (size_t)base->shape.dims[0], width = (size_t)base->shape.dims[1];
    size_t size = (size_t)plim_dtype_bits(base->dtype) / 8, bytes = width * size;
    bool streamed = !base->data && base->source;
    unsigned char *buffer = base->data ? base->data : plim__alloc(streamed ? bytes : base->bytes);
    if (!buffer) return plim__fail_memory(error, "a row of a weight", bytes);
    plim_status status = base->data || streamed ? PLIM_OK : plim__tensor_read(base, buffer, error);
    for (size_t r = 0; r < rows && status == PLIM_OK; r++) {
        const unsigned char *row = streamed ? buffer : buffer + r * bytes;
        if (streamed)
            status = plim__file_read_at(base->source->fd, buffer, bytes, base->offset + r * bytes, base->source->path,
                                        error);
        for (size_t c = 0; c < width && status == PLIM_OK; c++)
            memcpy(into + (c * rows + r) * size, row + c * size, size);
    }
    if (buffer != base->data) plim__free(buffer);
    return status;
}

/* 16 bits to float32 without a second buffer: read into the end of the room, widened from its beginning. */
static plim_status read_widened(const plim__tensor *tensor, char *into, plim_error *error) {
    const plim__tensor *base = tensor->base;
    char *narrow = into + (tensor->bytes - base->bytes);
    PLIM_TRY(plim__tensor_read(base, narrow, error));
    int64_t count = plim__shape_elements(&tensor->shape);
    for (int64_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, narrow + 2 * i, sizeof half);
        float value = base->dtype == PLIM_F16 ? plim__half_to_float(half) : plim__bfloat_to_float(half);
        memcpy(into + 4 * i, &value, sizeof value);
    }
    return PLIM_OK;
}

static plim_status read_cast(const plim__tensor *tensor, void *into, plim_error *error) {
    const plim__tensor *base = tensor->base;
    if (tensor->dtype == PLIM_F32 && (base->dtype == PLIM_F16 || base->dtype == PLIM_BF16))
        return read_widened(tensor, into, error);
    void *buffer = base->data ? base->data : plim__alloc(base->bytes);
    if (!buffer) return plim__fail_memory(error, "a weight in another type", base->bytes);
    plim_status status = base->data ? PLIM_OK : plim__tensor_read(base, buffer, error);
    int64_t count = plim__shape_elements(&tensor->shape);
    for (int64_t i = 0; status == PLIM_OK && i < count; i++)
        plim__scalar_set(tensor->dtype, into, i, plim__scalar_get(base->dtype, buffer, i));
    if (buffer != base->data) plim__free(buffer);
    return status;
}

plim_status plim__tensor_read(const plim__tensor *tensor, void *into, plim_error *error) {
    if (tensor->data) {
        if (tensor->bytes) memcpy(into, tensor->data, tensor->bytes);
        return PLIM_OK;
    }
    if (tensor->packing) return plim__packed_read(tensor, into, error);
    if (tensor->base && tensor->base->dtype != tensor->dtype) return read_cast(tensor, into, error);
    if (tensor->base && !tensor->factors) return read_transposed(tensor, into, error);
    if (tensor->base) {
        PLIM_TRY(plim__tensor_read(tensor->base, into, error));
        int64_t rows = tensor->shape.dims[0], width = rows ? plim__shape_elements(&tensor->shape) / rows : 0;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = r * width; i < (r + 1) * width; i++)
                ((float *)into)[i] = (float)(((float *)into)[i] * tensor->factors[r]);
        return PLIM_OK;
    }
    if (!tensor->source) return plim__fail(error, PLIM_INTERNAL, "a tensor has neither data nor a file");
    return plim__file_read_at(tensor->source->fd, into, tensor->bytes, tensor->offset, tensor->source->path, error);
}

plim_status plim__tensor_load(plim__tensor *tensor, plim_error *error) {
    if (tensor->data) return PLIM_OK;
    void *data = plim__alloc(tensor->bytes);
    if (!data) return plim__fail_memory(error, "a constant", tensor->bytes);
    plim_status status = plim__tensor_read(tensor, data, error);
    if (status != PLIM_OK) {
        plim__free(data);
        return status;
    }
    tensor->data = data;
    return PLIM_OK;
}

double plim__tensor_at(const plim__tensor *tensor, int64_t i) {
    return plim__scalar_get(tensor->dtype, tensor->data, i);
}

plim_status plim__tensor_ints(plim__tensor *tensor, int64_t *values, size_t most, size_t *count, plim_error *error) {
    int64_t elements = plim__shape_elements(&tensor->shape);
    if (elements < 0 || (size_t)elements > most)
        return plim__fail(error, PLIM_SHAPE, "expected at most %zu integers, found %lld", most, (long long)elements);
    PLIM_TRY(plim__tensor_load(tensor, error));
    for (int64_t i = 0; i < elements; i++) /* int64 exactly; a double would round large ones */
        values[i] =
            tensor->dtype == PLIM_I64 ? ((const int64_t *)tensor->data)[i] : (int64_t)plim__tensor_at(tensor, i);
    *count = (size_t)elements;
    return PLIM_OK;
}
