/* Small data sets made on the spot: a folder that is gone after the test, files, images. */
#ifndef PLIM_TESTS_DATA_FIXTURES_H
#define PLIM_TESTS_DATA_FIXTURES_H

/* clang-format off */
#include <stdio.h>
#include <jpeglib.h> /* needs stdio.h before it */
/* clang-format on */
#include <ftw.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plim_test.h"

typedef struct fixture {
    char root[64];
    char path[512]; /* of the file that was asked for last */
} fixture;

static inline int make_fixture(void **state) {
    fixture *f = calloc(1, sizeof *f);
    strcpy(f->root, "/tmp/plimsoll-data-XXXXXX");
    *state = f;
    return mkdtemp(f->root) ? 0 : -1;
}

static inline int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *walk) {
    (void)info, (void)flag, (void)walk;
    return remove(path);
}

static inline int remove_fixture(void **state) {
    fixture *f = *state;
    nftw(f->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, make_fixture, remove_fixture)

/* A path below the folder; folders on the way are made. */
static inline const char *path_of(fixture *f, const char *name) {
    snprintf(f->path, sizeof f->path, "%s/%s", f->root, name);
    for (char *c = f->path + strlen(f->root) + 1; *c; c++)
        if (*c == '/') {
            *c = 0;
            mkdir(f->path, 0777);
            *c = '/';
        }
    return f->path;
}

static inline const char *write_file(fixture *f, const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(path_of(f, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return f->path;
}

static inline const char *write_text(fixture *f, const char *name, const char *text) {
    return write_file(f, name, text, strlen(text));
}

/* A picture whose pixel (x, y) is (red + x, green + y, blue). */
static inline void make_pixels(int width, int height, const int colour[3], unsigned char *pixels) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++, pixels += 3) {
            pixels[0] = (unsigned char)(colour[0] + x);
            pixels[1] = (unsigned char)(colour[1] + y);
            pixels[2] = (unsigned char)colour[2];
        }
}

static inline const char *write_png(fixture *f, const char *name, int width, int height, const int colour[3]) {
    unsigned char *pixels = malloc((size_t)(width * height * 3));
    make_pixels(width, height, colour, pixels);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB};
    assert_true(png_image_write_to_file(&image, path_of(f, name), 0, pixels, 0, NULL));
    free(pixels);
    return f->path;
}

static inline const char *write_jpeg(fixture *f, const char *name, int width, int height, const int colour[3]) {
    unsigned char *pixels = malloc((size_t)(width * height * 3));
    make_pixels(width, height, colour, pixels);
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(path_of(f, name), "wb");
    assert_non_null(file);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    for (JSAMPROW row = pixels; jpeg.next_scanline < jpeg.image_height; row += 3 * width)
        jpeg_write_scanlines(&jpeg, &row, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(file);
    free(pixels);
    return f->path;
}

static inline void truncate_file(const char *path, long cut) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - cut), 0);
}

#endif
