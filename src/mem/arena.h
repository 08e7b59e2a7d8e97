/* The memory of a run: what is kept from step to step, and what each step uses anew. Reserved and touched when it is
 * made, so that the kernel's overcommit cannot take it back later. What is kept may have a part on disk. */
#ifndef PLIM_MEM_ARENA_H
#define PLIM_MEM_ARENA_H

#include <stddef.h>

#include "plimsoll/status.h"

typedef struct plim__arena {
    char *kept, *passing;
    size_t kept_bytes, passing_bytes;
    struct plim__spill *spill; /* a file for what memory has no room for; NULL: none */
} plim__arena;

/* Zero bytes are fine. All memory is zero. */
plim_status plim__arena_reserve(plim__arena *arena, size_t kept_bytes, size_t passing_bytes, plim_error *error);
/* Adds the file: space in `folder`, all zero. It ends with the arena. */
plim_status plim__arena_spill(plim__arena *arena, const char *folder, size_t bytes, plim_error *error);
/* At least so much. Contents stay but may move, and are never resident twice. On failure each part is as it was, or
 * has grown. */
plim_status plim__arena_grow(plim__arena *arena, size_t kept_bytes, size_t passing_bytes, plim_error *error);
/* Between steps: gives the pages of what passes back for a while, all or some bytes of them, for work that needs memory of
 * its own; and takes them again. Addresses stay. */
void plim__arena_lend(plim__arena *arena);
void plim__arena_lend_some(plim__arena *arena, size_t bytes);
void plim__arena_take_back(plim__arena *arena);
/* After the last step: all pages are given back, and what they held is lost. Sizes are still told. */
void plim__arena_abandon(plim__arena *arena);
void plim__arena_release(plim__arena *arena);

#endif
