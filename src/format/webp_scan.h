/* What a lossless WebP stream will make libwebp take from the heap: its tables of codes are as many as the file says, far behind
 * the head, and a file of 300 KB can ask for a gigabyte. The scan reads the stream up to that number, with memory of its own
 * that does not grow, and leaves the rest. */
#ifndef PLIM_FORMAT_WEBP_SCAN_H
#define PLIM_FORMAT_WEBP_SCAN_H

#include <stdbool.h>

#include "format/image.h"

typedef struct plim__webp_needs {
    bool lossless;       /* the picture is; else it is lossy */
    bool alpha;          /* a lossy picture with transparency that is stored losslessly */
    int64_t groups;      /* of codes, over both */
    size_t tables_bytes; /* for the groups, at most */
    size_t images_bytes; /* for the small pictures inside the stream: predictors, colours, which group where */
} plim__webp_needs;

/* Reads `input` from its beginning, whose first piece is in the buffer, and leaves it as it was. `width` and `height` are those of
 * the head. PLIM_CORRUPT where the stream breaks the format before the number is known. */
plim_status plim__webp_scan(plim__image_input *input, int width, int height, plim__webp_needs *needs,
                            plim_error *error);

#endif
