/* Resizing and cropping images in one go: only the pixels that the crop shows are computed. */
#ifndef PLIM_DATA_RESAMPLE_H
#define PLIM_DATA_RESAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "format/image.h"

/* The image is thought of as resized to resized_width x resized_height; of that, the rectangle at (left, top) with
 * width x height is made. */
typedef struct plim__crop {
    int resized_width, resized_height;
    int left, top, width, height;
    bool flip; /* mirrored, left to right */
} plim__crop;

/* Bytes of scratch memory that plim__resample needs. */
size_t plim__resample_scratch(const plim__image *image, const plim__crop *crop);
/* Bilinear, antialiased: a triangle filter as wide as the step between pixels of the result, or of the source where
 * that is wider. Writes channels x height x width floats in 0..1. */
void plim__resample(const plim__image *image, const plim__crop *crop, void *scratch, float *planes);

#endif
