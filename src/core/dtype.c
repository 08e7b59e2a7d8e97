/* Element types by name and size. */
#include "plimsoll/dtype.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int bits;
} dtypes[PLIM_DTYPE_COUNT] = {
#define ROW(name, number, bits, word) [number] = {word, bits},
    PLIM_DTYPE_LIST(ROW)
#undef ROW
};

/* What else people and file formats call them. Compared without case. */
static const struct {
    const char *alias;
    plim_dtype dtype;
} aliases[] = {
    {"float", PLIM_F32},
    {"f32", PLIM_F32},
    {"fp32", PLIM_F32},
    {"single", PLIM_F32},
    {"half", PLIM_F16},
    {"f16", PLIM_F16},
    {"fp16", PLIM_F16},
    {"double", PLIM_F64},
    {"f64", PLIM_F64},
    {"fp64", PLIM_F64},
    {"bf16", PLIM_BF16},
    {"u8", PLIM_U8},
    {"byte", PLIM_U8},
    {"i8", PLIM_I8},
    {"s8", PLIM_I8},
    {"char", PLIM_I8},
    {"u16", PLIM_U16},
    {"i16", PLIM_I16},
    {"s16", PLIM_I16},
    {"short", PLIM_I16},
    {"u32", PLIM_U32},
    {"i32", PLIM_I32},
    {"s32", PLIM_I32},
    {"int", PLIM_I32},
    {"u64", PLIM_U64},
    {"i64", PLIM_I64},
    {"s64", PLIM_I64},
    {"long", PLIM_I64},
    {"pred", PLIM_BOOL},
    {"bool_", PLIM_BOOL},
    {"boolean", PLIM_BOOL},
    {"c64", PLIM_C64},
    {"cfloat", PLIM_C64},
    {"c128", PLIM_C128},
    {"cdouble", PLIM_C128},
    {"f8_e4m3", PLIM_F8E4M3FN},
    {"f8_e5m2", PLIM_F8E5M2},
    {"f8e4m3fn", PLIM_F8E4M3FN},
    {"f8e5m2", PLIM_F8E5M2},
    {"float8e4m3fn", PLIM_F8E4M3FN},
    {"f8e4m3fnuz", PLIM_F8E4M3FNUZ},
    {"f8e5m2fnuz", PLIM_F8E5M2FNUZ},
    {"float8e4m3fnuz", PLIM_F8E4M3FNUZ},
    {"float8e5m2fnuz", PLIM_F8E5M2FNUZ},
    {"float8e5m2", PLIM_F8E5M2},
    {"i4", PLIM_I4},
    {"s4", PLIM_I4},
    {"u4", PLIM_U4},
    {"f4", PLIM_F4E2M1},
    {"float4_e2m1fn", PLIM_F4E2M1},
    {"str", PLIM_STRING},
};

const char *plim_dtype_name(plim_dtype dtype) {
    return (unsigned)dtype < PLIM_DTYPE_COUNT && dtypes[dtype].name ? dtypes[dtype].name : "none";
}

int plim_dtype_bits(plim_dtype dtype) { return (unsigned)dtype < PLIM_DTYPE_COUNT ? dtypes[dtype].bits : 0; }

int plim_dtype_bytes(plim_dtype dtype, int64_t elements, size_t *bytes) {
    size_t bits = (size_t)plim_dtype_bits(dtype), total;
    if (elements < 0 || bits == 0 || !bytes) return false;
    if (bits % 8 == 0) return !__builtin_mul_overflow((size_t)elements, bits / 8, bytes);
    if (__builtin_mul_overflow((size_t)elements, bits, &total) || total > SIZE_MAX - 7) return false;
    *bytes = (total + 7) / 8;
    return true;
}

plim_dtype plim_dtype_from_name(const char *name) {
    if (!name) return PLIM_DTYPE_NONE;
    static const char *const prefixes[] = {"torch.", "numpy.", "np.", "tf.", "jnp.", "DT_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncasecmp(name, prefixes[i], strlen(prefixes[i])) == 0) name += strlen(prefixes[i]);
    for (int d = 1; d < PLIM_DTYPE_COUNT; d++)
        if (strcasecmp(name, dtypes[d].name) == 0) return (plim_dtype)d;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcasecmp(name, aliases[i].alias) == 0) return aliases[i].dtype;
    return PLIM_DTYPE_NONE;
}
