/* Element types by every name that weight files and people use: the ones of ONNX (plim_dtype) and those that only
 * PyTorch or safetensors have. Only sizes are known here; what computes uses plim_dtype. */
#ifndef PLIM_FORMAT_ELEMENT_H
#define PLIM_FORMAT_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct plim__element {
    const char *name;
    unsigned bits;    /* of one element; elements of less than a byte are packed */
    bool trains;      /* a floating-point type: gradients of it exist */
    const char *note; /* what surprises people about its size; NULL for most */
} plim__element;

/* NULL when unknown. "torch.int4" is PyTorch's (one to a byte), "int4" is ONNX's (two to a byte). */
const plim__element *plim__element_find(const char *name);
/* Types for data that has a size but no number type: text, dates, raw bytes. `bytes` is 1 to 16, or any. */
const plim__element *plim__element_opaque(void);
/* False when it overflows. */
bool plim__element_bytes(const plim__element *element, uint64_t elements, uint64_t *bytes);
/* The product of dimensions; false when one is negative or it overflows. An empty shape has one element. */
bool plim__element_count(int rank, const int64_t *dims, uint64_t *elements);

#endif
