/* Byte counts from any text. */
#include <stdlib.h>
#include <string.h>

#include "plimsoll/plimsoll.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    uint64_t bytes;
    plim_error error;
    (void)plim_bytes_parse(text, &bytes, &error);
    free(text);
    return 0;
}
