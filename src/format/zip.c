/* Reading a zip archive's directory.
 *
 *   [local header, data]* [central directory] [zip64 end record, zip64 locator]? [end record, comment]
 *
 * The end record is found from the back; it (or its zip64 sister) says where the directory is. */
#include "format/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/vec.h"

enum {
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    MOST_COMMENT = 65535
};
enum { DEFLATE_BEST = 1032 };

static uint16_t u16(const unsigned char *at) { return (uint16_t)(at[0] | at[1] << 8); }
static uint32_t u32(const unsigned char *at) { return u16(at) | (uint32_t)u16(at + 2) << 16; }
static uint64_t u64(const unsigned char *at) { return u32(at) | (uint64_t)u32(at + 4) << 32; }

static plim_status broken(const plim__zip *zip, const char *what, plim_error *error) {
    return plim__fail(error, PLIM_CORRUPT, "'%s' is not a valid zip archive: %s", zip->path, what);
}

/* Where the directory is. */
typedef struct directory {
    uint64_t offset, bytes, count;
} directory;

static plim_status read_end64(plim__zip *zip, uint64_t end_offset, directory *dir, plim_error *error) {
    unsigned char locator[LOCATOR_BYTES], end[END64_BYTES];
    if (end_offset < LOCATOR_BYTES) return broken(zip, "its zip64 record is missing", error);
    PLIM_TRY(plim__file_read_at(zip->fd, locator, sizeof locator, end_offset - LOCATOR_BYTES, zip->path, error));
    if (memcmp(locator, "PK\6\7", 4) != 0) return broken(zip, "its zip64 record is missing", error);
    uint64_t at = u64(locator + 8);
    if (at > zip->file_bytes - sizeof end) return broken(zip, "its zip64 record lies outside of the file", error);
    PLIM_TRY(plim__file_read_at(zip->fd, end, sizeof end, at, zip->path, error));
    if (memcmp(end, "PK\6\6", 4) != 0) return broken(zip, "its zip64 record is malformed", error);
    *dir = (directory){u64(end + 48), u64(end + 40), u64(end + 32)};
    return PLIM_OK;
}

static plim_status find_directory(plim__zip *zip, directory *dir, plim_error *error) {
    uint64_t window = zip->file_bytes < END_BYTES + MOST_COMMENT ? zip->file_bytes : END_BYTES + MOST_COMMENT;
    if (window < END_BYTES) return broken(zip, "it is too short", error);
    unsigned char *tail = plim__alloc((size_t)window);
    if (!tail) return plim__fail_memory(error, "the end of a zip archive", window);
    uint64_t start = zip->file_bytes - window;
    plim_status status = plim__file_read_at(zip->fd, tail, (size_t)window, start, zip->path, error);
    size_t at = (size_t)window - END_BYTES + 1;
    bool found = false;
    while (status == PLIM_OK && !found && at-- > 0)
        found = memcmp(tail + at, "PK\5\6", 4) == 0 && at + END_BYTES + u16(tail + at + 20) <= window;
    if (status == PLIM_OK && !found) status = broken(zip, "its directory is missing (is it cut off?)", error);
    if (status == PLIM_OK) {
        *dir = (directory){u32(tail + at + 16), u32(tail + at + 12), u16(tail + at + 10)};
        if (dir->offset == UINT32_MAX || dir->bytes == UINT32_MAX || dir->count == UINT16_MAX)
            status = read_end64(zip, start + at, dir, error);
    }
    plim__free(tail);
    return status;
}

/* Sizes and offsets that did not fit into 32 bits are in an extra field, in this order, only those. */
static bool read_extra64(plim__zip_entry *entry, const unsigned char *extra, size_t length) {
    while (length >= 4) {
        size_t size = u16(extra + 2);
        if (size > length - 4) return false;
        if (u16(extra) == 1) {
            const unsigned char *at = extra + 4, *end = at + size;
            uint64_t *fields[] = {&entry->bytes, &entry->stored, &entry->offset};
            for (size_t i = 0; i < 3; i++) {
                if (*fields[i] != UINT32_MAX) continue;
                if (end - at < 8) return false;
                *fields[i] = u64(at);
                at += 8;
            }
            return true;
        }
        extra += 4 + size;
        length -= 4 + size;
    }
    return true;
}

static plim_status check_entry(const plim__zip *zip, const plim__zip_entry *entry, plim_error *error) {
    uint64_t data_end;
    if (__builtin_add_overflow(entry->offset, entry->stored, &data_end) || data_end > zip->file_bytes)
        return broken(zip, "an entry lies outside of the file", error);
    if (entry->method == 0 && entry->bytes != entry->stored) return broken(zip, "a stored entry has two sizes", error);
    if (entry->bytes / DEFLATE_BEST > entry->stored + 1)
        return broken(zip, "an entry claims to inflate to more than deflate can give", error);
    return PLIM_OK;
}

/* One row of the directory; *used is its length. */
static plim_status read_row(const plim__zip *zip, const unsigned char *row, size_t left, plim__zip_entry *entry,
                            size_t *used, plim_error *error) {
    if (left < CENTRAL_BYTES || memcmp(row, "PK\1\2", 4) != 0) return broken(zip, "its directory is malformed", error);
    size_t name = u16(row + 28), extra = u16(row + 30);
    *used = CENTRAL_BYTES + name + extra + u16(row + 32);
    if (*used > left) return broken(zip, "its directory is malformed", error);
    *entry = (plim__zip_entry){.bytes = u32(row + 24),
                               .stored = u32(row + 20),
                               .offset = u32(row + 42),
                               .crc = u32(row + 16),
                               .method = u16(row + 10),
                               .encrypted = row[8] & 1};
    if (!read_extra64(entry, row + CENTRAL_BYTES + name, extra))
        return broken(zip, "an extra field is malformed", error);
    PLIM_TRY(check_entry(zip, entry, error));
    entry->name = plim__strndup((const char *)row + CENTRAL_BYTES, name);
    return entry->name ? PLIM_OK : plim__fail_memory(error, "the directory of a zip archive", name);
}

static plim_status read_rows(plim__zip *zip, const unsigned char *rows, const directory *dir, plim_error *error) {
    size_t at = 0, used = 0;
    for (uint64_t i = 0; i < dir->count; i++, at += used) {
        PLIM_TRY(read_row(zip, rows + at, (size_t)dir->bytes - at, &zip->entries[zip->count], &used, error));
        zip->count++;
    }
    return PLIM_OK;
}

static int by_offset(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Archives that expand without end share the same compressed bytes between entries. */
static plim_status check_overlap(const plim__zip *zip, plim_error *error) {
    uint64_t(*spans)[2] = plim__alloc_array(zip->count ? zip->count : 1, sizeof *spans);
    if (!spans) return plim__fail_memory(error, "the directory of a zip archive", zip->count * sizeof *spans);
    for (size_t i = 0; i < zip->count; i++) {
        spans[i][0] = zip->entries[i].offset;
        spans[i][1] = zip->entries[i].offset + zip->entries[i].stored + LOCAL_BYTES;
    }
    qsort(spans, zip->count, sizeof *spans, by_offset);
    bool overlap = false;
    for (size_t i = 1; i < zip->count; i++) overlap = overlap || spans[i][0] < spans[i - 1][1];
    plim__free(spans);
    return overlap ? broken(zip, "its entries overlap (a zip bomb?)", error) : PLIM_OK;
}

static plim_status read_directory(plim__zip *zip, const directory *dir, plim_error *error) {
    if (dir->bytes > zip->file_bytes || dir->offset > zip->file_bytes - dir->bytes)
        return broken(zip, "its directory lies outside of the file", error);
    if (dir->count > PLIM__ZIP_MAX_ENTRIES || dir->bytes > PLIM__ZIP_MAX_DIRECTORY)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' has %llu entries; at most %d are read", zip->path,
                          (unsigned long long)dir->count, PLIM__ZIP_MAX_ENTRIES);
    if (dir->count > dir->bytes / CENTRAL_BYTES) return broken(zip, "its directory is malformed", error);
    unsigned char *rows = plim__alloc((size_t)dir->bytes + 1);
    zip->entries = plim__alloc_array((size_t)dir->count + 1, sizeof *zip->entries);
    plim_status status = PLIM_OK;
    if (!rows || !zip->entries) status = plim__fail_memory(error, "the directory of a zip archive", dir->bytes);
    if (status == PLIM_OK)
        status = plim__file_read_at(zip->fd, rows, (size_t)dir->bytes, dir->offset, zip->path, error);
    if (status == PLIM_OK) status = read_rows(zip, rows, dir, error);
    plim__free(rows);
    return status == PLIM_OK ? check_overlap(zip, error) : status;
}

plim_status plim__zip_open(plim__zip *zip, int fd, const char *path, plim_error *error) {
    *zip = (plim__zip){.fd = fd, .path = path};
    struct stat info;
    directory dir = {0};
    if (fstat(fd, &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
    zip->file_bytes = info.st_size > 0 ? (uint64_t)info.st_size : 0;
    plim_status status = find_directory(zip, &dir, error);
    if (status == PLIM_OK) status = read_directory(zip, &dir, error);
    if (status != PLIM_OK) plim__zip_close(zip);
    return status;
}

void plim__zip_close(plim__zip *zip) {
    for (size_t i = 0; i < zip->count; i++) plim__free(zip->entries[i].name);
    plim__free(zip->entries);
    zip->entries = NULL;
    zip->count = 0;
}

const plim__zip_entry *plim__zip_find(const plim__zip *zip, const char *name) {
    for (size_t i = 0; i < zip->count; i++)
        if (strcmp(zip->entries[i].name, name) == 0) return &zip->entries[i];
    return NULL;
}
