/* WebP through libwebp. The library decodes whole pictures, so room for the file and for its pixels is needed; what it takes
 * from the heap in addition follows from the head and, for lossless data, from a scan. */
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <webp/decode.h>

#include "core/alloc.h"
#include "core/error.h"
#include "format/image.h"
#include "format/webp_scan.h"

/* Structures, tables and the pages of its code that are touched first, whatever the size. */
#define LIBRARY_BYTES ((size_t)640 << 10)

typedef struct decoder {
    plim__image_input *input;
    size_t file_bytes;
    unsigned char *pixels; /* three bytes each */
} decoder;

static void close_image(plim__image *image) { plim__free(image->decoder); }

static plim_status damaged(const decoder *d, VP8StatusCode code, plim_error *error) {
    static const char *const words[] = {"",
                                        "out of memory",
                                        "a parameter is wrong",
                                        "its head or its data is malformed",
                                        "it is a kind that is not known",
                                        "",
                                        "",
                                        "it ends too early"};
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return plim__fail(error, PLIM_NO_MEMORY, "out of memory: image '%s' cannot be decoded", d->input->name);
    return plim__fail(error, PLIM_CORRUPT, "image '%s' is damaged: %s", d->input->name,
                      code > 0 && (size_t)code < sizeof words / sizeof *words ? words[code] : "it cannot be decoded");
}

/* Bytes that libwebp takes while it decodes. */
static size_t heap_bytes(const WebPBitstreamFeatures *head, const plim__webp_needs *needs) {
    size_t pixels = (size_t)head->width * (size_t)head->height, width = (size_t)head->width;
    size_t lossless = LIBRARY_BYTES + 4 * (pixels + 17 * width) + needs->tables_bytes + needs->images_bytes;
    size_t lossy = LIBRARY_BYTES + 160 * (width + 64);
    if (needs->lossless) return lossless;
    if (!head->has_alpha) return lossy;
    return lossy + pixels + (needs->alpha ? lossless : 0); /* transparency is decoded, then dropped */
}

static plim_status read_head(plim__image *image, decoder *d, plim_error *error) {
    WebPBitstreamFeatures head;
    plim__webp_needs needs;
    struct stat info;
    VP8StatusCode code = WebPGetFeatures(d->input->buffer, d->input->have, &head);
    if (code != VP8_STATUS_OK) return damaged(d, code, error);
    if (head.has_animation)
        return plim__fail(error, PLIM_UNSUPPORTED, "image '%s' is animated; single pictures are read", d->input->name);
    PLIM_TRY(plim__image_check_size((uint64_t)head.width, (uint64_t)head.height, d->input->name, error));
    d->file_bytes = d->input->have;
    if (d->input->fd >= 0) {
        if (fstat(d->input->fd, &info) != 0 || info.st_size < (off_t)d->input->have || info.st_size > 1 << 30)
            return plim__fail(error, PLIM_CORRUPT, "image '%s' has a strange size", d->input->name);
        d->file_bytes = (size_t)info.st_size;
    }
    image->width = head.width;
    image->height = head.height;
    image->room_bytes = d->file_bytes + 3 * (size_t)head.width * (size_t)head.height;
    PLIM_TRY(plim__webp_scan(d->input, head.width, head.height, &needs, error));
    image->library_bytes = heap_bytes(&head, &needs);
    return PLIM_OK;
}

/* The file into `to`, which has room for what it was when it was opened. */
static plim_status read_file(const decoder *d, unsigned char *to, plim_error *error) {
    size_t at = d->input->have;
    memcpy(to, d->input->buffer, at);
    while (at < d->file_bytes) {
        PLIM_TRY(plim__image_input_more(d->input, error));
        size_t part = d->input->have < d->file_bytes - at ? d->input->have : d->file_bytes - at;
        if (part == 0) return damaged(d, VP8_STATUS_NOT_ENOUGH_DATA, error);
        memcpy(to + at, d->input->buffer, part);
        at += part;
    }
    return PLIM_OK;
}

static plim_status start(plim__image *image, void *room, plim_error *error) {
    decoder *d = image->decoder;
    WebPDecoderConfig config;
    d->pixels = room;
    size_t bytes = 3 * (size_t)image->width * (size_t)image->height;
    unsigned char *file = d->pixels + bytes;
    PLIM_TRY(read_file(d, file, error));
    if (!WebPInitDecoderConfig(&config))
        return plim__fail(error, PLIM_UNSUPPORTED, "libwebp is another version than its headers");
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = d->pixels;
    config.output.u.RGBA.stride = 3 * image->width;
    config.output.u.RGBA.size = bytes;
    VP8StatusCode code = WebPDecode(file, d->file_bytes, &config);
    WebPFreeDecBuffer(&config.output);
    return code == VP8_STATUS_OK ? PLIM_OK : damaged(d, code, error);
}

static plim_status read_row(plim__image *image, unsigned char *row, plim_error *error) {
    const decoder *d = image->decoder;
    const unsigned char *from = d->pixels + 3 * (size_t)image->width * (size_t)image->rows_read;
    (void)error;
    if (image->channels == 3)
        memcpy(row, from, 3 * (size_t)image->width);
    else
        for (int x = 0; x < image->width; x++) row[x] = plim__image_grey(from + 3 * x);
    return PLIM_OK;
}

static const plim__image_ops ops = {start, read_row, close_image};

plim_status plim__image_open_webp(plim__image *image, plim__image_input *input, const plim__image_request *request,
                                  plim_error *error) {
    decoder *d = plim__alloc_zero(1, sizeof *d);
    if (!d) return plim__fail_memory(error, "decoding a WebP image", sizeof *d);
    (void)request; /* of fewer pixels there is none: libwebp would decode all of them first */
    d->input = input;
    image->ops = &ops;
    image->decoder = d;
    plim_status status = read_head(image, d, error);
    if (status != PLIM_OK) plim__image_close(image);
    return status;
}
