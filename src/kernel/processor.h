/* The processor as a device: kernels of oneDNN and of our own, on OpenMP's threads, in the memory of the process.
 *
 *   processor.c  the table of functions (program/device.h), engines, what oneDNN takes from the process
 *   lowers.h     from an operator's row to its lower function
 *   onednn.h     oneDNN's layouts and primitives for lower functions; the only header with dnnl.h
 *   forward/ backward/ update/   lower functions and the kernels they emit, a file a family of operators
 *   simd/        inner loops, compiled for each instruction set */
#ifndef PLIM_KERNEL_PROCESSOR_H
#define PLIM_KERNEL_PROCESSOR_H

#include "graph/graph.h"
#include "program/device.h"

extern const plim__device plim__processor;

static inline plim__target plim__on_processor(int threads) {
    return (plim__target){.device = &plim__processor, .threads = threads};
}

/* A plim__fold (ops/op.h): constants are evaluated here, whatever device runs the rest. `context` is NULL. */
plim_status plim__processor_fold(plim_graph *g, int32_t node, void *context, plim_error *error);
/* oneDNN caches kernels that are no longer used: releases their memory. */
void plim__processor_trim(void);
/* Creates what oneDNN's matrix product creates at its first call (code, tables), so that it is resident when resident
 * memory is read. */
plim_status plim__processor_warm(int threads, plim_error *error);
/* What oneDNN computes with, which may be less than the processor has. */
bool plim__processor_uses_avx512(void);
/* The version of oneDNN: "3.9.1". */
void plim__processor_library(char *text, size_t size);

#endif
