/* The inner loop of dropout on float32, by instruction set.
 *
 * Element n is dropped when the number drawn for it, 32 bits, is below the threshold. One draw of 64 bits serves two
 * elements, 8 apart, so that vectors need no shuffling:
 *
 *     block of 16 elements:   0 .. 7: low halves of draws 0 .. 7     8 .. 15: high halves of the same draws */
#ifndef PLIM_KERNEL_SIMD_DROPOUT_H
#define PLIM_KERNEL_SIMD_DROPOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/random.h"
#include "kernel/simd/simd.h"

#define PLIM__DROPOUT_BLOCK 16

typedef struct plim__dropout_draw {
    uint64_t key;
    uint32_t threshold;
    float scale;
} plim__dropout_draw;

static inline bool plim__dropout_keeps(uint64_t key, int64_t n, uint32_t threshold) {
    uint64_t bits = plim__random_mix(key ^ (uint64_t)(n / PLIM__DROPOUT_BLOCK * 8 + n % 8));
    return (uint32_t)(n % PLIM__DROPOUT_BLOCK < 8 ? bits : bits >> 32) >= threshold;
}

typedef struct plim__simd_dropout {
    /* `count` blocks, the first of which has the number `first`: y = kept ? x · scale : 0; y may be x. */
    void (*blocks)(float *y, const float *x, int64_t first, int64_t count, const plim__dropout_draw *draw);
} plim__simd_dropout;

PLIM__SIMD_TABLE(plim__simd_dropout, plim__simd_dropout_table)

#endif
