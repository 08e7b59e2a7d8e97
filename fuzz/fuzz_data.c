/* Any bytes as a CSV file, an IDX file (packed or not), an .npz archive: opened and read, or refused. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plimsoll/data.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static const char *const kinds[] = {"csv", "idx", "npz", "npy"};
    char path[64];
    plim_error error;
    if (size < 1) return 0;
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)size - 1) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    plim_data *opened;
    plim_data_batch batch;
    plim_data_options options = {
        .kind = kinds[data[0] % 4], .target = data[0] & 4 ? "-1" : NULL, .batch = 4, .epochs = 1, .buffer_limit = 1};
    if (options.kind[0] == 'n') options.target = NULL;
    if (plim_data_create(path, &options, &opened, &error) == PLIM_OK) {
        plim_data_info info;
        plim_data_get_info(opened, &info);
        for (int i = 0; i < 3 && info.most_bytes < 16 << 20 && plim_data_next(opened, &batch, &error) == PLIM_OK;) i++;
        plim_data_free(opened);
    }
    close(fd);
    return 0;
}
