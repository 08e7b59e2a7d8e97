/* JPEG through libjpeg-turbo. The library reports errors by a callback that must not return, so it jumps. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>

#include <jerror.h>

#include "core/alloc.h"
#include "core/error.h"
#include "format/image.h"
#include "format/image_jpeg_memory.h"

/* What libjpeg takes before the head is read: structures, tables of the file, pools that hold them. */
#define LIBRARY_BYTES (48 << 10)

typedef struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    plim__jpeg_memory memory;
    plim__image_input *input;
    plim_error failure;
    jmp_buf away;
    char message[JMSG_LENGTH_MAX];
    int inks;               /* four inks instead of light */
    unsigned char *ink_row; /* behind libjpeg's part of the room */
} decoder;

/* --- what libjpeg calls --------------------------------------------------------------------------------------- */

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

static void nothing(j_decompress_ptr jpeg) { (void)jpeg; }

static boolean more_bytes(j_decompress_ptr jpeg) {
    decoder *d = jpeg->client_data;
    bool there = d->input->fd >= 0 && plim__image_input_more(d->input, &d->failure) == PLIM_OK && d->input->have > 0;
    if (!there) ERREXIT(jpeg, JERR_INPUT_EOF);
    d->source.next_input_byte = d->input->buffer;
    d->source.bytes_in_buffer = d->input->have;
    return TRUE;
}

static void skip_bytes(j_decompress_ptr jpeg, long count) {
    decoder *d = jpeg->client_data;
    while (count > 0 && (size_t)count > d->source.bytes_in_buffer) {
        count -= (long)d->source.bytes_in_buffer;
        more_bytes(jpeg);
    }
    if (count <= 0) return;
    d->source.next_input_byte += count;
    d->source.bytes_in_buffer -= (size_t)count;
}

static plim_status why(const decoder *d, plim_error *error) {
    if (d->failure.status != PLIM_OK) {
        if (error) *error = d->failure;
        return d->failure.status;
    }
    if (d->errors.msg_code == JERR_OUT_OF_MEMORY)
        return plim__fail(error, PLIM_NO_MEMORY, "out of memory: image '%s' cannot be decoded", d->input->name);
    return plim__fail(error, PLIM_CORRUPT, "image '%s' is damaged: %s", d->input->name, d->message);
}

/* --- one image ------------------------------------------------------------------------------------------------ */

static void close_image(plim__image *image) {
    decoder *d = image->decoder;
    plim__jpeg_memory_end(&d->memory, &d->jpeg);
    jpeg_destroy_decompress(&d->jpeg);
    plim__free(d);
}

static unsigned scale_for(const struct jpeg_decompress_struct *jpeg, int least_side) {
    unsigned shorter = jpeg->image_width < jpeg->image_height ? jpeg->image_width : jpeg->image_height, scale = 1;
    while (least_side > 0 && scale < 8 && shorter / (scale * 2) >= 2 * (unsigned)least_side) scale *= 2;
    return scale;
}

static plim_status read_head(plim__image *image, decoder *d, const plim__image_request *request, plim_error *error) {
    struct jpeg_decompress_struct *jpeg = &d->jpeg;
    if (setjmp(d->away)) return why(d, error);
    jpeg_create_decompress(jpeg);
    jpeg->src = &d->source;
    jpeg_read_header(jpeg, TRUE);
    d->inks = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = d->inks ? JCS_CMYK : request->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg->scale_num = 1;
    jpeg->scale_denom = scale_for(jpeg, request->least_side);
    jpeg_calc_output_dimensions(jpeg);
    PLIM_TRY(plim__image_check_size(jpeg->output_width, jpeg->output_height, d->input->name, error));
    if (jpeg_has_multiple_scans(jpeg)) /* which need memory for all of it, however small it becomes */
        PLIM_TRY(plim__image_check_size(jpeg->image_width, jpeg->image_height, d->input->name, error));
    image->width = (int)jpeg->output_width;
    image->height = (int)jpeg->output_height;
    image->room_bytes = plim__jpeg_memory_bytes(jpeg) + (d->inks ? 4 * (size_t)image->width : 0);
    image->library_bytes = LIBRARY_BYTES;
    return PLIM_OK;
}

static plim_status start(plim__image *image, void *room, plim_error *error) {
    decoder *d = image->decoder;
    size_t inks = d->inks ? 4 * (size_t)image->width : 0;
    d->ink_row = (unsigned char *)room + image->room_bytes - inks;
    if (setjmp(d->away)) return why(d, error);
    plim__jpeg_memory_begin(&d->memory, &d->jpeg, room, image->room_bytes - inks);
    jpeg_start_decompress(&d->jpeg);
    return PLIM_OK;
}

/* Inks to light: files from Adobe programs store them inverted. */
static void from_inks(const unsigned char *inks, int inverted, int width, int channels, unsigned char *pixels) {
    for (int x = 0; x < width; x++, inks += 4, pixels += channels) {
        unsigned char light[3];
        int black = inverted ? inks[3] : 255 - inks[3];
        for (int i = 0; i < 3; i++) light[i] = (unsigned char)((inverted ? inks[i] : 255 - inks[i]) * black / 255);
        if (channels == 1)
            pixels[0] = plim__image_grey(light);
        else
            for (int i = 0; i < 3; i++) pixels[i] = light[i];
    }
}

static plim_status read_row(plim__image *image, unsigned char *row, plim_error *error) {
    decoder *d = image->decoder;
    JSAMPROW to = d->inks ? d->ink_row : row;
    if (setjmp(d->away)) return why(d, error);
    jpeg_read_scanlines(&d->jpeg, &to, 1);
    if (d->inks) from_inks(d->ink_row, d->jpeg.saw_Adobe_marker, image->width, image->channels, row);
    if (image->rows_read + 1 < image->height) return PLIM_OK;
    jpeg_finish_decompress(&d->jpeg);
    image->beyond_bytes = d->memory.beyond;
    return PLIM_OK;
}

static const plim__image_ops ops = {start, read_row, close_image};

plim_status plim__image_open_jpeg(plim__image *image, plim__image_input *input, const plim__image_request *request,
                                  plim_error *error) {
    decoder *d = plim__alloc_zero(1, sizeof *d);
    if (!d) return plim__fail_memory(error, "decoding a JPEG image", sizeof *d);
    d->input = input;
    d->source = (struct jpeg_source_mgr){.next_input_byte = input->buffer,
                                         .bytes_in_buffer = input->have,
                                         .init_source = nothing,
                                         .fill_input_buffer = more_bytes,
                                         .skip_input_data = skip_bytes,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = nothing};
    d->jpeg.err = jpeg_std_error(&d->errors);
    d->jpeg.client_data = d;
    d->errors.error_exit = fail;
    d->errors.emit_message = warn;
    image->ops = &ops;
    image->decoder = d;
    plim_status status = read_head(image, d, request, error);
    if (status != PLIM_OK) plim__image_close(image);
    return status;
}
