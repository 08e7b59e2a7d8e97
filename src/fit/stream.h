/* A predicted step as requests: the tensors of a timeline, and between them what kernels and libraries ask for. */
#ifndef PLIM_FIT_STREAM_H
#define PLIM_FIT_STREAM_H

#include "fit/requests.h"

typedef struct plim__stream_facts {
    bool gemm, convolution;
    uint64_t cublas;       /* bytes of cuBLAS's work spaces together */
    uint64_t largest_work; /* the largest work space of a convolution */
    uint64_t steps;        /* that the record has */
} plim__stream_facts;

/* `capability`: of the GPU, times ten; 0: no GPU, so no work spaces. */
plim_status plim__stream_make(const plim__timeline *timeline, int capability, plim__requests *requests,
                              plim__stream_facts *facts, plim_error *error);

#endif
