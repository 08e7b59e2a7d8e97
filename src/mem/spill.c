/* Spill files. */
#include "mem/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "plimsoll/bytes.h"

/* statfs's names of file systems that keep files in memory */
#define TMPFS 0x01021994
#define RAMFS 0x858458f6

#define RATE_BYTES ((size_t)64 << 20)
#define RATE_CHUNK ((size_t)256 << 10)

struct plim__spill {
    int fd;
    char *folder;
    uint64_t bytes;
};

const char *plim__spill_default_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/var/tmp";
}

plim_status plim__spill_check(const char *folder, uint64_t *room, plim_error *error) {
    struct statfs info;
    if (statfs(folder, &info) != 0) return plim__fail_errno(error, errno, "cannot spill to '%s'", folder);
    unsigned long type = (unsigned long)info.f_type & 0xffffffff;
    if (type == TMPFS || type == RAMFS)
        return plim__fail(error, PLIM_INVALID,
                          "cannot spill to '%s': its files are kept in memory; name a folder on a disk with --spill",
                          folder);
    if (access(folder, W_OK | X_OK) != 0) return plim__fail_errno(error, errno, "cannot spill to '%s'", folder);
    if (room) *room = (uint64_t)info.f_bavail * (uint64_t)info.f_bsize;
    return PLIM_OK;
}

/* --- making --------------------------------------------------------------------------------------------------- */

/* Beyond its limit for files the kernel ends a process with a signal instead of an error. */
static int reserve(int fd, uint64_t bytes) {
    struct rlimit limit;
    if (bytes > INT64_MAX || (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur)) return EFBIG;
    int code;
    do code = posix_fallocate(fd, 0, (off_t)bytes);
    while (code == EINTR);
    return code;
}

static plim_status open_file(plim__spill *s, plim_error *error) {
    char size[PLIM_BYTES_TEXT];
    s->fd = plim__file_unnamed(s->folder);
    if (s->fd < 0) return plim__fail_errno(error, errno, "cannot make a file in '%s' to spill to", s->folder);
    int code = s->bytes ? reserve(s->fd, s->bytes) : 0;
    if (code == 0) return PLIM_OK;
    return plim__fail(error, PLIM_IO, "cannot reserve %s in '%s' to spill weights and optimizer state to: %s",
                      plim_bytes_format(s->bytes, size), s->folder, strerror(code));
}

plim_status plim__spill_create(const char *folder, uint64_t bytes, plim__spill **spill, plim_error *error) {
    *spill = NULL;
    PLIM_TRY(plim__spill_check(folder, NULL, error));
    plim__spill *s = plim__alloc_zero(1, sizeof *s);
    if (!s) return plim__fail_memory(error, "a spill file", sizeof *s);
    s->fd = -1;
    s->bytes = bytes;
    s->folder = plim__strdup(folder);
    plim_status status = s->folder ? open_file(s, error) : plim__fail_memory(error, "a spill file", strlen(folder));
    if (status != PLIM_OK) {
        plim__spill_free(s);
        return status;
    }
    *spill = s;
    return PLIM_OK;
}

void plim__spill_free(plim__spill *s) {
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    plim__free(s->folder);
    plim__free(s);
}

/* --- reading and writing -------------------------------------------------------------------------------------- */

static plim_status fail_transfer(const plim__spill *s, const char *verb, const char *why, plim_error *error) {
    return plim__fail(error, PLIM_IO, "cannot %s what is spilled to '%s': %s", verb, s->folder, why);
}

plim_status plim__spill_read(const plim__spill *s, void *data, size_t bytes, int64_t at, plim_error *error) {
    char *to = data;
    while (bytes > 0) {
        ssize_t done = pread(s->fd, to, bytes, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return fail_transfer(s, "read", done < 0 ? strerror(errno) : "the file ends before it", error);
        to += done;
        at += done;
        bytes -= (size_t)done;
    }
    return PLIM_OK;
}

plim_status plim__spill_write(const plim__spill *s, const void *data, size_t bytes, int64_t at, plim_error *error) {
    const char *from = data;
    if (at < 0 || (uint64_t)at > s->bytes || bytes > s->bytes - (uint64_t)at)
        return fail_transfer(s, "write", "it is larger than the file", error);
    while (bytes > 0) {
        ssize_t done = pwrite(s->fd, from, bytes, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return fail_transfer(s, "write", done < 0 ? strerror(errno) : "the disk takes no more", error);
        from += done;
        at += done;
        bytes -= (size_t)done;
    }
    return PLIM_OK;
}

/* --- how fast it is ------------------------------------------------------------------------------------------- */

static plim_status pass(const plim__spill *s, char *chunk, bool writes, plim_error *error) {
    for (size_t at = 0; at < RATE_BYTES; at += RATE_CHUNK)
        PLIM_TRY(writes ? plim__spill_write(s, chunk, RATE_CHUNK, (int64_t)at, error)
                        : plim__spill_read(s, chunk, RATE_CHUNK, (int64_t)at, error));
    return PLIM_OK;
}

plim_status plim__spill_rate(const char *folder, double *rate, plim_error *error) {
    plim__spill *s;
    PLIM_TRY(plim__spill_create(folder, RATE_BYTES, &s, error));
    char *chunk = plim__alloc_zero(1, RATE_CHUNK);
    plim_status status = chunk ? pass(s, chunk, true, error) : plim__fail_memory(error, "measuring", RATE_CHUNK);
    double start = plim__clock_seconds(); /* the first writing also finds places on the disk, which happens once */
    if (status == PLIM_OK) status = pass(s, chunk, false, error);
    if (status == PLIM_OK) status = pass(s, chunk, true, error);
    double seconds = plim__clock_seconds() - start;
    if (status == PLIM_OK) *rate = seconds > 0 ? 2 * (double)RATE_BYTES / seconds : 1e9;
    plim__free(chunk);
    plim__spill_free(s);
    return status;
}
