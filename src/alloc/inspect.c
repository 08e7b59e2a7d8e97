/* What a pool holds: statistics, pieces, and whether its lists agree with each other. */
#include <stdlib.h>

#include "alloc/pool.h"
#include "core/arguments.h"

const char *plim_pool_name(plim_pool_kind kind) {
    switch (kind) {
#define WORD(name, word, title)                                                                                        \
    case PLIM_POOL_##name: return word;
        PLIM_POOL_LIST(WORD)
#undef WORD
    case PLIM_POOL_KINDS: break;
    }
    return "";
}

const char *plim_pool_title(plim_pool_kind kind) {
    switch (kind) {
#define TITLE(name, word, title)                                                                                       \
    case PLIM_POOL_##name: return title;
        PLIM_POOL_LIST(TITLE)
#undef TITLE
    case PLIM_POOL_KINDS: break;
    }
    return "";
}

/* Walks a segment from its first block: whether any part is in use, and how much is not. */
static void add_segment(const plim_pool *pool, uint32_t first, plim_pool_stats *stats) {
    bool used = false;
    uint64_t unused = 0;
    for (uint32_t at = first; at; at = pool->blocks.all.items[at].next) {
        const plim__block *block = &pool->blocks.all.items[at];
        if (block->unmapped) continue;
        if (block->used || block->pending)
            used = true;
        else {
            unused += block->bytes;
            if (block->bytes > stats->largest_free) stats->largest_free = block->bytes;
        }
    }
    stats->unused += unused;
    if (used) stats->stuck += unused;
}

void plim_pool_get_stats(const plim_pool *pool, plim_pool_stats *stats) {
    if (!stats) return;
    *stats = (plim_pool_stats){0};
    if (!pool) return;
    *stats = pool->stats;
    for (size_t i = 1; i < pool->blocks.all.count; i++)
        if (pool->blocks.all.items[i].bytes && !pool->blocks.all.items[i].prev) add_segment(pool, (uint32_t)i, stats);
    if (stats->unused) stats->fragmentation = 1 - (double)stats->largest_free / (double)stats->unused;
}

uint64_t plim_pool_size(const plim_pool *pool, uint64_t address) {
    uint32_t index;
    return pool && plim__address_find(&pool->live, address, &index) ? pool->blocks.all.items[index].bytes : 0;
}

static int by_address(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

typedef struct head {
    uint64_t address;
    uint32_t index;
} head;

plim_status plim_pool_each(const plim_pool *pool, bool (*visit)(void *context, const plim_pool_piece *piece),
                           void *context, plim_error *error) {
    PLIM__NEED(pool, error);
    PLIM__NEED(visit, error);
    PLIM_VEC(head) heads = {0};
    bool fine = true, more = true;
    for (size_t i = 1; fine && i < pool->blocks.all.count; i++) {
        const plim__block *block = &pool->blocks.all.items[i];
        if (block->bytes && !block->prev) fine = plim__vec_push(&heads, (head){block->address, (uint32_t)i});
    }
    if (heads.count) qsort(heads.items, heads.count, sizeof *heads.items, by_address);
    for (size_t i = 0; fine && more && i < heads.count; i++) {
        for (uint32_t at = heads.items[i].index; more && at; at = pool->blocks.all.items[at].next) {
            const plim__block *block = &pool->blocks.all.items[at];
            plim_pool_piece piece = {.address = block->address,
                                     .bytes = block->bytes,
                                     .requested = block->requested,
                                     .segment = heads.items[i].address,
                                     .stream = block->stream,
                                     .used = block->used,
                                     .pending = block->pending,
                                     .mapped = !block->unmapped};
            more = visit(context, &piece);
        }
    }
    plim__vec_free(&heads);
    return fine ? PLIM_OK : plim__fail_memory(error, "a pool's pieces", pool->blocks.all.count * sizeof(head));
}

typedef struct sums {
    const plim_pool *pool;
    const plim_pool_piece *last;
    plim_pool_piece held;
    uint64_t used, reserved, pending;
    bool valid;
} sums;

static bool check_piece(void *context, const plim_pool_piece *piece) {
    sums *s = context;
    bool same = s->last && s->held.segment == piece->segment;
    bool joined = same && !s->held.used && !s->held.pending && !piece->used && !piece->pending;
    if (same && s->held.address + s->held.bytes != piece->address) s->valid = false;
    if (joined && s->held.mapped == piece->mapped) s->valid = false; /* free neighbours should be one */
    if (piece->used && piece->requested > piece->bytes) s->valid = false;
    if (piece->used) s->used += piece->bytes;
    if (piece->pending) s->pending += piece->bytes;
    if (piece->mapped) s->reserved += piece->bytes;
    s->held = *piece;
    s->last = &s->held;
    return s->valid;
}

bool plim_pool_is_valid(const plim_pool *pool) {
    if (!pool) return false;
    sums s = {.pool = pool, .valid = true};
    if (plim_pool_each(pool, check_piece, &s, NULL) != PLIM_OK) return true; /* nothing is known */
    return s.valid && s.used == pool->stats.allocated && s.pending == pool->stats.pending &&
           s.reserved == pool->stats.reserved && pool->device.held == pool->stats.reserved;
}
