/* Hot loops of our own, compiled once for each instruction set and chosen when the program runs.
 *
 * Every file in this folder is compiled with PLIM_ISA = baseline, avx2 and avx512 (cmake/simd.cmake). A topic
 * is a struct of function pointers in a header; its file fills one constant of that type:
 *
 *     pointwise.h:  typedef struct plim__simd_pointwise { ... } plim__simd_pointwise;
 *                   PLIM__SIMD_TABLE(plim__simd_pointwise, plim__pointwise)
 *     pointwise.c:  const plim__simd_pointwise PLIM__ISA(plim__pointwise) = { ... };
 *     elsewhere:    plim__pointwise()->unary[k](...)
 *
 * Plain C with `#pragma omp simd` is enough; all functions but the table stay static. */
#ifndef PLIM_KERNEL_SIMD_SIMD_H
#define PLIM_KERNEL_SIMD_SIMD_H

#include <stdint.h>

#define PLIM__ISA_PASTE_(name, isa) name##_##isa
#define PLIM__ISA_PASTE(name, isa)  PLIM__ISA_PASTE_(name, isa)
/* Inside this folder: a name with the instruction set that the file is being compiled for. */
#define PLIM__ISA(name) PLIM__ISA_PASTE(name, PLIM_ISA)

typedef enum plim__isa {
    PLIM__ISA_BASELINE,
    PLIM__ISA_AVX2,
    PLIM__ISA_AVX512,
} plim__isa;

/* What this processor can do. */
plim__isa plim__isa_best(void);

#if defined(__x86_64__)
#define PLIM__SIMD_TABLE(type, name)                                                                                   \
    extern const type name##_baseline, name##_avx2, name##_avx512;                                                     \
    static inline const type *name(void) {                                                                             \
        plim__isa isa = plim__isa_best();                                                                              \
        return isa == PLIM__ISA_AVX512 ? &name##_avx512 : isa == PLIM__ISA_AVX2 ? &name##_avx2 : &name##_baseline;     \
    }
#else
#define PLIM__SIMD_TABLE(type, name)                                                                                   \
    extern const type name##_baseline;                                                                                 \
    static inline const type *name(void) { return &name##_baseline; }
#endif

/* Positions side by side: `width` neighbours of n elements each, which are `step` apart. */
typedef struct plim__columns {
    int64_t n, step, width;
} plim__columns;

#endif
