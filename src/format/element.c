/* Names and sizes of element types. */
#include "format/element.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "plimsoll/dtype.h"

#define TRAINS(number)                                                                                                 \
    ((number) == PLIM_F32 || (number) == PLIM_F16 || (number) == PLIM_F64 || (number) == PLIM_BF16 ||                  \
     (number) == PLIM_C64 || (number) == PLIM_C128 || ((number) >= PLIM_F8E4M3FN && (number) <= PLIM_F8E5M2FNUZ))

static const plim__element onnx[PLIM_DTYPE_COUNT] = {
#define ROW(name, number, bits, word) [number] = {word, bits, TRAINS(number), NULL},
    PLIM_DTYPE_LIST(ROW)
#undef ROW
};

static const char one_a_byte[] = "PyTorch stores this type one element to a byte";
static const char packed_storage[] =
    "this is PyTorch's nbytes, one byte an element; its storage packs several into one";

/* What ONNX's numbering (as of the core's table) lacks. */
static const plim__element others[] = {
    {"complex32", 32, true, NULL},
    {"float8_e8m0fnu", 8, true, NULL},
    {"float6_e2m3", 6, false, NULL},
    {"float6_e3m2", 6, false, NULL},
    {"float4_e2m1fn_x2", 8, false, "an element is a pair of 4-bit floats in one byte"},
    {"uint2", 2, false, NULL},
    {"int2", 2, false, NULL},
    {"qint8", 8, false, NULL},
    {"quint8", 8, false, NULL},
    {"qint16", 16, false, NULL},
    {"quint16", 16, false, NULL},
    {"qint32", 32, false, NULL},
    {"quint4x2", 8, false, packed_storage},
    {"quint2x4", 8, false, packed_storage},
    {"bits8", 8, false, NULL},
    {"bits16", 16, false, NULL},
    {"bits1x8", 8, false, NULL},
    {"bits2x4", 8, false, NULL},
    {"bits4x2", 8, false, NULL},
};

static const struct {
    const char *alias, *name;
} aliases[] = {
    {"chalf", "complex32"},
    {"c32", "complex32"},
    {"float8e8m0", "float8_e8m0fnu"},
    {"float8_e8m0", "float8_e8m0fnu"},
    {"f8_e8m0", "float8_e8m0fnu"},
    {"f6_e2m3", "float6_e2m3"},
    {"f6_e3m2", "float6_e3m2"},
    {"u2", "uint2"},
    {"float4e2m1", "float4_e2m1"},
    {"float8_e4m3", "float8_e4m3fn"},
    {"str_", "string"},
    {"object", "string"},
    {"complex", "complex64"},
};

/* torch.int1 ... torch.int7 and their unsigned sisters. */
static const plim__element shells[] = {
    {"int1", 8, false, one_a_byte},  {"int2", 8, false, one_a_byte},  {"int3", 8, false, one_a_byte},
    {"int4", 8, false, one_a_byte},  {"int5", 8, false, one_a_byte},  {"int6", 8, false, one_a_byte},
    {"int7", 8, false, one_a_byte},  {"uint1", 8, false, one_a_byte}, {"uint2", 8, false, one_a_byte},
    {"uint3", 8, false, one_a_byte}, {"uint4", 8, false, one_a_byte}, {"uint5", 8, false, one_a_byte},
    {"uint6", 8, false, one_a_byte}, {"uint7", 8, false, one_a_byte},
};

static const plim__element *find_in(const plim__element *table, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (table[i].name && strcasecmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

#define FIND_IN(table, name) find_in((table), sizeof(table) / sizeof *(table), (name))

const plim__element *plim__element_find(const char *name) {
    const plim__element *found = NULL;
    if (strncasecmp(name, "torch.", 6) == 0) found = FIND_IN(shells, name + 6);
    if (found) return found;
    plim_dtype dtype = plim_dtype_from_name(name);
    if (dtype != PLIM_DTYPE_NONE) return &onnx[dtype];
    static const char *const prefixes[] = {"torch.", "numpy.", "np.", "tf.", "jnp.", "DT_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncasecmp(name, prefixes[i], strlen(prefixes[i])) == 0) name += strlen(prefixes[i]);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcasecmp(aliases[i].alias, name) == 0) name = aliases[i].name;
    if ((found = FIND_IN(onnx, name)) || (found = FIND_IN(others, name))) return found;
    return FIND_IN(shells, name);
}

const plim__element *plim__element_opaque(void) {
    static const plim__element bytes = {"other", 8, false, NULL};
    return &bytes;
}

bool plim__element_bytes(const plim__element *element, uint64_t elements, uint64_t *bytes) {
    uint64_t bits;
    if (element->bits % 8 == 0) return !__builtin_mul_overflow(elements, (uint64_t)element->bits / 8, bytes);
    if (__builtin_mul_overflow(elements, (uint64_t)element->bits, &bits) || bits > UINT64_MAX - 7) return false;
    *bytes = (bits + 7) / 8;
    return true;
}

bool plim__element_count(int rank, const int64_t *dims, uint64_t *elements) {
    *elements = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) return false;
        empty = empty || dims[i] == 0;
    }
    for (int i = 0; i < rank && !empty; i++)
        if (__builtin_mul_overflow(*elements, (uint64_t)dims[i], elements)) return false;
    if (empty) *elements = 0;
    return true;
}
