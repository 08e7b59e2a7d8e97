/* Images row by row: the same pixels in pieces of any size, and memory that is known from the head of the file. */
#include <fcntl.h>
#include <malloc.h>

#include "core/alloc.h"
#include "data/fixtures.h"
#include "format/image.h"

static plim_error error;

typedef struct picture {
    int width, height, channels;
    unsigned char *pixels;
} picture;

/* --- files of every kind -------------------------------------------------------------------------------------- */

typedef struct jpeg_kind {
    int width, height, components; /* 1 grey, 3 colour, 4 inks */
    int across, down;              /* sampling of the first component */
    int progressive, apart;        /* scans in turns; components in scans of their own */
    int restart;
} jpeg_kind;

static void fill_row(unsigned char *row, int width, int components, unsigned y) {
    for (int x = 0; x < width * components; x++)
        row[x] = (unsigned char)((unsigned)x * 7u + y * 13u + (y * (unsigned)x >> 5));
}

static void separate_scans(struct jpeg_compress_struct *jpeg, jpeg_scan_info scans[4]) {
    for (int i = 0; i < jpeg->num_components; i++)
        scans[i] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {i}, .Se = 63};
    jpeg->scan_info = scans;
    jpeg->num_scans = jpeg->num_components;
}

static const char *write_kind(fixture *f, const char *name, const jpeg_kind *kind) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg_scan_info scans[4];
    FILE *file = fopen(path_of(f, name), "wb");
    JSAMPROW row = malloc((size_t)(kind->width * kind->components));
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = (JDIMENSION)kind->width;
    jpeg.image_height = (JDIMENSION)kind->height;
    jpeg.input_components = kind->components;
    jpeg.in_color_space = kind->components == 1 ? JCS_GRAYSCALE : kind->components == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg.comp_info[0].h_samp_factor = kind->across;
    jpeg.comp_info[0].v_samp_factor = kind->down;
    jpeg.restart_interval = (unsigned)kind->restart;
    if (kind->apart) separate_scans(&jpeg, scans);
    if (kind->progressive) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        fill_row(row, kind->width, kind->components, jpeg.next_scanline);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(file);
    free(row);
    return f->path;
}

typedef struct png_kind {
    int width, height, type, depth, interlaced;
} png_kind;

static const char *write_png_kind(fixture *f, const char *name, const png_kind *kind) {
    FILE *file = fopen(path_of(f, name), "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32)kind->width, (png_uint_32)kind->height, kind->depth, kind->type,
                 kind->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_color palette[256];
    for (int i = 0; i < 256; i++) palette[i] = (png_color){(png_byte)i, (png_byte)(i * 3), (png_byte)(255 - i)};
    if (kind->type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 1 << kind->depth);
    png_write_info(png, info);
    size_t bytes = png_get_rowbytes(png, info);
    unsigned char *row = malloc(bytes);
    for (int pass = 0, passes = png_set_interlace_handling(png); pass < passes; pass++)
        for (int y = 0; y < kind->height; y++) {
            fill_row(row, (int)bytes, 1, (unsigned)y);
            png_write_row(png, row);
        }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(file);
    free(row);
    return f->path;
}

/* --- reading -------------------------------------------------------------------------------------------------- */

static size_t beyond;

static plim_status read_rows(plim__image *image, picture *made) {
    *made = (picture){image->width, image->height, image->channels, NULL};
    size_t row = (size_t)(image->width * image->channels);
    void *room = malloc(image->room_bytes + 1);
    made->pixels = malloc(row * (size_t)image->height);
    plim_status status = plim__image_start(image, room, &error);
    for (int y = 0; y < image->height && status == PLIM_OK; y++)
        status = plim__image_row(image, made->pixels + row * (size_t)y, &error);
    beyond = image->beyond_bytes;
    free(room);
    return status;
}

static plim_status read_picture(const char *path, size_t buffer, const plim__image_request *request, picture *made) {
    plim__image image;
    plim__image_input input = {.name = path, .fd = open(path, O_RDONLY), .buffer = malloc(buffer), .size = buffer};
    assert_true(input.fd >= 0);
    *made = (picture){0};
    plim_status status = plim__image_open(&image, &input, request, &error);
    if (status == PLIM_OK) status = read_rows(&image, made);
    plim__image_close(&image);
    close(input.fd);
    free(input.buffer);
    return status;
}

static void each_jpeg(fixture *f, void (*check)(fixture *f, const char *path)) {
    static const int sampling[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}};
    static const int sizes[][2] = {{1, 1}, {97, 61}, {640, 11}, {9, 500}};
    for (int components = 1; components <= 4; components += components == 1 ? 2 : 1)
        for (int s = 0; s < 6; s++)
            for (int z = 0; z < 4; z++)
                for (int how = 0; how < 4; how++) {
                    if (components == 4 && sampling[s][0] * sampling[s][1] > 4) continue; /* too many blocks at once */
                    jpeg_kind kind = {sizes[z][0],    sizes[z][1], components, sampling[s][0],
                                      sampling[s][1], how == 1,    how == 2,   how == 3};
                    check(f, write_kind(f, "x.jpg", &kind));
                }
}

static void each_png(fixture *f, void (*check)(fixture *f, const char *path)) {
    static const int kinds[][2] = {{PNG_COLOR_TYPE_GRAY, 1},      {PNG_COLOR_TYPE_GRAY, 8},
                                   {PNG_COLOR_TYPE_GRAY, 16},     {PNG_COLOR_TYPE_RGB, 8},
                                   {PNG_COLOR_TYPE_RGB, 16},      {PNG_COLOR_TYPE_PALETTE, 4},
                                   {PNG_COLOR_TYPE_PALETTE, 8},   {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
                                   {PNG_COLOR_TYPE_RGB_ALPHA, 8}, {PNG_COLOR_TYPE_RGB_ALPHA, 16}};
    for (int interlaced = 0; interlaced < 2; interlaced++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            png_kind kind = {83, 41, kinds[k][0], kinds[k][1], interlaced};
            check(f, write_png_kind(f, "x.png", &kind));
        }
}

/* --- promises ------------------------------------------------------------------------------------------------- */

static void check_needs(fixture *f, const char *path) {
    (void)f;
    for (int channels = 1; channels <= 3; channels += 2)
        for (int side = 0; side <= 8; side += 2) {
            picture made;
            plim__image_request request = {channels, side};
            if (read_picture(path, 4096, &request, &made) != PLIM_OK) fail_msg("%s", error.message);
            assert_int_equal(beyond, 0);
            free(made.pixels);
        }
}

static void what_decoding_takes_is_known_from_the_head(void **state) {
    each_jpeg(*state, check_needs);
    each_png(*state, check_needs);
}

/* The largest state that libpng and libjpeg have on the heap, as the C library counts it. */
static void check_library(fixture *f, const char *path) {
    (void)f;
    unsigned char buffer[512];
    plim__image image;
    plim__image_request request = {3, 0};
    plim__image_input input = {.name = path, .fd = open(path, O_RDONLY), .buffer = buffer, .size = sizeof buffer};
    size_t before = mallinfo2().uordblks;
    assert_int_equal(plim__image_open(&image, &input, &request, &error), PLIM_OK);
    unsigned char row[4096];
    void *room = malloc(image.room_bytes + 1);
    size_t room_taken = malloc_usable_size(room) + 16;
    assert_int_equal(plim__image_start(&image, room, &error), PLIM_OK);
    for (int y = 0; y + 1 < image.height; y++) assert_int_equal(plim__image_row(&image, row, &error), PLIM_OK);
    assert_true(mallinfo2().uordblks - before <= image.library_bytes + room_taken);
    plim__image_close(&image);
    free(room);
    close(input.fd);
}

static void what_libraries_take_besides_is_bounded(void **state) {
    picture warm;
    plim__image_request request = {3, 0};
    jpeg_kind kind = {33, 33, 3, 2, 2, 0, 0, 0};
    assert_int_equal(read_picture(write_kind(*state, "w.jpg", &kind), 4096, &request, &warm), PLIM_OK);
    free(warm.pixels);
    each_jpeg(*state, check_library);
    each_png(*state, check_library);
}

static void check_pieces(fixture *f, const char *path) {
    (void)f;
    picture whole, pieces;
    plim__image_request request = {3, 0};
    if (read_picture(path, 1 << 20, &request, &whole) != PLIM_OK) fail_msg("%s", error.message);
    if (read_picture(path, PLIM__IMAGE_LEAST_BUFFER, &request, &pieces) != PLIM_OK) fail_msg("%s", error.message);
    assert_int_equal(whole.width, pieces.width);
    assert_memory_equal(whole.pixels, pieces.pixels, (size_t)(whole.width * whole.height * 3));
    free(whole.pixels);
    free(pieces.pixels);
}

static void a_file_read_in_pieces_gives_the_same_pixels(void **state) {
    each_jpeg(*state, check_pieces);
    each_png(*state, check_pieces);
}

static void interlaced_images_are_those_that_are_not(void **state) {
    fixture *f = *state;
    picture plain, woven;
    for (int channels = 1; channels <= 3; channels += 2) {
        plim__image_request request = {channels, 0};
        png_kind kind = {83, 41, PNG_COLOR_TYPE_RGB, 8, 0};
        assert_int_equal(read_picture(write_png_kind(f, "a.png", &kind), 4096, &request, &plain), PLIM_OK);
        kind.interlaced = 1;
        assert_int_equal(read_picture(write_png_kind(f, "b.png", &kind), 4096, &request, &woven), PLIM_OK);
        assert_memory_equal(plain.pixels, woven.pixels, (size_t)(83 * 41 * channels));
        free(plain.pixels);
        free(woven.pixels);
    }
}

static void a_file_that_ends_early_is_damaged_wherever_it_ends(void **state) {
    fixture *f = *state;
    plim__image_request request = {3, 0};
    for (int how = 0; how < 4; how++) {
        jpeg_kind jpeg = {97, 61, 3, 2, 2, how == 1, 0, 0};
        png_kind png = {83, 41, PNG_COLOR_TYPE_RGB, 8, how == 3};
        const char *path = how < 2 ? write_kind(f, "x", &jpeg) : write_png_kind(f, "x", &png);
        struct stat info;
        assert_int_equal(stat(path, &info), 0);
        for (long size = info.st_size - 1; size >= 0; size -= 1 + info.st_size / 40) {
            picture made;
            assert_int_equal(truncate(path, size), 0);
            assert_int_equal(read_picture(path, 256, &request, &made), PLIM_CORRUPT);
            free(made.pixels);
        }
    }
}

static void memory_that_fails_is_told_from_damage(void **state) {
    fixture *f = *state;
    plim__image_request request = {3, 0};
    for (int how = 0; how < 2; how++) {
        jpeg_kind jpeg = {97, 61, 3, 2, 2, 0, 0, 0};
        png_kind png = {83, 41, PNG_COLOR_TYPE_RGB, 8, 0};
        const char *path = how ? write_kind(f, "x", &jpeg) : write_png_kind(f, "x", &png);
        plim_status status = PLIM_NO_MEMORY;
        size_t n = 1;
        for (; status != PLIM_OK; n++) {
            picture made;
            plim__alloc_fail_at(n);
            status = read_picture(path, 4096, &request, &made);
            plim__alloc_fail_at(0);
            assert_true(status == PLIM_OK || status == PLIM_NO_MEMORY);
            free(made.pixels);
        }
        assert_true(n > 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(what_decoding_takes_is_known_from_the_head),
        WITH_FIXTURE(what_libraries_take_besides_is_bounded),
        WITH_FIXTURE(a_file_read_in_pieces_gives_the_same_pixels),
        WITH_FIXTURE(interlaced_images_are_those_that_are_not),
        WITH_FIXTURE(a_file_that_ends_early_is_damaged_wherever_it_ends),
        WITH_FIXTURE(memory_that_fails_is_told_from_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
