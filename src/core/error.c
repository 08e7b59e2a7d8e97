/* Status names and error messages. Nothing here allocates: errors must work when memory is gone. */
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

/* the functions themselves */
#undef plim__fail
#undef plim__fail_memory
#undef plim__fail_errno
#undef plim__fail_context

const char *plim_status_name(plim_status status) {
    static const char *const names[] = {
#define NAME(name, sentence) #name,
        PLIM_STATUS_LIST(NAME)
#undef NAME
    };
    return (unsigned)status < PLIM_STATUS_COUNT ? names[status] : "UNKNOWN";
}

const char *plim_status_sentence(plim_status status) {
    static const char *const sentences[] = {
#define SENTENCE(name, sentence) sentence,
        PLIM_STATUS_LIST(SENTENCE)
#undef SENTENCE
    };
    return (unsigned)status < PLIM_STATUS_COUNT ? sentences[status] : "unknown status";
}

/* Also what ends a line or turns the direction of all that follows. */
static bool is_control(unsigned code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

void plim__error_clean(char *text) {
    for (size_t i = 0; text[i];) {
        unsigned code;
        size_t length = plim__utf8_length(text + i, &code);
        if (is_control(code)) length = 0;
        if (!length) text[i] = '?';
        i += length ? length : 1;
    }
}

plim_status plim__fail(plim_error *error, plim_status status, const char *format, ...) {
    if (!error) return status;
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    plim__error_clean(error->message);
    return status;
}

plim_status plim__fail_memory(plim_error *error, const char *what, unsigned long long bytes) {
    return plim__fail(error, PLIM_NO_MEMORY, "out of memory: cannot allocate %llu bytes for %s", bytes, what);
}

static plim_status status_of_errno(int errnum) {
    switch (errnum) {
    case ENOMEM: return PLIM_NO_MEMORY;
    case ENOSPC:
    case EDQUOT: return PLIM_NO_SPACE;
    case ENOENT:
    case ENOTDIR: return PLIM_NOT_FOUND;
    default: return PLIM_IO;
    }
}

plim_status plim__fail_errno(plim_error *error, int errnum, const char *format, ...) {
    plim_status status = status_of_errno(errnum);
    if (!error) return status;
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    size_t used = strlen(error->message);
    char text[128];
    snprintf(error->message + used, sizeof error->message - used, ": %s", strerror_r(errnum, text, sizeof text));
    plim__error_clean(error->message);
    return status;
}

plim_status plim__fail_context(plim_error *error, plim_status status, const char *format, ...) {
    if (!error) return status;
    char inner[sizeof error->message];
    memcpy(inner, error->message, sizeof inner);
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, ": %s", inner);
    plim__error_clean(error->message);
    return status;
}
