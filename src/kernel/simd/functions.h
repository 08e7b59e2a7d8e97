/* F(function) for the formulas of src/ops/activation.def and src/kernel/binary.def on float32: ours where a loop over them
 * vectorises, the C library's otherwise. */
#ifndef PLIM_KERNEL_SIMD_FUNCTIONS_H
#define PLIM_KERNEL_SIMD_FUNCTIONS_H

#include "kernel/simd/math.h"

#define F(function)    simd_##function
#define simd_exp       plim__simd_exp
#define simd_log       plim__simd_log
#define simd_tanh      plim__simd_tanh
#define simd_erf       plim__simd_erf
#define simd_erf_about plim__simd_erf_about
#define simd_log1p     plim__simd_log1p
#define simd_fabs      fabsf
#define simd_ceil      ceilf
#define simd_floor     floorf
#define simd_rint      rintf
#define simd_sqrt      sqrtf
#define simd_sin       sinf
#define simd_cos       cosf
#define simd_tan       tanf
#define simd_asin      asinf
#define simd_acos      acosf
#define simd_atan      atanf
#define simd_sinh      sinhf
#define simd_cosh      coshf
#define simd_asinh     asinhf
#define simd_acosh     acoshf
#define simd_atanh     atanhf
#define simd_expm1     plim__simd_expm1
#define simd_fmod      fmodf
#define REAL           float

#endif
