/* JPEG through libjpeg-turbo. The library reports errors by a callback that must not return, so it jumps. */
#include <setjmp.h>
#include <stdio.h>

/* needs stdio.h before it */
#include <jpeglib.h>

#include <jerror.h>

#include "core/error.h"
#include "format/image.h"

typedef struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf away;
    char message[JMSG_LENGTH_MAX];
} decoder;

static void fail(j_common_ptr common) {
    decoder *d = common->client_data;
    common->err->format_message(common, d->message);
    longjmp(d->away, 1);
}

/* libjpeg fills what is missing with grey and goes on; for training data that is damage. Other warnings are not. */
static void warn(j_common_ptr common, int level) {
    int code = common->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)) fail(common);
}

static unsigned scale_for(const struct jpeg_decompress_struct *jpeg, int least_side) {
    unsigned shorter = jpeg->image_width < jpeg->image_height ? jpeg->image_width : jpeg->image_height, scale = 1;
    while (least_side > 0 && scale < 8 && shorter / (scale * 2) >= 2 * (unsigned)least_side) scale *= 2;
    return scale;
}

/* Inks to light: files from Adobe programs store them inverted. */
static void from_inks(const unsigned char *inks, int inverted, int width, int channels, unsigned char *pixels) {
    for (int x = 0; x < width; x++, inks += 4, pixels += channels) {
        int light[3], black = inverted ? inks[3] : 255 - inks[3];
        for (int i = 0; i < 3; i++) light[i] = (inverted ? inks[i] : 255 - inks[i]) * black / 255;
        if (channels == 1)
            pixels[0] = (unsigned char)((299 * light[0] + 587 * light[1] + 114 * light[2] + 500) / 1000);
        else
            for (int i = 0; i < 3; i++) pixels[i] = (unsigned char)light[i];
    }
}

static plim_status read_pixels(decoder *d, const char *name, const plim__image_request *request, plim__image *image,
                               plim_error *error) {
    struct jpeg_decompress_struct *jpeg = &d->jpeg;
    jpeg_read_header(jpeg, TRUE);
    int inks = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = inks ? JCS_CMYK : request->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg->scale_num = 1;
    jpeg->scale_denom = scale_for(jpeg, request->least_side);
    jpeg_calc_output_dimensions(jpeg);
    size_t row_bytes = (size_t)jpeg->output_width * (size_t)request->channels;
    PLIM_TRY(plim__image_make_room(image, jpeg->output_width, jpeg->output_height,
                                   inks ? 4 * (size_t)jpeg->output_width : 0, name, request, error));
    jpeg_start_decompress(jpeg);
    unsigned char *ink_row = image->pixels + row_bytes * (size_t)image->height;
    while (jpeg->output_scanline < jpeg->output_height) {
        unsigned char *pixels = image->pixels + row_bytes * jpeg->output_scanline;
        JSAMPROW row = inks ? ink_row : pixels;
        jpeg_read_scanlines(jpeg, &row, 1);
        if (inks) from_inks(ink_row, jpeg->saw_Adobe_marker, image->width, image->channels, pixels);
    }
    jpeg_finish_decompress(jpeg);
    return PLIM_OK;
}

plim_status plim__image_decode_jpeg(const unsigned char *bytes, size_t size, const char *name,
                                    const plim__image_request *request, plim__image *image, plim_error *error) {
    decoder d;
    d.jpeg.err = jpeg_std_error(&d.errors);
    d.jpeg.client_data = &d;
    d.errors.error_exit = fail;
    d.errors.emit_message = warn;
    if (setjmp(d.away)) {
        jpeg_destroy_decompress(&d.jpeg);
        return plim__fail(error, PLIM_CORRUPT, "image '%s' is damaged: %s", name, d.message);
    }
    jpeg_create_decompress(&d.jpeg);
    jpeg_mem_src(&d.jpeg, bytes, (unsigned long)size);
    plim_status status = read_pixels(&d, name, request, image, error);
    jpeg_destroy_decompress(&d.jpeg);
    return status;
}
