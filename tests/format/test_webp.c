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
static void damage_to(const char *name) {
    unsigned char bytes[16384], pixels[3 * PIXELS];
    size_t size = read_file(name, bytes, sizeof bytes);
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

static void damage_is_named(void **state) {
    (void)state;
    damage_to("lossy.webp");
    damage_to("lossless.webp");
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
}

/* --- files that ask for much ---------------------------------------------------------------------------------- */

/* A lossless stream, lowest bit first. */
typedef struct stream {
    unsigned char bytes[400 << 10];
    size_t bits;
} stream;

static stream made;

static void put(unsigned value, int count) {
    for (int i = 0; i < count; i++, made.bits++)
        made.bytes[made.bits / 8] |= (unsigned char)((value >> i & 1) << (made.bits % 8));
}

/* A code of one symbol, 0: pixels take no bits. */
static void put_plain_code(void) { put(1, 4); }

/* A code in which each of the first 256 symbols has eight bits. */
static void put_code_of_bytes(int alphabet) {
    static const int order[12] = {17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8};
    put(0, 1);
    put(12 - 4, 4);
    for (int i = 0; i < 12; i++) put(order[i] == 0 || order[i] == 8, 3);
    put(0, 1);
    for (int i = 0; i < alphabet; i++) put(i < 256, 1);
}

static void put_byte_of_code(unsigned value) {
    for (int i = 7; i >= 0; i--) put(value >> i & 1, 1);
}

/* A picture of `side` pixels a side, a multiple of four: every four by four have a group of their own. */
static void put_groups(unsigned side) {
    put(0, 2); /* no transform, no cache */
    put(1, 1);
    put(0, 3 + 1);
    put_code_of_bytes(280);
    put_code_of_bytes(256);
    for (int i = 0; i < 3; i++) put_plain_code();
    unsigned groups = side / 4 * (side / 4);
    for (unsigned i = 0; i < groups; i++) {
        put_byte_of_code(i & 255);
        put_byte_of_code(i >> 8);
    }
    for (unsigned i = 0; i < 5 * groups; i++) put_plain_code();
}

static void put_head(unsigned side) {
    put(0x2f, 8);
    put(side - 1, 14);
    put(side - 1, 14);
    put(0, 4);
}

/* Puts the stream into a chunk of a file, behind what `begin` already has of it. */
static size_t close_file(unsigned char *file, const unsigned char *begin, size_t before, const char *kind) {
    size_t bytes = (made.bits + 15) / 16 * 2;
    memcpy(file, begin, before);
    memcpy(file + before, kind, 4);
    for (int i = 0; i < 4; i++) file[before + 4 + (size_t)i] = (unsigned char)(bytes >> (8 * i));
    memcpy(file + before + 8, made.bytes, bytes);
    for (int i = 0; i < 4; i++) file[4 + i] = (unsigned char)((before + bytes) >> (8 * i));
    return before + 8 + bytes;
}

static unsigned char file_bytes[sizeof made.bytes + 64];

static void groups_of_codes_are_counted_before_decoding(void **state) {
    (void)state;
    static const unsigned char riff[12] = "RIFF....WEBP";
    for (unsigned side = 64; side <= 1024; side *= 4) {
        plim__image image;
        memset(&made, 0, sizeof made);
        put_head(side);
        put_groups(side);
        size_t size = close_file(file_bytes, riff, sizeof riff, "VP8L"), groups = side / 4 * (side / 4);
        plim__image_input input = {.name = "many", .fd = -1, .buffer = file_bytes, .size = size, .have = size};
        plim_status status = plim__image_open(&image, &input, &(plim__image_request){3, 0}, &error);
        if (status != PLIM_OK) fail_msg("%s", error.message);
        /* libwebp fills five tables of 256 entries a group, and has room for 2,954 */
        assert_in_range(image.library_bytes, groups * 2954 * 4, groups * 16384 + (2 << 20) + 8 * side * side);
        if (side == 64) { /* such a file is a valid one */
            void *room = malloc(image.room_bytes);
            assert_int_equal(plim__image_start(&image, room, &error), PLIM_OK);
            free(room);
        }
        plim__image_close(&image);
    }
}

static void groups_of_transparency_are_counted(void **state) {
    (void)state;
    unsigned char begin[30] = "RIFF....WEBPVP8X\x0a\0\0\0\x10\0\0\0";
    static const unsigned char picture[] = "VP8 \x0a\0\0\0\x10\0\0\x9d\x01\x2a\x00\x04\x00\x04";
    plim__image image;
    begin[24] = begin[27] = 0xff, begin[25] = begin[28] = 3; /* 1024 x 1024 */
    memset(&made, 0, sizeof made);
    put(1, 8); /* lossless, no filter */
    put_groups(1024);
    size_t size = close_file(file_bytes, begin, sizeof begin, "ALPH");
    memcpy(file_bytes + size, picture, sizeof picture - 1);
    size += sizeof picture - 1;
    for (int i = 0; i < 4; i++) file_bytes[4 + i] = (unsigned char)((size - 8) >> (8 * i));
    plim__image_input input = {.name = "clear", .fd = -1, .buffer = file_bytes, .size = size, .have = size};
    if (plim__image_open(&image, &input, &(plim__image_request){3, 0}, &error) != PLIM_OK)
        fail_msg("%s", error.message);
    assert_true(image.library_bytes > (size_t)65536 * 2954 * 4);
    plim__image_close(&image);
}

/* The stream of a picture of 2^28 pixels can be as short as one of few. */
static void a_large_claim_is_believed(void **state) {
    (void)state;
    static const unsigned char riff[12] = "RIFF....WEBP";
    plim__image image;
    memset(&made, 0, sizeof made);
    put_head(16384);
    put(0, 3);
    for (int i = 0; i < 5; i++) put_plain_code();
    size_t size = close_file(file_bytes, riff, sizeof riff, "VP8L");
    plim__image_input input = {.name = "large", .fd = -1, .buffer = file_bytes, .size = size, .have = size};
    if (plim__image_open(&image, &input, &(plim__image_request){3, 0}, &error) != PLIM_OK)
        fail_msg("%s", error.message);
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
        cmocka_unit_test(pixels_are_those_of_pillow),
        cmocka_unit_test(grey_is_the_luminance),
        cmocka_unit_test(animations_are_refused),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(memory_is_told_before_decoding),
        cmocka_unit_test(groups_of_codes_are_counted_before_decoding),
        cmocka_unit_test(groups_of_transparency_are_counted),
        cmocka_unit_test(a_large_claim_is_believed),
        cmocka_unit_test(the_first_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
