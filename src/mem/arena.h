/* The memory of a run: persistent buffers, which live from step to step, and transient ones. Reserved and touched when the
 * arena is created, so that the kernel's overcommit cannot take it back later. Persistent buffers may be partly on disk. */
#ifndef PLIM_MEM_ARENA_H
#define PLIM_MEM_ARENA_H

#include <stddef.h>

#include "plimsoll/status.h"

/* Where an arena's bytes are. */
typedef struct plim__memory {
    /* Zero and touched, so that a step cannot run out of it; nothing has an address, too. NULL: refused. */
    char *(*take)(size_t bytes);
    /* Contents stay but may move, and are never there twice. NULL: refused, and nothing has changed. */
    char *(*grow)(char *memory, size_t bytes, size_t wanted);
    /* Contents are lost, addresses stay; what was discarded is touched again by restore. */
    void (*discard)(char *memory, size_t bytes);
    void (*restore)(char *memory, size_t bytes);
    void (*give)(char *memory, size_t bytes);
} plim__memory;

extern const plim__memory plim__host_memory; /* the process's own */

typedef struct plim__arena {
    const plim__memory *memory;
    char *persistent, *transient;
    size_t persistent_bytes, transient_bytes;
    struct plim__spill *spill;     /* a file for weights and optimizer state; NULL: none */
    struct plim__carrier *carrier; /* reads ahead from it and writes back behind */
} plim__arena;

/* Zero bytes are fine. All memory is zero. */
plim_status plim__arena_reserve(plim__arena *arena, const plim__memory *memory, size_t persistent_bytes,
                                size_t transient_bytes, plim_error *error);
/* Adds the file: space in `folder`, all zero. It ends with the arena. Programs of `threads` threads use it. What the
 * carrier is at is ended before memory moves or goes. */
plim_status plim__arena_spill(plim__arena *arena, const char *folder, size_t bytes, int threads, plim_error *error);
/* To at least these bytes. Contents stay but may move. On failure each part is as it was, or has grown. */
plim_status plim__arena_grow(plim__arena *arena, size_t persistent_bytes, size_t transient_bytes, plim_error *error);
/* Between steps: releases the pages of transient buffers, all or some bytes of them, for work that needs memory of its
 * own; and restores them. Addresses stay. */
void plim__arena_release_pages(plim__arena *arena);
void plim__arena_release_some_pages(plim__arena *arena, size_t bytes);
void plim__arena_restore_pages(plim__arena *arena);
/* After the last step: all pages are released, and their contents are lost. Sizes stay readable. */
void plim__arena_abandon(plim__arena *arena);
void plim__arena_release(plim__arena *arena);

#endif
