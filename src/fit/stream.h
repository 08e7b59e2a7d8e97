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

/* What the card and the versions of its libraries decide. */
typedef struct plim__stack {
    int capability;                   /* of the GPU, times ten; 0: no GPU, so no work spaces */
    bool forward_work, backward_work; /* cuDNN rearranges the tensors of every convolution in that pass */
    uint64_t gemm_work;               /* bytes that cuBLAS takes for each product and gives back */
} plim__stack;

plim_status plim__stream_make(const plim__timeline *timeline, const plim__stack *stack, plim__requests *requests,
                              plim__stream_facts *facts, plim_error *error);

#endif
