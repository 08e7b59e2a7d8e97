/* Arguments that pickles spell out: decimal integers of any length, quoted Python 2 strings, raw-unicode-escape
 * text, and the two's complement integers of LONG1 and LONG4. */
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/str.h"
#include "format/pickle_internal.h"

enum { MOST_DIGITS = 4300 }; /* Python's own limit */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* --- integers ------------------------------------------------------------------------------------------------- */

plim__pickle_value plim__pickle_binary_int(plim__pickle_pool *pool, const char *bytes, size_t length) {
    const unsigned char *at = (const unsigned char *)bytes;
    while (length > 1 && at[length - 1] == (at[length - 2] & 0x80 ? 0xff : 0)) length--; /* repeats of the sign */
    if (length > 8) return plim__pickle_new_text(pool, PLIM__PICKLE_BIG, bytes, length);
    uint64_t number = length && at[length - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = length; i-- > 0;) number = number << 8 | at[i];
    return plim__pickle_new_int(pool, (int64_t)number);
}

/* digits → little-endian magnitude, by repeated multiplication; negated for a minus sign. */
static plim__pickle_value long_decimal(plim__pickle_pool *pool, const char *digits, size_t count, bool negative) {
    unsigned char bytes[MOST_DIGITS / 2 + 2] = {0};
    size_t used = 1;
    for (size_t i = 0; i < count; i++) {
        unsigned carry = (unsigned)(digits[i] - '0');
        for (size_t k = 0; k < used; k++) {
            carry += bytes[k] * 10u;
            bytes[k] = carry & 255;
            carry >>= 8;
        }
        if (carry) bytes[used++] = (unsigned char)carry;
    }
    used++; /* room for the sign */
    unsigned carry = 1;
    for (size_t k = 0; negative && k < used; k++) {
        carry += (unsigned char)~bytes[k];
        bytes[k] = carry & 255;
        carry >>= 8;
    }
    return plim__pickle_binary_int(pool, (const char *)bytes, used);
}

plim__pickle_value plim__pickle_decimal(plim__pickle_pool *pool, const char *text, bool *bad) {
    while (*text == ' ') text++;
    bool negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    size_t count = strspn(text, "0123456789");
    const char *rest = text + count;
    if (*rest == 'L') rest++;
    rest += strspn(rest, " \r");
    *bad = count == 0 || count > MOST_DIGITS || *rest != 0;
    if (*bad) return (plim__pickle_value){0};
    if (count > 18) return long_decimal(pool, text, count, negative);
    int64_t number = strtoll(text, NULL, 10);
    return plim__pickle_new_int(pool, negative ? -number : number);
}

/* --- strings -------------------------------------------------------------------------------------------------- */

/* One escape of a Python 2 string literal; the bytes of text it takes after the backslash, 0 when malformed. */
static size_t unescape(const char *at, size_t left, char *into) {
    static const char names[] = "\\'\"abfnrtv", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    const char *name = left ? memchr(names, *at, sizeof names - 1) : NULL;
    if (name) {
        *into = meanings[name - names];
        return 1;
    }
    if (left >= 3 && *at == 'x' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
        *into = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
        return 3;
    }
    size_t digits = 0;
    int number = 0;
    for (; digits < left && digits < 3 && at[digits] >= '0' && at[digits] <= '7'; digits++)
        number = number * 8 + (at[digits] - '0');
    *into = (char)number;
    return digits;
}

plim__pickle_value plim__pickle_quoted(plim__pickle_pool *pool, char *text, size_t length, bool *bad) {
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\r')) length--;
    *bad = length < 2 || (*text != '\'' && *text != '"') || text[length - 1] != *text;
    size_t used = 0; /* decoded in place: it never grows */
    for (size_t i = 1; !*bad && i < length - 1;) {
        char c = text[i++];
        if (c == '\\') {
            size_t taken = unescape(text + i, length - 1 - i, &c);
            *bad = taken == 0;
            i += taken;
        }
        text[used++] = c;
    }
    if (*bad) return (plim__pickle_value){0};
    return plim__pickle_new_text(pool, PLIM__PICKLE_STRING, text, used);
}

static void add_utf8(plim__str *into, uint32_t code) {
    if (code < 0x80) {
        plim__str_addc(into, (char)code);
    } else if (code < 0x800) {
        plim__str_addc(into, (char)(0xc0 | code >> 6));
        plim__str_addc(into, (char)(0x80 | (code & 63)));
    } else {
        if (code < 0x10000) {
            plim__str_addc(into, (char)(0xe0 | code >> 12));
        } else {
            plim__str_addc(into, (char)(0xf0 | code >> 18));
            plim__str_addc(into, (char)(0x80 | (code >> 12 & 63)));
        }
        plim__str_addc(into, (char)(0x80 | (code >> 6 & 63)));
        plim__str_addc(into, (char)(0x80 | (code & 63)));
    }
}

/* Only \u and \U are escapes here; every other byte is a character of Latin-1. */
plim__pickle_value plim__pickle_raw_unicode(plim__pickle_pool *pool, const char *text, size_t length, bool *bad) {
    plim__str decoded = {0};
    *bad = false;
    for (size_t i = 0; i < length && !*bad; i++) {
        size_t digits = text[i] != '\\' || i + 1 >= length ? 0 : text[i + 1] == 'u' ? 4 : text[i + 1] == 'U' ? 8 : 0;
        if (digits == 0) {
            add_utf8(&decoded, (unsigned char)text[i]);
            continue;
        }
        uint32_t code = 0;
        *bad = length - i - 2 < digits;
        for (size_t k = 0; k < digits && !*bad; k++) {
            int digit = hex_digit(text[i + 2 + k]);
            *bad = digit < 0 || code >= 0x8000000;
            code = code << 4 | (uint32_t)(digit & 15);
        }
        *bad = *bad || code > 0x10ffff;
        add_utf8(&decoded, code);
        i += digits + 1;
    }
    plim__pickle_value value = {0};
    if (!*bad && !decoded.failed)
        value = plim__pickle_new_text(pool, PLIM__PICKLE_STRING, plim__str_text(&decoded), decoded.length);
    plim__str_free(&decoded);
    return value;
}
