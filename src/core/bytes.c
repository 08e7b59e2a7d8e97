/* Byte counts to and from text. */
#include "plimsoll/bytes.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/arguments.h"

/* The factor of a unit; 0 when it is none. */
static double factor_of(const char *unit) {
    static const char letters[] = "KMGTPE";
    if (!*unit || strcasecmp(unit, "B") == 0 || strcasecmp(unit, "bytes") == 0) return 1;
    const char *letter = strchr(letters, toupper((unsigned char)unit[0]));
    if (!letter) return 0;
    double power = (double)(letter - letters) + 1;
    const char *rest = unit + 1;
    if (!*rest || strcasecmp(rest, "i") == 0 || strcasecmp(rest, "iB") == 0) return pow(1024, power);
    return strcasecmp(rest, "B") == 0 ? pow(1000, power) : 0;
}

plim_status plim_bytes_parse(const char *text, uint64_t *bytes, plim_error *error) {
    PLIM__NEED(bytes, error);
    *bytes = 0;
    PLIM__NEED(text, error);
    while (isspace((unsigned char)*text)) text++;
    static const char what[] = "'%s' is not a number of bytes; write it like 700MiB or 12GB";
    if (!isdigit((unsigned char)*text) && *text != '.') return plim__fail(error, PLIM_INVALID, what, text);
    char *end;
    double number = strtod(text, &end);
    if (!isfinite(number)) return plim__fail(error, PLIM_INVALID, what, text);
    while (isspace((unsigned char)*end)) end++;
    double factor = factor_of(end);
    if (factor == 0)
        return plim__fail(error, PLIM_INVALID,
                          "'%s' has an unknown unit '%s'; use B, KiB, MiB, GiB, TiB or KB, MB, GB, TB", text, end);
    errno = 0;
    *bytes = strtoull(text, &end, 10); /* doubles would lose the last digits */
    if (factor == 1 && !errno && !strchr(".eE", *end ? *end : ' ')) return PLIM_OK;
    if (number * factor >= 18446744073709551616.0)
        return plim__fail(error, PLIM_OVERFLOW, "'%s' is more bytes than fit in 64 bits", text);
    *bytes = (uint64_t)(number * factor);
    return PLIM_OK;
}

const char *plim_bytes_format(uint64_t bytes, char buffer[PLIM_BYTES_TEXT]) {
    if (!buffer) return NULL;
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    /* 1023.95 and above would print as 1024.0 of the smaller unit */
    while (value >= (unit ? 1023.95 : 1024.0) && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(buffer, PLIM_BYTES_TEXT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return buffer;
}

const char *plim_bytes_group(uint64_t bytes, char buffer[PLIM_BYTES_TEXT]) {
    if (!buffer) return NULL;
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)bytes);
    char *at = buffer;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0) *at++ = ',';
        *at++ = digits[i];
    }
    *at = 0;
    return buffer;
}
