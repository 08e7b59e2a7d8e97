/* The library's one door to the heap: checked sizes, and a counter that tests use to make the
 * n-th allocation fail. */
#ifndef PLIM_CORE_ALLOC_H
#define PLIM_CORE_ALLOC_H

#include <stddef.h>

/* All return NULL when memory is short or count * size overflows; freed with plim__free. */
void *plim__alloc(size_t bytes);                    /* contents undefined */
void *plim__alloc_zero(size_t count, size_t size);  /* contents zero */
void *plim__alloc_array(size_t count, size_t size); /* contents undefined */
void *plim__realloc(void *block, size_t count, size_t size);
void *plim__alloc_optional(size_t bytes); /* like plim__alloc, for what the caller can do without */
char *plim__strdup(const char *text);
char *plim__strndup(const char *text, size_t length);
void plim__free(void *block); /* NULL is fine */

/* Tests: after plim__alloc_fail_at(n) the n-th allocation from now fails (1 is the next one), once;
 * 0 turns it off. plim__alloc_count() is the number of allocations tried since the start, plim__alloc_done_without() how
 * many optional ones have failed. */
void plim__alloc_fail_at(size_t n);
size_t plim__alloc_count(void);
size_t plim__alloc_done_without(void);

#endif
