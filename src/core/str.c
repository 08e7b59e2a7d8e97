/* The growable string. */
#include "core/str.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

static bool reserve(plim__str *str, size_t more) {
    if (str->failed || more > SIZE_MAX / 2 - str->length) return !(str->failed = true);
    size_t need = str->length + more + 1;
    if (need <= str->capacity) return true;
    size_t next = str->capacity ? str->capacity : 64;
    while (next < need) next *= 2;
    char *grown = plim__realloc(str->data, next, 1);
    if (!grown) return !(str->failed = true);
    str->data = grown;
    str->capacity = next;
    return true;
}

void plim__str_addn(plim__str *str, const char *text, size_t length) {
    if (!reserve(str, length)) return;
    if (length) memcpy(str->data + str->length, text, length);
    str->length += length;
    str->data[str->length] = 0;
}

void plim__str_add(plim__str *str, const char *text) { plim__str_addn(str, text, strlen(text)); }

void plim__str_addc(plim__str *str, char c) {
    if (!reserve(str, 1)) return;
    str->data[str->length++] = c;
    str->data[str->length] = 0;
}

void plim__str_vaddf(plim__str *str, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0 || !reserve(str, (size_t)length)) return;
    vsnprintf(str->data + str->length, (size_t)length + 1, format, args);
    str->length += (size_t)length;
}

void plim__str_addf(plim__str *str, const char *format, ...) {
    va_list args;
    va_start(args, format);
    plim__str_vaddf(str, format, args);
    va_end(args);
}

void plim__str_clear(plim__str *str) {
    str->length = 0;
    str->failed = false;
    if (str->data) str->data[0] = 0;
}

void plim__str_free(plim__str *str) {
    plim__free(str->data);
    *str = (plim__str){0};
}

const char *plim__str_text(const plim__str *str) { return str->data ? str->data : ""; }

/* How many letters have to be changed, added, left out or swapped to come from one word to the other. */
static int distance(const char *a, const char *b) {
    enum { MOST = 40 };
    int rows[3][MOST + 1], la = (int)strlen(a), lb = (int)strlen(b);
    if (la > MOST || lb > MOST) return MOST;
    for (int k = 0; k <= lb; k++) rows[0][k] = k;
    for (int i = 1; i <= la; i++) {
        int *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (int k = 1; k <= lb; k++) {
            int least = before[k - 1] + (a[i - 1] != b[k - 1]);
            if (before[k] + 1 < least) least = before[k] + 1;
            if (now[k - 1] + 1 < least) least = now[k - 1] + 1;
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] && earlier[k - 2] + 1 < least)
                least = earlier[k - 2] + 1;
            now[k] = least;
        }
    }
    return rows[la % 3][lb];
}

static bool begins_with(const char *text, const char *word) {
    return strlen(word) >= 3 && strncmp(word, text, strlen(word)) == 0;
}

/* A word that begins as it was typed counts before one that is as near. */
static int strangeness(const char *word, const char *other) {
    return 2 * distance(word, other) - begins_with(other, word);
}

const char *plim__str_nearest(const char *word, const char *best, const char *other) {
    int most = strlen(word) < 4 ? 1 : strlen(word) < 8 ? 2 : 3;
    if (distance(word, other) > most && !begins_with(other, word)) return best;
    return !best || strangeness(word, other) < strangeness(word, best) ? other : best;
}
