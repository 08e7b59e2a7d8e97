/* The arena, and the memory of the process for it. */
#include "mem/arena.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "mem/carrier.h"
#include "mem/heap.h"
#include "mem/limits.h"
#include "mem/resident.h"
#include "mem/spill.h"

/* --- the memory of the process: mappings ------------------------------------------------------------------------- */

static char *take(size_t bytes) {
    void *memory =
        mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void touch(char *memory, size_t from, size_t to) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = (from + page - 1) / page * page; at < to; at += page) *(volatile char *)(memory + at) = 0;
}

/* Pages move, they are not copied. */
static char *grow(char *memory, size_t bytes, size_t wanted) {
    void *moved = mremap(memory, bytes ? bytes : 1, wanted, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return NULL;
    touch(moved, bytes, wanted);
    return moved;
}

static void discard(char *memory, size_t bytes) {
    if (bytes) madvise(memory, bytes, MADV_DONTNEED);
}

static void restore(char *memory, size_t bytes) {
    plim__heap_trim(); /* what other work has freed meanwhile is not to be resident beside these pages */
    touch(memory, 0, bytes);
}

static void give(char *memory, size_t bytes) { munmap(memory, bytes ? bytes : 1); }

const plim__memory plim__host_memory = {
    .take = take, .grow = grow, .discard = discard, .restore = restore, .give = give};

/* --- the arena: two blocks of it ------------------------------------------------------------------------------- */

plim_status plim__arena_reserve(plim__arena *arena, const plim__memory *memory, size_t persistent_bytes,
                                size_t transient_bytes, plim_error *error) {
    *arena = (plim__arena){.memory = memory, .persistent = memory->take(persistent_bytes)};
    if (!arena->persistent) return plim__fail_memory(error, "weights and state", persistent_bytes);
    arena->persistent_bytes = persistent_bytes;
    arena->transient = memory->take(transient_bytes);
    arena->transient_bytes = transient_bytes;
    if (arena->transient) return PLIM_OK;
    plim__arena_release(arena);
    return plim__fail_memory(error, "the arena", transient_bytes);
}

/* Whether the kernel could keep all of the file in memory, beside what this process holds. */
static bool has_cache(size_t bytes) {
    uint64_t allowed = plim__limits_allowed_now(), held = plim__resident_now();
    return allowed > held && allowed - held > bytes;
}

plim_status plim__arena_spill(plim__arena *arena, const char *folder, size_t bytes, int threads, plim_error *error) {
    PLIM_TRY(plim__spill_create(folder, bytes, &arena->spill, error));
    if (!has_cache(bytes)) plim__spill_go_around_cache(arena->spill);
    return plim__carrier_create(plim__carrier_rooms(threads), &arena->carrier, error);
}

static void settle(const plim__arena *arena) {
    if (arena->carrier) plim__carrier_drop(arena->carrier);
}

static bool grow_block(const plim__memory *memory, char **block, size_t *bytes, size_t wanted) {
    if (wanted <= *bytes) return true;
    char *grown = memory->grow(*block, *bytes, wanted);
    if (!grown) return false;
    *block = grown;
    *bytes = wanted;
    return true;
}

plim_status plim__arena_grow(plim__arena *arena, size_t persistent_bytes, size_t transient_bytes, plim_error *error) {
    settle(arena);
    if (!grow_block(arena->memory, &arena->persistent, &arena->persistent_bytes, persistent_bytes))
        return plim__fail_memory(error, "weights and state", persistent_bytes);
    return grow_block(arena->memory, &arena->transient, &arena->transient_bytes, transient_bytes)
               ? PLIM_OK
               : plim__fail_memory(error, "the arena", transient_bytes);
}

void plim__arena_release_pages(plim__arena *arena) { plim__arena_release_some_pages(arena, arena->transient_bytes); }

void plim__arena_release_some_pages(plim__arena *arena, size_t bytes) {
    if (!arena->transient) return;
    settle(arena);
    arena->memory->discard(arena->transient, bytes < arena->transient_bytes ? bytes : arena->transient_bytes);
}

void plim__arena_restore_pages(plim__arena *arena) {
    if (arena->transient) arena->memory->restore(arena->transient, arena->transient_bytes);
}

void plim__arena_abandon(plim__arena *arena) {
    settle(arena);
    if (arena->persistent) arena->memory->discard(arena->persistent, arena->persistent_bytes);
    plim__arena_release_pages(arena);
}

void plim__arena_release(plim__arena *arena) {
    plim__carrier_free(arena->carrier);
    if (arena->persistent) arena->memory->give(arena->persistent, arena->persistent_bytes);
    if (arena->transient) arena->memory->give(arena->transient, arena->transient_bytes);
    plim__spill_free(arena->spill);
    *arena = (plim__arena){0};
}
