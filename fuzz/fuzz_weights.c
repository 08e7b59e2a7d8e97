/* Any bytes as a file of weights: zip archives, .npz, .pt in both forms, safetensors, ONNX, told apart by content. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plimsoll/size.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("weights", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    plim_size_file file;
    plim_error error;
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) return 0;
    plim_size_file_load(path, &file, &error);
    plim_size_file_free(&file);
    return 0;
}
