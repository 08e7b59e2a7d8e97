/* Normalising float inputs. */
#include "data/normal.h"

#include <math.h>

#include "core/error.h"

plim_status plim__normal_set(plim__normal *normal, const plim_data_options *options, plim_error *error) {
    if (options->normal_count < 0 || options->normal_count > PLIM__NORMAL_MOST ||
        (options->normal_count > 0 && (!options->mean || !options->deviation)))
        return plim__fail(error, PLIM_INVALID, "normalising takes 1 to %d means and as many deviations",
                          PLIM__NORMAL_MOST);
    for (int i = 0; i < options->normal_count; i++) {
        float mean = options->mean[i], deviation = options->deviation[i];
        if (!isfinite(mean) || !isfinite(deviation) || deviation <= 0)
            return plim__fail(error, PLIM_INVALID, "cannot normalise with mean %g and deviation %g", (double)mean,
                              (double)deviation);
        normal->mean[i] = mean;
        normal->factor[i] = 1 / deviation;
    }
    normal->count = options->normal_count;
    return PLIM_OK;
}

plim_status plim__normal_check(const plim__normal *normal, const plim_data_field *field, plim_error *error) {
    int64_t channels = field->rank > 0 ? field->dims[0] : 1;
    if (normal->count <= 1 || normal->count == channels) return PLIM_OK;
    return plim__fail(error, PLIM_SHAPE, "%d means and deviations for '%s', which has %lld channels", normal->count,
                      field->name, (long long)channels);
}

void plim__normal_apply(const plim__normal *normal, const plim_data_field *field, float *values) {
    if (normal->count == 0) return;
    size_t each = field->bytes / sizeof *values / (size_t)normal->count;
    for (int channel = 0; channel < normal->count; channel++) {
        float mean = normal->mean[channel], factor = normal->factor[channel];
        for (size_t i = 0; i < each; i++, values++) *values = (*values - mean) * factor;
    }
}
