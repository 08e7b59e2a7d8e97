/* Segments that grow: one long range of addresses per stream and pool, with memory behind whole pages of it.
 *
 *   range   ├───────────────────────────────────────────────────────────┤  9/8 of the device
 *   pages   │ mapped │ mapped │            │ mapped │                    │
 *   blocks  │ used │ free     │ unmapped   │ used   │ unmapped           │
 */
#include "alloc/pool.h"

#define MIB ((uint64_t)1 << 20)

static const uint64_t range_default = (uint64_t)1 << 43; /* a device without a limit */

uint64_t plim__expand_page(const plim_pool *pool, uint8_t which) {
    if (pool->options.kind == PLIM_POOL_CUDA_ASYNC) return 32 * MIB;
    if (!pool->options.expandable_segments) return 0;
    if (which == PLIM__SMALL) return 2 * MIB;
    return pool->options.large_segment_size ? pool->options.large_segment_size : 20 * MIB;
}

/* Of a pool that has pages: never 0, so that it divides. */
static uint64_t page_of(const plim_pool *pool, uint8_t which) {
    uint64_t page = plim__expand_page(pool, which);
    return page ? page : 1;
}

static bool is_idle(plim_pool *pool, uint32_t index) {
    return index && !plim__pool_at(pool, index)->used && !plim__pool_at(pool, index)->pending;
}

static bool has_addresses(plim_pool *pool, uint32_t index, uint64_t bytes) {
    uint64_t found = 0;
    while (found < bytes && is_idle(pool, index)) {
        found += plim__pool_at(pool, index)->bytes;
        index = plim__pool_at(pool, index)->next;
    }
    return found >= bytes;
}

static uint32_t new_range(plim_pool *pool, uint64_t bytes, int64_t stream, uint8_t which) {
    uint64_t page = page_of(pool, which);
    uint64_t length = pool->device.capacity ? pool->device.capacity / 8 * 9 : range_default;
    if (length < bytes) length = bytes;
    length = (length + page - 1) / page * page;
    uint64_t address = plim__backing_reserve(&pool->device, length);
    if (!address) return 0;
    uint32_t index = plim__block_add(&pool->blocks, (plim__block){.address = address,
                                                                  .bytes = length,
                                                                  .segment = address,
                                                                  .stream = stream,
                                                                  .pool = which,
                                                                  .expandable = true,
                                                                  .unmapped = true});
    pool->stats.segments++;
    plim__pool_insert(pool, index);
    return index;
}

/* Where a run of addresses of this length is not in use: an unmapped block, or the free one before it. */
static uint32_t find_range(plim_pool *pool, uint64_t bytes, int64_t stream, uint8_t which) {
    plim__block_set *set = &pool->unmapped[which];
    size_t at = plim__block_set_find(set, &pool->blocks, stream, 0, 0);
    for (; at < set->order.count && plim__pool_at(pool, set->order.items[at])->stream == stream; at++) {
        uint32_t index = set->order.items[at], before = plim__pool_at(pool, index)->prev;
        if (is_idle(pool, before)) index = before;
        if (has_addresses(pool, index, bytes)) return index;
    }
    return new_range(pool, bytes, stream, which);
}

/* Puts memory behind the first bytes of an unmapped block, in whole pages, and joins it with free neighbours; the block
 * is in its set afterwards. 0 when the device refuses. */
static uint32_t map_front(plim_pool *pool, uint32_t index, uint64_t bytes) {
    plim__block *block = plim__pool_at(pool, index);
    uint64_t page = page_of(pool, block->pool), mapped = (bytes + page - 1) / page * page;
    if (mapped > block->bytes) mapped = block->bytes;
    if (!plim__backing_map(&pool->device, block->address, mapped)) return 0;
    plim__pool_remove(pool, index);
    if (mapped < block->bytes) plim__pool_split(pool, index, mapped);
    block = plim__pool_at(pool, index);
    block->unmapped = false;
    plim__pool_reserve_add(pool, (int64_t)mapped);
    index = plim__pool_merge(pool, index);
    plim__pool_insert(pool, index);
    return index;
}

uint32_t plim__expand_take(plim_pool *pool, uint64_t bytes, int64_t stream, uint8_t which) {
    uint32_t index = find_range(pool, bytes, stream, which);
    if (!index) return 0;
    if (plim__pool_at(pool, index)->unmapped) {
        uint64_t most = plim__pool_at(pool, index)->bytes;
        index = map_front(pool, index, bytes < most ? bytes : most);
        if (!index) return 0;
    }
    while (plim__pool_at(pool, index)->bytes < bytes) {
        uint32_t next = plim__pool_at(pool, index)->next;
        uint64_t rest = bytes - plim__pool_at(pool, index)->bytes, most = plim__pool_at(pool, next)->bytes;
        /* each turn maps pages, and each may cut one block in two */
        if (!plim__pool_prepare(pool, 4)) return 0;
        index = map_front(pool, next, rest < most ? rest : most);
        if (!index) return 0;
    }
    plim__pool_remove(pool, index);
    return index;
}

/* Takes the memory from behind the whole pages of a free block. */
static void unmap(plim_pool *pool, uint32_t index) {
    plim__block *block = plim__pool_at(pool, index);
    uint64_t page = page_of(pool, block->pool), offset = block->address - block->segment;
    uint64_t from = (offset + page - 1) / page * page, to = (offset + block->bytes) / page * page;
    if (from >= to) return;
    plim__pool_remove(pool, index);
    if (offset + block->bytes > to) plim__pool_split(pool, index, to - offset);
    if (from > offset) {
        plim__pool_split(pool, index, from - offset);
        uint32_t rest = plim__pool_at(pool, index)->next;
        plim__pool_insert(pool, index);
        plim__pool_remove(pool, rest);
        index = rest;
    }
    block = plim__pool_at(pool, index);
    plim__backing_unmap(&pool->device, block->address, block->bytes);
    plim__pool_reserve_add(pool, -(int64_t)block->bytes);
    block->unmapped = true;
    index = plim__pool_merge(pool, index);
    plim__pool_insert(pool, index);
    if (!plim__pool_is_whole(pool, index)) return;
    plim__pool_remove(pool, index);
    plim__backing_unreserve(&pool->device, plim__pool_at(pool, index)->address, plim__pool_at(pool, index)->bytes);
    pool->stats.segments--;
    plim__block_drop(&pool->blocks, index);
}

void plim__expand_release(plim_pool *pool, uint8_t which) {
    plim__block_set *set = &pool->free[which];
    size_t count = set->order.count;
    uint32_t *listed = plim__alloc_array(count ? count : 1, sizeof *listed);
    if (!listed) return; /* nothing is released: the caller sees that it did not help */
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (plim__pool_at(pool, set->order.items[i])->expandable) listed[kept++] = set->order.items[i];
    for (size_t i = 0; i < kept; i++) unmap(pool, listed[i]);
    plim__free(listed);
}
