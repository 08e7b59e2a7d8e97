/* A seeded shuffle without an index array: a bijection on [0, n) computed where it is needed, so that a data set of
 * billions of samples costs no memory and any position can be asked for. */
#ifndef PLIM_DATA_PERMUTE_H
#define PLIM_DATA_PERMUTE_H

#include <stdint.h>

#include "core/random.h"

/* A Feistel network over the smallest even number of bits that holds n - 1; values that fall outside of [0, n) are
 * sent through again until they fall inside (at most four times on average, as the domain is less than 4 n). */
static inline int64_t plim__permute(int64_t n, uint64_t key, int64_t index) {
    enum { ROUNDS = 6 };
    int half = 1;
    while (half < 31 && (uint64_t)n > (uint64_t)1 << 2 * half) half++;
    uint64_t mask = ((uint64_t)1 << half) - 1, value = (uint64_t)index;
    if (n < 2) return 0;
    do {
        uint64_t left = value >> half, right = value & mask;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            uint64_t mixed = left ^ (plim__random_mix(key ^ (right << 8 | round)) >> 20 & mask);
            left = right;
            right = mixed;
        }
        value = left << half | right;
    } while (value >= (uint64_t)n);
    return (int64_t)value;
}

#endif
