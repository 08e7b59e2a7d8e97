/* Tensor data in files beside the model. A model may come from anywhere, so its paths are not trusted: they stay in
 * the model's folder. Each step of a path is opened by itself without following symbolic links, so that nothing can
 * change between a check and its use. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "format/onnx_read.h"

static plim_status refuse(const plim__onnx_head *head, const char *why, plim_error *error) {
    return plim__fail(error, PLIM_INVALID, "external data of '%s' is refused: '%.200s' %s", head->name, head->location,
                      why);
}

static plim_status open_folder(plim__onnx_reader *reader, plim_error *error) {
    if (reader->folder >= 0) return PLIM_OK;
    char *copy = plim__strdup(reader->source->path);
    if (!copy) return plim__fail_memory(error, "a path", strlen(reader->source->path));
    reader->folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int saved = errno;
    plim__free(copy);
    return reader->folder >= 0 ? PLIM_OK : plim__fail_errno(error, saved, "cannot open the model's folder");
}

/* Walks `path` (which is changed) from `folder`; the file's descriptor or -1 with errno. */
static int open_below(int folder, char *path) {
    int at = folder, fd = -1;
    for (char *part = path, *next; part; part = next) {
        next = strchr(part, '/');
        if (next) *next++ = 0;
        int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (next ? O_DIRECTORY : O_NONBLOCK);
        if (!*part && next) continue; /* a//b */
        fd = openat(at, *part ? part : ".", flags);
        int saved = errno;
        if (at != folder) close(at);
        errno = saved;
        if (fd < 0) return -1;
        at = fd;
    }
    return fd;
}

static bool has_parent_step(const char *path) {
    for (const char *part = path; part; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (strncmp(part, "..", 2) == 0 && (part[2] == 0 || part[2] == '/')) return true;
    }
    return false;
}

static plim_status open_file(plim__onnx_reader *reader, const plim__onnx_head *head, struct plim__onnx_external *file,
                             plim_error *error) {
    if (!*head->location) return refuse(head, "is empty", error);
    if (*head->location == '/') return refuse(head, "is an absolute path", error);
    if (has_parent_step(head->location)) return refuse(head, "leaves the model's folder", error);
    PLIM_TRY(open_folder(reader, error));
    char *path = plim__strdup(head->location);
    plim__source *source = plim__alloc_zero(1, sizeof *source);
    int fd = path && source ? open_below(reader->folder, path) : -1;
    int saved = errno;
    struct stat info = {0};
    plim_status status = PLIM_OK;
    if (!path || !source)
        status = plim__fail_memory(error, head->location, sizeof *source);
    else if (fd < 0 && saved == ELOOP)
        status = refuse(head, "is a symbolic link", error);
    else if (fd < 0 && saved == ENOTDIR)
        status = refuse(head, "goes through a symbolic link or a file", error);
    else if (fd < 0)
        status =
            plim__fail_errno(error, saved, "external data of '%s': cannot open '%.200s'", head->name, head->location);
    else if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = refuse(head, "is not a regular file", error);
    plim__free(path);
    char *label = status == PLIM_OK ? plim__strdup(head->location) : NULL;
    if (status == PLIM_OK && !label) status = plim__fail_memory(error, head->location, strlen(head->location));
    if (status != PLIM_OK) {
        if (fd >= 0) close(fd);
        plim__free(source);
        return status;
    }
    atomic_init(&source->references, 1);
    source->fd = fd;
    source->path = label;
    *file = (struct plim__onnx_external){source, (uint64_t)info.st_size};
    return PLIM_OK;
}

static plim_status find_file(plim__onnx_reader *reader, const plim__onnx_head *head, struct plim__onnx_external *file,
                             plim_error *error) {
    int64_t known = plim__map_get(&reader->external_names, head->location, -1);
    if (known >= 0) {
        *file = reader->externals.items[known];
        return PLIM_OK;
    }
    PLIM_TRY(open_file(reader, head, file, error));
    if (!plim__vec_push(&reader->externals, *file)) {
        plim__source_release(file->source);
        return plim__fail_memory(error, head->location, sizeof *file);
    }
    if (plim__map_put(&reader->external_names, head->location, (int64_t)reader->externals.count - 1)) return PLIM_OK;
    return plim__fail_memory(error, head->location, strlen(head->location));
}

plim_status plim__onnx_read_external(plim__onnx_reader *reader, const plim__onnx_head *head, plim__tensor **tensor,
                                     plim_error *error) {
    if (!reader->source)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' is external data, which a model in memory cannot have",
                          head->name);
    struct plim__onnx_external file;
    PLIM_TRY(find_file(reader, head, &file, error));
    if (head->has_length && head->length != head->bytes)
        return plim__fail(error, PLIM_CORRUPT, "external data of '%s' is %" PRIu64 " bytes; its shape needs %zu",
                          head->name, head->length, head->bytes);
    if (head->offset > file.size || head->bytes > file.size - head->offset)
        return plim__fail(error, PLIM_CORRUPT,
                          "external data of '%s' ends beyond '%.200s': %zu bytes at %" PRIu64 ", the file has %" PRIu64,
                          head->name, head->location, head->bytes, head->offset, file.size);
    PLIM_TRY(plim__tensor_in_file(head->dtype, &head->shape, file.source, head->offset, tensor, error));
    plim_status status = head->bytes <= PLIM__ONNX_INLINE ? plim__tensor_load(*tensor, error) : PLIM_OK;
    if (status == PLIM_OK) return status;
    plim__tensor_release(*tensor);
    *tensor = NULL;
    return status;
}
