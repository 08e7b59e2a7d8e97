/* Pointwise loops on float32, by instruction set. */
#ifndef PLIM_KERNEL_SIMD_POINTWISE_H
#define PLIM_KERNEL_SIMD_POINTWISE_H

#include "kernel/loops.h"
#include "kernel/simd/simd.h"
#include "ops/activation.h"

/* What unary formulas may use. */
typedef struct plim__unary_context {
    double a, b;
} plim__unary_context;

/* PLIM__BINARY_Add ... */
typedef enum plim__binary {
#define BINARY(name, real, whole) PLIM__BINARY_##name,
#define COMPARE(name, expression) PLIM__BINARY_##name,
#define BITS(name, expression)    PLIM__BINARY_##name,
#include "kernel/binary.def"
#undef BINARY
#undef COMPARE
#undef BITS
    PLIM__BINARY_COUNT
} plim__binary;

typedef struct plim__simd_pointwise {
    plim__loop_body
        unary[PLIM__FUNCTION_COUNT]; /* context: plim__unary_context; NULL for functions without an operator */
    plim__loop_body binary[PLIM__BINARY_COUNT]; /* NULL where there is none for float32 */
    plim__loop_body clip;                       /* context: float[2], lowest and highest */
    plim__loop_body where;                      /* y, condition, a, b; 4-byte elements */
    plim__loop_body scale;                      /* y = x * *(float *)context */
} plim__simd_pointwise;

PLIM__SIMD_TABLE(plim__simd_pointwise, plim__pointwise)

#endif
