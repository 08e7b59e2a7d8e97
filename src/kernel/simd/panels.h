/* Small matrix products on float32, by instruction set: those of attention, where packing and calling a product of oneDNN costs
 * more than the product.
 *
 * The second factor B (k, n) is packed first, in panels of `width` columns that are walked from front to back:
 *
 *     B (k, n)  →  [n / width][step][width]        k rows of the step are used; columns padded with zeros */
#ifndef PLIM_KERNEL_SIMD_PANELS_H
#define PLIM_KERNEL_SIMD_PANELS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/simd/simd.h"

/* c(i, j) (+)= scale · sum over q of a(i, q) b(q, j) */
typedef struct plim__panels_product {
    int64_t m, n, k;
    float scale;
    const float *a; /* a(i, q) = a[i * a_row + q * a_column] */
    int64_t a_row, a_column;
    const float *panels;
    int64_t step; /* rows of a panel, at least k */
    float *c;     /* (m, n) */
    int64_t c_row;
    bool add; /* to what is there */
} plim__panels_product;

typedef struct plim__simd_panels {
    int width;
    /* b(q, j) = from[q * row + j] */
    void (*pack)(int64_t k, int64_t n, const float *from, int64_t row, int64_t step, float *to);
    /* b(q, j) = from[j * row + q] */
    void (*pack_turned)(int64_t k, int64_t n, const float *from, int64_t row, int64_t step, float *to);
    void (*multiply)(const plim__panels_product *p);
    /* d = scale · p ∘ (d - sum of p ∘ d): what the scores of a softmax get from the gradient of its results p. */
    void (*softmax_grad)(int64_t n, const float *p, float *d, float scale);
} plim__simd_panels;

PLIM__SIMD_TABLE(plim__simd_panels, plim__panels)

/* Floats of a packed factor with panels of `step` rows. */
static inline size_t plim__panels_floats(int64_t step, int64_t n) {
    int64_t width = plim__panels()->width;
    return (size_t)((n + width - 1) / width * width * step);
}

#endif
