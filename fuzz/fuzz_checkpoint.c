/* Any bytes as a checkpoint; every second input gets a valid seal first, so that what lies behind it is reached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/hash.h"
#include "run/checkpoint.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* {"__metadata__":{"checksum":"0000000000000000","bytes":"0000000000000000" */
enum { CHECKSUM_AT = 37, SEAL_END = 80 };

static void seal(unsigned char *bytes, size_t size) {
    char text[96];
    uint64_t header = size - 8;
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(header >> 8 * i);
    snprintf(text, sizeof text, "{\"__metadata__\":{\"checksum\":\"0000000000000000\",\"bytes\":\"%016zu", size);
    memcpy(bytes + 8, text, SEAL_END - 8);
    plim__hash hash = PLIM_HASH_START;
    plim__hash_add(&hash, bytes, size);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)plim__hash_value(&hash));
    memcpy(bytes + CHECKSUM_AT, text, 16);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    plim__checkpoint_file file;
    plim_error error;
    float into[4];
    int fd = memfd_create("fuzz", 0);
    unsigned char *bytes = malloc(size + 1);
    if (fd < 0 || !bytes) abort();
    if (size) memcpy(bytes, data, size);
    if (size > SEAL_END && size % 2) seal(bytes, size);
    if (write(fd, bytes, size) != (ssize_t)size) abort();
    free(bytes);
    if (plim__checkpoint_open_fd(&file, fd, "fuzz", &error) != PLIM_OK) return 0;
    plim__weight weight = {"w", PLIM_F32, {1, {4}}};
    plim__weights model = {&weight, 1, NULL, NULL, NULL}, state = {0};
    plim__checkpoint_match(&file, &file.meta, &model, &state, &error);
    plim__checkpoint_read(&file, PLIM__CHECKPOINT_MODEL, &weight, into, &error);
    plim__checkpoint_close(&file);
    return 0;
}
