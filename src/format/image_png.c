/* PNG through libpng. Sixteen bits become eight, transparency is dropped. */
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "format/image.h"

/* Structures, tables and the window of zlib. */
#define LIBRARY_BYTES (96 << 10)

typedef struct decoder {
    png_structp png;
    png_infop info;
    plim__image_input *input;
    size_t at; /* in its buffer */
    plim_error failure;
    jmp_buf away;
    char message[160];
    size_t row_bytes; /* as libpng gives them */
    int pixel_bytes;  /* 3, or 1 for grey */
    int passes;
    unsigned char *room; /* all rows of an interlaced image; one row where colours become grey; else nothing */
} decoder;

/* --- what libpng calls ---------------------------------------------------------------------------------------- */

static void fail(png_structp png, png_const_charp message) {
    decoder *d = png_get_error_ptr(png);
    size_t length = strnlen(message, sizeof d->message - 1);
    memcpy(d->message, message, length);
    d->message[length] = 0;
    longjmp(d->away, 1);
}

static void ignore(png_structp png, png_const_charp message) { (void)png, (void)message; }

static png_voidp get_memory(png_structp png, png_alloc_size_t bytes) {
    decoder *d = png_get_mem_ptr(png);
    void *memory = plim__alloc(bytes);
    if (!memory) plim__fail_memory(&d->failure, "decoding a PNG image", bytes);
    return memory;
}

static void free_memory(png_structp png, png_voidp memory) {
    (void)png;
    plim__free(memory);
}

static void give_bytes(png_structp png, png_bytep to, png_size_t bytes) {
    decoder *d = png_get_io_ptr(png);
    while (bytes > 0) {
        if (d->at == d->input->have) {
            d->at = 0;
            if (d->input->fd < 0 || plim__image_input_more(d->input, &d->failure) != PLIM_OK) d->input->have = 0;
            if (d->input->have == 0) png_error(png, "it ends too early");
        }
        size_t left = d->input->have - d->at, part = bytes < left ? bytes : left;
        memcpy(to, d->input->buffer + d->at, part);
        d->at += part;
        to += part;
        bytes -= part;
    }
}

static plim_status why(const decoder *d, plim_error *error) {
    if (d->failure.status == PLIM_OK)
        return plim__fail(error, PLIM_CORRUPT, "image '%s' is damaged: %s", d->input->name, d->message);
    if (error) *error = d->failure;
    return d->failure.status;
}

/* --- one image ------------------------------------------------------------------------------------------------ */

static void close_image(plim__image *image) {
    decoder *d = image->decoder;
    png_destroy_read_struct(&d->png, &d->info, NULL);
    plim__free(d);
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

/* Bits of a pixel at their most, on the way from the file to what convert_to asks for: as libpng reserves its rows. */
static size_t widest_pixel(png_structp png, png_infop info, int channels) {
    int kind = png_get_color_type(png, info);
    bool clear = png_get_valid(png, info, PNG_INFO_tRNS) != 0, grey = !(kind & PNG_COLOR_MASK_COLOR);
    size_t bits = (size_t)png_get_bit_depth(png, info) * png_get_channels(png, info);
    if (kind == PNG_COLOR_TYPE_PALETTE) return clear ? 32 : 24;
    if (kind == PNG_COLOR_TYPE_GRAY && bits < 8) bits = 8;
    if (kind == PNG_COLOR_TYPE_GRAY && clear) bits *= 2;
    if (kind == PNG_COLOR_TYPE_RGB && clear) bits += bits / 3;
    if (channels != 3 || !grey) return bits;
    if (clear || kind == PNG_COLOR_TYPE_GRAY_ALPHA) return bits <= 16 ? 32 : 64;
    return bits <= 8 ? 24 : 48;
}

static plim_status read_head(plim__image *image, decoder *d, plim_error *error) {
    png_structp png = d->png;
    png_infop info = d->info;
    if (setjmp(d->away)) return why(d, error);
    png_set_read_fn(png, d, give_bytes);
    png_set_user_limits(png, PLIM__IMAGE_MAX_SIDE, PLIM__IMAGE_MAX_SIDE);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1); /* profiles, texts: no estimate has them */
    png_read_info(png, info);
    size_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    PLIM_TRY(plim__image_check_size(width, height, d->input->name, error));
    size_t stored = png_get_rowbytes(png, info), row = (width + 8) * widest_pixel(png, info, image->channels) / 8;
    d->pixel_bytes = convert_to(png, info, image->channels);
    d->passes = png_set_interlace_handling(png);
    d->row_bytes = width * (size_t)d->pixel_bytes;
    image->width = (int)width;
    image->height = (int)height;
    image->room_bytes = d->passes > 1 ? d->row_bytes * height : d->pixel_bytes > image->channels ? d->row_bytes : 0;
    image->library_bytes = LIBRARY_BYTES + 2 * (stored > row ? stored : row); /* this row and the one before */
    return PLIM_OK;
}

static plim_status start(plim__image *image, void *room, plim_error *error) {
    decoder *d = image->decoder;
    d->room = room;
    if (setjmp(d->away)) return why(d, error);
    png_read_update_info(d->png, d->info);
    if (png_get_rowbytes(d->png, d->info) != d->row_bytes)
        return plim__fail(error, PLIM_UNSUPPORTED, "image '%s' has pixels of a kind that is not known", d->input->name);
    for (int pass = 0; d->passes > 1 && pass < d->passes; pass++)
        for (int y = 0; y < image->height; y++) png_read_row(d->png, d->room + d->row_bytes * (size_t)y, NULL);
    return PLIM_OK;
}

/* A row as libpng gives it: of an interlaced image all are there. */
static const unsigned char *stored_row(const plim__image *image, const decoder *d) {
    return d->passes > 1 ? d->room + d->row_bytes * (size_t)image->rows_read : d->room;
}

static plim_status read_row(plim__image *image, unsigned char *row, plim_error *error) {
    decoder *d = image->decoder;
    bool to_grey = d->pixel_bytes > image->channels;
    if (setjmp(d->away)) return why(d, error);
    if (d->passes == 1) png_read_row(d->png, to_grey ? d->room : row, NULL);
    if (image->rows_read + 1 == image->height) png_read_end(d->png, NULL);
    if (to_grey)
        for (int x = 0; x < image->width; x++) row[x] = plim__image_grey(stored_row(image, d) + 3 * (size_t)x);
    else if (d->passes > 1)
        memcpy(row, stored_row(image, d), d->row_bytes);
    return PLIM_OK;
}

static const plim__image_ops ops = {start, read_row, close_image};

plim_status plim__image_open_png(plim__image *image, plim__image_input *input, const plim__image_request *request,
                                 plim_error *error) {
    (void)request;
    decoder *d = plim__alloc_zero(1, sizeof *d);
    if (!d) return plim__fail_memory(error, "decoding a PNG image", sizeof *d);
    d->input = input;
    d->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, d, fail, ignore, d, get_memory, free_memory);
    d->info = d->png ? png_create_info_struct(d->png) : NULL;
    image->ops = &ops;
    image->decoder = d;
    plim_status status = PLIM_OK;
    if (!d->info)
        status = plim__fail_memory(error, "decoding a PNG image", sizeof *d);
    else
        status = read_head(image, d, error);
    if (status != PLIM_OK) plim__image_close(image);
    return status;
}
