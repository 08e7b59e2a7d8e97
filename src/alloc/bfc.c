/* Best fit with coalescing, as TensorFlow and onnxruntime do it. Chunks are whole multiples of 256 bytes; the smallest free
 * chunk that is large enough is taken (their bins of powers of two only make that search fast, so one ordered set gives
 * the same answer). A chunk is split where it is at least twice the request, or where too many bytes would stay unused.
 *
 *   regions   2 MiB │ 4 MiB │ 8 MiB │ ...      each at most what is left of the limit */
#include "alloc/pool.h"

#define MIB ((uint64_t)1 << 20)

enum { LEAST = 256, LEAST_TRY = 8192 };
static const double shrink = 0.9f; /* their constant is a float */

static bool is_tensorflow(const plim_pool *pool) { return pool->options.kind == PLIM_POOL_TENSORFLOW; }

static uint64_t round_up(uint64_t bytes) { return (bytes + LEAST - 1) / LEAST * LEAST; }

static uint64_t limit_of(const plim_pool *pool) {
    if (pool->options.limit) return pool->options.limit;
    return pool->options.capacity ? pool->options.capacity : (uint64_t)1 << 60;
}

static uint64_t first_region(const plim_pool *pool) {
    uint64_t limit = limit_of(pool), start = pool->options.initial_region;
    if (is_tensorflow(pool) && pool->options.whole) return round_up(limit);
    if (!start) start = is_tensorflow(pool) ? 2 * MIB : MIB;
    return round_up(start < limit ? start : limit);
}

static uint64_t largest_region(const plim_pool *pool) {
    if (is_tensorflow(pool)) return (uint64_t)1 << 61;
    return pool->options.largest_region ? pool->options.largest_region : 1024 * MIB;
}

/* The size of the next region is raised until the request fits; false: it did already. */
static bool raise_region(plim_pool *pool, uint64_t bytes) {
    if (!pool->region) pool->region = first_region(pool);
    bool raised = false;
    for (; bytes > pool->region && pool->region < (uint64_t)1 << 61; raised = true) pool->region *= 2;
    return raised;
}

static void double_region(plim_pool *pool) {
    uint64_t most = largest_region(pool);
    pool->region = pool->region < most / 2 ? pool->region * 2 : most;
}

static uint32_t open_region(plim_pool *pool, uint64_t size, int64_t stream) {
    uint32_t index = plim__pool_open(pool, size, stream, PLIM__LARGE);
    if (index && !pool->first) pool->first = plim__pool_at(pool, index)->address;
    return index;
}

/* TensorFlow doubles the size for the next region once it has one, onnxruntime before it asks. */
static bool extend(plim_pool *pool, uint64_t bytes, int64_t stream) {
    uint64_t limit = limit_of(pool), held = pool->stats.reserved;
    uint64_t available = held < limit ? (limit - held) / LEAST * LEAST : 0;
    if (bytes > available) return false;
    uint64_t size = bytes;
    bool doubles = false;
    if (!pool->options.same_as_requested) {
        doubles = !raise_region(pool, bytes);
        size = pool->region < available ? pool->region : available;
        if (doubles && !is_tensorflow(pool)) double_region(pool);
    }
    uint32_t index = open_region(pool, size, stream);
    while (!index) {
        uint64_t less = round_up((uint64_t)((double)size * shrink));
        size = less < size ? less : size - LEAST;
        if (size < bytes || (!is_tensorflow(pool) && size < LEAST_TRY)) return false;
        index = open_region(pool, size, stream);
    }
    if (doubles && is_tensorflow(pool)) double_region(pool);
    plim__pool_insert(pool, index);
    return true;
}

static uint32_t find_chunk(plim_pool *pool, uint64_t bytes, int64_t stream) {
    plim__block_set *set = &pool->free[PLIM__LARGE];
    size_t at = plim__block_set_find(set, &pool->blocks, stream, bytes, 0);
    if (at >= set->order.count) return 0;
    uint32_t index = set->order.items[at];
    plim__pool_remove(pool, index);
    uint64_t size = plim__pool_at(pool, index)->bytes;
    uint64_t waste = pool->options.fragmentation ? pool->options.fragmentation : 128 * MIB;
    if (size >= 2 * bytes || size - bytes >= waste) plim__pool_split(pool, index, bytes);
    return index;
}

/* onnxruntime's shrink leaves the first region alone unless regions are as large as requests. */
static void empty(plim_pool *pool) {
    bool keep_first = !is_tensorflow(pool) && !pool->options.same_as_requested;
    plim__block_set *set = &pool->free[PLIM__LARGE];
    for (size_t i = 0; i < set->order.count;) {
        uint32_t index = set->order.items[i];
        bool first = plim__pool_at(pool, index)->segment == pool->first;
        if (plim__pool_is_whole(pool, index) && !(keep_first && first))
            plim__pool_close(pool, index);
        else
            i++;
    }
}

static uint64_t whole_bytes(const plim_pool *pool) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < pool->free[PLIM__LARGE].order.count; i++) {
        uint32_t index = pool->free[PLIM__LARGE].order.items[i];
        if (plim__pool_is_whole(pool, index)) bytes += pool->blocks.all.items[index].bytes;
    }
    return bytes;
}

static bool collect_garbage(plim_pool *pool, uint64_t bytes) {
    if (!is_tensorflow(pool) || pool->options.no_garbage_collection) return false;
    uint64_t whole = whole_bytes(pool);
    if (!whole || bytes > limit_of(pool) - pool->stats.reserved + whole) return false;
    pool->stats.retries++;
    empty(pool);
    return true;
}

static uint32_t take(plim_pool *pool, uint64_t bytes, int64_t stream) {
    (void)stream; /* one set for all streams */
    uint64_t size = round_up(bytes);
    uint32_t index = find_chunk(pool, size, 0);
    if (!index && extend(pool, size, 0)) index = find_chunk(pool, size, 0);
    if (!index && collect_garbage(pool, size) && extend(pool, size, 0)) index = find_chunk(pool, size, 0);
    return index;
}

const plim__pool_type plim__bfc_type = {.take = take, .empty = empty};
