#include "alloc/block.h"

#include <string.h>

uint32_t plim__block_add(plim__blocks *blocks, plim__block block) {
    if (!blocks->all.count && !plim__vec_push(&blocks->all, (plim__block){0})) return 0;
    uint32_t index = blocks->vacant;
    if (index) {
        blocks->vacant = blocks->all.items[index].next;
    } else {
        if (blocks->all.count >= UINT32_MAX || !plim__vec_push(&blocks->all, block)) return 0;
        index = (uint32_t)(blocks->all.count - 1);
    }
    blocks->all.items[index] = block;
    return index;
}

void plim__block_drop(plim__blocks *blocks, uint32_t index) {
    blocks->all.items[index] = (plim__block){.next = blocks->vacant};
    blocks->vacant = index;
}

void plim__blocks_free(plim__blocks *blocks) {
    plim__vec_free(&blocks->all);
    blocks->vacant = 0;
}

static int compare(const plim__block_set *set, const plim__block *a, int64_t stream, uint64_t bytes, uint64_t address) {
    if (a->stream != stream) return a->stream < stream ? -1 : 1;
    if (!set->by_address && a->bytes != bytes) return a->bytes < bytes ? -1 : 1;
    return a->address < address ? -1 : a->address > address;
}

size_t plim__block_set_find(const plim__block_set *set, const plim__blocks *blocks, int64_t stream, uint64_t bytes,
                            uint64_t address) {
    size_t low = 0, high = set->order.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(set, &blocks->all.items[set->order.items[middle]], stream, bytes, address) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t place(const plim__block_set *set, const plim__blocks *blocks, uint32_t index) {
    const plim__block *block = &blocks->all.items[index];
    return plim__block_set_find(set, blocks, block->stream, block->bytes, block->address);
}

bool plim__block_set_insert(plim__block_set *set, const plim__blocks *blocks, uint32_t index) {
    if (!plim__vec_reserve(&set->order, set->order.count + 1)) return false;
    size_t at = place(set, blocks, index);
    memmove(set->order.items + at + 1, set->order.items + at, (set->order.count - at) * sizeof *set->order.items);
    set->order.items[at] = index;
    set->order.count++;
    return true;
}

void plim__block_set_remove(plim__block_set *set, const plim__blocks *blocks, uint32_t index) {
    size_t at = place(set, blocks, index);
    if (at >= set->order.count || set->order.items[at] != index) return;
    set->order.count--;
    memmove(set->order.items + at, set->order.items + at + 1, (set->order.count - at) * sizeof *set->order.items);
}

void plim__block_set_free(plim__block_set *set) { plim__vec_free(&set->order); }
