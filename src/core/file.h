/* Files: whole reads with a limit, and writes that appear complete or not at all. */
#ifndef PLIM_CORE_FILE_H
#define PLIM_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plimsoll/status.h"

/* Reads a file of at most `limit` bytes into *data (plim__free it). One zero byte follows the data. */
plim_status plim__file_read(const char *path, size_t limit, char **data, size_t *size, plim_error *error);

/* The same for what this program has put down itself: PLIM_IO unless it is a regular file of this user, under its own name. Never
 * waits for a writer. */
plim_status plim__file_read_own(const char *path, size_t limit, char **data, size_t *size, plim_error *error);

/* A file in `folder` that has no name, or has lost it: it is gone when it is closed. To read and write; -1 and errno. */
int plim__file_unnamed(const char *folder);

/* Reads exactly `size` bytes at `offset`; a short file is PLIM_CORRUPT. `path` is for the message. */
plim_status plim__file_read_at(int fd, void *data, size_t size, uint64_t offset, const char *path, plim_error *error);

/* An atomic write: bytes go to a temporary file beside `path`, which replaces it on commit.
 *   open → write* → commit     or     open → write* → discard
 * After any failure only discard is useful; discard after commit does nothing. */
typedef struct plim__file_writer {
    FILE *stream;
    char *path, *temporary;
    bool special; /* a device or a pipe: written as it is */
} plim__file_writer;

plim_status plim__file_writer_open(plim__file_writer *writer, const char *path, plim_error *error);
plim_status plim__file_writer_write(plim__file_writer *writer, const void *data, size_t size, plim_error *error);
/* Brings what was written to the disk without showing it yet, so that commit has little left to fail at. */
plim_status plim__file_writer_flush(plim__file_writer *writer, plim_error *error);
plim_status plim__file_writer_commit(plim__file_writer *writer, plim_error *error); /* flush, fsync, rename */
void plim__file_writer_discard(plim__file_writer *writer);

/* The whole of it in one call. */
plim_status plim__file_write(const char *path, const void *data, size_t size, plim_error *error);

#endif
