/* Filling a plim_error: every failing function says what happened in one line. */
#ifndef PLIM_CORE_ERROR_H
#define PLIM_CORE_ERROR_H

#include "plimsoll/status.h"

/* Writes status and message into *error (which may be NULL) and returns status, so that a
 * failing function can end in `return plim__fail(error, PLIM_SHAPE, "...", ...)`. */
plim_status plim__fail(plim_error *error, plim_status status, const char *format, ...) PLIM_PRINTF(3, 4);

/* The same for a failed allocation: names what was to be allocated and its bytes. */
plim_status plim__fail_memory(plim_error *error, const char *what, unsigned long long bytes);

/* Turns errno into a status and a message: "cannot open 'x.npy': No such file or directory". */
plim_status plim__fail_errno(plim_error *error, int errnum, const char *format, ...) PLIM_PRINTF(3, 4);

/* Puts "context: " before the message that is already there; keeps the status. */
plim_status plim__fail_context(plim_error *error, plim_status status, const char *format, ...) PLIM_PRINTF(3, 4);

/* Makes text from outside fit for one line of a terminal or of JSON: control characters, those that turn
 * the direction of writing, and bytes that are not UTF-8 become '?'. Every message here went through it; names in files can hold anything. */
void plim__error_clean(char *text);

/* The analyzer reads one file at a time and has to know that failing never gives PLIM_OK. */
#ifdef __clang_analyzer__
static inline plim_status plim__failed(plim_status said, plim_status known) {
    (void)said;
    return known;
}
#define plim__fail(error, status, ...)         plim__failed(plim__fail(error, status, __VA_ARGS__), status)
#define plim__fail_memory(error, what, bytes)  plim__failed(plim__fail_memory(error, what, bytes), PLIM_NO_MEMORY)
#define plim__fail_errno(error, errnum, ...)   plim__failed(plim__fail_errno(error, errnum, __VA_ARGS__), PLIM_IO)
#define plim__fail_context(error, status, ...) plim__failed(plim__fail_context(error, status, __VA_ARGS__), status)
#endif

/* Returns early with the status of an expression that failed. */
#define PLIM_TRY(expression)                                                                                           \
    do {                                                                                                               \
        plim_status plim_try_status_ = (expression);                                                                   \
        if (plim_try_status_ != PLIM_OK) return plim_try_status_;                                                      \
    } while (0)

#endif
