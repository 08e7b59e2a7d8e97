/* Any bytes as an .npy header: parsed or refused, never read past. */
#include <string.h>

#include "format/npy.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    plim__npy_header header;
    plim_error error;
    size_t expected;
    if (size < PLIM__NPY_PREFIX || plim__npy_parse_prefix(data, &expected, &error) != PLIM_OK) return 0;
    if (expected <= size) plim__npy_parse_header((const char *)data, expected, &header, &error);
    return 0;
}
