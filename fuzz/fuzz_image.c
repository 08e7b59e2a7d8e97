/* Any bytes as a JPEG or PNG image: decoded or refused. */
#include <stdlib.h>

#include "format/image.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void *room(void *context, size_t bytes) {
    void **kept = context;
    free(*kept);
    *kept = bytes <= 16 << 20 ? malloc(bytes) : NULL; /* large claims are for the limits of the reader's memory */
    return *kept;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    void *kept = NULL;
    plim__image image;
    plim_error error;
    plim__image_request request = {.channels = size % 2 ? 1 : 3, .least_side = 8, .room = room, .context = &kept};
    plim__image_decode(data, size, "fuzz", &request, &image, &error);
    free(kept);
    return 0;
}
