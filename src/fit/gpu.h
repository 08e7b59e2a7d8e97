/* Graphics cards: how much memory a program can have of each, and what the driver and libraries take of it. */
#ifndef PLIM_FIT_GPU_H
#define PLIM_FIT_GPU_H

#include "plimsoll/predict.h"

/* What the process holds on the card outside its allocator. */
typedef struct plim__gpu_overhead {
    uint64_t context;      /* the CUDA context with kernels loaded on demand */
    uint64_t context_most; /* ... with all kernels loaded: older stacks, CUDA_MODULE_LOADING=EAGER */
    uint64_t libraries;    /* kernels and handles of cuBLAS, and of cuDNN where there are convolutions */
} plim__gpu_overhead;

plim__gpu_overhead plim__gpu_overhead_of(const plim_gpu *gpu, bool gemm, bool convolution);

#endif
