/* JPEG, PNG and WebP files to pixels, row after row from a file that is read piece by piece: neither the file nor its picture
 * has to lie in memory as a whole. Only files that are stored in passes over the picture (progressive JPEG, interlaced
 * PNG) and WebP need room for all of it, and say so before.
 *
 *   open → start → row* → close        open tells the size and what memory the rest needs */
#ifndef PLIM_FORMAT_IMAGE_H
#define PLIM_FORMAT_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

enum { PLIM__IMAGE_MAX_SIDE = 65500, PLIM__IMAGE_MAX_PIXELS = 1 << 28 };

/* What is read: a file from where it stands, through a buffer, or what lies in memory. */
typedef struct plim__image_input {
    const char *name;      /* for messages */
    int fd;                /* -1: all of it is in the buffer */
    unsigned char *buffer; /* never written where fd is -1 */
    size_t size;           /* of the buffer; at least PLIM__IMAGE_LEAST_BUFFER for a file */
    size_t have;           /* of these are from the file; plim__image_open sets it for a file */
} plim__image_input;

enum { PLIM__IMAGE_LEAST_BUFFER = 16 };

typedef struct plim__image_request {
    int channels;   /* 1 or 3 */
    int least_side; /* a JPEG may arrive at 1/2, 1/4 or 1/8 of its size while its shorter side keeps twice this;
                     * 0: always whole */
} plim__image_request;

typedef struct plim__image plim__image;

typedef struct plim__image_ops {
    plim_status (*start)(plim__image *image, void *room, plim_error *error);
    plim_status (*row)(plim__image *image, unsigned char *row, plim_error *error);
    void (*close)(plim__image *image);
} plim__image_ops;

struct plim__image {
    int width, height, channels; /* of the rows that come */
    size_t room_bytes;           /* that plim__image_start wants, for the decoder */
    size_t library_bytes;        /* that the library takes from the heap in addition, at most */
    size_t beyond_bytes;         /* taken although the estimate had no room for them */
    int rows_read;
    const plim__image_ops *ops;
    void *decoder;
};

/* Reads the head; the kind is told by content. The input stays where it is until close; images are not copied.
 * Truncated and damaged files are PLIM_CORRUPT, here and later. On failure nothing is open. */
plim_status plim__image_open(plim__image *image, plim__image_input *input, const plim__image_request *request,
                             plim_error *error);
/* `room` has room_bytes, aligned as malloc does, and belongs to the image until close. */
plim_status plim__image_start(plim__image *image, void *room, plim_error *error);
/* The next row: width * channels bytes, interleaved. The last one is good only if the file ends as it should. */
plim_status plim__image_row(plim__image *image, unsigned char *row, plim_error *error);
void plim__image_close(plim__image *image);

/* --- for the decoders ----------------------------------------------------------------------------------------- */

plim_status plim__image_open_jpeg(plim__image *image, plim__image_input *input, const plim__image_request *request,
                                  plim_error *error);
plim_status plim__image_open_png(plim__image *image, plim__image_input *input, const plim__image_request *request,
                                 plim_error *error);
plim_status plim__image_open_webp(plim__image *image, plim__image_input *input, const plim__image_request *request,
                                  plim_error *error);

/* The next piece of the file into the buffer; 0 bytes at its end. */
plim_status plim__image_input_more(plim__image_input *input, plim_error *error);
/* Checks the size that a file claims. */
plim_status plim__image_check_size(uint64_t width, uint64_t height, const char *name, plim_error *error);
/* The luminance of a colour. */
unsigned char plim__image_grey(const unsigned char colour[3]);

#endif
