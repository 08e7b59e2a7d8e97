/* Any bytes as a JPEG, PNG or WebP image: decoded or refused. */
#include <stdlib.h>

#include "format/image.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void decode(plim__image *image) {
    plim_error error;
    if (image->room_bytes + image->library_bytes > 64 << 20)
        return; /* large claims are for the limits of the reader's memory */
    void *room = malloc(image->room_bytes + 1);
    unsigned char *row = malloc((size_t)image->width * (size_t)image->channels);
    plim_status status = room && row ? plim__image_start(image, room, &error) : PLIM_NO_MEMORY;
    for (int y = 0; y < image->height && status == PLIM_OK; y++) status = plim__image_row(image, row, &error);
    if (status == PLIM_OK && image->beyond_bytes) abort(); /* what a file needs is known from its head */
    plim__image_close(image);
    free(row);
    free(room);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    plim__image image;
    plim_error error;
    plim__image_input input = {.name = "fuzz", .fd = -1, .buffer = (unsigned char *)data, .size = size, .have = size};
    plim__image_request request = {.channels = size % 2 ? 1 : 3, .least_side = 8};
    if (plim__image_open(&image, &input, &request, &error) == PLIM_OK) decode(&image);
    plim__image_close(&image);
    return 0;
}
