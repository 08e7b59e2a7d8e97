/* Ranges of files, memory and spools behind one interface for reading. */
#include "data/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"

enum { PENDING = 256 << 10 }; /* a spool below this stays in memory */

static plim_status set_path(plim__blob *blob, const char *path, plim_error *error) {
    *blob = PLIM__BLOB_EMPTY;
    blob->path = plim__strdup(path);
    return blob->path ? PLIM_OK : plim__fail_memory(error, path, strlen(path) + 1);
}

plim_status plim__blob_open(plim__blob *blob, const char *path, plim_error *error) {
    struct stat info;
    PLIM_TRY(set_path(blob, path, error));
    blob->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not make us wait: it is refused below */
    if (blob->fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    if (fstat(blob->fd, &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
    if (!S_ISREG(info.st_mode))
        return plim__fail(error, PLIM_INVALID, "'%s' is not a regular file; data is read by position", path);
    blob->bytes = (uint64_t)info.st_size;
    return PLIM_OK;
}

plim_status plim__blob_memory(plim__blob *blob, const void *memory, uint64_t bytes, const char *name,
                              plim_error *error) {
    PLIM_TRY(set_path(blob, name, error));
    blob->memory = memory ? memory : "";
    blob->bytes = memory ? bytes : 0;
    return PLIM_OK;
}

plim_status plim__blob_narrow(plim__blob *blob, uint64_t offset, uint64_t bytes, plim_error *error) {
    if (offset > blob->bytes || bytes > blob->bytes - offset)
        return plim__fail(error, PLIM_CORRUPT, "'%s' ends too early: %llu bytes are promised, %llu are there",
                          blob->path, (unsigned long long)bytes,
                          (unsigned long long)(blob->bytes > offset ? blob->bytes - offset : 0));
    blob->offset += offset;
    blob->bytes = bytes;
    return PLIM_OK;
}

plim_status plim__blob_read(const plim__blob *blob, uint64_t offset, void *data, size_t bytes, plim_error *error) {
    if (offset > blob->bytes || bytes > blob->bytes - offset)
        return plim__fail(error, PLIM_CORRUPT, "'%s' ends too early: nothing is at byte %llu", blob->path,
                          (unsigned long long)offset);
    if (!blob->memory) return plim__file_read_at(blob->fd, data, bytes, blob->offset + offset, blob->path, error);
    memcpy(data, blob->memory + blob->offset + offset, bytes);
    return PLIM_OK;
}

uint64_t plim__blob_held(const plim__blob *blob) { return blob->owned ? blob->bytes : 0; }

void plim__blob_close(plim__blob *blob) {
    if (blob->fd >= 0) close(blob->fd);
    plim__free(blob->owned);
    plim__free(blob->pending);
    plim__free(blob->path);
    *blob = PLIM__BLOB_EMPTY;
}

/* --- spools --------------------------------------------------------------------------------------------------- */

/* /var/tmp before /tmp: the latter may be memory. */
static int temporary(void) {
    const char *chosen = getenv("TMPDIR");
    int fd = chosen && *chosen ? plim__file_unnamed(chosen) : -1;
    if (fd < 0) fd = plim__file_unnamed("/var/tmp");
    return fd < 0 ? plim__file_unnamed("/tmp") : fd;
}

plim_status plim__blob_spool_start(plim__blob *blob, const char *name, plim_error *error) {
    PLIM_TRY(set_path(blob, name, error));
    blob->pending = plim__alloc(PENDING);
    blob->capacity = PENDING;
    return blob->pending ? PLIM_OK : plim__fail_memory(error, "a buffer for unpacking", PENDING);
}

static plim_status flush(plim__blob *blob, plim_error *error) {
    for (size_t at = 0; at < blob->pending_bytes;) {
        ssize_t put = write(blob->fd, blob->pending + at, blob->pending_bytes - at);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return plim__fail_errno(error, errno, "cannot keep the unpacked '%s' in a temporary file (see TMPDIR)",
                                    blob->path);
        at += (size_t)put;
    }
    blob->pending_bytes = 0;
    return PLIM_OK;
}

/* The buffer is full: on to the disk, or, where there is none, a larger buffer. */
static plim_status make_room(plim__blob *blob, plim_error *error) {
    if (blob->fd < 0 && blob->capacity == PENDING) blob->fd = temporary();
    if (blob->fd >= 0) return flush(blob, error);
    size_t larger = blob->capacity * 2;
    char *grown = plim__realloc(blob->pending, larger, 1);
    if (!grown) return plim__fail_memory(error, blob->path, larger);
    blob->pending = grown;
    blob->capacity = larger;
    return PLIM_OK;
}

plim_status plim__blob_spool_write(plim__blob *blob, const void *data, size_t bytes, plim_error *error) {
    const char *from = data;
    while (bytes > 0) {
        if (blob->pending_bytes == blob->capacity) PLIM_TRY(make_room(blob, error));
        size_t room = blob->capacity - blob->pending_bytes, part = bytes < room ? bytes : room;
        memcpy(blob->pending + blob->pending_bytes, from, part);
        blob->pending_bytes += part;
        blob->bytes += part;
        from += part;
        bytes -= part;
    }
    return PLIM_OK;
}

plim_status plim__blob_spool_end(plim__blob *blob, plim_error *error) {
    if (blob->fd >= 0) {
        PLIM_TRY(flush(blob, error));
        plim__free(blob->pending);
    } else {
        char *fitted = plim__realloc(blob->pending, blob->bytes ? (size_t)blob->bytes : 1, 1);
        blob->memory = blob->owned = fitted ? fitted : blob->pending;
    }
    blob->pending = NULL;
    return PLIM_OK;
}
