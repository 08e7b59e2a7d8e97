/* PNG through libpng. Sixteen bits become eight, transparency is dropped. */
#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "core/error.h"
#include "format/image.h"

typedef struct decoder {
    const unsigned char *at;
    size_t left;
    jmp_buf away;
    char message[160];
} decoder;

static void fail(png_structp png, png_const_charp message) {
    decoder *d = png_get_error_ptr(png);
    size_t length = strnlen(message, sizeof d->message - 1);
    memcpy(d->message, message, length);
    d->message[length] = 0;
    longjmp(d->away, 1);
}

static void ignore(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void give_bytes(png_structp png, png_bytep to, png_size_t bytes) {
    decoder *d = png_get_io_ptr(png);
    if (bytes > d->left) png_error(png, "it ends too early");
    memcpy(to, d->at, bytes);
    d->at += bytes;
    d->left -= bytes;
}

/* Whatever the file has, rows of bytes come out; gives the bytes of a pixel. Colour stays colour even where grey is
 * wanted: libpng would go through linear light for that, as no other reader of training data does. */
static int convert_to(png_structp png, png_infop info, int channels) {
    int colour = png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR;
    png_set_expand(png); /* palettes, small depths, transparent colours */
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    if (channels == 3 && !colour) png_set_gray_to_rgb(png);
    return channels == 3 || colour ? 3 : 1;
}

static void colour_to_grey(unsigned char *pixels, size_t count) { /* in place */
    for (size_t i = 0; i < count; i++) {
        const unsigned char *from = pixels + 3 * i;
        pixels[i] = (unsigned char)((299 * from[0] + 587 * from[1] + 114 * from[2] + 500) / 1000);
    }
}

static plim_status read_pixels(png_structp png, png_infop info, const char *name, const plim__image_request *request,
                               plim__image *image, plim_error *error) {
    png_set_user_limits(png, PLIM__IMAGE_MAX_SIDE, PLIM__IMAGE_MAX_SIDE);
    png_read_info(png, info);
    int bytes = convert_to(png, info, request->channels), passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    size_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    PLIM_TRY(plim__image_make_room(image, width, height, (size_t)(bytes - request->channels) * width * height, name,
                                   request, error));
    size_t row_bytes = width * (size_t)bytes;
    if (png_get_rowbytes(png, info) != row_bytes)
        return plim__fail(error, PLIM_UNSUPPORTED, "image '%s' has pixels of a kind that is not known", name);
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < height; y++) png_read_row(png, image->pixels + row_bytes * y, NULL);
    png_read_end(png, NULL);
    if (bytes > request->channels) colour_to_grey(image->pixels, width * height);
    return PLIM_OK;
}

plim_status plim__image_decode_png(const unsigned char *bytes, size_t size, const char *name,
                                   const plim__image_request *request, plim__image *image, plim_error *error) {
    decoder d = {.at = bytes, .left = size};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, fail, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return plim__fail_memory(error, "decoding a PNG image", sizeof d);
    }
    if (setjmp(d.away)) {
        png_destroy_read_struct(&png, &info, NULL);
        return plim__fail(error, PLIM_CORRUPT, "image '%s' is damaged: %s", name, d.message);
    }
    png_set_read_fn(png, &d, give_bytes);
    plim_status status = read_pixels(png, info, name, request, image, error);
    png_destroy_read_struct(&png, &info, NULL);
    return status;
}
