/* Dead search states in a fixed amount of memory: buckets of one cache line, the cheapest entry makes room. */
#include "plan/pack_table.h"

#include "core/alloc.h"

enum { slots_per_bucket = 8, default_bits = 17, least_bits = 4, most_bits = 40 };
static const uint64_t cost_mask = 63;

bool plim__pack_table_init(plim__pack_table *table, size_t bytes) {
    size_t bucket = slots_per_bucket * sizeof *table->slots;
    table->bits = bytes ? least_bits : default_bits;
    while (bytes && table->bits < most_bits && bucket << (table->bits + 1) <= bytes) table->bits++;
    table->slots = plim__alloc_zero((size_t)1 << table->bits, bucket);
    return table->slots != NULL;
}

void plim__pack_table_free(plim__pack_table *table) {
    plim__free(table->slots);
    table->slots = NULL;
}

/* The top bits choose the bucket, which leaves the rest to tell keys apart. */
static uint64_t *bucket_of(const plim__pack_table *table, uint64_t key) {
    return &table->slots[(key >> (64 - table->bits)) * slots_per_bucket];
}

bool plim__pack_table_has(const plim__pack_table *table, uint64_t key) {
    const uint64_t *bucket = bucket_of(table, key);
    for (int i = 0; i < slots_per_bucket; i++)
        if (bucket[i] && ((bucket[i] ^ key) & ~cost_mask) == 0) return true;
    return false;
}

void plim__pack_table_add(plim__pack_table *table, uint64_t key, int64_t cost) {
    uint64_t *bucket = bucket_of(table, key);
    uint64_t rank = 1; /* never 0: an entry is told from an empty slot even if its key is 0 */
    while (cost > 1 && rank < cost_mask) {
        cost >>= 1;
        rank++;
    }
    int cheapest = 0;
    for (int i = 1; i < slots_per_bucket; i++)
        if ((bucket[i] & cost_mask) < (bucket[cheapest] & cost_mask)) cheapest = i;
    bucket[cheapest] = (key & ~cost_mask) | rank;
}
