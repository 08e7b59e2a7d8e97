/* File access. A writer's temporary file lives in the target's folder, so that rename is atomic; where the file system
 * can, it has no name until it is complete, so that a process that is killed leaves nothing behind. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/str.h"

#define MOST_LINKS     40 /* as the kernel has it */
#define TEMPORARY_TEXT 32 /* what a temporary name is longer than its path */

plim_status plim__file_read_at(int fd, void *data, size_t size, uint64_t offset, const char *path, plim_error *error) {
    char *at = data;
    while (size > 0) {
        ssize_t got = pread(fd, at, size < (1u << 30) ? size : (1u << 30), (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
        if (got == 0) return plim__fail(error, PLIM_CORRUPT, "'%s' ends too early: %zu bytes are missing", path, size);
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return PLIM_OK;
}

/* Grows as it reads, so that pipes and /proc files work as well as regular ones. */
static plim_status read_all(int fd, const char *path, size_t limit, plim__str *into, plim_error *error) {
    static const size_t chunk = 1 << 16;
    char buffer[1 << 12];
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) return plim__fail(error, PLIM_IO, "'%s' is a folder", path);
    for (;;) {
        ssize_t got = read(fd, buffer, sizeof buffer < chunk ? sizeof buffer : chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
        if (got == 0) break;
        if (into->length + (size_t)got > limit)
            return plim__fail(error, PLIM_OVERFLOW, "'%s' is larger than %zu bytes", path, limit);
        plim__str_addn(into, buffer, (size_t)got);
        if (into->failed) return plim__fail_memory(error, path, into->length + (size_t)got);
    }
    plim__str_addn(into, "", 0); /* an empty file still gets its zero byte */
    return into->failed ? plim__fail_memory(error, path, 1) : PLIM_OK;
}

/* Closes it. */
static plim_status read_file(int fd, const char *path, size_t limit, char **data, size_t *size, plim_error *error) {
    plim__str text = {0};
    plim_status status = read_all(fd, path, limit, &text, error);
    close(fd);
    if (status != PLIM_OK) {
        plim__str_free(&text);
        return status;
    }
    *data = text.data;
    *size = text.length;
    return PLIM_OK;
}

plim_status plim__file_read(const char *path, size_t limit, char **data, size_t *size, plim_error *error) {
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    return read_file(fd, path, limit, data, size, error);
}

plim_status plim__file_read_own(const char *path, size_t limit, char **data, size_t *size, plim_error *error) {
    struct stat info;
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid())
        return read_file(fd, path, limit, data, size, error);
    close(fd);
    return plim__fail(error, PLIM_IO, "'%s' is not a file of this user", path);
}

int plim__file_unnamed(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
    char path[4096]; /* a file system that has no files without names */
    if ((size_t)snprintf(path, sizeof path, "%s/plimsoll-XXXXXX", folder) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    return fd;
}

/* A file that can be given a name later, in the folder of `path`; -1 where that is not possible. */
static int open_nameless(const char *path) {
    char *copy = access("/proc/self/fd", X_OK) == 0 ? plim__strdup(path) : NULL;
    int fd = copy ? open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    plim__free(copy);
    return fd;
}

static int open_named(char *temporary) {
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) return fd;
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask); /* mkostemp makes 0600; users expect what open() would give */
    return fd;
}

/* Where a chain of symbolic links ends, whether a file is there or not; NULL and errno on failure. */
static char *follow_links(const char *path) {
    char *at = plim__strdup(path);
    for (int hops = 0; at && hops < MOST_LINKS; hops++) {
        char target[PATH_MAX];
        ssize_t length = readlink(at, target, sizeof target - 1);
        if (length < 0) return at; /* no link */
        target[length] = 0;
        plim__str next = {0};
        char *slash = strrchr(at, '/');
        if (*target != '/' && slash) plim__str_addn(&next, at, (size_t)(slash - at) + 1);
        plim__str_add(&next, target);
        plim__free(at);
        at = next.failed ? NULL : plim__strdup(plim__str_text(&next));
        plim__str_free(&next);
    }
    errno = at ? ELOOP : ENOMEM;
    plim__free(at);
    return NULL;
}

/* Gives the file its temporary name, which is this process's alone: a file of that name was left by a process that is gone. */
static int name_file(plim__file_writer *writer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(writer->stream));
    snprintf(writer->temporary, strlen(writer->path) + TEMPORARY_TEXT, "%s.%ld-%d", writer->path, (long)getpid(),
             fileno(writer->stream));
    if (linkat(AT_FDCWD, link, AT_FDCWD, writer->temporary, AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != EEXIST || unlink(writer->temporary) != 0) return -1;
    return linkat(AT_FDCWD, link, AT_FDCWD, writer->temporary, AT_SYMLINK_FOLLOW);
}

/* The new file may be read and written by whom the old one could be: a private checkpoint stays private. The owner changes
 * first, since that clears bits of the mode. */
static void keep_access(int fd, const struct stat *old) {
    if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0)
        fchmod(fd, old->st_mode & (S_IRWXU | S_IRWXO)); /* a group that we cannot give is given nothing */
    else
        fchmod(fd, old->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
}

/* A file that a rename can replace. What is no regular file (/dev/null, a pipe) is written as it is: a rename would put a
 * file in its place. */
static int open_target(plim__file_writer *writer, size_t length) {
    struct stat info;
    bool exists = stat(writer->path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        writer->special = true;
        return open(writer->path, O_WRONLY | O_CLOEXEC | O_NOCTTY); /* EISDIR for a folder */
    }
    int fd = open_nameless(writer->path);
    if (fd < 0) {
        snprintf(writer->temporary, length, "%s.XXXXXX", writer->path);
        fd = open_named(writer->temporary);
    }
    if (fd >= 0 && exists) keep_access(fd, &info);
    return fd;
}

plim_status plim__file_writer_open(plim__file_writer *writer, const char *path, plim_error *error) {
    *writer = (plim__file_writer){0};
    writer->path = follow_links(path); /* a link stays one, and its target is replaced */
    if (!writer->path) return plim__fail_errno(error, errno, "cannot write '%s'", path);
    size_t length = strlen(writer->path) + TEMPORARY_TEXT;
    writer->temporary = plim__alloc(length);
    if (writer->temporary) writer->temporary[0] = 0;
    if (!writer->temporary) {
        plim__file_writer_discard(writer);
        return plim__fail_memory(error, path, length);
    }
    int fd = open_target(writer, length);
    if (fd >= 0) writer->stream = fdopen(fd, "wb");
    if (!writer->stream) {
        int saved = errno;
        if (fd >= 0) {
            close(fd);
            if (writer->temporary[0]) unlink(writer->temporary);
        }
        writer->temporary[0] = 0;
        plim__file_writer_discard(writer);
        return plim__fail_errno(error, saved, "cannot write '%s'", path);
    }
    return PLIM_OK;
}

plim_status plim__file_writer_write(plim__file_writer *writer, const void *data, size_t size, plim_error *error) {
    if (size == 0 || fwrite(data, 1, size, writer->stream) == size) return PLIM_OK;
    return plim__fail_errno(error, errno, "cannot write '%s'", writer->path);
}

/* The folder's entry must reach the disk too, or a crash could bring the old file back. */
static void sync_folder(const char *path) {
    char *copy = plim__strdup(path);
    if (!copy) return;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    plim__free(copy);
}

static bool flush_to_disk(plim__file_writer *writer) {
    return fflush(writer->stream) == 0 && (writer->special || fsync(fileno(writer->stream)) == 0);
}

plim_status plim__file_writer_flush(plim__file_writer *writer, plim_error *error) {
    if (flush_to_disk(writer)) return PLIM_OK;
    return plim__fail_errno(error, errno, "cannot write '%s'", writer->path);
}

plim_status plim__file_writer_commit(plim__file_writer *writer, plim_error *error) {
    bool written = flush_to_disk(writer) && (writer->special || writer->temporary[0] || name_file(writer) == 0);
    int saved = errno;
    if (fclose(writer->stream) != 0 && written) {
        written = false;
        saved = errno;
    }
    writer->stream = NULL;
    if (written && !writer->special && rename(writer->temporary, writer->path) != 0) {
        written = false;
        saved = errno;
    }
    if (!written) return plim__fail_errno(error, saved, "cannot write '%s'", writer->path);
    if (!writer->special) sync_folder(writer->path);
    writer->temporary[0] = 0;
    plim__file_writer_discard(writer);
    return PLIM_OK;
}

void plim__file_writer_discard(plim__file_writer *writer) {
    if (writer->stream) fclose(writer->stream);
    if (writer->temporary && writer->temporary[0]) unlink(writer->temporary);
    plim__free(writer->temporary);
    plim__free(writer->path);
    *writer = (plim__file_writer){0};
}

plim_status plim__file_write(const char *path, const void *data, size_t size, plim_error *error) {
    plim__file_writer writer;
    PLIM_TRY(plim__file_writer_open(&writer, path, error));
    plim_status status = plim__file_writer_write(&writer, data, size, error);
    if (status == PLIM_OK) status = plim__file_writer_commit(&writer, error);
    plim__file_writer_discard(&writer);
    return status;
}
