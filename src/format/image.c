/* Which decoder a file needs, how its bytes come, and what sizes are taken at all. */
#include "format/image.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

plim_status plim__image_input_more(plim__image_input *input, plim_error *error) {
    input->have = 0;
    while (input->fd >= 0 && input->have < input->size) {
        ssize_t got = read(input->fd, input->buffer + input->have, input->size - input->have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return plim__fail_errno(error, errno, "cannot read '%s'", input->name);
        if (got == 0) break;
        input->have += (size_t)got;
    }
    return PLIM_OK;
}

plim_status plim__image_check_size(uint64_t width, uint64_t height, const char *name, plim_error *error) {
    if (width >= 1 && height >= 1 && width <= PLIM__IMAGE_MAX_SIDE && height <= PLIM__IMAGE_MAX_SIDE &&
        width * height <= PLIM__IMAGE_MAX_PIXELS)
        return PLIM_OK;
    return plim__fail(error, PLIM_CORRUPT, "image '%s' claims %llu x %llu pixels; at most %d are decoded", name,
                      (unsigned long long)width, (unsigned long long)height, PLIM__IMAGE_MAX_PIXELS);
}

unsigned char plim__image_grey(const unsigned char colour[3]) {
    return (unsigned char)((299 * colour[0] + 587 * colour[1] + 114 * colour[2] + 500) / 1000);
}

plim_status plim__image_open(plim__image *image, plim__image_input *input, const plim__image_request *request,
                             plim_error *error) {
    *image = (plim__image){.channels = request->channels};
    if (input->fd >= 0) PLIM_TRY(plim__image_input_more(input, error));
    const unsigned char *bytes = input->buffer;
    if (input->have >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        return plim__image_open_jpeg(image, input, request, error);
    if (input->have >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        return plim__image_open_png(image, input, request, error);
    if (input->have >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0)
        return plim__image_open_webp(image, input, request, error);
    return plim__fail(error, PLIM_CORRUPT, "image '%s' is neither JPEG, PNG nor WebP", input->name);
}

plim_status plim__image_start(plim__image *image, void *room, plim_error *error) {
    return image->ops->start(image, room, error);
}

plim_status plim__image_row(plim__image *image, unsigned char *row, plim_error *error) {
    if (image->rows_read >= image->height) return plim__fail(error, PLIM_INVALID, "an image has no more rows");
    PLIM_TRY(image->ops->row(image, row, error));
    image->rows_read++;
    return PLIM_OK;
}

void plim__image_close(plim__image *image) {
    if (image->decoder) image->ops->close(image);
    image->decoder = NULL;
}
