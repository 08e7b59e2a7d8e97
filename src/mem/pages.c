#include "mem/pages.h"

#include <sys/mman.h>

static void *map(size_t bytes, int protection, int flags) {
    void *start = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

void *plim__pages_take(size_t bytes) { return map(bytes, PROT_READ | PROT_WRITE, 0); }

void *plim__pages_reserve(size_t bytes) { return map(bytes, PROT_NONE, MAP_NORESERVE); }

bool plim__pages_use(void *start, size_t bytes) { return mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0; }

void plim__pages_unuse(void *start, size_t bytes) {
    (void)madvise(start, bytes, MADV_DONTNEED);
    (void)mprotect(start, bytes, PROT_NONE);
}

void plim__pages_give(void *start, size_t bytes) {
    if (start) (void)munmap(start, bytes);
}
