/* Which of the compiled instruction sets this processor has. */
#include "kernel/simd/simd.h"

plim__isa plim__isa_best(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
        return PLIM__ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return PLIM__ISA_AVX2;
#endif
    return PLIM__ISA_BASELINE;
}
