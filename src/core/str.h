/* A growable string. Failure to grow is remembered, so that many appends need one check at the end. */
#ifndef PLIM_CORE_STR_H
#define PLIM_CORE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "plimsoll/status.h"

typedef struct plim__str {
    char *data; /* always terminated once anything was added; NULL before */
    size_t length, capacity;
    bool failed; /* an append ran out of memory; the string is cut there */
} plim__str;

void plim__str_add(plim__str *str, const char *text);
void plim__str_addn(plim__str *str, const char *text, size_t length);
void plim__str_addc(plim__str *str, char c);
void plim__str_addf(plim__str *str, const char *format, ...) PLIM_PRINTF(2, 3);
void plim__str_vaddf(plim__str *str, const char *format, va_list args);
void plim__str_clear(plim__str *str); /* keeps the buffer */
void plim__str_free(plim__str *str);
/* The text, "" when empty. */
const char *plim__str_text(const plim__str *str);

/* For typing mistakes: `other` where it is nearer to `word` than `best` (NULL at first) and near enough, else `best`. */
const char *plim__str_nearest(const char *word, const char *best, const char *other);

#endif
