/* Decimal digits by one product or quotient with a power of ten.
 *
 * Powers up to 10^22 are doubles, so a value times or through one of them is off by half a unit in its last place at most: 1e-7 of
 * the last digit where there are nine digits. What lies nearer than that to the middle between two digits, and whatever is very
 * large, very small or no number, is left to printf; everything else is rounded here as it would be there. */
#include "core/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NEAR 1e-6 /* to the middle: ten times what a product may be off */

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static double scaled(double value, int power) { return power < 0 ? value / powers[-power] : value * powers[power]; }

/* False where the digits after the point do not tell in which direction. */
static bool rounded(double value, uint64_t *whole) {
    uint64_t below = (uint64_t)value;
    double rest = value - (double)below;
    if (fabs(rest - 0.5) < NEAR) return false;
    *whole = below + (rest > 0.5);
    return true;
}

/* `count` digits of a number, with zeros in front. */
static void put_digits(uint64_t number, int count, char *text) {
    while (count-- > 0) {
        text[count] = (char)('0' + number % 10);
        number /= 10;
    }
}

static int count_digits(uint64_t number) {
    int count = 1;
    while (number >= 10) number /= 10, count++;
    return count;
}

size_t plim__number_whole(int64_t value, char text[PLIM__NUMBER_TEXT]) {
    uint64_t number = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int count = count_digits(number), sign = value < 0;
    text[0] = '-';
    put_digits(number, count, text + sign);
    text[sign + count] = 0;
    return (size_t)(sign + count);
}

void plim__number_name(const char *word, int64_t value, char *text, size_t size) {
    char number[PLIM__NUMBER_TEXT];
    size_t before = strlen(word), length = plim__number_whole(value, number);
    if (size == 0) return;
    if (before > size - 1) before = size - 1;
    if (length > size - 1 - before) length = size - 1 - before;
    memcpy(text, word, before);
    memcpy(text + before, number, length);
    text[before + length] = 0;
}

size_t plim__number_fixed(double value, int places, char text[PLIM__NUMBER_TEXT]) {
    double size = fabs(value);
    uint64_t number;
    if (!(size < 1e9) || size * powers[places] >= 1e9 || !rounded(size * powers[places], &number))
        return (size_t)snprintf(text, PLIM__NUMBER_TEXT, "%.*f", places, value);
    uint64_t unit = (uint64_t)powers[places];
    char *end = text;
    if (signbit(value)) *end++ = '-';
    int count = count_digits(number / unit);
    put_digits(number / unit, count, end);
    end += count;
    if (places) {
        *end++ = '.';
        put_digits(number % unit, places, end);
        end += places;
    }
    *end = 0;
    return (size_t)(end - text);
}

/* The digits and the place of the first one: value is 0.d1d2d3... times 10 to the exponent + 1. */
static bool find_digits(double size, int digits, uint64_t *number, int *exponent) {
    int binary;
    frexp(size, &binary);
    *exponent = (int)floor((binary - 1) * 0.30102999566398120); /* log10(2): right, or one too small */
    double value = scaled(size, digits - 1 - *exponent);
    if (value >= powers[digits]) value = scaled(size, digits - 1 - ++*exponent);
    if (!rounded(value, number)) return false;
    if ((double)*number < powers[digits]) return true;
    *number /= 10; /* 9.9999999996 */
    ++*exponent;
    return true;
}

static char *put_exponent(int exponent, char *end) {
    int size = exponent < 0 ? -exponent : exponent; /* at most 13 */
    *end++ = 'e';
    *end++ = exponent < 0 ? '-' : '+';
    put_digits((uint64_t)size, 2, end);
    return end + 2;
}

size_t plim__number_general(double value, int digits, char text[PLIM__NUMBER_TEXT]) {
    char made[16], *end = text;
    uint64_t number;
    int exponent;
    double size = fabs(value);
    if (!(size >= 1e-12 && size < 1e12) || !find_digits(size, digits, &number, &exponent))
        return (size_t)snprintf(text, PLIM__NUMBER_TEXT, "%.*g", digits, value);
    put_digits(number, digits, made);
    int used = digits;
    while (used > 1 && made[used - 1] == '0') used--;
    if (signbit(value)) *end++ = '-';
    bool powered = exponent < -4 || exponent >= digits;
    int before = powered ? 1 : exponent + 1; /* digits before the point; negative: zeros behind it */
    if (before <= 0) {
        memcpy(end, "0.0000", (size_t)(2 - before));
        end += 2 - before;
        before = 0;
    }
    for (int i = 0; i < used || i < before; i++) {
        if (i == before && i > 0) *end++ = '.';
        *end++ = made[i];
    }
    if (powered) end = put_exponent(exponent, end);
    *end = 0;
    return (size_t)(end - text);
}
