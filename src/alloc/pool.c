#include "alloc/pool.h"

#include "core/arguments.h"

/* --- lists ---------------------------------------------------------------------------------------------------- */

bool plim__pool_prepare(plim_pool *pool, size_t more) {
    size_t need = pool->blocks.all.count + more + 1;
    bool fine = plim__vec_reserve(&pool->blocks.all, need) && plim__vec_reserve(&pool->waiting, need);
    for (int i = 0; i < PLIM__POOLS; i++)
        fine =
            fine && plim__vec_reserve(&pool->free[i].order, need) && plim__vec_reserve(&pool->unmapped[i].order, need);
    return fine;
}

static plim__block_set *set_of(plim_pool *pool, const plim__block *block) {
    return block->unmapped ? &pool->unmapped[block->pool] : &pool->free[block->pool];
}

void plim__pool_insert(plim_pool *pool, uint32_t index) {
    plim__block *block = plim__pool_at(pool, index);
    block->since = pool->searches[block->pool];
    (void)plim__block_set_insert(set_of(pool, block), &pool->blocks, index); /* room was made before */
}

void plim__pool_remove(plim_pool *pool, uint32_t index) {
    plim__block_set_remove(set_of(pool, plim__pool_at(pool, index)), &pool->blocks, index);
}

/* --- blocks --------------------------------------------------------------------------------------------------- */

void plim__pool_split(plim_pool *pool, uint32_t index, uint64_t bytes) {
    plim__block rest = *plim__pool_at(pool, index);
    rest.address += bytes;
    rest.bytes -= bytes;
    rest.requested = 0;
    rest.prev = index;
    uint32_t added = plim__block_add(&pool->blocks, rest);
    plim__block *block = plim__pool_at(pool, index);
    block->bytes = bytes;
    block->next = added;
    if (rest.next) plim__pool_at(pool, rest.next)->prev = added;
    plim__pool_insert(pool, added);
}

static bool joins(plim_pool *pool, const plim__block *block, uint32_t other) {
    if (!other) return false;
    const plim__block *neighbour = plim__pool_at(pool, other);
    return !neighbour->used && !neighbour->pending && neighbour->unmapped == block->unmapped;
}

uint32_t plim__pool_merge(plim_pool *pool, uint32_t index) {
    plim__block *block = plim__pool_at(pool, index);
    if (joins(pool, block, block->prev)) {
        uint32_t before = block->prev;
        plim__pool_remove(pool, before);
        plim__block *left = plim__pool_at(pool, before);
        left->bytes += block->bytes;
        left->next = block->next;
        if (left->next) plim__pool_at(pool, left->next)->prev = before;
        plim__block_drop(&pool->blocks, index);
        index = before;
        block = left;
    }
    if (joins(pool, block, block->next)) {
        uint32_t after = block->next;
        plim__pool_remove(pool, after);
        const plim__block *right = plim__pool_at(pool, after);
        block->bytes += right->bytes;
        block->next = right->next;
        if (block->next) plim__pool_at(pool, block->next)->prev = index;
        plim__block_drop(&pool->blocks, after);
    }
    return index;
}

/* --- segments ------------------------------------------------------------------------------------------------- */

void plim__pool_reserve_add(plim_pool *pool, int64_t bytes) {
    plim_pool_stats *stats = &pool->stats;
    stats->reserved = (uint64_t)((int64_t)stats->reserved + bytes);
    if (stats->reserved > stats->reserved_peak) stats->reserved_peak = stats->reserved;
    if (bytes > 0)
        stats->segments_taken++;
    else
        stats->segments_given++;
}

uint32_t plim__pool_open(plim_pool *pool, uint64_t bytes, int64_t stream, uint8_t which) {
    uint64_t address = plim__backing_take(&pool->device, bytes);
    if (!address) return 0;
    plim__pool_reserve_add(pool, (int64_t)bytes);
    pool->stats.segments++;
    return plim__block_add(&pool->blocks, (plim__block){.address = address,
                                                        .bytes = bytes,
                                                        .segment = address,
                                                        .stream = stream,
                                                        .pool = which,
                                                        .since = pool->searches[which]});
}

bool plim__pool_is_whole(const plim_pool *pool, uint32_t index) {
    const plim__block *block = &pool->blocks.all.items[index];
    return !block->prev && !block->next;
}

void plim__pool_close(plim_pool *pool, uint32_t index) {
    plim__pool_remove(pool, index);
    const plim__block *block = plim__pool_at(pool, index);
    plim__backing_give(&pool->device, block->address, block->bytes);
    plim__pool_reserve_add(pool, -(int64_t)block->bytes);
    pool->stats.segments--;
    plim__block_drop(&pool->blocks, index);
}

/* --- the public calls ----------------------------------------------------------------------------------------- */

plim_status plim_pool_create(const plim_pool_options *options, plim_pool **pool, plim_error *error) {
    plim_pool_options o;
    PLIM__NEED(pool, error);
    *pool = NULL;
    PLIM__OPTIONS(plim_pool_options, o, options, error);
    options = &o;
    if (options->kind < 0 || options->kind >= PLIM_POOL_KINDS)
        return plim__fail(error, PLIM_INVALID, "allocator %d does not exist", (int)options->kind);
    plim_pool *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a pool", sizeof *made);
    made->options = *options;
    bool bfc = options->kind == PLIM_POOL_TENSORFLOW || options->kind == PLIM_POOL_ONNXRUNTIME;
    made->type = bfc ? &plim__bfc_type : &plim__caching_type;
    plim__backing_init(&made->device, options->capacity, options->real);
    made->device.falling = options->falling_addresses;
    for (int i = 0; i < PLIM__POOLS; i++) made->unmapped[i].by_address = true;
    *pool = made;
    return PLIM_OK;
}

static void give_all(plim_pool *pool) {
    uint64_t range = plim__expand_page(pool, PLIM__LARGE) ? pool->device.capacity / 8 * 9 : 0;
    for (size_t i = 1; pool->device.real && i < pool->blocks.all.count; i++) {
        const plim__block *block = &pool->blocks.all.items[i];
        if (!block->bytes || block->prev) continue; /* the first block of each segment */
        uint64_t bytes = 0;
        for (uint32_t at = (uint32_t)i; at; at = plim__pool_at(pool, at)->next) bytes += plim__pool_at(pool, at)->bytes;
        if (block->expandable && range && bytes > range) bytes = range;
        plim__backing_unreserve(&pool->device, block->segment, bytes);
    }
}

void plim_pool_free(plim_pool *pool) {
    if (!pool) return;
    give_all(pool);
    plim__blocks_free(&pool->blocks);
    for (int i = 0; i < PLIM__POOLS; i++) {
        plim__block_set_free(&pool->free[i]);
        plim__block_set_free(&pool->unmapped[i]);
    }
    plim__address_free(&pool->live);
    plim__vec_free(&pool->waiting);
    plim__free(pool);
}

static void account(plim_pool *pool, const plim__block *block) {
    plim_pool_stats *stats = &pool->stats;
    stats->allocations++;
    stats->allocated += block->bytes;
    stats->requested += block->requested;
    if (stats->allocated > stats->allocated_peak) stats->allocated_peak = stats->allocated;
    if (stats->requested > stats->requested_peak) stats->requested_peak = stats->requested;
}

bool plim__pool_hold(plim_pool *pool, uint32_t index, uint64_t requested) {
    plim__block *block = plim__pool_at(pool, index);
    if (!plim__address_put(&pool->live, block->address, index)) return false;
    block->used = true;
    block->requested = requested;
    account(pool, block);
    return true;
}

plim_status plim_pool_alloc(plim_pool *pool, const plim_pool_request *request, uint64_t *address, plim_error *error) {
    if (!pool || !request || !address)
        return plim__fail(error, PLIM_INVALID, "a pool, a request and a place are needed");
    *address = 0;
    if (request->bytes == 0) return PLIM_OK;
    enum {
        MOST_NEW_BLOCKS = 8
    }; /* a request opens one segment and splits once; growing segments cut their pages off */
    if (request->bytes > (uint64_t)1 << 60) return plim__pool_refuse(pool, request, error);
    if (!plim__pool_prepare(pool, MOST_NEW_BLOCKS)) return plim__fail_memory(error, "a pool's lists", request->bytes);
    uint32_t index = pool->type->take(pool, request->bytes, request->stream);
    if (!index) return plim__pool_refuse(pool, request, error);
    if (!plim__pool_hold(pool, index, request->bytes)) {
        plim__pool_insert(pool, plim__pool_merge(pool, index));
        return plim__fail_memory(error, "a pool's lists", request->bytes);
    }
    *address = plim__pool_at(pool, index)->address;
    return PLIM_OK;
}

plim_status plim__pool_release_begin(plim_pool *pool, uint64_t address, plim_error *error) {
    uint32_t index;
    if (!plim__address_take(&pool->live, address, &index))
        return plim__fail(error, PLIM_NOT_FOUND, "0x%llx is not a live address of %s", (unsigned long long)address,
                          plim_pool_title(pool->options.kind));
    plim__block *block = plim__pool_at(pool, index);
    pool->stats.releases++;
    pool->stats.allocated -= block->bytes;
    pool->stats.requested -= block->requested;
    pool->stats.pending += block->bytes;
    block->used = false;
    block->pending = true;
    (void)plim__vec_push(&pool->waiting, index); /* room was made when it was taken */
    return PLIM_OK;
}

static void make_free(plim_pool *pool, uint32_t index) {
    plim__block *block = plim__pool_at(pool, index);
    pool->stats.pending -= block->bytes;
    block->pending = block->shared = false;
    block->requested = 0;
    plim__pool_insert(pool, plim__pool_merge(pool, index));
}

void plim__pool_release_end(plim_pool *pool, uint64_t address) {
    for (size_t i = pool->waiting.count; i-- > 0;) {
        uint32_t index = pool->waiting.items[i];
        if (plim__pool_at(pool, index)->address != address) continue;
        for (size_t k = i + 1; k < pool->waiting.count; k++) pool->waiting.items[k - 1] = pool->waiting.items[k];
        pool->waiting.count--;
        make_free(pool, index);
        return;
    }
}

void plim__pool_settle(plim_pool *pool) {
    for (size_t i = 0; i < pool->waiting.count; i++) make_free(pool, pool->waiting.items[i]);
    pool->waiting.count = 0;
}

plim_status plim_pool_release(plim_pool *pool, uint64_t address, plim_error *error) {
    if (!pool) return plim__fail(error, PLIM_INVALID, "no pool to release to");
    if (!address) return PLIM_OK;
    uint32_t index = 0;
    bool shared = plim__address_find(&pool->live, address, &index) && plim__pool_at(pool, index)->shared;
    PLIM_TRY(plim__pool_release_begin(pool, address, error));
    if (!shared) plim__pool_release_end(pool, address);
    return PLIM_OK;
}

plim_status plim_pool_use(plim_pool *pool, uint64_t address, int64_t stream, plim_error *error) {
    uint32_t index;
    PLIM__NEED(pool, error);
    if (!plim__address_find(&pool->live, address, &index))
        return plim__fail(error, PLIM_NOT_FOUND, "0x%llx is not a live address of the pool",
                          (unsigned long long)address);
    if (plim__pool_at(pool, index)->stream != stream) plim__pool_at(pool, index)->shared = true;
    return PLIM_OK;
}

plim_status plim_pool_synchronize(plim_pool *pool, plim_error *error) {
    if (!pool) return plim__fail(error, PLIM_INVALID, "no pool to synchronize");
    plim__pool_settle(pool);
    return PLIM_OK;
}

plim_status plim_pool_empty(plim_pool *pool, plim_error *error) {
    if (!pool) return plim__fail(error, PLIM_INVALID, "no pool to empty");
    if (!plim__pool_prepare(pool, 2 * pool->blocks.all.count + 4))
        return plim__fail_memory(error, "a pool's lists", pool->blocks.all.count);
    plim__pool_settle(pool);
    pool->type->empty(pool);
    return PLIM_OK;
}
