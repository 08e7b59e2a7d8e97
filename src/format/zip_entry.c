/* Reading the data of a zip entry: stored bytes as they are, deflated ones through zlib, never more than asked. */
#include <string.h>
#include <zlib.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/zlib_heap.h"
#include "format/zip.h"

enum { LOCAL_BYTES = 30, CHUNK = 1 << 16 };

static plim_status broken(const plim__zip *zip, const plim__zip_entry *entry, const char *what, plim_error *error) {
    return plim__fail(error, PLIM_CORRUPT, "entry '%.200s' of '%s' is malformed: %s", entry->name, zip->path, what);
}

/* The data starts after the local header, whose name and extra field may differ in length from the directory's. */
plim_status plim__zip_find_data(const plim__zip *zip, const plim__zip_entry *entry, uint64_t *offset,
                                plim_error *error) {
    unsigned char local[LOCAL_BYTES];
    if (entry->encrypted)
        return plim__fail(error, PLIM_UNSUPPORTED, "entry '%.200s' of '%s' is encrypted", entry->name, zip->path);
    if (entry->method != 0 && entry->method != Z_DEFLATED)
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "entry '%.200s' of '%s' uses compression method %d; 0 and 8 are known", entry->name,
                          zip->path, entry->method);
    PLIM_TRY(plim__file_read_at(zip->fd, local, sizeof local, entry->offset, zip->path, error));
    if (memcmp(local, "PK\3\4", 4) != 0) return broken(zip, entry, "its local header is missing", error);
    *offset =
        entry->offset + LOCAL_BYTES + (local[26] | (uint64_t)local[27] << 8) + (local[28] | (uint64_t)local[29] << 8);
    if (*offset > zip->file_bytes || entry->stored > zip->file_bytes - *offset)
        return broken(zip, entry, "it lies outside of the file", error);
    return PLIM_OK;
}

static plim_status inflate_start(const plim__zip *zip, const plim__zip_entry *entry, uint64_t offset, void *data,
                                 size_t want, plim_error *error) {
    unsigned char *chunk = plim__alloc(CHUNK);
    if (!chunk) return plim__fail_memory(error, "a read buffer", CHUNK);
    z_stream stream = {.next_out = data};
    plim_status status = PLIM_OK;
    plim__zlib_use_heap(&stream);
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) status = plim__fail_memory(error, "inflating", CHUNK);
    size_t made = 0;
    for (uint64_t done = 0; status == PLIM_OK && made < want;) {
        if (stream.avail_in == 0 && done < entry->stored) {
            size_t part = entry->stored - done < CHUNK ? (size_t)(entry->stored - done) : CHUNK;
            status = plim__file_read_at(zip->fd, chunk, part, offset + done, zip->path, error);
            if (status != PLIM_OK) break;
            done += part;
            stream.next_in = chunk;
            stream.avail_in = (uInt)part;
        }
        size_t room = want - made < 1u << 30 ? want - made : 1u << 30;
        stream.avail_out = (uInt)room;
        int result = inflate(&stream, Z_NO_FLUSH);
        made += room - stream.avail_out;
        if (made < want && result != Z_OK) status = broken(zip, entry, "its compressed data ends or is damaged", error);
    }
    inflateEnd(&stream);
    plim__free(chunk);
    return status;
}

plim_status plim__zip_read_start(const plim__zip *zip, const plim__zip_entry *entry, void *data, size_t capacity,
                                 size_t *got, plim_error *error) {
    uint64_t offset = 0;
    *got = 0;
    PLIM_TRY(plim__zip_find_data(zip, entry, &offset, error));
    size_t want = entry->bytes < capacity ? (size_t)entry->bytes : capacity;
    if (entry->method == 0)
        PLIM_TRY(plim__file_read_at(zip->fd, data, want, offset, zip->path, error));
    else
        PLIM_TRY(inflate_start(zip, entry, offset, data, want, error));
    *got = want;
    return PLIM_OK;
}

static uint32_t checksum(const char *data, size_t size) {
    uLong crc = crc32(0, NULL, 0);
    for (size_t at = 0; at < size;) {
        size_t part = size - at < 1u << 30 ? size - at : 1u << 30;
        crc = crc32(crc, (const Bytef *)data + at, (uInt)part);
        at += part;
    }
    return (uint32_t)crc;
}

plim_status plim__zip_read(const plim__zip *zip, const plim__zip_entry *entry, size_t limit, char **data, size_t *size,
                           plim_error *error) {
    *data = NULL;
    *size = 0;
    if (entry->bytes > limit)
        return plim__fail(error, PLIM_BUDGET, "entry '%.200s' of '%s' inflates to %llu bytes; at most %zu are read",
                          entry->name, zip->path, (unsigned long long)entry->bytes, limit);
    char *whole = plim__alloc((size_t)entry->bytes + 1);
    if (!whole) return plim__fail_memory(error, entry->name, entry->bytes);
    plim_status status = plim__zip_read_start(zip, entry, whole, (size_t)entry->bytes, size, error);
    if (status == PLIM_OK && checksum(whole, *size) != entry->crc)
        status = broken(zip, entry, "its checksum is wrong", error);
    if (status != PLIM_OK) {
        plim__free(whole);
        return status;
    }
    whole[*size] = 0;
    *data = whole;
    return PLIM_OK;
}
