/* Resizing and cropping images in one go: only the pixels that the crop shows are computed. */
#ifndef PLIM_DATA_RESAMPLE_H
#define PLIM_DATA_RESAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "plimsoll/status.h"

/* A rectangle of pixels. */
typedef struct plim__box {
    int left, top, width, height;
} plim__box;

/* The image, or the box of it, is thought of as resized to resized_width x resized_height; of that, the rectangle at
 * (left, top) with width x height is made. */
typedef struct plim__crop {
    plim__box box; /* of the source; a width of 0: all of it */
    int resized_width, resized_height;
    int left, top, width, height;
    bool flip; /* mirrored, left to right */
} plim__crop;

/* The source: its size, and its rows one after the other, width * channels bytes each. */
typedef struct plim__rows {
    int width, height, channels;
    plim_status (*next)(void *context, unsigned char *row, plim_error *error);
    void *context;
} plim__rows;

/* Bytes of scratch memory that plim__resample needs: the rows that make one row of the result, not all of them. They
 * depend on sizes alone, not on where crop and box are. */
size_t plim__resample_scratch(const plim__rows *rows, const plim__crop *crop);
/* Bilinear, antialiased: a triangle filter as wide as the step between pixels of the result, or of the source where
 * that is wider. Reads all rows and writes channels x height x width floats in 0..1. */
plim_status plim__resample(const plim__rows *rows, const plim__crop *crop, void *scratch, float *planes,
                           plim_error *error);

#endif
