/* WebP: the pixels that Pillow reads, memory told before decoding, damage named. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "format/image.h"
#include "plim_test.h"

#define FILES PLIM_SOURCE_DIR "/tests/format/webp/"

enum { WIDTH = 21, HEIGHT = 14, PIXELS = WIDTH * HEIGHT };

static plim_error error;

static size_t read_file(const char *name, unsigned char *bytes, size_t size) {
    char path[512];
    snprintf(path, sizeof path, FILES "%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(bytes, 1, size, file);
    fclose(file);
    assert_in_range(got, 1, size - 1);
    return got;
}

/* Opens, starts and reads all rows. */
static plim_status decode(plim__image_input *input, int channels, unsigned char *pixels) {
    plim__image image;
    plim__image_request request = {channels, 0};
    PLIM_TRY(plim__image_open(&image, input, &request, &error));
    assert_true(image.width == WIDTH && image.height == HEIGHT);
    void *room = malloc(image.room_bytes);
    plim_status status = plim__image_start(&image, room, &error);
    for (int y = 0; y < HEIGHT && status == PLIM_OK; y++)
        status = plim__image_row(&image, pixels + (size_t)(y * WIDTH * channels), &error);
    plim__image_close(&image);
    free(room);
    return status;
}

static void pixels_are_those_of_pillow(void **state) {
    (void)state;
    static const char *const names[] = {"lossy", "lossless", "profile", "alpha", "alpha-lossless"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        unsigned char bytes[16384], expected[3 * PIXELS + 1], pixels[3 * PIXELS], buffer[64];
        snprintf(name, sizeof name, "%s.webp", names[i]);
        size_t size = read_file(name, bytes, sizeof bytes);
        plim__image_input memory = {.name = name, .fd = -1, .buffer = bytes, .size = size, .have = size};
        if (decode(&memory, 3, pixels) != PLIM_OK) fail_msg("%s", error.message);
        snprintf(name, sizeof name, "%s.rgb", names[i]);
        assert_int_equal(read_file(name, expected, sizeof expected), 3 * PIXELS);
        assert_memory_equal(pixels, expected, 3 * PIXELS);
        char path[512]; /* the same through a small buffer: the head must be enough to begin */
        snprintf(path, sizeof path, FILES "%s.webp", names[i]);
        plim__image_input file = {.name = path, .fd = open(path, O_RDONLY), .buffer = buffer, .size = sizeof buffer};
        memset(pixels, 0, sizeof pixels);
        if (decode(&file, 3, pixels) != PLIM_OK) fail_msg("%s", error.message);
        close(file.fd);
        assert_memory_equal(pixels, expected, 3 * PIXELS);
    }
}

static void grey_is_the_luminance(void **state) {
    (void)state;
    unsigned char bytes[16384], expected[3 * PIXELS + 1], pixels[PIXELS];
    size_t size = read_file("lossless.webp", bytes, sizeof bytes);
    read_file("lossless.rgb", expected, sizeof expected);
    plim__image_input memory = {.name = "x", .fd = -1, .buffer = bytes, .size = size, .have = size};
    assert_int_equal(decode(&memory, 1, pixels), PLIM_OK);
    for (int i = 0; i < PIXELS; i++) assert_int_equal(pixels[i], plim__image_grey(expected + 3 * i));
}

static void animations_are_refused(void **state) {
    (void)state;
    unsigned char bytes[16384];
    size_t size = read_file("animated.webp", bytes, sizeof bytes);
    plim__image_input memory = {.name = "moving", .fd = -1, .buffer = bytes, .size = size, .have = size};
    assert_int_equal(decode(&memory, 3, NULL), PLIM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "animated"));
}

/* Every shorter file, and every byte changed: a status, never a crash; what ends too early never passes. */
static void damage_is_named(void **state) {
    (void)state;
    unsigned char bytes[16384], pixels[3 * PIXELS];
    size_t size = read_file("lossy.webp", bytes, sizeof bytes);
    for (size_t length = 12; length + 2 < size; length++) {
        unsigned char *part = malloc(length); /* of its exact size: reading beyond it is found */
        memcpy(part, bytes, length);
        plim__image_input memory = {.name = "part", .fd = -1, .buffer = part, .size = length, .have = length};
        assert_int_equal(decode(&memory, 3, pixels), PLIM_CORRUPT);
        free(part);
    }
    for (size_t at = 30; at < size; at++) { /* behind the size of the picture */
        bytes[at] ^= 0x5a;
        plim__image_input memory = {.name = "changed", .fd = -1, .buffer = bytes, .size = size, .have = size};
        plim_status status = decode(&memory, 3, pixels);
        assert_true(status == PLIM_OK || status == PLIM_CORRUPT);
        bytes[at] ^= 0x5a;
    }
}

/* What is needed follows from the head, and grows with the picture. */
static void memory_is_told_before_decoding(void **state) {
    (void)state;
    unsigned char bytes[16384];
    plim__image image;
    size_t size = read_file("lossless.webp", bytes, sizeof bytes);
    plim__image_input head = {.name = "x", .fd = -1, .buffer = bytes, .size = size, .have = size};
    assert_int_equal(plim__image_open(&image, &head, &(plim__image_request){3, 0}, &error), PLIM_OK);
    assert_int_equal(image.room_bytes, size + 3 * PIXELS);
    assert_true(image.library_bytes > 4 * PIXELS && image.library_bytes < 1 << 20);
    plim__image_close(&image);
    memcpy(bytes + 21, "\xff\xff\xff\x0f", 4); /* 16384 x 16384 pixels are claimed: 2^28 */
    assert_int_equal(plim__image_open(&image, &head, &(plim__image_request){3, 0}, &error), PLIM_OK);
    assert_true(image.room_bytes >= (size_t)3 << 28 && image.library_bytes > (size_t)4 << 28);
    plim__image_close(&image);
}

static void the_first_allocation_fails(void **state) {
    (void)state;
    unsigned char bytes[16384], pixels[3 * PIXELS];
    size_t size = read_file("lossy.webp", bytes, sizeof bytes);
    plim__image_input memory = {.name = "x", .fd = -1, .buffer = bytes, .size = size, .have = size};
    plim__alloc_fail_at(1);
    assert_int_equal(decode(&memory, 3, pixels), PLIM_NO_MEMORY);
    plim__alloc_fail_at(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_those_of_pillow),     cmocka_unit_test(grey_is_the_luminance),
        cmocka_unit_test(animations_are_refused),         cmocka_unit_test(damage_is_named),
        cmocka_unit_test(memory_is_told_before_decoding), cmocka_unit_test(the_first_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
