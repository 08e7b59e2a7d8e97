/* Single elements of any numeric type as double: for the paths where clarity matters more than speed. */
#ifndef PLIM_CORE_SCALAR_H
#define PLIM_CORE_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/half.h"
#include "plimsoll/dtype.h"

static inline bool plim__scalar_known(plim_dtype dtype) {
    switch (dtype) {
    case PLIM_F32:
    case PLIM_F64:
    case PLIM_F16:
    case PLIM_BF16:
    case PLIM_I64:
    case PLIM_U64:
    case PLIM_I32:
    case PLIM_U32:
    case PLIM_I16:
    case PLIM_U16:
    case PLIM_I8:
    case PLIM_U8:
    case PLIM_BOOL: return true;
    default: return false;
    }
}

static inline double plim__scalar_get(plim_dtype dtype, const void *data, int64_t i) {
    switch (dtype) {
    case PLIM_F32: return (double)((const float *)data)[i];
    case PLIM_F64: return ((const double *)data)[i];
    case PLIM_F16: return (double)plim__half_to_float(((const uint16_t *)data)[i]);
    case PLIM_BF16: return (double)plim__bfloat_to_float(((const uint16_t *)data)[i]);
    case PLIM_I64: return (double)((const int64_t *)data)[i];
    case PLIM_U64: return (double)((const uint64_t *)data)[i];
    case PLIM_I32: return ((const int32_t *)data)[i];
    case PLIM_U32: return ((const uint32_t *)data)[i];
    case PLIM_I16: return ((const int16_t *)data)[i];
    case PLIM_U16: return ((const uint16_t *)data)[i];
    case PLIM_I8: return ((const int8_t *)data)[i];
    case PLIM_U8: return ((const uint8_t *)data)[i];
    case PLIM_BOOL: return ((const uint8_t *)data)[i] != 0;
    default: return 0;
    }
}

/* A whole number that fits: truncated, and held inside the type's range. */
static inline int64_t plim__scalar_whole(double value, int64_t low, int64_t high) {
    if (!(value > (double)low)) return value <= (double)low ? low : 0; /* NaN is 0 */
    return value >= (double)high ? high : (int64_t)value;
}

static inline void plim__scalar_set(plim_dtype dtype, void *data, int64_t i, double value) {
    switch (dtype) {
    case PLIM_F32: ((float *)data)[i] = (float)value; break;
    case PLIM_F64: ((double *)data)[i] = value; break;
    case PLIM_F16: ((uint16_t *)data)[i] = plim__float_to_half((float)value); break;
    case PLIM_BF16: ((uint16_t *)data)[i] = plim__float_to_bfloat((float)value); break;
    case PLIM_I64: ((int64_t *)data)[i] = plim__scalar_whole(value, INT64_MIN, INT64_MAX); break;
    case PLIM_U64: ((uint64_t *)data)[i] = value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0; break;
    case PLIM_I32: ((int32_t *)data)[i] = (int32_t)plim__scalar_whole(value, INT32_MIN, INT32_MAX); break;
    case PLIM_U32: ((uint32_t *)data)[i] = (uint32_t)plim__scalar_whole(value, 0, UINT32_MAX); break;
    case PLIM_I16: ((int16_t *)data)[i] = (int16_t)plim__scalar_whole(value, INT16_MIN, INT16_MAX); break;
    case PLIM_U16: ((uint16_t *)data)[i] = (uint16_t)plim__scalar_whole(value, 0, UINT16_MAX); break;
    case PLIM_I8: ((int8_t *)data)[i] = (int8_t)plim__scalar_whole(value, INT8_MIN, INT8_MAX); break;
    case PLIM_U8: ((uint8_t *)data)[i] = (uint8_t)plim__scalar_whole(value, 0, UINT8_MAX); break;
    case PLIM_BOOL: ((uint8_t *)data)[i] = value != 0; break;
    default: break;
    }
}

#endif
