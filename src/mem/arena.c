/* The arena: two mappings. */
#include "mem/arena.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "mem/spill.h"

static char *map(size_t bytes) {
    void *memory =
        mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(char *memory, size_t bytes) {
    if (memory) munmap(memory, bytes ? bytes : 1);
}

plim_status plim__arena_reserve(plim__arena *arena, size_t kept_bytes, size_t passing_bytes, plim_error *error) {
    *arena = (plim__arena){.kept_bytes = kept_bytes};
    arena->kept = map(kept_bytes);
    if (!arena->kept) return plim__fail_memory(error, "weights and state", kept_bytes);
    plim_status status = plim__arena_resize(arena, passing_bytes, error);
    if (status != PLIM_OK) plim__arena_release(arena);
    return status;
}

plim_status plim__arena_spill(plim__arena *arena, const char *folder, size_t bytes, plim_error *error) {
    return plim__spill_create(folder, bytes, &arena->spill, error);
}

plim_status plim__arena_resize(plim__arena *arena, size_t passing_bytes, plim_error *error) {
    unmap(arena->passing, arena->passing_bytes);
    arena->passing_bytes = passing_bytes;
    arena->passing = map(passing_bytes);
    return arena->passing ? PLIM_OK : plim__fail_memory(error, "the arena", passing_bytes);
}

plim_status plim__arena_grow_kept(plim__arena *arena, size_t kept_bytes, plim_error *error) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), old = arena->kept_bytes;
    void *kept = mremap(arena->kept, old ? old : 1, kept_bytes ? kept_bytes : 1, MREMAP_MAYMOVE);
    if (kept == MAP_FAILED) return plim__fail_memory(error, "weights and state", kept_bytes);
    arena->kept = kept;
    arena->kept_bytes = kept_bytes;
    for (size_t at = (old + page - 1) / page * page; at < kept_bytes; at += page)
        *(volatile char *)(arena->kept + at) = 0;
    return PLIM_OK;
}

void plim__arena_lend(plim__arena *arena) {
    if (arena->passing_bytes) madvise(arena->passing, arena->passing_bytes, MADV_DONTNEED);
}

void plim__arena_take_back(plim__arena *arena) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    malloc_trim(0); /* what that work has freed is not to be resident beside the arena */
    for (size_t at = 0; at < arena->passing_bytes; at += page) *(volatile char *)(arena->passing + at) = 0;
}

void plim__arena_release(plim__arena *arena) {
    unmap(arena->kept, arena->kept_bytes);
    unmap(arena->passing, arena->passing_bytes);
    plim__spill_free(arena->spill);
    *arena = (plim__arena){0};
}
