/* Taking numbers and words out of cleaned log text. */
#include "diagnose/text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "plimsoll/dtype.h"

plim_amount plim__exact(uint64_t bytes) { return (plim_amount){.known = 1, .exact = 1, .bytes = bytes}; }

/* What does not fit 63 bits is not a size (WSL2 prints 2^64 for "unknown"). */
plim_amount plim__rounded(double bytes) {
    if (!(bytes >= 0) || bytes >= 9.2e18) return (plim_amount){0};
    return (plim_amount){.known = 1, .exact = 0, .bytes = (uint64_t)llround(bytes)};
}

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }
static bool digit(char c) { return c >= '0' && c <= '9'; }
static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

void plim__skip_blank(plim__text *text) {
    while (text->at < text->end) {
        if (blank(*text->at))
            text->at++;
        else if (*text->at == '\\' && text->end - text->at > 1 && strchr("ntr", text->at[1]))
            text->at += 2;
        else
            break;
    }
}

/* --- numbers -------------------------------------------------------------------------------------------------- */

/* A comma with exactly three digits behind it. */
static bool is_thousands(const char *at, const char *end) {
    return *at == ',' && end - at > 3 && digit(at[1]) && digit(at[2]) && digit(at[3]) &&
           !(end - at > 4 && digit(at[4]));
}

static bool take_integer(plim__text *text, uint64_t *value, bool *overflow) {
    const char *at = text->at;
    if (at >= text->end || !digit(*at)) return false;
    uint64_t sum = 0;
    *overflow = false;
    for (; at < text->end; at++) {
        if (is_thousands(at, text->end)) continue;
        if (!digit(*at)) break;
        if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) || __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
            *overflow = true;
    }
    text->at = at;
    *value = sum;
    return true;
}

/* "14", "14.57", "201.", "1,234.5": digits with one point, thousands commas allowed. */
static bool take_decimal(plim__text *text, double *value) {
    const char *at = text->at;
    if (at >= text->end || !digit(*at)) return false;
    double sum = 0, scale = 1;
    for (; at < text->end; at++) {
        if (is_thousands(at, text->end)) continue;
        if (!digit(*at)) break;
        sum = sum * 10 + (*at - '0');
    }
    if (at < text->end && *at == '.') {
        const char *point = at++;
        for (; at < text->end && digit(*at); at++) sum += (*at - '0') * (scale /= 10);
        if (at == point + 1 && at < text->end && !blank(*at)) at = point; /* a full stop, not a decimal point */
    }
    text->at = at;
    *value = sum;
    return true;
}

static bool take_unit_word(plim__text *text, double *factor) {
    static const struct {
        const char *word;
        double factor;
    } words[] = {{"byte", 1}, {"kilobyte", 1024.0}, {"megabyte", 1048576.0}, {"gigabyte", 1073741824.0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word), left = (size_t)(text->end - text->at);
        if (left < length || strncasecmp(text->at, words[i].word, length) != 0) continue;
        text->at += left > length && lower(text->at[length]) == 's' ? length + 1 : length;
        *factor = words[i].factor;
        return true;
    }
    return false;
}

/* B, bytes, K, KB, KiB, Ki, kb ... E, megabytes; every unit is a power of 1024. A small letter alone must stand right
 * behind its number ("64g"): "5 m" is no size. */
static bool take_unit(plim__text *text, double *factor) {
    static const char prefixes[] = "KMGTPE";
    plim__text t = *text;
    plim__skip_blank(&t);
    if (t.at >= t.end) return false;
    bool apart = t.at > text->at;
    if (take_unit_word(&t, factor)) return *text = t, true;
    const char *found = strchr(prefixes, *t.at >= 'a' && *t.at <= 'z' ? *t.at - 32 : *t.at);
    bool small = *t.at >= 'a' && *t.at <= 'z' && *t.at != 'k';
    if (*t.at && found) {
        *factor = pow(1024, (double)(found - prefixes + 1));
        t.at++;
        if (t.end - t.at > 2 && *t.at == '\n' && memcmp(t.at + 1, "iB", 2) == 0) t.at++; /* wrapped in the unit */
        bool binary = t.at < t.end && lower(*t.at) == 'i';
        if (binary) t.at++;
        if (binary && t.end - t.at > 1 && *t.at == '\n' && t.at[1] == 'B') t.at++;
        bool bytes = t.at < t.end && (*t.at == 'B' || (*t.at == 'b' && (binary || !small || t.at > text->at)));
        if (bytes && *t.at == 'b' && t.end - t.at > 2 && strncasecmp(t.at, "bit", 3) == 0) return false;
        if (bytes) t.at++;
        if (bytes && t.at < t.end && lower(*t.at) == 's') t.at++;
        if (!bytes && t.at < t.end && letter(*t.at)) return false; /* "5 Maybe" */
        if (!bytes && !binary && small && apart) return false;
        if (bytes && t.at < t.end && letter(*t.at) && small) return false;
        return *text = t, true;
    }
    if (*t.at == 'B' && !(t.end - t.at > 1 && letter(t.at[1]))) {
        t.at++;
        *factor = 1;
        return *text = t, true;
    }
    return false;
}

/* A number that a hard wrap cut in two, "14.7\n6 GiB" for 14.76: a size needs its unit, so that what has none before
 * the line end and one behind it is one number. The cursor stands behind the first part, and then behind the second. */
static bool take_wrapped(const char *start, plim__text *t, double *value) {
    char whole[48];
    size_t first = (size_t)(t->at - start), length = first;
    const char *at = t->at;
    if (at < t->end && *at == '\n' && first < 24) {
        memcpy(whole, start, first);
        for (at++; at < t->end && (digit(*at) || *at == '.') && length + 1 < sizeof whole; at++) whole[length++] = *at;
    }
    if (length == first) return false; /* which may be longer than what is joined */
    plim__text joined = {whole, whole + length};
    if (!take_decimal(&joined, value) || joined.at != joined.end) return false;
    t->at = at;
    return true;
}

static bool take_size(plim__text *text, plim_amount *amount) {
    plim__text t = *text;
    double value, factor;
    if (!take_decimal(&t, &value)) return false;
    if (!take_unit(&t, &factor) && (!take_wrapped(text->at, &t, &value) || !take_unit(&t, &factor))) return false;
    *amount = plim__rounded(value * factor);
    *text = t;
    return true;
}

/* "20971\n520 bytes": the word behind the second part tells that both are one number. */
static void take_wrapped_bytes(plim__text *t, uint64_t *value, bool *overflow) {
    plim__text rest = {t->at + 1, t->end};
    if (t->end - t->at < 2 || *t->at != '\n') return;
    uint64_t tail, shift = 1;
    bool long_tail;
    const char *from = rest.at;
    if (!take_integer(&rest, &tail, &long_tail) || long_tail || rest.at - from > 18) return;
    plim__text word = rest;
    plim__skip_blank(&word);
    if (word.end - word.at < 4 || strncasecmp(word.at, "byte", 4) != 0) return;
    for (; from < rest.at; from++) shift *= 10;
    if (__builtin_mul_overflow(*value, shift, value) || __builtin_add_overflow(*value, tail, value)) *overflow = true;
    *t = rest;
}

/* Whether the integer before the cursor is whole: neither the text nor the integer may end in the middle of it. */
static bool ends_number(plim__text t) { return t.at < t.end && *t.at != '.' && !digit(*t.at); }

/* A hard wrap inside a word: the line end goes when the letter behind it is the one that is looked for. */
void plim__step_over_wrap(plim__text *t, char wanted) {
    if (t->end - t->at > 1 && *t->at == '\n' && lower(t->at[1]) == lower(wanted) && letter(wanted)) t->at++;
}

/* --- patterns ------------------------------------------------------------------------------------------------- */

/* A va_list in a box, so that a helper can take arguments and its caller can go on with the next. */
typedef struct arguments {
    va_list list;
} arguments;

static bool take_directive(plim__text *t, char directive, arguments *args) {
    uint64_t integer;
    double decimal;
    bool overflow;
    switch (directive) {
    case 'S': return take_size(t, va_arg(args->list, plim_amount *));
    case 'n': {
        plim_amount *amount = va_arg(args->list, plim_amount *);
        bool minus = t->at < t->end && *t->at == '-';
        if (minus) t->at++;
        if (!take_integer(t, &integer, &overflow)) return false;
        take_wrapped_bytes(t, &integer, &overflow);
        *amount = minus || overflow || integer > INT64_MAX ? (plim_amount){0} : plim__exact(integer);
        return true;
    }
    case 'N': {
        plim_amount *amount = va_arg(args->list, plim_amount *);
        return take_size(t, amount) ||
               (take_integer(t, &integer, &overflow) && ends_number(*t) &&
                (*amount = overflow || integer > INT64_MAX ? (plim_amount){0} : plim__exact(integer), true));
    }
    case 'g':
    case 'm': {
        plim_amount *amount = va_arg(args->list, plim_amount *);
        if (!take_decimal(t, &decimal)) return false;
        *amount = plim__rounded(decimal * (directive == 'g' ? 1073741824.0 : 1048576.0));
        return true;
    }
    case 'i': {
        int64_t *index = va_arg(args->list, int64_t *);
        if (!take_integer(t, &integer, &overflow) || overflow || integer > INT64_MAX) return false;
        *index = (int64_t)integer;
        return true;
    }
    case 'f': return take_decimal(t, &decimal);
    case 'w': {
        const char *start = t->at;
        while (t->at < t->end && !blank(*t->at)) t->at++;
        return t->at > start;
    }
    case '%':
        if (t->at >= t->end || *t->at != '%') return false;
        t->at++;
        return true;
    default: return false;
    }
}

static bool take_list(plim__text *text, const char *pattern, arguments *args) {
    plim__text t = *text;
    for (const char *p = pattern; *p; p++) {
        if (*p == ' ') {
            plim__skip_blank(&t);
        } else if (*p == '%') {
            if (!take_directive(&t, *++p, args)) return false;
        } else {
            plim__step_over_wrap(&t, *p);
            if (t.at >= t.end || lower(*t.at) != lower(*p)) return false;
            t.at++;
            if (*p == '-') plim__skip_blank(&t);
        }
    }
    *text = t;
    return true;
}

bool plim__take(plim__text *text, const char *pattern, ...) {
    arguments args;
    va_start(args.list, pattern);
    bool taken = take_list(text, pattern, &args);
    va_end(args.list);
    return taken;
}

bool plim__seek(plim__text *text, size_t reach, const char *pattern, ...) {
    size_t left = (size_t)(text->end - text->at);
    if (reach > left) reach = left;
    char first = *pattern == '%' || *pattern == ' ' ? 0 : lower(*pattern);
    for (size_t i = 0; i < reach; i++) {
        plim__text t = {text->at + i, text->end};
        if (first && lower(*t.at) != first) continue;
        /* a number is taken from its first digit */
        if (*pattern == '%' && i > 0 && (digit(t.at[-1]) || t.at[-1] == '.')) continue;
        arguments args;
        va_start(args.list, pattern);
        bool taken = take_list(&t, pattern, &args);
        va_end(args.list);
        if (taken) return *text = t, true;
    }
    return false;
}

/* Literals may hold percent signs and no directives. */
static bool take_literal(plim__text *text, const char *literal) {
    plim__text t = *text;
    for (const char *p = literal; *p; p++) {
        if (*p == ' ') {
            plim__skip_blank(&t);
            continue;
        }
        plim__step_over_wrap(&t, *p);
        if (t.at >= t.end || lower(*t.at) != lower(*p)) return false;
        t.at++;
        if (*p == '-') plim__skip_blank(&t);
    }
    *text = t;
    return true;
}

bool plim__has(plim__text text, size_t reach, const char *literal) {
    size_t left = (size_t)(text.end - text.at);
    if (reach > left) reach = left;
    if (!reach) return false; /* no text at all, perhaps */
    char small = lower(*literal), large = letter(small) ? (char)(small - 32) : small;
    for (const char *at = text.at, *stop = at + reach; at < stop; at++) {
        if (*at != small && *at != large) continue;
        if (take_literal(&(plim__text){at, text.end}, literal)) return true;
    }
    return false;
}

bool plim__has_before(const char *begin, const char *at, size_t reach, const char *literal) {
    if ((size_t)(at - begin) < reach) reach = (size_t)(at - begin);
    if (!reach) return false;
    plim__text text = {at - reach, at};
    return plim__has(text, reach, literal);
}

/* --- shapes and types ----------------------------------------------------------------------------------------- */

int plim__take_dims(plim__text *text, char close, int64_t shape[PLIM_EXPLANATION_DIMS]) {
    plim__text t = *text;
    int rank = 0;
    for (;;) {
        plim__skip_blank(&t);
        if (t.at < t.end && *t.at == close) break;
        uint64_t value;
        bool overflow = false, minus = t.at < t.end && *t.at == '-';
        if (minus) t.at++;
        const char *at = t.at;
        value = 0;
        /* between two dimensions stands a comma: what a line end cuts is one number */
        for (; at < t.end && (digit(*at) || (*at == '\n' && at > t.at && t.end - at > 1 && digit(at[1]))); at++)
            if (*at != '\n' && (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
                                __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)))
                overflow = true;
        if (at == t.at || overflow || value > INT64_MAX || rank == PLIM_EXPLANATION_DIMS) return -1;
        t.at = at;
        shape[rank++] = minus ? -(int64_t)value : (int64_t)value;
        plim__skip_blank(&t);
        if (t.at < t.end && *t.at == ',')
            t.at++;
        else if (t.at >= t.end || *t.at != close)
            return -1;
    }
    t.at++;
    *text = t;
    return rank;
}

void plim__take_word(plim__text *text, char *word, size_t size) {
    size_t length = 0;
    while (text->at < text->end && (isalnum((unsigned char)*text->at) || *text->at == '_')) {
        if (length + 1 < size) word[length++] = *text->at;
        text->at++;
    }
    word[length] = 0;
}

bool plim__dtype_word(const char *name, char *numpy, size_t size) {
    static const struct {
        const char *from, *to;
    } words[] = {
        {"float", "float32"},
        {"double", "float64"},
        {"half", "float16"},
        {"bfloat16", "bfloat16"},
        {"f64", "float64"},
        {"f32", "float32"},
        {"f16", "float16"},
        {"bf16", "bfloat16"},
        {"s64", "int64"},
        {"s32", "int32"},
        {"s16", "int16"},
        {"s8", "int8"},
        {"u64", "uint64"},
        {"u32", "uint32"},
        {"u16", "uint16"},
        {"u8", "uint8"},
        {"pred", "bool"},
        {"c64", "complex64"},
        {"c128", "complex128"},
        {"s4", "int4"},
        {"u4", "uint4"},
        {"string", "string"},
        {"resource", "resource"},
        {"variant", "variant"},
        {"f8e4m3fn", "float8_e4m3fn"},
        {"f8e5m2", "float8_e5m2"},
        {"object", "object"},
        {"qint8", "int8"},
        {"quint8", "uint8"},
        {"qint32", "int32"},
    };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words && !found; i++)
        if (strcasecmp(name, words[i].from) == 0) found = words[i].to;
    if (!found) {
        plim_dtype dtype = plim_dtype_from_name(name);
        if (dtype != PLIM_DTYPE_NONE) found = plim_dtype_name(dtype);
    }
    if (!found) return false;
    snprintf(numpy, size, "%s", found);
    return true;
}

uint64_t plim__dtype_item(const char *numpy) {
    plim_dtype dtype = plim_dtype_from_name(numpy);
    int bits = dtype == PLIM_DTYPE_NONE ? 0 : plim_dtype_bits(dtype);
    if (bits >= 8) return (uint64_t)bits / 8;
    if (strcmp(numpy, "object") == 0) return 8;
    if (strncmp(numpy, "datetime64", 10) == 0 || strncmp(numpy, "timedelta64", 11) == 0) return 8;
    if (strcmp(numpy, "float128") == 0 || strcmp(numpy, "longdouble") == 0) return 16;
    if (strcmp(numpy, "complex256") == 0) return 32;
    if ((numpy[0] == '<' || numpy[0] == '|' || numpy[0] == '>') && (numpy[1] == 'U' || numpy[1] == 'S')) {
        unsigned length = 0;
        if (sscanf(numpy + 2, "%9u", &length) == 1) return (uint64_t)length * (numpy[1] == 'U' ? 4 : 1);
    }
    return 0;
}

bool plim__dims_bytes(const int64_t *shape, int rank, uint64_t item, uint64_t *bytes) {
    uint64_t product = item;
    if (item == 0 || rank < 0) return false;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(product, (uint64_t)shape[i], &product)) return false;
    if (product > INT64_MAX) return false;
    *bytes = product;
    return true;
}
