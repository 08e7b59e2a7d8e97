/* Zip archives, as .npz and .pt files are: the central directory (zip64 too), and entries that are stored or
 * deflated. Nothing is inflated beyond what the caller asks for, whatever the archive claims. */
#ifndef PLIM_FORMAT_ZIP_H
#define PLIM_FORMAT_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

enum {
    PLIM__ZIP_MAX_ENTRIES = 1 << 20,
    PLIM__ZIP_MAX_DIRECTORY = 128 << 20, /* bytes */
};

typedef struct plim__zip_entry {
    char *name;
    uint64_t bytes;  /* inflated */
    uint64_t stored; /* in the file */
    uint64_t offset; /* of its local header */
    uint32_t crc;
    uint16_t method; /* 0 stored, 8 deflated; others are listed but cannot be read */
    bool encrypted;
} plim__zip_entry;

typedef struct plim__zip {
    int fd; /* not owned */
    const char *path;
    uint64_t file_bytes;
    plim__zip_entry *entries;
    size_t count;
} plim__zip;

/* Reads the directory of an open regular file. Refuses entries that overlap, lie outside of the file, or claim
 * more than deflate can give (1032 to 1). `fd` and `path` must outlive the archive. */
plim_status plim__zip_open(plim__zip *zip, int fd, const char *path, plim_error *error);
void plim__zip_close(plim__zip *zip);

/* The entry with this name, or NULL. */
const plim__zip_entry *plim__zip_find(const plim__zip *zip, const char *name);

/* Where the entry's bytes (as stored) begin in the file; they are checked to lie inside of it. */
plim_status plim__zip_find_data(const plim__zip *zip, const plim__zip_entry *entry, uint64_t *offset,
                                plim_error *error);
/* The first `capacity` bytes of an entry, or all when it is shorter; *got says how many. */
plim_status plim__zip_read_start(const plim__zip *zip, const plim__zip_entry *entry, void *data, size_t capacity,
                                 size_t *got, plim_error *error);
/* The whole entry, its checksum verified, refused when it is longer than `limit`; plim__free(*data). */
plim_status plim__zip_read(const plim__zip *zip, const plim__zip_entry *entry, size_t limit, char **data, size_t *size,
                           plim_error *error);

#endif
