/* Rows of arrays as samples: read, byte order put right, converted, normalised.
 *
 *   stored              delivered
 *   uint8               float32, 0..1 (0..255 with options.raw); int64 as a target
 *   float16/32/64       float32
 *   bool, other ints    int64; float32 as a target with options.float_target, as an input with options.float_inputs
 */
#include "data/array.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/half.h"
#include "core/str.h"
#include "data/augment.h"
#include "data/normal.h"

typedef struct column {
    int blob;
    plim_dtype dtype;
    bool swapped;
    uint64_t offset, row_stride;
    size_t stored_bytes; /* of one row */
    int64_t elements;    /* of one row */
    bool scale;          /* by 1/255 */
    int64_t channels;    /* stored as the last axis, delivered as the first; 0: as it is */
    bool changes;        /* images, which options.augment changes by chance */
} column;

enum { SCRATCH_STORED, SCRATCH_MOVED, SCRATCH_AUGMENT = 3 };

struct plim__array_source {
    plim__data_source base;
    int blob_count;
    plim__blob blobs[PLIM_DATA_MAX_FIELDS];
    column columns[PLIM_DATA_MAX_FIELDS];
    plim__normal normal;
    plim__augment augment;
    bool raw, float_target, float_inputs, channels_last, no_target;
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

/* (pixels, channels) to (channels, pixels) */
static void move_channels(const float *from, int64_t channels, int64_t pixels, float *to) {
    for (int64_t k = 0; k < channels; k++)
        for (int64_t i = 0; i < pixels; i++) *to++ = from[i * channels + k];
}

/* A sample of rank 2 is one plane. */
static plim__picture picture_of(const plim_data_field *field, float most, float *values) {
    const int64_t *size = field->dims + field->rank - 2;
    return (plim__picture){values, field->rank == 3 ? field->dims[0] : 1, size[0], size[1], most};
}

/* Normalises, with the random changes of images before and after it. */
static plim_status finish_floats(const plim__array_source *source, int number, const plim__sample_key *key,
                                 plim__scratch *scratch, float *made, plim_error *error) {
    const plim_data_field *field = &source->base.fields[number];
    if (!source->columns[number].changes) {
        plim__normal_apply(&source->normal, field, made);
        return PLIM_OK;
    }
    plim__picture picture = picture_of(field, source->raw ? 255 : 1, made);
    size_t bytes = plim__augment_scratch(&source->augment, picture.height, picture.width);
    void *room = plim__scratch_get(scratch, SCRATCH_AUGMENT, bytes ? bytes : 1);
    if (!room) return plim__fail_memory(error, field->name, bytes);
    if (plim__augment_flips(&source->augment, key)) plim__picture_flip(&picture, true, false);
    plim__augment_pixels(&source->augment, key, &picture, room);
    plim__normal_apply(&source->normal, field, made);
    plim__augment_erase(&source->augment, key, &picture);
    return PLIM_OK;
}

static plim_status read_column(const plim__array_source *source, int number, const plim__sample_key *key,
                               plim__scratch *scratch, void *made, plim_error *error) {
    const column *c = &source->columns[number];
    const plim_data_field *field = &source->base.fields[number];
    void *stored = plim__scratch_get(scratch, SCRATCH_STORED, c->stored_bytes);
    if (!stored) return plim__fail_memory(error, field->name, c->stored_bytes);
    uint64_t at = c->offset + (uint64_t)key->index * c->row_stride;
    PLIM_TRY(plim__blob_read(&source->blobs[c->blob], at, stored, c->stored_bytes, error));
    if (c->swapped) swap_bytes(stored, c->stored_bytes, (size_t)plim_dtype_bits(c->dtype) / 8);
    if (field->dtype == PLIM_I64) {
        to_integers(c->dtype, stored, c->elements, made);
        return PLIM_OK;
    }
    void *floats = c->channels ? plim__scratch_get(scratch, SCRATCH_MOVED, field->bytes) : made;
    if (!floats) return plim__fail_memory(error, field->name, field->bytes);
    to_floats(c->dtype, stored, c->elements, c->scale, floats);
    if (c->channels) move_channels(floats, c->channels, c->elements / c->channels, made);
    return field->target ? PLIM_OK : finish_floats(source, number, key, scratch, made, error);
}

static plim_status read_sample(const plim__data_source *base, const plim__sample_key *key, plim__scratch *scratch,
                               void *const *fields, plim_error *error) {
    const plim__array_source *source = (const plim__array_source *)base;
    for (int i = 0; i < base->field_count; i++) PLIM_TRY(read_column(source, i, key, scratch, fields[i], error));
    return PLIM_OK;
}

static plim_status read_target(const plim__data_source *base, int64_t index, plim__scratch *scratch, void *made,
                               plim_error *error) {
    const plim__sample_key key = {.index = index};
    int target = 0;
    while (target + 1 < base->field_count && !base->fields[target].target) target++;
    return read_column((const plim__array_source *)base, target, &key, scratch, made, error);
}

/* --- making --------------------------------------------------------------------------------------------------- */

static void free_source(plim__data_source *base) {
    plim__array_source *source = (plim__array_source *)base;
    for (int i = 0; i < source->blob_count; i++) plim__blob_close(&source->blobs[i]);
    plim__free(source);
}

#define KIND(name)                                                                                                     \
    { .kind = name, .read = read_sample, .read_target = read_target, .free = free_source }
static const plim__data_source_ops kinds[] = {KIND("idx"), KIND("npy"), KIND("npz"), KIND("arrays")};
#undef KIND

plim_status plim__array_source_create(const char *kind, int64_t count, const plim_data_options *options,
                                      plim__array_source **source, plim_error *error) {
    *source = plim__alloc_zero(1, sizeof **source);
    if (!*source) return plim__fail_memory(error, "a data set", sizeof **source);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0) (*source)->base.ops = &kinds[i];
    (*source)->base.count = count;
    (*source)->raw = options->raw;
    (*source)->float_target = options->float_target;
    (*source)->float_inputs = options->float_inputs;
    (*source)->channels_last = options->channels_last > 0;
    (*source)->no_target = options->no_target;
    PLIM_TRY(plim__augment_of(&(*source)->augment, options, error));
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

/* Arrays of floats with two or three dimensions a sample are images, where they are to be changed as images. */
static plim_status plan_changes(plim__array_source *source, column *c, const plim_data_field *field,
                                plim_error *error) {
    const plim__augment *a = &source->augment;
    if (field->dtype != PLIM_F32 || field->target || field->rank < 2 || field->rank > 3 ||
        !plim__augment_needs_pixels(a))
        return PLIM_OK;
    plim__picture picture = picture_of(field, 1, NULL);
    if (a->crop)
        return plim__fail(error, PLIM_INVALID,
                          "augmentation 'crop' is for folders of images; pad=4 moves images of arrays");
    if (a->color > 0 && (c->dtype != PLIM_U8 || (picture.channels != 1 && picture.channels != 3)))
        return plim__fail(error, PLIM_INVALID,
                          "augmentation 'color' is for bytes with 1 or 3 channels; array '%s' has %s with %lld%s",
                          field->name, plim_dtype_name(c->dtype), (long long)picture.channels,
                          source->channels_last ? "" : " (--layout nhwc is for channels last)");
    c->changes = source->base.augmented = true;
    size_t bytes = plim__augment_scratch(a, picture.height, picture.width);
    if (bytes > source->base.scratch.parts[SCRATCH_AUGMENT]) source->base.scratch.parts[SCRATCH_AUGMENT] = bytes;
    return PLIM_OK;
}

plim_status plim__array_source_add_column(plim__array_source *source, const plim__array_column *wanted,
                                          plim_error *error) {
    int number = source->base.field_count;
    if (wanted->target && source->no_target) return PLIM_OK;
    if (number == PLIM_DATA_MAX_FIELDS)
        return plim__fail(error, PLIM_UNSUPPORTED, "more than %d arrays in a data set", PLIM_DATA_MAX_FIELDS);
    plim_data_field *field = &source->base.fields[number];
    column *c = &source->columns[number];
    plim_dtype made = delivered_dtype(wanted);
    if (wanted->dtype == PLIM_DTYPE_NONE)
        return plim__fail(error, PLIM_DTYPE,
                          "array '%s' of '%s' holds texts or objects; only numbers can be trained on%s", wanted->name,
                          source->blobs[wanted->blob].path,
                          wanted->target ? " (np.unique(..., return_inverse=True)[1] has the numbers of classes)" : "");
    if (made == PLIM_DTYPE_NONE)
        return plim__fail(error, PLIM_DTYPE, "array '%s' of '%s' holds %s values, which cannot be trained on",
                          wanted->name, source->blobs[wanted->blob].path, plim_dtype_name(wanted->dtype));
    if (made == PLIM_I64 && (wanted->target ? source->float_target : source->float_inputs)) made = PLIM_F32;
    snprintf(field->name, sizeof field->name, "%s", wanted->name);
    field->target = wanted->target;
    field->classes = wanted->classes;
    int64_t dims[PLIM_DATA_MAX_RANK];
    bool moves = source->channels_last && made == PLIM_F32 && !wanted->target && wanted->rank >= 3 &&
                 wanted->rank <= PLIM_DATA_MAX_RANK;
    if (moves) {
        dims[0] = wanted->dims[wanted->rank - 1];
        memcpy(dims + 1, wanted->dims, (size_t)(wanted->rank - 1) * sizeof *dims);
    }
    PLIM_TRY(plim__field_shape(field, made, wanted->rank, moves ? dims : wanted->dims, error));
    c->channels = moves ? dims[0] : 0;
    source->base.channels_moved |= moves;
    if (moves && field->bytes > source->base.scratch.parts[SCRATCH_MOVED])
        source->base.scratch.parts[SCRATCH_MOVED] = field->bytes;
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
    PLIM_TRY(plan_changes(source, c, field, error));
    source->base.field_count++;
    if (c->stored_bytes > source->base.scratch.parts[SCRATCH_STORED])
        source->base.scratch.parts[SCRATCH_STORED] = c->stored_bytes;
    return PLIM_OK;
}

plim__data_source *plim__array_source_base(plim__array_source *source) { return &source->base; }
