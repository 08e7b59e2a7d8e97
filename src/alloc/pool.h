/* What all allocators share: blocks, sets of free ones, segments, and the account of every byte. An allocator is a row of
 * functions over it. */
#ifndef PLIM_ALLOC_POOL_H
#define PLIM_ALLOC_POOL_H

#include "alloc/backing.h"
#include "alloc/block.h"
#include "core/address_map.h"
#include "plimsoll/alloc.h"

typedef struct plim__pool_type {
    /* A block of at least `bytes`, taken out of its set, not yet in use; 0 when there is no room. */
    uint32_t (*take)(plim_pool *pool, uint64_t bytes, int64_t stream);
    /* Gives wholly free segments back to the device. */
    void (*empty)(plim_pool *pool);
} plim__pool_type;

struct plim_pool {
    const plim__pool_type *type;
    plim_pool_options options;
    plim__backing device;
    plim__blocks blocks;
    plim__block_set free[PLIM__POOLS], unmapped[PLIM__POOLS];
    plim__address_map live;     /* blocks in use, by address */
    PLIM_VEC(uint32_t) waiting; /* released blocks that other streams use */
    uint64_t searches[PLIM__POOLS];
    uint64_t region; /* BFC: the size of the next region */
    uint64_t first;  /* BFC: the address of the first region */
    plim_pool_stats stats;
};

extern const plim__pool_type plim__caching_type, plim__bfc_type;

/* Makes room in every list for `more` blocks, so that what follows cannot run out of memory. */
bool plim__pool_prepare(plim_pool *pool, size_t more);
static inline plim__block *plim__pool_at(plim_pool *pool, uint32_t index) { return &pool->blocks.all.items[index]; }

/* Cuts a block that is in no set: it keeps the first bytes, the rest becomes free. */
void plim__pool_split(plim_pool *pool, uint32_t index, uint64_t bytes);
/* Joins a block that is in no set with free neighbours of its kind (both mapped or both not); the block that is left. */
uint32_t plim__pool_merge(plim_pool *pool, uint32_t index);
void plim__pool_insert(plim_pool *pool, uint32_t index); /* into the set where it belongs */
void plim__pool_remove(plim_pool *pool, uint32_t index);
/* A new segment as one block that is in no set; 0 when the device refuses. */
uint32_t plim__pool_open(plim_pool *pool, uint64_t bytes, int64_t stream, uint8_t which);
/* A free block that is a whole segment goes back to the device. */
void plim__pool_close(plim_pool *pool, uint32_t index);
bool plim__pool_is_whole(const plim_pool *pool, uint32_t index); /* the only block of its segment */
void plim__pool_reserve_add(plim_pool *pool, int64_t bytes);     /* accounts for memory of the device */
void plim__pool_settle(plim_pool *pool);                         /* what other streams used becomes free */

/* A block that is in no set is in use from now on; false when memory is short. */
bool plim__pool_hold(plim_pool *pool, uint32_t index, uint64_t requested);

/* The two halves of a release, for traces that tell when each happens. */
plim_status plim__pool_release_begin(plim_pool *pool, uint64_t address, plim_error *error);
void plim__pool_release_end(plim_pool *pool, uint64_t address);

/* Segments that grow page by page (expand.c). */
uint32_t plim__expand_take(plim_pool *pool, uint64_t bytes, int64_t stream, uint8_t which);
void plim__expand_release(plim_pool *pool, uint8_t which);
uint64_t plim__expand_page(const plim_pool *pool, uint8_t which);

/* What cannot be had, in one line (refuse.c). */
plim_status plim__pool_refuse(plim_pool *pool, const plim_pool_request *request, plim_error *error);

#endif
