/* A set of search states that are known to lead nowhere; drops the cheap ones when it is full. */
#ifndef PLIM_PLAN_PACK_TABLE_H
#define PLIM_PLAN_PACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct plim__pack_table {
    uint64_t *slots; /* the upper 58 bits of a key, and the logarithm of what it cost to learn it */
    int bits;        /* there are two to this power buckets */
} plim__pack_table;

/* Of `bytes` at most; 0: 8 MiB. False when memory is short. */
bool plim__pack_table_init(plim__pack_table *table, size_t bytes);
void plim__pack_table_free(plim__pack_table *table);
bool plim__pack_table_has(const plim__pack_table *table, uint64_t key);
/* `cost`: nodes it took to find out; the dearest stay. */
void plim__pack_table_add(plim__pack_table *table, uint64_t key, int64_t cost);

/* A well-mixed 64-bit number for a pair; sums of these identify sets. */
static inline uint64_t plim__pack_mix(uint64_t a, uint64_t b) {
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0x632be59bd9b4e019));
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ (x >> 29)) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return x ^ (x >> 32);
}

#endif
