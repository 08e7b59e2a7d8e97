#include "fit/before.h"

#include <stdlib.h>

#include "core/error.h"

#define MIB ((uint64_t)1 << 20)

static const uint64_t small_segment = 2 * MIB; /* of the small pool; those of the large one are larger */

typedef struct held {
    uint64_t address, requested, bytes; /* bytes 0: not known */
} held;

typedef struct state {
    plim_pool *pool;
    PLIM_VEC(held) blocks; /* by address */
    size_t at;             /* the next one */
} state;

static int by_address(const void *a, const void *b) {
    const held *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static int segments_by_address(const void *a, const void *b) {
    const plim__segment_before *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* The large pool never leaves a rest of 1 MiB or less: it belongs to the block before it. */
static uint64_t block_bytes(const held *block, uint64_t room, bool small) {
    uint64_t least = (block->requested + 511) / 512 * 512;
    if (block->bytes || block->requested > (uint64_t)1 << 60) return block->bytes;
    if (!least) least = 512;
    return !small && least <= room && room - least <= MIB ? room : least;
}

/* Cuts one segment into what is held and what is free. False: a block does not fit between its neighbours. */
static bool fill_segment(state *s, uint32_t index, const plim__segment_before *segment, bool *memory) {
    uint64_t end = segment->address + segment->bytes;
    bool fine = true;
    while (fine && s->at < s->blocks.count && s->blocks.items[s->at].address < end) {
        const held *block = &s->blocks.items[s->at++];
        bool more = s->at < s->blocks.count && s->blocks.items[s->at].address < end;
        uint64_t from = plim__pool_at(s->pool, index)->address, room;
        if (!plim__pool_prepare(s->pool, 4)) return *memory = false;
        if (block->address < from) return false;
        if (block->address > from) { /* free before it */
            plim__pool_split(s->pool, index, block->address - from);
            plim__pool_insert(s->pool, index);
            index = plim__pool_at(s->pool, index)->next;
            plim__pool_remove(s->pool, index);
        }
        room = (more ? s->blocks.items[s->at].address : end) - block->address;
        uint64_t bytes = block_bytes(block, room, segment->bytes == small_segment);
        if (!bytes || bytes > room || bytes > plim__pool_at(s->pool, index)->bytes) return false;
        uint32_t rest = 0;
        if (bytes < plim__pool_at(s->pool, index)->bytes) {
            plim__pool_split(s->pool, index, bytes);
            rest = plim__pool_at(s->pool, index)->next;
            plim__pool_remove(s->pool, rest);
        }
        if (!plim__pool_hold(s->pool, index, block->requested)) return *memory = false;
        if (!rest) return !more;
        index = rest;
    }
    plim__pool_insert(s->pool, index);
    return true;
}

static plim_status fill(state *s, plim__segment_before *segments, size_t count, bool *whole, plim_error *error) {
    bool memory = true;
    if (s->blocks.count > 1) qsort(s->blocks.items, s->blocks.count, sizeof *s->blocks.items, by_address);
    if (count > 1) qsort(segments, count, sizeof *segments, segments_by_address);
    for (size_t i = 0; *whole && i < count; i++) {
        const plim__segment_before *segment = &segments[i];
        bool apart = !i || segments[i - 1].address + segments[i - 1].bytes <= segment->address;
        *whole = apart && segment->address && segment->bytes >= small_segment &&
                 !(s->at < s->blocks.count && s->blocks.items[s->at].address < segment->address);
        if (!*whole) break;
        if (!plim__pool_prepare(s->pool, 4)) return plim__fail_memory(error, "the start of a record", count);
        s->pool->device.wished = segment->address;
        uint32_t index = plim__pool_open(s->pool, segment->bytes, segment->stream,
                                         segment->bytes == small_segment ? PLIM__SMALL : PLIM__LARGE);
        *whole = index && fill_segment(s, index, segment, &memory);
        if (!memory) return plim__fail_memory(error, "the start of a record", count);
    }
    *whole = *whole && s->at == s->blocks.count;
    return PLIM_OK;
}

plim_status plim__before_restore(const plim__requests *requests, plim_pool *pool, bool *whole, plim_error *error) {
    state s = {.pool = pool};
    PLIM_VEC(plim__segment_before) segments = {0};
    bool fine = true;
    *whole = true;
    for (size_t i = 0; fine && i < requests->before; i++) {
        const plim__request *request = &requests->list.items[i];
        if (request->bytes)
            fine = plim__vec_push(&s.blocks, ((held){request->key, request->bytes, requests->sizes.items[i]}));
    }
    for (size_t i = 0; fine && i < requests->segments.count; i++)
        fine = plim__vec_push(&segments, requests->segments.items[i]);
    plim_status status = fine ? fill(&s, segments.items, segments.count, whole, error)
                              : plim__fail_memory(error, "the start of a record", requests->before);
    plim__vec_free(&s.blocks);
    plim__vec_free(&segments);
    return status;
}
