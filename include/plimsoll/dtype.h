/* Element types: the ones of ONNX, numbered as ONNX numbers them. */
#ifndef PLIMSOLL_DTYPE_H
#define PLIMSOLL_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, ONNX number, bits, NumPy's word for it */
#define PLIM_DTYPE_LIST(X)                                                                                             \
    X(F32, 1, 32, "float32")                                                                                           \
    X(U8, 2, 8, "uint8")                                                                                               \
    X(I8, 3, 8, "int8")                                                                                                \
    X(U16, 4, 16, "uint16")                                                                                            \
    X(I16, 5, 16, "int16")                                                                                             \
    X(I32, 6, 32, "int32")                                                                                             \
    X(I64, 7, 64, "int64")                                                                                             \
    X(STRING, 8, 0, "string")                                                                                          \
    X(BOOL, 9, 8, "bool")                                                                                              \
    X(F16, 10, 16, "float16")                                                                                          \
    X(F64, 11, 64, "float64")                                                                                          \
    X(U32, 12, 32, "uint32")                                                                                           \
    X(U64, 13, 64, "uint64")                                                                                           \
    X(C64, 14, 64, "complex64")                                                                                        \
    X(C128, 15, 128, "complex128")                                                                                     \
    X(BF16, 16, 16, "bfloat16")                                                                                        \
    X(F8E4M3FN, 17, 8, "float8_e4m3fn")                                                                                \
    X(F8E4M3FNUZ, 18, 8, "float8_e4m3fnuz")                                                                            \
    X(F8E5M2, 19, 8, "float8_e5m2")                                                                                    \
    X(F8E5M2FNUZ, 20, 8, "float8_e5m2fnuz")                                                                            \
    X(U4, 21, 4, "uint4")                                                                                              \
    X(I4, 22, 4, "int4")                                                                                               \
    X(F4E2M1, 23, 4, "float4_e2m1")

typedef enum plim_dtype {
    PLIM_DTYPE_NONE = 0,
#define PLIM_DTYPE_ENUM(name, number, bits, word) PLIM_##name = (number),
    PLIM_DTYPE_LIST(PLIM_DTYPE_ENUM)
#undef PLIM_DTYPE_ENUM
        PLIM_DTYPE_COUNT
} plim_dtype;

/* "float32"; "none" for what is not a dtype. */
PLIM_API const char *plim_dtype_name(plim_dtype dtype);
/* Bits of one element; 0 for strings and for what is not a dtype. */
PLIM_API int plim_dtype_bits(plim_dtype dtype);
/* Bytes of `elements` packed elements, rounded up to whole bytes. False when that overflows. */
PLIM_API int plim_dtype_bytes(plim_dtype dtype, int64_t elements, size_t *bytes);
/* Reads NumPy's, PyTorch's, TensorFlow's, safetensors' and C's words: "float32", "torch.float", "F32",
 * "half", "bf16", "DT_FLOAT" ... PLIM_DTYPE_NONE when unknown. */
PLIM_API plim_dtype plim_dtype_from_name(const char *name);

#ifdef __cplusplus
}
#endif
#endif
