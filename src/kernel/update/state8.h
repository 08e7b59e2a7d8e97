/* Optimizer state in 8 bits: block-wise dynamic quantization, with the maps, blocks and rounding of bitsandbytes.
 *
 *   code[256]  numbers from -1 to 1 (signed, for m) or from 0 to 1 (unsigned, for v), dense around 0: seven decades, each
 *              with half the steps of the next larger one
 *   x = code[q] · scale of its block, the largest magnitude; q is the nearest one */
#ifndef PLIM_KERNEL_UPDATE_STATE8_H
#define PLIM_KERNEL_UPDATE_STATE8_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/update.h"

typedef struct plim__state8_map {
    float code[256];      /* rising */
    float bounds[256];    /* bounds[i]: from here on i + 1 is nearer; the last one is infinite */
    uint8_t first[65536]; /* by the upper half of a float: the code of the least number that begins so, or one less */
} plim__state8_map;

/* The two maps. */
const plim__state8_map *plim__state8_signed(void);
const plim__state8_map *plim__state8_unsigned(void);

/* One block of at most PLIM__STATE8_BLOCK numbers to codes, and back. Returns the scale; NaN when one is NaN. A number
 * above 0 does not become 0 where `positive`: a divisor does not vanish. */
float plim__state8_pack(const plim__state8_map *map, int64_t n, const float *x, bool positive, uint8_t *codes);
void plim__state8_unpack(const plim__state8_map *map, int64_t n, const uint8_t *codes, float scale, float *x);

#endif
