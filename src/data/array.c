/* Rows of arrays as samples: read, byte order put right, converted, normalised.
 *
 *   stored              delivered
 *   uint8               float32, 0..1 (0..255 with options.raw); int64 as a target
 *   float16/32/64       float32
 *   bool, other ints    int64; float32 as a target with options.float_target
 */
#include "data/array.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/half.h"
#include "core/str.h"
#include "data/normal.h"

typedef struct column {
    int blob;
    plim_dtype dtype;
    bool swapped;
    uint64_t offset, row_stride;
    size_t stored_bytes; /* of one row */
    int64_t elements;    /* of one row */
    bool scale;          /* by 1/255 */
} column;

struct plim__array_source {
    plim__data_source base;
    int blob_count;
    plim__blob blobs[PLIM_DATA_MAX_FIELDS];
    column columns[PLIM_DATA_MAX_FIELDS];
    plim__normal normal;
    bool raw, float_target;
    char **class_names;
    size_t class_count;
};

/* --- reading -------------------------------------------------------------------------------------------------- */

static void swap_bytes(unsigned char *data, size_t bytes, size_t item) {
    for (size_t i = 0; i + item <= bytes; i += item)
        for (size_t low = 0, high = item - 1; low < high; low++, high--) {
            unsigned char keep = data[i + low];
            data[i + low] = data[i + high];
            data[i + high] = keep;
        }
}

/* NOLINTBEGIN(bugprone-macro-parentheses): types cannot stand in parentheses */
#define CONVERT(stored_type, made_type, expression)                                                                    \
    do {                                                                                                               \
        const stored_type *from = stored;                                                                              \
        made_type *to = made;                                                                                          \
        for (int64_t i = 0; i < n; i++) to[i] = (made_type)(expression);                                               \
    } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

static void to_floats(plim_dtype dtype, const void *stored, int64_t n, bool scale, void *made) {
    switch (dtype) {
    case PLIM_U8:
        if (scale)
            CONVERT(uint8_t, float, (float)from[i] / 255.0f);
        else
            CONVERT(uint8_t, float, from[i]);
        break;
    case PLIM_BOOL: CONVERT(uint8_t, float, from[i] != 0); break;
    case PLIM_I8: CONVERT(int8_t, float, from[i]); break;
    case PLIM_U16: CONVERT(uint16_t, float, from[i]); break;
    case PLIM_I16: CONVERT(int16_t, float, from[i]); break;
    case PLIM_U32: CONVERT(uint32_t, float, from[i]); break;
    case PLIM_I32: CONVERT(int32_t, float, from[i]); break;
    case PLIM_U64: CONVERT(uint64_t, float, from[i]); break;
    case PLIM_I64: CONVERT(int64_t, float, from[i]); break;
    case PLIM_F16: CONVERT(uint16_t, float, plim__half_to_float(from[i])); break;
    case PLIM_F64: CONVERT(double, float, from[i]); break;
    default: CONVERT(float, float, from[i]); break;
    }
}

static void to_integers(plim_dtype dtype, const void *stored, int64_t n, void *made) {
    switch (dtype) {
    case PLIM_BOOL: CONVERT(uint8_t, int64_t, from[i] != 0); break;
    case PLIM_U8: CONVERT(uint8_t, int64_t, from[i]); break;
    case PLIM_I8: CONVERT(int8_t, int64_t, from[i]); break;
    case PLIM_U16: CONVERT(uint16_t, int64_t, from[i]); break;
    case PLIM_I16: CONVERT(int16_t, int64_t, from[i]); break;
    case PLIM_U32: CONVERT(uint32_t, int64_t, from[i]); break;
    case PLIM_I32: CONVERT(int32_t, int64_t, from[i]); break;
    case PLIM_F64: CONVERT(double, int64_t, from[i]); break;
    default: CONVERT(int64_t, int64_t, from[i]); break;
    }
}

static plim_status read_column(const plim__array_source *source, int number, int64_t row, plim__scratch *scratch,
                               void *made, plim_error *error) {
    const column *c = &source->columns[number];
    const plim_data_field *field = &source->base.fields[number];
    void *stored = plim__scratch_get(scratch, 0, c->stored_bytes);
    if (!stored) return plim__fail_memory(error, field->name, c->stored_bytes);
    uint64_t at = c->offset + (uint64_t)row * c->row_stride;
    PLIM_TRY(plim__blob_read(&source->blobs[c->blob], at, stored, c->stored_bytes, error));
    if (c->swapped) swap_bytes(stored, c->stored_bytes, (size_t)plim_dtype_bits(c->dtype) / 8);
    if (field->dtype == PLIM_I64) {
        to_integers(c->dtype, stored, c->elements, made);
        return PLIM_OK;
    }
    to_floats(c->dtype, stored, c->elements, c->scale, made);
    if (!field->target) plim__normal_apply(&source->normal, field, made);
    return PLIM_OK;
}

static plim_status read_sample(const plim__data_source *base, const plim__sample_key *key, plim__scratch *scratch,
                               void *const *fields, plim_error *error) {
    const plim__array_source *source = (const plim__array_source *)base;
    for (int i = 0; i < base->field_count; i++) PLIM_TRY(read_column(source, i, key->index, scratch, fields[i], error));
    return PLIM_OK;
}

/* --- making --------------------------------------------------------------------------------------------------- */

static void free_source(plim__data_source *base) {
    plim__array_source *source = (plim__array_source *)base;
    for (int i = 0; i < source->blob_count; i++) plim__blob_close(&source->blobs[i]);
    for (size_t i = 0; i < source->class_count; i++) plim__free(source->class_names[i]);
    plim__free(source->class_names);
    plim__free(source);
}

static const char *class_name(const plim__data_source *base, int64_t index) {
    const plim__array_source *source = (const plim__array_source *)base;
    return index >= 0 && (uint64_t)index < source->class_count ? source->class_names[index] : NULL;
}

static const plim__data_source_ops kinds[] = {
    {"idx", read_sample, class_name, free_source},    {"npy", read_sample, class_name, free_source},
    {"npz", read_sample, class_name, free_source},    {"csv", read_sample, class_name, free_source},
    {"arrays", read_sample, class_name, free_source},
};

plim_status plim__array_source_create(const char *kind, int64_t count, const plim_data_options *options,
                                      plim__array_source **source, plim_error *error) {
    *source = plim__alloc_zero(1, sizeof **source);
    if (!*source) return plim__fail_memory(error, "a data set", sizeof **source);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0) (*source)->base.ops = &kinds[i];
    (*source)->base.count = count;
    (*source)->raw = options->raw;
    (*source)->float_target = options->float_target;
    return plim__normal_set(&(*source)->normal, options, error);
}

plim_status plim__array_source_add_blob(plim__array_source *source, plim__blob *blob, int *number, plim_error *error) {
    if (source->blob_count == PLIM_DATA_MAX_FIELDS) {
        plim__blob_close(blob);
        return plim__fail(error, PLIM_UNSUPPORTED, "more than %d arrays in a data set", PLIM_DATA_MAX_FIELDS);
    }
    *number = source->blob_count++;
    source->blobs[*number] = *blob;
    source->base.held_bytes += plim__blob_held(blob);
    return PLIM_OK;
}

static plim_dtype delivered_dtype(const plim__array_column *from) {
    if (from->index) return PLIM_I64;
    switch (from->dtype) {
    case PLIM_U8: return from->target ? PLIM_I64 : PLIM_F32;
    case PLIM_F16:
    case PLIM_F32:
    case PLIM_F64: return PLIM_F32;
    case PLIM_BOOL:
    case PLIM_I8:
    case PLIM_U16:
    case PLIM_I16:
    case PLIM_U32:
    case PLIM_I32:
    case PLIM_U64:
    case PLIM_I64: return PLIM_I64;
    default: return PLIM_DTYPE_NONE;
    }
}

/* The last row must lie inside of the blob, so that a truncated file is known before the first batch. */
static plim_status check_rows(const plim__array_source *source, const column *c, const char *name, plim_error *error) {
    const plim__blob *blob = &source->blobs[c->blob];
    uint64_t end;
    bool fits =
        source->base.count == 0 || (!__builtin_mul_overflow((uint64_t)source->base.count - 1, c->row_stride, &end) &&
                                    !__builtin_add_overflow(end, c->offset, &end) &&
                                    !__builtin_add_overflow(end, c->stored_bytes, &end) && end <= blob->bytes);
    if (fits) return PLIM_OK;
    return plim__fail(error, PLIM_CORRUPT,
                      "'%s' ends too early: array '%s' of %lld samples with %zu bytes each does "
                      "not fit in its %llu bytes",
                      blob->path, name, (long long)source->base.count, c->stored_bytes,
                      (unsigned long long)blob->bytes);
}

plim_status plim__array_source_add_column(plim__array_source *source, const plim__array_column *wanted,
                                          plim_error *error) {
    int number = source->base.field_count;
    if (number == PLIM_DATA_MAX_FIELDS)
        return plim__fail(error, PLIM_UNSUPPORTED, "more than %d arrays in a data set", PLIM_DATA_MAX_FIELDS);
    plim_data_field *field = &source->base.fields[number];
    column *c = &source->columns[number];
    plim_dtype made = delivered_dtype(wanted);
    if (made == PLIM_DTYPE_NONE)
        return plim__fail(error, PLIM_DTYPE, "array '%s' of '%s' holds %s values, which cannot be trained on",
                          wanted->name, source->blobs[wanted->blob].path, plim_dtype_name(wanted->dtype));
    if (made == PLIM_I64 && wanted->target && source->float_target) made = PLIM_F32;
    snprintf(field->name, sizeof field->name, "%s", wanted->name);
    field->target = wanted->target;
    field->classes = wanted->classes;
    PLIM_TRY(plim__field_shape(field, made, wanted->rank, wanted->dims, error));
    c->blob = wanted->blob;
    c->dtype = wanted->dtype;
    c->swapped = wanted->swapped;
    c->offset = wanted->offset;
    c->elements = (int64_t)(field->bytes / ((size_t)plim_dtype_bits(made) / 8));
    c->stored_bytes = (size_t)c->elements * ((size_t)plim_dtype_bits(c->dtype) / 8);
    c->row_stride = wanted->row_stride ? wanted->row_stride : c->stored_bytes;
    c->scale = wanted->dtype == PLIM_U8 && !source->raw && !wanted->target;
    PLIM_TRY(check_rows(source, c, field->name, error));
    if (made == PLIM_F32 && !field->target) PLIM_TRY(plim__normal_check(&source->normal, field, error));
    source->base.field_count++;
    if (c->stored_bytes > source->base.scratch.parts[0]) source->base.scratch.parts[0] = c->stored_bytes;
    return PLIM_OK;
}

void plim__array_source_set_classes(plim__array_source *source, char **names, size_t count) {
    source->class_names = names;
    source->class_count = count;
}

plim__data_source *plim__array_source_base(plim__array_source *source) { return &source->base; }
