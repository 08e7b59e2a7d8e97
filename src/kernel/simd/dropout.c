/* Dropout on float32. */
#include "kernel/simd/dropout.h"

#include "core/half.h"

/* x · scale, or 0 when it is dropped: by its bits, so that what is not a number can be dropped too. */
static inline float kept(float x, float scale, uint32_t drawn, uint32_t threshold) {
    return plim__bits_to_float(plim__float_to_bits(x * scale) & (drawn >= threshold ? 0xffffffffu : 0));
}

static void blocks(float *y, const float *x, int64_t first, int64_t count, const plim__dropout_draw *draw) {
    uint64_t key = draw->key;
    uint32_t threshold = draw->threshold;
    float scale = draw->scale;
    for (int64_t b = 0; b < count; b++) {
        const float *from = x + b * PLIM__DROPOUT_BLOCK;
        float *to = y + b * PLIM__DROPOUT_BLOCK;
        uint32_t drawn[PLIM__DROPOUT_BLOCK];
#pragma omp simd
        for (int i = 0; i < 8; i++) {
            uint64_t bits = plim__random_mix(key ^ (uint64_t)((first + b) * 8 + i));
            drawn[i] = (uint32_t)bits;
            drawn[i + 8] = (uint32_t)(bits >> 32);
        }
#pragma omp simd
        for (int i = 0; i < PLIM__DROPOUT_BLOCK; i++) to[i] = kept(from[i], scale, drawn[i], threshold);
    }
}

const plim__simd_dropout PLIM__ISA(plim__simd_dropout_table) = {.blocks = blocks};
