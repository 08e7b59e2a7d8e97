/* JPEG and PNG files to pixels: interleaved bytes, one or three channels, row after row. */
#ifndef PLIM_FORMAT_IMAGE_H
#define PLIM_FORMAT_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

enum { PLIM__IMAGE_MAX_SIDE = 65500, PLIM__IMAGE_MAX_PIXELS = 1 << 28 };

typedef struct plim__image {
    int width, height;
    int channels;          /* as asked for: 1 or 3 */
    unsigned char *pixels; /* height * width * channels, in what `room` gave */
} plim__image;

typedef struct plim__image_request {
    int channels;
    int least_side; /* a JPEG may arrive at 1/2, 1/4 or 1/8 of its size while its shorter side keeps twice this;
                     * 0: always whole */
    void *(*room)(void *context, size_t bytes); /* memory for pixels; NULL when there is none */
    void *context;
} plim__image_request;

/* Tells the kind by content. `name` is for messages. Truncated and damaged files are PLIM_CORRUPT. */
plim_status plim__image_decode(const unsigned char *bytes, size_t size, const char *name,
                               const plim__image_request *request, plim__image *image, plim_error *error);

plim_status plim__image_decode_jpeg(const unsigned char *bytes, size_t size, const char *name,
                                    const plim__image_request *request, plim__image *image, plim_error *error);
plim_status plim__image_decode_png(const unsigned char *bytes, size_t size, const char *name,
                                   const plim__image_request *request, plim__image *image, plim_error *error);

/* Checks the size that a file claims and makes room for its pixels, with `extra` bytes after them. */
plim_status plim__image_make_room(plim__image *image, uint64_t width, uint64_t height, size_t extra, const char *name,
                                  const plim__image_request *request, plim_error *error);

#endif
