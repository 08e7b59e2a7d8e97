/* Random numbers from counters: the n-th number of a stream depends on (seed, stream, n) alone, so any
 * part can be drawn again, in any order, on any thread. */
#ifndef PLIM_CORE_RANDOM_H
#define PLIM_CORE_RANDOM_H

#include <math.h>
#include <stdint.h>

static inline uint64_t plim__random_mix(uint64_t x) { /* the finaliser of SplitMix64: a bijection that mixes well */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t plim__random_bits(uint64_t seed, uint64_t stream, uint64_t n) {
    return plim__random_mix(plim__random_mix(plim__random_mix(seed) ^ stream) ^ n);
}

/* In [0, 1), 24 bits. */
static inline float plim__random_uniform(uint64_t seed, uint64_t stream, uint64_t n) {
    return (float)(plim__random_bits(seed, stream, n) >> 40) * 0x1p-24f;
}

/* Mean 0, deviation 1 (Box and Muller). */
static inline float plim__random_normal(uint64_t seed, uint64_t stream, uint64_t n) {
    uint64_t bits = plim__random_bits(seed, stream, n);
    double u = ((double)(bits >> 32) + 0.5) * 0x1p-32, v = (double)(bits & 0xffffffffu) * 0x1p-32;
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

#endif
