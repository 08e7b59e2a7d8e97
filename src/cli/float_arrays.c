#include "cli/float_arrays.h"

#include "core/alloc.h"
#include "core/half.h"

static bool is_float(plim_dtype type) {
    return type == PLIM_F32 || type == PLIM_F64 || type == PLIM_F16 || type == PLIM_BF16;
}

bool plim__floats_fit(plim_dtype from, plim_dtype to) { return is_float(from) && is_float(to); }

static double read_at(const plim_array *array, size_t i) {
    switch (array->dtype) {
    case PLIM_F64: return ((const double *)array->data)[i];
    case PLIM_F16: return (double)plim__half_to_float(((const uint16_t *)array->data)[i]);
    case PLIM_BF16: return (double)plim__bfloat_to_float(((const uint16_t *)array->data)[i]);
    default: return (double)((const float *)array->data)[i];
    }
}

static void write_at(plim_array *array, size_t i, double x) {
    switch (array->dtype) {
    case PLIM_F64: ((double *)array->data)[i] = x; break;
    case PLIM_F16: ((uint16_t *)array->data)[i] = plim__float_to_half((float)x); break;
    case PLIM_BF16: ((uint16_t *)array->data)[i] = plim__float_to_bfloat((float)x); break;
    default: ((float *)array->data)[i] = (float)x;
    }
}

bool plim__floats_convert(const plim_array *from, plim_dtype to, plim_array *made) {
    int64_t elements = 1;
    for (int i = 0; i < from->rank; i++) elements *= from->dims[i];
    *made = *from;
    made->dtype = to;
    if (!plim_dtype_bytes(to, elements, &made->bytes)) return false;
    made->data = plim__alloc(made->bytes ? made->bytes : 1);
    if (!made->data) return false;
    for (size_t i = 0; i < (size_t)elements; i++) write_at(made, i, read_at(from, i));
    return true;
}
