/* Bytes that samples are read from: a range of a file, a caller's memory, or a spool: what had to be unpacked or
 * converted first. A spool is a temporary file without a name, so that it takes no memory of the process and is gone
 * when the process is; only when none can be made it is memory. Reading is safe from several threads. */
#ifndef PLIM_DATA_BLOB_H
#define PLIM_DATA_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

typedef struct plim__blob {
    const char *memory; /* NULL: the file */
    char *owned;        /* the same, when it belongs to the blob; else NULL */
    int fd;             /* -1: none */
    uint64_t offset, bytes;
    char *path;    /* for messages */
    char *pending; /* what a spool has not written yet */
    size_t pending_bytes, capacity;
} plim__blob;

#define PLIM__BLOB_EMPTY ((plim__blob){.fd = -1})

/* All of a regular file. The path is copied. */
plim_status plim__blob_open(plim__blob *blob, const char *path, plim_error *error);
/* The caller's memory, which must outlive the blob. */
plim_status plim__blob_memory(plim__blob *blob, const void *memory, uint64_t bytes, const char *name,
                              plim_error *error);
/* A part of it, from `offset` on. */
plim_status plim__blob_narrow(plim__blob *blob, uint64_t offset, uint64_t bytes, plim_error *error);

/* spool_start → spool_write* → spool_end; then it reads like any other. `name` is for messages. */
plim_status plim__blob_spool_start(plim__blob *blob, const char *name, plim_error *error);
plim_status plim__blob_spool_write(plim__blob *blob, const void *data, size_t bytes, plim_error *error);
plim_status plim__blob_spool_end(plim__blob *blob, plim_error *error);

plim_status plim__blob_read(const plim__blob *blob, uint64_t offset, void *data, size_t bytes, plim_error *error);
uint64_t plim__blob_held(const plim__blob *blob); /* bytes of memory that belong to it */
void plim__blob_close(plim__blob *blob);

/* Replaces a blob by the spool of its content when that is gzip; leaves it alone otherwise. `limit` is that of
 * plim_data_options.unpack_limit: what would become larger is PLIM_OVERFLOW, and nothing of it stays. */
plim_status plim__blob_gunzip(plim__blob *blob, uint64_t limit, plim_error *error);
/* Replaces a blob of deflated bytes (without any header) by a spool of exactly `bytes`, whose crc must match. */
plim_status plim__blob_inflate(plim__blob *blob, uint64_t bytes, uint32_t crc, uint64_t limit, plim_error *error);

#endif
