/* The text inside an .npy header: a Python dict literal with three keys, read by a cursor that never reads
 * past the end and understands exactly the literals that NumPy writes (all versions, Python 2's long too). */
#include "format/npy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

typedef struct cursor {
    const char *at, *end;
} cursor;

static plim_status malformed(plim_error *error, const char *what) {
    return plim__fail(error, PLIM_CORRUPT, "the .npy header is malformed: %s", what);
}

static void skip_space(cursor *text) {
    while (text->at < text->end && isspace((unsigned char)*text->at)) text->at++;
}

/* The next character that is not white space, 0 at the end. */
static char peek(cursor *text) {
    skip_space(text);
    return text->at < text->end ? *text->at : 0;
}

static bool take(cursor *text, char wanted) {
    if (peek(text) != wanted) return false;
    text->at++;
    return true;
}

static bool take_word(cursor *text, const char *word) {
    size_t length = strlen(word);
    skip_space(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0) return false;
    text->at += length;
    return true;
}

/* A quoted string without escapes, which NumPy's keys and type strings never have. */
static bool take_string(cursor *text, char *into, size_t capacity) {
    char quote = peek(text);
    if (quote != '\'' && quote != '"') return false;
    const char *start = ++text->at;
    const char *close = memchr(start, quote, (size_t)(text->end - start));
    if (!close || (size_t)(close - start) >= capacity) return false;
    memcpy(into, start, (size_t)(close - start));
    into[close - start] = 0;
    text->at = close + 1;
    return true;
}

static bool take_dimension(cursor *text, int64_t *value) {
    if (!isdigit((unsigned char)peek(text))) return false;
    *value = 0;
    for (; text->at < text->end && isdigit((unsigned char)*text->at); text->at++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *text->at - '0', value))
            return false;
    if (text->at < text->end && *text->at == 'L') text->at++; /* Python 2 */
    return true;
}

static plim_status take_shape(cursor *text, plim__npy_header *header, plim_error *error) {
    if (!take(text, '(')) return malformed(error, "the shape is not a tuple");
    header->rank = 0;
    while (!take(text, ')')) {
        if (header->rank == PLIM__NPY_MAX_RANK)
            return plim__fail(error, PLIM_UNSUPPORTED, "the array has more than %d dimensions", PLIM__NPY_MAX_RANK);
        if (!take_dimension(text, &header->dims[header->rank])) return malformed(error, "a dimension is not a number");
        header->rank++;
        if (!take(text, ',') && peek(text) != ')') return malformed(error, "the shape does not end");
    }
    return PLIM_OK;
}

static plim_dtype number_type(char kind, size_t bytes) {
    static const struct {
        char kind;
        unsigned char bytes;
        plim_dtype dtype;
    } types[] = {
        {'b', 1, PLIM_BOOL}, {'i', 1, PLIM_I8},  {'i', 2, PLIM_I16}, {'i', 4, PLIM_I32},   {'i', 8, PLIM_I64},
        {'u', 1, PLIM_U8},   {'u', 2, PLIM_U16}, {'u', 4, PLIM_U32}, {'u', 8, PLIM_U64},   {'f', 2, PLIM_F16},
        {'f', 4, PLIM_F32},  {'f', 8, PLIM_F64}, {'c', 8, PLIM_C64}, {'c', 16, PLIM_C128},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == kind && types[i].bytes == bytes) return types[i].dtype;
    return PLIM_DTYPE_NONE;
}

/* '<f4': byte order, kind, bytes; dates add their unit: '<M8[ns]'. */
static plim_status read_type(const char *descr, plim__npy_header *header, plim_error *error) {
    char order = strchr("<>|=", *descr) && *descr ? *descr++ : '=';
    char kind = *descr ? *descr++ : 0;
    size_t bytes = 0;
    int digits = 0;
    for (; isdigit((unsigned char)*descr) && digits < 9; descr++, digits++) bytes = bytes * 10 + (size_t)(*descr - '0');
    if (kind == 'O')
        return plim__fail(error, PLIM_UNSUPPORTED, "the array holds Python objects (a pickle), not numbers");
    bool dated = (kind == 'M' || kind == 'm') && *descr == '[';
    if (!kind || !strchr("biufcSaUVMm", kind) || !digits || (*descr && !dated))
        return malformed(error, "the element type is unknown");
    if (kind == 'U') bytes *= 4;
    bool big_host = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    header->kind = kind == 'a' ? 'S' : kind;
    header->item_bytes = bytes;
    header->dtype = number_type(kind, bytes);
    header->swapped = bytes > 1 && ((order == '>' && !big_host) || (order == '<' && big_host));
    return PLIM_OK;
}

static plim_status take_type(cursor *text, plim__npy_header *header, plim_error *error) {
    char descr[64];
    if (peek(text) == '[')
        return plim__fail(error, PLIM_UNSUPPORTED, "the array holds records (a structured dtype), not one type");
    if (!take_string(text, descr, sizeof descr)) return malformed(error, "the element type is not a string");
    return read_type(descr, header, error);
}

static plim_status count_elements(plim__npy_header *header, plim_error *error) {
    header->elements = 1;
    for (int i = 0; i < header->rank; i++)
        if (header->dims[i] == 0) {
            header->elements = 0;
            header->bytes = 0;
            return PLIM_OK;
        }
    for (int i = 0; i < header->rank; i++)
        if (__builtin_mul_overflow(header->elements, header->dims[i], &header->elements))
            return plim__fail(error, PLIM_OVERFLOW, "the array has more elements than 64 bits can count");
    if (__builtin_mul_overflow((size_t)header->elements, header->item_bytes, &header->bytes) ||
        header->bytes > SIZE_MAX / 2)
        return plim__fail(error, PLIM_OVERFLOW, "the array has more bytes than this machine can address");
    return PLIM_OK;
}

static plim_status take_entry(cursor *text, plim__npy_header *header, unsigned *seen, plim_error *error) {
    char key[32];
    if (!take_string(text, key, sizeof key) || !take(text, ':')) return malformed(error, "a key is not a string");
    if (strcmp(key, "descr") == 0) {
        *seen |= 1;
        return take_type(text, header, error);
    }
    if (strcmp(key, "shape") == 0) {
        *seen |= 2;
        return take_shape(text, header, error);
    }
    if (strcmp(key, "fortran_order") != 0) return malformed(error, "it has a key that NumPy does not write");
    *seen |= 4;
    if (take_word(text, "True"))
        header->fortran = true;
    else if (take_word(text, "False"))
        header->fortran = false;
    else
        return malformed(error, "fortran_order is neither True nor False");
    return PLIM_OK;
}

plim_status plim__npy_parse_prefix(const unsigned char prefix[PLIM__NPY_PREFIX], size_t *data_offset,
                                   plim_error *error) {
    if (memcmp(prefix, "\x93NUMPY", 6) != 0) return plim__fail(error, PLIM_CORRUPT, "this is not an .npy file");
    if (prefix[6] < 1 || prefix[6] > 3)
        return plim__fail(error, PLIM_UNSUPPORTED, ".npy version %d.%d is not known", prefix[6], prefix[7]);
    size_t length = prefix[8] | (size_t)prefix[9] << 8;
    if (prefix[6] > 1) length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    if (length > PLIM__NPY_MAX_HEADER)
        return plim__fail(error, PLIM_CORRUPT, "the .npy header claims %zu bytes; at most %d are read", length,
                          PLIM__NPY_MAX_HEADER);
    *data_offset = length + (prefix[6] > 1 ? 12 : 10);
    return PLIM_OK;
}

plim_status plim__npy_parse_header(const char *bytes, size_t size, plim__npy_header *header, plim_error *error) {
    *header = (plim__npy_header){0};
    size_t expected;
    if (size < PLIM__NPY_PREFIX) return malformed(error, "it is too short");
    PLIM_TRY(plim__npy_parse_prefix((const unsigned char *)bytes, &expected, error));
    if (expected != size) return malformed(error, "it is too short");
    cursor text = {bytes + (bytes[6] > 1 ? 12 : 10), bytes + size};
    unsigned seen = 0;
    if (!take(&text, '{')) return malformed(error, "it is not a dict");
    while (!take(&text, '}')) {
        PLIM_TRY(take_entry(&text, header, &seen, error));
        if (!take(&text, ',') && peek(&text) != '}') return malformed(error, "the dict does not end");
    }
    if (seen != 7) return malformed(error, "descr, shape or fortran_order is missing");
    if (peek(&text)) return malformed(error, "something follows the dict");
    header->data_offset = size;
    return count_elements(header, error);
}
