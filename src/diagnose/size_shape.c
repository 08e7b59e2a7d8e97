/* A tensor's bytes from the text of its shape. The notations differ only in brackets and separators, so one small
 * reader takes them all: an opening bracket, dimensions with something between them, a closing bracket. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/arguments.h"
#include "format/element.h"
#include "plimsoll/size.h"

typedef struct cursor {
    const char *whole, *at;
    int64_t batch;
} cursor;

static plim_status nonsense(const cursor *text, plim_error *error) {
    return plim__fail(error, PLIM_INVALID,
                      "'%.200s' is neither a file nor a shape; write a shape like 32x3x224x224 or [32, 3, 224, 224]",
                      text->whole);
}

static void skip_space(cursor *text) {
    while (isspace((unsigned char)*text->at)) text->at++;
}

static plim_status take_number(cursor *text, int64_t *dim, plim_error *error) {
    *dim = 0;
    for (; isdigit((unsigned char)*text->at) || *text->at == '_'; text->at++)
        if (*text->at != '_' &&
            (__builtin_mul_overflow(*dim, 10, dim) || __builtin_add_overflow(*dim, *text->at - '0', dim)))
            return plim__fail(error, PLIM_OVERFLOW, "'%.200s': a dimension does not fit in 64 bits", text->whole);
    return PLIM_OK;
}

/* "N", "batch_size", "?", "None", "-1": stands for the batch. An x right after a letter is part of the name, as in
 * "max", but "Nx3" is N by 3. */
static bool take_symbol(cursor *text) {
    const char *at = text->at;
    if (*at == '?') {
        at++;
    } else if (at[0] == '-' && at[1] == '1' && !isdigit((unsigned char)at[2])) {
        at += 2;
    } else {
        while (isalpha((unsigned char)*at) || *at == '_') {
            bool times = (*at == 'x' || *at == 'X') && isdigit((unsigned char)at[1]);
            if (times) break;
            at++;
        }
    }
    bool taken = at != text->at;
    text->at = at;
    return taken;
}

static plim_status take_dimension(cursor *text, int64_t *dim, plim_error *error) {
    if (isdigit((unsigned char)*text->at)) return take_number(text, dim, error);
    const char *start = text->at;
    if (start[0] == '-' && isdigit((unsigned char)start[1]) && !(start[1] == '1' && !isdigit((unsigned char)start[2])))
        return plim__fail(error, PLIM_INVALID, "'%.200s': a dimension is negative", text->whole);
    if (!take_symbol(text)) return nonsense(text, error);
    if (text->batch <= 0)
        return plim__fail(error, PLIM_INVALID, "'%.200s': what is '%.*s'? Say it with --batch", text->whole,
                          (int)(text->at - start), start);
    *dim = text->batch;
    return PLIM_OK;
}

/* Something between two dimensions: a comma, an x, a star, a multiplication sign, or only space. */
static bool take_separator(cursor *text) {
    const char *start = text->at;
    skip_space(text);
    if (*text->at == ',' || *text->at == 'x' || *text->at == 'X' || *text->at == '*')
        text->at++;
    else if (strncmp(text->at, "×", strlen("×")) == 0)
        text->at += strlen("×");
    skip_space(text);
    return text->at != start;
}

static plim_status take_dimensions(cursor *text, char close, plim_tensor_size *size, plim_error *error) {
    size->rank = 0;
    skip_space(text);
    if (!close && !strpbrk(text->at, "0123456789?")) return nonsense(text, error); /* a lone word is no shape */
    while (*text->at && *text->at != close) {
        if (size->rank == PLIM_SIZE_MAX_RANK)
            return plim__fail(error, PLIM_INVALID, "'%.200s' has more than %d dimensions", text->whole,
                              PLIM_SIZE_MAX_RANK);
        PLIM_TRY(take_dimension(text, &size->dims[size->rank++], error));
        if (!take_separator(text) && *text->at != close) return nonsense(text, error);
    }
    if (close && *text->at++ != close) return nonsense(text, error);
    if (!close && size->rank == 0) return nonsense(text, error);
    return PLIM_OK;
}

/* What stands before a bracket: nothing, a type ("f32[2,3]"), or a constructor ("torch.Size([2, 3])"). */
static plim_status take_head(cursor *text, char *dtype, size_t capacity, int *wrappers, plim_error *error) {
    size_t length = strcspn(text->at, "[({");
    *wrappers = 0;
    dtype[0] = 0;
    if (!text->at[length] || length == 0) return PLIM_OK;
    if (length >= capacity) return nonsense(text, error);
    snprintf(dtype, capacity, "%.*s", (int)length, text->at);
    text->at += length;
    if (plim__element_find(dtype)) return PLIM_OK;
    bool constructor = strcasecmp(dtype, "torch.Size") == 0 || strcasecmp(dtype, "Size") == 0 ||
                       strcasecmp(dtype, "TensorShape") == 0 || strcasecmp(dtype, "tf.TensorShape") == 0;
    dtype[0] = 0;
    if (!constructor || *text->at != '(') return nonsense(text, error);
    text->at++;
    *wrappers = 1;
    return PLIM_OK;
}

static plim_status read_shape(cursor *text, plim_tensor_size *size, char *dtype, size_t capacity, plim_error *error) {
    int wrappers;
    skip_space(text);
    PLIM_TRY(take_head(text, dtype, capacity, &wrappers, error));
    char open = *text->at, close = open == '[' ? ']' : open == '(' ? ')' : open == '{' ? '}' : 0;
    if (close) text->at++;
    PLIM_TRY(take_dimensions(text, close, size, error));
    for (; wrappers > 0; wrappers--)
        if (*text->at++ != ')') return nonsense(text, error);
    skip_space(text);
    return *text->at ? nonsense(text, error) : PLIM_OK;
}

plim_status plim_tensor_size_parse(const char *shape, const char *dtype, int64_t batch, plim_tensor_size *size,
                                   plim_error *error) {
    PLIM__NEED(size, error);
    *size = (plim_tensor_size){0};
    PLIM__NEED(shape, error);
    if (batch < 0) return plim__fail(error, PLIM_INVALID, "a batch of %lld", (long long)batch);
    cursor text = {shape, shape, batch};
    char own[PLIM_SIZE_NAME];
    PLIM_TRY(read_shape(&text, size, own, sizeof own, error));
    const char *name = dtype ? dtype : own[0] ? own : "float32";
    const plim__element *element = plim__element_find(name);
    if (!element)
        return plim__fail(error, PLIM_INVALID, "'%.60s' is not an element type; try float32, bfloat16, int8 or uint4",
                          name);
    if (element->bits == 0)
        return plim__fail(error, PLIM_UNSUPPORTED, "elements of type %s have no fixed size", element->name);
    snprintf(size->dtype, sizeof size->dtype, "%s", element->name);
    size->bits = (int)element->bits;
    size->note = element->note;
    if (!plim__element_count(size->rank, size->dims, &size->elements) ||
        !plim__element_bytes(element, size->elements, &size->bytes) || size->bytes > INT64_MAX ||
        size->elements > INT64_MAX)
        return plim__fail(error, PLIM_OVERFLOW, "'%.200s' of %s is more bytes than fit in 63 bits (8 EiB)", shape,
                          element->name);
    return PLIM_OK;
}
