/* Lowering of everything pointwise: pick the loop body for the type, and let this do the rest. */
#ifndef PLIM_KERNEL_ELEMENTWISE_H
#define PLIM_KERNEL_ELEMENTWISE_H

#include "kernel/loops.h"
#include "kernel/simd/pointwise.h"

#define PLIM__NUMPY_AXIS (-1)

typedef struct plim__pointwise_node {
    plim__loop_body body; /* NULL: the type is not supported */
    int inputs;           /* the node's first inputs are the operands */
    int axis;             /* of the output, where axis 0 of input 1 goes; PLIM__NUMPY_AXIS aligns at the right */
    bool keeps_zero;      /* zeros in, zero out: may run over the zeros that pad blocked layouts */
    const void *context;  /* of the body; copied */
    size_t context_bytes; /* at most PLIM__POINTWISE_CONTEXT */
} plim__pointwise_node;

#define PLIM__POINTWISE_CONTEXT 32

/* Chooses layouts, declares operands, emits the step. Blocked inputs stay blocked where that is possible, permuted
 * ones permuted. */
plim_status plim__lower_pointwise(plim__lower *l, const plim__pointwise_node *what);
/* The first part of it: declares `inputs` operands and output 0, and fits the loop to them. */
plim_status plim__lower_pointwise_loop(plim__lower *l, const plim__pointwise_node *what, plim__loop *loop);

/* There is no kernel for the type of input i. */
plim_status plim__lower_unsupported_type(plim__lower *l, size_t i);

/* The loop for a binary function on a type; NULL when there is none. */
plim__loop_body plim__binary_body(plim__binary function, plim_dtype dtype);
/* y = f(x) on a type; NULL when there is none. */
plim__loop_body plim__unary_body(plim__function function, plim_dtype dtype);

/* --- one line for each element type: T(dtype, C type, type to calculate in, to that type, back) --------------- */

#define PLIM__AS_IS(x) (x)
#define PLIM__HALVES(T)                                                                                                \
    T(F16, uint16_t, float, plim__half_to_float, plim__float_to_half)                                                  \
    T(BF16, uint16_t, float, plim__bfloat_to_float, plim__float_to_bfloat)
/* T(dtype, C type, unsigned type to calculate in) */
#define PLIM__WHOLES(T)                                                                                                \
    T(I8, int8_t, uint32_t)                                                                                            \
    T(I16, int16_t, uint32_t)                                                                                          \
    T(I32, int32_t, uint32_t)                                                                                          \
    T(I64, int64_t, uint64_t)                                                                                          \
    T(U8, uint8_t, uint32_t)                                                                                           \
    T(U16, uint16_t, uint32_t)                                                                                         \
    T(U32, uint32_t, uint32_t)                                                                                         \
    T(U64, uint64_t, uint64_t)

#endif
