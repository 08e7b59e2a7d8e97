/* The library's one door to the heap. */
#include "core/alloc.h"

#include "plimsoll/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_size_t allocations, done_without;
static atomic_size_t fail_at; /* absolute count at which to fail; 0 is never */

static bool must_fail(void) {
    size_t now = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed) + 1;
    size_t at = atomic_load_explicit(&fail_at, memory_order_relaxed);
    return at != 0 && now == at;
}

void plim__alloc_fail_at(size_t n) { atomic_store(&fail_at, n == 0 ? 0 : atomic_load(&allocations) + n); }

size_t plim__alloc_count(void) { return atomic_load(&allocations); }

void *plim__alloc(size_t bytes) {
    if (must_fail()) return NULL;
    return malloc(bytes ? bytes : 1);
}

void *plim__alloc_optional(size_t bytes) {
    void *block = plim__alloc(bytes);
    if (!block) atomic_fetch_add(&done_without, 1);
    return block;
}

size_t plim__alloc_done_without(void) { return atomic_load(&done_without); }

void *plim__alloc_zero(size_t count, size_t size) {
    if (must_fail()) return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *plim__alloc_array(size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    return plim__alloc(count * size);
}

void *plim__realloc(void *block, size_t count, size_t size) {
    if (must_fail()) return NULL;
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    size_t bytes = count * size;
    return realloc(block, bytes ? bytes : 1);
}

char *plim__strndup(const char *text, size_t length) {
    char *copy = plim__alloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *plim__strdup(const char *text) { return plim__strndup(text, strlen(text)); }

void plim__free(void *block) { free(block); }

void plim_text_free(char *text) { plim__free(text); }
