/* Makes zip archives for tests, right or wrong ones: each entry says itself what its headers claim. */
#ifndef TESTS_FORMAT_ZIP_MAKER_H
#define TESTS_FORMAT_ZIP_MAKER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/str.h"

typedef struct zip_made {
    plim__str bytes, directory;
    unsigned count;
} zip_made;

static inline void put_number(plim__str *into, uint64_t number, int bytes) {
    for (int i = 0; i < bytes; i++) plim__str_addc(into, (char)(i < 8 ? number >> (8 * i) & 255 : 0));
}

struct zip_entry {
    int method;
    uint32_t crc;
    uint64_t stored, size, offset;
};

/* One row of the directory for data that is already there. */
static inline void zip_row(zip_made *zip, const char *name, struct zip_entry e) {
    plim__str *d = &zip->directory;
    plim__str_addn(d, "PK\1\2\x14\0\x14\0\0\0", 10);
    put_number(d, (uint64_t)e.method, 2);
    put_number(d, 0, 4);
    put_number(d, e.crc, 4);
    put_number(d, e.stored, 4);
    put_number(d, e.size, 4);
    put_number(d, strlen(name), 2);
    put_number(d, 0, 12);
    put_number(d, e.offset, 4);
    plim__str_add(d, name);
    zip->count++;
}

/* An entry; `claim` is the inflated size that the directory gives, 0 for the true one. */
static inline void zip_add(zip_made *zip, const char *name, const void *data, size_t size, int method, uint64_t claim) {
    uLongf stored = compressBound(size);
    unsigned char *packed = malloc(stored + 64);
    if (method == 8) {
        z_stream stream = {0};
        deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
        stream.next_in = (Bytef *)(uintptr_t)data;
        stream.avail_in = (uInt)size;
        stream.next_out = packed;
        stream.avail_out = (uInt)stored + 64;
        deflate(&stream, Z_FINISH);
        stored = stream.total_out;
        deflateEnd(&stream);
    } else {
        memcpy(packed, data, size);
        stored = size;
    }
    uint32_t crc = (uint32_t)crc32(0, data, (uInt)size);
    zip_row(zip, name, (struct zip_entry){method, crc, stored, claim ? claim : size, zip->bytes.length});
    plim__str *b = &zip->bytes;
    plim__str_addn(b, "PK\3\4\x14\0\0\0", 8);
    put_number(b, (uint64_t)method, 2);
    put_number(b, 0, 4);
    put_number(b, crc, 4);
    put_number(b, stored, 4);
    put_number(b, claim ? claim : size, 4);
    put_number(b, strlen(name), 2);
    put_number(b, 0, 2);
    plim__str_add(b, name);
    plim__str_addn(b, (const char *)packed, stored);
    free(packed);
}

/* Adds the directory and the end record; the archive is zip->bytes. */
static inline void zip_finish(zip_made *zip) {
    size_t offset = zip->bytes.length;
    plim__str_addn(&zip->bytes, zip->directory.data ? zip->directory.data : "", zip->directory.length);
    plim__str_addn(&zip->bytes, "PK\5\6\0\0\0\0", 8);
    put_number(&zip->bytes, zip->count, 2);
    put_number(&zip->bytes, zip->count, 2);
    put_number(&zip->bytes, zip->directory.length, 4);
    put_number(&zip->bytes, offset, 4);
    put_number(&zip->bytes, 0, 2);
}

static inline void zip_free(zip_made *zip) {
    plim__str_free(&zip->bytes);
    plim__str_free(&zip->directory);
    *zip = (zip_made){0};
}

#endif
