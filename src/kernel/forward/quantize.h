/* Narrow numbers: rounding to integers that saturate, nibbles, 8-bit floats. */
#ifndef PLIM_KERNEL_FORWARD_QUANTIZE_H
#define PLIM_KERNEL_FORWARD_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "plimsoll/dtype.h"

/* Types that QuantizeLinear writes and DequantizeLinear reads. */
bool plim__narrow_known(plim_dtype dtype);
double plim__narrow_get(plim_dtype dtype, const void *data, int64_t i);
/* Rounds to the nearest (ties to even) and holds the value inside the type's range. `saturate` only matters
 * for 8-bit floats: without it, too large is infinity or NaN. */
void plim__narrow_set(plim_dtype dtype, void *data, int64_t i, double value, bool saturate);

/* acc · factor + zero, rounded, as int8 or uint8. */
void plim__requantize(plim_dtype dtype, void *data, int64_t i, int32_t acc, float factor, int32_t zero);

#endif
