/* UTF-8, one character at a time. */
#ifndef PLIM_CORE_UTF8_H
#define PLIM_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `at` in a terminated text, and its code; 0 when it is none (cut off, too long, a
 * surrogate, beyond Unicode). */
static inline size_t plim__utf8_length(const char *text, unsigned *code) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t length = *at < 0x80                  ? 1
                    : *at >= 0xc2 && *at < 0xe0 ? 2
                    : (*at & 0xf0) == 0xe0      ? 3
                    : (*at & 0xf8) == 0xf0      ? 4
                                                : 0;
    *code = length > 1 ? *at & (0x7fu >> length) : *at;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0; /* the terminator ends it too */
        *code = *code << 6 | (at[i] & 0x3fu);
    }
    bool fits = *code >= least[length] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
    return fits ? length : 0;
}

#endif
