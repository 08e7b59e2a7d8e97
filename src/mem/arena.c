/* The arena: two mappings. */
#include "mem/arena.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "mem/heap.h"
#include "mem/spill.h"

static char *map(size_t bytes) {
    void *memory =
        mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(char *memory, size_t bytes) {
    if (memory) munmap(memory, bytes ? bytes : 1);
}

plim_status plim__arena_reserve(plim__arena *arena, size_t persistent_bytes, size_t transient_bytes,
                                plim_error *error) {
    *arena = (plim__arena){.persistent = map(persistent_bytes), .persistent_bytes = persistent_bytes};
    if (!arena->persistent) return plim__fail_memory(error, "weights and state", persistent_bytes);
    arena->transient = map(transient_bytes);
    arena->transient_bytes = transient_bytes;
    if (arena->transient) return PLIM_OK;
    plim__arena_release(arena);
    return plim__fail_memory(error, "the arena", transient_bytes);
}

plim_status plim__arena_spill(plim__arena *arena, const char *folder, size_t bytes, plim_error *error) {
    return plim__spill_create(folder, bytes, &arena->spill, error);
}

/* Pages move, they are not copied: nothing is resident twice, and on failure all is as it was. */
static bool grow(char **memory, size_t *bytes, size_t wanted) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), old = *bytes;
    if (wanted <= old) return true;
    void *moved = mremap(*memory, old ? old : 1, wanted, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return false;
    *memory = moved;
    *bytes = wanted;
    for (size_t at = (old + page - 1) / page * page; at < wanted; at += page) *(volatile char *)(*memory + at) = 0;
    return true;
}

plim_status plim__arena_grow(plim__arena *arena, size_t persistent_bytes, size_t transient_bytes, plim_error *error) {
    if (!grow(&arena->persistent, &arena->persistent_bytes, persistent_bytes))
        return plim__fail_memory(error, "weights and state", persistent_bytes);
    return grow(&arena->transient, &arena->transient_bytes, transient_bytes)
               ? PLIM_OK
               : plim__fail_memory(error, "the arena", transient_bytes);
}

void plim__arena_release_pages(plim__arena *arena) { plim__arena_release_some_pages(arena, arena->transient_bytes); }

void plim__arena_release_some_pages(plim__arena *arena, size_t bytes) {
    if (bytes > arena->transient_bytes) bytes = arena->transient_bytes;
    if (bytes) madvise(arena->transient, bytes, MADV_DONTNEED);
}

void plim__arena_restore_pages(plim__arena *arena) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    plim__heap_trim(); /* what that work has freed is not to be resident beside the arena */
    for (size_t at = 0; at < arena->transient_bytes; at += page) *(volatile char *)(arena->transient + at) = 0;
}

void plim__arena_abandon(plim__arena *arena) {
    if (arena->persistent_bytes) madvise(arena->persistent, arena->persistent_bytes, MADV_DONTNEED);
    plim__arena_release_pages(arena);
}

void plim__arena_release(plim__arena *arena) {
    unmap(arena->persistent, arena->persistent_bytes);
    unmap(arena->transient, arena->transient_bytes);
    plim__spill_free(arena->spill);
    *arena = (plim__arena){0};
}
