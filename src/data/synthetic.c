/* The synthetic source: seeded random samples of any shape, for measuring. Floats lie in [-1, 1), integers in
 * [0, classes). */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/random.h"
#include "data/source.h"

typedef struct synthetic {
    plim__data_source base;
    uint64_t seed;
} synthetic;

static void fill(const plim_data_field *field, uint64_t key, void *made) {
    size_t n = field->bytes / ((size_t)plim_dtype_bits(field->dtype) / 8);
    uint64_t classes = field->classes > 0 ? (uint64_t)field->classes : 2;
    if (field->dtype == PLIM_F32) {
        float *to = made;
        for (size_t i = 0; i < n; i++) to[i] = (float)(plim__random_mix(key + i) >> 40) * 0x1p-23f - 1;
    } else if (field->dtype == PLIM_I64) {
        int64_t *to = made;
        for (size_t i = 0; i < n; i++) to[i] = (int64_t)(plim__random_mix(key + i) % classes);
    } else if (field->dtype == PLIM_I32) {
        int32_t *to = made;
        for (size_t i = 0; i < n; i++) to[i] = (int32_t)(plim__random_mix(key + i) % classes & INT32_MAX);
    } else {
        uint8_t *to = made; /* bool */
        for (size_t i = 0; i < n; i++) to[i] = plim__random_mix(key + i) & 1;
    }
}

static plim_status read_sample(const plim__data_source *base, const plim__sample_key *key, plim__scratch *scratch,
                               void *const *fields, plim_error *error) {
    (void)scratch, (void)error;
    uint64_t seed = ((const synthetic *)base)->seed;
    for (int i = 0; i < base->field_count; i++)
        fill(&base->fields[i], plim__random_bits(seed, (uint64_t)i, (uint64_t)key->index), fields[i]);
    return PLIM_OK;
}

static void free_source(plim__data_source *source) { plim__free(source); }

static const plim__data_source_ops ops = {.kind = "synthetic", .read = read_sample, .free = free_source};

static plim_status add_field(synthetic *source, const plim_data_field *wanted, plim_error *error) {
    plim_data_field *field = &source->base.fields[source->base.field_count++];
    *field = *wanted;
    field->name[sizeof field->name - 1] = 0;
    if (wanted->dtype != PLIM_F32 && wanted->dtype != PLIM_I64 && wanted->dtype != PLIM_I32 &&
        wanted->dtype != PLIM_BOOL)
        return plim__fail(error, PLIM_DTYPE, "synthetic data has no %s values (field '%s')",
                          plim_dtype_name(wanted->dtype), field->name);
    return plim__field_shape(field, wanted->dtype, wanted->rank, wanted->dims, error);
}

plim_status plim__data_source_open_synthetic(const plim_data_options *options, plim__data_source **source,
                                             plim_error *error) {
    *source = NULL;
    if (options->field_count < 1 || options->field_count > PLIM_DATA_MAX_FIELDS || !options->fields)
        return plim__fail(error, PLIM_INVALID, "synthetic data needs 1 to %d fields to make", PLIM_DATA_MAX_FIELDS);
    if (options->samples < 0)
        return plim__fail(error, PLIM_INVALID, "%lld samples of synthetic data", (long long)options->samples);
    synthetic *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a data set", sizeof *made);
    made->base.ops = &ops;
    made->base.count = options->samples ? options->samples : 65536;
    made->seed = options->seed;
    plim_status status = PLIM_OK;
    for (int i = 0; i < options->field_count && status == PLIM_OK; i++)
        status = add_field(made, &options->fields[i], error);
    if (status == PLIM_OK)
        *source = &made->base;
    else
        free_source(&made->base);
    return status;
}
