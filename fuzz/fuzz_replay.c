/* Any bytes as what `replay` and `fit` may be given, through every allocator. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plimsoll/predict.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void replay(const char *path) {
    plim_replay *opened = NULL;
    plim_error error;
    if (plim_replay_load(path, -1, &opened, &error) != PLIM_OK) return;
    for (size_t i = 0; plim_replay_setting_at(i); i++) {
        plim_pool_options options = {.capacity = (uint64_t)1 << 30};
        plim_replay_result result;
        if (plim_pool_parse(plim_replay_setting_at(i)->text, &options, &error) == PLIM_OK)
            (void)plim_replay_run(opened, &options, &result, &error);
    }
    char *text = NULL;
    if (plim_replay_print(opened, 80, true, &text, &error) == PLIM_OK) plim_text_free(text);
    plim_replay_free(opened);
}

static void predict(const char *path) {
    plim_prediction *opened = NULL;
    plim_prediction_result result;
    plim_pool_options pool = {0};
    plim_gpu gpu;
    plim_error error;
    if (plim_prediction_load(path, &opened, &error) != PLIM_OK) return;
    if (plim_gpu_find("A100", &gpu, &error) == PLIM_OK) (void)plim_prediction_run(opened, &gpu, &pool, &result, &error);
    plim_prediction_free(opened);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char path[32];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size) {
        replay(path);
        predict(path);
    }
    close(fd);
    return 0;
}
