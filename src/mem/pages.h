/* Whole pages of this process's address space: reserved, made usable, given back. */
#ifndef PLIM_MEM_PAGES_H
#define PLIM_MEM_PAGES_H

#include <stdbool.h>
#include <stddef.h>

void *plim__pages_take(size_t bytes);              /* usable and zero; NULL when the system refuses */
void *plim__pages_reserve(size_t bytes);           /* addresses only */
bool plim__pages_use(void *start, size_t bytes);   /* reserved pages become usable and zero */
void plim__pages_unuse(void *start, size_t bytes); /* ... and addresses only again */
void plim__pages_give(void *start, size_t bytes);  /* ends a take or a reserve */

#endif
