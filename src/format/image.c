/* Which decoder a file needs, and what sizes are taken at all. */
#include "format/image.h"

#include <string.h>

#include "core/error.h"

plim_status plim__image_make_room(plim__image *image, uint64_t width, uint64_t height, size_t extra, const char *name,
                                  const plim__image_request *request, plim_error *error) {
    if (width < 1 || height < 1 || width > PLIM__IMAGE_MAX_SIDE || height > PLIM__IMAGE_MAX_SIDE ||
        width * height > PLIM__IMAGE_MAX_PIXELS)
        return plim__fail(error, PLIM_CORRUPT, "image '%s' claims %llu x %llu pixels; at most %d are decoded", name,
                          (unsigned long long)width, (unsigned long long)height, PLIM__IMAGE_MAX_PIXELS);
    image->width = (int)width;
    image->height = (int)height;
    image->channels = request->channels;
    size_t bytes = (size_t)(width * height) * (size_t)request->channels + extra;
    image->pixels = request->room(request->context, bytes);
    return image->pixels ? PLIM_OK : plim__fail_memory(error, name, bytes);
}

plim_status plim__image_decode(const unsigned char *bytes, size_t size, const char *name,
                               const plim__image_request *request, plim__image *image, plim_error *error) {
    if (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        return plim__image_decode_jpeg(bytes, size, name, request, image, error);
    if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        return plim__image_decode_png(bytes, size, name, request, image, error);
    return plim__fail(error, PLIM_CORRUPT, "image '%s' is neither JPEG nor PNG", name);
}
