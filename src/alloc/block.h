/* Blocks: pieces of segments, each linked to its neighbours, and ordered sets of those that are free.
 *
 *   segment  ├──────────────────────────────────────────┤
 *   blocks   │ used │ free │ used        │ free          │      prev and next stay inside the segment
 */
#ifndef PLIM_ALLOC_BLOCK_H
#define PLIM_ALLOC_BLOCK_H

#include "core/vec.h"

#include <stdint.h>

enum { PLIM__SMALL, PLIM__LARGE, PLIM__POOLS };

typedef struct plim__block {
    uint64_t address, bytes, requested;
    uint64_t segment; /* the segment's address */
    uint64_t since;   /* how often its pool had been searched when it became free */
    int64_t stream;
    uint32_t prev, next; /* 0: none */
    uint8_t pool;
    bool used;       /* in a program's hands */
    bool pending;    /* released, but another stream may still use it */
    bool shared;     /* another stream uses it */
    bool expandable; /* in a segment that grows page by page */
    bool unmapped;   /* ... where it has no memory */
} plim__block;

/* Block 0 is none. */
typedef struct plim__blocks {
    PLIM_VEC(plim__block) all;
    uint32_t vacant; /* a list of unused entries through `next` */
} plim__blocks;

/* The index of a new block, 0 when memory is short. Pointers to blocks end here. */
uint32_t plim__block_add(plim__blocks *blocks, plim__block block);
void plim__block_drop(plim__blocks *blocks, uint32_t index);
void plim__blocks_free(plim__blocks *blocks);

/* Free blocks by stream, size, address; unmapped ones by stream and address. */
typedef struct plim__block_set {
    PLIM_VEC(uint32_t) order;
    bool by_address;
} plim__block_set;

bool plim__block_set_insert(plim__block_set *set, const plim__blocks *blocks, uint32_t index);
void plim__block_set_remove(plim__block_set *set, const plim__blocks *blocks, uint32_t index);
/* The place of the first block that is not before this key. */
size_t plim__block_set_find(const plim__block_set *set, const plim__blocks *blocks, int64_t stream, uint64_t bytes,
                            uint64_t address);
void plim__block_set_free(plim__block_set *set);

#endif
