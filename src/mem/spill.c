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
    int fd, direct; /* direct: the same file, around the cache; -1: none */
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

static uint64_t whole_pages(uint64_t bytes) {
    return (bytes + PLIM__SPILL_PAGE - 1) / PLIM__SPILL_PAGE * PLIM__SPILL_PAGE;
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
    s->fd = s->direct = -1;
    s->bytes = whole_pages(bytes);
    s->folder = plim__strdup(folder);
    plim_status status = s->folder ? open_file(s, error) : plim__fail_memory(error, "a spill file", strlen(folder));
    if (status != PLIM_OK) {
        plim__spill_free(s);
        return status;
    }
    *spill = s;
    return PLIM_OK;
}

/* The file has no name to open it by again but that of its descriptor. */
void plim__spill_go_around_cache(plim__spill *s) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
    if (s->direct < 0) s->direct = open(path, O_RDWR | O_CLOEXEC | O_DIRECT);
}

void plim__spill_free(plim__spill *s) {
    if (!s) return;
    if (s->direct >= 0) close(s->direct);
    if (s->fd >= 0) close(s->fd);
    plim__free(s->folder);
    plim__free(s);
}

/* --- reading and writing -------------------------------------------------------------------------------------- */

static plim_status fail_transfer(const plim__spill *s, const char *verb, const char *why, plim_error *error) {
    return plim__fail(error, PLIM_IO, "cannot %s what is spilled to '%s': %s", verb, s->folder, why);
}

/* Where a transfer stands: what it has not moved yet. */
struct transfer {
    int fd;
    char *data;
    size_t bytes;
    int64_t at;
};

static ssize_t move_once(const struct transfer *t, bool writes) {
    return writes ? pwrite(t->fd, t->data, t->bytes, (off_t)t->at) : pread(t->fd, t->data, t->bytes, (off_t)t->at);
}

static plim_status move(const plim__spill *s, struct transfer t, bool writes, plim_error *error) {
    while (t.bytes > 0) {
        ssize_t done = move_once(&t, writes);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && errno == EINVAL && t.fd == s->direct) { /* not for these addresses, or no longer on a page */
            t.fd = s->fd;
            continue;
        }
        if (done <= 0)
            return fail_transfer(s, writes ? "write" : "read",
                                 done < 0 ? strerror(errno)
                                 : writes ? "the disk takes no more"
                                          : "the file ends before it",
                                 error);
        t.data += done;
        t.at += done;
        t.bytes -= (size_t)done;
    }
    return PLIM_OK;
}

static bool is_inside(const plim__spill *s, uint64_t bytes, int64_t at) {
    return at >= 0 && (uint64_t)at <= s->bytes && bytes <= s->bytes - (uint64_t)at;
}

plim_status plim__spill_read(const plim__spill *s, void *data, size_t bytes, int64_t at, plim_error *error) {
    return move(s, (struct transfer){s->fd, data, bytes, at}, false, error);
}

plim_status plim__spill_write(const plim__spill *s, const void *data, size_t bytes, int64_t at, plim_error *error) {
    if (!is_inside(s, bytes, at)) return fail_transfer(s, "write", "it is larger than the file", error);
    return move(s, (struct transfer){s->fd, (void *)(uintptr_t)data, bytes, at}, true, error);
}

plim_status plim__spill_read_pages(const plim__spill *s, void *data, size_t bytes, int64_t at, plim_error *error) {
    if (s->direct < 0) return plim__spill_read(s, data, bytes, at, error);
    return move(s, (struct transfer){s->direct, data, whole_pages(bytes), at}, false, error);
}

plim_status plim__spill_write_pages(const plim__spill *s, const void *data, size_t bytes, int64_t at,
                                    plim_error *error) {
    if (s->direct < 0) return plim__spill_write(s, data, bytes, at, error);
    if (!is_inside(s, whole_pages(bytes), at)) return fail_transfer(s, "write", "it is larger than the file", error);
    return move(s, (struct transfer){s->direct, (void *)(uintptr_t)data, whole_pages(bytes), at}, true, error);
}

plim_status plim__spill_read_by(const plim__spill *s, void *data, size_t bytes, int64_t at, void *room,
                                plim_error *error) {
    if (s->direct < 0) return plim__spill_read(s, data, bytes, at, error);
    PLIM_TRY(plim__spill_read_pages(s, room, bytes, at, error));
    memcpy(data, room, bytes);
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
