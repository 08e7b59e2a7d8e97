/* Arguments of public functions: pointers that must be there, numbers that must make sense, and options structs, which
 * are read whatever version of the headers they were compiled against. */
#ifndef PLIM_CORE_ARGUMENTS_H
#define PLIM_CORE_ARGUMENTS_H

#include <stddef.h>

#include "core/error.h"

/* A pointer that a public function cannot do without: returns PLIM_INVALID, and the message names function and argument. */
#define PLIM__NEED(pointer, error)                                                                                     \
    do {                                                                                                               \
        if (!(pointer)) return plim__fail(error, PLIM_INVALID, "%s: %s is NULL", __func__, #pointer);                  \
    } while (0)

/* Copies the options that a caller gave into *copy, a struct of `size` bytes whose first field is its own size. NULL gives
 * all defaults. Fields that an older struct does not have are zero, the default; a newer one is accepted as long as it
 * asks for nothing that is not known here. `name` is the struct's name, for messages. */
plim_status plim__options_read(void *copy, size_t size, const void *given, const char *name, plim_error *error);

/* The same into a local variable, returning early on failure. When a field is added to a struct after version 0.1, a size
 * of 0 must go on meaning the struct of 0.1. */
#define PLIM__OPTIONS(type, copy, given, error) PLIM_TRY(plim__options_read(&(copy), sizeof(type), given, #type, error))

/* PLIM_INVALID for fewer than 0 threads and for more than any machine has: starting those would take it down. */
plim_status plim__threads_check(int threads, plim_error *error);

#endif
