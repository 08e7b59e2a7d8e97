/* PyTorch's caching allocator. A request is rounded, served from the cached blocks of its stream by best fit, else from a
 * new segment; at the limit cached segments go back to the device and the request is tried again. Small requests (up to
 * 1 MiB) and large ones never share a segment.
 *
 *   small pool   segments of 2 MiB                      any rest of 512 bytes is split off
 *   large pool   20 MiB below 10 MiB, else the request  a rest of more than 1 MiB is split off
 *                in whole 2 MiB
 *
 * cudaMallocAsync is modelled as one pool whose range grows in pages of 32 MiB. */
#include "alloc/pool.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum { LEAST = 512 };
static const uint64_t small_most = MIB, small_segment = 2 * MIB, large_least = 10 * MIB, large_step = 2 * MIB,
                      large_default = 20 * MIB, rounding_default = 20 * MIB;

typedef struct wanted {
    uint64_t bytes; /* rounded */
    int64_t stream;
    uint8_t which;
} wanted;

/* --- sizes ---------------------------------------------------------------------------------------------------- */

static int log2_floor(uint64_t value) { return 63 - __builtin_clzll(value | 1); }

static uint64_t divisions_for(const plim_pool *pool, uint64_t bytes) {
    int first = log2_floor(MIB), at = log2_floor(bytes) - first;
    if (at < 0) at = 0;
    if (at >= PLIM_POOL_DIVISIONS) at = PLIM_POOL_DIVISIONS - 1;
    return pool->options.roundup_power2_divisions[at];
}

static uint64_t round_up(const plim_pool *pool, uint64_t bytes) {
    if (bytes < LEAST) return LEAST;
    uint64_t divisions = divisions_for(pool, bytes);
    if (divisions > 1 && bytes > LEAST * divisions) {
        uint64_t power = (uint64_t)1 << log2_floor(bytes), step = power >> log2_floor(divisions);
        if (power == bytes) return bytes;
        return step ? (bytes + step - 1) / step * step : power * 2;
    }
    return (bytes + LEAST - 1) / LEAST * LEAST;
}

static uint64_t segment_size(const plim_pool *pool, const wanted *w) {
    uint64_t large = pool->options.large_segment_size ? pool->options.large_segment_size : large_default;
    if (w->which == PLIM__SMALL) return small_segment;
    if (w->bytes < large_least && w->bytes < large) return large;
    return (w->bytes + large_step - 1) / large_step * large_step;
}

static uint64_t split_limit(const plim_pool *pool) {
    return pool->options.max_split_size ? pool->options.max_split_size : UINT64_MAX;
}

static bool is_async(const plim_pool *pool) { return pool->options.kind == PLIM_POOL_CUDA_ASYNC; }

static bool is_expandable(const plim_pool *pool) { return pool->options.expandable_segments || is_async(pool); }

static bool splits(const plim_pool *pool, const plim__block *block, uint64_t bytes) {
    uint64_t rest = block->bytes - bytes;
    if (block->pool == PLIM__SMALL || is_expandable(pool)) return rest >= LEAST;
    return bytes < split_limit(pool) && rest > small_most;
}

/* The bytes that the pool may take from the device. */
static uint64_t allowed(const plim_pool *pool) {
    double fraction = pool->options.memory_fraction;
    if (!(fraction > 0) || !pool->options.capacity) return UINT64_MAX;
    return (uint64_t)(fraction * (double)pool->options.capacity);
}

/* --- cached blocks -------------------------------------------------------------------------------------------- */

/* For best fit, the last block of a growing segment is as large as it can become. */
static uint64_t grown_size(plim_pool *pool, uint32_t index) {
    const plim__block *block = plim__pool_at(pool, index);
    if (!block->next || !plim__pool_at(pool, block->next)->unmapped) return block->bytes;
    return block->bytes + plim__pool_at(pool, block->next)->bytes;
}

static uint32_t find_cached(plim_pool *pool, const wanted *w) {
    plim__block_set *set = &pool->free[w->which];
    pool->searches[w->which]++;
    size_t at = plim__block_set_find(set, &pool->blocks, w->stream, w->bytes, 0);
    if (at >= set->order.count || plim__pool_at(pool, set->order.items[at])->stream != w->stream) return 0;
    while (is_expandable(pool) && at + 1 < set->order.count &&
           plim__pool_at(pool, set->order.items[at + 1])->stream == w->stream &&
           grown_size(pool, set->order.items[at + 1]) < grown_size(pool, set->order.items[at]))
        at++;
    uint32_t index = set->order.items[at];
    uint64_t bytes = plim__pool_at(pool, index)->bytes, most = split_limit(pool);
    uint64_t slack = pool->options.max_non_split_rounding ? pool->options.max_non_split_rounding : rounding_default;
    if (w->bytes < most && bytes >= most) return 0;              /* oversized blocks are for oversized requests */
    if (w->bytes >= most && bytes >= w->bytes + slack) return 0; /* ... that nearly fill them */
    plim__pool_remove(pool, index);
    return index;
}

static uint32_t open_segment(plim_pool *pool, const wanted *w) {
    uint64_t bytes = segment_size(pool, w);
    if (pool->stats.reserved > allowed(pool) || bytes > allowed(pool) - pool->stats.reserved) return 0;
    if (is_expandable(pool)) return plim__expand_take(pool, w->bytes, w->stream, w->which);
    return plim__pool_open(pool, bytes, w->stream, w->which);
}

/* --- giving back ---------------------------------------------------------------------------------------------- */

static uint64_t age_of(plim_pool *pool, uint32_t index) {
    return pool->searches[PLIM__LARGE] - plim__pool_at(pool, index)->since;
}

/* Large cached segments of at least the average age go, until enough is reclaimed or nothing does. */
static void collect_garbage(plim_pool *pool) {
    double threshold = pool->options.garbage_collection_threshold;
    uint64_t most = allowed(pool);
    if (!(threshold > 0) || most == UINT64_MAX) return;
    uint64_t start = (uint64_t)(threshold * (double)most), total_age = 0, count = 0, reclaimed = 0;
    if (pool->stats.reserved <= start) return;
    uint64_t target = pool->stats.reserved - start;
    plim__block_set *set = &pool->free[PLIM__LARGE];
    for (size_t i = 0; i < set->order.count; i++)
        if (plim__pool_is_whole(pool, set->order.items[i])) total_age += age_of(pool, set->order.items[i]), count++;
    bool freed = true;
    while (reclaimed < target && freed && count) {
        double average = (double)total_age / (double)count;
        freed = false;
        for (size_t i = 0; i < set->order.count;) {
            uint32_t index = set->order.items[i];
            uint64_t age = age_of(pool, index);
            bool goes =
                plim__pool_is_whole(pool, index) && !plim__pool_at(pool, index)->expandable && (double)age >= average;
            if (!goes) {
                i++;
                continue;
            }
            freed = true;
            reclaimed += plim__pool_at(pool, index)->bytes;
            total_age -= age;
            count--;
            plim__pool_close(pool, index);
        }
    }
}

/* With max_split_size: just enough oversized cached blocks go. */
static bool release_oversized(plim_pool *pool, const wanted *w) {
    uint64_t most = split_limit(pool), need = w->bytes < most ? most : w->bytes, released = 0;
    if (most == UINT64_MAX) return false;
    plim__block_set *set = &pool->free[w->which];
    size_t at = plim__block_set_find(set, &pool->blocks, w->stream, need, 0);
    if (at < set->order.count && plim__pool_at(pool, set->order.items[at])->stream == w->stream &&
        plim__pool_is_whole(pool, set->order.items[at])) {
        plim__pool_close(pool, set->order.items[at]);
        return true;
    }
    while (at > 0 && released < need) {
        uint32_t index = set->order.items[--at];
        const plim__block *block = plim__pool_at(pool, index);
        if (block->bytes < most || block->stream != w->stream) break;
        if (block->expandable || !plim__pool_is_whole(pool, index)) continue;
        released += block->bytes;
        plim__pool_close(pool, index);
    }
    return released >= need;
}

static void empty_set(plim_pool *pool, uint8_t which) {
    plim__block_set *set = &pool->free[which];
    for (size_t i = 0; i < set->order.count;) {
        uint32_t index = set->order.items[i];
        if (!plim__pool_at(pool, index)->expandable && plim__pool_is_whole(pool, index))
            plim__pool_close(pool, index);
        else
            i++;
    }
    plim__expand_release(pool, which);
}

static void empty(plim_pool *pool) {
    empty_set(pool, PLIM__LARGE);
    empty_set(pool, PLIM__SMALL);
}

static uint32_t retry(plim_pool *pool, const wanted *w) {
    if (!plim__pool_prepare(pool, 2 * pool->blocks.all.count + 8)) return 0;
    pool->stats.retries++;
    plim__pool_settle(pool);
    empty(pool);
    return open_segment(pool, w);
}

static uint32_t take(plim_pool *pool, uint64_t bytes, int64_t stream) {
    wanted w = {.bytes = round_up(pool, bytes), .stream = is_async(pool) ? 0 : stream};
    w.which = w.bytes <= small_most && !is_async(pool) ? PLIM__SMALL : PLIM__LARGE;
    uint32_t index = find_cached(pool, &w);
    if (!index) {
        collect_garbage(pool);
        index = open_segment(pool, &w);
    }
    if (!index && release_oversized(pool, &w)) index = open_segment(pool, &w);
    if (!index) index = retry(pool, &w);
    if (index && splits(pool, plim__pool_at(pool, index), w.bytes)) plim__pool_split(pool, index, w.bytes);
    return index;
}

const plim__pool_type plim__caching_type = {.take = take, .empty = empty};
