/* Placed items sorted by offset, to find the gap for one more. */
#ifndef PLIM_PLAN_PACK_SHELF_H
#define PLIM_PLAN_PACK_SHELF_H

#include "plan/pack_internal.h"

enum { PLIM__PACK_STRETCHES = 64 };

typedef struct plim__pack_shelf {
    const plim__pack_problem *problem;
    struct plim__pack_block *all, *wide, *stretch[PLIM__PACK_STRETCHES]; /* first blocks */
    struct plim__pack_block *spare;
    bool brief;   /* only what is alive stays on the shelf: see plim__pack_shelf_remove */
    int64_t work; /* items visited */
} plim__pack_shelf;

void plim__pack_shelf_init(plim__pack_shelf *shelf, const plim__pack_problem *problem);
/* Empties it, keeps its memory. A brief shelf must be rid of items by hand once nothing can meet them any more. */
void plim__pack_shelf_clear(plim__pack_shelf *shelf, bool brief);
void plim__pack_shelf_free(plim__pack_shelf *shelf);
/* False when memory is short. */
bool plim__pack_shelf_insert(plim__pack_shelf *shelf, int32_t item, int64_t offset);
void plim__pack_shelf_remove(plim__pack_shelf *shelf, int64_t offset);
/* The offset of the lowest gap that takes the item, or of the narrowest; above everything when there is none. */
int64_t plim__pack_shelf_fit(plim__pack_shelf *shelf, int32_t item, bool narrowest);

#endif
