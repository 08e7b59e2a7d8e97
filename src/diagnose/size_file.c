/* Files of weights, told apart by their first bytes; each reader gives its tensors to the same sums. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/file.h"
#include "diagnose/size_internal.h"
#include "format/npz.h"
#include "format/onnx.h"
#include "format/safetensors.h"
#include "format/torch_file.h"

static bool named(const char *path, const char *extension) {
    size_t length = strlen(path), tail = strlen(extension);
    return length >= tail && strcasecmp(path + length - tail, extension) == 0;
}

static plim_status read_npy(int fd, plim__size_gather *gather, plim_error *error) {
    plim__npy_header header;
    gather->file->format = "npy";
    PLIM_TRY(plim__npy_read_header(fd, gather->path, &header, error));
    plim__tensor_info info = plim__npy_tensor_info(&header, "");
    return plim__size_add(gather, &info, error);
}

static plim_status read_zip(int fd, plim__size_gather *gather, plim_error *error) {
    plim__zip zip;
    PLIM_TRY(plim__zip_open(&zip, fd, gather->path, error));
    bool torch = plim__torch_is_archive(&zip);
    gather->file->format = torch ? "PyTorch" : "npz";
    plim_status status = torch ? plim__torch_list_archive(&zip, plim__size_add, gather, error)
                               : plim__npz_list(&zip, plim__size_add, gather, error);
    plim__zip_close(&zip);
    return status;
}

static plim_status read_safetensors(int fd, plim__size_gather *gather, plim_error *error) {
    plim__safetensors file;
    gather->file->format = "safetensors";
    PLIM_TRY(plim__safetensors_open(&file, fd, gather->path, error));
    plim_status status = plim__safetensors_list(&file, plim__size_add, gather, error);
    plim__safetensors_close(&file);
    return status;
}

static plim_status read_index(plim__size_gather *gather, plim_error *error) {
    size_t shards;
    gather->file->format = "sharded safetensors";
    PLIM_TRY(plim__safetensors_index_list(gather->path, plim__size_add, gather, &shards, error));
    gather->file->files = shards;
    return PLIM_OK;
}

typedef struct onnx_listing {
    plim__size_gather *gather;
    plim_status status;
    plim_error *error;
} onnx_listing;

static bool add_weight(const plim__onnx_weight *weight, void *context) {
    onnx_listing *listing = context;
    plim__tensor_info info = {.name = weight->name ? weight->name : "",
                              .element = plim__element_find(plim_dtype_name(weight->dtype)),
                              .rank = weight->shape.rank,
                              .dims = weight->shape.dims,
                              .bytes = weight->bytes};
    if (!info.element) info.element = plim__element_opaque();
    if (!plim__element_count(info.rank, info.dims, &info.elements)) info.elements = 0;
    listing->status = plim__size_add(listing->gather, &info, listing->error);
    return listing->status == PLIM_OK;
}

static plim_status read_onnx(plim__size_gather *gather, plim_error *error) {
    onnx_listing listing = {gather, PLIM_OK, error};
    gather->file->format = "ONNX";
    PLIM_TRY(plim__onnx_list_weights(gather->path, add_weight, &listing, error));
    return listing.status;
}

static plim_status read_any(int fd, plim__size_gather *gather, plim_error *error) {
    unsigned char start[32] = {0};
    ssize_t got = pread(fd, start, sizeof start, 0);
    if (got < 0) return plim__fail_errno(error, errno, "cannot read '%s'", gather->path);
    size_t size = (size_t)got;
    if (size == 0) return plim__fail(error, PLIM_CORRUPT, "'%s' is empty", gather->path);
    if (memcmp(start, "\x93NUMPY", 6) == 0) return read_npy(fd, gather, error);
    if (memcmp(start, "PK\3\4", 4) == 0 || memcmp(start, "PK\5\6", 4) == 0) return read_zip(fd, gather, error);
    if (plim__torch_is_plain(start, size)) {
        gather->file->format = "PyTorch";
        return plim__torch_list_plain(fd, gather->path, plim__size_add, gather, error);
    }
    if (named(gather->path, ".safetensors") || (size > 8 && start[8] == '{' && start[7] == 0 && start[6] == 0))
        return read_safetensors(fd, gather, error);
    if (start[0] == '{' || named(gather->path, ".json")) return read_index(gather, error);
    if (named(gather->path, ".onnx") || (start[0] == 0x08 && start[1] < 0x40)) return read_onnx(gather, error);
    if (start[0] == 0x80 && start[1] <= 5)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' is a pickle, but not a PyTorch file", gather->path);
    return plim__fail(error, PLIM_UNSUPPORTED,
                      "'%s' is not a file of weights that is known here (.safetensors, .onnx, .npy, .npz, .pt)",
                      gather->path);
}

plim_status plim_size_file_load(const char *path, plim_size_file *file, plim_error *error) {
    PLIM__NEED(file, error);
    *file = (plim_size_file){.files = 1, .format = ""};
    PLIM__NEED(path, error);
    plim__size_gather gather = {.file = file, .path = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not make us wait */
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    struct stat info;
    plim_status status = PLIM_OK;
    if (fstat(fd, &info) != 0)
        status = plim__fail_errno(error, errno, "cannot read '%s'", path);
    else if (!S_ISREG(info.st_mode))
        status = plim__fail(error, PLIM_INVALID, "'%s' is not a regular file", path);
    if (status == PLIM_OK) status = read_any(fd, &gather, error);
    close(fd);
    if (status == PLIM_OK) status = plim__size_finish(&gather, error);
    return status;
}

void plim_size_file_free(plim_size_file *file) {
    if (!file) return;
    plim__free(file->by_dtype);
    file->by_dtype = NULL;
    file->dtype_count = 0;
}
