/* The heap, by the knobs of glibc. */
#include "mem/heap.h"

#include <malloc.h>

/* Of its own heap glibc never uses an aligned block twice for the same size: only small ones may lie there. */
#define LARGE (64 << 10)
#define KEPT  (256 << 10)

void plim__heap_prepare(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, KEPT);
}

void plim__heap_trim(void) { malloc_trim(0); }
